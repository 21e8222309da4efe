// What cameras see: the pyramid between their nearest and farthest distance, and the axes of their optical frames.

import * as THREE from "three";
import { edgeRays } from "../optics";
import type { Scene } from "../protocol";
import { Lines } from "./lines";
import { AXES } from "./theme";

// Lengths for a robot that fits into a ball of one metre's radius.
/** Largest distance to which a pyramid is drawn; a camera may see any distance. */
const REACH = 1;
const AXIS_LENGTH = 0.12;
/** Cosine of the largest angle from the axis at which edges are drawn. */
const LEAST_DEPTH = 0.05;
const OPACITY = 0.7;
/** Share of a pyramid's edges to its corners that is drawn where the edge of the image is bent: as many as there are corners. */
const CORNERS = 4;

interface Frustum {
  body: number;
  /** In the axes of the body. */
  origin: THREE.Vector3;
  axes: THREE.Vector3[];
  /** Around the image, with the depth along the optical axis for each metre of the ray; 1 for a fisheye, whose distances are along its rays. */
  edges: { direction: THREE.Vector3; depth: number }[];
  near: number;
  far: number;
}

export class Frusta {
  readonly colour = new THREE.Color();
  private readonly frusta: Frustum[];
  private readonly segments: Lines;
  private readonly axisColours = AXES.map((colour) => new THREE.Color(colour));

  constructor(scene: Scene) {
    this.frusta = scene.devices.flatMap((device) => {
      const { camera, body, pose } = device;
      if (!camera || body === null || !pose) return [];
      const turn = new THREE.Quaternion(...pose.rotation);
      // The optical frame is the device's, turned by half a turn about z.
      const outward = (x: number, y: number, z: number) => new THREE.Vector3(-x, -y, z).applyQuaternion(turn);
      const isWide = camera.lens.model === "fisheye";
      const edges = edgeRays(camera).map(([x, y, z]) => ({ direction: outward(x, y, z), depth: isWide ? 1 : Math.max(LEAST_DEPTH, z) }));
      const axes = [outward(1, 0, 0), outward(0, 1, 0), outward(0, 0, 1)];
      return [{ body, origin: new THREE.Vector3(...pose.position), axes, edges, near: camera.near, far: camera.far ?? Infinity }];
    });
    const count = this.frusta.reduce((sum, { edges }) => sum + 2 * edges.length + CORNERS + AXES.length, 0);
    this.segments = new Lines(count, OPACITY, false);
  }

  get lines(): THREE.LineSegments {
    return this.segments.lines;
  }

  /** Draws all of them, for bodies of a size. */
  draw(nodes: THREE.Group[], size: number): void {
    this.segments.begin();
    for (const frustum of this.frusta) this.add(frustum, nodes[frustum.body], size);
    this.segments.end();
  }

  private add({ origin, axes, edges, near, far }: Frustum, node: THREE.Group, size: number): void {
    const eye = origin.clone().applyQuaternion(node.quaternion).add(node.position);
    const at = (direction: THREE.Vector3, length: number) => direction.clone().multiplyScalar(length).applyQuaternion(node.quaternion).add(eye);
    // The far end is always beyond the near one.
    const end = Math.min(far, Math.max(REACH * size, 2 * near));
    const inner = edges.map(({ direction, depth }) => at(direction, near / depth));
    const outer = edges.map(({ direction, depth }) => at(direction, end / depth));
    edges.forEach((_, place) => {
      const next = (place + 1) % edges.length;
      this.segments.add(inner[place], inner[next], this.colour);
      this.segments.add(outer[place], outer[next], this.colour);
      if (place % (edges.length / CORNERS) === 0) this.segments.add(inner[place], outer[place], this.colour);
    });
    axes.forEach((axis, index) => this.segments.add(eye, at(axis, AXIS_LENGTH * size), this.axisColours[index]));
  }
}
