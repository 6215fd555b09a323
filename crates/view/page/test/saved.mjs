// A page that was saved with its data: SAVED_PAGE names the file.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { openPage, selectSomething, settled } from "./browser.mjs";

const file = process.env.SAVED_PAGE;

export async function aPageWithoutAServer({ browser, axe }) {
  if (!file) return "SAVED_PAGE names no file";
  const page = await openPage(browser, pathToFileURL(file).href);
  const first = await settled(page);
  assert.ok(first.drawn.items > 0, JSON.stringify(first));
  const panel = page.locator("#panel-stats");
  await panel.locator("table").first().waitFor();
  const text = await panel.innerText();
  for (const part of (process.env.SAVED_TEXTS ?? "").split("\n")) assert.ok(text.includes(part), `${part} is not in ${text}`);
  // Zooming and selecting need no server either.
  await page.mouse.move(700, 150);
  await page.mouse.wheel(0, -400);
  assert.notDeepEqual((await settled(page)).view, first.view);
  await page.keyboard.press("f");
  await selectSomething(page);
  await page.locator("#tab-events").click();
  await page.locator("#panel-events [role=row]").nth(1).waitFor();
  await page.locator("#tab-flame").click();
  await settled(page);
  assert.equal(await page.locator("#tab-tasks").isVisible(), false);
  assert.equal(await page.locator("#filter").isVisible(), false);
  assert.deepEqual(page.problems, []);
  assert.deepEqual(page.addresses.filter((address) => !address.startsWith("file:") && !address.startsWith("data:")), []);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  assert.deepEqual(violations.map((violation) => violation.id), []);
}
