// The page in a headless Chromium against a real server: VIEWER_SERVER names its program, which is run from the root of
// the sources.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser, findBrowser, pause } from "./browser.mjs";

const program = process.env.VIEWER_SERVER;
const skip = !program ? "VIEWER_SERVER names no server" : !findBrowser() ? "there is no Chromium; CHROMIUM names one" : false;
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const text = (id) => `document.getElementById("${id}").textContent`;
const rate = (factor) =>
  `(() => { const rate = document.getElementById("rate"); rate.value = "${factor}"; rate.dispatchEvent(new Event("change")); })()`;

let folder;
let server;
let ended;
let url;
let browser;
before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "viewer-server-"));
  const run = ["run", "--world", "worlds/flat.xml", "--database", `sqlite:${join(folder, "log.db")}`];
  // The run that is opened later on.
  execFileSync(program, [...run, "--mode", "fast", "--sequence", "robots/circle.xml", "--duration", "2"], { cwd: root, stdio: "ignore" });
  server = spawn(program, [...run, "--set", "viewer.port=0", "--set", "server.control_port=0"], { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  ended = new Promise((done) => server.on("exit", done));
  let said = "";
  url = await new Promise((found, failed) => {
    server.stderr.on("data", (data) => {
      said += data;
      const address = /^viewer +(http:\S+)\n/m.exec(said);
      if (address) found(address[1]);
    });
    server.on("exit", () => failed(new Error(`the server ended: ${said}`)));
  });
  browser = await Browser.open();
  await browser.go(url);
  await browser.until(`${text("badge")} === "live" && viewer.frame !== null`);
});
after(async () => {
  await browser?.close();
  server?.kill("SIGTERM");
  await ended;
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** What a device answers at its own port. */
const ask = (port, words) =>
  new Promise((answered, failed) => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(`${words}\n`));
    let heard = "";
    socket.on("error", failed);
    socket.on("data", (data) => {
      heard += data;
      const lines = heard.split("\n");
      // The first line is the greeting.
      if (lines.length > 2) {
        socket.destroy();
        answered(lines[1]);
      }
    });
  });
const port = (name) => browser.value(`viewer.scene.devices.find((device) => device.name === "${name}").port`);
/** What stands in the frame for a device's field. */
const field = (device, name) => `(() => {
  let start = 0;
  for (const { name, fields } of viewer.scene.devices) {
    const place = fields.findIndex((field) => field.name === "${name}");
    if (name === "${device}") return viewer.frame.devices[start + place];
    start += fields.length;
  }
})()`;
const x = () => browser.value("viewer.frame.numbers[viewer.frame.body(0, 0)]");

test("shows the running world", { skip }, async () => {
  assert.equal(await browser.value(text("world")), "flat");
  const first = await browser.value("viewer.frame?.step");
  await browser.until(`viewer.frame?.step > ${first} + 200`);
});

test("contacts arrive, and their forces bear the weight", { skip }, async (context) => {
  const { contacts, touching, borne, weight } = await browser.value(`(() => {
    const { frame, scene } = viewer;
    const moving = scene.bodies.filter((body) => !body.fixed).reduce((sum, body) => sum + body.mass, 0);
    const borne = frame.contacts.reduce((sum, contact) => sum + contact.force[1], 0);
    return { contacts: frame.contacts.map(({ body, other }) => [scene.bodies[body].name, other]), touching: frame.touching, borne, weight: moving * 9.81 };
  })()`);
  context.diagnostic(`${touching} contacts carry ${borne.toFixed(2)} N of ${weight.toFixed(2)} N`);
  assert.deepEqual(contacts.sort(), [1, 2, 3, 4].map((wheel) => [`WorkPartner/Wheel${wheel}`, -1]));
  assert.equal(touching, 4);
  assert.ok(Math.abs(borne / weight - 1) < 0.02);
  await browser.until(`${text("force-note")}.startsWith("4 contacts")`);
});

test("keys drive the robot, and letting go stops it", { skip }, async () => {
  const begin = await x();
  const motor = await port("WheelMotor1");
  await browser.key("ArrowUp", true);
  await browser.until(`Math.abs(viewer.frame.numbers[viewer.frame.body(0, 0)] - ${begin}) > 0.2`);
  assert.notEqual(Number((await ask(motor, "GET")).split(",").at(-1)), 0);
  await browser.key("ArrowUp", false);
  for (let tries = 0; Number((await ask(motor, "GET")).split(",").at(-1)) !== 0; tries++) {
    assert.ok(tries < 100, "the stop");
    await pause(0.1);
  }
});

test("a gamepad drives the robot, and letting go of the stick stops it", { skip }, async () => {
  const begin = await x();
  await browser.value("(window.pad = { id: 'Test pad', connected: true, axes: [0, 1, 0, 0], buttons: [] }, navigator.getGamepads = () => [window.pad], 0)");
  await browser.until(`viewer.frame.numbers[viewer.frame.body(0, 0)] < ${begin} - 0.1`);
  await browser.value("(window.pad.axes = [0, 0, 0, 0], 0)");
  await browser.until(field("WheelMotor1", "velocity_3") + " === 0");
  await browser.value("(window.pad.connected = false, 0)");
});

test("a command line shows what the port answers", { skip }, async () => {
  await browser.click("[data-tab=Devices]");
  await browser.click('[data-key="device:WorkPartner/TurnerController"] summary');
  const line = '[data-device="WorkPartner/TurnerController"]';
  await browser.click(`${line} input`);
  await browser.value(`document.querySelector('${line} input').select()`);
  await browser.type("0,0,0.1,5,0,0");
  await browser.press("Enter");
  await browser.until(`/^<1000,1000,1000,0,0,/.test(document.querySelector('${line} output').textContent)`);
  await browser.until(`Math.abs(${field("TurnerController", "angle_3")} - 0.1) < 1e-9`);
  await browser.value(`document.querySelector('${line} input').select()`);
  await browser.type("1,2");
  await browser.press("Enter");
  await browser.until(`document.querySelector('${line} output').textContent.startsWith("ERR 2")`);
  await browser.value("document.activeElement.blur()");
});

test("pauses, steps, plays at a rate and resets", { skip }, async () => {
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PAUSED'");
  await pause(0.3);
  const paused = await browser.value("viewer.frame?.step");
  await browser.click("#step");
  await browser.until(`viewer.frame?.step === ${paused + 1}`);
  await browser.click("#many");
  await browser.until(`viewer.frame?.step === ${paused + 11}`);
  await browser.value(rate(2));
  await browser.click("#play");
  await browser.until("viewer.frame?.state === 'PLAYING' && viewer.frame?.rate === 2");
  await browser.click("#reset");
  await browser.until("viewer.frame?.epoch === 1 && viewer.frame?.step > 10");
});

test("opens a recorded run and scrubs in it", { skip }, async () => {
  await browser.click("[data-tab=Runs]");
  await browser.click('.run[data-run="1"]');
  await browser.until(`${text("badge")} === "run 1"`);
  await browser.value(`(() => { const slider = document.getElementById("scrub"); slider.value = "1234"; slider.dispatchEvent(new Event("input")); })()`);
  await browser.until("viewer.frame?.step === 1234");
  // The commands of the log tell what the actuators were set to.
  assert.deepEqual([await browser.value(field("TurnerController", "angle_3")), await browser.value(field("WheelMotor1", "velocity_3"))], [0.2, 0]);
  await browser.click("#live");
  await browser.until(`${text("badge")} === "live" && viewer.frame?.epoch === 1`);
});

test("the wheels' commands are in the log, and the page has nothing to complain of", { skip }, async (context) => {
  assert.deepEqual(browser.complaints, []);
  server.kill("SIGTERM");
  await ended;
  try {
    execFileSync("sqlite3", ["--version"]);
  } catch {
    return context.diagnostic("the table is not looked at: there is no sqlite3");
  }
  const query = "SELECT count(*) FROM command JOIN robotComponent USING (componentID) WHERE client > 0 AND name LIKE 'WheelMotor%'";
  assert.ok(Number(execFileSync("sqlite3", [join(folder, "log.db"), query], { encoding: "utf8" })) >= 8);
});
