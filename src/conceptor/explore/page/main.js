// @ts-check
// The page: its state, its requests, and where answers are shown.

import { Problem, ask, oneAtATime } from "./api.js";
import { addConcepts, conceptForm, showConcepts } from "./concepts.js";
import { WordMap, isDark } from "./map.js";
import { byId, make, showBenchmarks, showChart, showDirections, showNear, showProblem, showScores } from "./panels.js";
import { makeSlider } from "./slider.js";
import { save, snapshot } from "./snapshot.js";
import { TABS, fromQuery, settings, toQuery } from "./state.js";
import { explainTerms } from "./terms.js";
import { chosenWords, completeWords } from "./words.js";

const state = fromQuery(new URLSearchParams(location.search));
/** @type {import("./api.js").About} */
let about;
/** The last query whose words all had a vector. */
let known = { like: /** @type {string[]} */ ([]), without: /** @type {string[]} */ ([]) };
/** Duration of the words' movement; while a slider is dragged they follow at once. */
let moveFor = 900;
/** Whether the map flies to the words once their places are known. */
let flies = false;

const select = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (byId(id));
const map = new WordMap((word) => lookUp(word));

/** Show the error of a request; others continue. @param {unknown} error @param {string} [place] */
function report(error, place = "status") {
  showProblem(byId(place), error instanceof Problem ? error : new Problem(String(error)));
}

function remember() {
  history.replaceState(null, "", `?${toQuery(state)}`);
  select("method").value = state.method;
  select("weights").value = state.weights;
  showLike();
  showWithout();
  /** @type {HTMLAnchorElement} */ (byId("export-map")).href = `/api/map.safetensors?${settings(state)}`;
}

/** @param {URLSearchParams} query */
function withWords(query) {
  state.like.forEach((word) => query.append("like", word));
  state.without.forEach((word) => query.append("without", word));
  return query;
}

/** Adapt the page to texts: they have no frequencies, and people search by text or row number. */
function speakOfTexts() {
  /** @type {HTMLInputElement} */ (byId("like")).placeholder = "a text, or a row number";
  /** @type {HTMLInputElement} */ (byId("without")).placeholder = "a text to exclude";
  /** @type {HTMLInputElement} */ (byId("find")).placeholder = "fly to a text";
  /** @type {HTMLElement} */ (select("weights").parentElement).hidden = true;
  state.colour = "cluster";
  byId("spectrum-of").textContent = "of all texts";
  byId("count-of").textContent = byId("jump-words").textContent = "Texts";
  byId("figures-state").textContent = "Methods, fewer dimensions and other number types; takes a minute or more.";
  byId("run-figures").textContent = "Compare";
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
completeWords("find", (word) => { flies = true; lookUp(word); });
const showLike = chosenWords("like", () => state.like, (words) => { state.like = words; wordsChanged(); });
const showWithout = chosenWords("without", () => state.without, (words) => { state.without = words; wordsChanged(); });

function wordsChanged() {
  remember();
  askNeighbours();
}

document.addEventListener("click", (event) => {
  const chosen = /** @type {HTMLElement} */ (event.target).closest("[data-word]");
  if (chosen instanceof HTMLElement && chosen.dataset.word) { lookUp(chosen.dataset.word, chosen.dataset.how); }
});

const askNeighbours = oneAtATime(async () => {
  if (!state.like.length) { known = { like: [], without: state.without }; showNeighbours([], []); map.setChosen(undefined); return; }
  const asked = { like: state.like, without: state.without };
  const how = (/** @type {string} */ word) => (asked.without.includes(word) ? "without" : asked.like.length > 1 ? "add" : "look");
  try {
    const query = withWords(settings(state));
    query.set("n", "15");
    /** @type {import("./api.js").Neighbours | undefined} */
    const found = await ask("neighbours", query);
    if (!found) { return; }
    known = { like: found.like, without: found.without };
    if (state.like === asked.like && state.without === asked.without) { Object.assign(state, known); remember(); }
    showNeighbours(found.before, found.after);
    byId("prior-note").hidden = !found.prior;
    byId("word-problem").hidden = !found.unknown.length;
    if (found.unknown.length) { showProblem(byId("word-problem"), new Problem("", found.unknown), how); }
    if (state.tab === "map") { askPlaces(); }
  } catch (error) {
    if (!(error instanceof Problem)) { throw error; }
    showProblem(byId("word-problem"), error, how);
    // Known words stay, with their neighbours.
    if (error.unknown.length) { Object.assign(state, known); remember(); } else { showNeighbours([], []); }
  }
});

/** @param {import("./api.js").Near[]} before @param {import("./api.js").Near[]} after */
function showNeighbours(before, after) {
  showNear(byId("before"), before);
  showNear(byId("after"), after);
}

// The method: its gate, its gains and losses.

const showSlider = makeSlider((aperture, directions) => {
  Object.assign(state, { aperture, directions });
  settingsChanged();
});
byId("knob").addEventListener("input", () => { moveFor = 150; }, { capture: true });
byId("knob").addEventListener("change", () => { moveFor = 900; });

const askSolution = oneAtATime(async () => {
  try {
    /** @type {import("./api.js").Solved | undefined} */
    const solved = await ask("solution", settings(state));
    if (!solved) { return; }
    showSlider(solved.slider, state.method !== "cn-paper");
    showChart(byId("gate"), solved.charts.gate);
    byId("gate-figure").hidden = !solved.charts.gate;
    showChart(byId("spectrum"), solved.charts.spectrum);
    showScores(solved);
    const chosen = about.methods.find((each) => each.name === state.method);
    byId("method-note").textContent = [chosen?.description, ...solved.notes].filter(Boolean).join("; ");
    byId("command").textContent = solved.command;
    byId("export-command").hidden = !solved.command;
    byId("export-map").hidden = !solved.command;
    byId("status").hidden = true;
  } catch (error) { report(error); }
});

let resting = 0;
/** Searching all words takes a second, so it starts when the slider rests. */
function askBenchmarks() {
  byId("benchmarks").classList.add("waiting");
  clearTimeout(resting);
  resting = setTimeout(async () => {
    const found = await ask("benchmarks", settings(state)).catch(() => []);
    if (!found) { return; }
    showBenchmarks(found);
    byId("benchmarks").classList.remove("waiting");
  }, 300);
}

function settingsChanged() {
  remember();
  askSolution();
  askNeighbours();
  askBenchmarks();
  if (state.tab !== "figures") { askTab(); }
}
select("method").addEventListener("change", () => {
  Object.assign(state, { method: select("method").value, aperture: null, directions: null });
  settingsChanged();
});
select("weights").addEventListener("change", () => { state.weights = select("weights").value; settingsChanged(); });

// The map.

/** @param {URLSearchParams} query */
function withLayout(query) {
  query.set("projection", state.projection);
  query.set("count", state.count);
  return query;
}

const askMap = oneAtATime(async () => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const opens = !byId("map").dataset.drawn && state.side === "after" && !still;
  try {
    byId("map").classList.add("waiting");
    if (state.projection === "umap") { byId("axis").textContent = "UMAP is computing the layout; this takes a while, especially the first time."; }
    /** @type {import("./api.js").Points | undefined} */
    const points = await ask("map", withLayout(settings(state)));
    if (!points) { return; }
    // The first time, animate the words from before to after.
    if (opens) { showSide(0, 0); }
    map.setPoints(points, moveFor);
    if (opens) { setTimeout(() => { if (state.side === "after") { showSide(1, 2200); } }, 500); }
    byId("legend-end").textContent = points.ranks[points.ranks.length - 1].toLocaleString("en");
    const share = (/** @type {number} */ value) => `${(100 * value).toFixed(0)}%`;
    byId("axis").replaceChildren("This plane explains ", share(points.frequency_before), " of ",
      make("button", { type: "button", class: "term", "data-term": "rank" }, "log rank"), " before, ", share(points.frequency_after),
      " after: the share of the map that only shows how common words are.");
    askPlaces();
  } catch (error) { report(error, "word-problem"); } finally {
    byId("map").classList.remove("waiting");
  }
});

const askPlaces = oneAtATime(async () => {
  if (!known.like.length) { map.setChosen(undefined); return; }
  const query = withLayout(settings(state));
  known.like.forEach((word) => query.append("like", word));
  known.without.forEach((word) => query.append("without", word));
  const placed = await ask("places", query).catch(() => undefined);
  map.setChosen(placed);
  if (flies && placed) { map.fly(1400); }
  flies = false;
});

/** @param {number} mixed from 0 (before) to 1 (after) @param {number} duration */
function showSide(mixed, duration) {
  const knob = /** @type {HTMLInputElement} */ (byId("mix"));
  map.setMixed(mixed, duration, (now) => {
    knob.value = String(now);
    knob.setAttribute("aria-valuetext", now < 0.02 ? "before" : now > 0.98 ? "after" : `${Math.round(100 * now)}% of the way`);
    byId("side-before").setAttribute("aria-pressed", String(now < 0.02));
    byId("side-after").setAttribute("aria-pressed", String(now > 0.98));
  });
}
for (const [side, mixed] of /** @type {const} */ ([["before", 0], ["after", 1]])) {
  byId(`side-${side}`).addEventListener("click", () => { state.side = side; remember(); showSide(mixed, 2200); });
}
byId("mix").addEventListener("input", () => showSide(Number(/** @type {HTMLInputElement} */ (byId("mix")).value), 0));
byId("mix").addEventListener("change", () => { state.side = map.mixed < 0.5 ? "before" : "after"; remember(); });
select("colour").addEventListener("change", () => { state.colour = select("colour").value; remember(); showColour(); });
select("count").addEventListener("change", () => { state.count = select("count").value; remember(); askMap(); });
select("projection").addEventListener("change", () => { state.projection = select("projection").value; remember(); askMap(); });
byId("zoom-in").addEventListener("click", () => map.zoom(1.6, 250));
byId("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6, 250));
byId("zoom-word").addEventListener("click", () => map.fly(1200));
byId("zoom-all").addEventListener("click", () => map.flyTo(map.camera.home, 900));
document.querySelectorAll("[data-jump]").forEach((button) => button.addEventListener("click", () => {
  if (button.id === "jump-map" && state.tab !== "map") { openTab("map"); }
  byId(/** @type {HTMLElement} */ (button).dataset.jump ?? "").scrollIntoView();
}));

function showColour() {
  byId("legend").hidden = state.colour !== "frequency";
  map.setColour(state.colour);
}

// The other tabs.

const askDirections = oneAtATime(async () => {
  try {
    const found = await ask("directions", settings(state));
    if (found) { showDirections(found); }
  } catch (error) {
    byId("directions").replaceChildren();
    byId("directions-note").textContent = error instanceof Error ? error.message : "";
  }
});

const askConcepts = oneAtATime(async () => {
  const query = addConcepts(state, settings(state));
  if (!query.has("concept")) { return; }
  try {
    const found = await ask("concepts", query);
    if (found) { showConcepts(found); }
    byId("concept-problem").hidden = true;
  } catch (error) { report(error, "concept-problem"); }
});

/** Request the content of the open tab. */
function askTab() {
  if (state.tab === "map") { askMap(); }
  if (state.tab === "directions") { askDirections(); }
  if (state.tab === "concepts") { askConcepts(); }
  if (state.tab === "figures") { followFigures(); }
}

// Tabs, by the ARIA pattern.

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
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) { return; }
    const next = TABS[(i + step + TABS.length) % TABS.length];
    openTab(next);
    byId(`tab-${next}`).focus();
  });
});

// Figures, computed in the background of the server.

const followFigures = oneAtATime(async () => {
  for (;;) {
    /** @type {import("./api.js").FiguresState | undefined} */
    const found = await ask("figures").catch((error) => { report(error); return undefined; });
    if (!found) { return; }
    const isRunning = found.state === "running";
    const progress = /** @type {HTMLProgressElement} */ (byId("figures-progress"));
    progress.hidden = !isRunning;
    if (found.fraction === null) { progress.removeAttribute("value"); } else { progress.value = found.fraction; }
    /** @type {HTMLButtonElement} */ (byId("run-figures")).disabled = isRunning;
    if (isRunning) { byId("figures-state").textContent = `${found.methods.join(", ")}: ${found.label}`; }
    if (found.state === "failed") { byId("figures-state").textContent = `The comparison failed: ${found.label}`; }
    if (found.state === "done") {
      byId("figures-state").textContent = "";
      byId("figures-report").innerHTML = found.html;
    }
    if (!isRunning) { return; }
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
});
byId("run-figures").addEventListener("click", async () => {
  await ask("figures", settings(state), { subject: "start-figures", method: "POST" }).catch(report);
  followFigures();
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
byId("export-snapshot").addEventListener("click", async () => {
  const title = `${about.vectors}: ${[...state.like].join(", ")}, ${state.method}`;
  save("conceptor-snapshot.html", await snapshot(title, map.picture()), "text/html");
});
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showColour();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showColour);
addEventListener("popstate", () => location.reload());

async function start() {
  about = await ask("about");
  document.title = `${about.vectors} · conceptor explore`;
  byId("vectors").textContent = `${about.vectors}: ${about.count.toLocaleString("en")} × ${about.dimension}`;
  if (about.rows === "texts") { speakOfTexts(); }
  byId("after-title").textContent = about.other ? `After: ${about.other}` : "After";
  select("method").replaceChildren(...about.methods.map((each) =>
    make("option", { value: each.name }, each.control === "none" && each.name === "file" ? about.other ?? "" : each.name)));
  select("weights").replaceChildren(...about.weights.map((name) => make("option", { value: name }, name)));
  select("projection").replaceChildren(...about.projections.map((name) => make("option", { value: name }, name === "pca" ? "PCA" : "UMAP")));
  byId("projection-label").hidden = about.projections.length < 2;
  if (!about.methods.some((each) => each.name === state.method)) { state.method = about.methods[0].name; }
  if (!about.projections.includes(state.projection)) { state.projection = "pca"; }
  if (!about.weights.includes(state.weights)) { state.weights = "auto"; }
  if (!state.like.length) { state.like = about.examples.slice(0, 1); }
  for (const id of /** @type {const} */ (["colour", "count", "projection"])) {
    select(id).value = state[id];
    if (select(id).value !== state[id]) { state[id] = select(id).value = select(id).options[0].value; }
  }
  showSide(state.side === "before" ? 0 : 1, 0);
  showColour();
  explainTerms();
  conceptForm(state, () => { remember(); askConcepts(); });
  openTab(state.tab);
  askSolution();
  askNeighbours();
  askBenchmarks();
}

start().catch(report);
