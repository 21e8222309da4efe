// Ruts: messages and surfaces without a browser, then in one, on the sand of the mock server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, pause, until } from "./browser.mjs";
import { load } from "./load.mjs";
import { start } from "./mock.mjs";
import { Ruts } from "./mock/ruts.mjs";
import { noBrowser as skip } from "./needs.mjs";

const { RutMap, RutMessage, cornerDepths } = await load("ruts");

const pressed = (cells) => {
  const ruts = new Ruts();
  cells.forEach(([x, z, depth]) => ruts.press(x, z, depth));
  return ruts;
};

test("a page has all tiles after some messages, whenever it came, and none of a world that was reset", () => {
  const cells = Array.from({ length: 300 }, (_, index) => [(index * 0.37) % 5 - 2.5, (index * 0.73) % 4 - 2, 0.001 * (1 + (index % 20))]);
  const ruts = pressed(cells);
  const map = new RutMap();
  let page = 0;
  let messages = 0;
  const catchUp = () => {
    for (let news = ruts.message(messages + 1, page); news; news = ruts.message(messages + 1, page)) {
      assert.ok(RutMessage.is(news.bytes));
      const message = new RutMessage(news.bytes);
      assert.equal(message.sequence, ++messages);
      map.take(message);
      page = news.revision;
    }
  };
  catchUp();
  assert.ok(messages > 5 && map.tiles.size > 50);
  const same = () => assert.deepEqual([...map.tiles.values()].map(({ tile, depths }) => [tile.join(" "), [...depths]]).sort(), [...ruts.tiles].map(([key, { depths }]) => [key, [...depths]]).sort());
  same();
  ruts.press(0.005, 0.005, 0.5);
  catchUp();
  same();
  ruts.clear();
  ruts.press(9, 9, 0.1);
  catchUp();
  assert.equal(map.tiles.size, 1);
  same();
});

test("a frame is no message of ruts", () => {
  const frame = new ArrayBuffer(96);
  new DataView(frame).setUint32(0, 0x31565053, true);
  assert.equal(RutMessage.is(frame), false);
  assert.equal(RutMessage.is(new ArrayBuffer(4)), false);
});

/** A map of all tiles around the origin, with these depths. */
function mapOf(cells) {
  const map = new RutMap();
  const { bytes } = pressed(cells).message(1, 0);
  map.take(new RutMessage(bytes));
  return map;
}
const within = (map, tile, stride) => cornerDepths(map, map.at(0, ...tile), 32, stride);

test("corners of tiles that touch are the same from both sides, and at the old surface where no tile is known", () => {
  // A rut across the border of two tiles, and to the edge of the second, beyond which nothing is known.
  const cells = [];
  for (let i = -10; i < 32; i += 1) for (let j = 3; j < 9; j += 1) cells.push([i * 0.01 + 0.005, j * 0.01 + 0.005, 0.02]);
  const map = mapOf(cells);
  for (const stride of [1, 2, 4, 8]) {
    const across = 32 / stride + 1;
    const [left, right] = [within(map, [-1, 0], stride), within(map, [0, 0], stride)];
    for (let row = 0; row < across; row += 1) {
      assert.equal(left[row * across + across - 1], right[row * across]);
      assert.equal(right[row * across + across - 1], 0);
    }
    assert.equal(Math.max(...right), Math.fround(0.02));
    assert.ok(right[0] === 0 && left[0] === 0);
  }
  // In the middle of it as deep as it is, at its side half as deep.
  const fine = within(map, [0, 0], 1);
  assert.deepEqual([fine[6 * 33 + 4], fine[3 * 33 + 4], fine[2 * 33 + 4]], [Math.fround(0.02), Math.fround(0.01), 0].map(Math.fround));
});

test("wheels leave ruts in the page: lowered, dark, seen by late pages, gone with a reset, and not in the log", { skip }, async () => {
  const mock = await start({ world: "sand" });
  const browser = await Browser.open();
  try {
    await browser.go(mock.url);
    const live = `document.getElementById("badge").textContent === "live" && viewer.frame !== null`;
    await browser.until(live);
    const drive = (rate) => [1, 2, 3, 4].forEach((wheel) => mock.clock.world.command(`WorkPartner/WheelMotor${wheel}`, `1000,1000,100,0,0,${rate}`));
    drive(3);
    await until(() => mock.clock.world.pose.x > 3, "the robot to drive", 60);
    drive(0);
    await until(() => Math.abs(mock.clock.world.speed) < 1e-3, "the robot to stand");
    const known = () => mock.clock.world.ruts.tiles.size;
    await browser.until(`viewer.stage.ruts?.count === ${known()}`);
    // Where the surface lies at a point, by a ray from above.
    const height = (x, z) => browser.value(`(() => {
      const { stage } = viewer;
      stage.scene.updateMatrixWorld(true);
      let lowest = Infinity;
      for (const { mesh } of stage.ruts.parts) {
        const at = mesh.geometry.getAttribute("position");
        for (let corner = 0; corner < at.count; corner += 1) {
          if (Math.hypot(at.getX(corner) - ${x}, at.getZ(corner) - ${z}) < 0.006) lowest = Math.min(lowest, at.getY(corner));
        }
      }
      return lowest;
    })()`);
    const wheel = await browser.value(`viewer.stage.bodies.nodes[viewer.scene.bodies.findIndex((body) => body.name.endsWith("Wheel1"))].position.toArray()`);
    await browser.value(`viewer.stage.frameFollowed(); viewer.stage.setResolution(1)`);
    await pause(1);
    await browser.shot("9-ruts");
    const [inside, outside] = [await height(wheel[0] - 1, wheel[2]), await height(wheel[0] - 1, wheel[2] + 0.12)];
    assert.ok(Math.abs(inside + mock.clock.world.sinkage) < 1e-3 && Math.abs(outside) < 1e-6, `${wheel}: ${inside}, ${outside}`);
    // Late, with all of them.
    await browser.go(mock.url);
    await browser.until(live);
    await browser.until(`viewer.stage.ruts?.count === ${known()}`);
    await browser.click("[data-tab=Runs]");
    await browser.click('.run[data-run="2"]');
    await browser.until("document.getElementById('badge').textContent === 'run 2'");
    assert.match(await browser.value("document.getElementById('rut-note').textContent"), /replay 2 --ruts/);
    assert.equal(await browser.value("viewer.stage.ruts.count"), 0);
    assert.equal([...mock.pages][0].rutsHz, 0);
    await browser.click("#live");
    await browser.until(`viewer.stage.ruts?.count === ${known()}`);
    assert.equal(await browser.value("document.getElementById('rut-note').textContent"), "");
    const before = known();
    mock.clock.control("RESET");
    // The wheels stand on the sand at the start.
    await until(async () => known() > 0 && known() < before / 3 && (await browser.value("viewer.stage.ruts.count")) === known(), "the ruts to go");
    assert.deepEqual(browser.complaints, []);
  } finally {
    await browser.close();
    await mock.close();
  }
});

test("many ruts are drawn coarser, as deep", { skip }, async () => {
  const mock = await start({ world: "sand" });
  mock.clock.control("PAUSE");
  const { ruts } = mock.clock.world;
  for (let i = 0; i < 26; i += 1) for (let j = 0; j < 26; j += 1) ruts.press(i * 0.32 + 0.165, j * 0.32 + 0.165, 0.03);
  const browser = await Browser.open();
  try {
    await browser.go(mock.url);
    await browser.until(`viewer.stage.ruts?.count >= 676`, 120);
    assert.equal(await browser.value("viewer.stage.ruts.stride"), 2);
    const deepest = await browser.value(`viewer.stage.ruts.parts.reduce((least, { mesh }) => mesh.geometry.getAttribute("position").array.reduce((low, value, index) => (index % 3 === 1 ? Math.min(low, value) : low), least), 0)`);
    assert.ok(Math.abs(deepest + 0.03) < 1e-6, String(deepest));
    assert.deepEqual(browser.complaints, []);
  } finally {
    await browser.close();
    await mock.close();
  }
});
