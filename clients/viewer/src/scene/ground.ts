// The grounds, with a grid drawn on them by their own coordinates: a line each metre, a stronger one every ten.

import * as THREE from "three";
import type { Ground as Description, GroundMesh, Heightfield, Plane } from "../protocol";
import type { Theme } from "./theme";

/** Half the extent of the plane's mesh, metres. It moves along with what is looked at. */
const REACH = 300;
/** The mesh moves by whole strong lines, metres. */
const STRIDE = 10;

interface GridUniforms {
  minorColour: { value: THREE.Color };
  majorColour: { value: THREE.Color };
}

export class Ground {
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
    }
  }

  /** Keeps the planes under the point that is looked at. */
  follow(point: THREE.Vector3): void {
    for (const plane of this.planes) {
      const local = plane.parent!.worldToLocal(point.clone());
      plane.position.set(Math.round(local.x / STRIDE) * STRIDE, 0, Math.round(local.z / STRIDE) * STRIDE);
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
    this.group.traverse((part) => {
      if (!(part instanceof THREE.Mesh || part instanceof THREE.LineSegments)) return;
      part.geometry.dispose();
      (part.material as THREE.Material).dispose();
    });
  }

  private addPlane(plane: Plane): void {
    const normal = new THREE.Vector3(...plane.normal);
    const flat = new THREE.PlaneGeometry(2 * REACH, 2 * REACH).rotateX(-Math.PI / 2);
    const mesh = new THREE.Mesh(flat, this.material());
    mesh.receiveShadow = true;
    const holder = new THREE.Group();
    holder.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), normal);
    holder.position.copy(normal).multiplyScalar(plane.distance);
    holder.add(mesh);
    this.group.add(holder);
    this.planes.push(mesh);
  }

  private addTerrain(field: Heightfield): void {
    const holder = this.addSurface(terrain(field), this.material(heightRange(field.heights)));
    holder.position.set(...field.pose.position);
    holder.quaternion.set(...field.pose.rotation);
  }

  private addTriangles(mesh: GroundMesh): void {
    const surface = new THREE.BufferGeometry();
    surface.setAttribute("position", new THREE.BufferAttribute(new Float32Array(mesh.vertices.flat()), 3));
    surface.setIndex(mesh.triangles.flat());
    surface.computeVertexNormals();
    const material = this.material(heightRange(mesh.vertices.map((vertex) => vertex[1])));
    // It holds from both sides, and its edges are to be seen.
    material.side = THREE.DoubleSide;
    material.flatShading = true;
    this.addSurface(surface, material);
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
  private material(heights: [number, number] | null = null): THREE.MeshStandardMaterial {
    const material = new THREE.MeshStandardMaterial({ roughness: 0.95, metalness: 0 });
    const [low, high] = heights ?? [0, 1];
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms, {
        lowest: { value: low },
        shading: { value: heights && high > low ? 0.3 / (high - low) : 0 },
      });
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec3 gridPoint;")
        .replace("#include <begin_vertex>", `#include <begin_vertex>\n${heights ? WORLD_POINT : LOCAL_POINT}`);
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>\n${GRID}`)
        .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.rgb = grid(diffuseColor.rgb);");
    };
    material.customProgramCacheKey = () => (heights ? "terrain" : "plane");
    this.materials.push(material);
    return material;
  }
}

const WORLD_POINT = "gridPoint = position;";
/** The plane's mesh is moved in its holder by whole lines, so its own coordinates do for the grid. */
const LOCAL_POINT = "gridPoint = vec3(position.x, 0.0, position.z);";

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
