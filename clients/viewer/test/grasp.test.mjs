// The page of a grasp: its numbers without a browser, then in one, opened from a file as `simpartner grasp show -o` writes it.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Browser, pause } from "./browser.mjs";
import { load } from "./load.mjs";
import { noBrowser as skip } from "./needs.mjs";

const { forceOf, usedFriction, shown } = await load("grasp/scene");

const WEIGHT = 9.81;
const contact = (name, x, friction, radius) => ({
  name, kind: radius ? "soft" : "frictional", position: [x, 0, 0], normal: [-Math.sign(x), 0, 0], tangents: [[0, 1, 0], [0, 0, -Math.sign(x)]],
  friction, half_angle: Math.atan(friction), torsion: radius ? (2 / 3) * friction * radius : 0, radius, limits: [0, null],
});

/** Two soft fingers hold a cube by its sides; gravity tilted towards them breaks the grasp. */
function pinch({ edges = null, verdict = "holds", shape = true } = {}) {
  const states = (row, column) => {
    const [tilt, azimuth] = [(row / 20) * 1.2, (column / 40) * 2 * Math.PI];
    const weight = [WEIGHT * Math.sin(tilt) * Math.cos(azimuth), -WEIGHT * Math.cos(tilt), WEIGHT * Math.sin(tilt) * Math.sin(azimuth)];
    if (verdict === "impossible" || (row > 12 && column % 20 < 5)) return { weight, verdict: "impossible", motion: { velocity: [1, 0, 0], angular_velocity: [0, 0, 2] }, excess: { force: [weight[0], 0, 0], torque: [0.1, 0.2, 0] } };
    if (row === 20 && column === 30) return { weight, verdict: "undecided" };
    const side = (sign) => [WEIGHT, 0.5 * WEIGHT, 0, sign * 0.001 * row];
    return { weight, verdict: "holds", margin: 15, squeeze: 2 * WEIGHT, forces: [side(1), side(-1)] };
  };
  const rows = Array.from({ length: 21 }, (_, row) => Array.from({ length: row === 0 ? 1 : 40 }, (_, column) => states(row, column)));
  const placed = { kind: "box", size: [0.1, 0.1, 0.1], position: [0, 0, 0], rotation: [0, 0, 0, 1] };
  return {
    protocol: 1, name: "pinch", mass: 1, centre_of_mass: [0, 0, 0], length: 0.05, edges, load: { force: [0, -WEIGHT, 0], torque: [0, 0, 0] },
    object: { name: "Cube", pose: { position: [0, 0, 0], rotation: [0, 0, 0, 1] }, shape: shape ? placed : null, visuals: [] },
    contacts: [contact("Thumb", -0.05, 0.5, 0.01), contact("Index", 0.05, 0.5, 0.01)],
    check: states(0, 0),
    chart: { tilt: 1.2, rows, safe: Array.from({ length: 40 }, (_, column) => (column % 20 < 5 ? 0.74 : 1.2)), safe_tilt: 0.74, solid_angle: 0.9, first_failure: { azimuth: 0, tilt: 0.74 } },
  };
}

test("forces are along the world's axes, and friction is used in parts of the cone", () => {
  const index = contact("Index", 0.05, 0.5, 0.01);
  assert.deepEqual(forceOf(index, [2, 3, 4, 5]), [-2, 3, -4]);
  assert.equal(usedFriction(index, [10, 3, 4, 0]), 1);
  assert.ok(Math.abs(usedFriction(index, [10, 0, 0, 10 * index.torsion]) - 1) < 1e-12);
  assert.ok(Math.abs(usedFriction(index, [10, 3, 0, 8 * index.torsion]) - 1) < 1e-12);
  assert.equal(usedFriction({ ...index, friction: 0, torsion: 0 }, [10, 0, 0, 0]), 0);
  assert.equal(usedFriction(index, [1e-15, 3e-15, 0, 0]), 0);
  assert.deepEqual([1e-12, -3.14159265, 1234567].map(shown), ["0", "-3.142", "1235000"]);
});

let browser;
let folder;
before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "grasp-page-"));
  browser = await Browser.open();
});
after(async () => {
  await browser?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Opens a scene as a file. */
async function open(scene) {
  const [script, style] = await Promise.all(["grasp.js", "grasp.css"].map((file) => readFile(new URL(`../dist/${file}`, import.meta.url), "utf8")));
  const file = join(folder, "grasp.html");
  await writeFile(file, `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><style>${style}</style><body><script type="application/json" id="scene">${JSON.stringify(scene)}</script><script type="module">${script}</script>`);
  await browser.go(pathToFileURL(file).href);
}
const text = (id) => browser.value(`document.getElementById("${id}").textContent`);
/** What is drawn of forces and torques, by colour. */
const drawn = (what) => browser.value(`grasp.picture.marks.children.filter((mark) => mark.userData.${what}).map(({ userData }) => [userData.colour, userData.${what}])`);
const [CONTACT, EXCESS] = [0xd98207, 0xd22f27];

test("a grasp that holds is drawn with its cones at their true angle and its forces", { skip }, async () => {
  await open(pinch());
  await browser.until("window.grasp !== undefined");
  assert.equal(await text("verdict"), "holds");
  assert.match(await text("words"), /19\.62 N of normal forces/);
  assert.equal(await browser.value("document.querySelectorAll('#forces tr').length"), 3);
  // The cone of the file's friction, its tip in the contact and its axis along the normal into the object.
  const cone = await browser.value(`(() => {
    const cone = grasp.picture.group.getObjectByName("cone Thumb");
    cone.updateMatrix();
    const at = cone.geometry.getAttribute("position");
    const points = Array.from({ length: at.count }, (_, index) => cone.position.clone().fromBufferAttribute(at, index).applyMatrix4(cone.matrix).toArray());
    return points;
  })()`);
  const tips = cone.filter(([x, y, z]) => Math.hypot(x + 0.05, y, z) < 1e-9);
  const rims = cone.filter(([x]) => x > -0.04);
  assert.ok(tips.length > 0 && rims.length > 40);
  for (const [x, y, z] of rims) assert.ok(Math.abs(Math.hypot(y, z) / (x + 0.05) - 0.5) < 1e-6);
  // Newtons become metres of arrow by the factor that the page tells; the forces add up to nothing.
  const newtons = Number(/is ([\d.e+-]+) N/.exec(await text("scale"))[1]);
  const arrows = await drawn("arrow");
  assert.equal(arrows.filter(([colour]) => colour === CONTACT).length, 2);
  const sum = arrows.reduce((total, [, arrow]) => total.map((value, axis) => value + arrow[axis]), [0, 0, 0]);
  assert.ok(Math.hypot(...sum) * newtons < 1e-6 * WEIGHT, sum.join(" "));
  assert.ok(Math.abs(arrows[0][1][1] * newtons + WEIGHT) < 2e-3 * WEIGHT);
  await pause(0.5);
  await browser.shot("10-grasp-holds");
});

test("a click in the chart tilts gravity, and shows forces, torsion or what breaks the grasp there", { skip }, async () => {
  await browser.click('[data-place="8 12"]');
  assert.match(await text("where"), /tilted by 27\.5° at azimuth 108°/);
  const torques = await drawn("torque");
  assert.equal(torques.length, 2);
  assert.ok(torques.every(([colour]) => colour === CONTACT));
  await browser.click('[data-place="18 2"]');
  assert.equal(await text("verdict"), "cannot hold");
  assert.match(await text("words"), /at least by the force .* N and the torque \(0\.1, 0\.2, 0\) N m/);
  assert.deepEqual([await drawn("arrow"), await drawn("torque")].map((marks) => marks.filter(([colour]) => colour === EXCESS).length), [1, 1]);
  await pause(0.5);
  await browser.shot("11-grasp-breaks");
  // Keys go around and outwards, from where the click was.
  for (const key of ["ArrowUp", "ArrowLeft"]) await browser.press(key);
  assert.match(await text("where"), /tilted by 65\.3° at azimuth 9°/);
  await browser.click('[data-place="20 30"]');
  assert.equal(await text("verdict"), "on the edge");
  assert.equal((await drawn("arrow")).length, 1);
  await browser.click('[data-place="0 0"]');
  assert.equal(await text("verdict"), "holds");
});

test("pyramids have their edges, an object without a shape is lines, and without gravity there is no chart", { skip }, async () => {
  await open({ ...pinch({ edges: 4, shape: false }), chart: null });
  await browser.until("window.grasp !== undefined");
  assert.equal(await browser.value("document.querySelector('.grasp-chart')"), null);
  assert.equal(await browser.value("grasp.picture.group.getObjectByName('cone Index').geometry.parameters.radialSegments"), 4);
  assert.match(await browser.value("document.querySelector('.list').textContent"), /pyramids of 4 edges/);
  await browser.click('[title="Light or dark"]');
  await pause(0.5);
  await browser.shot("12-grasp-pyramids");
  await browser.click('[title="Light or dark"]');
});

test("without a load nothing is drawn of forces that are rounding", { skip }, async () => {
  const floating = pinch();
  const nothing = [0, 0, 0];
  floating.check = { ...floating.check, weight: nothing, forces: [[1e-14, 2e-15, 0, 0], [1e-14, 0, 0, 1e-16]] };
  await open({ ...floating, load: { force: nothing, torque: nothing }, chart: null });
  await browser.until("window.grasp !== undefined");
  assert.equal(await browser.value("grasp.picture.marks.children.length"), 0);
});

test("a page without a grasp, or with one of another protocol, says so", { skip }, async () => {
  const seen = browser.complaints.length;
  for (const [scene, said] of [[null, /grasp show FILE/], [{ ...pinch(), protocol: 2 }, /protocol 2/]]) {
    await open(scene);
    await browser.until("document.querySelector('.failure') !== null");
    assert.match(await browser.value("document.querySelector('.failure').textContent"), said);
  }
  assert.deepEqual(browser.complaints.slice(seen), []);
  assert.ok(browser.requests.every((url) => url.startsWith("file:") || url.startsWith("data:")));
});
