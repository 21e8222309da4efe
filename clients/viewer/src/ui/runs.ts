// The runs of the database, to be opened.

import type { Run } from "../protocol";
import { button, make, write } from "./dom";
import { clock } from "./header";

export class Runs {
  readonly element: HTMLElement;
  private readonly list = make("div", { className: "run-list", id: "runs" });
  private readonly note = make("p", { className: "hint" });
  private opened: number | null = null;

  constructor(
    private readonly load: () => Promise<Run[]>,
    private readonly onOpen: (run: Run) => void,
  ) {
    const again = button("Look again", "Read the list of runs anew", () => void this.refresh(), "text-button");
    this.element = make("section", { className: "list" }, make("div", { className: "list-head" }, this.note, again), this.list);
  }

  /** Reads the list anew. */
  async refresh(): Promise<void> {
    try {
      const runs = await this.load();
      write(this.note, runs.length === 0 ? "The log has no runs." : `${runs.length} ${runs.length === 1 ? "run" : "runs"}`);
      this.list.replaceChildren(...runs.map((run) => this.card(run)));
    } catch (error) {
      write(this.note, error instanceof Error ? error.message : String(error));
    }
  }

  /** Marks the run that is shown; null is live. */
  mark(id: number | null): void {
    this.opened = id;
    for (const card of this.list.querySelectorAll<HTMLElement>(".run")) card.dataset.opened = String(card.dataset.run === String(id));
  }

  /** Says something in place of the count. */
  say(text: string): void {
    write(this.note, text);
  }

  private card(run: Run): HTMLElement {
    const steps = run.last === null ? 0 : run.last - run.first + run.every;
    const card = make(
      "button",
      { type: "button", className: "run", disabled: steps === 0, data: { run: String(run.id), opened: String(run.id === this.opened) } },
      make("span", { className: "run-title" }, make("strong", { textContent: `Run ${run.id}` }), ` ${run.world}`),
      make("span", { className: "run-length", textContent: steps === 0 ? "empty" : clock(steps * run.timestep) }),
      make("span", { className: "run-note", textContent: `${run.started.replace("T", " ").replace(/(\.\d+)?Z$/, "")} · ${run.status}` }),
    );
    card.onclick = () => this.onOpen(run);
    return card;
  }
}
