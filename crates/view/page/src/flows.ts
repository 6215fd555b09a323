// Arrows between causes and effects, also to rows that are scrolled away.

import { xOf, type Scene } from "./draw";
import { widthOf, type Painter } from "./painter";
import { count } from "./time";
import { nameOf, type TrackRow } from "./tracks";

/** Height of a hint at an edge, and the least and the greatest width of its text. */
const HINT = 15;
const LEAST_HINT = 28;
const MOST_HINT = 180;

/** Distances in pixels within which arrows are merged. The first distance that leaves few enough arrows is used. */
const BUNDLES = [8, 24, 72];
const MOST_BUNDLES = 60;

/** Height at which the arrows of a track start or end. */
interface FlowPlace {
  row: TrackRow;
  y: number;
  /** -1 or 1 if the row is above or below the visible part. Arrows go to that edge. */
  edge: -1 | 0 | 1;
  isStuck: boolean;
}

/** Track and time of an end of an arrow. */
export interface FlowEnd {
  track: number;
  time: number;
}

interface Flow {
  from: FlowPlace;
  to: FlowPlace;
  x1: number;
  x2: number;
  /** The end whose row is scrolled away. */
  hidden?: FlowEnd;
}

interface Bundle extends Flow {
  number: number;
  /** Rows beyond the edge. */
  beyond: Set<TrackRow>;
}

/** An arrow's end at an edge: what is beyond it, and the place of its hint. */
export interface EdgeHint extends FlowEnd {
  edge: -1 | 1;
  text: string;
  number: number;
  /** Left edge, middle and width of the text. */
  x: number;
  y: number;
  width: number;
}

/** Draws arrows between causes and effects. Arrows that nearly cover each other are merged into a thicker one. */
export function drawFlows(painter: Painter, scene: Scene, overStuck: boolean): void {
  const { theme } = scene;
  const found = fewBundles(shownFlows(scene));
  for (const { from, to, x1, x2, number } of found) {
    if (overStuck && !from.isStuck && !to.isStuck) continue;
    const [bend, rise] = [Math.max(20, Math.abs(x2 - x1) / 2), Math.max(20, Math.abs(to.y - from.y) / 2)];
    // Rows are left and reached sideways, edges up or down.
    const first = from.edge ? [x1, from.y - from.edge * rise] : [x1 + bend, from.y];
    const second = to.edge ? [x2, to.y - to.edge * rise] : [x2 - bend, to.y];
    // Names below them can still be read.
    painter.curve([x1, from.y, ...first, ...second, x2, to.y], theme.accent, number > 1 ? 0.7 : 0.6, Math.min(1.5 + Math.log2(number) / 2, 4));
    const size = number > 1 ? 4 : 3;
    const back = to.y - 2 * size * to.edge;
    const head = to.edge ? [x2 - size, back, x2 + size, back] : [x2 - 2 * size, to.y - size, x2 - 2 * size, to.y + size];
    painter.polygon([x2, to.y, ...head], theme.accent);
  }
  if (overStuck) return;
  for (const { text, x, y, width } of hintsOf(found, scene)) {
    painter.rect(x - 2, y - HINT / 2, width + 4, HINT, theme.background, 0.85);
    painter.text(x, y, text, theme.accent, width + 1);
  }
}

/** Hint of an arrow's end at a position. */
export function hintAt(scene: Scene, x: number, y: number): EdgeHint | null {
  // Arrows are found anew, so only near the edges.
  if (y > HINT + topOf(scene) && y < scene.height - HINT) return null;
  const isAt = (hint: EdgeHint) => x >= hint.x - 10 && x <= hint.x + hint.width + 2 && Math.abs(y - hint.y) <= HINT / 2;
  return hintsOf(fewBundles(shownFlows(scene)), scene).find(isAt) ?? null;
}

/** Hints beside the ends of arrows at the edges, as far as they have room. */
function hintsOf(found: Bundle[], { width }: Scene): EdgeHint[] {
  const hints: EdgeHint[] = [];
  for (const edge of [-1, 1] as const) {
    const ends = found.flatMap((bundle) => {
      const end = bundle.from.edge === edge ? { ...bundle.from, x: bundle.x1 } : bundle.to.edge === edge ? { ...bundle.to, x: bundle.x2 } : null;
      return end && bundle.hidden && end.x >= 0 && end.x <= width ? [{ ...end, ...bundle.hidden, bundle }] : [];
    });
    ends.sort((a, b) => a.x - b.x);
    ends.forEach(({ x, y, track, time, row, bundle: { beyond, number } }, i) => {
      const most = Math.min(MOST_HINT, (ends[i + 1]?.x ?? width) - x - 16);
      const text = `${edge < 0 ? "\u2191" : "\u2193"} ${beyond.size > 1 ? `${count(beyond.size)} tracks` : nameOf(row.track)}`;
      if (most >= LEAST_HINT) hints.push({ edge, track, time, text, number, x: x + 8, y: y - edge * (HINT / 2 + 1), width: Math.min(widthOf(text), most) });
    });
  }
  return hints;
}

/** Flows with at least one visible end. */
function shownFlows(scene: Scene): Flow[] {
  const { state, flows, width } = scene;
  const placeOf = placesOfFlows(scene);
  const found: Flow[] = [];
  for (let i = 0; i + 3 < flows.length; i += 4) {
    const [track, other] = [flows[i]!, flows[i + 2]!];
    const [from, to] = [placeOf(track), placeOf(other)];
    if (!from || !to || (from.edge && to.edge)) continue;
    // Within a closed track, an arrow would lie flat over all that is in it.
    if (from.row === to.row && (track !== other || track !== from.row.track.id)) continue;
    const x1 = xOf(flows[i + 1]! + state.offsetOf(track), state.view, width);
    const x2 = xOf(flows[i + 3]! + state.offsetOf(other), state.view, width);
    const hidden = from.edge ? { track, time: flows[i + 1]! } : to.edge ? { track: other, time: flows[i + 3]! } : undefined;
    if (Math.max(x1, x2) >= 0 && Math.min(x1, x2) <= width) found.push({ from, to, x1, x2, ...(hidden && { hidden }) });
  }
  return found;
}

/** Height of the rows that stay at the top. */
function topOf({ rows }: Scene): number {
  return rows.reduce((sum, row) => sum + (row.isStuck ? row.height : 0), 0);
}

function placesOfFlows(scene: Scene): (track: number) => FlowPlace | null {
  const { rows, rowAround, top, height } = scene;
  const stuck = new Map(rows.filter((row) => row.isStuck).map((row) => [row.index, row]));
  const least = topOf(scene);
  const find = (track: number): FlowPlace | null => {
    const known = rowAround(track);
    if (!known) return null;
    const isStuck = stuck.has(known.index);
    const y = (stuck.get(known.index) ?? known).y - top + known.height / 2;
    const edge = isStuck || (y >= least && y <= height) ? 0 : y < least ? -1 : 1;
    return { row: known, y: edge ? (edge < 0 ? least : height) : y, edge, isStuck };
  };
  const places = new Map<number, FlowPlace | null>();
  return (track) => {
    let place = places.get(track);
    if (place === undefined) places.set(track, (place = find(track)));
    return place;
  };
}

function fewBundles(flows: Flow[]): Bundle[] {
  let found: Bundle[] = [];
  for (const distance of BUNDLES) {
    found = bundles(flows, distance);
    if (found.length <= MOST_BUNDLES) break;
  }
  return found;
}

function bundles(flows: Flow[], distance: number): Bundle[] {
  const found = new Map<string, Bundle>();
  // At an edge, it does not matter which row is beyond it.
  const nameOf = ({ edge, row }: FlowPlace) => (edge ? edge - 2 : row.index);
  for (const flow of flows) {
    const { from, to, x1, x2 } = flow;
    const key = `${nameOf(from)} ${nameOf(to)} ${Math.floor(x1 / distance)} ${Math.floor(x2 / distance)}`;
    const known = found.get(key) ?? { ...flow, number: 0, beyond: new Set() };
    known.number += 1;
    if (from.edge || to.edge) known.beyond.add((from.edge ? from : to).row);
    found.set(key, known);
  }
  return [...found.values()];
}
