// @ts-check
// Many points as pixels: 20,000 of them in a few milliseconds, without a graphics card.

/** How visible a point is: not at all, behind the others, or like all. */
export const HIDDEN = 0, DIM = 1, PLAIN = 2;

export class Dots {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    /** The color of each point, as a place in `colors`; how large it is; whether it has a halo. */
    this.kinds = new Uint8Array();
    this.sizes = new Float32Array();
    this.halos = 0;
    /** @type {number[][]} */
    this.colors = [];
    /** How much of each pixel a disk of some radius covers. @type {Map<number, Float32Array>} */
    this.stamps = new Map();
    this.image = new ImageData(1, 1);
  }

  /** The disk of a radius, or a halo, which fades out. @param {number} radius @param {boolean} isHalo */
  stamp(radius, isHalo) {
    const key = isHalo ? -radius : radius;
    let stamp = this.stamps.get(key);
    if (!stamp) {
      const reach = Math.ceil(radius);
      const side = 2 * reach + 1;
      stamp = new Float32Array(side * side);
      for (let i = 0; i < stamp.length; i++) {
        const away = Math.hypot((i % side) - reach, Math.floor(i / side) - reach);
        stamp[i] = isHalo ? 0.5 * Math.max(0, 1 - away / radius) : Math.min(Math.max(radius + 0.5 - away, 0), 1);
      }
      this.stamps.set(key, stamp);
    }
    return stamp;
  }

  /**
   * Draw points; the first ones are the most important, so they are drawn last.
   * @param {import("./camera.js").Camera} camera @param {Float32Array} at @param {Uint8Array} seen
   * @param {number} size @param {number} alpha @param {number[]} paper
   */
  draw(camera, at, seen, size, alpha, paper) {
    const { canvas: { width, height }, kinds, sizes, colors } = this;
    if (this.image.width !== width || this.image.height !== height) { this.image = new ImageData(width, height); }
    new Uint32Array(this.image.data.buffer).fill((255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0]);
    const density = width / camera.width;
    const [across, down] = [camera.scale * camera.stretch * density, camera.scale * density];
    const [left, top] = [width / 2 - camera.x * across, height / 2 + camera.y * down];
    for (let i = kinds.length - 1; i >= 0; i--) {
      if (!seen[i]) { continue; }
      const x = Math.round(left + at[2 * i] * across);
      const y = Math.round(top - at[2 * i + 1] * down);
      const radius = Math.round(density * size * sizes[i]) / 2;
      // Frequent words stand out, and the rest is quiet.
      const share = seen[i] === DIM ? 0.16 * alpha : i < this.halos ? 0.95 : alpha;
      if (i < this.halos) { this.blend(x, y, Math.round(3.6 * radius), true, colors[kinds[i]], share); }
      this.blend(x, y, radius, false, colors[kinds[i]], share);
    }
    this.pen.putImageData(this.image, 0, 0);
  }

  /** @param {number} x @param {number} y @param {number} radius @param {boolean} isHalo @param {number[]} color @param {number} alpha */
  blend(x, y, radius, isHalo, [red, green, blue], alpha) {
    const { width, height, data: pixels } = this.image;
    const reach = Math.ceil(radius);
    if (x < -reach || y < -reach || x >= width + reach || y >= height + reach) { return; }
    const stamp = this.stamp(radius, isHalo);
    const side = 2 * reach + 1;
    const [low, high] = [Math.max(0, y - reach), Math.min(height - 1, y + reach)];
    const [first, last] = [Math.max(0, x - reach), Math.min(width - 1, x + reach)];
    for (let row = low; row <= high; row++) {
      let cell = (row - y + reach) * side + first - x + reach;
      for (let p = 4 * (row * width + first); p <= 4 * (row * width + last); p += 4, cell++) {
        const share = alpha * stamp[cell];
        pixels[p] += (red - pixels[p]) * share;
        pixels[p + 1] += (green - pixels[p + 1]) * share;
        pixels[p + 2] += (blue - pixels[p + 2]) * share;
      }
    }
  }
}
