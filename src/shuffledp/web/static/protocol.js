// The protocol: its form, and the fields of a question that describe it.

import { html } from "./dom.js";
import { field, group, segments } from "./form.js";
import { state } from "./state.js";

const VIEWS = { shuffle: "messages", aggregate: "only sums", threshold: "large counts" };
const MORE = ["sample_rate", "sampling", "colluding", "dropouts", "messages", "neighbours", "analysis", "rtol"];
const TITLES = {
  rr: "randomized response", "pure-ldp": "any eps0-LDP randomizer", unary: "unary encoding (RAPPOR)",
  oue: "optimized unary encoding", subset: "subset selection", hashing: "local hashing",
  hadamard: "Hadamard response", laplace: "Laplace noise", gaussian: "Gaussian noise", matrix: "a matrix of your own",
  "noisy-histogram": "noise messages", "one-bit": "one bit", piecewise: "piecewise", "square-wave": "square wave",
  "priv-unit": "unit vectors (PrivUnit)",
};
const SIZES = ["k", "dimension"];  // of the values, not of the noise
const MATRIX = "0.75,0.25\n0.25,0.75\n";

export const titleOf = (name) => TITLES[name] ?? name;
const spoken = (name) => name.replaceAll("_", " ");

export class Protocol {
  constructor(registry) {
    this.registry = registry;
  }

  get able() {  // randomizers of which something is known in this view
    return this.registry.randomizers.filter((each) => each.views.includes(state.view));
  }

  get randomizer() {
    return this.able.find((each) => each.name === state.randomizer);
  }

  // What goes with the view and the randomizer, where nothing was said.
  settle() {
    if (!this.registry.views.includes(state.view)) state.view = "shuffle";
    if (state.view === "threshold") return;
    if (!this.randomizer) state.randomizer = state.view === "aggregate" ? "unary" : "pure-ldp";
    const ways = this.randomizer.parameters.filter(({ name, needed }) => !needed && !SIZES.includes(name));
    const given = ways.some(({ name }) => state[name]);
    for (const each of this.randomizer.parameters) {
      if (each.file) state[each.name] ??= MATRIX;
      const wanted = each.needed || (!given && each.example !== null);
      if (wanted && !state[each.name] && each.example !== null) state[each.name] ??= String(each.example);
    }
  }

  // Another randomizer begins with what its example says; the rest may not go with it.
  chosen() {
    for (const { name, needed, example } of this.randomizer?.parameters ?? []) {
      if (!needed && example === null) delete state[name];
    }
  }

  form(change) {
    const words = (list, usual) => [["", usual], ...list.map((each) => [each, each])];
    const views = this.registry.views.map((view) => [view, VIEWS[view] ?? view]);
    const seen = segments({ name: "view", label: "The adversary sees", words: views }, change);
    const of_reports = state.view === "threshold";
    const asked = segments({
      name: "ask", label: "Which", words: [["epsilon", "epsilon at delta"], ["delta", "delta at epsilon"]],
    }, change);
    const at = state.ask === "epsilon" ? "delta" : "epsilon";
    const analyses = this.randomizer?.analyses ?? this.registry.analyses;
    const more = [
      field({ name: "sample_rate", label: "sample rate", help: "share of the users, at random, that sends in each round" }, change),
      field({ name: "sampling", label: "sampling", kind: "word", words: words(this.registry.sampling, "fixed (usual)") }, change),
      field({ name: "colluding", label: "colluding users", help: "a count, or a share below 1" }, change),
      field({ name: "dropouts", label: "dropouts", help: "a count, or a share below 1" }, change),
      field({ name: "messages", label: "messages of each user", help: "in a round, protected together" }, change),
      field({ name: "analysis", label: "analysis", kind: "word", words: words(analyses.filter((each) => each !== "best"), "best") }, change),
    ];
    const neighbours = Object.entries(this.registry.neighbours).map(([name, [word]]) => [name === "replace" ? "" : name, word]);
    const shared = [
      field({ name: "neighbours", label: "neighbours", kind: "word", words: neighbours }, change),
      field({ name: "rtol", label: "relative width", help: "of the certified bracket; 0.001 if left empty" }, change),
    ];
    const open = MORE.some((name) => state[name]);
    return [
      group("Protocol", seen, of_reports ? this.reports(change) : this.users(change)),
      group("Guarantee", asked, field({ name: at, label: at }, change)),
      html("details", { class: "group", open }, html("summary", {}, "Sampling, collusion, neighbours …"), of_reports ? shared : [...more, ...shared]),
    ];
  }

  reports(change) {
    const fields = this.registry.reports.map((each) =>
      field({ name: each.name, label: spoken(each.name), help: each.meaning, most: each.most }, change));
    return [...fields, field({ name: "rounds", label: "rounds" }, change)];
  }

  users(change) {
    const words = this.able.map(({ name }) => [name, `${titleOf(name)}`]).sort((a, b) => a[1].localeCompare(b[1]));
    const kind = this.randomizer;
    return [
      field({ name: "randomizer", label: "randomizer", kind: "word", words, help: kind.meaning }, change),
      ...kind.parameters.map((each) => field({
        name: each.name, label: spoken(each.name), kind: each.file ? "file" : "number", most: each.most,
        help: each.meaning + (each.needed ? "" : " (optional)"),
      }, change)),
      field({ name: "users", label: "users", help: "in each round" }, change),
      field({ name: "rounds", label: "rounds" }, change),
    ];
  }

  // The fields of a question, and the texts of its files.
  asked(but = []) {
    const own = state.view === "threshold"
      ? ["rate", "threshold", "neighbours"]
      : ["randomizer", ...this.randomizer.parameters.map(({ name }) => name), "users", ...MORE.slice(0, -1)];
    const fields = {}, files = {};
    for (const name of ["view", ...own, "rounds", "rtol"]) {
      if (!state[name] || but.includes(name) || (name === "view" && state.view === "shuffle")) continue;
      fields[name] = state[name];
    }
    for (const each of this.randomizer?.parameters ?? []) {
      if (each.file && fields[each.name]) {
        files[`${each.name}.csv`] = fields[each.name];
        fields[each.name] = `${each.name}.csv`;
      }
    }
    return { fields, files };
  }
}
