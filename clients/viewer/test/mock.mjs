// A server that speaks PROTOCOL.md, for tests and for work on the page: `npm run mock -- --world heightfield --port 8080`.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { colorPng, floorDepths } from "./mock/png.mjs";
import { accept } from "./mock/socket.mjs";
import { record, TIMESTEP, World } from "./mock/world.mjs";

const DIST = new URL("../dist/", import.meta.url);
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAUSED = 0;
const PLAYING = 1;
const UNSEEN = 3;
const EVENTS = 200;

/** Starts a server; the answer has its address, what it was told, and a way to end it. */
export async function start({ port = 0, world: name = "heightfield", token = "", runSeconds = 20 } = {}) {
  const clock = new Clock(name);
  const run = record(name === "sand" ? name : "flat", runSeconds);
  const commands = [];
  /** Images that were asked for, and the reason why there is none. */
  const cameras = { asked: [], problem: "" };
  const pages = new Set();
  const allowed = (request) => token === "" || request.headers.authorization === `Bearer ${token}`;

  const server = createServer((request, response) => {
    void answer(request, allowed(request)).then(([status, type, body]) => {
      response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store" });
      response.end(body);
    });
  });

  async function answer(request, mayAsk) {
    const url = new URL(request.url, "http://page");
    const file = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
    if (/^(index\.html|viewer\.(js|css))$/.test(file)) return [200, TYPES[file.split(".").pop()], await readFile(new URL(file, DIST))];
    if (!mayAsk) return [401, "text/plain", "a token is wanted"];
    const json = (value) => [200, "application/json", JSON.stringify(value)];
    if (file === "scene.json") return json(clock.world.scene);
    if (file.startsWith("cameras/")) return image(file, url.searchParams.get("image") ?? "0");
    if (file === "runs.json") return json({ runs: runs(run) });
    if (file === "runs/2/scene.json") return json(run.scene);
    if (file === "runs/2/events.json") return json({ events: [{ step: 1, epoch: 0, kind: "play", subject: "", text: "the clock runs", value: null }, { step: 12000, epoch: 0, kind: "clockSlip", subject: "", text: "fell behind and was re-anchored", value: 0.061 }] });
    if (file === "runs/2/commands.json") return json({ commands: [{ step: 11, epoch: 0, device: "WorkPartner/WheelMotor1", client: 0, text: "1000,1000,100,0,0,3", count: 1 }, { step: 12000, epoch: 0, device: "WorkPartner/TurnerController", client: 4, text: "1000,1000,1000,0,0,-0.35,10,0,0", count: 17 }] });
    if (file === "runs/2/frames") return [200, "application/octet-stream", some(run, url.searchParams)];
    return [404, "text/plain", "there is no such thing here"];
  }

  function image(file, index) {
    cameras.asked.push(`${file} ${index}`);
    const device = clock.world.devices.find((one) => file === `cameras/${one.robot}/${one.name}.png`);
    if (!device) return [404, "text/plain", `there is no camera ${file}\n`];
    if (cameras.problem) return [503, "text/plain", `${cameras.problem}\n`];
    const { width, height, encodings } = device.camera;
    return [200, "image/png", encodings[index] === "32FC1" ? floorDepths(width, height) : colorPng(width, height, clock.world.step)];
  }

  server.on("upgrade", (request, socket) => {
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((word) => word.trim());
    const wanted = `token.${Buffer.from(token).toString("base64url")}`;
    const home = `http://${request.headers.host}`;
    if (request.headers.origin !== home || (token !== "" && !offered.includes(wanted))) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const page = { connection: accept(request, socket, "simpartner.1"), hz: 60, sent: 0, seen: 0, last: "", at: 0, onClose: [], rutsHz: 0, rutsAt: 0, ruts: 0 };
    pages.add(page);
    for (const event of clock.events) page.connection.text({ event });
    page.connection.onText = (text) => hear(page, JSON.parse(text));
    page.connection.onClose = () => {
      pages.delete(page);
      for (const command of page.onClose) set(command);
    };
  });

  function set({ device, text }) {
    const { step, epoch } = clock.world;
    commands.push({ device, text, step });
    pages.forEach((page) => page.connection.text({ commands: [{ step, epoch, device, client: 1, text, count: 1 }] }));
    return clock.world.command(device, text);
  }

  function hear(page, message) {
    if (message.seen !== undefined) page.seen = message.seen;
    else if (message.watch) Object.assign(page, { hz: message.watch.hz, last: "" });
    else if (message.ruts) page.rutsHz = message.ruts.hz;
    else if (message.on_close) page.onClose = message.on_close;
    else if (message.set) page.connection.text({ to: message.id, reply: set(message.set) });
    else if (message.control !== undefined) page.connection.text({ to: message.id, reply: clock.control(message.control) });
    else page.connection.text({ to: null, reply: "ERR 1 unknown message" });
  }

  clock.onEvent = (event) => pages.forEach((page) => page.connection.text({ event }));
  const timer = setInterval(() => {
    clock.run();
    const now = performance.now();
    for (const page of pages) {
      const rutsAreDue = page.rutsHz > 0 && clock.world.sandy && now - page.rutsAt >= 1000 / page.rutsHz && page.sent - page.seen < UNSEEN;
      const news = rutsAreDue ? clock.world.ruts.message(page.sent + 1, page.ruts) : null;
      if (news) {
        Object.assign(page, { rutsAt: now, ruts: news.revision, sent: page.sent + 1 });
        page.connection.binary(news.bytes);
      }
      const what = `${clock.world.epoch} ${clock.world.step} ${clock.state} ${clock.rate}`;
      if (page.hz === 0 || now - page.at < 1000 / page.hz - 1 || page.sent - page.seen >= UNSEEN || what === page.last) continue;
      Object.assign(page, { at: now, last: what, sent: page.sent + 1 });
      page.connection.binary(clock.frame(page.sent, pages.size));
    }
  }, 4);

  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () => {
    clearInterval(timer);
    pages.forEach((page) => page.connection.close());
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  const drop = () => pages.forEach((page) => page.connection.close());
  return { url: `http://127.0.0.1:${server.address().port}/`, clock, commands, cameras, pages, close, drop };
}

/** The clock's control port. */
class Clock {
  state = PLAYING;
  rate = 1;
  events = [];
  onEvent = () => undefined;
  controls = [];
  #from = performance.now();
  #before = performance.now();
  #owed = 0;

  constructor(name) {
    this.world = new World(name, String(Date.now()));
    this.#event("play", "the clock runs");
  }

  run() {
    const now = performance.now();
    if (this.state === PLAYING) {
      this.#owed += ((now - this.#before) / 1000 / TIMESTEP) * this.rate;
      const steps = Math.floor(this.#owed);
      this.#owed -= steps;
      this.world.advance(Math.min(steps, 2000));
    }
    this.#before = now;
  }

  frame(sequence, watchers) {
    const wall = (performance.now() - this.#from) / 1000;
    const factor = this.state === PLAYING ? this.rate * (0.998 + 0.002 * Math.random()) : 0;
    return this.world.frame({ wall, late: 3e-5 + 2e-5 * Math.random(), factor, rate: this.rate, sequence, state: this.state, watchers });
  }

  control(text) {
    this.controls.push(text);
    const [verb, number] = text.split(" ");
    if (verb === "PLAY") {
      if (number) this.rate = Number(number);
      if (this.state !== PLAYING) this.#event("play", "the clock runs");
      this.state = PLAYING;
    } else if (verb === "PAUSE") {
      if (this.state === PLAYING) this.#event("pause", "the clock stands");
      this.state = PAUSED;
    } else if (verb === "STEP") {
      if (this.state === PLAYING) return "ERR 7 pause the clock first";
      this.world.advance(Number(number ?? 1));
    } else if (verb === "RESET") {
      this.world.reset();
      this.#event("reset", "the world is as it was loaded");
    } else if (verb !== "STATE") {
      return `ERR 1 unknown verb '${verb}'`;
    }
    return `OK state=${this.state === PLAYING ? "PLAYING" : "PAUSED"} step=${this.world.step} rate=${this.rate}`;
  }

  #event(kind, text) {
    const event = { step: this.world.step, epoch: this.world.epoch, kind, subject: "", text, value: null };
    this.events = [...this.events, event].slice(-EVENTS);
    this.onEvent(event);
  }
}

function runs(run) {
  const last = run.frames[run.frames.length - 1].step;
  const shared = { timestep: TIMESTEP, every: run.every, real_time_factor: 1 };
  return [
    { id: 3, world: "heightfield", started: "2026-01-02T09:30:00Z", status: "running", first: 1, last: null, ...shared },
    { id: 2, world: "flat", started: "2026-01-01T12:00:00Z", status: "completed", first: run.frames[0].step, last, ...shared },
  ];
}

function some(run, parameters) {
  const number = (name) => Number(parameters.get(name));
  const stride = Math.max(1, Math.round(number("every") / run.every));
  const first = Math.round((number("from") - run.frames[0].step) / run.every);
  const chosen = [];
  for (let index = first; index < run.frames.length && chosen.length < Math.min(1000, number("count")); index += stride) {
    chosen.push(Buffer.from(run.frames[index].bytes));
  }
  return Buffer.concat(chosen);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "8080" }, world: { type: "string", default: "heightfield" }, token: { type: "string", default: "" } } });
  const mock = await start({ ...values, port: Number(values.port) });
  console.log(mock.url);
}
