// A plan of rounds against its budget: dropped here or written here, and its ledger.

import { ask } from "./api.js";
import { bars } from "./bars.js";
import { Card } from "./cards.js";
import { button, download, html } from "./dom.js";
import { state } from "./state.js";
import { View } from "./view.js";

const EXAMPLE = "/plan.toml";

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
    const begun = /\[?target/.test(text) ? text : `[target]\nepsilon = ${state.epsilon}\ndelta = ${state.delta}\n\n${text.trim()}\n`;
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
    const lines = Object.entries(fields).map(([name, value]) => `${name} = ${words.includes(name) ? JSON.stringify(value) : value}`);
    return ["[[rounds]]", ...lines].join("\n") + "\n";
  }

  build() {
    this.verdict = html("p", { class: "sentence", "aria-live": "polite" }, "…");
    this.card = new Card("ledger", "The ledger", "running epsilon after each entry; the line is the budget");
    const save = (format, name, type) => button(name.split(".")[1].toUpperCase(), async () => {
      download(name, await ask("account", { plan: "plan.toml" }, { files: this.all, format }), type);
    }, `Download the account as ${format}`);
    this.hero = html("section", { class: "hero", "aria-label": "The verdict" }, this.verdict,
      html("div", { class: "tools" },
        button("JSON", () => download("account.json", JSON.stringify(this.report, null, 1), "application/json"), "Download the account as JSON"),
        save("csv", "account.csv", "text/csv"), save("markdown", "account.md", "text/markdown"), save("html", "account.html", "text/html")));
    return [this.hero, this.card.element];
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
      return;
    }
    await this.fill("account", { plan: "plan.toml" }, this.all, "plan");
  }

  show(report) {
    this.report = report;
    this.hero.classList.remove("stale");
    this.verdict.textContent = report.verdict;
    const rows = report.entries.map((each) => ({
      name: each.name, value: Number(each.upper), text: each.upper_text, kind: each.fits ? "" : "over",
      note: `${each.rounds.toLocaleString("en")} ${each.rounds === 1 ? "round" : "rounds"}${each.users ? ` of ${each.users.toLocaleString("en")} users` : ""}; ${each.analysis}; ${each.fits ? "fits" : "exceeds the budget"}`,
    }));
    this.card.show((width) => bars({ rows, width, target: report.epsilon, title: "running epsilon" }),
      ["entry", "rounds", "lower", "upper", "fits"],
      report.entries.map((each) => [each.name, each.rounds, each.lower_text, each.upper_text, each.fits ? "yes" : "no"]),
      report.entries.map((each) => [each.name, each.rounds, each.lower, each.upper, each.fits]));
  }
}
