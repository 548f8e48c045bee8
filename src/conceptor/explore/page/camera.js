// @ts-check
// The visible part of the plane, and the path from one part to another.

/** @typedef {{ x: number, y: number, scale: number }} Sight the centre, and pixels for a unit */

// A plane has no fixed unit, so it may be stretched up to this factor to fill a wide or tall window.
const STRETCH = 1.8;

export class Camera {
  constructor() {
    this.x = 0;
    this.y = 0;
    this.scale = 100;
    this.width = 1;
    this.height = 1;
    /** How much longer a unit is across than down. */
    this.stretch = 1;
    /** @type {Sight} */
    this.home = { x: 0, y: 0, scale: 100 };
  }

  /** @param {number} x */
  left(x) { return (x - this.x) * this.scale * this.stretch + this.width / 2; }

  /** @param {number} y */
  top(y) { return this.height / 2 - (y - this.y) * this.scale; }

  /** Look at the box from (-x, -y) to (x, y) by default. @param {number} x @param {number} y */
  setHome(x, y) {
    const wasHome = this.isHome();
    const [across, down] = [this.width / (2 * x), this.height / (2 * y)];
    this.stretch = Math.min(Math.max(across / down, 1 / STRETCH), STRETCH);
    this.home = { x: 0, y: 0, scale: Math.min(across / this.stretch, down) };
    if (wasHome) { this.look(this.home); }
  }

  isHome() {
    const { x, y, scale } = this.home;
    return this.x === x && this.y === y && this.scale === scale;
  }

  get zoom() { return this.scale / this.home.scale; }

  /** @param {Sight} sight */
  look({ x, y, scale }) {
    this.x = x;
    this.y = y;
    this.scale = Math.min(Math.max(scale, 0.5 * this.home.scale), 80 * this.home.scale);
  }

  /** @param {number} right @param {number} down in pixels */
  pan(right, down) { this.look({ x: this.x - right / this.scale / this.stretch, y: this.y + down / this.scale, scale: this.scale }); }

  /** Zoom around a pixel. @param {number} left @param {number} top @param {number} factor */
  zoomAt(left, top, factor) {
    const [right, down] = [left - this.width / 2, top - this.height / 2];
    const [x, y] = [this.x + right / this.scale / this.stretch, this.y - down / this.scale];
    this.look({ x, y, scale: this.scale * factor });
    this.pan(right, down);
  }

  /**
   * The smoothest path to another view: for a distant one it zooms out on the way (van Wijk & Nuij 2003).
   * @param {Sight} to @returns {(done: number) => Sight}
   */
  flight(to) {
    const from = { x: this.x, y: this.y, scale: this.scale };
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const [w0, w1, far] = [this.width / from.scale, this.width / to.scale, Math.hypot(dx, dy)];
    const rho = Math.SQRT2;
    if (far < 1e-6 * w0) {
      return (t) => ({ x: from.x + t * dx, y: from.y + t * dy, scale: from.scale * (to.scale / from.scale) ** t });
    }
    const b0 = (w1 ** 2 - w0 ** 2 + rho ** 4 * far ** 2) / (2 * w0 * rho ** 2 * far);
    const b1 = (w1 ** 2 - w0 ** 2 - rho ** 4 * far ** 2) / (2 * w1 * rho ** 2 * far);
    const [r0, r1] = [b0, b1].map((b) => Math.log(Math.sqrt(b ** 2 + 1) - b));
    return (t) => {
      if (t >= 1) { return to; }
      const s = r0 + t * (r1 - r0);
      const u = (w0 / (rho ** 2 * far)) * (Math.cosh(r0) * Math.tanh(s) - Math.sinh(r0));
      return { x: from.x + u * dx, y: from.y + u * dy, scale: (from.scale * Math.cosh(s)) / Math.cosh(r0) };
    };
  }
}
