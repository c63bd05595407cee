// The page: which tab is open, what was changed, and who answers.

import { Failed, cancelAll, registry } from "./api.js";
import { Choose } from "./choose.js";
import { Device } from "./device.js";
import { copy, html } from "./dom.js";
import { clearProblems, showProblem } from "./form.js";
import { Guarantee } from "./guarantee.js";
import { Plan } from "./plan.js";
import { Protocol } from "./protocol.js";
import { flush, read, state, write } from "./state.js";

const DEBOUNCE = { guarantee: 40, choose: 250, plan: 350, device: 150 };  // milliseconds
const form = document.getElementById("protocol");
const answer = document.getElementById("answer");
const tabs = [...document.querySelectorAll("[role=tab]")];

let views = {}, timer = null;

function problem(error) {
  const beside = showProblem(error.field, error.message);
  const place = answer.querySelector(".general");
  place.textContent = beside ? "" : error.message;
  place.hidden = beside;
}

function change(name, value, rebuild = false) {
  state[name] = value;
  if (name === "randomizer") views.guarantee.protocol.chosen();
  if (rebuild) buildForm();
  write();
  clearTimeout(timer);
  timer = setTimeout(update, rebuild ? 0 : DEBOUNCE[state.tab]);
}

function update() {
  clearProblems();
  answer.querySelector(".general").hidden = true;
  views[state.tab].update();
}

function buildForm() {
  const focus = document.activeElement?.id;
  views.guarantee.protocol.settle();
  const view = views[state.tab];
  form.replaceChildren(...(state.tab === "guarantee" ? view.protocol : view).form(change));
  if (focus) document.getElementById(focus)?.focus();
}

function open() {
  if (!(state.tab in views)) state.tab = "guarantee";
  for (const view of Object.values(views)) view.stop();
  for (const tab of tabs) {
    const here = tab.dataset.tab === state.tab;
    tab.setAttribute("aria-selected", String(here));
    tab.tabIndex = here ? 0 : -1;
  }
  answer.setAttribute("aria-labelledby", `tab-${state.tab}`);
  buildForm();
  const general = html("p", { class: "problem general", role: "alert", hidden: true });
  answer.replaceChildren(general, ...views[state.tab].build());
  update();
}

for (const [i, tab] of tabs.entries()) {
  tab.addEventListener("click", () => { state.tab = tab.dataset.tab; flush(); open(); });
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(i + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
}

form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("cancel").addEventListener("click", cancelAll);
document.getElementById("share").addEventListener("click", () => { flush(); copy(location.href, "Link"); });
addEventListener("popstate", () => { read(); open(); });
addEventListener("hashchange", () => { read(); open(); });
// On a narrow screen the answer is far below; its sentence stays in sight.
const peek = document.getElementById("peek");
new MutationObserver(() => {
  const said = answer.querySelector(".sentence")?.textContent ?? "";
  if (peek.textContent !== said) peek.textContent = said;
}).observe(answer, { childList: true, subtree: true, characterData: true });
new IntersectionObserver(([{ isIntersecting }]) => {
  peek.hidden = isIntersecting;
}).observe(answer);
new ResizeObserver(() => {
  for (const card of views[state.tab]?.cards ?? []) card.redraw();
}).observe(answer);

async function start() {
  read();
  const known = await registry();
  const protocol = new Protocol(known);
  views = {
    guarantee: new Guarantee(protocol, problem),
    choose: new Choose(known, problem, open),
    plan: new Plan(protocol, problem),
    device: new Device(known, problem),
  };
  open();
  document.body.dataset.ready = "";
}

start().catch((error) => {
  const text = error instanceof Failed ? error.message : "The server does not answer; start shuffledp serve again.";
  answer.replaceChildren(html("p", { class: "problem", role: "alert" }, text));
  throw error;
});
