// @ts-check
// The slider of a method: logarithmic for apertures, whole numbers for directions.

import { byId, make } from "./panels.js";

/** @typedef {import("./api.js").Slider} Slider */

/** @param {Slider} range @param {number} value */
function position(range, value) {
  return range.name === "aperture" ? 1000 * Math.log(value / range.least) / Math.log(range.most / range.least) : value;
}

/**
 * @param {(aperture: number | null, directions: number | null) => void} change null for the method's default
 * @returns {(slider: Slider | null, isAutomatic: boolean) => void} shows the slider's value, and whether the method's default is automatic
 */
export function makeSlider(change) {
  const knob = /** @type {HTMLInputElement} */ (byId("knob"));
  /** @type {Slider | null} */
  let slider = null;
  let isAutomatic = true;

  /** @param {number} value */
  function set(value) {
    if (!slider) { return; }
    const isAperture = slider.name === "aperture";
    const own = isAperture ? slider.marks.automatic : slider.marks.default;
    const chosen = isAperture ? Number(value.toPrecision(6)) : Math.round(value);
    const isOwn = Math.abs(chosen - own) < 1e-5 * own && isAutomatic;
    change(isAperture && !isOwn ? chosen : null, isAperture || isOwn ? null : chosen);
  }

  knob.addEventListener("input", () => {
    if (!slider) { return; }
    const at = Number(knob.value);
    set(slider.name === "aperture" ? slider.least * (slider.most / slider.least) ** (at / 1000) : at);
  });

  return (now, automatic) => {
    slider = now;
    isAutomatic = automatic;
    byId("slider").hidden = !now;
    if (!now) { return; }
    const isAperture = now.name === "aperture";
    knob.max = isAperture ? "1000" : String(now.most);
    byId("knob-name").textContent = isAperture ? "Aperture α" : "Directions";
    byId("knob-name").dataset.term = now.name;
    if (document.activeElement !== knob || !knob.matches(":active")) { knob.value = String(position(now, now.value)); }
    const shown = isAperture ? now.value.toPrecision(3) : String(now.value);
    byId("knob-value").textContent = shown;
    knob.setAttribute("aria-valuetext", shown);
    // The smaller mark's label ends at its tick and the larger one's starts there, so they never overlap.
    const marks = Object.entries(now.marks).sort((a, b) => a[1] - b[1]);
    byId("marks").replaceChildren(...marks.map(([name, value], i) => {
      const text = `${name} ${isAperture ? Number(value.toPrecision(3)) : value}`;
      const kind = marks.length === 1 ? "" : i === 0 ? "ends" : "begins";
      const button = make("button", { type: "button", class: kind }, text);
      button.style.left = `${100 * position(now, value) / Number(knob.max)}%`;
      button.addEventListener("click", () => set(value));
      return button;
    }));
  };
}
