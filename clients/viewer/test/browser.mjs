// A headless Chromium, driven through its DevTools protocol over a pipe. Needs nothing but node.

import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const FLAGS = [
  "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-extensions", "--disable-background-networking",
  "--disable-component-update", "--hide-scrollbars", "--mute-audio", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
];

/** The browser's program, or null: $CHROMIUM, or one of the usual names in the path. */
export function findBrowser() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(":");
  for (const name of NAMES) {
    const folder = folders.find((one) => existsSync(join(one, name)));
    if (folder) return join(folder, name);
  }
  return null;
}

export class Browser {
  #next = 1;
  #waiting = new Map();
  #rest = "";
  /** Errors and warnings of the page. */
  complaints = [];
  /** Addresses that the page asked for. */
  requests = [];

  static async open({ width = 1480, height = 900 } = {}) {
    const browser = new Browser();
    browser.profile = await mkdtemp(join(tmpdir(), "viewer-test-"));
    const program = findBrowser();
    browser.process = spawn(program, [...FLAGS, `--window-size=${width},${height}`, `--user-data-dir=${browser.profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    browser.process.stdio[4].on("data", (data) => browser.#receive(data));
    const { targetId } = await browser.#send("Target.createTarget", { url: "about:blank" });
    browser.session = (await browser.#send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await browser.send(`${domain}.enable`);
    await browser.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await browser.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    return browser;
  }

  send(method, params = {}) {
    return this.#send(method, params, this.session);
  }

  #send(method, params, sessionId) {
    const id = this.#next++;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  #receive(data) {
    const messages = (this.#rest + data).split("\0");
    this.#rest = messages.pop();
    for (const text of messages) {
      const message = JSON.parse(text);
      const waiting = this.#waiting.get(message.id);
      if (waiting) {
        this.#waiting.delete(message.id);
        if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
        else waiting.resolve(message.result);
      }
      if (message.method === "Runtime.exceptionThrown") this.complaints.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
      if (message.method === "Log.entryAdded" && message.params.entry.level === "error") this.complaints.push(`${message.params.entry.text} ${message.params.entry.url ?? ""}`);
      if (message.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(message.params.type)) this.complaints.push(message.params.args.map((one) => one.value ?? one.description).join(" "));
      if (message.method === "Network.requestWillBeSent") this.requests.push(message.params.request.url);
    }
  }

  async go(url) {
    await this.send("Page.navigate", { url });
    await this.until("document.readyState === 'complete'");
  }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Waits until an expression is true in the page, and gives its value. */
  async until(expression, seconds = 20) {
    return until(() => this.value(expression), expression, seconds);
  }

  async key(code, down) {
    const key = code.startsWith("Key") ? code.slice(3).toLowerCase() : code === "Space" ? " " : code === "Period" ? "." : code;
    const named = { ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Enter: 13, Space: 32, Period: 190, Escape: 27, Tab: 9 };
    const number = named[code] ?? key.toUpperCase().charCodeAt(0);
    const text = code === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: down ? "keyDown" : "keyUp", code, key, windowsVirtualKeyCode: number, ...(down && text ? { text } : {}) });
  }

  async press(code) {
    await this.key(code, true);
    await this.key(code, false);
  }

  async click(selector) {
    await this.until(`document.querySelector(${JSON.stringify(selector)}) !== null`);
    await this.value(`document.querySelector(${JSON.stringify(selector)}).scrollIntoView({block: "center"})`);
    const place = await this.value(`(() => { const box = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()`);
    await this.clickAt(...place);
  }

  async clickAt(x, y) {
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: type === "mouseMoved" ? 0 : 1 });
    }
  }

  async type(text) {
    await this.send("Input.insertText", { text });
  }

  /** Keeps a picture of the page in shots/. */
  async shot(name) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    const file = new URL(`../shots/${name}.png`, import.meta.url).pathname;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, Buffer.from(data, "base64"));
  }

  async close() {
    const gone = new Promise((resolve) => this.process.once("exit", resolve));
    await this.#send("Browser.close", {}).catch(() => undefined);
    await gone;
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Waits until a question is answered with something true. */
export async function until(question, what, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await question();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await pause(0.05);
  }
}

/** Waits until a number has not changed for half a second: a machine under load may take its time over what is under way. */
export async function untilConstant(number, what, seconds = 20) {
  let last = number();
  let since = Date.now();
  await until(
    () => {
      if (number() !== last) [last, since] = [number(), Date.now()];
      return Date.now() - since > 500;
    },
    `the end of ${what}`,
    seconds,
  );
}

export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
