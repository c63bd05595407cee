// Which randomizer to deploy: all that meet a target, ranked by the error of what is estimated.

import { bars } from "./bars.js";
import { Card } from "./cards.js";
import { button, copy, download, html } from "./dom.js";
import { field, group, segments } from "./form.js";
import { titleOf } from "./protocol.js";
import { flush, state } from "./state.js";
import { View } from "./view.js";

const TASKS = { count: "counts", mean: "a mean", vector: "a mean vector" };

export class Choose extends View {
  constructor(registry, problem, open) {
    super();
    Object.assign(this, { registry, problem, open });
  }

  form(change) {
    const size = this.registry.tasks[state.task];
    const tasks = Object.keys(this.registry.tasks).map((name) => [name, TASKS[name] ?? name]);
    const seen = [["any", "any"], ["shuffle", "shuffled messages"], ["aggregate", "only sums"]];
    if (size === "dimension") state.dimension ??= "100";
    return [
      group("Estimate", segments({ name: "task", label: "What is wanted", words: tasks }, change),
        size ? field({ name: size, label: size, help: size === "values" ? "how many there are" : "the length of the vectors" }, change) : null,
        field({ name: "users", label: "users", help: "in each round" }, change),
        field({ name: "rounds", label: "rounds" }, change),
        field({ name: "sample_rate", label: "sample rate", help: "share of the users that sends in each round; empty: all" }, change),
        field({ name: "seen", label: "the adversary sees", kind: "word", words: seen }, change)),
      group("Within", field({ name: "epsilon", label: "epsilon" }, change), field({ name: "delta", label: "delta" }, change)),
    ];
  }

  build() {
    this.best = html("p", { class: "sentence", "aria-live": "polite" }, "…");
    this.why = html("p", { class: "bracket" });
    this.card = new Card("choose", "Ranked by standard error", "dots on a logarithmic scale: further left is better");
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
    const size = this.registry.tasks[state.task];
    const fields = { task: state.task, view: state.seen };
    for (const name of ["users", "rounds", "sample_rate", "epsilon", "delta", size]) {
      if (name && state[name]) fields[name] = state[name];
    }
    await this.fill("choose", fields);
  }

  show(report) {
    this.report = report;
    this.hero.classList.remove("stale");
    const [first] = report.choices;
    this.hero.querySelector("button:last-child").hidden = !first;
    if (first) {
      this.best.replaceChildren("Deploy ", html("strong", {}, titleOf(first.randomizer)), ` with ${spelt(first)}.`);
      const what = state.task === "count" ? "a count" : state.task === "mean" ? "the mean" : "a coordinate of the mean";
      this.why.textContent = `Standard error of ${what} in one round: ${about(first.standard_error)}; certified epsilon ${first.epsilon.upper_text} at delta = ${state.delta}.`;
      const rows = report.choices.map((each) => ({
        name: titleOf(each.randomizer), text: about(each.standard_error), value: each.standard_error,
        note: `${spelt(each)}; ${each.view}; ${about(each.bits)} bits a user; epsilon ${each.epsilon.upper_text}`,
      }));
      this.card.show((width) => bars({ rows, width, log: true, title: "randomizers by standard error" }),
        ["randomizer", "parameters", "view", "standard_error", "bits", "epsilon_upper"],
        report.choices.map((each) => [each.randomizer, spelt(each), each.view, about(each.standard_error), about(each.bits), each.epsilon.upper_text]),
        report.choices.map((each) => [each.randomizer, spelt(each), each.view, each.standard_error, each.bits, each.epsilon.upper]));
    } else {
      this.best.textContent = "No randomizer meets the target.";
      this.why.textContent = "";
      this.card.say("Nothing to rank.");
    }
    this.others.hidden = !report.unmet.length;
    this.unmet.replaceChildren(...report.unmet.map((each) => html("li", {}, html("b", {}, titleOf(each.randomizer)), ` (${each.view}): ${each.reason}`)));
    this.shell.textContent = report.shell;
  }

  // The guarantee of a choice is the same protocol, seen from the other side.
  take(choice) {
    if (!choice) return;
    Object.assign(state, { tab: "guarantee", ask: "epsilon", view: choice.view, randomizer: choice.randomizer });
    for (const { name } of this.registry.randomizers.find((each) => each.name === choice.randomizer).parameters) state[name] = "";
    for (const [name, value] of Object.entries(choice.parameters)) state[name] = value === null ? "" : String(value);
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
