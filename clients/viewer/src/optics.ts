// Where the pixels of a camera look: the lens of the server's CameraOptics, backwards.

import type { Optics, Vector } from "./protocol";

/** Steps of the iterations; each of them is a tenth of the error for the distortions of real lenses. */
const STEPS = 30;

/** The ray of a place of an image, columns to the right and rows down, as a unit vector of the optical frame: x right, y down, z forward. */
export function rayOf(optics: Optics, column: number, row: number): Vector {
  const { focal, principal_point: principal, lens } = optics;
  const distorted: [number, number] = [(column - principal[0]) / focal[0], (row - principal[1]) / focal[1]];
  if (lens.model === "fisheye") return fisheyeRay(distorted, lens.coefficients);
  const [x, y] = lens.model === "brownConrady" ? undistorted(distorted, lens.coefficients) : distorted;
  const length = Math.hypot(x, y, 1);
  return [x / length, y / length, 1 / length];
}

/** Rays around the edge of the image, clockwise from its first pixel: its corners, and places between them where the edge is bent. */
export function edgeRays(optics: Optics): Vector[] {
  const parts = optics.lens.model === "pinhole" ? 1 : 8;
  const [right, bottom] = [optics.width - 0.5, optics.height - 0.5];
  const corners = [[-0.5, -0.5], [right, -0.5], [right, bottom], [-0.5, bottom]];
  return corners.flatMap(([column, row], corner) => {
    const [nextColumn, nextRow] = corners[(corner + 1) % corners.length];
    return Array.from({ length: parts }, (_, part) => rayOf(optics, column + ((nextColumn - column) * part) / parts, row + ((nextRow - row) * part) / parts));
  });
}

/** Angles that an image covers along its rows and columns through its principal point, radians. */
export function fieldOfView(optics: Optics): [number, number] {
  const [column, row] = optics.principal_point;
  const angle = (a: Vector, b: Vector): number => slope(a) + slope(b);
  return [
    angle(rayOf(optics, -0.5, row), rayOf(optics, optics.width - 0.5, row)),
    angle(rayOf(optics, column, -0.5), rayOf(optics, column, optics.height - 0.5)),
  ];
}

const slope = ([x, y, z]: Vector): number => Math.atan2(Math.hypot(x, y), z);

/** The model of Brown and Conrady, solved by iteration. */
function undistorted([x, y]: [number, number], given: Record<string, number>): [number, number] {
  const { k1 = 0, k2 = 0, k3 = 0, p1 = 0, p2 = 0 } = given;
  let [a, b] = [x, y];
  for (let step = 0; step < STEPS; step += 1) {
    const square = a * a + b * b;
    const radial = 1 + square * (k1 + square * (k2 + square * k3));
    // Beyond the edge of what the lens can show.
    if (!(radial > 0.1)) break;
    [a, b] = [(x - 2 * p1 * a * b - p2 * (square + 2 * a * a)) / radial, (y - p1 * (square + 2 * b * b) - 2 * p2 * a * b) / radial];
  }
  return [a, b];
}

/** The equidistant fisheye, its angle by Newton's method. */
function fisheyeRay([x, y]: [number, number], given: Record<string, number>): Vector {
  const { k1 = 0, k2 = 0, k3 = 0, k4 = 0 } = given;
  const radius = Math.hypot(x, y);
  if (radius === 0) return [0, 0, 1];
  let angle = radius;
  for (let step = 0; step < STEPS; step += 1) {
    const square = angle * angle;
    const value = angle * (1 + square * (k1 + square * (k2 + square * (k3 + square * k4)))) - radius;
    const rate = 1 + square * (3 * k1 + square * (5 * k2 + square * (7 * k3 + square * 9 * k4)));
    if (!(rate > 0.1)) break;
    angle -= value / rate;
  }
  angle = Math.max(0, Math.min(Math.PI, angle));
  const across = Math.sin(angle) / radius;
  return [x * across, y * across, Math.cos(angle)];
}
