// What rows of tables lead to, and what is shown of it.

import assert from "node:assert/strict";
import { openPage, settled } from "./browser.mjs";

const tableOf = (page, caption) => page.locator("#panel-stats table", { has: page.locator("caption", { hasText: caption }) });

/** Statistics say first which tasks were slow; rows lead to the tasks. */
export async function slowestTasksComeFirst({ browser, mock, url }) {
  if (!mock) return "only with the mock";
  const page = await openPage(browser, url, { wait: false });
  await page.route("**/api/stats?*", (route) => route.fulfill({ json: { events: 849, command: "ichnos stats", classes: [{ name: "report", count: 849, perSecond: 1 }], spans: [], histogram: null, gaps: [] } }));
  await page.reload();
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
  const page = await openPage(browser, url, { wait: false });
  let asked = 0;
  await page.route("**/api/tasks?*", (route) => {
    asked += 1;
    return route.fulfill({ json: { command: "ichnos task list", complete: true, total: 0, tasks: [] } });
  });
  await page.reload();
  await tableOf(page, "Latencies").waitFor();
  while (!asked) await page.waitForTimeout(50);
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
