// Answers of `api/tiles`, kept by track. The picture is drawn from the best that is there; what is missing
// or too coarse is asked for when the view rests.

import { ApiError, get, isAborted, type NamesAnswer, type TileTrack, type Tiles } from "./api";
import { giveColor } from "./colors";
import type { Range, State } from "./state";

/** Number of values per item in a response. */
export const STRIDE = 6;
export const MOST_PIXELS = 8192;
const TRACKS_A_REQUEST = 64;
const KEPT_TRACKS = 3000;
/** Pause after the last view change before tiles are requested, and maximum delay while the view changes. */
const REST = 40;
const LONGEST_REST = 160;
/** While a trace is read, its tracks change with each answer. */
const LIVE_REST = 400;
/** Pause before a failed request is repeated. */
const RETRY = 2000;

export interface Tile extends Range {
  /** Nanoseconds per pixel. */
  resolution: number;
  generation: number;
  filter: string;
  exact: boolean;
  /** True if no items are merged, so that a finer tile would look the same. */
  single: boolean;
  items: number[];
  counter: number[];
}

interface Kept {
  now: Tile;
  /** Answer for the whole trace: shown beside `now` while the view moves. */
  overview: Tile | null;
}

interface Running {
  controller: AbortController;
  tracks: Set<number>;
  range: Range;
  resolution: number;
  filter: string;
  generation: number;
}

export class TileStore {
  error: unknown = null;
  private kept = new Map<number, Kept>();
  private running: Running[] = [];
  private timer = 0;
  private firstWait = 0;
  private lastAnswer = 0;

  constructor(
    private readonly state: State,
    private readonly visible: () => { tracks: number[]; pixels: number },
    private readonly changed: () => void,
  ) {}

  /** Tiles of a track, coarse ones first. */
  of(track: number): Tile[] {
    const kept = this.kept.get(track);
    if (!kept) return [];
    return kept.overview && kept.overview !== kept.now && !covers(kept.now, this.state.view, this.state)
      ? [kept.overview, kept.now]
      : [kept.now];
  }

  get pending(): number {
    return this.running.length + (this.timer ? 1 : 0);
  }

  /** Forgets everything that depends on the filter or on the list of tracks. */
  clear(): void {
    this.abort(() => true);
    this.kept.clear();
    this.schedule();
  }

  /** Requests missing tiles when the view rests. */
  schedule(): void {
    const now = performance.now();
    if (!this.timer) this.firstWait = now;
    clearTimeout(this.timer);
    const wait = now - this.firstWait > LONGEST_REST ? 0 : REST;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.request();
    }, wait);
  }

  private request(): void {
    const { tracks, pixels } = this.visible();
    const view = this.state.view;
    if (this.state.isEmpty || !pixels) return this.changed();
    const resolution = (view.end - view.begin) / pixels;
    this.abort((run) => !serves(run, view, resolution, this.state));
    const asked = new Set(this.running.flatMap((run) => [...run.tracks]));
    const needed = tracks.filter((track) => !asked.has(track) && this.needs(track, view, resolution));
    const stale = performance.now() - this.lastAnswer < LIVE_REST && needed.every((track) => this.onlyOld(track, view, resolution));
    if (needed.length && stale) {
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        this.request();
      }, LIVE_REST);
      return;
    }
    for (const [offset, group] of this.byOffset(needed)) {
      for (let i = 0; i < group.length; i += TRACKS_A_REQUEST) {
        void this.fetch(group.slice(i, i + TRACKS_A_REQUEST), offset, resolution);
      }
    }
    if (!needed.length) this.changed();
  }

  private byOffset(tracks: number[]): Map<number, number[]> {
    const groups = new Map<number, number[]>();
    for (const track of tracks) {
      const offset = this.state.offsetOf(track);
      const group = groups.get(offset);
      if (group) group.push(track);
      else groups.set(offset, [track]);
    }
    return groups;
  }

  private needs(track: number, view: Range, resolution: number): boolean {
    const now = this.kept.get(track)?.now;
    return !now || now.generation < this.state.generation || !good(now, view, resolution, this.state, this.state.offsetOf(track));
  }

  private onlyOld(track: number, view: Range, resolution: number): boolean {
    const now = this.kept.get(track)?.now;
    return !!now && good(now, view, resolution, this.state, this.state.offsetOf(track));
  }

  private async fetch(tracks: number[], offset: number, resolution: number): Promise<void> {
    const { state } = this;
    const whole = state.bounds;
    const view = { begin: state.view.begin - offset, end: state.view.end - offset };
    // A quarter of the view on each side, for panning.
    const margin = (view.end - view.begin) / 4;
    const begin = Math.floor(Math.max(view.begin - margin, whole.begin));
    const end = Math.ceil(Math.min(view.end + margin, whole.end)) + 1;
    const run: Running = {
      controller: new AbortController(),
      tracks: new Set(tracks),
      range: { begin, end },
      resolution,
      filter: state.filter,
      generation: state.generation,
    };
    if (end <= begin) return this.store(tracks, [], run, { exact: true, generation: state.generation });
    const wanted = Math.min(MOST_PIXELS, Math.max(1, Math.ceil((end - begin) / resolution)));
    run.resolution = (end - begin) / wanted;
    this.running.push(run);
    const parameters = {
      tracks: tracks.join(","),
      begin: state.absolute(begin).toString(),
      end: state.absolute(end).toString(),
      pixels: wanted,
      filter: state.filter,
    };
    try {
      const answer = await get<Tiles>("tiles", parameters, run.controller.signal);
      await this.learnNames(answer.tracks);
      // Names arrived after the filter had changed: a newer answer may be there already.
      if (run.controller.signal.aborted) return;
      this.error = null;
      this.store(tracks, answer.tracks, run, answer);
    } catch (error) {
      if (!isAborted(error)) this.failed(error);
    } finally {
      this.running = this.running.filter((other) => other !== run);
      this.lastAnswer = performance.now();
      this.changed();
    }
  }

  private failed(error: unknown): void {
    this.error = error;
    // Errors of the request itself (status 4xx) would occur again.
    if (error instanceof ApiError && error.status < 500) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.request();
    }, RETRY);
  }

  private store(asked: number[], answers: TileTrack[], run: Running, answer: { exact: boolean; generation: number }): void {
    const whole = this.state.bounds;
    const byId = new Map(answers.map((track) => [track.id, track]));
    for (const id of asked) {
      const track = byId.get(id);
      const tile: Tile = {
        ...run.range,
        resolution: run.resolution,
        generation: Math.max(answer.generation, run.generation),
        filter: run.filter,
        exact: answer.exact,
        single: answer.exact && isSingle(track),
        items: track?.items ?? [],
        counter: track?.counter ?? [],
      };
      shift(tile, run.range.begin);
      const isWhole = run.range.begin <= whole.begin && run.range.end >= whole.end;
      const overview = isWhole ? tile : (this.kept.get(id)?.overview ?? null);
      this.kept.delete(id);
      this.kept.set(id, { now: tile, overview: overview?.filter === tile.filter ? overview : null });
    }
    for (const id of this.kept.keys()) {
      if (this.kept.size <= KEPT_TRACKS) break;
      this.kept.delete(id);
    }
  }

  private async learnNames(tracks: TileTrack[]): Promise<void> {
    let highest = -1;
    for (const { items } of tracks) {
      for (let i = 4; items && i < items.length; i += STRIDE) highest = Math.max(highest, items[i]!);
    }
    if (highest >= this.state.names.length) await this.loadNames();
  }

  /** Loads missing names. Overlapping responses are harmless. */
  async loadNames(): Promise<void> {
    for (let round = 0; round < 1000; round++) {
      const from = this.state.names.length;
      const answer = await get<NamesAnswer>("names", { from });
      answer.names.forEach((name, i) => (this.state.names[answer.from + i] = name));
      for (const [number, color] of Object.entries(answer.colors ?? {})) {
        const name = this.state.names[Number(number)];
        if (name !== undefined) giveColor(name, color);
      }
      if (!answer.names.length || this.state.names.length >= answer.total) break;
    }
    this.state.emit("names");
  }

  private abort(which: (run: Running) => boolean): void {
    for (const run of this.running) if (which(run)) run.controller.abort();
    this.running = this.running.filter((run) => !run.controller.signal.aborted);
  }
}

function isSingle(track: TileTrack | undefined): boolean {
  const items = track?.items ?? [];
  for (let i = 3; i < items.length; i += STRIDE) if (items[i] !== 1) return false;
  return !track?.counter?.length;
}

/** Converts response times to be relative to the page's origin. */
function shift(tile: Tile, begin: number): void {
  for (let i = 0; i < tile.items.length; i += STRIDE) {
    tile.items[i + 1]! += begin;
    tile.items[i + 2]! += begin;
  }
  for (let i = 0; i < tile.counter.length; i += STRIDE) {
    tile.counter[i]! += begin;
    tile.counter[i + 1]! += begin;
  }
}

function covers(tile: Range, view: Range, state: State, offset = 0): boolean {
  const whole = state.bounds;
  const begin = Math.max(view.begin - offset, whole.begin);
  const end = Math.min(view.end - offset, whole.end);
  return end < begin || (tile.begin <= begin + 1 && tile.end >= end - 1);
}

function good(tile: Tile, view: Range, resolution: number, state: State, offset: number): boolean {
  if (tile.filter !== state.filter || !covers(tile, view, state, offset)) return false;
  const fine = tile.resolution <= resolution * 1.3 || tile.single;
  return fine && tile.resolution >= resolution / 5;
}

function serves(run: Running, view: Range, resolution: number, state: State): boolean {
  const first = run.tracks.values().next().value ?? 0;
  const tile = { ...run.range, resolution: run.resolution, filter: run.filter, single: false } as Tile;
  return good(tile, view, resolution, state, state.offsetOf(first));
}
