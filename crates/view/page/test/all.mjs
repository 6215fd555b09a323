// Tests of the page in a real browser: node test/all.mjs [PART OF A NAME]...
// PAGE_URL: address that `ichnos view --no-open` printed; without it, the mock server answers.
// Tests that need a certain trace or state only run with the mock.

import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { findBrowser, launch, runTest } from "./browser.mjs";
import { startMock } from "./mock.mjs";
import * as drawing from "./drawing.mjs";
import * as keyboard from "./keyboard.mjs";
import * as leads from "./leads.mjs";
import * as large from "./large.mjs";
import * as panels from "./panels.mjs";
import * as safety from "./safety.mjs";
import * as saved from "./saved.mjs";
import * as states from "./states.mjs";
import * as threads from "./threads.mjs";
import * as timeline from "./timeline.mjs";

if (!findBrowser()) {
  console.log("skipped: no browser: install chromium, or name one in CHROMIUM");
  process.exit(0);
}
const parts = process.argv.slice(2);
const groups = { timeline, drawing, threads, keyboard, panels, leads, safety, states, saved, large };
const browser = await launch();
const mock = process.env.PAGE_URL ? null : await startMock();
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const context = { browser, mock, axe, url: process.env.PAGE_URL ?? mock.url, startMock };
const unknown = new Set(parts);
const waiting = [];
for (const [group, tests] of Object.entries(groups)) {
  for (const [name, test] of Object.entries(tests)) {
    const title = `${group}: ${name.replaceAll(/([A-Z])/g, " $1").toLowerCase()}`;
    const named = parts.filter((part) => title.includes(part));
    if (parts.length && !named.length) continue;
    named.forEach((part) => unknown.delete(part));
    waiting.push([title, test]);
  }
}
let failed = 0;
let run = 0;

/** Runs one test after the other, until none is waiting. */
async function runWaiting() {
  for (let next; (next = waiting.shift()); ) {
    const [title, test] = next;
    const started = performance.now();
    try {
      const skipped = await runTest(() => test(context));
      run += 1;
      console.log(`${skipped ? "skip" : "ok  "} ${title}${skipped ? ` (${skipped})` : ""} ${Math.round(performance.now() - started)} ms`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${title}\n     ${String(error.stack ?? error).split("\n").slice(0, 8).join("\n     ")}`);
    }
  }
}

// Tests wait for half of their time. Measurements are alone.
const atOnce = process.env.PAGE_SPEED || process.env.LARGE ? 1 : 2;
await Promise.all(Array.from({ length: atOnce }, runWaiting));
await browser.close();
await mock?.close();
for (const part of unknown) {
  failed += 1;
  console.log(`FAIL no test is called ${part}`);
}
console.log(`${run} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
