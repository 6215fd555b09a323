// Threads and their states: only with a trace that has scheduling (PAGE_URL).

import assert from "node:assert/strict";
import { emptyPage, openFragment, openPage, places, settled } from "./browser.mjs";
import { NAMES } from "./trace.mjs";

async function processors(page) {
  const tracks = await page.evaluate(async () => (await (await fetch("api/tracks")).json()).tracks);
  return tracks.filter((track) => track.runsThreads);
}

/** Clicks on the first processor until a single slice is selected, as the picture may not be there yet. Returns the places of the canvas. */
async function selectSlice(page) {
  const canvas = await places(page);
  const row = await page.locator('.label[data-kind="processor"]').first().boundingBox();
  const isSelected = async () => (await page.evaluate(() => window.__ichnos.selected))?.count === 1;
  for (let round = 0; round < 20 && !(await isSelected()); round++) {
    for (let part = 0.3; part < 0.9 && !(await isSelected()); part += 0.007) {
      await page.mouse.click(canvas.x + canvas.width * part, row.y + 12);
    }
    await page.waitForTimeout(250);
  }
  return canvas;
}

/** A click on a processor shows the thread; its links lead to what it names. */
export async function processorsLeadToThreads({ browser, mock, url }) {
  if (mock) return "the mock's trace has no scheduling";
  const page = await openPage(browser, url);
  if (!(await processors(page)).length) return "the trace has no scheduling";
  await selectSlice(page);
  const facts = page.locator("#panel-details dl.facts");
  await facts.getByText("State").waitFor();
  assert.match(await facts.innerText(), /running/);
  // The track of the thread has its last name.
  const last = facts.locator("dt", { hasText: "Last name" }).locator("+ dd");
  const name = await ((await last.count()) ? last : page.locator("#panel-details h2").first()).innerText();
  await facts.getByRole("button").first().click();
  await page.waitForFunction(() => document.querySelector('.label[aria-selected="true"]')?.dataset.kind === "thread");
  assert.ok((await page.locator('.label[aria-selected="true"]').innerText()).includes(name.split(" (")[0]));
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Statistics say first which program used the processors; tables are sorted by their columns. */
export async function statisticsSayWhatRan({ browser, mock, url }) {
  if (mock) return "the mock's trace has no scheduling";
  const page = await openPage(browser, url);
  if (!(await processors(page)).length) return "the trace has no scheduling";
  const table = page.locator("#panel-stats table").first();
  await table.waitFor();
  assert.match(await table.innerText(), /^Processor time/);
  await page.locator("#panel-stats").getByRole("button", { name: /^(All .* rows|Show .* of .*)$/ }).first().click();
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

/** Waits until the critical path of a thread is the first row: its label is there before it is above the others. */
async function pathIsFirst(page, thread) {
  await page.waitForFunction((name) => {
    const labels = [...document.querySelectorAll(".label")];
    const tops = labels.map((label) => label.getBoundingClientRect().top);
    return labels[tops.indexOf(Math.min(...tops))]?.querySelector(".name").textContent.startsWith(name);
  }, `Critical path of ${thread}`);
}

/** The critical path is a track, and a table whose rows lead to what the threads did. */
export async function criticalPathsAreATrackAndATable(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const canvas = await selectSlice(page);
  const details = page.locator("#panel-details");
  await details.getByText("Woke up").waitFor();
  await details.getByRole("button", { name: "Critical path of the range" }).click();
  const table = details.locator("table").nth(1);
  await table.waitFor();
  assert.equal(await table.locator("tbody tr").count(), 6);
  await pathIsFirst(page, "");
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
  assert.ok(!(await labels(page)).includes(hiddenName));
  await page.waitForFunction(() => location.hash.includes("hidden="));
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
    await openFragment(page, `#view=${middle - 100_000n},${middle + 100_000n}`);
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

/** The tracks of a filter are not those of the one before it. */
export async function eachFilterHasItsTracks({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url);
  const all = (await labels(page)).length;
  let isComplete = false;
  await page.route("**/api/filled?*parse*", async (route) => {
    await (isComplete ? route.fallback() : route.fulfill({ json: { complete: false, tracks: [] } }));
  });
  await page.locator("#filter").fill("length > 99999999999");
  await page.locator("#filter").press("Enter");
  await page.locator("#message").getByText("selects no event").waitFor();
  await page.locator("#filter").fill('event == "parse"');
  await page.locator("#filter").press("Enter");
  await page.waitForFunction((number) => document.querySelectorAll(".label").length === number, all);
  await settled(page);
  assert.equal(await page.locator("#message").isVisible(), false, "nothing is known of the filter yet");
  isComplete = true;
  await page.waitForFunction((number) => document.querySelectorAll(".label").length < number, all);
  assert.ok((await labels(page)).length > 2);
  return undefined;
}

/** Place of the states of a thread, at a part of the width where a single one is. */
async function clickState(page, thread, canvas) {
  const row = await page.locator(`.label[data-track="${thread}"]`).boundingBox();
  for (let part = 0.3; part < 0.9; part += 0.007) {
    await page.mouse.click(canvas.x + canvas.width * part, row.y + row.height - 5);
    if ((await page.evaluate(() => window.__ichnos.selected))?.count === 1) return;
  }
  throw new Error("no state was selected");
}

const announced = (page) => page.locator("#live").textContent();

/** A click on the states of a thread chooses the thread for the keys, which say what they did. */
export async function keysPinAndHideTheThreadOfAState(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const threads = own.trace.tracks.filter((track) => track.kind === "thread");
  await clickState(page, threads[1].id, await places(page));
  const rows = () => page.locator(".label").first().getAttribute("aria-setsize").then(Number);
  const before = await rows();
  assert.ok((await announced(page)).endsWith(threads[1].name), await announced(page));
  await page.keyboard.press("p");
  await settled(page);
  assert.equal(await announced(page), `Pinned ${threads[1].name}`);
  assert.equal((await order(page))[0], threads[1].name);
  assert.match(await page.locator(`.label[data-track="${threads[1].id}"]`).textContent(), /, pinned$/);
  assert.equal(await rows(), before, "no row was added");
  await page.keyboard.press("p");
  assert.equal(await announced(page), `Unpinned ${threads[1].name}`);
  await page.locator(`.label[data-track="${threads[1].id}"]`).click();
  await page.keyboard.press("h");
  await settled(page);
  assert.equal(await announced(page), `Hid ${threads[1].name}`);
  assert.equal(await rows(), before - 1);
  // The label after it has the focus.
  const at = await page.evaluate(() => document.activeElement.dataset.track);
  const shown = await page.evaluate(() => document.activeElement.getAttribute("aria-selected"));
  assert.ok(at && at !== String(threads[1].id) && shown === "true", `${at} ${shown}`);
  assert.deepEqual(page.problems, []);
  await own.close();
  return undefined;
}

/** Links to a hidden track show it; those to a track without anything that the filter selects say so. */
export async function linksShowHiddenTracks(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const [first, second] = own.trace.tracks.filter((track) => track.kind === "thread");
  await page.locator(`.label[data-track="${first.id}"]`).click();
  await page.keyboard.press("h");
  await settled(page);
  assert.equal(await page.locator(`.label[data-track="${first.id}"]`).count(), 0);
  await clickState(page, second.id, await places(page));
  const woke = page.locator("#panel-details div", { has: page.locator("h3", { hasText: "Woke up" }) }).last().getByRole("button").first();
  await woke.click();
  await page.locator(`.label[data-track="${first.id}"]`).waitFor();
  await clickState(page, second.id, await places(page));
  await page.locator("#filter").fill('event == "lost events"');
  await page.locator("#filter").press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".label").length === 2);
  await woke.click();
  await page.waitForFunction(() => document.getElementById("live").textContent.includes("hidden by the filter"));
  await own.close();
  return undefined;
}

/** The path is asked for by the clock of the trace, and found where it is drawn; of two requests, the last one counts. */
export async function criticalPathsFollowMovedClocks(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const thread = own.trace.tracks.find((track) => track.kind === "thread");
  const root = own.trace.tracks.find((track) => track.kind === "trace").id;
  const { origin } = own.trace;
  const offset = 500_000_000n;
  const [begin, end] = [origin + 700_000_000n, origin + 1_300_000_000n];
  await openFragment(page, `#view=${begin},${end}&range=${begin},${end}&offset=${root},${offset}`);
  const canvas = await places(page);
  await clickState(page, thread.id, canvas);
  let isSlow = true;
  let answerSlow = () => {};
  const slow = new Promise((done) => (answerSlow = done));
  await page.route("**/api/path?*", async (route) => {
    if (isSlow) await slow;
    await route.continue().catch(() => {});
  });
  const details = page.locator("#panel-details");
  await details.getByRole("button", { name: "Critical path", exact: true }).click();
  await details.getByText("Reading the trace").waitFor();
  // What else changes the rows does not take the note away.
  await page.getByRole("button", { name: "Close all tracks" }).click();
  await page.getByRole("button", { name: "Open all tracks" }).click();
  assert.ok(await details.getByText("Reading the trace").isVisible());
  isSlow = false;
  const asked = page.waitForRequest((request) => request.url().includes("/api/path?"));
  await details.getByRole("button", { name: "Critical path of the range" }).click();
  const parameters = new URL((await asked).url()).searchParams;
  assert.equal(parameters.get("begin"), String(begin - offset));
  assert.equal(parameters.get("end"), String(end - offset));
  await details.locator("table").nth(1).waitFor();
  // The first request is answered last.
  answerSlow();
  await page.waitForTimeout(500);
  await settled(page);
  // The fourth of six steps of the range runs; it is named where it is drawn.
  await page.mouse.move(canvas.x + canvas.width * 0.58, canvas.y + 12);
  const { name } = own.trace.tracks.filter((track) => track.kind === "thread")[9];
  assert.equal(await page.locator("#tip .name").textContent(), name);
  await page.locator("#find-track").fill(thread.name);
  await page.locator("#find-track").press("Enter");
  await settled(page);
  assert.equal(await page.locator('.label[aria-selected="true"]').getAttribute("data-track"), String(thread.id));
  assert.deepEqual(page.problems, []);
  await own.close();
  return undefined;
}

/** Waits are those of the range as it is shown, at the times where they are drawn. */
export async function waitsFollowMovedClocks(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const root = own.trace.tracks.find((track) => track.kind === "trace").id;
  const states = own.trace.tracks.find((track) => track.kind === "states").id;
  const { origin } = own.trace;
  const wait = (begin, name) => ({ states, name, begin: String(origin + begin), end: String(origin + begin + 1_000_000n), waitsIn: "read" });
  await page.route("**/api/waits?*", (route) => route.fulfill({ json: { waits: [wait(300_000_000n, "inside"), wait(900_000_000n, "outside")] } }));
  const asked = page.waitForRequest((request) => request.url().includes("/api/waits?begin=1700000000200"));
  await page.evaluate((hash) => (location.hash = hash), `#view=${origin + 700_000_000n},${origin + 1_000_000_000n}&offset=${root},500000000`);
  await asked;
  const table = page.locator("#panel-stats table", { has: page.locator("caption", { hasText: "Longest waits" }) });
  await table.getByText("22:13:20.800").waitFor();
  assert.match(await table.innerText(), /inside/);
  assert.doesNotMatch(await table.innerText(), /outside/);
  await own.close();
  return undefined;
}

/** Of many threads of a name, a path has one row with the number of them. */
export async function criticalPathsAreSummedByName(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  const thread = own.trace.tracks.find((track) => track.kind === "thread");
  const { origin } = own.trace;
  const step = (i, name, state, begin, end) => ({ thread: i, name, state, begin: String(origin + begin), end: String(origin + end) });
  const workers = Array.from({ length: 3000 }, (_, i) => step(5000 + i, `worker (${5000 + i})`, "running", BigInt(i) * 100n, BigInt(i) * 100n + 70n));
  const main = Array.from({ length: 3000 }, (_, i) => step(1, "main (1)", "running", BigInt(i) * 100n + 70n, BigInt(i) * 100n + 100n));
  await page.route("**/api/path?*", (route) => route.fulfill({ json: { total: 6000, complete: true, command: "ichnos threads", steps: [...workers, ...main] } }));
  await clickState(page, thread.id, await places(page));
  await page.getByRole("button", { name: "Critical path of the range" }).click();
  const table = page.locator("#panel-details table").first();
  await table.waitFor();
  assert.deepEqual((await table.locator("tbody tr").allInnerTexts()).map((row) => row.split("\t")), [
    ["worker (3,000 threads)", "running", "210 µs", "70.0 %", "3,000"],
    ["main (1)", "running", "90 µs", "30.0 %", "3,000"],
  ]);
  await own.close();
  return undefined;
}

/** A filter opens what has something selected below it, until it is closed by hand, and leaves all as it was. */
export async function filtersOpenWhatIsClosed({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const process = mock.trace.tracks.findLast((track) => track.kind === "process");
  const threads = mock.trace.tracks.filter((track) => track.parent === process.id && track.kind === "thread");
  const page = await openPage(browser, url, { fragment: `#collapsed=${process.id}` });
  const label = page.locator(`.label[data-track="${process.id}"]`);
  const first = page.locator(`.label[data-track="${threads[0].id}"]`);
  assert.equal(await label.getAttribute("aria-expanded"), "false");
  await page.locator("#filter").fill('event == "query"');
  await page.locator("#filter").press("Enter");
  await first.waitFor();
  assert.equal(await label.getAttribute("aria-expanded"), "true");
  await label.locator(".toggle").click();
  await settled(page);
  assert.equal(await first.count(), 0);
  assert.equal(await label.getAttribute("aria-expanded"), "false");
  await label.locator(".toggle").click();
  await first.waitFor();
  await page.locator("#filter").fill("");
  await page.locator("#filter").press("Enter");
  await first.waitFor({ state: "detached" });
  assert.equal(await label.getAttribute("aria-expanded"), "false");
  assert.match(new URL(page.url()).hash, new RegExp(`collapsed=${process.id}`));
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Programs that ran longest have colors that differ, whatever their names are. */
export async function programsHaveColorsThatDiffer(context) {
  if (!context.mock) return "only with the mock";
  const own = await context.startMock({ scheduling: true });
  for (const names of [["scenic (1)", "gallery (2)", "x (3)"], ["a (1)", "b (2)", "c (3)"], ["vlc (1)", "sudo (2)", "Xorg (3)"]]) {
    const processes = own.trace.tracks.filter((track) => track.kind === "process");
    processes.forEach((track, i) => (track.name = names[i]));
    const page = await openPage(context.browser, own.url);
    const processor = own.trace.tracks.find((track) => track.runsThreads);
    const row = await page.locator(`.label[data-track="${processor.id}"]`).boundingBox();
    const canvas = await places(page);
    const colors = [];
    for (const { id } of processes) {
      const threads = own.trace.tracks.filter((track) => track.kind === "thread" && track.parent === id).map((track) => track.name);
      const { from, to } = own.trace.states.get(processor.id).find((item) => threads.includes(NAMES[item.name]) && item.to - item.from > 1e6);
      const middle = own.trace.origin + BigInt(Math.round((from + to) / 2));
      await openFragment(page, `#view=${middle - 100_000n},${middle + 100_000n}`);
      colors.push(await pixel(page, canvas.width * 0.9, row.y - canvas.y + 12));
    }
    const distance = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
    for (let i = 0; i < colors.length; i++) {
      assert.ok(distance(colors[i], [255, 255, 255]) > 110, `${names[i]} is pale: ${colors[i]}`);
      for (let k = 0; k < i; k++) assert.ok(distance(colors[i], colors[k]) > 55, `${names[i]} and ${names[k]}: ${colors[i]}, ${colors[k]}`);
    }
    await emptyPage(page);
  }
  await own.close();
  return undefined;
}

/** A thread that got another name has the one of that time on the processor and in its details, which say what it is called later. */
export async function threadsHaveTheNameOfTheTime(context) {
  const { own, page } = (await scheduledPage(context)) ?? {};
  if (!page) return "only with the mock";
  await page.route("**/api/thread?*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: answer && { ...answer, name: "fluffy (5728)" } });
  });
  await selectSlice(page);
  const { name } = await page.evaluate(() => window.__ichnos.selected);
  const facts = page.locator("#panel-details dl.facts");
  await facts.getByText("Last name").waitFor();
  assert.equal(await page.locator("#panel-details h2").first().innerText(), name);
  assert.match(await facts.innerText(), /Last name\s+fluffy \(5728\)/);
  assert.ok(await facts.getByRole("button", { name, exact: true }).isVisible());
  await page.getByRole("button", { name: "Critical path of the range" }).click();
  await page.locator("#panel-details table").nth(1).waitFor();
  await pathIsFirst(page, name);
  // The bar of states does not say the name of the time: it has the last one.
  await clickState(page, own.trace.tracks.find((track) => track.kind === "thread").id, await places(page));
  await page.waitForFunction(() => document.querySelector("#panel-details h2").textContent === "fluffy (5728)");
  assert.deepEqual(page.problems, []);
  await own.close();
  return undefined;
}
