// Header with title, trace state and tools, and messages in place of an empty timeline.

import { messageOf } from "./api";
import { button, byId, el, setText } from "./dom";
import { isSaved } from "./saved";
import type { State } from "./state";
import { count, duration, fullTime } from "./time";
import { plural } from "./panels/panel";
import { showDialog } from "./dialog";

export interface Tool {
  text: string;
  title: string;
  action: () => void;
}

export class Header {
  private readonly follow: HTMLButtonElement;
  private shown = "";

  constructor(
    private readonly state: State,
    tools: Tool[],
    private readonly connected: () => boolean,
    private readonly tileError: () => unknown,
    private readonly isExact: () => boolean,
  ) {
    this.follow = button("Follow", () => state.setFollow(!state.follow), { title: "Follow the end of the trace (L)", "aria-pressed": "false" });
    const buttons = tools.map((tool) => button(tool.text, tool.action, { title: tool.title }));
    byId("tools").append(this.follow, ...buttons);
    state.on(["trace", "view", "follow", "tracks"], () => this.update());
    this.update();
  }

  update(): void {
    const { trace } = this.state;
    this.follow.hidden = trace?.state !== "live";
    this.follow.setAttribute("aria-pressed", String(this.state.follow));
    if (!trace) return;
    document.title = `${trace.title} · ichnos`;
    setText(byId("title"), trace.title);
    byId("title").title = trace.paths.join("\n");
    setText(byId("times"), this.timesText());
    byId("times").title = this.timesText();
    this.showState();
  }

  /** Message over the timeline. Tracks stay visible below an error. */
  showMessage(failed: unknown = null): void {
    const { trace } = this.state;
    const box = byId("message");
    const tileError = this.tileError();
    let content: (HTMLElement | null)[] = [];
    if (failed) content = [el("h2", { class: "error" }, "The trace cannot be shown"), el("p", { role: "alert" }, messageOf(failed))];
    else if (!trace) content = [el("p", {}, "Loading …")];
    else if (trace.state === "failed" && this.state.isEmpty) content = [el("h2", { class: "error" }, "The trace cannot be read"), el("p", {}, trace.error ?? trace.warnings[0] ?? "See the output of the command.")];
    else if (this.state.isEmpty && trace.state !== "done") content = [el("h2", {}, trace.state === "loading" ? this.state.emptyText : "Waiting for the first event …"), el("p", { class: "muted" }, trace.paths.join(", "))];
    else if (this.state.isEmpty) content = [el("h2", {}, "The trace has no events"), el("p", { class: "muted" }, "With --filter, --begin or --end, no event may be selected.")];
    else if (this.state.filled?.size === 0) content = [el("h2", {}, "The filter selects no event")];
    else if (tileError) content = [el("p", { class: "error", role: "alert" }, messageOf(tileError))];
    const isOver = content.length > 0 && !failed && !!tileError && !this.state.isEmpty;
    const text = content.map((part) => part?.textContent).join("\n") + isOver;
    if (text === this.shown) return;
    this.shown = text;
    box.hidden = !content.length;
    box.classList.toggle("over", isOver);
    box.replaceChildren(...content.flatMap((part) => (part ? [part] : [])));
  }

  private timesText(): string {
    const { trace, calendar, bounds } = this.state;
    if (!trace || this.state.isEmpty) return trace?.paths.join(", ") ?? "";
    const begin = fullTime(BigInt(trace.begin!), calendar);
    return `${duration(bounds.end - bounds.begin)} · ${plural(trace.events, "event")} · from ${begin}`;
  }

  showCorner(): void {
    const { view, calendar } = this.state;
    if (this.state.isEmpty) return byId("corner-time").replaceChildren();
    const key = `${view.begin},${view.end},${this.isExact()},${calendar.zone}`;
    if (byId("corner-time").dataset.key === key) return;
    byId("corner-time").dataset.key = key;
    const width = duration(view.end - view.begin);
    byId("corner-time").replaceChildren(
      el("div", {}, fullTime(this.state.absolute(view.begin), calendar)),
      // A longer text would be cut.
      el("div", { class: "muted", title: `${width} are visible${this.isExact() ? "" : ", summarized"}` }, this.isExact() ? width : `summary, ${width}`),
    );
  }

  private showState(): void {
    const trace = this.state.trace!;
    const box = byId("state");
    const isConnected = this.connected();
    const state = isConnected ? trace.state : "lost";
    const lost = trace.discardedEvents + trace.discardedPackets;
    const key = [state, Math.round((trace.progress ?? 0) * 100), trace.damages, lost, trace.warnings.length].join();
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.dataset.state = state;
    const texts: Record<string, string> = { loading: "Reading", live: "Live", done: isSaved ? "Saved summary" : "", failed: "Failed", lost: "No connection to ichnos" };
    const parts: (Node | string)[] = [texts[state] ?? state];
    if (state === "loading" && trace.progress !== null) {
      parts.push(" ", el("progress", { max: 1, value: trace.progress, "aria-label": "Part of the trace that is read" }), ` ${Math.round(trace.progress * 100)} %`);
    }
    const problems = [
      trace.discardedEvents ? `${count(trace.discardedEvents)} lost` : "",
      trace.discardedPackets ? `${plural(trace.discardedPackets, "packet")} lost` : "",
      trace.damages ? `${count(trace.damages)} damaged` : "",
      trace.warnings.length ? plural(trace.warnings.length, "warning") : "",
    ].filter(Boolean);
    if (problems.length) parts.push(" ", button(problems.join(" · "), () => this.showProblems(), { class: "problems", title: "Losses, damage and warnings" }));
    box.replaceChildren(...parts);
  }

  private showProblems(): void {
    const { trace } = this.state;
    if (!trace) return;
    const traces = trace.traces.map((one) => el("li", {}, el("bdi", {}, one.name), `: ${[one.dialect ?? one.format, one.tracer].filter(Boolean).join(", ")}`));
    showDialog(
      "Losses, damage and warnings",
      el("p", {}, `${plural(trace.discardedEvents, "event")} lost, ${plural(trace.discardedPackets, "packet")} lost, ${plural(trace.damages, "damaged place")}, ${plural(trace.warnings.length, "warning")}`),
      el("ul", {}, ...trace.warnings.slice(0, 200).map((text) => el("li", {}, el("bdi", {}, text)))),
      el("h3", {}, "Traces"),
      el("ul", {}, ...traces),
      el("h3", {}, "In the terminal"),
      el("pre", {}, trace.command),
    );
  }
}
