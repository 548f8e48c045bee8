// @ts-check
// The map: words that move from before to after, their clusters, a query and its neighbors.

import { Camera } from "./camera.js";
import { DIM, Dots, HIDDEN, PLAIN } from "./dots.js";
import { Labels } from "./labels.js";
import { byId, make } from "./panels.js";
import { components, pointsAt } from "./path.js";

/** @typedef {{ words: string[], ranks: number[], parts: import("./path.js").Components, before: Float32Array,
 *   after: Float32Array }} Layer */

// Colors of groups that color-blind people can distinguish; none is orange, which means a loss.
const GROUPS = ["#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#b09b00", "#7a52c7", "#00606b", "#777777"];
// From common to rare, or low to high: gold to blue, which everyone can distinguish; in this many steps.
const STEPS = 32;
const RAMP = {
  light: [[226, 168, 0], [158, 162, 166], [136, 158, 184]],
  dark: [[255, 216, 70], [120, 124, 130], [74, 100, 136]],
};
const REACH = 14;
// How many frequent words have a halo.
const HALOS = 90;
/** @type {Layer} */
const NOTHING = { words: [], ranks: [], parts: { numbers: new Int16Array(), units: [] }, before: new Float32Array(), after: new Float32Array() };

/** Colors of groups of words, as shown beside their names. @param {number} count @param {boolean} isRamp */
export function groupColors(count, isRamp) {
  return Array.from({ length: count }, (_, i) => (isRamp ? `rgb(${between((i / Math.max(count - 1, 1)))})` : GROUPS[i % GROUPS.length]));
}

export class WordMap {
  /** @param {(word: string) => void} choose @param {() => void} moved @param {(rows: number[]) => void} gather for a lasso */
  constructor(choose, moved, gather) {
    this.element = byId("map");
    this.choose = choose;
    this.moved = moved;
    this.gather = gather;
    this.camera = new Camera();
    this.dots = new Dots(/** @type {HTMLCanvasElement} */ (byId("map-dots")));
    this.marks = /** @type {CanvasRenderingContext2D} */ (/** @type {HTMLCanvasElement} */ (byId("map-marks")).getContext("2d"));
    this.labels = new Labels(byId("map-labels"));
    this.base = this.chosen = NOTHING;
    this.query = 0;
    /** The group of each word, their names, and whether they are a scale. @type {{ groups: number[], names: string[], isRamp: boolean } | null} */
    this.color = null;
    this.clusters = { groups: /** @type {number[]} */ ([]), names: /** @type {string[]} */ ([]), isRamp: false };
    /** @type {Set<number> | null} */
    this.selected = null;
    /** @type {Set<number>} groups that are not shown */
    this.excluded = new Set();
    this.seen = new Uint8Array();
    this.at = this.logs = this.plane = new Float32Array();
    /** @type {import("./api.js").Path | null} */
    this.path = null;
    /** @type {number | null} */
    this.value = null;
    this.mixed = 1;
    this.isDragged = false;
    this.isLasso = false;
    /** @type {[number, number][]} */
    this.lasso = [];
    /** The running movement. @type {{ start: number, duration: number, from: number, to: number } | null} */
    this.movement = null;
    this.pending = 0;
    this.hovered = "";
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // Content.

  /** What all methods share. @param {import("./api.js").Layout} layout */
  setLayout({ words, ranks, clusters, names, before }) {
    this.plane = points(before);
    this.base = { ...NOTHING, words, ranks, before: this.plane, after: this.plane };
    this.logs = Float32Array.from(ranks, Math.log);
    this.clusters = { groups: clusters, names, isRamp: false };
    this.setSeen();
  }

  /** The path of a method, or its neighborhoods, which have points before of their own. @param {import("./api.js").Path} path @param {number | null} value */
  setPath(path, value) {
    Object.assign(this, { path, value, chosen: NOTHING, query: 0 });
    const parts = components(path.components);
    this.base = { ...this.base, parts, before: path.before ? points(path.before) : this.plane, after: pointsAt(path, value, parts) };
    const [x, y] = [0, 1].map((axis) => Math.max(extent(this.base.before, axis), extent(this.base.after, axis)));
    this.extent = [x, y];
    this.camera.setHome(x, y);
    this.hover("");
    this.tint();
  }

  /** Follow the slider. @param {number | null} value */
  setValue(value) {
    if (!this.path) { return; }
    this.value = value;
    for (const layer of [this.base, this.chosen]) {
      if (layer !== NOTHING) { layer.after = pointsAt(this.path, value, layer.parts); }
    }
    this.hover("");
    this.redraw();
  }

  /** Show a query, and everything if it is outside the view. @param {import("./api.js").Places} [places] */
  setChosen(places) {
    this.chosen = NOTHING;
    this.query = 0;
    if (places && this.path) {
      const { words, ranks, before, query } = places;
      const parts = components(places.components);
      this.chosen = { words, ranks, parts, before: Float32Array.from(before.flat()), after: new Float32Array() };
      this.query = query;
      if (this.path.before) { this.chooseOwn(); }
      this.chosen.after = pointsAt(this.path, this.value, this.chosen.parts);
      const [left, top] = this.place(this.chosen.words[0] ?? "") ?? [0, 0];
      if (left < 0 || top < 0 || left > this.camera.width || top > this.camera.height) { this.zoom(0); }
    }
    this.redraw();
  }

  /** Neighborhoods have no places for words that are not on the map. */
  chooseOwn() {
    const { base, chosen } = this;
    const isOwn = chosen.words.map((word) => base.words.includes(word));
    const rows = chosen.words.filter((_, i) => isOwn[i]).map((word) => base.words.indexOf(word));
    const pairs = (/** @type {Float32Array | Int16Array} */ all) => rows.flatMap((row) => [all[2 * row], all[2 * row + 1]]);
    this.query = isOwn.slice(0, this.query).filter(Boolean).length;
    this.chosen = { ...chosen, words: rows.map((row) => base.words[row]), ranks: rows.map((row) => base.ranks[row]),
      before: Float32Array.from(pairs(base.before)), parts: { numbers: Int16Array.from(pairs(base.parts.numbers)), units: base.parts.units } };
  }

  /** Show a moment between before (0) and after (1). @param {number} mixed @param {number} duration */
  setMixed(mixed, duration) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || mixed === this.mixed;
    this.movement = { start: performance.now(), duration: still ? 0 : duration, from: this.mixed, to: mixed };
    this.hover("");
    this.redraw();
  }

  /** Color words by groups; null is by frequency. @param {{ groups: number[], names: string[], isRamp: boolean } | null} color */
  setColor(color) {
    this.color = color;
    this.excluded.clear();
    this.setSeen();
    this.tint();
  }

  /** Put some words in front of the others; null is all of them. @param {Set<number> | null} rows */
  select(rows) {
    this.selected = rows;
    this.setSeen();
  }

  /** Show or hide a group. @param {number} group @param {boolean} isShown */
  showGroup(group, isShown) {
    if (isShown) { this.excluded.delete(group); } else { this.excluded.add(group); }
    this.setSeen();
  }

  setSeen() {
    const { groups } = this.color ?? this.clusters;
    this.seen = Uint8Array.from(this.base.words, (_, i) =>
      (this.color && this.excluded.has(groups[i]) ? HIDDEN : this.selected && !this.selected.has(i) ? DIM : PLAIN));
    this.redraw();
  }

  /** Zoom; a factor of 0 shows everything. @param {number} factor */
  zoom(factor) {
    if (factor) { this.camera.zoomBy(factor); } else { this.camera.look(this.camera.home); }
    this.hover("");
    this.redraw();
  }

  redraw() {
    this.pending ||= requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.pending = 0;
    if (!this.camera.width || !this.element.offsetParent) { return; }  // drawn when it becomes visible
    if (this.movement) {
      const { start, duration, from, to } = this.movement;
      const done = duration ? Math.min(1, (performance.now() - start) / duration) : 1;
      this.mixed = from + (to - from) * done * done * (3 - 2 * done);
      if (done === 1) { this.movement = null; }
    }
    if (!this.path) { return; }
    this.draw();
    this.moved();
    this.element.dataset.frames = String(Number(this.element.dataset.frames ?? 0) + 1);
    if (this.movement) { this.redraw(); return; }
    this.element.dataset.drawn = String(Number(this.element.dataset.drawn ?? 0) + 1);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) { return; }
    for (const canvas of [this.dots.canvas, this.marks.canvas]) {
      [canvas.width, canvas.height] = [width, height].map((side) => Math.round(side * Math.min(devicePixelRatio, 2)));
    }
    Object.assign(this.camera, { width, height });
    if (this.extent) { this.camera.setHome(this.extent[0], this.extent[1]); }
    this.hover("");
    if (this.path) { this.draw(); }
  }

  /** Where the words of a layer are now. @param {Layer} layer */
  places({ before, after }) {
    return before.map((start, i) => start + this.mixed * (after[i] - start));
  }

  // Drawing.

  /** Set the color of each word; common words are larger. */
  tint() {
    const { ranks } = this.base;
    const top = Math.log(Math.max(...ranks.slice(-1), 2));
    const along = ranks.map((rank) => Math.log(rank) / top);
    const { dots, color } = this;
    const sizes = color ? Float32Array.from(ranks, () => 1) : Float32Array.from(along, (share) => 0.7 + 2.2 * (1 - share) ** 2);
    const kinds = color ? color.groups : along.map((share) => Math.round((STEPS - 1) * share ** 1.5));
    const shades = color ? groupColors(color.names.length, color.isRamp) : groupColors(STEPS, true);
    Object.assign(dots, { sizes, kinds: Uint8Array.from(kinds), colors: shades.map(channels), halos: color ? 0 : HALOS });
    this.redraw();
  }

  draw() {
    this.at = this.places(this.base);
    const { zoom, width, height } = this.camera;
    const room = zoom * Math.sqrt((width * height) / Math.max(this.seen.length, 1));
    const [size, alpha] = [Math.min(Math.max(room / 2.6, 3), 8), Math.min(Math.max(room / 8, 0.5), 0.85)];
    const paper = channels(getComputedStyle(this.element).backgroundColor);
    this.dots.draw(this.camera, this.at, this.seen, size, this.chosen.words.length ? 0.75 * alpha : alpha, paper);
    this.drawChosen();
    this.drawNames();
  }

  /** The query and its neighbors, and the path of each; the lasso. */
  drawChosen() {
    const { marks: pen, camera, chosen } = this;
    const { color: ink, backgroundColor: paper } = getComputedStyle(this.element);
    const accent = getComputedStyle(byId("map-view")).color;
    const density = pen.canvas.width / camera.width;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, camera.width, camera.height);
    const at = this.places(chosen);
    chosen.words.forEach((_, i) => {
      const [x, y] = [camera.left(at[2 * i]), camera.top(at[2 * i + 1])];
      const [x0, y0] = [camera.left(chosen.before[2 * i]), camera.top(chosen.before[2 * i + 1])];
      const trail = pen.createLinearGradient(x0, y0, x, y);
      trail.addColorStop(0, "transparent");
      trail.addColorStop(1, i < this.query ? ink : accent);
      Object.assign(pen, { strokeStyle: trail, lineWidth: 1.5, globalAlpha: 0.5 / Math.max(1, camera.zoom / 3) });
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x, y);
      pen.stroke();
    });
    const circle = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ radius) => {
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
    };
    for (let i = chosen.words.length - 1; i >= 0; i--) {
      Object.assign(pen, { fillStyle: i < this.query ? ink : accent, strokeStyle: paper, lineWidth: 2, globalAlpha: 1 });
      circle(camera.left(at[2 * i]), camera.top(at[2 * i + 1]), i < this.query ? 7 : 5);
      pen.fill();
      pen.stroke();
    }
    Object.assign(pen, { strokeStyle: ink, lineWidth: 1.5, globalAlpha: 1 });
    const hovered = this.place(this.hovered);
    if (hovered) {
      circle(hovered[0], hovered[1], 8);
      pen.stroke();
    }
    if (this.lasso.length) {
      pen.beginPath();
      this.lasso.forEach(([x, y]) => pen.lineTo(x, y));
      pen.closePath();
      Object.assign(pen, { fillStyle: accent, globalAlpha: 0.12 });
      pen.fill();
      Object.assign(pen, { globalAlpha: 1 });
      pen.stroke();
    }
  }

  /** Names, important ones first: each takes the remaining room. */
  drawNames() {
    const { camera, chosen, labels, base } = this;
    /** @type {import("./labels.js").Box[]} */
    const occupied = [];
    const own = this.element.getBoundingClientRect();
    for (const part of this.element.querySelectorAll(".map-buttons")) {
      const box = part.getBoundingClientRect();
      occupied.push([box.left - own.left - 4, box.top - own.top - 4, box.right - own.left + 4, box.bottom - own.top + 4]);
    }
    const at = this.places(chosen);
    chosen.words.forEach((_, i) => {
      const [x, y, r] = [camera.left(at[2 * i]), camera.top(at[2 * i + 1]), i < this.query ? 7 : 4];
      occupied.push([x - r, y - r, x + r, y + r]);
    });
    labels.begin(camera.width, camera.height, occupied);
    const name = (/** @type {number} */ i) => labels.add(chosen.words[i], i < this.query ? "query" : "near",
      camera.left(at[2 * i]), camera.top(at[2 * i + 1]), { gap: i < this.query ? 9 : 6 });
    for (let i = 0; i < this.query; i++) { name(i); }
    // While words move, only important ones keep their names.
    const isMoving = this.isDragged || this.movement;
    if (camera.zoom < 6 && !isMoving) {
      crests(this.at, this.extent ?? [1, 1], this.clusters.groups, this.clusters.names.length).forEach((crest, i) => {
        const opacity = Math.min(1, (6 - camera.zoom) / 2);
        if (crest && !(this.color === this.clusters && this.excluded.has(i))) {
          labels.add(this.clusters.names[i], "cluster", camera.left(crest[0]), camera.top(crest[1]), { opacity });
        }
      });
    }
    for (let i = this.query; i < chosen.words.length; i++) { name(i); }
    if (!isMoving) {
      const named = new Set(chosen.words);
      let [tried, put] = [0, 0];
      const most = Math.min(90, Math.round((camera.width * camera.height) / 9000));
      for (let i = 0; i < base.words.length && put < most && tried < 1500; i++) {
        const [x, y] = [camera.left(this.at[2 * i]), camera.top(this.at[2 * i + 1])];
        if (this.seen[i] !== PLAIN || x < 0 || y < 0 || x > camera.width || y > camera.height || named.has(base.words[i]) || !/[\p{L}\p{N}]/u.test(base.words[i])) { continue; }
        tried += 1;
        put += Number(labels.add(base.words[i], "word", x, y, { gap: 3 }));
      }
    }
    labels.end();
  }

  /** The map with its labels, as one picture. */
  picture() {
    const { canvas } = this.dots;
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [canvas.width, canvas.height];
    const pen = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
    pen.drawImage(canvas, 0, 0);
    pen.drawImage(this.marks.canvas, 0, 0);
    const density = canvas.width / this.camera.width;
    pen.setTransform(density, 0, 0, density, 0, 0);
    const own = this.element.getBoundingClientRect();
    for (const label of /** @type {NodeListOf<HTMLElement>} */ (byId("map-labels").querySelectorAll("span:not([hidden])"))) {
      const [box, style] = [label.getBoundingClientRect(), getComputedStyle(label)];
      Object.assign(pen, { font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`, fillStyle: style.color, textBaseline: "middle" });
      pen.fillText(label.textContent ?? "", box.left - own.left + 4, (box.top + box.bottom) / 2 - own.top);
    }
    return sheet;
  }

  // Pointers and keys.

  /** Where a word is on the screen. @param {string} word */
  place(word) {
    const layer = this.chosen.words.includes(word) ? this.chosen : this.base;
    const [row, at] = [layer.words.indexOf(word), this.places(layer)];
    return row < 0 ? undefined : [this.camera.left(at[2 * row]), this.camera.top(at[2 * row + 1])];
  }

  /** The word at a pixel, or near it. @param {number} left @param {number} top @param {number} reach */
  pick(left, top, reach) {
    const { camera } = this;
    let best = reach ** 2;
    let nearest = this.labels.at(left, top);
    if (nearest) { return nearest; }
    for (const [{ words }, at, ahead] of /** @type {[Layer, Float32Array, number][]} */ ([[this.base, this.at, 0], [this.chosen, this.places(this.chosen), 30]])) {
      for (let i = 0; i < words.length; i++) {
        const far = (camera.left(at[2 * i]) - left) ** 2 + (camera.top(at[2 * i + 1]) - top) ** 2 - ahead;
        if (far < best && (ahead || this.seen[i] === PLAIN)) { best = far; nearest = words[i]; }
      }
    }
    return nearest;
  }

  /** @param {string} word */
  hover(word) {
    if (word === this.hovered) { return; }
    this.hovered = word;
    const tip = byId("map-tip");
    const place = this.place(word);
    tip.hidden = !place;
    this.element.classList.toggle("pointing", Boolean(place));
    if (place) {
      const row = this.base.words.indexOf(word);
      const rank = row >= 0 ? this.base.ranks[row] : this.chosen.ranks[this.chosen.words.indexOf(word)];
      const group = row >= 0 && this.color ? `, ${this.color.names[this.color.groups[row]]}` : "";
      tip.replaceChildren(make("b", {}, word), ` ${this.element.dataset.kind ?? "rank"} ${rank.toLocaleString("en")}${group}`);
      tip.style.left = `${Math.min(Math.max(place[0], 0), Math.max(this.camera.width - tip.offsetWidth - 4, 0))}px`;
      tip.style.top = `${place[1] > 60 ? place[1] - tip.offsetHeight - 12 : place[1] + 14}px`;
    }
    this.redraw();
  }

  listen() {
    const { element, camera } = this;
    /** @type {Map<number, { x: number, y: number }>} */
    const pressed = new Map();
    let travelled = 0;
    const where = (/** @type {MouseEvent} */ event) => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    element.addEventListener("pointerdown", (event) => {
      if (/** @type {HTMLElement} */ (event.target).closest("button")) { return; }
      pressed.set(event.pointerId, where(event));
      element.setPointerCapture(event.pointerId);
      if (pressed.size === 1) { travelled = 0; }
    });
    element.addEventListener("pointermove", (event) => {
      const at = where(event);
      const last = pressed.get(event.pointerId);
      if (!last) {
        if (event.pointerType === "mouse") { this.hover(this.pick(at.x, at.y, REACH) ?? ""); }
        return;
      }
      travelled += Math.hypot(at.x - last.x, at.y - last.y);
      const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const spread = Math.hypot(at.x - other.x, at.y - other.y) / Math.max(Math.hypot(last.x - other.x, last.y - other.y), 1);
        camera.zoomBy(spread, (at.x + other.x) / 2, (at.y + other.y) / 2);
        camera.pan((at.x - last.x) / 2, (at.y - last.y) / 2);
      } else if (this.isLasso) {
        this.lasso.push([at.x, at.y]);
      } else if (travelled > 4) {
        camera.pan(at.x - last.x, at.y - last.y);
      }
      pressed.set(event.pointerId, at);
      this.hover("");
      this.redraw();
    });
    const lift = (/** @type {PointerEvent} */ event) => {
      const isTap = pressed.delete(event.pointerId) && event.type === "pointerup" && travelled <= 4 && !pressed.size;
      if (this.lasso.length) {
        const shape = new Path2D();
        this.lasso.forEach(([x, y]) => shape.lineTo(x, y));
        this.marks.resetTransform();
        const rows = [...this.base.words.keys()].filter((i) => this.seen[i] !== HIDDEN
          && this.marks.isPointInPath(shape, camera.left(this.at[2 * i]), camera.top(this.at[2 * i + 1])));
        this.lasso = [];
        if (event.type === "pointerup" && travelled > 4) { this.gather(rows); }
        this.redraw();
        return;
      }
      const at = where(event);
      const word = isTap && this.pick(at.x, at.y, event.pointerType === "mouse" ? REACH : 24);
      if (word) { this.choose(word); }
    };
    element.addEventListener("pointerup", lift);
    element.addEventListener("pointercancel", lift);
    element.addEventListener("pointerleave", () => this.hover(""));
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = where(event);
      camera.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), at.x, at.y);
      this.hover("");
      this.redraw();
    }, { passive: false });
    byId("map-view").addEventListener("keydown", (event) => {
      const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] });
      const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 0, Home: 0 }[event.key];
      if (!steps[event.key] && factor === undefined) { return; }
      camera.pan(...(steps[event.key] ?? [0, 0]));
      this.zoom(factor ?? 1);
      event.preventDefault();
    });
  }
}

/** The points of packed columns. @param {import("./api.js").Packed} packed */
function points(packed) {
  const { numbers, units } = components(packed);
  return Float32Array.from(numbers, (number, i) => number * units[i % 2]);
}

/** A color of the ramp, from its start (0) to its end (1). @param {number} share */
function between(share) {
  const scale = RAMP[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];
  const low = Math.min(Math.floor(2 * share), 1);
  return scale[low].map((each, c) => Math.round(each + (2 * share - low) * (scale[low + 1][c] - each))).join(" ");
}

/** Red, green and blue of a color. @param {string} color */
function channels(color) {
  const hex = /^#(..)(..)(..)$/.exec(color.trim());
  return hex ? hex.slice(1).map((part) => parseInt(part, 16)) : (color.match(/[\d.]+/g) ?? []).map(Number);
}

/** The distance from the middle that nearly all points are within. @param {Float32Array} at @param {number} axis */
function extent(at, axis) {
  const values = at.filter((_, i) => i % 2 === axis).map(Math.abs).sort();
  return 1.06 * (values[Math.floor(0.9995 * (values.length - 1))] || 1);
}

/**
 * The clearest place of each cluster: the cell where it has many words and others have few.
 * @param {Float32Array} at @param {number[]} extents @param {number[]} clusters @param {number} count
 */
function crests(at, extents, clusters, count) {
  const cells = 14;
  const all = new Float32Array(cells * cells);
  const sums = new Float32Array(3 * cells * cells * count);  // words, x and y
  const cell = (/** @type {number} */ value, /** @type {number} */ axis) =>
    Math.min(Math.max(Math.floor(((value / extents[axis] + 1) / 2) * cells), 0), cells - 1);
  clusters.forEach((cluster, i) => {
    const place = cell(at[2 * i + 1], 1) * cells + cell(at[2 * i], 0);
    all[place] += 1;
    const own = 3 * (cluster * cells * cells + place);
    sums[own] += 1;
    sums[own + 1] += at[2 * i];
    sums[own + 2] += at[2 * i + 1];
  });
  return Array.from({ length: count }, (_, cluster) => {
    let [best, most] = [-1, 0];
    all.forEach((total, place) => {
      const worth = sums[3 * (cluster * all.length + place)] ** 1.5 / (total + 5);
      if (worth > most) { most = worth; best = 3 * (cluster * all.length + place); }
    });
    return best < 0 ? undefined : [sums[best + 1] / sums[best], sums[best + 2] / sums[best]];
  });
}
