// @ts-check
// The visible part of the plane.

/** @typedef {{ x: number, y: number, scale: number }} Sight the center, and pixels for a unit */

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
    const wasHome = this.x === this.home.x && this.y === this.home.y && this.scale === this.home.scale;
    const [across, down] = [this.width / (2 * x), this.height / (2 * y)];
    this.stretch = Math.min(Math.max(across / down, 1 / STRETCH), STRETCH);
    this.home = { x: 0, y: 0, scale: Math.min(across / this.stretch, down) };
    if (wasHome) { this.look(this.home); }
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

  /** Zoom around a pixel. @param {number} factor @param {number} left @param {number} top */
  zoomBy(factor, left = this.width / 2, top = this.height / 2) {
    const [right, down] = [left - this.width / 2, top - this.height / 2];
    const [x, y] = [this.x + right / this.scale / this.stretch, this.y - down / this.scale];
    this.look({ x, y, scale: this.scale * factor });
    this.pan(right, down);
  }
}
