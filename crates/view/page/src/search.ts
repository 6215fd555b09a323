// Search over names and fields: number of hits, next and previous, marks on the ruler.

import { isAborted, Latest, messageOf, type SearchAnswer } from "./api";
import { byId, debounce } from "./dom";
import type { State } from "./state";
import { count } from "./time";

export interface SearchActions {
  openEvent(id: string): void;
  openTrack(track: number): void;
  bins(bins: number[]): void;
  announce(text: string): void;
}

const PAUSE = 250;

export class Search {
  private readonly input = byId<HTMLInputElement>("search");
  private readonly status = byId("hits");
  private readonly previous = byId<HTMLButtonElement>("hit-previous");
  private readonly next = byId<HTMLButtonElement>("hit-next");
  private readonly latest = new Latest();
  private answer: SearchAnswer | null = null;
  private at = -1;
  private searched = "";
  private running = Promise.resolve();

  constructor(
    private readonly state: State,
    private readonly actions: SearchActions,
  ) {
    const later = debounce(PAUSE, () => void this.run());
    this.input.addEventListener("input", later);
    const again = debounce(PAUSE, () => {
      this.searched = "";
      void this.run();
    });
    state.on(["offsets"], () => this.state.search && again());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void this.enter(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        if (this.input.value) this.clear();
        else this.input.blur();
        event.stopPropagation();
        event.preventDefault();
      }
    });
    this.previous.addEventListener("click", () => this.move(-1));
    this.next.addEventListener("click", () => this.move(1));
  }

  /** Searches for the text in the state, for a page opened by an address with a search text. */
  async restore(): Promise<void> {
    this.input.value = this.state.search;
    await this.run();
  }

  /** Searches for a name, and shows the first hit. */
  async find(text: string): Promise<void> {
    this.input.value = text;
    await this.enter(1);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  move(by: number): void {
    const hits = this.answer?.hits ?? [];
    if (!hits.length) return;
    // The first step starts from the visible range.
    if (this.at < 0) this.at = this.first(by);
    else this.at = (this.at + by + hits.length) % hits.length;
    const hit = hits[this.at]!;
    this.show();
    if (hit.id) this.actions.openEvent(hit.id);
    else if (hit.track !== null) this.actions.openTrack(hit.track);
    this.actions.announce(`Hit ${this.at + 1} of ${hits.length}: ${hit.name}`);
  }

  private first(by: number): number {
    const hits = this.answer!.hits;
    const { begin, end } = this.state.view;
    const after = hits.findIndex((hit) => this.state.relative(hit.time) >= begin);
    if (by > 0) return after < 0 ? 0 : after;
    const before = hits.findLastIndex((hit) => this.state.relative(hit.time) <= end);
    return before < 0 ? hits.length - 1 : before;
  }

  private async enter(by: number): Promise<void> {
    await this.run();
    this.move(by);
  }

  private clear(): void {
    this.input.value = "";
    void this.run();
  }

  /** Searches for the text in the field, unless that search is done or running. */
  private run(): Promise<void> {
    const text = this.input.value.trim();
    if (text !== this.searched) {
      this.searched = text;
      this.running = this.ask(text);
    }
    return this.running;
  }

  private async ask(text: string): Promise<void> {
    this.state.search = text;
    this.answer = null;
    this.at = -1;
    this.latest.abort();
    this.actions.bins([]);
    this.show();
    this.state.emit("search");
    if (!text || this.state.isEmpty) return;
    this.status.textContent = "…";
    const { state } = this;
    const { extent } = state;
    try {
      this.answer = await this.latest.get<SearchAnswer>("search", { q: text, limit: 1000, begin: state.timeText(extent.begin), end: state.timeText(extent.end), offsets: state.offsetsText });
      this.actions.bins(this.answer.bins ?? []);
      this.show();
    } catch (error) {
      if (isAborted(error)) return;
      this.searched = "";
      this.status.textContent = messageOf(error);
      this.status.classList.add("error");
    }
  }

  private show(): void {
    const hits = this.answer?.hits.length ?? 0;
    this.previous.disabled = this.next.disabled = !hits;
    this.status.classList.remove("error");
    if (!this.answer) this.status.textContent = "";
    else {
      const total = `${count(this.answer.total)}${this.answer.complete ? "" : "+"}`;
      this.status.textContent = this.at >= 0 ? `${this.at + 1} of ${total}` : this.answer.total === 1 ? "1 hit" : `${total} hits`;
    }
  }
}
