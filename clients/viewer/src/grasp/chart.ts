// The stability chart: outwards the tilt of gravity, around its azimuth, each direction marked. A click, or the arrow keys, choose one.

import type { Chart } from "./scene";

const SVG = "http://www.w3.org/2000/svg";
/** Radius of the rim in the picture's own units. */
const RIM = 150;
const MARGIN = 16;

/** A direction of the chart. */
export interface Place {
  row: number;
  column: number;
}

export class ChartPicture {
  readonly element = document.createElementNS(SVG, "svg");
  private readonly cells = new Map<string, SVGElement>();
  private chosen: Place = { row: 0, column: 0 };
  private readonly rows: number;
  private readonly columns: number;

  constructor(private readonly chart: Chart, private readonly onChoose: (place: Place) => void) {
    this.rows = chart.rows.length - 1;
    this.columns = chart.rows[this.rows].length;
    const reach = RIM + MARGIN;
    this.element.setAttribute("viewBox", `${-reach} ${-reach} ${2 * reach} ${2 * reach}`);
    this.element.setAttribute("class", "grasp-chart");
    this.element.setAttribute("tabindex", "0");
    this.element.setAttribute("role", "img");
    this.element.setAttribute("aria-label", "Stability chart: tilt of gravity outwards, azimuth around; arrow keys choose a direction");
    chart.rows.forEach((states, row) => states.forEach((state, column) => this.cell({ row, column }, state.verdict)));
    for (const share of [1 / 3, 2 / 3, 1]) this.ring(share);
    this.safeLine();
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.mark();
  }

  /** Marks a direction as the one that is shown. */
  choose(place: Place): void {
    this.chosen = place;
    this.mark();
    this.onChoose(place);
  }

  /** Its tilt and azimuth, radians. */
  angles({ row, column }: Place): [number, number] {
    return [(this.chart.tilt * row) / this.rows, (2 * Math.PI * column) / this.columns];
  }

  private cell(place: Place, verdict: string): void {
    const { row, column } = place;
    const step = RIM / (this.rows + 0.5);
    const element = document.createElementNS(SVG, row === 0 ? "circle" : "path");
    if (row === 0) {
      element.setAttribute("r", String(step / 2));
    } else {
      const corner = (tilt: number, azimuth: number) => at(step * tilt, ((column + azimuth) / this.columns) * 2 * Math.PI).join(" ");
      const [inner, outer] = [step * (row - 0.5), step * (row + 0.5)];
      element.setAttribute("d", `M${corner(row - 0.5, -0.5)}L${corner(row + 0.5, -0.5)}A${outer} ${outer} 0 0 1 ${corner(row + 0.5, 0.5)}L${corner(row - 0.5, 0.5)}A${inner} ${inner} 0 0 0 ${corner(row - 0.5, -0.5)}Z`);
    }
    element.setAttribute("class", `cell ${verdict}`);
    element.dataset.place = `${row} ${column}`;
    element.addEventListener("click", () => this.choose(place));
    const [tilt, azimuth] = this.angles(place).map((angle) => Math.round((angle * 1800) / Math.PI) / 10);
    const title = document.createElementNS(SVG, "title");
    title.textContent = `tilt ${tilt}°, azimuth ${azimuth}°: ${verdict}`;
    element.append(title);
    this.cells.set(`${row} ${column}`, element);
    this.element.append(element);
  }

  private ring(share: number): void {
    const ring = document.createElementNS(SVG, "circle");
    const radius = (RIM * this.rows * share) / (this.rows + 0.5);
    ring.setAttribute("r", String(radius));
    ring.setAttribute("class", "ring");
    const label = document.createElementNS(SVG, "text");
    label.textContent = `${Math.round((this.chart.tilt * share * 1800) / Math.PI) / 10}°`;
    label.setAttribute("x", "2");
    label.setAttribute("y", String(-radius + 10));
    this.element.append(ring, label);
  }

  private safeLine(): void {
    const line = document.createElementNS(SVG, "polygon");
    const scale = (RIM * this.rows) / (this.rows + 0.5) / this.chart.tilt;
    line.setAttribute("points", this.chart.safe.map((tilt, column) => at(scale * tilt, (2 * Math.PI * column) / this.columns).join(",")).join(" "));
    line.setAttribute("class", "safe");
    this.element.append(line);
  }

  private mark(): void {
    const chosen = `${this.chosen.row} ${this.chosen.column}`;
    for (const [place, cell] of this.cells) cell.classList.toggle("chosen", place === chosen);
    // Above its neighbours, so that its outline is seen.
    const cell = this.cells.get(chosen)!;
    const last = [...this.cells.values()].pop()!;
    this.element.insertBefore(cell, last.nextSibling);
    this.cells.delete(chosen);
    this.cells.set(chosen, cell);
  }

  private key(event: KeyboardEvent): void {
    const { row, column } = this.chosen;
    const around = { ArrowLeft: -1, ArrowRight: 1 }[event.code];
    const outwards = { ArrowUp: 1, ArrowDown: -1 }[event.code];
    if (around === undefined && outwards === undefined) return;
    event.preventDefault();
    const next = Math.min(this.rows, Math.max(0, row + (outwards ?? 0)));
    this.choose({ row: next, column: next === 0 ? 0 : (column + (around ?? 0) + this.columns) % this.columns });
  }
}

/** A point at a distance from the middle; azimuths begin at the top and go clockwise. */
function at(distance: number, azimuth: number): [number, number] {
  return [distance * Math.sin(azimuth), -distance * Math.cos(azimuth)];
}
