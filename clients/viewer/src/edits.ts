// Changes of the running world: requests to the control port, each of which is logged and repeated by a replay, and what
// takes them back.

import type { Frame } from "./frame";
import { POSE, TWIST } from "./frame";
import type { Scene } from "./protocol";
import type { Pull } from "./scene/pull";

/** Wall time after which a pull is renewed, ms, and simulated time for which it then acts, s. */
const PULL_MS = 50;
const PULL_S = 0.3;

/** The page as edits need it. */
export interface EditHost {
  scene: () => Scene | null;
  frame: () => Frame | null;
  control: (text: string) => Promise<string>;
  say: (text: string) => void;
}

interface Undo {
  what: string;
  request: string;
}

const list = (numbers: ArrayLike<number>): string => Array.from(numbers, (number) => String(Number(number.toPrecision(9)))).join(",");

export class Edits {
  /** Called when there is more or less to take back. */
  onChange: () => void = () => undefined;
  private readonly undos: Undo[] = [];
  /** Requests that have added robots, by their names. */
  private readonly added = new Map<string, string>();
  private pull: Pull | null = null;
  private pulledAt = 0;

  constructor(private readonly host: EditHost) {}

  /** What would be taken back next; null for nothing. */
  get next(): string | null {
    return this.undos.at(-1)?.what ?? null;
  }

  /** Forgets what could be taken back, since another world or another run has begun. */
  forget(): void {
    this.undos.length = 0;
    this.added.clear();
    this.onChange();
  }

  /** Puts a body at a place, with everything that joints tie to it. */
  async place(body: number, position: number[]): Promise<string> {
    const [scene, frame] = [this.host.scene(), this.host.frame()];
    if (!scene || !frame) return "ERR there is no world";
    const { name } = scene.bodies[body];
    const [pose, twist] = [frame.body(body, POSE), frame.body(body, TWIST)];
    const part = (from: number, count: number) => list(frame.numbers.subarray(from, from + count));
    const back = `PLACE ${name} position=${part(pose, 3)} orientation=${part(pose + 3, 4)} linearVelocity=${part(twist, 3)} angularVelocity=${part(twist + 3, 3)}`;
    return this.request(`PLACE ${name} position=${list(position)} linearVelocity=0,0,0 angularVelocity=0,0,0`, () => ({ what: `place ${name}`, request: back }));
  }

  /** Adds a robot of a file at a place. */
  async add(file: string, position: number[]): Promise<string> {
    const request = `SPAWN file=${file} rename=true position=${list(position)}`;
    return this.request(request, (answer) => {
      const name = /\bname=(\S+)/.exec(answer)?.[1] ?? "";
      this.added.set(name, request.replace("rename=true", `name=${name}`));
      return { what: `add ${name}`, request: `REMOVE ${name}` };
    });
  }

  /** Removes a robot or an object. What the page has added can be added again, in its first state. */
  async remove(name: string): Promise<string> {
    const again = this.added.get(name);
    return this.request(`REMOVE ${name}`, () => (again ? { what: `remove ${name}`, request: again } : null));
  }

  /** Takes the last change back. What the server refuses can be tried again. */
  async undo(): Promise<string> {
    const last = this.undos.pop();
    this.onChange();
    if (!last) return "OK";
    const answer = await this.host.control(last.request);
    if (answer.startsWith("ERR")) {
      this.undos.push(last);
      this.onChange();
    }
    return answer;
  }

  /** Begins a pull, or ends it with null. */
  setPull(pull: Pull | null): void {
    const before = this.pull;
    this.pull = pull;
    this.pulledAt = 0;
    const name = before && this.host.scene()?.bodies[before.body]?.name;
    if (name && !pull) void this.host.control(`PUSH ${name} force=0,0,0 seconds=0`);
    if (pull && this.host.frame()?.state !== "PLAYING") this.host.say("The clock stands: the pull acts when it runs");
  }

  /** Renews the pull: it ends by itself when the page is lost. */
  tick(now: number): void {
    const [pull, scene, frame] = [this.pull, this.host.scene(), this.host.frame()];
    if (!pull || !scene || !frame || frame.state !== "PLAYING" || now - this.pulledAt < PULL_MS) return;
    this.pulledAt = now;
    const request = `PUSH ${scene.bodies[pull.body].name} to=${list(pull.target.toArray())} at=${list(pull.point.toArray())} seconds=${PULL_S * Math.max(1, frame.rate)}`;
    void this.host.control(request).then((answer) => {
      if (answer.startsWith("ERR")) this.host.say(answer);
    });
  }

  private async request(text: string, undo: (answer: string) => Undo | null): Promise<string> {
    const answer = await this.host.control(text);
    if (answer.startsWith("ERR")) return answer;
    const back = undo(answer);
    if (back) this.undos.push(back);
    this.onChange();
    return answer;
  }
}
