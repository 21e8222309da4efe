// The page of driving: what drives what, shown and changed.

import type { Driver } from "../drive/driver";
import { defaultMapping, movable, type Mapping, type Nudge, type Row } from "../drive/mapping";
import type { Frame } from "../frame";
import { fullName, type Scene } from "../protocol";
import { button, iconButton, make, recall, remember, write } from "./dom";

const KEY_NAMES: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", BracketLeft: "[", BracketRight: "]", Space: "space" };

export class DrivePage {
  readonly element: HTMLElement;
  private readonly robot = make("select", { id: "drive-robot", title: "The robot to drive" });
  private readonly body = make("div");
  private readonly pad = make("p", { className: "hint", id: "pad" });
  private readonly refusal = make("p", { className: "reply" });
  private readonly meter = { forward: meter("forward"), turn: meter("left") };
  private scene: Scene | null = null;
  private frame: Frame | null = null;

  constructor(private readonly driver: Driver) {
    this.robot.onchange = () => this.choose();
    driver.onRefusal = (text) => {
      write(this.refusal, text);
      this.refusal.dataset.bad = "true";
    };
    const check = (label: string, id: string, on: boolean, change: (on: boolean) => void) => {
      const box = make("input", { type: "checkbox", id, checked: on });
      box.onchange = () => {
        driver.stop();
        change(box.checked);
      };
      return make("label", { className: "check" }, box, label);
    };
    this.element = make(
      "section",
      { className: "list drive" },
      make("div", { className: "line" }, this.robot, check("Keyboard", "keys-on", true, (on) => (driver.keysOn = on)), check("Gamepad", "pad-on", true, (on) => (driver.padOn = on))),
      make("div", { className: "meters" }, this.meter.forward.element, this.meter.turn.element),
      this.pad,
      this.refusal,
      this.body,
    );
  }

  /** Takes another scene; the first frame of it decides which side a wheel is on. */
  setScene(scene: Scene, frame: Frame): void {
    this.scene = scene;
    this.frame = frame;
    const robots = [...new Set(scene.devices.filter((device) => device.actuator).map((device) => device.robot))];
    this.robot.replaceChildren(...robots.map((robot) => make("option", { value: robot, textContent: robot })));
    this.choose();
  }

  update(): void {
    if (this.element.offsetParent === null) return;
    this.meter.forward.set(this.driver.now.forward);
    this.meter.turn.set(this.driver.now.turn);
    write(this.pad, this.driver.padName === "" ? "No gamepad. Plug one in and press a button of it." : this.driver.padName);
  }

  private get key(): string {
    return `mapping.${this.scene?.name}.${this.robot.value}`;
  }

  private choose(): void {
    if (!this.scene || !this.frame) return;
    this.driver.stop();
    this.driver.forget();
    const usual = this.robot.value === "" ? null : defaultMapping(this.scene, this.robot.value, this.frame);
    this.driver.mapping = recall<Mapping>(this.key) ?? usual;
    this.lay();
  }

  private changed(again = false): void {
    this.driver.stop();
    remember(this.key, this.driver.mapping);
    if (again) this.lay();
  }

  private lay(): void {
    const { mapping } = this.driver;
    write(this.refusal, "");
    if (!mapping) {
      this.body.replaceChildren(make("p", { className: "hint", textContent: "No robot here has an actuator." }));
      return;
    }
    const usual = button("Defaults", "Forget the changes", () => {
      remember(this.key, null);
      this.choose();
    }, "text-button");
    this.body.replaceChildren(
      make("h3", { textContent: "Keys" }),
      this.keys(mapping),
      make("h3", { textContent: "Forward and turn" }),
      this.rows(mapping),
      make("h3", { textContent: "Held to move" }),
      this.nudges(mapping),
      make("h3", { textContent: "Stick" }),
      this.stick(mapping),
      make("p", { className: "hint", textContent: "Wheels stop when the keys are let go, when the page loses the focus, and when the server loses the page." }),
      usual,
    );
  }

  private keys(mapping: Mapping): HTMLElement {
    const { keys } = mapping;
    const one = (name: keyof typeof keys) => make("label", { className: "key-line" }, name, this.keyButton(keys[name], (code) => (keys[name] = code)));
    return make("div", { className: "keys" }, one("forward"), one("back"), one("left"), one("right"));
  }

  private rows(mapping: Mapping): HTMLElement {
    const body = make("tbody", { id: "mapping" });
    for (const row of mapping.rows) {
      const remove = iconButton("close", "Remove", () => {
        mapping.rows.splice(mapping.rows.indexOf(row), 1);
        this.changed(true);
      }, "plot-button");
      const amount = (which: "forward" | "turn") => this.number(row[which], (value) => (row[which] = value));
      body.append(make("tr", {}, make("td", {}, this.target(row)), cell(amount("forward")), cell(amount("turn")), cell(remove)));
    }
    const add = button("Add", "Another actuator", () => {
      const first = this.targets()[0];
      if (first) mapping.rows.push({ device: first.device, field: first.field, forward: 0, turn: 0 });
      this.changed(true);
    }, "text-button");
    return make("div", {}, make("table", { className: "mapping" }, head("actuator", "forward", "left", ""), body), add);
  }

  private nudges(mapping: Mapping): HTMLElement {
    const body = make("tbody");
    for (const nudge of mapping.nudges) {
      const remove = iconButton("close", "Remove", () => {
        mapping.nudges.splice(mapping.nudges.indexOf(nudge), 1);
        this.changed(true);
      }, "plot-button");
      const keys = make("span", { className: "joined" }, this.keyButton(nudge.up, (code) => (nudge.up = code)), this.keyButton(nudge.down, (code) => (nudge.down = code)));
      const buttons = make("span", { className: "joined" }, this.number(nudge.buttonUp, (value) => (nudge.buttonUp = value)), this.number(nudge.buttonDown, (value) => (nudge.buttonDown = value)));
      body.append(make("tr", {}, cell(this.target(nudge)), cell(this.number(nudge.rate, (value) => (nudge.rate = value))), cell(keys), cell(buttons), cell(remove)));
    }
    const add = button("Add", "Another actuator", () => {
      const first = this.targets()[0];
      if (first) mapping.nudges.push({ device: first.device, field: first.field, rate: 0.5, up: "", down: "", buttonUp: -1, buttonDown: -1 });
      this.changed(true);
    }, "text-button");
    return make("div", {}, make("table", { className: "mapping" }, head("actuator", "a second", "keys", "buttons", ""), body), add);
  }

  private stick(mapping: Mapping): HTMLElement {
    const { stick } = mapping;
    const sign = (which: "forwardSign" | "turnSign") => {
      const box = make("input", { type: "checkbox", checked: stick[which] < 0 });
      box.onchange = () => {
        stick[which] = box.checked ? -1 : 1;
        this.changed();
      };
      return make("label", { className: "check" }, box, "turned round");
    };
    const axis = (which: "forward" | "turn") => this.number(stick[which], (value) => (stick[which] = value));
    return make(
      "div",
      { className: "stick" },
      make("label", {}, "forward is axis", axis("forward")),
      sign("forwardSign"),
      make("label", {}, "turn is axis", axis("turn")),
      sign("turnSign"),
      make("label", {}, "dead zone", this.number(stick.deadZone, (value) => (stick.deadZone = Math.min(0.9, Math.max(0, value))))),
    );
  }

  private targets(): { device: string; field: string }[] {
    const devices = this.scene?.devices.filter((device) => device.actuator && device.robot === this.robot.value) ?? [];
    return devices.flatMap((device) => {
      const free = this.scene!.joints[device.joint ?? -1]?.axes.map((axis) => `_${axis.axis}`) ?? [];
      const fields = movable(device).filter((field) => free.length === 0 || free.some((end) => field.endsWith(end)));
      return fields.map((field) => ({ device: fullName(device), field }));
    });
  }

  private target(row: Row | Nudge): HTMLElement {
    const select = make("select", { className: "target" });
    const targets = this.targets();
    for (const { device, field } of targets) {
      const short = device.slice(device.indexOf("/") + 1);
      const several = targets.filter((one) => one.device === device).length > 1;
      const option = make("option", { value: `${device}\n${field}`, textContent: several ? `${short} ${field}` : short, title: field });
      option.selected = device === row.device && field === row.field;
      select.append(option);
    }
    select.onchange = () => {
      [row.device, row.field] = select.value.split("\n");
      this.changed();
    };
    return select;
  }

  private number(value: number, change: (value: number) => void): HTMLElement {
    const input = make("input", { type: "number", step: "any", value: String(value), className: "amount" });
    input.onchange = () => {
      change(Number(input.value) || 0);
      this.changed();
    };
    return input;
  }

  /** A button that takes the next key for its own. */
  private keyButton(code: string, change: (code: string) => void): HTMLElement {
    const element = button(keyName(code), "Click, then press a key", () => {
      element.textContent = "press";
      const take = (event: KeyboardEvent) => {
        event.preventDefault();
        event.stopImmediatePropagation();
        const chosen = event.code === "Escape" ? "" : event.code;
        change(chosen);
        element.textContent = keyName(chosen);
        element.blur();
        this.changed();
      };
      window.addEventListener("keydown", take, { capture: true, once: true });
      element.onblur = () => {
        window.removeEventListener("keydown", take, { capture: true });
        if (element.textContent === "press") element.textContent = keyName(code);
      };
    }, "key");
    return element;
  }
}

const cell = (child: HTMLElement): HTMLElement => make("td", {}, child);

function head(...names: string[]): HTMLElement {
  return make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { textContent: name, scope: "col" }))));
}

function keyName(code: string): string {
  return KEY_NAMES[code] ?? (code.replace(/^(Key|Digit|Numpad)/, "") || "none");
}

function meter(name: string): { element: HTMLElement; set: (value: number) => void } {
  const bar = make("span", { className: "meter-bar" });
  const value = make("span", { className: "meter-value", textContent: "0" });
  return {
    element: make("div", { className: "meter" }, make("span", { className: "meter-name", textContent: name }), make("span", { className: "meter-track" }, bar), value),
    set: (share) => {
      bar.style.left = `${50 + Math.min(0, share) * 50}%`;
      bar.style.width = `${Math.abs(share) * 50}%`;
      write(value, share.toFixed(2));
    },
  };
}
