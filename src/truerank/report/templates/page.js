"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const models = data.models;
  const shown = models.map(() => true);
  const DASHES = ["solid", "dash", "dashdot", "dot", "longdash"];
  const STROKES = ["", "7 4", "7 3 2 3", "2 3", "11 4"];
  const MARKS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
  const $ = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];

  // -- theme --------------------------------------------------------------------------------
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return !printing && (chosen ? chosen === "dark" : preferred.matches);
  };
  const paint = (dark) => dark
    ? { ink: "#e8ebee", soft: "#a3adb8", grid: "#2c333b", page: "#14171b", palette: data.palette.dark }
    : { ink: "#1b1f24", soft: "#57606a", grid: "#e6eaee", page: "#ffffff", palette: data.palette.light };
  const faint = (hex, alpha) => {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
  };

  // -- figures: each gives traces, layout and rows of numbers ---------------------------------
  const visible = () => models.map((model, i) => [model, i]).filter(([, i]) => shown[i]);
  const colour = (ink, i) => ink.palette[i % ink.palette.length];
  const line = (ink, i) => ({ color: colour(ink, i), width: 2.2, dash: DASHES[i % DASHES.length] });

  function banded(ink, i, name, x, [value, low, high], hover) {
    const traces = [];
    if (low && high) {
      const none = { mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: name };
      traces.push({ ...none, x, y: low });
      traces.push({ ...none, x, y: high, fill: "tonexty", fillcolor: faint(colour(ink, i), 0.2) });
    }
    const custom = x.map((_, at) => (low && high ? [low[at], high[at]] : ["", ""]));
    traces.push({ x, y: value, name, legendgroup: name, mode: "lines", line: line(ink, i), customdata: custom, hovertemplate: hover });
    return traces;
  }

  const table = (heads, rows) => [heads, ...rows];
  const ends = (one, at) => [one[0][at], one[1] ? one[1][at] : "", one[2] ? one[2][at] : ""];
  const BAND = "%{y:.4f} [%{customdata[0]:.4f}, %{customdata[1]:.4f}]";
  const log = (title, more) => ({ type: "log", title: { text: title }, ...more });
  const ticksTo = (largest) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].filter((k) => k <= largest);

  const FIGURES = {
    curves: (ink) => {
      const name = $("curve").value;
      const last = models[0].curves[name].k.at(-1);
      const parts = (model) => { const c = model.curves[name]; return [c.value, c.low, c.high]; };
      return {
        data: visible().flatMap(([model, i]) => banded(ink, i, model.name, model.curves[name].k, parts(model), `K = %{x}: ${BAND}`)),
        layout: { xaxis: log("K", { tickvals: ticksTo(last), range: [0, Math.log10(last)] }), yaxis: { title: { text: `${name}@K` }, rangemode: "tozero" } },
        rows: table(["model", "metric", "k", "naive", "value", "low", "high"], models.flatMap((model) => model.curves[name].k.map((k, at) => [model.name, name, k, model.curves[name].naive[at], ...ends(parts(model), at)]))),
      };
    },
    pmf: (ink) => ({
      data: visible().filter(([m]) => m.ranks).flatMap(([model, i]) => banded(ink, i, model.name, model.ranks.middle, model.ranks.pmf, "rank %{x:.0f}: %{y:.2e} [%{customdata[0]:.2e}, %{customdata[1]:.2e}]")),
      layout: { xaxis: log("global rank", { dtick: 1 }), yaxis: log("share of users per rank", { dtick: 1, exponentformat: "power" }) },
      rows: table(["model", "first_rank", "last_rank", "share_per_rank", "low", "high"], models.filter((m) => m.ranks).flatMap((model) => model.ranks.upto.map((upto, at) => [model.name, model.ranks.from[at], upto, ...ends(model.ranks.pmf, at)]))),
    }),
    cdf: (ink) => ({
      data: visible().filter(([m]) => m.ranks).flatMap(([model, i]) => banded(ink, i, model.name, model.ranks.upto, model.ranks.cdf, `rank up to %{x}: ${BAND}`)),
      layout: { xaxis: log("global rank", { dtick: 1 }), yaxis: { title: { text: "share of users at or above it" }, range: [0, 1.01] } },
      rows: table(["model", "rank", "share_of_users", "low", "high"], models.filter((m) => m.ranks).flatMap((model) => model.ranks.upto.map((upto, at) => [model.name, upto, ...ends(model.ranks.cdf, at)]))),
    }),
    koren: (ink) => {
      const share = (model) => model.ranks.upto.map((upto) => 100 * upto / model.ranks.upto.at(-1));
      const known = models.filter((m) => m.ranks);
      const chance = { x: [0, 100], y: [0, 1], name: "at random", mode: "lines", line: { color: ink.soft, width: 1, dash: "dot" }, hoverinfo: "skip" };
      return {
        data: [...visible().filter(([m]) => m.ranks).flatMap(([model, i]) => banded(ink, i, model.name, share(model), model.ranks.cdf, `best %{x:.2f} % of the items: ${BAND}`)), chance],
        layout: { xaxis: { title: { text: "best items, percent" }, range: [0, 100] }, yaxis: { title: { text: "share of users whose target is among them" }, range: [0, 1.01] } },
        rows: table(["model", "percent_of_items", "share_of_users", "low", "high"], known.flatMap((model) => share(model).map((part, at) => [model.name, part, ...ends(model.ranks.cdf, at)]))),
      };
    },
    mapped: (ink) => {
      const model = models.find((one) => one.name === $("mapped-model").value);
      const traces = model.mapped.map((one, j) => ({
        x: one.f, y: one.recall, name: one.mapping, mode: "lines+markers", customdata: one.k,
        line: { color: colour(ink, j + 1), width: 1.2, dash: DASHES[(j + 1) % DASHES.length] },
        marker: { symbol: MARKS[j % MARKS.length] + "-open", size: 7 },
        hovertemplate: "k = %{customdata}, f(k) = %{x:.1f}: %{y:.4f}",
      }));
      if (model.ranks) traces.unshift({ x: model.ranks.upto, y: model.ranks.cdf[0], name: "corrected", mode: "lines", line: { color: colour(ink, 0), width: 2.6 }, hovertemplate: "K = %{x}: %{y:.4f}" });
      return {
        data: traces, legend: true,
        layout: { xaxis: log("K, or f(k) of a sampled k", { dtick: 1 }), yaxis: { title: { text: "recall@K" }, range: [0, 1.01] } },
        rows: table(["model", "mapping", "sampled_k", "global_k", "sampled_recall"], models.flatMap((m) => m.mapped.flatMap((one) => one.k.map((k, at) => [m.name, one.mapping, k, one.f[at], one.recall[at]])))),
      };
    },
    effort: (ink) => {
      const sizes = [...new Set(models.flatMap((m) => m.effort.map((one) => one.sample_size)))].sort((a, b) => a - b);
      return {
        bottom: 72,
        data: visible().filter(([m]) => m.effort.length).map(([model, i]) => ({
          type: "bar", name: model.name, marker: { color: colour(ink, i), pattern: { shape: ["", "/", ".", "x", "-"][i % 5], fillmode: "overlay", fgcolor: ink.page, solidity: 0.25, size: 6 } },
          x: model.effort.map((one) => String(one.sample_size)), y: model.effort.map((one) => one.ended), hovertemplate: "%{y:.1%} ended at %{x}",
        })),
        layout: { barmode: "group", bargap: 0.25, xaxis: { type: "category", categoryorder: "array", categoryarray: sizes.map(String), title: { text: "sample size, the target included" }, tickangle: -45 }, yaxis: { title: { text: "share of users" }, tickformat: ".0%" } },
        rows: table(["model", "sample_size", "reached", "ended", "pairs_per_user", "cost"], models.flatMap((m) => m.effort.map((one) => [m.name, one.sample_size, one.reached, one.ended, one.pairs, one.cost]))),
      };
    },
    efficiency: (ink) => ({
      data: visible().filter(([m]) => m.effort.length).map(([model, i]) => {
        const known = model.effort.filter((one) => one.cost !== null);
        return { x: known.map((one) => one.sample_size), y: known.map((one) => one.cost), name: model.name, mode: "lines+markers", line: line(ink, i), marker: { symbol: MARKS[i % MARKS.length], size: 7 }, hovertemplate: "size %{x}: %{y:,.0f} for each user" };
      }),
      layout: { xaxis: log("sample size, the target included", { tickvals: [30, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 1e5, 1e6] }), yaxis: log("negatives for each user ended", { dtick: 1 }) },
      rows: FIGURES.effort(ink).rows,
    }),
    frontier: (ink) => {
      const { points, here, metric, model } = data.frontier;
      const kinds = [["adaptive", "adaptive samples"], ["fixed", "fixed samples"]];
      const traces = kinds.map(([kind, name], i) => {
        const mine = points.filter((point) => point.design === kind);
        return { x: mine.map((p) => p.pairs_per_user), y: mine.map((p) => p.error), name, mode: "lines+markers", line: line(ink, i), marker: { symbol: MARKS[i], size: 8 }, hovertemplate: "%{x:,.0f} per user: %{y:.1%}" };
      });
      traces.push({ x: [here.pairs], y: [here.error], name: "this run", mode: "markers", marker: { symbol: "star", size: 17, color: ink.ink, line: { color: ink.page, width: 1.5 } }, hovertemplate: "this run, %{x:,.0f} per user: %{y:.1%}" });
      const costs = [...new Set(points.filter((p) => p.design === "fixed").map((p) => p.pairs_per_user))];
      return {
        data: traces, legend: true,
        layout: { xaxis: log("scored pairs per user", { tickvals: costs, ticktext: costs.map((c) => c.toLocaleString("en")) }), yaxis: log(`relative error of ${metric}`, { tickformat: ".1~%", tickvals: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5] }) },
        rows: table(["model", "metric", "design", "pairs_per_user", "error"], [...points.map((p) => [model, metric, p.design, p.pairs_per_user, p.error]), [model, metric, "this run", here.pairs, here.error]]),
      };
    },
  };

  const axis = (ink, given) => ({ gridcolor: ink.grid, zeroline: false, linecolor: ink.grid, ticks: "outside", tickcolor: ink.grid,  ...given, title: { ...given.title, font: { size: 12, color: ink.soft }, standoff: 8 } });

  function layoutOf(made, ink, more) {
    return {
      margin: { l: 64, r: 14, t: made.legend || printing ? 64 : 12, b: made.bottom || 48 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif", size: 12, color: ink.ink },
      hovermode: "closest", hoverlabel: { font: { size: 12 } }, dragmode: false,
      showlegend: Boolean(made.legend || (printing && models.length > 1)), legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 } },
      ...made.layout, xaxis: axis(ink, made.layout.xaxis), yaxis: axis(ink, made.layout.yaxis), ...more,
    };
  }

  const present = Object.keys(FIGURES).filter((name) => $(`figure-${name}`));

  // Plotly reads tags in names, links among them; a name is text here.
  const escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const asText = (traces) => traces.map((one) => (one.name === undefined ? one : { ...one, name: escaped(one.name) }));

  function draw(names = present) {
    const ink = paint(isDark());
    for (const name of names) {
      const made = FIGURES[name](ink), box = $(`figure-${name}`);
      // Paper is narrower than the screen that the page was laid out for.
      const more = printing ? { width: box.closest(".columns") ? 330 : 680 } : {};
      Plotly.react(box, asText(made.data), layoutOf(made, ink, more), { displayModeBar: false, responsive: true });
    }
  }

  // -- series -------------------------------------------------------------------------------
  function legend() {
    const ink = paint(isDark());
    for (const button of all("[data-series]")) {
      const i = Number(button.dataset.series);
      button.setAttribute("aria-pressed", String(shown[i]));
      const stroke = button.querySelector("line");
      stroke.setAttribute("stroke", colour(ink, i));
      stroke.setAttribute("stroke-dasharray", STROKES[i % STROKES.length]);
    }
  }
  for (const button of all("[data-series]")) {
    button.addEventListener("click", () => {
      const i = Number(button.dataset.series);
      shown[i] = !shown[i];
      legend();
      draw(present.filter((name) => name !== "mapped" && name !== "frontier"));
    });
  }

  // -- table of metrics at K ------------------------------------------------------------------
  const cuts = models[0].curves[data.curves[0]].k;
  const range = $("cut"), number = $("cut-number");
  const four = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
  let cut = (data.metrics.find((one) => one.curve) || { k: 10 }).k;

  // Between the metrics asked for, a curve knows these; the other columns are those of the metric.
  function valueAt(model, metric) {
    const point = model.points[metric.key];
    if (!metric.curve) return point;
    const one = model.curves[metric.name], at = one.k.indexOf(cut);
    const found = { value: one.value[at], naive: one.naive[at], low: one.low[at], high: one.high[at], resolvable: one.resolved[at] };
    return cut === metric.k ? { ...point, ...found } : found;
  }
  const SHOWN = data.columns.filter((column) => column.heading);
  function cell(one, name) {
    const value = one[name];
    const text = name === "low" ? `[${four(one.low)}, ${four(one.high)}]` : typeof value === "number" ? four(value) : value === undefined || value === null ? "–" : String(value);
    const made = element("td", text, `number ${name}`);
    if (name === "value" && one.resolvable === false) {
      const mark = element("abbr", data.mark);
      mark.title = data.not_resolved;
      made.append(mark);
    }
    return made;
  }
  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function track(one, [least, most]) {
    const place = (value) => 4 + (92 * (value - least)) / (most - least || 1);
    const made = element("span", undefined, "track");
    const bar = element("i"), dot = element("b");
    bar.style.left = `${place(one.low)}%`;
    bar.style.width = `${place(one.high) - place(one.low)}%`;
    dot.style.left = `${place(one.value)}%`;
    made.append(bar, dot);
    return made;
  }
  // One row for each curve that the metrics asked for stand on, at this K, then the others.
  const rowsOf = () => data.metrics.map((metric) => ({ ...metric, shown: metric.curve ? `${metric.name}@${cut}` : metric.key }));
  let metricRows = [];
  function fill() {
    metricRows = [];
    const seen = new Set();
    rowsOf().forEach((metric, at) => {
      const body = document.querySelector(`#table-metrics tbody[data-metric="${at}"]`);
      body.replaceChildren();
      body.hidden = seen.has(metric.shown);
      if (body.hidden) return;
      seen.add(metric.shown);
      const found = models.map((model) => valueAt(model, metric));
      const way = metric.lower ? -1 : 1;
      const order = models.map((_, i) => i).sort((i, j) => way * (found[j].value - found[i].value));
      const best = found[order[0]].value;
      const ends = [Math.min(...found.map((one) => one.low)), Math.max(...found.map((one) => one.high))];
      const head = element("tr"), title = element("th", metric.shown);
      title.colSpan = SHOWN.length + 2;
      title.scope = "rowgroup";
      head.append(title);
      body.append(head);
      order.forEach((i) => {
        const model = models[i], one = found[i], row = element("tr"), name = element("th", model.name);
        name.scope = "row";
        if (models.length > 1 && one.value === best) row.className = "best";
        const bar = element("td", undefined, "bar");
        bar.setAttribute("aria-hidden", "true");
        bar.append(track(one, ends));
        row.append(name, ...SHOWN.map((column) => cell(one, column.name)), bar);
        body.append(row);
        metricRows.push([metric.shown, model.name, ...data.columns.map((column) => one[column.name])]);
      });
    });
  }
  function choose(k) {
    cut = Math.min(Math.max(Math.round(k) || 1, cuts[0]), cuts.at(-1));
    range.value = String(toStep(cut));
    range.setAttribute("aria-valuetext", `K = ${cut}`);
    number.value = String(cut);
    fill();
  }
  // The slider moves evenly in log K.
  const STEPS = 300, span = Math.log(cuts.at(-1));
  const toStep = (k) => (span ? Math.round((STEPS * Math.log(k)) / span) : 0);
  const fromStep = (step) => Math.round(Math.exp((span * step) / STEPS));
  if (data.metrics.some((one) => one.curve)) {
    $("cut-controls").hidden = false;
    range.max = String(STEPS);
    number.max = String(cuts.at(-1));
    range.addEventListener("input", () => {
      choose(fromStep(Number(range.value)));
    });
    range.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (step) { event.preventDefault(); choose(cut + step); }
    });
    number.addEventListener("change", () => choose(Number(number.value)));
  }
  choose(cut);

  // -- who wins -----------------------------------------------------------------------------
  const matrix = $("matrix");
  if (matrix) {
    const pick = () => all("[data-matrix]").forEach((one) => { one.style.display = one.dataset.matrix === matrix.value ? "" : "none"; });
    $("matrix-controls").hidden = false;
    matrix.addEventListener("change", pick);
    pick();
  }

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
    let text = cell === null || cell === undefined ? "" : String(cell);
    // What a spreadsheet would take for a formula.
    if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function csv(name) {
    let rows;
    if (name === "metrics") rows = table(["metric", "model", ...data.columns.map((column) => column.name)], metricRows);
    else if (FIGURES[name]) rows = FIGURES[name](paint(false)).rows;
    else rows = [...$(`table-${name}`).rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
    const text = rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
    const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    save(`${name}.csv`, url);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  async function image(name, format) {
    const ink = paint(false), made = FIGURES[name](ink);
    const layout = layoutOf(made, ink, { showlegend: made.data.length > 1, paper_bgcolor: "#ffffff", width: 860, height: 520, margin: { l: 76, r: 24, t: 70, b: 76 } });
    save(`${name}.${format}`, await Plotly.toImage({ data: asText(made.data), layout }, { format, width: 860, height: 520, scale: format === "png" ? 2 : 1 }));
  }
  for (const button of all("[data-download]")) {
    const { download, kind } = button.dataset;
    button.addEventListener("click", () => (kind === "csv" ? csv(download) : image(download, kind)));
  }

  // -- protocol -----------------------------------------------------------------------------
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
  // The table of metrics as people paste it.
  const digits = (value) => (value === null || value === undefined ? "" : value.toFixed(4));
  function pasted(kind) {
    const at = (name) => 2 + data.columns.findIndex((column) => column.name === name);
    const rows = metricRows.map((row) => {
      const low = row[at("low")], high = row[at("high")];
      const interval = low === null || low === undefined ? "" : `[${digits(low)}, ${digits(high)}]`;
      return [row[0], row[1], digits(row[at("naive")]), digits(row[at("value")]), interval];
    });
    const head = ["metric", "model", "naive", "corrected", "interval"];
    if (kind === "markdown") {
      const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
      return [head, head.map(() => "---"), ...rows].map(line).join("\n") + "\n";
    }
    const plain = (cell) => String(cell).replace(/[\\&%$#_{}~^]/g, (sign) => (/[&%$#_{}]/.test(sign) ? `\\${sign}` : " "));
    const lines = [head, ...rows].map((cells) => `${cells.map(plain).join(" & ")} \\\\`);
    return ["\\begin{tabular}{llrrr}", lines[0], "\\hline", ...lines.slice(1), "\\end{tabular}"].join("\n") + "\n";
  }
  for (const button of all("[data-paste]")) {
    button.addEventListener("click", async () => {
      await copy(pasted(button.dataset.paste));
      $("pasted").textContent = "Copied.";
    });
  }
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      await copy($(button.dataset.copy).textContent);
      $("copied").textContent = "Copied.";
    });
  }

  // -- the rest -----------------------------------------------------------------------------
  const repaint = () => { legend(); draw(); };
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    repaint();
  });
  preferred.addEventListener("change", repaint);
  window.addEventListener("beforeprint", () => { printing = true; repaint(); });
  window.addEventListener("afterprint", () => {
    printing = false;
    repaint();
    present.forEach((name) => Plotly.Plots.resize($(`figure-${name}`)));
  });
  $("curve").addEventListener("change", () => draw(["curves"]));
  if ($("mapped-model")) $("mapped-model").addEventListener("change", () => draw(["mapped"]));
  repaint();
  document.documentElement.dataset.ready = "true";
})();
