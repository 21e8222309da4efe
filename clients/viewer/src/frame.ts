// A binary frame: the record of one step. The layout is told in PROTOCOL.md.

export const POSE = 0;
export const TWIST = 7;
export const WRENCH = 13;
export const BODY_WIDTH = 19;
export const JOINT_WIDTH = 18;

const HEADER = 96;
const CONTACT = 48;
const GROUND = 0xffffffff;
const MAGIC = 0x31565053; // "SPV1"

export type State = "PAUSED" | "PLAYING" | "QUITTING" | "RECORDED";
const CLOCK_STATES: State[] = ["PAUSED", "PLAYING", "QUITTING", "RECORDED"];
const MODES = ["realtime", "fast", "lockstep"];

export interface Contact {
  /** The body that the force acts on. */
  body: number;
  /** The one it comes from; -1 is the ground. */
  other: number;
  point: Float32Array;
  /** Towards the body. */
  normal: Float32Array;
  force: Float32Array;
  gap: number;
}

/** The simulation after one step. It looks into the buffer it was read from. */
export class Frame {
  readonly length: number;
  readonly step: number;
  readonly time: number;
  readonly wall: number;
  readonly late: number;
  readonly realTimeFactor: number;
  readonly rate: number;
  readonly sequence: number;
  readonly epoch: number;
  readonly slips: number;
  readonly state: State;
  readonly mode: string;
  readonly bodies: number;
  readonly joints: number;
  readonly watchers: number;
  /** Bodies, then joints. */
  readonly numbers: Float32Array;
  /** The devices' fields. */
  readonly devices: Float64Array;
  /** Contacts with the largest forces. */
  readonly contacts: Contact[] = [];
  /** Number of contacts, shown or not. */
  readonly touching: number;

  /** Reads the frame at `offset`, a multiple of 8. */
  constructor(buffer: ArrayBuffer, offset = 0) {
    const view = new DataView(buffer, offset);
    if (view.byteLength < HEADER || view.getUint32(0, true) !== MAGIC) throw new Error("this is not a frame of the viewer's protocol");
    const real = (at: number) => view.getFloat64(at, true);
    const whole = (at: number) => view.getUint32(at, true);
    this.length = whole(4);
    this.step = Number(view.getBigUint64(8, true));
    this.time = real(16);
    this.wall = real(24);
    this.late = real(32);
    this.realTimeFactor = real(40);
    this.rate = real(48);
    this.sequence = whole(56);
    this.epoch = whole(60);
    this.slips = whole(64);
    this.state = CLOCK_STATES[view.getUint8(68)] ?? "PAUSED";
    this.mode = MODES[view.getUint8(69)] ?? "";
    this.bodies = whole(72);
    this.joints = whole(76);
    this.watchers = whole(88);
    this.touching = whole(92);
    const count = this.bodies * BODY_WIDTH + this.joints * JOINT_WIDTH;
    this.numbers = new Float32Array(buffer, offset + HEADER, count);
    const devices = HEADER + Math.ceil((count * 4) / 8) * 8;
    this.devices = new Float64Array(buffer, offset + devices, whole(80));
    let at = offset + devices + this.devices.byteLength;
    for (let contact = 0; contact < whole(84); contact += 1, at += CONTACT) {
      const numbers = new DataView(buffer, at, CONTACT);
      const other = numbers.getUint32(4, true);
      this.contacts.push({
        body: numbers.getUint32(0, true),
        other: other === GROUND ? -1 : other,
        point: new Float32Array(buffer, at + 8, 3),
        normal: new Float32Array(buffer, at + 20, 3),
        force: new Float32Array(buffer, at + 32, 3),
        gap: numbers.getFloat32(44, true),
      });
    }
  }

  /** Place of a body's part, `POSE`, `TWIST` or `WRENCH`, in `numbers`. */
  body(body: number, part: number): number {
    return body * BODY_WIDTH + part;
  }

  /** Place of a joint in `numbers`. */
  joint(joint: number): number {
    return this.bodies * BODY_WIDTH + joint * JOINT_WIDTH;
  }
}

/** Reads the frames that follow each other in a buffer. */
export function frames(buffer: ArrayBuffer): Frame[] {
  const read: Frame[] = [];
  for (let at = 0; at < buffer.byteLength; at += read[read.length - 1].length) read.push(new Frame(buffer, at));
  return read;
}
