// Bundles the pages into dist/: index.html, viewer.js and viewer.css, which need nothing else; grasp.js and grasp.css for the page of a grasp, whose
// HTML the server writes.
import { build } from "esbuild";
import { copyFile, mkdir, rm } from "node:fs/promises";

await rm("dist", { recursive: true, force: true });
await mkdir("dist");
await build({
  entryPoints: { viewer: "src/main.ts", grasp: "src/grasp/main.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "inline",
  logLevel: "warning",
});
await copyFile("src/index.html", "dist/index.html");
