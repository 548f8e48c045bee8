// @ts-check
// A plain sentence for each term, on hover, focus and touch.

import { byId } from "./panels.js";

/** @type {Record<string, string>} */
const TERMS = {
  gate: "The share of each direction that is kept: 1 keeps all of it, 0 removes it. Directions that common words share are turned down most.",
  aperture: "How strongly shared directions are turned down. At the left the vectors stay unchanged. Further right more is removed, at some point too much.",
  n_directions: "The number of the strongest shared directions that are removed or flattened.",
  spread: "The standard deviation of the vectors that the method is fitted on, along each direction, strongest first. If the first bars tower above the others, a few directions dominate.",
  isotropy: "How evenly the variance spreads over all directions: 1 is even, near 0 all vectors point the same way.",
  rank: "A word's position in the file: 1 is the most common. On the log scale, ranks 10 and 100 are as far apart as 100 and 1,000.",
  score: "The list is sorted by score: the cosine, minus a small penalty for rare words and a penalty for words like the excluded ones.",
  weights: "How much each word counts when the method finds shared directions: by how often it is used, or all equally.",
  evidence: "The share of a word's vector that lies inside the concept, from 0 to 1.",
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
