// Updates while the trace is read or grows, and the server connection.
//
// Browsers open at most six connections to a server. So only one tab listens to the server, the one that holds a lock, and
// tells the others what it hears.

import { get, type Change, type Trace, type Track } from "./api";
import type { State } from "./state";

/** Pause between two updates of the track list and of the trace. */
const REST = 300;
const RECONNECT = 2000;

/** Message of the tab that listens to the server. */
interface Heard {
  connected?: boolean;
  /** Change message of the server. */
  change?: string;
  /** A new tab asks for the last change. */
  isNew?: true;
}

export class Live {
  /** False while the server does not answer. */
  connected = true;
  private source: EventSource | null = null;
  private channel: BroadcastChannel | null = null;
  private leaving = new AbortController();
  /** Last change that this tab sent to the others. */
  private last: Heard | null = null;
  private timer = 0;
  private retry = 0;
  private asked = 0;
  /** Number of requests for the trace, and number of the last request with an answer. */
  private requests = 0;
  private answered = 0;

  constructor(
    private readonly state: State,
    private readonly changed: () => void,
  ) {
    addEventListener("pagehide", (event) => {
      // A page that the browser keeps may come back.
      if (!event.persisted) navigator.sendBeacon("api/close");
      this.disconnect();
    });
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.connect();
    });
  }

  connect(): void {
    this.disconnect();
    // Other servers, and earlier ones on the same port, have other paths.
    const name = `ichnos ${location.pathname}`;
    const channel = new BroadcastChannel(name);
    this.channel = channel;
    channel.onmessage = (message) => this.hear(message.data as Heard);
    channel.postMessage({ isNew: true } satisfies Heard);
    const leaving = new AbortController();
    this.leaving = leaving;
    const { signal } = leaving;
    // The lock is released when this tab leaves.
    const hold = () =>
      new Promise<void>((release) => {
        signal.addEventListener("abort", () => release());
        if (signal.aborted) release();
        else this.listen();
      });
    // An aborted request is not an error.
    void navigator.locks.request(name, { signal }, hold).catch(() => undefined);
  }

  private disconnect(): void {
    this.leaving.abort();
    this.channel?.close();
    this.source?.close();
    this.last = null;
    clearTimeout(this.retry);
  }

  /** Listens to the server for all tabs. */
  private listen(): void {
    this.source?.close();
    const source = new EventSource("api/changes");
    this.source = source;
    source.onopen = () => this.tell({ connected: true });
    source.onmessage = (message) => this.tell((this.last = { change: message.data as string }));
    source.onerror = () => {
      this.tell({ connected: false });
      // A browser gives up after a response that is not an event stream.
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(this.retry);
      this.retry = window.setTimeout(() => this.listen(), RECONNECT);
    };
  }

  private tell(heard: Heard): void {
    this.channel?.postMessage(heard);
    this.hear(heard);
  }

  private hear({ connected, change, isNew }: Heard): void {
    if (isNew && this.last) this.channel?.postMessage(this.last);
    if (change !== undefined) this.take(change);
    if (connected === undefined) return;
    const wasLost = connected && !this.connected;
    this.connected = connected;
    if (wasLost) void this.refresh();
    this.changed();
  }

  private take(text: string): void {
    let change: Change;
    try {
      change = JSON.parse(text) as Change;
    } catch {
      return;
    }
    const { trace } = this.state;
    if (!trace) return;
    const isNew = change.generation > this.state.generation || change.state !== trace.state;
    this.state.generation = Math.max(this.state.generation, change.generation);
    const { state, progress, events } = change;
    this.update({ ...trace, state, progress, events, begin: change.begin ?? trace.begin, end: change.end ?? trace.end });
    if (isNew && !this.timer) {
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        void this.refresh();
      }, REST);
    }
  }

  /** Applies new trace data. A view that shows the whole trace or follows its end moves along. */
  private update(trace: Trace): void {
    const { state } = this;
    const before = state.extent;
    const wasEmpty = state.isEmpty;
    const { view } = state;
    const showedAll = view.begin <= before.begin && view.end >= before.end;
    state.setTrace(trace);
    const after = state.extent;
    if (wasEmpty || (after.end === before.end && after.begin === before.begin)) return;
    if (state.follow) {
      const width = view.end - view.begin;
      state.setView(after.end - width * 0.95, after.end + width * 0.05);
    } else if (showedAll) state.fit(after);
  }

  private async refresh(): Promise<void> {
    const request = ++this.requests;
    try {
      const [trace, list] = await Promise.all([
        get<Trace>("trace"),
        get<{ generation: number; tracks: Track[] | null }>("tracks", { after: this.asked }),
      ]);
      // A late answer knows less.
      if (request < this.answered) return;
      this.answered = request;
      this.asked = list.generation;
      this.update(trace);
      if (list.tracks) this.state.setTracks(list.tracks);
      else this.state.emit("layout");
    } catch {
      // The stream of changes reports that the server is gone.
    }
  }
}
