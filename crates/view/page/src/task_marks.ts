// A task in the timeline: marks on its operations and on the events that joined them, and arrows between them.

import type { TaskGraph } from "./api";
import { xOf, type Scene } from "./draw";
import type { Painter } from "./painter";
import type { Range, State } from "./state";
import { STRIDE } from "./tiles";
import { LANE, laneTop, type TrackRow } from "./tracks";

/** Maximum number of arrows. */
const MOST_ARROWS = 10_000;

/** Task whose events are marked. Times are those of the tracks, without clock offsets. */
export interface ShownTask {
  /** Event times by track: true for events of operations. */
  marks: Map<number, Map<number, boolean>>;
  /** Four numbers per arrow: track and time of its start, track and time of its end. */
  arrows: number[];
  operations: number;
  joined: number;
}

/** An event of a task, and how long its operation lasts. */
interface TaskPlace {
  track: number;
  time: number;
  length: number;
}

export function shownTask(state: State, { nodes, joined = [], edges }: TaskGraph): ShownTask {
  const placeOf = (track: number | null | undefined, time: string | null | undefined, length = 0): TaskPlace | null =>
    track == null || time == null ? null : { track, time: state.relative(time) - state.answeredOffset(track), length };
  const lengthOf = (begin: string | null, end: string | null) => (begin && end ? state.relative(end) - state.relative(begin) : 0);
  const operations = nodes.map(({ track, eventTime, begin, end }) => placeOf(track, eventTime, lengthOf(begin, end)));
  const others = joined.map(({ track, eventTime }) => placeOf(track, eventTime));
  const shown: ShownTask = { marks: new Map(), arrows: [], operations: 0, joined: 0 };
  const add = ({ track, time }: TaskPlace, isOperation: boolean) => {
    const times = shown.marks.get(track) ?? new Map<number, boolean>();
    shown.marks.set(track, times.set(time, isOperation || (times.get(time) ?? false)));
    shown[isOperation ? "operations" : "joined"] += 1;
  };
  operations.forEach((place) => place && add(place, true));
  others.forEach((place) => place && add(place, false));
  const connect = (from: TaskPlace | null | undefined, to: TaskPlace | null | undefined) => {
    if (!from || !to || shown.arrows.length >= 4 * MOST_ARROWS) return;
    // A cause continues after its effect has started, or ends before it.
    const effect = to.time + state.offsetOf(to.track) - state.offsetOf(from.track);
    shown.arrows.push(from.track, Math.min(Math.max(effect, from.time), from.time + from.length), to.track, to.time);
  };
  for (const [from, to] of edges) connect(operations[from], operations[to]);
  // On the operation's own track, the mark is enough.
  joined.forEach(({ node }, i) => others[i]?.track !== operations[node]?.track && connect(operations[node], others[i]));
  return shown;
}

/** Range of all events of a task, as they are shown; null without any. */
export function rangeOfTask(state: State, { marks }: ShownTask): Range | null {
  const range = { begin: Infinity, end: -Infinity };
  for (const [track, times] of marks) {
    const offset = state.offsetOf(track);
    for (const time of times.keys()) {
      range.begin = Math.min(range.begin, time + offset);
      range.end = Math.max(range.end, time + offset);
    }
  }
  return marks.size ? range : null;
}

/** Marks the events of the task. On rows that do not scroll, only their own events. */
export function drawTask(painter: Painter, scene: Scene, overStuck: boolean): void {
  const { state, rows, rowAround, width, height } = scene;
  if (!state.task) return;
  const visible = new Map(rows.filter((row) => !!row.isStuck === overStuck).map((row) => [row.index, row]));
  for (const [track, times] of state.task.marks) {
    const row = visible.get(rowAround(track)?.index ?? -1);
    const y = row ? row.y - scene.top : -1;
    if (row && y < height && y + row.height > 0) painter.within(0, y, width, row.height, () => drawMarks(painter, scene, row, track, times));
  }
}

/** Outlines the items that begin or end with an event of the task. Of other events, the time is marked: they are in items of several, or within a closed track. */
function drawMarks(painter: Painter, scene: Scene, row: TrackRow, track: number, times: Map<number, boolean>): void {
  const { state, theme, width } = scene;
  const offset = state.offsetOf(track);
  const x = (time: number) => xOf(time + offset, state.view, width);
  const found = new Set<number>();
  const outline = (left: number, right: number, y: number, height: number, isOperation: boolean) => {
    const [from, to] = [Math.max(left - 2, -4), Math.min(Math.max(right + 2, left + 3), width + 4)];
    if (to < 0 || from > width) return;
    painter.outline(from, y, to - from, height, theme.background, isOperation ? 4 : 3);
    painter.outline(from, y, to - from, height, theme.accent, isOperation ? 2 : 1);
  };
  const tiles = track === row.track.id ? scene.tilesOf(track) : [];
  // Finer tiles come last.
  for (const { items } of [...tiles].reverse()) {
    const drawn = new Set<number>();
    for (let i = 0; i + 5 < items.length; i += STRIDE) {
      const [lane, from, to] = [items[i]!, items[i + 1]!, items[i + 2]!];
      const marked = [from, to].filter((time) => times.has(time) && !found.has(time));
      if (!marked.length || lane >= Math.max(row.lanes, 1)) continue;
      for (const time of marked) drawn.add(time);
      outline(x(from), x(to), row.y - scene.top + laneTop(row, lane), LANE, marked.some((time) => times.get(time)));
    }
    for (const time of drawn) found.add(time);
  }
  let last = -Infinity;
  for (const [time, isOperation] of [...times].sort(([a], [b]) => a - b)) {
    const at = x(time);
    if (found.has(time) || at - last < 3) continue;
    outline(at, at, row.y - scene.top + 2, row.height - 5, isOperation);
    last = at;
  }
}
