// Pictures of each panel and state, for people to look at: node test/pictures.mjs FOLDER [PART]

import { mkdir } from "node:fs/promises";
import { launch, openPage, settled } from "./browser.mjs";
import { startMock } from "./mock.mjs";

const SIZES = [[1280, 800], [3840, 2160]];
const [folder = "pictures", part = ""] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const browser = await launch();
const mock = process.env.PAGE_URL ? null : await startMock();
const base = process.env.PAGE_URL ?? mock.url;

async function select(page) {
  const box = await page.locator("#canvas").boundingBox();
  await page.mouse.click(box.x + box.width * 0.2, box.y + 62);
  await page.mouse.move(box.x + box.width * 0.42, box.y + 62);
  await settled(page);
}

const VIEWS = {
  details: select,
  events: (page) => page.keyboard.press("2"),
  stats: (page) => page.keyboard.press("3"),
  flame: (page) => page.keyboard.press("4"),
  tasks: (page) => page.keyboard.press("5"),
  async task(page) {
    await page.keyboard.press("5");
    await page.locator("#panel-tasks .grid-row").first().click({ timeout: 4000 });
  },
  log: (page) => page.keyboard.press("6"),
  async search(page) {
    await page.keyboard.press("/");
    await page.keyboard.type("log");
    await page.keyboard.press("Enter");
  },
  async filter(page) {
    await page.keyboard.press("\\");
    await page.keyboard.type('bogus == "שלום" && x');
  },
  async completion(page) {
    await page.keyboard.press("\\");
    await page.keyboard.press("ArrowDown");
    await page.waitForTimeout(300);
    await page.keyboard.press("ArrowDown");
  },
  async range(page) {
    const box = await page.locator("#canvas").boundingBox();
    for (let i = 0; i < 8; i++) {
      await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
      await page.mouse.wheel(0, -240);
    }
    await page.keyboard.press("b");
    await page.mouse.move(box.x + box.width * 0.3, box.y - 12);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y - 12, { steps: 4 });
    await page.mouse.up();
  },
  help: (page) => page.keyboard.press("?"),
  exporting: (page) => page.keyboard.press("e"),
  bookmarks: async (page) => {
    await page.keyboard.press("b");
    await page.keyboard.press("Shift+B");
  },
  clocks: (page) => page.getByRole("button", { name: "Clocks" }).click(),
  problems: (page) => page.locator(".problems").click(),
  scrolled: async (page) => {
    await page.keyboard.press("PageDown");
    await page.keyboard.press("PageDown");
  },
};

const STATES = { empty: { empty: true }, errors: { errors: true }, loading: { loading: true }, waiting: { empty: true, loading: true }, failed: { empty: true, failed: true }, many: { tracks: 10_000 }, live: { live: true } };

async function take(url, name, act, size, dark) {
  const page = await openPage(browser, url, { viewport: { width: size[0], height: size[1] }, colorScheme: dark ? "dark" : "light", wait: false });
  await page.waitForFunction(() => window.__ichnos);
  await settled(page).catch(() => undefined);
  await act?.(page);
  await page.waitForTimeout(700);
  await settled(page).catch(() => undefined);
  await page.screenshot({ path: `${folder}/${name}-${size[0]}-${dark ? "dark" : "light"}.png` });
  if (page.problems.length) console.log(name, page.problems);
  await page.context().close();
}

for (const size of SIZES) {
  for (const dark of [false, true]) {
    for (const [name, act] of Object.entries(VIEWS)) {
      if (!`${name}-${size[0]}-${dark ? "dark" : "light"}`.includes(part)) continue;
      await take(base, name, act, size, dark).catch((error) => console.log(name, String(error).split("\n")[0]));
    }
  }
}
for (const [name, options] of Object.entries(process.env.PAGE_URL ? {} : STATES)) {
  if (!name.includes(part) && part !== "states") continue;
  const own = await startMock(options);
  for (const dark of [false, true]) await take(own.url, name, null, SIZES[0], dark);
  await own.close();
}
await browser.close();
await mock?.close();
