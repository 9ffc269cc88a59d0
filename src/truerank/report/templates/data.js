  // -- what the page knows, and what is chosen -----------------------------------------------
  const data = JSON.parse(document.getElementById("data").textContent);
  const models = data.models;
  const shown = models.map(() => true);
  const $ = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const visible = () => models.map((model, i) => [model, i]).filter(([, i]) => shown[i]);

  // Metrics without their cut-offs, in the order asked for; K is one for all of them.
  const names = [...new Set(data.metrics.map((metric) => (metric.curve ? metric.name : metric.key)))];
  const first = data.metrics.find((metric) => metric.curve);
  let chosen = names[0];
  let cut = first ? first.k : 10;

  // The metric of a name at the K chosen.
  function metricOf(name) {
    const metric = data.metrics.find((one) => (one.curve ? one.name : one.key) === name);
    return metric.curve ? { ...metric, key: `${name}@${cut}`, k: cut } : metric;
  }
  function valueAt(model, metric) {
    const point = model.points[metric.key];
    const known = model.known && model.known.points[metric.key];
    if (!metric.curve) return { ...point, known };
    const one = model.curves[metric.name], at = one.k.indexOf(metric.k);
    const found = { value: one.value[at], naive: one.naive[at], low: one.low[at], high: one.high[at], resolvable: one.resolved[at] };
    return { ...point, ...found, known: model.known ? model.known.curves[metric.name][at] : undefined };
  }
  // An interval of no width, up to rounding, is that of an exact value.
  const isWide = (low, high) => typeof low === "number" && high - low > 1e-9;
  const hasKnown = models.some((model) => model.known);

  // -- theme --------------------------------------------------------------------------------
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const isDark = () => {
    const wanted = document.documentElement.dataset.theme;
    return !printing && (wanted ? wanted === "dark" : preferred.matches);
  };
  const paint = (dark) => dark
    ? { ink: "#e8ebee", soft: "#a3adb8", grid: "#2c333b", page: "#14171b", palette: data.palette.dark }
    : { ink: "#1b1f24", soft: "#57606a", grid: "#e6eaee", page: "#ffffff", palette: data.palette.light };
  const faint = (hex, alpha) => {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
  };
  const DASHES = ["solid", "dash", "dashdot", "dot", "longdash"];
  const STROKES = ["", "7 4", "7 3 2 3", "2 3", "11 4"];
  const MARKS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
  const colour = (ink, i) => ink.palette[i % ink.palette.length];
  const line = (ink, i) => ({ color: colour(ink, i), width: 2.2, dash: DASHES[i % DASHES.length] });

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
