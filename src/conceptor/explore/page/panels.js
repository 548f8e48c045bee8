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
  const found = document.getElementById(id);
  if (!found) { throw new Error(`no element ${id}`); }
  return /** @type {T} */ (found);
}

/** @param {string} word */
export function wordButton(word) {
  return make("button", { type: "button", class: "word", "data-word": word, title: `Neighbours of ${word}` }, word);
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
 * Current scores, and their changes.
 * @param {HTMLElement} place
 * @param {{ name: string | Node, before: number | null, after: number | null, digits: number, note: string }[]} rows
 */
function showChanges(place, rows) {
  place.replaceChildren(...rows.map(({ name, before, after, digits, note }) => {
    const change = before === null || after === null ? null : after - before;
    const kind = change === null || Math.abs(change) < 0.5 * 10 ** -digits ? "faint" : change > 0 ? "up" : "down";
    const shown = change === null ? "" : kind === "faint" ? "±0" : `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(digits)}`;
    return make("div", {}, make("dt", { title: note }, name),
      make("dd", {}, make("span", { class: "now" }, after === null ? "—" : after.toFixed(digits)), " ", make("span", { class: kind }, shown)));
  }));
}

/** @param {import("./api.js").Solved} solved */
export function showScores(solved) {
  const isotropy = make("button", { type: "button", class: "term", "data-term": "isotropy" }, "Isotropy");
  showChanges(byId("scores"), [
    { name: isotropy, before: solved.participation_before, after: solved.participation_after, digits: 3, note: "participation ratio of running text; 1 is even" },
    ...solved.scores.map((score) => ({ name: score.dataset, ...score, digits: 1 })),
  ]);
}

/** @param {import("./api.js").Score[]} scores */
export function showBenchmarks(scores) {
  showChanges(byId("benchmarks"), scores.map((score) => ({ name: score.dataset, ...score, digits: 1 })));
}

/** A chart drawn by the server, as SVG. @param {HTMLElement} place @param {string | undefined} svg */
export function showChart(place, svg) {
  place.innerHTML = svg ?? "";
}

/** @param {import("./api.js").Directions} found */
export function showDirections(found) {
  byId("directions-note").textContent =
    `Words at both ends of each leading direction, among the first ${found.among.toLocaleString("en")} words.`;
  const columns = ["direction", "variance", "kept", "follows frequency", "one end", "the other end"];
  const head = make("thead", {}, make("tr", {}, ...columns.map((text, i) => make("th", { scope: "col", class: i > 3 ? "ends" : "" }, text))));
  const rows = found.directions.map((each) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.round(60 * Math.min(1, each.kept))}px`;
    // On a phone each cell shows its name.
    return make("tr", {}, make("th", { scope: "row" }, String(each.number)),
      make("td", { "data-name": "variance" }, `${(100 * each.share).toFixed(1)}%`),
      make("td", { class: "kept", "data-name": "kept" }, bar, each.kept.toFixed(2)),
      make("td", { "data-name": "frequency" }, each.frequency === null ? "unknown" : each.frequency.toFixed(2).replace("-", "−")),
      make("td", { class: "ends", "data-name": "one end:" }, ...each.high.map(wordButton)),
      make("td", { class: "ends", "data-name": "the other:" }, ...each.low.map(wordButton)));
  });
  byId("directions").replaceChildren(head, make("tbody", {}, ...rows));
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
