// A plan of rounds against its budget: dropped here or written here, and its ledger.

import { ask } from "./api.js";
import { bars } from "./bars.js";
import { Card } from "./cards.js";
import { button, download, html } from "./dom.js";
import { numberOf } from "./form.js";
import { state } from "./state.js";
import { View } from "./view.js";

const EXAMPLE = "/plan.toml";
const TOML_NUMBER = /^[-+]?(0|[1-9](_?\d)*)(\.\d+)?([eE][-+]?\d+)?$/;
const GROUPED_OR_UNIT = /^[-+]?(\d{1,3}(,\d{3})+\s*[kMG%]?|[\d_.]+([eE][-+]?\d+)?\s*[kMG%])$/;

// A number of the form as TOML: 2M and 5% become plain numbers, and so does 2,000,000. What TOML has no number for
// stays as it was written, as a text: the server reads it, or says what is wrong with it.
function toml(value) {
  const text = String(value).trim();
  if (TOML_NUMBER.test(text)) return text;
  const number = GROUPED_OR_UNIT.test(text) ? numberOf(text) : NaN;
  return Number.isFinite(number) ? String(number) : JSON.stringify(text);
}

// The bounds are those of the analysis: only if the lower one is above the budget it is exceeded for certain.
function judged({ fits, lower }, epsilon) {
  return fits ? "fits" : Number(lower) > epsilon ? "exceeds the budget, as analyzed" : "not certified to fit the budget";
}

export class Plan extends View {
  constructor(protocol, problem) {
    super();
    Object.assign(this, { protocol, problem, files: {} });
  }

  form(change) {
    const id = "field-plan";
    this.text = html("textarea", { id, rows: 18, spellcheck: "false", "aria-describedby": "plan-help plan-problem" });
    this.text.value = state.plan ?? "";
    this.text.addEventListener("input", () => change("plan", this.text.value));
    const chosen = html("input", { type: "file", multiple: true, id: "plan-file", accept: ".toml,.csv,.json" });
    chosen.addEventListener("change", () => this.take(chosen.files, change));
    const drop = html("div", { class: "drop" },
      html("label", { for: "plan-file" }, "Drop a plan.toml here, or choose it"), chosen,
      html("p", { class: "help", id: "plan-help" }, "with the matrices that it names, if any; nothing leaves this machine"));
    for (const name of ["dragover", "drop"]) drop.addEventListener(name, (event) => event.preventDefault());
    drop.addEventListener("dragover", () => drop.classList.add("over"));
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => { drop.classList.remove("over"); this.take(event.dataTransfer.files, change); });
    return [
      html("fieldset", { class: "group" }, html("legend", {}, "Plan"), drop,
        html("div", { class: "field", "data-field": "plan" },
          html("label", { for: id }, "plan.toml"), this.text,
          html("p", { class: "problem", id: "plan-problem" })),
        html("div", { class: "tools" },
          button("Example", async () => this.set(await (await fetch(EXAMPLE)).text(), change), "Put an example plan here"),
          button("Add the protocol", () => this.set(`${this.text.value.trimEnd()}\n\n${this.added()}`, change), "Add the protocol of the tab Guarantee to the plan"),
          button("Download plan", () => download("plan.toml", this.text.value, "text/plain"), "Download the plan"))),
    ];
  }

  set(text, change) {
    const begun = /\[?target/.test(text) ? text : `[target]\nepsilon = ${toml(state.epsilon)}\ndelta = ${toml(state.delta)}\n\n${text.trim()}\n`;
    this.text.value = begun.trimStart();
    change("plan", this.text.value);
  }

  async take(files, change) {
    for (const file of files) {
      const text = await file.text();
      if (file.name.endsWith(".toml")) this.text.value = text;
      else this.files[file.name] = text;
    }
    change("plan", this.text.value);
  }

  // The protocol of the other tab as an entry of a plan.
  added() {
    const { fields, files } = this.protocol.asked(["rtol"]);
    Object.assign(this.files, files);
    const words = ["view", "randomizer", "sampling", "neighbours", "analysis", "matrix"];
    const lines = Object.entries(fields).map(([name, value]) => `${name} = ${words.includes(name) ? JSON.stringify(value) : toml(value)}`);
    return ["[[rounds]]", ...lines].join("\n") + "\n";
  }

  build() {
    this.verdict = html("p", { class: "sentence", "aria-live": "polite" }, "…");
    this.card = new Card("ledger", "The ledger", "running epsilon after each entry; the line is the budget");
    this.people = new Card("populations", "The populations", "epsilon of all entries that concern a person of each, if no person is in two of them");
    this.people.element.hidden = true;
    this.people.busy(false);
    const save = (format, name, type) => button(name.split(".")[1].toUpperCase(), async () => {
      download(name, await ask("account", { plan: "plan.toml" }, { files: this.all, format }), type);
    }, `Download the account as ${format}`);
    this.hero = html("section", { class: "hero", "aria-label": "The verdict" }, this.verdict,
      html("div", { class: "tools" },
        button("JSON", () => download("account.json", JSON.stringify(this.report, null, 1), "application/json"), "Download the account as JSON"),
        save("csv", "account.csv", "text/csv"), save("markdown", "account.md", "text/markdown"), save("html", "account.html", "text/html")));
    return [this.hero, this.people.element, this.card.element];
  }

  get cards() {
    return [this.people, this.card];
  }

  get all() {
    return { ...this.files, "plan.toml": state.plan ?? "" };
  }

  async update() {
    this.stop();
    if (!state.plan) {
      this.hero.classList.add("stale");
      this.verdict.textContent = "Drop a plan, or begin with the example.";
      this.card.say("Nothing planned yet.");
      this.people.element.hidden = true;
      return;
    }
    await this.fill("account", { plan: "plan.toml" }, this.all, "plan");
  }

  show(report) {
    this.report = report;
    this.hero.classList.remove("stale");
    this.verdict.textContent = report.verdict;
    this.showPopulations(report);
    const named = report.populations.length > 0;
    const whose = (each) => (named ? `${each.population ?? "everybody"}; ` : "");
    const rows = report.entries.map((each) => ({
      name: each.name, value: Number(each.upper), text: each.upper_text, kind: each.fits ? "" : "over",
      note: `${whose(each)}${each.rounds.toLocaleString("en")} ${each.rounds === 1 ? "round" : "rounds"}${each.users ? ` of ${each.users.toLocaleString("en")} users` : ""}; ${each.analysis}; ${judged(each, report.epsilon)}`,
    }));
    this.card.show((width) => bars({ rows, width, target: report.epsilon, title: "running epsilon" }),
      ["entry", ...(named ? ["population"] : []), "rounds", "lower", "upper", "fits"],
      report.entries.map((each) => [each.name, ...(named ? [each.population ?? "everybody"] : []), each.rounds, each.lower_text, each.upper_text, each.fits ? "yes" : "no"]),
      report.entries.map((each) => [each.name, ...(named ? [each.population] : []), each.rounds, each.lower, each.upper, each.fits]));
  }

  showPopulations({ populations, epsilon }) {
    this.people.element.hidden = populations.length === 0;
    if (populations.length === 0) { this.people.say(""); return; }
    const rows = populations.map((each) => ({
      name: each.name, value: Number(each.upper), text: each.upper_text, kind: each.fits ? "" : "over",
      note: judged(each, epsilon),
    }));
    this.people.show((width) => bars({ rows, width, target: epsilon, title: "epsilon of each population" }),
      ["population", "lower", "upper", "fits"],
      populations.map((each) => [each.name, each.lower_text, each.upper_text, each.fits ? "yes" : "no"]),
      populations.map((each) => [each.name, each.lower, each.upper, each.fits]));
  }
}
