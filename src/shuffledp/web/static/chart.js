// Lines with their certified bands, as SVG: axes, ticks, and one mark for where one is.

import { svg } from "./dom.js";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const MARGIN = { left: 58, right: 16, top: 14, bottom: 44 };

const power = (exponent) =>
  "10" + (exponent < 0 ? "⁻" : "") + [...String(Math.abs(exponent))].map((d) => SUPERSCRIPTS[d]).join("");

function logTicks(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first >= 1) {
    const step = Math.max(1, Math.ceil((last - first) / 5));
    const found = [];
    for (let e = last; e >= first; e -= step) found.unshift([10 ** e, power(e)]);
    return found;
  }
  const found = [];
  for (let e = first - 1; e <= last + 1; e += 1) {
    for (const digit of [1, 2, 5]) {
      const value = digit * 10 ** e;
      if (value >= low * 0.999 && value <= high * 1.001) found.push([value, short(value)]);
    }
  }
  return found;
}

function linearTicks(low, high) {
  const rough = (high - low) / 5 || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i += 1) {
    found.push([i * step, short(i * step)]);
  }
  return found;
}

// Of a tick, which is exact; certified numbers are never rounded here.
const short = (value) => {
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) >= 1e5 || (rounded !== 0 && Math.abs(rounded) < 1e-3)
    ? rounded.toExponential().replace("e+", "e") : String(rounded);
};

const DAY = 864e5;  // milliseconds
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// First days of months or years, or days if there are few; x values are days since 1970.
function dateTicks(low, high) {
  const months = (high - low) / 30.4;
  if (months < 3) {
    const step = Math.max(1, Math.ceil((high - low) / 5));
    const found = [];
    for (let day = Math.ceil(low); day <= high; day += step) found.push([day, new Date(day * DAY).toISOString().slice(0, 10)]);
    return found;
  }
  const step = [1, 2, 3, 6, 12, 24, 60, 120].find((s) => months / s <= 7) ?? 12 * Math.ceil(months / 84);
  const first = new Date(low * DAY);
  const found = [];
  for (let month = 12 * first.getUTCFullYear(); ; month += step) {
    const day = Date.UTC(Math.floor(month / 12), month % 12, 1) / DAY;
    if (day > high) return found;
    const year = String(Math.floor(month / 12)), named = month % 12 ? MONTHS[month % 12] : year;
    if (day >= low) found.push([day, found.length || named === year ? named : `${named} ${year}`]);
  }
}

function scale({ log, dates }, values, from, to) {
  let low = Math.min(...values), high = Math.max(...values);
  if (dates) {
    if (low === high) high = low + 1;
    return { place: (value) => from + ((value - low) / (high - low)) * (to - from), ticks: dateTicks(low, high) };
  }
  if (log && low === high) { low /= 3; high *= 3; }
  if (!log) { low = Math.min(low, 0); if (low === high) high = low + 1; }
  const map = log ? Math.log10 : (value) => value;
  const place = (value) => from + ((map(value) - map(low)) / (map(high) - map(low))) * (to - from);
  return { place, ticks: log ? logTicks(low, high) : linearTicks(low, high) };
}

// Several curves by date, each with the value that it may not exceed: lines: [{name, budget, points: [{x, lower, upper}]}].
// Values stay as they are up to the next point.
export function dateChart({ lines, y, title, width = 460, height = 300 }) {
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  const shown = lines.map((line) => ({ ...line, points: line.points.filter((p) => Number.isFinite(p.upper)) }));
  const all = shown.flatMap((line) => line.points);
  if (all.length === 0) {
    picture.append(svg("text", { x: width / 2, y: height / 2, class: "tick middle" }, "nothing to draw"));
    return picture;
  }
  const xs = scale({ dates: true }, all.map((p) => p.x), MARGIN.left, width - MARGIN.right);
  const tops = [...all.map((p) => p.upper), ...shown.map((line) => line.budget)];
  const ys = scale({}, tops.map((top) => 1.08 * top), height - MARGIN.bottom, MARGIN.top);
  axes(picture, xs, ys, { x: { label: "date" }, y, width, height });
  shown.forEach(({ name, budget, points }, number) => {
    const kind = `series-${number % 6}`, corners = [];
    points.forEach((p, i) => {
      if (i) corners.push([xs.place(p.x), ys.place(points[i - 1].upper)]);
      corners.push([xs.place(p.x), ys.place(p.upper)]);
    });
    const at = ys.place(budget);
    picture.append(
      svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: at, y2: at, class: `budget ${kind}` }, svg("title", {}, `${name}: budget ${budget}`)),
      svg("path", { d: pathOf(corners), class: `line ${kind}` }),
      ...points.map((p) => svg("circle", { cx: xs.place(p.x).toFixed(1), cy: ys.place(p.upper).toFixed(1), r: 2.5, class: `dot ${kind}` },
        svg("title", {}, `${name}, ${p.x_text}: ${p.text}`))),
    );
  });
  return picture;
}

// Grid, ticks and names of both axes.
function axes(picture, xs, ys, { x, y, width, height }) {
  for (const [value, text] of ys.ticks) {
    const at = ys.place(value);
    picture.append(
      svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: at, y2: at, class: "grid" }),
      svg("text", { x: MARGIN.left - 8, y: at + 4, class: "tick end" }, text),
    );
  }
  for (const [value, text] of xs.ticks) {
    const at = xs.place(value), base = height - MARGIN.bottom;
    picture.append(
      svg("line", { x1: at, x2: at, y1: base, y2: base + 5, class: "axis" }),
      svg("text", { x: at, y: base + 19, class: "tick middle" }, text),
    );
  }
  picture.append(
    svg("line", {
      x1: MARGIN.left, x2: width - MARGIN.right, class: "axis",
      y1: height - MARGIN.bottom, y2: height - MARGIN.bottom,
    }),
    svg("text", { x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, class: "label middle" }, x.label),
    svg("text", {
      x: 0, y: 0, class: "label middle",
      transform: `translate(13 ${(MARGIN.top + height - MARGIN.bottom) / 2}) rotate(-90)`,
    }, y.label),
  );
}

const pathOf = (list) => list.map((p, i) => `${i ? "L" : "M"}${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join("");

// points: [{x, lower, upper}]; mark: {x, y}
export function lineChart({ points, x, y, mark = null, title, width = 460, height = 280 }) {
  const ok = (value, axis) => Number.isFinite(value) && (!axis.log || value > 0);
  const shown = points.filter((p) => ok(p.x, x) && ok(p.upper, y));
  const picture = svg("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title,
  });
  if (shown.length < 2) {
    picture.append(svg("text", { x: width / 2, y: height / 2, class: "tick middle" }, "nothing to draw"));
    return picture;
  }
  const marked = mark && ok(mark.x, x) && ok(mark.y, y) ? [mark] : [];
  const floor = y.log ? Math.min(...shown.map((p) => p.upper)) / 3 : 0;
  const lowerOf = (p) => (y.log ? Math.max(p.lower, floor) : p.lower);
  const xs = scale(x, [...shown, ...marked].map((p) => p.x), MARGIN.left, width - MARGIN.right);
  const ys = scale(
    y, [...shown.flatMap((p) => [lowerOf(p), p.upper]), ...marked.map((p) => p.y)],
    height - MARGIN.bottom, MARGIN.top,
  );
  axes(picture, xs, ys, { x, y, width, height });
  const top = shown.map((p) => [xs.place(p.x), ys.place(p.upper)]);
  const below = shown.map((p) => [xs.place(p.x), ys.place(lowerOf(p))]).reverse();
  picture.append(
    svg("path", { d: `${pathOf([...top, ...below])}Z`, class: "band" }),
    svg("path", { d: pathOf(top), class: "line" }),
    ...shown.map((p, i) => svg(
      "circle", { cx: top[i][0].toFixed(1), cy: top[i][1].toFixed(1), r: 3, class: "dot" },
      svg("title", {}, `${p.x_text ?? short(p.x)}: ${p.text}`),
    )),
    ...marked.map((p) => svg("circle", { cx: xs.place(p.x), cy: ys.place(p.y), r: 6.5, class: "mark" })),
  );
  return picture;
}
