// Columns with error bars, as SVG: what is true, and what is estimated.

import { svg } from "./dom.js";

const MARGIN = { left: 66, right: 12, top: 14, bottom: 44 };

const ticks = (low, high) => {
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(Number((i * step).toPrecision(6)));
  return found;
};

// columns: [{name, truth, estimate, reach}]; without an estimate there is only what is true.
export function histogram({ columns, title, labels, width = 640, height = 320 }) {
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  const ends = columns.flatMap(({ truth, estimate, reach }) => [truth, ...(estimate === null ? [] : [estimate - reach, estimate + reach])]);
  const low = Math.min(0, ...ends), high = Math.max(...ends, low + 1e-9);
  const base = height - MARGIN.bottom, room = width - MARGIN.left - MARGIN.right, each = room / columns.length;
  const y = (value) => base - ((value - low) / (high - low)) * (base - MARGIN.top);
  for (const value of ticks(low, high)) {
    picture.append(
      svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value), class: value === 0 ? "axis" : "grid" }),
      svg("text", { x: MARGIN.left - 8, y: y(value) + 4, class: "tick end" }, value.toLocaleString("en")));
  }
  const every = Math.ceil(34 / each);  // names need room
  columns.forEach(({ name, truth, estimate, reach }, i) => {
    const middle = MARGIN.left + (i + 0.5) * each, wide = Math.min(0.7 * each, 60), x = middle.toFixed(1);
    const short = (number) => Math.round(number * 1000) / 1000;
    const said = estimate === null ? `${name}: ${short(truth)}` : `${name}: estimated ${short(estimate)}, true ${short(truth)}`;
    picture.append(svg("rect", {
      x: (middle - wide / 2).toFixed(1), y: y(truth).toFixed(1), width: wide.toFixed(1), height: (y(0) - y(truth)).toFixed(1), class: "band",
    }, svg("title", {}, said)));
    if (estimate !== null) {
      const cap = Math.min(wide / 4, 8), bars = [estimate - reach, estimate + reach].map((value) => y(value).toFixed(1));
      const caps = bars.map((at) => `M${(middle - cap).toFixed(1)} ${at}H${(middle + cap).toFixed(1)}`).join("");
      picture.append(
        svg("path", { class: "line reach", d: `M${x} ${bars[0]}V${bars[1]}${caps}` }),
        svg("circle", { cx: x, cy: y(estimate).toFixed(1), r: 4, class: "dot" }, svg("title", {}, said)));
    }
    if (i % every === 0) picture.append(svg("text", { x, y: base + 19, class: "tick middle" }, name));
  });
  picture.append(
    svg("text", { x: MARGIN.left + room / 2, y: height - 6, class: "label middle" }, labels.x),
    svg("text", { x: 0, y: 0, class: "label middle", transform: `translate(13 ${(MARGIN.top + base) / 2}) rotate(-90)` }, labels.y));
  return picture;
}
