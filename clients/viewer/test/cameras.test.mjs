// The panels of cameras in a headless Chromium against the mock server, and what cameras see in the scene.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, pause, until, untilConstant } from "./browser.mjs";
import { start } from "./mock.mjs";
import { noBrowser as skip } from "./needs.mjs";

const text = (id) => `document.getElementById("${id}").textContent`;
const wheels = (mock) => mock.commands.filter(({ device }) => device.includes("WheelMotor"));

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

const tab = (name) => browser.click(`[data-tab=${name}]`);
async function picture(name) {
  await browser.value("viewer.stage.setResolution(1)");
  await pause(0.8);
  await browser.shot(name);
}

const panel = (name) => `[data-key="device:WorkPartner/${name}"] .camera-panel`;
const says = (name, part) => `document.querySelector('${panel(name)} ${part}')?.textContent`;
/** True if anything but one colour is drawn. */
const isDrawn = (name) => `(() => {
  const canvas = document.querySelector('${panel(name)} .camera-image');
  return canvas?.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte, index, data) => byte !== data[index % 4]);
})()`;
const imagesAsked = () => mock.cameras.asked.length;
const images = (name) => `Number(document.querySelector('${panel(name)} .camera-image').dataset.images ?? 0)`;

test("a camera has a panel with its newest images, which stop while nobody looks", { skip }, async () => {
  await tab("Devices");
  await browser.click('[data-key="device:WorkPartner/Eye"] summary');
  await browser.until(isDrawn("Eye"));
  await browser.until(`/^320 × 240 rgb8 · step \\d+( to \\d+)? · camera 30.3 Hz · [\\d.]+ images\\/s shown$/.test(${says("Eye", ".camera-note")})`);
  assert.match(await browser.value(says("Eye", ".camera-facts")), /Field of view.*° × .*Lens.*brownConrady, k1 -0.1, k2 0.02/);
  assert.match(await browser.value(`document.querySelector('${panel("Eye")} .camera-image').getAttribute("aria-label")`), /^Colours of WorkPartner\/Eye, step \d+( to \d+)?$/);
  const asked = imagesAsked();
  const seen = await browser.value(images("Eye"));
  await browser.until(`${images("Eye")} > ${seen} + 3`);
  // Not more images than the camera takes, and no address beside its own.
  assert.ok(mock.cameras.asked.every((one) => one === "cameras/WorkPartner/Eye.png 0"));
  await picture("12-camera");
  await tab("Bodies");
  await untilConstant(imagesAsked, "the requests of a hidden panel");
  const hidden = imagesAsked();
  assert.ok(hidden > asked);
  await tab("Devices");
  await until(() => imagesAsked() > hidden, "images again");
  await browser.click('[data-key="device:WorkPartner/Eye"] summary');
  await untilConstant(imagesAsked, "the requests of a closed panel");
});

test("a camera that stands still is asked once, and says what is wrong", { skip }, async () => {
  await browser.click('[data-key="device:WorkPartner/Eye"] summary');
  await browser.press("Space");
  await browser.until("viewer.frame?.state === 'PAUSED'");
  await untilConstant(imagesAsked, "the requests while the clock is paused");
  mock.cameras.problem = "no image of this camera has arrived yet";
  await browser.press("Space");
  await browser.until(`${says("Eye", ".camera-problem")} === "no image of this camera has arrived yet"`);
  assert.equal(await browser.value(`document.querySelector('${panel("Eye")} .camera-problem').getAttribute("role")`), "status");
  mock.cameras.problem = "";
  await browser.until(`document.querySelector('${panel("Eye")} .camera-problem').hidden`);
  // What the browser itself says of the answers 503.
  browser.complaints = browser.complaints.filter((one) => !/503 \(Service Unavailable\).*Eye\.png/.test(one));
  await browser.click('[data-key="device:WorkPartner/Eye"] summary');
});

test("depths of an RgbdCamera are a picture with a scale, and read by pointer and by keys", { skip }, async () => {
  await browser.click('[data-key="device:WorkPartner/Kinect"] summary');
  await browser.until(isDrawn("Kinect"));
  const choice = (word) => `${panel("Kinect")} .camera-choice [aria-label="Show ${word}"]`;
  assert.equal(await browser.value(`document.querySelector('${choice("colours")}').getAttribute("aria-pressed")`), "true");
  await browser.value(`document.querySelector('${choice("depths")}').focus()`);
  await browser.press("Space");
  await browser.until(`/^160 × 120 32FC1/.test(${says("Kinect", ".camera-note")})`);
  assert.equal(await browser.value("viewer.frame.state"), "PLAYING", "the key is the button's");
  assert.ok(mock.cameras.asked.includes("cameras/WorkPartner/Kinect.png 1"));
  // Rows 60 to 116 are the floor: 120 / (2 row - 119) / 2 m.
  assert.equal(await browser.value(says("Kinect", ".camera-legend")), "0.531 m5.64 m60 m");
  await browser.value(`document.querySelector('${panel("Kinect")} .camera-image').focus()`);
  const steered = wheels(mock).length;
  await browser.press("ArrowDown");
  const place = says("Kinect", ".camera-place");
  await browser.until(`${place} === "column 80, row 61: 20 m"`);
  await browser.press("ArrowUp");
  await browser.press("ArrowUp");
  await browser.until(`${place} === "column 80, row 59: beyond its range"`);
  assert.equal(wheels(mock).length, steered, "the arrow keys are not the robot's");
  await browser.press("Escape");
  const box = await browser.value(`(() => { const box = document.querySelector('${panel("Kinect")} .camera-image').getBoundingClientRect(); return [box.x + box.width / 4, box.bottom - 1]; })()`);
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: box[0], y: box[1], button: "none" });
  await browser.until(`${place} === "column 40, row 119: nearer than it sees"`);
  await picture("12-depth");
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: 10, y: 10, button: "none" });
  await browser.click('[data-key="device:WorkPartner/Kinect"] summary');
});

test("cameras have their pyramids in the scene, which can be switched off", { skip }, async () => {
  const lines = "viewer.stage.overlays.frusta.lines";
  // The bent edge of one camera has 32 places, the other one 4; corners 4 each, axes 3 each.
  assert.equal(await browser.value(`${lines}.geometry.drawRange.count / 2`), 2 * 32 + 4 + 3 + 2 * 4 + 4 + 3);
  // The optical axis is ahead of the torso, 0.2 m above its middle.
  const axis = await browser.value(`(() => {
    const place = ${lines}.geometry.getAttribute("position");
    const [from, to] = [2 * (2 * 32 + 4 + 2), 2 * (2 * 32 + 4 + 2) + 1].map((index) => [place.getX(index), place.getY(index), place.getZ(index)]);
    const body = viewer.scene.bodies.findIndex((body) => body.name.endsWith("Torso"));
    const node = viewer.stage.bodies.nodes[body];
    const into = node.quaternion.clone().invert();
    const point = node.position.clone();
    const local = (values) => point.clone().set(...values).sub(node.position).applyQuaternion(into).toArray();
    return [local(from), local(to)];
  })()`);
  assert.ok(Math.hypot(axis[0][0] - 0.15, axis[0][1] - 0.2, axis[0][2]) < 1e-4, String(axis));
  assert.ok(axis[1][0] - axis[0][0] > 0.05 && Math.abs(axis[1][1] - axis[0][1]) < 1e-4 && Math.abs(axis[1][2] - axis[0][2]) < 1e-4, String(axis));
  await browser.click("[data-overlay=cameras]");
  assert.equal(await browser.value(`${lines}.visible`), false);
  await browser.click("[data-overlay=cameras]");
  assert.equal(await browser.value(`${lines}.visible`), true);
});

test("on a phone a camera's panel is as wide as the page", { skip }, async () => {
  const size = (width, height) => browser.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  await size(390, 844);
  try {
    await browser.click('[data-key="device:WorkPartner/Eye"] summary');
    await browser.until(isDrawn("Eye"));
    await browser.value(`document.querySelector('${panel("Eye")}').scrollIntoView({ block: "start" })`);
    await picture("12-camera-phone");
    const box = await browser.value(`(() => { const { left, right } = document.querySelector('${panel("Eye")}').getBoundingClientRect(); return [left, right, document.documentElement.scrollWidth]; })()`);
    assert.ok(box[0] >= 0 && box[1] <= 390 && box[2] <= 390, String(box));
    await browser.click('[data-key="device:WorkPartner/Eye"] summary');
  } finally {
    await size(1480, 900);
  }
});

test("a recorded run says that it has no images, and nothing is complained of", { skip }, async () => {
  await tab("Runs");
  await browser.click('.run[data-run="2"]');
  await browser.until(`${text("badge")} === "run 2"`);
  await tab("Devices");
  await browser.click('[data-key="device:WorkPartner/Eye"] summary');
  await browser.until(`/^A recorded run has no images here/.test(${says("Eye", ".camera-problem")})`);
  await untilConstant(imagesAsked, "the requests beside a recorded run");
  await browser.click("#live");
  await browser.until(`${text("badge")} === "live"`);
  assert.ok(browser.requests.every((url) => url.startsWith(mock.url) || url.startsWith("data:") || url.startsWith(mock.url.replace("http", "ws"))));
  assert.deepEqual(browser.complaints, []);
});
