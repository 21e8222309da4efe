// A scan as a polar plot: ahead is up, and of several layers also the picture of their distances.

import type { Rays } from "../protocol";
import { nearest, reach, roundUp, scanOf, type Scan } from "../scan";
import { make, write } from "./dom";

const MARGIN = 16;
/** Rings at most. */
const RINGS = 5;
/** Height of the picture of distances, and of its rows at most, CSS pixels. */
const IMAGE = 96;
const ROW = 12;

interface Colours {
  line: string;
  muted: string;
  ink: string;
  accent: string;
  hit: string;
}

export class ScanPlot {
  readonly element: HTMLElement;
  private readonly scan: Scan;
  private readonly canvas = make("canvas", { className: "scan" });
  private readonly image: HTMLCanvasElement | null;
  private readonly note = make("p", { className: "scan-note" });
  private distances: ArrayLike<number> = [];
  private theme = "";
  /** The ray under the pointer. */
  private pointed = -1;

  constructor(rays: Rays, name: string) {
    this.scan = scanOf(rays);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `Scan of ${name}`);
    this.image = this.scan.layers > 1 ? make("canvas", { className: "scan-image", title: "Distances: near is strong; left is left, the highest layer on top" }) : null;
    this.element = make("div", { className: "scan-plot", data: { layers: String(this.scan.layers) } }, this.canvas, this.image, this.note);
    this.canvas.onpointermove = (event) => this.point(event);
    this.canvas.onpointerleave = () => {
      this.pointed = -1;
      this.draw();
    };
  }

  /** Shows other distances, one for each ray. */
  update(distances: ArrayLike<number>): void {
    const theme = document.documentElement.dataset.theme ?? "";
    const same = theme === this.theme && distances.length === this.distances.length && this.canvas.width > 0 && this.width() === this.drawnWidth;
    if (same && Array.prototype.every.call(distances, (value: number, ray: number) => Object.is(value, this.distances[ray]))) return;
    this.theme = theme;
    this.distances = Array.from(distances);
    this.draw();
  }

  private drawnWidth = 0;

  private width(): number {
    return this.element.clientWidth;
  }

  private draw(): void {
    const width = this.width();
    if (width === 0) return;
    this.drawnWidth = width;
    const { scan } = this;
    const place = placed(width, scan.half);
    const context = prepared(this.canvas, width, place.height);
    const colours = readColours();
    const far = reach(scan, this.distances);
    const scale = place.radius / far;
    context.translate(place.x, place.y);
    grid(context, place.radius, far, scan.half, colours);
    if (scan.layers === 1) this.area(context, scale, place.radius, colours);
    this.points(context, scale, place.radius, colours);
    this.tell(context, scale, colours);
    if (this.image) this.drawImage(this.image, width, colours);
  }

  /** Draws the free area of the rays of one fan. */
  private area(context: CanvasRenderingContext2D, scale: number, radius: number, colours: Colours): void {
    context.beginPath();
    // All around there is no edge to the middle.
    if (this.scan.half < Math.PI * 0.98) context.moveTo(0, 0);
    this.each((_, angle, distance) => {
      const length = Math.min(distance * scale, radius);
      context.lineTo(-Math.sin(angle) * length, -Math.cos(angle) * length);
    });
    context.closePath();
    context.globalAlpha = 0.13;
    context.fillStyle = colours.accent;
    context.fill();
    context.globalAlpha = 0.7;
    context.strokeStyle = colours.accent;
    context.lineWidth = 1;
    context.stroke();
    context.globalAlpha = 1;
  }

  private points(context: CanvasRenderingContext2D, scale: number, radius: number, colours: Colours): void {
    const { scan } = this;
    const size = scan.angles.length > 2000 ? 1.4 : 2.4;
    this.each((ray, angle, distance) => {
      if (distance >= scan.range) return;
      const length = distance * Math.cos(scan.elevations[ray]) * scale;
      if (length > radius + 1) return;
      const layer = Math.floor(ray / scan.columns);
      context.fillStyle = scan.layers === 1 ? colours.hit : layerColour(layer, scan.layers);
      context.fillRect(-Math.sin(angle) * length - size / 2, -Math.cos(angle) * length - size / 2, size, size);
    });
  }

  /** Marks the nearest ray, or the one under the pointer, and says what it is. */
  private tell(context: CanvasRenderingContext2D, scale: number, colours: Colours): void {
    const { scan } = this;
    const near = nearest(scan, this.distances);
    const ray = this.pointed >= 0 ? this.pointed : (near?.ray ?? -1);
    const distance = this.distances[ray];
    if (ray < 0 || !Number.isFinite(distance)) {
      return write(this.note, near === null && this.distances.length > 0 ? `nothing within ${metres(scan.range)}` : "no reading yet");
    }
    const length = distance * Math.cos(scan.elevations[ray]) * scale;
    const [x, y] = [-Math.sin(scan.angles[ray]) * length, -Math.cos(scan.angles[ray]) * length];
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(0, 0);
    context.lineTo(x, y);
    context.stroke();
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.stroke();
    const degrees = Math.round((scan.angles[ray] * 180) / Math.PI);
    const side = degrees === 0 ? "ahead" : `${Math.abs(degrees)}° ${degrees > 0 ? "left" : "right"}`;
    const layer = scan.layers > 1 ? `, layer ${Math.floor(ray / scan.columns) + 1} of ${scan.layers}` : "";
    const what = this.pointed >= 0 ? `ray ${ray + 1}: ${distance >= scan.range ? "nothing within " : ""}` : "nearest ";
    write(this.note, `${what}${metres(distance)}, ${side}${layer}`);
  }

  private each(take: (ray: number, angle: number, distance: number) => void): void {
    const { angles } = this.scan;
    for (let ray = 0; ray < angles.length; ray += 1) {
      const distance = this.distances[ray];
      if (Number.isFinite(distance)) take(ray, angles[ray], distance);
    }
  }

  private point(event: PointerEvent): void {
    const { half, angles, columns } = this.scan;
    const place = placed(this.width(), half);
    const angle = Math.atan2(-(event.offsetX - place.x), -(event.offsetY - place.y));
    let best = 0;
    for (let column = 1; column < columns; column += 1) {
      if (Math.abs(angles[column] - angle) < Math.abs(angles[best] - angle)) best = column;
    }
    // Of several layers the one that meets the nearest thing there.
    for (let ray = best; ray < angles.length; ray += columns) {
      if (this.distances[ray] < this.distances[best]) best = ray;
    }
    this.pointed = best;
    this.draw();
  }

  private drawImage(canvas: HTMLCanvasElement, width: number, colours: Colours): void {
    const { layers, columns, range, angles } = this.scan;
    const height = Math.min(IMAGE, layers * ROW);
    const context = prepared(canvas, width, height);
    const flipped = angles[0] < angles[columns - 1];
    for (let layer = 0; layer < layers; layer += 1) {
      for (let column = 0; column < columns; column += 1) {
        const distance = this.distances[layer * columns + (flipped ? columns - 1 - column : column)];
        if (!(distance < range)) continue;
        context.globalAlpha = 0.12 + 0.88 * (1 - distance / range);
        context.fillStyle = colours.hit;
        const [left, top] = [Math.floor((column * width) / columns), Math.floor(((layers - 1 - layer) * height) / layers)];
        context.fillRect(left, top, Math.ceil(width / columns), Math.ceil(height / layers));
      }
    }
    context.globalAlpha = 1;
  }
}

/** Where the scanner stands in a picture so wide, and how high it is: half a disc will do for what looks ahead only. */
function placed(width: number, half: number): { x: number; y: number; radius: number; height: number } {
  const radius = Math.max(20, Math.min(width / 2 - MARGIN, 150));
  const behind = Math.max(0, -Math.cos(Math.min(half, Math.PI))) * radius;
  return { x: width / 2, y: radius + MARGIN, radius, height: radius + behind + 2 * MARGIN };
}

function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = Math.min(window.devicePixelRatio, 2);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Rings at round distances, and a line every 30 degrees. */
function grid(context: CanvasRenderingContext2D, radius: number, far: number, half: number, colours: Colours): void {
  const open = Math.min(Math.PI, Math.ceil(half / (Math.PI / 6) - 1e-6) * (Math.PI / 6));
  const step = roundUp(far / RINGS);
  context.strokeStyle = colours.line;
  context.fillStyle = colours.muted;
  context.lineWidth = 1;
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "bottom";
  for (let distance = step; distance <= far * 1.001; distance += step) {
    const length = (distance / far) * radius;
    context.beginPath();
    context.arc(0, 0, length, -Math.PI / 2 - open, -Math.PI / 2 + open);
    context.stroke();
  }
  context.beginPath();
  for (let angle = -open; angle <= open + 1e-6; angle += Math.PI / 6) {
    context.moveTo(0, 0);
    context.lineTo(Math.sin(angle) * radius, -Math.cos(angle) * radius);
  }
  context.stroke();
  for (let distance = step; distance <= far * 1.001; distance += step) {
    context.fillText(metres(distance), 3, -(distance / far) * radius - 1);
  }
}

/** From blue for the lowest to orange for the highest. */
function layerColour(layer: number, layers: number): string {
  return `hsl(${215 - (185 * layer) / Math.max(1, layers - 1)} 75% 52%)`;
}

function metres(distance: number): string {
  return `${Number(distance.toPrecision(3))} m`;
}

function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return { line: read("--line"), muted: read("--muted"), ink: read("--ink"), accent: read("--accent"), hit: read("--bad") };
}
