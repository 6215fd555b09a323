// Field above the track names: finds tracks by name, and collapses or expands all.

import { button, byId, debounce, el, setText } from "./dom";
import { PATH_TRACK } from "./path";
import type { State } from "./state";
import type { Timeline } from "./timeline";

const PAUSE = 120;

export class FindTrack {
  private readonly input = el("input", { type: "search", id: "find-track", autocomplete: "off", spellcheck: "false", placeholder: "Find a track", "aria-label": "Find a track by its name" });

  constructor(
    private readonly state: State,
    private readonly timeline: Timeline,
  ) {
    const close = button("\u229f", () => this.closeAll(true), { title: "Close all tracks", "aria-label": "Close all tracks" });
    const open = button("\u229e", () => this.closeAll(false), { title: "Open all tracks", "aria-label": "Open all tracks" });
    const hidden = button("", () => state.showHidden(), { title: "Show hidden tracks (Shift+H)", hidden: true });
    byId("find").append(this.input, close, open, hidden);
    state.on(["layout"], () => {
      hidden.hidden = !state.hidden.size;
      setText(hidden, `${state.hidden.size} hidden`);
    });
    this.input.addEventListener("input", debounce(PAUSE, () => this.show()));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        if (this.input.value) this.input.value = "";
        else this.input.blur();
        this.show();
      } else if (event.key === "Enter") this.choose();
      else return;
      event.stopPropagation();
      event.preventDefault();
    });
  }

  private show(): void {
    const text = this.input.value.trim();
    if (text === this.state.trackText) return;
    this.state.trackText = text;
    this.state.emit("layout");
  }

  /** Selects the first track with the name. */
  private choose(): void {
    this.show();
    const { rows } = this.timeline.layout;
    const text = this.state.trackText.toLowerCase();
    const row = rows.find((one) => one.track.id !== PATH_TRACK && one.track.name.toLowerCase().includes(text));
    if (row) this.timeline.chooseTrack(row.track.id);
  }

  private closeAll(isClosed: boolean): void {
    const parents = [...this.timeline.layout.tree.children.keys()].filter((track) => track !== null);
    this.state.closeAll(isClosed, parents);
  }
}
