// Small helpers: elements, downloads, the clipboard.

const SVG = "http://www.w3.org/2000/svg";

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export const html = (name, attributes = {}, ...children) =>
  made(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  made(document.createElementNS(SVG, name), attributes, children);

// A text in which no line ends inside of a number like 1e-06.
export const unbroken = (text) =>
  text.split(/(\d[\d.]*e-\d+)/).map((part, i) => (i % 2 ? html("span", { class: "unbroken" }, part) : part));

export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { place.textContent = ""; }, 2500);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // not allowed here; the old way is
    const area = html("textarea", { class: "hidden-text", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}

export function download(name, text, type) {
  const link = html("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const button = (text, act, label) =>
  html("button", { type: "button", class: "small", onclick: act, "aria-label": label }, text);

const STYLES = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight",
  "text-anchor", "opacity",
];

// A picture as a file of its own: what the style sheet says becomes attributes.
export function svgText(picture) {
  const copyOf = picture.cloneNode(true);
  const from = [picture, ...picture.querySelectorAll("*")];
  [copyOf, ...copyOf.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = picture.viewBox.baseVal;
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
  copyOf.prepend(svg("rect", { width, height, fill: colour }));
  copyOf.setAttribute("xmlns", SVG);
  copyOf.setAttribute("width", width);
  copyOf.setAttribute("height", height);
  return new XMLSerializer().serializeToString(copyOf);
}

export const csvText = (head, rows) =>
  [head, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
