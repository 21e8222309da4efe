// The grounds, with a grid drawn on them by their own coordinates: a line each metre, a stronger one every ten.

import * as THREE from "three";
import type { Ground as Description, GroundMesh, Heightfield, Plane, RutCells } from "../protocol";
import { RutMask } from "./rutmask";
import { highestOf } from "./triangles";
import type { Theme } from "./theme";

/** Half the extent of the plane's mesh, metres. It moves along with what is looked at. */
const REACH = 300;
/** The mesh moves by whole strong lines, metres. */
const GRID_STEP = 10;

interface GridUniforms {
  minorColour: { value: THREE.Color };
  majorColour: { value: THREE.Color };
}

/** A ground that ruts can be pressed into, in the axes of its holder. */
export interface Soil {
  surface: THREE.Mesh;
  material: THREE.Material;
  mask: RutMask;
  /** Side of a cell, metres, and cells along the side of a tile. */
  cell: number;
  tile: number;
  /** Where the cells are counted from, and how far one goes for a metre along each of their axes; heights do not count. */
  origin: THREE.Vector3;
  directions: [THREE.Vector3, THREE.Vector3];
  /** Puts a point onto the surface by its x and z, with its normal there; false where there is none. */
  sample(point: THREE.Vector3, normal: THREE.Vector3): boolean;
}

export class Ground {
  /** One for each ground; null for those that are not soil. */
  readonly soils: (Soil | null)[] = [];
  readonly group = new THREE.Group();
  private readonly uniforms: GridUniforms = {
    minorColour: { value: new THREE.Color() },
    majorColour: { value: new THREE.Color() },
  };
  private readonly materials: THREE.MeshStandardMaterial[] = [];
  private readonly planes: THREE.Mesh[] = [];
  /** Terrain and triangles, and their edges as lines. */
  private readonly surfaces: THREE.Mesh[] = [];
  private readonly lines: THREE.LineSegments[] = [];

  constructor(grounds: Description[]) {
    for (const ground of grounds) {
      if (ground.kind === "plane") this.addPlane(ground);
      else if (ground.kind === "heightfield") this.addTerrain(ground);
      else this.addTriangles(ground);
      if (this.soils.length < this.materials.length) this.soils.push(null);
    }
  }

  /** Keeps the planes under the point that is looked at. */
  follow(point: THREE.Vector3): void {
    for (const plane of this.planes) {
      const local = plane.parent!.worldToLocal(point.clone());
      plane.position.set(Math.round(local.x / GRID_STEP) * GRID_STEP, 0, Math.round(local.z / GRID_STEP) * GRID_STEP);
    }
  }

  /** The box around all but the planes, which have no end. */
  bounds(): THREE.Box3 {
    const box = new THREE.Box3();
    for (const surface of this.surfaces) box.expandByObject(surface);
    return box;
  }

  setWireframe(on: boolean): void {
    for (const surface of this.surfaces) surface.visible = !on;
    for (const lines of this.lines) lines.visible = on;
  }

  setTheme(theme: Theme): void {
    this.uniforms.minorColour.value.set(theme.minor);
    this.uniforms.majorColour.value.set(theme.major);
    for (const material of this.materials) material.color.set(theme.ground);
    for (const lines of this.lines) (lines.material as THREE.LineBasicMaterial).color.set(theme.major);
  }

  dispose(): void {
    for (const soil of this.soils) soil?.mask.dispose();
    this.group.traverse((part) => {
      if (!(part instanceof THREE.Mesh || part instanceof THREE.LineSegments)) return;
      part.geometry.dispose();
      (part.material as THREE.Material).dispose();
    });
  }

  private addPlane(plane: Plane): void {
    const normal = new THREE.Vector3(...plane.normal);
    const flat = new THREE.PlaneGeometry(2 * REACH, 2 * REACH).rotateX(-Math.PI / 2);
    const mask = plane.ruts ? new RutMask() : null;
    const mesh = new THREE.Mesh(flat, this.material(null, plane.ruts, mask));
    mesh.receiveShadow = true;
    const holder = new THREE.Group();
    holder.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), normal);
    holder.position.copy(normal).multiplyScalar(plane.distance);
    holder.add(mesh);
    this.group.add(holder);
    this.planes.push(mesh);
    const sample = (point: THREE.Vector3, up: THREE.Vector3) => {
      point.y = 0;
      up.set(0, 1, 0);
      return true;
    };
    if (plane.ruts && mask) this.soils.push(soil(mesh, plane.ruts, mask, holder, normal, plane.distance, sample));
  }

  private addTerrain(field: Heightfield): void {
    const surface = terrain(field);
    const mask = field.ruts ? new RutMask() : null;
    const holder = this.addSurface(surface, this.material(heightRange(field.heights), field.ruts, mask));
    holder.position.set(...field.pose.position);
    holder.quaternion.set(...field.pose.rotation);
    if (!field.ruts || !mask) return;
    const mesh = this.surfaces[this.surfaces.length - 1];
    this.soils.push(soil(mesh, field.ruts, mask, holder, new THREE.Vector3(0, 1, 0), 0, sampleOf(field, surface)));
  }

  private addTriangles(mesh: GroundMesh): void {
    const surface = new THREE.BufferGeometry();
    surface.setAttribute("position", new THREE.BufferAttribute(new Float32Array(mesh.vertices.flat()), 3));
    surface.setIndex(mesh.triangles.flat());
    surface.computeVertexNormals();
    const mask = mesh.ruts ? new RutMask() : null;
    const material = this.material(heightRange(mesh.vertices.map((vertex) => vertex[1])), mesh.ruts, mask);
    // It holds from both sides, and its edges are to be seen.
    material.side = THREE.DoubleSide;
    material.flatShading = true;
    const holder = this.addSurface(surface, material);
    if (!mesh.ruts || !mask) return;
    const drawn = this.surfaces[this.surfaces.length - 1];
    this.soils.push(soil(drawn, mesh.ruts, mask, holder, new THREE.Vector3(0, 1, 0), 0, highestOf(mesh)));
  }

  private addSurface(surface: THREE.BufferGeometry, material: THREE.Material): THREE.Group {
    const mesh = new THREE.Mesh(surface, material);
    mesh.receiveShadow = true;
    mesh.castShadow = true;
    const lines = new THREE.LineSegments(new THREE.WireframeGeometry(surface), new THREE.LineBasicMaterial({ transparent: true, opacity: 0.5 }));
    lines.visible = false;
    const holder = new THREE.Group();
    holder.add(mesh, lines);
    this.group.add(holder);
    this.surfaces.push(mesh);
    this.lines.push(lines);
    return holder;
  }

  /** With `heights`, hollows are a little darker than hills, so that the ground can be read without a shadow. */
  private material(heights: [number, number] | null = null, ruts: RutCells | null = null, mask: RutMask | null = null): THREE.MeshStandardMaterial {
    const material = new THREE.MeshStandardMaterial({ roughness: 0.95, metalness: 0 });
    const [low, high] = heights ?? [0, 1];
    if (ruts) material.defines = { ...material.defines, RUTS: "" };
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms, {
        lowest: { value: low },
        shading: { value: heights && high > low ? 0.3 / (high - low) : 0 },
      });
      if (ruts && mask) {
        Object.assign(shader.uniforms, { rutMask: mask.texture, rutPlace: mask.place, rutAxes: { value: ruts.axes.map((axis) => new THREE.Vector3(...axis)) }, rutTile: { value: ruts.cell * ruts.tile } });
      }
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", `#include <common>\n${VERTEX}`)
        .replace("#include <begin_vertex>", `#include <begin_vertex>\n${heights ? WORLD_POINT : LOCAL_POINT}\n${RUT_POINT}`);
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>\n${GRID}${RUTS}`)
        .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.rgb = ruts(grid(diffuseColor.rgb));");
    };
    material.customProgramCacheKey = () => `${heights ? "terrain" : "plane"} ${ruts ? "soil" : "firm"}`;
    this.materials.push(material);
    return material;
  }
}

const WORLD_POINT = "gridPoint = position;";
/** The plane's mesh is moved in its holder by whole lines, so its own coordinates do for the grid. */
const LOCAL_POINT = "gridPoint = vec3(position.x, 0.0, position.z);";

const VERTEX = `
varying vec3 gridPoint;
#ifdef RUTS
attribute float rutDepth;
varying float rutLow;
varying vec3 rutPoint;
#endif`;
/** The ground itself has no such attribute and reads 0; of ruts it is their depth and a metre. */
const RUT_POINT = `
#ifdef RUTS
rutLow = rutDepth;
rutPoint = (modelMatrix * vec4(position, 1.0)).xyz;
#endif`;

const GRID = `
varying vec3 gridPoint;
uniform vec3 minorColour;
uniform vec3 majorColour;
uniform float lowest;
uniform float shading;
float gridLine(float spacing, float width) {
  vec2 at = gridPoint.xz / spacing;
  vec2 slope = max(fwidth(at), vec2(1e-5));
  vec2 distance = abs(fract(at - 0.5) - 0.5) / slope;
  vec2 seen = clamp(width - distance, 0.0, 1.0) * clamp(1.6 - 3.0 * slope, 0.0, 1.0);
  return max(seen.x, seen.y);
}
vec3 grid(vec3 base) {
  base *= 0.85 + shading * (gridPoint.y - lowest) + (shading > 0.0 ? 0.0 : 0.15);
  base = mix(base, minorColour, gridLine(1.0, 1.1) * 0.8);
  return mix(base, majorColour, gridLine(10.0, 1.6));
}
`;

/** The ground reaches half a cell into the tiles that are drawn as ruts, so that no sky is seen between them. Its points are
 * exact to some millimetres, since a plane is two large triangles; far from the origin to some centimetres. */
const RUTS = `
#ifdef RUTS
varying float rutLow;
varying vec3 rutPoint;
uniform sampler2D rutMask;
uniform vec4 rutPlace;
uniform vec3 rutAxes[2];
uniform float rutTile;
bool isRut(vec2 place) {
  vec2 at = floor(place / rutTile) - rutPlace.xy;
  if (any(lessThan(at, vec2(0.0))) || any(greaterThanEqual(at, rutPlace.zw))) return false;
  return texelFetch(rutMask, ivec2(at), 0).r > 0.5;
}
vec3 ruts(vec3 base) {
  if (rutLow > 0.5) return base * (1.0 - 0.55 * max(rutLow - 1.0, 0.0) / (max(rutLow - 1.0, 0.0) + 0.008));
  vec2 place = vec2(dot(rutAxes[0], rutPoint), dot(rutAxes[1], rutPoint));
  float inside = 4e-3 + 2e-5 * length(place);
  vec3 hair = vec3(-inside, inside, 0.0);
  if (isRut(place + hair.xz) && isRut(place + hair.yz) && isRut(place + hair.zx) && isRut(place + hair.zy)) discard;
  return base;
}
#else
vec3 ruts(vec3 base) { return base; }
#endif
`;

/** The soil of a ground whose surface, drawn in a holder, is that plane or counted by x and z of the world. */
function soil(surface: THREE.Mesh, ruts: RutCells, mask: RutMask, holder: THREE.Group, normal: THREE.Vector3, distance: number, sample: Soil["sample"]): Soil {
  holder.updateMatrixWorld(true);
  const [first, second] = ruts.axes.map((axis) => new THREE.Vector3(...axis));
  // From along the two axes and the normal to the world.
  const place = new THREE.Matrix3().set(first.x, first.y, first.z, second.x, second.y, second.z, normal.x, normal.y, normal.z).invert();
  const at = (u: number, v: number) => holder.worldToLocal(new THREE.Vector3(u, v, distance).applyMatrix3(place));
  const origin = at(0, 0);
  const directions: [THREE.Vector3, THREE.Vector3] = [at(1, 0).sub(origin), at(0, 1).sub(origin)];
  return { surface, material: surface.material as THREE.Material, mask, cell: ruts.cell, tile: ruts.tile, origin, directions, sample };
}

/** Puts points onto terrain as it is drawn. */
function sampleOf(field: Heightfield, surface: THREE.BufferGeometry): Soil["sample"] {
  const { points_x: along, points_z: across, heights } = field;
  const normals = surface.getAttribute("normal") as THREE.BufferAttribute;
  return (point, normal) => {
    const [x, z] = [(point.x / field.width + 0.5) * (along - 1), (point.z / field.depth + 0.5) * (across - 1)];
    const [i, j] = [Math.min(Math.max(0, Math.floor(x)), along - 2), Math.min(Math.max(0, Math.floor(z)), across - 2)];
    const [u, v] = [x - i, z - j];
    const corner = i * across + j;
    const corners = [corner, corner + across, corner + 1, corner + across + 1];
    if (u < -1e-6 || u > 1 + 1e-6 || v < -1e-6 || v > 1 + 1e-6 || corners.some((index) => heights[index] === null)) return false;
    const shares = u + v <= 1 ? [1 - u - v, u, v, 0] : [0, 1 - v, 1 - u, u + v - 1];
    point.y = 0;
    normal.set(0, 0, 0);
    corners.forEach((index, place) => {
      point.y += shares[place] * heights[index]!;
      normal.x += shares[place] * normals.getX(index);
      normal.y += shares[place] * normals.getY(index);
      normal.z += shares[place] * normals.getZ(index);
    });
    normal.normalize();
    return true;
  };
}

function heightRange(heights: (number | null)[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const height of heights) {
    if (height === null) continue;
    low = Math.min(low, height);
    high = Math.max(high, height);
  }
  return [low, high];
}

/** Two triangles in each cell, as the engine has them; a cell with a corner without height is a hole. */
function terrain(field: Heightfield): THREE.BufferGeometry {
  const { points_x: along, points_z: across, heights } = field;
  const positions = new Float32Array(along * across * 3);
  for (let i = 0; i < along; i += 1) {
    for (let j = 0; j < across; j += 1) {
      const at = i * across + j;
      positions[at * 3] = (i / (along - 1) - 0.5) * field.width;
      positions[at * 3 + 1] = heights[at] ?? 0;
      positions[at * 3 + 2] = (j / (across - 1) - 0.5) * field.depth;
    }
  }
  const triangles: number[] = [];
  for (let i = 0; i + 1 < along; i += 1) {
    for (let j = 0; j + 1 < across; j += 1) {
      const corner = i * across + j;
      const corners = [corner, corner + 1, corner + across, corner + across + 1];
      if (corners.some((index) => heights[index] === null)) continue;
      triangles.push(corner, corner + 1, corner + across, corner + 1, corner + across + 1, corner + across);
    }
  }
  const surface = new THREE.BufferGeometry();
  surface.setAttribute("position", new THREE.BufferAttribute(positions, 3));
  surface.setIndex(triangles);
  surface.computeVertexNormals();
  return surface;
}
