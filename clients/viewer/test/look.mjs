// Looks at the page of a running server: node look.mjs URL FOLDER. Writes FOLDER/shown.png, and FOLDER/hidden.png without the bodies, and
// prints one line of JSON: the triangles of all bodies that are drawn, where the picture of the world is on the page, complaints.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Browser, pause } from "./browser.mjs";

const [url, folder] = process.argv.slice(2);
const browser = await Browser.open();
try {
  await browser.go(url);
  await browser.until(`document.getElementById("badge").textContent === "live" && viewer.frame !== null`);
  const triangles = await browser.value(`(() => {
    let count = 0;
    viewer.stage.bodies.group.traverseVisible((one) => {
      if (one.isMesh) count += (one.geometry.index ?? one.geometry.getAttribute("position")).count / 3;
    });
    return count;
  })()`);
  const box = await browser.value(`(() => { const { x, y, width, height } = viewer.stage.element.getBoundingClientRect(); return { x, y, width, height }; })()`);
  for (const [name, verb] of [["hidden", "remove"], ["shown", "add"]]) {
    await browser.value(`viewer.stage.scene.${verb}(viewer.stage.bodies.group); viewer.stage.dirty = true; undefined`);
    // Two pictures later it is on the screen.
    await browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await pause(0.2);
    const { data } = await browser.send("Page.captureScreenshot", { format: "png" });
    await writeFile(join(folder, `${name}.png`), Buffer.from(data, "base64"));
  }
  console.log(JSON.stringify({ triangles, box, complaints: browser.complaints }));
} finally {
  await browser.close();
}
