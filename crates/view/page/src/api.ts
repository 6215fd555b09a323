// The API of `ichnos view` (docs/view-api.md). All addresses are relative to the page.

import { isSaved, savedAnswer } from "./saved";

/** Time in API responses: nanoseconds since the clock origin, decimal. */
export type TimeText = string;

export interface Trace {
  title: string;
  version: string;
  paths: string[];
  state: "loading" | "live" | "done" | "failed";
  progress: number | null;
  generation: number;
  begin: TimeText | null;
  end: TimeText | null;
  hasDates: boolean;
  zone: string;
  events: number;
  discardedEvents: number;
  discardedPackets: number;
  damages: number;
  traces: { name: string; format: string; dialect?: string | null; tracer?: string | null }[];
  warnings: string[];
  tracks: number;
  names: number;
  command: string;
  error?: string | null;
}

export type TrackKind = "trace" | "process" | "thread" | "processor" | "stream" | "spans" | "states" | "runs" | "path" | "counter" | "losses";

export interface Track {
  id: number;
  parent: number | null;
  kind: TrackKind;
  name: string;
  lanes: number;
  items: number;
  /** Time of the first item. */
  begin?: TimeText | null;
  /** True for the track of threads that a processor runs. */
  runsThreads?: boolean;
  /** Running time of the thread of a state track, in nanoseconds. */
  running?: number;
  unit: string | null;
  minimum: number | null;
  maximum: number | null;
}

export interface TileTrack {
  id: number;
  /** Six numbers per item: lane, from, to, count, name, longest. */
  items?: number[];
  /** Six numbers per item: from, to, minimum, maximum, last, count. */
  counter?: number[];
}

export interface Tiles {
  generation: number;
  begin: TimeText;
  end: TimeText;
  exact: boolean;
  tracks: TileTrack[];
}

/** Tracks with items that pass a filter. */
export interface FilledTracks {
  /** False until all events were read. */
  complete: boolean;
  tracks: number[];
}

export interface NamesAnswer {
  names: string[];
  /** Colors from event maps, by name number. */
  colors?: Record<string, string>;
  from: number;
  total: number;
}

export interface Row {
  id: string;
  time: TimeText;
  stream: string;
  name: string;
  track: number | null;
  text: string;
  severity?: string | null;
}

export interface Rows {
  rows: Row[];
  next: string | null;
  scanned: number;
  command: string;
}

export interface Link {
  id: string;
  kind: string;
  name?: string;
  time?: TimeText;
}

/** Frame of a call stack in the line of an event. */
export interface StackFrame {
  module?: string;
  symbol?: string;
  offset?: number | bigint;
  address?: number | bigint;
}

export interface EventDetails {
  id: string;
  time: TimeText;
  stream: string;
  name: string;
  track: number | null;
  format: string;
  /** Offset in bytes, and the bit in that byte. */
  position: { file: string; offset: number; bit: number } | null;
  command: string;
  line: unknown;
  text: string;
  /** Name on the timeline, or the name of the span that the event ends. */
  label: string;
  /** `ran`: running time of the span's thread. */
  spans: { begin: string | null; end: string | null; length: number | bigint | null; ran?: number | bigint } | null;
  causes: Link[];
  effects: Link[];
}

export interface Completion {
  text: string;
  kind: "field" | "event" | "operator" | string;
}

/** Valid expression, with its unknown names. */
export interface Check {
  warnings?: { text: string; help?: string }[];
}

export interface SearchAnswer {
  total: number;
  complete: boolean;
  hits: { id: string; time: TimeText; name: string; track: number | null }[];
  bins: number[];
}

export interface SpanStats {
  name: string;
  count: number;
  total: number;
  /** Time without the nested spans. */
  self?: number;
  minimum: number;
  median: number;
  p90: number;
  p99: number;
  maximum: number;
}

export interface Stats {
  events: number;
  /** False if the range has too many events to read for a request. */
  complete?: boolean;
  command: string;
  classes: { name: string; count: number; perSecond: number | null }[];
  spans: SpanStats[];
  histogram: { name: string; bounds: number[]; counts: number[] } | null;
  gaps: { begin: TimeText; length: number }[];
}

export interface LongestSpans {
  /** `count`: number of spans that are not separated. The length is the longest of them. */
  spans: { name: string; track: number; begin: TimeText; length: number; count: number }[];
}

/** Cause of a wakeup: a thread with its track, or an interrupt with its name. */
export interface Waker {
  interrupt?: string;
  thread?: number;
  track?: number;
  name?: string;
}

export interface ThreadState {
  state: string;
  begin: TimeText;
  end: TimeText;
  waitsIn?: string;
  endedBy?: Waker;
}

/** State of a thread at a time, followed by earlier states, the latest first. */
export interface ThreadAnswer {
  thread?: number;
  track?: number;
  name?: string;
  event?: string;
  priority?: number;
  /** Track of the processor that ran the thread. */
  processor?: number;
  /** Threads that the thread woke up in this state, with their state tracks. */
  woke?: { name?: string; states: number; time: TimeText }[];
  states: ThreadState[];
}

export interface Waits {
  waits: (Omit<ThreadState, "state"> & { states: number; track?: number; name?: string })[];
}

export interface WakeupPath {
  total: number;
  complete: boolean;
  command: string;
  steps: (ThreadState & { thread: number; track?: number; name?: string; processor?: number })[];
}

export interface Frame {
  name: string;
  value: number;
  children?: Frame[];
}

export interface Stacks {
  command: string;
  root: Frame;
  samples: number;
  spans?: number;
  complete?: boolean;
  /** False if short spans were merged. */
  exact?: boolean;
  dropped?: number;
  unit?: string;
}

export interface TaskEntry {
  id: string;
  name: string;
  begin: TimeText | null;
  length: number | null;
  operations: number;
  command: string;
}

export interface Tasks {
  command: string;
  complete: boolean;
  /** Number of tasks in the range. Only the first ones are listed. */
  total: number;
  tasks: TaskEntry[];
}

export interface TaskNode {
  id: string;
  label: string;
  place: string;
  begin: TimeText | null;
  end: TimeText | null;
  events: number;
  /** Event that names the operation, its track, and its time there without clock corrections. */
  event: string | null;
  track?: number | null;
  eventTime?: TimeText | null;
}

export interface TaskGraph {
  id: string;
  command: string;
  /** Number of operations of the task. Only the first ones are listed. */
  total: number;
  /** Causes come before their effects. */
  nodes: TaskNode[];
  /** Node numbers of cause and effect, and the kind. */
  edges: [number, number, string][];
  /** Events that joined operations, with the node numbers of the operations. */
  joined?: { node: number; label: string; place: string; time: TimeText | null; event?: string | null; track?: number | null; eventTime?: TimeText | null }[];
  /** Clock corrections in ns by machine, so that no effect precedes its cause. */
  clocks?: { machine: string; offset: number }[];
  /** Causes that are not in the traces. */
  dangling: number;
  /** Numbers of the operations on the critical path. */
  path: number[];
  criticalPath: { time_ns: number | null; steps: { label: string; id: string; time_ns: number | null }[] };
}

export interface Flows {
  generation: number;
  complete: boolean;
  /** Four numbers per flow: track and time of its start, track and time of its end. */
  flows: number[];
}

export interface Change {
  generation: number;
  state: Trace["state"];
  progress: number | null;
  events: number;
  begin: TimeText | null;
  end: TimeText | null;
}

/** Error response of the server, with the position in an expression if there is one. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly at: number | null = null,
    readonly length: number | null = null,
    /** Suggested correction. */
    readonly help: string | null = null,
  ) {
    super(message);
  }
}

type Parameters = Record<string, string | number | null | undefined>;

/** Address of a request. Parameters without a value are omitted. */
export function address(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString().replaceAll("%2C", ",");
  return `api/${path}${text ? `?${text}` : ""}`;
}

/** JSON of a request. Throws `ApiError`, or what `fetch` throws (no connection, aborted). */
export async function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  if (isSaved) return savedAnswer(path, parameters) as T;
  const answer = await fetch(address(path, parameters), signal ? { signal } : {});
  // Event fields are shown exactly. All other numbers are used for computing.
  if (answer.ok) return (path === "event" ? parseExact(await answer.text()) : await answer.json()) as T;
  throw await errorOf(answer);
}

const MARK = "\0integer:";

/** JSON whose integers of more than 53 bits become `bigint` instead of being rounded. */
export function parseExact(text: string): unknown {
  // Short answers and most long answers, such as tiles, lack such integers outside of strings.
  if (!/[:,[\s]-?\d{16}/.test(text)) return JSON.parse(text);
  const marked = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? JSON.stringify(MARK + token) : token,
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) && /^-?\d+$/.test(value.slice(MARK.length)) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** Error described by a response without success status. */
export async function errorOf(answer: Response): Promise<ApiError> {
  try {
    const body = (await answer.json()) as { error?: string; at?: number; length?: number; help?: string };
    return new ApiError(answer.status, body.error ?? `status ${answer.status}`, body.at ?? null, body.length ?? null, body.help ?? null);
  } catch {
    return new ApiError(answer.status, `the server answered with status ${answer.status}`);
  }
}

/** True for a request that the page itself aborted. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Error message for people. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) return "No answer from ichnos. Is `ichnos view` still running?";
  return error instanceof Error ? error.message : String(error);
}

/** Requests of one kind. A new request aborts the previous one. */
export class Latest {
  private controller: AbortController | null = null;

  async get<T>(path: string, parameters: Parameters = {}): Promise<T> {
    this.abort();
    const controller = new AbortController();
    this.controller = controller;
    return get<T>(path, parameters, controller.signal);
  }

  abort(): void {
    this.controller?.abort();
    this.controller = null;
  }
}
