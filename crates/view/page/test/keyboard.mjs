// The page with the keyboard alone.

import assert from "node:assert/strict";
import { openPage, settled } from "./browser.mjs";

const width = (state) => BigInt(state.view.end) - BigInt(state.view.begin);

async function focusCanvas(page) {
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement.id)) === "canvas") return;
  }
  throw new Error("the timeline cannot be reached with Tab");
}

export async function everythingIsReached({ browser, url }) {
  const page = await openPage(browser, url);
  const reached = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const [name, isVisible] = await page.evaluate(() => {
      const at = document.activeElement;
      const style = getComputedStyle(at);
      return [at.id || at.getAttribute("role") || at.textContent, at === document.body || style.outlineStyle !== "none"];
    });
    reached.add(name);
    assert.ok(isVisible, `the focus on ${name} is invisible`);
  }
  for (const name of ["search", "filter", "Fit", "Mark", "Bookmarks", "Export", "Keys", "treeitem", "canvas", "splitter", "tab-stats"]) {
    assert.ok(reached.has(name), `${name} is not reached: ${[...reached].join(", ")}`);
  }
}

export async function zoomAndPan({ browser, url }) {
  const page = await openPage(browser, url);
  await focusCanvas(page);
  const first = await settled(page);
  for (let i = 0; i < 4; i++) await page.keyboard.press("w");
  const near = await settled(page);
  assert.ok(width(near) < width(first) / 3n);
  await page.keyboard.press("d");
  const right = await settled(page);
  assert.ok(BigInt(right.view.begin) > BigInt(near.view.begin));
  await page.keyboard.press("a");
  await page.keyboard.press("a");
  assert.ok(BigInt((await settled(page)).view.begin) < BigInt(right.view.begin));
  await page.keyboard.press("s");
  assert.ok(width(await settled(page)) > width(near));
  await page.keyboard.press("f");
  const all = await settled(page);
  assert.deepEqual(all.view, first.view);
  await page.keyboard.press("w");
  await page.keyboard.press("w");
  await page.keyboard.press("End");
  assert.ok(BigInt((await settled(page)).view.end) >= BigInt(first.view.end) - width(first) / 20n);
}

export async function eventsAndTracks({ browser, url }) {
  const page = await openPage(browser, url);
  await focusCanvas(page);
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    // The key before it says what the track is, so that the text is about this one.
    await page.waitForFunction(() => window.__ichnos.selected?.id || document.getElementById("live").textContent.startsWith("No next event"), null, { timeout: 5000 }).catch(() => undefined);
    if ((await page.evaluate(() => window.__ichnos.selected))?.id) break;
  }
  const first = (await settled(page)).selected;
  assert.ok(first?.id, "an event is selected");
  const announced = await page.locator("#live").textContent();
  assert.ok(announced.includes(first.name), announced);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((id) => window.__ichnos.selected?.id !== id, first.id, { timeout: 5000 }).catch(() => undefined);
  const second = (await settled(page)).selected;
  if (second.id !== first.id) {
    assert.ok(second.time >= first.time);
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction((id) => window.__ichnos.selected?.id !== id, second.id);
    assert.ok((await settled(page)).selected.time <= second.time);
  }
  await page.keyboard.press("Escape");
  assert.equal((await settled(page)).selected, null);
}

export async function collapseTracks({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  const rows = () => page.locator(".label").first().getAttribute("aria-setsize").then(Number);
  const before = await rows();
  await page.locator(".label").nth(1).focus();
  await page.locator(".label").nth(1).click();
  await page.keyboard.press("ArrowLeft");
  await settled(page);
  assert.ok((await rows()) < before, "the process is closed");
  assert.equal(await page.locator(".label").nth(1).getAttribute("aria-expanded"), "false");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.equal(await rows(), before);
  await page.keyboard.press("ArrowDown");
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-selected")), "true");
  return undefined;
}

export async function marksAndBookmarks({ browser, url }) {
  const page = await openPage(browser, url);
  await page.keyboard.press("w");
  await page.keyboard.press("m");
  assert.ok((await settled(page)).view.range);
  await page.keyboard.press("Escape");
  assert.equal((await settled(page)).view.range, undefined);
  await page.keyboard.press("b");
  await page.keyboard.press("Shift+B");
  assert.equal(await page.locator("#dialog input").count(), 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  assert.equal(await page.locator("#dialog-title").textContent(), "Keys");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#dialog").evaluate((dialog) => dialog.open), false);
}

export async function lettersInFieldsAreText({ browser, url }) {
  const page = await openPage(browser, url);
  const before = await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type("wasdfmbe?");
  const after = await settled(page);
  assert.deepEqual(after.view, before.view);
  assert.equal(await page.locator("#search").inputValue(), "wasdfmbe?");
}

export async function panelsAndSplitter({ browser, url }) {
  const page = await openPage(browser, url);
  await page.keyboard.press("2");
  for (const name of ["Statistics", "Flame graph", "Tasks", "Log", "Details"]) {
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
  }
  await page.locator("#splitter").focus();
  const before = await page.locator("#panel").evaluate((panel) => panel.offsetHeight);
  await page.keyboard.press("ArrowUp");
  assert.ok((await page.locator("#panel").evaluate((panel) => panel.offsetHeight)) > before);
}
