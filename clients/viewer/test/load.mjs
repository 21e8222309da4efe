// A module of the page, for tests that need no browser.

import { build } from "esbuild";

export async function load(path) {
  const { outputFiles } = await build({ entryPoints: [new URL(`../src/${path}.ts`, import.meta.url).pathname], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
