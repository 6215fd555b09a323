// Panel at the bottom of the page. The active tab follows the visible or marked range.

import { messageOf, type LongestSpans, type TaskEntry } from "../api";
import { button, byId, debounce, el, type Child } from "../dom";
import type { PathStep } from "../path";
import { isSaved } from "../saved";
import { TABS, type State, type Tab, type Topic } from "../state";
import type { ShownTask } from "../task_marks";
import { count, duration, timeOfDay } from "../time";

export interface Panel {
  readonly title: string;
  readonly element: HTMLElement;
  /** State changes that update the panel. */
  readonly topics: Topic[];
  /** Loads and shows; called for the active panel only. */
  update(): Promise<void> | void;
}

/** Span with its displayed start. */
export type ShownSpan = Omit<LongestSpans["spans"][number], "begin"> & { begin: number };

/** Actions that panels request from the page. */
export interface PanelActions {
  /** Selects an event and shows it in the timeline. */
  openEvent(id: string): void;
  /** Shows a range of time. */
  zoomTo(begin: number, end: number): void;
  /** Shows a track. */
  openTrack(track: number): void;
  /** Selects a thread state by its state track or thread track, and shows it. */
  openState(track: number, begin: number, end: number, name: string): void;
  /** Selects the thread state of a critical path step, and shows it. */
  openStep(step: PathStep): void;
  /** Selects a span by its displayed position, and shows it. */
  openSpan(span: ShownSpan): void;
  /** Shows a task in its panel. */
  openTask(task: TaskEntry): void;
  /** Marks the events of a task, and shows all of them. */
  showTask(task: ShownTask): void;
  /** Searches for a name, and shows the first event with it. */
  find(name: string): void;
  announce(text: string): void;
}

/** Pause after the last change before a panel asks the server. */
const REST = 180;
/** Minimum time between two updates for trace changes. */
const LIVE_REST = 3000;

export class Panels {
  private readonly tabs = new Map<Tab, HTMLButtonElement>();
  private readonly frames = new Map<Tab, HTMLElement>();
  private readonly stale = new Set<Tab>(TABS);
  private slow = 0;
  private lastSlow = -LIVE_REST;
  private readonly refresh = debounce(REST, () => this.update());

  constructor(
    private readonly state: State,
    private readonly panels: Record<Tab, Panel>,
  ) {
    TABS.forEach((tab, i) => this.add(tab, i));
    for (const tab of TABS) {
      const { topics } = panels[tab];
      state.on(topics.filter((topic) => topic !== "trace"), () => {
        this.stale.add(tab);
        if (tab === state.tab) this.refresh();
      });
      if (!topics.includes("trace")) continue;
      state.on(["trace"], () => {
        this.stale.add(tab);
        if (tab === state.tab) this.refreshSlowly();
      });
    }
    state.on(["tab"], () => this.show());
    this.show();
  }

  /** A trace that grows changes five times a second, and each answer of a panel reads events. */
  private refreshSlowly(): void {
    if (this.slow) return;
    const wait = Math.max(REST, LIVE_REST - (performance.now() - this.lastSlow));
    this.slow = window.setTimeout(() => {
      this.slow = 0;
      this.lastSlow = performance.now();
      this.update();
    }, wait);
  }

  /** Gives the focus to the tab of the active panel. */
  focus(): void {
    this.tabs.get(this.state.tab)?.focus();
  }

  private add(tab: Tab, index: number): void {
    const panel = this.panels[tab];
    const handle = button(panel.title, () => this.state.setTab(tab), {
      role: "tab",
      id: `tab-${tab}`,
      "aria-controls": `panel-${tab}`,
      title: `${panel.title} (${index + 1})`,
    });
    handle.addEventListener("keydown", (event) => this.key(event, index));
    const frame = el("div", { class: "tabpanel", role: "tabpanel", id: `panel-${tab}`, "aria-labelledby": `tab-${tab}` }, panel.element);
    panel.element.style.display = "contents";
    this.tabs.set(tab, handle);
    this.frames.set(tab, frame);
    byId("tabs").append(handle);
    byId("panels").append(frame);
  }

  private key(event: KeyboardEvent, index: number): void {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const by = steps[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.state.setTab(TABS[(index + by + TABS.length) % TABS.length]!);
    this.focus();
  }

  private show(): void {
    for (const tab of TABS) {
      const isActive = tab === this.state.tab;
      const handle = this.tabs.get(tab)!;
      handle.setAttribute("aria-selected", String(isActive));
      handle.tabIndex = isActive ? 0 : -1;
      this.frames.get(tab)!.hidden = !isActive;
    }
    this.update();
  }

  private update(): void {
    const { tab } = this.state;
    if (!this.stale.delete(tab)) return;
    void Promise.resolve(this.panels[tab].update());
  }
}

/** Text of the range that a panel describes. */
export function rangeText(state: State): string {
  if (state.isEmpty) return state.trace?.state === "loading" ? "Reading …" : "No events";
  // A saved page has answers about everything only.
  const { begin, end } = isSaved ? state.bounds : state.askedRange;
  const which = isSaved ? "Whole trace" : state.range ? "Marked range" : "Visible range";
  const from = timeOfDay(state.absolute(begin), state.calendar, 6);
  return `${which}: ${duration(end - begin)} from ${from}${state.filter ? ", filtered" : ""}`;
}

/** Parameters of a request about the range. */
export function rangeParameters(state: State): Record<string, string> {
  const { begin, end } = state.askedRange;
  return { begin: state.timeText(begin), end: state.timeText(end), filter: state.filter, offsets: state.offsetsText };
}

/** Note in place of a table: no data, or an error. */
export function note(text: string, isError = false): HTMLElement {
  return el("p", { class: isError ? "empty error" : "empty", role: isError ? "alert" : null }, text);
}

export function errorNote(error: unknown): HTMLElement {
  return note(messageOf(error), true);
}

/** Cell with a link. */
export function leadingCell(text: string, action: () => void, title: string): HTMLElement {
  const made = button("", action, { class: "cell", title });
  made.append(el("bdi", {}, text));
  return made;
}

/** Value to sort a cell by. */
export type CellKey = string | number | bigint;

/** What somebody has chosen in a table. New rows of the same table come in the same order. */
interface TableChoice {
  /** Index of the column that sorts, or -1. */
  column: number;
  isDown: boolean;
  isWhole: boolean;
}

/** Choices by captions of tables. */
const choices = new Map<string, TableChoice>();

/**
 * Table whose columns sort it. `keys` are the values of the cells of each row to sort by; numbers are sorted down first. Of more
 * than `most` rows, the first ones are shown, and all on request. `total`: number of rows if not all are given.
 */
export function sortedTable(caption: string, head: string[], rows: (string | HTMLElement)[][], keys: CellKey[][], texts = 1, most = Infinity, total = rows.length): HTMLElement {
  const made = table(caption, head, rows, texts);
  const body = made.querySelector("tbody")!;
  const cells = [...made.querySelectorAll("th")];
  const all = [...body.rows];
  let chosen = choices.get(caption) ?? { column: -1, isDown: false, isWhole: false };
  const show = () => {
    const { column, isDown, isWhole } = chosen;
    const sign = isDown ? -1 : 1;
    const numbered = all.map((_, i) => i);
    if (column in head) {
      numbered.sort((a, b) => {
        const [x, y] = [keys[a]![column]!, keys[b]![column]!];
        return x < y ? -sign : x > y ? sign : a - b;
      });
    }
    body.replaceChildren(...numbered.slice(0, isWhole ? Infinity : most).map((i) => all[i]!));
    cells.forEach((cell, i) => cell.setAttribute("aria-sort", i !== column ? "none" : isDown ? "descending" : "ascending"));
  };
  const choose = (change: Partial<TableChoice>) => {
    chosen = { ...chosen, ...change };
    choices.set(caption, chosen);
    show();
  };
  cells.forEach((cell, column) => {
    const sort = button(head[column]!, () => {
      const isNumber = typeof keys[0]?.[column] !== "string";
      choose({ column, isDown: chosen.column === column ? !chosen.isDown : isNumber });
    });
    cell.replaceChildren(sort);
  });
  show();
  if (all.length <= most || chosen.isWhole) return made;
  const more = button(total > all.length ? `Show ${count(all.length)} of ${count(total)}` : `All ${count(all.length)} rows`, () => {
    choose({ isWhole: true });
    more.remove();
    // The button had the focus.
    made.tabIndex = -1;
    made.focus({ preventScroll: true });
  });
  return el("div", {}, made, more);
}

/** Table of a few rows. */
function table(caption: string, head: string[], rows: (string | HTMLElement)[][], texts = 1): HTMLElement {
  const cells = (row: (string | HTMLElement)[], tag: "td" | "th") =>
    row.map((cell, i) => {
      const kind = i < texts ? (tag === "td" ? "text" : null) : "number";
      return el(tag, { class: kind, scope: tag === "th" ? "col" : null }, typeof cell === "string" && tag === "td" ? el("bdi", {}, cell) : cell);
    });
  return el(
    "table",
    {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...cells(head, "th"))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells(row, "td")))),
  );
}

/** List of names and values, without those that are missing. */
export function factList(facts: [string, Child][]): HTMLElement {
  const rows = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, typeof value === "string" ? el("bdi", {}, value) : value)]));
}

/** Words after counts of an incomplete response. */
export function partly(complete: boolean | undefined): string {
  return complete === false ? " (first part of the range only: mark a shorter one)" : "";
}

/** Number with a noun in singular or plural: `1,234 events`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}
