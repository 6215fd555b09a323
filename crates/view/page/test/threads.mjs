// Threads and their states: only with a trace that has scheduling (PAGE_URL).

import assert from "node:assert/strict";
import { openPage, places, settled } from "./browser.mjs";
import { NAMES } from "./trace.mjs";

async function processors(page) {
  const tracks = await page.evaluate(async () => (await (await fetch("api/tracks")).json()).tracks);
  return tracks.filter((track) => track.runsThreads);
}

/** A click on a processor shows the thread; its links lead to what it names. */
export async function processorsLeadToThreads({ browser, url }) {
  const page = await openPage(browser, url);
  if (!(await processors(page)).length) return "the trace has no scheduling";
  const canvas = await places(page);
  const row = await page.locator('.label[data-kind="processor"]').first().boundingBox();
  for (let part = 0.3; part < 0.9; part += 0.007) {
    await page.mouse.click(canvas.x + canvas.width * part, row.y + 12);
    if ((await page.evaluate(() => window.__ichnos.selected))?.count === 1) break;
  }
  const facts = page.locator("#panel-details dl.facts");
  await facts.getByText("State").waitFor();
  assert.match(await facts.innerText(), /running/);
  const name = await page.locator("#panel-details h2").first().innerText();
  await facts.getByRole("button").first().click();
  await page.waitForFunction(() => document.querySelector('.label[aria-selected="true"]')?.dataset.kind === "thread");
  assert.ok((await page.locator('.label[aria-selected="true"]').innerText()).includes(name.split(" (")[0]));
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Statistics say first which program used the processors; tables are sorted by their columns. */
export async function statisticsSayWhatRan({ browser, url }) {
  const page = await openPage(browser, url);
  if (!(await processors(page)).length) return "the trace has no scheduling";
  const table = page.locator("#panel-stats table").first();
  await table.waitFor();
  assert.match(await table.innerText(), /^Processor time/);
  await page.locator("#panel-stats").getByRole("button", { name: /^All .* rows$/ }).first().click();
  const programs = () => table.locator("tbody td:first-child").allInnerTexts();
  const byTime = await programs();
  await table.getByRole("button", { name: "Program" }).click();
  assert.deepEqual(await programs(), [...byTime].sort());
  await table.getByRole("button", { name: "Ran" }).click();
  assert.equal((await programs())[0], byTime[0]);
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Tracks are found by their names, closed and opened. */
export async function tracksAreFound({ browser, url }) {
  const page = await openPage(browser, url);
  const labels = () => page.locator(".label").allInnerTexts();
  const name = await page.evaluate(async () => {
    const { tracks } = await (await fetch("api/tracks")).json();
    return tracks.findLast((track) => track.kind === "thread" || track.kind === "process")?.name;
  });
  if (!name) return "the trace has no threads";
  await page.locator("#find-track").fill(name);
  await settled(page);
  assert.ok((await labels()).some((text) => text.includes(name)), (await labels()).join(", "));
  await page.locator("#find-track").press("Escape");
  await page.getByRole("button", { name: "Close all tracks" }).click();
  await settled(page);
  assert.equal(await page.locator('.label[data-kind="thread"]').count(), 0);
  await page.getByRole("button", { name: "Open all tracks" }).click();
  await settled(page);
  assert.equal(await page.locator('.label[data-kind="process"][aria-expanded="false"]').count(), 0);
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Page about threads that two processors ran, made up; `null` with another server. */
async function scheduledPage({ browser, mock, startMock }, options = {}) {
  if (!mock) return null;
  const own = await startMock({ scheduling: true });
  const page = await openPage(browser, own.url, options);
  return { own, page };
}

const labels = (page) => page.locator(".label .name").allInnerTexts();

/** Labels from top to bottom. */
async function order(page) {
  return page.evaluate(() => [...document.querySelectorAll(".label")].map((label) => [label.getBoundingClientRect().top, label.querySelector(".name").textContent]).sort((a, b) => a[0] - b[0]).map(([, name]) => name));
}

/** The critical path is a track, and a table whose rows lead to what the threads did. */
export async function criticalPathsAreATrackAndATable(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const canvas = await places(page);
  const row = await page.locator('.label[data-kind="processor"]').first().boundingBox();
  for (let part = 0.3; part < 0.9; part += 0.007) {
    await page.mouse.click(canvas.x + canvas.width * part, row.y + 12);
    if ((await page.evaluate(() => window.__ichnos.selected))?.count === 1) break;
  }
  const details = page.locator("#panel-details");
  await details.getByText("Woke up").waitFor();
  await details.getByRole("button", { name: "Critical path of the range" }).click();
  const table = details.locator("table").nth(1);
  await table.waitFor();
  assert.equal(await table.locator("tbody tr").count(), 6);
  assert.match((await order(page))[0], /^Critical path of /);
  // A row, and a step of the track, lead to the state of the thread.
  await table.locator("tbody button").nth(4).click();
  await page.waitForFunction(() => window.__ichnos.selected?.name === "sleeping");
  const before = await page.evaluate(() => window.__ichnos.selected);
  assert.equal(await table.locator("tbody tr").count(), 6, "the table stays");
  await page.keyboard.press("f");
  await page.keyboard.press("f");
  await settled(page);
  await page.mouse.click(canvas.x + canvas.width * 0.3, canvas.y + 12);
  await page.waitForFunction((from) => window.__ichnos.selected?.from !== from, before.from);
  assert.ok(await details.locator("dl.facts").innerText());
  await page.locator('.label[data-kind="path"]').hover();
  await page.locator('.label[data-kind="path"] .hide').click();
  await settled(page);
  assert.ok(!(await labels(page)).some((name) => name.startsWith("Critical path")));
  assert.deepEqual(page.problems, []);
  await own.close();
  return undefined;
}

/** Tracks stay at the top, and are hidden, by keys and by the pointer; the address keeps both. */
export async function tracksArePinnedAndHidden(context) {
  const { own, page } = (await scheduledPage(context, { viewport: { width: 1280, height: 620 } })) ?? {};
  if (!page) return "only with the mock";
  const thread = page.locator('.label[data-kind="thread"]').nth(2);
  const name = await thread.locator(".name").innerText();
  await thread.click();
  await page.keyboard.press("p");
  await settled(page);
  assert.equal((await order(page))[0], name);
  for (let i = 0; i < 4; i++) await page.keyboard.press("PageDown");
  await settled(page);
  assert.equal((await order(page))[0], name, "it stays where it is");
  const first = await page.locator(".label", { hasText: name }).boundingBox();
  const canvas = await places(page);
  await page.mouse.click(canvas.middle, first.y + 12);
  assert.equal(await page.locator('.label[aria-selected="true"] .name').innerText(), name);
  const shown = await page.evaluate(() => {
    const stage = document.getElementById("labels").getBoundingClientRect();
    const isShown = (label) => label.getBoundingClientRect().top > stage.top + 80 && label.getBoundingClientRect().bottom < stage.bottom;
    return [...document.querySelectorAll('.label[data-kind="thread"]')].find(isShown).dataset.track;
  });
  const hidden = page.locator(`.label[data-track="${shown}"]`);
  const hiddenName = await hidden.locator(".name").innerText();
  await hidden.hover();
  await hidden.locator(".hide").click();
  await settled(page);
  await page.waitForTimeout(400);
  assert.ok(!(await labels(page)).includes(hiddenName));
  const hash = new URL(page.url()).hash;
  assert.match(hash, /pinned=\d+/);
  assert.match(hash, /hidden=\d+/);
  const again = await openPage(context.browser, own.url, { fragment: hash });
  assert.equal((await order(again))[0], name);
  assert.ok(!(await labels(again)).includes(hiddenName));
  await again.getByRole("button", { name: "1 hidden" }).click();
  await page.getByRole("button", { name: "1 hidden" }).click();
  await page.locator("#find-track").fill(hiddenName);
  await settled(page);
  assert.ok((await labels(page)).includes(hiddenName));
  assert.deepEqual(page.problems, []);
  await own.close();
  return undefined;
}

/** Color of a pixel of the picture. */
async function pixel(page, x, y) {
  return page.evaluate(([left, top]) => {
    const canvas = document.getElementById("canvas");
    return [...canvas.getContext("2d").getImageData(left * devicePixelRatio, top * devicePixelRatio, 1, 1).data.slice(0, 3)];
  }, [x, y]);
}

/** A span is paler while its thread sleeps than while it runs. */
export async function spansThatSleptLookDifferent(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const thread = own.trace.tracks.find((track) => track.kind === "thread");
  const states = own.trace.states.get(own.trace.tracks.find((track) => track.kind === "states" && track.parent === thread.id).id);
  const span = own.trace.items.get(thread.id).filter((item) => item.lane === 0).sort((a, b) => b.to - b.from - (a.to - a.from))[0];
  const within = (name) => states.find((item) => item.from > span.from + 1e6 && item.to < span.to && item.to - item.from > 1e6 && NAMES[item.name] === name);
  const { origin } = own.trace;
  const row = await page.locator(`.label[data-track="${thread.id}"]`).boundingBox();
  const canvas = await places(page);
  const colors = {};
  for (const name of ["running", "sleeping"]) {
    const { from, to } = within(name);
    const middle = origin + BigInt(Math.round((from + to) / 2));
    await page.evaluate((hash) => (location.hash = hash), `#view=${middle - 100_000n},${middle + 100_000n}`);
    await settled(page);
    colors[name] = await pixel(page, canvas.width * 0.9, row.y - canvas.y + 6);
  }
  assert.notDeepEqual(colors.running, colors.sleeping);
  const light = ([r, g, b]) => r + g + b;
  assert.ok(light(colors.sleeping) > light(colors.running), JSON.stringify(colors));
  await own.close();
  return undefined;
}

/** Tracks without anything that the filter selects go, and come back. */
export async function emptyTracksGoWithAFilter({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url);
  const all = await labels(page);
  await page.locator("#filter").fill('event == "lost events"');
  await page.locator("#filter").press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".label").length === 2);
  assert.deepEqual(await labels(page), ["demo", "Losses and damage"]);
  await page.locator("#filter").fill("length > 99999999999");
  await page.locator("#filter").press("Enter");
  await page.locator("#message").getByText("selects no event").waitFor();
  await page.locator("#filter").fill("");
  await page.locator("#filter").press("Enter");
  await page.waitForFunction((number) => document.querySelectorAll(".label").length === number, all.length);
  return undefined;
}
