"use strict";
// Series of many points: 16 bits for the step in x, 16 for the logarithm of y.
const decoded = (text, step) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const words = new DataView(bytes.buffer);
  const count = bytes.length / 4;
  const x = new Float64Array(count), y = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    at += words.getUint16(4 * i, true) * step;
    x[i] = at;
    const log = words.getUint16(4 * i + 2, true);
    y[i] = log === 0 ? 0 : 2 ** ((log - 1) / 1024 - 10);
  }
  return [x, y];
};
const time = (ns) => {
  if (ns == null || isNaN(ns)) return "";
  for (const [factor, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) if (ns >= factor) return +(ns / factor).toPrecision(3) + " " + name;
  return +ns.toPrecision(3) + " ns";
};
for (const place of document.querySelectorAll(".dense")) {
  const data = JSON.parse(place.querySelector("script").textContent);
  const [x, y] = decoded(data.points, data.step);
  const colour = () => getComputedStyle(document.body).color;
  const axis = (more) => ({ stroke: colour, grid: { stroke: "#8884", width: 1 }, ticks: { stroke: "#8884", width: 1 }, ...more });
  const width = () => Math.max(280, place.clientWidth);
  const plot = new uPlot({
    width: width(), height: 320,
    title: data.title,
    scales: { x: { time: false }, y: { distr: 3 } },
    axes: [axis({ label: data.x }), axis({ label: data.y, size: 80, values: (_, all) => all.map(time) })],
    series: [{ label: data.x, value: (_, v) => (v == null ? "" : v.toFixed(4)) }, { label: data.y, stroke: "#0072b2", paths: () => null, points: { show: true, size: 3, fill: "#0072b2" }, value: (_, v) => time(v) }],
  }, [x, y], place);
  const zoom = (low, high) => plot.setScale("x", { min: low, max: high });
  const ends = () => [plot.scales.x.min, plot.scales.x.max];
  const by = (factor, shift) => {
    const [low, high] = ends(), half = (high - low) / 2, middle = (low + high) / 2 + shift * (high - low);
    zoom(middle - half * factor, middle + half * factor);
  };
  const whole = () => zoom(x[0], x[x.length - 1]);
  const controls = document.createElement("div");
  const button = (text, act) => {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = text;
    one.addEventListener("click", act);
    controls.append(one);
  };
  button("Zoom in", () => by(0.5, 0));
  button("Zoom out", () => by(2, 0));
  button("All", whole);
  place.append(controls);
  place.addEventListener("keydown", (event) => {
    const act = { "+": () => by(0.5, 0), "-": () => by(2, 0), ArrowLeft: () => by(1, -0.25), ArrowRight: () => by(1, 0.25), 0: whole }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  place.dataset.drawn = x.length;
  place.plot = plot;
  const fit = () => plot.setSize({ width: width(), height: 320 });
  addEventListener("resize", fit);
  // What is in a fold has no width until that is opened.
  for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.addEventListener("toggle", fit);
}
