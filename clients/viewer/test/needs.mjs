// What the tests need beside Node: a browser, and a server. SIMPARTNER_REQUIRE makes a test that is skipped for want of one a
// failure, as tests/it/needs.rs does for Rust's.

import { findBrowser } from "./browser.mjs";

const KNOWN = ["postgres", "mysql", "python", "cc", "node", "chromium", "curl", "font", "mount", "realtime", "gamepad"];
const required = (process.env.SIMPARTNER_REQUIRE ?? "").split(",").map((word) => word.trim()).filter(Boolean);
const unknown = required.filter((word) => !KNOWN.includes(word));
if (unknown.length > 0) throw new Error(`SIMPARTNER_REQUIRE names ${unknown}; it knows ${KNOWN.join(", ")}`);

/** False where the need is met, else why a test is skipped; throws where the need is required. */
function missing(need, isThere, why) {
  if (isThere) return false;
  if (required.includes(need)) throw new Error(`SIMPARTNER_REQUIRE names ${need}, but ${why}`);
  return why;
}

export const noBrowser = missing("chromium", findBrowser(), "there is no Chromium; CHROMIUM names one");

/** The server's program, VIEWER_SERVER. */
export const server = process.env.VIEWER_SERVER;
export const noServer = () => missing("node", server, "VIEWER_SERVER names no server") || noBrowser;
