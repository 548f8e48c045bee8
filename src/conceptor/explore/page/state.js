// @ts-check
// The state of the page, kept in the address so that it can be shared.

/** @typedef {{ name: string, words: string }} ConceptList */
/**
 * @typedef {{ like: string[], without: string[], method: string, weights: string, aperture: number | null,
 *   directions: number | null, tab: string, side: string, colour: string, projection: string, count: string,
 *   concepts: ConceptList[], expression: string }} State
 */

// An example that is easy to check: the result is capitals of other continents.
/** @type {ConceptList[]} */
const CONCEPTS = [
  { name: "capitals", words: "paris berlin rome madrid vienna warsaw tokyo cairo beijing lima nairobi hanoi" },
  { name: "europe", words: "france germany italy spain austria poland sweden greece" },
];
export const TABS = ["map", "directions", "concepts", "figures"];

/** @returns {State} */
export function initial() {
  return {
    like: [], without: [], method: "", weights: "auto", aperture: null, directions: null, tab: "map",
    side: "after", colour: "frequency", projection: "pca", count: "20000", concepts: CONCEPTS, expression: "capitals and not europe",
  };
}

/** @param {State} state */
export function toQuery(state) {
  const plain = initial();
  const query = settings(state);
  state.like.forEach((word) => query.append("like", word));
  state.without.forEach((word) => query.append("without", word));
  for (const key of /** @type {const} */ (["tab", "side", "colour", "projection", "count", "expression"])) {
    if (state[key] !== plain[key]) { query.set(key, state[key]); }
  }
  if (JSON.stringify(state.concepts) !== JSON.stringify(plain.concepts)) {
    state.concepts.forEach((each) => query.append("concept", `${each.name}: ${each.words}`));
  }
  return query;
}

/** @param {URLSearchParams} query @returns {State} */
export function fromQuery(query) {
  const state = initial();
  state.like = query.getAll("like").slice(0, 20);
  state.without = query.getAll("without").slice(0, 20);
  for (const key of /** @type {const} */ (["method", "weights", "side", "colour", "projection", "count", "expression"])) {
    state[key] = query.get(key) ?? state[key];
  }
  const tab = query.get("tab") ?? "";
  if (TABS.includes(tab)) { state.tab = tab; }
  const aperture = Number(query.get("aperture"));
  state.aperture = aperture > 0 && Number.isFinite(aperture) ? aperture : null;
  const directions = query.get("directions");
  state.directions = directions !== null && /^\d{1,4}$/.test(directions) ? Number(directions) : null;
  const concepts = query.getAll("concept").map((text) => {
    const colon = text.indexOf(":");
    return { name: text.slice(0, colon).trim(), words: text.slice(colon + 1).trim() };
  });
  if (concepts.length) { state.concepts = concepts; }
  return state;
}

/** The method and its parameters, in the server's format. @param {State} state */
export function settings(state) {
  const query = new URLSearchParams({ method: state.method });
  if (state.weights !== "auto") { query.set("weights", state.weights); }
  if (state.aperture !== null) { query.set("aperture", state.aperture.toPrecision(6)); }
  if (state.directions !== null) { query.set("directions", String(state.directions)); }
  return query;
}
