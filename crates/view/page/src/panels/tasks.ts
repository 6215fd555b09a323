// Tasks of the range, and the graph of one with its critical path.

import { isAborted, Latest, type TaskEntry, type TaskGraph, type TaskNode, type Tasks } from "../api";
import { CommandLine } from "../commands";
import { button, el, type Child } from "../dom";
import { Grid } from "../grid";
import type { State, Topic } from "../state";
import { count, duration, timeOfDay } from "../time";
import { errorNote, note, plural, rangeParameters, rangeText, table, type Panel, type PanelActions } from "./panel";

const MOST_NODES = 500;

/** Height of a row, as in the style sheet. */
const ROW = 22;
/** Edges that are drawn. */
const MOST_EDGES = 2000;

export class TasksPanel implements Panel {
  readonly title = "Tasks";
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "offsets", "trace"];
  private readonly status = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly back = button("All tasks", () => this.showList(), { hidden: true });
  private readonly body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Task" });
  private readonly grid: Grid<TaskEntry>;
  private readonly latest = new Latest();
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
    const bar = el("div", { class: "bar" }, this.back, this.status, el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.grid.element, this.body);
    this.body.hidden = true;
  }

  async update(): Promise<void> {
    if (this.shown) return;
    this.status.textContent = rangeText(this.state);
    if (this.state.isEmpty) return this.showNote(note("No events yet."));
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
    this.shown = null;
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

  private async open(task: TaskEntry): Promise<void> {
    this.shown = task;
    this.back.hidden = false;
    this.command.set(task.command);
    const length = task.length === null ? "" : `${duration(task.length)}, `;
    this.status.replaceChildren(el("bdi", {}, task.name), `: ${length}${plural(task.operations, "operation")}`);
    this.showNote(note("Loading …"));
    this.back.focus();
    try {
      const { filter, offsets } = rangeParameters(this.state);
      this.showTask(task, await this.latest.get<TaskGraph>("task", { id: task.id, begin: task.begin, filter, offsets }));
    } catch (error) {
      if (!isAborted(error)) this.showNote(errorNote(error));
    }
  }

  private showTask(task: TaskEntry, graph: TaskGraph): void {
    const nodes = graph.nodes.slice(0, MOST_NODES);
    const show = button("Show in the timeline", () => {
      const begin = this.state.relative(task.begin ?? "0");
      this.actions.zoomTo(begin, begin + (task.length ?? 0));
    });
    show.disabled = task.begin === null;
    const { steps, time_ns } = graph.criticalPath;
    const rows = steps.map((step) => [step.label || step.id, step.time_ns === null ? "" : duration(Number(step.time_ns))]);
    const caption = `Critical path${time_ns === null ? "" : `: ${duration(Number(time_ns))}`}`;
    const heading = nodes.length < graph.total ? `First ${nodes.length} of ${plural(graph.total, "operation")}` : "Operations";
    const missing = graph.dangling ? el("p", { class: "muted" }, `${plural(graph.dangling, "cause")} not in the traces`) : null;
    const left = el("div", {}, show, rows.length ? table(caption, ["Operation", "Since last"], rows) : null, missing);
    const chart = gantt(this.state, nodes, graph, (event) => this.actions.openEvent(event));
    const right = el("div", { class: "wide" }, el("h2", { class: "small" }, heading), chart);
    this.showNote(el("div", { class: "columns" }, left, right));
  }
}

/** Operations as bars over time, with arrows from causes to effects. A colour and a star mark those of the critical path. */
function gantt(state: State, nodes: TaskNode[], graph: TaskGraph, open: (event: string) => void): HTMLElement {
  const relative = (time: string | null) => (time === null ? null : state.relative(time));
  const spans = nodes.map((node) => ({ begin: relative(node.begin), end: relative(node.end) ?? relative(node.begin) }));
  const times = spans.flatMap(({ begin, end }) => [begin, end]).filter((time) => time !== null);
  const first = times.reduce((a, b) => Math.min(a, b), Infinity);
  const length = Math.max(times.reduce((a, b) => Math.max(a, b), -Infinity) - first, 1);
  const percent = (time: number) => (100 * (time - first)) / length;
  const critical = new Set(graph.path);
  const rows = nodes.map((node, i) => {
    const { begin, end } = spans[i]!;
    const isCritical = critical.has(i);
    const piece = el("div", { class: "piece" });
    if (begin !== null && end !== null) {
      piece.style.left = `${Math.min(percent(begin), 99.5)}%`;
      piece.style.width = `${percent(end) - percent(begin)}%`;
    }
    const place = node.place ? ` (${node.place})` : "";
    const name = [isCritical ? "★ " : null, el("bdi", {}, node.label || node.id), place];
    const title = `${node.label || node.id}${place}`;
    const { event } = node;
    return el(
      "div",
      { class: isCritical ? "bar-row critical" : "bar-row", role: "listitem" },
      event ? el("span", {}, opener(name, `${title}: show its first event`, () => open(event))) : el("span", { title }, ...name),
      el("div", { class: "track" }, begin === null ? null : piece),
      el("span", { class: "muted" }, begin === null || end === null ? "no time" : duration(end - begin, 3)),
    );
  });
  const chart = el("div", { class: "gantt", role: "list", "aria-label": "Operations; a star marks the critical path" }, ...rows);
  chart.append(arrows(spans, graph, percent));
  return chart;
}

function opener(name: (Child | string)[], title: string, action: () => void): HTMLElement {
  const made = el("button", { type: "button", title }, ...name);
  made.addEventListener("click", action);
  return made;
}

/** Arrows from the ends of causes to the begins of effects, over the bars. */
function arrows(spans: { begin: number | null; end: number | null }[], graph: TaskGraph, percent: (time: number) => number): HTMLElement {
  const critical = new Set(graph.path.map((node, i) => `${graph.path[i - 1]}:${node}`));
  const lines = graph.edges.slice(0, MOST_EDGES).flatMap(([from, to, kind]) => {
    const [cause, effect] = [spans[from], spans[to]];
    if (cause?.begin == null || cause.end === null || effect?.begin == null) return [];
    // A cause goes on after its effect has begun, or ends before it.
    const x = [percent(Math.min(cause.end, Math.max(effect.begin, cause.begin))), percent(effect.begin)];
    const y = [from, to].map((row) => (row + 0.5) * ROW);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const marks = { x1: `${x[0]}%`, x2: `${x[1]}%`, y1: String(y[0]), y2: String(y[1]), class: `${kind}${critical.has(`${from}:${to}`) ? " critical" : ""}` };
    for (const [name, value] of Object.entries(marks)) line.setAttribute(name, value);
    return [line];
  });
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("aria-hidden", "true");
  picture.setAttribute("height", String(spans.length * ROW));
  picture.append(...lines);
  return el("div", { class: "arrows", role: "presentation" }, picture as unknown as HTMLElement);
}
