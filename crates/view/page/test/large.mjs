// A trace of millions of events: LARGE=1 says that PAGE_URL shows one, LARGE_EVENTS how many events and LARGE_ITEMS how many
// spans and instants it has. Every way to use the page, and how long a picture takes.

import assert from "node:assert/strict";
import { emptyPage, openPage, places, selectSomething, settled } from "./browser.mjs";

const WANTED = 50;
const isLarge = !!process.env.LARGE;
const width = (state) => BigInt(state.view.end) - BigInt(state.view.begin);

/** Records the time of each picture, which is measured around its drawing, and that between two of them. */
async function watchFrames(page) {
  await page.evaluate(() => {
    let state = window.__ichnos;
    window.frameTimes = { drawing: [], between: [] };
    let frames = state.drawn.frames;
    Object.defineProperty(window, "__ichnos", {
      configurable: true,
      get: () => state,
      set(next) {
        state = next;
        if (next.drawn.frames === frames) return;
        frames = next.drawn.frames;
        window.frameTimes.drawing.push(next.drawn.milliseconds);
      },
    });
    let last = performance.now();
    const tick = (now) => {
      window.frameTimes.between.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
}

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];

async function frames(page, what) {
  const { drawing, between } = await page.evaluate(() => window.frameTimes);
  const [drawn, passed] = [drawing, between].map((times) => times.sort((a, b) => a - b));
  const text = (times) => [0.5, 0.99, 1].map((part) => quantile(times, part).toFixed(1)).join(" / ");
  console.log(`     ${what}: ${drawn.length} pictures, median / 99 % / most: ${text(drawn)} ms drawing, ${text(passed)} ms between frames`);
}

/** Zooming with the wheel from all of the trace to microseconds and back, at different places. */
export async function zoomingIsSmooth({ browser, url }) {
  if (!isLarge) return "LARGE=1 measures";
  for (const size of [{ width: 1280, height: 800 }, { width: 3840, height: 2160 }]) {
    const page = await openPage(browser, url, { viewport: size });
    await settled(page);
    const canvas = await places(page);
    await watchFrames(page);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const scripts = async () => (await session.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "ScriptDuration").value;
    const [from, before] = [await scripts(), await page.evaluate(() => window.__ichnos.drawn.frames)];
    for (const part of [0.3, 0.7]) {
      await page.mouse.move(canvas.x + canvas.width * part, canvas.row);
      for (let i = 0; i < 60; i++) {
        await page.mouse.wheel(0, i < 30 ? -160 : 160);
        await page.waitForTimeout(20);
      }
    }
    const [to, after] = [await scripts(), await page.evaluate(() => window.__ichnos.drawn.frames)];
    // By the clock, pictures take as long as other programs let them.
    const each = (1000 * (to - from)) / (after - before);
    await frames(page, `${size.width}x${size.height}, ${each.toFixed(1)} ms of the processor each`);
    assert.ok(each < WANTED, `${each} ms of the processor for a picture`);
    assert.deepEqual(page.problems, []);
    await emptyPage(page);
  }
  return undefined;
}

/** What is drawn of all of the trace, and of a part that is read again, are all of its events. */
export async function everyEventIsCounted({ browser, url }) {
  if (!isLarge) return "LARGE=1 measures";
  const page = await openPage(browser, url, { viewport: { width: 1280, height: 2400 } });
  const state = await settled(page);
  const expected = Number(process.env.LARGE_ITEMS);
  assert.ok(Math.abs(state.drawn.count - expected) <= 8, `${state.drawn.count} of ${expected}`);
  await page.keyboard.press("3");
  await page.locator("#panel-stats table").first().waitFor();
  const text = await page.locator("#panel-stats .bar").innerText();
  const events = Number(/([\d,]+) events/.exec(text)?.[1]?.replaceAll(",", ""));
  // Statistics stop after a time, and say so.
  if (/part of the range only/.test(text)) assert.ok(events > 0 && events < Number(process.env.LARGE_EVENTS), text);
  else assert.equal(events, Number(process.env.LARGE_EVENTS), text);
  return undefined;
}

export async function everyWayToUseIt({ browser, url }) {
  if (!isLarge) return "LARGE=1 measures";
  const page = await openPage(browser, url);
  const canvas = await places(page);
  const times = [];
  const step = async (name, act) => {
    const started = performance.now();
    const found = await act();
    times.push(`${name} ${Math.round(performance.now() - started)} ms`);
    return found;
  };
  const all = await settled(page);
  const near = await step("zoom", async () => {
    await page.mouse.move(canvas.middle, canvas.row);
    for (let i = 0; i < 30; i++) await page.mouse.wheel(0, -160);
    return settled(page);
  });
  assert.ok(width(near) < width(all) / 1000n);
  const moved = await step("pan", async () => {
    await page.mouse.down();
    await page.mouse.move(canvas.middle - 200, canvas.row, { steps: 8 });
    await page.mouse.up();
    return settled(page);
  });
  assert.ok(BigInt(moved.view.begin) > BigInt(near.view.begin));
  const { selected } = await step("select", () => selectSomething(page));
  assert.ok(selected.count >= 1);
  await step("details", () => page.waitForFunction(() => document.querySelector("#panel-details h2").textContent !== "Nothing selected"));
  await step("mark", async () => {
    await page.mouse.move(canvas.x + canvas.width * 0.3, canvas.y - 10);
    await page.mouse.down();
    await page.mouse.move(canvas.x + canvas.width * 0.6, canvas.y - 10, { steps: 5 });
    await page.mouse.up();
  });
  assert.ok((await settled(page)).view.range);
  for (const [key, id] of [["2", "events"], ["3", "stats"], ["4", "flame"], ["6", "log"]]) {
    await step(id, async () => {
      await page.keyboard.press(key);
      await page.waitForFunction((id) => !/Loading|^$/.test(document.querySelector(`#panel-${id} .bar`).textContent), id);
      await settled(page);
    });
  }
  await step("export of the range", async () => {
    await page.keyboard.press("e");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Trace", exact: true }).click()]);
    assert.ok((await download.path()).length > 0);
    await page.keyboard.press("Escape");
  });
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  for (let i = 0; i < 3; i++) await page.keyboard.press("f");
  await step("search", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("function 77");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /\d/.test(document.querySelector("#hits").textContent), null, { timeout: 60_000 });
  });
  assert.match(await page.locator("#hits").textContent(), / of [\d,]+/);
  await step("filter", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("\\");
    await page.keyboard.type('event == "function 77"');
    await page.keyboard.press("Enter");
    // The events of the filter are counted while they are looked for.
    await page.waitForFunction((all) => window.__ichnos.ready && window.__ichnos.drawn.exact && window.__ichnos.drawn.count < all, all.drawn.count, { timeout: 90_000 });
  });
  await step("resize", async () => {
    for (const size of [{ width: 3840, height: 2160 }, { width: 1280, height: 800 }]) {
      await page.setViewportSize(size);
      await settled(page);
    }
  });
  assert.deepEqual(page.problems, []);
  console.log(`     ${times.join(", ")}`);
  return undefined;
}
