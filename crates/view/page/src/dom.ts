// Elements of the page. Text is always set as text, so names in traces never become markup.

type Attributes = Record<string, string | number | boolean | null | undefined>;
export type Child = Node | string | null | undefined;

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element with attributes and children. `null`, `undefined` and `false` omit an attribute. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element in the same way. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** Creates a button with a text and an action. */
export function button(text: string, action: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = el("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** Returns an element by id. All requested ids are in the page's HTML. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (!found) throw new Error(`element ${id} is missing`);
  return found as E;
}

/** Sets attributes only if they change, because screen readers and the layout react to each change. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Calls `action` once after `wait` ms without a further call. */
export function debounce(wait: number, action: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(action, wait);
  };
}

/** True for text inputs, in which letters are not commands. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "range")
  );
}
