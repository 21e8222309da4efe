// The field for the token, where the server wants one.

import { make, write } from "./dom";

export class TokenForm {
  readonly element: HTMLElement;
  private readonly input = make("input", { type: "password", id: "token", autocomplete: "off", placeholder: "Token" });
  private readonly note = make("p", { className: "reply" });

  constructor(onToken: (token: string) => void) {
    const form = make(
      "form",
      { className: "token-form" },
      make("h2", { textContent: "This server wants its token" }),
      make("p", { textContent: "It is printed when the server starts, or set in its properties." }),
      this.input,
      this.note,
      make("button", { type: "submit", className: "primary text-button", textContent: "Connect" }),
    );
    form.onsubmit = (event) => {
      event.preventDefault();
      if (this.input.value !== "") onToken(this.input.value);
    };
    this.element = make("div", { className: "veil", hidden: true }, form);
  }

  show(note: string): void {
    write(this.note, note);
    this.note.dataset.bad = "true";
    this.element.hidden = false;
    this.input.focus();
  }

  hide(): void {
    this.element.hidden = true;
    this.input.value = "";
  }
}
