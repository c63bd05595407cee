// The guarantee of the protocol: a sentence, its pictures, its statement, and lines to copy.

import { Failed, Left } from "./api.js";
import { bars } from "./bars.js";
import { Card, statement } from "./cards.js";
import { lineChart } from "./chart.js";
import { button, copy, csvText, download, html, unbroken } from "./dom.js";
import { state } from "./state.js";
import { View } from "./view.js";

const ROUGH = "0.01";  // the width of what is drawn
const RATES = ["0.001", "0.01", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"];
const PAUSE = 250;  // milliseconds without a change before pictures are asked for

export class Guarantee extends View {
  constructor(protocol, problem) {
    super();
    Object.assign(this, { protocol, problem });
  }

  build() {
    this.sentence = html("p", { class: "sentence", "aria-live": "polite", "aria-atomic": "true" }, "…");
    this.bracket = html("p", { class: "bracket" });
    this.attained = html("p", { class: "attained" });
    this.facts = html("dl", { class: "facts" });
    this.python = html("pre", { tabindex: "0", "aria-label": "Python" });
    this.shell = html("pre", { tabindex: "0", "aria-label": "Shell" });
    this.profile = new Card("profile", "delta against epsilon");
    this.byUsers = new Card("users", "Against users");
    this.byRounds = new Card("rounds", "Against rounds");
    this.ladder = new Card("adversaries", "What each analysis gives", "epsilon of each analysis, and what actual datasets reach");
    this.risk = new Card("risk", "What an attacker gains");
    this.hero = html(
      "section", { class: "hero", "aria-label": "The guarantee" }, this.sentence, this.bracket, this.attained,
      html("div", { class: "tools" },
        button("JSON", () => download("guarantee.json", JSON.stringify(this.report, null, 1), "application/json"), "Download the report as JSON"),
        button("CSV", () => this.saveCSV(), "Download the numbers as CSV"),
        button("Statement", () => download("statement.txt", `${this.report.statement}\n`, "text/plain"), "Download the statement as text")),
    );
    const lines = (name, place) => html(
      "div", { class: "lines" },
      html("div", { class: "head" }, html("h3", {}, name), button("Copy", () => copy(place.textContent, name), `Copy the ${name} lines`)), place,
    );
    return [
      this.hero,
      html("div", { class: "grid" }, this.profile.element, this.byUsers.element, this.byRounds.element,
        this.risk.element),
      this.ladder.element,
      html("section", { class: "card", "aria-label": "The statement" }, html("div", { class: "head" }, html("h2", {}, "The statement"), button("Copy", () => copy(this.report.statement, "Statement"), "Copy the statement")), this.facts),
      html("section", { class: "card", "aria-label": "The same number elsewhere" }, html("h2", {}, "The same number elsewhere"), lines("Python", this.python), lines("Shell", this.shell)),
    ];
  }

  get cards() {
    return [this.profile, this.byUsers, this.byRounds, this.ladder, this.risk];
  }

  async update() {
    this.stop();
    const turn = this.turn;
    const { fields, files } = this.protocol.asked();
    const at = state.ask === "epsilon" ? "delta" : "epsilon";
    try {
      const report = await this.ask(state.ask, { ...fields, [at]: state[at] }, files);
      if (turn !== this.turn) return;
      this.show(report);
      for (const card of this.cards) card.busy(true);
      await new Promise((done) => { setTimeout(done, PAUSE); });
      if (turn === this.turn) await this.pictures(turn);
    } catch (error) {
      if (error instanceof Left || turn !== this.turn) return;
      if (!(error instanceof Failed)) throw error;
      this.hero.classList.add("stale");
      if (!this.report) this.sentence.textContent = "No answer yet.";
      for (const card of this.cards) card.rest();
      this.problem(error);
    }
  }

  show(report) {
    this.report = report;
    this.hero.classList.remove("stale");
    const { said, facts } = statement(report.statement);
    const pair = /^(.*)(epsilon = \S+)(.*)$/.exec(said);
    this.sentence.replaceChildren(...(pair ? [pair[1], html("strong", {}, pair[2]), pair[3]] : [said]));
    const bracket = facts.find(([name]) => name === "bracket");
    this.bracket.replaceChildren(...unbroken(bracket ? bracket[1].replaceAll("<=", "≤") : ""));
    if (report.error) this.bracket.append(html("span", { class: "problem" }, ` ${report.error.message}`));
    this.facts.replaceChildren(...facts.flatMap(([name, text]) => [html("dt", {}, name), html("dd", {}, unbroken(text))]));
    this.python.textContent = report.python;
    this.shell.textContent = report.shell;
  }

  saveCSV() {
    const { report } = this, at = state.ask === "epsilon" ? "delta" : "epsilon";
    const rows = report[at].map((value, i) => [value, report.lower[i], report.upper[i]]);
    download("guarantee.csv", csvText([at, `${state.ask}_lower`, `${state.ask}_upper`], rows), "text/csv");
  }

  // One after the other, so that another answer never waits for more than one of them.
  async pictures(turn) {
    const drawn = [
      [this.profile, () => this.drawProfile()],
      [this.byUsers, () => this.drawSweep(this.byUsers, "users")],
      [this.byRounds, () => this.drawSweep(this.byRounds, "rounds")],
      [this.ladder, () => this.drawLadder()],
      [this.risk, () => this.drawRisk()],
    ];
    for (const [card, draw] of drawn) {
      try {
        await draw();
      } catch (error) {
        if (turn !== this.turn) return;
        card.say(error instanceof Left ? "Cancelled." : error.message);
        if (!(error instanceof Left || error instanceof Failed)) throw error;
      }
      if (turn !== this.turn) return;
    }
  }

  get here() {  // the epsilon and delta of the answer
    const value = Number(this.report.upper[0]);
    return state.ask === "epsilon"
      ? { epsilon: value, delta: this.report.delta[0] }
      : { epsilon: this.report.epsilon[0], delta: value };
  }

  async drawProfile() {
    const turn = this.turn, { epsilon, delta } = this.here;
    const most = Number.isFinite(epsilon) && epsilon > 0 ? 1.5 * epsilon : 2;
    const epsilons = Array.from({ length: 13 }, (_, i) => Number(((i / 12) * most).toPrecision(4)));
    const { fields, files } = this.protocol.asked(["rtol"]);
    const found = await this.ask("delta", { ...fields, epsilon: epsilons.map(String), rtol: ROUGH }, files);
    if (turn !== this.turn) return;
    const points = found.epsilon.map((x, i) => ({
      x, lower: Number(found.lower[i]), upper: Number(found.upper[i]), text: found.upper_text[i],
    }));
    const rows = points.map((p, i) => [p.x, found.lower_text[i], found.upper_text[i]]);
    const full = points.map((p, i) => [p.x, found.lower[i], found.upper[i]]);
    this.profile.show((width) => lineChart({
      points, width, x: { label: "epsilon" }, y: { label: "delta", log: true },
      mark: { x: epsilon, y: delta }, title: "delta against epsilon",
    }), ["epsilon", "delta_lower", "delta_upper"], rows, full);
  }

  async drawSweep(card, over) {
    if (over === "users" && state.view === "threshold") {
      card.say("A threshold is certified whatever the number of users.");
      return;
    }
    const training = state.view === "allocation";
    const shown = training ? { users: "steps", rounds: "epochs" }[over] : over;
    card.rename(`Against ${shown}`);
    if (training && over === "users") over = "steps";
    const turn = this.turn, here = Number(this.report[over] ?? this.report.parameters[over]);
    const at = state.ask === "epsilon" ? "delta" : "epsilon";
    const { fields, files } = this.protocol.asked([over, "rtol"]);
    const values = over === "rounds" ? counts(here) : around(here);
    const found = await this.ask("sweep", {
      ...fields, [over]: values.map(String), [at]: state[at], rtol: ROUGH,
    }, files);
    if (turn !== this.turn) return;
    const good = found.rows.filter((row) => row.upper !== null);
    const points = good.map((row) => ({
      x: row[over], lower: Number(row.lower), upper: Number(row.upper), text: row.upper_text,
      x_text: `${row[over].toLocaleString("en")} ${shown}`,
    }));
    if (!points.length) { card.say(found.rows[0].error.message); return; }
    card.show((width) => lineChart({
      points, width, x: { label: shown, log: true }, y: { label: state.ask, log: true },
      mark: { x: here, y: Number(this.report.upper[0]) }, title: `${state.ask} against ${shown}`,
    }), [over, `${state.ask}_lower`, `${state.ask}_upper`],
    good.map((row) => [row[over].toLocaleString("en"), row.lower_text, row.upper_text]),
    good.map((row) => [row[over], row.lower, row.upper]));
    card.note(found.error?.message);
  }

  async drawLadder() {
    this.attained.textContent = "";
    if (this.protocol.reports) {
      this.ladder.say("This view has one analysis.");
      return;
    }
    const turn = this.turn, { delta } = this.here;
    const { fields, files } = this.protocol.asked(["analysis"]);
    const found = await this.ask("adversaries", { ...fields, delta: String(delta) }, files);
    if (turn !== this.turn) return;
    const rows = found.rows.map((row) => ({
      name: row.analysis, value: Number(row.upper ?? row.lower),
      text: row.upper === null ? `≥ ${row.lower_text}` : row.upper_text,
      note: row.adversary, kind: row.upper === null ? "least" : "",
    }));
    const last = found.rows.at(-1);
    const whose = last.adversary.split("; ").at(-1);
    this.attained.textContent = `Some ${whose} reach an epsilon of at least ${last.lower_text}; no correct bound for this protocol is smaller.`;
    this.ladder.show((width) => bars({ rows, width, title: "epsilon by what the adversary knows" }),
      ["analysis", "lower", "upper", "adversary"],
      found.rows.map((row) => [row.analysis, row.lower_text, row.upper_text, row.adversary]),
      found.rows.map((row) => [row.analysis, row.lower, row.upper, row.adversary]));
  }

  async drawRisk() {
    const turn = this.turn;
    const { fields, files } = this.protocol.asked(["rtol"]);
    const found = await this.ask("risk", { ...fields, false_positive_rate: RATES, rtol: ROUGH }, files);
    if (turn !== this.turn) return;
    const missed = found.false_negative_rate_lower, texts = found.false_negative_rate_lower_text;
    const points = found.false_positive_rate.map((x, i) => ({
      x, lower: Number(missed[i]), upper: Number(missed[i]), text: texts[i],
    }));
    const one = found.false_positive_rate.indexOf(0.01);
    this.risk.about.textContent = `By the whole curve, an attacker with a false positive rate of 0.01 has a true positive rate of at most ${found.true_positive_rate_upper_text[one]}. The advantage, the true minus the false positive rate at any of them, is at most ${found.advantage.upper_text}.`;
    this.risk.show((width) => lineChart({
      points, width, x: { label: "false positive rate" }, y: { label: "false negative rate, at least" },
      title: "trade-off curve",
    }), ["false_positive_rate", "false_negative_rate_lower"],
    points.map((p, i) => [p.x, texts[i]]), points.map((p, i) => [p.x, missed[i]]));
  }
}

const around = (here) => {
  const exponents = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2];
  const values = exponents.map((e) => Math.round(here * 10 ** e)).filter((n) => n >= 2 && n <= 1e12);
  return [...new Set(values.length > 1 ? values : [2, 10, 100])];
};

const counts = (here) => {
  const values = [1, 3, 10, 30, 100, 300, 1000].filter((n) => n <= Math.max(1000, 10 * here));
  return [...new Set([...values, here])].filter((n) => n <= 1e7).sort((a, b) => a - b);
};
