// A generated trace, the same each time: what the mock server answers from.

export const NAMES = [
  "read",
  "write",
  "sched_switch",
  "handle_request",
  "parse",
  "query",
  "render",
  "a_function_with_a_name_of_40_characters_",
  "שלום עולם",
  "مرحبا بالعالم",
  "<script>window.__hacked=1</script>",
  "<img src=x onerror=window.__hacked=1>",
  "wait",
  "tick",
  "log:message",
  "lost events",
];
/** Numbers of the names of states, which come after those of events. */
const STATES = ["running", "runnable", "sleeping"].map((state) => NAMES.push(state) - 1);
const ORIGIN = 1_700_000_000_000_000_000n;
const LENGTH = 2_000_000_000;

/** Random numbers from 0 to 1 (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function nested(rand, items, begin, end, lane, depth) {
  let at = begin;
  while (at < end) {
    const length = Math.round(((end - begin) / (2 + 9 * rand())) * (0.3 + rand()));
    const to = Math.min(at + length, end);
    if (to - at < 40) break;
    items.push({ lane, from: at, to, name: Math.floor(rand() * 13) });
    if (depth > 1 && rand() < 0.8) nested(rand, items, at + 5, to - 5, lane + 1, depth - 1);
    at = to + Math.round(length * 0.3 * rand()) + 1;
  }
}

/** Trace with `tracks` threads beside the usual ones, a second trace from `second` ns on, and what two processors ran. */
export function makeTrace({ tracks: many = 0, empty = false, second = 0, scheduling = false } = {}) {
  const trace = { origin: ORIGIN, length: LENGTH, tracks: [], items: new Map(), states: new Map(), counters: new Map(), rows: [], longestSpans: [] };
  if (empty) return trace;
  const rand = random(37);
  let id = 0;
  const add = (parent, kind, name, extra = {}) => {
    id += 1;
    trace.tracks.push({ id, parent, kind, name, lanes: 0, items: 0, unit: null, minimum: null, maximum: null, ...extra });
    return id;
  };
  const fill = (track, items) => {
    const it = trace.tracks.find((one) => one.id === track);
    trace.items.set(track, items.sort((a, b) => a.lane - b.lane || a.from - b.from));
    it.items = items.length;
    it.begin = String(ORIGIN + BigInt(Math.min(...items.map((item) => item.from))));
    it.lanes = Math.max(1, ...items.map((item) => item.lane + 1));
  };
  const root = add(null, "trace", "demo");
  const processes = ["server (1200)", "שרת נתונים (1300)", "<b>worker</b> (1400)"];
  processes.forEach((name, p) => {
    const process = add(root, "process", name);
    for (let t = 0; t < 4; t++) {
      const items = [];
      nested(rand, items, Math.round(rand() * 2e7), LENGTH - Math.round(rand() * 2e7), 0, 2 + ((p + t) % 4));
      const title = t === 3 ? "a-thread-with-a-very-long-name-of-40-let" : `thread-${t}`;
      fill(add(process, "thread", `${title} (${1200 + 100 * p + t})`), items);
    }
    const instants = Array.from({ length: 300 }, () => {
      const from = Math.round(rand() * LENGTH);
      return { lane: 0, from, to: from, name: 13 + Math.floor(rand() * 2) };
    });
    fill(add(process, "stream", `channel0_${p}`), instants);
    counter(trace, add(process, "counter", "memory", { unit: "bytes", items: 500 }), rand, p);
  });
  const losses = Array.from({ length: 3 }, (_, i) => ({ lane: 0, from: (i + 1) * 4e8, to: (i + 1) * 4e8 + 3e7 * (i + 1), name: 15 }));
  fill(add(root, "losses", "Losses and damage"), losses);
  for (let i = 0; i < many; i++) {
    const items = [];
    nested(rand, items, Math.round(rand() * 1e8), LENGTH, 0, 1);
    fill(add(root, "thread", `task ${i}`), items);
  }
  if (scheduling) schedule(trace, rand, root, add);
  if (second) fill(add(add(null, "trace", "second"), "thread", "thread-0 (1)"), [{ lane: 0, from: second, to: second + 1e6, name: 0 }]);
  makeRows(trace);
  return trace;
}

/** Two processors that run the threads in turns, and the states of these threads. They have no events. */
function schedule(trace, rand, root, add) {
  const threads = trace.tracks.filter((track) => track.kind === "thread");
  const names = new Map(threads.map((thread) => [thread.id, NAMES.includes(thread.name) ? NAMES.indexOf(thread.name) : NAMES.push(thread.name) - 1]));
  const ran = new Map(threads.map((thread) => [thread.id, []]));
  for (const processor of [0, 1]) {
    const own = threads.filter((_, i) => i % 2 === processor);
    const slices = [];
    for (let at = 0; at < LENGTH; ) {
      const thread = own[Math.floor(rand() * own.length)].id;
      const to = Math.min(at + Math.round(2e5 + rand() * 8e6), LENGTH);
      slices.push({ lane: 0, from: at, to, name: names.get(thread) });
      ran.get(thread).push({ from: at, to, processor });
      at = to + (rand() < 0.2 ? Math.round(rand() * 1e7) : 0);
    }
    const id = add(root, "processor", `cpu ${processor} threads`, { runsThreads: true, lanes: 1, items: slices.length });
    trace.states.set(id, slices);
  }
  for (const [thread, slices] of ran) {
    const states = [];
    let before = 0;
    for (const { from, to } of slices) {
      const woken = from - Math.min(1e6, Math.round((from - before) / 4));
      if (woken > before) states.push({ lane: 0, from: before, to: woken, name: STATES[2] });
      if (from > woken) states.push({ lane: 0, from: woken, to: from, name: STATES[1] });
      states.push({ lane: 0, from, to, name: STATES[0] });
      before = to;
    }
    const running = slices.reduce((sum, { from, to }) => sum + to - from, 0);
    trace.states.set(add(thread, "states", "states", { lanes: 1, items: states.length, running }), states);
  }
}

function counter(trace, track, rand, p) {
  let value = 1e6;
  const points = Array.from({ length: 500 }, (_, i) => {
    value = Math.max(0, value + (rand() - 0.48) * 2e5);
    return { time: Math.round((i * LENGTH) / 500) + p, value };
  });
  trace.counters.set(track, points);
  const it = trace.tracks.find((one) => one.id === track);
  it.minimum = Math.min(...points.map((point) => point.value));
  it.maximum = Math.max(...points.map((point) => point.value));
}

/** Events: one at the begin of each item, and one at the end of each span. */
function makeRows(trace) {
  const rows = [];
  for (const [track, items] of trace.items) {
    items.forEach((item, n) => {
      const isSpan = item.to > item.from;
      rows.push({ time: item.from, track, item, n, what: isSpan ? "begin" : "instant" });
      if (isSpan) rows.push({ time: item.to, track, item, n, what: "end" });
    });
  }
  rows.sort((a, b) => a.time - b.time || a.track - b.track || a.n - b.n);
  rows.forEach((row, i) => (row.index = i));
  trace.rows = rows;
  trace.longestSpans = rows.filter((row) => row.what === "begin").sort((a, b) => b.item.to - b.item.from - (a.item.to - a.item.from));
}

/** Items of a track in a range, at most one a pixel and lane but for longer ones. */
export function tile(items, begin, end, pixels, accepts) {
  const bin = (end - begin) / pixels;
  const found = [];
  let summary = null;
  const flush = () => {
    if (summary) found.push([summary.lane, summary.from, summary.to, summary.count, summary.name, summary.longest]);
    summary = null;
  };
  for (const item of items) {
    if (item.to < begin || item.from > end || !accepts(item)) continue;
    const at = Math.floor((item.from - begin) / bin);
    const length = item.to - item.from;
    if (summary && summary.lane === item.lane && summary.at === at && length < bin) {
      summary.to = Math.max(summary.to, item.to);
      summary.count += 1;
      if (length > summary.longest) Object.assign(summary, { longest: length, name: item.name });
      continue;
    }
    flush();
    if (length >= bin) found.push([item.lane, item.from, item.to, 1, item.name, length]);
    else summary = { at, lane: item.lane, from: item.from, to: item.to, count: 1, name: item.name, longest: length };
  }
  flush();
  return found.flatMap(([lane, from, to, ...rest]) => [lane, from - begin, to - begin, ...rest]);
}

export function counterTile(points, begin, end, pixels) {
  const bin = (end - begin) / pixels;
  const out = [];
  let last = null;
  points.forEach((point, i) => {
    const until = points[i + 1]?.time ?? LENGTH;
    if (until < begin || point.time > end) return;
    const at = Math.floor((point.time - begin) / bin);
    if (last && last.at === at) {
      last.to = until;
      last.min = Math.min(last.min, point.value);
      last.max = Math.max(last.max, point.value);
      last.value = point.value;
      last.count += 1;
    } else {
      last = { at, from: point.time, to: until, min: point.value, max: point.value, value: point.value, count: 1 };
      out.push(last);
    }
  });
  return out.flatMap((one) => [one.from - begin, one.to - begin, one.min, one.max, one.value, one.count]);
}
