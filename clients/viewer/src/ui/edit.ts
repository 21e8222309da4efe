// Forms that change the running world: a place for a body, a robot to add, and a button that takes changes back.

import type { Edits } from "../edits";
import { POSE, type Frame } from "../frame";
import type { Scene } from "../protocol";
import type { Extra } from "./datatable";
import { button, make, write } from "./dom";

const AXES = ["x", "y", "z"];

function numberFields(label: string): HTMLInputElement[] {
  return AXES.map((axis) => make("input", { type: "number", step: "0.1", value: "0", className: "coordinate", aria: { label: `${label}: ${axis} in metres` } }));
}

function replyLine(): [HTMLOutputElement, (answer: Promise<string>) => void] {
  const output = make("output", { className: "reply" });
  const tell = (answer: Promise<string>) => {
    write(output, "…");
    void answer.then((text) => {
      write(output, text);
      output.dataset.bad = String(text.startsWith("ERR"));
    });
  };
  return [output, tell];
}

const values = (fields: HTMLInputElement[]): number[] => fields.map((field) => Number(field.value));

/** Place and removal of a body, in its open line. */
export function bodyForm(scene: Scene, body: number, edits: Edits): Extra {
  const { name, robot, fixed } = scene.bodies[body];
  const fields = numberFields(`Place of ${name}`);
  const [reply, tell] = replyLine();
  let isFilled = false;
  const fill = (frame: Frame) => {
    if (isFilled) return;
    isFilled = true;
    const at = frame.body(body, POSE);
    fields.forEach((field, axis) => (field.value = String(Number(frame.numbers[at + axis].toFixed(3)))));
  };
  const place = button("Place", `Put ${name} there, at rest, with everything that joints tie to it`, () => tell(edits.place(body, values(fields))));
  const whole = robot ?? name;
  const remove = button("Remove", `Remove ${robot ? "the robot" : "the object"} ${whole} from the world`, () => tell(edits.remove(whole)));
  place.disabled = fixed;
  const element = make("div", { className: "edit-form", data: { edit: name } }, ...fields, place, remove, reply);
  return { element, update: fill };
}

/** A robot to add, and what can be taken back. */
export class WorldForm {
  readonly element: HTMLElement;
  private readonly files = make("select", { className: "robot-file", aria: { label: "Robot to add" } });
  private readonly undo = button("Undo", "Nothing to take back", () => this.tell(this.edits.undo()));
  private readonly tell: (answer: Promise<string>) => void;

  constructor(private readonly edits: Edits, private readonly control: (text: string) => Promise<string>) {
    const fields = numberFields("Place of the robot");
    const [reply, tell] = replyLine();
    this.tell = tell;
    const add = button("Add", "Add the robot to the world, at this place", () => this.tell(edits.add(this.files.value, values(fields))));
    this.undo.classList.add("undo");
    const details = make("details", { className: "edit-world" }, make("summary", { textContent: "Add a robot, undo" }));
    details.ontoggle = () => {
      if (details.open) void this.list();
    };
    details.append(make("div", { className: "edit-form" }, this.files, ...fields, add, this.undo, reply));
    this.element = details;
    edits.onChange = () => this.update();
    this.update();
  }

  private update(): void {
    const { next } = this.edits;
    this.undo.disabled = next === null;
    this.undo.title = next === null ? "Nothing to take back" : `Take back: ${next}`;
    this.undo.setAttribute("aria-label", this.undo.title);
  }

  /** The robot files that the server finds. */
  private async list(): Promise<void> {
    const answer = await this.control("SPAWNABLES");
    const files = [...answer.matchAll(/^SPAWNABLE file=(\S+)/gm)].map(([, file]) => file);
    if (files.length === 0) return this.tell(Promise.resolve(answer));
    const chosen = this.files.value;
    this.files.replaceChildren(...files.map((file) => make("option", { value: file, textContent: file, selected: file === chosen })));
  }
}
