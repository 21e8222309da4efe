// The page of a grasp: its picture, and beside it the chart of tilts with what is known of the direction that is chosen there.

import "../viewer.css";
import "./grasp.css";
import { DARK, LIGHT } from "../scene/theme";
import { iconButton, make, recall, remember, write } from "../ui/dom";
import { ChartPicture, type Place } from "./chart";
import { COLOURS, Picture } from "./picture";
import { PROTOCOL, shown, usedFriction, type GraspScene, type State } from "./scene";

const VERDICTS = { holds: "holds", impossible: "cannot hold", undecided: "on the edge" };
const degrees = (angle: number): string => `${Math.round((angle * 1800) / Math.PI) / 10}°`;
/** Stands where there is no number. */
const NOTHING = "–";
const list = (vector: number[]): string => `(${vector.map(shown).join(", ")})`;

class GraspPage {
  state: State;
  private readonly picture: Picture;
  private readonly verdict = make("span", { className: "badge", id: "verdict" });
  private readonly words = make("p", { className: "grasp-words", id: "words" });
  private readonly numbers = make("table", { className: "grasp-numbers", id: "forces" });
  private readonly scale = make("div", { className: "force-note", id: "scale" });
  private readonly where = make("p", { className: "hint", id: "where" });
  readonly chart: ChartPicture | null;

  constructor(readonly scene: GraspScene) {
    const view = make("div", { className: "view", id: "view" });
    const theme = iconButton("theme", "Light or dark", () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    const all = iconButton("frame", "Show all", () => this.picture.frame());
    const title = make("div", { className: "identity" }, make("strong", { textContent: "SimPartner" }), make("span", { className: "world", id: "name", textContent: scene.name }), this.verdict);
    const bar = make("header", { className: "bar" }, title, make("div", { className: "joined" }, all, theme), legend());
    this.chart = scene.chart && new ChartPicture(scene.chart, (place) => this.choose(place));
    const chart = this.chart ? [make("h3", { textContent: "Tilt of gravity" }), this.where] : [make("p", { className: "hint", textContent: "Without gravity there is nothing to tilt." })];
    const section = make("section", { className: "list" }, make("h3", { textContent: "Equilibrium" }), this.words, this.numbers, ...chart);
    if (this.chart) section.append(this.chart.element);
    section.append(make("p", { className: "hint", textContent: this.notes() }));
    view.append(this.scale);
    document.body.append(bar, make("main", {}, view), make("aside", { className: "panel" }, make("div", { className: "pages" }, section)));
    this.picture = new Picture(view, scene);
    this.state = scene.check;
    this.setTheme(recall<string>("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.choose({ row: 0, column: 0 });
  }

  /** Shows a direction of the chart; the middle is gravity as the file has it. */
  private choose(place: Place): void {
    const { scene, chart } = this;
    this.state = place.row === 0 || !scene.chart ? scene.check : scene.chart.rows[place.row][place.column];
    const { state } = this;
    write(this.verdict, VERDICTS[state.verdict]);
    this.verdict.dataset.verdict = state.verdict;
    write(this.scale, `1 m of arrow is ${shown(this.picture.show(state))} N`);
    if (chart) {
      const [tilt, azimuth] = chart.angles(place);
      write(this.where, place.row === 0 ? "Gravity as the file has it. Click a direction, or use the arrow keys." : `Gravity tilted by ${degrees(tilt)} at azimuth ${degrees(azimuth)}.`);
    }
    write(this.words, this.sentence());
    this.table();
  }

  private sentence(): string {
    const { state } = this;
    if (state.verdict === "holds") return `The least squeeze that holds it is ${shown(state.squeeze)} N of normal forces. With the best forces each contact has ${shown(state.margin)} N of normal force to spare.`;
    if (state.verdict === "undecided") return "Neither forces nor a proof of their absence can be told from rounding.";
    const { excess, motion } = state;
    return `No forces hold it: its load goes beyond what the contacts can balance, at least by the force ${list(excess.force)} N and the torque ${list(excess.torque)} N m (red). This motion proves it: the centre of mass by ${list(motion.velocity)} m/s, turning by ${list(motion.angular_velocity)} rad/s. Along it the load does more work than all contacts can take.`;
  }

  private table(): void {
    const { state, scene } = this;
    const cells = (tag: "td" | "th", texts: string[]) => make("tr", {}, ...texts.map((textContent) => make(tag, { textContent })));
    const rows = scene.contacts.map((contact, index) => {
      const force = state.verdict === "holds" ? state.forces[index] : null;
      const used = force && contact.friction > 0 ? `${shown(100 * usedFriction(contact, force))} %` : NOTHING;
      const spin = force && contact.torsion > 0 ? shown(force[3]) : NOTHING;
      const [normal, tangential] = force ? [shown(force[0]), shown(Math.hypot(force[1], force[2]))] : [NOTHING, NOTHING];
      return cells("td", [contact.name, contact.kind, normal, tangential, spin, used]);
    });
    this.numbers.replaceChildren(cells("th", ["contact", "kind", "normal N", "tangential N", "torsion N m", "friction"]), ...rows);
  }

  private notes(): string {
    const { chart, edges, mass, object } = this.scene;
    const friction = edges === null ? "friction cones at their true angle" : `friction pyramids of ${edges} edges`;
    const safe = chart ? ` ${chart.safe_tilt > 0 ? `Every tilt up to ${degrees(chart.safe_tilt)} holds` : "Not every small tilt holds"}; ${shown(100 * chart.solid_angle)} % of the directions do.` : "";
    const line = chart?.safe.some((tilt) => tilt > 0) ? " Blue line: the tilt up to which an azimuth holds." : "";
    const shape = object.shape || object.visuals.length > 0 ? "" : " Without a shape in the file, grey lines join the centre of mass with the contacts.";
    return `${object.name}, ${shown(mass)} kg; ${friction}.${safe}${line}${shape} Lines of red, green and blue are the world's x, y and z.`;
  }

  private setTheme(name: string): void {
    remember("theme", name);
    document.documentElement.dataset.theme = name;
    this.picture.setTheme(name === "dark" ? DARK : LIGHT);
  }
}

function legend(): HTMLElement {
  const entries: [number, string][] = [[COLOURS.cone, "contact, cone"], [COLOURS.contact, "contact force"], [COLOURS.weight, "weight"], [COLOURS.load, "other load"], [COLOURS.excess, "what breaks it"]];
  return make("div", { className: "grasp-legend" }, ...entries.map(([colour, textContent]) => {
    const chip = make("span", { className: "chip" });
    chip.style.background = `#${colour.toString(16).padStart(6, "0")}`;
    return make("span", {}, chip, textContent);
  }));
}

try {
  const scene = JSON.parse(document.getElementById("scene")?.textContent ?? "null") as GraspScene | null;
  if (!scene) throw new Error("there is no grasp in this page; simpartner grasp show FILE makes one");
  if (scene.protocol !== PROTOCOL) throw new Error(`the grasp is told by protocol ${scene.protocol}, this page knows ${PROTOCOL}`);
  // For whoever looks into the page with the browser's tools, and for its tests.
  Object.assign(window, { grasp: new GraspPage(scene) });
} catch (error) {
  document.body.replaceChildren(make("p", { className: "failure", textContent: `The grasp cannot be shown: ${error instanceof Error ? error.message : String(error)}. It needs a browser with WebGL 2.` }));
}
