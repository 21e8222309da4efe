// The picture of a grasp: the object, its contacts with their cones, and the forces of one state. All of it is drawn in a unit ball, with gravity
// as the file has it downwards.

import * as THREE from "three";
import type { Vector } from "../protocol";
import { Cameras } from "../scene/cameras";
import { geometry } from "../scene/shapes";
import { AXES, type Theme } from "../scene/theme";
import { forceOf, type Contact, type GraspScene, type State } from "./scene";

// Lengths, the object's radius being 1.
const CONE = 0.55;
const LONGEST_ARROW = 1.15;
const SHAFT = 0.014;
const HEAD = 0.045;
const HEAD_LENGTH = 0.13;
const ARC = 0.32;
const CENTRE = 0.035;
const SPOT = 0.03;
/** Sweep of the arc for a torque as large as the largest force at the object's length, radians, and of the least that is drawn. */
const SWEEP = 5;
const LEAST_SWEEP = 0.5;
/** Forces and torques below this part of the largest are not drawn. */
const FAINT = 1e-6;
/** Nothing is larger than rounding where the largest force is below this, newtons: there is no load. */
const LEAST = 1e-6;
const UP = new THREE.Vector3(0, 1, 0);

/** Colour of each drawn quantity. */
export const COLOURS = { contact: 0xd98207, weight: 0x3b6fc4, load: 0x8b5cc7, excess: 0xd22f27, cone: 0x2f9e57 };

const vector = (of: Vector): THREE.Vector3 => new THREE.Vector3(...of);

export class Picture {
  readonly cameras: Cameras;
  /** Everything, in metres along the world's axes. */
  readonly group = new THREE.Group();
  private readonly marks = new THREE.Group();
  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly light = new THREE.HemisphereLight();
  private readonly sun = new THREE.DirectionalLight(0xfff4e2);
  private readonly radius: number;
  private readonly centre: THREE.Vector3;
  private dirty = true;
  private before = 0;

  constructor(holder: HTMLElement, private readonly grasp: GraspScene) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    holder.append(this.renderer.domElement);
    this.cameras = new Cameras(this.renderer.domElement, () => (this.dirty = true));
    this.sun.position.set(-0.45, 1, 0.35);
    this.scene.add(this.light, this.sun, this.group);
    this.centre = vector(grasp.centre_of_mass);
    const object = this.object();
    const box = new THREE.Box3().setFromPoints([this.centre, ...grasp.contacts.map(({ position }) => vector(position))]);
    if (object) box.expandByObject(object);
    const ball = box.getBoundingSphere(new THREE.Sphere());
    this.radius = ball.radius || 1;
    if (object) this.group.add(object);
    else this.group.add(this.skeleton());
    for (const contact of grasp.contacts) this.group.add(...this.contact(contact));
    this.group.add(this.marks, this.axes(), this.ball(this.centre, CENTRE, COLOURS.weight));
    // Gravity of the file points down in the picture.
    const down = vector(grasp.check.weight);
    if (down.length() > 0) this.group.quaternion.setFromUnitVectors(down.normalize(), UP.clone().negate());
    this.group.scale.setScalar(1 / this.radius);
    this.group.position.copy(ball.center).applyQuaternion(this.group.quaternion).divideScalar(-this.radius);
    this.cameras.setMode("orbit");
    this.cameras.fill(holder, this.renderer);
    this.frame();
    requestAnimationFrame((now) => this.draw(now));
  }

  /** Puts all of it into the picture. */
  frame(): void {
    this.cameras.frame(new THREE.Box3(new THREE.Vector3(-0.72, -0.72, -0.72), new THREE.Vector3(0.72, 0.72, 0.72)));
    this.dirty = true;
  }

  setTheme(theme: Theme): void {
    this.scene.background = new THREE.Color(theme.sky);
    this.light.color.set(theme.hemisphere[0]);
    this.light.groundColor.set(theme.hemisphere[1]);
    this.light.intensity = theme.hemisphere[2];
    this.sun.intensity = theme.sun;
    this.dirty = true;
  }

  /** Draws the forces of a state, and gives how many newtons a metre of arrow is. */
  show(state: State): number {
    for (const part of this.marks.children as THREE.Mesh[]) {
      part.geometry.dispose();
      (part.material as THREE.Material).dispose();
    }
    this.marks.clear();
    this.dirty = true;
    const { contacts, load, check, length } = this.grasp;
    const extra = vector(load.force).sub(vector(check.weight));
    const forces = state.verdict === "holds" ? contacts.map((contact, index) => vector(forceOf(contact, state.forces[index]))) : [];
    const excess = state.verdict === "impossible" ? [vector(state.excess.force), vector(state.excess.torque)] : null;
    const sizes = [vector(state.weight), extra, ...forces, ...(excess ? [excess[0]] : [])].map((force) => force.length());
    const torques = [vector(load.torque), ...(excess ? [excess[1]] : [])].map((torque) => torque.length() / length);
    const largest = Math.max(LEAST, ...sizes, ...torques);
    const metres = (LONGEST_ARROW * this.radius) / largest;
    const arrow = (from: THREE.Vector3, force: THREE.Vector3, colour: number) => {
      if (force.length() > FAINT * largest) this.arrow(from, force.clone().multiplyScalar(metres), colour);
    };
    const turn = (at: THREE.Vector3, torque: THREE.Vector3, size: number, colour: number) => {
      if (torque.length() > FAINT * largest * length) this.turn(at, torque, size, Math.min(1, torque.length() / (largest * length)), colour);
    };
    arrow(this.centre, vector(state.weight), COLOURS.weight);
    arrow(this.centre, extra, COLOURS.load);
    turn(this.centre, vector(load.torque), 0.8 * ARC, COLOURS.load);
    forces.forEach((force, index) => {
      arrow(vector(contacts[index].position), force, COLOURS.contact);
      if (state.verdict === "holds") turn(vector(contacts[index].position), vector(contacts[index].normal).multiplyScalar(state.forces[index][3]), ARC / 2, COLOURS.contact);
    });
    if (excess) {
      // Beside the weight, which it may cover.
      arrow(this.centre, excess[0], COLOURS.excess);
      turn(this.centre, excess[1], ARC, COLOURS.excess);
    }
    return 1 / metres;
  }

  private object(): THREE.Object3D | null {
    const { shape, visuals, pose } = this.grasp.object;
    const seen = visuals.length > 0 ? visuals : shape ? [{ ...shape, color: null, opacity: 1 }] : [];
    const holder = new THREE.Group();
    for (const part of seen) {
      const surface = geometry(part);
      if (!surface) continue;
      surface.deleteAttribute("color");
      const material = new THREE.MeshStandardMaterial({ color: part.color ?? 0xc2a878, roughness: 0.8, transparent: true, opacity: 0.38 * part.opacity, depthWrite: false, side: THREE.DoubleSide });
      const edges = new THREE.LineSegments(new THREE.EdgesGeometry(surface, 25), new THREE.LineBasicMaterial({ color: 0x6b5a38 }));
      holder.add(new THREE.Mesh(surface, material), edges);
    }
    holder.position.set(...pose.position);
    holder.quaternion.set(...pose.rotation);
    holder.updateMatrixWorld(true);
    return holder.children.length > 0 ? holder : null;
  }

  /** In place of an object without a shape, lines from its centre of mass to its contacts. */
  private skeleton(): THREE.Object3D {
    const points = this.grasp.contacts.flatMap(({ position }) => [this.centre, vector(position)]);
    return new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(points), new THREE.LineBasicMaterial({ color: 0x98a1ac }));
  }

  private contact(contact: Contact): THREE.Object3D[] {
    const at = vector(contact.position);
    const normal = vector(contact.normal);
    const parts: THREE.Object3D[] = [this.ball(at, SPOT, COLOURS.cone)];
    // From outside to where the finger touches.
    const line = new THREE.BufferGeometry().setFromPoints([at.clone().addScaledVector(normal, -CONE * this.radius), at]);
    parts.push(new THREE.Line(line, new THREE.LineBasicMaterial({ color: COLOURS.cone })));
    const basis = new THREE.Matrix4();
    const back = vector(contact.tangents[0]).negate();
    basis.makeBasis(normal.clone().cross(back), normal, back).setPosition(at);
    if (contact.friction > 0) {
      const height = CONE * this.radius * Math.cos(contact.half_angle);
      const cone = new THREE.ConeGeometry(height * Math.tan(contact.half_angle), height, this.grasp.edges ?? 48, 1, true).rotateX(Math.PI).translate(0, height / 2, 0);
      const material = new THREE.MeshStandardMaterial({ color: COLOURS.cone, transparent: true, opacity: 0.34, side: THREE.DoubleSide, depthWrite: false, flatShading: this.grasp.edges !== null });
      const mesh = new THREE.Mesh(cone, material);
      mesh.name = `cone ${contact.name}`;
      mesh.applyMatrix4(basis);
      parts.push(mesh);
    }
    if (contact.radius !== null) {
      // The area that a soft finger covers.
      const disc = new THREE.Mesh(new THREE.CircleGeometry(contact.radius, 40).rotateX(-Math.PI / 2), new THREE.MeshBasicMaterial({ color: COLOURS.cone, side: THREE.DoubleSide, transparent: true, opacity: 0.6 }));
      disc.name = `area ${contact.name}`;
      disc.applyMatrix4(basis);
      parts.push(disc);
    }
    return parts;
  }

  /** The world's axes, beside the object. */
  private axes(): THREE.Object3D {
    const length = 0.3 * this.radius;
    const corner = this.centre.clone().add(new THREE.Vector3(-0.95, -0.95, -0.95).multiplyScalar(this.radius));
    const lines = new THREE.Group();
    [0, 1, 2].forEach((axis) => {
      const tip = corner.clone().setComponent(axis, corner.getComponent(axis) + length);
      lines.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints([corner, tip]), new THREE.LineBasicMaterial({ color: AXES[axis] })));
    });
    return lines;
  }

  private ball(at: THREE.Vector3, size: number, colour: number): THREE.Mesh {
    const ball = new THREE.Mesh(new THREE.SphereGeometry(size * this.radius, 20, 12), new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true }));
    ball.position.copy(at);
    ball.renderOrder = 5;
    return ball;
  }

  private mark(surface: THREE.BufferGeometry, colour: number): THREE.Mesh {
    const mesh = new THREE.Mesh(surface, new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true }));
    mesh.renderOrder = 6;
    this.marks.add(mesh);
    return mesh;
  }

  private arrow(from: THREE.Vector3, way: THREE.Vector3, colour: number): void {
    const length = way.length();
    const head = Math.min(HEAD_LENGTH * this.radius, length / 2);
    const rotation = new THREE.Quaternion().setFromUnitVectors(UP, way.clone().normalize());
    const shaft = this.mark(new THREE.CylinderGeometry(SHAFT * this.radius, SHAFT * this.radius, length - head, 12).translate(0, (length - head) / 2, 0), colour);
    const tip = this.mark(new THREE.ConeGeometry(HEAD * this.radius, head, 18).translate(0, length - head / 2, 0), colour);
    for (const part of [shaft, tip]) {
      part.position.copy(from);
      part.quaternion.copy(rotation);
    }
    shaft.userData = { arrow: way.toArray(), colour };
  }

  /** An arc about a torque's axis, the longer the larger the torque is, in parts of the largest. */
  private turn(at: THREE.Vector3, torque: THREE.Vector3, size: number, share: number, colour: number): void {
    const radius = size * this.radius;
    const sweep = Math.max(LEAST_SWEEP, SWEEP * share);
    const arc = this.mark(new THREE.TorusGeometry(radius, SHAFT * this.radius, 8, 48, sweep), colour);
    const head = this.mark(new THREE.ConeGeometry(HEAD * this.radius, HEAD_LENGTH * this.radius, 18).translate(0, (HEAD_LENGTH * this.radius) / 2, 0), colour);
    // The torus lies in its x-y plane and begins on x; its end goes on along the circle.
    const rotation = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), torque.clone().normalize());
    arc.position.copy(at);
    arc.quaternion.copy(rotation);
    arc.userData = { torque: torque.toArray(), colour };
    head.position.set(radius * Math.cos(sweep), radius * Math.sin(sweep), 0).applyQuaternion(rotation).add(at);
    head.quaternion.copy(rotation).multiply(new THREE.Quaternion().setFromAxisAngle(new THREE.Vector3(0, 0, 1), sweep));
  }

  private draw(now: number): void {
    requestAnimationFrame((next) => this.draw(next));
    const moving = this.cameras.update((now - this.before) / 1000);
    this.before = now;
    if (!this.dirty && !moving) return;
    this.dirty = false;
    this.renderer.render(this.scene, this.cameras.camera);
  }
}
