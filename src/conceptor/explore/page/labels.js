// @ts-check
// Names on the map: they do not overlap, and none is cut off.

/** @typedef {[left: number, top: number, right: number, bottom: number]} Box */

const LONGEST = 24;
const HEIGHT = { query: 21, near: 17, cluster: 19, word: 15 };
const FONT = { query: "600 16px", near: "600 12.5px", cluster: "600 13px", word: "400 11px" };
/** @typedef {keyof typeof FONT} Kind */
const EDGE = 3;

export class Labels {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    this.pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    /** @type {HTMLElement[]} */
    this.pool = [];
    /** @type {Box[]} */
    this.occupied = [];
    /** Words whose name is shown, to be picked. @type {{ box: Box, word: string }[]} */
    this.shown = [];
    this.used = this.width = this.height = 0;
    this.family = "";
  }

  /** @param {number} width @param {number} height @param {Box[]} occupied where no name may be */
  begin(width, height, occupied) {
    Object.assign(this, { width, height, occupied: [...occupied], shown: [], used: 0 });
    this.family = getComputedStyle(this.place).fontFamily;
  }

  /** @param {Box} box */
  isFree([left, top, right, bottom]) {
    return left >= EDGE && top >= EDGE && right <= this.width - EDGE && bottom <= this.height - EDGE
      && this.occupied.every((other) => right < other[0] || left > other[2] || bottom < other[1] || top > other[3]);
  }

  /**
   * Put a name where there is room beside its point: above, below, or on either side; important names also farther off.
   * @param {string} word @param {Kind} kind @param {number} x @param {number} y
   * @param {{ gap?: number, opacity?: number }} [look]
   */
  add(word, kind, x, y, { gap = 5, opacity = 1 } = {}) {
    if (x < 0 || y < 0 || x > this.width || y > this.height) { return false; }
    const characters = [...word];
    const isLong = characters.length > LONGEST && kind !== "cluster";
    const text = isLong ? `${characters.slice(0, LONGEST - 1).join("")}…` : word;
    this.pen.font = `${FONT[kind]} ${this.family}`;
    const [width, height] = [Math.ceil(this.pen.measureText(text).width) + 8, HEIGHT[kind]];
    const distances = kind === "query" ? [gap, gap + 12, gap + 26, gap + 44] : kind === "near" ? [gap, gap + 10] : kind === "cluster" ? [-height / 2, 12, 30, 50] : [gap];
    for (const away of distances) {
      for (const [dx, dy] of [[0, -1], [0, 1], [1, 0], [-1, 0], [0.8, -0.8], [-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]]) {
        const left = Math.round(x + dx * (away + width / 2) - width / 2);
        const top = Math.round(y + dy * (away + height / 2) - height / 2);
        // At the edge a name moves inwards as far as necessary, if it still touches its point.
        const inside = Math.min(Math.max(left, EDGE), this.width - EDGE - width);
        const box = /** @type {Box} */ ([dx ? left : inside, top, (dx ? left : inside) + width, top + height]);
        if (!this.isFree(box)) { continue; }
        this.occupied.push(box);
        if (kind !== "cluster") { this.shown.push({ box, word }); }
        this.show(text, kind, box, opacity);
        return true;
      }
    }
    return false;
  }

  /** @param {string} text @param {Kind} kind @param {Box} box @param {number} opacity */
  show(text, kind, box, opacity) {
    let label = this.pool[this.used];
    if (!label) {
      label = document.createElement("span");
      this.place.append(label);
      this.pool.push(label);
    }
    this.used += 1;
    if (label.textContent !== text) { label.textContent = text; }
    if (label.className !== kind) { label.className = kind; }
    label.style.transform = `translate(${box[0]}px, ${box[1]}px)`;
    label.style.width = `${box[2] - box[0]}px`;
    label.style.opacity = String(opacity);
    label.hidden = false;
  }

  end() {
    this.pool.slice(this.used).forEach((label) => { label.hidden = true; });
  }

  /** The word whose name is at a pixel. @param {number} left @param {number} top */
  at(left, top) {
    return this.shown.find(({ box }) => left >= box[0] && left <= box[2] && top >= box[1] && top <= box[3])?.word;
  }
}
