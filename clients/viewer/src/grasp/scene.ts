// What `simpartner grasp show` says of a grasp. PROTOCOL.md tells it all.

import type { Placed, Quaternion, Vector, Visual } from "../protocol";

export interface Contact {
  name: string;
  kind: "frictionless" | "frictional" | "soft";
  position: Vector;
  /** Into the object. */
  normal: Vector;
  tangents: [Vector, Vector];
  friction: number;
  /** Half of the friction cone's angle, radians. */
  half_angle: number;
  /** Torque about the normal for each newton of normal force, metres. */
  torsion: number;
  radius: number | null;
  /** Smallest and largest normal force; null for no bound. */
  limits: [number, number | null];
}

/** Normal force, force along the two tangents, torsion. */
export type ContactForce = [number, number, number, number];

interface Wrench {
  force: Vector;
  torque: Vector;
}

/** Result for one direction of gravity. */
export type State = { weight: Vector } & (
  | { verdict: "holds"; margin: number; squeeze: number; forces: ContactForce[] }
  | { verdict: "impossible"; motion: { velocity: Vector; angular_velocity: Vector }; excess: Wrench }
  | { verdict: "undecided" }
);

export interface Chart {
  /** The largest tilt, radians. */
  tilt: number;
  /** Directions by tilt from zero, then by azimuth; the first row is one direction. */
  rows: State[][];
  /** Largest stable tilt of each azimuth. */
  safe: number[];
  safe_tilt: number;
  solid_angle: number;
  first_failure: { azimuth: number; tilt: number } | null;
}

export interface GraspScene {
  protocol: number;
  name: string;
  object: { name: string; pose: { position: Vector; rotation: Quaternion }; shape: Placed | null; visuals: Visual[] };
  mass: number;
  centre_of_mass: Vector;
  load: Wrench;
  /** The length that makes torques comparable with forces, metres. */
  length: number;
  /** Edges of the friction pyramids; null for cones. */
  edges: number | null;
  contacts: Contact[];
  check: State;
  /** Null without gravity. */
  chart: Chart | null;
}

/** The protocol this page speaks. */
export const PROTOCOL = 1;

/** The force at a contact along the world's axes. */
export function forceOf({ normal, tangents: [first, second] }: Contact, [along, one, other]: ContactForce): Vector {
  return [0, 1, 2].map((axis) => along * normal[axis] + one * first[axis] + other * second[axis]) as Vector;
}

/** The part of its friction that a contact uses: 1 on the cone. */
export function usedFriction({ friction, torsion }: Contact, [normal, first, second, spin]: ContactForce): number {
  const part = (value: number, by: number) => (value === 0 ? 0 : value / by);
  // What carries nothing but rounding uses nothing.
  return normal < 1e-9 ? 0 : Math.hypot(part(Math.hypot(first, second), friction), part(Math.abs(spin), torsion)) / normal;
}

/** A number as people read it. */
export const shown = (value: number): string => String(Number((Math.abs(value) < 1e-9 ? 0 : value).toPrecision(4)));
