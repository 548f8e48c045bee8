// @ts-check
// Requests to the server; for each subject only the latest one counts.

/** @typedef {{ word: string, score: number, cosine: number, rank: number, moved: "new" | "gone" | "both", above: string }} Near */
/** @typedef {{ word: string, where: string, suggestions: string[], what: string }} Unknown */
/** @typedef {{ before: Near[], after: Near[], like: string[], without: string[], unknown: Unknown[], prior: boolean }} Neighbours */
/** @typedef {{ name: string, value: number, least: number, most: number, marks: Record<string, number> }} Slider */
/** @typedef {{ dataset: string, before: number | null, after: number | null, note: string }} Score */
/**
 * @typedef {{ slider: Slider | null, gate: number[], spectrum_before: number[], spectrum_after: number[],
 *   participation_before: number, participation_after: number, scores: Score[],
 *   charts: Record<string, string>, command: string, notes: string[] }} Solved
 */
/**
 * @typedef {{ words: string[], ranks: number[], clusters: number[], before: number[], after: number[],
 *   names: string[], frequency_before: number, frequency_after: number }} Points
 */
/** @typedef {{ words: string[], ranks: number[], clusters: number[], before: number[], after: number[], query: number }} Placed */
/** @typedef {{ number: number, share: number, frequency: number | null, kept: number, low: string[], high: string[] }} Direction */
/** @typedef {{ directions: Direction[], among: number }} Directions */
/** @typedef {{ word: string, evidence: number, rank: number, given: boolean }} Evidence */
/**
 * @typedef {{ names: string[], quotas: number[], similarity: number[][], order: string[][],
 *   expression: string, words: Evidence[], missing: string[] }} Concepts
 */
/** @typedef {{ state: string, label: string, fraction: number | null, html: string, methods: string[] }} FiguresState */
/** @typedef {{ name: string, description: string, control: string }} Choice */
/**
 * @typedef {{ vectors: string, rows: string, count: number, dimension: number, sorted: boolean, other: string | null,
 *   methods: Choice[], weights: string[], projections: string[], examples: string[], version: string }} About
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
const asked = new Map();

/**
 * Ask the server; this cancels an earlier request on the same subject.
 * @param {string} path
 * @param {URLSearchParams} [query]
 * @param {{ subject?: string, method?: string }} [options]
 * @returns {Promise<any>} the answer; undefined if a later request replaced this one
 */
export async function ask(path, query = new URLSearchParams(), { subject = path, method = "GET" } = {}) {
  asked.get(subject)?.abort();
  const control = new AbortController();
  asked.set(subject, control);
  const text = query.toString();
  let response;
  try {
    response = await fetch(text ? `/api/${path}?${text}` : `/api/${path}`, { method, signal: control.signal });
  } catch (error) {
    if (control.signal.aborted) { return undefined; }
    throw new Problem("The server does not respond; is it still running?");
  }
  const answer = await response.json().catch(() => undefined);
  if (asked.get(subject) !== control) { return undefined; }
  if (!response.ok) {
    throw new Problem(answer?.error ?? `The server returned status ${response.status}.`, answer?.unknown);
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
