// The pages beside the picture, one of them open.

import { make, recall, remember } from "./dom";

export class Panel {
  readonly element: HTMLElement;
  /** Called with the name of a page that has been opened. */
  onOpen: (name: string) => void = () => undefined;
  private readonly tabs = new Map<string, HTMLButtonElement>();
  private readonly pages = new Map<string, HTMLElement>();

  constructor(pages: Record<string, HTMLElement>) {
    const bar = make("nav", { className: "tabs" });
    bar.setAttribute("role", "tablist");
    const holder = make("div", { className: "pages" });
    for (const [name, page] of Object.entries(pages)) {
      const tab = make("button", { type: "button", textContent: name, data: { tab: name }, onclick: () => this.open(name) });
      tab.setAttribute("role", "tab");
      page.setAttribute("role", "tabpanel");
      this.tabs.set(name, tab);
      this.pages.set(name, page);
      bar.append(tab);
      holder.append(page);
    }
    this.element = make("aside", { className: "panel" }, bar, holder);
    const kept = recall<string>("tab") ?? "";
    this.open(this.tabs.has(kept) ? kept : [...this.tabs.keys()][0]);
  }

  open(name: string): void {
    for (const [other, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(other === name));
      this.pages.get(other)!.hidden = other !== name;
    }
    remember("tab", name);
    this.onOpen(name);
  }
}
