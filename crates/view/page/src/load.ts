// Processor load over the whole trace, or the item rate, for the strip above the timeline.

import { get, type Tiles, type Track } from "./api";
import type { State } from "./state";
import { STRIDE } from "./tiles";

/** Number of parts of the whole trace, and of requested tracks. */
const BINS = 400;
const MOST_TRACKS = 64;

/**
 * Part of the time that processors ran threads, by parts of the whole trace. Without processors, the root of the number of
 * spans, instants and values that begin in each part, as a part of the most.
 */
export async function loadOf(state: State): Promise<number[]> {
  const processors = state.tracks.filter((track) => track.runsThreads).slice(0, MOST_TRACKS);
  if (state.isEmpty) return [];
  if (processors.length) return (await sums(state, processors, addTimes)).map((busy) => Math.min(busy / processors.length, 1));
  const fullest = state.tracks.filter((track) => track.items && track.kind !== "losses").sort((a, b) => b.items - a.items);
  const counts = await sums(state, fullest.slice(0, MOST_TRACKS), addCounts);
  const most = Math.max(...counts, 1);
  // The root keeps a few events visible next to thousands.
  return counts.map((number) => Math.sqrt(number / most));
}

type Add = (bins: number[], from: number, to: number, count: number) => void;

const addTimes: Add = (bins, from, to) => {
  const [first, last] = [Math.max(from, 0), Math.min(to, BINS)];
  for (let bin = Math.floor(first); bin < last; bin++) bins[bin]! += Math.min(last, bin + 1) - Math.max(first, bin);
};

const addCounts: Add = (bins, from, _, count) => {
  if (from >= 0) bins[Math.min(Math.floor(from), BINS - 1)]! += count;
};

/** Sums of the items of tracks, by parts of the whole trace. */
async function sums(state: State, tracks: Track[], add: Add): Promise<number[]> {
  const bins = new Array<number>(BINS).fill(0);
  if (!tracks.length) return bins;
  const { begin, end } = state.bounds;
  const parameters = { tracks: tracks.map((track) => track.id).join(","), begin: state.timeText(begin), end: state.timeText(end), pixels: BINS };
  const answer = await get<Tiles>("tiles", parameters);
  const width = (end - begin) / BINS;
  for (const { items = [], counter = [] } of answer.tracks) {
    for (let i = 0; i + 5 < items.length; i += STRIDE) add(bins, items[i + 1]! / width, items[i + 2]! / width, items[i + 3]!);
    for (let i = 0; i + 5 < counter.length; i += STRIDE) add(bins, counter[i]! / width, counter[i + 1]! / width, counter[i + 5]!);
  }
  return bins;
}
