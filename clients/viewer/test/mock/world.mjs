// The mock's world: a robot that obeys its commands without any physics, on flat or rolling ground.

import { add, cross, inverse, rotate, scale, times, turn } from "./math.mjs";
import { CELLS, Ruts } from "./ruts.mjs";
import { described, objects, offset, workPartner } from "./robot.mjs";

export const TIMESTEP = 0.001;
const HEADER = 96;
const CONTACT = 48;
const GROUND = 0xffffffff;
const RECORDED = 3;
const RADIUS = 0.235;
const HALF_BASE = 0.6;
const LAG = 0.08;
const UP = [0, 1, 0];
const POINTS = 65;
const EXTENT = 32;

function heightAt(x, z) {
  const far = Math.min(1, Math.max(0, (Math.hypot(x, z) - 2.5) / 4));
  return far * (0.16 * Math.sin(x * 0.9) + 0.14 * Math.sin(z * 0.75 + 1) + 0.06 * Math.sin(x * 1.9 - z * 1.4));
}

export class World {
  step = 0;
  epoch = 0;
  pose = { x: 0, z: 0, heading: 0 };
  wheelRates = [0, 0, 0, 0];
  /** Where wheels have been, on sand, and how deep they press it. */
  ruts = new Ruts();
  sinkage = 0.02;

  constructor(name, id) {
    this.rolling = name === "heightfield";
    this.sandy = name === "sand";
    const ground = this.rolling ? heightAt : () => 0;
    this.ground = ground;
    const robot = workPartner("WorkPartner");
    const things = objects();
    const shift = things.bodies.length;
    this.root = shift;
    this.bodies = [...things.bodies, ...robot.bodies];
    this.joints = robot.joints.map((joint) => ({ ...joint, parent: joint.parent + shift, child: joint.child + shift }));
    this.devices = robot.devices.map((device) => ({
      ...device,
      body: device.body === null ? null : device.body + shift,
      rays: device.rays && { ...device.rays, body: device.rays.body + shift },
    }));
    this.obstacles = things.bodies.map((body) => {
      const size = body.shape.size ?? [0.6, 0.6, 0.6];
      return { x: body.zero.position[0], z: body.zero.position[2], halfX: size[0] / 2, halfZ: size[2] / 2 };
    });
    this.starts = [];
    let start = 0;
    for (const device of this.devices) {
      this.starts.push(start);
      start += device.fields.length;
    }
    this.values = new Float64Array(start);
    this.positions = new Float64Array(this.joints.length);
    this.rates = new Float64Array(this.joints.length);
    this.scene = {
      protocol: 1,
      id,
      name,
      timestep: TIMESTEP,
      gravity: [0, -9.81, 0],
      grounds: [this.rolling ? terrain() : { kind: "plane", normal: UP, distance: 0, friction: 0.8, ruts: this.sandy ? CELLS : null }],
      bodies: this.bodies.map(described),
      joints: this.joints.map(described),
      devices: this.devices,
    };
    this.reset();
    this.epoch = 0;
  }

  reset() {
    this.step = 0;
    this.epoch += 1;
    this.pose = { x: 0, z: 0, heading: 0 };
    this.ruts.clear();
    this.wheelRates = [0, 0, 0, 0];
    this.positions.fill(0);
    this.rates.fill(0);
    this.values.fill(0);
    this.devices.forEach((device, id) => {
      if (device.actuator) this.values.fill(1000, this.starts[id], this.starts[id] + 3);
      if (device.kind === "AngleController") this.values[this.starts[id] + 6] = 10;
    });
  }

  /** Carries out a command as a device's port would, and gives the answer. */
  command(name, text) {
    const id = this.devices.findIndex((device) => `${device.robot}/${device.name}` === name);
    const device = this.devices[id];
    if (!device) return `ERR 8 no device ${name}`;
    if (device.kind === "EchoSensor") return `<${text}>`;
    const before = `<${[...this.values.slice(this.starts[id], this.starts[id] + device.fields.length)].join(",")}>`;
    if (text.trim() === "" || !device.actuator) return text.trim() === "" ? before : "ERR 1 a sensor takes no command";
    const numbers = text.split(",").map(Number);
    if (!numbers.every(Number.isFinite)) return `ERR 3 expected finite decimals, got '${text}'`;
    if (!device.command_lengths.includes(numbers.length)) return `ERR 2 expected ${device.command_lengths.join(" or ")} numbers, got ${numbers.length}`;
    const skip = numbers.length === 6 && device.fields.length === 9 ? 3 : 0;
    numbers.forEach((number, index) => (this.values[this.starts[id] + skip + index] = number));
    return before;
  }

  /** Makes steps. */
  advance(steps) {
    const ease = 1 - Math.exp(-TIMESTEP / LAG);
    for (let made = 0; made < steps; made += 1) {
      this.devices.forEach((device, id) => {
        if (!device.actuator) return;
        const target = this.values[this.starts[id] + 5];
        const { joint } = device;
        if (device.kind === "JointController") {
          this.rates[joint] += (target - this.rates[joint]) * ease;
        } else {
          const axis = this.joints[joint].axes[0];
          const bounded = Math.min(axis.upper ?? Infinity, Math.max(axis.lower ?? -Infinity, target));
          this.rates[joint] = ((bounded - this.positions[joint]) * ease) / TIMESTEP / 3;
        }
        this.positions[joint] += this.rates[joint] * TIMESTEP;
      });
      this.roll();
      this.step += 1;
      // A step is a few millimetres at most.
      if (this.sandy && this.step % 2 === 0) this.press();
    }
  }

  get speed() {
    const wheels = this.devices.filter((device) => device.kind === "JointController");
    return (wheels.reduce((sum, device) => sum + this.rates[device.joint], 0) / wheels.length) * RADIUS;
  }

  /** The record as a frame of the protocol. `status` has what only the clock knows. */
  frame(status = {}) {
    const poses = this.place();
    this.read(poses);
    const count = this.bodies.length * 19 + this.joints.length * 18;
    const devices = HEADER + Math.ceil(count / 2) * 8;
    const touching = (status.state ?? 0) === RECORDED ? [] : this.contacts(poses);
    const behind = devices + this.values.length * 8;
    const bytes = new ArrayBuffer(behind + touching.length * CONTACT);
    const view = new DataView(bytes);
    const { wall = 0, late = 0, factor = 0, rate = 1, sequence = 0, state = 0, watchers = 0 } = status;
    view.setUint32(0, 0x31565053, true);
    view.setUint32(4, bytes.byteLength, true);
    view.setBigUint64(8, BigInt(this.step), true);
    [this.step * TIMESTEP, wall, late, factor, rate].forEach((value, index) => view.setFloat64(16 + index * 8, value, true));
    [sequence, this.epoch, 0].forEach((value, index) => view.setUint32(56 + index * 4, value, true));
    view.setUint8(68, state);
    [this.bodies.length, this.joints.length, this.values.length, touching.length, watchers, touching.length].forEach((value, index) => view.setUint32(72 + index * 4, value, true));
    const numbers = new Float32Array(bytes, HEADER, count);
    poses.forEach((pose, id) => numbers.set([...pose.position, ...pose.rotation, ...this.twist(id), ...this.wrench(id)], id * 19));
    this.joints.forEach((joint, id) => {
      const parent = poses[joint.parent];
      const anchor = add(parent.position, rotate(parent.rotation, offset(this.bodies, joint).local));
      const rest = [0, 0, this.positions[id], 0, 0, this.rates[id], 0, 0, this.rates[id] * 3];
      numbers.set([...anchor, ...rest, NaN, NaN, NaN, NaN, NaN, NaN], this.bodies.length * 19 + id * 18);
    });
    new Float64Array(bytes, devices, this.values.length).set(this.values);
    touching.forEach(({ body, point, force }, index) => {
      new Uint32Array(bytes, behind + index * CONTACT, 2).set([body, GROUND]);
      new Float32Array(bytes, behind + index * CONTACT + 8, 10).set([...point, ...UP, ...force, 0]);
    });
    return bytes;
  }

  /** Where wheels and loose objects stand on the ground. */
  contacts(poses) {
    return this.bodies.flatMap(({ name, robot, fixed }, body) => {
      if (fixed || (robot !== null && !name.includes("Wheel"))) return [];
      const { position } = poses[body];
      return [{ body, point: [position[0], this.ground(position[0], position[2]), position[2]], force: this.wrench(body).slice(0, 3) }];
    });
  }

  /** Presses the sand below the wheels. */
  press() {
    const poses = this.place();
    const axle = rotate(turn(UP, this.pose.heading), [0, 0, 1]);
    this.bodies.forEach(({ name }, body) => {
      if (!name.includes("Wheel")) return;
      const { position } = poses[body];
      for (let aside = -0.08; aside <= 0.08; aside += 0.008) this.ruts.press(position[0] + axle[0] * aside, position[2] + axle[2] * aside, this.sinkage);
    });
  }

  roll() {
    const { pose, speed } = this;
    const bend = this.positions[0];
    pose.heading += ((speed * Math.tan(bend / 2)) / HALF_BASE - this.rates[0] / 2) * TIMESTEP;
    const heading = pose.heading + bend / 2;
    pose.x += speed * Math.cos(heading) * TIMESTEP;
    pose.z -= speed * Math.sin(heading) * TIMESTEP;
  }

  /** Poses of all bodies, the robot standing on the ground below its four corners. */
  place() {
    const poses = this.bodies.map(({ zero, robot }) => {
      const lift = robot === null ? this.ground(zero.position[0], zero.position[2]) : 0;
      return { position: add(zero.position, [0, lift, 0]), rotation: zero.rotation };
    });
    const { x, z, heading } = this.pose;
    const yaw = turn(UP, heading);
    const height = (ahead, right) => {
      const [dx, , dz] = rotate(yaw, [ahead, 0, right]);
      return this.ground(x + dx, z + dz);
    };
    const [a, b, c, d] = [height(0.6, 0.3), height(0.6, -0.3), height(-0.6, -0.3), height(-0.6, 0.3)];
    const pitch = turn([0, 0, 1], Math.atan2((a + b - c - d) / 2, 1.2));
    const roll = turn([1, 0, 0], -Math.atan2((a + d - b - c) / 2, 0.6));
    const tilt = times(yaw, times(pitch, roll));
    const foot = [x, (a + b + c + d) / 4, z];
    poses[this.root] = { position: add(foot, rotate(tilt, this.bodies[this.root].zero.position)), rotation: tilt };
    this.joints.forEach((joint, id) => {
      const { local, child } = offset(this.bodies, joint);
      const parent = poses[joint.parent];
      const anchor = add(parent.position, rotate(parent.rotation, local));
      const base = times(parent.rotation, inverse(this.bodies[joint.parent].zero.rotation));
      const bent = times(base, turn(joint.zero.direction, this.positions[id]));
      poses[joint.child] = { position: add(anchor, rotate(bent, child)), rotation: times(bent, this.bodies[joint.child].zero.rotation) };
    });
    return poses;
  }

  read(poses) {
    this.devices.forEach((device, id) => {
      const start = this.starts[id];
      if (device.camera) this.values[start] = this.step - (this.step % device.interval_steps);
      if (device.kind === "PositionSensor") this.values.set(poses[device.body].position, start);
      if (!device.rays) return;
      const pose = poses[device.rays.body];
      const origin = add(pose.position, rotate(pose.rotation, device.rays.origin));
      device.rays.directions.forEach((direction, ray) => {
        this.values[start + ray] = this.distance(origin, rotate(pose.rotation, direction), device.rays.range);
      });
    });
  }

  distance(origin, direction, range) {
    let nearest = range;
    for (const { x, z, halfX, halfZ } of this.obstacles) {
      const slab = (from, way, middle, half) => {
        const [near, far] = [(middle - half - from) / way, (middle + half - from) / way];
        return near < far ? [near, far] : [far, near];
      };
      const [nearX, farX] = slab(origin[0], direction[0], x, halfX);
      const [nearZ, farZ] = slab(origin[2], direction[2], z, halfZ);
      const [near, far] = [Math.max(nearX, nearZ), Math.min(farX, farZ)];
      if (near < far && near > 0) nearest = Math.min(nearest, near);
    }
    return nearest;
  }

  twist(id) {
    const moves = this.bodies[id].robot !== null;
    const heading = this.pose.heading + this.positions[0] / 2;
    return moves ? [this.speed * Math.cos(heading), 0, -this.speed * Math.sin(heading), 0, 0, 0] : [0, 0, 0, 0, 0, 0];
  }

  wrench(id) {
    const { name, robot, mass, fixed } = this.bodies[id];
    if (robot === null) return fixed ? [0, 0, 0, 0, 0, 0] : [0, mass * 9.81, 0, 0, 0, 0];
    if (!name.includes("Wheel")) return [0, 0, 0, 0, 0, 0];
    const wheel = Number(name.at(-1));
    const sway = 60 * Math.sin(this.step * TIMESTEP * 2.1 + wheel * 1.7) * Math.min(1, Math.abs(this.speed));
    const force = add([0, 495 + (wheel <= 2 ? 90 : -90) + sway, 0], scale(this.twist(id), 60));
    return [...force, ...cross([0, -RADIUS, 0], force)];
  }
}

function terrain() {
  const heights = [];
  for (let i = 0; i < POINTS; i += 1) {
    for (let j = 0; j < POINTS; j += 1) heights.push(heightAt((i / (POINTS - 1) - 0.5) * EXTENT, (j / (POINTS - 1) - 0.5) * EXTENT));
  }
  return { kind: "heightfield", points_x: POINTS, points_z: POINTS, width: EXTENT, depth: EXTENT, friction: 1, heights, pose: { position: [0, 0, 0], rotation: [0, 0, 0, 1] } };
}

/** A run of some seconds, a frame every ten steps. */
export function record(name, seconds) {
  const world = new World(name, "recorded");
  const frames = [];
  const drive = (rate) => [1, 2, 3, 4].forEach((wheel) => world.command(`WorkPartner/WheelMotor${wheel}`, `1000,1000,100,0,0,${rate}`));
  drive(3);
  world.command("WorkPartner/TurnerController", "1000,1000,1000,0,0,0.3,10,0,0");
  for (let made = 0; made < seconds * 100; made += 1) {
    if (made === seconds * 60) world.command("WorkPartner/TurnerController", "1000,1000,1000,0,0,-0.35,10,0,0");
    if (made === seconds * 90) drive(0);
    world.advance(10);
    const bytes = world.frame({ wall: world.step * TIMESTEP, state: 3, factor: NaN, rate: NaN });
    frames.push({ step: world.step, bytes });
  }
  const { scene } = world;
  return { scene, frames, every: 10 };
}
