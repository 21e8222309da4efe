// Plots of signals over simulated time, side by side under the picture.

import uPlot from "uplot";
import type { Frame } from "../frame";
import type { History } from "../history";
import { show, type Series } from "../series";
import { iconButton, make, recall, remember, write } from "./dom";

const MOST_SERIES = 6;
const WINDOWS = [5, 10, 30, 60];
/** Milliseconds between two drawings. */
const PAUSE_MS = 80;
const LIGHT = ["#2563eb", "#d97706", "#15935a", "#b5337f", "#7c53c9", "#0f8fa3"];
const DARK = ["#7db0ff", "#ffb54a", "#5fd39a", "#ff86c0", "#b79bff", "#56d0e0"];

interface Plot {
  signals: Series[];
  holder: HTMLElement;
  legend: HTMLElement;
  values: HTMLElement[];
  chart: uPlot | null;
}

export class Plots {
  readonly element: HTMLElement;
  private readonly strip = make("div", { className: "strip", id: "plots" });
  private readonly window = make("select", { id: "window", title: "Seconds to show" });
  private plots: Plot[] = [];
  private sceneName = "";
  private drawn = 0;
  private generation = -1;
  private shown: Frame | null = null;

  constructor(private history: History) {
    for (const seconds of WINDOWS) this.window.append(make("option", { value: String(seconds), textContent: `${seconds} s`, selected: seconds === 10 }));
    this.window.onchange = () => this.draw(true);
    this.element = make("section", { className: "plots", hidden: true }, make("div", { className: "plots-side" }, this.window), this.strip);
    new ResizeObserver(() => this.fit()).observe(this.strip);
  }

  /** Shows the signals that were plotted when this scene was last seen. */
  setScene(name: string, signals: Series[]): void {
    for (const plot of this.plots) plot.chart?.destroy();
    this.plots = [];
    this.sceneName = name;
    const known = new Map(signals.map((signal) => [signal.key, signal]));
    for (const keys of recall<string[][]>(`plots.${name}`) ?? []) {
      const kept = keys.map((key) => known.get(key)).filter((signal) => signal !== undefined);
      if (kept.length > 0) this.plots.push(this.plot(kept));
    }
    this.lay();
  }

  setHistory(history: History): void {
    this.history = history;
    this.draw(true);
  }

  /** Adds a signal to a plot of the same unit and thing, or makes a new one. */
  add(signal: Series): void {
    if (this.plots.some((plot) => plot.signals.some((other) => other.key === signal.key))) return;
    const host = this.plots.find(
      ({ signals }) => signals[0].unit === signal.unit && kindOf(signals[0]) === kindOf(signal) && signals.length < MOST_SERIES,
    );
    if (host) {
      host.signals.push(signal);
      host.chart?.destroy();
      host.chart = null;
    } else {
      this.plots.push(this.plot([signal]));
    }
    this.keep();
    this.lay();
  }

  /** Draws, unless it has just done so. `shown` is the place in a recorded run, null is live. */
  update(shown: Frame | null): void {
    const jumped = shown !== this.shown || this.generation !== this.history.generation;
    this.shown = shown;
    this.window.hidden = shown !== null;
    if (this.plots.length > 0 && (jumped || shown === null)) this.draw(false);
  }

  /** Draws in other colours. */
  restyle(): void {
    for (const plot of this.plots) {
      plot.chart?.destroy();
      plot.chart = null;
    }
    this.draw(true);
  }

  private draw(now: boolean): void {
    const time = performance.now();
    if (!now && time - this.drawn < PAUSE_MS) return;
    this.drawn = time;
    this.generation = this.history.generation;
    let { frames } = this.history;
    const end = frames[frames.length - 1]?.time ?? 0;
    const begin = this.shown === null ? end - Number(this.window.value) : (frames[0]?.time ?? 0);
    const first = frames.findIndex((frame) => frame.time >= begin);
    frames = frames.slice(Math.max(0, first - 1));
    const times = frames.map((frame) => frame.time);
    for (const plot of this.plots) {
      plot.chart ??= this.chart(plot);
      const values = plot.signals.map((signal) => frames.map((frame) => finite(signal.read(frame))));
      plot.chart.batch(() => {
        plot.chart?.setData([times, ...values], false);
        plot.chart?.setScale("x", { min: begin, max: Math.max(end, begin + 1e-3) });
      });
      this.tell(plot);
    }
  }

  private plot(signals: Series[]): Plot {
    return { signals, holder: make("div", { className: "plot" }), legend: make("div", { className: "legend" }), values: [], chart: null };
  }

  private lay(): void {
    this.element.hidden = this.plots.length === 0;
    this.strip.replaceChildren(
      ...this.plots.map((plot) => {
        const close = iconButton("close", "Close this plot", () => this.close(plot), "plot-close");
        return make("div", { className: "plot-cell" }, make("div", { className: "plot-head" }, plot.legend, close), plot.holder);
      }),
    );
    this.fit();
    this.draw(true);
  }

  private close(plot: Plot): void {
    plot.chart?.destroy();
    this.plots = this.plots.filter((other) => other !== plot);
    this.keep();
    this.lay();
  }

  private keep(): void {
    remember(`plots.${this.sceneName}`, this.plots.map((plot) => plot.signals.map((signal) => signal.key)));
  }

  private fit(): void {
    for (const plot of this.plots) {
      const { clientWidth: width, clientHeight: height } = plot.holder;
      if (plot.chart && width > 0) plot.chart.setSize({ width, height });
    }
  }

  private chart(plot: Plot): uPlot {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const colours = document.documentElement.dataset.theme === "dark" ? DARK : LIGHT;
    const { unit } = plot.signals[0];
    const axis = {
      stroke: colour("--muted"),
      font: "11px system-ui, sans-serif",
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
    };
    const options: uPlot.Options = {
      width: plot.holder.clientWidth || 320,
      height: plot.holder.clientHeight || 160,
      padding: [8, 10, 0, 0],
      scales: { x: { time: false, auto: false }, y: { range: span } },
      axes: [
        { ...axis, size: 22, gap: 3, values: (_, splits) => splits.map((split, index) => `${Number(split.toFixed(3))}${index === splits.length - 1 ? " s" : ""}`) },
        { ...axis, size: 54, gap: 4, values: (_, splits) => splits.map(short) },
      ],
      series: [
        {},
        ...plot.signals.map((signal, index) => ({ label: signal.name, stroke: colours[index % colours.length], width: 1.5, points: { show: false } })),
      ],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { setCursor: [() => this.tell(plot)], draw: [(chart) => this.mark(chart, colour("--accent"))] },
    };
    plot.values = plot.signals.map(() => make("span", { className: "legend-value" }));
    const [first] = plot.signals;
    const several = plot.signals.length > 1;
    const sameName = several && plot.signals.every((signal) => signal.name === first.name);
    const sameThing = several && plot.signals.every((signal) => signal.of === first.of);
    const common = sameName ? first.name : sameThing ? first.of : "";
    plot.legend.replaceChildren(
      make("span", { className: "legend-unit", textContent: `${common} ${unit && `[${unit}]`}`.trim() }),
      ...plot.signals.map((signal, index) => {
        const chip = make("span", { className: "chip" });
        chip.style.background = colours[index % colours.length];
        const label = sameName ? signal.of : sameThing ? signal.name : `${signal.of} ${signal.name}`;
        return make("span", { className: "legend-item", title: `${signal.of} ${signal.name}` }, chip, label, plot.values[index]);
      }),
    );
    plot.holder.replaceChildren();
    return new uPlot(options, [[], ...plot.signals.map(() => [])], plot.holder);
  }

  /** Writes the values under the mouse, or of the place in a recorded run, which lies between those drawn, or the last ones. */
  private tell({ chart, values, signals }: Plot): void {
    if (!chart) return;
    const { idx } = chart.cursor;
    const index = idx ?? chart.data[0].length - 1;
    const at = idx == null ? this.shown : null;
    values.forEach((value, series) => write(value, show((at ? signals[series].read(at) : chart.data[series + 1][index]) ?? NaN)));
  }

  /** A line at the present place of a recorded run. */
  private mark(chart: uPlot, colour: string): void {
    if (this.shown === null) return;
    const x = Math.round(chart.valToPos(this.shown.time, "x", true));
    const { left, top, width, height } = chart.bbox;
    if (x < left || x > left + width) return;
    chart.ctx.save();
    chart.ctx.strokeStyle = colour;
    chart.ctx.lineWidth = 1.5 * devicePixelRatio;
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, top);
    chart.ctx.lineTo(x, top + height);
    chart.ctx.stroke();
    chart.ctx.restore();
  }
}

const kindOf = (signal: Series): string => signal.key.slice(0, signal.key.indexOf(":"));
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** A little room above and below; what hardly changes is not blown up to noise. */
function span(_: uPlot, low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  const room = high - low > size * 1e-6 ? Math.max((high - low) * 0.08, size * 1e-3) : Math.max(size * 0.1, 0.1);
  return [low - room, high + room];
}

function short(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(5)));
}
