// Panels, search, filter, export.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { emptyPage, load, openPage, ready, selectSomething, settled } from "./browser.mjs";

/** JSON of the next answer whose address has a text. Requests that the page gives up, because the trace or the view changes, have none. */
async function nextAnswer(page, text) {
  const request = await page.waitForEvent("requestfinished", (one) => one.url().includes(text));
  return (await request.response()).json();
}

/** Opens a panel and waits for its answer. */
async function openTab(page, number, path) {
  const answer = nextAnswer(page, `/api/${path}?`);
  await page.keyboard.press(String(number));
  const body = await answer;
  await settled(page);
  return body;
}

export async function details({ browser, url, mock }) {
  const page = await openPage(browser, url);
  await page.keyboard.press("ArrowDown");
  const answer = page.waitForResponse((response) => response.url().includes("/api/event?"));
  // The answer is not awaited for it where the test is skipped.
  answer.catch(() => {});
  const { selected } = await selectSomething(page);
  if (!selected.id) return "the first item is a summary";
  const raw = await (await answer).text();
  await settled(page);
  const event = JSON.parse(raw);
  const text = await page.locator("#panel-details").innerText();
  assert.ok(text.includes(event.name), text);
  assert.ok(text.includes(event.position ? event.position.file : event.stream));
  const leaves = [];
  const walk = (value) => (value !== null && typeof value === "object" ? Object.values(value).forEach(walk) : leaves.push(value));
  const { stacks, ...line } = event.line;
  walk(line);
  for (const leaf of leaves.filter((leaf) => typeof leaf !== "number" || Number.isSafeInteger(leaf)).slice(0, 40)) assert.ok(text.includes(typeof leaf === "string" ? JSON.stringify(leaf) : String(leaf)), `field ${leaf}`);
  for (const [, large] of raw.matchAll(/:\s*(-?\d{16,})[,}\]]/g)) assert.ok(text.includes(large), `integer ${large}`);
  assert.ok((await page.locator("#panel-details .command code").textContent()).startsWith("ichnos cat "));
  if (!mock) return undefined;
  if (event.spans) assert.ok(text.includes("25.0 % of its length"), text);
  assert.deepEqual(await page.locator("#panel-details ol.stack li").allInnerTexts(), ["libdemo.so!inner<int>+0x10", "0x2000"]);
  await page.getByRole("button", { name: "parent" }).click();
  await page.waitForFunction((id) => window.__ichnos.selected?.id !== id, selected.id);
  return undefined;
}

export async function events({ browser, url, mock }) {
  const page = await openPage(browser, url);
  const body = await openTab(page, 2, "events");
  const first = await page.locator("#panel-events .grid-row").first().innerText();
  assert.ok(first.includes(body.rows[0].name));
  assert.ok((await page.locator("#panel-events .grid-row").count()) < 80, "only visible rows are elements");
  await page.getByRole("button", { name: "Event", exact: true }).click();
  const names = body.rows.map((row) => row.name).sort((a, b) => (a < b ? -1 : 1));
  assert.ok((await page.locator("#panel-events .grid-row").first().innerText()).includes(names[0]));
  await page.locator("#panel-events .grid-row").nth(1).click();
  await page.waitForFunction(() => window.__ichnos.selected?.id);
  assert.ok((await page.locator("#panel-events code").textContent()).startsWith("ichnos cat "));
  if (!mock) return undefined;
  const rows = async () => Number(await page.locator("#panel-events .grid").getAttribute("aria-rowcount"));
  for (let i = 0; i < 3; i++) {
    const before = await rows();
    await page.locator("#panel-events .grid-scroll").evaluate((scroller) => (scroller.scrollTop = scroller.scrollHeight));
    await page.waitForFunction((number) => Number(document.querySelector("#panel-events .grid").getAttribute("aria-rowcount")) > number, before, { timeout: 2000 }).catch(() => undefined);
  }
  const count = await rows();
  assert.ok(count > 1000, `${count} rows are loaded`);
  return undefined;
}

export async function statistics({ browser, url, mock }) {
  const page = await openPage(browser, url, { fragment: "#tab=events" });
  const body = await openTab(page, 3, "stats");
  // Other answers can be later.
  await page.locator("#panel-stats table").first().waitFor();
  const text = await page.locator("#panel-stats").innerText();
  for (const row of body.classes.slice(0, 5)) assert.ok(text.includes(row.name) && text.includes(row.count.toLocaleString("en")), row.name);
  assert.equal(await page.locator("#panel-stats code").textContent(), body.command);
  if (!mock) return undefined;
  assert.ok((await page.locator(".histogram rect").count()) > 5);
  assert.ok(text.includes("Lengths of all spans"), text);
  const before = await settled(page);
  await page.getByRole("button", { name: "22:13" }).first().click();
  assert.notDeepEqual((await settled(page)).view, before.view);
  return undefined;
}

/** Of many classes, the button says how many are shown, and leaves the focus with the table. */
export async function tablesSayHowManyRowsThereAre({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url, { load: false });
  const classes = Array.from({ length: 1000 }, (_, i) => ({ name: `class ${i}`, count: 2000 - i, perSecond: 1 }));
  await page.route("**/api/stats?*", async (route) => route.fulfill({ json: { events: 9, command: "ichnos stats", classes, spans: [], histogram: null, gaps: [] } }));
  await load(page);
  await ready(page);
  await page.getByRole("button", { name: "Show 200 of 1,000" }).click();
  const events = page.locator("#panel-stats table", { has: page.locator("caption", { hasText: /^Events$/ }) });
  assert.equal(await events.locator("tbody tr").count(), 200);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "TABLE");
  // New statistics come in the chosen order, all of them.
  const first = () => events.locator("tbody tr").first().innerText();
  // The most come first, and then the fewest.
  for (let i = 0; i < 2; i++) await events.getByRole("button", { name: "Count", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("#panel-stats th[aria-sort=ascending]"));
  assert.match(await first(), /class 199/);
  const asked = page.waitForResponse("**/api/stats?*");
  await page.locator("#canvas").focus();
  await page.keyboard.press("w");
  await asked;
  await settled(page);
  assert.match(await first(), /class 199/);
  assert.equal(await events.locator("tbody tr").count(), 200);
  return undefined;
}

export async function panelsFollowTheRange({ browser, url }) {
  // Without it, the statistics are open at first.
  const page = await openPage(browser, url, { fragment: "#tab=events" });
  const all = await openTab(page, 3, "stats");
  const answer = nextAnswer(page, "/api/stats?");
  for (let i = 0; i < 5; i++) await page.keyboard.press("w");
  const part = await answer;
  assert.ok(part.events <= all.events);
}

export async function flameGraph({ browser, url }) {
  const page = await openPage(browser, url);
  const body = await openTab(page, 4, "stacks");
  const frames = page.locator(".flame button");
  if (!body.root.children?.length) {
    assert.ok((await page.locator("#panel-flame").innerText()).includes("No call stacks"));
    return undefined;
  }
  assert.ok((await frames.count()) > 1);
  const widest = body.root.children.reduce((a, b) => (b.value > a.value ? b : a));
  const width = () => page.locator(`.flame button[title^=${JSON.stringify(`${widest.name}:`)}]`).first().evaluate((element) => element.offsetWidth);
  const before = await width();
  await frames.first().focus();
  await page.keyboard.press("ArrowDown");
  await page.locator(`.flame button[title^=${JSON.stringify(`${widest.name}:`)}]`).first().click();
  assert.ok((await width()) >= before);
  await page.keyboard.press("Backspace");
  assert.ok(Math.abs((await width()) - before) < 2);
  return undefined;
}

/** Callers, threads and running time are asked for; names are cut in the middle. */
export async function flameGraphsHaveChoices({ browser, url, mock }) {
  const page = await openPage(browser, url);
  await openTab(page, 4, "stacks");
  for (const [label, parameter] of [["Inverted", "inverted=1"], ["By thread", "threads=1"], ["Only running", "running=1"]]) {
    const answer = page.waitForResponse((response) => response.url().includes("/api/stacks?") && response.url().includes(parameter));
    await page.getByLabel(label).check();
    assert.equal((await answer).status(), 200);
    await page.getByLabel(label).uncheck();
  }
  await settled(page);
  const cut = await page.locator(".flame button").evaluateAll((all) => all.map((one) => [one.title, one.dataset.text]).filter(([, text]) => text.includes("…")));
  if (mock) assert.ok(cut.length, "a name is cut");
  for (const [title, text] of cut) {
    const [left, right] = text.split("…");
    const name = title.replace(/: [^:]*$/, "");
    assert.ok(name.startsWith(left) && name.endsWith(right), `${title}: ${text}`);
  }
  return undefined;
}

/** Where nothing ran, or nothing is known of it, a sentence says so: threads without time are no picture. */
export async function flameGraphsSayThatNothingRan({ browser, mock, startMock }) {
  if (!mock) return "needs the mock";
  for (const [scheduling, text] of [[false, "This trace does not say when its threads ran"], [true, "No thread is known to have run in this range"]]) {
    const own = await startMock({ scheduling });
    const page = await openPage(browser, own.url);
    await page.route("**/api/stacks?*running=1*", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      const names = body.root.children.map(({ name }) => ({ name, value: 0, children: [] }));
      await route.fulfill({ response: answer, json: { ...body, samples: 0, spans: 0, root: { name: "all", value: 0, children: names } } });
    });
    await openTab(page, 4, "stacks");
    await page.locator(".flame button").first().waitFor();
    await page.getByLabel("Only running").check();
    await page.locator("#panel-flame").getByText(text).waitFor();
    assert.equal(await page.locator(".flame button").count(), 0);
    await page.getByLabel("Only running").uncheck();
    await page.locator(".flame button").first().waitFor();
    assert.deepEqual(page.problems, []);
    await emptyPage(page);
    await own.close();
  }
  return undefined;
}

export async function tasks({ browser, url }) {
  const page = await openPage(browser, url);
  const body = await openTab(page, 5, "tasks");
  assert.equal(await page.locator("#panel-tasks code").textContent(), body.command);
  if (!body.tasks.length) {
    assert.ok((await page.locator("#panel-tasks").innerText()).includes("No tasks"));
    return undefined;
  }
  const answer = page.waitForResponse((response) => response.url().includes("/api/task?"));
  await page.locator("#panel-tasks .grid-row").first().click();
  const graph = await (await answer).json();
  await page.locator(".gantt .bar-row").first().waitFor();
  assert.equal(await page.locator("#panel-tasks code").textContent(), graph.command);
  assert.equal(await page.locator(".gantt .bar-row:not(.joined)").count(), Math.min(graph.nodes.length, 500));
  const joined = page.locator(".gantt .bar-row.joined");
  if (graph.nodes.length <= 500) assert.equal(await joined.count(), graph.joined.length);
  for (const { machine } of graph.clocks) assert.ok((await page.locator("#panel-tasks").innerText()).includes(machine));
  if (await joined.count()) {
    await joined.getByRole("button").first().click();
    await page.waitForFunction(() => window.__ichnos.selected?.id);
  }
  assert.equal(await page.locator(".gantt .bar-row.critical").count(), graph.path.length);
  const flat = (text) => text.replaceAll(/\s+/g, " ").trim();
  const text = flat(await page.locator("#panel-tasks").innerText());
  for (const node of graph.nodes.slice(0, 20)) assert.ok(text.includes(flat(node.label || node.id)), node.label);
  if (graph.edges.length) assert.ok((await page.locator(".gantt line").count()) > 0, "edges are drawn");
  const known = graph.nodes.find((node) => node.event);
  assert.ok(known, "the first event of an operation is known");
  await page.locator(".gantt button").first().click();
  await page.waitForFunction((id) => window.__ichnos.selected?.id === id, known.event);
  await page.getByRole("button", { name: "All tasks" }).click();
  assert.ok(await page.locator("#panel-tasks .grid-row").first().isVisible());
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** An event that joined a task opens by its id, whatever its clock. */
export async function tasksOpenJoinedEvents({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  await openTab(page, 5, "tasks");
  const answer = page.waitForResponse((response) => response.url().includes("/api/task?"));
  await page.locator("#panel-tasks .grid-row").first().click();
  const { joined, clocks } = await (await answer).json();
  assert.ok(joined[0].event && clocks.length);
  await page.locator(".gantt .bar-row.joined").getByRole("button").first().click();
  await page.waitForFunction((id) => window.__ichnos.selected?.id === id, joined[0].event);
  assert.ok(!page.addresses.some((address) => address.includes("/api/events?")), "nothing is looked for");
  return undefined;
}

/** An event that joined a task is not guessed where clocks were adjusted. */
export async function tasksOpenNoWrongEvent({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  await page.route("**/api/task?*", async (route) => {
    const answer = await route.fetch();
    const task = await answer.json();
    for (const one of task.joined) delete one.event;
    await route.fulfill({ response: answer, json: task });
  });
  await openTab(page, 5, "tasks");
  await page.locator("#panel-tasks .grid-row").first().click();
  await page.locator(".gantt .bar-row.joined").getByRole("button").first().click();
  await page.getByText(/^The event .* was not found/).waitFor();
  assert.equal((await settled(page)).selected, null);
  return undefined;
}

/** Lengths of more than 53 bits are lengths; the stack of an event without a payload is shown once. */
export async function detailsOfLongSpans({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  const id = mock.trace.rows.find((row) => row.what === "begin").index;
  await page.route("**/api/event?*", async (route) => {
    const event = await (await route.fetch()).json();
    delete event.line.payload;
    Object.assign(event.spans, { length: "@", ran: "@" });
    await route.fulfill({ contentType: "application/json", body: JSON.stringify(event).replaceAll('"@"', "9007199254740993") });
  });
  const row = mock.trace.rows[id];
  await page.evaluate((hash) => (location.hash = hash), `#event=${row.track}:${id}:0`);
  await page.waitForFunction(() => window.__ichnos.selected?.id);
  await page.locator("#panel-details").getByText("100.0 % of its length").waitFor();
  assert.equal(await page.locator("#panel-details").getByText("0x2000").count(), 1);
  assert.equal(await page.locator("#panel-details .tree").getByText("callstack").count(), 0);
  assert.deepEqual(page.problems, []);
  return undefined;
}

/** Causes and effects of an event lead to each other. */
export async function links({ browser, url, mock }) {
  const page = await openPage(browser, url);
  const ids = await page.evaluate(async () => {
    const { begin, end } = window.__ichnos.view;
    const { rows } = await (await fetch("api/events?" + new URLSearchParams({ begin, end, limit: 200 }))).json();
    return rows.map((row) => row.id);
  });
  for (const id of ids) {
    const event = await page.evaluate(async (id) => (await fetch("api/event?" + new URLSearchParams({ id }))).json(), id);
    if (!event.causes.length) continue;
    await page.evaluate((id) => (location.hash = `${location.hash || "#"}&event=${encodeURIComponent(id)}`), id);
    await page.waitForFunction((id) => window.__ichnos.selected?.id === id, id);
    const [cause] = event.causes;
    await page.locator("#panel-details .links button").first().click();
    await page.waitForFunction((id) => window.__ichnos.selected?.id === id, cause.id);
    if (mock) return undefined;
    const back = await page.evaluate(async (id) => (await fetch("api/event?" + new URLSearchParams({ id }))).json(), cause.id);
    assert.ok(back.effects.some((effect) => effect.id === id), "the event is an effect of its cause");
    return undefined;
  }
  return "no event has a cause";
}

/** Flows between tracks are drawn where the server knows some. */
export async function flows({ browser, url }) {
  const page = await openPage(browser, url);
  await settled(page);
  const asked = () => page.addresses.filter((address) => address.includes("/api/flows?")).at(-1);
  // The page asks for them after everything else.
  for (let i = 0; i < 100 && !asked(); i++) await page.waitForTimeout(100);
  const last = asked();
  const known = await page.evaluate(async (address) => (await fetch(address)).json(), last);
  assert.equal(known.complete, true);
  if (!known.flows.length) return "the trace has no flows";
  await page.waitForFunction(() => window.__ichnos.drawn.flows > 0);
  return undefined;
}

export async function log({ browser, url }) {
  const page = await openPage(browser, url);
  const body = await openTab(page, 6, "log");
  if (!body.rows.length) return undefined;
  const text = await page.locator("#panel-log .grid-row").first().innerText();
  assert.ok(text.includes(body.rows[0].text.slice(0, 30)), text);
  return undefined;
}

export async function searchForNames({ browser, url, mock }) {
  const page = await openPage(browser, url);
  const names = mock ? ["log:message"] : await page.evaluate(async () => (await (await fetch("api/events?" + new URLSearchParams({ begin: window.__ichnos.view.begin, end: window.__ichnos.view.end, limit: 1 }))).json()).rows.map((row) => row.name));
  // Parts of the name are searched for while it is typed slowly.
  const answer = nextAnswer(page, `/api/search?${new URLSearchParams({ q: names[0] })}&`);
  await page.keyboard.press("/");
  await page.keyboard.type(names[0]);
  await page.keyboard.press("Enter");
  const body = await answer;
  await page.waitForFunction(() => window.__ichnos.selected?.id, null, { timeout: 60_000 });
  const first = (await settled(page)).selected;
  assert.equal(await page.locator("#hits").textContent(), `1 of ${body.total.toLocaleString("en")}${body.complete ? "" : "+"}`);
  await page.keyboard.press("Enter");
  if (body.hits.length > 1) {
    await page.waitForFunction((id) => window.__ichnos.selected?.id !== id, first.id);
    await page.keyboard.press("Shift+Enter");
    await page.waitForFunction((id) => window.__ichnos.selected?.id === id, first.id);
  }
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#search").inputValue(), "");
}

export async function searchWithoutHits({ browser, url }) {
  const page = await openPage(browser, url);
  await page.keyboard.press("/");
  await page.keyboard.type("no such text anywhere");
  await page.waitForFunction(() => document.querySelector("#hits").textContent === "0 hits", null, { timeout: 60_000 });
  assert.ok(await page.locator("#hit-next").isDisabled());
}

export async function filterEvents({ browser, url, mock }) {
  const page = await openPage(browser, url);
  const before = await settled(page);
  const [name] = mock ? ["render"] : await page.evaluate(async () => (await (await fetch("api/events?" + new URLSearchParams({ begin: window.__ichnos.view.begin, end: window.__ichnos.view.end, limit: 1 }))).json()).rows.map((row) => row.name));
  await page.keyboard.press("\\");
  await page.keyboard.type(`event == "${name}"`);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("filter="));
  const after = await settled(page);
  assert.ok(after.drawn.count <= before.drawn.count);
  if (mock) assert.ok(after.drawn.count > 0 && after.drawn.count < before.drawn.count / 5, String(after.drawn.count));
  assert.ok(page.addresses.some((address) => address.includes("/api/tiles?") && address.includes("filter=")));
  await page.waitForFunction(() => location.hash.includes("filter="));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("filter="));
  assert.equal((await settled(page)).drawn.count, before.drawn.count);
}

export async function filterErrorsHaveAPlace({ browser, url, mock }) {
  // Traces whose records declare their fields know no wrong names.
  const wrong = mock ? "bogus_name_that_is_unknown == 1" : "event == = 1";
  const page = await openPage(browser, url);
  await page.keyboard.press("\\");
  await page.keyboard.type(wrong);
  await page.keyboard.press("Enter");
  await page.locator("#filter-error").waitFor({ state: "visible" });
  assert.ok((await page.locator("#filter-error").innerText()).length > 10);
  assert.ok((await page.locator("#filter-error mark").textContent()).includes(mock ? "bogus_name" : "="));
  assert.equal(await page.locator("#filter").getAttribute("aria-invalid"), "true");
  assert.ok(!page.addresses.some((address) => address.includes("/api/tiles?") && address.includes("filter=")), "a wrong expression is not applied");
}

/** Errors, and names that no class has, have the suggestion of the command. */
export async function filterErrorsHaveSuggestions({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  await page.locator("#filter").fill("lenght > 2");
  await page.locator("#filter-error").getByText("help: did you mean `length`?").waitFor();
  await page.locator("#filter").fill('event == "rea"');
  await page.locator("#filter-error").getByText("help: did you mean `read`?").waitFor();
  assert.equal(await page.locator("#filter").getAttribute("aria-invalid"), "false");
  return undefined;
}

/** Enter applies a filter however long the server takes to check it. */
export async function filterIsAppliedBySlowServers({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  await page.route("**/api/check?*", async (route) => {
    await new Promise((done) => setTimeout(done, 600));
    await route.continue().catch(() => {});
  });
  await page.locator("#filter").fill('event == "read"');
  await page.locator("#filter").press("Enter");
  await page.waitForFunction(() => location.hash.includes("filter="), null, { timeout: 5000 });
  return undefined;
}

/** Escape gives up what was typed, and asks before it deletes the filter that applies. Enter leaves no completions behind. */
export async function filterAsksBeforeItIsDeleted({ browser, url }) {
  const page = await openPage(browser, url);
  const field = page.locator("#filter");
  const isFiltered = () => page.evaluate(() => document.getElementById("filter-field").classList.contains("active"));
  await field.fill('event == "*"');
  await field.press("Enter");
  await page.waitForFunction(() => document.getElementById("filter-field").classList.contains("active"));
  // Completions would appear after a pause and an answer.
  await page.waitForTimeout(400);
  assert.equal(await page.locator("#filter-list").isVisible(), false);
  await field.pressSequentially(" &&");
  // The first Escape hides completions, if there are any yet.
  for (let i = 0; i < 2 && (await field.inputValue()) !== 'event == "*"'; i++) await field.press("Escape");
  assert.equal(await field.inputValue(), 'event == "*"');
  await field.press("Escape");
  assert.match(await page.locator("#filter-error").innerText(), /Escape again/);
  assert.equal(await isFiltered(), true);
  await field.press("Escape");
  assert.equal(await field.inputValue(), "");
  await page.waitForFunction(() => !document.getElementById("filter-field").classList.contains("active"));
  assert.deepEqual(page.problems.filter((text) => !text.includes("400")), []);
}

/** No late answer replaces the question, and another key takes it back. */
export async function filterKeepsItsQuestion({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  const field = page.locator("#filter");
  const question = page.locator("#filter-error").getByText("Escape again");
  const applies = () => page.waitForFunction(() => document.getElementById("filter-field").classList.contains("active"));
  await field.fill('event == "read"');
  await field.press("Enter");
  await applies();
  // Its check after the pause would come now.
  await field.press("Escape");
  await page.waitForTimeout(300);
  assert.equal(await question.isVisible(), true);
  let answer;
  const isHeld = new Promise((held) => {
    void page.route("**/api/check?*", (route) => {
      answer = () => route.continue();
      held();
    });
  });
  await field.press("Enter");
  assert.equal(await question.isVisible(), false);
  await isHeld;
  await field.press("Escape");
  const answered = page.waitForEvent("requestfinished", (request) => request.url().includes("/api/check?"));
  await answer();
  await answered;
  await settled(page);
  assert.equal(await question.isVisible(), true);
  await field.press("Escape");
  assert.equal(await field.inputValue(), "");
  return undefined;
}

/** A filter that was entered applies, even if another text is typed before its answer. */
export async function filterAppliesWhatWasEntered({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  const field = page.locator("#filter");
  let answer;
  const isHeld = new Promise((held) => {
    void page.route("**/api/check?*", (route) => {
      if (answer) return route.continue();
      answer = () => route.continue();
      return held();
    });
  });
  await field.fill('event == "read"');
  await field.press("Enter");
  await isHeld;
  await field.pressSequentially(" &&");
  // Completions cover the error, also if it is found after them.
  await page.locator("#filter-list .option").first().waitFor();
  assert.equal(await page.locator("#filter-error .error").isVisible(), false);
  await field.press("Escape");
  await page.locator("#filter-error .error").waitFor();
  await answer();
  await page.waitForFunction(() => location.hash.includes("filter="));
  assert.equal(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("filter"), 'event == "read"');
  assert.equal(await field.inputValue(), 'event == "read" &&');
  assert.equal(await page.locator("#filter-error .error").isVisible(), true);
  return undefined;
}

export async function filterCompletes({ browser, url }) {
  const page = await openPage(browser, url);
  await page.keyboard.press("\\");
  await page.keyboard.type("ev");
  await page.locator("#filter-list .option").first().waitFor();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#filter").getAttribute("aria-activedescendant"), "option-0");
  await page.keyboard.press("Enter");
  assert.match(await page.locator("#filter").inputValue(), /^event/);
}

async function download(page, name) {
  await page.keyboard.press("e");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
  const bytes = await readFile(await file.path());
  await page.keyboard.press("Escape");
  return { bytes, name: file.suggestedFilename() };
}

export async function exports({ browser, url }) {
  const page = await openPage(browser, url);
  const svg = await download(page, "SVG");
  assert.ok(svg.name.endsWith(".svg"));
  assert.ok(svg.bytes.toString().includes("<rect"));
  const tags = await page.evaluate((text) => [...new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("*")].map((element) => element.tagName), svg.bytes.toString());
  const known = ["svg", "g", "rect", "text", "polygon", "path", "clipPath"];
  assert.deepEqual([...new Set(tags)].filter((tag) => !known.includes(tag)), []);
  const png = await download(page, "PNG");
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(png.bytes.length > 5000);
  for (const kind of ["Trace", "CSV", "JSON Lines"]) {
    const file = await download(page, kind);
    assert.ok(file.bytes.length > 10, kind);
  }
  assert.deepEqual(page.problems, []);
}

export async function clockOffsets({ browser, url, mock }) {
  if (!mock) return "needs the mock";
  const page = await openPage(browser, url);
  await page.keyboard.press("1");
  await page.getByRole("button", { name: "Clocks" }).click();
  await page.locator('#dialog input[type="number"]').fill("500000");
  await page.locator('#dialog input[type="number"]').press("Tab");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => location.hash.includes("offset="));
  await settled(page);
  const last = page.addresses.filter((address) => address.includes("/api/tiles?")).at(-1);
  assert.ok(last.includes("begin=1700000000000000000"), last);
  // Tables and statistics are asked for with the offset, and for the time that it adds.
  const offset = decodeURIComponent(page.url()).match(/offset=(\d+),500000000/);
  for (const [key, name] of [["2", "events"], ["3", "stats"], ["4", "stacks"], ["6", "log"]]) {
    const asked = page.waitForRequest((request) => request.url().includes(`/api/${name}?`));
    await page.keyboard.press(key);
    const { searchParams } = new URL((await asked).url());
    assert.equal(searchParams.get("offsets"), `${offset[1]}:500000000`, name);
    assert.ok(BigInt(searchParams.get("end")) > BigInt(mock.trace.origin) + BigInt(mock.trace.length), name);
  }
  await settled(page);
  return undefined;
}
