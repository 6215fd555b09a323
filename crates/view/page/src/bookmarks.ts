// Bookmarked times, stored in the address, and clock offsets to compare traces.

import { copyToClipboard } from "./commands";
import { showDialog } from "./dialog";
import { button, byId, el } from "./dom";
import { isSaved } from "./saved";
import { MOST_OFFSETS, type State } from "./state";
import { duration, timeOfDay } from "./time";

const MOST = 200;

/** Sets a bookmark at the selected item or in the middle of the view, or removes an existing bookmark there. */
export function toggleBookmark(state: State, announce: (text: string) => void): void {
  if (state.isEmpty) return;
  const { selection, view } = state;
  const time = selection ? selection.from + state.offsetOf(selection.track) : Math.round((view.begin + view.end) / 2);
  const there = state.bookmarks.findIndex((mark) => mark.time === time);
  if (there >= 0) state.bookmarks.splice(there, 1);
  else if (state.bookmarks.length < MOST) state.bookmarks.push({ time, label: (selection?.name ?? "Bookmark").slice(0, 80) });
  state.bookmarks.sort((a, b) => a.time - b.time);
  announce(there >= 0 ? "Bookmark removed" : "Bookmark set");
  state.emit("bookmarks");
}

export function showBookmarks(state: State): void {
  const list = el("div", { class: "choices" });
  const draw = () => {
    const rows = state.bookmarks.map((mark, i) => {
      const label = el("input", { type: "text", value: mark.label, "aria-label": "Name of the bookmark" });
      label.addEventListener("change", () => {
        mark.label = label.value.slice(0, 80);
        state.emit("bookmarks");
      });
      const show = button(timeOfDay(state.absolute(mark.time), state.calendar), () => state.reveal(mark.time), { title: "Show" });
      const remove = button("Remove", () => {
        state.bookmarks.splice(i, 1);
        state.emit("bookmarks");
        draw();
      });
      return el("div", {}, show, " ", label, " ", remove);
    });
    list.replaceChildren(...(rows.length ? rows : [el("p", { class: "muted" }, "No bookmarks yet: press B to set one.")]));
  };
  draw();
  const copy = button("Copy address", () => {
    void copyToClipboard(location.href).then((done) => (copy.textContent = done ? "Copied" : "Not copied"));
  });
  const hint = "The address of the page contains the view, the selection and the bookmarks. Its part from # on also fits the page of a later run of the command.";
  showDialog("Bookmarks", list, el("p", { class: "muted" }, hint), copy);
}

/** Sliders for the clock offset of each trace, to compare traces. */
export function showClocks(state: State): void {
  const roots = state.tracks.filter((track) => track.kind === "trace");
  const length = state.bounds.end - state.bounds.begin;
  const rows = roots.slice(0, MOST_OFFSETS).map((root) => {
    const text = el("output", {}, duration(state.offsets.get(root.id) ?? 0));
    const slider = el("input", { type: "range", min: -1000, max: 1000, step: 1, "aria-label": `Clock offset of ${root.name}` });
    const exact = el("input", { type: "number", step: "any", "aria-label": `Clock offset of ${root.name} in microseconds`, value: (state.offsets.get(root.id) ?? 0) / 1000 });
    slider.value = String(Math.sign(state.offsets.get(root.id) ?? 0) * Math.sqrt(Math.abs(state.offsets.get(root.id) ?? 0) / length) * 1000);
    const set = (ns: number) => {
      text.textContent = duration(ns);
      state.moveClocks([[root.id, ns]]);
    };
    slider.addEventListener("input", () => {
      // Fine in the middle, and up to the length of the trace at the ends.
      const part = Number(slider.value) / 1000;
      const ns = Math.round(Math.sign(part) * part * part * length);
      exact.value = String(ns / 1000);
      set(ns);
    });
    exact.addEventListener("change", () => set(Math.round((Number(exact.value) || 0) * 1000)));
    return el("div", {}, el("bdi", {}, root.name), el("br"), slider, " ", exact, " µs = ", text);
  });
  const align = button("Align starts", () => {
    const begins = beginsOf(state);
    const first = Math.min(...begins.values());
    state.moveClocks([...begins].slice(0, MOST_OFFSETS).map(([root, begin]) => [root, first - begin]));
    byId<HTMLDialogElement>("dialog").close();
  });
  const hint = isSaved
    ? "Moves the tracks of a trace in the picture. Tables and statistics keep the times of the trace."
    : "Adds a time to the clock of a trace. Tables, statistics and exports follow, and the commands of the panels have it as --offset.";
  showDialog("Clock offsets", el("div", { class: "choices" }, ...rows), align, el("p", { class: "muted" }, hint));
}

/** Times of the first items of each outermost track, including the tracks below it. */
function beginsOf(state: State): Map<number, number> {
  const begins = new Map<number, number>();
  for (const track of state.tracks) {
    if (!track.begin || track.kind === "losses") continue;
    const root = state.rootOfTrack(track.id);
    const begin = state.relative(track.begin);
    begins.set(root, Math.min(begin, begins.get(root) ?? Infinity));
  }
  return begins;
}
