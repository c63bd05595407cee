// The protocol: its form, and the fields of a question that describe it.

import { html } from "./dom.js";
import { field, group, segments } from "./form.js";
import { state } from "./state.js";

const VIEWS = { shuffle: "messages", aggregate: "only sums", threshold: "large counts", allocation: "training steps" };
// Options of a round beside its randomizer, for users who send messages.
export const OF_USERS = ["sample_rate", "sampling", "colluding", "dropouts", "messages", "neighbours"];
const TITLES = {
  rr: "randomized response", "pure-ldp": "any eps0-LDP randomizer", unary: "unary encoding (RAPPOR)",
  oue: "optimized unary encoding", subset: "subset selection", hashing: "local hashing",
  hadamard: "Hadamard response", laplace: "Laplace noise", gaussian: "Gaussian noise", matrix: "a matrix of your own",
  "noisy-histogram": "noise messages", "one-bit": "one bit", piecewise: "piecewise", "square-wave": "square wave",
  "priv-unit": "unit vectors (PrivUnit)", "noise-shares": "shares of integer noise",
  "variation-ratio": "three numbers known", "approximate-ldp": "any (eps0, delta0)-LDP randomizer",
  bundle: "several answers in one message", "one-of": "one of several questions",
};
const SIZES = ["k", "dimension", "largest", "norm"];  // of the values, not of the noise
const MATRIX = "0.75,0.25\n0.25,0.75\n";

export const titleOf = (name) => TITLES[name] ?? name;
// The least and the largest value that the view supports.
const limitsOf = ({ least, most, shuffled }) => (state.view === "shuffle" && shuffled) || [least, most];
const spoken = (name) => name.replaceAll("_", " ");

// Fields for these options, and for the width of the bracket.
export function people(registry, names, change, ...more) {
  const neighbours = Object.entries(registry.neighbours).map(([name, [word]]) => [name === "replace" ? "" : name, word]);
  const sampling = [["", "fixed (usual)"], ...registry.sampling.map((each) => [each, each])];
  const count = names === OF_USERS ? "a count, or a share below 1" : "a count";
  const known = {
    sample_rate: { label: "sample rate", help: "share of the users, at random, that sends in each round" },
    sampling: { label: "sampling", kind: "word", words: sampling },
    colluding: { label: "colluding users", help: count },
    dropouts: { label: "dropouts", help: count },
    messages: { label: "messages of each user", help: "in a round, protected together" },
    neighbours: { label: "neighbours", kind: "word", words: neighbours },
    rtol: { label: "relative width", help: "of the certified bracket; the default if empty" },
  };
  const open = [...names, "analysis", "rtol"].some((name) => state[name]);
  return html("details", { class: "group", open }, html("summary", {}, "Sampling, collusion, neighbours …"),
    names.map((name) => field({ name, ...known[name] }, change)), more, field({ name: "rtol", ...known.rtol }, change));
}

export class Protocol {
  constructor(registry) {
    this.registry = registry;
  }

  get able() {  // randomizers of which something is known in this view
    return this.registry.randomizers.filter((each) => each.views.includes(state.view));
  }

  get reports() {  // what describes a view without a randomizer of the users
    return this.registry.reports[state.view];
  }

  get randomizer() {
    return this.able.find((each) => each.name === state.randomizer);
  }

  get parameters() {  // of the randomizer, in this view
    return this.randomizer?.parameters.filter(({ summed }) => !summed || state.view === "aggregate") ?? [];
  }

  // What goes with the view and the randomizer, where nothing was said.
  settle() {
    if (!this.registry.views.includes(state.view)) state.view = "shuffle";
    if (this.reports) return;
    if (!this.randomizer) state.randomizer = state.view === "aggregate" ? "unary" : "pure-ldp";
    const ways = this.parameters.filter(({ name, needed }) => !needed && !SIZES.includes(name));
    const given = ways.some(({ name }) => state[name]);
    for (const each of this.parameters) {
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
    const asked = segments({
      name: "ask", label: "What to find", words: [["epsilon", "epsilon at delta"], ["delta", "delta at epsilon"]],
    }, change);
    const at = state.ask === "epsilon" ? "delta" : "epsilon";
    const analyses = this.randomizer?.analyses ?? this.registry.analyses;
    const analysis = field({ name: "analysis", label: "analysis", kind: "word", words: words(analyses.filter((each) => each !== "best"), "best") }, change);
    return [
      group("Protocol", seen, this.reports ? this.reportFields(change) : this.users(change)),
      group("Guarantee", asked, field({ name: at, label: at }, change)),
      this.reports ? people(this.registry, this.reports.options, change) : people(this.registry, OF_USERS, change, analysis),
    ];
  }

  reportFields(change) {
    const fields = this.reports.parameters.map((each) => field({
      name: each.name, label: spoken(each.name), limits: limitsOf(each),
      help: each.meaning + (each.needed ? "" : " (optional)"),
    }, change));
    const rounds = state.view === "allocation" ? "epochs" : "rounds";
    return [...fields, field({ name: "rounds", label: rounds }, change)];
  }

  users(change) {
    const words = this.able.map(({ name }) => [name, `${titleOf(name)}`]).sort((a, b) => a[1].localeCompare(b[1]));
    const kind = this.randomizer;
    return [
      field({ name: "randomizer", label: "randomizer", kind: "word", words, help: kind.meaning }, change),
      ...this.parameters.map((each) => field({
        name: each.name, label: spoken(each.name), kind: each.file ? "file" : each.text ? "text" : "number", limits: limitsOf(each),
        help: each.meaning + (each.needed ? "" : " (optional)"),
      }, change)),
      field({ name: "users", label: "users", help: "in each round" }, change),
      field({ name: "rounds", label: "rounds" }, change),
    ];
  }

  // The fields of a question, and the texts of its files.
  asked(but = []) {
    const own = this.reports
      ? [...this.reports.parameters.map(({ name }) => name), ...this.reports.options]
      : ["randomizer", ...this.parameters.map(({ name }) => name), "users", ...OF_USERS, "analysis"];
    const fields = {}, files = {};
    for (const name of ["view", ...own, "rounds", "rtol"]) {
      if (!state[name] || but.includes(name) || (name === "view" && state.view === "shuffle")) continue;
      fields[name] = state[name];
    }
    for (const each of this.parameters) {
      if (each.file && fields[each.name]) {
        files[`${each.name}.csv`] = fields[each.name];
        fields[each.name] = `${each.name}.csv`;
      }
    }
    return { fields, files };
  }
}
