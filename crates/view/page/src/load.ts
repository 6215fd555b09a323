// Load of the processors over the whole trace, for the strip above the timeline.

import { get, type Tiles } from "./api";
import type { State } from "./state";
import { STRIDE } from "./tiles";

/** Parts of the whole trace, and processors that are asked for. */
const BINS = 400;
const MOST_PROCESSORS = 64;

/** Part of the time that processors ran threads, by parts of the whole trace; empty without processors. */
export async function loadOf(state: State): Promise<number[]> {
  const processors = state.tracks.filter((track) => track.runsThreads).slice(0, MOST_PROCESSORS);
  if (!processors.length || state.isEmpty) return [];
  const { begin, end } = state.bounds;
  const parameters = { tracks: processors.map((track) => track.id).join(","), begin: state.timeText(begin), end: state.timeText(end), pixels: BINS };
  const { tracks } = await get<Tiles>("tiles", parameters);
  const load = new Array<number>(BINS).fill(0);
  const width = (end - begin) / BINS;
  for (const { items = [] } of tracks) {
    for (let i = 0; i + 5 < items.length; i += STRIDE) {
      const [from, to] = [Math.max(items[i + 1]! / width, 0), Math.min(items[i + 2]! / width, BINS)];
      for (let bin = Math.floor(from); bin < to; bin++) load[bin]! += Math.min(to, bin + 1) - Math.max(from, bin);
    }
  }
  return load.map((busy) => Math.min(busy / processors.length, 1));
}
