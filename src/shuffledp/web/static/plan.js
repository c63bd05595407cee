// A plan of rounds against its budget: dropped here or written here, and its ledger.

import { ask } from "./api.js";
import { bars } from "./bars.js";
import { Card } from "./cards.js";
import { dateChart } from "./chart.js";
import { button, download, html, unbroken } from "./dom.js";
import { numberOf } from "./form.js";
import { state } from "./state.js";
import { View } from "./view.js";

const EXAMPLE = "/plan.toml";
const DATED = /^\s*start\s*=/m;
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

// The worst period of a budget, or a year.
function worst({ name, epsilon, upper_text, first, last, fits }) {
  const days = first ? `, ${first} to ${last}` : "";
  return `${name[0].toUpperCase()}${name.slice(1)}: epsilon ${upper_text} of ${epsilon}${fits ? "" : ", not kept"}${days}`;
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
    this.day = html("input", { type: "date", id: "field-at", "aria-describedby": "at-help at-problem" });
    this.day.value = state.at ?? "";
    this.day.addEventListener("input", () => change("at", this.day.value));
    this.when = html("div", { class: "field", "data-field": "at" },
      html("label", { for: "field-at" }, "What is due by"), this.day,
      html("p", { class: "help", id: "at-help" }, "the evening of this day, of a plan with dates"),
      html("p", { class: "problem", id: "at-problem" }));
    return [
      html("fieldset", { class: "group" }, html("legend", {}, "Plan"), drop,
        html("div", { class: "field", "data-field": "plan" },
          html("label", { for: id }, "plan.toml"), this.text,
          html("p", { class: "problem", id: "plan-problem" })),
        this.when,
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
    this.spent = html("p", { class: "note", "aria-live": "polite", hidden: true });
    this.periods = html("p", { class: "note", hidden: true });
    this.card = new Card("ledger", "The ledger", "running epsilon after each entry; the line is the target");
    this.people = new Card("populations", "The populations", "epsilon of all entries that concern a user of each, if no user is in two of them");
    this.people.element.hidden = true;
    this.people.busy(false);
    this.time = new Card("timeline", "Over time", "epsilon of one user by each day, in all and within the period of each budget that ends on that day; the dotted lines are the target and the budgets");
    this.time.element.hidden = true;
    this.time.busy(false);
    this.legend = html("p", { class: "legend" });
    this.time.about.after(this.legend);
    const save = (format, name, type) => button(name.split(".")[1].toUpperCase(), async () => {
      download(name, await ask("account", this.fields, { files: this.all, format }), type);
    }, `Download the account as ${format}`);
    this.hero = html("section", { class: "hero", "aria-label": "The verdict" }, this.verdict, this.periods, this.spent,
      html("div", { class: "tools" },
        button("JSON", () => download("account.json", JSON.stringify(this.report, null, 1), "application/json"), "Download the account as JSON"),
        save("csv", "account.csv", "text/csv"), save("markdown", "account.md", "text/markdown"), save("html", "account.html", "text/html")));
    return [this.hero, this.time.element, this.people.element, this.card.element];
  }

  get cards() {
    return [this.time, this.people, this.card];
  }

  get all() {
    return { ...this.files, "plan.toml": state.plan ?? "" };
  }

  get fields() {
    const dated = DATED.test(state.plan ?? "");
    return { plan: "plan.toml", ...(dated && state.at ? { at: state.at } : {}) };
  }

  async update() {
    this.stop();
    this.when.hidden = !DATED.test(state.plan ?? "");
    if (!state.plan) {
      this.hero.classList.add("stale");
      this.verdict.textContent = "Drop a plan, or begin with the example.";
      this.card.say("Nothing planned yet.");
      this.people.element.hidden = true;
      this.time.element.hidden = true;
      return;
    }
    await this.fill("account", this.fields, this.all, "plan");
  }

  show(report) {
    this.report = report;
    this.hero.classList.remove("stale");
    this.verdict.replaceChildren(...unbroken(report.verdict));
    this.periods.hidden = report.periods.length === 0;
    this.periods.textContent = report.periods.map(worst).join("; ");
    this.showSpent(report);
    this.showTimeline(report);
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

  // The true difference to the budget may be larger than that of the numbers that are shown: epsilon is rounded up.
  showSpent({ at, epsilon }) {
    this.spent.hidden = at === null;
    if (at === null) return;
    const each = [{ name: "the whole plan", epsilon, upper_text: at.upper_text }, ...at.periods];
    this.spent.textContent = `By ${at.day}, ${at.rounds.toLocaleString("en")} of ${at.planned.toLocaleString("en")} rounds are due: `
      + each.map((one) => `epsilon ${one.upper_text} of ${one.epsilon} (${one.name})`).join(", ") + ".";
  }

  showTimeline({ timeline }) {
    this.time.element.hidden = timeline.length === 0;
    if (timeline.length === 0) { this.time.say(""); return; }
    const lines = timeline.map((line) => ({
      name: line.population ? `${line.population}, ${line.name}` : line.name, budget: line.epsilon,
      points: line.points.map((p) => ({ x: Date.parse(`${p.day}T00:00:00Z`) / 864e5, upper: Number(p.upper), x_text: p.day, text: `epsilon ${p.upper_text}` })),
    }));
    this.legend.replaceChildren(...lines.map(({ name, budget }, number) => html("span", { class: `key series-${number % 6}` }, `${name} (budget ${budget})`)));
    this.time.show((width) => dateChart({ lines, width, y: { label: "epsilon" }, title: "epsilon over time" }),
      ["what", "budget", "day", "lower", "upper"],
      timeline.flatMap((line, i) => line.points.map((p) => [lines[i].name, line.epsilon, p.day, p.lower_text, p.upper_text])),
      timeline.flatMap((line, i) => line.points.map((p) => [lines[i].name, line.epsilon, p.day, p.lower, p.upper])));
  }
}
