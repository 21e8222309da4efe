// Without a browser: what drives what is found from names and geometry, for any robot; frames are read as PROTOCOL.md tells.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";
import { World } from "./mock/world.mjs";

const { defaultMapping, command } = await load("drive/mapping");
const { Frame, frames } = await load("frame");

test("WorkPartner's four wheels go forward and Turner steers to the left", () => {
  const world = new World("flat", "1");
  const { rows } = defaultMapping(world.scene, "WorkPartner", new Frame(world.frame()));
  const wheels = rows.filter((row) => row.field === "velocity_3");
  assert.deepEqual(wheels.map((row) => row.device).sort(), [1, 2, 3, 4].map((wheel) => `WorkPartner/WheelMotor${wheel}`));
  assert.ok(wheels.every((row) => row.forward === 2.98 && row.turn === 0));
  assert.deepEqual(rows.at(-1), { device: "WorkPartner/TurnerController", field: "angle_3", forward: 0, turn: 0.3 });
});

test("without a steering joint the wheels of both sides turn against each other", () => {
  const world = new World("flat", "1");
  const plain = { ...world.scene, devices: world.devices.filter((device) => device.name !== "TurnerController") };
  const turns = new Map(defaultMapping(plain, "WorkPartner", new Frame(world.frame())).rows.map((row) => [row.device.at(-1), Math.sign(row.turn)]));
  assert.deepEqual([...turns.entries()].sort(), [["1", 1], ["2", -1], ["3", -1], ["4", 1]]);
});

test("an axle that points to the right is turned the other way", () => {
  const world = new World("flat", "1");
  for (const joint of world.scene.joints) if (joint.name.includes("Axle")) joint.axes[0].direction = joint.axes[0].direction.map((value) => -value);
  const { rows } = defaultMapping(world.scene, "WorkPartner", new Frame(world.frame()));
  assert.ok(rows.filter((row) => row.field === "velocity_3").every((row) => row.forward === -2.98));
});

test("a vehicle controller is driven in place of its wheels", () => {
  const world = new World("flat", "1");
  const fields = ["v_forward", "v_left", "omega"].map((name) => ({ name, unit: "m/s" }));
  const vehicle = { name: "Drive", robot: "WorkPartner", kind: "OmnidirectionalController", actuator: true, joint: null, fields };
  const scene = { ...world.scene, devices: [...world.devices, vehicle] };
  const { rows } = defaultMapping(scene, "WorkPartner", new Frame(world.frame()));
  assert.deepEqual(rows.map((row) => [row.device, row.field, row.forward, row.turn]), [["WorkPartner/Drive", "v_forward", 0.7, 0], ["WorkPartner/Drive", "omega", 0, 0.6]]);
});

test("a command keeps what it does not change", () => {
  const world = new World("flat", "1");
  world.command("WorkPartner/WheelMotor2", "7,8,9,0,0,1");
  const made = command(world.scene, new Frame(world.frame()), "WorkPartner/WheelMotor2", new Map([["velocity_3", -2]]));
  assert.deepEqual(made, { device: "WorkPartner/WheelMotor2", text: "7,8,9,0,0,-2" });
});

test("frames follow each other and carry contacts", () => {
  const bytes = new ArrayBuffer(96 + 80 + 16 + 48);
  const view = new DataView(bytes);
  [..."SPV1"].forEach((letter, index) => view.setUint8(index, letter.charCodeAt(0)));
  view.setUint32(4, bytes.byteLength, true);
  view.setBigUint64(8, 2n ** 40n, true);
  view.setUint8(68, 1);
  [1, 0, 2, 1].forEach((count, index) => view.setUint32(72 + index * 4, count, true));
  view.setFloat32(96 + 13 * 4, 9.5, true);
  view.setFloat64(96 + 80 + 8, -3.25, true);
  view.setUint32(92, 9, true);
  view.setUint32(96 + 96, 7, true);
  view.setUint32(96 + 96 + 4, 0xffffffff, true);
  [8, 24, 36, 44].forEach((at, index) => view.setFloat32(96 + 96 + at, [0.5, 1, 12.5, -0.25][index], true));
  const twice = new Uint8Array(2 * bytes.byteLength);
  [0, bytes.byteLength].forEach((at) => twice.set(new Uint8Array(bytes), at));
  const [frame, other] = frames(twice.buffer);
  assert.deepEqual([frame.step, frame.state, frame.numbers[frame.body(0, 13)], frame.devices[1]], [2 ** 40, "PLAYING", 9.5, -3.25]);
  const [{ body, other: ground, point, normal, force, gap }] = other.contacts;
  assert.deepEqual([body, ground, point[0], normal[1], force[1], gap, other.touching], [7, -1, 0.5, 1, 12.5, -0.25, 9]);
  assert.throws(() => new Frame(new ArrayBuffer(200)), /not a frame/);
});
