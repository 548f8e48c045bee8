// @ts-check
// The page: what is chosen, what is asked, where it is shown.

import { Problem, ask, oneAtATime } from "./api.js";
import { addConcepts, conceptForm, showConcepts } from "./concepts.js";
import { byId, make, showChart, showDirections, showNear, showProblem, showScores } from "./panels.js";
import * as plane from "./plane.js";
import { save, snapshot } from "./snapshot.js";
import { TABS, fromQuery, settings, toQuery } from "./state.js";
import { wordField } from "./words.js";

const state = fromQuery(new URLSearchParams(location.search));
/** @type {import("./api.js").About} */
let about;
/** @type {import("./api.js").Slider | null} */
let slider = null;
/** @type {import("./api.js").Points | undefined} */
let points;
let moveFor = 700;

const select = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (byId(id));
const knob = /** @type {HTMLInputElement} */ (byId("knob"));

/** Show what went wrong with a question; others go on. @param {unknown} error @param {string} [place] */
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

const showLike = wordField("like", () => state.like, (words) => { state.like = words; wordsChanged(); });
const showWithout = wordField("without", () => state.without, (words) => { state.without = words; wordsChanged(); });

function wordsChanged() {
  remember();
  askNeighbours();
  if (state.tab === "map") { askMap(); }
}

const askSolution = oneAtATime(async () => {
  try {
    /** @type {import("./api.js").Solved | undefined} */
    const solved = await ask("solution", settings(state));
    if (!solved) { return; }
    slider = solved.slider;
    showSlider();
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

const askNeighbours = oneAtATime(async () => {
  if (!state.like.length) { showNeighbours([], []); return; }
  try {
    const query = withWords(settings(state));
    query.set("n", "12");
    /** @type {import("./api.js").Neighbours | undefined} */
    const found = await ask("neighbours", query);
    if (!found) { return; }
    showNeighbours(found.before, found.after);
    byId("prior-note").hidden = !found.prior;
    byId("word-problem").hidden = true;
  } catch (error) {
    showNeighbours([], []);  // what is there belongs to another question
    report(error, "word-problem");
  }
});

/** @param {import("./api.js").Near[]} before @param {import("./api.js").Near[]} after */
function showNeighbours(before, after) {
  showNear(byId("before"), before);
  showNear(byId("after"), after);
}

const askMap = oneAtATime(async () => {
  const query = withWords(settings(state));
  query.set("projection", state.projection);
  const frame = byId("frame");
  try {
    frame.classList.add("waiting");
    if (state.projection === "umap") { byId("axis").textContent = "UMAP is laying the words out; this takes a while, most of all the first time."; }
    /** @type {import("./api.js").Points | undefined} */
    const found = await ask("map", query).catch((error) => {
      // Neighbours say which word is not there; the others can be seen without it.
      if (!(error instanceof Problem && error.missing)) { throw error; }
      query.delete("like");
      query.delete("without");
      return ask("map", query);
    });
    if (!found) { return; }
    points = found;
    drawMap(moveFor);
  } catch (error) { report(error, "word-problem"); } finally {
    frame.classList.remove("waiting");
  }
});

/** @param {number} duration */
function drawMap(duration) {
  if (!points) { return; }
  plane.draw(points, state, duration);
  const share = (/** @type {number} */ value) => `${(100 * value).toFixed(0)}%`;
  byId("axis").textContent = `Log rank explained by this plane: ${share(points.frequency_before)} before, ${share(points.frequency_after)} after.`;
}

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

/** Ask for what the open tab shows. */
function askTab() {
  if (state.tab === "map") { askMap(); }
  if (state.tab === "directions") { askDirections(); }
  if (state.tab === "concepts") { askConcepts(); }
  if (state.tab === "figures") { followFigures(); }
}

function settingsChanged() {
  remember();
  askSolution();
  askNeighbours();
  if (state.tab !== "figures") { askTab(); }
}

// The slider: logarithmic for apertures, by whole numbers for directions.

/** @param {import("./api.js").Slider} range @param {number} value */
function position(range, value) {
  return range.name === "aperture"
    ? 1000 * Math.log(value / range.least) / Math.log(range.most / range.least)
    : value;
}

function showSlider() {
  byId("slider").hidden = !slider;
  if (!slider) { return; }
  const isAperture = slider.name === "aperture";
  knob.max = isAperture ? "1000" : String(slider.most);
  byId("knob-name").textContent = isAperture ? "Aperture α" : "Directions";
  if (document.activeElement !== knob || !knob.matches(":active")) { knob.value = String(position(slider, slider.value)); }
  const shown = isAperture ? slider.value.toPrecision(3) : String(slider.value);
  byId("knob-value").textContent = shown;
  knob.setAttribute("aria-valuetext", shown);
  const range = slider;
  // The smaller mark's label ends at its tick and the larger one's begins there: they never meet.
  const marks = Object.entries(slider.marks).sort((a, b) => a[1] - b[1]);
  byId("marks").replaceChildren(...marks.map(([name, value], i) => {
    const text = `${name} ${isAperture ? Number(value.toPrecision(3)) : value}`;
    const kind = marks.length === 1 ? "" : i === 0 ? "ends" : "begins";
    const button = make("button", { type: "button", class: kind }, text);
    button.style.left = `${100 * position(range, value) / Number(knob.max)}%`;
    button.addEventListener("click", () => setKnob(value));
    return button;
  }));
}

/** @param {number} value */
function setKnob(value) {
  if (!slider) { return; }
  const own = slider.name === "aperture" ? slider.marks.automatic : slider.marks.default;
  const chosen = slider.name === "aperture" ? Number(value.toPrecision(6)) : Math.round(value);
  const isOwn = Math.abs(chosen - own) < 1e-5 * own && state.method !== "cn-paper";
  state.aperture = slider.name === "aperture" && !isOwn ? chosen : null;
  state.directions = slider.name === "directions" && !isOwn ? chosen : null;
  settingsChanged();
}

knob.addEventListener("input", () => {
  if (!slider) { return; }
  moveFor = 120;
  const at = Number(knob.value);
  setKnob(slider.name === "aperture" ? slider.least * (slider.most / slider.least) ** (at / 1000) : at);
});
knob.addEventListener("change", () => { moveFor = 700; });

select("method").addEventListener("change", () => {
  Object.assign(state, { method: select("method").value, aperture: null, directions: null });
  settingsChanged();
});
select("weights").addEventListener("change", () => { state.weights = select("weights").value; settingsChanged(); });

// Words chosen anywhere: the query becomes that word.

/** @param {string} word */
function chooseWord(word) {
  state.like = [word];
  wordsChanged();
}
document.addEventListener("click", (event) => {
  const chosen = /** @type {HTMLElement} */ (event.target).closest("[data-word]");
  if (!(chosen instanceof HTMLElement) || !chosen.dataset.word) { return; }
  const word = chosen.dataset.word;
  if (!chosen.dataset.replace) { chooseWord(word); return; }
  const missing = chosen.dataset.replace;
  state.like = state.like.map((each) => (each === missing ? word : each));
  state.without = state.without.map((each) => (each === missing ? word : each));
  byId("word-problem").hidden = true;
  wordsChanged();
});

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
document.querySelectorAll("input[name=side]").forEach((each) => each.addEventListener("change", () => {
  state.side = /** @type {HTMLInputElement} */ (each).value;
  remember();
  drawMap(900);
}));
select("colour").addEventListener("change", () => { state.colour = select("colour").value; remember(); drawMap(0); });
select("projection").addEventListener("change", () => { state.projection = select("projection").value; remember(); askMap(); });

// Figures, in the background of the server.

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
    if (found.state === "failed") { byId("figures-state").textContent = `It failed: ${found.label}`; }
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
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}
byId("share").addEventListener("click", () => copy(byId("share"), location.href));
byId("copy-command").addEventListener("click", () => copy(byId("copy-command"), byId("command").textContent ?? ""));
byId("export-snapshot").addEventListener("click", async () => {
  const title = `${about.vectors}: ${[...state.like].join(", ")}, ${state.method}`;
  save("conceptor-snapshot.html", await snapshot(title), "text/html");
});
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = plane.isDark() ? "light" : "dark";
  drawMap(0);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawMap(0));
addEventListener("popstate", () => location.reload());

async function start() {
  plane.listen(chooseWord);
  about = await ask("about");
  document.title = `${about.vectors} · conceptor explore`;
  byId("vectors").textContent = `${about.vectors}: ${about.count.toLocaleString("en")} × ${about.dimension}`;
  byId("after-title").textContent = about.other ? `After: ${about.other}` : "After";
  select("method").replaceChildren(...about.methods.map((each) =>
    make("option", { value: each.name }, each.control === "none" && each.name === "file" ? about.other ?? "" : each.name)));
  select("weights").replaceChildren(...about.weights.map((name) => make("option", { value: name }, name)));
  select("projection").replaceChildren(...about.projections.map((name) => make("option", { value: name }, name === "pca" ? "PCA" : "UMAP")));
  if (!about.methods.some((each) => each.name === state.method)) { state.method = about.methods[0].name; }
  if (!about.projections.includes(state.projection)) { state.projection = "pca"; }
  if (!about.weights.includes(state.weights)) { state.weights = "auto"; }
  if (!state.like.length) { state.like = about.examples.slice(0, 1); }
  select("colour").value = state.colour;
  select("projection").value = state.projection;
  document.querySelectorAll("input[name=side]").forEach((each) => {
    const radio = /** @type {HTMLInputElement} */ (each);
    radio.checked = radio.value === state.side;
  });
  conceptForm(state, () => { remember(); askConcepts(); });
  openTab(state.tab);
  askSolution();
  askNeighbours();
}

start().catch(report);
