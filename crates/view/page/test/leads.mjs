// What rows of tables lead to, and what is shown of it.

import assert from "node:assert/strict";
import { load, openPage, places, settled } from "./browser.mjs";

const tableOf = (page, caption) => page.locator("#panel-stats table", { has: page.locator("caption", { hasText: caption }) });

/** True if all of the row of a track is seen. */
async function isInView(page, track) {
  const label = page.locator(`.label[data-track="${track}"]`);
  const row = (await label.count()) ? await label.boundingBox() : null;
  const stage = await page.locator("#stage").boundingBox();
  return !!row && row.y >= stage.y - 1 && row.y + row.height <= stage.y + stage.height + 1;
}

/** A row of the longest spans selects the span, and shows all of its row. */
export async function longestSpansAreSelected({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url, { viewport: { width: 1280, height: 560 } });
  const { spans } = await page.evaluate(async () => (await fetch(`api/longest?begin=0&end=${10n ** 19n}`)).json());
  const shown = await page.locator(".label").evaluateAll((all) => all.map((label) => Number(label.dataset.track)));
  const last = spans.findIndex((span) => !shown.includes(span.track));
  const { name, track, begin, length } = spans[last];
  await tableOf(page, "Longest spans").locator("tbody button").nth(last).click();
  await page.waitForFunction(() => window.__ichnos.selected?.id);
  await settled(page);
  const { selected } = await page.evaluate(() => window.__ichnos);
  assert.deepEqual([selected.track, selected.name, selected.to - selected.from], [track, name, length]);
  assert.equal(BigInt(mock.trace.origin) + BigInt(selected.from), BigInt(begin));
  assert.equal(await page.locator("#tab-details").getAttribute("aria-selected"), "true");
  assert.equal(await page.locator("#panel-details h2").first().innerText(), name);
  assert.ok(await isInView(page, track));
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Of spans that a summary does not tell apart, the longest is selected, wherever among them it is. */
export async function longestSpansOfSeveralAreSelected({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url, { load: false });
  let span = null;
  await page.route("**/api/longest?*", async (route) => {
    const { spans, complete } = await (await route.fetch()).json();
    span ??= spans[5];
    await route.fulfill({ json: { spans: [{ ...span, begin: String(BigInt(span.begin) - BigInt(Math.round(span.length / 2))), count: 3 }], complete } });
  });
  await load(page);
  await tableOf(page, "Longest spans").getByRole("button", { name: "22:13" }).click();
  await page.waitForFunction(() => window.__ichnos.selected?.id);
  const { selected } = await settled(page);
  assert.deepEqual([selected.track, selected.name, selected.count, selected.to - selected.from], [span.track, span.name, 1, span.length]);
  assert.equal(BigInt(mock.trace.origin) + BigInt(selected.from), BigInt(span.begin));
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** A name of the statistics is searched for, and its first event is shown with its details. */
export async function namesLeadToTheirFirstEvent({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url);
  const row = tableOf(page, "Latencies").locator("tbody button").first();
  const name = await row.innerText();
  await row.click();
  await page.waitForFunction(() => window.__ichnos.selected?.id);
  assert.match(await page.locator("#hits").innerText(), /^1 of /);
  assert.equal(await page.locator("#search").inputValue(), name);
  assert.equal(await page.locator("#tab-details").getAttribute("aria-selected"), "true");
  await page.locator("#panel-details dl.facts").first().waitFor();
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Statistics say first which tasks were slow; rows lead to the tasks. */
export async function slowestTasksComeFirst({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url, { load: false });
  await page.route("**/api/stats?*", (route) => route.fulfill({ json: { events: 849, command: "ichnos stats", classes: [{ name: "report", count: 849, perSecond: 1 }], spans: [], histogram: null, gaps: [] } }));
  await load(page);
  const table = tableOf(page, "Slowest tasks");
  await table.waitFor();
  assert.equal(await page.locator("#panel-stats caption").first().innerText(), "Slowest tasks");
  const rows = await table.locator("tbody tr").allInnerTexts();
  assert.equal(rows.length, 10);
  assert.match(rows[0], /^GET \/orders\/11\s+41 ms\s+14$/);
  await table.locator("tbody button").first().click();
  await page.locator("#panel-tasks .gantt").waitFor();
  assert.match(await page.locator("#panel-tasks .bar").innerText(), /GET \/orders\/11: 41 ms, 14 operations/);
  await page.getByRole("button", { name: "All tasks" }).click();
  await page.locator("#panel-tasks .grid-row").first().waitFor();
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** A trace without tasks has no table of them. */
export async function tracesWithoutTasksHaveNoTable({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url, { load: false });
  await page.route("**/api/tasks?*", (route) => route.fulfill({ json: { command: "ichnos task list", complete: true, total: 0, tasks: [] } }));
  const answer = page.waitForResponse((response) => response.url().includes("/api/tasks?"));
  await load(page);
  await answer;
  await tableOf(page, "Latencies").waitFor();
  await settled(page);
  assert.equal(await page.getByText("Slowest tasks").isVisible(), false);
  return undefined;
}

/** Details of the event of a span have the name that the span has in the timeline, be the span drawn or in a summary. */
export async function detailsAreTitledByTheSpan({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url);
  await page.route("**/api/event?*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, name: `demo:${answer.name}_start` } });
  });
  const { rows } = mock.trace;
  const begins = rows.filter((row) => row.what === "begin");
  const [short, long] = [begins.find((row) => row.item.to - row.item.from < 1000), begins.find((row) => row.item.to - row.item.from > 1e8)];
  for (const row of [short, long]) {
    const { origin } = mock.trace;
    await page.evaluate((hash) => (location.hash = hash), `#view=${origin},${origin + 2_000_000_000n}&tab=events`);
    await settled(page);
    await page.evaluate((hash) => (location.hash = hash), `#view=${origin},${origin + 2_000_000_000n}&event=${row.track}:${row.index}:0`);
    await page.waitForFunction((id) => window.__ichnos.selected?.id === id, `${row.track}:${row.index}:0`);
    const { selected } = await settled(page);
    const facts = page.locator("#panel-details dl.facts").first();
    await facts.getByText(`demo:${selected.name}_start`).waitFor();
    assert.equal(await page.locator("#panel-details h2").first().innerText(), selected.name);
  }
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** The row of a critical path moves the others down, but not the chosen one out of view. */
export async function newRowsLeaveTheChosenOneInView({ browser, mock, startMock }) {
  if (!mock) return "only with the mock";
  const own = await startMock({ scheduling: true });
  const page = await openPage(browser, own.url);
  const thread = own.trace.tracks.filter((track) => track.kind === "thread").at(-1).id;
  await page.locator("#find-track").fill(own.trace.tracks.find((track) => track.id === thread).name);
  await page.locator("#find-track").press("Enter");
  await page.locator("#find-track").press("Escape");
  await settled(page);
  const stage = await page.locator("#stage").boundingBox();
  const label = await page.locator(`.label[data-track="${thread}"]`).boundingBox();
  // To the lower edge.
  await page.locator("#scroll").evaluate((scroller, by) => (scroller.scrollTop += by), label.y + label.height - stage.y - stage.height);
  await settled(page);
  const row = await page.locator(`.label[data-track="${thread}"]`).boundingBox();
  const canvas = await places(page);
  for (let part = 0.3; part < 0.9; part += 0.007) {
    await page.mouse.click(canvas.x + canvas.width * part, row.y + row.height - 5);
    if ((await page.evaluate(() => window.__ichnos.selected))?.count === 1) break;
  }
  await page.getByRole("button", { name: "Critical path of the range" }).click();
  await page.locator("#panel-details table").nth(1).waitFor();
  await settled(page);
  assert.ok(await isInView(page, thread));
  assert.deepEqual(page.problems, []);
  await own.close();
  return undefined;
}
