// A recorded run: its frames come in chunks, it is scrubbed and played at any rate.

import { Frame, frames } from "./frame";
import type { Link } from "./link";
import { groupOf, EventLog } from "./eventlog";
import { deviceStarts, type CommandCount, type Event, type Run, type Scene } from "./protocol";

/** Frames of the whole run for the plots, and to show at once while scrubbing. */
const OVERVIEW = 600;
const CHUNK = 120;
const CHUNKS_KEPT = 40;
const DISPLAY_HZ = 60;

/** A run is followed in logged steps. */
export class Player {
  playing = false;
  rate = 1;
  /** The place in the run, in steps; it runs on between logged steps. */
  step: number;
  overview: Frame[] = [];
  /** Its events. */
  readonly log = new EventLog();
  /** Events that have a mark on the timeline. */
  readonly marked: Event[];
  private readonly chunks = new Map<string, Promise<Frame[]>>();
  private readonly loaded = new Map<string, Frame[]>();
  private shown: Frame | null = null;
  /** Places of the sensors' fields among the device values. */
  private readonly sensed: number[];

  private constructor(private readonly link: Link, readonly run: Run, readonly scene: Scene, events: Event[], commands: CommandCount[]) {
    this.step = run.first;
    this.marked = events.filter((event) => groupOf(event.kind) !== "connections");
    const happened = [...events.map((event) => ({ step: event.step, add: () => this.log.add(event) })), ...commands.map((command) => ({ step: command.step, add: () => this.log.addCommands(command) }))];
    happened.sort((one, other) => one.step - other.step);
    for (const { add } of happened) add();
    const starts = deviceStarts(scene);
    this.sensed = scene.devices.flatMap((device, id) => (device.actuator ? [] : device.fields.map((_, field) => starts[id] + field)));
  }

  /** Opens a run and reads its overview. */
  static async open(link: Link, run: Run): Promise<Player> {
    const path = `runs/${run.id}`;
    const [scene, events, commands] = await Promise.all([
      link.json<Scene>(`${path}/scene.json`),
      link.json<{ events: Event[] }>(`${path}/events.json`).catch(() => ({ events: [] })),
      link.json<{ commands: CommandCount[] }>(`${path}/commands.json`).catch(() => ({ commands: [] })),
    ]);
    const player = new Player(link, run, scene, events.events, commands.commands);
    const every = Math.max(1, Math.ceil(player.count / OVERVIEW)) * run.every;
    player.overview = player.held(frames(await link.bytes(`${path}/frames?from=${run.first}&count=${OVERVIEW}&every=${every}`)), null);
    return player;
  }

  get last(): number {
    return this.run.last ?? this.run.first;
  }

  get count(): number {
    return Math.floor((this.last - this.run.first) / this.run.every) + 1;
  }

  /** Goes to a step and stops there. */
  seek(step: number): void {
    this.playing = false;
    this.step = this.logged(step);
  }

  /** Goes on by logged steps. */
  advance(count: number): void {
    this.seek(this.step + count * this.run.every);
  }

  play(rate: number): void {
    this.rate = rate;
    if (this.step >= this.last) this.step = this.run.first;
    this.playing = true;
  }

  /** Lets time pass and gives the frame to show, if it is another one. A frame that is not there yet is fetched meanwhile. */
  tick(seconds: number): Frame | null {
    if (this.playing) {
      this.step += (seconds * this.rate) / this.run.timestep;
      if (this.step >= this.last) {
        this.step = this.last;
        this.playing = false;
      }
    }
    const frame = this.at(this.logged(this.step));
    if (!frame || frame === this.shown) return null;
    this.shown = frame;
    return frame;
  }

  private logged(step: number): number {
    const index = Math.round((step - this.run.first) / this.run.every);
    return this.run.first + Math.max(0, Math.min(index, this.count - 1)) * this.run.every;
  }

  private at(step: number): Frame | null {
    const index = (step - this.run.first) / this.run.every;
    const stride = this.playing ? Math.max(1, Math.floor(this.rate / (DISPLAY_HZ * this.run.timestep * this.run.every))) : 1;
    const chunk = Math.floor(index / (stride * CHUNK));
    const got = this.chunk(chunk, stride);
    if (this.playing) this.chunk(chunk + 1, stride);
    const place = Math.floor((index - chunk * stride * CHUNK) / stride);
    return got?.[Math.min(place, got.length - 1)] ?? this.nearest(step);
  }

  private nearest(step: number): Frame | null {
    let best: Frame | null = null;
    for (const frame of this.overview) {
      if (!best || Math.abs(frame.step - step) < Math.abs(best.step - step)) best = frame;
    }
    return best;
  }

  private chunk(index: number, stride: number): Frame[] | null {
    const key = `${index}:${stride}`;
    const from = index * CHUNK * stride;
    if (from >= this.count) return null;
    if (!this.chunks.has(key)) {
      const path = `runs/${this.run.id}/frames?from=${this.run.first + from * this.run.every}&count=${CHUNK}&every=${stride * this.run.every}`;
      const request = this.link.bytes(path).then((bytes) => this.held(frames(bytes), this.nearest(this.run.first + from * this.run.every)));
      this.chunks.set(key, request);
      request.then(
        (read) => this.loaded.set(key, read),
        () => this.chunks.delete(key),
      );
      for (const old of [...this.chunks.keys()].slice(0, -CHUNKS_KEPT)) {
        this.chunks.delete(old);
        this.loaded.delete(old);
      }
    }
    return this.loaded.get(key) ?? null;
  }

  /** A sensor's field that a step does not have keeps its last value; `before` has those from before the first frame. */
  private held(read: Frame[], before: Frame | null): Frame[] {
    let last = before?.devices;
    for (const { devices } of read) {
      for (const index of this.sensed) {
        if (last && Number.isNaN(devices[index])) devices[index] = last[index];
      }
      last = devices;
    }
    return read;
  }
}
