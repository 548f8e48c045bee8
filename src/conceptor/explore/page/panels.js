// @ts-check
// Show answers on the page: every word is inserted as text, never as HTML.

/** @param {string} tag @param {Record<string, string>} [attributes] @param {...(Node | string)} children */
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

/**
 * A list of neighbors: new or lost words for words, the change of place for texts.
 * @param {HTMLElement} list @param {import("./api.js").Near[]} side @param {{ isAfter: boolean, areTexts: boolean }} what
 */
export function showNear(list, side, { isAfter, areTexts }) {
  showList(list, side.map((near, i) => {
    const isMoved = near.was > side.length || !near.was;
    const change = near.was - i - 1;
    const mark = areTexts
      ? make("span", { class: "moved", title: `${isAfter ? "before" : "after"}: ${shownRank(near.was)}` }, !near.was ? "" : change ? `${change > 0 ? "↑" : "↓"} ${shownRank(Math.abs(change))}` : "=")
      : make("span", { class: isMoved ? (isAfter ? "moved new" : "moved gone") : "moved" }, isMoved ? (isAfter ? "+ new" : "− gone") : "");
    return make("li", {}, wordButton(near.word),
      make("span", { class: "figures" }, make("span", { title: `score; the cosine is ${near.cosine.toFixed(3)}` }, near.score.toFixed(3)), mark,
        ...(near.above ? [make("span", { title: `higher than ${near.above} of random pairs` }, `> ${near.above}`)] : []),
        make("span", { title: areTexts ? "row in the file" : "rank in the file" }, shownRank(near.rank))));
  }));
}

/** Show items; a list is one stop of the Tab key, and arrows move within it. @param {HTMLElement} list @param {HTMLElement[]} items */
export function showList(list, items) {
  list.replaceChildren(...items);
  list.querySelectorAll("button").forEach((button, i) => { button.tabIndex = i ? -1 : 0; });
}

/** Move between the buttons of a list with arrows. @param {HTMLElement} list */
export function moveByArrows(list) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const buttons = [...list.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement)) + (step ?? NaN)];
    if (!next) { return; }
    event.preventDefault();
    buttons.forEach((button) => { button.tabIndex = button === next ? 0 : -1; });
    next.focus();
  });
}

/** Scores after the method and their changes, with intervals if they are known. @param {import("./api.js").Score[]} scores */
export function showScores(scores) {
  byId("scores").replaceChildren(...scores.map(({ name, before, after, note, low, high }) => {
    const change = before === null || after === null ? null : after - before;
    // A change is a gain or a loss only if its interval excludes zero; without one, it has no color.
    const kind = low !== null && low > 0 ? "up" : high !== null && high < 0 ? "down" : "faint";
    const interval = low === null || high === null ? "" : `[${signed(low)}, ${signed(high)}]`;
    const line = name === "Word similarity" ? "similarity" : name === "Analogies" ? "analogies" : "";
    return make("div", {}, make("dt", { title: note, class: `key ${line}` }, name), make("dd", {},
      make("span", { class: "now" }, after === null ? "—" : after.toFixed(1)), " ", make("span", { class: kind }, change === null ? "" : signed(change), make("br"), interval)));
  }));
}

/** @param {number} value */
function signed(value) {
  const text = Math.abs(value).toFixed(1);
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
