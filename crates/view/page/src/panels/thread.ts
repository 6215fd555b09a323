// Thread state: activity, cause of a wait, waker, and the critical path over wakeups.

import { isAborted, Latest, messageOf, type ThreadAnswer, type ThreadState, type Track, type Waker, type WakeupPath } from "../api";
import { button, el, type Child } from "../dom";
import { pathOf, rangeOfStep, stateText, type PathStep, type ThreadPath } from "../path";
import { withoutNumber, type Selection, type State } from "../state";
import { count, duration, fullTime, timeOfDay } from "../time";
import { nameOf } from "../tracks";
import { factList, leadingCell, note, plural, sortedTable, type PanelActions } from "./panel";

/** Maximum number of rows for the sums of a path, and for its steps. */
const MOST_SUMS = 50;
const MOST_ROWS = 2000;

/** Text for the cause of a wakeup. */
export function wakerText(waker: Waker | undefined): string {
  if (!waker) return "–";
  if (waker.interrupt !== undefined) return waker.interrupt ? `interrupt: ${waker.interrupt}` : "interrupt";
  return waker.name ?? `thread ${waker.thread}`;
}

export class ThreadView {
  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
    private readonly path: PathView,
  ) {}

  /** Requests the thread of a selected item; `null` if the thread is unknown. */
  async load(selection: Selection, latest: Latest): Promise<{ title: string; element: HTMLElement } | null> {
    const { track, from, threadName } = selection;
    const answer = await latest.get<ThreadAnswer | null>("thread", { track: this.trackOf(selection), name: threadName, time: this.state.timeText(from) });
    const first = answer?.states[0];
    if (!answer || !first) return null;
    const before = answer.states.slice(1);
    // On processor tracks, a thread has its name of that time. Elsewhere it has its latest name, like its track.
    const ran = this.isRan(selection) && selection.name ? selection.name : answer.name;
    const facts: [string, Child][] = [
      ["Thread", answer.track === undefined ? (ran ?? "") : this.trackLink(answer.track, ran)],
      ["Last name", answer.name === ran ? null : answer.name],
      ["State", stateText(first)],
      ["Begin", fullTime(this.state.shownTime(first.begin, track), this.state.calendar)],
      ["Length", duration(this.length(first))],
      ["Ended by", first.endedBy ? this.waker(first) : null],
      ["Priority", answer.priority === undefined ? null : String(answer.priority)],
      ["Processor", this.processor(track, ran ?? "", answer, first)],
      ["Event", answer.event ? button("Scheduler event", () => this.actions.openEvent(answer.event!)) : null],
    ];
    const list = before.map((state) => el("li", {}, this.stateLink(state, answer), state.endedBy ? el("span", {}, ", ended by ", this.waker(state)) : null));
    const parts: HTMLElement[] = [el("div", {}, factList(facts)), el("div", {}, el("h3", {}, "Before"), list.length ? el("ol", { class: "links" }, ...list) : note("Nothing is known."))];
    if (answer.woke?.length) parts.push(this.woken(answer.woke));
    const last = [first, ...answer.states].find((state) => state.state === "sleeping" || state.state === "waiting") ?? first;
    const { path } = this;
    const paths = el("p", {}, path.button("Critical path", answer.track, ran, () => [last.begin, last.begin === first.begin ? last.end : first.end], "What the thread waited for in its last wait, and what really ran"), " ",
      path.button("Critical path of the range", answer.track, ran, () => this.range(answer.track), "What the thread waited for in the visible or marked range, and what really ran"));
    return { title: ran ?? selection.name, element: el("div", {}, el("div", { class: "columns" }, ...parts), paths) };
  }

  /** True for a thread on a processor, or in a closed process. */
  private isRan({ track }: Selection): boolean {
    const known = this.state.trackOf(track);
    return !!known && (known.kind === "runs" || !!known.runsThreads);
  }

  /** Visible or marked range without the clock offset of a track, because the path request does not include offsets. */
  private range(track: number | undefined): [string, string] {
    const { begin, end } = this.state.askedRange;
    const offset = this.state.offsetOf(track ?? -1);
    return [this.state.timeText(begin - offset), this.state.timeText(end - offset)];
  }

  /** Threads that the thread woke up meanwhile, with links to their states. */
  private woken(woke: NonNullable<ThreadAnswer["woke"]>): HTMLElement {
    const items = woke.map(({ name, states, time }) => {
      const begin = this.state.relative(time);
      return el("li", {}, button(name ?? "thread", () => this.actions.openState(states, begin, begin + 1, "runnable"), { title: timeOfDay(this.state.shownTime(time, states), this.state.calendar) }));
    });
    return el("div", {}, el("h3", {}, "Woke up"), el("ul", { class: "links" }, ...items));
  }

  /** Track for a request. Threads of a collapsed process are on their own tracks. */
  private trackOf({ track, name }: Selection): number {
    if (this.state.trackOf(track)?.kind !== "runs") return track;
    const process = this.state.trackOf(track)!.parent;
    const { tracks } = this.state;
    // Only processor tracks know threads by their names of that time.
    const isProcessor = ({ id, runsThreads }: Track) => runsThreads && this.state.rootOfTrack(id) === this.state.rootOfTrack(track);
    return (tracks.find((other) => other.kind === "thread" && other.parent === process && other.name === name) ?? tracks.find(isProcessor))?.id ?? track;
  }

  /** Processor of a track, or the processor that ran the thread, with a link. */
  private processor(track: number, name: string, answer: ThreadAnswer, first: ThreadState): Child {
    const known = this.state.trackOf(track);
    if (known?.runsThreads) return nameOf(known);
    const ran = this.state.trackOf(answer.processor ?? null);
    if (!ran) return null;
    const [begin, end] = [this.state.relative(first.begin), this.state.relative(first.end)];
    return button(nameOf(ran), () => this.actions.openState(ran.id, begin, end, name), { title: "Show it on the processor" });
  }

  private length(state: ThreadState): number {
    return this.state.relative(state.end) - this.state.relative(state.begin);
  }

  private trackLink(track: number, name: string | undefined): HTMLElement {
    return button(name ?? "thread", () => this.actions.openTrack(track), { title: "Show this thread" });
  }

  private stateLink(state: ThreadState, answer: ThreadAnswer): HTMLElement {
    const text = `${stateText(state)} for ${duration(this.length(state))}`;
    const states = this.state.tracks.find((track) => track.kind === "states" && track.parent === answer.track);
    if (!states) return el("span", {}, text);
    return button(text, () => this.actions.openState(states.id, this.state.relative(state.begin), this.state.relative(state.end), state.state), {
      title: timeOfDay(this.state.shownTime(state.begin, states.id), this.state.calendar),
    });
  }

  /** Cause of a wakeup, with a link to its state. */
  private waker(state: ThreadState): HTMLElement {
    const { endedBy } = state;
    const text = wakerText(endedBy);
    if (endedBy?.track === undefined) return el("bdi", {}, text);
    const states = this.state.tracks.find((track) => track.kind === "states" && track.parent === endedBy.track);
    if (!states) return this.trackLink(endedBy.track, text);
    const time = this.state.relative(state.end);
    return button(text, () => this.actions.openState(states.id, time - 1, time, "running"), { title: "Show what it did then" });
  }
}

/** Critical path of a thread: a track above the others, and a table that stays while steps are selected. */
export class PathView {
  readonly element = el("div");
  private readonly latest = new Latest();
  private hasTable = false;

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
    private readonly setCommand: (command: string) => void,
  ) {
    // The table goes with the track.
    state.on(["layout"], () => {
      if (!this.hasTable || state.path) return;
      this.hasTable = false;
      this.element.replaceChildren();
    });
  }

  /** Button that requests the path of a thread in a time range, and shows it. */
  button(text: string, track: number | undefined, name: string | undefined, range: () => [string, string], title: string): HTMLElement {
    return button(text, () => void this.show(track, name ?? "thread", range()), { title });
  }

  private async show(track: number | undefined, name: string, [begin, end]: [string, string]): Promise<void> {
    this.state.setPath(null);
    this.element.replaceChildren(note("Reading the trace …"));
    try {
      const path = await this.latest.get<WakeupPath | null>("path", { track, begin, end });
      if (!path?.steps.length) return this.element.replaceChildren(note("Nothing is known."));
      // The panel may show something else by now.
      if (this.element.isConnected) this.setCommand(path.command);
      const found = pathOf(name, path, (text) => this.state.relative(text));
      this.state.setPath(found);
      this.actions.announce(`${found.name}: critical path of ${plural(path.total, "step")}`);
      this.element.replaceChildren(this.table(found, path));
      this.element.scrollIntoView({ block: "start" });
      this.hasTable = true;
    } catch (error) {
      if (!isAborted(error)) this.element.replaceChildren(note(messageOf(error), true));
    }
  }

  private table({ name, steps: found }: ThreadPath, { total, complete }: WakeupPath): HTMLElement {
    const lengths = found.map((step) => step.end - step.begin);
    // The track above shows all steps.
    const rows = found.slice(0, MOST_ROWS).map((step, i) => {
      const text = timeOfDay(this.state.absolute(rangeOfStep(this.state, step).begin), this.state.calendar);
      return [leadingCell(text, () => this.actions.openStep(step), "Show this step"), step.name, stateText(step), wakerText(step.endedBy), duration(lengths[i]!)];
    });
    const keys = found.slice(0, MOST_ROWS).map((step, i) => [BigInt(Math.round(step.begin)), step.name, stateText(step), wakerText(step.endedBy), lengths[i]!]);
    const more = total > rows.length ? `, the first ${count(rows.length)}` : "";
    const caption = `Critical path of ${name}: ${plural(total, "step")}${more}${complete ? "" : ", not complete"}`;
    return el("div", { class: "columns" }, this.sums(found, total), sortedTable(caption, ["Begin", "Thread", "State", "Ended by", "Length"], rows, keys, 4));
  }

  /** Time of the path by thread name and state. Threads of the same name are added, because each has only a small part. */
  private sums(steps: PathStep[], total: number): HTMLElement {
    const sums = new Map<string, { name: string; text: string; time: number; steps: number; threads: Set<string> }>();
    for (const step of steps) {
      const text = stateText(step);
      const key = `${withoutNumber(step.name)}\n${text}`;
      const sum = sums.get(key) ?? { name: step.name, text, time: 0, steps: 0, threads: new Set() };
      sum.time += step.end - step.begin;
      sum.steps += 1;
      sum.threads.add(`${step.track} ${step.thread}`);
      sums.set(key, sum);
    }
    const sorted = [...sums.values()].sort((a, b) => b.time - a.time).slice(0, MOST_SUMS);
    const all = Math.max(steps.reduce((sum, step) => sum + step.end - step.begin, 0), 1);
    const named = sorted.map(({ name, threads, ...sum }) => ({ ...sum, name: threads.size > 1 ? `${withoutNumber(name)} (${plural(threads.size, "thread")})` : name }));
    const rows = named.map(({ name, text, time, steps: number }) => [name, text, duration(time, 3), `${((100 * time) / all).toFixed(1)} %`, count(number)]);
    const part = total > steps.length ? ` (first ${count(steps.length)} steps)` : "";
    return sortedTable(`Where the time went${part}`, ["Thread", "State", "Time", "Share", "Steps"], rows, named.map(({ name, text, time, steps: number }) => [name, text, time, time, number]), 2);
  }
}
