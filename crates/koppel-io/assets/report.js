// Draws the plots of a koppel report with uPlot. Zoom and cursor are shared by all plots.
// For tests the body tells how many plots were drawn (data-plots) and what failed (data-error);
// an address that ends in #selftest zooms once and tells the ranges (data-selftest).
"use strict";
(() => {
  const body = document.body;
  const fail = (error) => { body.dataset.error = String((error && error.message) || error); };
  addEventListener("error", (event) => fail(event.error || event.message));

  const HEIGHT = 240;
  const LAZY_FROM = 40; // with more plots than this, only those near the window are drawn
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const figures = [...document.querySelectorAll("figure[data-plot]")];
  const drawn = new Map(); // figure -> uPlot
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const decode = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
  };
  const gaps = (values) => values.map((value) => (Number.isFinite(value) ? value : null));
  const show = (value) => {
    if (value == null) return "–";
    const size = Math.abs(value);
    if (value !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(4);
    return String(Number(value.toPrecision(6)));
  };
  // The fewest digits that tell the ticks apart and are exact.
  const digitsFor = (splits, format) => {
    const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : Math.abs(splits[0]);
    for (let digits = 0; digits < 12; digits += 1) {
      if (splits.every((v) => Math.abs(v - Number(format(v, digits))) <= 1e-6 * step)) return digits;
    }
    return 12;
  };
  const fixed = (v, digits) => v.toFixed(digits);
  const exponential = (v, digits) => (v === 0 ? "0" : v.toExponential(digits).replace("e+", "e"));
  const ticks = (u, splits) => {
    const largest = Math.max(...splits.map(Math.abs));
    const format = largest >= 1e6 || (largest > 0 && largest < 1e-3) ? exponential : fixed;
    const digits = digitsFor(splits, format);
    return splits.map((v) => format(v, digits));
  };

  // Zoom: one range for all plots; null is everything.
  let range = null;
  let following = false;
  const apply = (u) => {
    const time = u.data[0];
    u.setScale("x", range || { min: time[0], max: time[time.length - 1] });
  };
  const zoom = (next, except) => {
    range = next;
    following = true;
    for (const u of drawn.values()) if (u !== except) apply(u);
    following = false;
  };
  const onScale = (u, key) => {
    if (key !== "x" || following || !u.ready) return;
    const { min, max } = u.scales.x;
    const time = u.data[0];
    const all = min <= time[0] && max >= time[time.length - 1];
    zoom(all ? null : { min, max }, u);
  };

  // Two fingers zoom and move: the times under the fingers stay under them.
  const pinch = (u) => {
    const fractions = (event) => {
      const box = u.over.getBoundingClientRect();
      return [...event.touches].slice(0, 2).map((touch) => (touch.clientX - box.left) / box.width).sort((a, b) => a - b);
    };
    let held = null; // times under the fingers
    u.over.addEventListener("touchstart", (event) => {
      if (event.touches.length !== 2) return;
      const { min, max } = u.scales.x;
      held = fractions(event).map((f) => min + f * (max - min));
    }, { passive: true });
    u.over.addEventListener("touchmove", (event) => {
      if (!held || event.touches.length !== 2) return;
      event.preventDefault();
      const [left, right] = fractions(event);
      if (right - left < 0.02 || held[1] <= held[0]) return;
      const perWidth = (held[1] - held[0]) / (right - left);
      const time = u.data[0];
      const min = Math.max(time[0], held[0] - left * perWidth);
      const max = Math.min(time[time.length - 1], held[1] + (1 - right) * perWidth);
      if (max > min) u.setScale("x", { min, max });
    }, { passive: false });
    u.over.addEventListener("touchend", () => { held = null; });
  };

  const widthOf = (figure) => Math.max(200, Math.floor(figure.getBoundingClientRect().width));
  const axis = () => ({
    stroke: () => color("--soft"), font: "12px system-ui, sans-serif", values: ticks,
    grid: { stroke: () => color("--grid"), width: 1 }, ticks: { stroke: () => color("--line"), width: 1, size: 5 },
  });
  // Room for the widest label.
  const axisSize = (u, values) => Math.max(46, 18 + 7 * Math.max(0, ...(values || []).map((v) => v.length)));
  const draw = (figure) => {
    if (drawn.has(figure)) return;
    const plot = plots[Number(figure.dataset.plot)];
    const data = [decode(plot.time), ...plot.series.map((series) => gaps(decode(series.values)))];
    const sparse = data[0].length <= 60;
    const options = {
      width: widthOf(figure), height: HEIGHT,
      padding: [8, 12, 0, 0],
      scales: { x: { time: false }, y: { range: (u, low, high) => yRange(low, high) } },
      cursor: { sync: { key: "koppel" }, drag: { x: true, y: false, dist: 5 }, points: { size: 6 }, focus: { prox: 24 } },
      focus: { alpha: 0.35 },
      legend: { live: true },
      axes: [{ ...axis(), size: 34 }, { ...axis(), size: axisSize }],
      series: [
        { label: "time [s]", value: (u, v) => show(v) },
        ...plot.series.map((series, index) => ({
          label: series.name, stroke: () => color("--s" + (index % 8)), width: 1.6,
          dash: index >= 8 ? [6, 4] : undefined,
          points: sparse ? { show: true, size: 5 } : {},
          value: (u, v) => show(v),
        })),
      ],
      hooks: { setScale: [onScale] },
    };
    const u = new uPlot(options, data, figure.querySelector(".canvas"));
    u.ready = true;
    pinch(u);
    drawn.set(figure, u);
    figure.dataset.points = data[0].length;
    figure.dataset.series = plot.series.length;
    body.dataset.plots = drawn.size;
    if (range) { following = true; apply(u); following = false; }
  };
  // A little room above and below; a constant gets room of its own.
  function yRange(low, high) {
    if (low == null) return [0, 1];
    const span = high - low || Math.abs(high) * 0.2 || 1;
    return low === high ? [low - span / 2, high + span / 2] : [low - 0.06 * span, high + 0.06 * span];
  }

  const guarded = (action) => (...given) => { try { return action(...given); } catch (error) { fail(error); } };
  const drawAll = guarded(() => figures.forEach(draw));
  const start = guarded(() => {
    body.dataset.plots = 0;
    if (figures.length <= LAZY_FROM) return drawAll();
    const near = new IntersectionObserver(guarded((entries) => {
      for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
    }), { rootMargin: "600px" });
    figures.forEach((figure) => near.observe(figure));
  });
  start();

  for (const button of document.querySelectorAll("button.reset")) button.addEventListener("click", () => zoom(null));

  // Filter: every word must occur in title, unit or a signal's name.
  const words = plots.map((plot) => [plot.title, plot.unit || "", ...plot.series.map((s) => plot.title + "." + s.name)].join(" ").toLowerCase());
  for (const input of document.querySelectorAll("input.filter")) {
    const section = input.closest("section");
    const own = figures.filter((figure) => section.contains(figure));
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const figure of own) figure.hidden = !wanted.every((word) => words[figure.dataset.plot].includes(word));
      section.querySelector(".nothing").hidden = own.some((figure) => !figure.hidden);
      resize();
    });
  }

  const resize = guarded(() => {
    for (const [figure, u] of drawn) {
      if (figure.hidden) continue;
      const width = widthOf(figure);
      if (width !== u.width) u.setSize({ width, height: HEIGHT });
    }
  });
  addEventListener("resize", resize);
  const redraw = () => { for (const u of drawn.values()) u.redraw(false, true); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // On paper: light colours, two plots beside each other.
  const PAPER = { width: 350, height: 180 };
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.scheme = "light";
    drawAll();
    for (const u of drawn.values()) u.setSize(PAPER);
    redraw();
  });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.scheme; resize(); redraw(); });

  // uPlot draws in a microtask, hence the pauses.
  const selftest = async () => {
    const pause = () => new Promise((done) => setTimeout(done, 50));
    const ranges = () => [...drawn.values()].map((u) => [u.scales.x.min, u.scales.x.max]);
    const first = drawn.values().next().value;
    const time = first.data[0];
    const [from, to] = [time[0], time[time.length - 1]];
    await pause();
    const before = ranges();
    first.setScale("x", { min: from + (to - from) / 4, max: from + (to - from) / 2 });
    await pause();
    const zoomed = ranges();
    first.over.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    await pause();
    const reset = ranges();
    const input = document.querySelector("input.filter");
    input.value = "no such signal";
    input.dispatchEvent(new Event("input"));
    const hidden = figures.filter((figure) => figure.hidden).length;
    input.value = "";
    input.dispatchEvent(new Event("input"));
    const shown = figures.filter((figure) => !figure.hidden).length;
    const pixels = [...drawn.values()].map((u) => {
      const { width, height } = u.ctx.canvas;
      const data = u.ctx.getImageData(0, 0, width, height).data;
      let painted = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) painted += 1;
      return painted;
    });
    body.dataset.selftest = JSON.stringify({ before, zoomed, reset, hidden, shown, pixels });
  };
  if (location.hash === "#selftest") selftest().catch(fail);
})();
