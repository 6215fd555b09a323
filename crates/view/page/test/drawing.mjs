// What is drawn: texts and shapes, as the exported picture has them, and pixels.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { openPage, places, selectSomething, settled } from "./browser.mjs";

/** Elements of the exported picture: their names, attributes and texts. */
async function picture(page) {
  await page.keyboard.press("e");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG", exact: true }).click()]);
  await page.keyboard.press("Escape");
  const text = (await readFile(await file.path())).toString();
  return page.evaluate((source) => [...new DOMParser().parseFromString(source, "image/svg+xml").querySelectorAll("*")].map((one) => ({ tag: one.tagName, text: one.tagName === "text" ? one.textContent : "", ...Object.fromEntries([...one.attributes].map(({ name, value }) => [name, value])) })), text);
}

const differences = (elements) => elements.filter((one) => /^[+\u2212][\d.]+ \S+$/.test(one.text)).map((one) => one.text);

/** Each mark of the ruler has a difference of its own, from the left edge or from the selection. */
export async function theRulerShowsDifferences({ browser, url }) {
  const page = await openPage(browser, url);
  const { selected } = await selectSomething(page);
  const trace = await page.evaluate(async () => (await fetch("api/trace")).json());
  const begin = BigInt(trace.begin) + BigInt(Math.round(selected.from));
  for (const width of [20n, 4_000n, 7_000_000n]) {
    await page.evaluate((hash) => (location.hash = hash), `#view=${begin - width / 3n},${begin + width}`);
    await settled(page);
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
  let threads = [];
  const flows = (shift) => Array.from({ length: 40 }, (_, i) => [threads[0], 3e8 + i * 1e4 - shift, threads[1], 6e8 + i * 1e4 - shift]);
  const page = await openPage(browser, url);
  threads = await page.locator('.label[data-kind="thread"]').evaluateAll((all) => all.slice(0, 2).map((label) => Number(label.dataset.track)));
  await page.route("**/api/flows?*", async (route) => {
    const shift = Number(BigInt(new URL(route.request().url()).searchParams.get("begin")) - mock.trace.origin);
    const lone = [threads[1], 1e9 - shift, threads[0], 1.3e9 - shift];
    await route.fulfill({ json: { generation: 1, complete: true, flows: [...flows(shift), lone].flat() } });
  });
  await page.reload();
  await page.waitForFunction(() => window.__ichnos?.drawn.flows === 41);
  const widths = (await picture(page)).filter((one) => one.tag === "path").map((one) => Number(one["stroke-width"]));
  assert.equal(widths.length, 2, widths.join());
  assert.ok(Math.max(...widths) > 2 * Math.min(...widths), widths.join());
  return undefined;
}

/** A pixel of several programs is grey; the strip above shows the load. */
export async function severalProgramsAreGrey({ browser, mock, startMock }) {
  if (!mock) return "needs the mock";
  const own = await startMock({ scheduling: true });
  const page = await openPage(browser, own.url, { viewport: { width: 500, height: 800 } });
  const canvas = await places(page);
  const row = await page.locator('.label[data-kind="processor"]').first().boundingBox();
  const grey = await page.evaluate(([top, width]) => {
    const { data } = document.getElementById("canvas").getContext("2d").getImageData(0, top * devicePixelRatio, width, 1);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [least, most] = [Math.min(data[i], data[i + 1], data[i + 2]), Math.max(data[i], data[i + 1], data[i + 2])];
      if (most < 225 && most - least < 24) found += 1;
    }
    return found;
  }, [row.y - canvas.y + 10, Math.round(canvas.width)]);
  assert.ok(grey > 10, `${grey} grey pixels`);
  await own.close();
  return undefined;
}

/** Without processors, the strip of the whole trace shows where most happened. */
export async function theStripShowsTheRate({ browser, url }) {
  const page = await openPage(browser, url);
  await settled(page);
  await page.waitForTimeout(300);
  const bars = (await picture(page)).filter((one) => one.tag === "rect" && one.opacity === "0.5" && Number(one.y) + Number(one.height) === 14);
  assert.ok(bars.length > 3, `${bars.length} bars`);
  return undefined;
}
