// What drives what: from "forward" and "turn", each from -1 to 1, to commands of actuators.

import type { Frame } from "../frame";
import { deviceStarts, fullName, type Command, type Device, type Joint, type Scene } from "../protocol";

/** A number of an actuator that follows forward and turn. */
export interface Row {
  /** Full name of the device. */
  device: string;
  field: string;
  /** The value at forward 1, in the field's unit. */
  forward: number;
  /** The value at turn 1, to the left. */
  turn: number;
}

/** A number of an actuator that keys or buttons move up and down. */
export interface Nudge {
  device: string;
  field: string;
  /** Units a second. */
  rate: number;
  up: string;
  down: string;
  buttonUp: number;
  buttonDown: number;
}

export interface Keys {
  forward: string;
  back: string;
  left: string;
  right: string;
}

export interface Stick {
  forward: number;
  forwardSign: 1 | -1;
  turn: number;
  turnSign: 1 | -1;
  deadZone: number;
}

export interface Mapping {
  rows: Row[];
  nudges: Nudge[];
  keys: Keys;
  stick: Stick;
}

/** Speed of a wheel's surface at full speed, m/s, and the largest angle of steering, rad. */
const FULL_SPEED = 0.7;
const FULL_ANGLE = 0.3;
/** Rate of a wheel's motor where its radius is not known, rad/s. */
const FULL_RATE = 3;
/** Turn rate of a vehicle at full turn, rad/s. */
const FULL_TURN = 0.6;
const VEHICLES = ["DifferentialDriveController", "AckermannController", "OmnidirectionalController", "TrackController"];
/** Fields that must be 0 for a robot to stand. */
const SPEED = /^(velocity|v_|omega)/;
const WHEEL = /wheel|drive|track|axle|sprocket/i;
const STEER = /turn|steer/i;
const WAIST = /waist|torso|neck|pan/i;
const FORCE = /^max_force/;
const DEFAULT_FORCE = 1000;

type Vec = [number, number, number];
const cross = (a: Vec, b: Vec): Vec => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a: Vec, b: Vec): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const ticks = (value: number): number => Number(value.toPrecision(3));

export const isSpeed = (field: string): boolean => SPEED.test(field);

/** A mapping for any robot: its vehicle controller; else its wheels by name, else its velocity motors; its steering joint by name, else left and right wheels. */
export function defaultMapping(scene: Scene, robot: string, frame: Frame): Mapping {
  const devices = scene.devices.filter((device) => device.robot === robot && device.joint !== null);
  const vehicle = scene.devices.find((device) => device.robot === robot && VEHICLES.includes(device.kind));
  const motors = devices.filter((device) => device.kind === "JointController");
  const named = motors.filter((device) => WHEEL.test(device.name) || WHEEL.test(scene.joints[device.joint!].name));
  const holders = devices.filter((device) => ["AngleController", "PositionController"].includes(device.kind));
  const steering = holders.filter((device) => STEER.test(device.name) || STEER.test(scene.joints[device.joint!].name));
  const wheels = named.length > 0 ? named : motors;
  const centre = middle(wheels.map((device) => place(frame, device.joint!)));
  const rows = vehicle ? vehicleRows(vehicle) : [
    ...wheels.map((device) => wheelRow(scene, frame, device, centre, steering.length === 0)),
    ...steering.map((device) => steerRow(scene, frame, device)),
  ];
  const waist = holders.find((device) => WAIST.test(device.name));
  const nudges = waist ? [{ device: fullName(waist), field: holdField(scene, waist), rate: 0.6, up: "BracketLeft", down: "BracketRight", buttonUp: 4, buttonDown: 5 }] : [];
  return {
    rows,
    nudges,
    keys: { forward: "ArrowUp", back: "ArrowDown", left: "ArrowLeft", right: "ArrowRight" },
    stick: { forward: 1, forwardSign: -1, turn: 0, turnSign: -1, deadZone: 0.12 },
  };
}

/** The fields of an actuator that a row can move: all but forces and gains. */
export function movable(device: Device): string[] {
  return device.fields.map((field) => field.name).filter((name) => !FORCE.test(name) && !/^[pid]$/.test(name));
}

/** The actuator's command with some of its numbers replaced; the others stay as they are. */
export function command(scene: Scene, frame: Frame, name: string, values: Map<string, number>): Command | null {
  const id = scene.devices.findIndex((device) => fullName(device) === name);
  const device = scene.devices[id];
  if (!device) return null;
  const start = deviceStarts(scene)[id];
  const noForce = device.fields.every((field, index) => !FORCE.test(field.name) || frame.devices[start + index] === 0);
  const numbers = device.fields.map((field, index) => {
    const given = values.get(field.name);
    if (given !== undefined) return Number(given.toFixed(5));
    if (FORCE.test(field.name) && noForce) return DEFAULT_FORCE;
    return frame.devices[start + index];
  });
  return numbers.every(Number.isFinite) ? { device: name, text: numbers.join(",") } : null;
}

function vehicleRows(vehicle: Device): Row[] {
  const device = fullName(vehicle);
  return [
    { device, field: "v_forward", forward: FULL_SPEED, turn: 0 },
    { device, field: "omega", forward: 0, turn: FULL_TURN },
  ];
}

function wheelRow(scene: Scene, frame: Frame, device: Device, centre: Vec, differential: boolean): Row {
  const joint = scene.joints[device.joint!];
  const axis = joint.axes[joint.axes.length - 1];
  const direction = rotated(frame, joint.parent, axis?.direction ?? [0, 0, -1]);
  // Turning about the axle, the wheel rolls along axle × up.
  const roll = cross(direction, [0, 1, 0]);
  const ahead = rotated(frame, joint.parent, [1, 0, 0]);
  const sign = dot(roll, ahead) < 0 ? -1 : 1;
  const child = scene.bodies[joint.child];
  const shape = child?.shape;
  const radius = shape && "radius" in shape ? shape.radius : FULL_SPEED / FULL_RATE;
  const full = sign * ticks(FULL_SPEED / radius);
  const at = place(frame, device.joint!);
  const left = cross([0, 1, 0], ahead);
  const side = Math.sign(dot([at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]], left));
  return { device: fullName(device), field: `velocity_${axis?.axis ?? 3}`, forward: full, turn: differential ? ticks(-side * full * 0.6) : 0 };
}

function steerRow(scene: Scene, frame: Frame, device: Device): Row {
  const joint: Joint = scene.joints[device.joint!];
  const axis = joint.axes[joint.axes.length - 1];
  const up = rotated(frame, joint.parent, axis?.direction ?? [0, 1, 0])[1] < 0 ? -1 : 1;
  // A joint that turns the rear against the front turns the other way.
  const ahead = rotated(frame, joint.parent, [1, 0, 0]);
  const between = [0, 1, 2].map((i) => frame.numbers[frame.body(joint.child, 0) + i] - frame.numbers[frame.body(joint.parent, 0) + i]) as Vec;
  const front = dot(between, ahead) < 0 ? -1 : 1;
  const limit = Math.min(FULL_ANGLE, axis?.upper ?? FULL_ANGLE);
  return { device: fullName(device), field: holdField(scene, device), forward: 0, turn: ticks(up * front * limit) };
}

function holdField(scene: Scene, device: Device): string {
  const axis = scene.joints[device.joint!].axes.at(-1)?.axis ?? 3;
  const fields = movable(device);
  return fields.find((name) => name.endsWith(`_${axis}`)) ?? fields[0];
}

function place(frame: Frame, joint: number): Vec {
  const at = frame.joint(joint);
  return [frame.numbers[at], frame.numbers[at + 1], frame.numbers[at + 2]];
}

function middle(points: Vec[]): Vec {
  const sum = points.reduce<Vec>((total, point) => [total[0] + point[0], total[1] + point[1], total[2] + point[2]], [0, 0, 0]);
  return sum.map((value) => value / Math.max(1, points.length)) as Vec;
}

/** A direction of a body's frame in the world. */
function rotated(frame: Frame, body: number, vector: Vec): Vec {
  const at = frame.body(body, 3);
  const axis: Vec = [frame.numbers[at], frame.numbers[at + 1], frame.numbers[at + 2]];
  const twice = cross(axis, vector).map((value) => 2 * value) as Vec;
  const again = cross(axis, twice);
  return vector.map((value, index) => value + frame.numbers[at + 3] * twice[index] + again[index]) as Vec;
}
