// Tasks of the range, and the graph of one with its critical path.

import { ApiError, isAborted, Latest, type TaskEntry, type TaskGraph, type TaskNode, type TaskStep } from "../api";
import { command, CommandLine } from "../commands";
import { button, el } from "../dom";
import { Grid } from "../grid";
import type { State, Topic } from "../state";
import { count, duration, timeOfDay } from "../time";
import { errorNote, note, plural, rangeParameters, rangeText, table, type Panel, type PanelActions } from "./panel";

const MOST_NODES = 500;

/** Answer of `api/task`: the document of `ichnos task --json`, whose members depend on the version. */
interface TaskAnswer {
  command?: string;
  graph?: TaskGraph;
  nodes?: TaskNode[];
  edges?: TaskGraph["edges"];
  criticalPath?: { steps?: TaskStep[]; time_ns?: number } | TaskStep[];
}

export class TasksPanel implements Panel {
  readonly title = "Tasks";
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "trace"];
  private readonly status = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly back = button("All tasks", () => this.showList(), { hidden: true });
  private readonly body = el("div", { class: "body", tabindex: 0, role: "group", "aria-label": "Task" });
  private readonly grid: Grid<TaskEntry>;
  private readonly latest = new Latest();
  private tasks: TaskEntry[] = [];
  private shown: TaskEntry | null = null;

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
  ) {
    this.grid = new Grid<TaskEntry>(
      "Tasks",
      [
        { name: "Begin", width: "190px", cell: (task) => timeOfDay(BigInt(task.begin), state.calendar), key: (task) => BigInt(task.begin) },
        { name: "Task", width: "minmax(140px, 3fr)", cell: (task) => el("bdi", {}, task.name), key: (task) => task.name },
        { name: "Length", width: "120px", cell: (task) => duration(task.length), key: (task) => task.length },
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
      const answer = await this.latest.get<{ tasks: TaskEntry[]; command?: string }>("tasks", rangeParameters(this.state));
      this.tasks = answer.tasks;
      this.command.set(answer.command ?? "");
      this.showList();
    } catch (error) {
      if (!isAborted(error)) this.showFailed(error);
    }
  }

  private showFailed(error: unknown): void {
    // A server that knows no tasks has no such address.
    const isUnknown = error instanceof ApiError && error.status === 404;
    this.command.set(isUnknown ? command(this.state, "task list") : "");
    this.showNote(isUnknown ? note("Tasks are not shown here yet. The command gives them in the terminal.") : errorNote(error));
  }

  private showList(): void {
    this.shown = null;
    this.back.hidden = true;
    this.status.textContent = `${rangeText(this.state)} · ${plural(this.tasks.length, "task")}`;
    if (!this.tasks.length) return this.showNote(note("No tasks in this range: no event names the task or the operation that it belongs to."));
    this.grid.element.hidden = false;
    this.body.hidden = true;
    this.grid.setRows(this.tasks, true);
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
    this.status.replaceChildren(el("bdi", {}, task.name), `: ${duration(task.length)}, ${plural(task.operations, "operation")}`);
    this.showNote(note("Loading …"));
    this.back.focus();
    try {
      this.showTask(task, await this.latest.get<TaskAnswer>("task", { id: task.id }));
    } catch (error) {
      if (!isAborted(error)) this.showNote(errorNote(error));
    }
  }

  private showTask(task: TaskEntry, answer: TaskAnswer): void {
    const nodes = answer.graph?.nodes ?? answer.nodes ?? [];
    const path = Array.isArray(answer.criticalPath) ? answer.criticalPath : (answer.criticalPath?.steps ?? []);
    const critical = new Set(path.map((step) => step.id));
    const show = button("Show in the timeline", () => {
      const begin = this.state.relative(task.begin);
      this.actions.zoomTo(begin, begin + task.length);
    });
    const steps = path.map((step) => [step.label || step.id, duration(Number(step.time_ns ?? 0))]);
    const heading = nodes.length > MOST_NODES ? `First ${MOST_NODES} of ${plural(nodes.length, "operation")}` : "Operations";
    const left = el("div", {}, show, path.length ? table("Critical path", ["Operation", "Since last"], steps) : null);
    const right = el("div", { class: "wide" }, el("h2", { class: "small" }, heading), gantt(this.state, nodes.slice(0, MOST_NODES), critical));
    this.showNote(el("div", { class: "columns" }, left, right));
  }
}

/** Operations as bars over time; those of the critical path are marked by colour and by a star. */
function gantt(state: State, nodes: TaskNode[], critical: Set<string>): HTMLElement {
  const times = nodes.flatMap((node) => [node.begin_ns, node.end_ns]).flatMap((time) => (time === null ? [] : [state.relative(BigInt(time))]));
  const first = Math.min(...times);
  const length = Math.max(Math.max(...times) - first, 1);
  const rows = nodes.map((node) => {
    const begin = node.begin_ns === null ? null : state.relative(BigInt(node.begin_ns)) - first;
    const end = node.end_ns === null || begin === null ? begin : state.relative(BigInt(node.end_ns)) - first;
    const piece = el("div", { class: "piece" });
    if (begin !== null && end !== null) {
      piece.style.left = `${Math.min((100 * begin) / length, 99.5)}%`;
      piece.style.width = `${(100 * (end - begin)) / length}%`;
    }
    const isCritical = critical.has(node.id);
    const place = node.place ? ` (${node.place})` : "";
    return el(
      "div",
      { class: isCritical ? "bar-row critical" : "bar-row", role: "listitem" },
      el("span", { title: `${node.label || node.id}${place}` }, isCritical ? "★ " : null, el("bdi", {}, node.label || node.id), place),
      el("div", { class: "track" }, begin === null ? null : piece),
      el("span", { class: "muted" }, begin === null || end === null ? "no time" : duration(end - begin, 3)),
    );
  });
  return el("div", { class: "gantt", role: "list", "aria-label": "Operations; a star marks the critical path" }, ...rows);
}
