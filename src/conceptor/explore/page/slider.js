// @ts-check
// The slider of a method: logarithmic for apertures, whole numbers for directions.

import { byId, make } from "./panels.js";

/** @typedef {import("./api.js").Slider} Slider */

/** @param {Slider} slider @param {number} value */
function position({ name, least, most }, value) {
  return name === "aperture" ? (1000 * Math.log(value / least)) / Math.log(most / least) : value;
}

/**
 * @param {(value: number | null) => void} change null for the method's default
 * @returns {(slider: Slider | null) => void} shows the slider at its value
 */
export function makeSlider(change) {
  const knob = /** @type {HTMLInputElement} */ (byId("knob"));
  /** @type {Slider | null} */
  let slider = null;

  /** @param {number} value */
  function set(value) {
    if (!slider) { return; }
    const rounded = slider.name === "aperture" ? Number(value.toPrecision(6)) : Math.round(value);
    // The label follows the hand, not the server.
    byId("knob-value").textContent = slider.name === "aperture" ? rounded.toPrecision(3) : String(rounded);
    change(Math.abs(rounded - slider.default) < 1e-5 * slider.default ? null : rounded);
  }

  knob.addEventListener("input", () => {
    if (!slider) { return; }
    const at = Number(knob.value);
    set(slider.name === "aperture" ? slider.least * (slider.most / slider.least) ** (at / 1000) : at);
  });

  return (now) => {
    slider = now;
    byId("slider").hidden = !now;
    if (!now) { return; }
    const isAperture = now.name === "aperture";
    knob.max = isAperture ? "1000" : String(now.most);
    byId("knob-name").textContent = isAperture ? "Aperture α" : "Directions";
    byId("knob-name").dataset.term = now.name;
    if (!knob.matches(":active")) { knob.value = String(position(now, now.value)); }
    const text = isAperture ? now.value.toPrecision(3) : String(now.value);
    if (!knob.matches(":active")) { byId("knob-value").textContent = text; }
    knob.setAttribute("aria-valuetext", text);
    // The label of the smaller mark ends at its tick and the other one starts there: no overlap.
    const marks = Object.entries(now.marks).sort((a, b) => a[1] - b[1]);
    byId("marks").replaceChildren(...marks.map(([name, value], i) => {
      const kind = marks.length === 1 ? "" : i === 0 ? "ends" : "begins";
      const label = `${name} ${isAperture ? Number(value.toPrecision(3)) : value}`;
      const button = make("button", { type: "button", class: kind }, label);
      button.style.left = `${(100 * position(now, value)) / Number(knob.max)}%`;
      button.addEventListener("click", () => set(value));
      return button;
    }));
  };
}
