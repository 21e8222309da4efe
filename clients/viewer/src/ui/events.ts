// The list of events, newest first.

import type { Event } from "../protocol";
import { make, write } from "./dom";
import { show } from "../signals";

const MOST = 300;
const GRAVE = new Set(["divergence", "clockSlip", "commandRefused", "physicsLimit", "logLimit", "unconverged", "lockstepTimeout"]);

export class Events {
  readonly element: HTMLElement;
  private readonly list = make("ol", { className: "events", id: "events" });
  private readonly none = make("p", { className: "hint", textContent: "Nothing has happened yet." });
  private timestep = 0.001;

  constructor(private readonly onSeek: (event: Event) => void) {
    this.element = make("section", { className: "list" }, this.none, this.list);
  }

  clear(timestep: number): void {
    this.timestep = timestep;
    this.list.replaceChildren();
    this.none.hidden = false;
  }

  set(events: Event[], timestep: number): void {
    this.clear(timestep);
    for (const event of events) this.add(event);
  }

  add(event: Event): void {
    this.none.hidden = true;
    const time = make("button", { type: "button", className: "event-time", textContent: (event.step * this.timestep).toFixed(3), title: `step ${event.step}` });
    time.onclick = () => this.onSeek(event);
    const value = event.value === null ? "" : ` (${show(event.value)})`;
    const text = make("span", { className: "event-text" });
    write(text, `${event.subject ? `${event.subject}: ` : ""}${event.text}${value}`);
    this.list.prepend(
      make("li", { data: { kind: event.kind, grave: String(GRAVE.has(event.kind)) } }, time, make("span", { className: "event-kind", textContent: event.kind }), text),
    );
    while (this.list.childElementCount > MOST) this.list.lastElementChild?.remove();
  }
}
