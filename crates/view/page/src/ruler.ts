// The ruler: a strip of the whole trace with the visible part, and marks of times below it.

import type { Theme } from "./colors";
import { timeAt, xOf } from "./draw";
import type { Painter } from "./painter";
import type { Range, State } from "./state";
import { dateOf, decimalsOf, difference, roundUp, step, timeOfDay } from "./time";

export const STRIP = 14;
export const RULER = 46;
const LEAST_DISTANCE = 118;

export interface RulerScene {
  state: State;
  theme: Theme;
  width: number;
  /** Search hits by part of the whole trace. */
  bins: number[];
  /** Fraction of time in which processors ran threads, by part of the whole trace. */
  load: number[];
  pointer: number | null;
}

export function drawRuler(painter: Painter, scene: RulerScene): void {
  const { state, theme, width } = scene;
  painter.rect(0, 0, width, RULER, theme.background);
  if (!state.isEmpty) {
    drawStrip(painter, scene);
    drawTicks(painter, scene);
    drawMarks(painter, scene);
  }
  painter.rect(0, RULER - 1, width, 1, theme.border);
}

function drawStrip(painter: Painter, { state, theme, width, bins, load }: RulerScene): void {
  const whole = state.extent;
  painter.rect(0, 0, width, STRIP, theme.row);
  const { begin, end } = state.bounds;
  load.forEach((part, i) => {
    const left = xOf(begin + (i * (end - begin)) / load.length, whole, width);
    const right = xOf(begin + ((i + 1) * (end - begin)) / load.length, whole, width);
    if (part > 0) painter.rect(left, STRIP - part * STRIP, right - left, part * STRIP, theme.muted, 0.5);
  });
  const most = Math.max(1, ...bins);
  bins.forEach((hits, i) => {
    if (!hits) return;
    const height = 3 + (STRIP - 3) * Math.sqrt(hits / most);
    painter.rect((i * width) / bins.length, STRIP - height, Math.max(width / bins.length - 1, 1), height, theme.accent, 0.85);
  });
  const left = Math.max(xOf(state.view.begin, whole, width), 0);
  const right = Math.min(xOf(state.view.end, whole, width), width);
  const length = Math.max(right - left, 4);
  painter.rect(left, 0, length, STRIP, theme.accent, 0.22);
  painter.outline(left + 0.5, 0.5, length - 1, STRIP - 1, theme.accent, 1);
}

function drawTicks(painter: Painter, { state, theme, width }: RulerScene): void {
  const { view, calendar } = state;
  const distance = step(((view.end - view.begin) / width) * LEAST_DISTANCE);
  const decimals = decimalsOf(distance);
  const last = state.absolute(view.end);
  const from = origin(state);
  let date = "";
  let second = "";
  for (let time = roundUp(state.absolute(view.begin), distance), i = 0; time <= last && i < 1000; time += distance, i++) {
    const x = xOf(state.relative(time), view, width);
    painter.rect(x, STRIP + 2, 1, RULER - STRIP - 3, theme.grid);
    // A text cut by the edge could be misread.
    if (x > width - 60) continue;
    const text = timeOfDay(time, calendar, decimals);
    const day = dateOf(time, calendar);
    const whole = timeOfDay(time, calendar, 0);
    const isNew = whole !== second;
    painter.text(x + 4, STRIP + 9, decimals > 3 && !isNew ? fraction(text) : grouped(text), theme.text, LEAST_DISTANCE + 30);
    if (day !== date) painter.text(x + 4, STRIP + 22, day, theme.muted, LEAST_DISTANCE);
    else painter.text(x + 4, STRIP + 22, difference(state.relative(time) - from.time, Number(distance)), from.isSelected ? theme.accent : theme.muted, LEAST_DISTANCE - 8);
    date = day;
    second = whole;
  }
}

/** Reference for time differences: the start of the selection, otherwise the left edge if it is within the trace. */
export function origin(state: State): { time: number; isSelected: boolean } {
  const { selection, view, extent } = state;
  if (selection) return { time: selection.from + state.offsetOf(selection.track), isSelected: true };
  return { time: Math.max(view.begin, extent.begin), isSelected: false };
}

/** Digits after the point, in groups of three. */
function fraction(text: string): string {
  const digits = text.slice(text.indexOf(".") + 1).replace(/ s$/, "");
  return `.${digits.replace(/(\d{3})(?=\d)/g, "$1\u2009")}`;
}

function grouped(text: string): string {
  const point = text.indexOf(".");
  return point < 0 ? text : text.slice(0, point) + fraction(text) + (text.endsWith(" s") ? " s" : "");
}

function drawMarks(painter: Painter, { state, theme, width, pointer }: RulerScene): void {
  if (state.range) {
    const left = xOf(state.range.begin, state.view, width);
    const right = xOf(state.range.end, state.view, width);
    painter.rect(left, STRIP, Math.max(right - left, 1), RULER - STRIP, theme.range, 0.25);
  }
  for (const mark of state.bookmarks) {
    const x = xOf(mark.time, state.view, width);
    painter.polygon([x - 5, RULER - 9, x + 5, RULER - 9, x, RULER - 1], theme.accent);
    painter.rect(xOf(mark.time, state.extent, width) - 1, 0, 2, STRIP, theme.accent);
  }
  const from = origin(state);
  if (from.isSelected) {
    const x = xOf(from.time, state.view, width);
    painter.polygon([x - 4, RULER - 1, x + 4, RULER - 1, x, RULER - 7], theme.accent);
  }
  if (pointer !== null) painter.rect(pointer, STRIP, 1, RULER - STRIP, theme.muted);
}

/** Follows the pointer on the ruler: the strip moves the view, the rest marks a range. */
export function listenToRuler(canvas: HTMLCanvasElement, state: State): void {
  let from: number | null = null;
  let onStrip = false;
  const placeOf = (event: PointerEvent) => event.clientX - canvas.getBoundingClientRect().left;
  const timeIn = (range: Range, event: PointerEvent) => timeAt(placeOf(event), range, canvas.clientWidth);
  const move = (event: PointerEvent) => {
    if (from === null) return;
    if (onStrip) {
      const half = (state.view.end - state.view.begin) / 2;
      const middle = timeIn(state.extent, event);
      state.setView(middle - half, middle + half);
    } else if (Math.abs(placeOf(event) - xOf(from, state.view, canvas.clientWidth)) > 3) {
      state.setRange({ begin: from, end: timeIn(state.view, event) });
    }
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || state.isEmpty) return;
    canvas.setPointerCapture(event.pointerId);
    onStrip = event.clientY - canvas.getBoundingClientRect().top < STRIP;
    from = timeIn(state.view, event);
    state.setFollow(false);
    move(event);
  });
  canvas.addEventListener("pointermove", move);
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (from = null));
}
