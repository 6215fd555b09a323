// Track names at the left, with elements for visible tracks only.

import type { Track } from "./api";
import { byId, el, setText } from "./dom";
import type { State } from "./state";
import { count, duration } from "./time";
import { KINDS, nameOf, type Layout, type TrackRow } from "./tracks";

/** Maximum length of trace names. Longer names are cut at the start. */
const LONG = 22;

interface Label {
  element: HTMLElement;
  toggle: HTMLElement;
  pin: HTMLElement;
  /** Icon of a pinned track. */
  pinned: HTMLElement;
  name: HTMLElement;
  note: HTMLElement;
}

export class Labels {
  private readonly list = byId("labels");
  private shown = new Map<number, Label>();
  private known: Track[] = [];
  private common = "";

  constructor(
    private readonly state: State,
    private readonly actions: { choose(track: number): void; pin(track: number): void; hide(track: number): void },
  ) {
    this.list.addEventListener("click", (event) => {
      const target = event.target as HTMLElement;
      const id = Number(target.closest<HTMLElement>("[data-track]")?.dataset.track ?? NaN);
      if (Number.isNaN(id)) return;
      if (target.classList.contains("hide")) return this.actions.hide(id);
      if (target.classList.contains("pin")) return this.actions.pin(id);
      this.actions.choose(id);
      if (target.classList.contains("toggle")) this.state.toggle(id);
    });
    this.list.addEventListener("dblclick", (event) => {
      const id = (event.target as HTMLElement).closest<HTMLElement>("[data-track]")?.dataset.track;
      if (id !== undefined) this.state.toggle(Number(id));
    });
  }

  /** Shows the rows that are visible, whose tops are moved up by `top`. */
  update(layout: Layout, rows: TrackRow[], top: number): void {
    const wanted = new Set(rows.map((row) => row.track.id));
    const current = this.state.track;
    for (const [id, label] of this.shown) {
      // The focused element stays, otherwise keys would go nowhere.
      if (wanted.has(id) || (label.element === document.activeElement && layout.of(id))) continue;
      label.element.remove();
      this.shown.delete(id);
    }
    const focusable = current !== null && wanted.has(current) ? current : rows[0]?.track.id;
    for (const row of rows) {
      const label = this.shown.get(row.track.id) ?? this.make(row);
      this.place(label, row, top, layout, focusable === row.track.id);
    }
    for (const [id, label] of this.shown) {
      const row = layout.of(id);
      if (row && !wanted.has(id)) this.place(label, row, top, layout, false);
    }
  }

  /** Gives the focus to the label of a track, if it is shown. */
  focus(track: number): void {
    this.shown.get(track)?.element.focus({ preventScroll: true });
  }

  get hasFocus(): boolean {
    return this.list.contains(document.activeElement);
  }

  private make(row: TrackRow): Label {
    const toggle = el("span", { class: "toggle", "aria-hidden": "true" });
    const name = el("bdi", { class: "name" });
    const note = el("span", { class: "note" });
    // Keys do the same, so these buttons are not in the tab order.
    const pin = el("span", { class: "pin", "aria-hidden": "true" });
    const hide = el("span", { class: "hide", "aria-hidden": "true", title: row.track.kind === "path" ? "Close the critical path (H)" : "Hide this track (H)" }, "✕");
    const pinned = el("span", { class: "unseen" });
    const element = el("div", { class: "label", role: "treeitem", "data-track": row.track.id }, toggle, name, pin, hide, note, pinned);
    const label = { element, toggle, name, note, pin, pinned };
    this.shown.set(row.track.id, label);
    this.list.append(element);
    return label;
  }

  /** Name without the name of the track above, with which paths of data streams begin. */
  private shortName({ track }: TrackRow): string {
    if (track.kind === "trace") return endOf(track.name.slice(this.directory().length));
    const parent = this.state.trackOf(track.parent);
    return parent && track.name.startsWith(`${parent.name}/`) ? track.name.slice(parent.name.length + 1) : nameOf(track);
  }

  /** Common directory of all traces, if there are several traces named by path. */
  private directory(): string {
    const { tracks } = this.state;
    if (this.known === tracks) return this.common;
    this.known = tracks;
    const names = tracks.filter((track) => track.kind === "trace").map((track) => track.name);
    let common = names.length > 1 ? names[0]!.slice(0, names[0]!.lastIndexOf("/") + 1) : "";
    while (common && !names.every((name) => name.startsWith(common))) common = parentOf(common);
    return (this.common = common);
  }

  private place(label: Label, row: TrackRow, top: number, layout: Layout, focusable: boolean): void {
    const { element, toggle, name, note, pin, pinned } = label;
    const { track } = row;
    const isPinned = this.state.pinned.has(track.id);
    element.classList.toggle("stuck", !!row.isStuck);
    element.classList.toggle("pinned", isPinned);
    setText(pin, isPinned ? "★" : track.kind === "path" ? "" : "☆");
    pin.title = isPinned ? "Unpin this track (P)" : "Pin this track to the top (P)";
    setText(pinned, isPinned ? ", pinned" : "");
    element.style.transform = `translateY(${row.y - top}px)`;
    element.style.height = `${row.height}px`;
    element.style.setProperty("--depth", String(Math.min(row.depth, 6)));
    element.dataset.kind = track.kind;
    element.tabIndex = focusable ? 0 : -1;
    element.setAttribute("aria-level", String(row.depth + 1));
    element.setAttribute("aria-posinset", String(row.index + 1));
    element.setAttribute("aria-setsize", String(layout.rows.length));
    element.setAttribute("aria-selected", String(track.id === this.state.track));
    if (row.children) element.setAttribute("aria-expanded", String(!row.isClosed));
    else element.removeAttribute("aria-expanded");
    setText(toggle, row.children ? (row.isClosed ? "▸" : "▾") : "");
    setText(name, this.shortName(row));
    const kind = KINDS[track.kind] ?? track.kind;
    const hidden = track.lanes > row.lanes ? `, ${track.lanes - row.lanes} lanes hidden` : "";
    const ran = layout.tree.running.get(track.id);
    const isThread = track.kind === "process" || track.kind === "thread";
    setText(note, isThread && ran ? ` ${duration(ran, 3)}` : track.items ? ` ${count(track.items)}` : ` ${kind}`);
    element.title = `${track.name}\n${kind}${isThread && ran ? `, ran ${duration(ran)}` : ""}${track.items ? `, ${count(track.items)} items` : ""}${hidden}`;
  }
}

/** Parent of a directory, both with a trailing slash; "" for the root. */
function parentOf(path: string): string {
  return path.slice(0, path.slice(0, -1).lastIndexOf("/") + 1);
}

/** End of a path, which tells more than its start. */
function endOf(path: string): string {
  if (path.length <= LONG) return path;
  const cut = path.indexOf("/", path.length - LONG);
  return cut > 0 ? `…${path.slice(cut)}` : path.includes("/") ? `…${path.slice(path.lastIndexOf("/"))}` : path;
}
