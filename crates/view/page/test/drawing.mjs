// What is drawn: texts and shapes, as the exported picture has them, and pixels.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { load, openFragment, openPage, places, selectSomething, settled } from "./browser.mjs";

/** Elements of the exported picture: their names, attributes and texts. */
async function picture(page) {
  await page.keyboard.press("e");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG", exact: true }).click()]);
  await page.keyboard.press("Escape");
  const text = (await readFile(await file.path())).toString();
  // One text crosses to this process sooner than thousands of objects.
  const elements = await page.evaluate((source) => {
    const all = new DOMParser().parseFromString(source, "image/svg+xml").querySelectorAll("*");
    const attributes = (one) => Object.fromEntries([...one.attributes].map(({ name, value }) => [name, value]));
    return JSON.stringify([...all].map((one) => ({ tag: one.tagName, text: one.tagName === "text" ? one.textContent : "", ...attributes(one) })));
  }, text);
  return JSON.parse(elements);
}

const differences = (elements) => elements.filter((one) => /^[+\u2212][\d.]+ \S+$/.test(one.text)).map((one) => one.text);

/** Each mark of the ruler has a difference of its own, from the left edge or from the selection. */
export async function theRulerShowsDifferences({ browser, url }) {
  const page = await openPage(browser, url);
  const { selected } = await selectSomething(page);
  const trace = await page.evaluate(async () => (await fetch("api/trace")).json());
  const begin = BigInt(trace.begin) + BigInt(Math.round(selected.from));
  for (const width of [20n, 4_000n, 7_000_000n]) {
    await openFragment(page, `#view=${begin - width / 3n},${begin + width}`);
    const shown = differences(await picture(page));
    assert.ok(shown.length >= 3, `${width}: ${shown}`);
    assert.equal(new Set(shown).size, shown.length, `${width}: ${shown}`);
  }
  await page.keyboard.press("Escape");
  const fromEdge = differences(await picture(page));
  assert.ok(fromEdge.every((text) => text.startsWith("+")), fromEdge.join());
  return undefined;
}

/** Arrows that cover each other are one, which is thicker than others. */
export async function arrowsAreBundled({ browser, mock, url }) {
  if (!mock) return "needs the mock";
  const [[, ...threads]] = byProcess(mock, "thread");
  const flows = (shift) => Array.from({ length: 40 }, (_, i) => [threads[0], 3e8 + i * 1e4 - shift, threads[1], 6e8 + i * 1e4 - shift]);
  const page = await openPage(browser, url, { load: false });
  await page.route("**/api/flows?*", async (route) => {
    const shift = Number(BigInt(new URL(route.request().url()).searchParams.get("begin")) - mock.trace.origin);
    const lone = [threads[1], 1e9 - shift, threads[0], 1.3e9 - shift];
    await route.fulfill({ json: { generation: 1, complete: true, flows: [...flows(shift), lone].flat() } });
  });
  await load(page);
  await page.waitForFunction(() => window.__ichnos?.drawn.flows === 41);
  const widths = (await picture(page)).filter((one) => one.tag === "path").map((one) => Number(one["stroke-width"]));
  assert.equal(widths.length, 2, widths.join());
  assert.ok(Math.max(...widths) > 2 * Math.min(...widths), widths.join());
  return undefined;
}

/** Loads the page, and answers with flows, each a list of two tracks and the times of its ends. */
async function answerFlows(page, { origin }, list) {
  await page.route("**/api/flows?*", async (route) => {
    const shift = Number(BigInt(new URL(route.request().url()).searchParams.get("begin")) - origin);
    const flows = list.flatMap(([track, from, other, to]) => [track, from - shift, other, to - shift]);
    await route.fulfill({ json: { generation: 1, complete: true, flows } });
  });
  await load(page);
  await page.waitForFunction((number) => window.__ichnos?.drawn.flows === number, list.length);
  await settled(page);
}

/** Heights of both ends of each arrow of the picture, as texts. */
async function arrows(page) {
  const found = (await picture(page)).filter((one) => one.tag === "path").map((one) => one.d.split(/[MC ]/).filter(Boolean).map(Number));
  return found.map((numbers) => `${numbers[1]} to ${numbers.at(-1)}`).sort();
}

/** Tracks of the mock by the processes that they are in, from top to bottom. */
function byProcess(mock, kind) {
  const processes = ["<b>", "server", "שרת"].map((name) => mock.trace.tracks.find((track) => track.kind === "process" && track.name.startsWith(name)));
  return processes.map((process) => [process.id, ...mock.trace.tracks.filter((track) => track.kind === kind && track.parent === process.id).map((track) => track.id)]);
}

/** Arrows go to the edge where the row of their other end is scrolled away, and to the row of a closed process. */
export async function arrowsGoToEdgesAndClosedProcesses({ browser, mock, url }) {
  if (!mock) return "needs the mock";
  const [[, first, hidden], [closed, ...inside], [, last, another]] = byProcess(mock, "thread");
  const page = await openPage(browser, url, { viewport: { width: 1000, height: 740 }, load: false, fragment: `#collapsed=${closed}&hidden=${hidden}` });
  const label = (track) => page.locator(`.label[data-track="${track}"]`);
  await answerFlows(page, mock.trace, [
    [first, 2e8, last, 4e8],
    [first, 2.01e8, another, 4.01e8],
    [last, 8e8, first, 9e8],
    [first, 1.2e9, inside[0], 1.3e9],
    [inside[1], 1.5e9, first, 1.6e9],
    // Nothing is seen of these: within the closed process, scrolled away, hidden.
    [inside[0], 3e8, inside[1], 5e8],
    [inside[0], 6e8, inside[0], 9e8],
    [last, 3e8, another, 5e8],
    [first, 3e8, hidden, 5e8],
  ]);
  assert.equal(await label(inside[0]).count() + (await label(last).count()) + (await label(hidden).count()), 0, "their rows are not seen");
  const canvas = await places(page);
  const middle = async (track) => {
    const box = await label(track).boundingBox();
    return box.y - canvas.y + box.height / 2;
  };
  const [own, process] = [await middle(first), await middle(closed)];
  const ends = [`${own} to ${process}`, `${own} to ${canvas.height}`, `${process} to ${own}`, `${canvas.height} to ${own}`];
  assert.deepEqual(await arrows(page), ends.sort());
  // The same rows from below.
  await page.locator("#scroll").evaluate((scroller) => (scroller.scrollTop = scroller.scrollHeight));
  await settled(page);
  assert.equal(await label(first).count(), 0);
  const [one, two] = [await middle(last), await middle(another)];
  assert.deepEqual(await arrows(page), [`0 to ${one}`, `0 to ${two}`, `${one} to 0`, `${one} to ${two}`].sort());
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** At the edge, an arrow names the track of its other end. A click leads there. */
export async function arrowsAtEdgesLeadToTheirOtherEnd({ browser, mock, url }) {
  if (!mock) return "needs the mock";
  const [[, first], , [, last, another]] = byProcess(mock, "thread");
  const nameOf = (track) => mock.trace.tracks.find(({ id }) => id === track).name;
  const page = await openPage(browser, url, { viewport: { width: 1000, height: 700 }, load: false });
  await answerFlows(page, mock.trace, [
    [first, 2e8, last, 4e8],
    // These are merged.
    [first, 1.2e9, last, 1.3e9],
    [first, 1.2001e9, another, 1.3001e9],
    // There is no room for its hint.
    [first, 1.19e9, another, 1.29e9],
  ]);
  const hints = (await picture(page)).filter(({ tag, text }) => tag === "text" && /^[\u2191\u2193] /.test(text));
  assert.deepEqual(hints.map(({ text }) => text), [`\u2193 ${nameOf(last)}`, "\u2193 2 tracks"]);
  const label = (track) => page.locator(`.label[data-track="${track}"]`);
  assert.equal(await label(last).count(), 0);
  const canvas = await places(page);
  const at = [canvas.x + Number(hints[0].x) + 10, canvas.y + Number(hints[0].y)];
  await page.mouse.move(...at);
  assert.ok((await page.locator("#tip").innerText()).startsWith(`other end of an arrow\n${nameOf(last)}\n`));
  await page.mouse.click(...at);
  await page.locator(`.label[data-track="${last}"][aria-selected="true"]`).waitFor();
  // From there, it leads back.
  const back = (await picture(page)).filter(({ text }) => text === `\u2191 ${nameOf(first)}`);
  assert.ok(back.length > 0);
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Of more flows than the page asks for, those between rows that are seen are there, also after scrolling. */
export async function arrowsOfSeenRowsAreThere({ browser, mock, url }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url, { viewport: { width: 1000, height: 700 }, load: false });
  const [[, first, second], , [, other, last]] = byProcess(mock, "thread");
  const many = Array.from({ length: 4000 }, (_, i) => [other, i, last, 2e9 + i]).flat();
  const asked = [];
  await page.route("**/api/flows?*", async (route) => {
    const tracks = new URL(route.request().url()).searchParams.get("tracks")?.split(",").map(Number);
    if (tracks) asked.push(tracks);
    // One of them is among the others, too.
    const flows = tracks ? [...many.slice(0, 4), first, 5e8, second, 6e8] : many;
    await route.fulfill({ json: { generation: 1, complete: false, flows } });
  });
  await load(page);
  await page.waitForFunction(() => window.__ichnos?.drawn.flows === 4001);
  assert.equal((await picture(page)).filter((one) => one.tag === "path").length, 1);
  assert.ok(asked[0].includes(first) && !asked[0].includes(last), asked[0].join());
  await page.locator("#scroll").evaluate((scroller) => (scroller.scrollTop = scroller.scrollHeight));
  for (let i = 0; i < 50 && asked.length < 2; i++) await page.waitForTimeout(100);
  assert.ok(asked[1].includes(last), asked[1]?.join());
  return undefined;
}

/** The events of a task are marked where they are, also in a closed process, with arrows, until Esc or a selection. */
export async function tasksAreMarked({ browser, mock, url }) {
  if (!mock) return "needs the mock";
  const [[, first], [closed, inside]] = byProcess(mock, "thread");
  const page = await openPage(browser, url, { viewport: { width: 1400, height: 1000 }, fragment: `#collapsed=${closed}` });
  const longest = (track) => mock.trace.items.get(track).reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
  const [cause, effect] = [first, inside].map((track) => ({ track, ...longest(track) }));
  const place = (track, time) => ({ event: `${track}:0:0`, track, eventTime: at(mock, time) });
  // Clocks were corrected by a second: times of the task are others than those of its events.
  const node = (id, { track, from, to }) => ({ id, label: id, place: id, begin: at(mock, from + 1e9), end: at(mock, to + 1e9), events: 1, ...place(track, from) });
  const joined = [{ label: "end", track: cause.track, time: cause.to }, { label: "between", track: effect.track, time: effect.from + 1 }];
  await page.route("**/api/task?*", async (route) => {
    const task = await (await route.fetch()).json();
    const others = joined.map(({ label, track, time }) => ({ node: 0, label, place: label === "end" ? "cause" : label, time: at(mock, time + 1e9), ...place(track, time) }));
    const unknown = { id: "unknown", label: "", place: "", begin: null, end: null, events: 0, event: null, track: null, eventTime: null };
    await route.fulfill({ json: { ...task, total: 3, nodes: [node("cause", cause), node("effect", effect), unknown], edges: [[0, 1, "parent"], [0, 2, "parent"]], joined: others, path: [0] } });
  });
  const color = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--accent").trim());
  const marks = async () => (await picture(page)).filter((one) => one.tag === "rect" && one.stroke === color).map((one) => one["stroke-width"]).sort();
  const show = page.getByRole("button", { name: "Show in the timeline", exact: true });
  await page.keyboard.press("5");
  await page.locator("#panel-tasks .grid-row").first().click();
  await show.waitFor();
  // Of the joined events, one is at another place than its operation.
  assert.equal(await page.locator(".gantt line.joined").count(), 1);
  assert.equal(await page.locator(".gantt line:not(.joined)").count(), 1);
  assert.equal(await page.locator(`.label[data-track="${inside}"]`).count(), 0);
  // The ruler has a frame of this color.
  const others = await marks();
  for (const end of ["Escape", "click"]) {
    await show.click();
    await settled(page);
    assert.equal(await page.locator(`.label[data-track="${inside}"]`).count(), 1, "its process is open");
    assert.equal(await page.locator("#live").textContent(), "Marked 2 operations and 2 joined events");
    // Two operations, of which one has its end marked with it, and a thin mark of what is no item.
    assert.deepEqual(await marks(), [...others, "1", "2", "2"]);
    assert.equal((await arrows(page)).length, 1, "arrows of a pixel are one, and others than those of the task are not there");
    if (end === "Escape") {
      await page.keyboard.press("Escape");
    } else {
      await page.locator(".gantt .bar-row").getByRole("button").first().click();
      await page.waitForFunction(() => window.__ichnos.selected?.id);
    }
    await settled(page);
    assert.deepEqual(await marks(), end === "Escape" ? others : [...others, "2"], "at most the selection is marked");
  }
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** A pixel of several programs is grey; the strip above shows the load. */
export async function severalProgramsAreGrey({ browser, mock, startMock }) {
  if (!mock) return "needs the mock";
  const own = await startMock({ scheduling: true });
  const page = await openPage(browser, own.url, { viewport: { width: 500, height: 800 } });
  const canvas = await places(page);
  const row = await page.locator('.label[data-kind="processor"]').first().boundingBox();
  const data = await page.evaluate(([top, width]) => {
    return [...document.getElementById("canvas").getContext("2d").getImageData(0, top * devicePixelRatio, width, 1).data];
  }, [row.y - canvas.y + 10, Math.round(canvas.width)]);
  // The grey over white, with the opacity of each number of items.
  const greys = Array.from({ length: 200 }, (_, i) => 0.45 + 0.55 * Math.min(1, Math.log10(i + 2) / 4)).map((part) => [0x8a, 0x91, 0x9e].map((value) => 255 + (value - 255) * part));
  const isGrey = (color) => greys.some((grey) => grey.every((value, i) => Math.abs(value - color[i]) <= 2));
  const found = Array.from({ length: data.length / 4 }, (_, i) => i).filter((i) => isGrey(data.slice(4 * i, 4 * i + 3)));
  assert.ok(found.length > 10, `${found.length} grey pixels`);
  await page.mouse.move(canvas.x + found[5] + 0.5, row.y + 10);
  assert.match(await page.locator("#tip").innerText(), /^\d+ items of\nseveral programs\n/);
  await own.close();
  return undefined;
}

/** A span without an end has no length. */
export async function spansWithoutAnEndHaveNoLength({ browser, mock, url }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url, { load: false });
  await page.route("**/api/tiles?*", async (route) => {
    const answer = await route.fetch();
    const tiles = await answer.json();
    for (const { items = [] } of tiles.tracks) for (let i = 0; i < items.length; i += 6) if (items[i + 3] === 1) items[i + 5] = 0;
    await route.fulfill({ response: answer, json: tiles });
  });
  // Without an event, the details are those of the picture.
  await page.route("**/api/near?*", (route) => route.fulfill({ json: null }));
  await load(page);
  await settled(page);
  const canvas = await places(page);
  const row = await page.locator('.label[data-kind="thread"]').first().boundingBox();
  const place = [canvas.middle, row.y + 12];
  await page.mouse.move(...place);
  assert.match(await page.locator("#tip").innerText(), /\nno end\n/);
  await page.mouse.click(...place);
  await page.waitForFunction(() => document.getElementById("live").textContent.includes(", no end, "));
  await page.locator("#panel-details dl.facts").getByText("no end").waitFor();
  return undefined;
}

/** The critical path goes to the edge where its next track is scrolled away, and over no pinned track. */
export async function pathsGoToTheEdge({ browser, mock, startMock }) {
  if (!mock) return "needs the mock";
  const own = await startMock({ scheduling: true });
  const threads = own.trace.tracks.filter((track) => track.kind === "thread");
  const page = await openPage(browser, own.url, { viewport: { width: 1000, height: 900 }, fragment: `#pinned=${threads[0].id}` });
  const steps = [1, 11, 2, 0, 1].map((n, i) => ({ thread: n, track: threads[n].id, name: threads[n].name, state: "running", begin: at(own, i * 4e8), end: at(own, (i + 1) * 4e8) }));
  await page.route("**/api/path?*", (route) => route.fulfill({ json: { total: 5, complete: true, command: "ichnos threads", steps } }));
  await selectState(page, threads[0].id);
  await page.getByRole("button", { name: "Critical path", exact: true }).click();
  await page.locator("#panel-details table").nth(1).waitFor();
  await settled(page);
  const elements = await picture(page);
  const joins = elements.filter((one) => one.tag === "rect" && one.width === "1.5" && one.opacity === "0.8");
  const height = await page.locator("#canvas").evaluate((one) => one.clientHeight);
  // From the second thread to the last one, which is below the picture, and from there to the third one.
  const toEdge = joins.filter((one) => Number(one.y) + Number(one.height) > height);
  assert.equal(toEdge.length, 2, JSON.stringify(joins));
  assert.notEqual(toEdge[0].y, toEdge[1].y);
  // Those of the pinned track are drawn over it once more.
  assert.equal(joins.length, 2 + 2 * 2, JSON.stringify(joins));
  await own.close();
  return undefined;
}

/** Clicks at the states of a thread until a single one is selected. */
async function selectState(page, thread) {
  const canvas = await places(page);
  const row = await page.locator(`.label[data-track="${thread}"]`).boundingBox();
  for (let part = 0.3; part < 0.9; part += 0.007) {
    await page.mouse.click(canvas.x + canvas.width * part, row.y + row.height - 5);
    if ((await page.evaluate(() => window.__ichnos.selected))?.count === 1) return;
  }
  throw new Error("no state was selected");
}

/** Pinned tracks cover the selection on a track that is scrolled below them, but not one of their own. */
export async function pinnedTracksCoverTheSelection({ browser, mock, startMock }) {
  if (!mock) return "needs the mock";
  const own = await startMock({ scheduling: true });
  const [first, second] = own.trace.tracks.filter((track) => track.kind === "thread");
  const page = await openPage(browser, own.url, { viewport: { width: 1000, height: 900 }, fragment: `#pinned=${first.id}` });
  for (const [thread, isCovered] of [[second, true], [first, false]]) {
    await selectState(page, thread.id);
    await page.locator("#scroll").evaluate((scroller) => (scroller.scrollTop = 150));
    await settled(page);
    const elements = await picture(page);
    const outline = elements.findLastIndex((one) => one.stroke && one["stroke-width"] === "2");
    // The row of the pinned track is the last one with its height at the top.
    const { height } = await page.locator(`.label[data-track="${first.id}"]`).boundingBox();
    const row = elements.findLastIndex((one) => one.tag === "rect" && one.x === "0" && one.y === "0" && one.height === String(height));
    assert.ok(outline >= 0 && row >= 0, `${outline} ${row}`);
    assert.equal(outline < row, isCovered, `${outline} ${row}`);
    await page.locator("#scroll").evaluate((scroller) => (scroller.scrollTop = 0));
    await settled(page);
  }
  await own.close();
  return undefined;
}

const at = (own, time) => String(own.trace.origin + BigInt(time));

/** Without processors, the strip of the whole trace shows where most happened. */
export async function theStripShowsTheRate({ browser, url }) {
  const page = await openPage(browser, url);
  await settled(page);
  const find = async () => (await picture(page)).filter((one) => one.tag === "rect" && one.opacity === "0.5" && Number(one.y) + Number(one.height) === 14);
  let bars = await find();
  // The page asks for the rate after everything else.
  for (let i = 0; i < 100 && bars.length <= 3; i++) {
    await page.waitForTimeout(100);
    bars = await find();
  }
  assert.ok(bars.length > 3, `${bars.length} bars`);
  return undefined;
}
