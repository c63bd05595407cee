// Which randomizer to deploy: all that meet a target, ranked by the error of what is estimated.

import { bars } from "./bars.js";
import { Card } from "./cards.js";
import { button, copy, download, html } from "./dom.js";
import { field, group, segments } from "./form.js";
import { OF_USERS, people, titleOf } from "./protocol.js";
import { flush, state } from "./state.js";
import { View } from "./view.js";

// Fields of the question that have another name on this page.
const NAMES = { values: "k", view: "seen", questions: "answers" };
const WAYS = { separate: "in a shuffle each", bundle: "all in one message", "one-of": "one of them, drawn at random" };
const TASKS = { count: "counts", mean: "a mean", vector: "a mean vector" };

export class Choose extends View {
  constructor(registry, problem, open) {
    super();
    Object.assign(this, { registry, open });
    this.problem = (error) => {
      error.field = NAMES[error.field] ?? error.field;
      problem(error);
    };
  }

  get size() {  // what has to be known for the task
    return this.registry.tasks[state.task];
  }

  form(change) {
    const { size } = this;
    const tasks = Object.keys(this.registry.tasks).map((name) => [name, TASKS[name] ?? name]);
    const seen = [["any", "any"], ["shuffle", "shuffled messages"], ["aggregate", "only sums"]];
    if (size === "values") state.k ??= "16";
    if (size === "dimension") state.dimension ??= "100";
    return [
      group("Estimate", segments({ name: "task", label: "What to estimate", words: tasks }, change),
        size === "values" ? field({ name: "k", label: "values", help: "how many there are, k" }, change) : null,
        size === "dimension" ? field({ name: size, label: size, help: "the length of the vectors" }, change) : null,
        field({ name: "users", label: "users", help: "in each round" }, change),
        field({ name: "rounds", label: "rounds" }, change),
        size === "dimension" ? null : field({ name: "answers", label: "questions", help: "how many of this kind every user answers; 1 if empty" }, change),
        field({ name: "seen", label: "the adversary sees", kind: "word", words: seen }, change)),
      group("Target", field({ name: "epsilon", label: "epsilon" }, change), field({ name: "delta", label: "delta" }, change),
        field({ name: "max_eps0", label: "largest local eps0", help: "of one message whose sender is known; no limit if empty" }, change)),
      people(this.registry, OF_USERS, change),
    ];
  }

  build() {
    this.best = html("p", { class: "sentence", "aria-live": "polite" }, "…");
    this.why = html("p", { class: "bracket" });
    this.card = new Card("choose", "Ranked by average error");
    this.unmet = html("ul", { class: "unmet" });
    this.shell = html("pre", { tabindex: "0", "aria-label": "Shell" });
    this.others = html("section", { class: "card", hidden: true, "aria-label": "Cannot meet it" }, html("h2", {}, "Cannot meet the target"), this.unmet);
    this.hero = html("section", { class: "hero", "aria-label": "The best choice" }, this.best, this.why,
      html("div", { class: "tools" },
        button("JSON", () => download("choose.json", JSON.stringify(this.report, null, 1), "application/json"), "Download the report as JSON"),
        button("Show its guarantee", () => this.take(this.report.choices[0]), "Show the guarantee of the best choice")));
    return [
      this.hero, this.card.element, this.others,
      html("section", { class: "card", "aria-label": "The same in the shell" },
        html("div", { class: "head" }, html("h2", {}, "The same in the shell"), button("Copy", () => copy(this.shell.textContent, "Shell"), "Copy the shell line")), this.shell),
    ];
  }

  async update() {
    this.stop();
    const { size } = this, fields = { task: state.task, view: state.seen };
    for (const name of ["users", "rounds", "epsilon", "delta", "max_eps0", "rtol", ...OF_USERS]) {
      if (state[name]) fields[name] = state[name];
    }
    const asked = NAMES[size] ?? size;
    if (size && state[asked]) fields[size] = state[asked];
    if (size !== "dimension" && state.answers) fields.questions = state.answers;
    await this.fill("choose", fields);
  }

  show(report) {
    this.report = report;
    this.hero.classList.remove("stale");
    const [first] = report.choices;
    this.hero.querySelector("button:last-child").hidden = !first;
    if (first) {
      this.best.replaceChildren("Deploy ", html("strong", {}, titleOf(first.randomizer)), ` with ${spelt(first)}${first.asked ? `; questions ${WAYS[first.asked]}` : ""}${first.caution ? `: ${first.caution}` : ""}.`);
      const local = report.choices.find((each) => each.local_eps0 !== "Infinity");
      const what = state.task === "count" ? "a count" : state.task === "mean" ? "the mean" : "a coordinate of the mean";
      const rare = (each) => (state.task === "count" ? ` (${about(each.standard_error)} for a value that no user holds)` : "");
      this.why.textContent = `Average error of ${what} in one round: ${about(first.average_error)}${rare(first)}; certified epsilon ${first.epsilon.upper_text} at delta = ${state.delta}; local eps0: ${first.local_eps0_text}.`;
      if (local && local !== first) this.why.append(` The best with a local guarantee is ${titleOf(local.randomizer)} with ${spelt(local)}: average error ${about(local.average_error)}, local eps0 ${local.local_eps0_text}.`);
      this.card.about.textContent = this.legend(report);
      const rows = report.choices.map((each) => ({
        name: titleOf(each.randomizer), text: about(each.average_error), value: each.average_error,
        note: `${spelt(each)}; ${each.caution ? `${each.caution}; ` : ""}${each.asked ? `${WAYS[each.asked]}; ` : ""}${each.view}; local eps0: ${each.local_eps0_text}; epsilon ${each.epsilon.upper_text}; ${about(each.bits)} bits a user`,
      }));
      const several = report.questions > 1;
      const table = (number, upper, local) => report.choices.map((each) => [
        each.randomizer, spelt(each), each.view, number(each.average_error), number(each.standard_error), upper(each.epsilon), local(each), number(each.bits),
        ...(several ? [each.asked] : [])]);
      this.card.show((width) => bars({ rows, width, log: true, title: "randomizers by average error" }),
        ["randomizer", "parameters", "view", "average_error", "standard_error", "epsilon_upper", "local_eps0", "bits", ...(several ? ["asked"] : [])],
        table(about, (epsilon) => epsilon.upper_text, (each) => each.local_eps0_text),
        table((number) => number, (epsilon) => epsilon.upper, (each) => each.local_eps0));
    } else {
      this.best.textContent = "No randomizer meets the target.";
      this.why.textContent = "";
      this.card.say("Nothing to rank.");
    }
    this.others.hidden = !report.unmet.length;
    this.unmet.replaceChildren(...report.unmet.map((each) => html("li", {}, html("b", {}, titleOf(each.randomizer)), ` (${each.view}): ${each.reason}`)));
    this.shell.textContent = report.shell;
  }

  // What the numbers are, and how many users they are for.
  legend({ dropouts, remarks }) {
    const counts = state.task === "count";
    const error = counts
      ? "average error: root mean square over all values of the standard error of a count in one round, for any data; standard error: for a value that no user holds"
      : "average error and standard error: of the mean of all that is sent in one round, the largest over all data, of which the worst depend on the row";
    const sent = !dropouts ? "" : counts ? ", if nobody drops out" : ", if all dropouts occur";
    return `${error}${sent}. ${remarks} Dots are on a logarithmic scale of the average error: further left is better.`;
  }

  // The guarantee of a choice is the same protocol, seen from the other side.
  take(choice) {
    if (!choice) return;
    Object.assign(state, { tab: "guarantee", ask: "epsilon", view: choice.view, randomizer: choice.randomizer, analysis: "" });
    for (const { name } of this.registry.randomizers.find((each) => each.name === choice.randomizer).parameters) state[name] = "";
    for (const [name, value] of Object.entries(choice.parameters)) state[name] = value === null ? "" : String(value);
    // each question is a round of its own
    if (choice.asked === "separate") state.rounds = String(this.report.rounds * this.report.questions);
    flush();
    this.open();
  }
}

// Errors are estimates, not certified: four digits of them will do.
const about = (value) => String(Number(Number(value).toPrecision(4)));

// In full: a parameter that was rounded might not meet the target.
const spelt = (choice) => Object.entries(choice.parameters)
  .filter(([, value]) => value !== null)
  .map(([name, value]) => `${name} = ${value}`).join(", ");
