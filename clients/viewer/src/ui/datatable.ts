// A list of sources of numbers that open: a line each with a summary, and when open every number with its unit and a button
// that plots it.

import type { Frame } from "../frame";
import { show, type Series, type Source } from "../series";
import { iconButton, make, write } from "./dom";

/** More lines than these are not laid out; a search finds the others. */
const MOST = 250;
const SUMMARY = 3;

/** A part of an open line that is neither name nor number. */
export interface Extra {
  element: HTMLElement;
  update?: (frame: Frame) => void;
}

export interface RowOptions {
  /** Items above the numbers of an open line. */
  extra?: (source: Source, index: number) => Extra[];
  /** The numbers that the summary shows. */
  brief?: (source: Source) => Series[];
  onToggle?: (index: number, open: boolean) => void;
  plot: (signal: Series) => void;
}

interface Row {
  source: Source;
  index: number;
  details: HTMLDetailsElement;
  summary: HTMLElement;
  brief: Series[];
  cells: HTMLElement[] | null;
  extra: Extra[];
}

export class DataTable {
  readonly element: HTMLElement;
  private readonly list = make("div", { className: "rows" });
  private readonly search = make("input", { type: "search", placeholder: "Find", className: "search" });
  private readonly more = make("p", { className: "hint" });
  private rows: Row[] = [];
  private sources: Source[] = [];

  constructor(noun: string, private readonly options: RowOptions) {
    this.search.placeholder = `Find ${noun}`;
    this.search.oninput = () => this.fill();
    this.element = make("section", { className: "list" }, this.search, this.list, this.more);
  }

  setSources(sources: Source[]): void {
    this.sources = sources;
    this.fill();
  }

  /** Opens a line and scrolls to it. */
  open(index: number): void {
    if (!this.rows.some((row) => row.index === index)) {
      this.search.value = this.sources[index]?.title ?? "";
      this.fill();
    }
    const row = this.rows.find((candidate) => candidate.index === index);
    if (!row) return;
    row.details.open = true;
    row.details.scrollIntoView({ block: "nearest" });
  }

  update(frame: Frame): void {
    if (this.element.offsetParent === null) return;
    for (const row of this.rows) {
      const unit = row.brief[0]?.unit ?? "";
      write(row.summary, `${row.brief.map((signal) => brief(signal.read(frame))).join("  ")}${unit && ` ${unit}`}`);
      if (!row.details.open) continue;
      row.cells?.forEach((cell, index) => write(cell, show(row.source.signals[index].read(frame))));
      row.extra.forEach((extra) => extra.update?.(frame));
    }
  }

  private fill(): void {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.sources
      .map((source, index) => ({ source, index }))
      .filter(({ source }) => `${source.robot}/${source.title} ${source.kind}`.toLowerCase().includes(wanted));
    this.rows = found.slice(0, MOST).map(({ source, index }) => this.row(source, index));
    const lines: HTMLElement[] = [];
    const robots = new Set(this.sources.map((source) => source.robot));
    let robot: string | null = null;
    for (const row of this.rows) {
      if (robots.size > 1 && row.source.robot !== robot) {
        robot = row.source.robot;
        lines.push(make("h3", { textContent: robot || "objects" }));
      }
      lines.push(row.details);
    }
    this.list.replaceChildren(...lines);
    write(this.more, found.length > MOST ? `${found.length - MOST} more; type to find them` : found.length === 0 ? "none" : "");
  }

  private row(source: Source, index: number): Row {
    const summary = make("span", { className: "brief" });
    const details = make(
      "details",
      { className: "row", data: { key: source.key } },
      make("summary", {}, make("span", { className: "name", textContent: source.title }), make("span", { className: "kind", textContent: source.kind }), summary),
    );
    const brief = this.options.brief?.(source) ?? source.signals.slice(0, SUMMARY);
    const row: Row = { source, index, details, summary, brief, cells: null, extra: [] };
    details.ontoggle = () => {
      if (details.open) {
        this.unfold(row);
        details.scrollIntoView({ block: "nearest" });
      }
      this.options.onToggle?.(index, details.open);
    };
    return row;
  }

  private unfold(row: Row): void {
    if (row.cells) return;
    row.cells = [];
    const body = make("tbody");
    for (const signal of row.source.signals) {
      const cell = make("td", { className: "value", textContent: "–" });
      row.cells.push(cell);
      const plot = iconButton("plus", `Plot ${signal.of} ${signal.name}`, () => this.options.plot(signal), "plot-button");
      plot.dataset.signal = signal.key;
      body.append(make("tr", {}, make("th", { textContent: signal.name, scope: "row" }), cell, make("td", { className: "unit", textContent: signal.unit }), make("td", {}, plot)));
    }
    row.extra = this.options.extra?.(row.source, row.index) ?? [];
    row.details.append(make("div", { className: "unfolded" }, ...row.extra.map(({ element }) => element), make("div", { className: "numbers" }, make("table", {}, body))));
  }
}

/** Numbers that round to zero are written as zero: a summary is for a glance. */
const brief = (value: number): string => show(Math.abs(value) < 1e-4 ? 0 : value);
