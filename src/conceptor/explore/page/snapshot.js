// @ts-check
// The page as one file that needs no server: styles included, the map as a picture.

import { make } from "./panels.js";

/** @param {string} name @param {string} text @param {string} type */
export function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** @param {string} title @param {string} picture of the map, as an address @returns {Promise<string>} */
export async function snapshot(title, picture) {
  const styles = await Promise.all(["style.css", "page.css"].map(async (name) => (await fetch(`/static/${name}`)).text()));
  const copy = /** @type {HTMLElement} */ (document.documentElement.cloneNode(true));
  copy.querySelectorAll("script, link, .actions, .listbox, .jump, .tip, .morph, .find, #concept-form button, #run-figures, progress, .status").forEach((each) => each.remove());
  for (const [i, input] of [...copy.querySelectorAll("input, select, textarea")].entries()) {
    const now = /** @type {HTMLInputElement} */ (document.querySelectorAll("input, select, textarea")[i]);
    if (!now || input.id !== now.id) { continue; }
    if (now.type === "radio" || now.type === "range") { continue; }
    input.replaceWith(make("b", {}, now.value));
  }
  copy.querySelectorAll("input, .marks").forEach((each) => each.remove());
  copy.querySelectorAll("button").forEach((each) => each.replaceWith(make("span", { class: each.className }, each.textContent ?? "")));
  copy.querySelectorAll(".map-view, .map-tip, .map-buttons, .map-labels [hidden]").forEach((each) => each.remove());
  copy.querySelectorAll("canvas").forEach((canvas, i) => canvas.replaceWith(i || !picture ? "" : make("img", { src: picture, alt: "Map of words", class: "picture" })));
  const [map, still] = [document, copy].map((root) => /** @type {HTMLElement} */ (root.querySelector("#map")));
  // Fix the map's size, so that the names stay in place.
  Object.assign(still.style, { flex: "none", width: `${map.clientWidth}px`, height: `${map.clientHeight}px` });
  copy.querySelectorAll("[role=tabpanel][hidden]").forEach((each) => each.remove());
  copy.querySelector(".tabs")?.remove();
  copy.querySelector("title")?.replaceChildren(title);
  copy.querySelector("head")?.append(make("style", {}, `${styles.join("\n")}\n.picture { position: absolute; inset: 0; width: 100%; height: 100%; }`));
  return `<!doctype html>\n${copy.outerHTML}\n`;
}
