// The timeline: canvas, ruler and labels, and the pointer on them.

import { currentTheme, type Theme } from "./colors";
import { byId, el } from "./dom";
import { drawScene, hasNoEnd, hit, nameOfItem, timeAt, wordsBefore, type Drawn, type Hit, type Scene } from "./draw";
import { hintAt, type EdgeHint, type FlowEnd } from "./flows";
import { Labels } from "./labels";
import { loadOf } from "./load";
import { CanvasPainter } from "./painter";
import { drawRuler, listenToRuler, RULER } from "./ruler";
import { PATH_TRACK, rangeOfStep, stateText, stepAt, type PathStep } from "./path";
import type { State } from "./state";
import { TileStore } from "./tiles";
import { duration, fullTime } from "./time";
import { barOf, laneAt, Layout, nameOf, runOf, type TrackRow } from "./tracks";

export interface Chosen extends Hit {
  track: number;
}

/** Callbacks of the timeline. */
export interface TimelineActions {
  chosen(item: Chosen): void;
  /** A step of the critical path was selected. */
  chosenStep(step: PathStep): void;
  background(track: number | null): void;
  zoomTo(item: Chosen): void;
  /** An arrow was followed to a row that is scrolled away. */
  chosenEnd(end: FlowEnd): void;
  scrolled(): void;
  announce(text: string): void;
  painted(): void;
}

export class Timeline {
  readonly tiles: TileStore;
  readonly labels: Labels;
  layout = new Layout([], { closed: new Set() });
  theme: Theme = currentTheme();
  drawn: Drawn = { tracks: 0, items: 0, count: 0, exact: true };
  frames = 0;
  bins: number[] = [];
  /** Processor load over the whole trace. */
  load: number[] = [];
  private loadGeneration = -1;
  flows: number[] = [];
  /** Pointer position over the picture, in pixels from the left. */
  pointer: number | null = null;
  private readonly canvas = byId<HTMLCanvasElement>("canvas");
  private readonly ruler = byId<HTMLCanvasElement>("ruler");
  private readonly scroller = byId("scroll");
  private readonly tip = byId("tip");
  /** Next frame: 0 draws nothing, 1 the ruler, 2 everything. */
  private requested = 0;
  private milliseconds = 0;

  constructor(
    private readonly state: State,
    private readonly actions: TimelineActions,
  ) {
    this.tiles = new TileStore(state, () => this.shownTracks(), () => this.redraw());
    this.labels = new Labels(state, {
      choose: (track) => this.chooseTrack(track),
      pin: (track) => this.pin(track),
      hide: (track) => this.hide(track),
    });
    state.on(["view", "range", "selection", "bookmarks", "names", "search", "trace"], () => this.redraw());
    state.on(["view"], () => this.tiles.schedule());
    state.on(["tracks", "layout"], () => this.relayout());
    state.on(["tracks", "trace"], () => void this.showLoad());
    state.on(["filter", "offsets"], () => this.tiles.clear());
    this.scroller.addEventListener("scroll", () => this.scrolled());
    new ResizeObserver(() => this.resized()).observe(this.scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
    this.watchPixelRatio();
    this.listen();
    listenToRuler(this.ruler, state);
  }

  get width(): number {
    return this.canvas.clientWidth;
  }

  get height(): number {
    return this.scroller.clientHeight;
  }

  redraw(parts: 1 | 2 = 2): void {
    const isAsked = this.requested > 0;
    this.requested = Math.max(this.requested, parts);
    if (isAsked) return;
    requestAnimationFrame(() => {
      const all = this.requested === 2;
      this.requested = 0;
      if (all) this.draw();
      else this.drawRuler();
    });
  }

  relayout(): void {
    const isInView = this.isInView(this.state.track);
    const { tracks, closed, pinned, hidden, filled, path, trackText } = this.state;
    this.layout = new Layout(tracks, { closed, pinned, hidden, filled, path, text: trackText });
    byId("spacer").style.height = `${Math.max(this.layout.height, 1)}px`;
    // New rows above it, such as a critical path, do not move it out of view.
    if (isInView) this.showTrack(this.state.track);
    this.tiles.schedule();
    this.redraw();
  }

  /** Requests the processor load after the trace has changed. */
  async showLoad(): Promise<void> {
    const { state } = this;
    if (this.loadGeneration === state.generation || state.trace?.state === "loading" || !state.tracks.length) return;
    const generation = (this.loadGeneration = state.generation);
    try {
      const load = await loadOf(state);
      if (generation !== this.loadGeneration) return;
      this.load = load;
      this.redraw(1);
    } catch {
      // The strip does without it.
    }
  }

  /** Scrolls so that a track is visible. */
  showTrack(track: number | null): void {
    const row = this.layout.of(track);
    if (!row) return;
    const { scrollTop } = this.scroller;
    const stuck = this.layout.stuckHeight(this.height);
    if (row.y + row.height <= stuck) return;
    if (row.y < scrollTop + stuck) this.scroller.scrollTop = row.y - stuck;
    else if (row.y + row.height > scrollTop + this.height) {
      this.scroller.scrollTop = Math.min(row.y - stuck, row.y + row.height - this.height);
    }
  }

  /** True if the whole row of a track is visible. */
  private isInView(track: number | null): boolean {
    const row = this.layout.of(track);
    const { scrollTop } = this.scroller;
    return !!row && row.y >= scrollTop && row.y + row.height <= scrollTop + this.height;
  }

  scrollBy(pixels: number): void {
    this.scroller.scrollTop += pixels;
  }

  /** Moves to the track that is `by` rows further. */
  moveTrack(by: number): TrackRow | undefined {
    const { rows } = this.layout;
    const now = this.layout.of(this.state.track)?.index ?? (by > 0 ? -1 : rows.length);
    const row = rows[Math.min(Math.max(now + by, 0), rows.length - 1)];
    if (!row) return undefined;
    this.goTo(row, this.labels.hasFocus);
    return row;
  }

  /** Selects the track of a row, and focuses its label if requested. */
  private goTo({ track }: TrackRow, withFocus: boolean): void {
    this.chooseTrack(track.id);
    this.draw();
    if (withFocus) this.labels.focus(track.id);
  }

  /** Track of the row of the keyboard: a click on the states of a thread chooses these. */
  get rowTrack(): number | null {
    return this.layout.of(this.state.track)?.track.id ?? null;
  }

  /** Pins or unpins a track. */
  pin(track: number | null): void {
    const row = this.layout.of(track);
    if (!row || row.track.id === PATH_TRACK) return;
    this.state.pin(row.track.id);
    this.actions.announce(`${this.state.pinned.has(row.track.id) ? "Pinned" : "Unpinned"} ${nameOf(row.track)}`);
  }

  /** Hides a track, and selects the next one. */
  hide(track: number | null): void {
    const row = this.layout.of(track);
    if (!row) return;
    const { rows } = this.layout;
    const next = rows.find(({ index, depth }) => index > row.index && depth <= row.depth) ?? rows[row.index - 1];
    const hadFocus = this.labels.hasFocus;
    this.state.hide(row.track.id);
    if (next && (hadFocus || !this.layout.of(this.state.track))) this.goTo(next, hadFocus);
    this.actions.announce(row.track.id === PATH_TRACK ? "Closed the critical path" : `Hid ${nameOf(row.track)}`);
  }

  chooseTrack(track: number): void {
    this.state.track = track;
    this.state.emit("selection");
    this.showTrack(track);
  }

  scene(): Scene {
    const top = this.scroller.scrollTop;
    return {
      state: this.state,
      theme: this.theme,
      rows: this.layout.visible(top, this.height),
      tilesOf: (track) => this.tiles.of(track),
      rowOf: (track) => this.layout.of(track),
      rowAround: (track) => this.layout.rowAround(track),
      // Those of a task would be hidden by others.
      flows: this.state.task?.arrows ?? this.flows,
      width: this.width,
      height: this.height,
      top,
    };
  }

  private draw(): void {
    const started = performance.now();
    const scene = this.scene();
    const painter = prepare(this.canvas, scene.width, scene.height);
    painter?.begin();
    if (painter) this.drawn = drawScene(painter, scene);
    this.drawRuler();
    this.labels.update(this.layout, scene.rows, scene.top);
    this.frames += 1;
    this.milliseconds = performance.now() - started;
    this.actions.painted();
  }

  private drawRuler(): void {
    // The scroll bar makes the picture narrower than the space above it.
    const { width, state, theme, bins, load, pointer } = this;
    this.ruler.style.width = `${width}px`;
    const painter = prepare(this.ruler, width, RULER);
    if (painter) drawRuler(painter, { state, theme, width, bins, load, pointer });
  }

  /** Drawing time of the last picture in ms. */
  get drawTime(): number {
    return this.milliseconds;
  }

  private shownTracks(): { tracks: number[]; pixels: number } {
    const rows = this.layout.visible(this.scroller.scrollTop, this.height);
    const own = rows.filter((row) => !row.runs && row.track.kind !== "path" && (row.track.items > 0 || row.track.kind === "counter"));
    const tracks = own.map((row) => row.track.id);
    for (const row of rows) for (const track of [row.states, row.runs]) if (track) tracks.push(track.id);
    return { tracks, pixels: Math.round(this.width * devicePixelRatio) };
  }

  private scrolled(): void {
    this.tiles.schedule();
    this.redraw();
    this.actions.scrolled();
  }

  private resized(): void {
    byId("stage").style.height = `${this.height}px`;
    this.tiles.schedule();
    this.redraw();
  }

  private recolor(): void {
    this.theme = currentTheme();
    this.redraw();
  }

  private watchPixelRatio(): void {
    const query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    query.addEventListener("change", () => {
      this.watchPixelRatio();
      this.resized();
    }, { once: true });
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    let drag: { x: number; y: number; moved: boolean; range: number | null } | null = null;
    const pinch = new Pinch();
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      pinch.set(event);
      if (pinch.isActive) {
        drag = null;
        return;
      }
      const range = event.shiftKey ? this.timeOf(event) : null;
      drag = { x: event.clientX, y: event.clientY, moved: false, range };
    });
    canvas.addEventListener("pointermove", (event) => {
      this.hover(event, pinch.isActive || (drag?.moved ?? false));
      if (pinch.isActive) return this.pinched(pinch.move(event));
      if (!drag) return;
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      if (drag.range !== null) {
        drag.moved = true;
        this.state.setRange({ begin: drag.range, end: this.timeOf(event) });
        return;
      }
      drag = { x: event.clientX, y: event.clientY, moved: true, range: null };
      this.state.setFollow(false);
      if (dx) this.state.pan((-dx * (this.state.view.end - this.state.view.begin)) / this.width);
      this.scroller.scrollTop -= dy;
    });
    const stop = (event: PointerEvent) => {
      pinch.remove(event);
      if (drag && !drag.moved && event.type === "pointerup") this.click(event);
      drag = null;
    };
    canvas.addEventListener("pointerup", stop);
    canvas.addEventListener("pointercancel", stop);
    canvas.addEventListener("pointerleave", () => this.unhover());
    // The picture may move away from below the pointer.
    addEventListener("keydown", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", (event) => {
      const found = this.itemAt(event);
      if (found) this.actions.zoomTo(found);
    });
  }

  /** Zooms as two fingers move apart, and pans as they move together. */
  private pinched({ from, to }: { from: [number, number]; to: [number, number] }): void {
    if (this.state.isEmpty) return;
    const { left } = this.canvas.getBoundingClientRect();
    const { view } = this.state;
    const middle = ([a, b]: [number, number]) => (a + b) / 2 - left;
    const distance = ([a, b]: [number, number]) => Math.max(Math.abs(a - b), 8);
    this.state.setFollow(false);
    const at = timeAt(middle(from), view, this.width);
    this.state.zoom(distance(from) / distance(to), at);
    this.state.pan(at - timeAt(middle(to), this.state.view, this.width));
  }

  private wheel(event: WheelEvent): void {
    if (this.state.isEmpty) return;
    // Lines and pages are as many pixels as browsers scroll for them.
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.height : 1;
    event.preventDefault();
    this.state.setFollow(false);
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || (event.shiftKey && !event.deltaX);
    if (event.altKey) this.scrollBy(event.deltaY * unit);
    else if (isSideways) {
      const by = (event.deltaX || event.deltaY) * unit;
      this.state.pan((by * (this.state.view.end - this.state.view.begin)) / this.width);
    } else {
      const by = Math.min(Math.max(event.deltaY * unit, -400), 400);
      this.state.zoom(Math.exp(by / 400), this.timeOf(event));
    }
  }

  private timeOf(event: MouseEvent): number {
    return timeAt(event.clientX - this.canvas.getBoundingClientRect().left, this.state.view, this.width);
  }

  private rowAt(event: MouseEvent): TrackRow | undefined {
    const { scrollTop } = this.scroller;
    return this.layout.at(event.clientY - this.canvas.getBoundingClientRect().top + scrollTop, scrollTop, this.height);
  }

  /** Step of the critical path at the pointer. */
  private stepAt(event: MouseEvent): PathStep | null {
    const { path, view } = this.state;
    if (!path || this.rowAt(event)?.track.id !== PATH_TRACK) return null;
    return stepAt(this.state, path, this.timeOf(event), (4 * (view.end - view.begin)) / this.width);
  }

  /** End of an arrow at an edge, with a hint at the pointer. */
  private hintAt(event: MouseEvent): EdgeHint | null {
    const { left, top } = this.canvas.getBoundingClientRect();
    return hintAt(this.scene(), event.clientX - left, event.clientY - top);
  }

  private itemAt(event: MouseEvent): Chosen | null {
    const row = this.rowAt(event);
    if (!row) return null;
    const { top } = this.canvas.getBoundingClientRect();
    const y = event.clientY - top + this.scroller.scrollTop - row.y;
    const place = this.trackAt(row, y);
    const lane = place.lane;
    const perPixel = (this.state.view.end - this.state.view.begin) / this.width;
    const time = this.timeOf(event) - this.state.offsetOf(row.track.id);
    const found = hit(this.tiles.of(place.track), lane, time, perPixel);
    return found && { ...found, track: place.track };
  }

  /** Track and lane at a place within a row; `null` stands for any lane. */
  private trackAt(row: TrackRow, y: number): { track: number; lane: number | null } {
    if (row.runs) {
      const lane = Array.from({ length: row.runs.lanes }, (_, i) => i).findLast((i) => runOf(row, i).top <= y);
      return { track: row.runs.id, lane: lane ?? 0 };
    }
    if (row.states && (!row.track.items || y >= barOf(row).top - 1)) return { track: row.states.id, lane: null };
    return { track: row.track.id, lane: row.track.lanes > 1 ? laneAt(row, y) : null };
  }

  private click(event: MouseEvent): void {
    this.canvas.focus({ preventScroll: true });
    const hint = this.hintAt(event);
    const step = this.stepAt(event);
    const found = this.itemAt(event);
    if (hint) this.actions.chosenEnd(hint);
    else if (step) this.actions.chosenStep(step);
    else if (found) this.actions.chosen(found);
    else this.actions.background(this.rowAt(event)?.track.id ?? null);
  }

  private hover(event: PointerEvent, dragging: boolean): void {
    this.pointer = event.clientX - this.ruler.getBoundingClientRect().left;
    this.redraw(1);
    const isOff = dragging || this.state.isEmpty;
    const hint = isOff ? null : this.hintAt(event);
    const step = isOff || hint ? null : this.stepAt(event);
    const found = isOff || hint || step ? null : this.itemAt(event);
    this.canvas.classList.toggle("over", !!hint || !!found || !!step);
    this.tip.hidden = !hint && !found && !step;
    if (hint) this.showHint(event, hint);
    if (step) this.showTip(event, "", step.name, [stateText(step), duration(step.end - step.begin), fullTime(this.state.absolute(rangeOfStep(this.state, step).begin), this.state.calendar)]);
    if (!found) return;
    const { state } = this;
    const name = nameOfItem(state, state.trackOf(found.track), found.name, found.count);
    const length = hasNoEnd(found) ? "no end" : found.to > found.from ? duration(found.to - found.from) : "";
    this.showTip(event, wordsBefore(name, found.count), name, [
      found.longest && found.count > 1 ? `longest ${duration(found.longest)}` : length,
      fullTime(state.absolute(found.from + state.offsetOf(found.track)), state.calendar),
    ]);
  }

  private showHint(event: PointerEvent, { track, time, number }: EdgeHint): void {
    const { state } = this;
    const of = number > 1 ? `the first of ${number} arrows` : "an arrow";
    const name = state.trackOf(track)?.name ?? "";
    this.showTip(event, `other end of ${of}`, name, [fullTime(state.absolute(time + state.offsetOf(track)), state.calendar)]);
  }

  /** Shows a tooltip at the pointer: a line before the name, and further lines below it. */
  private showTip(event: PointerEvent, before: string, name: string, lines: string[]): void {
    const texts = (list: string[]) => list.filter((line) => line).map((line) => el("div", {}, line));
    this.tip.replaceChildren(...texts([before]), el("bdi", { class: "name" }, name), ...texts(lines));
    const { innerWidth, innerHeight } = window;
    const { offsetWidth, offsetHeight } = this.tip;
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - offsetWidth - 8))}px`;
    this.tip.style.top = `${event.clientY + 18 + offsetHeight > innerHeight ? event.clientY - offsetHeight - 10 : event.clientY + 18}px`;
  }

  private unhover(): void {
    this.pointer = null;
    this.tip.hidden = true;
    this.redraw(1);
  }
}

/** Two fingers on the picture. */
class Pinch {
  private readonly places = new Map<number, number>();

  get isActive(): boolean {
    return this.places.size === 2;
  }

  set(event: PointerEvent): void {
    if (event.pointerType === "touch") this.places.set(event.pointerId, event.clientX);
  }

  remove(event: PointerEvent): void {
    this.places.delete(event.pointerId);
  }

  /** Positions of the fingers before and after a move. */
  move(event: PointerEvent): { from: [number, number]; to: [number, number] } {
    const from = [...this.places.values()] as [number, number];
    if (this.places.has(event.pointerId)) this.places.set(event.pointerId, event.clientX);
    return { from, to: [...this.places.values()] as [number, number] };
  }
}

/** Canvas sized for the screen pixels, and its painter. */
function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasPainter | null {
  const ratio = devicePixelRatio;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d", { alpha: false });
  if (!context || !w || !h) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return new CanvasPainter(context, width);
}
