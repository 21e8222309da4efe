// Changes of the running world from the page, in a headless Chromium against a real server (VIEWER_SERVER names its program):
// a body is pulled, placed, robots come and go, changes are taken back, and a replay repeats all of it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, pause } from "./browser.mjs";
import { noServer, server as program } from "./needs.mjs";
import { root, serve } from "./server.mjs";

const skip = noServer();

let folder;
let database;
let server;
let browser;
before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "viewer-edits-"));
  database = `sqlite:${join(folder, "log.db")}`;
  server = await serve("worlds/flat.xml", database, "--free-ports");
  browser = await Browser.open();
  await browser.go(server.url);
  await browser.until(`document.getElementById("badge").textContent === "live" && viewer.frame?.step > 500`);
});
after(async () => {
  await browser?.close();
  await server?.end();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const CHASSIS = "WorkPartner/FrontChassis";
const robots = () => browser.value("[...new Set(viewer.scene.bodies.map((body) => body.robot))].filter((robot) => robot !== null)");
const position = (name) => browser.value(`(() => { const at = viewer.frame.body(viewer.scene.bodies.findIndex((body) => body.name === "${name}"), 0); return [...viewer.frame.numbers.subarray(at, at + 3)]; })()`);
/** Waits until the page shows a world with so many robots, and is connected. */
const settled = (count) => browser.until(`document.getElementById("badge").textContent === "live" && new Set(viewer.scene.bodies.map((body) => body.robot)).size === ${count} && viewer.liveFrame?.bodies === viewer.scene.bodies.length`);
const distance = (a, b) => Math.hypot(...a.map((value, axis) => value - b[axis]));
/** Where a body is on the screen. */
const onScreen = (name) => browser.value(`(() => {
  const { stage } = viewer;
  const at = stage.bodies.nodes[viewer.scene.bodies.findIndex((body) => body.name === "${name}")].position.clone().project(stage.cameras.camera);
  const { left, top, width, height } = stage.element.getBoundingClientRect();
  return [left + ((at.x + 1) / 2) * width, top + ((1 - at.y) / 2) * height];
})()`);
const mouse = (type, [x, y], held = true) => browser.send("Input.dispatchMouseEvent", { type, x, y, modifiers: 2, button: type === "mouseMoved" && !held ? "none" : "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: type === "mouseMoved" ? 0 : 1 });
const fill = (form, numbers) => browser.value(`(() => { document.querySelectorAll('${form} .coordinate').forEach((field, axis) => (field.value = ${JSON.stringify(numbers)}[axis])); })()`);
const press = (form, label) => browser.value(`[...document.querySelectorAll('${form} button')].find((one) => one.textContent === "${label}").click()`);
const said = (form) => `document.querySelector('${form} .reply').textContent`;

test("a body is pulled with the pointer while Ctrl is held, and the camera stays", { skip }, async () => {
  const start = await onScreen(CHASSIS);
  const camera = await browser.value("viewer.stage.cameras.mode");
  await mouse("mouseMoved", start, false);
  await mouse("mousePressed", start);
  const pulled = await browser.until("viewer.edits.pull && viewer.scene.bodies[viewer.edits.pull.body].name");
  const before = await position(pulled);
  for (let step = 1; step <= 10; step += 1) await mouse("mouseMoved", [start[0], start[1] - 15 * step]);
  await browser.until(`(() => { const at = viewer.frame.body(viewer.edits.pull.body, 0); return viewer.frame.numbers[at + 1] > ${before[1]} + 0.05; })()`);
  await browser.shot("13-pull");
  assert.ok(await browser.value("viewer.stage.pulling.line.visible"));
  await mouse("mouseReleased", [start[0], start[1] - 150]);
  await browser.until("viewer.edits.pull === null");
  assert.equal(await browser.value("viewer.stage.cameras.mode"), camera);
  // It falls back onto its wheels.
  await browser.until(`(() => { const at = viewer.frame.body(viewer.scene.bodies.findIndex((body) => body.name === "${pulled}"), 0); return Math.abs(viewer.frame.numbers[at + 1] - ${before[1]}) < 0.03; })()`);
});

test("a body is placed, and put back by undo", { skip }, async () => {
  await browser.click("[data-tab=Bodies]");
  const form = `[data-edit="${CHASSIS}"]`;
  await browser.click(`[data-key="body:${CHASSIS}"] summary`);
  await browser.until(`(document.querySelector('${form} .coordinate')?.value ?? "0") !== "0"`);
  const before = await position(CHASSIS);
  await fill(form, [2, 0.9, -1]);
  await press(form, "Place");
  await browser.until(`${said(form)} === "OK"`);
  await browser.until(`(() => { const at = viewer.frame.body(viewer.scene.bodies.findIndex((body) => body.name === "${CHASSIS}"), 0); return Math.abs(viewer.frame.numbers[at] - 2) < 0.1 && Math.abs(viewer.frame.numbers[at + 2] + 1) < 0.1; })()`);
  await browser.click(".edit-world summary");
  await browser.until(`document.querySelectorAll('.robot-file option').length > 5`);
  await browser.shot("14-edit");
  await press(".edit-world", "Undo");
  await browser.until(`document.querySelector('.edit-world .undo').disabled`);
  await pause(0.3);
  assert.ok(distance(await position(CHASSIS), before) < 0.1, `${await position(CHASSIS)} and ${before}`);
});

test("a robot is added, removed, and both are taken back", { skip }, async () => {
  assert.deepEqual(await robots(), ["WorkPartner"]);
  await browser.value(`(document.querySelector(".robot-file").value = "differential_drive.xml", 0)`);
  await fill(".edit-world", [3, 0.3, 3]);
  await press(".edit-world", "Add");
  await settled(2);
  const [, name] = await robots();
  const [x, , z] = await position((await browser.value(`viewer.scene.bodies.find((body) => body.robot === "${name}").name`)));
  assert.ok(Math.hypot(x - 3, z - 3) < 0.3, `${x}, ${z}`);
  const body = await browser.value(`viewer.scene.bodies.find((body) => body.robot === "${name}").name`);
  await browser.click(`[data-key="body:${body}"] summary`);
  await browser.until(`document.querySelector('[data-edit="${body}"] button') !== null`);
  await press(`[data-edit="${body}"]`, "Remove");
  await browser.until("viewer.edits.next?.startsWith('remove')");
  await settled(1);
  await press(".edit-world", "Undo");
  await settled(2);
  assert.deepEqual(await robots(), ["WorkPartner", name]);
  await browser.until("viewer.edits.next?.startsWith('add')");
  await press(".edit-world", "Undo");
  await settled(1);
  await browser.until("document.querySelector('.edit-world .undo').disabled");
});

test("what the server refuses is shown, and nothing can be taken back", { skip }, async () => {
  await fill(".edit-world", [1e9, 0, 0]);
  await press(".edit-world", "Add");
  await browser.until(`${said(".edit-world")}.startsWith("ERR 4")`);
  assert.ok(await browser.value("document.querySelector('.edit-world .undo').disabled"));
  assert.deepEqual(browser.complaints, []);
});

test("a replay repeats what the page did", { skip }, async () => {
  await browser.value(`viewer.link.control("QUIT")`);
  await server.end();
  for (const run of [1, 2, 3, 4, 5]) execFileSync(program, ["replay", String(run), "--database", database], { cwd: root, stdio: "pipe" });
  const commands = execFileSync(program, ["query", "last", "--all-runs", "--database", database, "SELECT count(*) FROM command WHERE text LIKE 'PUSH %' OR text LIKE 'PLACE %'"], { cwd: root }).toString();
  assert.ok(Number(/\d+/.exec(commands.split("\n").slice(1).join("\n"))?.[0]) > 4, commands);
});
