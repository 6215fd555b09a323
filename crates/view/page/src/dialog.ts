// The one dialog of the page: help, export, bookmarks, clocks.

import { button, byId, el, type Child } from "./dom";

/** Shows a dialog. Closing it restores the focus. */
export function showDialog(title: string, ...content: Child[]): HTMLDialogElement {
  const dialog = byId<HTMLDialogElement>("dialog");
  if (dialog.open) dialog.close();
  const close = button("Close", () => dialog.close(), { class: "main" });
  dialog.replaceChildren(el("h2", { id: "dialog-title" }, title));
  for (const child of content) if (child) dialog.append(child);
  dialog.append(el("div", { class: "actions" }, close));
  dialog.showModal();
  return dialog;
}

export function dialogIsOpen(): boolean {
  return byId<HTMLDialogElement>("dialog").open;
}

const KEYS: [string[], string][] = [
  [["W", "S"], "Zoom in and out (at the pointer)"],
  [["A", "D"], "Pan to the left and to the right"],
  [["←", "→"], "Previous and next event of the selected track"],
  [["↑", "↓"], "Track above and below"],
  [["Enter"], "Zoom to the selected item, close or open a track"],
  [["Page ↑", "Page ↓"], "Scroll the tracks"],
  [["Home", "End"], "Begin and end of the trace"],
  [["F"], "Fit: the selection or marked range, again for the whole trace"],
  [["M"], "Mark the selected span or what is visible as a range"],
  [["B"], "Set a bookmark; Shift+B lists bookmarks"],
  [["P"], "Pin the selected track to the top, or unpin it"],
  [["H"], "Hide the selected track, or close the critical path; Shift+H shows hidden tracks"],
  [["/"], "Search; N and Shift+N for the next and previous hit"],
  [["\\"], "Filter"],
  [["L"], "Follow the end of a growing trace"],
  [["E"], "Export"],
  [["1", "–", "6"], "Panels"],
  [["Esc"], "Close, or clear the range, then the selection"],
  [["?"], "This list"],
];

export function showHelp(version: string): void {
  const rows = KEYS.map(([keys, text]) =>
    el("tr", {}, el("td", {}, ...keys.flatMap((key, i) => [i ? " " : null, key === "–" ? "–" : el("kbd", {}, key)])), el("td", { class: "text" }, text)),
  );
  const mouse = [
    ["Wheel", "Zoom to the pointer; Alt+wheel scrolls the tracks"],
    ["Wheel sideways, Shift+wheel", "Pan"],
    ["Drag", "Pan and scroll"],
    ["Drag the ruler, Shift+drag", "Mark a range"],
    ["Double click", "Zoom to an item"],
  ].map(([what, text]) => el("tr", {}, el("td", {}, what), el("td", { class: "text" }, text)));
  showDialog(
    "Keys",
    el("table", {}, el("tbody", {}, ...rows)),
    el("h3", {}, "Mouse"),
    el("table", {}, el("tbody", {}, ...mouse)),
    el("p", { class: "muted" }, version ? `ichnos ${version}` : null),
  );
}
