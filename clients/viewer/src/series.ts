// The numbers of a frame that a person may look at or plot, each with its name and unit.

import { POSE, TWIST, WRENCH, type Frame } from "./frame";
import { deviceStarts, fullName, type Scene } from "./protocol";

export interface Series {
  /** Unique in the scene. */
  key: string;
  /** Source, such as a device. */
  of: string;
  name: string;
  unit: string;
  read: (frame: Frame) => number;
}

/** Numbers that belong together: a device, a body or a joint. */
export interface Source {
  key: string;
  title: string;
  robot: string;
  kind: string;
  signals: Series[];
}

const XYZ = ["x", "y", "z"];

export function deviceSources(scene: Scene): Source[] {
  const starts = deviceStarts(scene);
  return scene.devices.map((device, id) => {
    const of = fullName(device);
    const signals = device.fields.map((field, index) => ({
      key: `device:${of}:${field.name}`,
      of: device.name,
      name: field.name,
      unit: plainUnit(field.unit),
      read: (frame: Frame) => frame.devices[starts[id] + index] ?? NaN,
    }));
    return { key: `device:${of}`, title: device.name, robot: device.robot, kind: device.kind, signals };
  });
}

export function bodySources(scene: Scene): Source[] {
  return scene.bodies.map((body, id) => {
    const short = body.name.slice(body.name.lastIndexOf("/") + 1);
    const signal = (name: string, unit: string, read: (frame: Frame) => number): Series => ({
      key: `body:${body.name}:${name}`,
      of: short,
      name,
      unit,
      read: (frame) => (id < frame.bodies ? read(frame) : NaN),
    });
    const at = (part: number, component: number) => (frame: Frame) => frame.numbers[frame.body(id, part) + component];
    const length = (part: number) => (frame: Frame) => {
      const start = frame.body(id, part);
      return Math.hypot(frame.numbers[start], frame.numbers[start + 1], frame.numbers[start + 2]);
    };
    const vector = (name: string, unit: string, part: number, skip = 0) =>
      XYZ.map((axis, component) => signal(`${name}_${axis}`, unit, at(part, component + skip)));
    const signals = [
      ...vector("position", "m", POSE),
      ...["qx", "qy", "qz", "qw"].map((name, component) => signal(name, "", at(POSE, 3 + component))),
      signal("speed", "m/s", length(TWIST)),
      ...vector("velocity", "m/s", TWIST),
      ...vector("angular_velocity", "rad/s", TWIST, 3),
      signal("force", "N", length(WRENCH)),
      ...vector("force", "N", WRENCH),
      ...vector("torque", "N m", WRENCH, 3),
    ];
    return { key: `body:${body.name}`, title: short, robot: body.robot ?? "", kind: body.shape?.kind ?? "particle", signals };
  });
}

export function jointSources(scene: Scene): Source[] {
  return scene.joints.map((joint, id) => {
    const short = joint.name.slice(joint.name.lastIndexOf("/") + 1);
    const at = (place: number) => (frame: Frame) => (id < frame.joints ? frame.numbers[frame.joint(id) + place] : NaN);
    const signal = (name: string, unit: string, place: number) => ({ key: `joint:${joint.name}:${name}`, of: short, name, unit, read: at(place) });
    const signals = [
      ...joint.axes.map(({ axis, linear }) => signal(`position_${axis}`, linear ? "m" : "rad", 2 + axis)),
      ...joint.axes.map(({ axis, linear }) => signal(`rate_${axis}`, linear ? "m/s" : "rad/s", 5 + axis)),
      ...joint.axes.map(({ axis, linear }) => signal(`effort_${axis}`, linear ? "N" : "N m", 8 + axis)),
      ...XYZ.map((axis, component) => signal(`reaction_force_${axis}`, "N", 12 + component)),
      ...XYZ.map((axis, component) => signal(`reaction_torque_${axis}`, "N m", 15 + component)),
    ];
    return { key: `joint:${joint.name}`, title: short, robot: scene.bodies[joint.child]?.robot ?? "", kind: joint.kind, signals };
  });
}

function plainUnit(unit: string): string {
  return unit === "1" ? "" : unit;
}

/** A number in a width that stays the same while it changes. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2);
  const text = value.toFixed(size >= 1000 ? 1 : size >= 100 ? 2 : 3);
  return Number(text) === 0 ? text.replace("-", "") : text;
}
