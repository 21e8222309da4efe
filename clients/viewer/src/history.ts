// The frames of late, or of a whole run, for the plots.

import type { Frame } from "./frame";

/** A minute at display rate. */
const MOST = 3600;

export class History {
  frames: Frame[] = [];
  /** Counts the times that what was kept was thrown away. */
  generation = 0;

  get last(): Frame | null {
    return this.frames[this.frames.length - 1] ?? null;
  }

  /** Adds a live frame. A reset starts anew; a frame of the same step replaces the one before. */
  push(frame: Frame): void {
    const { last } = this;
    if (last && (frame.epoch !== last.epoch || frame.step < last.step)) this.set([]);
    else if (last?.step === frame.step) this.frames.pop();
    this.frames.push(frame);
    if (this.frames.length > MOST * 1.2) this.frames.splice(0, this.frames.length - MOST);
  }

  set(frames: Frame[]): void {
    this.frames = frames;
    this.generation += 1;
  }
}
