// Tasks in the range, and a task graph with its critical path.

import { isAborted, Latest, messageOf, type Rows, type TaskEntry, type TaskGraph, type TaskNode, type Tasks } from "../api";
import { CommandLine } from "../commands";
import { button, el, type Child } from "../dom";
import { Grid } from "../grid";
import type { State, Topic } from "../state";
import { shownTask } from "../task_marks";
import { count, difference, duration, timeOfDay } from "../time";
import { errorNote, leadingCell, note, plural, rangeParameters, rangeText, sortedTable, type Panel, type PanelActions } from "./panel";

const MOST_NODES = 500;
const MOST_JOINED = 2000;

/** Height of a row, as in the style sheet. */
const ROW = 22;
/** Maximum number of edges. */
const MOST_EDGES = 2000;

export class TasksPanel implements Panel {
  readonly title = "Tasks";
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "offsets", "trace"];
  private readonly status = el("span", { class: "muted", role: "status" });
  /** Reports that an event was not found. */
  private readonly missing = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly back = button("All tasks", () => this.showList(), { hidden: true });
  private readonly body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Task" });
  private readonly grid: Grid<TaskEntry>;
  private readonly latest = new Latest();
  private readonly latestEvents = new Latest();
  private answer: Tasks | null = null;
  private shown: TaskEntry | null = null;

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
  ) {
    this.grid = new Grid<TaskEntry>(
      "Tasks",
      [
        { name: "Begin", width: "190px", cell: (task) => (task.begin === null ? "" : timeOfDay(BigInt(task.begin), state.calendar)), key: (task) => BigInt(task.begin ?? -1) },
        { name: "Task", width: "minmax(140px, 3fr)", cell: (task) => el("bdi", {}, task.name), key: (task) => task.name },
        { name: "Length", width: "120px", cell: (task) => (task.length === null ? "" : duration(task.length)), key: (task) => task.length ?? -1 },
        { name: "Operations", width: "110px", cell: (task) => count(task.operations), key: (task) => task.operations },
        { name: "Identifier", width: "minmax(120px, 2fr)", cell: (task) => el("bdi", { class: "mono" }, task.id), key: (task) => task.id },
      ],
      { open: (task) => void this.open(task), more: () => undefined },
    );
    const bar = el("div", { class: "bar" }, this.back, this.status, this.missing, el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.grid.element, this.body);
    this.body.hidden = true;
  }

  async update(): Promise<void> {
    if (this.shown) return;
    this.status.textContent = rangeText(this.state);
    if (this.state.isEmpty) return this.showNote(note(this.state.emptyText));
    try {
      this.answer = await this.latest.get<Tasks>("tasks", rangeParameters(this.state));
      this.showList();
    } catch (error) {
      if (isAborted(error)) return;
      this.command.set("");
      this.showNote(errorNote(error));
    }
  }

  private showList(): void {
    const { answer } = this;
    // A graph that is still awaited does not replace the list.
    this.latest.abort();
    this.shown = null;
    this.missing.textContent = "";
    this.back.hidden = true;
    if (!answer) return void this.update();
    this.command.set(answer.command);
    const listed = answer.tasks.length < answer.total ? `first ${count(answer.tasks.length)} of ${plural(answer.total, "task")}` : plural(answer.total, "task");
    this.status.textContent = `${rangeText(this.state)} · ${listed}${answer.complete ? "" : " (of the events that were read)"}`;
    if (!answer.tasks.length) return this.showNote(note("No tasks in this range: no event names the task or the operation that it belongs to."));
    this.grid.element.hidden = false;
    this.body.hidden = true;
    this.grid.setRows(answer.tasks, true);
  }

  private showNote(text: HTMLElement): void {
    this.grid.element.hidden = true;
    this.body.hidden = false;
    this.body.replaceChildren(text);
  }

  /** Shows the operations of a task. */
  async open(task: TaskEntry): Promise<void> {
    this.shown = task;
    this.missing.textContent = "";
    this.back.hidden = false;
    this.command.set(task.command);
    const length = task.length === null ? "" : `${duration(task.length)}, `;
    this.status.replaceChildren(el("bdi", {}, task.name), `: ${length}${plural(task.operations, "operation")}`);
    this.showNote(note("Loading …"));
    this.back.focus();
    try {
      const { filter, offsets } = rangeParameters(this.state);
      this.showTask(await this.latest.get<TaskGraph>("task", { id: task.id, begin: task.begin, filter, offsets }));
    } catch (error) {
      if (!isAborted(error)) this.showNote(errorNote(error));
    }
  }

  /** Shows the event with a label at a time. With corrected clocks, the event is not searched, because its own time differs. */
  private async openAt(time: string, label: string, isAdjusted: boolean): Promise<void> {
    const begin = this.state.relative(time);
    this.missing.textContent = "";
    try {
      const { rows } = isAdjusted ? { rows: [] } : await this.latestEvents.get<Rows>("events", { begin: time, end: time, limit: 50, offsets: this.state.offsetsText });
      const row = rows.find((one) => one.name === label || one.name.endsWith(`:${label}`) || one.text.includes(label));
      if (row) return this.actions.openEvent(row.id);
      this.missing.textContent = `The event ${label} was not found.`;
    } catch (error) {
      if (isAborted(error)) return;
      this.missing.textContent = messageOf(error);
    }
    this.actions.zoomTo(begin - 1000, begin + 1000);
  }

  private showTask(graph: TaskGraph): void {
    const nodes = graph.nodes.slice(0, MOST_NODES);
    const show = button("Show in the timeline", () => this.actions.showTask(shownTask(this.state, graph)));
    show.disabled = !shownTask(this.state, graph).marks.size;
    const { steps, time_ns } = graph.criticalPath;
    const events = new Map(graph.nodes.map((node) => [node.id, node.event]));
    const rows = steps.map((step) => {
      const [name, event] = [step.label || step.id, events.get(step.id)];
      const cell = event ? leadingCell(name, () => this.actions.openEvent(event), "Show its first event") : name;
      return [cell, step.time_ns === null ? "" : duration(Number(step.time_ns))];
    });
    const keys = steps.map((step, i) => [i, Number(step.time_ns ?? -1)]);
    const caption = `Critical path${time_ns === null ? "" : `: ${duration(Number(time_ns))}`}`;
    const heading = nodes.length < graph.total ? `First ${nodes.length} of ${plural(graph.total, "operation")}` : "Operations";
    const clocks = (graph.clocks ?? []).map(({ machine, offset }) => el("li", {}, el("bdi", {}, machine || "(no name)"), `: ${difference(offset)}`));
    const moved = clocks.length ? el("div", {}, el("h3", {}, "Adjusted clocks"), el("ul", {}, ...clocks)) : null;
    const missing = graph.dangling ? el("p", { class: "muted" }, `${plural(graph.dangling, "cause")} not in the traces`) : null;
    const left = el("div", {}, show, rows.length ? sortedTable(caption, ["Operation", "Until next"], rows, keys) : null, moved, missing);
    const chart = gantt(this.state, nodes, graph, (event) => this.actions.openEvent(event), (time, label) => void this.openAt(time, label, clocks.length > 0));
    const right = el("div", { class: "wide" }, el("h2", { class: "small" }, heading), chart);
    this.showNote(el("div", { class: "columns" }, left, right));
  }
}

/** Row of the chart: an operation, or an event that joined it. */
interface TaskRow {
  /** Operation number. */
  node: number;
  label: string;
  place: string;
  begin: number | null;
  end: number | null;
  /** First event of an operation, or the one that joined it. */
  event: string | null;
  /** Time of an event that joined it. */
  joined: string | null;
}

/** Operations, each followed by the events that joined it. */
function rowsOf(state: State, nodes: TaskNode[], graph: TaskGraph): TaskRow[] {
  const relative = (time: string | null) => (time === null ? null : state.relative(time));
  const joined = new Map<number, TaskRow[]>();
  for (const { node, label, place, time, event = null } of (graph.joined ?? []).slice(0, MOST_JOINED)) {
    const row = { node, label, place, begin: relative(time), end: relative(time), event, joined: time };
    joined.set(node, [...(joined.get(node) ?? []), row]);
  }
  return nodes.flatMap((node, i): TaskRow[] => {
    const { label, place, event } = node;
    const begin = relative(node.begin);
    return [{ node: i, label: label || node.id, place, begin, end: relative(node.end) ?? begin, event, joined: null }, ...(joined.get(i) ?? [])];
  });
}

/** Operations as bars over time, with arrows from causes to effects. A color and a star mark the critical path. */
function gantt(state: State, nodes: TaskNode[], graph: TaskGraph, open: (event: string) => void, openAt: (time: string, label: string) => void): HTMLElement {
  const rows = rowsOf(state, nodes, graph);
  const times = rows.flatMap(({ begin, end }) => [begin, end]).filter((time) => time !== null);
  const first = times.reduce((a, b) => Math.min(a, b), Infinity);
  const length = Math.max(times.reduce((a, b) => Math.max(a, b), -Infinity) - first, 1);
  const percent = (time: number) => (100 * (time - first)) / length;
  const critical = new Set(graph.path);
  const elements = rows.map((row) => {
    const { begin, end, event, joined } = row;
    const isCritical = joined === null && critical.has(row.node);
    const piece = el("div", { class: "piece" });
    if (begin !== null && end !== null) {
      piece.style.left = `${Math.min(percent(begin), 99.5)}%`;
      piece.style.width = `${percent(end) - percent(begin)}%`;
    }
    const place = row.place ? ` (${row.place})` : "";
    const name = [isCritical ? "★ " : joined === null ? null : "· ", el("bdi", {}, row.label), place];
    const title = `${row.label}${place}`;
    const action = event ? () => open(event) : joined !== null ? () => openAt(joined, row.label) : null;
    const lasts = begin !== null && end !== null && end > begin ? `, ${duration(end - begin, 3)}` : "";
    return el(
      "div",
      { class: `bar-row${isCritical ? " critical" : ""}${joined === null ? "" : " joined"}`, role: "listitem" },
      action ? el("span", {}, opener(name, `${title}: show it in the timeline`, action)) : el("span", { title }, ...name),
      el("div", { class: "track" }, begin === null ? null : piece),
      el("span", { class: "muted" }, begin === null ? "no time" : `+${duration(begin - first)}${lasts}`),
    );
  });
  const chart = el("div", { class: "gantt", role: "list", "aria-label": "Operations; a star marks the critical path, a dot an event that joined one" }, ...elements);
  const lines = new Map(rows.flatMap((row, i) => (row.joined === null ? [[row.node, i] as const] : [])));
  chart.append(arrows(rows, lines, graph, percent));
  return chart;
}

function opener(name: (Child | string)[], title: string, action: () => void): HTMLElement {
  const made = el("button", { type: "button", title }, ...name);
  made.addEventListener("click", action);
  return made;
}

/** Arrows over the bars, from the ends of causes to the starts of effects, and lines from operations to events that joined them elsewhere. */
function arrows(rows: TaskRow[], lines: Map<number, number>, graph: TaskGraph, percent: (time: number) => number): HTMLElement {
  const critical = new Set(graph.path.map((node, i) => `${graph.path[i - 1]}:${node}`));
  const connect = (causeLine: number, effectLine: number, kind: string) => {
    const [cause, effect] = [rows[causeLine], rows[effectLine]];
    if (cause?.begin == null || cause.end === null || effect?.begin == null) return [];
    // A cause continues after its effect has started, or ends before it.
    const x = [percent(Math.min(cause.end, Math.max(effect.begin, cause.begin))), percent(effect.begin)];
    const y = [causeLine, effectLine].map((row) => (row + 0.5) * ROW);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const marks = { x1: `${x[0]}%`, x2: `${x[1]}%`, y1: String(y[0]), y2: String(y[1]), class: kind };
    for (const [name, value] of Object.entries(marks)) line.setAttribute(name, value);
    return [line];
  };
  const drawn = graph.edges.slice(0, MOST_EDGES).flatMap(([from, to, kind]) => connect(lines.get(from) ?? -1, lines.get(to) ?? -1, `${kind}${critical.has(`${from}:${to}`) ? " critical" : ""}`));
  const joins = rows.flatMap(({ node, place, joined }, i) => {
    const line = lines.get(node) ?? -1;
    return joined === null || rows[line]?.place === place ? [] : connect(line, i, "joined");
  });
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("aria-hidden", "true");
  picture.setAttribute("height", String(rows.length * ROW));
  picture.append(...joins, ...drawn);
  return el("div", { class: "arrows", role: "presentation" }, picture as unknown as HTMLElement);
}
