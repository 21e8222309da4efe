// The page in a headless Chromium against the mock server. Pictures of each part are kept in shots/.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, pause, until } from "./browser.mjs";
import { start } from "./mock.mjs";
import { noBrowser as skip } from "./needs.mjs";

const text = (id) => `document.getElementById("${id}").textContent`;
const wheels = (mock) => mock.commands.filter(({ device }) => device.includes("WheelMotor"));
const lastRate = (mock) => Number(wheels(mock).at(-1)?.text.split(",")[5]);

let mock;
let browser;
before(async () => {
  if (skip) return;
  mock = await start();
  browser = await Browser.open();
  await browser.go(mock.url);
  await browser.until(`${text("badge")} === "live" && viewer.frame !== null`);
});
after(async () => {
  await browser?.close();
  await mock?.close();
});

const x = () => mock.clock.world.pose.x;
async function picture(name) {
  await browser.value("viewer.stage.setResolution(1)");
  await pause(0.8);
  await browser.shot(name);
}
const tab = (name) => browser.click(`[data-tab=${name}]`);
const shown = () => browser.value("viewer.frame?.step");

test("shows the running world, framed", { skip }, async () => {
  assert.equal(await browser.value(text("world")), "heightfield");
  const first = await shown();
  await browser.until(`viewer.frame?.step > ${first} + 100`);
  await browser.until("viewer.stage.cameras.camera.position.length() > 2");
  await pause(0.5);
  await picture("1-start");
});

test("a command line shows the port's answer", { skip }, async () => {
  await tab("Devices");
  await browser.click('[data-key="device:WorkPartner/WaistController"] summary');
  const line = '[data-device="WorkPartner/WaistController"]';
  await browser.click(`${line} input`);
  assert.equal(await browser.value(`document.querySelector('${line} input').value`), "1000,1000,1000,0,0,0,10,0,0");
  await browser.value(`document.querySelector('${line} input').select()`);
  await browser.type("1000,1000,1000,0,0,0.4,10,0,0");
  await browser.press("Enter");
  await browser.until(`document.querySelector('${line} output').textContent === "<1000,1000,1000,0,0,0,10,0,0>"`);
  await browser.value(`document.querySelector('${line} input').select()`);
  await browser.type("1,2");
  await browser.press("Enter");
  await browser.until(`document.querySelector('${line} output').textContent.startsWith("ERR 2")`);
  await picture("2-command");
  await browser.value("document.activeElement.blur()");
});

test("keys drive the wheels, and letting go stops them", { skip }, async () => {
  const begin = x();
  await browser.key("ArrowUp", true);
  await until(() => x() > begin + 0.5, "the robot to move");
  await browser.key("ArrowLeft", true);
  await until(() => mock.clock.world.positions[0] > 0.25, "Turner to turn");
  assert.equal(new Set(wheels(mock).map(({ device }) => device)).size, 4);
  assert.equal(lastRate(mock), 2.98);
  assert.equal([...mock.pages][0].onClose.length, 4);
  await browser.until(`viewer.frame.numbers[viewer.frame.body(viewer.scene.bodies.findIndex((body) => body.name.endsWith("RearChassis")), 7)] > 0.4`);
  await tab("Drive");
  await pause(0.3);
  await picture("3-drive");
  await browser.key("ArrowLeft", false);
  await browser.key("ArrowUp", false);
  await until(() => lastRate(mock) === 0, "the stop");
  await until(() => [...mock.pages][0].onClose.length === 0, "the guard to be taken off");
});

test("losing the focus stops the wheels", { skip }, async () => {
  await browser.key("ArrowDown", true);
  await until(() => lastRate(mock) === -2.98, "the robot to go back");
  await browser.value("window.dispatchEvent(new Event('blur'))");
  await until(() => lastRate(mock) === 0, "the stop");
  await browser.key("ArrowDown", false);
});

test("a gamepad drives", { skip }, async () => {
  await browser.value(`(() => {
    window.pad = { id: "Test pad", connected: true, axes: [0, -1, 0, 0], buttons: [] };
    navigator.getGamepads = () => [window.pad];
  })()`);
  await until(() => lastRate(mock) === 2.98, "full speed");
  await browser.until(`${text("pad")} === "Test pad"`);
  await browser.value("(window.pad.axes = [0, 0.05, 0, 0], 0)");
  await until(() => lastRate(mock) === 0, "the stop within the dead zone");
  await browser.value("(window.pad.axes = [0, -1, 0, 0], 0)");
  await until(() => lastRate(mock) > 1, "speed again");
  await browser.value("(window.pad.connected = false, 0)");
  await until(() => lastRate(mock) === 0, "the stop without the pad");
});

test("fields are plotted", { skip }, async () => {
  await tab("Bodies");
  await browser.value(`document.querySelector(".panel section:not([hidden]) .search").value = "wheel"`);
  await browser.value(`document.querySelector(".panel section:not([hidden]) .search").dispatchEvent(new Event("input"))`);
  for (const wheel of [1, 2, 3, 4]) {
    const row = `[data-key="body:WorkPartner/Wheel${wheel}"]`;
    await browser.click(`${row} summary`);
    await browser.click(`[data-signal="body:WorkPartner/Wheel${wheel}:force_y"]`);
    await browser.click(`${row} summary`);
  }
  await tab("Devices");
  await browser.click('[data-key="device:WorkPartner/WheelMotor1"] summary');
  await browser.click('[data-signal="device:WorkPartner/WheelMotor1:velocity_3"]');
  await browser.click('[data-key="device:WorkPartner/Position"] summary');
  await browser.click('[data-signal="device:WorkPartner/Position:x"]');
  await browser.click('[data-signal="device:WorkPartner/Position:z"]');
  assert.equal(await browser.value("document.querySelectorAll('#plots canvas').length"), 3);
  await browser.click("[data-overlay=axes]");
  await browser.key("ArrowUp", true);
  await pause(3);
  await picture("4-plots");
  await browser.key("ArrowUp", false);
});

test("pauses, steps, plays at a rate and resets", { skip }, async () => {
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PAUSED'");
  const paused = mock.clock.world.step;
  await browser.until(`viewer.frame?.step === ${paused}`);
  await browser.click("#step");
  await browser.until(`viewer.frame?.step === ${paused + 1}`);
  await browser.click("#many");
  await browser.until(`viewer.frame?.step === ${paused + 11}`);
  await browser.value(`(() => { const rate = document.getElementById("rate"); rate.value = "2"; rate.dispatchEvent(new Event("change")); })()`);
  await browser.click("#play");
  await browser.until("viewer.frame?.state === 'PLAYING' && viewer.frame?.rate === 2");
  await browser.click("#reset");
  await browser.until(`viewer.frame?.epoch === 1 && viewer.frame?.step < 5000`);
  assert.deepEqual(mock.clock.controls.slice(0, 3), ["PAUSE", "STEP 1", "STEP 10"]);
  assert.ok(mock.clock.controls.includes("PLAY 2") && mock.clock.controls.includes("RESET"));
  await tab("Events");
  await browser.until("/reset/.test(document.querySelector('#events li')?.textContent)");
});

test("cameras, wireframe and the dark theme", { skip }, async () => {
  await browser.click("[data-overlay=wireframe]");
  await browser.click("[data-overlay=frames]");
  await browser.click('[title="Light or dark"]');
  await pause(0.6);
  await picture("5-wireframe-dark");
  await browser.click("[data-overlay=wireframe]");
  await browser.click("[data-overlay=frames]");
  await browser.press("Digit3");
  assert.equal(await browser.value("viewer.stage.cameras.mode"), "chase");
  const camera = () => browser.value("viewer.stage.cameras.camera.position.toArray()");
  await pause(0.3);
  const before = await camera();
  await browser.key("ArrowUp", true);
  await until(async () => (await camera())[0] > before[0] + 0.5, "the camera to keep up");
  await picture("6-chase-dark");
  await browser.key("ArrowUp", false);
  await browser.press("Digit4");
  const flown = await camera();
  await browser.key("KeyW", true);
  await until(async () => Math.hypot(...(await camera()).map((value, index) => value - flown[index])) > 0.3, "the free camera to fly", 60);
  await browser.key("KeyW", false);
  await browser.press("Digit1");
  await browser.click('[title="Light or dark"]');
});

test("commands are among the events, gathered by device, and groups are switched off and on", { skip }, async () => {
  await tab("Events");
  await browser.until("document.querySelector('#events [data-group=commands]') !== null");
  const rows = "[...document.querySelectorAll('#events [data-group=commands] .event-subject')].map((row) => row.textContent)";
  const names = await browser.value(rows);
  assert.ok(names.includes("WheelMotor1") && names.length < 60, names.join(" "));
  await browser.click("[data-group=commands]");
  await browser.until("document.querySelector('#events [data-group=commands]') === null && document.querySelector('#events [data-group=events]') !== null");
  await picture("6-events-dark");
  await browser.click("[data-group=commands]");
  await browser.until("document.querySelector('#events [data-group=commands]') !== null");
});

test("a scan has a polar plot, which says what the pointer is on", { skip }, async () => {
  await tab("Devices");
  await browser.click('[data-key="device:WorkPartner/Scanner"] summary');
  await browser.until("/nearest|nothing within/.test(document.querySelector('.scan-note')?.textContent)");
  const drawn = "(() => { const canvas = document.querySelector('canvas.scan'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte !== 0); })()";
  await browser.until(drawn);
  const [x, y] = await browser.value("(() => { const box = document.querySelector('canvas.scan').getBoundingClientRect(); return [box.x + box.width / 2 + 1, box.y + 30]; })()");
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y, button: "none" });
  await browser.until("/^ray \\d+: .*(ahead|1° (left|right))/.test(document.querySelector('.scan-note').textContent)");
  await picture("6-scan-dark");
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: 10, y: 10, button: "none" });
  await browser.click('[data-key="device:WorkPartner/Scanner"] summary');
});

test("all is shown on demand, and what is followed too", { skip }, async () => {
  const seen = `(() => {
    const { stage } = viewer;
    const { camera } = stage.cameras;
    camera.updateMatrixWorld(true);
    return stage.bodies.nodes.filter((node) => { const at = node.position.clone().project(camera); return Math.abs(at.x) <= 1 && Math.abs(at.y) <= 1 && at.z < 1; }).length;
  })()`;
  const bodies = await browser.value("viewer.scene.bodies.length");
  await browser.press("KeyG");
  await browser.until(`${seen} < ${bodies}`);
  await browser.press("KeyF");
  await browser.until(`${seen} === ${bodies}`);
  // The terrain too: its corners are in the picture.
  const corners = "[[-16, -16], [-16, 16], [16, -16], [16, 16]].every(([x, z]) => { const { camera } = viewer.stage.cameras; const at = camera.position.clone().set(x, 0, z).project(camera); return Math.abs(at.x) <= 1 && Math.abs(at.y) <= 1; })";
  assert.ok(await browser.value(corners));
  await picture("6-all-dark");
  await browser.click("#show-followed");
  await browser.until(`${seen} < ${bodies}`);
});

test("a recorded run is opened, scrubbed and played", { skip }, async () => {
  await tab("Runs");
  await browser.until("document.querySelectorAll('.run').length === 2");
  await browser.click('.run[data-run="2"]');
  await browser.until(`${text("badge")} === "run 2"`);
  assert.equal(await browser.value(text("world")), "flat");
  await browser.value(`(() => { const slider = document.getElementById("scrub"); slider.value = "12340"; slider.dispatchEvent(new Event("input")); })()`);
  await browser.until("viewer.frame?.step === 12340");
  await browser.press("ArrowRight");
  await browser.until("viewer.frame?.step === 12350");
  await pause(0.5);
  await tab("Joints");
  await browser.click('[data-key="joint:WorkPartner/Turner"] summary');
  await browser.click('[data-signal="joint:WorkPartner/Turner:position_3"]');
  await tab("Devices");
  await browser.click('[data-key="device:WorkPartner/Position"] summary');
  await browser.click('[data-signal="device:WorkPartner/Position:x"]');
  await browser.click('[data-signal="device:WorkPartner/Position:z"]');
  assert.equal(await browser.value("viewer.runHistory.frames.length"), 500, "frames of the whole run, every 40 steps");
  await browser.press("KeyF");
  await tab("Runs");
  await picture("7-recorded");
  await browser.value(`(() => { const rate = document.getElementById("rate"); rate.value = "4"; rate.dispatchEvent(new Event("change")); })()`);
  const began = Date.now();
  await browser.click("#play");
  await browser.until("viewer.frame.step > 14000");
  const moved = (await shown()) - 12350;
  // A busy machine may be slower than the rate, never faster.
  assert.ok(moved <= 4 * (Date.now() - began) + 100, `it went on by ${moved} ms at rate 4 in ${Date.now() - began} ms`);
  await browser.until("viewer.frame?.step === 20000");
  assert.equal([...mock.pages][0].hz, 0);
  await tab("Events");
  await browser.until("document.querySelectorAll('#events li').length === 4");
  assert.deepEqual(await browser.value("[...document.querySelectorAll('#events .event-kind')].map((kind) => kind.textContent)"), ["command×17", "clockSlip", "command", "play"]);
  await browser.click("#events li:last-child .event-time");
  await browser.until("viewer.frame?.step === 10");
  await browser.click("#live");
  await browser.until(`${text("badge")} === "live" && ${text("world")} === "heightfield"`);
  const first = await shown();
  await browser.until(`viewer.frame?.step !== ${first}`);
});

const badge = (what) => browser.until(`${text("badge")} === "${what}"`);
/** Where bodies are drawn; null while none are. */
const drawn = () => browser.value("viewer.stage.bodies.group.visible ? viewer.stage.bodies.nodes.map((node) => node.position.toArray()) : null");

test("back to live, a clock that stands shows what there is", { skip }, async () => {
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PAUSED'");
  await browser.until(`viewer.frame?.step === ${mock.clock.world.step}`);
  const before = await drawn();
  await tab("Runs");
  await browser.click('.run[data-run="2"]');
  await badge("run 2");
  // It moves on meanwhile, and stands again.
  mock.clock.control("STEP 500");
  await browser.click("#live");
  await badge("live");
  await browser.until(`viewer.frame?.step === ${mock.clock.world.step}`);
  const after = await drawn();
  assert.equal(after.length, before.length);
  assert.ok(after.filter((place) => Math.hypot(...place) > 0.01).length > after.length / 2, "they are not all in the origin");
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PLAYING'");
});

test("a run that takes long to open does not come over what was chosen since", { skip }, async () => {
  await browser.value(`(() => {
    const { json } = viewer.link;
    const held = new Promise((done) => (window.late = done));
    viewer.link.json = async function (path) {
      const answer = await json.call(this, path);
      if (path.startsWith("runs/")) window.asked = await (window.asked = true, held);
      return answer;
    };
  })()`);
  await tab("Runs");
  await browser.click('.run[data-run="2"]');
  await browser.until("window.asked === true");
  await browser.value("viewer.backToLive()");
  await browser.value("(window.late(), 0)");
  await browser.until("window.asked === undefined");
  await pause(0.5);
  assert.equal(await browser.value(text("badge")), "live");
  const first = await shown();
  await browser.until(`viewer.frame?.step !== ${first}`);
});

test("keys are the page's again after a click on anything but a field for text", { skip }, async () => {
  await tab("Runs");
  await browser.click('.run[data-run="2"]');
  await badge("run 2");
  await browser.click("#scrub");
  const middle = await browser.until("viewer.player?.step > 8000 && viewer.frame?.step === viewer.player.step && viewer.frame.step");
  await browser.press("ArrowRight");
  await browser.until(`viewer.frame?.step === ${middle} + 10`);
  await browser.press("Space");
  await browser.until("document.getElementById('play').dataset.playing === 'true'");
  await browser.press("Space");
  await browser.until("document.getElementById('play').dataset.playing === 'false'");
  // With the slider in focus by Tab the keys are the same.
  await browser.value("document.getElementById('scrub').focus()");
  await browser.press("Space");
  await browser.until("document.getElementById('play').dataset.playing === 'true'");
  await browser.press("Space");
  await browser.click("#live");
  await badge("live");
  await tab("Drive");
  for (const selector of ["#pad-on", "#keys-on", "#keys-on", "[data-overlay=rays]", "[data-overlay=rays]"]) await browser.click(selector);
  assert.equal(await browser.value("document.activeElement === document.body"), true);
  await browser.key("ArrowUp", true);
  await until(() => lastRate(mock) > 1, "the robot to move");
  await browser.key("ArrowUp", false);
  await until(() => lastRate(mock) === 0, "the stop");
  // What is chosen in a list by pointer gives them back as well; in a field for text they stay until Escape.
  await browser.click("#followed");
  await browser.value("(() => { const list = document.getElementById('followed'); list.focus(); list.dispatchEvent(new Event('change', { bubbles: true })); })()");
  assert.equal(await browser.value("document.activeElement === document.body"), true);
  await browser.click("#steps");
  const before = mock.clock.controls.length;
  await browser.press("Space");
  await browser.press("KeyF");
  assert.equal(mock.clock.controls.length, before);
  await browser.press("Escape");
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PAUSED'");
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PLAYING'");
});

test("by Tab a button is pressed with space, and the page is not paused", { skip }, async () => {
  await browser.press("Tab");
  await browser.value("document.querySelector('[data-overlay=axes]').focus()");
  const pressed = "document.querySelector('[data-overlay=axes]').getAttribute('aria-pressed')";
  const was = await browser.value(pressed);
  await browser.press("Space");
  await browser.until(`${pressed} !== "${was}"`);
  assert.equal(await browser.value("document.activeElement.dataset.overlay"), "axes");
  assert.equal(await browser.value("viewer.frame.state"), "PLAYING");
  await browser.press("Space");
  await browser.press("Escape");
});

test("the server stops the wheels when it loses the page, which finds it again", { skip }, async () => {
  await browser.key("ArrowUp", true);
  await until(() => lastRate(mock) > 1, "the robot to move");
  await until(() => [...mock.pages][0].onClose.length === 4, "the guard");
  mock.drop();
  await until(() => lastRate(mock) === 0, "the stop");
  await browser.key("ArrowUp", false);
  await browser.until(`${text("badge")} === "no connection"`);
  await browser.until(`${text("badge")} === "live"`);
  const first = await shown();
  await browser.until(`viewer.frame?.step > ${first}`);
});

test("asks nobody but its server, and has nothing to complain of", { skip }, async () => {
  const others = browser.requests.filter((url) => !url.startsWith(mock.url) && !url.startsWith("data:") && !url.startsWith(mock.url.replace("http", "ws")));
  assert.deepEqual(others, []);
  assert.deepEqual(browser.complaints, []);
});

test("asks for the token where the server wants one", { skip }, async () => {
  const guarded = await start({ token: "open+sesame/1&2", world: "flat" });
  try {
    await browser.go(guarded.url);
    await browser.until("document.querySelector('.veil:not([hidden])') !== null");
    await browser.click("#token");
    await browser.type("wrong ✓");
    await browser.press("Enter");
    await browser.until("document.querySelector('.token-form .reply').textContent !== ''");
    await picture("8-token");
    await browser.click("#token");
    await browser.value("document.getElementById('token').select()");
    await browser.type("open+sesame/1&2");
    await browser.press("Enter");
    await browser.until(`${text("badge")} === "live" && viewer.frame !== null`);
    await browser.value("sessionStorage.clear()");
    await browser.go("about:blank");
    await browser.go(`${guarded.url}#token=${encodeURIComponent("open+sesame/1&2")}`);
    await browser.until(`${text("badge")} === "live"`);
    assert.equal(await browser.value("location.hash"), "");
  } finally {
    await browser.go("about:blank");
    await guarded.close();
  }
});
