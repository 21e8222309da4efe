// Ruts in the soil: the surface as it was left, drawn in place of the ground that was there. Each tile that was pressed is a grid of its own,
// lowered along the ground's normal and darker the deeper it is; the ground leaves a hole where there are tiles (`RutMask`).

import * as THREE from "three";
import { cornerDepths, keyOf, type RutMap, type RutMessage, type RutTile } from "../ruts";
import type { Soil } from "./ground";

/** Tiles that are one mesh. */
const TILES_A_MESH = 16;
/** Up to so many tiles each cell is drawn: a million triangles. Of four times as many every second cell along each side, and so on. */
const FINE_TILES = 512;

/** Tiles that are drawn together. */
interface Part {
  mesh: THREE.Mesh;
  count: number;
}

/** The ruts of all grounds. */
export class Ruts {
  private stride = 1;
  private readonly parts: Part[] = [];
  /** The mesh to which the next tile of each ground goes. */
  private readonly open = new Map<number, Part>();
  /** Where each tile is drawn; null for one that lies where the ground has a hole or ends. */
  private readonly places = new Map<string, { part: Part; slot: number } | null>();

  constructor(
    private readonly soils: (Soil | null)[],
    private readonly map: RutMap,
  ) {
    this.add([...map.tiles.values()]);
  }

  /** Shows what a message has brought into the map. */
  take(message: RutMessage): void {
    if (message.anew) this.clear(1);
    this.add(message.tiles);
  }

  /** Number of drawn tiles. */
  get count(): number {
    return [...this.places.values()].filter((place) => place !== null).length;
  }

  setVisible(on: boolean): void {
    for (const { mesh } of this.parts) mesh.visible = on;
  }

  dispose(): void {
    this.clear(this.stride);
  }

  private add(tiles: RutTile[]): void {
    const most = FINE_TILES * this.stride ** 2;
    if (this.map.tiles.size > most && this.stride < 8) {
      this.clear(this.stride * 2);
      this.add([...this.map.tiles.values()]);
      return;
    }
    // The corners of a tile belong to its neighbours as well.
    const changed = new Map<string, RutTile>();
    for (const { ground, tile } of tiles) {
      for (let row = -1; row <= 1; row += 1) {
        for (let column = -1; column <= 1; column += 1) {
          const near = this.map.at(ground, tile[0] + column, tile[1] + row);
          if (near) changed.set(keyOf(ground, near.tile), near);
        }
      }
    }
    for (const [key, tile] of changed) this.draw(key, tile);
  }

  private draw(key: string, tile: RutTile): void {
    const soil = this.soils[tile.ground];
    if (!soil) return;
    let place = this.places.get(key);
    if (place === null) return;
    const surface = lowered(soil, tile, cornerDepths(this.map, tile, soil.tile, this.stride), this.stride);
    if (place === undefined) {
      place = surface && this.newPlace(tile.ground, soil);
      this.places.set(key, place);
      if (place) soil.mask.set(tile.tile);
    }
    if (!surface || !place) return;
    const { geometry } = place.part.mesh;
    const corners = surface.depths.length;
    const written = [["position", surface.positions, 3], ["normal", surface.normals, 3], ["rutDepth", surface.depths.map((depth) => 1 + depth), 1]] as const;
    for (const [name, values, width] of written) {
      const attribute = geometry.getAttribute(name) as THREE.BufferAttribute;
      attribute.array.set(values, place.slot * corners * width);
      attribute.addUpdateRange(place.slot * corners * width, values.length);
      attribute.needsUpdate = true;
    }
    geometry.boundingSphere!.union(new THREE.Sphere().setFromPoints([0, corners - 1].map((corner) => new THREE.Vector3().fromArray(surface.positions, corner * 3))));
    geometry.setDrawRange(0, place.part.count * (soil.tile / this.stride) ** 2 * 6);
  }

  private newPlace(ground: number, soil: Soil): { part: Part; slot: number } {
    let part = this.open.get(ground);
    if (!part || part.count === TILES_A_MESH) {
      part = { mesh: new THREE.Mesh(emptyGrids(soil.tile / this.stride), soil.material), count: 0 };
      part.mesh.receiveShadow = true;
      part.mesh.visible = soil.surface.visible;
      soil.surface.parent!.add(part.mesh);
      this.parts.push(part);
      this.open.set(ground, part);
    }
    return { part, slot: part.count++ };
  }

  private clear(stride: number): void {
    for (const { mesh } of this.parts) {
      mesh.removeFromParent();
      mesh.geometry.dispose();
    }
    for (const soil of this.soils) soil?.mask.clear();
    this.parts.length = 0;
    this.open.clear();
    this.places.clear();
    this.stride = stride;
  }
}

/** So many grids of so many cells each way, all of whose corners are in the origin. */
function emptyGrids(cells: number): THREE.BufferGeometry {
  const across = cells + 1;
  const geometry = new THREE.BufferGeometry();
  for (const [name, width] of [["position", 3], ["normal", 3], ["rutDepth", 1]] as const) {
    const values = new Float32Array(TILES_A_MESH * across * across * width);
    geometry.setAttribute(name, new THREE.BufferAttribute(values, width).setUsage(THREE.DynamicDrawUsage));
  }
  const triangles = new Uint32Array(TILES_A_MESH * cells * cells * 6);
  let at = 0;
  for (let slot = 0; slot < TILES_A_MESH; slot += 1) {
    for (let row = 0; row < cells; row += 1) {
      for (let column = 0; column < cells; column += 1) {
        const corner = (slot * across + row) * across + column;
        triangles.set([corner, corner + across, corner + 1, corner + 1, corner + across, corner + across + 1], at);
        at += 6;
      }
    }
  }
  geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
  // Grown with each tile: an empty sphere has a negative radius.
  geometry.boundingSphere = new THREE.Sphere();
  geometry.boundingSphere.makeEmpty();
  return geometry;
}

interface Lowered {
  positions: Float32Array;
  normals: Float32Array;
  depths: Float32Array;
}

/** The corners of a tile, in the axes of the ground's holder; null where the ground has no surface below all of it. */
function lowered(soil: Soil, { tile }: RutTile, depths: Float32Array, stride: number): Lowered | null {
  const cells = soil.tile / stride;
  const across = cells + 1;
  const step = soil.cell * stride;
  const positions = new Float32Array(depths.length * 3);
  const normals = new Float32Array(depths.length * 3);
  const [along, aside] = soil.directions;
  // What a metre along the ground's own x and z is along the axes of the tiles.
  const area = along.x * aside.z - along.z * aside.x;
  const point = new THREE.Vector3();
  const normal = new THREE.Vector3();
  for (let row = 0, corner = 0; row <= cells; row += 1) {
    for (let column = 0; column <= cells; column += 1, corner += 1) {
      const place = [tile[0] * soil.tile * soil.cell + column * step, tile[1] * soil.tile * soil.cell + row * step] as const;
      point.copy(soil.origin).addScaledVector(along, place[0]).addScaledVector(aside, place[1]);
      if (!soil.sample(point, normal)) return null;
      const left = Math.max(0, column - 1);
      const right = Math.min(cells, column + 1);
      const above = Math.max(0, row - 1);
      const below = Math.min(cells, row + 1);
      const slopes = [(depths[row * across + right] - depths[row * across + left]) / ((right - left) * step), (depths[below * across + column] - depths[above * across + column]) / ((below - above) * step)];
      point.addScaledVector(normal, -depths[corner]).toArray(positions, corner * 3);
      normal.x += (slopes[0] * aside.z - slopes[1] * along.z) / area;
      normal.z += (slopes[1] * along.x - slopes[0] * aside.x) / area;
      normal.normalize().toArray(normals, corner * 3);
    }
  }
  return { positions, normals, depths };
}
