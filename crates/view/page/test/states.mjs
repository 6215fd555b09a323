// Empty traces, errors, growing traces, a server that is gone. All of these need the mock.

import assert from "node:assert/strict";
import { openPage, ready, settled } from "./browser.mjs";

/** Makes long pauses of a page a tenth, from its next load on. */
async function shortenPauses(page) {
  page.isReusable = false;
  await page.addInitScript(() => {
    const wait = window.setTimeout.bind(window);
    window.setTimeout = (action, pause, ...more) => wait(action, pause >= 2000 ? pause / 10 : pause, ...more);
  });
}

export async function emptyTrace({ browser, startMock }) {
  const mock = await startMock({ empty: true });
  const page = await openPage(browser, mock.url);
  assert.ok((await page.locator("#message").innerText()).includes("no events"));
  for (const key of ["w", "a", "f", "m", "b", "ArrowRight", "ArrowDown", "2", "3", "4", "5", "6", "e"]) await page.keyboard.press(key);
  assert.deepEqual(page.problems, []);
  await mock.close();
}

export async function failedTrace({ browser, startMock }) {
  const mock = await startMock({ empty: true, failed: true });
  const page = await openPage(browser, mock.url);
  assert.ok((await page.locator("#message").innerText()).includes("unrecognized format"));
  await mock.close();
}

export async function tracesAreAligned({ browser, startMock }) {
  const mock = await startMock({ second: 2e9 });
  const page = await openPage(browser, mock.url);
  await page.getByRole("button", { name: "Clocks" }).click();
  await page.getByRole("button", { name: "Align starts" }).click();
  await page.waitForFunction(() => location.hash.includes("offset="));
  const offsets = [...new URLSearchParams(new URL(page.url()).hash.slice(1)).getAll("offset")].map((text) => text.split(",").map(Number));
  const second = mock.trace.tracks.find((track) => track.name === "second").id;
  const first = Math.min(...mock.trace.tracks.filter((track) => track.begin && track.parent !== second).map((track) => Number(BigInt(track.begin) - mock.trace.origin)));
  assert.deepEqual(offsets, [[second, first - 2e9]]);
  await mock.close();
}

export async function errorsAreShown({ browser, startMock }) {
  const mock = await startMock({ errors: true });
  const page = await openPage(browser, mock.url, { wait: false });
  await page.locator("#message").filter({ hasText: "packet ends after" }).waitFor();
  for (const [key, id] of [["2", "events"], ["3", "stats"], ["4", "flame"], ["5", "tasks"], ["6", "log"]]) {
    await page.keyboard.press(key);
    await page.locator(`#panel-${id}`).getByText("packet ends after").waitFor();
  }
  await mock.close();
}

export async function growingTrace({ browser, startMock }) {
  const mock = await startMock({ live: true });
  const page = await openPage(browser, mock.url);
  const before = await settled(page);
  assert.equal(await page.locator("#state").innerText().then((text) => text.includes("Live")), true);
  mock.grow(0.75);
  await page.waitForFunction((end) => BigInt(window.__ichnos.view.end) > BigInt(end), before.view.end, { timeout: 60_000 });
  await page.waitForFunction((count) => window.__ichnos.drawn.count > count, before.drawn.count, { timeout: 60_000 });
  for (let i = 0; i < 4; i++) await page.keyboard.press("w");
  await page.keyboard.press("l");
  assert.equal(await page.getByRole("button", { name: "Follow" }).getAttribute("aria-pressed"), "true");
  const near = await settled(page);
  mock.grow(1);
  await page.waitForFunction((end) => BigInt(window.__ichnos.view.end) > BigInt(end), near.view.end, { timeout: 60_000 });
  await page.keyboard.press("a");
  assert.equal(await page.getByRole("button", { name: "Follow" }).getAttribute("aria-pressed"), "false");
  await mock.close();
}

export async function serverThatIsGone({ browser, startMock }) {
  const mock = await startMock();
  const page = await openPage(browser, mock.url);
  const port = Number(new URL(mock.url).port);
  await mock.close();
  await page.locator("#state").filter({ hasText: "No connection" }).waitFor({ timeout: 60_000 });
  const again = await startMock({}, port);
  await page.locator("#state").filter({ hasNotText: "No connection" }).waitFor({ timeout: 60_000 });
  await again.close();
}

export async function pageWaitsForTheServer({ browser, startMock }) {
  const mock = await startMock();
  const page = await openPage(browser, mock.url);
  let isDown = true;
  await page.route("**/api/trace*", (route) => (isDown ? route.abort() : route.continue()));
  await shortenPauses(page);
  await page.reload();
  await page.locator("#message").filter({ hasText: "cannot be shown" }).waitFor();
  isDown = false;
  await ready(page);
  assert.equal(await page.locator("#message").isHidden(), true);
  await mock.close();
}
