// @ts-check
// The map at any value of the slider: the server sends about twenty numbers per word once, and each step is a
// weighted sum of them.

/** @typedef {{ numbers: Int16Array, units: number[] }} Components */

/** The 16-bit integers of packed columns. @param {import("./api.js").Packed} packed @returns {Components} */
export function components({ units, data }) {
  return { numbers: new Int16Array(Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)).buffer), units };
}

/** Two weights for each component at a value, between those of the nearest values. @param {import("./api.js").Path} path @param {number | null} value */
function turnAt({ values, turns }, value) {
  if (value === null || values.length < 2) { return turns[0]; }
  let high = values.findIndex((each) => each >= value * (1 - 1e-9));
  high = high < 0 ? values.length - 1 : Math.max(high, 1);
  const [a, b] = [values[high - 1], values[high]];
  // Apertures are logarithmic; numbers of directions begin at 0 and are met exactly.
  const share = a > 0 ? Math.log(value / a) / Math.log(b / a) : value - a;
  const along = Math.min(Math.max(share, 0), 1);
  return turns[high].map(([x, y], k) => {
    const [x0, y0] = turns[high - 1][k];
    return [x0 + along * (x - x0), y0 + along * (y - y0)];
  });
}

/**
 * The points of words at a value of the slider.
 * @param {import("./api.js").Path} path @param {number | null} value @param {Components} components
 */
export function pointsAt(path, value, { numbers, units }) {
  const count = numbers.length / units.length;
  const turn = turnAt(path, value);
  const across = Float64Array.from(units, (unit, k) => unit * turn[k][0]);
  const down = Float64Array.from(units, (unit, k) => unit * turn[k][1]);
  const points = new Float32Array(2 * count);
  for (let i = 0, at = 0; i < count; i++) {
    let [x, y] = [0, 0];
    for (let k = 0; k < units.length; k++, at++) {
      x += numbers[at] * across[k];
      y += numbers[at] * down[k];
    }
    points[2 * i] = x;
    points[2 * i + 1] = y;
  }
  return points;
}

/** Share of the variance of some values that lies along the plane (R² of a regression). @param {Float32Array} points @param {Float32Array} values */
export function explained(points, values) {
  const n = values.length;
  let [x, y, v, xx, yy, xy, xv, yv, vv] = new Array(9).fill(0);
  for (let i = 0; i < n; i++) {
    const [a, b, c] = [points[2 * i], points[2 * i + 1], values[i]];
    x += a; y += b; v += c; xx += a * a; yy += b * b; xy += a * b; xv += a * c; yv += b * c; vv += c * c;
  }
  xx -= x * x / n; yy -= y * y / n; xy -= x * y / n; xv -= x * v / n; yv -= y * v / n; vv -= v * v / n;
  const area = xx * yy - xy * xy;
  return area > 0 && vv > 0 ? (xv * xv * yy - 2 * xv * yv * xy + yv * yv * xx) / (area * vv) : 0;
}
