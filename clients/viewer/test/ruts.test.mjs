// Ruts: messages and surfaces without a browser, then in one, on the sand of the mock server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, pause, until } from "./browser.mjs";
import { load } from "./load.mjs";
import { start } from "./mock.mjs";
import { Ruts } from "./mock/ruts.mjs";
import { noBrowser as skip } from "./needs.mjs";

const { RutMap, RutMessage, cornerDepths } = await load("ruts");
const { Ground } = await load("scene/ground");
const { Ruts: Drawn } = await load("scene/ruts");

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
  const ruts = pressed(cells);
  for (let news = ruts.message(1, 0); news; news = ruts.message(1, news.revision)) map.take(new RutMessage(news.bytes));
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

/** Random numbers that are the same in each run. */
function stream(seed) {
  let state = seed;
  return (low, high) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return low + ((high - low) * state) / 2 ** 32;
  };
}
const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const unit = (vector) => vector.map((part) => part / Math.sqrt(dot(vector, vector)));
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** The corners of all tiles that are drawn, in the world: place, normal, depth. */
function corners(ground, map) {
  const drawn = new Drawn(ground.soils, map);
  ground.group.updateMatrixWorld(true);
  const found = drawn.parts.flatMap(({ mesh, count }) => {
    const [position, normal, depth] = ["position", "normal", "rutDepth"].map((name) => mesh.geometry.getAttribute(name));
    const point = ground.group.position.clone();
    return Array.from({ length: count * 33 * 33 }, (_, index) => ({
      place: point.fromBufferAttribute(position, index).applyMatrix4(mesh.matrixWorld).toArray(),
      normal: point.fromBufferAttribute(normal, index).transformDirection(mesh.matrixWorld).toArray(),
      depth: depth.getX(index) - 1,
    }));
  });
  return { drawn, found };
}

test("ruts of planes of any slope lie below them by their depths, where their cells are", () => {
  const random = stream(7);
  for (let round = 0; round < 40; round += 1) {
    const normal = unit([random(-1, 1), random(round % 4 === 0 ? -1 : 0.6, 2), random(-1, 1)]);
    const first = normal[1] > 0.5 ? [1, 0, 0] : unit(cross(normal, [0, 0, 1]));
    const axes = [first, normal[1] > 0.5 ? [0, 0, 1] : cross(first, normal)];
    const distance = random(-20, 20);
    const ground = new Ground([{ kind: "plane", normal, distance, friction: 1, ruts: { cell: 0.01, tile: 32, axes } }]);
    const cells = Array.from({ length: 300 }, () => [random(-0.9, 0.9), random(-0.9, 0.9), random(0.001, 0.05)]);
    const { found } = corners(ground, mapOf(cells));
    assert.ok(found.length >= 33 * 33);
    for (const { place, depth } of found) {
      assert.ok(Math.abs(dot(normal, place) - distance + depth) < 1e-5 * (1 + Math.abs(distance)), `${normal} ${place} ${depth}`);
      // Back on the plane, a corner is a whole number of cells from the origin along both axes.
      const above = place.map((part, axis) => part + normal[axis] * depth);
      for (const axis of axes) assert.ok(Math.abs(dot(axis, above) * 100 - Math.round(dot(axis, above) * 100)) < 5e-3, `${dot(axis, above)}`);
    }
  }
});

test("ruts of terrain that is turned and moved begin at its surface, and none is drawn over its edge or a hole", () => {
  const random = stream(3);
  for (let round = 0; round < 30; round += 1) {
    const [along, across] = [4, 6];
    const heights = Array.from({ length: along * across }, () => random(-0.3, 0.3));
    const turn = random(-3, 3);
    const position = [random(-9, 9), random(-9, 9), random(-9, 9)];
    const field = { kind: "heightfield", points_x: along, points_z: across, width: 3, depth: 5, friction: 1, heights, ruts: { cell: 0.01, tile: 32, axes: [[1, 0, 0], [0, 0, 1]] }, pose: { position, rotation: [0, Math.sin(turn / 2), 0, Math.cos(turn / 2)] } };
    const local = (x, z) => [Math.cos(turn) * (x - position[0]) - Math.sin(turn) * (z - position[2]), Math.sin(turn) * (x - position[0]) + Math.cos(turn) * (z - position[2])];
    const height = (x, z) => {
      const [lx, lz] = local(x, z);
      const [a, b] = [(lx / 3 + 0.5) * (along - 1), (lz / 5 + 0.5) * (across - 1)];
      const [i, j] = [Math.min(Math.floor(a), along - 2), Math.min(Math.floor(b), across - 2)];
      const [u, v] = [a - i, b - j];
      const at = (p, q) => heights[(i + p) * across + j + q];
      return position[1] + (u + v <= 1 ? at(0, 0) + u * (at(1, 0) - at(0, 0)) + v * (at(0, 1) - at(0, 0)) : at(1, 1) + (1 - u) * (at(0, 1) - at(1, 1)) + (1 - v) * (at(1, 0) - at(1, 1)));
    };
    const cells = Array.from({ length: 40 }, () => [position[0] + random(-0.9, 0.9), position[2] + random(-0.9, 0.9), random(0.001, 0.05)]);
    // One far outside.
    cells.push([position[0] + 40, position[2], 0.02]);
    const map = mapOf(cells);
    const { drawn, found } = corners(new Ground([field]), map);
    assert.equal(drawn.count, map.tiles.size - 1);
    for (const { place: [x, y, z], normal, depth } of found) {
      if (depth < 1e-6) assert.ok(Math.abs(y - height(x, z)) < 1e-4, `${x} ${z}: ${y} ${height(x, z)}`);
      else assert.ok(y < height(x, z) + 0.02 && y > height(x, z) - 0.12);
      assert.ok(normal[1] > 0 && Math.abs(dot(normal, normal) - 1) < 1e-5);
    }
    const holed = corners(new Ground([{ ...field, heights: heights.map((value, index) => (index === 8 ? null : value)) }]), map);
    assert.ok(holed.drawn.count <= drawn.count);
  }
});

test("ruts of triangles begin at the highest of them, whichever way they are wound, and none is drawn where there is none", () => {
  const random = stream(11);
  for (let round = 0; round < 30; round += 1) {
    // A plane in random triangles over 4 x 4 m, another one a metre below it, and something upright.
    const [a, b, d] = [random(-0.6, 0.6), random(-0.6, 0.6), random(-5, 5)];
    const side = 3 + (round % 4);
    const at = (i) => -2 + (4 * i) / side;
    const vertices = [];
    const triangles = [];
    for (const below of [0, 1]) {
      const first = vertices.length;
      for (let i = 0; i <= side; i += 1) {
        for (let j = 0; j <= side; j += 1) {
          const inside = (k) => (k > 0 && k < side ? random(-0.3, 0.3) : 0);
          const [x, z] = [at(i) + inside(i), at(j) + inside(j)];
          vertices.push([x, d + a * x + b * z - below, z]);
        }
      }
      for (let i = 0; i < side; i += 1) {
        for (let j = 0; j < side; j += 1) {
          const corner = first + i * (side + 1) + j;
          const two = [[corner, corner + 1, corner + side + 1], [corner + 1, corner + side + 2, corner + side + 1]];
          triangles.push(...two.map((one) => (random(0, 1) < 0.5 ? one : [...one].reverse())));
        }
      }
    }
    vertices.push([0.3, d + 9, 0.3], [0.3, d - 9, 0.3], [0.3, d + 9, 0.31]);
    triangles.push([vertices.length - 3, vertices.length - 2, vertices.length - 1]);
    const mesh = { kind: "mesh", friction: 1, vertices, triangles, ruts: { cell: 0.01, tile: 32, axes: [[1, 0, 0], [0, 0, 1]] } };
    const cells = Array.from({ length: 40 }, () => [random(-1.6, 1.6), random(-1.6, 1.6), random(0.001, 0.05)]);
    const map = mapOf([...cells, [40, 0, 0.02], [2.1, 0.5, 0.02]]);
    const { drawn, found } = corners(new Ground([mesh]), map);
    assert.equal(drawn.count, map.tiles.size - 2);
    const up = unit([-a, 1, -b]);
    for (const { place: [x, y, z], normal, depth } of found) {
      assert.ok(Math.abs(up[1] * (y - d - a * x - b * z) + depth) < 1e-4, `${x} ${y} ${z} ${depth}`);
      assert.ok(normal[1] > 0 && (depth > 1e-6 || dot(normal, up) > 0.1));
    }
  }
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
