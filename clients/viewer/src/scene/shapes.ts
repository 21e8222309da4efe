// Geometry for the shapes of bodies.

import * as THREE from "three";
import { ConvexGeometry } from "three/examples/jsm/geometries/ConvexGeometry.js";
import { mergeGeometries, toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Body, Placed, Shape } from "../protocol";

const ROUND = 40;
const SECTORS = 8;
const SHADE = 0.45;
/** Faces of a mesh that meet at less than this angle are one smooth surface, radians. */
const CREASE = Math.PI / 5;

/** The surface of a placed shape in the frame of its body; null for what has none. */
export function geometry(placed: Placed): THREE.BufferGeometry | null {
  const surface = placed.kind === "compound" ? merged(placed.parts) : plain(placed);
  if (!surface) return null;
  const rotation = new THREE.Quaternion(...placed.rotation);
  return surface.applyMatrix4(new THREE.Matrix4().compose(new THREE.Vector3(...placed.position), rotation, new THREE.Vector3(1, 1, 1)));
}

/** The radius a body rolls on, in metres; null for one that does not roll. */
export function rollingRadius(body: Body): number | null {
  for (const shape of [body.collision, body.shape]) {
    if (shape?.kind === "sphere" || shape?.kind === "cylinder") return shape.radius;
  }
  return null;
}

function merged(parts: Placed[]): THREE.BufferGeometry | null {
  const surfaces = parts.map(geometry).filter((part) => part !== null);
  return surfaces.length > 0 ? mergeGeometries(surfaces) : null;
}

function plain(shape: Shape): THREE.BufferGeometry | null {
  switch (shape.kind) {
    case "box":
      return finished(new THREE.BoxGeometry(...shape.size));
    case "sphere":
      return finished(new THREE.SphereGeometry(shape.radius, ROUND, ROUND / 2), true);
    case "ellipsoid":
      return finished(new THREE.SphereGeometry(1, ROUND, ROUND / 2), true).scale(...shape.radii);
    case "cylinder":
      return finished(new THREE.CylinderGeometry(shape.radius, shape.radius, shape.length, ROUND), true);
    case "capsule":
      return finished(new THREE.CapsuleGeometry(shape.radius, shape.length, 8, ROUND / 2));
    case "cone":
      return finished(new THREE.ConeGeometry(shape.radius, shape.length, ROUND));
    case "convexHull":
      return finished(new ConvexGeometry(shape.points.map((point) => new THREE.Vector3(...point))));
    case "triangleMesh":
      return finished(mesh(shape.vertices, shape.triangles));
    case "compound":
      return merged(shape.parts);
  }
}

function mesh(vertices: number[][], triangles: number[][]): THREE.BufferGeometry {
  const surface = new THREE.BufferGeometry();
  surface.setAttribute("position", new THREE.Float32BufferAttribute(vertices.flat(), 3));
  surface.setIndex(triangles.flat());
  return toCreasedNormals(surface, CREASE);
}

/** The same attributes for all, so that they can be merged; what rolls gets sectors of two shades, so that one sees it roll. */
function finished(surface: THREE.BufferGeometry, rolls = false): THREE.BufferGeometry {
  const flat = surface.index ? surface.toNonIndexed() : surface;
  flat.deleteAttribute("uv");
  const position = flat.getAttribute("position");
  const colours = new Float32Array(position.count * 3).fill(1);
  for (let corner = 0; rolls && corner < position.count; corner += 3) {
    let x = 0;
    let z = 0;
    for (let vertex = corner; vertex < corner + 3; vertex += 1) {
      x += position.getX(vertex);
      z += position.getZ(vertex);
    }
    const sector = Math.floor(((Math.atan2(z, x) / Math.PI + 1) / 2) * SECTORS);
    if (sector % 2 === 1) colours.fill(SHADE, corner * 3, corner * 3 + 9);
  }
  flat.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  return flat;
}
