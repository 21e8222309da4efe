// A server that tests run: VIEWER_SERVER names its program, which is run from the root of the sources.

import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { server as program } from "./needs.mjs";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Runs a server until it is ended. */
export async function serve(world, database, ...more) {
  const settings = ["viewer.port=0", "server.control_port=0"].flatMap((setting) => ["--set", setting]);
  const child = spawn(program, ["run", "--world", world, "--database", database, ...settings, ...more], { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((done) => child.on("exit", done));
  let said = "";
  const url = await new Promise((found, failed) => {
    child.stderr.on("data", (data) => {
      said += data;
      const address = /^viewer +(http:\S+)\n/m.exec(said);
      if (address) found(address[1]);
    });
    child.on("exit", () => failed(new Error(`the server ended: ${said}`)));
  });
  const end = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return { url, end };
}
