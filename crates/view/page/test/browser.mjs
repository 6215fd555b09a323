// A browser for tests: Debian's Chromium driven by playwright-core. CHROMIUM names another one.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PLACES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function findBrowser() {
  return PLACES.find((place) => place && existsSync(place)) ?? null;
}

export async function launch() {
  return chromium.launch({
    executablePath: findBrowser(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** Page that records errors and addresses, and is ready. */
export async function openPage(browser, url, options = {}) {
  const { fragment = "", wait = true, ...context } = options;
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, ...context })).newPage();
  page.problems = [];
  page.addresses = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => page.addresses.push(request.url()));
  await page.goto(url + fragment);
  if (wait) await ready(page);
  return page;
}

/** Waits until everything that is visible has been loaded and drawn. */
export async function ready(page) {
  await page.waitForFunction(() => window.__ichnos?.ready, null, { timeout: 20_000 });
}

/** State of the page, once it is quiet. */
export async function settled(page) {
  await page.waitForTimeout(120);
  await ready(page);
  return page.evaluate(() => window.__ichnos);
}
