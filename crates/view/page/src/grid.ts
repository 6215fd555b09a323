// Table with elements for visible rows only. Rows can be loaded while scrolling.

import { el, type Child } from "./dom";

const ROW = 24;
/** Browsers cannot scroll further than some ten million pixels. */
const MOST_ROWS = 300_000;

export interface Column<R> {
  name: string;
  /** Width as in `grid-template-columns`. */
  width: string;
  cell: (row: R) => Child;
  class?: (row: R) => string;
  /** Value to sort by. */
  key: (row: R) => string | number | bigint;
}

export interface GridActions<R> {
  open(row: R): void;
  /** The last rows are visible: more can be loaded. */
  more(): void;
  sorted?(): void;
}

export class Grid<R> {
  readonly element: HTMLElement;
  rows: R[] = [];
  sortedBy: { column: number; down: boolean } | null = null;
  private order: R[] = [];
  private readonly head = el("div", { class: "grid-head", role: "row" });
  private readonly scroller: HTMLElement;
  private readonly spacer = el("div", { role: "presentation" });
  private readonly shown = new Map<number, HTMLElement>();
  private current = -1;

  constructor(
    name: string,
    private readonly columns: Column<R>[],
    private readonly actions: GridActions<R>,
  ) {
    this.scroller = el("div", { class: "grid-scroll", role: "rowgroup" }, this.spacer);
    const headGroup = el("div", { role: "rowgroup" }, this.head);
    this.element = el("div", { class: "grid", role: "grid", "aria-label": name }, headGroup, this.scroller);
    this.element.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    columns.forEach((column, i) => this.head.append(this.header(column, i)));
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("click", (event) => {
      const index = Number((event.target as HTMLElement).closest<HTMLElement>("[data-row]")?.dataset.row ?? NaN);
      if (!Number.isNaN(index)) this.choose(index);
    });
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  setRows(rows: R[], keepPlace: boolean): void {
    this.rows = rows.length > MOST_ROWS ? rows.slice(0, MOST_ROWS) : rows;
    if (!keepPlace) {
      this.scroller.scrollTop = 0;
      this.current = -1;
    }
    this.sort();
  }

  /** Marks the row for which `is` holds. */
  mark(is: (row: R) => boolean): void {
    this.current = this.order.findIndex(is);
    this.redraw();
  }

  get isSortedByTime(): boolean {
    return !this.sortedBy;
  }

  private header(column: Column<R>, index: number): HTMLElement {
    const text = el("button", { type: "button", tabindex: 0 }, column.name);
    text.addEventListener("click", () => {
      const { sortedBy } = this;
      if (sortedBy?.column !== index) this.sortedBy = { column: index, down: false };
      else this.sortedBy = sortedBy.down ? null : { column: index, down: true };
      this.sort();
      this.actions.sorted?.();
    });
    return el("div", { role: "columnheader", "aria-sort": "none" }, text);
  }

  private sort(): void {
    const { sortedBy } = this;
    this.order = this.rows;
    if (sortedBy) {
      const { key } = this.columns[sortedBy.column]!;
      const sign = sortedBy.down ? -1 : 1;
      this.order = [...this.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        return x < y ? -sign : x > y ? sign : 0;
      });
    }
    this.columns.forEach((column, i) => {
      const cell = this.head.children[i]!;
      const is = sortedBy?.column === i;
      cell.setAttribute("aria-sort", is ? (sortedBy.down ? "descending" : "ascending") : "none");
      cell.firstElementChild!.textContent = `${column.name}${is ? (sortedBy.down ? " ▼" : " ▲") : ""}`;
    });
    this.redraw();
  }

  private redraw(): void {
    const hadFocus = this.scroller.contains(document.activeElement);
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    this.spacer.style.height = `${this.order.length * ROW}px`;
    this.element.setAttribute("aria-rowcount", String(this.order.length + 1));
    this.draw();
    if (hadFocus) (this.shown.get(this.current) ?? this.firstShown())?.focus({ preventScroll: true });
  }

  private firstShown(): HTMLElement | undefined {
    return this.shown.get(Math.min(...this.shown.keys()));
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 3);
    const last = Math.min(this.order.length, Math.ceil((scrollTop + clientHeight) / ROW) + 3);
    for (const [index, element] of this.shown) {
      // The focused row stays, otherwise keys would go nowhere.
      if ((index >= first && index < last) || element === document.activeElement) continue;
      element.remove();
      this.shown.delete(index);
    }
    for (let i = first; i < last; i++) if (!this.shown.has(i)) this.append(i);
    if (!this.shown.has(this.current)) this.firstShown()?.setAttribute("tabindex", "0");
    if (clientHeight && last + 20 >= this.order.length) this.actions.more();
  }

  private append(index: number): void {
    const row = this.order[index]!;
    const cells = this.columns.map((column) =>
      el("div", { role: "gridcell", class: column.class?.(row) ?? null }, column.cell(row)),
    );
    const element = el(
      "div",
      { class: "grid-row", role: "row", "data-row": index, "aria-rowindex": index + 2, "aria-selected": String(index === this.current), tabindex: index === this.current ? 0 : -1 },
      ...cells,
    );
    element.style.transform = `translateY(${index * ROW}px)`;
    this.shown.set(index, element);
    this.scroller.append(element);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const by = steps[event.key];
    if (by !== undefined) this.move(Math.min(Math.max(this.current + by, 0), this.order.length - 1));
    else if (event.key === "Enter" && this.order[this.current]) this.choose(this.current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private move(index: number): void {
    if (index < 0) return;
    this.current = index;
    const top = index * ROW;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    const below = top + ROW - this.scroller.clientHeight;
    if (below > this.scroller.scrollTop) this.scroller.scrollTop = below;
    this.redraw();
  }

  private choose(index: number): void {
    this.current = index;
    this.redraw();
    const row = this.order[index];
    if (row !== undefined) this.actions.open(row);
  }
}
