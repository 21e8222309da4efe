// Draws with fewer pixels where the machine cannot keep up.

const LEVELS = [1, 0.75, 0.5];
const SLOW_MS = 55;
const FAST_MS = 24;
const SAMPLES = 10;
const SAMPLES_TO_RAISE = 400;

export class Quality {
  private level = 0;
  private sum = 0;
  private count = 0;
  private raised = 0;

  /** `apply` takes the share of the screen's pixels along each side. */
  constructor(private readonly apply: (share: number) => void) {}

  /** Notes how long it took from one picture to the next. */
  note(milliseconds: number): void {
    this.sum += milliseconds;
    this.count += 1;
    const mean = this.sum / this.count;
    if (this.count >= SAMPLES && mean > SLOW_MS) {
      if (this.level + 1 < LEVELS.length) this.set(this.level + 1);
      else this.begin();
    } else if (this.count >= SAMPLES_TO_RAISE) {
      // Once only: a machine on the edge would go up and down for ever.
      if (mean < FAST_MS && this.level > 0 && this.raised < 1) {
        this.raised += 1;
        this.set(this.level - 1);
      } else {
        this.begin();
      }
    }
  }

  private set(level: number): void {
    this.level = level;
    this.begin();
    this.apply(LEVELS[level]);
  }

  private begin(): void {
    this.sum = this.count = 0;
  }
}
