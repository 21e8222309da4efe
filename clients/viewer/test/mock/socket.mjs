// The server's side of a WebSocket, as much of it as the tests need: text and binary messages, close and ping.

import { createHash } from "node:crypto";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Answers the handshake and gives the connection. */
export function accept(request, socket, protocol) {
  const key = createHash("sha1").update(request.headers["sec-websocket-key"] + GUID).digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  return new Connection(socket);
}

class Connection {
  onText = () => undefined;
  onClose = () => undefined;
  #rest = Buffer.alloc(0);

  constructor(socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (data) => this.#take(data));
    socket.on("close", () => this.onClose());
    socket.on("error", () => socket.destroy());
  }

  text(message) {
    this.#send(1, Buffer.from(JSON.stringify(message)));
  }

  binary(buffer) {
    this.#send(2, Buffer.from(buffer));
  }

  close() {
    this.socket.destroy();
  }

  #send(opcode, payload) {
    if (this.socket.destroyed) return;
    const head = payload.length < 126 ? Buffer.alloc(2) : payload.length < 65536 ? Buffer.alloc(4) : Buffer.alloc(10);
    head[0] = 0x80 | opcode;
    if (head.length === 2) head[1] = payload.length;
    if (head.length === 4) (head[1] = 126), head.writeUInt16BE(payload.length, 2);
    if (head.length === 10) (head[1] = 127), head.writeBigUInt64BE(BigInt(payload.length), 2);
    this.socket.write(Buffer.concat([head, payload]));
  }

  #take(data) {
    this.#rest = Buffer.concat([this.#rest, data]);
    for (;;) {
      const bytes = this.#rest;
      if (bytes.length < 2) return;
      let length = bytes[1] & 0x7f;
      let at = 2;
      if (length === 126) (length = bytes.length < 4 ? Infinity : bytes.readUInt16BE(2)), (at = 4);
      else if (length === 127) (length = bytes.length < 10 ? Infinity : Number(bytes.readBigUInt64BE(2))), (at = 10);
      if (bytes.length < at + 4 + length) return;
      const mask = bytes.subarray(at, at + 4);
      const payload = Buffer.from(bytes.subarray(at + 4, at + 4 + length)).map((byte, index) => byte ^ mask[index & 3]);
      this.#rest = bytes.subarray(at + 4 + length);
      const opcode = bytes[0] & 0x0f;
      if (opcode === 8) return this.socket.end();
      if (opcode === 9) this.#send(10, payload);
      if (opcode === 1) this.onText(payload.toString());
    }
  }
}
