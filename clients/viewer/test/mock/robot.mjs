// A robot like WorkPartner 3 as the scene tells it: bodies, joints and devices, without any physics.

import { inverse, rotate, sub, turn } from "./math.mjs";

const NONE = [0, 0, 0, 1];
const Z = [0, 0, 1];
const at = (kind, more, rotation = NONE, position = [0, 0, 0]) => ({ position, rotation, kind, ...more });
const field = (name, unit, lowest, highest) => ({ name, unit, lowest, highest });
const three = (name, unit, bound) => [1, 2, 3].map((axis) => field(`${name}_${axis}`, unit, -bound, bound));

/** Collects the parts of a robot; poses are those of step 0 in the world. */
export class Parts {
  bodies = [];
  joints = [];
  devices = [];

  constructor(robot) {
    this.robot = robot;
  }

  body(name, mass, position, shape, more = {}) {
    const { rotation = NONE, fixed = false, collision = null } = more;
    const qualified = this.robot ? `${this.robot}/${name}` : name;
    this.bodies.push({ name: qualified, robot: this.robot, fixed, mass, centre_of_mass: [0, 0, 0], friction: 0.8, shape, visuals: [], collision, zero: { position, rotation } });
    return this.bodies.length - 1;
  }

  /** A joint with one free axis, told in the world at step 0. */
  joint(name, kind, parent, child, anchor, axis, direction, lower = null, upper = null) {
    const into = inverse(this.bodies[parent].zero.rotation);
    const axes = axis === 0 ? [] : [{ axis, linear: false, direction: rotate(into, direction), lower, upper }];
    this.joints.push({ name: `${this.robot}/${name}`, kind, parent, child, axes, zero: { anchor, direction } });
    return this.joints.length - 1;
  }

  sensor(kind, name, body, port, fields, rays = null) {
    this.devices.push({ name, robot: this.robot, kind, actuator: false, port, body, joint: null, interval_steps: 1, fields, command_lengths: [], rays });
  }

  /** A camera that looks ahead of its body, x. */
  camera(kind, name, body, port, position, optics) {
    const fields = [field("frame_step", "1", 0, null)];
    const pose = { position, rotation: turn([0, 1, 0], Math.PI / 2) };
    const camera = { focal: [280, 280], near: 0.1, far: null, lens: { model: "pinhole", coefficients: {} }, ...optics };
    camera.principal_point = [(camera.width - 1) / 2, (camera.height - 1) / 2];
    this.devices.push({ name, robot: this.robot, kind, actuator: false, port, body, pose, joint: null, interval_steps: 33, fields, command_lengths: [], rays: null, camera });
  }

  motor(name, joint, port) {
    const fields = [...three("max_force", "N m", 1e9).map((one) => ({ ...one, lowest: 0 })), ...three("velocity", "rad/s", 1e6)];
    this.devices.push({ name, robot: this.robot, kind: "JointController", actuator: true, port, body: null, joint, interval_steps: 1, fields, command_lengths: [6], rays: null });
  }

  holder(name, joint, port) {
    const fields = [...three("max_force", "N m", 1e9).map((one) => ({ ...one, lowest: 0 })), ...three("angle", "rad", 1e6), field("p", "1/s", -1e6, 1e6), field("i", "1/s²", -1e6, 1e6), field("d", "1", -1e6, 1e6)];
    this.devices.push({ name, robot: this.robot, kind: "AngleController", actuator: true, port, body: null, joint, interval_steps: 1, fields, command_lengths: [6, 9], rays: null });
  }
}

const WHEEL = 0.235;
const HIP = 0.588553;

/** The robot, its frame on the ground below Turner; x points forward, y up, z to the right. */
export function workPartner(robot) {
  const parts = new Parts(robot);
  const chassis = at("box", { size: [0.6, 0.2, 0.5] });
  const rear = parts.body("RearChassis", 26.5, [-0.35, HIP, 0], chassis);
  const front = parts.body("FrontChassis", 26.5, [0.35, HIP, 0], chassis);
  const support = parts.body("FrontSupport", 21, [0.6, 0.788553, 0], at("box", { size: [0.16, 0.2, 0.3] }));
  const torso = parts.body("Torso", 30, [0.665, 1.14, 0], at("box", { size: [0.2, 0.46, 0.36] }));
  const turner = parts.joint("Turner", "hinge", rear, front, [0, HIP, 0], 3, [0, 1, 0], -0.6, 0.6);
  parts.joint("FrontSupportWeld", "fixed", front, support, [0.6, 0.69, 0], 0, Z);
  const waist = parts.joint("Waist", "hinge", support, torso, [0.665, 0.9, 0], 3, [0, 1, 0], -2, 2);
  parts.sensor("EchoSensor", "Echo", front, 1025, []);
  parts.sensor("PositionSensor", "Position", torso, 1026, ["x", "y", "z"].map((name) => field(name, "m", -1e9, 1e9)));
  parts.holder("TurnerController", turner, 1035);
  const corners = [[0.6, 0.3, front], [0.6, -0.3, front], [-0.6, -0.3, rear], [-0.6, 0.3, rear]];
  corners.forEach(([x, z, chassisBody], index) => leg(parts, index + 1, x, z, chassisBody));
  scanner(parts, torso);
  const bent = { model: "brownConrady", coefficients: { k1: -0.1, k2: 0.02, p1: 0, p2: 0, k3: 0 } };
  parts.camera("Camera", "Eye", torso, 1060, [0.15, 0.2, 0], { width: 320, height: 240, lens: bent, encodings: ["rgb8"] });
  parts.camera("RgbdCamera", "Kinect", front, 1061, [0.3, 0.1, 0], { width: 160, height: 120, focal: [140, 140], far: 8, encodings: ["rgb8", "32FC1"] });
  parts.holder("WaistController", waist, 1036);
  manipulator(parts, "Right", torso, 0.25, 0);
  manipulator(parts, "Left", torso, -0.25, 1);
  return parts;
}

function leg(parts, number, x, z, chassis) {
  const knee = Math.sign(x) * 0.088388;
  const slope = turn(Z, Math.sign(x) * 0.785398);
  const limb = at("capsule", { radius: 0.03, length: 0.19 });
  const thigh = parts.body(`Thigh${number}`, 7, [x + knee, 0.500165, z], limb, { rotation: slope });
  const calf = parts.body(`Calf${number}`, 4, [x + knee, 0.323388, z], limb, { rotation: inverse(slope) });
  const lying = turn([1, 0, 0], Math.PI / 2);
  const wheel = parts.body(`Wheel${number}`, 10, [x, WHEEL, z], at("cylinder", { radius: WHEEL, length: 0.08 }, lying), {
    collision: at("sphere", { radius: WHEEL }),
  });
  const left = [0, 0, -1];
  const hip = parts.joint(`Hip${number}`, "constrained", chassis, thigh, [x, HIP, z], 3, left, -0.7, 0.7);
  const kneeJoint = parts.joint(`Knee${number}`, "constrained", thigh, calf, [x + 2 * knee, 0.411777, z], 3, left, -1.2, 1.2);
  const axle = parts.joint(`Axle${number}`, "constrained", calf, wheel, [x, WHEEL, z], 3, left);
  parts.holder(`HipController${number}`, hip, 1036 + number);
  parts.holder(`KneeController${number}`, kneeJoint, 1040 + number);
  parts.motor(`WheelMotor${number}`, axle, 1026 + number);
}

function scanner(parts, torso) {
  const count = 61;
  const directions = Array.from({ length: count }, (_, ray) => {
    const angle = 1.2 * ((2 * ray) / (count - 1) - 1);
    return [Math.cos(angle), 0, -Math.sin(angle)];
  });
  const fields = directions.map((_, ray) => field(`distance_${ray + 1}`, "m", 0, 10));
  parts.sensor("ScannerSensor", "Scanner", torso, 1031, fields, { body: torso, origin: [0, 0.1, 0], directions, range: 10 });
}

function manipulator(parts, side, torso, z, offset) {
  const [x, y] = [0.665, 1.25];
  const along = turn(Z, -Math.PI / 2);
  const upper = parts.body(`UpperArm${side}`, 2.5, [x, y - 0.175, z], at("capsule", { radius: 0.035, length: 0.28 }));
  const lower = parts.body(`LowerArm${side}`, 2.5, [x + 0.175, y - 0.35, z], at("capsule", { radius: 0.03, length: 0.28 }, along));
  const hand = parts.body(`Hand${side}`, 1, [x + 0.395, y - 0.35, z], at("box", { size: [0.09, 0.05, 0.13] }));
  const shoulder = parts.joint(`Shoulder${side}`, "constrained", torso, upper, [x, y, z], 3, Z, -1.5, 2.5);
  const elbow = parts.joint(`Elbow${side}`, "constrained", upper, lower, [x, y - 0.35, z], 3, Z, -1.5, 1.2);
  parts.joint(`Wrist${side}`, "hinge", lower, hand, [x + 0.35, y - 0.35, z], 3, [1, 0, 0], -3.2, 3.2);
  for (const [name, shift] of [["A", 0.05], ["B", -0.05]]) {
    const pivot = [x + 0.44, y - 0.35, z + shift];
    const claw = parts.body(`Claw${name}${side}`, 0.5, [pivot[0] + 0.0425, pivot[1], pivot[2]], at("box", { size: [0.085, 0.05, 0.012] }));
    parts.joint(`ClawPivot${name}${side}`, "constrained", hand, claw, pivot, 3, [0, 1, 0], -1, 1);
  }
  parts.holder(`ShoulderController${side}`, shoulder, 1045 + offset);
  parts.holder(`ElbowController${side}`, elbow, 1047 + offset);
}

/** Things to look at and to scan, one of each shape. */
export function objects() {
  const parts = new Parts(null);
  const wall = (name, size, position, yaw = 0) => parts.body(name, 1, position, at("box", { size }), { fixed: true, rotation: turn([0, 1, 0], yaw) });
  wall("WallA", [0.2, 1.8, 5], [6.5, 0.7, -1]);
  wall("WallB", [4, 1.8, 0.2], [3.5, 0.7, 4.2]);
  parts.body("Crate", 12, [3.2, 0.4, -2.6], at("box", { size: [0.8, 0.8, 0.8] }));
  parts.body("Ball", 2, [2.2, 0.3, 2.1], at("sphere", { radius: 0.3 }));
  parts.body("Drum", 8, [4.4, 0.45, 1.7], at("cylinder", { radius: 0.3, length: 0.9 }));
  parts.body("Cone", 1, [1.2, 0.35, -2.4], at("cone", { radius: 0.25, length: 0.7 }));
  parts.body("Pill", 1, [-1.5, 0.2, 2.4], at("capsule", { radius: 0.2, length: 0.5 }, turn(Z, Math.PI / 2)));
  const base = [[-0.4, 0, -0.4], [0.4, 0, -0.4], [0.4, 0, 0.4], [-0.4, 0, 0.4]];
  parts.body("Pyramid", 3, [-2.6, 0, -2], at("convexHull", { points: [...base, [0, 0.7, 0]] }));
  parts.body("Wedge", 3, [-3, 0, 1.5], at("triangleMesh", {
    vertices: [...base, [-0.4, 0.4, -0.4], [-0.4, 0.4, 0.4]],
    triangles: [[0, 1, 2], [0, 2, 3], [0, 4, 1], [3, 2, 5], [1, 4, 5], [1, 5, 2], [0, 3, 5], [0, 5, 4]],
  }));
  const bar = at("box", { size: [1, 0.1, 0.1] });
  parts.body("Cross", 2, [0.2, 0.06, 3.4], at("compound", { parts: [bar, { ...bar, rotation: turn([0, 1, 0], Math.PI / 2) }] }));
  return parts;
}

/** What the page is told of the parts. */
export function described({ zero, ...part }) {
  return part;
}

/** A joint's place in its parent's frame, and that of the child about it in the world, at step 0. */
export function offset(bodies, joint) {
  const { position, rotation } = bodies[joint.parent].zero;
  return {
    local: rotate(inverse(rotation), sub(joint.zero.anchor, position)),
    child: sub(bodies[joint.child].zero.position, joint.zero.anchor),
  };
}
