// @ts-check
// Requests to the server; for each subject only the latest one counts.

/**
 * @typedef {{ word: string, score: number, cosine: number, rank: number, moved: "new" | "gone" | "both",
 *   above: string }} Near
 * @typedef {{ word: string, where: string, suggestions: string[], what: string }} Unknown
 * @typedef {{ words: string[], ranks: number[], clusters: number[], before: number[], after: number[],
 *   query: number }} Places
 * @typedef {Places & { names: string[], frequency: [number, number] }} Points
 * @typedef {{ before: Near[], after: Near[], like: string[], without: string[], unknown: Unknown[],
 *   places: Places }} Neighbors
 * @typedef {{ name: "aperture" | "n_directions", value: number, default: number, least: number, most: number,
 *   marks: Record<string, number> }} Slider
 * @typedef {{ slider: Slider | null, gate: number[], variance: number[], isotropy?: [number, number],
 *   command: string, notes: string[] }} Solution
 * @typedef {{ name: string, before: number | null, after: number | null, note: string, low: number | null,
 *   high: number | null }} Score
 * @typedef {{ names: string[], quotas: number[], similarity: number[][], order: string[][], expression: string,
 *   words: { word: string, evidence: number, rank: number, example: boolean }[], missing: string[] }} Concepts
 * @typedef {{ vectors: string, rows: string, count: number, dimension: number, sorted: boolean,
 *   other: string | null, methods: Record<string, string>, weights: string[], examples: string[] }} About
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
 * Ask the server; this cancels an earlier request on the same subject.
 * @param {string} path
 * @param {URLSearchParams} [query]
 * @param {string} [subject]
 * @returns {Promise<any>} the answer; undefined if a later request replaced this one
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
 * Return a function that runs one call at a time: calls during a run are merged into one more run.
 * @param {() => Promise<void>} run
 */
export function oneAtATime(run) {
  let running = false;
  let again = false;
  return async () => {
    if (running) { again = true; return; }
    running = true;
    try {
      do { again = false; await run(); } while (again);
    } finally {
      running = false;
    }
  };
}
