// Pulling a body with the pointer: Ctrl, or the command key of a Mac, and a drag stretch a spring from the place on the body
// where the drag began to the pointer, which moves in the plane of the picture.

import * as THREE from "three";
import { Lines } from "./lines";

const COLOUR = new THREE.Color(0xff8c1a);

/** A place where a ray meets a body. */
export interface Hit {
  body: number;
  /** World frame, m. */
  point: THREE.Vector3;
}

/** What the gesture needs of the picture. */
export interface PullStage {
  element: HTMLElement;
  camera: THREE.Camera;
  hit: (ray: THREE.Raycaster) => Hit | null;
  /** The node of a body, which is where the last frame has it. */
  node: (body: number) => THREE.Object3D | undefined;
  changed: () => void;
}

/** A pull that goes on. */
export interface Pull {
  body: number;
  /** The place on the body, in its axes from its origin, m. */
  point: THREE.Vector3;
  /** Where it is pulled to, world frame, m. */
  target: THREE.Vector3;
}

export class PullGesture {
  /** Called when a pull begins, and with null when it ends. The pull's target moves meanwhile. */
  onPull: (pull: Pull | null) => void = () => undefined;
  private readonly spring = new Lines(1, 1, true);
  private readonly plane = new THREE.Plane();
  private pull: Pull | null = null;

  constructor(private readonly stage: PullStage) {
    // Before the camera's own listeners, which would turn it.
    stage.element.addEventListener("pointerdown", (event) => this.begin(event), { capture: true });
    stage.element.addEventListener("pointermove", (event) => this.move(event), { capture: true });
    for (const end of ["pointerup", "pointercancel"] as const) stage.element.addEventListener(end, (event) => this.end(event), { capture: true });
  }

  /** The line from the body to the pointer. */
  get line(): THREE.Object3D {
    return this.spring.lines;
  }

  /** Draws the line anew. */
  update(): void {
    const node = this.pull && this.stage.node(this.pull.body);
    this.spring.lines.visible = Boolean(node);
    this.spring.begin();
    if (this.pull && node) this.spring.add(node.localToWorld(this.pull.point.clone()), this.pull.target, COLOUR);
    this.spring.end();
  }

  /** Ends the pull, as where another scene is shown. */
  cancel(): void {
    if (!this.pull) return;
    this.pull = null;
    this.onPull(null);
    this.stage.changed();
  }

  private ray(event: PointerEvent): THREE.Raycaster {
    const { left, top, width, height } = this.stage.element.getBoundingClientRect();
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(((event.clientX - left) / width) * 2 - 1, 1 - ((event.clientY - top) / height) * 2), this.stage.camera);
    return ray;
  }

  private begin(event: PointerEvent): void {
    if (event.button !== 0 || !(event.ctrlKey || event.metaKey)) return;
    const hit = this.stage.hit(this.ray(event));
    const node = hit && this.stage.node(hit.body);
    if (!hit || !node) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    this.stage.element.setPointerCapture(event.pointerId);
    this.plane.setFromNormalAndCoplanarPoint(this.stage.camera.getWorldDirection(new THREE.Vector3()), hit.point);
    this.pull = { body: hit.body, point: node.worldToLocal(hit.point.clone()), target: hit.point.clone() };
    this.onPull(this.pull);
    this.stage.changed();
  }

  private move(event: PointerEvent): void {
    if (!this.pull) return;
    event.stopImmediatePropagation();
    this.ray(event).ray.intersectPlane(this.plane, this.pull.target);
    this.stage.changed();
  }

  private end(event: PointerEvent): void {
    if (!this.pull) return;
    event.stopImmediatePropagation();
    this.cancel();
  }
}
