// A command line for a device, with its last reply.

import type { Command, Device } from "../protocol";
import { fullName } from "../protocol";
import { make, write } from "./dom";

const REMEMBERED = 50;

/** Makes the line. `present` gives the device's present state, which it starts with. */
export function commandLine(device: Device, present: () => string, send: (command: Command) => Promise<string>): HTMLElement {
  const input = make("input", {
    type: "text",
    className: "command",
    spellcheck: false,
    autocomplete: "off",
    placeholder: device.actuator ? "Enter sends" : "any text",
    aria: { label: `Command for ${fullName(device)}` },
  });
  const reply = make("output", { className: "reply" });
  const sent: string[] = [];
  let place = 0;
  input.onfocus = () => {
    if (input.value === "") input.value = present();
  };
  input.onkeydown = (event) => {
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      place = Math.max(0, Math.min(sent.length, place + (event.key === "ArrowUp" ? -1 : 1)));
      input.value = sent[place] ?? "";
      event.preventDefault();
    } else if (event.key === "Enter") {
      submit();
    }
  };
  const submit = () => {
    const text = input.value.trim().replace(/^<(.*)>$/, "$1");
    sent.push(text);
    sent.splice(0, sent.length - REMEMBERED);
    place = sent.length;
    write(reply, "…");
    void send({ device: fullName(device), text }).then((answer) => {
      write(reply, answer);
      reply.dataset.bad = String(answer.startsWith("ERR"));
    });
  };
  const lengths = device.command_lengths.join(" or ");
  const fields = device.fields.map((field) => field.name).join(", ");
  const hint = device.actuator ? `${lengths} numbers${device.fields.length ? `: ${fields}` : ""}` : "text for this port";
  return make(
    "div",
    { className: "command-line", data: { device: fullName(device) } },
    input,
    reply,
    make("p", { className: "hint", textContent: hint }),
  );
}
