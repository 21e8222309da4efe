// The cameras: orbit about a point, follow a body, chase it from behind, or fly freely.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

export type CameraMode = "orbit" | "follow" | "chase" | "free";
export const CAMERA_MODES: CameraMode[] = ["orbit", "follow", "chase", "free"];

const LOOK = 0.0032;
const FLIGHT_KEYS = ["KeyW", "KeyA", "KeyS", "KeyD", "KeyQ", "KeyE"];
/** Where the camera stands in a chase: behind and above, metres. */
const CHASE = new THREE.Vector3(-4.2, 1.7, 0);
/** Nearer than this to what is looked at, a body can be followed without a jump, metres. */
const NEAR = 2.5;
const UP = new THREE.Vector3(0, 1, 0);

/** Least far plane, metres. */
const FAR = 3000;

export class Cameras {
  readonly camera = new THREE.PerspectiveCamera(42, 1, 0.02, FAR);
  readonly controls: OrbitControls;
  mode: CameraMode = "follow";
  /** Flight speed, m/s. */
  speed = 3;
  private readonly pressed = new Set<string>();
  private readonly last = new THREE.Vector3();
  private lastHeading = 0;
  private hasLast = false;
  private yaw = 0;
  private pitch = 0;
  private dragging = false;

  constructor(element: HTMLElement, private readonly changed: () => void) {
    this.controls = new OrbitControls(this.camera, element);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.16;
    this.controls.maxPolarAngle = Math.PI * 0.97;
    this.controls.minDistance = 0.1;
    this.controls.maxDistance = FAR / 4;
    this.controls.addEventListener("change", changed);
    this.camera.position.set(3, 2, 3);
    element.addEventListener("pointerdown", () => (this.dragging = true));
    window.addEventListener("pointerup", () => (this.dragging = false));
    window.addEventListener("pointermove", (event) => this.look(event));
    element.addEventListener("wheel", (event) => this.changeSpeed(event), { passive: true });
  }

  /** Draws as large as a holder is, whenever its size changes. */
  fill(holder: HTMLElement, renderer: THREE.WebGLRenderer): void {
    const resize = () => {
      const { clientWidth: width, clientHeight: height } = holder;
      if (width === 0 || height === 0) return;
      renderer.setSize(width, height);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.changed();
    };
    new ResizeObserver(resize).observe(holder);
    resize();
  }

  setMode(mode: CameraMode): void {
    if (this.mode === "free" && mode !== "free") {
      const ahead = this.camera.getWorldDirection(new THREE.Vector3());
      this.controls.target.copy(this.camera.position).addScaledVector(ahead, 4);
    }
    this.mode = mode;
    this.hasLast = false;
    this.pressed.clear();
    this.controls.enabled = mode !== "free";
    const direction = this.camera.getWorldDirection(new THREE.Vector3());
    this.yaw = Math.atan2(-direction.x, -direction.z);
    this.pitch = Math.asin(THREE.MathUtils.clamp(direction.y, -1, 1));
    this.changed();
  }

  /** Puts the whole box into the picture, seen from behind, from above and from the right. */
  frame(box: THREE.Box3): void {
    if (box.isEmpty()) return;
    const sphere = box.getBoundingSphere(new THREE.Sphere());
    const field = THREE.MathUtils.degToRad(this.camera.fov) * Math.min(1, this.camera.aspect);
    const distance = Math.max(0.5, (1.25 * sphere.radius) / Math.sin(field / 2));
    this.controls.target.copy(sphere.center);
    this.camera.position.copy(sphere.center).addScaledVector(new THREE.Vector3(-0.62, 0.46, 0.78).normalize(), distance);
    this.camera.near = Math.max(0.01, distance / 300);
    this.camera.far = Math.max(FAR, 8 * distance);
    this.controls.maxDistance = this.camera.far / 4;
    this.camera.updateProjectionMatrix();
    this.camera.lookAt(sphere.center);
    this.speed = THREE.MathUtils.clamp(distance / 2, 1, 50);
    this.controls.update();
    this.setMode(this.mode);
  }

  /** Moves along with the body that is followed; `heading` is its angle about the vertical. */
  track(position: THREE.Vector3, heading: number): void {
    const follows = this.mode === "follow" || this.mode === "chase";
    if (follows && !this.hasLast) {
      this.start(position, heading);
    } else if (follows) {
      const moved = position.clone().sub(this.last);
      this.controls.target.add(moved);
      this.camera.position.add(moved);
      if (this.mode === "chase") {
        const turn = Math.atan2(Math.sin(heading - this.lastHeading), Math.cos(heading - this.lastHeading));
        const offset = this.camera.position.clone().sub(this.controls.target).applyAxisAngle(UP, turn);
        this.camera.position.copy(this.controls.target).add(offset);
      }
      this.changed();
    }
    this.last.copy(position);
    this.lastHeading = heading;
    this.hasLast = true;
  }

  /** A key of the free camera; true if it is one. */
  key(code: string, down: boolean): boolean {
    if (!FLIGHT_KEYS.includes(code)) return false;
    if (down && this.mode === "free") this.pressed.add(code);
    else this.pressed.delete(code);
    this.changed();
    return this.mode === "free";
  }

  releaseKeys(): void {
    this.pressed.clear();
  }

  /** Called before each picture; true while it moves by itself. */
  update(seconds: number): boolean {
    if (this.mode !== "free") return this.controls.update();
    this.camera.quaternion.setFromEuler(new THREE.Euler(this.pitch, this.yaw, 0, "YXZ"));
    const along = (plus: string, minus: string) => Number(this.pressed.has(plus)) - Number(this.pressed.has(minus));
    const way = new THREE.Vector3(along("KeyD", "KeyA"), 0, along("KeyS", "KeyW")).applyQuaternion(this.camera.quaternion);
    way.y += along("KeyE", "KeyQ");
    this.camera.position.addScaledVector(way, this.speed * Math.min(seconds, 0.5));
    return this.pressed.size > 0;
  }

  /** The point that is looked at. */
  focus(): THREE.Vector3 {
    if (this.mode !== "free") return this.controls.target;
    return this.camera.position.clone().addScaledVector(this.camera.getWorldDirection(new THREE.Vector3()), 5);
  }

  /** Begins to follow: from behind in a chase, else from where it is, unless that is far off. */
  private start(position: THREE.Vector3, heading: number): void {
    const { target } = this.controls;
    if (this.mode === "chase") {
      target.copy(position);
      this.camera.position.copy(CHASE).applyAxisAngle(UP, heading).add(position);
    } else if (target.distanceTo(position) > NEAR) {
      const offset = this.camera.position.clone().sub(target).clampLength(1, 8);
      target.copy(position);
      this.camera.position.copy(position).add(offset);
    }
  }

  private look(event: PointerEvent): void {
    if (!this.dragging || this.mode !== "free") return;
    this.yaw -= event.movementX * LOOK;
    this.pitch = THREE.MathUtils.clamp(this.pitch - event.movementY * LOOK, -1.55, 1.55);
    this.changed();
  }

  private changeSpeed(event: WheelEvent): void {
    if (this.mode === "free") this.speed = THREE.MathUtils.clamp(this.speed * (event.deltaY < 0 ? 1.15 : 0.87), 0.1, 200);
  }
}
