// @ts-check
// The gate of a method, as in the paper's Figure 1, and what its slider trades: computed here from the eigenvalues,
// so that both follow the hand.

import { byId, make } from "./panels.js";

/** @typedef {import("./api.js").Solution} Solution */
/** @typedef {import("./api.js").Direction} Direction */

// Later directions have little variance and are kept.
const MOST = 60;
const [HEIGHT, LEFT, BOTTOM, TOP] = [178, 30, 20, 10];
// Methods whose gates are drawn for comparison.
const BESIDE = ["cn", "cn-paper", "abtt"];

/** @param {string} tag @param {Record<string, string | number>} attributes @param {...(Node | string)} children */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) { element.setAttribute(name, String(value)); }
  element.append(...children);
  return element;
}

/** The gate at a value of the slider. @param {Solution} solution @param {number | null} value */
export function gateAt({ formula, values, gate, slider }, value) {
  if (value === null || !slider || value === slider.value) { return gate; }
  if (typeof formula === "number") { return values.map((each) => (1 + value * value * each) ** -formula); }
  const level = values[Math.round(value)] ?? 0;
  return values.map((each, i) => (i >= Math.round(value) ? 1 : formula === "level" && each > 0 ? level / each : 0));
}

/** Where a value is on the slider, from 0 to 1. @param {import("./api.js").Slider} slider @param {number} value */
export function along({ name, least, most }, value) {
  return name === "aperture" ? Math.log(value / least) / Math.log(most / least) : value / most;
}

/** The value of the slider at a place from 0 to 1. @param {import("./api.js").Slider} slider @param {number} place */
export function valueAt({ name, least, most }, place) {
  const value = name === "aperture" ? least * (most / least) ** place : Math.round(most * place);
  return Number(Math.min(Math.max(value, least), most).toPrecision(6));
}

/** The gate: bars of variance behind, thin lines of other methods, and a thick one to drag. */
export class Gate {
  /** @param {(value: number) => void} drag @param {() => void} release */
  constructor(drag, release) {
    this.place = byId("gate");
    this.width = 0;
    /** @type {Solution | null} */
    this.solution = null;
    /** @type {Direction[]} */
    this.directions = [];
    this.method = "";
    /** The places of methods in the palette of reports. @type {Record<string, number>} */
    this.colors = {};
    this.isHeld = false;
    this.hovered = -1;
    const at = (/** @type {PointerEvent} */ event) => {
      const box = this.place.getBoundingClientRect();
      const direction = Math.floor((event.clientX - box.left - LEFT) / this.step);
      return { direction: Math.min(Math.max(direction, 0), this.count - 1), kept: 1 - (event.clientY - box.top - TOP) / (HEIGHT - BOTTOM - TOP) };
    };
    const pull = (/** @type {PointerEvent} */ event) => {
      const { slider, formula, values } = /** @type {Solution} */ (this.solution);
      if (!slider) { return; }
      const { direction, kept } = at(event);
      // The aperture at which the curve goes through the pointer.
      const share = Math.min(Math.max(kept, 0.02), 0.98);
      const value = typeof formula === "number" ? Math.sqrt((share ** (-1 / formula) - 1) / Math.max(values[direction], 1e-12)) : direction + 1;
      drag(valueAt(slider, Math.min(Math.max(along(slider, value), 0), 1)));
    };
    this.place.addEventListener("pointerdown", (event) => {
      if (!this.solution?.slider) { return; }
      this.isHeld = true;
      this.place.setPointerCapture(event.pointerId);
      pull(event);
    });
    this.place.addEventListener("pointermove", (event) => { if (this.isHeld) { pull(event); } else if (this.count) { this.point(at(event).direction); } });
    const lift = () => { if (this.isHeld) { this.isHeld = false; release(); } };
    this.place.addEventListener("pointerup", lift);
    this.place.addEventListener("pointercancel", lift);
    this.place.addEventListener("pointerleave", () => this.point(-1));
    this.place.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); this.point(Math.min(Math.max(this.hovered + step, 0), this.count - 1)); }
    });
    this.place.addEventListener("blur", () => this.point(-1));
    new ResizeObserver(() => { if (this.place.clientWidth !== this.width) { this.build(); } }).observe(this.place);
  }

  get count() { return Math.min(this.solution?.gate.length ?? 0, MOST); }
  get step() { return (this.width - LEFT) / Math.max(this.count, 1); }

  /** @param {string} method @param {Solution} solution */
  show(method, solution) {
    const isNew = this.method !== method || this.solution?.values[0] !== solution.values[0];
    Object.assign(this, { method, solution });
    if (isNew) { this.directions = []; this.build(); } else { this.follow(solution.slider?.value ?? null); }
  }

  /** @param {Direction[]} directions */
  describe(directions) {
    this.directions = directions;
    const r = directions[0]?.r;
    const label = this.place.querySelector(".first");
    if (label) { label.textContent = typeof r === "number" ? `direction 1: |r| = ${Math.abs(r).toFixed(2)} with log rank` : ""; }
  }

  build() {
    const { place, solution, count } = this;
    this.width = Math.max(place.clientWidth, 240);
    if (!solution || !count) { return; }
    const { step, width } = this;
    const spread = solution.values.slice(0, count).map(Math.sqrt);
    const own = gateAt(solution, solution.slider?.default ?? null);
    // A gate of whitening is above 1: then gates and spreads after it have a scale of their own.
    const most = Math.max(1, ...solution.gate.slice(0, count));
    this.most = most;
    this.scale = most > 1 ? Math.max(...spread.map((each, i) => each * own[i]), 1e-12) : spread[0] || 1;
    const room = HEIGHT - BOTTOM - TOP;
    const top = (/** @type {number} */ share) => TOP + room * (1 - share);
    const bar = (/** @type {string} */ kind, /** @type {number} */ i) => svg("rect", {
      class: kind, x: LEFT + i * step + 0.1 * step, width: 0.8 * step, y: top(kind === "before" ? spread[i] / (spread[0] || 1) : 0), height: kind === "before" ? room * (spread[i] / (spread[0] || 1)) : 0,
    });
    this.bars = spread.map((_, i) => bar("after", i));
    const beside = BESIDE.filter((name) => name !== this.method && solution.gates[name] && this.most === 1).map((name) =>
      svg("path", { class: `beside p${this.colors[name]}`, d: this.line(solution.gates[name].slice(0, count), name === "abtt") }));
    const marks = [0, most].flatMap((share) => [
      svg("line", { class: "grid", x1: LEFT, x2: width, y1: top(share / most), y2: top(share / most) }),
      svg("text", { class: "faint", x: LEFT - 6, y: top(share / most) + 4, "text-anchor": "end" }, most > 1 && share ? share.toPrecision(2) : String(share)),
    ]);
    const of = count < solution.gate.length ? ` of ${solution.gate.length}` : "";
    const ends = [["start", LEFT, "strongest direction"], ["end", width, `direction ${count}${of}`]].map(([anchor, x, text]) =>
      svg("text", { class: "faint", x, y: HEIGHT - 5, "text-anchor": anchor }, String(text)));
    this.curve = svg("path", { class: `curve p${this.colors[this.method]}` });
    this.column = svg("rect", { class: "column", y: TOP, width: step, height: room, x: -2 * step });
    const first = svg("text", { class: "first", x: LEFT + 3 * step + 8, y: TOP + 15 });
    place.replaceChildren(svg("svg", { class: "chart gate", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" },
      this.column, ...marks, ...spread.map((_, i) => bar("before", i)), ...this.bars, ...beside, this.curve, first, ...ends));
    place.classList.toggle("drags", Boolean(solution.slider));
    byId("gate-key").replaceChildren(...[this.method, ...BESIDE.filter((name) => name !== this.method && solution.gates[name] && this.most === 1)].map((name, i) =>
      make("span", { class: `key p${this.colors[name]}${i ? "" : " main"}` }, name)));
    this.describe(this.directions);
    this.follow(solution.slider?.value ?? null);
  }

  /** The path of a gate, or the stairs of one that is all or nothing. @param {number[]} gate @param {boolean} isStep */
  line(gate, isStep) {
    const y = (/** @type {number} */ share) => (TOP + (HEIGHT - BOTTOM - TOP) * (1 - share / (this.most ?? 1))).toFixed(1);
    const x = (/** @type {number} */ place) => (LEFT + place * this.step).toFixed(1);
    if (isStep) { return gate.map((share, i) => `${i ? "L" : "M"}${x(i)},${y(share)}H${x(i + 1)}`).join(""); }
    return gate.map((share, i) => `${i ? "L" : "M"}${x(i + 0.5)},${y(share)}`).join("");
  }

  /** Draw the gate at a value of the slider. @param {number | null} value */
  follow(value) {
    const { solution, count } = this;
    if (!solution || !this.bars || !this.curve) { return; }
    const gate = gateAt(solution, value);
    this.curve.setAttribute("d", this.line(gate.slice(0, count), solution.formula === "drop"));
    const room = HEIGHT - BOTTOM - TOP;
    this.bars.forEach((bar, i) => {
      const height = room * Math.min((Math.sqrt(solution.values[i]) * gate[i]) / (this.scale ?? 1), 1);
      bar.setAttribute("y", String(TOP + room - height));
      bar.setAttribute("height", String(height));
    });
    this.place.setAttribute("aria-label", `Gate of ${count} directions: the first keeps ${gate[0].toFixed(2)}, the last ${gate[count - 1].toFixed(2)}`);
  }

  /** Say what a direction means. @param {number} direction */
  point(direction) {
    this.hovered = direction;
    const each = this.directions[direction];
    this.column?.setAttribute("x", String(each ? LEFT + direction * this.step : -2 * this.step));
    const note = byId("direction");
    if (!each) { note.textContent = byId("gate").dataset.hint ?? ""; return; }
    const words = (/** @type {string[]} */ end) => end.join(", ");
    note.replaceChildren(make("b", {}, `${direction + 1}: `), words(each.ends[0]), make("b", {}, " ↔ "), words(each.ends[1]));
  }
}

const [WIDE, TALL, EDGE] = [8, 112, 14];
const LINES = /** @type {const} */ ([["Word similarity", "similarity"], ["Analogies", "analogies"]]);

/**
 * Similarity and analogies over the slider: changes in points with their intervals.
 * @param {import("./api.js").Slider} slider @param {Map<number, import("./api.js").Score[]>} scores by value @param {number} value
 */
export function showTrade(slider, scores, value) {
  const place = byId("trade");
  const points = [...scores].sort((a, b) => a[0] - b[0]);
  const width = Math.max(place.clientWidth, 200);
  const gains = LINES.map(([name]) => points.flatMap(([at, each]) => {
    const score = each.find((one) => one.name === name);
    return score && score.low !== null && score.high !== null && score.before !== null && score.after !== null
      ? [{ at, gain: score.after - score.before, low: score.low, high: score.high }] : [];
  }));
  const ends = gains.flat().flatMap(({ low, high }) => [low, high]);
  const [least, most] = [Math.max(Math.min(-1, ...ends), -12), Math.min(Math.max(1, ...ends), 12)];
  const x = (/** @type {number} */ at) => WIDE + (width - 2 * WIDE) * along(slider, at);
  const y = (/** @type {number} */ gain) => EDGE + (TALL - 2 * EDGE) * ((most - Math.min(Math.max(gain, least), most)) / (most - least));
  const shapes = gains.flatMap((line, i) => {
    const kind = LINES[i][1];
    if (!line.length) { return []; }
    const band = [...line.map(({ at, high }) => `${x(at)},${y(high)}`), ...line.toReversed().map(({ at, low }) => `${x(at)},${y(low)}`)];
    return [svg("polygon", { class: `band ${kind}`, points: band.join(" ") }),
      svg("polyline", { class: `trade ${kind}`, points: line.map(({ at, gain }) => `${x(at)},${y(gain)}`).join(" ") }),
      ...line.map(({ at, gain, low, high }) => svg("circle", { class: `${kind} ${low > 0 ? "" : high < 0 ? "loss" : "level"}`, cx: x(at), cy: y(gain), r: 3.5 },
        svg("title", {}, `${LINES[i][0]} at ${Number(at.toPrecision(3))}: ${gain.toFixed(1)} [${low.toFixed(1)}, ${high.toFixed(1)}]`)))];
  });
  const mark = (/** @type {number} */ gain) => svg("text", { class: "faint", x: WIDE, y: y(gain) + (gain > 0 ? -2 : 11) }, `${gain > 0 ? "+" : "−"}${Math.abs(gain).toFixed(0)}`);
  const text = gains.flat().length ? [] : [svg("text", { class: "faint", x: width / 2, y: TALL / 2 - 6, "text-anchor": "middle" }, place.dataset.empty ?? "")];
  place.replaceChildren(svg("svg", { class: "chart", viewBox: `0 0 ${width} ${TALL}`, width, height: TALL, role: "img",
    "aria-label": "Changes of word similarity and analogies over the slider, in points" },
  svg("line", { class: "now", x1: x(value), x2: x(value), y1: 0, y2: TALL }), svg("line", { class: "zero", x1: 0, x2: width, y1: y(0), y2: y(0) }),
  ...shapes, ...(gains.flat().length ? [mark(most), mark(least)] : text)));
}
