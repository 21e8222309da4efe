// Driving by keys and by a gamepad. It stops when keys are let go, when the page loses the focus, and when the pad is gone.

import type { Frame } from "../frame";
import type { Link } from "../link";
import type { Command, Scene } from "../protocol";
import { takesKey } from "../ui/dom";
import { command, isSpeed, type Mapping } from "./mapping";

/** Shares a second at which forward and turn go up; forward comes down at once. */
const FORWARD_RATE = 3;
const TURN_RATE = 3;
/** Milliseconds between two commands for the same device. */
const PAUSE_MS = 33;
/** Milliseconds after which a moving device is commanded again, for its watchdog. */
const REPEAT_MS = 200;

export interface Input {
  forward: number;
  turn: number;
}

export class Driver {
  mapping: Mapping | null = null;
  keysOn = true;
  padOn = true;
  /** Where forward and turn stand, to be shown. */
  readonly now: Input = { forward: 0, turn: 0 };
  padName = "";
  /** Called with each answer that refuses a command. */
  onRefusal: (text: string) => void = () => undefined;
  private readonly pressed = new Set<string>();
  private readonly sent = new Map<string, { key: string; time: number }>();
  private readonly targets = new Map<string, number>();
  private lastSent = 0;
  private guarded = false;
  private scene: Scene | null = null;
  private frame: Frame | null = null;

  constructor(private readonly link: Link) {
    window.addEventListener("blur", () => this.stop());
    window.addEventListener("pagehide", () => this.stop());
    document.addEventListener("visibilitychange", () => document.hidden && this.stop());
    document.addEventListener("focusin", (event) => takesKey(event.target, "") && this.stop());
  }

  /** A key; true if it drives. */
  key(code: string, down: boolean): boolean {
    const mapping = this.mapping;
    if (!this.keysOn || !mapping) return false;
    const codes = [...Object.values(mapping.keys), ...mapping.nudges.flatMap((nudge) => [nudge.up, nudge.down])];
    if (!codes.includes(code)) return false;
    if (down) this.pressed.add(code);
    else this.pressed.delete(code);
    return true;
  }

  /** Lets go of everything. What turns stops at once; what holds an angle stays where it is. */
  stop(): void {
    this.pressed.clear();
    if (this.sent.size === 0) return;
    this.now.forward = 0;
    this.send(true, false);
  }

  /** Forgets what was sent: the world is another one. */
  forget(): void {
    this.pressed.clear();
    this.sent.clear();
    this.targets.clear();
    this.now.forward = this.now.turn = 0;
  }

  /** Forgets what the server was told as well: the connection is gone, and the server has carried it out. */
  lost(): void {
    this.forget();
    this.guarded = false;
  }

  /** Called many times a second, whatever the picture does. */
  tick(seconds: number, scene: Scene, frame: Frame): void {
    this.scene = scene;
    this.frame = frame;
    if (!this.mapping || !document.hasFocus()) return;
    const wanted = this.wanted();
    this.now.forward = wanted.forward === 0 ? 0 : towards(this.now.forward, wanted.forward, FORWARD_RATE * seconds);
    this.now.turn = towards(this.now.turn, wanted.turn, TURN_RATE * seconds);
    this.nudge(seconds);
    this.send(wanted.forward === 0, true);
  }

  private wanted(): Input {
    const { keys, stick } = this.mapping!;
    const held = (plus: string, minus: string) => Number(this.pressed.has(plus)) - Number(this.pressed.has(minus));
    const input = { forward: held(keys.forward, keys.back), turn: held(keys.left, keys.right) };
    const pad = this.pad();
    this.padName = pad?.id ?? "";
    if (!pad || !this.padOn) return input;
    const axis = (index: number, sign: number) => sign * shaped(pad.axes[index] ?? 0, stick.deadZone);
    input.forward = clamp(input.forward + axis(stick.forward, stick.forwardSign));
    input.turn = clamp(input.turn + axis(stick.turn, stick.turnSign));
    return input;
  }

  private pad(): Gamepad | null {
    return navigator.getGamepads?.().find((pad) => pad?.connected) ?? null;
  }

  private nudge(seconds: number): void {
    const pad = this.padOn ? this.pad() : null;
    const button = (index: number) => pad?.buttons[index]?.pressed ?? false;
    for (const nudge of this.mapping!.nudges) {
      const up = this.pressed.has(nudge.up) || button(nudge.buttonUp);
      const down = this.pressed.has(nudge.down) || button(nudge.buttonDown);
      const key = `${nudge.device}\n${nudge.field}`;
      if (up === down) {
        this.targets.delete(key);
        continue;
      }
      const present = this.targets.get(key) ?? this.present(nudge.device, nudge.field);
      this.targets.set(key, this.bounded(nudge.device, nudge.field, present + (up ? 1 : -1) * nudge.rate * seconds));
    }
  }

  private present(device: string, field: string): number {
    const probe = command(this.scene!, this.frame!, device, new Map());
    const found = this.scene!.devices.find((one) => `${one.robot}/${one.name}` === device);
    const index = found?.fields.findIndex((one) => one.name === field) ?? -1;
    return Number(probe?.text.split(",")[index] ?? 0);
  }

  /** Within the stops of the joint. */
  private bounded(device: string, field: string, value: number): number {
    const found = this.scene!.devices.find((one) => `${one.robot}/${one.name}` === device);
    const axis = this.scene!.joints[found?.joint ?? -1]?.axes.find((one) => field.endsWith(`_${one.axis}`));
    return Math.min(axis?.upper ?? Infinity, Math.max(axis?.lower ?? -Infinity, value));
  }

  private send(now: boolean, steer: boolean): void {
    if (!this.mapping || !this.scene || !this.frame) return;
    const time = performance.now();
    const due = time - this.lastSent >= PAUSE_MS;
    if (!due && !now) return;
    const values = new Map<string, Map<string, number>>();
    const put = (device: string, field: string, value: number) => {
      if (!values.has(device)) values.set(device, new Map());
      values.get(device)!.set(field, value);
    };
    for (const row of this.mapping.rows) {
      if (!steer && !isSpeed(row.field)) continue;
      put(row.device, row.field, row.forward * this.now.forward + row.turn * (steer ? this.now.turn : 0));
    }
    for (const [key, value] of this.targets) put(...(key.split("\n") as [string, string]), value);
    for (const [device, numbers] of values) {
      const key = [...numbers].join(";");
      const rests = [...numbers.values()].every((value) => value === 0);
      const last = this.sent.get(device);
      const isKnown = last?.key === key && (rests || time - last.time < REPEAT_MS);
      if (isKnown || (rests && !last) || (!due && !rests)) continue;
      const made = command(this.scene, this.frame, device, numbers);
      if (!made) continue;
      this.sent.set(device, { key, time });
      this.lastSent = time;
      void this.link.set(made).then((reply) => reply.startsWith("ERR") && this.onRefusal(`${device}: ${reply}`));
    }
    this.guard();
  }

  /** While it drives, the server knows what to do if this page is lost. */
  private guard(): void {
    const turning = this.mapping!.rows.filter((row) => isSpeed(row.field));
    const moving = turning.some((row) => row.forward * this.now.forward + row.turn * this.now.turn !== 0);
    if (moving === this.guarded) return;
    this.guarded = moving;
    const stop = (row: { device: string; field: string }) => command(this.scene!, this.frame!, row.device, new Map([[row.field, 0]]));
    const stops = moving ? turning.map(stop).filter((made): made is Command => made !== null) : [];
    this.link.onClose(stops);
  }
}

const clamp = (value: number): number => Math.max(-1, Math.min(1, value));

function towards(from: number, to: number, most: number): number {
  // Through zero at once: who pulls back wants to brake.
  const start = from * to < 0 ? 0 : from;
  return Math.abs(to - start) <= most ? to : start + Math.sign(to - start) * most;
}

/** A stick's value without its dead zone, finer about the middle. */
function shaped(value: number, deadZone: number): number {
  const size = Math.max(0, (Math.abs(value) - deadZone) / (1 - deadZone));
  return Math.sign(value) * (0.4 * size + 0.6 * size ** 3);
}
