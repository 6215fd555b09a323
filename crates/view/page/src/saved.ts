// Answers of a saved page (`ichnos view --export`), which has no server.

import type { EventDetails, Flows, LongestSpans, NamesAnswer, Row, Rows, Stacks, Stats, Tiles, TileTrack, Trace, Track } from "./api";

interface SavedAnswers {
  trace: Trace;
  tracks: { generation: number; tracks: Track[] };
  names: NamesAnswer;
  tiles: Omit<Tiles, "generation">;
  flows: Flows;
  stats: Stats;
  longest: LongestSpans;
  stacks: Stacks;
  events: Rows;
  log: Rows;
}

const STRIDE = 6;
const element = document.getElementById("saved");

/** Embedded answers, all for the whole trace. */
const answers = element ? (JSON.parse(element.textContent ?? "") as SavedAnswers) : null;

/** True for a page with embedded data. */
export const isSaved = answers !== null;

/** Returns the answer to a request. Throws an error if the page lacks it. */
export function savedAnswer(path: string, parameters: Record<string, unknown>): unknown {
  const saved = answers!;
  switch (path) {
    case "trace":
    case "tracks":
    case "stats":
    case "longest":
    case "stacks":
      return saved[path];
    case "events":
    case "log":
      return { ...saved[path], next: null };
    case "names":
      return Number(parameters.from ?? 0) ? { ...saved.names, names: [] } : saved.names;
    case "tiles":
      return tiles(saved, parameters);
    case "near":
      return null;
    case "flows":
      return flows(saved, parameters);
    case "event":
      return details(saved, String(parameters.id));
    default:
      throw new Error("This page was saved without it: `ichnos view` shows it.");
  }
}

/** Items of some tracks, with times relative to the requested start. */
function tiles(saved: SavedAnswers, parameters: Record<string, unknown>): Tiles {
  const begin = String(parameters.begin);
  const shift = Number(BigInt(saved.tiles.begin) - BigInt(begin));
  const end = Number(BigInt(String(parameters.end)) - BigInt(begin));
  const wanted = new Set(String(parameters.tracks).split(",").map(Number));
  const moved = (numbers: number[] | undefined, first: number) => numbers && within(numbers, first, shift, end);
  const tracks = saved.tiles.tracks
    .filter((track) => wanted.has(track.id))
    .map((track): TileTrack => {
      const [items, counter] = [moved(track.items, 1), moved(track.counter, 0)];
      return { id: track.id, ...(items && { items }), ...(counter && { counter }) };
    });
  return { generation: saved.trace.generation, begin, end: String(parameters.end), exact: saved.tiles.exact, tracks };
}

/** Flows, with times relative to the requested start. */
function flows(saved: SavedAnswers, parameters: Record<string, unknown>): Flows {
  const shift = Number(BigInt(saved.tiles.begin) - BigInt(String(parameters.begin)));
  return { ...saved.flows, flows: saved.flows.flows.map((value, i) => (i % 2 ? value + shift : value)) };
}

/** Items that touch a range; `first` is the index of the start times. */
function within(numbers: number[], first: number, shift: number, end: number): number[] {
  const found: number[] = [];
  for (let i = 0; i + STRIDE <= numbers.length; i += STRIDE) {
    const item = numbers.slice(i, i + STRIDE);
    item[first]! += shift;
    item[first + 1]! += shift;
    // A counter has its value until the next one.
    if (item[first]! <= end && (first === 0 || item[first + 1]! >= 0)) found.push(...item);
  }
  return found;
}

/** Details of an embedded event. */
function details(saved: SavedAnswers, id: string): EventDetails {
  const row: Row | undefined = [...saved.events.rows, ...saved.log.rows].find((row) => row.id === id);
  if (!row) throw new Error("This page was saved without the event: `ichnos view` shows it.");
  const { time, stream, name, track, text } = row;
  return { id, time, stream, name, track, format: "", position: null, command: "", line: null, text, label: name, spans: null, causes: [], effects: [] };
}
