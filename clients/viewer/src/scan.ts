// A scanner's rays as seen by who draws them: angles to the left of ahead, layer by layer.

import type { Rays, Vector } from "./protocol";

export interface Scan {
  /** Fans of rays one above the other, from the lowest. */
  layers: number;
  /** Rays of each. */
  columns: number;
  range: number;
  /** Angles of each ray: about the fan's axis, positive to the left, and above the middle of the fans, radians. */
  angles: Float64Array;
  elevations: Float64Array;
  /** The largest angle to either side. */
  half: number;
}

const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a: Vector, b: Vector): Vector => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const plus = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const scaled = (a: Vector, factor: number): Vector => [a[0] * factor, a[1] * factor, a[2] * factor];
const unit = (a: Vector): Vector => scaled(a, 1 / (Math.hypot(...a) || 1));

/** Reads where the rays go. */
export function scanOf({ directions, range, layers: told }: Rays): Scan {
  const layers = told && directions.length % told === 0 ? told : 1;
  const columns = directions.length / layers;
  const rays = directions.map(unit);
  // Each layer turns about the same axis; together their turns weigh most where the rays lie densest.
  let axis: Vector = [0, 0, 0];
  rays.forEach((ray, index) => {
    if ((index + 1) % columns !== 0) axis = plus(axis, cross(ray, rays[index + 1]));
  });
  axis = Math.hypot(...axis) > 1e-9 ? unit(axis) : [0, 1, 0];
  // Seen from above, where there is an above.
  if (axis[1] < -0.1) axis = scaled(axis, -1);
  const middle = (columns - 1) / 2;
  const ahead = plus(rays[Math.floor(middle)], rays[Math.ceil(middle)]);
  const top = plus(rays[directions.length - 1 - Math.floor(middle)], rays[directions.length - 1 - Math.ceil(middle)]);
  const level = plus(ahead, top);
  const forward = unit(plus(level, scaled(axis, -dot(level, axis))));
  const left = cross(axis, forward);
  const angles = Float64Array.from(rays, (ray) => Math.atan2(dot(ray, left), dot(ray, forward)));
  const elevations = Float64Array.from(rays, (ray) => Math.asin(Math.max(-1, Math.min(1, dot(ray, axis)))));
  return { layers, columns, range, angles, elevations, half: angles.reduce((most, angle) => Math.max(most, Math.abs(angle)), 0) };
}

/** The nearest thing met: which ray, and how far; null where none meets anything. */
export function nearest(scan: Scan, distances: ArrayLike<number>): { ray: number; distance: number } | null {
  let best: { ray: number; distance: number } | null = null;
  for (let ray = 0; ray < scan.angles.length; ray += 1) {
    const distance = distances[ray];
    if (distance < scan.range && (!best || distance < best.distance)) best = { ray, distance };
  }
  return best;
}

/** Radius of the picture, metres: the range, or less where all hits are near. A round number. */
export function reach(scan: Scan, distances: ArrayLike<number>): number {
  let far = 0;
  for (let ray = 0; ray < scan.angles.length; ray += 1) {
    if (distances[ray] < scan.range) far = Math.max(far, distances[ray]);
  }
  if (far === 0 || far > scan.range / 2) return scan.range;
  return Math.min(scan.range, roundUp(far * 1.1));
}

/** The next of 1, 2, 5, 10 ... */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10) * power;
}
