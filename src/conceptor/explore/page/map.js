// @ts-check
// The map: words that move from before to after, their clusters, a query and its neighbors.

import { Camera } from "./camera.js";
import { Dots } from "./dots.js";
import { Labels } from "./labels.js";
import { byId, make } from "./panels.js";

/** @typedef {import("./camera.js").Sight} Sight */
/** @typedef {{ words: string[], ranks: number[], clusters: number[], before: Float32Array, after: Float32Array, origin: Float32Array }} Layer */

// Okabe & Ito's colors, which color-blind people can distinguish; darker for text.
const CLUSTERS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b0a000", "#777777"];
const NAMES = {
  light: ["#005a8f", "#8a5c00", "#006b4e", "#92407a", "#1f6d99", "#a34700", "#6d6300", "#555555"],
  dark: ["#5cb5ea", "#f0b840", "#3fcfa3", "#e3a5c8", "#8fd0f5", "#ff9a57", "#d8ca3c", "#bbbbbb"],
};
// From common to rare: yellow to blue, which everyone can distinguish; in this many steps.
const STEPS = 32;
const FREQUENCY = {
  light: [[224, 154, 0], [140, 140, 134], [22, 80, 143]],
  dark: [[255, 215, 94], [150, 150, 146], [84, 158, 242]],
};
const UNIT = 10_000;
const REACH = 14;

/** @param {number[]} values */
const plain = (values) => Float32Array.from(values, (value) => value / UNIT);
/** @param {number} done */
const eased = (done) => done * done * (3 - 2 * done);

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export class WordMap {
  /** @param {(word: string) => void} choose */
  constructor(choose) {
    this.element = byId("map");
    this.choose = choose;
    this.camera = new Camera();
    this.dots = new Dots(/** @type {HTMLCanvasElement} */ (byId("map-dots")));
    this.marks = /** @type {CanvasRenderingContext2D} */ (/** @type {HTMLCanvasElement} */ (byId("map-marks")).getContext("2d"));
    this.labels = new Labels(byId("map-labels"));
    this.color = "frequency";
    /** @type {Layer} */
    this.base = this.chosen = layer({ words: [], ranks: [], clusters: [], before: [], after: [] });
    this.query = 0;
    /** @type {{ text: string, before: number[], after: number[] }[]} */
    this.names = [];
    this.at = new Float32Array();
    this.mixed = 1;
    this.done = 1;
    /** Running movements: functions of the elapsed time, from 0 to 1. @type {Map<string, { start: number, duration: number, run: (done: number) => void }>} */
    this.moves = new Map();
    this.pending = 0;
    this.hovered = "";
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // Content.

  /** @param {import("./api.js").Points} points @param {number} duration */
  setPoints(points, duration) {
    const same = this.base.words.length === points.words.length && this.base.words[points.words.length - 1] === points.words[points.words.length - 1];
    const now = same ? this.at : placesOf(points.words, this.base.words, this.at);
    this.base = layer(points, now);
    this.chosen.origin = this.places(this.chosen);
    const { before, after } = this.base;
    const [first, second] = [before, after].map((at) => [extent(at, 0), extent(at, 1)]);
    this.names = points.names.map((text, cluster) => ({
      text, before: crest(before, first, points.clusters, cluster), after: crest(after, second, points.clusters, cluster),
    }));
    this.tint();
    const [x, y] = [0, 1].map((axis) => Math.max(first[axis], second[axis]));
    this.extent = [x, y];
    this.camera.setHome(x, y);
    this.move("done", now ? duration : 0, (done) => { this.done = eased(done); });
  }

  /** @param {import("./api.js").Places | undefined} placed */
  setChosen(placed) {
    this.chosen = layer(placed ?? { words: [], ranks: [], clusters: [], before: [], after: [] });
    this.query = placed?.query ?? 0;
    this.redraw();
  }

  /** Show a moment between before (0) and after (1). @param {number} mixed @param {number} duration */
  setMixed(mixed, duration) {
    const from = this.mixed;
    this.move("mixed", from === mixed ? 0 : duration, (done) => { this.mixed = from + (mixed - from) * eased(done); });
  }

  /** @param {string} color */
  setColor(color) {
    this.color = color;
    this.tint();
    this.redraw();
  }

  /** Fly to the query and its neighbors; without a query, back to everything. @param {number} duration */
  fly(duration) {
    const at = this.places(this.chosen, 1);
    if (!this.query) { this.flyTo(this.camera.home, duration); return; }
    let [x, y] = [0, 0];
    for (let i = 0; i < this.query; i++) { x += at[2 * i] / this.query; y += at[2 * i + 1] / this.query; }
    const far = Math.max(...this.chosen.words.map((_, i) => Math.max(
      Math.abs(at[2 * i] - x) * this.camera.stretch / this.camera.width, Math.abs(at[2 * i + 1] - y) / this.camera.height)), 1e-9);
    const scale = Math.min(Math.max(0.42 / far, 1.5 * this.camera.home.scale), 14 * this.camera.home.scale);
    this.flyTo({ x, y, scale }, duration);
  }

  /** @param {Sight} sight @param {number} duration */
  flyTo(sight, duration) {
    this.hover("");
    const path = this.camera.flight(sight);
    this.move("camera", duration, (done) => this.camera.look(path(eased(done))));
  }

  /** @param {number} factor @param {number} duration */
  zoom(factor, duration) {
    this.flyTo({ x: this.camera.x, y: this.camera.y, scale: this.camera.scale * factor }, duration);
  }

  // Movement: draw a frame only if something has changed.

  /** @param {string} name @param {number} duration @param {(done: number) => void} run */
  move(name, duration, run) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    run(0);
    this.moves.set(name, { start: performance.now(), duration: still ? 0 : duration, run });
    this.redraw();
  }

  redraw() {
    this.pending ||= requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.pending = 0;
    if (!this.camera.width || !this.element.offsetParent) { return; }  // drawn when it becomes visible
    for (const [name, { start, duration, run }] of [...this.moves]) {
      const done = duration ? Math.min(1, (performance.now() - start) / duration) : 1;
      run(done);
      if (done === 1) { this.moves.delete(name); }
    }
    if (this.base.words.length) { this.draw(); }
    if (this.moves.size) { this.redraw(); return; }
    if (this.base.words.length) { this.element.dataset.drawn = String(Number(this.element.dataset.drawn ?? 0) + 1); }
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) { return; }
    for (const canvas of [this.dots.canvas, this.marks.canvas]) {
      [canvas.width, canvas.height] = [width, height].map((side) => Math.round(side * Math.min(devicePixelRatio, 2)));
    }
    Object.assign(this.camera, { width, height });
    if (this.extent) { this.camera.setHome(this.extent[0], this.extent[1]); }
    this.redraw();
  }

  /** Where the words of a layer are now. @param {Layer} layer @param {number} [mixed] */
  places({ before, after, origin }, mixed = this.mixed) {
    const at = new Float32Array(before.length);
    const done = mixed === this.mixed ? this.done : 1;
    for (let i = 0; i < at.length; i++) {
      at[i] = origin[i] + done * (before[i] + mixed * (after[i] - before[i]) - origin[i]);
    }
    return at;
  }

  // Drawing.

  /** Set the color of each word; common words are larger. */
  tint() {
    const { ranks, clusters } = this.base;
    const byRank = this.color === "frequency";
    const top = Math.log(Math.max(...ranks.slice(-1), 2));
    const along = ranks.map((rank) => Math.log(rank) / top);
    const kinds = along.map((share, i) => (byRank ? Math.round((STEPS - 1) * share) : clusters[i]));
    this.dots.setLook(byRank ? ramp() : CLUSTERS, Uint8Array.from(kinds), Float32Array.from(along, (share) => 1.6 - 0.8 * share));
  }

  /** The number of visible words, which limits their size. */
  look() {
    const { camera } = this;
    let seen = 0;
    for (let i = 0; i < this.at.length; i += 2) {
      const [x, y] = [camera.left(this.at[i]), camera.top(this.at[i + 1])];
      if (x > 0 && y > 0 && x < camera.width && y < camera.height) { seen += 1; }
    }
    const room = Math.sqrt((camera.width * camera.height) / Math.max(seen, 1));
    return { size: Math.min(Math.max(room / 2.6, 3), 8), alpha: Math.min(Math.max(room / 7, 0.6), 0.85) };
  }

  draw() {
    this.at = this.places(this.base);
    const { size, alpha } = this.look();
    this.dots.draw(this.camera, this.at, size, this.chosen.words.length ? 0.75 * alpha : alpha);
    this.drawChosen();
    this.drawNames();
  }

  /** The query and its neighbors, and the path of each. */
  drawChosen() {
    const { marks: pen, camera, chosen } = this;
    const style = getComputedStyle(this.element);
    const [ink, accent, loss, card] = ["--ink", "--accent", "--loss", "--card"].map((name) => shown(style, name));
    const density = pen.canvas.width / camera.width;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, camera.width, camera.height);
    const at = this.places(chosen);
    chosen.words.forEach((_, i) => {
      const color = i < this.query ? loss : accent;
      const [x, y] = [camera.left(at[2 * i]), camera.top(at[2 * i + 1])];
      const [x0, y0] = [camera.left(chosen.before[2 * i]), camera.top(chosen.before[2 * i + 1])];
      const trail = pen.createLinearGradient(x0, y0, x, y);
      trail.addColorStop(0, "transparent");
      trail.addColorStop(1, color);
      Object.assign(pen, { strokeStyle: trail, lineWidth: 1.5, globalAlpha: 0.5 / Math.max(1, camera.zoom / 3) });
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x, y);
      pen.stroke();
    });
    for (let i = chosen.words.length - 1; i >= 0; i--) {
      Object.assign(pen, { fillStyle: i < this.query ? loss : accent, strokeStyle: card, lineWidth: 2, globalAlpha: 1 });
      pen.beginPath();
      pen.arc(camera.left(at[2 * i]), camera.top(at[2 * i + 1]), i < this.query ? 7 : 5, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
    const hovered = this.place(this.hovered);
    if (hovered) {
      Object.assign(pen, { strokeStyle: ink, lineWidth: 1.5, globalAlpha: 1 });
      pen.beginPath();
      pen.arc(hovered[0], hovered[1], 8, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  /** Names, important ones first: each takes the remaining room. */
  drawNames() {
    const { camera, chosen, labels, base } = this;
    /** @type {import("./labels.js").Box[]} */
    const occupied = [];
    const own = this.element.getBoundingClientRect();
    for (const part of this.element.querySelectorAll(".map-buttons, .legend:not([hidden])")) {
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
    const colors = NAMES[isDark() ? "dark" : "light"];
    if (camera.zoom < 6) {
      this.names.forEach(({ text, before, after }, i) => {
        const [x, y] = [0, 1].map((axis) => before[axis] + this.mixed * (after[axis] - before[axis]));
        const opacity = Math.min(1, (6 - camera.zoom) / 2);
        labels.add(text, "cluster", camera.left(x), camera.top(y), { color: this.color === "cluster" ? colors[i % colors.length] : "", opacity });
      });
    }
    for (let i = this.query; i < chosen.words.length; i++) { name(i); }
    // While words move, only important ones keep their names.
    if (!this.moves.has("mixed") && !this.moves.has("done")) {
      const named = new Set(chosen.words);
      let [tried, put] = [0, 0];
      const most = Math.min(90, Math.round((camera.width * camera.height) / 9000));
      for (let i = 0; i < base.words.length && put < most && tried < 1500; i++) {
        const [x, y] = [camera.left(this.at[2 * i]), camera.top(this.at[2 * i + 1])];
        if (x < 0 || y < 0 || x > camera.width || y > camera.height || named.has(base.words[i]) || !/[\p{L}\p{N}]/u.test(base.words[i])) { continue; }
        tried += 1;
        put += Number(labels.add(base.words[i], "word", x, y, { gap: 3 }));
      }
    }
    labels.end();
  }

  // Pointers and keys.

  /** Where a word is on the screen. @param {string} word */
  place(word) {
    const i = this.chosen.words.indexOf(word);
    const at = i >= 0 ? this.places(this.chosen) : this.at;
    const row = i >= 0 ? i : word ? this.base.words.indexOf(word) : -1;
    return row < 0 ? undefined : [this.camera.left(at[2 * row]), this.camera.top(at[2 * row + 1])];
  }

  /** The word at a pixel, or near it. @param {number} left @param {number} top @param {number} reach */
  pick(left, top, reach) {
    const { camera } = this;
    let best = reach ** 2;
    /** @type {string | undefined} */
    let nearest = this.labels.at(left, top);
    if (nearest) { return nearest; }
    for (const [{ words }, at, ahead] of /** @type {[Layer, Float32Array, number][]} */ ([[this.base, this.at, 0], [this.chosen, this.places(this.chosen), 30]])) {
      for (let i = 0; i < words.length; i++) {
        const far = (camera.left(at[2 * i]) - left) ** 2 + (camera.top(at[2 * i + 1]) - top) ** 2 - ahead;
        if (far < best) { best = far; nearest = words[i]; }
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
      tip.replaceChildren(make("b", {}, word), ` rank ${rank.toLocaleString("en")}`);
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
      this.moves.delete("camera");
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
        camera.zoomAt((at.x + other.x) / 2, (at.y + other.y) / 2, spread);
        camera.pan((at.x - last.x) / 2, (at.y - last.y) / 2);
      } else if (travelled > 4) {
        camera.pan(at.x - last.x, at.y - last.y);
      }
      pressed.set(event.pointerId, at);
      this.hover("");
      this.redraw();
    });
    const lift = (/** @type {PointerEvent} */ event) => {
      const isTap = pressed.delete(event.pointerId) && event.type === "pointerup" && travelled <= 4 && !pressed.size;
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
      this.moves.delete("camera");
      camera.zoomAt(at.x, at.y, Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)));
      this.hover("");
      this.redraw();
    }, { passive: false });
    byId("map-view").addEventListener("keydown", (event) => {
      const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] });
      if (steps[event.key]) { this.hover(""); camera.pan(...steps[event.key]); this.redraw(); } else if (event.key === "+" || event.key === "=") { this.zoom(1.5, 200); } else if (event.key === "-") { this.zoom(1 / 1.5, 200); } else if (event.key === "0" || event.key === "Home") { this.flyTo(camera.home, 400); } else { return; }
      event.preventDefault();
    });
  }
}

/** Colors from common to rare. */
function ramp() {
  const scale = FREQUENCY[isDark() ? "dark" : "light"];
  return Array.from({ length: STEPS }, (_, i) => {
    const along = (2 * i) / (STEPS - 1);
    const low = Math.min(Math.floor(along), 1);
    const mixed = scale[low].map((each, c) => Math.round(each + (along - low) * (scale[low + 1][c] - each)));
    return `rgb(${mixed.join(" ")})`;
  });
}

/** The current value of a color in the style sheet. @param {CSSStyleDeclaration} style @param {string} name */
function shown(style, name) {
  const text = style.getPropertyValue(name);
  const sides = text.match(/^light-dark\((.+), (.+)\)$/);
  return sides ? sides[isDark() ? 2 : 1] : text;
}

/**
 * @param {{ words: string[], ranks: number[], clusters: number[], before: number[], after: number[] }} points
 * @param {Float32Array} [origin] where the words are now @returns {Layer}
 */
function layer({ words, ranks, clusters, before, after }, origin) {
  const target = plain(after);
  return { words, ranks, clusters, before: plain(before), after: target, origin: origin ?? target };
}

/** The previous places of words, if they were on the map. @param {string[]} words @param {string[]} old @param {Float32Array} at @returns {Float32Array | undefined} */
function placesOf(words, old, at) {
  if (!old.length) { return undefined; }
  const rows = new Map(old.map((word, i) => [word, i]));
  const places = new Float32Array(2 * words.length);
  words.forEach((word, i) => {
    const row = rows.get(word);
    if (row !== undefined) { places.set(at.subarray(2 * row, 2 * row + 2), 2 * i); }
  });
  return places;
}

/** The distance from the middle that nearly all points are within. @param {Float32Array} at @param {number} axis */
function extent(at, axis) {
  const values = at.filter((_, i) => i % 2 === axis).map(Math.abs).sort();
  return 1.06 * (values[Math.floor(0.9995 * (values.length - 1))] || 1);
}

/**
 * The clearest place of a cluster: the cell where it has many words and others have few.
 * @param {Float32Array} at @param {number[]} extents @param {number[]} clusters @param {number} cluster
 */
function crest(at, [x, y], clusters, cluster) {
  const cells = 14;
  const [own, all, sums] = [new Float32Array(cells * cells), new Float32Array(cells * cells), new Float32Array(2 * cells * cells)];
  clusters.forEach((each, i) => {
    const [column, row] = [at[2 * i] / x, at[2 * i + 1] / y].map((part) => Math.min(Math.max(Math.floor((part + 1) / 2 * cells), 0), cells - 1));
    const cell = row * cells + column;
    all[cell] += 1;
    if (each === cluster) {
      own[cell] += 1;
      sums[2 * cell] += at[2 * i];
      sums[2 * cell + 1] += at[2 * i + 1];
    }
  });
  let best = 0;
  const worth = (/** @type {number} */ cell) => own[cell] ** 1.5 / (all[cell] + 5);
  for (let cell = 1; cell < own.length; cell++) { if (worth(cell) > worth(best)) { best = cell; } }
  return own[best] ? [sums[2 * best] / own[best], sums[2 * best + 1] / own[best]] : [0, 0];
}
