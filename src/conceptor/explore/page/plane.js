// @ts-check
// The page's side of the map: what it is sent, and what it says.

import { byId } from "./panels.js";

const frame = /** @type {HTMLIFrameElement} */ (byId("frame"));
/** @type {(value?: unknown) => void} */
let loaded = () => {};
const ready = new Promise((resolve) => { loaded = resolve; });
/** @type {((picture: string) => void)[]} */
const pictures = [];

/** @param {(word: string) => void} choose */
export function listen(choose) {
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow) { return; }
    if (event.data.type === "ready") { loaded(); }
    if (event.data.type === "word") { choose(String(event.data.word)); }
    if (event.data.type === "drawn") { frame.dataset.drawn = String(Number(frame.dataset.drawn ?? 0) + 1); }
    if (event.data.type === "picture") { pictures.shift()?.(String(event.data.picture)); }
  });
  // The frame may have been ready before this.
  frame.contentWindow?.postMessage({ type: "hello" }, "*");
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** A colour of the style sheet, as it is now. @param {string} name */
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/**
 * @param {import("./api.js").Points} points
 * @param {{ side: string, colour: string }} state
 * @param {number} duration
 */
export async function draw(points, state, duration) {
  await ready;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  frame.contentWindow?.postMessage({
    type: "draw", words: points.words, ranks: points.ranks, clusters: points.clusters,
    at: state.side === "before" ? points.before : points.after, query: points.query, neighbours: points.neighbours,
    colour: state.colour, duration: still ? 0 : duration,
    theme: { scheme: isDark() ? "dark" : "light", ink: colour("--ink"), faint: colour("--faint"), grid: colour("--grid"), accent: colour("--accent"), loss: colour("--loss") },
  }, "*");
}

/** The map as a picture, for a page that cannot draw; empty while there is none. @returns {Promise<string>} */
export async function picture() {
  if (!frame.dataset.drawn) { return ""; }
  return new Promise((resolve) => {
    pictures.push(resolve);
    frame.contentWindow?.postMessage({ type: "picture" }, "*");
  });
}
