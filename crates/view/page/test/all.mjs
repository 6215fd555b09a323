// Tests of the page in a real browser: node test/all.mjs [PART OF A NAME]...
// PAGE_URL: address that `ichnos view --no-open` printed; without it, the mock server answers.
// Tests that need a certain trace or state only run with the mock.

import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { endTest, findBrowser, launch } from "./browser.mjs";
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
let failed = 0;
let run = 0;
for (const [group, tests] of Object.entries(groups)) {
  for (const [name, test] of Object.entries(tests)) {
    const title = `${group}: ${name.replaceAll(/([A-Z])/g, " $1").toLowerCase()}`;
    const named = parts.filter((part) => title.includes(part));
    if (parts.length && !named.length) continue;
    named.forEach((part) => unknown.delete(part));
    const started = performance.now();
    let hasFailed = false;
    try {
      const skipped = await test(context);
      run += 1;
      console.log(`${skipped ? "skip" : "ok  "} ${title}${skipped ? ` (${skipped})` : ""} ${Math.round(performance.now() - started)} ms`);
    } catch (error) {
      hasFailed = true;
      failed += 1;
      console.log(`FAIL ${title}\n     ${String(error.stack ?? error).split("\n").slice(0, 8).join("\n     ")}`);
    } finally {
      await endTest(browser, hasFailed);
    }
  }
}
await browser.close();
await mock?.close();
for (const part of unknown) {
  failed += 1;
  console.log(`FAIL no test is called ${part}`);
}
console.log(`${run} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
