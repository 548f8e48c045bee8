// @ts-check
// The page: its state, its requests, and where answers are shown.

import { Problem, ask, fromQuery, settings, toQuery } from "./api.js";
import { Gate, along, gateAt, showTrade, valueAt } from "./gate.js";
import { WordMap, groupColors } from "./map.js";
import { byId, make, moveByArrows, showList, showNear, showProblem, showScores, shownRank, wordButton } from "./panels.js";
import { explained } from "./path.js";
import { wordField } from "./words.js";

const state = fromQuery(new URLSearchParams(location.search));
/** @type {import("./api.js").About} */
let about;
/** @type {import("./api.js").Layout} */
let layout;
/** @type {import("./api.js").Solution | null} */
let solution = null;
/** @type {import("./api.js").Neighbors | undefined} */
let neighbors;
/** The last query whose words all had a vector. */
let lastQuery = { like: /** @type {string[]} */ ([]), without: /** @type {string[]} */ ([]) };
/** A selection or the result of a search, instead of neighbors. @type {{ title: string, rows: import("./api.js").Row[] } | null} */
let results = null;
/** Whether the first movement is over. */
let hasPlayed = false;
/** The plane of the method, and the settings of the neighborhoods that are shown. @type {import("./api.js").Path | null} */
let plane = null;
let shownNeighborhoods = "";
let isComputing = false;

const select = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (byId(id));
const knob = /** @type {HTMLInputElement} */ (byId("knob"));
const areTexts = () => about.rows === "texts";
const map = new WordMap((word) => lookUp(word), tellStory, (rows) =>
  showResults(`${shownRank(rows.length)} selected`, rows.map((i) => ({ word: layout.words[i], rank: layout.ranks[i] }))));
const gate = new Gate((value) => drag(value), () => release());

/** Show the error of a request; others continue. @param {unknown} error */
function report(error) {
  showProblem(byId("status"), error instanceof Problem ? error : new Problem(String(error)));
}

let remembering = 0;
/** Write the address; only when something is decided, because Safari refuses more than 100 in 30 seconds. */
function remember() {
  clearTimeout(remembering);
  history.replaceState(null, "", `?${toQuery(state)}`);
  select("method").value = state.method;
  select("kind").value = state.kind;
  showLike();
  showWithout();
  /** @type {HTMLAnchorElement} */ (byId("export-map")).href = `/api/map.safetensors?${settings(state)}`;
}

/** Adapt the page to texts: they have no frequencies, and people search by content or row number. */
function adaptToTexts() {
  /** @type {HTMLInputElement} */ (byId("like")).placeholder = "words in a text, or a row number";
  /** @type {HTMLInputElement} */ (byId("without")).placeholder = "a text";
  byId("list").hidden = byId("reading").hidden = false;
  byId("sides").hidden = true;
  byId("list-title").textContent = "Nearest texts";
  byId("list-note").querySelectorAll("button").forEach((term) => { term.textContent = "What the numbers are"; });
  byId("about-score").textContent = "The cosine; how many places the text rose (↑) or fell (↓) against the other side; the share of random pairs of texts with a lower cosine; its row in the file.";
  byId("jump-words").textContent = "Texts";
  byId("map").dataset.kind = "row";
  document.body.classList.add("of-texts");
}

// The story: one sentence with live numbers.

function tellStory() {
  const isFrequency = about.sorted && !areTexts();
  const shares = isFrequency ? [map.base.before, map.at].map((points) => explained(points, map.logs)) : strongest();
  const sentence = byId(isFrequency ? "by-frequency" : "by-direction");
  sentence.hidden = false;
  byId("what").textContent = map.path?.before ? "map" : "plane";
  sentence.querySelectorAll("b").forEach((number, i) => { number.textContent = `${(100 * shares[i]).toFixed(0)}%`; });
}

/** The share of the variance that lies along one direction: before, and now. */
function strongest() {
  if (!solution) { return [0, 0]; }
  const { values } = solution;
  const after = gateAt(solution, map.value).map((kept, i) => (1 + map.mixed * (kept - 1)) ** 2 * values[i]);
  return [values, after].map((each) => Math.max(...each) / (each.reduce((sum, value) => sum + value, 0) || 1));
}

/** Move the words to the side that is chosen. @param {number} [duration] */
function showSide(duration = 1600) {
  map.setMixed(state.side === "before" ? 0 : 1, duration);
  for (const side of ["before", "after"]) {
    byId(`side-${side}`).setAttribute("aria-pressed", String(state.side === side));
  }
  if (about && areTexts()) { showNeighbors(); }
}

for (const side of ["before", "after"]) {
  byId(`side-${side}`).addEventListener("click", () => { state.side = side; remember(); showSide(); });
}
byId("replay").addEventListener("click", () => {
  map.setMixed(0, 0);
  setTimeout(() => { state.side = "after"; showSide(2400); }, 450);
});

// Words: Enter looks a word up; Shift+Enter adds it. For texts, typed words are searched inside them.

/** @param {string} word @param {string} [how] `look`, `add` or `without` */
function lookUp(word, how = "look") {
  const list = how === "without" ? "without" : "like";
  state[list] = how === "look" ? [word] : [...new Set([...state[list], word])];
  if (!areTexts() || how !== "look") { closeResults(); }
  wordsChanged();
}

const showLike = wordField("like", () => state.like, (words) => { state.like = words; wordsChanged(); }, async (word, add, isChoice) => {
  if (isChoice || add || !areTexts() || /^\d+$/.test(word)) { lookUp(word, add ? "add" : "look"); return; }
  const answer = await ask("find", new URLSearchParams({ words: word })).catch(report);
  if (!answer) { return; }
  if (answer.count === 1) { lookUp(answer.texts[0].word); return; }
  showResults(`${shownRank(answer.count)} texts contain “${word}”`, answer.texts);
});
const showWithout = wordField("without", () => state.without, (words) => { state.without = words; wordsChanged(); }, (word) => lookUp(word, "without"));

function wordsChanged() {
  remember();
  askNeighbors();
  if (areTexts()) { read(); }
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || document.activeElement?.matches("input[type=text], textarea, select")) { return; }
  event.preventDefault();
  byId("like").focus();
});
document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const word = target.closest("[data-word]");
  if (word instanceof HTMLElement && word.dataset.word) { lookUp(word.dataset.word, word.dataset.how); }
});
["list", "before", "after", "try"].forEach((id) => moveByArrows(byId(id)));

async function askNeighbors() {
  const words = { like: state.like, without: state.without };
  if (!words.like.length) {
    lastQuery = words;
    placeNeighbors();
    return;
  }
  const how = (/** @type {string} */ word) =>
    (words.without.includes(word) ? "without" : words.like.length > 1 ? "add" : "look");
  try {
    const { method } = state;
    const query = toQuery(state);
    query.set("n", areTexts() ? "30" : "10");
    /** @type {import("./api.js").Neighbors | undefined} */
    const answer = await ask("neighbors", query);
    if (!answer) { return; }
    lastQuery = { like: answer.like, without: answer.without };
    if (state.like === words.like && state.without === words.without) {
      const isOther = JSON.stringify(words) !== JSON.stringify(lastQuery);
      Object.assign(state, lastQuery);
      if (isOther) { remember(); }
    }
    placeNeighbors(answer, method);
    byId("word-problem").hidden = !answer.unknown.length;
    if (answer.unknown.length) { showProblem(byId("word-problem"), new Problem("", answer.unknown), how); }
  } catch (error) {
    if (!(error instanceof Problem)) { throw error; }
    showProblem(byId("word-problem"), error, how);
    // Known words stay, with their neighbors.
    if (error.unknown.length) { Object.assign(state, lastQuery); remember(); return; }
    placeNeighbors();
  }
}

/** Neighbors have no places while the map is still that of another method. @param {import("./api.js").Neighbors} [answer] */
function placeNeighbors(answer, method = "") {
  neighbors = answer;
  showNeighbors();
  map.setChosen(method === gate.method ? answer?.places : undefined);
}

function showNeighbors() {
  byId("list").hidden = !results && !areTexts();
  byId("sides").hidden = Boolean(results) || areTexts();
  byId("save-list").hidden = byId("close-list").hidden = !results;
  byId("list-title").textContent = results?.title ?? (areTexts() ? `Nearest texts ${state.side}` : "Nearest words");
  if (results) {
    showList(byId("list"), results.rows.slice(0, 300).map(({ word, rank }) =>
      make("li", {}, wordButton(word), make("span", { class: "figures" }, shownRank(rank)))));
  } else if (areTexts()) {
    const isAfter = state.side === "after";
    showNear(byId("list"), (isAfter ? neighbors?.after : neighbors?.before) ?? [], { isAfter, areTexts: true });
  } else {
    showNear(byId("before"), neighbors?.before ?? [], { isAfter: false, areTexts: false });
    showNear(byId("after"), neighbors?.after ?? [], { isAfter: true, areTexts: false });
  }
}

/** @param {string} title @param {import("./api.js").Row[]} rows */
function showResults(title, rows) {
  results = { title, rows };
  const ranks = new Set(rows.map(({ rank }) => rank));
  map.select(new Set(layout.ranks.flatMap((rank, i) => (ranks.has(rank) ? [i] : []))));
  setLasso(false);
  showNeighbors();
}

function closeResults() {
  if (!results) { return; }
  results = null;
  map.select(null);
  showNeighbors();
}
byId("close-list").addEventListener("click", closeResults);
byId("save-list").addEventListener("click", async () => {
  const body = results?.rows.map(({ rank }) => rank).join(" ") ?? "";
  const answer = await fetch("/api/rows.csv", { method: "POST", body });
  save(await answer.blob(), "rows.csv");
});

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(/** @type {HTMLAnchorElement} */ (link).href), 1000);
}

/** Show the whole text that was looked up, and its columns. */
async function read() {
  const answer = state.like.length && await ask("text", new URLSearchParams({ text: state.like[0] })).catch(() => undefined);
  byId("reading").hidden = !answer;
  if (!answer) { return; }
  const columns = Object.entries(answer.columns).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  byId("reading").replaceChildren(make("p", {}, make("span", { class: "faint" }, `Row ${shownRank(answer.row)}. `), answer.text), make("dl", {}, ...columns));
  byId("reading").scrollTop = 0;
}

// The method: its gate, and what it gains and loses over its slider.

async function askMethod() {
  try {
    const method = state.method;
    const [path, answer] = await Promise.all([ask("path", settings(state, null)), ask("solution", settings(state))]);
    if (!path || !answer) { return; }
    showSolution(method, answer);
    gate.describe(path.directions);
    const opens = !hasPlayed && state.side === "after" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (opens) { map.setMixed(0, 0); }
    plane = path;
    shownNeighborhoods = "";
    map.setPath(path, answer.slider?.value ?? null);
    if (!hasPlayed) { showColor(); }
    askNeighborhoods();
    if (opens) { setTimeout(() => showSide(2400), 700); }
    hasPlayed = true;
    byId("map").classList.remove("waiting");
    askNeighbors();
  } catch (error) { report(error); }
}

/** Neighborhoods take up to a minute, so what is shown stays until they are there, and only one request is under way. */
async function askNeighborhoods() {
  if (isComputing) { return; }
  isComputing = true;
  for (let asked = ""; state.kind && asked !== String(settings(state)) && shownNeighborhoods !== String(settings(state));) {
    asked = String(settings(state));
    byId("map").classList.add("computing");
    const answer = await ask("neighborhoods", settings(state)).catch(report);
    if (!answer) { break; }
    if (!state.kind || asked !== String(settings(state))) { asked = ""; continue; }
    shownNeighborhoods = asked;
    map.setPath(answer, null);
    map.setChosen(neighbors?.places);
  }
  isComputing = false;
  byId("map").classList.remove("computing");
}

select("kind").addEventListener("change", () => {
  state.kind = select("kind").value;
  remember();
  shownNeighborhoods = "";
  if (!state.kind && plane) {
    map.setPath(plane, solution?.slider ? state.value ?? solution.slider.default : null);
    map.setChosen(neighbors?.places);
  }
  askNeighborhoods();
});

/** @param {string} method @param {import("./api.js").Solution} answer */
function showSolution(method, answer) {
  solution = answer;
  const { slider } = answer;
  byId("gate").dataset.hint = `${slider ? "Drag the curve, or point" : "Point"} at a direction to see the ${areTexts() ? "texts" : "words"} at its two ends.`;
  gate.show(method, answer);
  gate.point(-1);
  byId("slider").hidden = byId("trade").hidden = !slider;
  byId("trade-figure").hidden = areTexts() && !slider;
  if (slider) {
    const isAperture = slider.name === "aperture";
    knob.max = isAperture ? "1000" : String(slider.most);
    byId("knob-name").textContent = isAperture ? "Aperture α" : "Directions";
    showValue(slider.value);
    showMarks(slider);
    if (!areTexts()) { showTrade(slider, trades, slider.value); }
  }
  byId("method-note").textContent = [about.methods[state.method], ...answer.notes].filter(Boolean).join("; ");
  byId("command").textContent = answer.command;
  byId("status").hidden = true;
}

/** @param {import("./api.js").Slider} slider */
function showMarks(slider) {
  // The label of the smaller mark ends at its tick and the other one starts there: no overlap.
  const marks = Object.entries(slider.marks).sort((a, b) => a[1] - b[1]);
  byId("marks").replaceChildren(...marks.map(([name, value], i) => {
    const kind = marks.length === 1 ? "" : i === 0 ? "ends" : "begins";
    const button = make("button", { type: "button", class: kind }, `${name} ${Number(value.toPrecision(3))}`);
    button.style.left = `${100 * along(slider, value)}%`;
    button.addEventListener("click", () => { drag(value); release(); });
    return button;
  }));
}

/** @param {number} value */
function showValue(value) {
  const slider = solution?.slider;
  if (!slider) { return; }
  const text = slider.name === "aperture" ? value.toPrecision(3) : String(value);
  knob.value = String(Number(knob.max) * along(slider, value));
  knob.setAttribute("aria-valuetext", text);
  byId("knob-value").textContent = text;
}

/** Follow the hand: the gate, the map and its sentence need no server. @param {number} value */
function drag(value) {
  const slider = solution?.slider;
  if (!slider) { return; }
  map.isDragged = true;
  state.value = Math.abs(value - slider.default) < 1e-5 * Math.max(slider.default, 1) ? null : value;
  gate.follow(value);
  if (!areTexts()) { showTrade(slider, trades, value); }
  showValue(value);
  map.setValue(value);
}

/** The hand rests: ask for what the server computes. */
async function release() {
  map.isDragged = false;
  map.redraw();
  clearTimeout(remembering);
  remembering = setTimeout(remember, 300);  // a held arrow key decides 30 times a second
  askNeighbors();
  askScores();
  askNeighborhoods();
  const { method } = state;
  const answer = await ask("solution", settings(state)).catch(report);
  if (answer) { showSolution(method, answer); }
}
knob.addEventListener("input", () => {
  const slider = solution?.slider;
  if (slider) { drag(valueAt(slider, Number(knob.value) / Number(knob.max))); }
});
knob.addEventListener("change", release);

/** Scores by value of the slider. @type {Map<number, import("./api.js").Score[]>} */
let trades = new Map();
let resting = 0;
/** Benchmarks take a second each, so they start when the slider rests, and stop when it moves. */
function askScores() {
  byId("scores").classList.add("waiting");
  clearTimeout(resting);
  const asked = `${state.method} ${state.value}`;
  const isOld = () => asked !== `${state.method} ${state.value}`;
  resting = setTimeout(async () => {
    const scores = await ask("scores", settings(state)).catch(() => []);
    if (!scores) { return; }
    showScores(scores);
    byId("scores").classList.remove("waiting");
    byId("trade").dataset.empty = scores.length ? "" : "No benchmark files for these vectors.";
    const slider = solution?.slider;
    if (!slider || areTexts()) { return; }
    if (scores.length) { trades.set(slider.value, scores); }
    const steps = slider.name === "aperture" ? [3, 4, 2, 5, 1, 6, 0].map((i) => i / 6) : [0.05, 0.1, 0.2, 0.4, 0.7, 1];
    for (const value of steps.map((step) => valueAt(slider, step))) {
      showTrade(slider, trades, state.value ?? slider.default);
      if (!scores.length || trades.has(value)) { continue; }
      const more = await ask("scores", settings(state, value)).catch(() => undefined);
      if (!more || isOld()) { return; }
      trades.set(value, more);
    }
    showTrade(slider, trades, state.value ?? slider.default);
    byId("trade").dataset.ready = "true";
  }, 300);
}

select("method").addEventListener("change", () => {
  Object.assign(state, { method: select("method").value, value: null });
  trades = new Map();
  delete byId("trade").dataset.ready;
  remember();
  askMethod();
  askScores();
});

// The map's colors and buttons.

/** Color by frequency, by cluster, or by a column of texts. */
async function showColor() {
  select("color").value = state.color;
  const [, name] = state.color.split(/^column:/);
  if (name === undefined) { showGroups(state.color === "cluster" ? map.clusters : null); return; }
  const answer = await ask("column", new URLSearchParams({ name })).catch(report);
  if (answer) { showGroups({ ...answer, isRamp: answer.is_number }); }
}

/** Show colors and a legend, whose groups can be hidden. @param {{ groups: number[], names: string[], isRamp: boolean } | null} color */
function showGroups(color) {
  map.setColor(color);
  const legend = byId("legend");
  legend.setAttribute("role", "group");
  legend.setAttribute("aria-label", "Groups; press one to hide it");
  if (!color) {
    legend.replaceChildren(make("span", {}, "common"), make("span", { class: "ramp" }), make("span", {}, `rank ${shownRank(layout.ranks.at(-1) ?? 1)}`));
    return;
  }
  const shades = groupColors(color.names.length, color.isRamp);
  showList(legend, color.names.map((name, i) => {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = shades[i];
    const button = make("button", { type: "button", "aria-pressed": "true" }, swatch, name);
    button.addEventListener("click", () => {
      const isShown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isShown));
      map.showGroup(i, isShown);
    });
    return button;
  }));
}
moveByArrows(byId("legend"));
select("color").addEventListener("change", () => { state.color = select("color").value; remember(); showColor(); });

/** @param {boolean} isOn */
function setLasso(isOn) {
  map.isLasso = isOn;
  byId("lasso").setAttribute("aria-pressed", String(isOn));
  byId("map").classList.toggle("lassoing", isOn);
}
byId("lasso").addEventListener("click", () => setLasso(!map.isLasso));
byId("zoom-in").addEventListener("click", () => map.zoom(1.6));
byId("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6));
byId("zoom-all").addEventListener("click", () => map.zoom(0));
showList(/** @type {HTMLElement} */ (document.querySelector(".map-buttons")), [...document.querySelectorAll(".map-buttons button")].map((each) => /** @type {HTMLElement} */ (each)));
moveByArrows(/** @type {HTMLElement} */ (document.querySelector(".map-buttons")));

byId("export-picture").addEventListener("click", () => map.picture().toBlob((blob) => { if (blob) { save(blob, "map.png"); } }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showColor);

async function start() {
  byId("map").classList.add("waiting");
  about = await ask("about");
  document.title = `${about.vectors} · conceptor explore`;
  byId("vectors").textContent = `${about.vectors}: ${shownRank(about.count)} × ${about.dimension}`;
  if (areTexts()) { adaptToTexts(); }
  gate.colors = about.colors;
  byId("prior-note").hidden = !about.sorted;
  byId("try").hidden = about.examples.length < 2;
  byId("try").append("Try ", ...about.examples.map(wordButton));
  select("method").replaceChildren(...Object.keys(about.methods).map((name) => make("option", { value: name }, name)));
  const colors = { ...(areTexts() || !about.sorted ? {} : { "": "frequency" }), cluster: "cluster", ...Object.fromEntries(about.columns.map((name) => [`column:${name}`, name])) };
  select("color").replaceChildren(...Object.entries(colors).map(([value, name]) => make("option", { value }, name)));
  if (!Object.hasOwn(colors, state.color)) { state.color = Object.keys(colors)[0]; }
  if (!Object.hasOwn(about.methods, state.method)) { state.method = Object.keys(about.methods)[0]; }
  if (!state.like.length) { state.like = about.examples.slice(0, 1); }
  byId("exclude").toggleAttribute("open", state.without.length > 0);
  remember();
  showSide(0);
  layout = await ask("layout");
  map.setLayout(layout);
  askMethod();
  askNeighbors();
  if (areTexts()) { read(); }
  askScores();
}

start().catch(report);
