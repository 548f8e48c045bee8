// @ts-check
// Word lists as conceptors: names, words, an expression, and the results.

import { byId, make, shownRank, wordButton } from "./panels.js";

/** @param {import("./state.js").State} state @param {() => void} changed */
export function conceptForm(state, changed) {
  const lists = byId("concept-lists");
  const expression = /** @type {HTMLInputElement} */ (byId("expression"));

  function read() {
    state.concepts = [...lists.children].map((row) => ({
      name: /** @type {HTMLInputElement} */ (row.querySelector("input")).value.trim(),
      words: /** @type {HTMLTextAreaElement} */ (row.querySelector("textarea")).value.trim(),
    }));
    state.expression = expression.value.trim();
    changed();
  }

  function show() {
    lists.replaceChildren(...state.concepts.map((each, i) => {
      const name = make("input", { type: "text", "aria-label": `Name of concept ${i + 1}`, value: each.name, spellcheck: "false" });
      const words = make("textarea", { "aria-label": `Words of concept ${i + 1}`, rows: "2", spellcheck: "false" }, each.words);
      const remove = make("button", { type: "button", "aria-label": `Remove concept ${each.name}` }, "×");
      remove.addEventListener("click", () => { row.remove(); read(); show(); });
      const row = make("div", { class: "concept" }, name, " ", ...(state.concepts.length > 1 ? [remove] : []), words);
      return row;
    }));
    expression.value = state.expression;
  }

  byId("concept-form").addEventListener("change", read);
  byId("concept-form").addEventListener("submit", (event) => { event.preventDefault(); read(); });
  byId("add-concept").addEventListener("click", () => {
    state.concepts = [...state.concepts, { name: `concept${state.concepts.length + 1}`, words: "" }];
    show();
    /** @type {HTMLElement | null} */ (lists.lastElementChild?.querySelector("textarea") ?? null)?.focus();
  });
  show();
}

/** @param {import("./state.js").State} state @param {URLSearchParams} query */
export function addConcepts(state, query) {
  for (const each of state.concepts) {
    if (each.name && each.words) { query.append("concept", `${each.name}: ${each.words.replace(/[\s,]+/g, " ")}`); }
  }
  if (state.expression) { query.set("expression", state.expression); }
  return query;
}

/** @param {import("./api.js").Concepts} answer */
export function showConcepts(answer) {
  byId("evidence-title").textContent = `Words of ${answer.expression}`;
  byId("evidence").replaceChildren(...answer.words.map((each) => {
    const word = wordButton(each.word);
    if (each.example) { word.classList.add("example"); word.title = "one of your examples"; }
    return make("li", {}, word, make("span", { class: "figures" },
      make("span", { title: "evidence" }, each.evidence.toFixed(3)), make("span", { title: "rank" }, shownRank(each.rank))));
  }));
  const head = make("tr", {}, make("td"), ...answer.names.map((name) => make("th", { scope: "col" }, name)), make("th", { scope: "col" }, "share of the space"));
  const rows = answer.names.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name),
    ...answer.similarity[i].map((value) => make("td", {}, value.toFixed(2))), make("td", {}, `${(100 * answer.quotas[i]).toFixed(1)}%`)));
  byId("similarity").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  const order = answer.order.map(([a, b]) => `${a} ≤ ${b}`).join(", ");
  const missing = answer.missing.length ? ` Without a vector: ${answer.missing.join(", ")}.` : "";
  byId("order").textContent = (order ? `Order: ${order}.` : "Order: no concept contains another.") + missing;
}
