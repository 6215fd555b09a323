// Timeline rows: visible tracks and their positions.

import type { Track, TrackKind } from "./api";
import { PATH_TRACK, type ThreadPath } from "./path";

export const LANE = 18;
/** Height of a span. */
export const BAR = LANE - 2;
const LEAST = 24;
const COUNTER = 44;
const MARGIN = 3;
/** Height of the states below the spans of a thread, and of those of a thread without spans. */
const STATES = 6;
const WIDE_STATES = 14;
/** Height of a processor in the row of a closed process, and the greatest height of all of them. */
const RUN = 3;
const MOST_RUNS = 60;
/** Maximum number of drawn lanes. Deeper lanes are counted in the label. */
const MOST_LANES = 256;

export interface TrackRow {
  track: Track;
  index: number;
  depth: number;
  y: number;
  height: number;
  lanes: number;
  children: number;
  /** True if the tracks below it are not shown. */
  isClosed: boolean;
  /** Height of the bar of states at the bottom. */
  bar: number;
  /** Track of the states of the thread. */
  states?: Track;
  /** Track of the threads of a closed process, as processors ran them. */
  runs?: Track;
  /** True for a row that stays where it is while others scroll. */
  isStuck?: boolean;
}

/** Options that determine the visible tracks and their order. */
export interface LayoutOptions {
  closed: Set<number>;
  /** Text that names of shown tracks contain; empty for all. */
  text?: string;
  /** Tracks that stay at the top, with those below them. */
  pinned?: Set<number>;
  hidden?: Set<number>;
  /** Tracks with items that pass the filter; all tracks if undefined. */
  filled?: Set<number> | null;
  path?: ThreadPath | null;
}

/** Maximum fraction of the picture height for pinned tracks. If they need more, all rows scroll. */
const MOST_PINNED = 0.6;

/** Names of track kinds. */
export const KINDS: Record<TrackKind, string> = {
  trace: "trace",
  process: "process",
  thread: "thread",
  processor: "processor",
  stream: "data stream",
  spans: "spans",
  states: "states of a thread",
  runs: "threads that ran",
  path: "critical path",
  counter: "counter",
  losses: "losses and damage",
};

/** Order of track kinds with the same parent. */
const ORDER: TrackKind[] = ["trace", "processor", "process", "thread", "spans", "stream", "counter", "losses"];
const collator = new Intl.Collator("en", { numeric: true });

/** Name of the track of the threads that a processor runs, behind the name of the processor. */
const RUN_NAME = " threads";

/** Displayed name of a track. The track of running threads stands for the processor. */
export function nameOf(track: Track): string {
  return track.runsThreads && track.name.endsWith(RUN_NAME) ? track.name.slice(0, -RUN_NAME.length) : track.name;
}

/** Tracks by parent. */
export class TrackTree {
  readonly children = new Map<number | null, Track[]>();
  readonly states = new Map<number, Track>();
  readonly runs = new Map<number, Track>();
  /** Parents of tracks. */
  readonly parents = new Map<number, number>();
  /** Running time of the threads of a track, in nanoseconds. */
  readonly running = new Map<number, number>();

  constructor(tracks: Track[]) {
    const known = new Map(tracks.map((track) => [track.id, track]));
    const processors = new Map(tracks.filter((track) => track.runsThreads).map((track) => [`${track.parent} ${track.name}`, track.id]));
    for (const track of tracks) {
      let parent = track.parent !== null && known.has(track.parent) ? track.parent : null;
      if (track.kind === "states" && parent !== null) {
        this.states.set(parent, track);
        this.addRunning(parent, known, track.running ?? 0);
        continue;
      }
      if (track.kind === "runs" && parent !== null) {
        this.runs.set(parent, track);
        continue;
      }
      // Other events of a processor are below the threads that it ran.
      if (track.kind === "processor" && !track.runsThreads) parent = processors.get(`${track.parent} ${track.name}${RUN_NAME}`) ?? parent;
      if (parent !== null) this.parents.set(track.id, parent);
      const list = this.children.get(parent);
      if (list) list.push(track);
      else this.children.set(parent, [track]);
    }
    for (const list of this.children.values()) list.sort((a, b) => this.compare(a, b));
  }

  private addRunning(from: number, known: Map<number, Track>, time: number): void {
    let track: number | null = from;
    for (let depth = 0; track !== null && depth < 8; depth++) {
      this.running.set(track, (this.running.get(track) ?? 0) + time);
      track = known.get(track)?.parent ?? null;
    }
  }

  /** The tracks that ran longest come first. */
  private compare(a: Track, b: Track): number {
    const ran = (track: Track) => (track.kind === "process" || track.kind === "thread" ? (this.running.get(track.id) ?? 0) : 0);
    return ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || ran(b) - ran(a) || collator.compare(a.name, b.name) || a.id - b.id;
  }
}

/** Rows of all tracks outside of collapsed tracks. */
export class Layout {
  rows: TrackRow[] = [];
  height = 0;
  /** Height of the rows at the top that do not scroll, if there is room for them. */
  pinnedHeight = 0;
  readonly tree: TrackTree;
  private byTrack = new Map<number, TrackRow>();
  private pinnedRows = 0;

  constructor(tracks: Track[], private readonly options: LayoutOptions) {
    this.tree = new TrackTree(tracks);
    const { path, pinned } = options;
    if (path) this.add(trackOfPath(path), 0, 0, false);
    const known = new Map(tracks.map((track) => [track.id, track]));
    const roots = [...(pinned ?? [])].flatMap((track) => known.get(track) ?? []);
    this.addAll(roots, true);
    this.pinnedRows = this.rows.length;
    this.pinnedHeight = this.height;
    this.addAll(this.tree.children.get(null) ?? [], false);
  }

  /** Adds tracks with the tracks below them. With a text, only adds tracks whose names contain it, with the tracks above and below them. */
  private addAll(roots: Track[], isPinned: boolean): void {
    const { children } = this.tree;
    const { closed, text, hidden, pinned, filled } = this.options;
    const wanted = text ? this.named(text.toLowerCase()) : null;
    const left = filled ? this.around(filled) : null;
    // Uses a stack instead of recursion, because the depth comes from the input.
    const stack = roots.map((track) => ({ track, depth: 0 })).reverse();
    while (stack.length) {
      const { track, depth } = stack.pop()!;
      const isMoved = pinned?.has(track.id) && !(isPinned && depth === 0);
      if (isMoved || hidden?.has(track.id) || (wanted && !wanted.has(track.id)) || (left && !left.has(track.id))) continue;
      const below = children.get(track.id) ?? [];
      // Search results are shown wherever they are.
      const isClosed = closed.has(track.id) && !(wanted && below.some((one) => wanted.get(one.id) === "named"));
      this.add(track, depth, below.length, isClosed);
      if (isClosed) continue;
      for (let i = below.length - 1; i >= 0; i--) stack.push({ track: below[i]!, depth: depth + 1 });
    }
  }

  /** Tracks of a set, and those above them. */
  private around(tracks: Set<number>): Set<number> {
    const found = new Set<number>();
    const { parents } = this.tree;
    for (const track of tracks) {
      for (let at: number | null = track; at !== null && !found.has(at); at = parents.get(at) ?? null) found.add(at);
    }
    return found;
  }

  /** Tracks whose names contain a text, and those above and below them. */
  private named(text: string): Map<number, "named" | "beside"> {
    const found = new Map<number, "named" | "beside">();
    const { children } = this.tree;
    const visit = (track: Track, isBelow: boolean, depth: number): boolean => {
      const isNamed = nameOf(track).toLowerCase().includes(text);
      let isAbove = false;
      if (depth < 64) for (const below of children.get(track.id) ?? []) isAbove = visit(below, isBelow || isNamed, depth + 1) || isAbove;
      if (isNamed || isAbove) found.set(track.id, "named");
      else if (isBelow) found.set(track.id, "beside");
      return isNamed || isAbove;
    };
    for (const track of children.get(null) ?? []) visit(track, false, 0);
    return found;
  }

  private add(track: Track, depth: number, children: number, isClosed: boolean): void {
    const lanes = Math.min(track.lanes, MOST_LANES);
    const states = this.tree.states.get(track.id);
    const runs = isClosed ? this.tree.runs.get(track.id) : undefined;
    const bar = states ? (track.items ? STATES : WIDE_STATES) : 0;
    let height = track.kind === "counter" ? COUNTER : Math.max(LEAST, lanes * LANE + 2 * MARGIN);
    if (runs) height = Math.max(LEAST, Math.min(runs.lanes * RUN, MOST_RUNS) + 2 * MARGIN);
    else if (states && track.items) height += bar;
    const row: TrackRow = { track, index: this.rows.length, depth, y: this.height, height, lanes, children, isClosed, bar, ...(states && { states }), ...(runs && { runs }) };
    this.rows.push(row);
    this.byTrack.set(track.id, row);
    if (states) this.byTrack.set(states.id, row);
    if (runs) this.byTrack.set(runs.id, row);
    this.height += height;
  }

  /** Height of the rows that stay at the top of a window. */
  stuckHeight(height: number): number {
    return this.pinnedHeight <= height * MOST_PINNED ? this.pinnedHeight : 0;
  }

  /** Rows that a window of the list shows; those that stay at its top come last. */
  visible(top: number, height: number): TrackRow[] {
    const stuck = this.stuckHeight(height);
    const found: TrackRow[] = [];
    for (let i = Math.max(this.indexAt(top + stuck), stuck ? this.pinnedRows : 0); i < this.rows.length; i++) {
      const row = this.rows[i]!;
      if (row.y >= top + height) break;
      found.push(row);
    }
    if (stuck) for (const row of this.rows.slice(0, this.pinnedRows)) found.push({ ...row, y: row.y + top, isStuck: true });
    return found;
  }

  /** Row at a position of the list, of which a window is visible. */
  at(y: number, top: number, height: number): TrackRow | undefined {
    return this.visible(top, height).findLast((row) => y >= row.y && y < row.y + row.height);
  }

  of(track: number | null): TrackRow | undefined {
    return track === null ? undefined : this.byTrack.get(track);
  }

  /** Row of a track, or of the collapsed track that contains it; none if the track is hidden. */
  rowAround(track: number): TrackRow | undefined {
    let at: number | undefined = track;
    for (let depth = 0; at !== undefined && depth < 64; depth++) {
      const row = this.byTrack.get(at);
      if (row) return at === track || row.isClosed ? row : undefined;
      if (this.options.hidden?.has(at)) return undefined;
      at = this.tree.parents.get(at);
    }
    return undefined;
  }

  private indexAt(y: number): number {
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.rows[middle]!;
      if (row.y + row.height <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function trackOfPath(path: ThreadPath): Track {
  return { id: PATH_TRACK, parent: null, kind: "path", name: `Critical path of ${path.name}`, lanes: 1, items: path.steps.length, unit: null, minimum: null, maximum: null };
}

/** Top of a lane within the row of its track. */
export function laneTop(row: TrackRow, lane: number): number {
  return row.lanes <= 1 ? (row.height - (row.track.items ? row.bar : 0) - LANE) / 2 : MARGIN + lane * LANE;
}

/** Lane at a position within a row. */
export function laneAt(row: TrackRow, y: number): number {
  return row.lanes <= 1 ? 0 : Math.min(Math.max(Math.floor((y - MARGIN) / LANE), 0), row.lanes - 1);
}

/** Top and height of the bar of states within a row. */
export function barOf(row: TrackRow): { top: number; height: number } {
  return row.track.items ? { top: row.height - row.bar - 1, height: row.bar - 1 } : { top: (row.height - row.bar) / 2, height: row.bar };
}

/** Top and height of a processor within the row of a closed process. */
export function runOf(row: TrackRow, lane: number): { top: number; height: number } {
  const height = (row.height - 2 * MARGIN) / Math.max(row.runs?.lanes ?? 1, 1);
  return { top: MARGIN + lane * height, height: Math.max(height - (height > 2.5 ? 1 : 0), 1) };
}
