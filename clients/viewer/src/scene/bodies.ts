// The bodies: what is seen of each, or what it collides with, moved by the frames.

import * as THREE from "three";
import { POSE, type Frame } from "../frame";
import type { Body, Placed, Scene } from "../protocol";
import { geometry } from "./shapes";
import { bodyColour, type Theme } from "./theme";

type Part = THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;

const SHAPELESS_BODY: Placed = { kind: "sphere", radius: 0.03, position: [0, 0, 0], rotation: [0, 0, 0, 1] };

export class Bodies {
  readonly group = new THREE.Group();
  /** One for each body, in the order of their ids. */
  readonly nodes: THREE.Group[] = [];
  private parts: Part[][] = [];
  private readonly surfaces = new Map<string | Placed, THREE.BufferGeometry>();
  private readonly robots: string[];
  private selected = -1;
  private highlight = new THREE.Color();
  private wireframe = false;

  constructor(private readonly scene: Scene) {
    // Nobody knows yet where they are.
    this.group.visible = false;
    this.robots = [...new Set(scene.bodies.map((body) => body.robot))].filter((robot) => robot !== null);
    this.nodes = scene.bodies.map(() => new THREE.Group());
    this.group.add(...this.nodes);
    this.showCollisions(false);
  }

  /** Draws the shapes that collide, or what is seen. */
  showCollisions(on: boolean): void {
    this.disposeParts();
    this.parts = this.scene.bodies.map((body, id) => {
      const made = on ? this.colliding(body) : this.seen(body);
      for (const part of made) {
        part.castShadow = true;
        part.receiveShadow = true;
        part.userData.body = id;
        part.material.wireframe = this.wireframe;
      }
      if (made.length > 0) this.nodes[id].add(...made);
      return made;
    });
    this.select(this.selected);
  }

  update(frame: Frame): void {
    const { numbers } = frame;
    this.group.visible = true;
    for (let body = 0; body < this.nodes.length && body < frame.bodies; body += 1) {
      const at = frame.body(body, POSE);
      const node = this.nodes[body];
      node.visible = Number.isFinite(numbers[at]);
      node.position.set(numbers[at], numbers[at + 1], numbers[at + 2]);
      node.quaternion.set(numbers[at + 3], numbers[at + 4], numbers[at + 5], numbers[at + 6]);
    }
    this.group.updateMatrixWorld(true);
  }

  setWireframe(on: boolean): void {
    this.wireframe = on;
    for (const part of this.parts.flat()) part.material.wireframe = on;
  }

  setTheme(theme: Theme): void {
    this.highlight.set(theme.selected);
    this.select(this.selected);
  }

  /** Marks a body; -1 for none. */
  select(body: number): void {
    for (const part of this.parts[this.selected] ?? []) part.material.emissive.set(0);
    this.selected = body;
    for (const { material } of this.parts[body] ?? []) {
      material.emissive.copy(this.highlight);
      material.emissiveIntensity = 0.35;
    }
  }

  /** Takes the mark off a body if it has it. */
  deselect(body: number): void {
    if (this.selected === body) this.select(-1);
  }

  /** The body that a ray meets first, and where, world frame; null for none. */
  hit(ray: THREE.Raycaster): { body: number; point: THREE.Vector3 } | null {
    const [first] = ray.intersectObjects(this.parts.flat(), false);
    return first ? { body: first.object.userData.body as number, point: first.point } : null;
  }

  /** The box around a body in its own frame. */
  box(body: number): THREE.Box3 {
    const box = new THREE.Box3();
    for (const { geometry: surface } of this.parts[body] ?? []) {
      if (!surface.boundingBox) surface.computeBoundingBox();
      box.union(surface.boundingBox!);
    }
    return box;
  }

  /** The box around the bodies that `wanted` lets in. */
  bounds(wanted: (id: number) => boolean): THREE.Box3 {
    const box = new THREE.Box3();
    this.nodes.forEach((node, id) => {
      if (wanted(id) && node.visible) box.expandByObject(node);
    });
    return box;
  }

  dispose(): void {
    this.disposeParts();
    for (const surface of this.surfaces.values()) surface.dispose();
  }

  private disposeParts(): void {
    for (const part of this.parts.flat()) {
      part.removeFromParent();
      part.material.dispose();
    }
  }

  private seen(body: Body): Part[] {
    if (body.visuals.length === 0) return [this.part(body, body.shape ?? body.collision ?? SHAPELESS_BODY)];
    return body.visuals.map((visual) => {
      const part = this.part(body, visual);
      if (visual.color) part.material.color.set(visual.color);
      part.material.opacity = visual.opacity;
      part.material.transparent = visual.opacity < 1;
      return part;
    });
  }

  private colliding(body: Body): Part[] {
    const shape = body.collision ?? body.shape;
    return shape ? [this.part(body, shape)] : [];
  }

  private part(body: Body, placed: Placed): Part {
    const material = new THREE.MeshStandardMaterial({
      color: bodyColour(body, this.robots),
      vertexColors: true,
      roughness: 0.62,
      metalness: 0.08,
    });
    return new THREE.Mesh(this.surface(placed), material);
  }

  /** The same shape has one geometry, whichever bodies have it. */
  private surface(placed: Placed): THREE.BufferGeometry {
    const { position, rotation } = placed;
    // A mesh is too long a text to be looked up by; it stands in the scene once for each body.
    const key = placed.kind === "triangleMesh" ? placed : JSON.stringify({ ...placed, color: 0, opacity: 0 });
    const known = this.surfaces.get(key);
    if (known) return known;
    const made = geometry(placed) ?? geometry({ ...SHAPELESS_BODY, position, rotation }) ?? new THREE.BufferGeometry();
    this.surfaces.set(key, made);
    return made;
  }
}
