// What has happened, newest first: one entry for what belongs together, so that neither commands nor connections hide the rest.

import type { CommandCount, Event } from "./protocol";

export const GROUPS = ["events", "problems", "commands", "connections"] as const;
export type Group = (typeof GROUPS)[number];

export interface Entry {
  group: Group;
  kind: string;
  /** The first and the last step it stands for. */
  first: number;
  last: number;
  epoch: number;
  /** Whom it concerns. */
  subject: string;
  text: string;
  value: number | null;
  /** Number of events that it stands for. */
  count: number;
}

/** More entries of a group than these are not kept. */
const MOST = 300;
/** A repeated event joins its entry while that is among this many newest ones of its group. */
const NEAR = 8;

const CONNECTIONS = new Set(["connect", "disconnect"]);
const PROBLEMS = new Set(["divergence", "clockSlip", "commandRefused", "sequenceBrokenOff", "physicsLimit", "logLimit", "logOutage", "unconverged", "lockstepTimeout"]);
/** Events of the user or the clock are listed each time. */
const APART = new Set(["play", "pause", "reset"]);

/** Where an event belongs. */
export function groupOf(kind: string): Group {
  if (CONNECTIONS.has(kind)) return "connections";
  return PROBLEMS.has(kind) ? "problems" : "events";
}

export class EventLog {
  /** Number of changes. */
  version = 0;
  private readonly groups: Record<Group, { entry: Entry; key: string; order: number }[]> = { events: [], problems: [], commands: [], connections: [] };
  private added = 0;

  /** All entries of some groups, newest first. */
  entries(wanted: (group: Group) => boolean): Entry[] {
    const all = GROUPS.filter(wanted).flatMap((group) => this.groups[group]);
    return all.sort((one, other) => other.order - one.order).map(({ entry }) => entry);
  }

  /** Number of kept events of a group. */
  count(group: Group): number {
    return this.groups[group].reduce((sum, { entry }) => sum + entry.count, 0);
  }

  add(event: Event): void {
    const { step, epoch, kind, subject, value } = event;
    const group = groupOf(kind);
    const key = APART.has(kind) ? "" : group === "connections" ? "connections" : `${kind} ${subject} ${event.text.replace(/[\d.]+/g, "#")}`;
    this.put({ group, kind, first: step, last: step, epoch, subject, text: event.text, value, count: 1 }, key);
  }

  addCommands({ step, epoch, device, client, text, count }: CommandCount): void {
    this.put({ group: "commands", kind: "command", first: step, last: step, epoch, subject: device, text: `${text} (${sender(client)})`, value: null, count }, device);
  }

  /** Joins an entry of late that is of the same kind, or becomes the newest one. */
  private put(entry: Entry, key: string): void {
    this.version += 1;
    const list = this.groups[entry.group];
    const near = list.slice(-NEAR).find((other) => key !== "" && other.key === key && other.entry.epoch === entry.epoch);
    if (near) {
      const { first, count } = near.entry;
      near.entry = { ...entry, kind: entry.group === "connections" ? "connections" : entry.kind, first, count: count + entry.count };
      return;
    }
    list.push({ entry, key, order: this.added++ });
    if (list.length > MOST) list.shift();
  }
}

/** Clients count from 1; 0 is a sequence in the process. */
function sender(client: number): string {
  return client === 0 ? "sequence" : `client ${client}`;
}
