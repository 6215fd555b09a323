// Rows of the timeline: which tracks are shown, and where.

import type { Track, TrackKind } from "./api";

export const LANE = 18;
const LEAST = 24;
const COUNTER = 44;
const MARGIN = 3;
/** Lanes that are drawn; deeper ones are counted in the label. */
const MOST_LANES = 256;

export interface TrackRow {
  track: Track;
  index: number;
  depth: number;
  y: number;
  height: number;
  lanes: number;
  children: number;
}

/** Words for kinds of tracks. */
export const KINDS: Record<TrackKind, string> = {
  trace: "trace",
  process: "process",
  thread: "thread",
  processor: "processor",
  stream: "data stream",
  spans: "spans",
  counter: "counter",
  losses: "losses and damage",
};

/** Order of the kinds of tracks with the same parent. */
const ORDER: TrackKind[] = ["trace", "processor", "process", "thread", "spans", "stream", "counter", "losses"];
const collator = new Intl.Collator("en", { numeric: true });

function compare(a: Track, b: Track): number {
  return ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || collator.compare(a.name, b.name) || a.id - b.id;
}

/** Rows of all tracks that are not within a collapsed one. */
export class Layout {
  rows: TrackRow[] = [];
  height = 0;
  private byTrack = new Map<number, TrackRow>();

  constructor(tracks: Track[], collapsed: Set<number>) {
    const children = new Map<number | null, Track[]>();
    const known = new Set(tracks.map((track) => track.id));
    for (const track of tracks) {
      const parent = track.parent !== null && known.has(track.parent) ? track.parent : null;
      const list = children.get(parent);
      if (list) list.push(track);
      else children.set(parent, [track]);
    }
    for (const list of children.values()) list.sort(compare);
    // A stack instead of recursion: depth comes from the input.
    const stack = (children.get(null) ?? []).map((track) => ({ track, depth: 0 })).reverse();
    while (stack.length) {
      const { track, depth } = stack.pop()!;
      const below = children.get(track.id) ?? [];
      this.add(track, depth, below.length);
      if (collapsed.has(track.id)) continue;
      for (let i = below.length - 1; i >= 0; i--) stack.push({ track: below[i]!, depth: depth + 1 });
    }
  }

  private add(track: Track, depth: number, children: number): void {
    const lanes = Math.min(track.lanes, MOST_LANES);
    const height = track.kind === "counter" ? COUNTER : Math.max(LEAST, lanes * LANE + 2 * MARGIN);
    const row = { track, index: this.rows.length, depth, y: this.height, height, lanes, children };
    this.rows.push(row);
    this.byTrack.set(track.id, row);
    this.height += height;
  }

  /** Rows that a window of the list shows. */
  visible(top: number, height: number): TrackRow[] {
    const found: TrackRow[] = [];
    for (let i = this.indexAt(top); i < this.rows.length; i++) {
      const row = this.rows[i]!;
      if (row.y >= top + height) break;
      found.push(row);
    }
    return found;
  }

  at(y: number): TrackRow | undefined {
    const row = this.rows[this.indexAt(y)];
    return row && y >= row.y && y < row.y + row.height ? row : undefined;
  }

  of(track: number | null): TrackRow | undefined {
    return track === null ? undefined : this.byTrack.get(track);
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

/** Top of a lane within the row of its track. */
export function laneTop(row: TrackRow, lane: number): number {
  return row.lanes <= 1 ? (row.height - LANE) / 2 : MARGIN + lane * LANE;
}

/** Lane at a place within a row. */
export function laneAt(row: TrackRow, y: number): number {
  return row.lanes <= 1 ? 0 : Math.min(Math.max(Math.floor((y - MARGIN) / LANE), 0), row.lanes - 1);
}
