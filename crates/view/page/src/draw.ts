// Draws the timeline: rows of tracks, spans, instants, counters, losses, marks.

import { lookOfState, severalShade, shadeOf, shadeOfProgram, type Shade, type Theme } from "./colors";
import { drawFlows } from "./flows";
import { TextsLast, type Columns, type Painter } from "./painter";
import { drawPath, drawPathOnTracks } from "./path";
import type { Track } from "./api";
import type { Range, State } from "./state";
import { drawTask } from "./task_marks";
import { STRIDE, type Tile } from "./tiles";
import { count, duration, quantity, shortCount } from "./time";
import { BAR, barOf, LANE, laneTop, runOf, type TrackRow } from "./tracks";

/** Minimum width of an item with a text. */
const LEAST_TEXT = 20;
/** Name number of items that several programs share. */
export const SEVERAL = 0;

/** Visible part of the timeline, in pixels of the page. */
export interface Scene {
  state: State;
  theme: Theme;
  rows: TrackRow[];
  tilesOf: (track: number) => Tile[];
  /** Row of a track, visible or not. */
  rowOf: (track: number) => TrackRow | undefined;
  /** Row of a track, or of the collapsed track that contains it. */
  rowAround: (track: number) => TrackRow | undefined;
  flows: number[];
  width: number;
  height: number;
  /** Height of the list above the picture. */
  top: number;
}

export interface Drawn {
  tracks: number;
  items: number;
  /** Spans and instants in the items that were drawn. */
  count: number;
  exact: boolean;
}

/** Position of a time in pixels from the left. */
export function xOf(time: number, view: Range, width: number): number {
  return ((time - view.begin) / (view.end - view.begin)) * width;
}

/** Time at a position. */
export function timeAt(x: number, view: Range, width: number): number {
  return view.begin + (x / width) * (view.end - view.begin);
}

export function drawScene(painter: Painter, scene: Scene): Drawn {
  const { state, theme, width, height } = scene;
  const drawn: Drawn = { tracks: scene.rows.length, items: 0, count: 0, exact: true };
  painter.rect(0, 0, width, height, theme.background);
  drawOutside(painter, scene);
  const stuck = scene.rows.filter((row) => row.isStuck);
  drawRows(painter, scene, scene.rows.filter((row) => !row.isStuck), drawn);
  drawLinks(painter, scene, false);
  drawRows(painter, scene, stuck, drawn);
  const stuckHeight = stuck.reduce((sum, row) => sum + row.height, 0);
  if (stuck.length) painter.within(0, 0, width, stuckHeight, () => drawLinks(painter, scene, true));
  drawRange(painter, scene);
  for (const mark of state.bookmarks) {
    const x = xOf(mark.time, state.view, width);
    if (x >= 0 && x <= width) painter.rect(x - 0.5, 0, 1, height, theme.accent, 0.7);
  }
  return drawn;
}

/** Draws what lies over the rows: before those that do not scroll cover some of them; over these, only what belongs to them. */
function drawLinks(painter: Painter, scene: Scene, overStuck: boolean): void {
  drawPathOnTracks(painter, scene, overStuck);
  drawTask(painter, scene, overStuck);
  drawFlows(painter, scene, overStuck);
  drawSelection(painter, scene, overStuck);
}

/** Time before and after the trace. */
function drawOutside(painter: Painter, { state, theme, width, height }: Scene): void {
  if (state.isEmpty) return;
  const { begin, end } = state.extent;
  const left = xOf(begin, state.view, width);
  const right = xOf(end, state.view, width);
  if (left > 0) painter.rect(0, 0, Math.min(left, width), height, theme.grid, 0.45);
  if (right < width) painter.rect(Math.max(right, 0), 0, width - Math.max(right, 0), height, theme.grid, 0.45);
}

/** Draws rows: first the items, then the dimming, then texts on top. */
function drawRows(painter: Painter, scene: Scene, rows: TrackRow[], drawn: Drawn): void {
  const late = new TextsLast(painter);
  for (const row of rows) drawRow(late, scene, row, drawn);
  painter.flush();
  for (const row of rows) {
    if (row.states && row.track.items && !row.runs) drawTiles(painter, scene, row, row.states.id, drawn, (tile) => drawPauses(painter, scene, row, tile));
  }
  late.finish();
}

function drawRow(painter: Painter, scene: Scene, row: TrackRow, drawn: Drawn): void {
  const { theme, width, state } = scene;
  const y = row.y - scene.top;
  // Others are below a row that does not scroll.
  if (row.isStuck) painter.rect(0, y, width, row.height, theme.background);
  if (row.track.id === state.track) painter.rect(0, y, width, row.height, theme.row);
  painter.rect(0, y + row.height - 1, width, 1, row.isStuck ? theme.border : theme.grid);
  if (row.track.kind === "path") return drawPath(painter, scene, row);
  if (row.runs) drawTiles(painter, scene, row, row.runs.id, drawn, (tile) => drawRuns(painter, scene, row, tile));
  if (row.states) drawTiles(painter, scene, row, row.states.id, drawn, (tile) => drawStates(painter, scene, row, tile));
  if (row.runs) return;
  drawTiles(painter, scene, row, row.track.id, drawn, (tile) => {
    if (row.track.kind === "counter") drawCounter(painter, scene, row, tile);
    else drawItems(painter, scene, row, tile, drawn);
  });
}

/** Strength of the dimming of spans while their thread does not run. */
const PALE: Record<string, number> = { runnable: 0.35, sleeping: 0.6, waiting: 0.6, stopped: 0.6 };

/** Dims spans while their thread does not run. */
function drawPauses(painter: Painter, scene: Scene, row: TrackRow, tile: Tile): void {
  const { theme, state } = scene;
  const color = row.track.id === state.track ? theme.row : theme.background;
  const top = row.y - scene.top + 1;
  const height = barOf(row).top - 2;
  eachItem(scene, row.track.id, tile, (x, right, _, name, number) => {
    const pale = PALE[state.names[name] ?? ""];
    if (pale && right - x >= 1) painter.rect(x, top, right - x, height, color, number > 1 ? pale / 2 : pale);
  });
}

function drawTiles(painter: Painter, scene: Scene, row: TrackRow, track: number, drawn: Drawn, draw: (tile: Tile) => void): void {
  const y = row.y - scene.top;
  const tiles = scene.tilesOf(track);
  tiles.forEach((tile, i) => {
    const paint = () => draw(tile);
    drawn.exact &&= tile.exact;
    const finer = tiles[i + 1];
    // The coarse picture is only visible where the finer one is missing.
    if (finer) beside(painter, scene, y, row, finer, paint);
    else paint();
  });
}

function beside(painter: Painter, scene: Scene, y: number, row: TrackRow, finer: Range, paint: () => void): void {
  const offset = scene.state.offsetOf(row.track.id);
  const left = xOf(finer.begin + offset, scene.state.view, scene.width);
  const right = xOf(finer.end + offset, scene.state.view, scene.width);
  if (left > 0) painter.within(0, y, Math.min(left, scene.width), row.height, paint);
  if (right < scene.width) painter.within(Math.max(right, 0), y, scene.width - Math.max(right, 0), row.height, paint);
}

/** Calls `draw` for each visible item of a tile: its positions in pixels, its lane, its name and the number of items in it. Of items within the same pixel, it is only called for one. */
function eachItem(scene: Scene, track: number, tile: Tile, draw: (x: number, right: number, lane: number, name: number, number: number) => void): void {
  const { state, width } = scene;
  const { items } = tile;
  const { begin, end } = state.view;
  const offset = state.offsetOf(track);
  const perNs = width / (end - begin);
  const painted: number[] = [];
  const least = 1 / devicePixelRatio;
  for (let i = 0; i + 5 < items.length; i += STRIDE) {
    const [from, to] = [items[i + 1]! + offset, items[i + 2]! + offset];
    if (to < begin || from > end) continue;
    const lane = items[i]!;
    const x = (from - begin) * perNs;
    const right = (to - begin) * perNs;
    if (right <= (painted[lane] ?? -Infinity)) continue;
    painted[lane] = Math.max(right, x + least);
    draw(Math.max(x, -2), Math.max(Math.min(right, width + 2), x + 0.5), lane, items[i + 4]!, items[i + 3]!);
  }
}

/** Thread states: a bar whose color and height show the state. */
function drawStates(painter: Painter, scene: Scene, row: TrackRow, tile: Tile): void {
  const { top, height } = barOf(row);
  const columns = painter.columns(row.y - scene.top + top, height, height);
  const looks = new Map<number, { color: string; level: number }>();
  eachItem(scene, row.track.id, tile, (x, right, _, name, number) => {
    let look = looks.get(name);
    if (!look) {
      const { color, height: part } = lookOfState(scene.state.names[name] ?? "", scene.theme.dark);
      looks.set(name, (look = { color, level: Math.max(Math.round(part * height), 1) }));
    }
    columns.add(x, right, look.level, look.color, number > 1 ? 0.75 : 1);
  });
}

/** Threads of a collapsed process, by the processors that ran them. */
function drawRuns(painter: Painter, scene: Scene, row: TrackRow, tile: Tile): void {
  const top = row.y - scene.top;
  const lanes: Columns[] = [];
  const shades = new Map<number, string>();
  eachItem(scene, row.track.id, tile, (x, right, lane, name, number) => {
    let shade = shades.get(name);
    if (shade === undefined) shades.set(name, (shade = shadeOfProgram(scene.state.programOf(scene.state.names[name] ?? ""), scene.theme.dark).strong));
    const place = runOf(row, lane);
    const columns = (lanes[lane] ??= painter.columns(top + place.top, place.height, 1));
    columns.add(x, right, 1, shade, number > 1 ? 0.75 : 1);
  });
}

function drawItems(painter: Painter, scene: Scene, row: TrackRow, tile: Tile, drawn: Drawn): void {
  const { state, width } = scene;
  const { items } = tile;
  const { begin, end } = state.view;
  const offset = state.offsetOf(row.track.id);
  const perNs = width / (end - begin);
  const top = row.y - scene.top;
  // By lane: an item that lies in what was painted is not seen. While zooming out, there are many in each pixel.
  const painted: number[] = [];
  const lanes: Columns[] = [];
  const shades: Shade[] = [];
  const isLoss = row.track.kind === "losses";
  const mostLanes = Math.max(row.lanes, 1);
  for (let i = 0; i + 5 < items.length; i += STRIDE) {
    const lane = items[i]!;
    const [from, to] = [items[i + 1]! + offset, items[i + 2]! + offset];
    if (to < begin || from > end || lane >= mostLanes) continue;
    drawn.items += 1;
    drawn.count += items[i + 3]!;
    const x = (from - begin) * perNs;
    const right = (to - begin) * perNs;
    if (right <= (painted[lane] ?? -Infinity)) continue;
    painted[lane] = Math.max(right, x + 1);
    const next = items[i + STRIDE] === lane ? (items[i + STRIDE + 1]! + offset - begin) * perNs : width;
    const name = items[i + 4]!;
    const shade = (shades[name] ??= shadeOfName(scene, row, name));
    const y = top + laneTop(row, lane) + 1;
    const [number, longest] = [items[i + 3]!, items[i + 5]!];
    if (!isLoss && isColumn(right - x, next - x, number, longest, to === from)) {
      drawColumn((lanes[lane] ??= painter.columns(y, BAR, LEVELS)), x, Math.max(right, x + 1), shade, number, longest);
      continue;
    }
    const item = {
      x: Math.max(x, -2),
      right: Math.min(right, width + 2),
      y,
      next,
      count: number,
      name: nameOfItem(state, row.track, name, number),
      longest,
      instant: to === from && longest === 0,
    };
    if (isLoss) drawLoss(painter, scene, item);
    else drawItem(painter, scene.theme, item, shade);
  }
}

const SEVERAL_PROGRAMS = "several programs";

/** Name of an item of a track, by name number and number of items in it. */
export function nameOfItem(state: State, track: Track | undefined, name: number, number: number): string {
  return number > 1 && name === SEVERAL && track?.runsThreads ? SEVERAL_PROGRAMS : (state.names[name] ?? "");
}

/** Words before the name of a merged item; empty for a single item. */
export function wordsBefore(name: string, number: number): string {
  if (number <= 1) return "";
  return `${count(number)} items${name === SEVERAL_PROGRAMS ? " of" : ", mostly"}`;
}

/** True for a span without an end. The server sends length 0 for it. */
export function hasNoEnd({ from, to, count: number, longest }: Hit): boolean {
  return number === 1 && longest === 0 && to > from;
}

/** Heights of columns in a lane. */
const LEVELS = 4;

/** True for items that have no text and no shape of their own: narrow ones, and instants of a summary. */
function isColumn(width: number, room: number, number: number, longest: number, isInstant: boolean): boolean {
  if (longest === 0) return number > 1 || (isInstant && room < 2);
  return width <= LEAST_TEXT;
}

function drawColumn(columns: Columns, x: number, right: number, shade: Shade, number: number, longest: number): void {
  const width = right - x;
  // Instants of a summary: the more there are, the higher.
  if (longest === 0) return columns.add(x, right, Math.min(LEVELS, Math.round(1 + Math.log2(number) / 2)), shade.strong, 1);
  // Of full lanes, each pixel is an item.
  if (number > 1 && width <= 2) return columns.add(x, right, LEVELS, shade.strong, opacityOf(number));
  if (number > 1) {
    columns.add(x, right, LEVELS, shade.fill, opacityOf(number));
    return columns.add(x, right, 1, shade.strong, 1);
  }
  columns.add(x, right, LEVELS, width > 3 ? shade.fill : shade.strong, 1);
  // An edge keeps neighbors of the same name apart.
  if (width > 3) columns.add(x, x + 1, LEVELS, shade.strong, 1);
}

function opacityOf(number: number): number {
  return 0.45 + 0.55 * Math.min(1, Math.log10(number) / 4);
}

/** Color of a name on a track: its own color, or the color of the program that a processor ran. Gray for several programs. */
function shadeOfName({ state, theme }: Scene, row: TrackRow, name: number): Shade {
  const text = state.names[name] ?? "";
  if (!row.track.runsThreads) return shadeOf(text, theme.dark);
  return name === SEVERAL ? severalShade(theme.dark) : shadeOfProgram(state.programOf(text), theme.dark);
}

interface Item {
  x: number;
  right: number;
  y: number;
  /** Start of the next item in the lane. */
  next: number;
  count: number;
  name: string;
  longest: number;
  instant: boolean;
}

/** Draws an instant, or a span with room for a text. */
function drawItem(painter: Painter, theme: Theme, item: Item, shade: Shade): void {
  const { x, y, count: number, name } = item;
  if (number === 1 && item.instant) return drawInstant(painter, theme, item);
  if (number === 1 && item.longest === 0) return drawOpen(painter, theme, item, shade);
  const width = item.right - x;
  if (number === 1) {
    painter.rect(x, y, width, BAR, shade.fill);
    painter.rect(x, y, 1, BAR, shade.strong);
    return painter.text(x + 5, y + BAR / 2, name, shade.text, width - 8);
  }
  painter.rect(x, y, width, BAR, shade.fill, opacityOf(number));
  painter.rect(x, y + BAR - 4, width, 4, shade.strong);
  painter.text(x + 4, y + BAR / 2 - 1, `${shortCount(number)} × ${name}`, theme.text, width - 6);
}

/** Draws a span without an end: pale, dashed up to its latest possible end. */
function drawOpen(painter: Painter, theme: Theme, item: Item, shade: Shade): void {
  const { x, y, right, name } = item;
  const width = Math.max(right - x, 1);
  painter.rect(x, y, width, BAR, shade.fill, 0.3);
  painter.rect(x, y, 2, BAR, shade.strong);
  for (let from = x; from < right; from += 8) painter.rect(from, y + BAR - 2, Math.min(4, right - from), 2, shade.strong);
  if (width > LEAST_TEXT) painter.text(x + 5, y + BAR / 2, name, theme.text, width - 8);
}

function drawInstant(painter: Painter, theme: Theme, item: Item): void {
  const { strong } = shadeOf(item.name, theme.dark);
  const { x, y } = item;
  painter.rect(x - 0.75, y, 1.5, BAR, strong);
  painter.polygon([x - 4, y, x + 4, y, x, y + 6], strong);
  const room = item.next - x - 12;
  if (room > 40) painter.text(x + 6, y + BAR / 2 + 1, item.name, theme.text, Math.min(room, 240));
}

function drawLoss(painter: Painter, { theme }: Scene, item: Item): void {
  const width = Math.max(item.right - item.x, 3);
  painter.rect(item.x, item.y, width, BAR, theme.loss);
  // Stripes, because not everybody can see red.
  for (let x = item.x + 3; x < item.x + width - 3 && width < 4000; x += 8) {
    painter.polygon([x, item.y + BAR, x + 3, item.y + BAR, x + 5, item.y + BAR - 3, x + 2, item.y + BAR - 3], theme.background, 0.6);
  }
  const text = item.count > 1 ? `${count(item.count)} × ${item.name}` : item.name;
  painter.text(item.x + 4, item.y + BAR / 2 - 1, text, theme.lossText, width - 6, true);
  if (width < 40) painter.text(item.x + width + 4, item.y + BAR / 2, text, theme.text, Math.min(item.next - item.x - width - 8, 200));
}

function drawCounter(painter: Painter, scene: Scene, row: TrackRow, tile: Tile): void {
  const { state, width, theme } = scene;
  const { counter } = tile;
  const offset = state.offsetOf(row.track.id);
  const { strong } = shadeOf(row.track.name, theme.dark);
  const low = Math.min(row.track.minimum ?? 0, 0);
  const most = Math.max(row.track.maximum ?? 0, 0);
  const high = most > low ? most : low + 1;
  const bottom = row.y - scene.top + row.height - 4;
  const room = row.height - 8;
  const yOf = (value: number) => bottom - (Math.min(Math.max((value - low) / (high - low), 0), 1) || 0) * room;
  let previous: { x: number; y: number } | null = null;
  for (let i = 0; i + 5 < counter.length; i += STRIDE) {
    const x = xOf(counter[i]! + offset, state.view, width);
    const right = xOf(counter[i + 1]! + offset, state.view, width);
    const isLast = i + STRIDE >= counter.length;
    const stop = isLast ? right : xOf(counter[i + STRIDE]! + offset, state.view, width);
    const last = yOf(counter[i + 4]!);
    if (previous && stop >= 0 && x <= width) painter.rect(x - 0.5, Math.min(previous.y, last), 1, Math.abs(previous.y - last) + 1, strong);
    previous = { x: stop, y: last };
    if (stop < 0 || x > width) continue;
    const from = Math.max(x, 0);
    const to = Math.min(Math.max(stop, x + 1), width);
    const top = yOf(counter[i + 3]!);
    painter.rect(from, last, to - from, bottom - last, strong, 0.3);
    painter.rect(from, last - 0.75, to - from, 1.5, strong);
    // The range of values within a pixel.
    if (counter[i + 5]! > 1) painter.rect(from, top, Math.max(Math.min(right, width) - from, 1), yOf(counter[i + 2]!) - top + 1, strong, 0.7);
  }
  if (counter.length) {
    const y = row.y - scene.top;
    painter.rect(0, y + 1, 74, 15, theme.background, 0.8);
    painter.text(4, y + 9, quantity(row.track.maximum ?? 0, row.track.unit), theme.muted, 70);
  }
}

/** Lane and name of a drawn span; `null` if it is in none of the tiles. If several spans match, prefers one whose name contains the event name. */
export function itemAt(state: State, tiles: { items?: number[] }[], begin: number, end: number, event: string): { lane: number; name: string } | null {
  const found: { lane: number; name: string }[] = [];
  for (const { items = [] } of tiles) {
    for (let i = 0; i + 5 < items.length; i += STRIDE) {
      if (items[i + 3] !== 1 || items[i + 1] !== begin || Math.abs(items[i + 2]! - end) > 1) continue;
      found.push({ lane: items[i]!, name: state.names[items[i + 4]!] ?? "" });
    }
  }
  const named = found.filter(({ name }) => name);
  return named.find(({ name }) => event.includes(name)) ?? (named.every(({ name }) => name === named[0]?.name) ? (named[0] ?? null) : null);
}

/** Lane of a drawn span, since events do not contain it. `known` if the span is in that lane, or in none of the tiles. */
export function laneOf(tiles: Tile[], begin: number, end: number, known: number): number {
  let found: number | null = null;
  for (const { items } of tiles) {
    for (let i = 0; i + 5 < items.length; i += STRIDE) {
      if (items[i + 1]! !== begin || Math.abs(items[i + 2]! - end) > 1) continue;
      if (items[i] === known) return known;
      found ??= items[i]!;
    }
  }
  return found ?? known;
}

function drawSelection(painter: Painter, scene: Scene, overStuck: boolean): void {
  const { state, rows, width, theme } = scene;
  const { selection } = state;
  const row = selection && rows.find((other) => [other.track.id, other.states?.id, other.runs?.id].includes(selection.track));
  if (!selection || !row || !!row.isStuck !== overStuck) return;
  const offset = state.offsetOf(selection.track);
  const x = xOf(selection.from + offset, state.view, width);
  const right = xOf(selection.to + offset, state.view, width);
  // Of an event that was opened before its part of the picture was there, the lane is not known.
  const lane = laneOf(scene.tilesOf(selection.track), selection.from, selection.to, selection.lane);
  const place = placeOf(row, selection.track, lane);
  const y = row.y - scene.top + place.top;
  const left = Math.max(x - 2, -4);
  const length = Math.min(Math.max(right + 2, x + 4), width + 8) - left;
  painter.outline(left, y, length, place.height, theme.background, 4);
  painter.outline(left, y, length, place.height, theme.accent, 2);
}

/** Position of a lane of a track within its row, which can belong to another track. */
function placeOf(row: TrackRow, track: number, lane: number): { top: number; height: number } {
  if (track === row.states?.id) return barOf(row);
  if (track === row.runs?.id) return runOf(row, lane);
  return { top: laneTop(row, Math.min(lane, Math.max(row.lanes - 1, 0))), height: LANE };
}

function drawRange(painter: Painter, { state, width, height, theme }: Scene): void {
  if (!state.range) return;
  const left = xOf(state.range.begin, state.view, width);
  const right = xOf(state.range.end, state.view, width);
  painter.rect(left, 0, Math.max(right - left, 1), height, theme.range, 0.1);
  painter.rect(left - 0.5, 0, 1.5, height, theme.range);
  painter.rect(right - 0.5, 0, 1.5, height, theme.range);
  const text = duration(state.range.end - state.range.begin);
  painter.rect(Math.max(left, 0) + 4, height - 20, 74, 16, theme.background, 0.85);
  painter.text(Math.max(left, 0) + 8, height - 12, text, theme.text, 70, true);
}

export interface Hit {
  lane: number;
  from: number;
  to: number;
  count: number;
  name: number;
  longest: number;
}

/** Item nearest to a position of a track, within four pixels. `lane` null stands for any lane. */
export function hit(tiles: Tile[], lane: number | null, time: number, perPixel: number): Hit | null {
  const tile = tiles.findLast((other) => time >= other.begin && time <= other.end) ?? tiles.at(-1);
  let best: Hit | null = null;
  let least = 4 * perPixel;
  const items = tile?.items ?? [];
  for (let i = 0; i + 5 < items.length; i += STRIDE) {
    const [at, from, to] = [items[i]!, items[i + 1]!, items[i + 2]!];
    if (lane !== null && at !== lane) continue;
    const distance = time < from ? from - time : time > to ? time - to : 0;
    if (distance > least || (distance === least && best && to - from > best.to - best.from)) continue;
    least = distance;
    best = { lane: at, from, to, count: items[i + 3]!, name: items[i + 4]!, longest: items[i + 5]! };
  }
  return best;
}
