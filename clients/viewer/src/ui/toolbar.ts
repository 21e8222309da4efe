// The tools over the picture: cameras, what is drawn, the body that is followed.

import { CAMERA_MODES, type CameraMode } from "../scene/cameras";
import type { Overlay } from "../scene/overlays";
import type { SceneView } from "../scene/view";
import { button, iconButton, make, recall, remember, toggle } from "./dom";

const CAMERA_HELP: Record<CameraMode, string> = {
  orbit: "Turn about a point (1): drag turns, right drag moves, wheel zooms",
  follow: "Keep up with a body (2)",
  chase: "Keep up with a body and turn with it (3)",
  free: "Fly (4): W A S D, Q down, E up, drag looks, wheel sets the speed",
};
const OVERLAY_TOGGLES: [Overlay, string, string][] = [
  ["forces", "Forces", "Contact forces as arrows"],
  ["rays", "Rays", "Rays of scanners and where they meet something"],
  ["cameras", "Cameras", "What cameras see, and their optical axes: x red to the right, y green down, z blue forward"],
  ["axes", "Joint axes", "Free axes of joints: first red, second green, third blue"],
  ["frames", "Body frames", "Axes of bodies: x red, y green, z blue"],
];

export class Toolbar {
  readonly element: HTMLElement;
  readonly followed = make("select", { id: "followed", title: "The body to follow" });
  private readonly cameraButtons = new Map<CameraMode, HTMLButtonElement>();

  constructor(private readonly stage: SceneView, onTheme: () => void) {
    const kept = recall<Record<string, boolean>>("shown") ?? {};
    const cameras = CAMERA_MODES.map((mode) => {
      const made = button(mode[0].toUpperCase() + mode.slice(1), CAMERA_HELP[mode], () => this.setCamera(mode), "toggle");
      this.cameraButtons.set(mode, made);
      return made;
    });
    const overlays = OVERLAY_TOGGLES.map(([overlay, label, title]) => {
      const on = kept[overlay] ?? stage.shown[overlay];
      stage.show(overlay, on);
      const made = toggle(label, title, on, (next) => {
        stage.show(overlay, next);
        remember("shown", stage.shown);
      });
      made.dataset.overlay = overlay;
      return made;
    });
    stage.setWireframe(kept.wireframe ?? false);
    const wireframe = toggle("Wireframe", "Wireframe or solid", stage.shown.wireframe, (on) => {
      stage.setWireframe(on);
      remember("shown", stage.shown);
    });
    wireframe.dataset.overlay = "wireframe";
    stage.showCollisions(kept.collisions ?? false);
    const collisions = toggle("Collisions", "The shapes that collide, or what is seen of the bodies", stage.shown.collisions, (on) => {
      stage.showCollisions(on);
      remember("shown", stage.shown);
    });
    collisions.dataset.overlay = "collisions";
    const longer = button("+", "Longer force arrows", () => stage.scaleForces(1.5), "toggle small");
    const shorter = button("−", "Shorter force arrows", () => stage.scaleForces(1 / 1.5), "toggle small");
    overlays[0].after(longer);
    const showAll = iconButton("frame", "Show all (F)", () => stage.frameAll());
    const showFollowed = iconButton("body", "Show the robot or body that is followed (G)", () => stage.frameFollowed());
    [showAll.id, showFollowed.id] = ["show-all", "show-followed"];
    this.element = make(
      "div",
      { className: "toolbar" },
      make("div", { className: "group", id: "cameras" }, ...cameras, showAll, showFollowed),
      make("div", { className: "group" }, this.followed),
      make("div", { className: "group", id: "overlays" }, overlays[0], shorter, longer, ...overlays.slice(1), collisions, wireframe),
      make("div", { className: "group" }, iconButton("theme", "Light or dark", onTheme)),
    );
    this.setCamera("follow");
  }

  setCamera(mode: CameraMode): void {
    this.stage.cameras.setMode(mode);
    for (const [other, element] of this.cameraButtons) element.setAttribute("aria-pressed", String(other === mode));
  }
}
