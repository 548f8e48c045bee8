// @ts-check
// A field for words with type-ahead, and chips for the chosen words.

import { ask } from "./api.js";
import { byId, make, shownRank } from "./panels.js";

/**
 * Complete words in a field; Enter or a choice from its list takes a word, Shift+Enter adds it. Returns a function that
 * shows the chosen words, each with a button that removes it.
 * @param {string} id @param {() => string[]} words @param {(words: string[]) => void} change
 * @param {(word: string, add: boolean, isChoice: boolean) => void} take `isChoice`: from the list, not as typed
 */
export function wordField(id, words, change, take) {
  const input = /** @type {HTMLInputElement} */ (byId(id));
  const [list, chips] = [byId(`${id}-list`), byId(`${id}-words`)];
  const hasChoice = () => [...list.children].some((option) => option.getAttribute("value") === input.value);

  /** @param {boolean} add */
  function choose(add) {
    const [word, isChoice] = [input.value.trim(), hasChoice()];
    input.value = "";
    list.replaceChildren();
    if (word) { take(word, add, isChoice); }
  }

  input.addEventListener("input", async (event) => {
    const prefix = input.value.trim();
    if (/** @type {InputEvent} */ (event).inputType === "insertReplacementText" && hasChoice()) { choose(false); return; }
    const query = new URLSearchParams({ prefix });
    /** @type {import("./api.js").Row[] | undefined} */
    const matches = prefix ? await ask("words", query, `words-${id}`).catch(() => undefined) : [];
    if (!matches || input.value.trim() !== prefix) { return; }
    list.replaceChildren(...matches.map(({ word, rank }) => make("option", { value: word }, shownRank(rank))));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { choose(event.shiftKey); }
    if (event.key === "Backspace" && !input.value && words().length) { change(words().slice(0, -1)); }
  });
  chips.addEventListener("click", (event) => {
    const chip = /** @type {HTMLElement} */ (event.target).closest("button");
    if (chip) { change(words().filter((word) => word !== chip.dataset.chip)); input.focus(); }
  });
  return () => chips.replaceChildren(...words().map((word) =>
    make("li", {}, make("button", { type: "button", "data-chip": word, "aria-label": `Remove ${word}` }, word))));
}
