// @ts-check
// The state of the page, kept in the address, and requests to the server.

/**
 * @typedef {{ word: string, score: number, cosine: number, rank: number, was: number, above: string }} Near
 * @typedef {{ word: string, rank: number }} Row
 * @typedef {{ word: string, where: string, suggestions: string[], what: string }} Unknown
 * @typedef {{ units: number[], data: string }} Packed
 * @typedef {{ words: string[], ranks: number[], clusters: number[], names: string[], before: Packed }} Layout
 * @typedef {{ words: string[], ranks: number[], before: number[][], components: Packed,
 *   query: number }} Places
 * @typedef {{ r: number | null, ends: [string[], string[]] }} Direction
 * @typedef {{ values: number[], turns: number[][][], components: Packed, directions: Direction[], before?: Packed }} Path
 * @typedef {{ before: Near[], after: Near[], like: string[], without: string[], unknown: Unknown[],
 *   places: Places }} Neighbors
 * @typedef {{ name: "aperture" | "n_directions", value: number, default: number, least: number, most: number,
 *   marks: Record<string, number> }} Slider
 * @typedef {{ slider: Slider | null, formula: number | string | null, gate: number[], values: number[],
 *   gates: Record<string, number[]>, command: string, notes: string[] }} Solution
 * @typedef {{ name: string, before: number | null, after: number | null, note: string, low: number | null,
 *   high: number | null }} Score
 * @typedef {{ names: string[], groups: number[], is_number: boolean }} Column
 * @typedef {{ vectors: string, rows: string, count: number, dimension: number, sorted: boolean,
 *   methods: Record<string, string>, colors: Record<string, number>, examples: string[], columns: string[] }} About
 */

/** An error from the server, with suggestions for unknown words. */
export class Problem extends Error {
  /** @param {string} message @param {Unknown[]} [unknown] */
  constructor(message, unknown = []) {
    super(message);
    this.unknown = unknown;
  }
}

/** @type {Map<string, AbortController>} */
const requests = new Map();

/**
 * Ask the server; this cancels an earlier request on the same subject, whose answer is undefined.
 * @param {string} path @param {URLSearchParams} [query] @param {string} [subject] @returns {Promise<any>}
 */
export async function ask(path, query = new URLSearchParams(), subject = path) {
  requests.get(subject)?.abort();
  const control = new AbortController();
  requests.set(subject, control);
  let response;
  try {
    response = await fetch(`/api/${path}?${query}`, { signal: control.signal });
  } catch (error) {
    if (control.signal.aborted) { return undefined; }
    throw new Problem("The server does not respond; is it still running?");
  }
  const answer = await response.json().catch(() => undefined);
  if (requests.get(subject) !== control) { return undefined; }
  if (!response.ok) {
    throw new Problem(answer?.error ?? `The server answered ${response.status}.`, answer?.unknown);
  }
  return answer;
}

/**
 * @typedef {{ like: string[], without: string[], method: string, value: number | null,
 *   side: string, color: string, kind: string }} State
 */

/** @param {State} state */
export function toQuery(state) {
  const query = settings(state);
  state.like.forEach((word) => query.append("like", word));
  state.without.forEach((word) => query.append("without", word));
  if (state.side === "before") { query.set("side", "before"); }
  if (state.color) { query.set("color", state.color); }
  if (state.kind) { query.set("map", state.kind); }
  return query;
}

/** @param {URLSearchParams} query @returns {State} */
export function fromQuery(query) {
  const value = Number(query.get("value") || NaN);
  return {
    like: query.getAll("like").slice(0, 20),
    without: query.getAll("without").slice(0, 20),
    method: query.get("method") ?? "",
    value: Number.isFinite(value) ? value : null,
    side: query.get("side") === "before" ? "before" : "after",
    color: query.get("color") ?? "",
    kind: query.get("map") === "neighborhoods" ? "neighborhoods" : "",
  };
}

/** The method and its parameter, in the server's format. @param {State} state */
export function settings(state, value = state.value) {
  const query = new URLSearchParams({ method: state.method });
  if (value !== null) { query.set("value", String(value)); }
  return query;
}
