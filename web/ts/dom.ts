// Small helpers for the document. Styles go through setProperty: the page's policy allows no style attributes.

export function $<T extends Element = HTMLElement>(selector: string, root: ParentNode = document): T {
  const e = root.querySelector<T>(selector);
  if (!e) throw new Error(`no element ${selector}`);
  return e;
}

export function maybe<T extends Element = HTMLElement>(selector: string, root: ParentNode = document): T | null {
  return root.querySelector<T>(selector);
}

export function $$<T extends Element = HTMLElement>(selector: string, root: ParentNode = document): T[] {
  return [...root.querySelectorAll<T>(selector)];
}

type Attributes = Record<string, string | number | boolean | undefined>;

/** Makes an element: h("span", { class: "dim" }, "text", child). */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    e.setAttribute(name, value === true ? "" : String(value));
  }
  e.append(...children);
  return e;
}

const SVG = "http://www.w3.org/2000/svg";

/** A mark of the page's sprite. */
export function icon(name: string, filled = false): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", filled ? "i f" : "i");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export function arrow(): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 60 12");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", "M0 6h56M50 1l7 5-7 5");
  svg.append(path);
  return svg;
}

/** Sets a text only where it differs, so that ten pictures a second cost little. */
export function say(e: Element, text: string): void {
  if (e.textContent !== text) e.textContent = text;
}

export function attr(e: Element, name: string, value: string | null): void {
  if (value === null) {
    if (e.hasAttribute(name)) e.removeAttribute(name);
  } else if (e.getAttribute(name) !== value) {
    e.setAttribute(name, value);
  }
}

export function cls(e: Element, name: string): void {
  if (e.className !== name) e.className = name;
}

export function prop(e: HTMLElement | SVGElement, name: string, value: string | number): void {
  const s = String(value);
  if (e.style.getPropertyValue(name) !== s) e.style.setProperty(name, s);
}

/** Gives the parent exactly n children, making new ones as needed. */
export function fit<T extends Element>(parent: Element, n: number, make: (i: number) => T): T[] {
  while (parent.children.length > n) parent.lastElementChild?.remove();
  for (let i = parent.children.length; i < n; i++) parent.append(make(i));
  return [...parent.children] as T[];
}

/** What a page handed over as JSON. */
export function handed<T>(id: string): T {
  return JSON.parse($(`#${id}`).textContent ?? "null") as T;
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

/** Whether this is a projector's page, where all is larger. */
export const presenting = maybe(".lab.present") !== null;
