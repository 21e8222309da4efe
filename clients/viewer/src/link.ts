// The connection to the server: the token, JSON over HTTP, and the WebSocket.

import { Frame } from "./frame";
import { PROTOCOL, type Command, type CommandCount, type Event, type Run, type Scene } from "./protocol";
import { RutMessage } from "./ruts";

export type LinkState = "connecting" | "live" | "lost" | "token";

/** Callbacks of a link. */
export interface Listener {
  scene(scene: Scene): void;
  frame(frame: Frame): void;
  ruts(message: RutMessage): void;
  event(event: Event): void;
  commands(commands: CommandCount[]): void;
  state(state: LinkState, text: string): void;
}

const TOKEN = "simpartner.token";
const RETRY_MS = 1000;
const REPLY_TIMEOUT_MS = 10_000;

class Refused extends Error {}

export class Link {
  private socket: WebSocket | null = null;
  private token = takeToken();
  private next = 1;
  private waiting = new Map<number, (reply: string) => void>();
  private retry = 0;

  constructor(private readonly listener: Listener) {}

  /** Connects, and goes on trying until it is connected. */
  async connect(): Promise<void> {
    window.clearTimeout(this.retry);
    this.listener.state("connecting", "connecting");
    try {
      const scene = await this.json<Scene>("scene.json");
      if (scene.protocol !== PROTOCOL) throw new Error(`the server speaks protocol ${scene.protocol}, this page ${PROTOCOL}; reload it`);
      this.listener.scene(scene);
      this.open();
    } catch (error) {
      if (error instanceof Refused) this.listener.state("token", this.token ? "the server refused this token" : "");
      else this.lost(error instanceof Error ? error.message : String(error));
    }
  }

  /** Connects with a token that a person typed. */
  useToken(token: string): void {
    this.token = token;
    sessionStorage.setItem(TOKEN, token);
    void this.connect();
  }

  /** The runs of the database. */
  async runs(): Promise<Run[]> {
    return (await this.json<{ runs: Run[] }>("runs.json")).runs;
  }

  /** Something in JSON. */
  async json<T>(path: string): Promise<T> {
    return (await this.get(path)).json() as Promise<T>;
  }

  /** Something in bytes. */
  async bytes(path: string): Promise<ArrayBuffer> {
    return (await this.get(path)).arrayBuffer();
  }

  /** An image; the error is the server's reason alone. */
  async image(path: string): Promise<ArrayBuffer> {
    const response = await this.fetch(path);
    if (response.status === 401) throw new Refused("the server wants a token");
    if (!response.ok) throw new Error((await response.text()).trim().slice(0, 200) || `the server answers ${response.status}`);
    return response.arrayBuffer();
  }

  /** Sends a command to a device and gives its answer. */
  set(command: Command): Promise<string> {
    return this.ask({ set: command });
  }

  /** Sends a word to the control port and gives its answer. */
  control(text: string): Promise<string> {
    return this.ask({ control: text });
  }

  /** Sets the frames a second that the server sends. */
  watch(hz: number): void {
    this.send({ watch: { hz } });
  }

  /** Sets the messages of ruts a second, at most. */
  watchRuts(hz: number): void {
    this.send({ ruts: { hz } });
  }

  /** Sets the server's reaction to the end of this connection. */
  onClose(commands: Command[]): void {
    this.send({ on_close: commands });
  }

  private fetch(path: string): Promise<Response> {
    if (/[^\x21-\x7e]/.test(this.token)) throw new Refused();
    const headers: HeadersInit = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    return fetch(path, { headers, cache: "no-store" });
  }

  private async get(path: string): Promise<Response> {
    const response = await this.fetch(path);
    if (response.status === 401) throw new Refused();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${(await response.text()).slice(0, 200)}`);
    return response;
  }

  private open(): void {
    const address = new URL("live", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    const socket = new WebSocket(address, this.token ? ["simpartner.1", `token.${base64url(this.token)}`] : ["simpartner.1"]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => this.listener.state("live", "");
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.onText(data) : this.onBinary(data as ArrayBuffer));
    socket.onclose = () => this.lost("the server is gone; trying again");
  }

  private onBinary(data: ArrayBuffer): void {
    const taken = RutMessage.is(data) ? new RutMessage(data) : new Frame(data);
    if (taken instanceof RutMessage) this.listener.ruts(taken);
    else this.listener.frame(taken);
    this.send({ seen: taken.sequence });
  }

  private onText(text: string): void {
    const message = JSON.parse(text) as { to?: number; reply?: string; event?: Event; commands?: CommandCount[] };
    if (message.event) this.listener.event(message.event);
    if (message.commands) this.listener.commands(message.commands);
    if (message.reply === undefined || message.to === undefined) return;
    this.waiting.get(message.to)?.(message.reply);
    this.waiting.delete(message.to);
  }

  private ask(message: object): Promise<string> {
    const id = this.next++;
    if (!this.send({ id, ...message })) return Promise.resolve("ERR not connected");
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      window.setTimeout(() => {
        if (this.waiting.delete(id)) resolve("ERR no answer yet");
      }, REPLY_TIMEOUT_MS);
    });
  }

  private send(message: object): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  private lost(text: string): void {
    if (this.socket) this.socket.onclose = null;
    this.socket?.close();
    this.socket = null;
    for (const resolve of this.waiting.values()) resolve("ERR the connection was lost");
    this.waiting.clear();
    this.listener.state("lost", text);
    this.retry = window.setTimeout(() => void this.connect(), RETRY_MS);
  }
}

/** The token in the address, which it is taken out of, or the one this tab had before. */
function takeToken(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return given ?? sessionStorage.getItem(TOKEN) ?? "";
}

function base64url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
