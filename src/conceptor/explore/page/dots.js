// @ts-check
// Many points on a canvas (by WebGL if available), and their density.

const VERTEX = `
attribute vec2 origin, before, after;
attribute vec4 tint;
uniform float mixed, done, size;
uniform vec2 centre, scale;
varying vec4 colour;
varying float breadth;
void main() {
  vec2 at = mix(origin, mix(before, after, mixed), done);
  gl_Position = vec4((at - centre) * scale, 0.0, 1.0);
  breadth = size * (0.8 + tint.a);
  gl_PointSize = breadth;
  colour = tint;
}`;
const FRAGMENT = `
precision mediump float;
uniform float alpha;
varying vec4 colour;
varying float breadth;
void main() {
  float inside = clamp(breadth * (0.5 - length(gl_PointCoord - 0.5)), 0.0, 1.0);
  gl_FragColor = vec4(colour.rgb, 1.0) * (inside * alpha);
}`;

/**
 * Moving points: from `origin` to a place between `before` and `after`.
 * @typedef {{ origin: Float32Array, before: Float32Array, after: Float32Array }} Ways
 * @typedef {{ mixed: number, done: number, size: number, alpha: number }} Moment
 */

export class Dots {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.count = 0;
    /** @type {Uint8Array} */
    this.tints = new Uint8Array();
    this.gl = canvas.getContext("webgl");
    this.flat = this.gl ? null : canvas.getContext("2d");
    if (this.gl) { this.compile(this.gl); }
    // After a lost WebGL context is restored, everything must be uploaded again.
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      if (!this.gl) { return; }
      this.compile(this.gl);
      canvas.dispatchEvent(new CustomEvent("restored", { bubbles: true }));
    });
  }

  /** @param {WebGLRenderingContext} gl */
  compile(gl) {
    const program = gl.createProgram();
    for (const [kind, source] of /** @type {const} */ ([[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]])) {
      const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.program = program;
    /** @type {Record<string, WebGLBuffer>} */
    this.buffers = {};
  }

  /** @param {string} name @param {Float32Array | Uint8Array} values @param {number} each */
  upload(name, values, each) {
    const { gl, program, buffers } = this;
    if (!gl || !program || !buffers) { return; }
    buffers[name] ??= gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const place = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(place);
    const kind = values instanceof Uint8Array ? gl.UNSIGNED_BYTE : gl.FLOAT;
    gl.vertexAttribPointer(place, each, kind, kind === gl.UNSIGNED_BYTE, 0, 0);
  }

  /** The first points are the most important: they are drawn last. @param {Ways} ways */
  setWays(ways) {
    this.count = ways.before.length / 2;
    for (const name of /** @type {const} */ (["origin", "before", "after"])) { this.upload(name, backwards(ways[name], 2), 2); }
  }

  /** @param {Uint8Array} tints red, green, blue of each point, and how much larger than others it is */
  setTints(tints) {
    this.tints = tints;
    this.upload("tint", backwards(tints, 4), 4);
  }

  /**
   * @param {import("./camera.js").Camera} camera @param {Moment} moment
   * @param {Float32Array} at where the points are now, for those without WebGL
   */
  draw(camera, { mixed, done, size, alpha }, at) {
    const density = this.canvas.width / camera.width;
    const { gl, flat, program } = this;
    if (gl && program) {
      gl.viewport(0, 0, this.canvas.width, this.canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT);
      /** @param {string} name @param {...number} values */
      const set = (name, ...values) => {
        const place = gl.getUniformLocation(program, name);
        if (values.length === 2) { gl.uniform2f(place, values[0], values[1]); } else { gl.uniform1f(place, values[0]); }
      };
      set("mixed", mixed);
      set("done", done);
      set("size", size * density);
      set("alpha", alpha);
      set("centre", camera.x, camera.y);
      set("scale", (2 * camera.scale * camera.stretch) / camera.width, (2 * camera.scale) / camera.height);
      gl.drawArrays(gl.POINTS, 0, this.count);
    } else if (flat) {
      flat.setTransform(density, 0, 0, density, 0, 0);
      flat.clearRect(0, 0, camera.width, camera.height);
      flat.globalAlpha = alpha;
      for (let i = this.count - 1; i >= 0; i--) {
        flat.fillStyle = `rgb(${this.tints[4 * i]} ${this.tints[4 * i + 1]} ${this.tints[4 * i + 2]})`;
        flat.fillRect(camera.left(at[2 * i]) - size / 2, camera.top(at[2 * i + 1]) - size / 2, size, size);
      }
    }
  }
}

/** @template {Float32Array | Uint8Array} T @param {T} values @param {number} each @returns {T} */
function backwards(values, each) {
  const found = /** @type {T} */ (values.slice());
  for (let i = 0; i < values.length; i += each) { found.set(values.subarray(i, i + each), values.length - i - each); }
  return found;
}

const CELL = 6;

/** The density of points, as a soft shade below them. */
export class Density {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.small = document.createElement("canvas");
  }

  /**
   * @param {import("./camera.js").Camera} camera @param {Float32Array} at @param {number[]} ink red, green, blue
   * @param {number} strength from 0 to 1
   */
  draw(camera, at, ink, strength) {
    const { canvas, context, small } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (strength <= 0) { return; }
    // A margin of a few cells: points just outside also shade the edge.
    const margin = 4;
    const columns = Math.ceil(camera.width / CELL) + 2 * margin;
    const rows = Math.ceil(camera.height / CELL) + 2 * margin;
    let counts = new Float32Array(columns * rows);
    for (let i = 0; i < at.length; i += 2) {
      const column = Math.floor(camera.left(at[i]) / CELL) + margin;
      const row = Math.floor(camera.top(at[i + 1]) / CELL) + margin;
      if (column >= 0 && column < columns && row >= 0 && row < rows) { counts[row * columns + column] += 1; }
    }
    for (let pass = 0; pass < 3; pass++) { counts = blurred(blurred(counts, columns, 1), columns, columns); }
    let most = 0;
    for (const each of counts) { most = Math.max(most, each); }
    [small.width, small.height] = [columns, rows];
    const pen = /** @type {CanvasRenderingContext2D} */ (small.getContext("2d"));
    const shade = pen.createImageData(columns, rows);
    for (let i = 0; i < counts.length; i++) {
      shade.data.set(ink, 4 * i);
      // In steps, like contour lines.
      shade.data[4 * i + 3] = 255 * strength * 0.3 * Math.ceil(7 * (counts[i] / (most || 1)) ** 0.6 - 0.35) / 7;
    }
    pen.putImageData(shade, 0, 0);
    const density = canvas.width / camera.width;
    context.imageSmoothingQuality = "high";
    context.drawImage(small, -margin * CELL * density, -margin * CELL * density, columns * CELL * density, rows * CELL * density);
  }
}

/** The mean of five cells in a row or a column. @param {Float32Array} counts @param {number} columns @param {number} step */
function blurred(counts, columns, step) {
  const found = new Float32Array(counts.length);
  for (let i = 2 * step; i < counts.length - 2 * step; i++) {
    found[i] = (counts[i - 2 * step] + counts[i - step] + counts[i] + counts[i + step] + counts[i + 2 * step]) / 5;
  }
  return found;
}
