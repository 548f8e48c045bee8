// @ts-check
// Show answers on the page: every word is inserted as text, never as HTML.

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) { element.setAttribute(name, value); }
  element.append(...children);
  return element;
}

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) { throw new Error(`no element ${id}`); }
  return /** @type {T} */ (element);
}

/** @param {string} word */
export function wordButton(word) {
  return make("button", { type: "button", class: "word", "data-word": word, title: `Neighbors of ${word}` }, word);
}

/** @param {number} rank */
export function shownRank(rank) {
  return rank.toLocaleString("en");
}

/** @param {HTMLElement} list @param {import("./api.js").Near[]} side */
export function showNear(list, side) {
  list.replaceChildren(...side.map((near) => {
    const mark = near.moved === "both" ? [] : [make("span", { class: `moved ${near.moved}` }, near.moved === "new" ? "+ new" : "− gone")];
    return make("li", {}, wordButton(near.word), ...mark,
      make("span", { class: "figures" }, make("span", { title: `score; the cosine is ${near.cosine.toFixed(3)}` }, near.score.toFixed(3)),
        ...(near.above ? [make("span", { title: `higher than ${near.above} of random pairs` }, `> ${near.above}`)] : []),
        make("span", { title: near.above ? "row in the file" : "rank in the file" }, shownRank(near.rank))));
  }));
}

/**
 * Scores after the method and their changes, with intervals if they are known.
 * @param {string} place
 * @param {(Omit<import("./api.js").Score, "name"> & { name: string | Node })[]} scores
 * @param {number} digits
 */
export function showScores(place, scores, digits = 1) {
  byId(place).replaceChildren(...scores.map(({ name, before, after, note, low, high }) => {
    const change = before === null || after === null ? null : after - before;
    // A change is a gain or a loss only if its interval excludes zero; without one, it has no color.
    const kind = low !== null && low > 0 ? "up" : high !== null && high < 0 ? "down" : "faint";
    const interval = low === null || high === null ? "" : ` [${signed(low, digits)}, ${signed(high, digits)}]`;
    const shown = change === null ? "" : `${signed(change, digits)}${interval}`;
    return make("div", {}, make("dt", { title: note }, name), make("dd", {},
      make("span", { class: "now" }, after === null ? "—" : after.toFixed(digits)), " ", make("span", { class: kind }, shown)));
  }));
}

/** @param {number} value @param {number} digits */
function signed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) ? `${value > 0 ? "+" : "−"}${text}` : "0";
}

/**
 * Show the error and suggest words; `how` returns the action for a chosen suggestion.
 * @param {HTMLElement} place @param {import("./api.js").Problem} problem @param {(word: string) => string} [how]
 */
export function showProblem(place, { message, unknown }, how = () => "look") {
  place.hidden = false;
  if (!unknown.length) { place.textContent = message; return; }
  place.replaceChildren(...unknown.map(({ word, where, suggestions, what }) => make("span", {}, `${where} has no ${what} “${word}”. `,
    ...(suggestions.length ? ["Did you mean"] : []),
    ...suggestions.map((each) => make("button", { type: "button", "data-word": each, "data-how": how(word) }, each)), " ")));
}
