// The form: what can be set, from the registry, with sliders, and what is wrong beside each field.

import { html } from "./dom.js";
import { state } from "./state.js";

const STEPS = 1000;  // of a slider

// A slider covers what is usual; the field beside it takes all that the server does.
const SLIDERS = {
  users: { log: true, low: 10, high: 1e9, whole: true },
  rounds: { log: true, low: 1, high: 1e4, whole: true },
  delta: { log: true, low: 1e-15, high: 0.1 },
  epsilon: { log: true, low: 0.01, high: 10 },
  eps0: { low: 0.1, high: 10, step: 0.1 },
  sigma: { log: true, low: 1e-3, high: 50 },
  k: { log: true, low: 2, high: 1e4, whole: true },
  max_eps0: { low: 0.1, high: 20, step: 0.1 },
  dimension: { log: true, low: 2, high: 1e4, whole: true },
  noise_multiplier: { log: true, low: 0.3, high: 30 },
  steps: { log: true, low: 10, high: 1e6, whole: true },
  threshold: { log: true, low: 1, high: 1000, whole: true },
  gamma: { low: 0.01, high: 0.99, step: 0.01 },
  sample_rate: { log: true, low: 1e-4, high: 1 },
  rate: { log: true, low: 1e-4, high: 1 },
};

const written = (value, whole) => {
  const rounded = Number(value.toPrecision(2));
  if (whole) return String(Math.round(rounded));
  return rounded < 1e-3 ? rounded.toExponential() : String(rounded);
};

// As the server reads them: 2M, 10k and 20% are numbers. The unit is added to the exponent, which is exact:
// 1.1 * 0.01 is not 0.011.
export function numberOf(text) {
  const found = /^\s*([-+\d._]+)(?:[eE]([-+]?\d+))?\s*([kMG%]?)\s*$/.exec(text.replaceAll(",", ""));
  if (!found) return NaN;
  const [, digits, exponent = "0", unit] = found;
  return Number(`${digits.replaceAll("_", "")}e${Number(exponent) + { "": 0, k: 3, M: 6, G: 9, "%": -2 }[unit]}`);
}

function slider(name, spec, input, change) {
  const low = spec.log ? Math.log10(spec.low) : spec.low;
  const high = spec.log ? Math.log10(spec.high) : spec.high;
  const range = html("input", {
    type: "range", min: 0, max: spec.step ? Math.round((high - low) / spec.step) : STEPS,
    "aria-label": `${name.replaceAll("_", " ")}, slider`, "data-slider": name,
  });
  const most = Number(range.max);
  const show = () => {
    const value = numberOf(input.value);
    const place = spec.log ? Math.log10(value) : value;
    if (Number.isFinite(place)) range.value = Math.round(((place - low) / (high - low)) * most);
    range.setAttribute("aria-valuetext", input.value);
  };
  range.addEventListener("input", () => {
    const place = low + (Number(range.value) / most) * (high - low);
    input.value = spec.log ? written(10 ** place, spec.whole) : String(Number(place.toFixed(6)));
    range.setAttribute("aria-valuetext", input.value);
    change(name, input.value);
  });
  input.addEventListener("input", show);
  show();
  return range;
}

// One thing to set. kind: "number", "text", "word" or "file".
export function field({ name, label, help, kind = "number", words = [], limits = [null, null] }, change) {
  const id = `field-${name}`, about = `${id}-help`, problem = `${id}-problem`;
  const described = { "aria-describedby": `${help ? `${about} ` : ""}${problem}` };
  let input;
  if (kind === "word") {
    const options = words.map(([value, text]) =>
      html("option", { value, selected: (state[name] ?? "") === value }, text));
    input = html("select", { id, ...described }, options);
    input.addEventListener("change", () => change(name, input.value, true));
  } else if (kind === "file") {
    input = html("textarea", { id, rows: 4, spellcheck: "false", ...described });
    input.addEventListener("input", () => change(name, input.value));
  } else {
    input = html("input", { id, type: "text", inputmode: kind === "text" ? "text" : "decimal", spellcheck: "false", placeholder: "not set", ...described });
    input.addEventListener("input", () => change(name, input.value));
  }
  if (kind !== "word") input.value = state[name] ?? "";
  const spec = kind === "number" ? SLIDERS[name] : null;
  const [least, most] = limits;
  const within = spec && { ...spec, low: Math.max(spec.low, least ?? spec.low), high: Math.min(spec.high, most ?? spec.high) };
  const pair = html("div", { class: "pair" }, spec ? slider(name, within, input, change) : null, input);
  const said = help ? html("p", { class: "help", id: about }, help) : null;
  const upload = kind === "file" ? fileInput(label, input, name, change) : null;
  return html(
    "div", { class: `field ${kind}${spec ? " slides" : ""}`, "data-field": name },
    html("div", { class: "named" }, html("label", { for: id }, label), help && kind !== "word" ? said : null),
    pair, upload, kind === "word" ? said : null,
    html("p", { class: "problem", id: problem }),
  );
}

function fileInput(label, input, name, change) {
  const chosen = html("input", { type: "file", "aria-label": `${label}, from a file` });
  chosen.addEventListener("change", async () => {
    input.value = await chosen.files[0].text();
    change(name, input.value);
  });
  return chosen;
}

// Words to choose from, all in sight.
export function segments({ name, label, words }, change) {
  const made = words.map(([value, text]) => {
    const input = html("input", { type: "radio", name, value, id: `${name}-${value}` });
    input.checked = state[name] === value;
    input.addEventListener("change", () => change(name, value, true));
    return [input, html("label", { for: input.id }, text)];
  });
  return html(
    "fieldset", { class: "segments", "data-field": name },
    html("legend", {}, label), html("div", { class: "segment" }, made),
    html("p", { class: "problem", role: "alert" }),
  );
}

export const group = (title, ...fields) =>
  html("fieldset", { class: "group" }, html("legend", {}, title), fields);

export function clearProblems() {
  for (const place of document.querySelectorAll("#protocol .problem")) place.textContent = "";
  for (const input of document.querySelectorAll("#protocol [aria-invalid]")) {
    input.removeAttribute("aria-invalid");
  }
}

// The sentence stands beside its field; true if there is one.
export function showProblem(name, sentence) {
  const place = name && document.querySelector(`#protocol [data-field="${name}"]`);
  if (!place) return false;
  place.closest("details")?.setAttribute("open", "");
  place.querySelector(".problem").textContent = sentence;
  place.querySelector("input[type=text], select, textarea")?.setAttribute("aria-invalid", "true");
  return true;
}
