// The picture: renderer, light, camera, and the scene that is shown. It draws only when something has changed.

import * as THREE from "three";
import type { Frame } from "../frame";
import type { Scene } from "../protocol";
import type { RutMap, RutMessage } from "../ruts";
import { Bodies } from "./bodies";
import { Cameras } from "./cameras";
import { Ground } from "./ground";
import { Overlays, type Overlay } from "./overlays";
import { PullGesture } from "./pull";
import { Quality } from "./quality";
import { Ruts } from "./ruts";
import { rollingRadius } from "./shapes";
import { LIGHT, type Theme } from "./theme";

/** Half the width of the square in which shadows are cast, for a robot that fits into a ball of one metre's radius. */
const SHADOW_REACH = 5;
/** Where fog begins and where nothing is seen any more, metres. */
const FOG_RANGE: [number, number] = [30, 220];
const SUN = new THREE.Vector3(-0.45, 1, 0.35).normalize();

export class SceneView {
  readonly element: HTMLCanvasElement;
  readonly cameras: Cameras;
  /** Pulls bodies with the pointer. */
  readonly pulling: PullGesture;
  /** Called with the body that a click met, or -1. */
  onPick: (body: number) => void = () => undefined;
  readonly shown = { frames: false, axes: false, forces: true, rays: true, cameras: true, wireframe: false, collisions: false };
  private readonly renderer: THREE.WebGLRenderer;
  private readonly scene = new THREE.Scene();
  private readonly light = new THREE.HemisphereLight();
  private readonly sun = new THREE.DirectionalLight(0xfff4e2);
  private bodies: Bodies | null = null;
  private ground: Ground | null = null;
  private ruts: Ruts | null = null;
  private overlays: Overlays | null = null;
  private description: Scene | null = null;
  private theme: Theme = LIGHT;
  private frame: Frame | null = null;
  private followed = -1;
  private rolls = false;
  private framed = false;
  /** Half the width of the square in which shadows are cast, metres. */
  private reach = SHADOW_REACH;
  private dirty = true;
  private before = 0;
  private drew = false;
  private readonly quality = new Quality((share) => this.setResolution(share));

  constructor(holder: HTMLElement) {
    this.renderer = new THREE.WebGLRenderer({ antialias: true, powerPreference: "high-performance" });
    this.setResolution(1);
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.element = this.renderer.domElement;
    holder.append(this.element);
    this.cameras = new Cameras(this.element, () => (this.dirty = true));
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3;
    this.setSize(1);
    this.scene.add(this.light, this.sun, this.sun.target);
    this.scene.fog = new THREE.Fog(0, ...FOG_RANGE);
    this.cameras.fill(holder, this.renderer);
    this.pulling = new PullGesture({
      element: this.element,
      camera: this.cameras.camera,
      hit: (ray) => this.bodies?.hit(ray) ?? null,
      node: (body) => this.bodies?.nodes[body],
      changed: () => (this.dirty = true),
    });
    this.scene.add(this.pulling.line);
    this.watchClicks();
    requestAnimationFrame((now) => this.draw(now));
  }

  /** Shows another scene, with the ruts that are known of it. */
  setScene(description: Scene, ruts: RutMap): void {
    this.pulling.cancel();
    this.ruts?.dispose();
    for (const part of [this.bodies, this.ground, this.overlays]) {
      if (part) this.scene.remove(part.group);
      part?.dispose();
    }
    this.description = description;
    this.bodies = new Bodies(description);
    this.ground = new Ground(description.grounds);
    this.ruts = new Ruts(this.ground.soils, ruts);
    this.overlays = new Overlays(description);
    this.scene.add(this.ground.group, this.bodies.group, this.overlays.group);
    this.frame = null;
    this.framed = false;
    for (const overlay of ["frames", "axes", "forces", "rays", "cameras"] as Overlay[]) this.overlays.show(overlay, this.shown[overlay]);
    this.setWireframe(this.shown.wireframe);
    this.showCollisions(this.shown.collisions);
    this.setTheme(this.theme);
  }

  setFrame(frame: Frame): void {
    if (!this.bodies) return;
    this.frame = frame;
    this.bodies.update(frame);
    if (!this.framed) {
      this.framed = true;
      this.frameFirst();
      this.setSize(this.size());
    }
    const node = this.bodies.nodes[this.followed];
    if (node) this.cameras.track(node.position, this.rolls ? 0 : heading(node));
    this.dirty = true;
  }

  /** Shows what a message has brought into the map of ruts. */
  takeRuts(message: RutMessage): void {
    this.ruts?.take(message);
    this.dirty = true;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.scene.background = new THREE.Color(theme.sky);
    (this.scene.fog as THREE.Fog).color.set(theme.sky);
    this.light.color.set(theme.hemisphere[0]);
    this.light.groundColor.set(theme.hemisphere[1]);
    this.light.intensity = theme.hemisphere[2];
    this.sun.intensity = theme.sun;
    this.bodies?.setTheme(theme);
    this.ground?.setTheme(theme);
    this.overlays?.setTheme(theme);
    this.dirty = true;
  }

  show(overlay: Overlay, on: boolean): void {
    this.shown[overlay] = on;
    this.overlays?.show(overlay, on);
    this.dirty = true;
  }

  setWireframe(on: boolean): void {
    this.shown.wireframe = on;
    this.bodies?.setWireframe(on);
    this.ground?.setWireframe(on);
    this.ruts?.setVisible(!on);
    this.dirty = true;
  }

  /** Draws the shapes that collide instead of what is seen of the bodies. */
  showCollisions(on: boolean): void {
    if (on !== this.shown.collisions || on) this.bodies?.showCollisions(on);
    this.shown.collisions = on;
    this.dirty = true;
  }

  /** Makes force arrows longer or shorter by a factor. */
  scaleForces(factor: number): void {
    if (this.overlays) this.overlays.longer *= factor;
    this.dirty = true;
  }

  /** Description of the drawn forces. */
  forceNote(): string {
    if (!this.overlays || !this.frame || !this.shown.forces) return "";
    const { contacts, touching, state } = this.frame;
    const newtons = Number((1 / this.overlays.scale).toPrecision(3));
    const what = state === "RECORDED" ? "sums of each body" : `${touching} ${touching === 1 ? "contact" : "contacts"}`;
    const rest = touching > contacts.length ? `, the ${contacts.length} with the largest forces shown` : "";
    return `${what}${rest} · 1 m of arrow is ${newtons} N`;
  }

  select(body: number): void {
    this.bodies?.select(body);
    this.dirty = true;
  }

  deselect(body: number): void {
    this.bodies?.deselect(body);
    this.dirty = true;
  }

  /** The body that follow and chase go after. */
  follow(body: number): void {
    this.followed = body;
    const followed = this.description?.bodies[body];
    this.rolls = followed !== undefined && rollingRadius(followed) !== null;
    this.cameras.setMode(this.cameras.mode);
  }

  /** Puts everything into the picture: all bodies and the terrain. */
  frameAll(): void {
    if (!this.bodies || !this.frame) return;
    const box = this.bodies.bounds(() => true).union(this.ground?.bounds() ?? new THREE.Box3());
    this.look(box);
  }

  /** Puts the body that is followed into the picture, and the robot it belongs to. */
  frameFollowed(): void {
    const bodies = this.description?.bodies ?? [];
    const robot = bodies[this.followed]?.robot ?? null;
    this.look(this.bodies?.bounds((id) => id === this.followed || (robot !== null && bodies[id].robot === robot)) ?? new THREE.Box3());
  }

  /** Initial view: all robots, or all moving bodies where there is none, or everything. */
  private frameFirst(): void {
    const bodies = this.description?.bodies ?? [];
    const robots = bodies.some((body) => body.robot !== null);
    const box = this.bodies?.bounds((id) => (robots ? bodies[id].robot !== null : !bodies[id].fixed)) ?? new THREE.Box3();
    if (box.isEmpty()) this.frameAll();
    else this.look(box);
  }

  /** Fog begins behind what is looked at, however large it is. */
  private look(box: THREE.Box3): void {
    this.cameras.frame(box);
    const distance = this.cameras.camera.position.distanceTo(this.cameras.focus());
    const fog = this.scene.fog as THREE.Fog;
    [fog.near, fog.far] = [Math.max(FOG_RANGE[0], 2 * distance), Math.max(FOG_RANGE[1], 12 * distance)];
    this.dirty = true;
  }

  /** Shadows and arrows are as large as what is looked at makes them. */
  private setSize(size: number): void {
    if (this.overlays) this.overlays.size = size;
    this.reach = SHADOW_REACH * size;
    const extent = this.sun.shadow.camera;
    [extent.left, extent.right, extent.bottom, extent.top] = [-this.reach, this.reach, -this.reach, this.reach];
    [extent.near, extent.far] = [0.1 * this.reach, 16 * this.reach];
    extent.updateProjectionMatrix();
    this.sun.shadow.normalBias = 0.004 * this.reach;
  }

  /** The radius of the largest robot, or of the largest thing that moves where there is none, metres. */
  private size(): number {
    const bodies = this.description?.bodies ?? [];
    const groups = new Map<string, number[]>();
    bodies.forEach((body, id) => {
      if (!body.fixed || body.robot !== null) groups.set(body.robot ?? `object ${id}`, [...(groups.get(body.robot ?? `object ${id}`) ?? []), id]);
    });
    const robots = [...groups].filter(([name]) => bodies.some((body) => body.robot === name));
    const radii = (robots.length > 0 ? robots : [...groups]).map(([, ids]) => {
      const wanted = new Set(ids);
      return this.bodies!.bounds((id) => wanted.has(id)).getBoundingSphere(new THREE.Sphere()).radius;
    });
    return Math.max(...radii.filter(Number.isFinite), 0) || 1;
  }

  /** Draws with a share of the screen's pixels along each side. */
  setResolution(share: number): void {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2) * share);
    this.dirty = true;
  }

  private draw(now: number): void {
    requestAnimationFrame((next) => this.draw(next));
    const passed = now - this.before;
    const moving = this.cameras.update(passed / 1000);
    this.before = now;
    const draws = this.dirty || moving;
    if (draws && this.drew && !document.hidden) this.quality.note(passed);
    this.drew = draws;
    if (!draws) return;
    this.dirty = false;
    const focus = this.cameras.focus();
    this.ground?.follow(focus);
    // Shadows move by whole texels, so that their edges do not swim.
    const texel = (2 * this.reach) / this.sun.shadow.mapSize.x;
    this.sun.target.position.copy(focus).divideScalar(texel).round().multiplyScalar(texel);
    this.sun.position.copy(this.sun.target.position).addScaledVector(SUN, 8 * this.reach);
    if (this.frame && this.bodies) this.overlays?.update(this.frame, this.bodies);
    this.pulling.update();
    this.renderer.render(this.scene, this.cameras.camera);
  }

  /** A press and a release in the same place is a click; anything else turns the camera. */
  private watchClicks(): void {
    let pressed: [number, number] | null = null;
    this.element.addEventListener("pointerdown", (event) => (pressed = event.button === 0 ? [event.clientX, event.clientY] : null));
    this.element.addEventListener("pointerup", (event) => {
      if (!pressed || !this.bodies || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
      const { left, top, width, height } = this.element.getBoundingClientRect();
      const ray = new THREE.Raycaster();
      const place = new THREE.Vector2(((event.clientX - left) / width) * 2 - 1, 1 - ((event.clientY - top) / height) * 2);
      ray.setFromCamera(place, this.cameras.camera);
      this.onPick(this.bodies.hit(ray)?.body ?? -1);
    });
  }
}

/** The angle of a body's x axis about the vertical. */
function heading(node: THREE.Object3D): number {
  const ahead = new THREE.Vector3(1, 0, 0).applyQuaternion(node.quaternion);
  return Math.atan2(-ahead.z, ahead.x);
}
