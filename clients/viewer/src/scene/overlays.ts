// What is drawn over the bodies: their frames, the axes of joints, contact forces, the rays of scanners and what cameras see.

import * as THREE from "three";
import { POSE, WRENCH, type Frame } from "../frame";
import { deviceStarts, type Rays, type Scene } from "../protocol";
import type { Bodies } from "./bodies";
import { Frusta } from "./frusta";
import { Lines } from "./lines";
import { rollingRadius } from "./shapes";
import { AXES, type Theme } from "./theme";

// Lengths for a robot that fits into a ball of one metre's radius.
const FRAME_LENGTH = 0.14;
const AXIS_LENGTH = 0.16;
/** A force as large as the weight of the heaviest robot has an arrow this long. */
const WEIGHT_LENGTH = 1.4;
const SHAFT = 0.01;
const HEAD = 0.034;
const HEAD_LENGTH = 0.1;
const SPOT = 0.03;
/** Forces below this part of the weight are not drawn. */
const FAINT = 2e-4;
const RAY_OPACITY = 0.55;
/** Beyond this number of rays each is fainter, and those without a hit are left out: they would hide the scene. */
const MANY_RAYS = 200;
const UP = new THREE.Vector3(0, 1, 0);

export type Overlay = "frames" | "axes" | "forces" | "rays" | "cameras";

export class Overlays {
  readonly group = new THREE.Group();
  /** Length factor of the force arrows. */
  longer = 1;
  /** The radius of what is looked at, metres. */
  size = 1;
  private readonly frames: Lines;
  private readonly axes: Lines;
  private readonly rays: Lines;
  private readonly frusta: Frusta;
  private readonly hits: THREE.Points<THREE.BufferGeometry, THREE.PointsMaterial>;
  private readonly shafts: THREE.InstancedMesh;
  private readonly heads: THREE.InstancedMesh;
  /** A flat disc at each contact, in the plane of the surfaces. */
  private readonly spots: THREE.InstancedMesh;
  private readonly arrowMaterial = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true });
  private readonly shown: Record<Overlay, boolean> = { frames: false, axes: false, forces: false, rays: false, cameras: false };
  private readonly axisColours = AXES.map((colour) => new THREE.Color(colour));
  private readonly rayColour = new THREE.Color();
  private readonly scanners: { rays: Rays; start: number }[] = [];
  private readonly weight: number;
  /** True to draw rays without a hit. */
  private readonly drawsIdleRays: boolean;

  constructor(private readonly scene: Scene) {
    const starts = deviceStarts(scene);
    scene.devices.forEach((device, id) => {
      if (device.rays) this.scanners.push({ rays: device.rays, start: starts[id] });
    });
    const rayCount = this.scanners.reduce((sum, scanner) => sum + scanner.rays.directions.length, 0);
    this.frames = new Lines(scene.bodies.length * 3, 1, true);
    this.axes = new Lines(scene.joints.reduce((sum, joint) => sum + joint.axes.length, 0), 1, true);
    this.rays = new Lines(rayCount, RAY_OPACITY * Math.min(1, Math.sqrt(MANY_RAYS / rayCount)), false);
    this.frusta = new Frusta(scene);
    this.drawsIdleRays = rayCount <= MANY_RAYS;
    const points = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(rayCount * 3), 3));
    this.hits = new THREE.Points(points, new THREE.PointsMaterial({ size: 5, sizeAttenuation: false }));
    this.hits.frustumCulled = false;

    const masses = new Map<string, number>();
    for (const body of scene.bodies) {
      if (!body.fixed) masses.set(body.robot ?? "", (masses.get(body.robot ?? "") ?? 0) + body.mass);
    }
    const gravity = Math.hypot(...scene.gravity) || 9.81;
    this.weight = gravity * Math.max(1e-3, ...masses.values());
    const arrows = scene.bodies.length + 256;
    this.shafts = new THREE.InstancedMesh(new THREE.CylinderGeometry(SHAFT, SHAFT, 1, 10).translate(0, 0.5, 0), this.arrowMaterial, arrows);
    this.heads = new THREE.InstancedMesh(new THREE.ConeGeometry(HEAD, 1, 14).translate(0, 0.5, 0), this.arrowMaterial, arrows);
    this.spots = new THREE.InstancedMesh(new THREE.CylinderGeometry(SPOT, SPOT, SPOT / 8, 20), this.arrowMaterial, arrows);
    for (const part of [this.shafts, this.heads, this.spots]) {
      part.frustumCulled = false;
      part.renderOrder = 11;
      part.count = 0;
    }
    this.group.add(this.frames.lines, this.axes.lines, this.rays.lines, this.frusta.lines, this.hits, this.shafts, this.heads, this.spots);
    for (const overlay of Object.keys(this.shown) as Overlay[]) this.show(overlay, false);
  }

  show(overlay: Overlay, on: boolean): void {
    this.shown[overlay] = on;
    if (overlay === "frames") this.frames.lines.visible = on;
    if (overlay === "axes") this.axes.lines.visible = on;
    if (overlay === "cameras") this.frusta.lines.visible = on;
    if (overlay === "rays") this.rays.lines.visible = this.hits.visible = on;
    if (overlay === "forces") this.shafts.visible = this.heads.visible = this.spots.visible = on;
  }

  setTheme(theme: Theme): void {
    this.rayColour.set(theme.rays);
    this.frusta.colour.set(theme.camera);
    this.hits.material.color.set(theme.rays);
    this.arrowMaterial.color.set(theme.force);
  }

  /** Metres of arrow for each newton. */
  get scale(): number {
    return (this.longer * this.size * WEIGHT_LENGTH) / this.weight;
  }

  update(frame: Frame, bodies: Bodies): void {
    const { nodes } = bodies;
    if (this.shown.frames) this.drawFrames(nodes);
    if (this.shown.axes) this.drawAxes(frame, nodes);
    if (this.shown.rays) this.drawRays(frame, nodes);
    if (this.shown.cameras) this.frusta.draw(nodes, this.size);
    if (this.shown.forces) this.drawForces(frame, bodies);
  }

  dispose(): void {
    for (const part of this.group.children as (THREE.Mesh | THREE.LineSegments)[]) {
      part.geometry.dispose();
      (part.material as THREE.Material).dispose();
    }
  }

  private drawFrames(nodes: THREE.Group[]): void {
    const tip = new THREE.Vector3();
    this.frames.begin();
    for (const node of nodes) {
      for (let axis = 0; axis < 3; axis += 1) {
        tip.set(0, 0, 0).setComponent(axis, FRAME_LENGTH * this.size).applyQuaternion(node.quaternion).add(node.position);
        this.frames.add(node.position, tip, this.axisColours[axis]);
      }
    }
    this.frames.end();
  }

  private drawAxes(frame: Frame, nodes: THREE.Group[]): void {
    const from = new THREE.Vector3();
    const to = new THREE.Vector3();
    const direction = new THREE.Vector3();
    this.axes.begin();
    this.scene.joints.forEach((joint, id) => {
      const at = frame.joint(id);
      const anchor = new THREE.Vector3().fromArray(frame.numbers, at);
      if (!Number.isFinite(anchor.x)) return;
      for (const axis of joint.axes) {
        direction.set(...axis.direction).applyQuaternion(nodes[joint.parent].quaternion);
        from.copy(anchor).addScaledVector(direction, (-AXIS_LENGTH * this.size) / 2);
        to.copy(anchor).addScaledVector(direction, AXIS_LENGTH * this.size);
        this.axes.add(from, to, this.axisColours[axis.axis - 1]);
      }
    });
    this.axes.end();
  }

  private drawRays(frame: Frame, nodes: THREE.Group[]): void {
    const origin = new THREE.Vector3();
    const end = new THREE.Vector3();
    const points = this.hits.geometry.getAttribute("position") as THREE.BufferAttribute;
    let hits = 0;
    this.rays.begin();
    for (const { rays, start } of this.scanners) {
      const node = nodes[rays.body];
      origin.set(...rays.origin).applyQuaternion(node.quaternion).add(node.position);
      rays.directions.forEach((direction, index) => {
        const distance = frame.devices[start + index];
        if (!Number.isFinite(distance)) return;
        end.set(...direction).normalize().applyQuaternion(node.quaternion).multiplyScalar(distance).add(origin);
        if (this.drawsIdleRays || distance < rays.range) this.rays.add(origin, end, this.rayColour);
        if (distance < rays.range) points.setXYZ(hits++, end.x, end.y, end.z);
      });
    }
    this.rays.end();
    points.needsUpdate = true;
    this.hits.geometry.setDrawRange(0, hits);
  }

  /** Each contact where it is; where only sums are known, those of the bodies. */
  private drawForces(frame: Frame, bodies: Bodies): void {
    let count = 0;
    let spots = 0;
    const point = new THREE.Vector3();
    const force = new THREE.Vector3();
    if (frame.contacts.length > 0) {
      for (const contact of frame.contacts) {
        point.fromArray(contact.point);
        if (this.arrow(count, point, force.fromArray(contact.force))) count += 1;
        if (this.spot(spots, point, force.fromArray(contact.normal))) spots += 1;
      }
    } else {
      for (let body = 0; body < frame.bodies; body += 1) {
        force.fromArray(frame.numbers, frame.body(body, WRENCH));
        if (!(force.length() > FAINT * this.weight)) continue;
        this.pointOfAction(frame, body, force, bodies.box(body), point);
        if (this.arrow(count, point, force)) count += 1;
      }
    }
    this.shafts.count = this.heads.count = count;
    this.spots.count = spots;
    for (const part of [this.shafts, this.heads, this.spots]) part.instanceMatrix.needsUpdate = true;
  }

  /** Where a body's contact force meets its surface: on the line of action that force and torque have together. */
  private pointOfAction(frame: Frame, body: number, force: THREE.Vector3, box: THREE.Box3, point: THREE.Vector3): void {
    const { numbers } = frame;
    const at = frame.body(body, POSE);
    const description = this.scene.bodies[body];
    const origin = new THREE.Vector3().fromArray(numbers, at);
    const rotation = new THREE.Quaternion().fromArray(numbers, at + 3);
    const torque = new THREE.Vector3().fromArray(numbers, frame.body(body, WRENCH) + 3);
    const direction = force.clone().normalize();
    const arm = force.clone().cross(torque).divideScalar(force.lengthSq());
    const radius = rollingRadius(description);
    if (radius !== null) {
      arm.clampLength(0, radius);
      point.set(...description.centre_of_mass).applyQuaternion(rotation).add(origin).add(arm);
      point.addScaledVector(direction, -Math.sqrt(Math.max(0, radius * radius - arm.lengthSq())));
      return;
    }
    // In the body's frame, back along the line to where it leaves the body's box.
    const into = rotation.clone().invert();
    point.copy(arm).applyQuaternion(into).add(new THREE.Vector3(...description.centre_of_mass)).clamp(box.min, box.max);
    const back = direction.clone().negate().applyQuaternion(into);
    let reach = Infinity;
    for (let axis = 0; axis < 3; axis += 1) {
      const way = back.getComponent(axis);
      if (Math.abs(way) < 1e-6) continue;
      const wall = way > 0 ? box.max.getComponent(axis) : box.min.getComponent(axis);
      reach = Math.min(reach, (wall - point.getComponent(axis)) / way);
    }
    point.addScaledVector(back, Number.isFinite(reach) ? Math.max(0, reach) : 0);
    point.applyQuaternion(rotation).add(origin);
  }

  private arrow(index: number, from: THREE.Vector3, force: THREE.Vector3): boolean {
    const length = force.length() * this.scale;
    if (!(length > 1e-3 * this.size) || index >= this.shafts.instanceMatrix.count) return false;
    const head = Math.min(HEAD_LENGTH * this.size, length / 2);
    const direction = force.clone().normalize();
    const rotation = new THREE.Quaternion().setFromUnitVectors(UP, direction);
    const matrix = new THREE.Matrix4().compose(from, rotation, new THREE.Vector3(this.size, length - head, this.size));
    this.shafts.setMatrixAt(index, matrix);
    const tip = from.clone().addScaledVector(direction, length - head);
    this.heads.setMatrixAt(index, matrix.compose(tip, rotation, new THREE.Vector3(this.size, head, this.size)));
    return true;
  }

  private spot(index: number, at: THREE.Vector3, normal: THREE.Vector3): boolean {
    if (!(normal.lengthSq() > 0.5) || index >= this.spots.instanceMatrix.count) return false;
    const rotation = new THREE.Quaternion().setFromUnitVectors(UP, normal);
    this.spots.setMatrixAt(index, new THREE.Matrix4().compose(at, rotation, new THREE.Vector3(this.size, this.size, this.size)));
    return true;
  }
}
