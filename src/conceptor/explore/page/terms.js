// @ts-check
// Terms with a plain sentence, on hover, on focus and on touch.

import { byId } from "./panels.js";

/** @type {Record<string, string>} */
const TERMS = {
  gate: "How much of each direction is kept: 1 leaves it as it is, 0 removes it. Directions that all common words share are turned down most.",
  aperture: "How firmly shared directions are turned down. To the left the vectors stay as they are; to the right more is removed, and at some point more than is good.",
  directions: "How many of the strongest shared directions are removed or levelled.",
  spectrum: "How strongly text varies along each direction, the strongest first. A steep line means that a few directions drown out the others.",
  isotropy: "How evenly running text uses all directions: 1 is even, near 0 means that all words point the same way.",
  rank: "A word's place in the file: 1 is the commonest. Log rank counts its digits, so ranks 10 and 100 are as far apart as 100 and 1,000.",
  score: "What the list is ordered by: the cosine, less a little for rare words, and less for words like those excluded.",
  weights: "How much each word counts when the method looks for shared directions: by how often it is used, or all alike.",
  evidence: "How much of a word's vector lies inside the concept, from 0 to 1.",
};

export function explainTerms() {
  const tip = byId("tip");
  /** @type {HTMLElement | undefined} */
  let open;

  function close() {
    open?.removeAttribute("aria-describedby");
    open = undefined;
    tip.hidden = true;
  }

  /** @param {HTMLElement} term */
  function show(term) {
    close();
    open = term;
    tip.textContent = TERMS[term.dataset.term ?? ""] ?? "";
    tip.hidden = false;
    term.setAttribute("aria-describedby", "tip");
    const box = term.getBoundingClientRect();
    const left = Math.min(Math.max(box.left, 8), document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${below ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
  }

  const termOf = (/** @type {Event} */ event) => /** @type {HTMLElement | null} */ (
    event.target instanceof Element ? event.target.closest(".term") : null);
  document.addEventListener("pointerover", (event) => {
    const term = termOf(event);
    if (event.pointerType === "mouse" && term) { show(term); } else if (event.pointerType === "mouse" && !document.activeElement?.matches(".term")) { close(); }
  });
  document.addEventListener("focusin", (event) => { const term = termOf(event); if (term) { show(term); } else { close(); } });
  document.addEventListener("click", (event) => { const term = termOf(event); if (term) { show(term); } else { close(); } });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { close(); } });
  addEventListener("scroll", close, { passive: true });
}
