// @ts-check
// The state of the page, kept in the address so that it can be shared.

/** @typedef {{ name: string, words: string }} ConceptList */
/**
 * @typedef {{ like: string[], without: string[], method: string, weights: string, value: number | null,
 *   tab: string, side: string, color: string, concepts: ConceptList[], expression: string }} State
 */

// An example that is easy to check: the result is capitals of other continents.
/** @type {ConceptList[]} */
const CONCEPTS = [
  {
    name: "capitals",
    words: "paris berlin rome madrid vienna warsaw tokyo cairo beijing lima nairobi hanoi",
  },
  { name: "europe", words: "france germany italy spain austria poland sweden greece" },
];
export const TABS = ["map", "concepts"];

/** @returns {State} */
function initial() {
  return {
    like: [], without: [], method: "", weights: "auto", value: null, tab: "map", side: "after",
    color: "frequency", concepts: CONCEPTS, expression: "capitals and not europe",
  };
}

/** @param {State} state */
export function toQuery(state) {
  const usual = initial();
  const query = withWords(settings(state), state);
  for (const key of /** @type {const} */ (["tab", "side", "color", "expression"])) {
    if (state[key] !== usual[key]) { query.set(key, state[key]); }
  }
  if (JSON.stringify(state.concepts) !== JSON.stringify(usual.concepts)) {
    state.concepts.forEach((each) => query.append("concept", `${each.name}: ${each.words}`));
  }
  return query;
}

/** @param {URLSearchParams} query @returns {State} */
export function fromQuery(query) {
  const state = initial();
  state.like = query.getAll("like").slice(0, 20);
  state.without = query.getAll("without").slice(0, 20);
  for (const key of /** @type {const} */ (["method", "weights", "side", "color", "expression"])) {
    state[key] = query.get(key) ?? state[key];
  }
  const tab = query.get("tab") ?? "";
  if (TABS.includes(tab)) { state.tab = tab; }
  const value = query.get("value");
  state.value = value && Number.isFinite(Number(value)) ? Number(value) : null;
  const concepts = query.getAll("concept").map((text) => {
    const colon = text.indexOf(":");
    return { name: text.slice(0, colon).trim(), words: text.slice(colon + 1).trim() };
  });
  if (concepts.length) { state.concepts = concepts; }
  return state;
}

/** The method and its parameter, in the server's format. @param {State} state */
export function settings(state) {
  const query = new URLSearchParams({ method: state.method });
  if (state.weights !== "auto") { query.set("weights", state.weights); }
  if (state.value !== null) { query.set("value", String(state.value)); }
  return query;
}

/** @param {URLSearchParams} query @param {State} state */
export function withWords(query, state) {
  state.like.forEach((word) => query.append("like", word));
  state.without.forEach((word) => query.append("without", word));
  return query;
}
