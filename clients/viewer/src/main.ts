// The page: puts the parts together and passes on what comes from the server and from the person.

import "uplot/dist/uPlot.min.css";
import "./viewer.css";
import { Driver } from "./drive/driver";
import { Edits } from "./edits";
import type { Frame } from "./frame";
import { History } from "./history";
import { Link, type LinkState } from "./link";
import { EventLog } from "./eventlog";
import { Player } from "./player";
import { deviceStarts, fullName, type Run, type Scene } from "./protocol";
import { RutMap, type RutMessage } from "./ruts";
import { CAMERA_MODES } from "./scene/cameras";
import { SceneView } from "./scene/view";
import { DARK, LIGHT } from "./scene/theme";
import { bodySources, deviceSources, jointSources, type Series, type Source } from "./series";
import { CameraPanel } from "./ui/camera";
import { commandLine } from "./ui/command";
import { releaseKeys, make, recall, remember, takesKey, write } from "./ui/dom";
import { DrivePage } from "./ui/drive";
import { bodyForm, WorldForm } from "./ui/edit";
import { Events } from "./ui/events";
import { Header, type Transport } from "./ui/header";
import { Panel } from "./ui/panel";
import { Plots } from "./ui/plots";
import { DataTable, type Extra } from "./ui/datatable";
import { Runs } from "./ui/runs";
import { ScanPlot } from "./ui/scan";
import { Timeline } from "./ui/timeline";
import { TokenForm } from "./ui/token";
import { Toolbar } from "./ui/toolbar";

/** Milliseconds between two fillings of the tables. */
const TABLES_MS = 120;
/** Milliseconds between two looks at keys and gamepad. */
const STEER_MS = 20;
const NOTICE_MS = 6000;
/** Pictures a second, and messages of ruts. */
const FRAMES_HZ = 60;
const RUTS_HZ = 5;
/** Longest simulated leap of a playing run between two pictures, wall seconds. */
const MAX_TIME_JUMP = 0.25;

class Viewer implements Transport {
  private readonly view = make("div", { className: "view", id: "view" });
  private readonly stage = new SceneView(this.view);
  private readonly link: Link;
  private readonly driver: Driver;
  private readonly edits: Edits;
  private readonly header = new Header(this);
  private readonly toolbar = new Toolbar(this.stage, () => this.switchTheme());
  private readonly liveHistory = new History();
  private readonly runHistory = new History();
  private readonly plots = new Plots(this.liveHistory);
  private readonly events = new Events((step) => this.player?.seek(step));
  private readonly timeline = new Timeline(() => this.backToLive());
  private readonly notice = make("div", { className: "notice", hidden: true });
  private readonly forceNote = make("div", { className: "force-note", id: "force-note" });
  private readonly rutNote = make("div", { className: "rut-note", id: "rut-note" });
  private readonly token: TokenForm;
  private readonly devices: DataTable;
  private readonly bodies: DataTable;
  private readonly joints: DataTable;
  private readonly drive: DrivePage;
  private readonly runs: Runs;
  private readonly panel: Panel;
  private liveScene: Scene | null = null;
  private scene: Scene | null = null;
  private frame: Frame | null = null;
  private liveLog = new EventLog();
  private liveFrame: Frame | null = null;
  private liveRuts = new RutMap();
  private player: Player | null = null;
  /** Counts what is to be shown, so that a run that has taken long to open does not come over what was chosen since. */
  private choice = 0;
  private state: LinkState = "connecting";
  private tablesAt = 0;
  private before = 0;
  private steered = 0;
  private noticeTimer = 0;

  constructor() {
    this.link = new Link({
      scene: (scene) => this.onScene(scene),
      frame: (frame) => this.tookFrame(frame),
      ruts: (message) => this.tookRuts(message),
      event: (event) => this.liveLog.add(event),
      commands: (commands) => commands.forEach((command) => this.liveLog.addCommands(command)),
      state: (state, text) => this.setState(state, text),
    });
    this.driver = new Driver(this.link);
    const ask = (text: string) => this.link.control(text);
    this.edits = new Edits({ scene: () => this.liveScene, frame: () => this.liveFrame, control: ask, say: (text) => this.say(text) });
    this.stage.pulling.onPull = (pull) => this.edits.setPull(this.player ? null : pull);
    this.drive = new DrivePage(this.driver);
    this.token = new TokenForm((token) => this.link.useToken(token));
    const plot = this.plots.add.bind(this.plots);
    this.devices = new DataTable("a device", { plot, brief: (source) => this.briefDevice(source), extra: (_, index) => this.deviceExtra(index) });
    this.bodies = new DataTable("a body", { plot, brief: (source) => source.signals.slice(0, 3), extra: (_, index) => this.bodyExtra(index), onToggle: (index, open) => (open ? this.stage.select(index) : this.stage.deselect(index)) });
    this.joints = new DataTable("a joint", { plot, brief: (source) => source.signals.slice(0, 1) });
    this.bodies.element.prepend(new WorldForm(this.edits, ask).element);
    this.runs = new Runs(() => this.link.runs(), (run) => void this.openRun(run));
    this.panel = new Panel({
      Devices: this.devices.element,
      Bodies: this.bodies.element,
      Joints: this.joints.element,
      Drive: this.drive.element,
      Events: this.events.element,
      Runs: this.runs.element,
    });
    this.panel.onOpen = (name) => {
      if (name === "Runs") void this.runs.refresh();
      this.events.update();
    };
    this.view.append(this.toolbar.element, this.notice, this.forceNote, this.rutNote);
    const main = make("main", {}, this.view, this.plots.element, this.timeline.element);
    document.body.append(this.header.element, main, this.panel.element, this.token.element);
    this.stage.onPick = (body) => this.picked(body);
    this.toolbar.followed.onchange = () => this.stage.follow(Number(this.toolbar.followed.value));
    this.setTheme(recall<string>("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.listen();
    void this.link.connect();
    requestAnimationFrame((now) => this.tick(now));
    window.setInterval(() => this.steer(), STEER_MS);
  }

  play(rate: number): void {
    if (this.player) this.player.play(rate);
    else this.control(rate === this.frame?.rate ? "PLAY" : `PLAY ${rate}`);
  }

  pause(): void {
    if (this.player) this.player.playing = false;
    else this.control("PAUSE");
  }

  step(count: number): void {
    if (this.player) this.player.advance(count);
    else this.control(`STEP ${count}`);
  }

  reset(): void {
    if (this.player) this.player.seek(this.player.run.first);
    else this.control("RESET");
  }

  private control(text: string): void {
    void this.link.control(text).then((reply) => reply.startsWith("ERR") && this.say(`${text}: ${reply}`));
  }

  private onScene(scene: Scene): void {
    const same = this.liveScene?.id === scene.id;
    this.liveScene = scene;
    this.token.hide();
    this.liveLog = new EventLog();
    if (!this.player) this.events.setLog(this.liveLog, scene, false);
    if (same) return;
    this.liveHistory.set([]);
    this.liveFrame = null;
    this.liveRuts = new RutMap();
    this.driver.mapping = null;
    if (!this.player) this.showScene(scene);
  }

  private tookFrame(frame: Frame): void {
    const { last } = this.liveHistory;
    this.liveHistory.push(frame);
    this.liveFrame = frame;
    if (last && last.epoch !== frame.epoch) {
      this.driver.forget();
      this.edits.forget();
    }
    if (this.player) return;
    if (!this.driver.mapping && this.liveScene) this.drive.setScene(this.liveScene, frame);
    this.showFrame(frame);
    this.header.setPlaying(frame.state === "PLAYING");
    this.header.setRate(frame.rate);
  }

  private tookRuts(message: RutMessage): void {
    this.liveRuts.take(message);
    if (!this.player) this.stage.takeRuts(message);
  }

  /** Tells the server how much this page wants to be sent: nothing that it does not show. */
  private watch(): void {
    const shows = !document.hidden && !this.player;
    this.link.watch(shows ? FRAMES_HZ : 0);
    if (this.liveScene && hasSoil(this.liveScene)) this.link.watchRuts(shows ? RUTS_HZ : 0);
  }

  private setState(state: LinkState, text: string): void {
    this.state = state;
    if (state === "token") this.token.show(text);
    if (state === "lost") this.driver.lost();
    if (state === "live") this.watch();
    this.showBadge(text);
  }

  private showBadge(text = ""): void {
    if (this.player) this.header.setBadge(`run ${this.player.run.id}`, "recorded");
    else if (this.state === "live") this.header.setBadge("live", "live");
    else this.header.setBadge(this.state === "lost" ? "no connection" : this.state === "token" ? "token wanted" : "connecting", this.state === "lost" ? "lost" : "waiting");
    if (text && this.state === "lost" && !this.player) this.say(text);
    else if (this.state === "live") this.notice.hidden = true;
  }

  private showScene(scene: Scene): void {
    this.scene = scene;
    this.frame = null;
    this.header.setTitle(scene.name);
    this.stage.setScene(scene, this.player ? new RutMap() : this.liveRuts);
    const run = this.player?.run.id;
    write(this.rutNote, run !== undefined && hasSoil(scene) ? `The log has no ruts: simpartner replay ${run} --ruts FILE makes them again` : "");
    const sources = [deviceSources(scene), bodySources(scene), jointSources(scene)];
    this.devices.setSources(sources[0]);
    this.bodies.setSources(sources[1]);
    this.joints.setSources(sources[2]);
    this.plots.setHistory(this.player ? this.runHistory : this.liveHistory);
    this.plots.setScene(scene.name, sources.flat().flatMap((source) => source.signals));
    const followed = firstBody(scene);
    this.toolbar.followed.replaceChildren(
      ...scene.bodies.flatMap((body, id) => (body.fixed ? [] : [make("option", { value: String(id), textContent: body.name, selected: id === followed })])),
    );
    this.stage.follow(followed);
  }

  private showFrame(frame: Frame): void {
    this.frame = frame;
    this.stage.setFrame(frame);
    this.header.update(frame);
  }

  private async openRun(run: Run): Promise<void> {
    this.runs.say(`reading run ${run.id} …`);
    this.driver.stop();
    const choice = ++this.choice;
    try {
      const player = await Player.open(this.link, run);
      if (choice !== this.choice) return;
      this.player = player;
      this.watch();
      this.runHistory.set(player.overview);
      this.showScene(player.scene);
      this.events.setLog(player.log, player.scene, true);
      this.header.setPlaying(false);
      this.runs.say(`run ${run.id} is shown`);
    } catch (error) {
      if (choice === this.choice) this.runs.say(error instanceof Error ? error.message : String(error));
      return;
    }
    this.timeline.setPlayer(this.player);
    this.runs.mark(run.id);
    this.showBadge();
    this.view.dataset.source = "recorded";
  }

  private backToLive(): void {
    this.choice += 1;
    this.player = null;
    this.timeline.setPlayer(null);
    this.runs.mark(null);
    this.view.dataset.source = "live";
    this.liveHistory.set([]);
    if (this.liveScene) {
      this.showScene(this.liveScene);
      this.events.setLog(this.liveLog, this.liveScene, false);
      // What was last seen, until the server has sent what is now: a clock that stands may have moved on meanwhile.
      if (this.liveFrame) this.tookFrame(this.liveFrame);
    }
    this.showBadge();
    this.watch();
  }

  /** Driving does not wait for pictures: a slow one must not delay a stop. */
  private steer(): void {
    const now = performance.now();
    const seconds = Math.min(MAX_TIME_JUMP, (now - this.steered) / 1000);
    this.steered = now;
    if (!this.player && this.scene && this.frame && this.state === "live") {
      this.driver.tick(seconds, this.scene, this.frame);
      this.edits.tick(now);
    }
  }

  private tick(now: number): void {
    requestAnimationFrame((next) => this.tick(next));
    const seconds = Math.min(MAX_TIME_JUMP, (now - this.before) / 1000);
    this.before = now;
    if (this.player) {
      const frame = this.player.tick(seconds);
      if (frame) this.showFrame(frame);
      this.header.setPlaying(this.player.playing);
      this.timeline.update();
    }
    this.plots.update(this.player ? this.frame : null);
    if (now - this.tablesAt < TABLES_MS || !this.frame) return;
    this.tablesAt = now;
    for (const rows of [this.devices, this.bodies, this.joints]) rows.update(this.frame);
    this.drive.update();
    this.events.update();
    write(this.forceNote, this.stage.forceNote());
  }

  /** Summary beside a device's name: a scanner's nearest distance, an actuator's targets, a sensor's first numbers. */
  private briefDevice({ key, kind, signals }: Source): Series[] {
    if (kind === "ScannerSensor") {
      return [{ ...signals[0], read: (frame) => signals.reduce((least, signal) => Math.min(least, signal.read(frame)), Infinity) }];
    }
    const device = this.scene?.devices.find((one) => `device:${fullName(one)}` === key);
    const axes = this.scene?.joints[device?.joint ?? -1]?.axes.map(({ axis }) => `_${axis}`) ?? [];
    const told = signals.filter(({ name }) => !/^max_force|^[pid]$/.test(name) && (axes.length === 0 || axes.some((end) => name.endsWith(end))));
    return told.slice(0, 3);
  }

  /** A camera's panel, a scanner's plot; a command line where there is something to be told. */
  private deviceExtra(index: number): Extra[] {
    const { scene } = this;
    const device = scene?.devices[index];
    if (!scene || !device) return [];
    if (device.rays && device.rays.directions.length > 1) {
      const plot = new ScanPlot(device.rays, fullName(device));
      const [start, count] = [deviceStarts(scene)[index], device.rays.directions.length];
      return [{ element: plot.element, update: (frame) => plot.update(frame.devices.subarray(start, start + count)) }];
    }
    if (device.camera) {
      const host = { image: (path: string) => this.link.image(path), frame: () => this.frame, live: () => this.player === null && this.state === "live" };
      const panel = new CameraPanel(device, device.camera, scene.timestep, deviceStarts(scene)[index], host);
      return [{ element: panel.element, update: () => panel.update() }];
    }
    if (this.player || (!device.actuator && device.fields.length > 0)) return [];
    const { signals } = deviceSources(scene)[index];
    const present = () => (this.frame ? signals.map((signal) => Number(signal.read(this.frame!).toPrecision(9))).join(",") : "");
    return [{ element: commandLine(device, present, (command) => this.link.set(command)) }];
  }

  /** A form that moves or removes a body of the running world. */
  private bodyExtra(index: number): Extra[] {
    return this.scene && !this.player ? [bodyForm(this.scene, index, this.edits)] : [];
  }

  private picked(body: number): void {
    if (body < 0) return this.stage.select(-1);
    this.panel.open("Bodies");
    this.bodies.open(body);
    this.stage.select(body);
  }

  private say(text: string): void {
    write(this.notice, text);
    this.notice.hidden = false;
    window.clearTimeout(this.noticeTimer);
    if (this.state === "live") this.noticeTimer = window.setTimeout(() => (this.notice.hidden = true), NOTICE_MS);
  }

  private switchTheme(): void {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    remember("theme", next);
    this.setTheme(next);
  }

  private setTheme(name: string): void {
    document.documentElement.dataset.theme = name;
    this.stage.setTheme(name === "dark" ? DARK : LIGHT);
    this.plots.restyle();
  }

  private listen(): void {
    window.addEventListener("keydown", (event) => {
      if (takesKey(event.target, event.code) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.key(event)) event.preventDefault();
    });
    window.addEventListener("keyup", (event) => {
      if (this.driver.key(event.code, false)) this.steer();
      this.stage.cameras.key(event.code, false);
    });
    releaseKeys();
    window.addEventListener("blur", () => this.stage.cameras.releaseKeys());
    document.addEventListener("visibilitychange", () => this.watch());
  }

  private key(event: KeyboardEvent): boolean {
    if (this.player && (event.code === "ArrowLeft" || event.code === "ArrowRight")) {
      this.player.advance(event.code === "ArrowLeft" ? -1 : 1);
      return true;
    }
    if (!this.player && this.driver.key(event.code, true)) return true;
    if (this.stage.cameras.key(event.code, true)) return true;
    if (event.repeat && event.code !== "Period") return false;
    const camera = CAMERA_MODES[Number(/^Digit([1-4])$/.exec(event.code)?.[1]) - 1];
    if (camera) this.toolbar.setCamera(camera);
    else if (event.code === "Space") this.header.toggle();
    else if (event.code === "Period") this.step(1);
    else if (event.code === "KeyF") this.stage.frameAll();
    else if (event.code === "KeyG") this.stage.frameFollowed();
    else return false;
    return true;
  }
}

const hasSoil = (scene: Scene): boolean => scene.grounds.some(({ ruts }) => ruts);

/** The body to follow at first: the heaviest of the first robot, or of all. */
function firstBody(scene: Scene): number {
  const robot = scene.devices[0]?.robot ?? scene.bodies.find((body) => body.robot !== null)?.robot ?? null;
  let best = -1;
  scene.bodies.forEach((body, id) => {
    const counts = !body.fixed && (robot === null || body.robot === robot);
    if (counts && (best < 0 || body.mass > scene.bodies[best].mass)) best = id;
  });
  return best;
}

try {
  // For whoever looks into the page with the browser's tools, and for its tests.
  Object.assign(window, { viewer: new Viewer() });
} catch (error) {
  document.body.replaceChildren(make("p", { className: "failure", textContent: `The viewer could not start: ${String(error)}. It needs a browser with WebGL 2.` }));
}
