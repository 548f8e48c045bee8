// @ts-check
// What is seen as one file that needs no server: styles inside, the map as a picture.

import { make } from "./panels.js";
import { picture } from "./plane.js";

/** @param {string} name @param {string} text @param {string} type */
export function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** @param {string} title @returns {Promise<string>} */
export async function snapshot(title) {
  const styles = await Promise.all(["style.css", "page.css"].map(async (name) => (await fetch(`/static/${name}`)).text()));
  const drawn = await picture();
  const copy = /** @type {HTMLElement} */ (document.documentElement.cloneNode(true));
  copy.querySelectorAll("script, link, .actions, .listbox, #concept-form button, #run-figures, progress, .status").forEach((each) => each.remove());
  for (const [i, input] of [...copy.querySelectorAll("input, select, textarea")].entries()) {
    const now = /** @type {HTMLInputElement} */ (document.querySelectorAll("input, select, textarea")[i]);
    if (!now || input.id !== now.id) { continue; }
    if (now.type === "radio" || now.type === "range") { continue; }
    input.replaceWith(make("b", {}, now.value));
  }
  copy.querySelectorAll("input, .marks").forEach((each) => each.remove());
  copy.querySelectorAll("button").forEach((each) => each.replaceWith(make("span", { class: each.className }, each.textContent ?? "")));
  const frame = copy.querySelector("iframe");
  frame?.replaceWith(drawn ? make("img", { src: drawn, alt: "Map of words", class: "picture" }) : "");
  copy.querySelectorAll("[role=tabpanel][hidden]").forEach((each) => each.remove());
  copy.querySelector(".tabs")?.remove();
  copy.querySelector("title")?.replaceChildren(title);
  copy.querySelector("head")?.append(make("style", {}, `${styles.join("\n")}\n.picture { max-width: 100%; }`));
  return `<!doctype html>\n${copy.outerHTML}\n`;
}
