// Tables of events and of log lines in the range.

import { isAborted, Latest, messageOf, type Row, type Rows } from "../api";
import { CommandLine } from "../commands";
import { el } from "../dom";
import { Grid, type Column } from "../grid";
import type { State, Topic } from "../state";
import { count, timeOfDay } from "../time";
import { rangeParameters, rangeText, type Panel, type PanelActions } from "./panel";

const PAGE = 500;
/** Maximum number of rows. A shorter range shows the others. */
const MOST_ROWS = 50_000;

export class RowsPanel implements Panel {
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "offsets", "trace"];
  private readonly grid: Grid<Row>;
  private readonly status = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly only = el("input", { type: "checkbox" });
  private readonly latest = new Latest();
  private rows: Row[] = [];
  private next: string | null = null;
  private loading = false;
  private asked = "";

  constructor(
    readonly title: string,
    private readonly path: "events" | "log",
    private readonly state: State,
    actions: PanelActions,
  ) {
    this.grid = new Grid<Row>(title, this.columns(), {
      open: (row) => actions.openEvent(row.id),
      more: () => void this.more(),
      sorted: () => this.showStatus(),
    });
    const choice = path === "events" ? el("label", {}, this.only, " Only the selected track") : null;
    this.only.addEventListener("change", () => void this.update());
    state.on(["selection"], () => {
      if (state.tab === this.path) this.followSelection();
    });
    const bar = el("div", { class: "bar" }, this.status, choice, el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.grid.element);
  }

  async update(): Promise<void> {
    const { state } = this;
    const asked = JSON.stringify([this.parameters(), state.isEmpty ? 0 : state.trace?.state, state.generation]);
    if (asked === this.asked) return;
    this.asked = asked;
    this.latest.abort();
    this.rows = [];
    this.next = null;
    if (state.isEmpty) {
      this.command.set("");
      return this.show(state.emptyText, false);
    }
    await this.load(false);
  }

  private followSelection(): void {
    const { selection } = this.state;
    if (this.only.checked) void this.update();
    if (selection) this.grid.mark((row) => row.id === selection.id);
  }

  private async more(): Promise<void> {
    if (this.next === null || this.loading || this.rows.length >= MOST_ROWS) return;
    await this.load(true);
  }

  private async load(isMore: boolean): Promise<void> {
    this.loading = true;
    if (!isMore) this.status.textContent = "Loading …";
    try {
      const answer = await this.latest.get<Rows>(this.path, { ...this.parameters(), limit: PAGE, after: isMore ? this.next : null });
      this.rows = isMore ? [...this.rows, ...answer.rows] : answer.rows;
      this.next = answer.next;
      if (!isMore) this.command.set(answer.command);
      this.loading = false;
      this.grid.setRows(this.rows, isMore);
      this.showStatus();
    } catch (error) {
      this.loading = false;
      if (isAborted(error)) return;
      this.asked = "";
      this.next = null;
      this.show(messageOf(error), true);
    }
  }

  private show(text: string, isError: boolean): void {
    this.status.textContent = text;
    this.status.classList.toggle("error", isError);
    this.grid.setRows(this.rows, false);
  }

  private showStatus(): void {
    const more = this.next !== null;
    const which = this.path === "log" ? "log lines" : "events";
    const sorted = more && !this.grid.isSortedByTime ? ", sorted among these" : "";
    const limit = more && this.rows.length >= MOST_ROWS ? "; mark a shorter range for more" : "";
    const found = `${more ? "first " : ""}${count(this.rows.length)} ${which}${sorted}${limit}`;
    this.status.classList.remove("error");
    this.status.textContent = `${rangeText(this.state)} · ${this.rows.length ? found : `no ${which}`}`;
  }

  private parameters(): Record<string, string | number | null> {
    return { ...rangeParameters(this.state), track: this.only.checked ? this.state.track : null };
  }

  private columns(): Column<Row>[] {
    const { state } = this;
    const time: Column<Row> = {
      name: "Time",
      width: "190px",
      cell: (row) => timeOfDay(BigInt(row.time), state.calendar),
      class: () => "time",
      key: (row) => BigInt(row.time),
    };
    const name: Column<Row> = {
      name: "Event",
      width: "minmax(120px, 1.2fr)",
      cell: (row) => el("bdi", { title: row.name }, row.name),
      key: (row) => row.name,
    };
    const track: Column<Row> = {
      name: "Track",
      width: "minmax(90px, 0.8fr)",
      cell: (row) => el("bdi", {}, state.trackOf(row.track)?.name ?? row.stream),
      key: (row) => state.trackOf(row.track)?.name ?? row.stream,
    };
    const text: Column<Row> = {
      name: this.path === "log" ? "Line" : "Fields",
      width: "minmax(200px, 4fr)",
      cell: (row) => el("bdi", { title: row.text }, row.text),
      class: () => "mono",
      key: (row) => row.text,
    };
    const severity: Column<Row> = {
      name: "Level",
      width: "80px",
      cell: (row) => row.severity ?? "",
      class: (row) => `severity-${(row.severity ?? "").toLowerCase()}`,
      key: (row) => row.severity ?? "",
    };
    return this.path === "log" ? [time, severity, text] : [time, name, track, text];
  }
}
