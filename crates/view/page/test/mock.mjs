// A server with the API of `ichnos view`, for tests of the page alone: node test/mock.mjs [PORT]
// Answers come from a generated trace. Options: tracks (further ones), scheduling, empty, errors, live, loading.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { counterTile, makeTrace, NAMES, tile } from "./trace.mjs";

const DIST = new URL("../../dist/", import.meta.url);
const TOKEN = "0123456789abcdef0123456789abcdef";
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join("; ");

/** Answers that take long. New pages ask for the same ones. */
const SLOW = new Set(["longest", "stacks", "stats"]);

class Problem extends Error {
  constructor(status, message, at, length, help) {
    super(message);
    Object.assign(this, { status, at, length, help });
  }
}

export async function startMock(options = {}, port = 0) {
  const trace = makeTrace(options);
  const mock = { trace, options, generation: 1, shown: options.live ? 0.5 : 1, clients: new Set(), requests: [], asked: new Set(), bodies: new Map() };
  const server = createServer((request, response) => void serve(mock, request, response));
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  mock.url = `http://127.0.0.1:${server.address().port}/${TOKEN}/`;
  mock.close = () => {
    for (const client of mock.clients) client.destroy();
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  /** Lets a live trace grow. */
  mock.grow = (shown) => {
    mock.shown = shown;
    mock.generation += 1;
    mock.bodies.clear();
    for (const client of mock.clients) client.write(`data: ${JSON.stringify(change(mock))}\n\n`);
  };
  return mock;
}

async function serve(mock, request, response) {
  const url = new URL(request.url, mock.url);
  mock.requests.push(url.pathname + url.search);
  const path = url.pathname.startsWith(`/${TOKEN}/`) ? url.pathname.slice(TOKEN.length + 2) : null;
  response.setHeader("Content-Security-Policy", POLICY);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cache-Control", "no-store");
  if (path === null) return response.writeHead(403).end();
  if (!path.startsWith("api/")) return file(path || "index.html", response);
  const name = path.slice(4);
  if (name === "changes") return changes(mock, response);
  if (name === "close") return response.writeHead(204).end();
  if (name === "export") return download(mock, url.searchParams, response);
  try {
    const answer = ANSWERS[name];
    if (!answer) throw new Problem(404, `unknown address api/${name}`);
    if (mock.options.errors && !["trace", "tracks", "names"].includes(name)) throw new Problem(500, "channel0_0: byte 4096: packet ends after 288 of 1056 bits");
    let body = mock.bodies.get(request.url);
    if (body === undefined) {
      // Integers beyond 53 bits, which JavaScript cannot hold as numbers.
      body = JSON.stringify(answer(mock, url.searchParams)).replaceAll(/"@integer:(-?\d+)"/g, "$1");
      if (SLOW.has(name)) mock.bodies.set(request.url, body);
    }
    response.writeHead(200, { "Content-Type": "application/json" }).end(body);
  } catch (error) {
    const { status = 500, message, at, length, help } = error;
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ error: message, at, length, help }));
  }
}

async function file(name, response) {
  if (!["index.html", "app.js", "app.css"].includes(name)) return response.writeHead(404).end();
  const text = await readFile(new URL(name, DIST));
  response.writeHead(200, { "Content-Type": TYPES[name.split(".").pop()] }).end(text);
}

function changes(mock, response) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  // Browsers try again after three seconds by themselves.
  response.write("retry: 300\n");
  response.write(`data: ${JSON.stringify(change(mock))}\n\n`);
  mock.clients.add(response);
  response.on("close", () => mock.clients.delete(response));
}

function change(mock) {
  const { state, progress, generation, events, begin, end } = ANSWERS.trace(mock);
  return { state, progress, generation, events, begin, end };
}

const absolute = (mock, time) => (mock.trace.origin + BigInt(Math.round(time))).toString();

function relative(mock, parameters, name) {
  const text = parameters.get(name);
  if (text === null || !/^-?\d+$/.test(text)) throw new Problem(400, `parameter ${name} is missing or invalid`);
  return Number(BigInt(text) - mock.trace.origin);
}

function range(mock, parameters) {
  return [relative(mock, parameters, "begin"), relative(mock, parameters, "end")];
}

function commandOf(verb, parameters) {
  return `ichnos ${verb} --begin @${parameters.get("begin")} --end @${parameters.get("end")} 'traces/demo trace'`;
}

/** The only expressions that the mock knows: `event == "NAME"`, `length > NS`. */
function filterOf(parameters) {
  const text = parameters.get("filter");
  if (!text) return () => true;
  let found = /^event == "(.*)"$/.exec(text);
  if (found) return (item) => NAMES[item.name] === found[1];
  found = /^length > (\d+)$/.exec(text);
  if (found) return (item) => item.to - item.from > Number(found[1]);
  const word = /[\w.]+/.exec(text);
  throw new Problem(400, `unknown name \`${word?.[0] ?? text}\``, word?.index ?? 0, word?.[0].length ?? 1, "did you mean `length`?");
}

function rowOf(mock, row) {
  return {
    id: `${row.track}:${row.index}:0`,
    time: absolute(mock, row.time),
    stream: `channel0_${row.track % 4}`,
    name: NAMES[row.item.name],
    track: row.track,
    text: `what = "${row.what}", number = ${row.n}, name = "${NAMES[row.item.name]}"`,
  };
}

/** Event of a task. */
function eventOf(mock, row) {
  return { event: row ? rowOf(mock, row).id : null, track: row?.track ?? null, eventTime: row ? absolute(mock, row.time) : null };
}

function rowById(mock, id) {
  const row = mock.trace.rows[Number(/^\d+:(\d+):0$/.exec(id ?? "")?.[1] ?? NaN)];
  if (!row) throw new Problem(404, `no event with the id ${id}`);
  return row;
}

function rows(mock, parameters, accepts) {
  const [begin, end] = range(mock, parameters);
  const filter = filterOf(parameters);
  const track = parameters.get("track");
  const limit = Math.min(Number(parameters.get("limit") ?? 200), 10_000);
  const from = Number(parameters.get("after") ?? 0);
  const found = [];
  let next = null;
  for (let i = from; i < mock.trace.rows.length; i++) {
    const row = mock.trace.rows[i];
    if (row.time < begin || row.time > end || !filter(row.item) || !accepts(row)) continue;
    if (track !== null && row.track !== Number(track)) continue;
    if (found.length === limit) {
      next = String(i);
      break;
    }
    found.push(row);
  }
  return { found, next, scanned: found.length };
}

const ANSWERS = {
  trace(mock) {
    const { trace, options } = mock;
    const isEmpty = !trace.tracks.length;
    return {
      title: "demo trace",
      version: "0.1.0",
      paths: ["traces/demo trace"],
      state: options.live ? "live" : options.loading ? "loading" : options.failed ? "failed" : "done",
      progress: options.loading ? 0.42 : null,
      generation: mock.generation,
      begin: isEmpty ? null : absolute(mock, 0),
      end: isEmpty ? null : absolute(mock, trace.length * mock.shown),
      hasDates: true,
      zone: "UTC",
      events: Math.round(trace.rows.length * mock.shown),
      discardedEvents: isEmpty ? 0 : 6,
      discardedPackets: 0,
      damages: isEmpty ? 0 : 1,
      traces: [{ name: "demo", format: "ctf", dialect: "CTF 1.8", tracer: "lttng-ust 2.13" }],
      warnings: isEmpty ? [] : ["demo: stream 3: <b>byte 1234</b>: packet ends after 288 of 1056 bits"],
      tracks: trace.tracks.length,
      names: NAMES.length,
      command: "ichnos info 'traces/demo trace'",
      error: options.failed ? "traces/demo trace: unrecognized format" : null,
    };
  },
  filled(mock, parameters) {
    const filter = filterOf(parameters);
    // At first, not all events were read.
    if (!mock.asked.has(parameters.get("filter"))) {
      mock.asked.add(parameters.get("filter"));
      return { complete: false, tracks: [] };
    }
    return { complete: true, tracks: [...mock.trace.items].filter(([, items]) => items.some(filter)).map(([id]) => id) };
  },
  tracks: (mock) => ({ generation: mock.generation, tracks: mock.trace.tracks }),
  names(mock, parameters) {
    const from = Number(parameters.get("from") ?? 0);
    return { names: NAMES.slice(from), from, total: NAMES.length };
  },
  tiles(mock, parameters) {
    const [begin, end] = range(mock, parameters);
    const pixels = Number(parameters.get("pixels"));
    const ids = parameters.get("tracks").split(",").map(Number);
    if (!(pixels >= 1 && pixels <= 8192) || ids.length > 256) throw new Problem(400, "parameter pixels is out of range");
    const filter = filterOf(parameters);
    const last = mock.trace.length * mock.shown;
    const tracks = ids.map((id) => {
      const points = mock.trace.counters.get(id);
      if (points) return { id, counter: counterTile(points, begin, Math.min(end, last), pixels) };
      const items = tile(mock.trace.items.get(id) ?? mock.trace.states.get(id) ?? [], begin, end, pixels, (item) => item.from <= last && filter(item));
      // Threads of several programs in a pixel.
      if (mock.trace.tracks.find((track) => track.id === id)?.runsThreads) for (let i = 0; i < items.length; i += 6) if (items[i + 3] > 1) items[i + 4] = 0;
      return { id, items };
    });
    return { generation: mock.generation, begin: absolute(mock, begin), end: absolute(mock, end), exact: true, tracks };
  },
  events(mock, parameters) {
    const { found, next, scanned } = rows(mock, parameters, () => true);
    return { rows: found.map((row) => rowOf(mock, row)), next, scanned, command: commandOf("cat", parameters) };
  },
  log(mock, parameters) {
    const { found, next, scanned } = rows(mock, parameters, (row) => row.item.name === 14);
    const levels = ["INFO", "WARN", "ERROR", "DEBUG"];
    return { rows: found.map((row) => ({ ...rowOf(mock, row), severity: levels[row.n % 4], text: `request ${row.n} of שלום <i>done</i>` })), next, scanned, command: commandOf("cat -f log", parameters) };
  },
  command: (mock, parameters) => ({ command: commandOf(parameters.get("verb"), parameters) }),
  near(mock, parameters) {
    const track = Number(parameters.get("track"));
    const time = relative(mock, parameters, "time");
    const tolerance = Number(parameters.get("tolerance") ?? 0);
    const name = parameters.get("name");
    const own = mock.trace.rows.filter((row) => row.track === track && (name === null || row.item.name === Number(name)));
    const direction = parameters.get("direction");
    const left = own.findIndex((row) => rowOf(mock, row).id === parameters.get("event"));
    let found = null;
    if (left >= 0 && direction !== "at") found = own[direction === "next" ? left + 1 : left - 1];
    else if (direction === "next") found = own.find((row) => row.time > time);
    else if (direction === "previous") found = own.findLast((row) => row.time < time);
    else found = own.filter((row) => Math.abs(row.time - time) <= tolerance).sort((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time))[0];
    return found ? rowOf(mock, found) : null;
  },
  event(mock, parameters) {
    const row = rowById(mock, parameters.get("id"));
    const { item } = row;
    const partner = mock.trace.rows.find((other) => other.track === row.track && other.n === row.n && other !== row);
    const id = (other) => (other ? `${other.track}:${other.index}:0` : null);
    const isSpan = item.to > item.from;
    const plain = rowOf(mock, row);
    const spans = isSpan ? { begin: id(row.what === "begin" ? row : partner), end: id(row.what === "end" ? row : partner), length: item.to - item.from, ran: (item.to - item.from) / 4 } : null;
    const other = mock.trace.rows[(row.index + 7) % mock.trace.rows.length];
    return {
      ...plain,
      format: "ctf",
      position: { file: "demo/channel0_0", offset: 4096 + 32 * row.index, bit: row.index % 8 },
      command: `ichnos cat -f jsonl --begin @${plain.time} --end @${plain.time} 'traces/demo trace'`,
      line: {
        time: plain.time,
        event: plain.name,
        payload: { number: row.n, large: "@integer:-9223372036854775807", ratio: 0.25, what: row.what, names: ["a", "<script>window.__hacked=1</script>"], nested: { flag: true, none: null, text: "مرحبا" } },
        stacks: { callstack: [{ address: 4096, symbol: "inner<int>", offset: 16, module: "libdemo.so" }, { address: 8192 }] },
        context: { vpid: 1200, vtid: 1200 + row.track, procname: "server" },
      },
      text: `[22:13:20.000000000] ${plain.name}: { ${plain.text} }`,
      spans,
      causes: [{ id: id(other), kind: "parent", name: NAMES[other.item.name], time: absolute(mock, other.time), track: other.track }],
      effects: row.index % 3 ? [] : [{ id: id(other), kind: "related", name: NAMES[other.item.name], time: absolute(mock, other.time), track: other.track }],
    };
  },
  check(mock, parameters) {
    filterOf(parameters);
    const name = /^event == "(.*)"$/.exec(parameters.get("filter"))?.[1];
    const warnings = name === undefined || NAMES.includes(name) ? [] : [{ text: `no event record class is called \`${name}\``, help: "did you mean `read`?" }];
    return { ok: true, warnings };
  },
  completions(mock, parameters) {
    const text = parameters.get("filter") ?? "";
    const at = Number(parameters.get("at") ?? text.length);
    const word = /[\w.:"]*$/.exec(text.slice(0, at))[0];
    const fields = ["event", "length", "payload.number", "payload.what", "ctx.vtid"].map((name) => ({ text: name, kind: "field" }));
    const events = NAMES.slice(0, 6).map((name) => ({ text: `"${name}"`, kind: "event" }));
    const operators = ["==", "!=", ">"].map((name) => ({ text: name, kind: "operator" }));
    return { from: at - word.length, items: [...fields, ...events, ...operators].filter((item) => item.text.startsWith(word)) };
  },
  search(mock, parameters) {
    const text = parameters.get("q").toLowerCase();
    const found = mock.trace.rows.filter((row) => row.what !== "end" && NAMES[row.item.name].toLowerCase().includes(text));
    const bins = Array(100).fill(0);
    for (const row of found) bins[Math.min(99, Math.floor((100 * row.time) / mock.trace.length))] += 1;
    const hits = found.slice(0, Number(parameters.get("limit") ?? 1000)).map((row) => {
      const { id, time, name, track } = rowOf(mock, row);
      return { id, time, name, track };
    });
    return { total: found.length, complete: true, hits, bins };
  },
  longest(mock, parameters) {
    const [begin, end] = range(mock, parameters);
    const filter = filterOf(parameters);
    const longest = [];
    for (const span of mock.trace.longestSpans) {
      if (span.item.to < begin || span.item.from > end || !filter(span.item)) continue;
      if (longest.push(span) === 100) break;
    }
    const spans = longest.map(({ track, item: { from, to, name } }) => ({ name: NAMES[name], track, begin: absolute(mock, from), length: to - from, count: 1 }));
    return { spans, complete: true };
  },
  waits: () => ({ waits: [] }),
  thread(mock, parameters) {
    const thread = threadOf(mock, parameters);
    if (!thread) return null;
    const time = relative(mock, parameters, "time");
    const known = statesOf(mock, thread.id).filter((item) => item.from <= time).slice(-4).reverse();
    const other = mock.trace.tracks.find((track) => track.kind === "thread" && track.id !== thread.id);
    const states = known.map((item) => ({
      state: NAMES[item.name],
      begin: absolute(mock, item.from),
      end: absolute(mock, item.to),
      ...(NAMES[item.name] === "sleeping" && { waitsIn: "read", endedBy: { thread: other.id, track: other.id, name: other.name } }),
    }));
    const processor = mock.trace.tracks.find((track) => mock.trace.states.get(track.id)?.some((item) => item.from === known[0]?.from && NAMES[item.name] === thread.name));
    const woke = [{ name: other.name, time: absolute(mock, time), states: statesTrack(mock, other.id).id }];
    return { thread: thread.id, track: thread.id, name: thread.name, priority: 20, processor: processor?.id, woke, states };
  },
  path(mock, parameters) {
    const thread = threadOf(mock, parameters);
    const [begin, end] = range(mock, parameters);
    const others = mock.trace.tracks.filter((track) => track.kind === "thread");
    const own = Math.max(others.indexOf(thread), 0);
    const steps = Array.from({ length: 6 }, (_, i) => ({
      thread: i,
      track: others[(own + i * 3) % others.length].id,
      name: others[(own + i * 3) % others.length].name,
      state: i % 3 === 1 ? "sleeping" : "running",
      begin: absolute(mock, begin + ((end - begin) * i) / 6),
      end: absolute(mock, begin + ((end - begin) * (i + 1)) / 6),
      ...(i % 3 === 1 && { waitsIn: "read", endedBy: { interrupt: "timer" } }),
    }));
    return { total: steps.length, complete: true, command: "ichnos threads --path 1201 'traces/demo trace'", steps };
  },
  stats(mock, parameters) {
    const [begin, end] = range(mock, parameters);
    const filter = filterOf(parameters);
    const isInside = ({ time, item }) => time >= begin && time <= end && filter(item);
    const inside = mock.trace.rows.filter(isInside);
    const counts = new Map();
    for (const { item } of inside) counts.set(item.name, (counts.get(item.name) ?? 0) + 1);
    const seconds = (end - begin) / 1e9;
    const classes = [...counts].map(([name, count]) => ({ name: NAMES[name], count, perSecond: count / seconds })).sort((a, b) => b.count - a.count);
    const lengthsByName = new Map([...counts.keys()].map((name) => [name, []]));
    for (const { item } of mock.trace.longestSpans) if (isInside({ time: item.from, item })) lengthsByName.get(item.name).push(item.to - item.from);
    const spans = [...lengthsByName].flatMap(([name, lengths]) => {
      if (!lengths.length) return [];
      // The longest is the first.
      const at = (part) => lengths[lengths.length - 1 - Math.min(lengths.length - 1, Math.floor(part * lengths.length))];
      const total = lengths.reduce((a, b) => a + b, 0);
      return [{ name: NAMES[name], count: lengths.length, total, minimum: lengths.at(-1), median: at(0.5), p90: at(0.9), p99: at(0.99), maximum: lengths[0] }];
    });
    const gaps = inside.slice(1).map((row, i) => ({ row: inside[i], length: row.time - inside[i].time }));
    const largest = gaps.sort((a, b) => b.length - a.length).slice(0, 10).map(({ row, length }) => ({ begin: absolute(mock, row.time), length }));
    return { events: inside.length, command: "ichnos stats 'traces/demo trace' --latencies", classes, spans, histogram: histogram([...lengthsByName.values()]), gaps: largest };
  },
  stacks(mock, parameters) {
    const [begin, end] = range(mock, parameters);
    const root = { name: "all", value: 0, children: [] };
    for (const [, items] of mock.trace.items) {
      const path = [];
      const spans = items.filter((item) => item.to > item.from && item.to >= begin && item.from <= end).sort((a, b) => a.from - b.from || a.lane - b.lane);
      for (const item of spans.slice(0, 3000)) {
        path.length = item.lane;
        let node = root;
        for (const name of [...path.filter((one) => one !== undefined), item.name]) {
          let child = node.children.find((one) => one.name === NAMES[name]);
          if (!child) node.children.push((child = { name: NAMES[name], value: 0, children: [] }));
          node = child;
        }
        node.value += item.to - item.from;
        path[item.lane] = item.name;
      }
    }
    const settle = (node) => {
      const inner = node.children.reduce((sum, child) => sum + settle(child), 0);
      return (node.value = Math.max(node.value, inner));
    };
    settle(root);
    return { command: "ichnos stacks 'traces/demo trace' --spans", root, samples: 1234, dropped: 3, unit: "ns" };
  },
  tasks(mock) {
    const tasks = Array.from({ length: 12 }, (_, i) => ({
      id: `7a00${i.toString(16).padStart(12, "0")}`,
      name: i % 4 ? `GET /orders/${i}` : NAMES[10],
      begin: absolute(mock, i * 1e8),
      length: 3e7 + i * 1e6,
      operations: 14,
      command: `ichnos task show 7a00${i.toString(16).padStart(12, "0")} 'traces/demo trace'`,
    }));
    return { command: "ichnos task list 'traces/demo trace'", complete: true, total: tasks.length, tasks };
  },
  task(mock, parameters) {
    const first = Number.parseInt(parameters.get("id").slice(4), 16) * 1e8;
    const events = mock.trace.rows.filter((row) => row.time >= first);
    const nodes = Array.from({ length: 14 }, (_, i) => ({
      id: `n${i}`,
      label: NAMES[i % 12],
      place: `host-${i % 3}`,
      begin: absolute(mock, first + i * 2e6),
      end: absolute(mock, first + i * 2e6 + 5e6),
      events: 2,
      ...eventOf(mock, i % 5 === 4 ? undefined : events[i]),
    }));
    const edges = nodes.slice(1).map((_, i) => [i >> 1, i + 1, "parent"]);
    const path = [0, 1, 3, 7];
    const steps = path.map((n) => ({ id: `n${n}`, label: NAMES[n], place: "host-0", begin_ns: 0, time_ns: 2e6 * n }));
    const command = `ichnos task show ${parameters.get("id")} 'traces/demo trace'`;
    const joined = [{ node: 0, label: NAMES[events[3].item.name], place: "host-1", time: absolute(mock, events[3].time), ...eventOf(mock, events[3]) }];
    const clocks = [{ machine: "host-2", offset: -1_250_000 }];
    return { id: parameters.get("id"), command, total: 14, joined, clocks, nodes, edges, dangling: 1, path, criticalPath: { time_ns: 1.4e7, steps } };
  },
  flows(mock, parameters) {
    const [begin, end] = range(mock, parameters);
    const tracks = (parameters.get("tracks")?.split(",").map(Number) ?? mock.trace.tracks.map((track) => track.id)).filter((id) => mock.trace.items.get(id)?.[0]?.to > mock.trace.items.get(id)?.[0]?.from);
    if (tracks.length < 2) return { generation: mock.generation, flows: [], complete: true };
    const flows = Array.from({ length: 5 }, (_, i) => [tracks[i % 2], 3e8 * (i + 1) - begin, tracks[1 - (i % 2)], 3e8 * (i + 1) + 6e7 - begin]);
    return { generation: mock.generation, flows: flows.filter(([, from, , to]) => to >= 0 && from <= end - begin).flat(), complete: true };
  },
};

function statesTrack(mock, thread) {
  return mock.trace.tracks.find((track) => track.kind === "states" && track.parent === thread);
}

function statesOf(mock, thread) {
  return mock.trace.states.get(statesTrack(mock, thread)?.id) ?? [];
}

/** Thread that a request names by its track, by that of its states, or by a processor and its name. */
function threadOf(mock, parameters) {
  const track = mock.trace.tracks.find((one) => one.id === Number(parameters.get("track")));
  const byName = (name) => mock.trace.tracks.find((one) => one.kind === "thread" && one.name === name);
  if (track?.kind === "states") return mock.trace.tracks.find((one) => one.id === track.parent);
  return track?.runsThreads ? byName(NAMES[Number(parameters.get("name"))]) : track;
}

/** Counts of lengths, as the server counts them. In each group, the longest is the first. */
function histogram(groups) {
  const longest = Math.max(0, ...groups.map(([length = 0]) => length));
  if (!longest) return null;
  const bounds = [];
  for (let bound = 1000; bound < longest * 2; bound *= 2) bounds.push(bound);
  const counts = Array(bounds.length - 1).fill(0);
  for (const length of groups.flat()) {
    const bin = Math.floor(Math.log2(length / 1000));
    if (bin in counts) counts[bin] += 1;
  }
  return { name: "span lengths", bounds, counts };
}

function download(mock, parameters, response) {
  const kind = parameters.get("kind");
  const { found } = rows(mock, parameters, () => true);
  const text = found.map((row) => `${absolute(mock, row.time)},${NAMES[row.item.name]}`).join("\n");
  response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="demo.${kind === "trace" ? "tar" : kind}"` });
  response.end(text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flags = Object.fromEntries(process.argv.slice(3).map((flag) => flag.split("=")).map(([name, value]) => [name, value === undefined ? true : Number(value)]));
  const mock = await startMock(flags, Number(process.argv[2] ?? 0));
  console.log(mock.url);
}
