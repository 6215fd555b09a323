// Names that are scripts, requests to elsewhere, errors on the console, accessibility, contrast.

import assert from "node:assert/strict";
import { openPage, selectSomething, settled } from "./browser.mjs";

async function visitEverything(page) {
  await selectSomething(page);
  for (const key of ["2", "3", "4", "5", "6", "1"]) {
    await page.keyboard.press(key);
    await page.waitForTimeout(250);
    await settled(page);
  }
  for (const key of ["?", "e", "Shift+B"]) {
    await page.keyboard.press(key);
    await page.waitForTimeout(50);
    await page.keyboard.press("Escape");
  }
}

/** Names that are scripts stay text, and the page asks its own server only. */
export async function namesStayTextAndOtherServersAreNotAsked({ browser, url }) {
  const page = await openPage(browser, url);
  await visitEverything(page);
  assert.equal(await page.evaluate(() => window.__hacked), undefined);
  assert.equal(await page.locator("script").count(), 1);
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(page.problems, []);
  const own = url.replace(/\/$/, "");
  const foreign = page.addresses.filter((address) => !address.startsWith(own) && !/^(data|blob):/.test(address));
  assert.deepEqual(foreign, []);
}

export async function axeFindsNothing(context) {
  await checkWithAxe(context, "light", { resultTypes: ["violations"] });
}

/** The other rules do not depend on colors. */
export async function axeFindsNothingInTheDark(context) {
  const runOnly = { type: "rule", values: ["color-contrast", "link-in-text-block"] };
  await checkWithAxe(context, "dark", { resultTypes: ["violations"], runOnly });
}

/** Checks the whole page, and then what each panel and dialog changes. */
async function checkWithAxe({ browser, url, axe }, colorScheme, options) {
  const page = await openPage(browser, url, { colorScheme });
  // The policy of the page allows no script of tests, so it is evaluated by the browser's own protocol.
  await page.evaluate(axe);
  const check = async (where, part = "html") => {
    const { violations } = await page.evaluate(([part, options]) => window.axe.run(part, options), [part, options]);
    const found = violations.map((one) => `${one.id}: ${one.nodes.slice(0, 2).map((node) => node.html.slice(0, 140)).join(" | ")}`);
    assert.deepEqual(found, [], `${colorScheme}, ${where}`);
  };
  await check("start");
  await selectSomething(page);
  for (const key of ["1", "2", "3", "4", "5", "6"]) {
    await page.keyboard.press(key);
    await page.waitForTimeout(250);
    await settled(page);
    await check(`panel ${key}`, key === "1" ? "html" : "#panel");
  }
  for (const key of ["?", "e", "Shift+B"]) {
    await page.keyboard.press(key);
    await check(`dialog ${key}`, "#dialog");
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("\\");
  await page.keyboard.type("e");
  await page.locator("#filter-list .option").first().waitFor();
  await check("filter", "#header");
}

/** On a phone, the picture has most of the width, nothing is wider than the screen, and two fingers zoom. */
export async function aPhoneShowsThePicture({ browser, url, axe }) {
  const page = await openPage(browser, url, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.evaluate(axe);
  const { begin, end } = (await settled(page)).view;
  const canvas = await page.locator("#canvas").boundingBox();
  assert.ok(canvas.width > 240 && canvas.height > 200, `${canvas.width}x${canvas.height}`);
  for (const key of ["1", "2", "3", "4", "5", "6"]) {
    await page.keyboard.press(key);
    await settled(page);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `panel ${key}: ${width}`);
    const part = key === "1" ? "html" : "#panel";
    const { violations } = await page.evaluate((part) => window.axe.run(part, { resultTypes: ["violations"] }), part);
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 140)}`), [], `panel ${key}`);
  }
  const session = await page.context().newCDPSession(page);
  const y = canvas.y + 60;
  const touch = (type, ...xs) => session.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x, y, id })) });
  await touch("touchStart", canvas.x + 100, canvas.x + 140);
  for (let i = 1; i <= 6; i++) await touch("touchMove", canvas.x + 100 - 12 * i, canvas.x + 140 + 12 * i);
  await touch("touchEnd");
  const after = (await settled(page)).view;
  assert.ok(BigInt(after.end) - BigInt(after.begin) < (BigInt(end) - BigInt(begin)) / 2n, JSON.stringify(after));
}

/** Contrast of text on each fill of the picture, from the exported SVG. */
export async function textOnSpansCanBeRead({ browser, url, mock }) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await openPage(browser, url, { colorScheme });
    await page.keyboard.press("4");
    // Other traces may have no call stacks.
    if (mock) await page.locator(".flame button").first().waitFor();
    else await page.waitForTimeout(600);
    const worst = await page.evaluate(() => {
      const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
      const light = (color) => {
        const [r, g, b] = color.match(/\d+/g).map(Number);
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
      };
      return Math.min(...[...document.querySelectorAll(".flame button")].map((element) => {
        const { color, backgroundColor } = getComputedStyle(element);
        const [a, b] = [light(color), light(backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }), 21);
    });
    assert.ok(worst >= 4.5, `${colorScheme}: ${worst}`);
  }
}
