// Statistics of the range: counts, latencies, gaps.

import { isAborted, Latest, type LongestSpans, type SpanStats, type Stats, type Tasks, type Waits } from "../api";
import { CommandLine } from "../commands";
import { el, svg } from "../dom";
import { isSaved } from "../saved";
import type { State, Topic } from "../state";
import { count, duration, shortCount, timeOfDay } from "../time";
import { nameOf, TrackTree } from "../tracks";
import { errorNote, leadingCell, note, partly, plural, rangeParameters, rangeText, sortedTable, type Panel, type PanelActions } from "./panel";
import { wakerText } from "./thread";

const MOST_ROWS = 200;
/** As many as the server lists. */
const MOST_LONGEST = 100;
/** Rows of a table at first, so that several tables are visible. */
const FIRST_ROWS = 10;
const WIDTH = 460;
const HEIGHT = 170;
/** As many as the server lists. */
const MOST_TASKS = 10_000;
/** Events of traces whose tasks are looked for: all events are read for that. With spans, something else says what was slow. */
const MOST_EVENTS = 10_000_000;
const MOST_EVENTS_WITH_SPANS = 1_000_000;

export class StatsPanel implements Panel {
  readonly title = "Statistics";
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "offsets", "trace"];
  private readonly status = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Statistics" });
  private readonly latest = new Latest();
  private readonly latestSpans = new Latest();
  private readonly latestWaits = new Latest();
  private readonly latestTasks = new Latest();
  /** Element for the slowest tasks, which arrive later than the rest. */
  private readonly slowest = el("div", { hidden: true });

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
  ) {
    const bar = el("div", { class: "bar" }, this.status, el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.body);
  }

  async update(): Promise<void> {
    this.latestTasks.abort();
    this.status.textContent = rangeText(this.state);
    if (this.state.isEmpty) return this.body.replaceChildren(note(this.state.emptyText));
    if (!this.body.querySelector("table")) this.body.replaceChildren(note("Reading the trace …"));
    try {
      const [stats, longest, waits] = await Promise.all([
        this.latest.get<Stats>("stats", rangeParameters(this.state)),
        this.latestSpans.get<LongestSpans>("longest", rangeParameters(this.state)),
        this.waits(),
      ]);
      this.show(stats, longest, waits);
      await this.showTasks(stats.spans.length > 0);
    } catch (error) {
      if (isAborted(error)) return;
      this.command.set("");
      this.body.replaceChildren(errorNote(error));
    }
  }

  /** Shows the slowest tasks of the range, if the trace has tasks. */
  private async showTasks(hasSpans: boolean): Promise<void> {
    const { state } = this;
    const events = state.trace?.events ?? 0;
    if (isSaved || events > (hasSpans ? MOST_EVENTS_WITH_SPANS : MOST_EVENTS)) return void (this.slowest.hidden = true);
    const answer = await this.latestTasks.get<Tasks>("tasks", { ...rangeParameters(state), limit: MOST_TASKS });
    const tasks = answer.tasks.filter((task) => task.length !== null).sort((a, b) => b.length! - a.length!);
    this.slowest.hidden = !tasks.length;
    const shown = tasks.slice(0, MOST_LONGEST);
    const rows = shown.map((task) => [leadingCell(task.name || task.id, () => this.actions.openTask(task), "Show this task"), duration(task.length!), count(task.operations)]);
    const part = answer.tasks.length < answer.total ? ` (first ${count(answer.tasks.length)} of ${plural(answer.total, "task")})` : answer.complete ? "" : " (of the events that were read)";
    const keys = shown.map((task) => [task.name || task.id, task.length!, task.operations]);
    this.slowest.replaceChildren(sortedTable(`Slowest tasks${part}`, ["Task", "Length", "Operations"], rows, keys, 1, FIRST_ROWS, tasks.length));
  }

  /** Name with a link to its events. */
  private name(text: string): HTMLElement | string {
    return isSaved ? text : leadingCell(text, () => this.actions.find(text), "Search for this name");
  }

  /** Thread waits, if the trace has thread states. */
  private async waits(): Promise<Waits> {
    const { state } = this;
    if (isSaved || !state.tracks.some((track) => track.kind === "states")) return { waits: [] };
    const { begin, end } = state.askedRange;
    const asked = state.withoutOffsets({ begin, end });
    const { waits } = await this.latestWaits.get<Waits>("waits", { begin: state.timeText(asked.begin), end: state.timeText(asked.end) });
    const isWithin = (wait: Waits["waits"][number]) => {
      const offset = state.offsetOf(wait.states);
      return state.relative(wait.end) + offset >= begin && state.relative(wait.begin) + offset <= end;
    };
    return { waits: waits.filter(isWithin) };
  }

  private show(stats: Stats, longest: LongestSpans, waits: Waits): void {
    this.command.set(stats.command);
    this.status.textContent = `${rangeText(this.state)} · ${plural(stats.events, "event")}${partly(stats.complete)}`;
    if (!stats.events) return this.body.replaceChildren(note("No events in this range. Zoom out, or clear the filter."));
    const rows = stats.classes.slice(0, MOST_ROWS);
    const classes = sortedTable(
      "Events",
      ["Name", "Count", "Per second"],
      rows.map((row) => [this.name(row.name), count(row.count), row.perSecond === null ? "–" : shortCount(row.perSecond)]),
      rows.map((row) => [row.name, row.count, row.perSecond ?? 0]),
      1,
      FIRST_ROWS,
      stats.classes.length,
    );
    const parts: (HTMLElement | null)[] = [this.programs(), this.slowest, longest.spans.length ? this.longest(longest) : null];
    if (waits.waits.length) parts.push(this.longestWaits(waits));
    parts.push(stats.spans.length ? this.spans(stats.spans) : null);
    if (stats.histogram) parts.push(histogram(stats.histogram));
    parts.push(classes);
    if (stats.gaps.length) parts.push(this.gaps(stats.gaps));
    this.body.replaceChildren(el("div", { class: "columns" }, ...parts));
  }

  /** Programs by processor time in the whole trace. A row opens the track. */
  private programs(): HTMLElement | null {
    const { state } = this;
    const { running } = new TrackTree(state.tracks);
    const isProgram = (kind: string, parent: number | null) => kind === "process" || (kind === "thread" && state.trackOf(parent)?.kind !== "process");
    const programs = state.tracks.filter((track) => running.get(track.id) && isProgram(track.kind, track.parent));
    if (!programs.length) return null;
    const all = state.tracks.filter((track) => track.runsThreads).length * (state.bounds.end - state.bounds.begin);
    const timeOf = (id: number) => running.get(id) ?? 0;
    programs.sort((a, b) => timeOf(b.id) - timeOf(a.id));
    const shown = programs.slice(0, MOST_ROWS);
    const rows = shown.map((track) => {
      const show = leadingCell(nameOf(track), () => this.actions.openTrack(track.id), "Show this track");
      return [show, duration(timeOf(track.id), 3), percent(timeOf(track.id) / Math.max(all, 1))];
    });
    return sortedTable("Processor time (whole trace)", ["Program", "Ran", "Share"], rows, shown.map((track) => [track.name, timeOf(track.id), timeOf(track.id)]), 1, FIRST_ROWS, programs.length);
  }

  /** Longest thread waits, with the cause of each wakeup. */
  private longestWaits({ waits }: Waits): HTMLElement {
    const shown = waits.slice(0, MOST_LONGEST);
    const rows = shown.map((wait) => {
      const [begin, end] = [this.state.relative(wait.begin), this.state.relative(wait.end)];
      const show = leadingCell(timeOfDay(this.state.shownTime(wait.begin, wait.states), this.state.calendar), () => this.actions.openState(wait.states, begin, end, wait.waitsIn ?? "wait"), "Show this wait");
      return [wait.waitsIn ?? "–", wait.name ?? "", wakerText(wait.endedBy), show, duration(end - begin)];
    });
    const keys = shown.map((wait) => [wait.waitsIn ?? "", wait.name ?? "", wakerText(wait.endedBy), this.state.shownTime(wait.begin, wait.states), this.state.relative(wait.end) - this.state.relative(wait.begin)]);
    return sortedTable("Longest waits", ["Waits in", "Thread", "Ended by", "Begin", "Length"], rows, keys, 3, FIRST_ROWS);
  }

  private spans(spans: SpanStats[]): HTMLElement {
    const shown = spans.slice(0, MOST_ROWS);
    const numbers = (row: SpanStats) => [row.total, row.self ?? row.total, row.total / Math.max(row.count, 1), row.minimum, row.median, row.p90, row.p99, row.maximum];
    return sortedTable(
      "Latencies",
      ["Span", "Count", "Total", "Self", "Mean", "Min", "Median", "90 %", "99 %", "Max"],
      shown.map((row) => [this.name(row.name), count(row.count), ...numbers(row).map((ns) => duration(ns, 3))]),
      shown.map((row) => [row.name, row.count, ...numbers(row)]),
      1,
      FIRST_ROWS,
      spans.length,
    );
  }

  private longest({ spans }: LongestSpans): HTMLElement {
    const rows = spans.slice(0, MOST_LONGEST).map((span) => {
      const { state } = this;
      const begin = state.relative(span.begin) + state.offsetOf(span.track) - state.answeredOffset(span.track);
      const show = leadingCell(timeOfDay(BigInt(span.begin), this.state.calendar), () => this.actions.openSpan({ ...span, begin }), "Show this span");
      const more = span.count > 1 ? ` (of ${count(span.count)})` : "";
      return [span.name + more, this.state.trackOf(span.track)?.name ?? "", show, duration(span.length)];
    });
    const keys = spans.slice(0, MOST_LONGEST).map((span) => [span.name, this.state.trackOf(span.track)?.name ?? "", BigInt(span.begin), span.length]);
    return sortedTable("Longest spans", ["Name", "Track", "Begin", "Length"], rows, keys, 2, FIRST_ROWS);
  }

  private gaps(gaps: Stats["gaps"]): HTMLElement {
    const rows = gaps.slice(0, 50).map((gap) => {
      const begin = this.state.relative(gap.begin);
      const show = leadingCell(timeOfDay(BigInt(gap.begin), this.state.calendar), () => this.actions.zoomTo(begin, begin + gap.length), "Show this gap");
      return [show, duration(gap.length)];
    });
    const keys = gaps.slice(0, 50).map((gap) => [BigInt(gap.begin), gap.length]);
    return sortedTable("Largest gaps", ["After", "Length"], rows, keys, 1, FIRST_ROWS);
  }
}

function percent(part: number): string {
  return part > 0 && part < 0.0005 ? "< 0.1 %" : `${(100 * part).toFixed(1)} %`;
}

/** Histogram of all span lengths. */
function histogram({ bounds, counts }: NonNullable<Stats["histogram"]>): HTMLElement {
  const most = Math.max(1, ...counts);
  const step = WIDTH / Math.max(counts.length, 1);
  const top = 6;
  const bottom = HEIGHT - 20;
  const bars = counts.map((number, i) => {
    const height = number ? Math.max(1, ((bottom - top) * number) / most) : 0;
    const title = svg("title", {}, `${duration(bounds[i] ?? 0)} to ${duration(bounds[i + 1] ?? Infinity)}: ${count(number)}`);
    return svg("rect", { x: i * step + 0.5, y: bottom - height, width: Math.max(step - 1, 1), height }, title);
  });
  const every = Math.max(1, Math.ceil(counts.length / 6));
  const texts = bounds.flatMap((bound, i) =>
    i % every || i * step > WIDTH - 40 ? [] : [svg("text", { x: i * step, y: HEIGHT - 5 }, duration(bound, 2))],
  );
  const label = `Histogram of the lengths of all spans: ${plural(counts.reduce((a, b) => a + b, 0), "span")}`;
  const picture = svg(
    "svg",
    { class: "histogram", role: "img", "aria-label": label, width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
    ...bars,
    svg("line", { x1: 0, x2: WIDTH, y1: bottom, y2: bottom }),
    ...texts,
  );
  return el("div", {}, el("h2", { class: "small" }, "Lengths of all spans"), picture);
}
