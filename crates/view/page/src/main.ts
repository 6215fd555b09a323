// Entry point: connects state, timeline, panels, keys and the server.

import { get, isAborted, Latest, messageOf, type EventDetails, type FilledTracks, type Flows, type Row, type Tiles, type Trace, type Track } from "./api";
import { showBookmarks, showClocks, toggleBookmark } from "./bookmarks";
import { showHelp } from "./dialog";
import { byId, debounce } from "./dom";
import { hasNoEnd, itemAt, nameOfItem, timeAt, wordsBefore } from "./draw";
import { Exporter } from "./export";
import { FilterField } from "./filter";
import { FindTrack } from "./find_track";
import type { FlowEnd } from "./flows";
import { Header } from "./header";
import { listenToKeys } from "./keyboard";
import { Live } from "./live";
import { DetailsPanel } from "./panels/details";
import { FlamePanel } from "./panels/flame";
import { Panels, plural, type PanelActions, type ShownSpan } from "./panels/panel";
import { RowsPanel } from "./panels/rows";
import { StatsPanel } from "./panels/stats";
import { TasksPanel } from "./panels/tasks";
import { PATH_TRACK, rangeOfStep, type PathStep } from "./path";
import { isSaved } from "./saved";
import { Search } from "./search";
import { fromFragment, State, toFragment, type Range } from "./state";
import { listenToSplitter } from "./splitter";
import { rangeOfTask, type ShownTask } from "./task_marks";
import { duration, timeOfDay } from "./time";
import { MOST_PIXELS, STRIDE } from "./tiles";
import { Timeline, type Chosen } from "./timeline";
import { nameOf } from "./tracks";

/** Maximum number of flows in a response, and of tracks in a request. */
const MOST_FLOWS = 4_000;
const MOST_TRACKS = 256;

const state = new State();
const near = new Latest();
const flows = new Latest();
let ready = false;
/** Generation of an incomplete flow response. */
let partOfFlows: number | null = null;
/** True if the range has more flows than the page requests. */
let hasMoreFlows = false;
let exporter: Exporter;
let knownFragment = "";

function announce(text: string): void {
  byId("live").textContent = text;
}

const timeline = new Timeline(state, {
  chosen: (item) => void choose(item),
  chosenStep: (step) => openStep(step),
  chosenEnd: (end) => void openEnd(end),
  background: (track) => {
    if (track !== null) timeline.chooseTrack(track);
    unselect();
  },
  zoomTo: (item) => zoomTo(state.rangeOf({ ...item, hasNoEnd: hasNoEnd(item) })),
  scrolled: () => hasMoreFlows && loadFlows(),
  announce,
  painted: () => {
    header.showMessage();
    header.showCorner();
    expose();
  },
});
const live = new Live(state, () => header.update());
const header = new Header(
  state,
  [
    { text: "Fit", title: "Fit the selection, the marked range or all (F)", action: fit },
    { text: "Mark", title: "Mark a range (M)", action: mark },
    { text: "Bookmarks", title: "Bookmarks (Shift+B)", action: () => showBookmarks(state) },
    { text: "Clocks", title: "Clock offsets of traces", action: () => showClocks(state) },
    { text: "Export", title: "Export the range (E)", action: () => exporter.open() },
    { text: "Keys", title: "All keys (?)", action: () => showHelp(state.trace?.version ?? "") },
  ],
  () => live.connected,
  () => timeline.tiles.error,
  () => timeline.drawn.exact,
);
exporter = new Exporter(state, timeline);
const actions: PanelActions = {
  openEvent: (id) => void openEvent(id),
  zoomTo: (begin, end) => state.fit({ begin, end }),
  openTrack: (track) => {
    uncollapse(track);
    timeline.chooseTrack(track);
    announce(`${state.trackOf(track)?.name ?? ""}${hiddenText(track)}`);
  },
  openState,
  openStep,
  openSpan: (span) => void openSpan(span),
  openTask: (task) => {
    state.setTab("tasks");
    void tasks.open(task);
  },
  showTask,
  find: (name) => void search.find(name),
  announce,
};
const tasks = new TasksPanel(state, actions);
const panels = new Panels(state, {
  details: new DetailsPanel(state, actions),
  events: new RowsPanel("Events", "events", state, actions),
  stats: new StatsPanel(state, actions),
  flame: new FlamePanel(state, actions),
  tasks,
  log: new RowsPanel("Log", "log", state, actions),
});
new FindTrack(state, timeline);
const filter = new FilterField(state);
const search = new Search(state, {
  openEvent: (id) => void openEvent(id),
  openTrack: actions.openTrack,
  bins: (bins) => {
    timeline.bins = bins;
    timeline.redraw();
  },
  announce,
});

/** Selects a thread state, and shows it. */
function openState(track: number, begin: number, end: number, name: string): void {
  near.abort();
  state.setFollow(false);
  reveal(track, begin, end);
  state.select({ track, lane: 0, from: begin, to: end, count: 1, name, id: null, time: begin, threadName: state.names.indexOf(name) });
  if (state.tab === "stats") state.setTab("details");
  describe();
}

/** Selects what a thread did in a step of the critical path. */
function openStep(step: PathStep): void {
  const states = state.statesOf(step.track);
  if (states) openState(states.id, step.begin, step.end, step.state);
  else zoomTo(rangeOfStep(state, step));
}

/** Selects a span, and shows it. */
async function openSpan(span: ShownSpan): Promise<void> {
  const { track, length, name } = span;
  let exact: number | null = null;
  try {
    if (span.count > 1) exact = await longestOf(span);
  } catch {
    // Something else was selected meanwhile.
    return;
  }
  const begin = exact ?? span.begin;
  const from = begin - state.offsetOf(track);
  state.setFollow(false);
  state.fit({ begin, end: begin + length });
  uncollapse(track);
  timeline.showTrack(track);
  void choose({ track, lane: 0, from, to: from + length, count: exact === null ? span.count : 1, name: state.names.indexOf(name), longest: length }, name);
}

/** Start of the longest span in a merged item; `null` if it is not found. */
async function longestOf({ track, begin, length, name }: ShownSpan): Promise<number | null> {
  const from = begin - state.offsetOf(track);
  try {
    const { tracks } = await near.get<Tiles>("tiles", { begin: state.timeText(from), end: state.timeText(from + 4 * length), pixels: 1024, tracks: track, filter: state.filter });
    for (const { items = [] } of tracks) {
      for (let i = 0; i + 5 < items.length; i += STRIDE) {
        if (items[i + 3] === 1 && Math.abs(items[i + 5]! - length) <= 1 && state.names[items[i + 4]!] === name) return begin + items[i + 1]!;
      }
    }
  } catch (error) {
    if (isAborted(error)) throw error;
    // The first of them is shown.
  }
  return null;
}

/** Marks the events of a task, and shows all of them. */
function showTask(task: ShownTask): void {
  const range = rangeOfTask(state, task);
  const tracks = [...task.marks.keys()].slice(0, MOST_TRACKS);
  if (!range) return;
  state.setFollow(false);
  uncollapse(...tracks);
  state.select(null, task);
  zoomTo(range);
  timeline.showTrack(tracks[0]!);
  const hidden = tracks.map(hiddenText).find((text) => text) ?? "";
  announce(`Marked ${plural(task.operations, "operation")} and ${plural(task.joined, "joined event")}${hidden}`);
}

/** State for tests of the page. */
function expose(): void {
  const { drawn, tiles, frames } = timeline;
  const { view, selection } = state;
  Object.assign(window, {
    __ichnos: {
      ready: ready && tiles.pending === 0,
      drawn: { ...drawn, flows: timeline.flows.length / 4, frames, milliseconds: timeline.drawTime, generation: state.generation },
      view: { begin: state.absolute(view.begin).toString(), end: state.absolute(view.end).toString(), ...(state.range && { range: state.range }) },
      selected: selection && { ...selection },
    },
  });
}

function zoomTo(range: Range): void {
  const width = state.view.end - state.view.begin;
  if (range.end > range.begin) state.fit(range);
  else state.setView(range.begin - width / 20, range.begin + width / 20);
}

/** Selects an item of the picture, and requests its event. */
async function choose(item: Chosen, itsName?: string): Promise<void> {
  const { track, lane, from, to, count } = item;
  near.abort();
  const known = state.trackOf(track);
  const name = itsName ?? nameOfItem(state, known, item.name, count);
  const isOfThread = !isSaved && !!known && (known.kind === "states" || known.kind === "runs" || known.runsThreads);
  state.select({ track, lane, from, to, count, name, id: null, time: from, ...(isOfThread && { threadName: item.name }), ...(hasNoEnd(item) && { hasNoEnd: true }) });
  if (state.tab === "stats") state.setTab("details");
  describe();
  // A thread on a processor or its state is not an event.
  if (isOfThread) return;
  // No zoom separates items at the same time: the first of them is selected.
  if (count > 1 && to > from) return;
  const tolerance = Math.ceil((4 * (state.view.end - state.view.begin)) / Math.max(timeline.width, 1));
  const offset = state.offsetOf(track);
  try {
    const row = await near.get<Row | null>("near", { track, time: state.timeText(from + offset), direction: "at", tolerance, name: item.name < 0 ? null : item.name, offsets: state.offsetsText });
    if (row && state.selection?.from === from && state.selection.track === track) state.select({ ...state.selection, id: row.id, time: state.relative(row.time) - offset });
  } catch (error) {
    if (!isAborted(error)) announce(messageOf(error));
  }
}

/** Shows the other end of an arrow, and selects its event. */
async function openEnd({ track, time }: FlowEnd): Promise<void> {
  state.setFollow(false);
  reveal(track, time, time);
  timeline.chooseTrack(track);
  announce(state.trackOf(track)?.name ?? "");
  try {
    const row = await near.get<Row | null>("near", { track, time: state.timeText(time + state.offsetOf(track)), direction: "at", tolerance: 0, offsets: state.offsetsText });
    if (row) await openEvent(row.id);
  } catch (error) {
    if (!isAborted(error)) announce(messageOf(error));
  }
}

/** Selects an event by id, and shows it unless it is visible already. */
async function openEvent(id: string, isVisible = false): Promise<void> {
  try {
    const details = await near.get<EventDetails>("event", { id, offsets: state.offsetsText });
    const track = details.track ?? state.track ?? -1;
    const time = state.relative(details.time) - state.answeredOffset(track);
    const length = Number(details.spans?.length ?? 0);
    const begin = details.spans?.begin && details.spans.begin !== id ? time - length : time;
    const end = begin + length;
    state.setFollow(false);
    if (!isVisible) reveal(track, begin, end);
    const item = length > 0 ? await spanOf(track, begin, end, details.name) : null;
    state.select({ track, lane: item?.lane ?? 0, from: begin, to: end, count: 1, name: item?.name ?? (details.label || details.name), id, time });
    if (state.tab === "stats" && !isVisible) state.setTab("details");
    describe();
  } catch (error) {
    if (!isAborted(error)) announce(messageOf(error));
  }
}

/** Lane and name of the span of an event. If the picture only has a summary, requests that part from the server. */
async function spanOf(track: number, begin: number, end: number, event: string): Promise<{ lane: number; name: string } | null> {
  const drawn = itemAt(state, timeline.tiles.of(track), begin, end, event);
  if (drawn || track < 0) return drawn;
  try {
    const { tracks } = await near.get<Tiles>("tiles", { begin: state.timeText(begin), end: state.timeText(end), pixels: 4, tracks: track });
    return itemAt(state, tracks, 0, end - begin, event);
  } catch (error) {
    // The event has a name of its own.
    if (isAborted(error)) throw error;
    return null;
  }
}

function reveal(track: number, begin: number, end: number): void {
  const offset = state.offsetOf(track);
  state.reveal(begin + offset, end + offset);
  uncollapse(track);
  timeline.showTrack(track);
}

/** Expands the tracks above some tracks, and shows hidden ones among them. */
function uncollapse(...tracks: number[]): void {
  const { parents } = timeline.layout.tree;
  const closed = new Set<number>();
  let wasHidden = false;
  for (const track of tracks) {
    let at: number | null = track;
    for (let depth = 0; at !== null && depth < 64; depth++) {
      wasHidden = state.hidden.delete(at) || wasHidden;
      if (at !== track && state.closed.has(at)) closed.add(at);
      at = parents.get(at) ?? state.trackOf(at)?.parent ?? null;
    }
  }
  if (closed.size) state.closeAll(false, closed);
  else if (wasHidden) state.emit("layout");
}

/** Explains why a requested track is not shown. */
function hiddenText(track: number): string {
  if (!state.trackOf(track) || timeline.layout.of(track)) return "";
  return state.trackText ? ', hidden by "Find a track"' : state.filled ? ", hidden by the filter" : "";
}

function describe(): void {
  const { selection } = state;
  if (!selection) return;
  // Thread states are in the row of the thread.
  const known = timeline.layout.of(selection.track)?.track ?? state.trackOf(selection.track);
  const track = known ? nameOf(known) : "";
  const length = selection.hasNoEnd ? ", no end" : selection.to > selection.from ? `, ${duration(selection.to - selection.from)}` : "";
  announce(`${[wordsBefore(selection.name, selection.count), selection.name].join(" ").trim()}, ${timeOfDay(state.absolute(selection.from + state.offsetOf(selection.track)), state.calendar)}${length}, ${track}${hiddenText(selection.track)}`);
}

async function neighbour(direction: "next" | "previous"): Promise<void> {
  const track = state.track ?? timeline.layout.rows.find((row) => row.track.items > 0)?.track.id;
  if (track === undefined || state.isEmpty) return;
  state.track = track;
  if (track === PATH_TRACK) return neighbourStep(direction);
  const { selection, view } = state;
  const offset = state.offsetOf(track);
  const edge = direction === "next" ? view.begin - 1 : view.end + 1;
  const time = selection?.track === track ? selection.time + offset : edge;
  try {
    // Others at the same time follow the selected event, too.
    const event = selection?.track === track ? selection.id : null;
    const row = await near.get<Row | null>("near", { track, time: state.timeText(time), direction, event, offsets: state.offsetsText });
    if (!row) return announce(`No ${direction} event in this track`);
    await openEvent(row.id);
  } catch (error) {
    if (!isAborted(error)) announce(messageOf(error));
  }
}

/** Selects the step of the critical path before or after the selected one. */
function neighbourStep(direction: "next" | "previous"): void {
  const steps = state.path?.steps ?? [];
  const { selection } = state;
  const time = selection ? state.rangeOf(selection).begin : direction === "next" ? -Infinity : Infinity;
  const beginOf = (step: PathStep) => rangeOfStep(state, step).begin;
  const step = direction === "next" ? steps.find((one) => beginOf(one) > time) : steps.findLast((one) => beginOf(one) < time);
  if (!step) return announce(`No ${direction} step`);
  openStep(step);
  state.track = PATH_TRACK;
  timeline.redraw();
}

/** Fits the selection or the marked range, and the whole trace if that is already visible. */
function fit(): void {
  state.setFollow(false);
  const { selection, range } = state;
  const wanted = selection && selection.to > selection.from ? state.rangeOf(selection) : range;
  const before = toFragment(state);
  if (wanted) state.fit(wanted);
  if (!wanted || toFragment(state) === before) state.fit(state.extent);
}

function mark(): void {
  const { selection } = state;
  const range = selection && selection.to > selection.from ? state.rangeOf(selection) : state.view;
  const { begin, end } = state.extent;
  state.setRange({ begin: Math.max(range.begin, begin), end: Math.min(range.end, end) });
  announce(`Marked ${duration(state.range!.end - state.range!.begin)}`);
}

function escape(): void {
  if (state.range) state.setRange(null);
  else unselect();
}

/** Selects nothing, and gives up an event that is awaited. */
function unselect(): void {
  near.abort();
  if (state.selection || state.task) state.select(null);
}

listenToKeys(state, {
  pointerTime: () => {
    const { width, pointer } = timeline;
    return timeAt(pointer ?? width / 2, state.view, width);
  },
  neighbour: (direction) => void neighbour(direction),
  moveTrack: (by) => {
    const row = timeline.moveTrack(by);
    if (row) announce(`${row.track.name}, ${row.track.items} items`);
  },
  scroll: (pages) => timeline.scrollBy(pages * timeline.height * 0.9),
  enter: () => {
    if (state.selection) zoomTo(state.rangeOf(state.selection));
    else if (timeline.rowTrack !== null) state.toggle(timeline.rowTrack);
  },
  fit,
  mark,
  escape,
  search: () => search.focus(),
  filter: () => byId("filter").focus(),
  hit: (by) => search.move(by),
  bookmark: () => toggleBookmark(state, announce),
  bookmarks: () => showBookmarks(state),
  follow: () => state.setFollow(!state.follow),
  pin: () => timeline.pin(timeline.rowTrack),
  hide: () => timeline.hide(timeline.rowTrack),
  exportRange: () => exporter.open(),
  help: () => showHelp(state.trace?.version ?? ""),
  focusPanel: () => panels.focus(),
});
listenToSplitter(byId("splitter"), byId("panel"));

const filledTracks = new Latest();
let filledTimer = 0;

/** Requests the tracks with items that pass the filter, until all events are read. */
async function askFilled(): Promise<void> {
  clearTimeout(filledTimer);
  filledTracks.abort();
  const { filter } = state;
  if (!filter) return state.setFilled(null);
  try {
    const answer = await filledTracks.get<FilledTracks>("filled", { filter });
    // A growing trace is never complete.
    if (answer.complete || state.trace?.state === "live") return state.setFilled(new Set(answer.tracks));
    filledTimer = window.setTimeout(() => void askFilled(), 500);
  } catch (error) {
    if (!isAborted(error)) state.setFilled(null);
  }
}

const writeFragment = debounce(250, () => {
  // An address that was changed meanwhile is applied by its event, which would otherwise find this one.
  if (!ready || location.hash !== knownFragment) return;
  const fragment = toFragment(state);
  if (fragment === location.hash) return;
  history.replaceState(null, "", fragment);
  knownFragment = location.hash;
});

/** Shows what the address says, if somebody else changed it. */
function applyAddress(): void {
  if (location.hash === knownFragment) return;
  knownFragment = location.hash;
  void applyFragment(knownFragment);
}

/** Loads the arrows between causes and effects. Without them, the picture has no arrows. */
const loadFlows = debounce(200, () => void askFlows());

async function askFlows(): Promise<void> {
  const { begin, end } = state.view;
  partOfFlows = null;
  if (state.isEmpty || !timeline.layout.rows.length) return;
  // Moved tracks have flows of other times there.
  const asked = state.withoutOffsets(state.view);
  const from = Math.floor(asked.begin);
  const to = Math.max(Math.ceil(asked.end), from);
  const pixels = Math.min(Math.max(1, Math.round((timeline.width * (to - from)) / (end - begin))), MOST_PIXELS);
  const parameters = { begin: state.timeText(from), end: state.timeText(to), pixels, limit: MOST_FLOWS, filter: state.filter };
  let found: number[] = [];
  try {
    const answer = await flows.get<Flows>("flows", parameters);
    if (!answer.complete) partOfFlows = answer.generation;
    found = answer.flows;
    hasMoreFlows = found.length >= 4 * MOST_FLOWS;
    // If there are too many flows, the server sends the longest. Flows from and to visible rows take precedence.
    if (hasMoreFlows) found = joined((await flows.get<Flows>("flows", { ...parameters, tracks: seenTracks().join(",") })).flows, found);
  } catch (error) {
    if (isAborted(error)) return;
  }
  timeline.flows = found.map((value, i) => (i % 2 ? value + from : value));
  timeline.redraw();
}

/** Tracks of visible rows and tracks within collapsed rows, as many as the server accepts. */
function seenTracks(): number[] {
  const { layout } = timeline;
  const rows = new Set(layout.visible(timeline.scene().top, timeline.height).map((row) => row.track.id).filter((track) => track !== PATH_TRACK));
  const isWithin = ({ id }: Track) => !rows.has(id) && rows.has(layout.rowAround(id)?.track.id ?? PATH_TRACK);
  return [...rows, ...state.tracks.filter(isWithin).map((track) => track.id)].slice(0, MOST_TRACKS);
}

/** Merges both lists of flows without duplicates. */
function joined(flows: number[], others: number[]): number[] {
  const keyAt = (list: number[], i: number) => list.slice(i, i + 4).join();
  const known = new Set<string>();
  for (let i = 0; i < flows.length; i += 4) known.add(keyAt(flows, i));
  const found = [...flows];
  for (let i = 0; i < others.length; i += 4) if (!known.has(keyAt(others, i))) found.push(...others.slice(i, i + 4));
  return found;
}

/** Applies the address fragment, at the start and after manual changes. */
async function applyFragment(fragment: string): Promise<void> {
  const { event } = fromFragment(state, fragment);
  filter.restore();
  for (const topic of ["layout", "filter", "tab", "range", "bookmarks", "view"] as const) state.emit(topic);
  if (state.search) void search.restore();
  if (event) await openEvent(event, true);
  timeline.showTrack(state.track);
}

function awaitFirstEvent(fragment: string): void {
  let applied = false;
  state.on(["trace"], () => {
    if (applied || state.isEmpty) return;
    applied = true;
    void applyFragment(fragment);
  });
}

async function start(): Promise<void> {
  header.showMessage();
  try {
    const [trace, list] = await Promise.all([get<Trace>("trace"), get<{ tracks: Track[] | null }>("tracks")]);
    state.setTrace(trace);
    state.setTracks(list.tracks ?? []);
    await timeline.tiles.loadNames();
  } catch (error) {
    header.showMessage(error);
    setTimeout(() => void start(), 3000);
    return;
  }
  // A trace that has no event yet gets the view of the address with its first one.
  const fragment = (knownFragment = location.hash);
  if (!state.isEmpty) await applyFragment(fragment);
  else awaitFirstEvent(fragment);
  ready = true;
  state.on(["view", "range", "selection", "filter", "tab", "layout", "bookmarks", "search", "offsets"], writeFragment);
  state.on(["view", "tracks", "layout", "filter"], loadFlows);
  // Until the server has answered, no track is hidden because of the filter before.
  state.on(["filter"], () => state.setFilled(null));
  state.on(["filter", "tracks"], () => void askFilled());
  const askAgain = debounce(1000, () => void askFilled());
  state.on(["trace"], () => state.filter && state.trace?.state === "live" && askAgain());
  if (state.filter) void askFilled();
  state.on(["trace"], () => {
    if (partOfFlows !== null && partOfFlows !== state.trace?.generation) loadFlows();
  });
  addEventListener("hashchange", applyAddress);
  applyAddress();
  loadFlows();
  if (!isSaved) live.connect();
  timeline.redraw();
}

document.documentElement.classList.toggle("saved", isSaved);
if (isSaved) state.setTab("stats");
expose();
void start();
