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
const x = () => browser.value("viewer.frame.numbers[viewer.frame.body(0, 0)]");

test("shows the running world", { skip }, async () => {
  assert.equal(await browser.value(text("world")), "flat");
  const first = await browser.value("viewer.frame?.step");
  await browser.until(`viewer.frame?.step > ${first} + 200`);
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
