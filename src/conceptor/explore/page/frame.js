// @ts-check
"use strict";
// The map, in a frame without an origin: it draws what it is sent, and says which word was chosen.

/**
 * @typedef {{ type: "draw", words: string[], ranks: number[], clusters: number[], at: number[][],
 *   query: number[], neighbours: number[], colour: string, duration: number,
 *   theme: { scheme: string, ink: string, faint: string, grid: string, accent: string, loss: string } }} Drawing
 */

/** @type {any} */
const plotly = /** @type {any} */ (window).Plotly;
const plot = /** @type {any} */ (document.getElementById("plot"));
// Okabe & Ito's colours, which the colour-blind can tell apart.
const CLUSTERS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b0a000", "#777777"];
// From common to rare: yellow to blue, which every eye can tell apart, and both stand out.
/** @type {Record<string, [number, string][]>} */
const FREQUENCY = {
  light: [[0, "#e09a00"], [0.5, "#8c8c86"], [1, "#16508f"]],
  dark: [[0, "#ffd75e"], [0.5, "#aaaaa6"], [1, "#549ef2"]],
};
const LONGEST_LABEL = 24;
/** Where a label stands beside its point. @type {Record<string, object>} */
const SIDES = {
  "top center": { xanchor: "center", yanchor: "bottom", yshift: 6 },
  "bottom center": { xanchor: "center", yanchor: "top", yshift: -6 },
  "middle right": { xanchor: "left", yanchor: "middle", xshift: 6 },
  "middle left": { xanchor: "right", yanchor: "middle", xshift: -6 },
};
/** @type {Map<string, number[]>} */
let places = new Map();
let running = 0;
/** What the points stand for. @type {{ words: string[], chosen: number[] }} */
let shown = { words: [], chosen: [] };

function hasWebGL() {
  try {
    return Boolean(document.createElement("canvas").getContext("webgl"));
  } catch {
    return false;
  }
}
const kind = hasWebGL() ? "scattergl" : "scatter";

function isNarrow() {
  return plot.clientWidth < 480;
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** @param {string} word */
function shortened(word) {
  const characters = [...word];
  return characters.length > LONGEST_LABEL ? `${characters.slice(0, LONGEST_LABEL - 1).join("")}…` : word;
}

/**
 * Say where each label goes so that none covers another: above, below or beside its point, or
 * nowhere. The first ones, the query, come first.
 * @param {string[]} texts @param {number[][]} at @param {number} scale points of the screen by unit
 */
function labels(texts, at, scale) {
  /** @type {number[][]} */
  const taken = [];
  return texts.map((text, i) => {
    const [width, height] = [6.4 * text.length + 4, 14];
    const [x, y] = [at[i][0] * scale, -at[i][1] * scale];
    const options = /** @type {const} */ ([
      ["top center", x - width / 2, y - 8 - height], ["bottom center", x - width / 2, y + 8],
      ["middle right", x + 8, y - height / 2], ["middle left", x - 8 - width, y - height / 2],
    ]);
    for (const [place, left, top] of options) {
      const box = [left, top, left + width, top + height];
      if (taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3])) {
        taken.push(box);
        return { place, text };
      }
    }
    return { place: "top center", text: "" };
  });
}

/** @param {Drawing} drawing @param {number[][]} at */
function traces(drawing, at) {
  const hover = "%{text}<br>rank %{customdata}<extra></extra>";
  const ranks = drawing.ranks.map((rank) => (rank + 1).toLocaleString("en"));
  const texts = drawing.words.map(escaped);
  const byRank = drawing.colour === "frequency";
  const logs = drawing.ranks.map((rank) => Math.log10(rank + 1));
  const top = Math.max(1, Math.ceil(Math.max(...logs)));
  const powers = Array.from({ length: top + 1 }, (_, power) => power);
  const chosen = [...drawing.query, ...drawing.neighbours.filter((i) => !drawing.query.includes(i))];
  const dot = { size: isNarrow() ? 4 : 6, opacity: chosen.length ? 0.55 : 0.75 };
  const marker = byRank
    ? {
        ...dot, color: logs, colorscale: FREQUENCY[drawing.theme.scheme], cmin: 0, cmax: top,
        // Beside the map on a screen, below it on a phone.
        colorbar: { ...(isNarrow() ? { orientation: "h", y: -0.02, yanchor: "top", len: 0.9, title: { text: "rank", side: "top" } }
          : { len: 0.6, title: { text: "rank", side: "right" } }), thickness: 9, outlinewidth: 0,
          tickvals: powers, ticktext: powers.map((power) => (10 ** power).toLocaleString("en")),
          tickfont: { color: drawing.theme.faint } },
      }
    : { ...dot, color: drawing.clusters.map((c) => CLUSTERS[c % CLUSTERS.length]) };
  shown = { words: drawing.words, chosen };
  return [
    { type: kind, mode: "markers", x: at.map((p) => p[0]), y: at.map((p) => p[1]), text: texts, customdata: ranks, hovertemplate: hover, marker },
    {
      type: kind, mode: "markers", x: chosen.map((i) => at[i][0]), y: chosen.map((i) => at[i][1]),
      customdata: chosen.map((i) => [texts[i], ranks[i]]), hovertemplate: "%{customdata[0]}<br>rank %{customdata[1]}<extra></extra>",
      marker: { size: chosen.map((i) => (drawing.query.includes(i) ? 12 : 8)),
        color: chosen.map((i) => (drawing.query.includes(i) ? drawing.theme.loss : drawing.theme.accent)),
        line: { width: 1.5, color: drawing.theme.ink } },
    },
  ];
}

/**
 * The names of the query and its neighbours, as text above the points: WebGL knows no emoji.
 * @param {Drawing} drawing @param {number[][]} at
 */
function annotations(drawing, at) {
  const scale = Math.min(plot.clientWidth, plot.clientHeight) / 3.4;
  const { chosen } = shown;
  const placed = labels(chosen.map((i) => shortened(drawing.words[i])), chosen.map((i) => at[i]), scale);
  return chosen.map((word, i) => ({
    x: at[word][0], y: at[word][1], text: escaped(placed[i].text), showarrow: false, borderpad: 0,
    bgcolor: drawing.theme.scheme === "dark" ? "rgba(27, 32, 38, .6)" : "rgba(255, 255, 255, .6)",
    font: { size: drawing.query.includes(word) ? 15 : 11, color: drawing.theme.ink }, ...SIDES[placed[i].place],
  })).filter((each) => each.text);
}

/** @param {Drawing} drawing */
async function draw(drawing) {
  const turn = ++running;
  document.documentElement.style.colorScheme = drawing.theme.scheme;  // else the frame is opaque
  const target = drawing.at;
  const from = drawing.words.map((word, i) => places.get(word) ?? target[i]);
  const axis = { showgrid: true, gridcolor: drawing.theme.grid, zeroline: false, showticklabels: false, fixedrange: false };
  const far = Math.max(...target.map((p) => Math.max(Math.abs(p[0]), Math.abs(p[1]))), 1);
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 4, r: 4, t: 4, b: 4 },
    showlegend: false, hovermode: "closest", dragmode: "pan", uirevision: "keep",
    font: { family: "system-ui, sans-serif", color: drawing.theme.ink },
    xaxis: { ...axis, range: [-1.7, 1.7] }, yaxis: { ...axis, range: [-1.7, 1.7], scaleanchor: "x" },
  };
  if (far > 6) { layout.xaxis.range = layout.yaxis.range = [-far, far]; }
  // Fingers need no buttons, and these would cover the map.
  const options = { responsive: true, scrollZoom: true, displaylogo: false, displayModeBar: isNarrow() ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"] };
  const start = performance.now();
  const duration = places.size ? drawing.duration : 0;
  for (;;) {
    const done = duration ? Math.min(1, (performance.now() - start) / duration) : 1;
    const eased = done * done * (3 - 2 * done);
    const at = target.map((p, i) => [from[i][0] + eased * (p[0] - from[i][0]), from[i][1] + eased * (p[1] - from[i][1])]);
    const points = traces(drawing, at);
    await plotly.react(plot, points, { ...layout, annotations: annotations(drawing, at) }, options);
    drawing.words.forEach((word, i) => places.set(word, at[i]));
    if (done === 1 || turn !== running) { break; }
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (turn !== running) { return; }
  }
  if (!plot.dataset.listening) {
    plot.dataset.listening = "yes";
    plot.on("plotly_click", (/** @type {any} */ event) => {
      const point = event.points[0];
      const word = point.curveNumber === 0 ? shown.words[point.pointNumber] : shown.words[shown.chosen[point.pointNumber]];
      parent.postMessage({ type: "word", word }, "*");
    });
  }
  parent.postMessage({ type: "drawn" }, "*");
}

addEventListener("message", async (event) => {
  if (event.source !== parent) { return; }
  if (event.data.type === "draw") {
    await draw(event.data);
  } else if (event.data.type === "picture") {
    const picture = await plotly.toImage(plot, { format: "png", width: 1200, height: 800 }).catch(() => "");
    parent.postMessage({ type: "picture", picture }, "*");
  }
});
parent.postMessage({ type: "ready" }, "*");
