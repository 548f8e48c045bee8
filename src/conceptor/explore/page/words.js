// @ts-check
// A field for words with type-ahead: a combobox by the ARIA pattern, with chips for the chosen words.

import { ask } from "./api.js";
import { byId, make, shownRank } from "./panels.js";

let fields = 0;

/**
 * Complete words in a field. Enter or a choice from the list looks a word up; Shift+Enter, or the button `ID-add` if
 * there is one, adds it to the chosen words.
 * @param {string} id of the input
 * @param {(word: string, add: boolean) => void} take
 */
export function completeWords(id, take) {
  const input = /** @type {HTMLInputElement} */ (byId(id));
  const list = byId(`${id}-list`);
  const button = /** @type {HTMLButtonElement | null} */ (document.getElementById(`${id}-add`));
  const number = ++fields;
  let active = -1;

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  /** @param {string} word @param {boolean} add */
  function choose(word, add) {
    const wanted = word.trim();
    input.value = "";
    if (button) { button.disabled = true; }
    close();
    if (wanted) { take(wanted, add); }
  }

  /** The marked word of the list, or the typed text. */
  function current() {
    return /** @type {HTMLElement | undefined} */ (list.children[active])?.dataset.choice ?? input.value;
  }

  /** @param {number} to */
  function mark(to) {
    const options = [...list.children];
    active = options.length ? (to + options.length) % options.length : -1;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === active)));
    if (active >= 0) { input.setAttribute("aria-activedescendant", options[active].id); }
  }

  input.addEventListener("input", async () => {
    const prefix = input.value.trim();
    if (button) { button.disabled = !prefix; }
    if (!prefix) { close(); return; }
    const matches = await ask("words", new URLSearchParams({ prefix, n: "8" }), `words-${id}`).catch(() => undefined);
    if (!matches || input.value.trim() !== prefix) { return; }
    list.replaceChildren(...matches.map((/** @type {{ word: string, rank: number }} */ each, /** @type {number} */ i) =>
      make("li", { role: "option", id: `option-${number}-${i}`, "aria-selected": "false", "data-choice": each.word },
        make("span", {}, each.word), make("span", { class: "rank" }, shownRank(each.rank)))));
    active = -1;
    list.hidden = !matches.length;
    input.setAttribute("aria-expanded", String(matches.length > 0));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(current(), event.shiftKey);
    } else if (event.key === "Escape") {
      close();
    }
  });
  list.addEventListener("pointerdown", (event) => {
    const option = /** @type {HTMLElement} */ (event.target).closest("li");
    if (option) { event.preventDefault(); choose(option.dataset.choice ?? "", false); }
  });
  button?.addEventListener("click", () => { choose(current(), true); input.focus(); });
  // The button takes the marked word, so the list stays open while it is pressed.
  button?.addEventListener("pointerdown", (event) => event.preventDefault());
  input.addEventListener("blur", close);
}

/**
 * The chosen words of a field, each with a button that removes it.
 * @param {string} id of the input @param {() => string[]} words @param {(words: string[]) => void} change
 */
export function chosenWords(id, words, change) {
  const input = byId(id);
  const chips = byId(`${id}-words`);
  chips.addEventListener("click", (event) => {
    const chip = /** @type {HTMLElement} */ (event.target).closest("button");
    if (chip) { change(words().filter((word) => word !== chip.dataset.chip)); input.focus(); }
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Backspace" && !(/** @type {HTMLInputElement} */ (input).value) && words().length) { change(words().slice(0, -1)); }
  });
  return () => chips.replaceChildren(...words().map((word) =>
    make("li", {}, make("button", { type: "button", "data-chip": word, "aria-label": `Remove ${word}` }, word))));
}
