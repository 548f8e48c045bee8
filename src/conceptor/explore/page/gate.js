// @ts-check
// The gate of a method: how far vectors spread along each direction, and the share that is kept.

import { byId } from "./panels.js";

// Later directions have little variance and are kept.
const MOST = 60;
const [HEIGHT, LEFT, BOTTOM, TOP] = [170, 30, 22, 8];

/** @param {string} tag @param {Record<string, string | number>} attributes @param {...(Node | string)} children */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) { element.setAttribute(name, String(value)); }
  element.append(...children);
  return element;
}

/** @param {import("./api.js").Solution} solution */
export function showGate({ gate, variance }) {
  byId("gate-figure").hidden = !gate.length;
  const count = Math.min(gate.length, MOST);
  const before = variance.slice(0, count).map(Math.sqrt);
  const after = before.map((spread, i) => spread * gate[i]);
  // A gate of whitening is above 1: then both sides have a scale of their own.
  const most = Math.max(1, ...gate.slice(0, count));
  const scales = [Math.max(...before, 1e-9), most > 1 ? Math.max(...after, 1e-9) : Math.max(...before, 1e-9)];
  const width = Math.max(byId("gate").clientWidth, 240);
  const room = HEIGHT - BOTTOM - TOP;
  const step = (width - LEFT) / Math.max(count, 1);
  const top = (/** @type {number} */ share) => TOP + room * (1 - share);
  const bars = before.map((spread, i) => {
    const title = svg("title", {}, `direction ${i + 1}: ${(100 * variance[i]).toFixed(1)}% of the variance, `
      + `gate ${gate[i].toFixed(2)}`);
    const bar = (/** @type {string} */ kind, /** @type {number} */ share) => svg("rect", {
      class: kind, x: LEFT + i * step + 0.1 * step, width: 0.8 * step, y: top(share), height: room * share,
    });
    return svg("g", {}, title, bar("before", spread / scales[0]), bar("after", after[i] / scales[1]));
  });
  const line = gate.slice(0, count).map((share, i) => `${LEFT + (i + 0.5) * step},${top(share / most)}`);
  const marks = [0, most].flatMap((share) => [
    svg("line", { class: "grid", x1: LEFT, x2: width, y1: top(share / most), y2: top(share / most) }),
    svg("text", { class: "faint", x: LEFT - 6, y: top(share / most) + 4, "text-anchor": "end" },
      most > 1 && share ? share.toPrecision(2) : String(share)),
  ]);
  const of = count < gate.length ? ` of ${gate.length}` : "";
  const ends = [["start", LEFT, "1"], ["end", width, `direction ${count}${of}`]].map(([anchor, x, text]) =>
    svg("text", { class: "faint", x, y: HEIGHT - 6, "text-anchor": anchor }, String(text)));
  byId("gate").replaceChildren(svg("svg", {
    class: "chart gate", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
    "aria-label": `Gate of the first ${count} directions, from ${gate[0]?.toFixed(2)} to ${gate[count - 1]?.toFixed(2)}`,
  }, ...marks, ...bars, svg("polyline", { class: "curve", points: line.join(" ") }), ...ends));
}
