// @ts-check
// The page: its state, its requests, and where answers are shown.

import { Problem, ask, oneAtATime } from "./api.js";
import { addConcepts, conceptForm, showConcepts } from "./concepts.js";
import { showGate } from "./gate.js";
import { WordMap, isDark } from "./map.js";
import { byId, make, showNear, showProblem, showScores } from "./panels.js";
import { makeSlider } from "./slider.js";
import { TABS, fromQuery, settings, toQuery, withWords } from "./state.js";
import { explainTerms } from "./terms.js";
import { chosenWords, completeWords } from "./words.js";

const state = fromQuery(new URLSearchParams(location.search));
/** @type {import("./api.js").About} */
let about;
/** The last query whose words all had a vector. */
let lastQuery = { like: /** @type {string[]} */ ([]), without: /** @type {string[]} */ ([]) };
/** Duration of the words' movement; while a slider is dragged they follow at once. */
let moveFor = 900;
/** Safari refuses more than 100 addresses in 30 seconds, so the slider writes its own when it rests. */
let isDragged = false;
/** Whether the map flies to the words once their places are known. */
let flies = false;

const select = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (byId(id));
const map = new WordMap((word) => lookUp(word));

/** Show the error of a request; others continue. @param {unknown} error @param {string} [place] */
function report(error, place = "status") {
  showProblem(byId(place), error instanceof Problem ? error : new Problem(String(error)));
}

function remember() {
  if (!isDragged) { history.replaceState(null, "", `?${toQuery(state)}`); }
  select("method").value = state.method;
  select("weights").value = state.weights;
  showLike();
  showWithout();
  /** @type {HTMLAnchorElement} */ (byId("export-map")).href = `/api/map.safetensors?${settings(state)}`;
}

/** Adapt the page to texts: they have no frequencies, and people search by text or row number. */
function adaptToTexts() {
  /** @type {HTMLInputElement} */ (byId("like")).placeholder = "a text, or a row number";
  /** @type {HTMLInputElement} */ (byId("without")).placeholder = "a text to exclude";
  byId("weights-label").hidden = byId("tab-concepts").hidden = true;
  byId("jump-words").textContent = "Texts";
  state.color = "cluster";
  state.tab = "map";
}

// Words: Enter looks a word up; Shift+Enter adds it.

/** @param {string} word @param {string} [how] `look`, `add` or `without` */
function lookUp(word, how = "look") {
  const list = how === "without" ? "without" : "like";
  state[list] = how === "look" ? [word] : [...new Set([...state[list], word])];
  if (how === "look" && !map.camera.isHome()) { flies = true; }
  wordsChanged();
}

completeWords("like", (word, add) => lookUp(word, add ? "add" : "look"));
completeWords("without", (word) => lookUp(word, "without"));
const showLike = chosenWords("like", () => state.like, (words) => { state.like = words; wordsChanged(); });
const showWithout = chosenWords("without", () => state.without, (words) => {
  state.without = words;
  wordsChanged();
});

function wordsChanged() {
  remember();
  askNeighbors();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || document.activeElement?.matches("input, textarea, select")) { return; }
  event.preventDefault();
  byId("like").focus();
});

document.addEventListener("click", (event) => {
  const chosen = /** @type {HTMLElement} */ (event.target).closest("[data-word]");
  if (chosen instanceof HTMLElement && chosen.dataset.word) { lookUp(chosen.dataset.word, chosen.dataset.how); }
});

const askNeighbors = oneAtATime(async () => {
  const words = { like: state.like, without: state.without };
  if (!words.like.length) {
    lastQuery = words;
    showNeighbors();
    return;
  }
  const how = (/** @type {string} */ word) =>
    (words.without.includes(word) ? "without" : words.like.length > 1 ? "add" : "look");
  try {
    const query = withWords(settings(state), state);
    query.set("n", "15");
    /** @type {import("./api.js").Neighbors | undefined} */
    const answer = await ask("neighbors", query);
    if (!answer) { return; }
    lastQuery = { like: answer.like, without: answer.without };
    if (state.like === words.like && state.without === words.without) {
      Object.assign(state, lastQuery);
      remember();
    }
    showNeighbors(answer);
    byId("word-problem").hidden = !answer.unknown.length;
    if (answer.unknown.length) { showProblem(byId("word-problem"), new Problem("", answer.unknown), how); }
  } catch (error) {
    if (!(error instanceof Problem)) { throw error; }
    showProblem(byId("word-problem"), error, how);
    // Known words stay, with their neighbors.
    if (error.unknown.length) { Object.assign(state, lastQuery); remember(); } else { showNeighbors(); }
  }
});

/** @param {import("./api.js").Neighbors} [answer] */
function showNeighbors(answer) {
  showNear(byId("before"), answer?.before ?? []);
  showNear(byId("after"), answer?.after ?? []);
  map.setChosen(answer?.places);
  if (flies && answer) { map.fly(1400); }
  flies = false;
}

// The method: its gate, its gains and losses.

const showSlider = makeSlider((value) => { state.value = value; settingsChanged(); });
let released = 0;
byId("knob").addEventListener("input", () => { moveFor = 150; isDragged = true; clearTimeout(released); }, { capture: true });
byId("knob").addEventListener("change", () => {
  moveFor = 900;
  clearTimeout(released);
  released = setTimeout(() => { isDragged = false; remember(); }, 200);
});

const askSolution = oneAtATime(async () => {
  try {
    /** @type {import("./api.js").Solution | undefined} */
    const solution = await ask("solution", settings(state));
    if (!solution) { return; }
    showSlider(solution.slider);
    showGate(solution);
    const [before, after] = solution.isotropy ?? [null, null];
    const name = make("button", { type: "button", class: "term", "data-term": "isotropy" }, "Isotropy");
    const note = "participation ratio of the variance; 1 is even";
    showScores("isotropy", after === null ? [] : [{ name, before, after, note, low: null, high: null }], 3);
    byId("method-note").textContent = [about.methods[state.method], ...solution.notes].filter(Boolean).join("; ");
    byId("command").textContent = solution.command;
    byId("export-command").hidden = byId("export-map").hidden = !solution.command;
    byId("status").hidden = true;
  } catch (error) { report(error); }
});

let resting = 0;
/** Benchmarks take a second, so they start when the slider rests. */
function askScores() {
  byId("scores").classList.add("waiting");
  clearTimeout(resting);
  resting = setTimeout(async () => {
    const scores = await ask("scores", settings(state)).catch(() => []);
    if (!scores) { return; }
    showScores("scores", scores);
    byId("scores").classList.remove("waiting");
  }, 300);
}

function settingsChanged() {
  remember();
  askSolution();
  askNeighbors();
  askScores();
  askTab();
}
select("method").addEventListener("change", () => {
  Object.assign(state, { method: select("method").value, value: null });
  settingsChanged();
});
select("weights").addEventListener("change", () => {
  Object.assign(state, { weights: select("weights").value, value: null });
  settingsChanged();
});

// The map.

const askMap = oneAtATime(async () => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const opens = !byId("map").dataset.drawn && state.side === "after" && !still;
  try {
    byId("map").classList.add("waiting");
    /** @type {import("./api.js").Points | undefined} */
    const points = await ask("map", settings(state));
    if (!points) { return; }
    // The first time, animate the words from before to after.
    if (opens) { map.setMixed(0, 0); }
    map.setPoints(points, moveFor);
    if (opens) { setTimeout(showSide, 500); }
    byId("legend-end").textContent = points.ranks[points.ranks.length - 1].toLocaleString("en");
    const [before, after] = points.frequency.map((value) => `${(100 * value).toFixed(0)}%`);
    byId("axis").hidden = !about.sorted;
    byId("axis").replaceChildren("This plane explains ", before, " of ",
      make("button", { type: "button", class: "term", "data-term": "rank" }, "log rank"), " before, ", after,
      " after: the share of the map that only shows how common words are.");
  } catch (error) { report(error, "word-problem"); } finally {
    byId("map").classList.remove("waiting");
  }
});

/** Move the words to the side that is chosen. @param {number} [duration] */
function showSide(duration = 2200) {
  map.setMixed(state.side === "before" ? 0 : 1, duration);
  for (const side of ["before", "after"]) {
    byId(`side-${side}`).setAttribute("aria-pressed", String(state.side === side));
  }
}
for (const side of ["before", "after"]) {
  byId(`side-${side}`).addEventListener("click", () => { state.side = side; remember(); showSide(); });
}
select("color").addEventListener("change", () => { state.color = select("color").value; remember(); showColor(); });
byId("zoom-in").addEventListener("click", () => map.zoom(1.6, 250));
byId("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6, 250));
byId("zoom-word").addEventListener("click", () => map.fly(1200));
byId("zoom-all").addEventListener("click", () => map.flyTo(map.camera.home, 900));
document.querySelectorAll("[data-jump]").forEach((button) => button.addEventListener("click", () => {
  if (button.id === "jump-map" && state.tab !== "map") { openTab("map"); }
  byId(/** @type {HTMLElement} */ (button).dataset.jump ?? "").scrollIntoView();
}));

function showColor() {
  byId("legend").hidden = state.color !== "frequency";
  map.setColor(state.color);
}

// Concepts and tabs, by the ARIA pattern.

const askConcepts = oneAtATime(async () => {
  const query = addConcepts(state, settings(state));
  if (!query.has("concept")) { return; }
  try {
    const answer = await ask("concepts", query);
    if (answer) { showConcepts(answer); }
    byId("concept-problem").hidden = true;
  } catch (error) { report(error, "concept-problem"); }
});

/** Request the content of the open tab. */
function askTab() {
  if (state.tab === "map") { askMap(); } else { askConcepts(); }
}

/** @param {string} name */
function openTab(name) {
  state.tab = name;
  for (const each of TABS) {
    const tab = byId(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    byId(`panel-${each}`).hidden = each !== name;
  }
  remember();
  askTab();
}
TABS.forEach((name, i) => {
  byId(`tab-${name}`).addEventListener("click", () => openTab(name));
  byId(`tab-${name}`).addEventListener("keydown", (event) => {
    if (!["ArrowRight", "ArrowLeft"].includes(event.key)) { return; }
    const next = TABS[(i + 1) % TABS.length];
    openTab(next);
    byId(`tab-${next}`).focus();
  });
});

// Sharing.

/** @param {HTMLElement} button @param {string} text */
async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Could not copy; select the text";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}
byId("share").addEventListener("click", () => copy(byId("share"), location.href));
byId("copy-command").addEventListener("click", () => copy(byId("copy-command"), byId("command").textContent ?? ""));
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showColor();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showColor);

async function start() {
  about = await ask("about");
  document.title = `${about.vectors} · conceptor explore`;
  byId("vectors").textContent = `${about.vectors}: ${about.count.toLocaleString("en")} × ${about.dimension}`;
  if (about.rows === "texts") { adaptToTexts(); }
  byId("prior-note").hidden = !about.sorted;
  byId("after-title").textContent = about.other ? `After: ${about.other}` : "After";
  select("method").replaceChildren(...Object.keys(about.methods).map((name) =>
    make("option", { value: name }, name === "file" ? about.other ?? name : name)));
  select("weights").replaceChildren(...about.weights.map((name) => make("option", { value: name }, name)));
  if (!Object.hasOwn(about.methods, state.method)) { state.method = Object.keys(about.methods)[0]; }
  if (!about.weights.includes(state.weights)) { state.weights = "auto"; }
  if (!state.like.length) { state.like = about.examples.slice(0, 1); }
  if (!["frequency", "cluster"].includes(state.color)) { state.color = "frequency"; }
  select("color").value = state.color;
  showSide(0);
  showColor();
  explainTerms();
  conceptForm(state, () => { remember(); askConcepts(); });
  openTab(state.tab);
  askSolution();
  askNeighbors();
  askScores();
}

start().catch(report);
