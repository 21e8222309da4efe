// A few helpers for making elements.

type Child = Node | string | null | undefined;
type Properties<Tag extends keyof HTMLElementTagNameMap> = Partial<Omit<HTMLElementTagNameMap[Tag], "style">> & {
  data?: Record<string, string>;
  aria?: Record<string, string>;
};

/** Makes an element with properties and children. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties<Tag> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  const { data, aria, ...plain } = properties;
  Object.assign(element, plain);
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(aria ?? {})) element.setAttribute(`aria-${name}`, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button. */
export function button(label: string, title: string, onclick: () => void, className = ""): HTMLButtonElement {
  return make("button", { type: "button", textContent: label, title, onclick, className, aria: { label: title } });
}

/** A button that stays in. */
export function toggle(label: string, title: string, on: boolean, change: (on: boolean) => void): HTMLButtonElement {
  const element = button(label, title, () => {
    const next = element.getAttribute("aria-pressed") !== "true";
    element.setAttribute("aria-pressed", String(next));
    change(next);
  }, "toggle");
  element.setAttribute("aria-pressed", String(on));
  return element;
}

/** Writes a text where it has changed: the browser lays out no more than it must. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const TEXT = "input:not([type=checkbox], [type=radio], [type=range]), select, textarea";
const PRESSED = "button, summary, input[type=checkbox], input[type=radio]";

/** True where a key belongs to the element itself: all of them in a field for text, space and enter on what they press. */
export function takesKey(target: EventTarget | null, code: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest(TEXT) !== null || ((code === "Space" || code === "Enter") && target.closest(PRESSED) !== null);
}

/** Gives the keys back to the page: after a click on anything but a field for text, after a choice by pointer, and by Escape.
 * Who goes about by Tab keeps the place. */
export function releaseKeys(): void {
  let byPointer = false;
  const release = (target: EventTarget | null, what: string) => {
    if (byPointer && target instanceof Element) target.closest<HTMLElement>(what)?.blur();
  };
  window.addEventListener("pointerdown", () => (byPointer = true), { capture: true });
  window.addEventListener("keydown", (event) => (byPointer &&= event.code !== "Tab"), { capture: true });
  // A button that waits for a key keeps it.
  document.addEventListener("click", (event) => release(event.target, `:is(${PRESSED}):not(.key)`));
  document.addEventListener("change", (event) => release(event.target, "select, input[type=range], input[type=checkbox]"));
  document.addEventListener("pointerup", (event) => release(event.target, "input[type=range]"));
  window.addEventListener("keydown", (event) => {
    if (event.code === "Escape" && document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
}

const ICON_PATHS: Record<string, string> = {
  play: "M7 4.5v15l12-7.5z",
  pause: "M6.5 5h4v14h-4zM13.5 5h4v14h-4z",
  step: "M5 5v14l9-7zM16 5h3v14h-3z",
  reset: "M12 5V1.8L7.2 6 12 10.2V7a5.5 5.5 0 1 1-5.5 5.5h-2A7.5 7.5 0 1 0 12 5z",
  frame: "M4 9V4h5v2H6v3zM15 4h5v5h-2V6h-3zM4 15h2v3h3v2H4zM18 15h2v5h-5v-2h3z",
  plus: "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z",
  close: "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z",
  body: "M12 2v3.1A7 7 0 0 0 5.1 11H2v2h3.1a7 7 0 0 0 5.9 5.9V22h2v-3.1a7 7 0 0 0 5.9-5.9H22v-2h-3.1A7 7 0 0 0 13 5.1V2zM12 7a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM12 9.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5z",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18v-2a7 7 0 0 0 0-14z",
};

/** An icon. */
export function icon(name: string): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICON_PATHS[name]);
  svg.append(path);
  return svg;
}

/** A button with an icon. */
export function iconButton(name: string, title: string, onclick: () => void, className = "icon-button"): HTMLButtonElement {
  const element = button("", title, onclick, className);
  element.append(icon(name));
  return element;
}

/** Value stored in the browser under a key, or null. */
export function recall<T>(key: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(`simpartner.${key}`) ?? "null") as T | null;
  } catch {
    return null;
  }
}

/** Keeps something in the browser; where it may not, it goes without. */
export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(`simpartner.${key}`, JSON.stringify(value));
  } catch {
    // A page without storage works all the same.
  }
}
