// All that can be set, as texts: the address of the page says it, so that every state is a link.

const USUAL = {
  tab: "guarantee", ask: "epsilon", view: "shuffle", randomizer: "pure-ldp",
  users: "10000", rounds: "1", delta: "1e-6", epsilon: "1", eps0: "4",
  task: "count", seen: "any", rate: "0.1", threshold: "20",
  noise_multiplier: "1", steps: "1000",
};

export const state = { ...USUAL };

export function read() {
  for (const name of Object.keys(state)) delete state[name];
  const query = new URLSearchParams(location.search);
  // what is said twice is shown as both, for the server to refuse: neither is taken for the other
  for (const name of new Set([...query.keys()])) query.set(name, query.getAll(name).join(", "));
  Object.assign(state, USUAL, Object.fromEntries(query));
  // an earlier name of k on the tab Choose
  if (state.values && (state.tab === "choose" || !state.k)) state.k = state.values;
  delete state.values;
  const plan = new URLSearchParams(location.hash.slice(1)).get("plan");
  if (plan !== null) state.plan = plan;
}

let waiting = null;

// A browser allows so many changes of the address in a while, and a slider makes more.
export function write() {
  clearTimeout(waiting);
  waiting = setTimeout(flush, 250);
}

export function flush() {
  clearTimeout(waiting);
  history.replaceState(null, "", link());
}

export function link() {
  const { plan, ...rest } = state;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    if (value !== "" && value !== USUAL[name]) query.set(name, value);
    else if (value === "" && USUAL[name]) query.set(name, "");
  }
  const after = plan && state.tab === "plan" ? `#${new URLSearchParams({ plan })}` : "";
  return `${location.pathname}?${query}${after}`;
}
