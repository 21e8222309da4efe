// The highest of a ground's triangles at a place: soil is pressed on the triangle below a shape, and where one is above another the upper one
// is seen.

import * as THREE from "three";
import type { GroundMesh } from "../protocol";

/** About so many triangles a square of the search has. */
const TRIANGLES_A_SQUARE = 2;
/** Squares along a side, at most. */
const MOST_SQUARES = 1024;
/** A place on an edge is in both triangles; rounding leaves it in neither. */
const ON_EDGE = 1e-6;

/** Puts points onto the highest triangle by their x and z, with its normal; false where there is none. */
export function highestOf({ vertices, triangles }: GroundMesh): (point: THREE.Vector3, normal: THREE.Vector3) => boolean {
  let [low, high] = [[Infinity, Infinity], [-Infinity, -Infinity]];
  for (const [x, , z] of vertices) {
    low = [Math.min(low[0], x), Math.min(low[1], z)];
    high = [Math.max(high[0], x), Math.max(high[1], z)];
  }
  const squares = Math.min(MOST_SQUARES, Math.max(1, Math.ceil(Math.sqrt(triangles.length / TRIANGLES_A_SQUARE))));
  const square = (axis: number, place: number) => Math.min(squares - 1, Math.max(0, Math.floor(((place - low[axis]) / (high[axis] - low[axis] || 1)) * squares)));
  // The triangles of each square.
  const found = new Map<number, number[]>();
  triangles.forEach((corners, index) => {
    const range = (axis: number) => {
      const places = corners.map((corner) => vertices[corner][2 * axis]);
      return [square(axis, Math.min(...places) - ON_EDGE), square(axis, Math.max(...places) + ON_EDGE)];
    };
    const [[left, right], [top, bottom]] = [range(0), range(1)];
    for (let i = left; i <= right; i += 1) {
      for (let j = top; j <= bottom; j += 1) {
        const key = i * squares + j;
        const list = found.get(key);
        if (list) list.push(index);
        else found.set(key, [index]);
      }
    }
  });
  const [a, b, c] = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
  return (point, normal) => {
    const { x, z } = point;
    let highest = -Infinity;
    for (const index of found.get(square(0, x) * squares + square(1, z)) ?? []) {
      [a, b, c].forEach((corner, k) => corner.fromArray(vertices[triangles[index][k]]));
      b.sub(a);
      c.sub(a);
      const area = b.x * c.z - b.z * c.x;
      const [s, t] = [((x - a.x) * c.z - (z - a.z) * c.x) / area, (b.x * (z - a.z) - b.z * (x - a.x)) / area];
      // An upright triangle has no area.
      if (!(s >= -ON_EDGE && t >= -ON_EDGE && s + t <= 1 + ON_EDGE)) continue;
      const height = a.y + s * b.y + t * c.y;
      if (height <= highest) continue;
      highest = height;
      normal.crossVectors(c, b).normalize();
      if (normal.y < 0) normal.negate();
    }
    point.y = highest;
    return highest > -Infinity;
  };
}
