  // -- figures: each gives traces, layout and rows of numbers ---------------------------------
  const MOST_BANDS = 6; // models whose bands can be told apart

  function banded(ink, i, name, x, [value, low, high], hover, few = visible().length <= MOST_BANDS) {
    const traces = [];
    if (low && high && few) {
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
  const BAND = data.certain ? "%{y:.4f}" : "%{y:.4f} [%{customdata[0]:.4f}, %{customdata[1]:.4f}]";
  const log = (title, more) => ({ type: "log", title: { text: title }, ...more });
  const ticksTo = (largest) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].filter((k) => k <= largest);
  const byX = { hovermode: "x unified" };
  // Many lines need room.
  const tall = (least) => least + 14 * Math.max(0, models.length - 6);

  // Heights of labels, as near to their lines as leaves room between neighbours.
  function apart(heights, least) {
    const order = heights.map((_, i) => i).sort((i, j) => heights[i] - heights[j]);
    const found = [...heights];
    order.forEach((i, at) => { if (at) found[i] = Math.max(found[i], found[order[at - 1]] + least); });
    let top = Math.max(...heights, 1) + least / 2;
    for (const i of order.reverse()) { found[i] = Math.min(found[i], top); top = found[i] - least; }
    return found;
  }
  function scale(values) {
    const known = values.filter((value) => typeof value === "number");
    const low = Math.min(...known), high = Math.max(...known);
    return (value) => (high > low ? (value - low) / (high - low) : 0.5);
  }

  const FIGURES = {
    flip: (ink, width) => {
      const metric = metricOf(chosen), some = visible();
      const each = some.map(([model]) => valueAt(model, metric));
      const way = metric.lower ? -1 : 1;
      const left = scale(each.map((one) => way * one.naive));
      const right = scale(each.flatMap((one) => [one.value, one.low, one.high, one.known].filter((v) => typeof v === "number").map((v) => way * v)));
      // On a phone a name stands above its number.
      const narrow = width < 500, high = narrow ? 36 : 20;
      const traces = [], height = 110 + Math.max(190, (high + 6) * some.length);
      const room = Math.min(250, width * (narrow ? 0.36 : 0.3)), letters = Math.floor((room - 16) / 7.2) - (narrow ? 0 : 8);
      some.forEach(([model, i], at) => {
        const one = each[at], ready = { hoverinfo: "skip", showlegend: false };
        if (isWide(one.low, one.high)) traces.push({ ...ready, x: [1, 1], y: [right(way * one.low), right(way * one.high)], mode: "lines", line: { color: faint(colour(ink, i), 0.4), width: 8 } });
        traces.push({ x: [0, 1], y: [left(way * one.naive), right(way * one.value)], name: model.name, mode: "lines+markers", line: line(ink, i), marker: { size: 9 }, hovertemplate: `naive ${four(one.naive)}, corrected ${four(one.value)}` });
        if (typeof one.known === "number") traces.push({ ...ready, x: [1], y: [right(way * one.known)], mode: "markers", marker: { symbol: "x-thin", size: 10, line: { color: ink.ink, width: 2 } } });
      });
      const label = (side, heights) => some.map(([model, i], at) => {
        const name = model.name.length > letters ? `${model.name.slice(0, letters - 1)}…` : model.name;
        const number = four(side ? each[at].value : each[at].naive), text = escaped(name);
        return { x: side, y: heights[at], xanchor: side ? "left" : "right", xshift: side ? 12 : -12, showarrow: false, align: side ? "left" : "right", font: { color: ink.ink, size: 12 }, text: narrow ? `${text}<br><b>${number}</b>` : side ? `<b>${number}</b>  ${text}` : `${text}  <b>${number}</b>` };
      });
      const least = high / (height - 110);
      const heads = ["model", "metric", "naive", "value", "low", "high"];
      return {
        height, data: traces, margin: { l: room, r: room, t: 24, b: 48 },
        layout: {
          xaxis: { range: [-0.04, 1.04], tickvals: [0, 1], tickangle: 0, ticktext: ["sample<br>(naive)", "catalogue<br>(corrected)"], showgrid: false, fixedrange: true },
          yaxis: { visible: false, range: [-0.15, 1.15], fixedrange: true },
          annotations: [
            ...label(0, apart(each.map((one) => left(way * one.naive)), least)),
            ...label(1, apart(each.map((one) => right(way * one.value)), least)),
          ],
        },
        rows: table(heads, some.map(([model], at) => [model.name, metric.key, ...["naive", "value", "low", "high"].map((name) => each[at][name])])),
      };
    },
    curves: (ink) => {
      const name = $("curve").value;
      const last = models[0].curves[name].k.at(-1);
      const parts = (model) => { const c = model.curves[name]; return [c.value, c.low, c.high]; };
      const mark = { type: "line", xref: "x", yref: "paper", x0: cut, x1: cut, y0: 0, y1: 1, line: { color: ink.soft, width: 1, dash: "dot" } };
      return {
        height: tall(420),
        data: visible().flatMap(([model, i]) => banded(ink, i, model.name, model.curves[name].k, parts(model), BAND)),
        layout: { ...byX, shapes: [mark], xaxis: log("K", { tickvals: ticksTo(last), range: [0, Math.log10(last)], hoverformat: "d", unifiedhovertitle: { text: "K = %{x}" } }), yaxis: { title: { text: `${name}@K` }, rangemode: "tozero" } },
        rows: table(["model", "metric", "k", "naive", "value", "low", "high"], models.flatMap((model) => model.curves[name].k.map((k, at) => [model.name, name, k, model.curves[name].naive[at], ...ends(parts(model), at)]))),
      };
    },
    pmf: (ink) => ({
      data: visible().filter(([m]) => m.ranks).flatMap(([model, i]) => banded(ink, i, model.name, model.ranks.middle, model.ranks.pmf, "%{y:.2e}")),
      layout: { ...byX, xaxis: log("global rank", { dtick: 1, hoverformat: ",.0f" }), yaxis: log("share of users per rank", { dtick: 1, exponentformat: "power" }) },
      rows: table(["model", "first_rank", "last_rank", "share_per_rank", "low", "high"], models.filter((m) => m.ranks).flatMap((model) => model.ranks.upto.map((upto, at) => [model.name, model.ranks.from[at], upto, ...ends(model.ranks.pmf, at)]))),
    }),
    cdf: (ink) => ({
      data: visible().filter(([m]) => m.ranks).flatMap(([model, i]) => banded(ink, i, model.name, model.ranks.upto, model.ranks.cdf, BAND)),
      layout: { ...byX, xaxis: log("global rank", { dtick: 1, hoverformat: ",d" }), yaxis: { title: { text: "share of users at or above it" }, range: [0, 1.01] } },
      rows: table(["model", "rank", "share_of_users", "low", "high"], models.filter((m) => m.ranks).flatMap((model) => model.ranks.upto.map((upto, at) => [model.name, upto, ...ends(model.ranks.cdf, at)]))),
    }),
    koren: (ink) => {
      const share = (model) => model.ranks.upto.map((upto) => 100 * upto / model.ranks.upto.at(-1));
      const known = models.filter((m) => m.ranks);
      const chance = { x: [0, 100], y: [0, 1], name: "at random", mode: "lines", line: { color: ink.soft, width: 1, dash: "dot" }, hoverinfo: "skip" };
      return {
        data: [...visible().filter(([m]) => m.ranks).flatMap(([model, i]) => banded(ink, i, model.name, share(model), model.ranks.cdf, BAND)), chance],
        layout: { ...byX, xaxis: { title: { text: "best items, percent" }, range: [0, 100], hoverformat: ".2f" }, yaxis: { title: { text: "share of users" }, range: [0, 1.01] } },
        rows: table(["model", "percent_of_items", "share_of_users", "low", "high"], known.flatMap((model) => share(model).map((part, at) => [model.name, part, ...ends(model.ranks.cdf, at)]))),
      };
    },
    mapped: (ink) => {
      const model = models.find((one) => one.name === $("mapped-model").value);
      const traces = model.mapped.map((one, j) => ({
        x: one.f, y: one.recall, name: one.mapping, mode: "lines+markers", customdata: one.k,
        line: { color: colour(ink, j + 1), width: 1.2, dash: DASHES[(j + 1) % DASHES.length] },
        marker: { symbol: MARKS[j % MARKS.length] + "-open", size: 7, maxdisplayed: 30 },
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
      // Bars of many models cannot be told apart; their lines can.
      const kind = (i) => (visible().length > 4
        ? { mode: "lines+markers", line: line(ink, i), marker: { symbol: MARKS[i % MARKS.length], size: 6 } }
        : { type: "bar", marker: { color: colour(ink, i), pattern: { shape: ["", "/", ".", "x", "-"][i % 5], fillmode: "overlay", fgcolor: ink.page, solidity: 0.25, size: 6 } } });
      return {
        bottom: 72, height: tall(330),
        data: visible().filter(([m]) => m.effort.length).map(([model, i]) => ({
          ...kind(i), name: model.name, x: model.effort.map((one) => String(one.sample_size)), y: model.effort.map((one) => one.ended), hovertemplate: "%{y:.1%} ended at %{x}",
        })),
        layout: { barmode: "group", bargap: 0.25, xaxis: { type: "category", categoryorder: "array", categoryarray: sizes.map(String), title: { text: "sample size, the target included" }, tickangle: -45 }, yaxis: { title: { text: "share of users" }, tickformat: ".0%" } },
        rows: table(["model", "sample_size", "reached", "ended", "pairs_per_user", "cost"], models.flatMap((m) => m.effort.map((one) => [m.name, one.sample_size, one.reached, one.ended, one.pairs, one.cost]))),
      };
    },
    efficiency: (ink) => ({
      height: tall(330),
      data: visible().filter(([m]) => m.effort.length).map(([model, i]) => {
        const known = model.effort.filter((one) => one.cost !== null);
        return { x: known.map((one) => one.sample_size), y: known.map((one) => one.cost), name: model.name, mode: "lines+markers", line: line(ink, i), marker: { symbol: MARKS[i % MARKS.length], size: 7 }, hovertemplate: "size %{x}: %{y:,.0f} for each user" };
      }),
      layout: { xaxis: log("sample size, the target included", { tickvals: [30, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 1e5, 1e6] }), yaxis: log("negatives for each user ended", { dtick: 1 }) },
      rows: FIGURES.effort(ink).rows,
    }),
    frontier: (ink) => {
      const { points, curves, here, metric, model } = data.frontier;
      const kinds = [["adaptive", "adaptive samples"], ["fixed", "fixed samples"]].filter(([kind]) => curves[kind]);
      const traces = kinds.flatMap(([kind, name], i) => {
        const one = curves[kind];
        return banded(ink, i, name, one.pairs_per_user, [one.error, one.low, one.high], "%{x:,.0f} per user: %{y:.1%}", true);
      });
      traces.push({ x: [here.pairs], y: [here.error], name: "this run", mode: "markers", marker: { symbol: "star", size: 17, color: ink.ink, line: { color: ink.page, width: 1.5 } }, hovertemplate: "this run, %{x:,.0f} per user: %{y:.1%}" });
      const costs = [...new Set(points.filter((p) => p.design === "fixed").map((p) => Math.round(p.pairs_per_user)))];
      const along = (kind) => curves[kind].pairs_per_user.map((pairs, at) => [model, metric, kind, pairs, curves[kind].error[at], curves[kind].low[at], curves[kind].high[at]]);
      return {
        data: traces, legend: true,
        layout: { xaxis: log("scored pairs per user", { tickvals: costs, ticktext: costs.map((c) => c.toLocaleString("en")) }), yaxis: log(`relative error of ${metric}`, { tickformat: ".1~%", tickvals: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5] }) },
        rows: table(["model", "metric", "design", "pairs_per_user", "error", "low", "high"], [...kinds.flatMap(([kind]) => along(kind)), [model, metric, "this run", here.pairs, here.error, "", ""]]),
      };
    },
  };

  const axis = (ink, given) => ({ gridcolor: ink.grid, zeroline: false, linecolor: ink.grid, ticks: "outside", tickcolor: ink.grid, ...given, title: { ...(given.title || {}), font: { size: 12, color: ink.soft }, standoff: 8 } });

  // On paper, figures side by side have no room for a legend: it stands above them.
  function layoutOf(made, ink, more, beside) {
    const keyed = Boolean(made.legend || (printing && models.length > 1 && !made.margin && !beside));
    const rows = keyed ? Math.ceil(made.data.filter((one) => one.name).length / 4) : 0;
    return {
      height: made.height || 330,
      margin: made.margin || { l: 64, r: 14, t: keyed ? 44 + 20 * rows : 12, b: made.bottom || 48 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif", size: 12, color: ink.ink },
      hovermode: "closest", hoverlabel: { font: { size: 12, color: ink.ink }, bgcolor: ink.page }, dragmode: false,
      showlegend: keyed, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 } },
      ...made.layout, xaxis: axis(ink, made.layout.xaxis), yaxis: axis(ink, made.layout.yaxis), ...more,
    };
  }

  const present = Object.keys(FIGURES).filter((name) => $(`figure-${name}`));
  const ofK = present.filter((name) => name === "flip" || name === "curves");

  // Plotly reads tags in names, links among them; a name is text here.
  function escaped(text) { return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"); }
  const asText = (traces) => traces.map((one) => (one.name === undefined ? one : { ...one, name: escaped(one.name) }));

  function draw(names = present) {
    const ink = paint(isDark());
    for (const name of names) {
      const box = $(`figure-${name}`);
      // Paper is narrower than the screen that the page was laid out for.
      const beside = Boolean(box.closest(".columns")), paper = beside ? 330 : 680;
      const made = FIGURES[name](ink, printing ? paper : box.clientWidth);
      box.style.height = `${made.height || 330}px`;
      Plotly.react(box, asText(made.data), layoutOf(made, ink, printing ? { width: paper } : {}, beside), { displayModeBar: false, responsive: true });
    }
  }
