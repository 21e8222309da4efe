// The slider under the picture, with which a recorded run is scrubbed.

import type { Player } from "../player";
import { clock } from "./header";
import { button, make, write } from "./dom";

export class Timeline {
  readonly element: HTMLElement;
  private readonly slider = make("input", { type: "range", id: "scrub", step: "1", aria: { label: "Place in the run" } });
  private readonly now = make("span", { className: "timeline-time" });
  private readonly end = make("span", { className: "timeline-time" });
  private readonly marks = make("div", { className: "marks" });
  private player: Player | null = null;

  constructor(onLive: () => void) {
    const live = button("Back to live", "Show the running world", onLive, "text-button");
    live.id = "live";
    this.slider.oninput = () => this.player?.seek(Number(this.slider.value));
    this.element = make("section", { className: "timeline", hidden: true }, this.now, make("div", { className: "track" }, this.marks, this.slider), this.end, live);
  }

  setPlayer(player: Player | null): void {
    this.player = player;
    this.element.hidden = player === null;
    if (!player) return;
    const { run } = player;
    this.slider.min = String(run.first);
    this.slider.max = String(player.last);
    this.slider.step = String(run.every);
    write(this.end, clock(player.last * run.timestep));
    const length = Math.max(1, player.last - run.first);
    this.marks.replaceChildren(
      ...player.marked.slice(0, 200).map((event) => {
        const mark = make("span", { className: "mark", title: `${event.kind}: ${event.text}` });
        mark.style.left = `${((event.step - run.first) / length) * 100}%`;
        return mark;
      }),
    );
  }

  update(): void {
    if (!this.player) return;
    const step = Math.round(this.player.step);
    if (Number(this.slider.value) !== step) this.slider.value = String(step);
    write(this.now, clock(step * this.player.run.timestep));
  }
}
