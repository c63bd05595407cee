// Rows of bars: a name, a number, how long the bar is, and what is said of it.

import { svg } from "./dom.js";

const wrap = (text, most) => {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    if (lines.at(-1) && lines.at(-1).length + word.length + 1 > most) lines.push(word);
    else lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word;
  }
  return lines.filter(Boolean);
};

// rows: [{name, text, value, note, kind}]; a line at `target`. Dots on a logarithmic scale if `log`.
export function bars({ rows, title, width = 640, target = null, log = false }) {
  const finite = rows.map((row) => row.value).filter((value) => Number.isFinite(value) && value > 0);
  const high = Math.max(...finite, target ?? 0) || 1;
  const low = Math.min(...finite, high);
  const span = Math.log10(high / low) || 1;
  const share = (value) => {
    if (!Number.isFinite(value)) return 1;
    return log ? 0.04 + 0.96 * (Math.log10(Math.max(value, low) / low) / span) : value / high;
  };
  const most = Math.floor((width - 4) / 6.6);
  const picture = svg("svg", { class: "chart bars", role: "img", "aria-label": title });
  let y = 4;
  for (const row of rows) {
    const room = width - row.text.length * 8.6 - 16;
    const name = wrap(row.name, Math.max(12, Math.floor(room / 7.8)));
    name.forEach((line, i) => {
      picture.append(svg("text", { x: 0, y: y + 13 + 18 * i, class: "name" }, line));
    });
    picture.append(svg("text", { x: width, y: y + 13, class: "value end" }, row.text));
    y += 18 * name.length + 3;
    const end = Math.max(2, share(row.value) * (width - 8));
    picture.append(svg("rect", { x: 0, y, width: width - 8, height: 7, rx: 3.5, class: "track" }));
    if (log) picture.append(svg("circle", { cx: end, cy: y + 3.5, r: 6, class: `fill ${row.kind ?? ""}` }));
    else picture.append(svg("rect", { x: 0, y, width: end, height: 7, rx: 3.5, class: `fill ${row.kind ?? ""}` }));
    if (target !== null) {
      const at = share(target) * (width - 8);
      picture.append(svg("line", { x1: at, x2: at, y1: y - 4, y2: y + 11, class: "target" }));
    }
    y += 7;
    for (const line of wrap(row.note ?? "", most)) {
      y += 16;
      picture.append(svg("text", { x: 0, y: y + 1, class: "note" }, line));
    }
    y += 17;
  }
  picture.setAttribute("viewBox", `0 0 ${width} ${Math.max(y, 20)}`);
  return picture;
}
