// A browser for tests: Debian's Chromium driven by playwright-core, without windows if that is installed, as it starts
// faster. CHROMIUM names another one.

import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PLACES = [process.env.CHROMIUM, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function findBrowser() {
  return PLACES.find((place) => place && existsSync(place)) ?? null;
}

export async function launch() {
  return chromium.launch({
    executablePath: findBrowser(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

const VIEWPORT = { width: 1280, height: 800 };
/** Empty pages that tests used before. They load the page in a third of the time that a new context takes. */
const emptyPages = [];
/** Pages that the running test opened. Several tests run at the same time. */
const openedPages = new AsyncLocalStorage();
/** Page events that tests listen to. */
const EVENTS = ["console", "pageerror", "request", "requestfinished", "requestfailed"];

/** Page that records errors and addresses, and is ready. Without `load`, it stays empty until `load(page)`. */
export async function openPage(browser, url, options = {}) {
  const { fragment = "", wait = true, load: isLoaded = true, viewport = VIEWPORT, colorScheme = "light", ...context } = options;
  const isReusable = !Object.keys(context).length;
  const page = (isReusable && emptyPages.pop()) || (await (await browser.newContext({ viewport, ...context })).newPage());
  if (isReusable) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
  }
  page.setDefaultTimeout(90_000);
  openedPages.getStore()?.add(page);
  Object.assign(page, { isReusable, address: url + fragment, problems: [], addresses: [] });
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !/status of 404/.test(message.text()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => page.addresses.push(request.url()));
  if (process.env.PAGE_DIST) await serveDist(page);
  if (isLoaded) await load(page);
  if (isLoaded && wait) await ready(page);
  return page;
}

/** Loads the page for the first time, after a test has added routes. */
export async function load(page) {
  await page.goto(page.address);
}

/** Empties a page, so that another test can use it. */
export async function emptyPage(page) {
  openedPages.getStore()?.delete(page);
  for (const name of EVENTS) page.removeAllListeners(name);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.mouse.move(-1, -1);
  await page.goto("about:blank");
  emptyPages.push(page);
}

/** Runs a test, and then empties its pages. Closes pages with unusual options, and all pages of a failed test. */
export async function runTest(test) {
  const pages = new Set();
  let hasFailed = true;
  try {
    const result = await openedPages.run(pages, test);
    hasFailed = false;
    return result;
  } finally {
    for (const page of pages) await (hasFailed || !page.isReusable ? page.context().close() : emptyPage(page));
  }
}

/** Takes the page from a folder instead of the server, whose binary embeds an older one perhaps. */
async function serveDist(page) {
  await page.route(/\/(app\.js|app\.css|)(#.*)?$/, async (route) => {
    const answer = await route.fetch();
    const name = new URL(route.request().url()).pathname.split("/").pop() || "index.html";
    const headers = answer.headers();
    delete headers["content-length"];
    await route.fulfill({ status: answer.status(), headers, path: `${process.env.PAGE_DIST}/${name}` });
  });
}

/** Waits until everything that is visible has been loaded and drawn, and keys reach the page: one of another process gets the focus later. */
export async function ready(page) {
  await page.waitForFunction(() => window.__ichnos?.ready && document.hasFocus(), null, { timeout: 90_000 });
}

/** State of the page, once it is quiet. */
export async function settled(page) {
  await page.waitForTimeout(120);
  // What changed the size of the page is drawn in the frame after the next.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await ready(page);
  return page.evaluate(() => window.__ichnos);
}

/** Opens a fragment that begins with `#view=BEGIN,END`, and waits until the page shows this range and is quiet. */
export async function openFragment(page, fragment) {
  await page.evaluate((hash) => (location.hash = hash), fragment);
  const [, begin, end] = /^#view=(\d+),(\d+)/.exec(fragment);
  // Times on a wide view are rounded.
  const isShown = ([begin, end]) => {
    const { view } = window.__ichnos;
    const close = (a, b) => Math.abs(Number(BigInt(a) - BigInt(b))) <= Number(BigInt(end) - BigInt(begin)) / 1000;
    return close(view.begin, begin) && close(view.end, end);
  };
  await page.waitForFunction(isShown, [begin, end]);
  return settled(page);
}

/** Place of the picture, and of a row of the first track with spans. */
export async function places(page) {
  const canvas = await page.locator("#canvas").boundingBox();
  return { ...canvas, middle: canvas.x + canvas.width / 2, row: canvas.y + 62 };
}

/** Clicks at places of the picture until something is selected. */
export async function selectSomething(page) {
  const canvas = await places(page);
  for (const label of await page.locator(".label").all()) {
    const box = await label.boundingBox();
    for (const part of [0.3, 0.15, 0.5, 0.7, 0.02, 0.9]) {
      await page.mouse.click(canvas.x + canvas.width * part, box.y + 12);
      const { selected } = await page.evaluate(() => window.__ichnos);
      const state = selected && (await settled(page));
      if (state?.selected) return state;
    }
  }
  // Few events of a long trace are narrow: the next one of a track.
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press("ArrowUp");
    for (const key of ["ArrowRight", "ArrowLeft"]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(100);
      const state = await settled(page);
      if (state.selected) return state;
    }
  }
  throw new Error("nothing could be selected");
}
