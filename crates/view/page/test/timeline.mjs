// Zoom, pan, select, mark, resize: the timeline with the mouse.

import assert from "node:assert/strict";
import { load, openPage, places, selectSomething, settled } from "./browser.mjs";

const width = (state) => BigInt(state.view.end) - BigInt(state.view.begin);

export async function zoomToThePointer({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  const before = await settled(page);
  const at = (state, part) => BigInt(state.view.begin) + BigInt(Math.round(Number(width(state)) * part));
  await page.mouse.move(canvas.x + canvas.width * 0.25, canvas.row);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -200);
  const after = await settled(page);
  assert.ok(width(after) < width(before) / 4n, `${width(after)} of ${width(before)}`);
  const moved = Number(at(after, 0.25) - at(before, 0.25));
  assert.ok(Math.abs(moved) <= Number(width(before)) / canvas.width, `the time at the pointer moved by ${moved} ns`);
  for (let i = 0; i < 12; i++) await page.mouse.wheel(0, 400);
  const out = await settled(page);
  assert.ok(width(out) >= width(before), "zooming out shows all");
  assert.ok(width(out) <= width(before) * 2n, "zooming out ends");
}

export async function zoomToSingleNanoseconds({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  await page.mouse.move(canvas.middle, canvas.row);
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, -400);
  const state = await settled(page);
  assert.ok(width(state) >= 19n && width(state) <= 40n, `${width(state)} ns`);
  assert.deepEqual(page.problems, []);
}

export async function panByDragging({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  await page.mouse.move(canvas.middle, canvas.row);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -300);
  const before = await settled(page);
  await page.mouse.down();
  await page.mouse.move(canvas.middle - 100, canvas.row, { steps: 5 });
  await page.mouse.up();
  const after = await settled(page);
  // The view is in fractions of a nanosecond.
  assert.ok(Math.abs(Number(width(after) - width(before))) <= 1, `${width(before)} became ${width(after)}`);
  const moved = Number(BigInt(after.view.begin) - BigInt(before.view.begin)) / (Number(width(before)) / canvas.width);
  assert.ok(Math.abs(moved - 100) < 2, `moved by ${moved} pixels`);
  await page.mouse.wheel(60, 0);
  const wheeled = await settled(page);
  assert.ok(BigInt(wheeled.view.begin) > BigInt(after.view.begin));
}

export async function selectAnItem({ browser, url }) {
  const page = await openPage(browser, url);
  const { selected } = await selectSomething(page);
  assert.ok(selected.count >= 1);
  await page.waitForFunction(() => document.querySelector("#live").textContent.length > 0);
  await page.waitForFunction(() => document.querySelector("#panel-details h2").textContent !== "Nothing selected");
  assert.deepEqual(page.problems, []);
}

export async function markOnTheRuler({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  await page.mouse.move(canvas.x + canvas.width * 0.3, canvas.y - 10);
  await page.mouse.down();
  await page.mouse.move(canvas.x + canvas.width * 0.6, canvas.y - 10, { steps: 5 });
  await page.mouse.up();
  const state = await settled(page);
  const part = (state.view.range.end - state.view.range.begin) / Number(width(state));
  assert.ok(Math.abs(part - 0.3) < 0.01, `marked ${part}`);
  await page.waitForFunction(() => location.hash.includes("range="));
  await page.keyboard.press("f");
  const fitted = await settled(page);
  assert.ok(Number(width(fitted)) < Number(width(state)) * 0.4, "F fits the range");
  await page.keyboard.press("Escape");
  assert.equal((await settled(page)).view.range, undefined);
}

/** A span without an end fits up to what is visible of it, and not up to the end of the trace. */
export async function spansWithoutAnEndFitTheView({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const { origin, length } = mock.trace;
  const page = await openPage(browser, url, { load: false });
  await page.route("**/api/tiles?*", async (route) => {
    const answer = await route.fetch();
    const tiles = await answer.json();
    const at = (time) => time - Number(BigInt(tiles.begin) - origin);
    for (const track of tiles.tracks) if (track.items) track.items = [0, at(5e8), at(length), 1, 0, 0];
    await route.fulfill({ response: answer, json: tiles });
  });
  await page.route("**/api/near?*", (route) => route.fulfill({ json: null }));
  const view = async () => {
    const { view } = await settled(page);
    return [view.begin, view.end].map((time) => Math.round(Number(BigInt(time) - origin) / 1e6));
  };
  const show = async (begin, end) => {
    // The page writes its address a moment after the last change; the same address again would change nothing.
    const address = `#view=${origin + begin},${origin + end}`;
    await page.waitForTimeout(400);
    await page.waitForFunction((hash) => location.hash !== hash, address);
    await page.evaluate((hash) => (location.hash = hash), address);
    await settled(page);
    const canvas = await places(page);
    const row = await page.locator('.label[data-kind="thread"]').first().boundingBox();
    return [canvas.middle, row.y + 12];
  };
  await load(page);
  await settled(page);
  const place = await show(400_000_000n, 800_000_000n);
  await page.mouse.click(...place);
  await page.waitForFunction(() => window.__ichnos.selected?.hasNoEnd);
  await page.keyboard.press("m");
  const { range } = (await settled(page)).view;
  assert.deepEqual([range.begin, range.end], [5e8, 8e8]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("f");
  assert.deepEqual(await view(), [494, 800]);
  await page.getByRole("button", { name: "Fit" }).click();
  assert.deepEqual(await view(), [-40, 2040], "all, as the span is visible already");
  await page.getByRole("button", { name: "Fit" }).click();
  assert.deepEqual(await view(), [470, 2030], "all of the span is visible");
  // So do the keyboard, a double click and the button of the details.
  await show(400_000_000n, 800_000_000n);
  await page.locator("#canvas").focus();
  await page.keyboard.press("Enter");
  assert.deepEqual(await view(), [494, 800]);
  await page.mouse.dblclick(...(await show(300_000_000n, 900_000_000n)));
  assert.deepEqual(await view(), [492, 900]);
  await show(400_000_000n, 800_000_000n);
  await page.locator("#panel-details").getByRole("button", { name: "Zoom in" }).click();
  assert.deepEqual(await view(), [494, 800]);
  // Where the view shows nothing of the span, it goes there.
  await show(100_000_000n, 200_000_000n);
  await page.keyboard.press("f");
  assert.deepEqual(await view(), [498, 602]);
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** True for times that differ by a nanosecond at most: fractions are rounded. */
function isNear(a, b) {
  const difference = typeof a === "number" ? BigInt(Math.round(a - b)) : BigInt(a) - BigInt(b);
  return difference >= -1n && difference <= 1n;
}

export async function stripMovesTheView({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  await page.mouse.move(canvas.middle, canvas.row);
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -300);
  const before = await settled(page);
  await page.mouse.click(canvas.x + canvas.width * 0.8, canvas.y - 40);
  const after = await settled(page);
  // Ends are rounded to nanoseconds.
  assert.ok(isNear(width(after), width(before)));
  assert.ok(BigInt(after.view.begin) > BigInt(before.view.begin));
}

export async function resize({ browser, url }) {
  const page = await openPage(browser, url);
  for (const size of [{ width: 700, height: 500 }, { width: 3840, height: 2160 }, { width: 1280, height: 800 }]) {
    await page.setViewportSize(size);
    await settled(page);
    const fits = await page.evaluate(() => {
      const canvas = document.querySelector("#canvas");
      return {
        overflow: document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight,
        pixels: canvas.width === Math.round(canvas.clientWidth * devicePixelRatio),
        aligned: document.querySelector("#ruler").getBoundingClientRect().left === canvas.getBoundingClientRect().left,
        height: canvas.clientHeight,
      };
    });
    assert.ok(!fits.overflow && fits.pixels && fits.aligned && fits.height > 60, JSON.stringify({ size, fits }));
  }
  const handle = await page.locator("#splitter").boundingBox();
  await page.mouse.move(handle.x + 200, handle.y + 3);
  await page.mouse.down();
  await page.mouse.move(handle.x + 200, handle.y - 100, { steps: 4 });
  await page.mouse.up();
  const moved = await page.locator("#splitter").boundingBox();
  assert.ok(moved.y < handle.y - 50, "the panel grows");
}

export async function sharpOnDenseScreens({ browser, url }) {
  const page = await openPage(browser, url, { deviceScaleFactor: 2 });
  const ratio = await page.evaluate(() => document.querySelector("#canvas").width / document.querySelector("#canvas").clientWidth);
  assert.ok(Math.abs(ratio - 2) < 0.01, String(ratio));
}

export async function addressRestoresTheView({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  await page.mouse.move(canvas.x + canvas.width * 0.4, canvas.row);
  for (let i = 0; i < 3; i++) await page.mouse.wheel(0, -300);
  await selectSomething(page);
  await page.keyboard.press("m");
  await page.keyboard.press("b");
  await page.keyboard.press("3");
  const before = await settled(page);
  // The address follows after a pause. Selecting opened the details.
  await page.waitForFunction(() => location.hash.includes("mark=") && !location.hash.includes("tab=details"));
  const fragment = new URL(page.url()).hash;
  const again = await openPage(browser, url, { fragment });
  const after = await settled(again);
  for (const [found, wanted] of [[after.view, before.view], [after.view.range, before.view.range]]) {
    assert.ok(isNear(found.begin, wanted.begin) && isNear(found.end, wanted.end), JSON.stringify([after.view, before.view]));
  }
  assert.equal(after.selected?.id ?? null, before.selected?.id ?? null);
  assert.equal(await again.locator('[role=tab][aria-selected="true"]').textContent(), "Statistics");
  assert.equal(new URL(again.url()).hash.includes("mark="), true);
}

export async function onlyVisibleTracksAreAskedFor({ browser, startMock }) {
  const mock = await startMock({ tracks: 10_000 });
  try {
    const page = await openPage(browser, mock.url);
    await settled(page);
    // The strip of the whole trace asks for the tracks with most on them, once and coarsely.
    const asked = () => new Set(mock.requests.filter((path) => !path.endsWith("pixels=400")).flatMap((path) => (new URL(path, mock.url).searchParams.get("tracks") ?? "").split(",")).filter(Boolean));
    assert.ok(asked().size < 60, `${asked().size} tracks`);
    assert.ok((await page.locator(".label").count()) < 60);
    await page.locator("#scroll").evaluate((scroller) => (scroller.scrollTop = 150_000));
    const state = await settled(page);
    assert.ok(state.drawn.items > 10);
    assert.ok(asked().size < 120, `${asked().size} tracks after scrolling`);
    assert.ok((await page.locator(".label").count()) < 60);
    const names = await page.locator(".label .name").allTextContents();
    assert.ok(names.every((name) => name.startsWith("task ")), names[0]);
  } finally {
    await mock.close();
  }
}

export async function requestsEndWhenTheViewMovesOn({ browser, url }) {
  const page = await openPage(browser, url);
  const canvas = await places(page);
  let [running, most] = [0, 0];
  const isTile = (request) => request.url().includes("/api/tiles");
  page.on("request", (request) => isTile(request) && (most = Math.max(most, ++running)));
  for (const name of ["requestfinished", "requestfailed"]) page.on(name, (request) => isTile(request) && running--);
  await page.mouse.move(canvas.middle, canvas.row);
  for (let i = 0; i < 30; i++) {
    await page.mouse.wheel(0, i < 15 ? -200 : 180);
    await page.waitForTimeout(15);
  }
  await settled(page);
  assert.ok(most <= 3, `${most} requests for tiles at once`);
}

/** Time of the processor for a frame while zooming: time by the clock depends on what else the machine does. */
// A measurement: its result depends on the machine.
export async function framesAreFast({ browser, url }) {
  if (!process.env.PAGE_SPEED) return "PAGE_SPEED=1 measures";
  const page = await openPage(browser, url, { viewport: { width: 3840, height: 2160 } });
  const { drawn } = await settled(page);
  const canvas = await places(page);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const scripts = async () => (await session.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "ScriptDuration").value;
  await page.mouse.move(canvas.middle, canvas.row);
  const [from, frames] = [await scripts(), await page.evaluate(() => window.__ichnos.drawn.frames)];
  for (let i = 0; i < 16; i++) await page.mouse.wheel(0, i % 2 ? -100 : 100);
  const after = await settled(page);
  const each = (1000 * ((await scripts()) - from)) / (after.drawn.frames - frames);
  console.log(`     ${after.drawn.frames - frames} frames of ${drawn.items} items at 3840x2160: ${each.toFixed(1)} ms each`);
  assert.ok(each < 50, `${each} ms`);
  return undefined;
}

export async function countsAddUp({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url, { viewport: { width: 1280, height: 4000 } });
  const state = await settled(page);
  const all = [...mock.trace.items.values()].reduce((sum, items) => sum + items.length, 0);
  assert.equal(state.drawn.count, all);
  return undefined;
}
