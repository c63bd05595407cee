// The client that devices run, in this browser: one message, or those of many users and their estimate.

import { Failed, Left } from "./api.js";
import { Card } from "./cards.js";
import { load } from "./client.mjs";
import { button, copy, download, html } from "./dom.js";
import { field, group, showProblem } from "./form.js";
import { histogram } from "./histogram.js";
import { titleOf } from "./protocol.js";
import { state } from "./state.js";
import { View } from "./view.js";

const USERS = 10000, STEPS = 25;  // users in all, and pictures of them
const SHOWN = 24;  // values that users have, and that are estimated
const LEVEL = 1.96;  // standard errors of an interval that holds with probability 0.95
const PRIME = 2n ** 61n - 1n;

// Which of the values a message adds to the tallies of.
const TALLIES = {
  rr: (message) => message,
  subset: (message) => message,
  matrix: (message) => message,
  "noisy-histogram": (message) => message,
  unary: (message) => bits(message),
  oue: (message) => bits(message),
  hadamard: ([column], values) => values.filter((x) => parity(BigInt(x + 1) & BigInt(column)) === 0),
  hashing: ([a, b, c, answer], values, { g }) => values.filter((x) => ((BigInt(a) * BigInt(x) + b) * BigInt(x) + c) % PRIME % BigInt(g) === BigInt(answer)),
};
const bits = (bytes) => bytes.flatMap((byte, i) => [...Array(8).keys()].filter((j) => (byte >> (7 - j)) & 1).map((j) => 8 * i + j));
const parity = (number) => [...number.toString(2)].filter((digit) => digit === "1").length % 2;

export class Device extends View {
  constructor(registry, problem) {
    super();
    Object.assign(this, { problem });
    this.able = registry.randomizers.filter((each) => each.specified);
  }

  get randomizer() {
    const named = (name) => this.able.find((each) => each.name === name);
    return named(state.device) ?? named(state.randomizer) ?? named("rr");
  }

  // What describes values is set where nothing was said; else what the example says.
  form(change) {
    const { name, parameters, meaning } = this.randomizer;
    state.device = name;
    if (name === "matrix") state.matrix ??= "0.75,0.25\n0.25,0.75\n";
    state.value ??= "0";
    // the noise is given where a parameter says how much: some randomizers have several ways to do so
    const noise = parameters.filter((each) => each.name !== "k");
    const given = noise.some((each) => each.needed || state[each.name]);
    for (const each of parameters) {
      const wanted = each.needed || each.name === "k" || !given;
      if (wanted && each.example !== null) state[each.name] ??= String(each.name === "k" ? 16 : each.example);
    }
    const words = this.able.map((each) => [each.name, titleOf(each.name)]).sort((a, b) => a[1].localeCompare(b[1]));
    return [
      group("Client", field({ name: "device", label: "randomizer", kind: "word", words, help: meaning }, change),
        parameters.map((each) => field({
          name: each.name, label: each.name.replaceAll("_", " "), kind: each.file ? "file" : "number", limits: [each.least, each.most],
          help: each.meaning + (each.needed ? "" : " (optional)"),
        }, change))),
      group("On this device", field({ name: "value", label: "value", help: "what this user has" }, change)),
    ];
  }

  build() {
    this.sentence = html("p", { class: "sentence", "aria-live": "polite" }, "…");
    this.note = html("p", { class: "bracket" });
    this.users = button("10,000 users", () => this.crowd(), "Randomize the values of 10,000 users");
    this.users.classList.add("primary");
    this.again = button("Again", () => this.speak(), "Randomize the value again");
    this.hero = html("section", { class: "hero", "aria-label": "The message" }, this.sentence, this.note,
      html("div", { class: "tools" }, this.users, this.again,
        button("client.json", () => download("client.json", this.text, "application/json"), "Download the specification"),
        html("a", { href: "/client.mjs", download: "client.mjs", class: "small" }, "client.mjs")));
    this.card = new Card("estimate", "10,000 users");
    this.shell = html("pre", { tabindex: "0", "aria-label": "Shell" });
    this.program = html("pre", { tabindex: "0", "aria-label": "Program" });
    return [
      this.hero, this.card.element,
      html("section", { class: "card", "aria-label": "The program" }, html("h2", {}, "The program"),
        html("p", { class: "help" }, "What any device runs, as the specification says it: coins with 64-bit thresholds and uniform choices."), this.program),
      html("section", { class: "card", "aria-label": "The same in the shell" },
        html("div", { class: "head" }, html("h2", {}, "The same in the shell"), button("Copy", () => copy(this.shell.textContent, "Shell"), "Copy the shell line")), this.shell),
    ];
  }

  async update() {
    this.stop();
    const turn = this.turn, fields = { randomizer: state.device }, files = {};
    for (const { name, file } of this.randomizer.parameters) {
      if (!state[name]) continue;
      if (file) files[`${name}.csv`] = state[name];
      fields[name] = file ? `${name}.csv` : state[name];
    }
    this.card.say("Press the button “10,000 users”.");
    try {
      const report = await this.ask("client", fields, files);
      const client = await load(JSON.stringify(report.specification));
      if (turn !== this.turn) return;
      client.selfTest();
      this.show(report, client);
    } catch (error) {
      if (turn !== this.turn || error instanceof Left) return;
      this.hero.classList.add("stale");
      if (!(error instanceof Failed)) throw error;
      this.problem(error);
    }
  }

  show(report, client) {
    const { specification } = report, { vectors } = specification;
    Object.assign(this, { report, client, text: `${JSON.stringify(specification, null, 1)}\n` });
    this.hero.classList.remove("stale");
    this.note.textContent = `This browser reproduces all ${vectors.length} test vectors; claimed local eps0: ${specification.eps0 ?? "none"}.`;
    this.program.textContent = JSON.stringify(specification.program);
    this.shell.textContent = `${report.shell} --out client.json\nnode client.mjs client.json`;
    this.speak();
  }

  // One message, of the value in the form.
  speak() {
    const { kind, length } = this.client.document.value;
    if (kind === "bits" && !/\s/.test(state.value ?? "")) state.value = [1, ...Array(length - 1).fill(0)].join(" ");
    const value = state.value || "0";
    try {
      const message = this.client.message(value);
      const shown = message.length > 12 ? `${message.slice(0, 12).join(" ")} … (${message.length} numbers)` : message.join(" ");
      const form = this.client.document.message.kind === "messages" ? "messages" : "message";
      this.sentence.replaceChildren(`Value ${value.slice(0, 40)} becomes the ${form} `, html("strong", { class: shown.length > 24 ? "long" : null }, shown || "(none)"), ".");
    } catch (error) {
      this.sentence.textContent = "No message.";
      showProblem("value", error.message);
    }
  }

  // All messages are made here; the picture follows.
  async crowd() {
    if (!this.client) return;
    const turn = this.turn, { client, report } = this, { moments } = report, mean = moments && "zero" in moments;
    const { kind, most, length } = client.document.value;
    const count = mean ? 1 : Math.min(SHOWN, kind === "bits" ? length : Number(most) + 1);
    const values = [...Array(count).keys()], totals = { sum: 0, true: 0 };
    const sent = moments ? count : Math.min(SHOWN, client.document.laws[0].weights.length);  // outputs of a matrix
    const truth = Array(count).fill(0), tally = Array(sent).fill(0);
    this.users.disabled = true;
    for (let users = 0; users < USERS && turn === this.turn;) {
      for (let i = 0; i < USERS / STEPS; i += 1, users += 1) {
        // skewed: the value x is held with probability proportional to about 1/(x + 1)
        const value = mean ? Math.random() ** 2 : Math.min(count - 1, Math.floor((count + 1) ** Math.random()) - 1);
        const given = kind === "bits" ? values.map((x) => (x === value ? 1 : 0)) : value;
        const message = client.message(kind === "bits" ? [...given, ...Array(length - count).fill(0)] : given);
        if (mean) { totals.true += value; totals.sum += Number(message[0]); continue; }
        truth[value] += 1;
        for (const x of TALLIES[report.randomizer](message, values, report.parameters)) if (x < sent) tally[Number(x)] += 1;
      }
      this.draw(users, mean ? this.mean(users, totals, moments) : this.counts(users, truth, tally, moments), mean);
      await new Promise((done) => { requestAnimationFrame(done); });
    }
    this.users.disabled = false;
  }

  mean(users, totals, { zero, one, mean_variance: variance }) {
    const estimate = (totals.sum / users - zero) / (one - zero);
    return [{ name: "mean", truth: totals.true / users, estimate, reach: LEVEL * Math.sqrt(variance / users) }];
  }

  counts(users, truth, tally, moments) {
    if (!moments) return tally.map((seen, x) => ({ name: String(x), truth: seen, estimate: null, reach: null }));
    const { own, own_variance: ownVariance, other, other_variance: otherVariance } = moments;
    return tally.map((seen, x) => {
      const estimate = (seen - users * other) / (own - other), likely = Math.min(Math.max(estimate, 0), users);
      const variance = users * otherVariance + likely * (ownVariance - otherVariance);
      return { name: String(x), truth: truth[x], estimate, reach: LEVEL * Math.sqrt(variance) / (own - other) };
    });
  }

  draw(users, columns, mean) {
    const estimated = columns[0].estimate !== null;
    this.card.rename(`${users.toLocaleString("en")} users`);
    this.card.about.textContent = estimated
      ? `Columns: ${mean ? "the true mean" : "how many users have each value"}. Dots: the estimate from the messages alone, with intervals that hold for each by itself with probability ${mean ? "at least about" : "about"} 0.95.`
      : "How often each output was sent.";
    const round = (number) => (number === null ? "" : Number(number.toPrecision(5)));
    this.card.show((width) => histogram({ columns, width, title: "what users have and what is estimated", labels: { x: mean ? "" : estimated ? "value" : "output", y: mean ? "mean" : "users" } }),
      ["value", "true", "estimate", "half_width"],
      columns.map((each) => [each.name, round(each.truth), round(each.estimate), round(each.reach)]),
      columns.map((each) => [each.name, each.truth, each.estimate, each.reach]));
  }
}
