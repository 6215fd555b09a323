// State of the page, with listeners for changes.
// Times are numbers of ns relative to `origin`, the first event that the page saw: exact up to 104 days.

import type { Trace, Track } from "./api";
import { colorPrograms } from "./colors";
import { PATH_TRACK, type ThreadPath } from "./path";
import { isSaved } from "./saved";
import type { ShownTask } from "./task_marks";
import type { Calendar } from "./time";

export interface Range {
  begin: number;
  end: number;
}

/** Selected item of a track, and its event once the server has answered. */
export interface Selection {
  track: number;
  lane: number;
  from: number;
  to: number;
  count: number;
  name: string;
  id: string | null;
  /** Time of the event, which differs from the item's start for the end of a span. */
  time: number;
  /** Name number, if the item is a thread state or a thread on a processor. */
  threadName?: number;
  /** True for a span without an end. It is drawn up to its latest possible end. */
  hasNoEnd?: boolean;
}

export interface Bookmark {
  time: number;
  label: string;
}

export const TABS = ["details", "events", "stats", "flame", "tasks", "log"] as const;
export type Tab = (typeof TABS)[number];
/** Default tab, if the address has none. */
export const FIRST_TAB: Tab = "stats";

export type Topic =
  | "trace"
  | "tracks"
  | "layout"
  | "names"
  | "view"
  | "range"
  | "selection"
  | "filter"
  | "tab"
  | "bookmarks"
  | "search"
  | "follow"
  | "offsets";

/** Clock offsets that the server takes. */
export const MOST_OFFSETS = 64;

/** Maximum number of tracks with which processes are initially expanded. */
const MOST_OPEN = 40;

/** Name of a process or a thread without its number. */
export function withoutNumber(name: string): string {
  return name.replace(/ \(\d+\)$/, "");
}

/** Shortest view: 20 ns, where single nanoseconds are wide. */
const SHORTEST = 20;

export class State {
  trace: Trace | null = null;
  origin = 0n;
  generation = 0;
  tracks: Track[] = [];
  names: string[] = [];
  view: Range = { begin: 0, end: 1 };
  /** Range marked by the user. */
  range: Range | null = null;
  selection: Selection | null = null;
  /** Task whose events are marked, until something is selected. */
  task: ShownTask | null = null;
  /** Current track for keyboard commands. */
  track: number | null = null;
  filter = "";
  search = "";
  tab: Tab = FIRST_TAB;
  /** Text that the names of shown tracks contain. */
  trackText = "";
  collapsed = new Set<number>();
  /** Tracks that stay at the top, and those that are not shown. */
  pinned = new Set<number>();
  hidden = new Set<number>();
  /** Tracks with items that pass the filter, once known. */
  filled: Set<number> | null = null;
  /** Tracks that were closed while a filter leaves only some. It opens all of these at first. */
  private closedInFilter = new Set<number>();
  /** Critical path that is shown as a track. */
  path: ThreadPath | null = null;
  bookmarks: Bookmark[] = [];
  follow = false;
  /** Clock offsets in ns by the id of the outermost track. */
  offsets = new Map<number, number>();
  /** Tracks that are closed unless they were opened, and those that were opened or closed by hand. */
  private closedFirst = new Set<number>();
  private touched = new Set<number>();
  /** Programs by thread name. */
  private programs = new Map<string, string>();
  private byId = new Map<number, Track>();
  private statesByThread = new Map<number, Track>();
  private rootOf = new Map<number, number>();
  private listeners = new Map<Topic, (() => void)[]>();

  on(topics: Topic[], listener: () => void): void {
    for (const topic of topics) {
      const list = this.listeners.get(topic) ?? [];
      list.push(listener);
      this.listeners.set(topic, list);
    }
  }

  emit(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  absolute(time: number): bigint {
    return this.origin + BigInt(Math.round(time));
  }

  relative(time: string | bigint): number {
    return Number(BigInt(time) - this.origin);
  }

  get calendar(): Calendar {
    return { hasDates: this.trace?.hasDates ?? false, zone: this.trace?.zone ?? "UTC" };
  }

  /** Time range of the whole trace. An empty trace has a second. */
  get bounds(): Range {
    const { begin, end } = this.trace ?? {};
    if (!begin || !end) return { begin: 0, end: 1e9 };
    const whole = { begin: this.relative(begin), end: this.relative(end) };
    if (whole.end <= whole.begin) whole.end = whole.begin + 1000;
    return whole;
  }

  /** Time of the whole picture: that of the trace, where moved tracks may need more. */
  get extent(): Range {
    const { begin, end } = this.bounds;
    const offsets = [...this.offsets.values()];
    return { begin: begin + Math.min(0, ...offsets), end: end + Math.max(0, ...offsets) };
  }

  /** Clock offsets in API form; empty without any. */
  get offsetsText(): string {
    return [...this.offsets].filter(([, ns]) => ns).map(([root, ns]) => `${root}:${Math.round(ns)}`).join(",");
  }

  /** Time in API form. */
  timeText(time: number): string {
    return this.absolute(time).toString();
  }

  /** Moves the clocks of traces: offsets in ns by the id of the outermost track. Ids of events contain their times. */
  moveClocks(offsets: Iterable<[number, number]>): void {
    const { selection } = this;
    const before = selection ? this.offsetOf(selection.track) : 0;
    for (const [root, ns] of offsets) this.offsets.set(root, ns);
    if (selection?.id) {
      const [stream, time, position] = selection.id.split(":");
      const by = BigInt(Math.round(this.offsetOf(selection.track)) - Math.round(before));
      this.selection = { ...selection, id: `${stream}:${BigInt(time!) + by}:${position}` };
    }
    this.emit("offsets");
    this.emit("view");
  }

  get isEmpty(): boolean {
    return !this.trace?.begin;
  }

  /** What panels say as long as there is nothing to show. */
  get emptyText(): string {
    return this.trace?.state === "loading" ? "Reading the events …" : "No events yet.";
  }

  /** Range that panels describe: the marked range, otherwise the visible range within the trace. */
  get askedRange(): Range {
    const whole = this.extent;
    const { begin, end } = this.range ?? this.view;
    const from = Math.min(Math.max(Math.floor(begin), whole.begin), whole.end);
    return { begin: from, end: Math.max(from, Math.min(Math.ceil(end), whole.end)) };
  }

  setTrace(trace: Trace): void {
    const first = this.trace === null || this.isEmpty;
    this.trace = trace;
    this.generation = Math.max(this.generation, trace.generation);
    if (first && trace.begin) {
      this.origin = BigInt(trace.begin);
      this.view = padded(this.bounds);
    }
    this.emit("trace");
  }

  setTracks(tracks: Track[]): void {
    this.tracks = tracks;
    this.byId = new Map(tracks.map((track) => [track.id, track]));
    this.rootOf.clear();
    this.statesByThread = new Map(tracks.flatMap((track) => (track.kind === "states" && track.parent !== null ? [[track.parent, track] as const] : [])));
    // A collapsed process shows its running threads, otherwise it would look empty.
    const hasRuns = tracks.some((track) => track.kind === "runs");
    for (const track of tracks) {
      this.rootOf.set(track.id, track.parent === null ? track.id : (this.rootOf.get(track.parent) ?? track.parent));
      const above = this.byId.get(track.parent ?? -1);
      if (track.kind === "thread") this.programs.set(track.name, withoutNumber(above?.kind === "process" ? above.name : track.name));
      const closes = (track.kind === "process" && tracks.length > MOST_OPEN && hasRuns) || (track.kind === "processor" && track.runsThreads);
      if (!closes || this.closedFirst.has(track.id)) continue;
      this.closedFirst.add(track.id);
      if (!this.touched.has(track.id)) this.collapsed.add(track.id);
    }
    this.colorPrograms();
    this.emit("tracks");
  }

  /** Gives different colors to the programs that ran longest. In a growing trace, existing colors stay. */
  private colorPrograms(): void {
    const ran = new Map<string, number>();
    for (const [thread, { running = 0 }] of this.statesByThread) {
      const program = this.programOf(this.byId.get(thread)?.name ?? "");
      ran.set(program, (ran.get(program) ?? 0) + running);
    }
    const names = [...ran].filter(([, time]) => time).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([name]) => name);
    colorPrograms(names, this.trace?.state === "live");
  }

  /** Outermost track above a track. */
  rootOfTrack(track: number): number {
    return this.rootOf.get(track) ?? track;
  }

  /** Clock offset to add to the times of a track. */
  offsetOf(track: number): number {
    return this.offsets.get(this.rootOfTrack(track)) ?? 0;
  }

  /** Adds the clock offset of a track to a time in a response. */
  shownTime(time: string, track: number): bigint {
    return this.absolute(this.relative(time) + this.offsetOf(track));
  }

  /** Range of requests without offsets that has all that is shown in a range, however clocks were moved. */
  withoutOffsets({ begin, end }: Range): Range {
    const offsets = [0, ...this.offsets.values()];
    return { begin: begin - Math.max(...offsets), end: end - Math.min(...offsets) };
  }

  /** Clock offset included in responses about events of a track. Responses of a saved page do not include it. */
  answeredOffset(track: number): number {
    return isSaved ? 0 : this.offsetOf(track);
  }

  trackOf(id: number | null): Track | undefined {
    return id === null ? undefined : this.byId.get(id);
  }

  /** State track for the thread of a track. */
  statesOf(thread: number | undefined): Track | undefined {
    return thread === undefined ? undefined : this.statesByThread.get(thread);
  }

  /** Sets the visible time, at least `SHORTEST` and not far beyond the trace. */
  setView(begin: number, end: number): void {
    const whole = this.extent;
    const length = whole.end - whole.begin;
    let width = Math.min(Math.max(end - begin, SHORTEST), length * 1.5 + SHORTEST);
    if (!Number.isFinite(width)) width = length;
    const middle = (begin + end) / 2;
    let from = middle - width / 2;
    // Half of the view at least shows the trace.
    from = Math.min(Math.max(from, whole.begin - width / 2), whole.end - width / 2);
    if (from === this.view.begin && from + width === this.view.end) return;
    this.view = { begin: from, end: from + width };
    this.emit("view");
  }

  /** Zooms by a factor so that the time `at` stays where it is. */
  zoom(factor: number, at: number): void {
    const whole = this.extent;
    const { begin, end } = this.view;
    const most = ((whole.end - whole.begin) * 1.5 + SHORTEST) / (end - begin);
    const by = Math.min(Math.max(factor, SHORTEST / (end - begin)), most);
    this.setView(at - (at - begin) * by, at + (end - at) * by);
  }

  pan(by: number): void {
    this.setView(this.view.begin + by, this.view.end + by);
  }

  /** Moves the view so that a time is visible, and keeps its width. */
  reveal(begin: number, end = begin): void {
    const { view } = this;
    const width = view.end - view.begin;
    if (begin >= view.begin && Math.min(end, begin + width / 2) <= view.end) return;
    const middle = end - begin > width ? begin + width * 0.4 : (begin + end) / 2;
    // No time beyond the trace, unless the view is wider than it.
    const whole = padded(this.extent);
    const from = Math.max(Math.min(middle - width / 2, whole.end - width), whole.begin);
    this.setView(from, from + width);
  }

  /** Range of an item. A span without an end stops at the visible range, because its drawn length is not its real length. */
  rangeOf(item: Pick<Selection, "track" | "from" | "to" | "hasNoEnd">): Range {
    const offset = this.offsetOf(item.track);
    const { begin, end } = { begin: item.from + offset, end: item.to + offset };
    if (!item.hasNoEnd) return { begin, end };
    const { view } = this;
    const visible = view.end > begin ? view.end : begin + (view.end - view.begin);
    return { begin, end: Math.min(end, visible) };
  }

  /** Shows a range with a margin on both sides, unless the view starts or ends there already. */
  fit(range: Range): void {
    const wide = padded(range);
    const { begin, end } = this.view;
    this.setView(range.begin === begin ? begin : wide.begin, range.end === end ? end : wide.end);
  }

  setRange(range: Range | null): void {
    this.range = range && { begin: Math.min(range.begin, range.end), end: Math.max(range.begin, range.end) };
    this.emit("range");
  }

  select(selection: Selection | null, task: ShownTask | null = null): void {
    this.selection = selection;
    this.task = task;
    if (selection) this.track = selection.track;
    this.emit("selection");
  }

  /** Tracks whose expansion differs from the default, for the address. */
  get folds(): { closed: number[]; opened: number[] } {
    const closed = [...this.collapsed].filter((track) => !this.closedFirst.has(track));
    return { closed, opened: [...this.closedFirst].filter((track) => !this.collapsed.has(track)) };
  }

  setFolds(closed: number[], opened: number[]): void {
    this.touched = new Set([...closed, ...opened]);
    this.collapsed = new Set([...this.closedFirst, ...closed]);
    for (const track of opened) this.collapsed.delete(track);
  }

  setTab(tab: Tab): void {
    this.tab = tab;
    this.emit("tab");
  }

  setFilter(filter: string): void {
    if (filter === this.filter) return;
    this.filter = filter;
    this.emit("filter");
  }

  setFollow(follow: boolean): void {
    if (follow === this.follow) return;
    this.follow = follow;
    this.emit("follow");
  }

  /** Program of a thread, by thread name: the process name without its number. */
  programOf(thread: string): string {
    return this.programs.get(thread) ?? withoutNumber(thread);
  }

  /** Tracks that are closed now. */
  get closed(): Set<number> {
    return this.filled ? this.closedInFilter : this.collapsed;
  }

  /** Shows only tracks with items that pass the filter; `null` for all. A new filter expands its tracks. */
  setFilled(tracks: Set<number> | null): void {
    if (this.filled === tracks) return;
    if (!tracks) this.closedInFilter.clear();
    this.filled = tracks;
    this.emit("layout");
  }

  /** Expands or collapses all tracks that contain others. */
  closeAll(isClosed: boolean, parents: Iterable<number>): void {
    for (const track of parents) {
      if (!this.filled) this.touched.add(track);
      if (isClosed && this.byId.get(track)?.parent !== null) this.closed.add(track);
      else if (!isClosed) this.closed.delete(track);
    }
    this.emit("layout");
  }

  /** Shows the critical path of a thread as the first track. */
  setPath(path: ThreadPath | null): void {
    this.path = path;
    this.emit("layout");
  }

  /** Pins or unpins a track. */
  pin(track: number): void {
    if (track === PATH_TRACK) return;
    if (!this.pinned.delete(track)) this.pinned.add(track);
    this.emit("layout");
  }

  /** Hides a track and those below it. */
  hide(track: number): void {
    if (track === PATH_TRACK) return this.setPath(null);
    this.hidden.add(track);
    this.pinned.delete(track);
    this.emit("layout");
  }

  showHidden(): void {
    this.hidden.clear();
    this.emit("layout");
  }

  toggle(track: number): void {
    if (!this.filled) this.touched.add(track);
    if (!this.closed.delete(track)) this.closed.add(track);
    this.emit("layout");
  }
}

function padded(range: Range): Range {
  const margin = Math.max((range.end - range.begin) * 0.02, 5);
  return { begin: range.begin - margin, end: range.end + margin };
}

/** Address fragment that describes the view, with absolute times. */
export function toFragment(state: State): string {
  if (state.isEmpty) return location.hash;
  const parts = new URLSearchParams();
  const at = (time: number) => state.absolute(time).toString();
  parts.set("view", `${at(state.view.begin)},${at(state.view.end)}`);
  if (state.range) parts.set("range", `${at(state.range.begin)},${at(state.range.end)}`);
  if (state.selection?.id) parts.set("event", state.selection.id);
  if (state.track !== null && state.track >= 0) parts.set("track", String(state.track));
  if (state.tab !== FIRST_TAB || state.selection?.id) parts.set("tab", state.tab);
  if (state.filter) parts.set("filter", state.filter);
  if (state.search) parts.set("search", state.search);
  const { closed, opened } = state.folds;
  if (closed.length) parts.set("collapsed", closed.join(","));
  if (opened.length) parts.set("opened", opened.join(","));
  if (state.pinned.size) parts.set("pinned", [...state.pinned].join(","));
  if (state.hidden.size) parts.set("hidden", [...state.hidden].join(","));
  for (const [root, offset] of state.offsets) if (offset) parts.append("offset", `${root},${offset}`);
  for (const mark of state.bookmarks) parts.append("mark", `${at(mark.time)},${mark.label}`);
  return `#${parts.toString().replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
}

/** Applies a fragment, and returns the event to select. Invalid parts are ignored. */
export function fromFragment(state: State, fragment: string): { event: string | null } {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const pair = (text: string | null): Range | null => {
    const found = /^(-?\d{1,30}),(-?\d{1,30})$/.exec(text ?? "");
    return found ? { begin: state.relative(found[1]!), end: state.relative(found[2]!) } : null;
  };
  const numbers = (text: string | null) => (text ?? "").split(",").filter((part) => /^\d{1,15}$/.test(part)).map(Number);
  state.setFolds(numbers(parts.get("collapsed")), numbers(parts.get("opened")));
  state.pinned = new Set(numbers(parts.get("pinned")));
  state.hidden = new Set(numbers(parts.get("hidden")));
  state.track = numbers(parts.get("track"))[0] ?? null;
  state.filter = parts.get("filter") ?? "";
  state.search = parts.get("search") ?? "";
  const tab = TABS.find((name) => name === parts.get("tab"));
  if (tab) state.tab = tab;
  // An address of an event shows it.
  else if (parts.has("event")) state.tab = "details";
  state.bookmarks = parts.getAll("mark").slice(0, 1000).flatMap((text) => {
    const found = /^(-?\d{1,30}),(.*)$/s.exec(text);
    return found ? [{ time: state.relative(found[1]!), label: found[2]! }] : [];
  });
  state.offsets.clear();
  for (const text of parts.getAll("offset").slice(0, MOST_OFFSETS)) {
    const found = /^(\d{1,15}),(-?[\d.]{1,25})$/.exec(text);
    if (found) state.offsets.set(Number(found[1]), Number(found[2]));
  }
  state.range = pair(parts.get("range"));
  const view = pair(parts.get("view"));
  if (view) state.setView(view.begin, view.end);
  return { event: parts.get("event") };
}
