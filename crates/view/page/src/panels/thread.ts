// The state of a thread: what it did, what it waited for, who woke it up, and the critical path over wake-ups.

import { get, Latest, messageOf, type ThreadAnswer, type ThreadState, type Waker, type WakeupPath } from "../api";
import { button, el, type Child } from "../dom";
import type { Selection, State } from "../state";
import { count, duration, fullTime, timeOfDay } from "../time";
import { nameOf } from "../tracks";
import { factList, note, sortedTable, type PanelActions } from "./panel";

/** Text for what ended a wait. */
export function wakerText(waker: Waker | undefined): string {
  if (!waker) return "–";
  if (waker.interrupt !== undefined) return waker.interrupt ? `interrupt: ${waker.interrupt}` : "interrupt";
  return waker.name ?? `thread ${waker.thread}`;
}

/** What a thread did in a state. */
function stateText(state: ThreadState): string {
  const isWait = state.state === "sleeping" || state.state === "waiting";
  if (state.state === "runnable") return "waited for a processor";
  return isWait && state.waitsIn ? `${state.state} in ${state.waitsIn}` : state.state;
}

export class ThreadView {
  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
    private readonly setCommand: (command: string) => void,
  ) {}

  /** Asks for the thread of a selected item; `null` if nothing is known of it. */
  async load(selection: Selection, latest: Latest): Promise<{ title: string; element: HTMLElement } | null> {
    const { track, from, threadName } = selection;
    const answer = await latest.get<ThreadAnswer | null>("thread", { track: this.trackOf(selection), name: threadName, time: this.state.timeText(from) });
    const first = answer?.states[0];
    if (!answer || !first) return null;
    const before = answer.states.slice(1);
    const facts: [string, Child][] = [
      ["Thread", answer.track === undefined ? (answer.name ?? "") : this.trackLink(answer.track, answer.name)],
      ["State", stateText(first)],
      ["Begin", fullTime(BigInt(first.begin), this.state.calendar)],
      ["Length", duration(this.length(first))],
      ["Ended by", first.endedBy ? this.waker(first) : null],
      ["Priority", answer.priority === undefined ? null : String(answer.priority)],
      ["Processor", this.processor(track)],
      ["Event", answer.event ? button("Event of the scheduler", () => this.actions.openEvent(answer.event!)) : null],
    ];
    const list = before.map((state) => el("li", {}, this.stateLink(state, answer), state.endedBy ? el("span", {}, ", ended by ", this.waker(state)) : null));
    const parts = [el("div", {}, factList(facts)), el("div", {}, el("h3", {}, "Before"), list.length ? el("ol", { class: "links" }, ...list) : note("Nothing is known."))];
    const path = el("div", {}, button("Critical path", () => void this.showPath(path, answer, first), { title: "What the thread waited for in its last wait, and what really ran" }));
    return { title: answer.name ?? selection.name, element: el("div", {}, el("div", { class: "columns" }, ...parts), path) };
  }

  /** Track that a request names: threads of a closed process are on those of its threads. */
  private trackOf({ track, name }: Selection): number {
    if (this.state.trackOf(track)?.kind !== "runs") return track;
    const process = this.state.trackOf(track)!.parent;
    return this.state.tracks.find((other) => other.kind === "thread" && other.parent === process && other.name === name)?.id ?? track;
  }

  /** Name of the processor that a track is about. */
  private processor(track: number): string {
    const known = this.state.trackOf(track);
    return known?.runsThreads ? nameOf(known) : "";
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
      title: timeOfDay(BigInt(state.begin), this.state.calendar),
    });
  }

  /** What ended a wait, which leads to what it did then. */
  private waker(state: ThreadState): HTMLElement {
    const { endedBy } = state;
    const text = wakerText(endedBy);
    if (endedBy?.track === undefined) return el("bdi", {}, text);
    const states = this.state.tracks.find((track) => track.kind === "states" && track.parent === endedBy.track);
    if (!states) return this.trackLink(endedBy.track, text);
    const time = this.state.relative(state.end);
    return button(text, () => this.actions.openState(states.id, time - 1, time, "running"), { title: "Show what it did then" });
  }

  private async showPath(place: HTMLElement, answer: ThreadAnswer, first: ThreadState): Promise<void> {
    const last = [first, ...answer.states].find((state) => state.state === "sleeping" || state.state === "waiting") ?? first;
    const parameters = { track: answer.track, begin: last.begin, end: last.begin === first.begin ? last.end : first.end };
    place.replaceChildren(note("Reading the trace …"));
    try {
      const path = await get<WakeupPath | null>("path", parameters);
      if (!path?.steps.length) return place.replaceChildren(note("Nothing is known."));
      this.setCommand(path.command);
      place.replaceChildren(this.pathTable(path));
    } catch (error) {
      place.replaceChildren(note(messageOf(error), true));
    }
  }

  private pathTable({ steps, total, complete }: WakeupPath): HTMLElement {
    const time = (text: string) => this.state.relative(text);
    const rows = steps.map((step) => {
      const states = this.state.tracks.find((track) => track.kind === "states" && track.parent === step.track);
      const text = timeOfDay(BigInt(step.begin), this.state.calendar);
      const show = states ? button(text, () => this.actions.openState(states.id, time(step.begin), time(step.end), step.state)) : text;
      return [show, step.name ?? `thread ${step.thread}`, stateText(step), wakerText(step.endedBy), duration(time(step.end) - time(step.begin))];
    });
    const keys = steps.map((step) => [BigInt(step.begin), step.name ?? "", stateText(step), wakerText(step.endedBy), time(step.end) - time(step.begin)]);
    const more = total > steps.length ? `, the first ${count(steps.length)}` : "";
    return sortedTable(`Critical path: ${count(total)} steps${more}${complete ? "" : ", not complete"}`, ["Begin", "Thread", "State", "Ended by", "Length"], rows, keys, 4);
  }
}
