  // -- models shown -------------------------------------------------------------------------
  const ofModels = present.filter((name) => name !== "mapped" && name !== "frontier");
  function legend() {
    const ink = paint(isDark());
    for (const button of all("[data-series]")) {
      const i = Number(button.dataset.series);
      button.setAttribute("aria-pressed", String(shown[i]));
      const stroke = button.querySelector("line");
      stroke.setAttribute("stroke", colour(ink, i));
      stroke.setAttribute("stroke-dasharray", STROKES[i % STROKES.length]);
    }
    for (const button of all("[data-all]")) button.hidden = shown.every(Boolean);
    for (const button of all("[data-only]")) {
      const i = Number(button.dataset.only);
      button.setAttribute("aria-pressed", String(shown[i] && !shown.every(Boolean)));
    }
  }
  function show(wanted) {
    wanted.forEach((one, i) => { shown[i] = one; });
    legend();
    draw(ofModels);
  }
  function only(i) {
    const alone = shown[i] && shown.filter(Boolean).length === 1;
    show(models.map((_, j) => alone || i === j));
  }
  for (const button of all("[data-series]")) {
    const i = Number(button.dataset.series);
    button.addEventListener("click", () => {
      const wanted = shown.map((one, j) => (i === j ? !one : one));
      show(wanted.some(Boolean) ? wanted : wanted.map(() => true));
    });
    button.addEventListener("dblclick", () => show(models.map((_, j) => i === j)));
  }
  for (const button of all("[data-all]")) button.addEventListener("click", () => show(models.map(() => true)));

  // -- metric and K: they drive the verdict, the table, who wins, and the figures alike ---------
  const range = $("cut"), number = $("cut-number"), metricChoice = $("metric");
  function refresh() {
    judge();
    fill();
    compareAll();
    draw(ofK);
  }
  function choose(k) {
    cut = data.cuts.reduce((near, one) => (Math.abs(Math.log(one / k)) < Math.abs(Math.log(near / k)) ? one : near));
    range.value = String(data.cuts.indexOf(cut));
    range.setAttribute("aria-valuetext", `K = ${cut}`);
    number.value = String(cut);
    refresh();
  }
  $("drive").hidden = names.length === 1 && !first;
  metricChoice.closest("span").hidden = names.length === 1;
  metricChoice.addEventListener("change", () => {
    chosen = metricChoice.value;
    if ([...$("curve").options].some((one) => one.value === chosen)) $("curve").value = chosen;
    refresh();
  });
  if (first) {
    range.max = String(data.cuts.length - 1);
    number.append(...data.cuts.map((k) => new Option(String(k), String(k))));
    range.addEventListener("input", () => choose(data.cuts[Number(range.value)]));
    number.addEventListener("change", () => choose(Number(number.value)));
    range.value = String(data.cuts.indexOf(cut));
    number.value = String(cut);
    $("curve").value = first.name;
  } else {
    range.closest("span").hidden = true;
  }

  // -- the rest -----------------------------------------------------------------------------
  const repaint = () => { legend(); fill(); compareAll(); draw(); };
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
  judge();
  repaint();
  document.documentElement.dataset.ready = "true";
