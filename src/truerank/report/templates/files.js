  // -- downloads ----------------------------------------------------------------------------
  function save(name, href) {
    const link = element("a");
    link.href = href;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
  }
  function quoted(cell) {
    if (typeof cell === "number") return String(cell);
    let text = cell === null || cell === undefined ? "" : String(cell);
    // What a spreadsheet would take for a formula.
    if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function csv(name) {
    const [, kind, number] = name.match(/^(.*?)(?:-(\d+))?$/);
    const rows = FIGURES[name] ? FIGURES[name](paint(false), 860).rows : TABLES[kind](Number(number));
    const text = rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
    const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    save(`${name}.csv`, url);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  async function image(name, format) {
    const ink = paint(false), made = FIGURES[name](ink, 860), height = Math.max(520, made.height || 0);
    const keys = made.margin ? 0 : made.data.filter((one) => one.name).length;
    const layout = layoutOf(made, ink, { showlegend: keys > 1, paper_bgcolor: "#ffffff", width: 860, height, margin: made.margin || { l: 76, r: 24, t: 50 + 20 * Math.ceil(keys / 4), b: 76 } });
    save(`${name}.${format}`, await Plotly.toImage({ data: asText(made.data), layout }, { format, width: 860, height, scale: format === "png" ? 2 : 1 }));
  }
  for (const button of all("[data-download]")) {
    const { download, kind } = button.dataset;
    button.addEventListener("click", () => (kind === "csv" ? csv(download) : image(download, kind)));
  }

  // -- copying ------------------------------------------------------------------------------
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = element("textarea", text);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }
  // The table of metrics as people paste it: the columns that it shows.
  const digits = (value) => (value === null || value === undefined ? "" : value.toFixed(4));
  function pasted(kind) {
    const place = (name) => 2 + data.columns.findIndex((column) => column.name === name);
    const columns = SHOWN.map((column) => ({
      head: column.heading.toLowerCase(),
      cell: (row) => {
        const low = row[place("low")], high = row[place("high")];
        if (column.name !== "low") return digits(row[place(column.name)]);
        return low === null || low === undefined ? "" : isWide(low, high) ? `[${digits(low)}, ${digits(high)}]` : "exact";
      },
    }));
    if (hasKnown) columns.push({ head: "exact", cell: (row) => digits(row.at(-1)) });
    const rows = metricRows.map((row) => [row[0], row[1], ...columns.map((column) => column.cell(row))]);
    const head = ["metric", "model", ...columns.map((column) => column.head)];
    if (kind === "markdown") {
      const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
      const rules = head.map((_, at) => (at < 2 ? "---" : "---:"));
      return [head, rules, ...rows].map(cells).join("\n") + "\n";
    }
    const plain = (cell) => String(cell).replace(/[\\&%$#_{}~^]/g, (sign) => (/[&%$#_{}]/.test(sign) ? `\\${sign}` : " "));
    const lines = [head, ...rows].map((row) => `${row.map(plain).join(" & ")} \\\\`);
    return [`\\begin{tabular}{ll${"r".repeat(columns.length)}}`, "\\hline", lines[0], "\\hline", ...lines.slice(1), "\\hline", "\\end{tabular}"].join("\n") + "\n";
  }
  for (const button of all("[data-paste], [data-copy]")) {
    button.addEventListener("click", async () => {
      const { paste, copy: from } = button.dataset;
      await copy(paste ? pasted(paste) : $(from).textContent);
      const told = button.parentElement.querySelector("[role=status]");
      told.textContent = `${button.textContent.replace("Copy ", "").replace("as ", "")} copied.`;
    });
  }
