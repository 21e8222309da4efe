// The list of what has happened, newest first, with a switch for each group.

import { GROUPS, EventLog, type Entry, type Group } from "../eventlog";
import type { Scene } from "../protocol";
import { show } from "../series";
import { make, recall, remember, toggle, write } from "./dom";

/** More lines than these are not laid out. */
const MOST = 300;
const GROUP_NAMES: Record<Group, [string, string]> = {
  events: ["Events", "Play, pause, reset, faults, lockstep"],
  problems: ["Problems", "Slips, refused commands, limits, divergence"],
  commands: ["Commands", "What devices were told"],
  connections: ["Clients", "Who connected and left"],
};

export class Events {
  readonly element: HTMLElement;
  private readonly list = make("ol", { className: "events", id: "events" });
  private readonly none = make("p", { className: "hint" });
  private readonly counts = new Map<Group, HTMLElement>();
  private readonly lines = new WeakMap<Entry, HTMLElement>();
  private readonly shown: Record<Group, boolean>;
  private log = new EventLog();
  private timestep = 0.001;
  /** Common prefix of all names, where there is one robot. */
  private prefix = "";
  private seekable = false;
  private version = -1;

  constructor(private readonly onSeek: (step: number) => void) {
    this.shown = { events: true, problems: true, commands: true, connections: true, ...recall<Record<Group, boolean>>("events") };
    const switches = GROUPS.map((group) => {
      const [label, title] = GROUP_NAMES[group];
      const made = toggle(label, title, this.shown[group], (on) => {
        this.shown[group] = on;
        remember("events", this.shown);
        this.version = -1;
        this.update();
      });
      const count = make("span", { className: "count" });
      made.dataset.group = group;
      made.append(count);
      this.counts.set(group, count);
      return made;
    });
    this.element = make("section", { className: "list" }, make("div", { className: "filters" }, ...switches), this.none, this.list);
  }

  /** Shows a log; of a recorded run the times can be clicked. */
  setLog(log: EventLog, scene: Scene, seekable: boolean): void {
    [this.log, this.timestep, this.seekable, this.version] = [log, scene.timestep, seekable, -1];
    const robots = new Set(scene.devices.map((device) => device.robot));
    this.prefix = robots.size === 1 ? `${[...robots][0]}/` : "";
    this.list.replaceChildren();
    this.update();
  }

  /** Lays out what has changed. */
  update(): void {
    if (this.element.offsetParent === null || this.version === this.log.version) return;
    this.version = this.log.version;
    for (const [group, count] of this.counts) write(count, amount(this.log.count(group)));
    const entries = this.log.entries((group) => this.shown[group]).slice(0, MOST);
    const something = GROUPS.some((group) => this.log.count(group) > 0);
    write(this.none, entries.length > 0 ? "" : something ? "Nothing of what is switched on has happened." : "Nothing has happened yet.");
    const wanted = entries.map((entry) => this.line(entry));
    const present = [...this.list.children];
    if (wanted.length !== present.length || wanted.some((line, index) => line !== present[index])) this.list.replaceChildren(...wanted);
  }

  private line(entry: Entry): HTMLElement {
    const known = this.lines.get(entry);
    if (known && known.dataset.seekable === String(this.seekable)) return known;
    const { kind, group, first, last, count, subject } = entry;
    const at = (step: number) => (step * this.timestep).toFixed(3);
    const span = first === last ? `step ${first}` : `${at(first)} to ${at(last)} s, steps ${first} to ${last}`;
    const time = make("button", { type: "button", className: "event-time", textContent: at(last), title: span, disabled: !this.seekable });
    time.onclick = () => this.onSeek(last);
    const name = this.prefix && subject.startsWith(this.prefix) ? subject.slice(this.prefix.length) : subject;
    const value = entry.value === null ? "" : ` (${show(entry.value)})`;
    const line = make(
      "li",
      { data: { kind, group, seekable: String(this.seekable) } },
      time,
      make("span", { className: "event-kind" }, kind, count > 1 ? make("span", { className: "count", textContent: `×${amount(count)}` }) : null),
      make("span", { className: "event-text" }, name ? make("span", { className: "event-subject", textContent: name, title: subject }) : null, make("span", { className: "event-words", textContent: `${entry.text}${value}` })),
    );
    this.lines.set(entry, line);
    return line;
  }
}

/** A count in few letters. */
function amount(count: number): string {
  if (count < 10_000) return String(count);
  return count < 1e6 ? `${Math.floor(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`;
}
