// The images of a camera one after the other: the newest only, never more than one on its way, and none that nobody looks at.

/** A camera as a feed needs it. */
export interface FeedSource {
  /** Shortest time between two images, milliseconds. */
  period: number;
  /** Names the image that the camera has now; null while it is not known. */
  present: () => string | null;
  /** True while somebody looks. */
  watched: () => boolean;
  /** Brings the newest image. */
  load: () => Promise<void>;
  /** Called with the reason why there is no image. */
  failed: (why: string) => void;
}

/** Milliseconds after which a feed asks again for what it did not get, and looks again for an image that is new. */
const RETRY_MS = 1000;
const LOOK_MS = 30;

export class CameraFeed {
  private running = false;
  private last: string | null = null;

  constructor(private readonly source: FeedSource) {}

  /** Goes on, if somebody looks. */
  wake(): void {
    if (!this.running && this.source.watched()) void this.run();
  }

  /** Brings the image anew, although it may be the same one. */
  forget(): void {
    this.last = null;
  }

  private async run(): Promise<void> {
    this.running = true;
    try {
      while (this.source.watched()) await pause(await this.next());
    } finally {
      this.running = false;
    }
  }

  /** Brings an image if there is a new one. Gives the time to wait before the next, milliseconds. */
  private async next(): Promise<number> {
    const name = this.source.present();
    if (name === null || name === this.last) return LOOK_MS;
    const began = performance.now();
    this.last = name;
    try {
      await this.source.load();
    } catch (error) {
      this.last = null;
      this.source.failed(error instanceof Error ? error.message : String(error));
      return RETRY_MS;
    }
    return Math.max(0, this.source.period - (performance.now() - began));
  }
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => window.setTimeout(resolve, milliseconds));
