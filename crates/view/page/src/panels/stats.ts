// Statistics of the range: counts, latencies, gaps.

import { isAborted, Latest, type LongestSpans, type SpanStats, type Stats } from "../api";
import { CommandLine } from "../commands";
import { button, el, svg } from "../dom";
import type { State, Topic } from "../state";
import { count, duration, shortCount, timeOfDay } from "../time";
import { errorNote, note, partly, plural, rangeParameters, rangeText, table, type Panel, type PanelActions } from "./panel";

const MOST_ROWS = 200;
const MOST_LONGEST = 50;
const WIDTH = 460;
const HEIGHT = 170;

export class StatsPanel implements Panel {
  readonly title = "Statistics";
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "offsets", "trace"];
  private readonly status = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Statistics" });
  private readonly latest = new Latest();
  private readonly latestSpans = new Latest();

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
  ) {
    const bar = el("div", { class: "bar" }, this.status, el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.body);
  }

  async update(): Promise<void> {
    this.status.textContent = rangeText(this.state);
    if (this.state.isEmpty) return this.body.replaceChildren(note("No events yet."));
    try {
      const [stats, longest] = await Promise.all([
        this.latest.get<Stats>("stats", rangeParameters(this.state)),
        this.latestSpans.get<LongestSpans>("longest", rangeParameters(this.state)),
      ]);
      this.show(stats, longest);
    } catch (error) {
      if (isAborted(error)) return;
      this.command.set("");
      this.body.replaceChildren(errorNote(error));
    }
  }

  private show(stats: Stats, longest: LongestSpans): void {
    this.command.set(stats.command);
    this.status.textContent = `${rangeText(this.state)} · ${plural(stats.events, "event")}${partly(stats.complete)}`;
    if (!stats.events) return this.body.replaceChildren(note("No events in this range. Zoom out, or clear the filter."));
    const classes = table(
      "Events",
      ["Name", "Count", "Per second"],
      stats.classes.slice(0, MOST_ROWS).map((row) => [row.name, count(row.count), row.perSecond === null ? "–" : shortCount(row.perSecond)]),
    );
    const parts: (HTMLElement | null)[] = [classes, stats.spans.length ? this.spans(stats.spans) : null];
    if (stats.histogram) parts.push(histogram(stats.histogram, stats.spans));
    if (longest.spans.length) parts.push(this.longest(longest));
    if (stats.gaps.length) parts.push(this.gaps(stats.gaps));
    this.body.replaceChildren(el("div", { class: "columns" }, ...parts));
  }

  private spans(spans: SpanStats[]): HTMLElement {
    return table(
      "Latencies",
      ["Span", "Count", "Total", "Least", "Median", "90 %", "99 %", "Most"],
      spans.slice(0, MOST_ROWS).map((row) => [
        row.name,
        count(row.count),
        ...[row.total, row.minimum, row.median, row.p90, row.p99, row.maximum].map((ns) => duration(ns, 3)),
      ]),
    );
  }

  private longest({ spans }: LongestSpans): HTMLElement {
    const rows = spans.slice(0, MOST_LONGEST).map((span) => {
      const { state } = this;
      const begin = state.relative(span.begin) + state.offsetOf(span.track) - state.answeredOffset(span.track);
      const show = button(timeOfDay(BigInt(span.begin), this.state.calendar), () => this.actions.zoomTo(begin, begin + span.length), {
        title: "Show this span",
      });
      const more = span.count > 1 ? ` (of ${count(span.count)})` : "";
      return [span.name + more, this.state.trackOf(span.track)?.name ?? "", show, duration(span.length)];
    });
    return table("Longest spans", ["Name", "Track", "Begin", "Length"], rows, 2);
  }

  private gaps(gaps: Stats["gaps"]): HTMLElement {
    const rows = gaps.slice(0, 50).map((gap) => {
      const begin = this.state.relative(gap.begin);
      const show = button(timeOfDay(BigInt(gap.begin), this.state.calendar), () => this.actions.zoomTo(begin, begin + gap.length), {
        title: "Show this gap",
      });
      return [show, duration(gap.length)];
    });
    return table("Largest gaps", ["After", "Length"], rows);
  }
}

/** Histogram of latencies, with the quantiles of the same span. */
function histogram(data: NonNullable<Stats["histogram"]>, spans: SpanStats[]): HTMLElement {
  const { bounds, counts } = data;
  const most = Math.max(1, ...counts);
  const step = WIDTH / Math.max(counts.length, 1);
  const top = 26;
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
  const own = spans.find((span) => span.name === data.name);
  const marks = own ? quantiles(own, bounds, step, bottom) : [];
  const label = `Histogram of the latency of ${data.name}: ${plural(counts.reduce((a, b) => a + b, 0), "span")}`;
  const picture = svg(
    "svg",
    { class: "histogram", role: "img", "aria-label": label, width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
    ...bars,
    svg("line", { x1: 0, x2: WIDTH, y1: bottom, y2: bottom }),
    ...texts,
    ...marks,
  );
  return el("div", {}, el("h2", { class: "small" }, "Latency of ", el("bdi", {}, data.name)), picture);
}

function quantiles(span: SpanStats, bounds: number[], step: number, bottom: number): SVGElement[] {
  let free = -Infinity;
  let level = 0;
  return ([["50 %", span.median], ["90 %", span.p90], ["99 %", span.p99]] as const).flatMap(([name, value]) => {
    const i = bounds.findLastIndex((bound) => bound <= value);
    if (i < 0) return [];
    const [low, high] = [bounds[i]!, bounds[i + 1] ?? bounds[i]! * 2];
    const x = Math.min((i + (high > low ? (value - low) / (high - low) : 0)) * step, WIDTH - 2);
    // Names of quantiles that are near each other are one below the other.
    level = x < free ? level + 1 : 0;
    free = x + 36;
    const isRight = x > WIDTH - 40;
    const text = { class: "quantile-text", x: isRight ? x - 3 : x + 3, y: 10 + level * 12, "text-anchor": isRight ? "end" : "start" };
    return [svg("line", { class: "quantile", x1: x, x2: x, y1: 2, y2: bottom }), svg("text", text, name)];
  });
}
