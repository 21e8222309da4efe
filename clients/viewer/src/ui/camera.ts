// The panel of a camera: its newest image, what it is, and of depths the distance at a place.

import { CameraFeed } from "../camerafeed";
import { BEYOND, paint, RAMP, range, readDepths, TOO_NEAR, type Depths } from "../depth";
import type { Frame } from "../frame";
import { fieldOfView } from "../optics";
import { fullName, type Device, type Optics } from "../protocol";
import { button, make, write } from "./dom";

/** Names of encodings for people. */
const WORDS: Record<string, string> = { rgb8: "Colours", mono8: "Greys", "32FC1": "Depths", "32SC2": "Bodies" };
const DEPTHS = "32FC1";
/** Shortest time between two images, milliseconds: more are not seen. */
const LEAST_PERIOD_MS = 16;
/** Part of a new time between images in their mean. */
const SMOOTHING = 0.1;
/** Steps of the arrow keys in a picture, pixels of the camera; with Shift. */
const STEP = 1;
const STRIDE = 10;
const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** What the panel needs of the page. */
export interface CameraHost {
  /** A file of the server; fails with the reason in words. */
  image: (path: string) => Promise<ArrayBuffer>;
  /** The shown frame. */
  frame: () => Frame | null;
  /** True while the page shows the running world. */
  live: () => boolean;
}

export class CameraPanel {
  readonly element: HTMLElement;
  private readonly canvas = make("canvas", { className: "camera-image", tabIndex: 0 });
  private readonly note = make("p", { className: "camera-note" });
  private readonly place = make("p", { className: "camera-note camera-place" });
  private readonly problem = make("p", { className: "camera-problem", hidden: true });
  private readonly legend = make("div", { className: "camera-legend", hidden: true });
  private readonly choices: HTMLButtonElement[];
  private readonly feed: CameraFeed;
  private readonly optics: Optics;
  /** Images a second that the camera takes, in simulated time. */
  private readonly rate: number;
  private index = 0;
  private depths: Depths | null = null;
  private point: [number, number] | null = null;
  /** Mean time between images, milliseconds. */
  private spacing = NaN;
  private arrived = NaN;

  constructor(private readonly device: Device, optics: Optics, timestep: number, private readonly start: number, private readonly host: CameraHost) {
    this.optics = optics;
    this.rate = 1 / (device.interval_steps * timestep);
    this.canvas.setAttribute("role", "img");
    [this.canvas.width, this.canvas.height] = [optics.width, optics.height];
    this.canvas.style.aspectRatio = `${optics.width} / ${optics.height}`;
    this.problem.setAttribute("role", "status");
    this.place.setAttribute("role", "status");
    this.choices = optics.encodings.map((encoding, index) => button(WORDS[encoding] ?? encoding, `Show ${(WORDS[encoding] ?? encoding).toLowerCase()}`, () => this.choose(index), "toggle"));
    const group = make("div", { className: "camera-choice joined", aria: { label: "Image" }, hidden: this.choices.length < 2 }, ...this.choices);
    group.setAttribute("role", "group");
    this.element = make("div", { className: "camera-panel", data: { camera: fullName(device) } }, group, this.canvas, this.legend, this.problem, this.note, this.place, this.facts());
    this.feed = new CameraFeed({
      period: Math.max(LEAST_PERIOD_MS, 1000 / this.rate),
      present: () => this.reading(),
      watched: () => this.isWatched(),
      load: () => this.load(),
      failed: (why) => this.fail(why),
    });
    this.choose(0);
    this.listen();
  }

  /** Shows the newest image, if the panel is open. */
  update(): void {
    if (!this.host.live()) {
      this.clear();
      return this.fail(`A recorded run has no images here. simpartner render RUN --camera ${fullName(this.device)} --at TIME makes one.`);
    }
    this.feed.wake();
  }

  private choose(index: number): void {
    this.index = index;
    this.choices.forEach((choice, place) => choice.setAttribute("aria-pressed", String(place === index)));
    this.clear();
    this.feed.forget();
  }

  private get path(): string {
    const { robot, name } = this.device;
    const query = this.index === 0 ? "" : `?image=${this.index}`;
    return `cameras/${encodeURIComponent(robot)}/${encodeURIComponent(name)}.png${query}`;
  }

  /** The step of the image that has arrived last. */
  private step(): number {
    return this.host.frame()?.devices[this.start] ?? NaN;
  }

  /** The camera's reading, which changes with each image. */
  private reading(): string | null {
    const step = this.step();
    return Number.isFinite(step) ? `${this.host.frame()!.epoch} ${step}` : null;
  }

  private isWatched(): boolean {
    const open = this.element.closest("details")?.open ?? false;
    return open && this.element.offsetParent !== null && !document.hidden && this.host.live();
  }

  private async load(): Promise<void> {
    const index = this.index;
    const isDepths = this.optics.encodings[index] === DEPTHS;
    const before = this.step();
    const file = await this.host.image(this.path);
    const depths = isDepths ? await readDepths(file) : null;
    const bitmap = isDepths ? null : await createImageBitmap(new Blob([file], { type: "image/png" }));
    // Another image may have been chosen meanwhile, or a recorded run.
    if (index !== this.index || !this.host.live()) return bitmap?.close();
    this.depths = depths;
    if (depths) this.drawDepths(depths);
    if (bitmap) this.draw(bitmap.width, bitmap.height, (context) => context.drawImage(bitmap, 0, 0));
    bitmap?.close();
    this.problem.hidden = true;
    this.tell(before);
  }

  private draw(width: number, height: number, put: (context: CanvasRenderingContext2D) => void): void {
    if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
    const context = this.canvas.getContext("2d")!;
    put(context);
    this.canvas.dataset.images = String(Number(this.canvas.dataset.images ?? 0) + 1);
  }

  private drawDepths(depths: Depths): void {
    const [near, far] = range(depths) ?? [this.optics.near, this.optics.near + 1];
    const image = paint(depths, [near, far]);
    this.draw(depths.width, depths.height, (context) => context.putImageData(image, 0, 0));
    const [first, last] = [metres(near), metres(far)];
    if (this.legend.dataset.range !== `${first} ${last}`) {
      this.legend.dataset.range = `${first} ${last}`;
      const middle = metres(Math.sqrt(near * far));
      this.legend.replaceChildren(make("span", { textContent: first }), rampBar(0, 0.5), make("span", { textContent: middle }), rampBar(0.5, 1), make("span", { textContent: last }));
    }
    this.legend.hidden = false;
  }

  /** Says what the image is. It is of the step before it was asked for, or of a later one up to the present. */
  private tell(before: number): void {
    const now = performance.now();
    const spacing = now - this.arrived;
    this.arrived = now;
    if (Number.isFinite(spacing)) this.spacing = Number.isFinite(this.spacing) ? this.spacing + SMOOTHING * (spacing - this.spacing) : spacing;
    const after = this.step();
    const step = before < after ? `${before} to ${after}` : `${after}`;
    const encoding = this.optics.encodings[this.index];
    const seen = Number.isFinite(this.spacing) ? ` · ${round(1000 / this.spacing)} images/s shown` : "";
    write(this.note, `${this.canvas.width} × ${this.canvas.height} ${encoding} · step ${step} · camera ${round(this.rate)} Hz${seen}`);
    this.canvas.setAttribute("aria-label", `${WORDS[encoding] ?? encoding} of ${fullName(this.device)}, step ${step}`);
    this.tellPlace();
  }

  /** Says the distance at the pointed place. */
  private tellPlace(): void {
    if (!this.point || !this.depths) {
      return write(this.place, this.optics.encodings[this.index] === DEPTHS ? "Point at the image, or use its arrow keys, to read a distance." : "");
    }
    const { width, height, millimetres } = this.depths;
    const [column, row] = [Math.min(width - 1, this.point[0]), Math.min(height - 1, this.point[1])];
    const value = millimetres[row * width + column];
    const words = value === TOO_NEAR ? "nearer than it sees" : value === BEYOND ? "beyond its range" : metres(value / 1000);
    write(this.place, `column ${column}, row ${row}: ${words}`);
  }

  private facts(): HTMLElement {
    const { focal, principal_point: principal, near, far, lens } = this.optics;
    const [across, down] = fieldOfView(this.optics).map((angle) => round((angle * 180) / Math.PI));
    const pairs: [string, string][] = [
      ["Field of view", `${across}° × ${down}°`],
      ["Range", `${metres(near)} to ${far === null ? "any distance" : metres(far)}`],
      ["Focal lengths", `${pixels(focal[0])}, ${pixels(focal[1])} px`],
      ["Principal point", `${pixels(principal[0])}, ${pixels(principal[1])} px`],
      ["Lens", [lens.model, ...Object.entries(lens.coefficients).filter(([, value]) => value !== 0).map(([name, value]) => `${name} ${value}`)].join(", ")],
    ];
    return make("dl", { className: "camera-facts" }, ...pairs.flatMap(([name, value]) => [make("dt", { textContent: name }), make("dd", { textContent: value })]));
  }

  private fail(why: string): void {
    write(this.problem, why);
    this.problem.hidden = false;
    [this.spacing, this.arrived] = [NaN, NaN];
  }

  /** Empties the picture. */
  private clear(): void {
    this.canvas.getContext("2d")!.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.depths = null;
    this.legend.hidden = true;
    [this.spacing, this.arrived] = [NaN, NaN];
    write(this.note, "");
    const encoding = this.optics.encodings[this.index];
    this.canvas.setAttribute("aria-label", `${WORDS[encoding] ?? encoding} of ${fullName(this.device)}, no image yet`);
    this.tellPlace();
  }

  private listen(): void {
    this.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      const { clientWidth, clientHeight } = this.canvas;
      this.pointAt(Math.floor((offsetX * this.canvas.width) / clientWidth), Math.floor((offsetY * this.canvas.height) / clientHeight));
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.point = null;
      this.tellPlace();
    });
    this.canvas.addEventListener("keydown", (event) => {
      const way = ARROWS[event.code];
      if (!way || !this.depths) return;
      // The keys are not the robot's while the image has them.
      event.preventDefault();
      event.stopPropagation();
      const [column, row] = this.point ?? [Math.floor(this.canvas.width / 2), Math.floor(this.canvas.height / 2)];
      const step = event.shiftKey ? STRIDE : STEP;
      this.pointAt(column + way[0] * step, row + way[1] * step);
    });
  }

  private pointAt(column: number, row: number): void {
    this.point = [Math.max(0, Math.min(this.canvas.width - 1, column)), Math.max(0, Math.min(this.canvas.height - 1, row))];
    this.tellPlace();
  }
}

/** A part of the scale of colours, of which 0 is the nearest and 1 the farthest. */
function rampBar(from: number, to: number): HTMLCanvasElement {
  const [first, last] = [from, to].map((share) => Math.round((share * RAMP.length) / 3));
  const bar = make("canvas", { className: "camera-ramp", width: last - first, height: 1, aria: { hidden: "true" } });
  const context = bar.getContext("2d")!;
  const image = context.createImageData(bar.width, 1);
  for (let step = first; step < last; step += 1) image.data.set([...RAMP.subarray(3 * step, 3 * step + 3), 255], 4 * (step - first));
  context.putImageData(image, 0, 0);
  return bar;
}

const round = (value: number): number => Number(value.toPrecision(3));
const pixels = (value: number): number => Number(value.toFixed(2));
const metres = (value: number): string => `${round(value)} m`;
