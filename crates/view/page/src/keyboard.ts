// Keyboard commands. Letters are commands except in text inputs.

import { dialogIsOpen } from "./dialog";
import { isTyping } from "./dom";
import { TABS, type State } from "./state";

export interface KeyActions {
  pointerTime(): number;
  neighbour(direction: "next" | "previous"): void;
  moveTrack(by: number): void;
  scroll(pages: number): void;
  /** Enter: zooms to the selection, or collapses and expands the track. */
  enter(): void;
  fit(): void;
  mark(): void;
  escape(): void;
  search(): void;
  filter(): void;
  hit(by: number): void;
  bookmark(): void;
  bookmarks(): void;
  follow(): void;
  /** Pins the track, or unpins it. */
  pin(): void;
  hide(): void;
  exportRange(): void;
  help(): void;
  focusPanel(): void;
}

const ZOOM = 0.7;
const PAN = 0.15;

export function listenToKeys(state: State, actions: KeyActions): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || dialogIsOpen()) return;
    if (event.defaultPrevented) return;
    const done = isOnTimeline(event.target) ? arrow(event, state, actions) || letter(event, state, actions) : letter(event, state, actions);
    if (done) event.preventDefault();
  });
}

function isOnTimeline(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof Element && !!target.closest("#timeline"));
}

function arrow(event: KeyboardEvent, state: State, actions: KeyActions): boolean {
  const { view } = state;
  const width = view.end - view.begin;
  const item = event.target instanceof Element ? event.target.closest<HTMLElement>("[role=treeitem]") : null;
  // A click on thread states makes them the current track, which cannot be collapsed.
  const own = item ? Number(item.dataset.track) : null;
  const expanded = item?.getAttribute("aria-expanded");
  switch (event.key) {
    case "ArrowRight":
      if (expanded === "false" && own !== null) state.toggle(own);
      else actions.neighbour("next");
      return true;
    case "ArrowLeft":
      if (expanded === "true" && own !== null) state.toggle(own);
      else actions.neighbour("previous");
      return true;
    case "ArrowDown":
      actions.moveTrack(1);
      return true;
    case "ArrowUp":
      actions.moveTrack(-1);
      return true;
    case "PageDown":
      actions.scroll(1);
      return true;
    case "PageUp":
      actions.scroll(-1);
      return true;
    case "Home":
      state.setView(state.extent.begin - width * 0.02, state.extent.begin + width * 0.98);
      return true;
    case "End":
      state.setView(state.extent.end - width * 0.98, state.extent.end + width * 0.02);
      return true;
    case " ":
      if (own === null) return false;
      state.toggle(own);
      return true;
    case "Enter":
      if (expanded != null && own !== null) state.toggle(own);
      else actions.enter();
      return true;
    default:
      return false;
  }
}

function letter(event: KeyboardEvent, state: State, actions: KeyActions): boolean {
  const { view } = state;
  const width = view.end - view.begin;
  const commands: Record<string, () => unknown> = {
    w: () => state.zoom(ZOOM, actions.pointerTime()),
    s: () => state.zoom(1 / ZOOM, actions.pointerTime()),
    a: () => state.pan(-width * PAN),
    d: () => state.pan(width * PAN),
    f: () => actions.fit(),
    m: () => actions.mark(),
    b: () => (event.shiftKey ? actions.bookmarks() : actions.bookmark()),
    n: () => actions.hit(event.shiftKey ? -1 : 1),
    p: () => actions.pin(),
    h: () => (event.shiftKey ? state.showHidden() : actions.hide()),
    l: () => actions.follow(),
    e: () => actions.exportRange(),
    "/": () => actions.search(),
    "\\": () => actions.filter(),
    "?": () => actions.help(),
    escape: () => actions.escape(),
  };
  const command = commands[event.key.toLowerCase()];
  if (command) {
    if ("wasd".includes(event.key.toLowerCase())) state.setFollow(false);
    if (!state.isEmpty || ["/", "\\", "?", "escape"].includes(event.key.toLowerCase())) command();
    return true;
  }
  const tab = /^[1-6]$/.test(event.key) ? TABS[Number(event.key) - 1] : undefined;
  if (!tab) return false;
  state.setTab(tab);
  actions.focusPanel();
  return true;
}
