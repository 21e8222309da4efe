// The bar on top: what is shown, the clock's controls, and its figures.

import type { Frame } from "../frame";
import { button, icon, iconButton, make, write } from "./dom";

export interface Transport {
  play(rate: number): void;
  pause(): void;
  step(count: number): void;
  reset(): void;
}

const RATES = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16];

export class Header {
  readonly element: HTMLElement;
  private readonly badge = make("span", { className: "badge", id: "badge", textContent: "connecting" });
  private readonly title = make("span", { className: "world", id: "world" });
  private readonly playButton = make("button", { type: "button", id: "play", className: "icon-button primary", title: "Play (space)" });
  private readonly steps = make("input", { type: "number", id: "steps", min: "1", max: "1000000", value: "10", title: "Steps to make" });
  private readonly rate = make("select", { id: "rate", title: "Simulated seconds per second" });
  private readonly figures = new Map<string, HTMLElement>();
  private playing = false;
  private told = 1;

  constructor(private readonly transport: Transport) {
    for (const rate of RATES) this.rate.append(make("option", { value: String(rate), textContent: `${rate}×`, selected: rate === 1 }));
    this.rate.onchange = () => {
      if (this.playing) transport.play(this.chosenRate);
    };
    this.playButton.onclick = () => this.toggle();
    this.steps.onkeydown = (event) => event.key === "Enter" && transport.step(this.chosenSteps);
    const reset = iconButton("reset", "Reset to the start", () => transport.reset());
    const step = iconButton("step", "Make one step (.)", () => transport.step(1));
    const many = button("n steps", "Make that many steps at once", () => transport.step(this.chosenSteps), "text-button");
    [reset.id, step.id, many.id] = ["reset", "step", "many"];
    const docs = make("a", { className: "docs", id: "docs", href: "docs/", target: "_blank", textContent: "Docs", title: "Documentation" });
    this.element = make(
      "header",
      { className: "bar" },
      make("div", { className: "identity" }, make("strong", { textContent: "SimPartner" }), this.title, this.badge, docs),
      make("div", { className: "transport" }, reset, this.playButton, step, make("span", { className: "joined" }, this.steps, many), this.rate),
      make(
        "dl",
        { className: "figures" },
        this.figure("time", "simulated"),
        this.figure("wall", "wall"),
        this.figure("factor", "real-time factor"),
        this.figure("late", "lateness"),
        this.figure("stepNumber", "step"),
      ),
    );
    this.setPlaying(false, true);
  }

  get chosenRate(): number {
    return Number(this.rate.value);
  }

  /** Plays or pauses, whichever it is not doing. */
  toggle(): void {
    if (this.playing) this.transport.pause();
    else this.transport.play(this.chosenRate);
  }

  setTitle(world: string): void {
    write(this.title, world);
    document.title = `${world} · SimPartner`;
  }

  setBadge(text: string, kind: "live" | "recorded" | "waiting" | "lost"): void {
    write(this.badge, text);
    this.badge.dataset.kind = kind;
  }

  setPlaying(playing: boolean, force = false): void {
    if (playing === this.playing && !force) return;
    this.playing = playing;
    this.playButton.replaceChildren(icon(playing ? "pause" : "play"));
    this.playButton.title = playing ? "Pause (space)" : "Play (space)";
    this.playButton.setAttribute("aria-label", this.playButton.title);
    this.playButton.dataset.playing = String(playing);
  }

  /** Shows the rate that the server plays at when that has changed; what a person has chosen meanwhile stays. */
  setRate(rate: number): void {
    if (rate === this.told || !(rate > 0)) return;
    this.told = rate;
    if (![...this.rate.options].some((option) => Number(option.value) === rate)) {
      this.rate.append(make("option", { value: String(rate), textContent: `${rate}×` }));
    }
    this.rate.value = String(rate);
  }

  update(frame: Frame): void {
    const set = (name: string, text: string) => write(this.figures.get(name)!, text);
    set("time", clock(frame.time));
    set("wall", clock(frame.wall));
    const moves = frame.state === "PLAYING";
    set("factor", moves && Number.isFinite(frame.realTimeFactor) ? `${frame.realTimeFactor.toFixed(2)}${frame.mode === "fast" ? " fast" : ""}` : "–");
    set("late", Number.isFinite(frame.late) ? lateness(frame.late) : "–");
    set("stepNumber", String(frame.step));
    this.figures.get("late")!.dataset.bad = String(moves && frame.mode === "realtime" && frame.late > 0.01);
    this.figures.get("factor")!.title = frame.slips > 0 ? `the clock slipped ${frame.slips} times` : "";
  }

  private get chosenSteps(): number {
    return Math.max(1, Math.round(Number(this.steps.value) || 1));
  }

  private figure(id: string, label: string): HTMLElement {
    const value = make("dd", { id, textContent: "–" });
    this.figures.set(id, value);
    return make("div", {}, make("dt", { textContent: label }), value);
  }
}

/** Seconds as minutes, seconds and milliseconds. */
export function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const whole = Math.floor(seconds / 60);
  const rest = (seconds - whole * 60).toFixed(3).padStart(6, "0");
  const minutes = whole >= 60 ? `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}` : String(whole);
  return `${minutes}:${rest}`;
}

function lateness(seconds: number): string {
  return seconds >= 1e-3 ? `${(seconds * 1e3).toFixed(1)} ms` : `${(seconds * 1e6).toFixed(0)} µs`;
}
