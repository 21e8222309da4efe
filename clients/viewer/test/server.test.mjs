// The page in a headless Chromium against a real server: VIEWER_SERVER names its program, which is run from the root of
// the sources.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, pause } from "./browser.mjs";
import { noServer, server as program } from "./needs.mjs";
import { root, serve } from "./server.mjs";

const skip = noServer();
const text = (id) => `document.getElementById("${id}").textContent`;
const rate = (factor) =>
  `(() => { const rate = document.getElementById("rate"); rate.value = "${factor}"; rate.dispatchEvent(new Event("change")); })()`;

let folder;
let server;
let browser;
before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "viewer-server-"));
  const database = `sqlite:${join(folder, "log.db")}`;
  // The run that is opened later on; the wheels get their commands at 3 s.
  const recorded = ["run", "--world", "worlds/flat.xml", "--database", database, "--mode", "fast", "--sequence", "robots/circle.xml", "--duration", "4"];
  execFileSync(program, recorded, { cwd: root, stdio: "ignore" });
  server = await serve("worlds/flat.xml", database);
  browser = await Browser.open();
  await browser.go(server.url);
  await browser.until(`${text("badge")} === "live" && viewer.frame !== null`);
});
after(async () => {
  await browser?.close();
  await server?.end();
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
/** What the control port, which greets nobody, answers. */
const order = (port, line) =>
  new Promise((answered, failed) => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(`${line}\n`));
    let heard = "";
    socket.on("error", failed);
    socket.on("data", (data) => {
      heard += data;
      if (heard.includes("\n")) {
        socket.destroy();
        answered(heard.trim());
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
  const paused = Number(/step=(\d+)/.exec(await control("STATE"))[1]);
  await browser.until(`viewer.frame?.step === ${paused}`);
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
  await browser.click("[data-tab=Events]");
  const commands = "[...document.querySelectorAll('#events [data-group=commands] .event-subject')].map((name) => name.textContent)";
  await browser.until(`${commands}.includes("TurnerController") && ${commands}.includes("WheelMotor4")`);
  await browser.click("#live");
  await browser.until(`${text("badge")} === "live" && viewer.frame?.epoch === 1`);
});

/** Where bodies are drawn. */
const drawn = () => browser.value("viewer.stage.bodies.group.visible ? viewer.stage.bodies.nodes.map((node) => node.position.toArray()) : []");
const control = (words) => browser.value(`viewer.link.control(${JSON.stringify(words)})`);

test("back to live, a clock that stands shows all bodies where they are", { skip }, async () => {
  await control("PAUSE");
  await browser.until("viewer.frame?.state === 'PAUSED'");
  await browser.click("[data-tab=Runs]");
  await browser.click('.run[data-run="1"]');
  await browser.until(`${text("badge")} === "run 1"`);
  const reply = await control("STEP 300");
  const step = Number(/step=(\d+)/.exec(reply)[1]);
  await browser.click("#live");
  await browser.until(`viewer.frame?.step === ${step}`);
  const places = await drawn();
  assert.equal(places.length, await browser.value("viewer.scene.bodies.length"));
  assert.ok(places.every((place) => Math.hypot(...place) > 0.05), JSON.stringify(places));
});

test("commands are among the events; a hundred clients that come and go are one line there", { skip }, async () => {
  await browser.click("[data-tab=Events]");
  const motor = await port("WheelMotor2");
  for (let speed = 1; speed <= 100; speed += 1) await ask(motor, `1000,1000,100,0,0,${speed / 100}`);
  await control("STEP 5");
  const rows = (group) => `[...document.querySelectorAll('#events [data-group=${group}]')].map((row) => row.textContent)`;
  await browser.until(`${rows("commands")}.some((row) => /WheelMotor2.*1000,1000,100,0,0,1 \\(client \\d+\\)/.test(row))`);
  await browser.until(`viewer.liveLog.count("connections") >= 200`);
  assert.ok((await browser.value(`${rows("connections")}.length`)) <= 4, JSON.stringify(await browser.value(rows("connections"))));
  assert.ok(await browser.value(`${rows("events")}.some((row) => /reset/.test(row))`), "what came before is still there");
  await control("PLAY");
});

test("a second page sees the same, and commands that were given before it came", { skip }, async () => {
  const other = await Browser.open({ width: 700, height: 500 });
  try {
    await other.go(server.url);
    await other.until(`${text("badge")} === "live" && viewer.frame !== null && viewer.liveLog.count("commands") > 0`);
    await control("PAUSE");
    await other.until("viewer.frame.state === 'PAUSED'");
    await browser.until("viewer.frame.state === 'PAUSED'");
    const step = await other.value("viewer.frame.step");
    await browser.until(`viewer.frame.step === ${step}`);
    assert.deepEqual(other.complaints, []);
  } finally {
    await other.close();
  }
});

/** Walks about in the page at random; whatever was done, it shows what there is. */
test("clock, runs, cameras and windows in any order end in the present state", { skip }, async (context) => {
  let seed = Number(process.env.VIEWER_SEED ?? 1);
  const chance = (count) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * count);
  };
  const acts = [
    ["PAUSE", () => control("PAUSE")],
    ["PLAY", () => control("PLAY 1")],
    ["STEP", () => control("STEP 7")],
    ["RESET", () => control("RESET")],
    ["open", () => browser.value("viewer.runs.refresh().then(() => (document.querySelector('.run[data-run=\"1\"]').click(), 0))")],
    ["live", () => browser.value("(document.getElementById('live').click(), 0)")],
    ["scrub", () => browser.value(`(() => { const slider = document.getElementById("scrub"); slider.value = String(${chance(2000)}); slider.dispatchEvent(new Event("input")); })()`)],
    ["space", () => browser.press("Space")],
    ["all", () => browser.press("KeyF")],
    ["followed", () => browser.press("KeyG")],
    ["camera", () => browser.press(`Digit${1 + chance(4)}`)],
    ["tab", () => browser.click(`[data-tab=${["Devices", "Bodies", "Events", "Runs", "Drive"][chance(5)]}]`)],
    ["resize", () => browser.send("Emulation.setDeviceMetricsOverride", { width: 320 + chance(1200), height: 300 + chance(700), deviceScaleFactor: 1, mobile: false })],
  ];
  const done = [];
  for (let act = 0; act < Number(process.env.VIEWER_ACTS ?? 60); act += 1) {
    const [name, run] = acts[chance(acts.length)];
    done.push(name);
    await run();
  }
  context.diagnostic(done.join(" "));
  await pause(0.5);
  await browser.value("(document.getElementById('live').click(), 0)");
  await control("PAUSE");
  const state = await control("STATE");
  const [step, epoch] = ["step", "epoch"].map((key) => Number(new RegExp(`${key}=(\\d+)`).exec(state)[1]));
  await browser.until(`${text("badge")} === "live" && viewer.frame?.step === ${step} && viewer.frame.epoch === ${epoch} && viewer.frame.state === "PAUSED"`);
  const places = await drawn();
  assert.ok(places.length > 0 && places.every((place) => Math.hypot(...place) > 0.05), JSON.stringify(places));
  assert.equal(await browser.value("document.getElementById('play').dataset.playing"), "false");
  assert.deepEqual(browser.complaints, []);
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 1480, height: 900, deviceScaleFactor: 1, mobile: false });
  await control("PLAY 1");
});

test("the wheels' commands are in the log, and the page has nothing to complain of", { skip }, async (context) => {
  assert.deepEqual(browser.complaints, []);
  await server.end();
  try {
    execFileSync("sqlite3", ["--version"]);
  } catch {
    return context.diagnostic("the table is not looked at: there is no sqlite3");
  }
  const query = "SELECT count(*) FROM command JOIN robotComponent USING (componentID) WHERE client > 0 AND name LIKE 'WheelMotor%'";
  assert.ok(Number(execFileSync("sqlite3", [join(folder, "log.db"), query], { encoding: "utf8" })) >= 8);
});

/** A robot with so many scanners, before a wall: the first has 181 rays, the second is a lidar of 16 layers. */
function watchers(count) {
  const kinds = ['rays="181" halfAngle="1.5707963"', 'rays="60" halfAngle="3.1" layers="16" verticalHalfAngle="0.3"'];
  const scanner = (index) => `<sensor type="ScannerSensor" name="Scan${index}" body="Mast" port="0" range="40" rate="20" ${kinds[index] ?? 'rays="5"'}>
    <pose y="${(index % 10) / 20}" pitch="1.570796326794897"/></sensor>`;
  const mast = '<body name="Mast"><mass>1</mass><pose y="0.5"/><box x="0.4" y="1" z="0.4"/></body>';
  return `<robot name="Watchers">${mast}${Array.from({ length: count }, (_, index) => scanner(index)).join("\n")}</robot>`;
}
const WORLD = `<world name="watched"><surface a="0" b="1" c="0" d="0"/><gravity y="-9.81"/>
  <object type="Body" name="Wall"><static>true</static><pose x="-3" y="1"/><box x="0.2" y="2" z="4"/></object>
  <object type="Body" name="Mountain"><static>true</static><pose x="4000" y="0" z="-3000"/><box x="400" y="900" z="400"/></object>
  <robot file="watchers.xml" name="Watchers"/></world>`;

test("scans of 181 rays and of 16 layers have their plots among 60 devices, and the page finds a server that was started again", { skip }, async () => {
  const place = join(folder, "watched");
  await mkdir(place);
  await writeFile(join(place, "world.xml"), WORLD);
  await writeFile(join(place, "watchers.xml"), watchers(60));
  let watched = await serve(join(place, "world.xml"), "none");
  const page = await Browser.open();
  try {
    await page.go(watched.url);
    await page.until(`${text("badge")} === "live" && viewer.frame !== null`);
    await page.value("viewer.panel.open('Devices')");
    for (const [name, layers] of [["Scan0", 1], ["Scan1", 16]]) {
      await page.click(`[data-key="device:Watchers/${name}"] summary`);
      const plot = `[data-key="device:Watchers/${name}"] .scan-plot`;
      // The wall stands behind; the first of them does not look there.
      await page.until(`/${layers === 1 ? "nearest|nothing within" : "nearest .*layer \\d+ of 16"}/.test(document.querySelector('${plot} .scan-note')?.textContent)`);
      assert.equal(await page.value(`document.querySelector('${plot}').dataset.layers`), String(layers));
      assert.equal(await page.value(`document.querySelector('${plot} .scan-image') !== null`), layers > 1);
      await page.shot(`9-${name}`);
      await page.click(`[data-key="device:Watchers/${name}"] summary`);
    }
    // All is five kilometres across, and still in the picture; then back to the robot.
    await page.press("KeyF");
    const visible = "viewer.stage.bodies.nodes.every((node) => { const at = node.position.clone().project(viewer.stage.cameras.camera); return Math.abs(at.x) <= 1 && Math.abs(at.y) <= 1 && at.z <= 1; })";
    await page.until(`viewer.stage.cameras.camera.updateMatrixWorld(), ${visible}`);
    await page.shot("9-all");
    await page.press("KeyG");
    await page.until("viewer.stage.cameras.camera.position.length() < 200");
    const port = new URL(watched.url).port;
    await watched.end();
    await page.until(`${text("badge")} === "no connection"`);
    await writeFile(join(place, "watchers.xml"), watchers(3));
    watched = await serve(join(place, "world.xml"), "none", "--set", `viewer.port=${port}`);
    await page.until(`${text("badge")} === "live" && viewer.scene.devices.length === 3 && viewer.frame !== null`);
    assert.equal(await page.value("viewer.stage.bodies.nodes.length"), 3);
    // While it was gone, the browser has complained of connections that were refused, and of nothing else.
    assert.deepEqual(page.complaints.filter((complaint) => !/ERR_CONNECTION_REFUSED|WebSocket/.test(complaint)), []);
  } finally {
    await page.close();
    await watched.end();
  }
});

/** A ball that hangs on nothing, as URDF. */
const LONER = `<robot name="loner"><link name="ball"><inertial><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.5"/></geometry></collision></link></robot>`;

test("robots that come are in the page, those that go are not any more, and a reset keeps who is there", { skip }, async () => {
  const ports = join(folder, "ports.json");
  const peopled = await serve("worlds/flat.xml", "none", "--free-ports", "--ports-file", ports);
  const page = await Browser.open();
  try {
    const control = Number(JSON.parse(await readFile(ports, "utf8")).control.split(":").at(-1));
    const say = async (line) => assert.match(await order(control, line), /^OK/);
    const shows = (count, robots) =>
      page.until(`${text("badge")} === "live" && viewer.frame !== null && viewer.stage.bodies.nodes.length === ${count} && ` +
        `[...new Set(viewer.scene.devices.map((device) => device.robot))].join() === "${robots}"`);
    await page.go(peopled.url);
    await shows(14, "WorkPartner");
    await say("SPAWN name=Second file=workpartner1.xml position=3,0,0");
    await shows(28, "WorkPartner,Second");
    await say(`SPAWN name=Third position=6,0.5,0 text=${JSON.stringify(LONER)}`);
    await shows(29, "WorkPartner,Second");
    await page.shot("10-three");
    await say("REMOVE WorkPartner");
    await shows(15, "Second");
    await say("RESET");
    await shows(15, "Second");
    await page.until("viewer.frame.epoch === 1 && viewer.frame.step > 100");
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.close();
    await peopled.end();
  }
});

/** A roller on sand that something pulls along. */
const SAND = `<world name="sand"><gravity x="3" y="-9.81"/><surface soil="drySand"/>
  <robot name="R"><body name="Roller"><mass>12</mass><pose y="0.1"/><cylinder radius="0.1" length="0.3" axis="z"/></body>
  <sensor type="SoilSensor" name="Soil" body="Roller" port="0"/></robot></world>`;

test("what rolls on sand leaves its rut in the page, as deep as it sinks, and a recorded run says how to make it again", { skip }, async () => {
  const place = join(folder, "sand");
  await mkdir(place, { recursive: true });
  const [world, database] = [join(place, "world.xml"), `sqlite:${join(place, "log.db")}`];
  await writeFile(world, SAND);
  execFileSync(program, ["run", "--world", world, "--database", database, "--mode", "fast", "--duration", "1"], { cwd: root, stdio: "ignore" });
  const sand = await serve(world, database);
  const page = await Browser.open();
  try {
    await page.go(sand.url);
    await page.until(`${text("badge")} === "live" && viewer.frame?.time > 1 && viewer.stage.ruts.count > 1`);
    const deepest = "viewer.stage.ruts.parts.reduce((least, { mesh }) => mesh.geometry.getAttribute('position').array.reduce((low, value, index) => (index % 3 === 1 ? Math.min(low, value) : low), least), 0)";
    const sunk = await page.value("viewer.frame.devices[0]");
    const low = await page.value(deepest);
    // What the sand rises again behind it; the landing may have pressed it deeper.
    assert.ok(sunk > 0.002 && -low > 0.8 * sunk && -low < 3 * sunk, `sunk ${sunk}, lowest ${low}`);
    await page.shot("9-sand");
    await page.click("[data-tab=Runs]");
    await page.click('.run[data-run="1"]');
    await page.until(`${text("badge")} === "run 1"`);
    assert.match(await page.value(text("rut-note")), /simpartner replay 1 --ruts/);
    await page.click("#live");
    await page.until("viewer.stage.ruts.count > 1");
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.close();
    await sand.end();
  }
});

test("cameras show their images, also to a page with a token", { skip }, async () => {
  const token = "eyes+1";
  const seeing = await serve("robots/instruments.xml", "none", "--free-ports", "--set", `server.token=${token}`);
  const page = await Browser.open();
  const panel = (name) => `[data-key="device:Instruments/${name}"] .camera-panel`;
  const shows = (name) => page.until(`(() => {
    const canvas = document.querySelector('${panel(name)} .camera-image');
    return canvas?.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte, index, data) => byte !== data[index % 4]);
  })()`, 60);
  const open = (name) => page.until(`(() => { const line = document.querySelector('[data-key="device:Instruments/${name}"]'); if (line) line.open = true; return line !== null; })()`);
  try {
    await page.go(`${seeing.url.replace(/#.*/, "")}#token=${encodeURIComponent(token)}`);
    await page.until(`${text("badge")} === "live" && viewer.frame !== null`);
    const optics = await page.value('viewer.scene.devices.find(({ name }) => name === "Eye").camera');
    assert.deepEqual([optics.width, optics.height, optics.focal, optics.principal_point, optics.far], [320, 240, [280, 280], [159.5, 119.5], null]);
    assert.deepEqual(optics.lens, { model: "brownConrady", coefficients: { k1: -0.1, k2: 0.02, p1: 0, p2: 0, k3: 0 } });
    for (const name of ["Eye", "Depth", "Parts", "Kinect"]) {
      await open(name);
      await shows(name);
    }
    assert.deepEqual(await page.value('viewer.scene.devices.find(({ name }) => name === "Kinect").camera.encodings'), ["mono8", "32FC1"]);
    await page.value(`document.querySelector('${panel("Kinect")} [aria-label="Show depths"]').click()`);
    await page.until(`/^160 × 120 32FC1 · step/.test(document.querySelector('${panel("Kinect")} .camera-note').textContent)`);
    await page.shot("11-cameras");
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.close();
    await seeing.end();
  }
});

test("the program shows a grasp on a port of its own", { skip }, async () => {
  const child = spawn(program, ["grasp", "show", "worlds/grasps/harker7.xml"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((found) => child.stdout.on("data", (data) => found(/^(http:\S+) /.exec(data)[1])));
  const page = await Browser.open();
  try {
    await page.go(url);
    await page.until("window.grasp !== undefined");
    assert.equal(await page.value(text("verdict")), "cannot hold");
    // The weight, and what breaks the grasp: a force and a torque.
    assert.equal(await page.value("grasp.picture.marks.children.filter(({ userData }) => userData.torque).length"), 1);
    await page.click('[data-place="20 39"]');
    assert.match(await page.value(text("where")), /tilted by 30° at azimuth 351°/);
    await page.shot("10-grasp-served");
    assert.deepEqual(page.complaints, []);
    assert.ok(page.requests.every((address) => address.startsWith(url) || address.startsWith("data:")), page.requests.join(" "));
  } finally {
    await page.close();
    child.kill("SIGTERM");
  }
  assert.equal(await new Promise((done) => (child.exitCode === null ? child.on("exit", done) : done(child.exitCode))), 0);
});
