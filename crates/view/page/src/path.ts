// Critical path over wakeups as a separate track: who waited for whom, back to what really ran.

import type { ThreadState, Waker, WakeupPath } from "./api";
import { lookOfState, shadeOfProgram } from "./colors";
import { xOf, type Scene } from "./draw";
import type { Range, State } from "./state";
import type { Painter } from "./painter";
import { BAR, barOf, type TrackRow } from "./tracks";

/** Track number of the path, which the server does not know. */
export const PATH_TRACK = -1;

/** Minimum distance between two connecting lines, in pixels. */
const LEAST_BETWEEN = 6;

/** Part of a path: a thread in a state. Times are relative to the origin of the page. */
export interface PathStep {
  begin: number;
  end: number;
  /** Thread number. */
  thread: number;
  name: string;
  state: string;
  /** Track of the thread, if it has one. */
  track?: number;
  waitsIn?: string;
  endedBy?: Waker;
}

export interface ThreadPath {
  /** Name of the thread whose path this is. */
  name: string;
  steps: PathStep[];
}

/** Activity of a thread in a state. */
export function stateText(state: Pick<ThreadState, "state" | "waitsIn">): string {
  const isWait = state.state === "sleeping" || state.state === "waiting";
  if (state.state === "runnable") return "waited for a processor";
  return isWait && state.waitsIn ? `${state.state} in ${state.waitsIn}` : state.state;
}

/** Path from a response, sorted by time. */
export function pathOf(name: string, { steps }: WakeupPath, relative: (time: string) => number): ThreadPath {
  const found = steps.map((step) => ({
    begin: relative(step.begin),
    end: relative(step.end),
    thread: step.thread,
    name: step.name ?? `thread ${step.thread}`,
    state: step.state,
    ...(step.track !== undefined && { track: step.track }),
    ...(step.waitsIn !== undefined && { waitsIn: step.waitsIn }),
    ...(step.endedBy && { endedBy: step.endedBy }),
  }));
  return { name, steps: found.sort((a, b) => a.begin - b.begin) };
}

/** Times of a step including the clock offset of its track. */
export function rangeOfStep(state: State, step: PathStep): Range {
  const offset = step.track === undefined ? 0 : state.offsetOf(step.track);
  return { begin: step.begin + offset, end: step.end + offset };
}

/** Step of a path that is shown at a time, the nearest within a distance. */
export function stepAt(state: State, path: ThreadPath, time: number, distance: number): PathStep | null {
  let best: PathStep | null = null;
  let least = distance;
  for (const step of path.steps) {
    const { begin, end } = rangeOfStep(state, step);
    const away = time < begin ? begin - time : time > end ? time - end : 0;
    if (away > least || (away === least && best)) continue;
    [best, least] = [step, away];
  }
  return best;
}

/** Calls `draw` for each step that is visible, with its places in pixels; of those within a pixel, for one. */
function eachStep({ state, width }: Scene, path: ThreadPath, draw: (step: PathStep, x: number, right: number) => void): void {
  let painted = -Infinity;
  for (const step of path.steps) {
    const { begin, end } = rangeOfStep(state, step);
    const [x, right] = [xOf(begin, state.view, width), xOf(end, state.view, width)];
    if (right < 0 || x > width || right <= painted) continue;
    painted = Math.max(right, x + 1);
    draw(step, Math.max(x, -2), Math.min(Math.max(right, x + 1), width + 2));
  }
}

/** The track of the path: a bar in the color of the program where it ran, a low one in the color of the state where it waited. */
export function drawPath(painter: Painter, scene: Scene, row: TrackRow): void {
  const { state, theme } = scene;
  if (!state.path) return;
  const y = row.y - scene.top + (row.height - BAR) / 2;
  eachStep(scene, state.path, (step, x, right) => {
    const width = right - x;
    const isRunning = step.state === "running";
    const shade = shadeOfProgram(state.programOf(step.name), theme.dark);
    if (isRunning) {
      painter.rect(x, y, width, BAR, width > 3 ? shade.fill : shade.strong);
      if (width > 3) painter.rect(x, y, 1, BAR, shade.strong);
    } else {
      const height = 4;
      painter.rect(x, y + BAR - height, width, height, lookOfState(step.state, theme.dark).color);
    }
    const text = isRunning ? step.name : `${step.name}: ${stateText(step)}`;
    if (width > 20) painter.text(x + 5, y + BAR / 2 - (isRunning ? 0 : 2), text, isRunning ? shade.text : theme.text, width - 8);
  });
}

/** Marks the steps of the path on the tracks of their threads, and joins those that follow each other. Over rows that do not scroll, only their own steps. */
export function drawPathOnTracks(painter: Painter, scene: Scene, overStuck: boolean): void {
  const { state, theme, height } = scene;
  if (!state.path) return;
  const placeOf = placesOfSteps(scene);
  let before: Place | undefined;
  let joined = -Infinity;
  eachStep(scene, state.path, (step, x, right) => {
    const place = placeOf(step.track);
    const isWanted = (one: Place | undefined) => !overStuck || one?.isStuck;
    if (place && isWanted(place)) painter.rect(x, place.y - 1, right - x, 2, theme.critical);
    // Too many connecting lines would hide the steps.
    if (place && before && before.y !== place.y && x - joined >= LEAST_BETWEEN) {
      // What is above or below the picture is joined up to its edge.
      const [first, last] = [before.y, place.y].map((y) => Math.min(Math.max(y, -1), height + 1)).sort((a, b) => a - b) as [number, number];
      if (last > first && (isWanted(before) || isWanted(place))) painter.rect(x - 0.75, first, 1.5, last - first, theme.critical, 0.8);
      joined = x;
    }
    before = place;
  });
}

interface Place {
  y: number;
  isStuck: boolean;
}

/** Returns the height at which the steps on a track are marked: on its row, or that of a closed track above it. */
function placesOfSteps({ state, rows, top, rowOf }: Scene): (track: number | undefined) => Place | undefined {
  const visible = new Map(rows.map((row) => [row.track.id, row]));
  return (track) => {
    let at = track;
    for (let depth = 0; at !== undefined && depth < 64; depth++) {
      const row = visible.get(at) ?? rowOf(at);
      const bar = row?.states ? barOf(row) : { top: (row?.height ?? 0) / 2 - 2, height: 4 };
      if (row) return { y: row.y - top + bar.top + bar.height, isStuck: !!row.isStuck };
      at = state.trackOf(at)?.parent ?? undefined;
    }
    return undefined;
  };
}
