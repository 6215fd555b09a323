// Details of the selected event or item.

import { isAborted, Latest, type EventDetails, type Link, type StackFrame } from "../api";
import { CommandLine } from "../commands";
import { button, el, type Child } from "../dom";
import type { State, Topic } from "../state";
import { count, difference, duration, fullTime } from "../time";
import { KINDS } from "../tracks";
import { errorNote, factList, note, type Panel, type PanelActions } from "./panel";
import { PathView, ThreadView } from "./thread";

/** Maximum number of array elements or object members to show. */
const MOST_MEMBERS = 500;
const MOST_DEPTH = 24;

export class DetailsPanel implements Panel {
  readonly title = "Details";
  readonly element = el("div");
  readonly topics: Topic[] = ["selection", "offsets"];
  private readonly body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Details of the selected event" });
  private readonly command = new CommandLine();
  private readonly latest = new Latest();
  private readonly heading = el("h2");
  private readonly path: PathView;

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
  ) {
    this.path = new PathView(state, actions, (command) => this.command.set(command));
    const bar = el("div", { class: "bar" }, this.heading, el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.body);
  }

  async update(): Promise<void> {
    const { selection } = this.state;
    this.heading.replaceChildren(selection ? el("bdi", {}, selection.name || "(no name)") : "Nothing selected");
    this.latest.abort();
    if (!selection) {
      this.command.set("");
      this.body.replaceChildren(note("Click a span or an instant in the timeline, or press arrow right in a track, to see its fields."));
      return;
    }
    if (selection.threadName !== undefined) return this.showThread();
    if (!selection.id) return this.showItem();
    try {
      const details = await this.latest.get<EventDetails>("event", { id: selection.id, offsets: this.state.offsetsText });
      this.show(details);
    } catch (error) {
      if (isAborted(error)) return;
      this.command.set("");
      this.body.replaceChildren(errorNote(error));
    }
  }

  /** A thread on a processor, or its state. */
  private async showThread(): Promise<void> {
    const selection = this.state.selection!;
    this.command.set("");
    try {
      const view = new ThreadView(this.state, this.actions, this.path);
      const found = selection.count === 1 ? await view.load(selection, this.latest) : null;
      if (!found) return this.showItem();
      this.heading.replaceChildren(el("bdi", {}, found.title));
      this.body.replaceChildren(found.element, this.path.element);
    } catch (error) {
      if (!isAborted(error)) this.body.replaceChildren(errorNote(error));
    }
  }

  /** An item without an event, which summarizes many. */
  private showItem(): void {
    const selection = this.state.selection!;
    const offset = this.state.offsetOf(selection.track);
    this.command.set("");
    const facts: [string, Child][] = [
      ["Items", count(selection.count)],
      ["Begin", this.time(selection.from + offset)],
      ["Length", selection.hasNoEnd ? "no end" : duration(selection.to - selection.from)],
      ["Track", this.trackText(selection.track)],
    ];
    const zoom = button("Zoom in", () => {
      const { begin, end } = this.state.rangeOf(selection);
      this.actions.zoomTo(begin, end);
    });
    const text = selection.count > 1 ? "Too many items for this zoom to tell apart. Zoom in to select one of them." : "";
    this.body.replaceChildren(factList(facts), el("p", { class: "muted" }, text), zoom);
  }

  private show(details: EventDetails): void {
    const { state } = this;
    const { spans, position } = details;
    const length = spans?.length == null ? null : Number(spans.length);
    const ran = spans?.ran === undefined ? null : Number(spans.ran);
    // Name shown in the timeline.
    const name = details.label || (spans && state.selection?.name) || details.name;
    this.heading.replaceChildren(el("bdi", {}, name));
    this.command.set(details.command);
    const facts: [string, Child][] = [
      ["Event", name === details.name ? null : details.name],
      ["Time", fullTime(BigInt(details.time), state.calendar)],
      ["Since begin", duration(state.relative(details.time) - state.bounds.begin, 9)],
      ["Length", length === null ? null : duration(length)],
      ["Ran", ran !== null && length ? `${duration(ran)}, ${((100 * ran) / length).toFixed(1)} % of its length` : null],
      ["Track", details.track === null ? null : this.trackText(details.track)],
      ["Data stream", details.stream],
      ["Format", details.format],
      ["Position", position ? `${position.file}: byte ${position.offset}${position.bit ? `, bit ${position.bit}` : ""}` : null],
      ["Begin of span", spans?.begin && spans.begin !== details.id ? this.link({ id: spans.begin, kind: "begin" }) : null],
      ["End of span", spans?.end && spans.end !== details.id ? this.link({ id: spans.end, kind: "end" }) : null],
    ];
    const causes = this.links("Causes", details.causes, details.time);
    const effects = this.links("Effects", details.effects, details.time);
    const left = el("div", {}, factList(facts), this.pathButton({ ...details, name }), causes, effects);
    // The payload comes first, then time and place, then the context.
    const [own, around] = divided(details.line);
    const tree = (title: string, value: unknown) => el("div", {}, el("h3", {}, title), el("ul", { class: "tree mono" }, ...members(value, 0)));
    const fields = own === undefined ? null : tree("Fields", own);
    const rest = own === undefined ? tree("Fields", around) : tree("Header and contexts", around);
    const stacks = stacksOf(details.line).map(([name, frames]) => el("div", {}, el("h3", {}, `Call stack${name === "stack" ? "" : ` ${name}`}`), el("ol", { class: "stack mono" }, ...frames)));
    const line = el("div", {}, el("h3", {}, "Line"), el("pre", {}, el("bdi", {}, details.text)));
    line.querySelector("pre")!.style.whiteSpace = "pre-wrap";
    this.body.replaceChildren(el("div", { class: "columns" }, fields, left, ...stacks, rest), line, this.path.element);
    this.body.scrollTop = 0;
  }

  /** Button for the critical path of a span, if the states of its thread are known. */
  private pathButton({ spans, track, id, time, label }: EventDetails): HTMLElement | null {
    const length = spans?.length;
    if (!length || !this.state.statesOf(track ?? undefined)) return null;
    // The path request does not include clock offsets.
    const offset = BigInt(Math.round(this.state.answeredOffset(track ?? -1)));
    const begin = BigInt(time) - offset - (spans.begin && spans.begin !== id ? BigInt(length) : 0n);
    const range = (): [string, string] => [begin.toString(), (begin + BigInt(length)).toString()];
    return this.path.button("Critical path", track ?? undefined, label, range, "What the thread waited for in this span, and what really ran");
  }

  private links(name: string, links: Link[], time: string): HTMLElement | null {
    if (!links.length) return null;
    const items = links.slice(0, 100).map((link) => el("li", {}, this.link(link, time)));
    const more = links.length > 100 ? el("p", { class: "muted" }, `${links.length - 100} more`) : null;
    return el("div", {}, el("h3", {}, name), el("ul", { class: "links" }, ...items), more);
  }

  /** Button that opens an event, with the time difference from another event. */
  private link(link: Link, from?: string): HTMLElement {
    const time = link.time ? `, ${fullTime(BigInt(link.time), this.state.calendar)}` : "";
    const name = link.name ? `${link.kind}: ${link.name}` : link.kind;
    const away = link.time && from !== undefined ? `, ${difference(Number(BigInt(link.time) - BigInt(from)))}` : "";
    return button(name + away, () => this.actions.openEvent(link.id), { title: `Event ${link.id}${time}` });
  }

  private time(relative: number): string {
    return fullTime(this.state.absolute(relative), this.state.calendar);
  }

  private trackText(id: number): HTMLElement {
    const names: string[] = [];
    let track = this.state.trackOf(id);
    for (let depth = 0; track && depth < 32; depth++) {
      names.unshift(track.name);
      track = this.state.trackOf(track.parent);
    }
    const kind = this.state.trackOf(id)?.kind;
    return el("span", {}, ...names.flatMap((name, i) => [i ? " › " : null, el("bdi", {}, name)]), kind ? ` (${KINDS[kind] ?? kind})` : "");
  }
}

/** Call stack frames of an event by stack name, the innermost first. */
function stacksOf(line: unknown): [string, HTMLElement[]][] {
  const { stacks } = (line ?? {}) as { stacks?: Record<string, StackFrame[]> };
  return Object.entries(stacks ?? {}).map(([name, frames]) => {
    const items = frames.slice(0, MOST_MEMBERS).map((frame) => el("li", {}, el("bdi", {}, frameText(frame))));
    return [name, items];
  });
}

function frameText({ module, symbol, offset, address }: StackFrame): string {
  const hex = (value: number | bigint) => `0x${value.toString(16)}`;
  const place = symbol !== undefined ? `${symbol}${offset ? `+${hex(offset)}` : ""}` : address !== undefined ? hex(address) : "?";
  return module === undefined ? place : `${module}!${place}`;
}

/** Payload of an event, if it has one, and its other members. */
function divided(line: unknown): [unknown, unknown] {
  if (line === null || typeof line !== "object") return [undefined, line];
  // Stacks are shown separately.
  const { stacks: _, ...all } = line as Record<string, unknown>;
  if (!("payload" in all)) return [undefined, all];
  const { payload, ...rest } = all;
  return [payload, rest];
}

/** Members of a value as list items. Structures can be collapsed. */
function members(value: unknown, depth: number): HTMLElement[] {
  if (value === null || typeof value !== "object" || depth > MOST_DEPTH) return [member(null, value, depth)];
  const entries = Object.entries(value);
  const shown = entries.slice(0, MOST_MEMBERS).map(([key, inner]) => member(key, inner, depth));
  if (entries.length > shown.length) shown.push(el("li", { class: "muted" }, `${count(entries.length - shown.length)} more`));
  return shown;
}

function member(key: string | null, value: unknown, depth: number): HTMLElement {
  const name = key === null ? null : el("bdi", { class: "key" }, key);
  if (value !== null && typeof value === "object" && depth <= MOST_DEPTH) {
    const size = Object.keys(value).length;
    const kind = Array.isArray(value) ? `array of ${size}` : `structure of ${size}`;
    const summary = el("summary", {}, name, el("span", { class: "type" }, kind));
    return el("li", {}, el("details", { open: depth < 3 }, summary, el("ul", {}, ...members(value, depth + 1))));
  }
  const text = typeof value === "string" ? JSON.stringify(value) : depth > MOST_DEPTH ? "…" : String(value);
  return el("li", {}, name, name ? ": " : null, el("bdi", {}, text), el("span", { class: "type" }, typeOf(value)));
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "bigint") return "integer";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "real";
  return typeof value;
}
