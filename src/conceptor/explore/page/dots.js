// @ts-check
// Many points on a canvas. A picture of each color is drawn once and then copied.

const SPRITE = 32;

export class Dots {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** The color of each point, as a place in `sprites`. */
    this.kinds = new Uint8Array();
    /** How large each point is, relative to others. */
    this.sizes = new Float32Array();
    /** @type {HTMLCanvasElement[]} */
    this.sprites = [];
  }

  /** @param {string[]} colors @param {Uint8Array} kinds @param {Float32Array} sizes */
  setLook(colors, kinds, sizes) {
    Object.assign(this, { kinds, sizes });
    this.sprites = colors.map((color) => {
      const sprite = document.createElement("canvas");
      sprite.width = sprite.height = SPRITE;
      const pen = /** @type {CanvasRenderingContext2D} */ (sprite.getContext("2d"));
      pen.fillStyle = color;
      pen.arc(SPRITE / 2, SPRITE / 2, SPRITE / 2 - 1, 0, 2 * Math.PI);
      pen.fill();
      return sprite;
    });
  }

  /**
   * The first points are the most important: they are drawn last.
   * @param {import("./camera.js").Camera} camera @param {Float32Array} at @param {number} size @param {number} alpha
   */
  draw(camera, at, size, alpha) {
    const { pen, canvas, kinds, sizes, sprites } = this;
    const density = canvas.width / camera.width;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, camera.width, camera.height);
    pen.globalAlpha = alpha;
    for (let i = kinds.length - 1; i >= 0; i--) {
      const side = size * sizes[i];
      const [x, y] = [camera.left(at[2 * i]) - side / 2, camera.top(at[2 * i + 1]) - side / 2];
      if (x > -side && y > -side && x < camera.width && y < camera.height) {
        pen.drawImage(sprites[kinds[i]], x, y, side, side);
      }
    }
  }
}
