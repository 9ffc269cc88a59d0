  // -- the verdict ----------------------------------------------------------------------------
  const LEVELS = { settled: "Settled", open: "Not decided", unknown: "Too small a sample" };
  function judge() {
    const found = data.verdicts[metricOf(chosen).key];
    $("verdict").dataset.level = found.level;
    $("level").textContent = LEVELS[found.level];
    for (const part of ["answer", "usual", "action"]) {
      const place = $(`verdict-${part}`);
      place.textContent = found[part];
      place.closest(".part").hidden = !found[part];
    }
  }

  // -- bars of intervals, all of a group on one axis --------------------------------------------
  const four = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
  function ruler(values) {
    const known = values.filter((value) => typeof value === "number");
    const least = Math.min(...known), most = Math.max(...known);
    const rough = (most - least || Math.abs(most) || 1) / 3, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
    const from = Math.floor(least / step + 1e-9) * step, to = Math.ceil(most / step - 1e-9) * step;
    const upto = to > from ? to : from + step;
    const ticks = [];
    for (let tick = from; tick <= upto + step / 2; tick += step) ticks.push(tick);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return { ticks, digits, place: (value) => 9 + (80 * (value - from)) / (upto - from) };
  }
  function at(node, place) { node.style.left = `${place}%`; return node; }
  function axisOf(rule) {
    const made = element("span", undefined, "track axis");
    made.append(...rule.ticks.map((tick) => at(element("em", tick.toFixed(rule.digits)), rule.place(tick))));
    return made;
  }
  function track(one, rule, ink, i) {
    const made = element("span", undefined, "track");
    made.append(...rule.ticks.map((tick) => at(element("s"), rule.place(tick))));
    const dot = at(element("b"), rule.place(one.value));
    dot.style.background = colour(ink, i);
    if (isWide(one.low, one.high)) {
      const bar = at(element("i"), rule.place(one.low));
      bar.style.width = `${rule.place(one.high) - rule.place(one.low)}%`;
      made.append(bar);
    }
    if (typeof one.known === "number") made.append(at(element("u", "×"), rule.place(one.known)));
    made.append(dot);
    return made;
  }
  function barCell(inside, tag = "td") {
    const cell = element(tag, undefined, "bar");
    cell.setAttribute("aria-hidden", "true");
    cell.append(inside);
    return cell;
  }

  // -- table of metrics at K ------------------------------------------------------------------
  const SHOWN = data.columns.filter((column) => column.heading);
  let sorting = { by: "value", down: true };
  let metricRows = [];

  function numberCell(one, column) {
    const value = one[column.name];
    const text = column.name === "low" ? (isWide(one.low, one.high) ? `[${four(one.low)}, ${four(one.high)}]` : "exact") : typeof value === "number" ? four(value) : value === undefined || value === null ? "–" : String(value);
    const made = element("td", text, `number ${column.name}`);
    if (column.name === "value" && one.resolvable === false) {
      const mark = element("abbr", data.mark);
      mark.title = data.not_resolved;
      made.append(mark);
    }
    return made;
  }
  function modelHead(i) {
    const made = element("th"), button = element("button", models[i].name, "name");
    made.scope = "row";
    if (models.length === 1) return element("th", models[i].name);
    button.type = "button";
    button.title = "Show only this model in the figures, or all again";
    button.dataset.only = String(i);
    button.setAttribute("aria-pressed", String(shown[i] && !shown.every(Boolean)));
    button.addEventListener("click", () => only(i));
    made.append(button);
    return made;
  }
  function fill() {
    metricRows = [];
    const ink = paint(isDark());
    names.forEach((name, number) => {
      const metric = metricOf(name), body = $("table-metrics").tBodies[number];
      const found = models.map((model) => valueAt(model, metric));
      const way = metric.lower ? -1 : 1;
      const key = (i) => (sorting.by === "model" ? models[i].name : found[i][sorting.by]);
      const sign = (sorting.down ? -1 : 1) * (sorting.by === "model" ? 1 : way);
      const order = models.map((_, i) => i).sort((i, j) => sign * (key(i) < key(j) ? -1 : key(i) > key(j) ? 1 : 0));
      const best = way * Math.max(...found.map((one) => way * one.value));
      const rule = ruler(found.flatMap((one) => [one.value, one.low, one.high, one.known]));
      const head = element("tr"), title = element("th", metric.key);
      title.colSpan = SHOWN.length + 1 + (hasKnown ? 1 : 0);
      title.scope = "rowgroup";
      head.append(title, barCell(axisOf(rule)));
      const rows = order.map((i) => {
        const one = found[i], row = element("tr");
        if (models.length > 1 && one.value === best) row.className = "best";
        row.append(modelHead(i), ...SHOWN.map((column) => numberCell(one, column)));
        if (hasKnown) row.append(element("td", four(one.known), "number known"));
        row.append(barCell(track(one, rule, ink, i)));
        metricRows.push([metric.key, models[i].name, ...data.columns.map((column) => one[column.name]), ...(hasKnown ? [one.known] : [])]);
        return row;
      });
      body.replaceChildren(head, ...rows);
    });
    for (const head of all("#table-metrics th[data-sort]")) {
      const own = head.dataset.sort === sorting.by;
      head.setAttribute("aria-sort", own ? (sorting.down ? "descending" : "ascending") : "none");
    }
  }
  for (const head of all("#table-metrics th[data-sort]")) {
    head.querySelector("button")?.addEventListener("click", () => {
      const by = head.dataset.sort;
      sorting = { by, down: sorting.by === by ? !sorting.down : by !== "model" };
      fill();
    });
  }

  // -- who wins -----------------------------------------------------------------------------
  const MOST_NAMED = 5; // models whose names stand above the columns of a matrix
  const many = models.length > MOST_NAMED;
  function chance(share) {
    const percent = 100 * share;
    if (many) return percent > 99.5 ? ">99" : percent < 0.5 ? "<1" : percent.toFixed(0);
    return share > 0.9995 ? "> 99.9 %" : share < 0.0005 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
  }
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(4);
  const places = ([one, other]) => (one === other ? String(one) : `${one} to ${other}`);

  function fillWins(name, number) {
    const metric = metricOf(name), found = data.comparisons[metric.key];
    const ink = paint(isDark());
    const ranking = $(`table-ranking-${number}`), wins = $(`table-wins-${number}`);
    for (const place of ranking.closest("[data-wins]").querySelectorAll(".at-k")) place.textContent = metric.key;
    const rule = ruler([0, ...found.behind.flatMap((one) => one || [])]);
    const rows = found.order.map((i, at) => {
      const row = element("tr"), behind = found.behind[at];
      row.append(element("td", String(at + 1), "number"), modelHead(i), element("td", places(found.ranks[at]), "number"), element("td", four(valueAt(models[i], metric).value), "number value"));
      const exact = behind && !isWide(behind[1], behind[2]);
      const gap = element("td", behind === null ? "the best" : signed(behind[0]), "number");
      if (behind !== null && !exact) gap.append(element("span", ` [${signed(behind[1])}, ${signed(behind[2])}]`, "range"));
      row.append(gap);
      row.append(barCell(behind === null ? axisOf(rule) : track({ value: behind[0], low: behind[1], high: behind[2] }, rule, ink, i)));
      if (!data.certain) row.append(element("td", chance(found.best[at]), "number"));
      return row;
    });
    ranking.tBodies[0].replaceChildren(...rows);
    if (!wins) return;
    const heads = element("tr");
    heads.append(element("td"), ...found.order.map((i, at) => {
      const head = element("th", many ? String(at + 1) : models[i].name, "number");
      head.scope = "col";
      if (many) head.title = models[i].name;
      return head;
    }));
    wins.tHead.replaceChildren(heads);
    wins.tBodies[0].replaceChildren(...found.wins.map((chances, at) => {
      const row = element("tr"), head = element("th", many ? `${at + 1}  ${models[found.order[at]].name}` : models[found.order[at]].name);
      head.scope = "row";
      row.append(head, ...chances.map((share) => {
        const cell = element("td", share === null ? "–" : chance(share), share === null ? "number none" : "number cell");
        if (share !== null) cell.style.setProperty("--share", share.toFixed(3));
        return cell;
      }));
      return row;
    }));
  }
  const winners = all("[data-wins]");
  function compareAll() {
    winners.forEach((one, number) => {
      fillWins(one.dataset.wins, number);
      one.classList.toggle("other", one.dataset.wins !== chosen);
    });
  }
  // The numbers behind a table, for its file.
  const TABLES = {
    metrics: () => table(["metric", "model", ...data.columns.map((column) => column.name), ...(hasKnown ? ["exact"] : [])], metricRows),
    ranking: (number) => {
      const metric = metricOf(names[number]), found = data.comparisons[metric.key];
      const heads = ["metric", "model", "best_rank", "worst_rank", "value", "difference_to_best", "low", "high", "best_probability"];
      return table(heads, found.order.map((i, at) => [metric.key, models[i].name, ...found.ranks[at], valueAt(models[i], metric).value, ...(found.behind[at] || ["", "", ""]), found.best[at]]));
    },
    wins: (number) => {
      const found = data.comparisons[metricOf(names[number]).key], called = found.order.map((i) => models[i].name);
      return table(["model", ...called], found.wins.map((chances, at) => [called[at], ...chances]));
    },
    protocol: () => [...$("table-protocol").rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())),
  };
