// Without a browser: what is listed as having happened, where the rays of scanners and cameras go, and how depths are read.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";
import { colorPng, depthPng } from "./mock/png.mjs";

const { EventLog, groupOf } = await load("eventlog");
const { edgeRays, fieldOfView, rayOf } = await load("optics");
const { range, readDepths } = await load("depth");
const { scanOf, nearest, reach, roundUp } = await load("scan");

const event = (step, kind, text = "", subject = "", epoch = 0) => ({ step, epoch, kind, subject, text, value: null });
const command = (step, device, count = 1, client = 1) => ({ step, epoch: 0, device, client, text: `1,2,${step}`, count });
const all = () => true;

test("clients that come and go by the hundred are one entry, and hide nothing", () => {
  const log = new EventLog();
  log.add(event(1, "play"));
  for (let index = 0; index < 2000; index += 1) log.add(event(10 + index, index % 2 ? "disconnect" : "connect", `client ${index}`, "Position"));
  log.add(event(3000, "clockSlip", "the clock gave up 0.061 s"));
  const [slip, connections, play, ...rest] = log.entries(all);
  assert.deepEqual(rest, []);
  assert.deepEqual([slip.kind, slip.group, play.kind], ["clockSlip", "problems", "play"]);
  assert.deepEqual([connections.count, connections.first, connections.last, connections.text], [2000, 10, 2009, "client 1999"]);
  assert.equal(log.count("connections"), 2000);
  assert.deepEqual(log.entries((group) => group !== "connections").length, 2);
});

test("commands of a device are one entry with their number and the latest, also where several devices take turns", () => {
  const log = new EventLog();
  for (let step = 1; step <= 500; step += 1) for (const wheel of [1, 2, 3, 4]) log.addCommands(command(step, `R/Wheel${wheel}`, 3, step));
  const entries = log.entries(all);
  assert.deepEqual(entries.map(({ subject, count, first, last }) => [subject, count, first, last]), [4, 3, 2, 1].map((wheel) => [`R/Wheel${wheel}`, 1500, 1, 500]));
  assert.equal(entries[0].text, "1,2,500 (client 500)");
  log.addCommands(command(501, "R/Wheel1", 1, 0));
  assert.match(log.entries(all).at(-1).text, /sequence/);
});

test("play and pause are told each time, problems of the same kind together, and a reset begins anew", () => {
  const log = new EventLog();
  for (const step of [1, 2, 3]) for (const kind of ["play", "pause"]) log.add(event(step, kind));
  for (const step of [4, 5, 6]) log.add(event(step, "clockSlip", `the clock gave up 0.0${step} s`));
  log.add(event(7, "fault", "stuck", "R/Position"));
  log.add(event(8, "fault", "ok", "R/Position"));
  log.add(event(1, "clockSlip", "the clock gave up 0.07 s", "", 1));
  assert.deepEqual(log.entries(all).map(({ kind, count }) => `${kind} ${count}`), ["clockSlip 1", "fault 1", "fault 1", "clockSlip 3", "pause 1", "play 1", "pause 1", "play 1", "pause 1", "play 1"]);
});

test("what is kept is bounded in each group", () => {
  const log = new EventLog();
  for (let step = 0; step < 5000; step += 1) {
    log.add(event(step, step % 2 ? "play" : "pause"));
    log.addCommands(command(step, `R/Device${step}`));
  }
  assert.equal(log.entries(all).length, 600);
  assert.equal(log.entries((group) => group === "events")[0].first, 4999);
  assert.deepEqual(["disconnect", "unconverged", "watchdog"].map(groupOf), ["connections", "problems", "events"]);
});

/** Rays as the server makes them: fans about the sensor's z axis in its z-x plane, tilted towards y; the sensor looks along `turn`. */
function rays(count, half, layers, vertical, turn) {
  const directions = [];
  for (let layer = 0; layer < layers; layer += 1) {
    const up = layers > 1 ? -vertical + (2 * vertical * layer) / (layers - 1) : 0;
    for (let ray = 0; ray < count; ray += 1) {
      const angle = count > 1 ? -half + (2 * half * ray) / (count - 1) : 0;
      directions.push(turn([Math.sin(angle) * Math.cos(up), Math.sin(up), Math.cos(angle) * Math.cos(up)]));
    }
  }
  return { body: 0, origin: [0, 0, 0], directions, range: 10, layers };
}
/** As robots have it: the sensor's z axis along the body's x axis. */
const ahead = ([x, y, z]) => [z, y, -x];
const degrees = (angle) => Math.round((angle * 180) / Math.PI);

test("a scan of 181 rays goes from one side to the other, ahead in the middle", () => {
  const scan = scanOf(rays(181, Math.PI / 2, 1, 0, ahead));
  assert.deepEqual([scan.layers, scan.columns, degrees(scan.half)], [1, 181, 90]);
  assert.equal(degrees(scan.angles[90]), 0);
  // The first ray has the sensor's -x, which is the body's +z: to the right.
  assert.deepEqual([scan.angles[0], scan.angles[180], scan.angles[60]].map(degrees), [-90, 90, -30]);
  assert.ok(scan.elevations.every((angle) => Math.abs(angle) < 1e-12));
});

test("the layers of a lidar all around have the same angles and their own elevations", () => {
  for (const half of [3.1, Math.PI, 1, 0.3]) {
    const scan = scanOf(rays(90, half, 16, 0.26, ahead));
    assert.deepEqual([scan.layers, scan.columns], [16, 90]);
    for (const layer of [0, 7, 15]) {
      assert.ok(Math.abs(scan.elevations[layer * 90 + 45] - (-0.26 + (0.52 * layer) / 15)) < 1e-9, `layer ${layer}`);
      assert.ok(Math.abs(scan.angles[layer * 90 + 60] - (-half + (2 * half * 60) / 89)) < 1e-9);
    }
  }
});

test("any scanner has a finite angle for each ray", () => {
  const odd = [rays(1, 0, 1, 0, ahead), rays(1, 0, 8, 0.5, ahead), rays(2, 1, 1, 0, ([x, y, z]) => [y, z, x]), rays(11, Math.PI, 3, 1.5, ([x, y, z]) => [-z, -y, x]), { ...rays(10, 1, 1, 0, ahead), layers: 3 }, { ...rays(10, 1, 1, 0, ahead), layers: undefined }];
  for (const one of odd) {
    const scan = scanOf(one);
    assert.equal(scan.angles.length, one.directions.length);
    assert.ok([...scan.angles, ...scan.elevations].every(Number.isFinite));
  }
});

test("the picture reaches as far as something is met, in round numbers", () => {
  const scan = scanOf(rays(5, 1, 1, 0, ahead));
  assert.deepEqual([[10, 10, 10, 10, 10], [1, 2, 1.7, 10, 10], [9, 10, 10, 10, 10], [NaN, NaN, NaN, NaN, NaN]].map((distances) => reach(scan, distances)), [10, 5, 10, 10]);
  assert.deepEqual(nearest(scan, [3, NaN, 2.5, 10, 4]), { ray: 2, distance: 2.5 });
  assert.equal(nearest(scan, [10, 10, NaN, 10, 10]), null);
  assert.deepEqual([0.011, 0.2, 1, 3, 7, 12].map(roundUp), [0.02, 0.2, 1, 5, 10, 20]);
});

const optics = (more) => ({ width: 320, height: 240, focal: [280, 270], principal_point: [150, 130], near: 0.1, far: 8, lens: { model: "pinhole", coefficients: {} }, encodings: ["rgb8"], ...more });
const near = (found, expected, tolerance, what) => assert.ok(Math.abs(found - expected) <= tolerance, `${what}: ${found} is not ${expected}`);

/** Where a ray meets the image: the formulas of REFERENCE's <lens>. */
function project({ focal, principal_point: principal, lens: { model, coefficients } }, [x, y, z]) {
  const { k1 = 0, k2 = 0, k3 = 0, k4 = 0, p1 = 0, p2 = 0 } = coefficients;
  let [a, b] = [x / z, y / z];
  if (model === "brownConrady") {
    const square = a * a + b * b;
    const radial = 1 + k1 * square + k2 * square ** 2 + k3 * square ** 3;
    [a, b] = [a * radial + 2 * p1 * a * b + p2 * (square + 2 * a * a), b * radial + p1 * (square + 2 * b * b) + 2 * p2 * a * b];
  } else if (model === "fisheye") {
    const angle = Math.atan2(Math.hypot(x, y), z);
    const radius = angle * (1 + k1 * angle ** 2 + k2 * angle ** 4 + k3 * angle ** 6 + k4 * angle ** 8);
    [a, b] = [(x / Math.hypot(x, y)) * radius, (y / Math.hypot(x, y)) * radius];
  }
  return [focal[0] * a + principal[0], focal[1] * b + principal[1]];
}

test("the rays of a camera's pixels meet them again", () => {
  const lenses = [
    optics(),
    optics({ lens: { model: "brownConrady", coefficients: { k1: -0.25, k2: 0.06, p1: 0.001, p2: -0.002, k3: 0.001 } } }),
    optics({ focal: [90, 90], lens: { model: "fisheye", coefficients: { k1: -0.02, k2: 0.003, k3: 0, k4: 0.0001 } } }),
  ];
  for (const one of lenses) {
    for (const [column, row] of [[0, 0], [319, 0], [319, 239], [0, 239], [12.5, 200], [160, 120]]) {
      const ray = rayOf(one, column, row);
      near(Math.hypot(...ray), 1, 1e-12, "length");
      const found = project(one, ray);
      near(found[0], column, 1e-6, `${one.lens.model} column`);
      near(found[1], row, 1e-6, `${one.lens.model} row`);
    }
    assert.equal(edgeRays(one).length, one.lens.model === "pinhole" ? 4 : 32);
  }
  const plain = optics({ focal: [160, 160], principal_point: [159.5, 119.5] });
  near(fieldOfView(plain)[0], Math.PI / 2, 1e-12, "horizontal field of view");
  near(fieldOfView(plain)[1], 2 * Math.atan(0.75), 1e-12, "vertical field of view");
  // x right, y down: the first pixel is on the left above.
  const [x, y, z] = edgeRays(plain)[0];
  assert.ok(x < 0 && y < 0 && z > 0);
});

test("depths are read from PNG files to the millimetre, whatever the filters of their rows", async () => {
  const at = (column, row) => (row === 3 ? 65535 : row === 4 ? 0 : (7919 * column + 104729 * row * row + 1) % 65536);
  const file = depthPng(37, 23, at);
  const depths = await readDepths(file.buffer.slice(file.byteOffset, file.byteOffset + file.length));
  assert.deepEqual([depths.width, depths.height], [37, 23]);
  for (let row = 0; row < 23; row += 1) for (let column = 0; column < 37; column += 1) assert.equal(depths.millimetres[row * 37 + column], at(column, row));
  assert.equal(range({ width: 2, height: 1, millimetres: Uint16Array.of(0, 65535) }), null);
  assert.deepEqual(range({ width: 4, height: 1, millimetres: Uint16Array.of(0, 2500, 700, 65535) }), [0.7, 2.5]);
  const slice = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  await assert.rejects(readDepths(slice(colorPng(8, 8, 0))), /no depths of 16 bits/);
  await assert.rejects(readDepths(slice(Buffer.from("a page that says what is wrong"))), /no PNG file/);
  await assert.rejects(readDepths(slice(depthPng(4, 4, () => 1).subarray(0, 40))));
});
