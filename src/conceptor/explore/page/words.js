// @ts-check
// A field for words with type-ahead: a combobox by the ARIA pattern, chips for what was chosen.

import { ask } from "./api.js";
import { byId, make, shownRank } from "./panels.js";

let fields = 0;

/**
 * @param {string} id of the input
 * @param {() => string[]} words
 * @param {(words: string[]) => void} change
 */
export function wordField(id, words, change) {
  const input = /** @type {HTMLInputElement} */ (byId(id));
  const list = byId(`${id}-list`);
  const chips = byId(`${id}-words`);
  const number = ++fields;
  let active = -1;

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  /** @param {string} word */
  function add(word) {
    const wanted = word.trim();
    input.value = "";
    close();
    if (wanted && !words().includes(wanted)) { change([...words(), wanted]); }
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
    if (!prefix) { close(); return; }
    const found = await ask("words", new URLSearchParams({ prefix, n: "8" }), { subject: `words-${id}` }).catch(() => undefined);
    if (!found || input.value.trim() !== prefix) { return; }
    list.replaceChildren(...found.map((/** @type {{ word: string, rank: number }} */ each, /** @type {number} */ i) =>
      make("li", { role: "option", id: `option-${number}-${i}`, "aria-selected": "false", "data-choice": each.word },
        make("span", {}, each.word), make("span", { class: "rank" }, shownRank(each.rank)))));
    active = -1;
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      const chosen = /** @type {HTMLElement | undefined} */ (list.children[active]);
      add(chosen?.dataset.choice ?? input.value);
    } else if (event.key === "Escape") {
      close();
    } else if (event.key === "Backspace" && !input.value && words().length) {
      change(words().slice(0, -1));
    }
  });
  list.addEventListener("pointerdown", (event) => {
    const option = /** @type {HTMLElement} */ (event.target).closest("li");
    if (option) { event.preventDefault(); add(option.dataset.choice ?? ""); }
  });
  input.addEventListener("blur", close);
  chips.addEventListener("click", (event) => {
    const chip = /** @type {HTMLElement} */ (event.target).closest("button");
    if (chip) { change(words().filter((word) => word !== chip.dataset.chip)); input.focus(); }
  });

  return () => chips.replaceChildren(...words().map((word) =>
    make("li", {}, make("button", { type: "button", "data-chip": word, "aria-label": `Remove ${word}` }, word))));
}
