// What the server says of a scene, a run and an event. PROTOCOL.md tells it all.

export type Vector = [number, number, number];
export type Quaternion = [number, number, number, number];

export type Shape =
  | { kind: "box"; size: Vector }
  | { kind: "sphere"; radius: number }
  | { kind: "ellipsoid"; radii: Vector }
  | { kind: "cylinder" | "cone" | "capsule"; radius: number; length: number }
  | { kind: "convexHull"; points: Vector[] }
  | { kind: "triangleMesh"; vertices: Vector[]; triangles: Vector[] }
  | { kind: "compound"; parts: Placed[] };
export type Placed = { position: Vector; rotation: Quaternion } & Shape;

/** Visuals of a body, in place of its shape. */
export type Visual = { color: string | null; opacity: number } & Placed;

export interface Body {
  name: string;
  robot: string | null;
  fixed: boolean;
  mass: number;
  centre_of_mass: Vector;
  friction: number;
  shape: Placed | null;
  visuals: Visual[];
  collision: Placed | null;
}

export interface Axis {
  axis: 1 | 2 | 3;
  /** True if it slides, in metres; false if it turns, in radians. */
  linear: boolean;
  direction: Vector;
  lower: number | null;
  upper: number | null;
}

export interface Joint {
  name: string;
  kind: string;
  parent: number;
  child: number;
  axes: Axis[];
}

export interface Field {
  name: string;
  unit: string;
  lowest: number | null;
  highest: number | null;
}

export interface Rays {
  body: number;
  origin: Vector;
  directions: Vector[];
  range: number;
  /** Fans one above the other, each of as many rays, from the lowest; 1 where it is not told. */
  layers?: number;
}

/** The geometry of a camera's images. Pixels have whole coordinates at their centres. */
export interface Optics {
  width: number;
  height: number;
  /** Focal lengths along rows and columns, and the principal point, pixels. */
  focal: [number, number];
  principal_point: [number, number];
  /** Distances between which the camera sees something, m; null without a limit. */
  near: number;
  far: number | null;
  lens: { model: "pinhole" | "brownConrady" | "fisheye"; coefficients: Record<string, number> };
  /** Values of the pixels of each image, named as in ROS. */
  encodings: string[];
}

export interface Device {
  name: string;
  robot: string;
  kind: string;
  actuator: boolean;
  port: number;
  body: number | null;
  /** Its place on the body. */
  pose?: { position: Vector; rotation: Quaternion } | null;
  joint: number | null;
  /** Steps from one reading to the next. */
  interval_steps: number;
  fields: Field[];
  command_lengths: number[];
  rays: Rays | null;
  camera?: Optics | null;
}

/** Cells of the ruts of a ground; null for one without ruts. */
export interface RutCells {
  /** Side of a cell, metres, and cells along the side of a tile. */
  cell: number;
  tile: number;
  /** The axes along which cells are counted. */
  axes: [Vector, Vector];
}

export interface Plane {
  kind: "plane";
  ruts?: RutCells | null;
  normal: Vector;
  distance: number;
  friction: number;
}

export interface Heightfield {
  kind: "heightfield";
  ruts?: RutCells | null;
  points_x: number;
  points_z: number;
  width: number;
  depth: number;
  friction: number;
  /** Null where there is no data. */
  heights: (number | null)[];
  pose: { position: Vector; rotation: Quaternion };
}

export interface GroundMesh {
  kind: "mesh";
  ruts?: RutCells | null;
  friction: number;
  vertices: Vector[];
  triangles: [number, number, number][];
}

export type Ground = Plane | Heightfield | GroundMesh;

export interface Scene {
  protocol: number;
  id: string;
  name: string;
  timestep: number;
  gravity: Vector;
  grounds: Ground[];
  bodies: Body[];
  joints: Joint[];
  devices: Device[];
}

export interface Run {
  id: number;
  world: string;
  started: string;
  status: string;
  timestep: number;
  first: number;
  last: number | null;
  every: number;
  real_time_factor: number | null;
}

export interface Event {
  step: number;
  epoch: number;
  kind: string;
  subject: string;
  text: string;
  value: number | null;
}

/** Commands for one device by one client; of several the latest. */
export interface CommandCount {
  step: number;
  epoch: number;
  device: string;
  client: number;
  text: string;
  count: number;
}

/** A command for a device, as the server takes it. */
export interface Command {
  device: string;
  text: string;
}

/** The protocol this page speaks. */
export const PROTOCOL = 1;

/** The name of a device among those of all robots. */
export const fullName = (device: Device): string => `${device.robot}/${device.name}`;

/** Where each device's fields stand among the device values of a frame. */
export function deviceStarts(scene: Scene): number[] {
  let starts = known.get(scene);
  if (!starts) {
    let start = 0;
    starts = scene.devices.map((device) => {
      start += device.fields.length;
      return start - device.fields.length;
    });
    known.set(scene, starts);
  }
  return starts;
}

const known = new WeakMap<Scene, number[]>();
