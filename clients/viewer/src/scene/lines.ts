// Line segments that are written anew for each frame, and may be seen through the bodies.

import * as THREE from "three";

export class Lines {
  readonly lines: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly positions: THREE.BufferAttribute;
  private readonly colours: THREE.BufferAttribute;
  private count = 0;

  constructor(segments: number, opacity: number, through: boolean) {
    const surface = new THREE.BufferGeometry();
    this.positions = new THREE.BufferAttribute(new Float32Array(segments * 6), 3).setUsage(THREE.DynamicDrawUsage);
    this.colours = new THREE.BufferAttribute(new Float32Array(segments * 6), 3).setUsage(THREE.DynamicDrawUsage);
    surface.setAttribute("position", this.positions);
    surface.setAttribute("color", this.colours);
    const material = new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, opacity, depthTest: !through, depthWrite: false });
    this.lines = new THREE.LineSegments(surface, material);
    this.lines.frustumCulled = false;
    this.lines.renderOrder = through ? 10 : 1;
    this.lines.visible = false;
  }

  begin(): void {
    this.count = 0;
  }

  add(from: THREE.Vector3, to: THREE.Vector3, colour: THREE.Color): void {
    const at = this.count * 2;
    if (at + 2 > this.positions.count) return;
    this.positions.setXYZ(at, from.x, from.y, from.z).setXYZ(at + 1, to.x, to.y, to.z);
    this.colours.setXYZ(at, colour.r, colour.g, colour.b).setXYZ(at + 1, colour.r, colour.g, colour.b);
    this.count += 1;
  }

  end(): void {
    this.positions.needsUpdate = true;
    this.colours.needsUpdate = true;
    this.lines.geometry.setDrawRange(0, this.count * 2);
  }
}
