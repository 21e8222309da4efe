// The bodies: a mesh each, moved by the frames.

import * as THREE from "three";
import { POSE, type Frame } from "../frame";
import type { Body, Scene } from "../protocol";
import { geometry } from "./shapes";
import { bodyColour, type Theme } from "./theme";

const PARTICLE = 0.03;

export class Bodies {
  readonly group = new THREE.Group();
  /** One for each body, in the order of their ids. */
  readonly nodes: THREE.Group[] = [];
  private readonly meshes: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>[] = [];
  private readonly surfaces = new Map<string, THREE.BufferGeometry>();
  private selected = -1;
  private highlight = new THREE.Color();

  constructor(scene: Scene) {
    // Nobody knows yet where they are.
    this.group.visible = false;
    const robots = [...new Set(scene.bodies.map((body) => body.robot))].filter((robot) => robot !== null);
    scene.bodies.forEach((body, id) => {
      const material = new THREE.MeshStandardMaterial({
        color: bodyColour(body, robots),
        vertexColors: true,
        roughness: 0.62,
        metalness: 0.08,
      });
      const mesh = new THREE.Mesh(this.surface(body), material);
      mesh.castShadow = true;
      mesh.receiveShadow = true;
      mesh.userData.body = id;
      const node = new THREE.Group();
      node.add(mesh);
      this.meshes.push(mesh);
      this.nodes.push(node);
      this.group.add(node);
    });
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
    for (const mesh of this.meshes) mesh.material.wireframe = on;
  }

  setTheme(theme: Theme): void {
    this.highlight.set(theme.selected);
    this.select(this.selected);
  }

  /** Marks a body; -1 for none. */
  select(body: number): void {
    this.meshes[this.selected]?.material.emissive.set(0);
    this.selected = body;
    const material = this.meshes[body]?.material;
    material?.emissive.copy(this.highlight);
    if (material) material.emissiveIntensity = 0.35;
  }

  /** Takes the mark off a body if it has it. */
  deselect(body: number): void {
    if (this.selected === body) this.select(-1);
  }

  /** The body that a ray meets first, or -1. */
  pick(ray: THREE.Raycaster): number {
    const [first] = ray.intersectObjects(this.meshes, false);
    return first ? (first.object.userData.body as number) : -1;
  }

  /** The box around a body in its own frame. */
  box(body: number): THREE.Box3 {
    const { geometry: surface } = this.meshes[body];
    if (!surface.boundingBox) surface.computeBoundingBox();
    return surface.boundingBox!;
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
    for (const mesh of this.meshes) mesh.material.dispose();
    for (const surface of this.surfaces.values()) surface.dispose();
  }

  /** Bodies of the same shape share its geometry. */
  private surface(body: Body): THREE.BufferGeometry {
    const placed = body.shape ?? body.collision;
    const key = JSON.stringify(placed);
    const known = this.surfaces.get(key);
    if (known) return known;
    const made =
      (placed && geometry(placed)) ??
      geometry({ kind: "sphere", radius: PARTICLE, position: [0, 0, 0], rotation: [0, 0, 0, 1] }) ??
      new THREE.BufferGeometry();
    this.surfaces.set(key, made);
    return made;
  }
}
