// Threads and their states: only with a trace that has scheduling (PAGE_URL).

import assert from "node:assert/strict";
import { openPage, places, settled } from "./browser.mjs";

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
  assert.match(await table.innerText(), /^Used the processors/);
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
