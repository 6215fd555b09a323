#!/usr/bin/env python3
"""polars, pandas, pyarrow and DuckDB get equal answers from the same events. engines.py COMMAND [TRACES]"""
import collections
import json
import os
import tempfile

import duckdb
import polars
import pyarrow

import ichnos
from support import DOTNET, FXT, LTTNG, examples, raises

try:
    import pandas
except ImportError:
    pandas = None
    print("skipped: pandas (not installed)")


def plain(value):
    return value.item() if hasattr(value, "item") else value


def equal(found, wanted):
    """pandas makes integers floating-point numbers, if some are missing."""
    return found == wanted or isinstance(found, float) and isinstance(wanted, int) and found == float(wanted)


def same(answer, columns):
    """Reads a table with each library, and returns its rows."""
    arrow = pyarrow.table(answer).select(columns)
    rows = [tuple(row[column] for column in columns) for row in arrow.to_pylist()]
    frame = polars.DataFrame(answer).select(columns)
    assert frame.rows() == rows, (frame.rows()[:3], rows[:3])
    names = ", ".join('"%s"' % column for column in columns)
    # DuckDB finds the variable.
    assert duckdb.sql("SELECT %s FROM answer" % names).fetchall() == rows
    if pandas is not None:
        frame = pandas.DataFrame.from_arrow(answer)[columns]
        lines = [tuple(None if pandas.isna(value) else plain(value) for value in row) for row in frame.itertuples(index=False)]
        assert len(lines) == len(rows)
        for line, row in zip(lines, rows):
            assert all(map(equal, line, row)), (line, row)
    # The class of an event can lack a column.
    read = [tuple(row.get(column) for column in columns) for row in answer]
    assert read == rows, (read[:3], rows[:3])
    return rows


def events():
    for path in (LTTNG, FXT, DOTNET):
        trace = ichnos.open(path)
        rows = same(trace.events(columns=["ts", "event", "stream", "seq"]), ["ts", "event", "stream", "seq"])
        # Events are sorted by time, and the iterator has the same ones.
        times = [row[0] for row in rows if row[0] is not None]
        assert times == sorted(times)
        plain_events = [(event.ts, event.name, event.stream) for event in trace.events()]
        assert plain_events == [row[:3] for row in rows]
        unmerged = same(trace.events(merge=False, columns=["ts", "event", "stream", "seq"]), ["ts", "event", "stream", "seq"])
        assert sorted(unmerged, key=str) == sorted(rows, key=str)
        for threads in (1, 3):
            table = pyarrow.table(trace.events(merge=False, threads=threads, columns=["ts", "event", "stream", "seq"]))
            assert [tuple(row.values()) for row in table.to_pylist()] == unmerged
        # The log line and the trace.
        log = same(trace.events(columns=["ts", "level", "message", "trace"]), ["ts", "level", "message", "trace"])
        assert {row[3] for row in log} == set(trace.paths)


def threads():
    """Parts of data streams come in their order, and a stream ends with its reader."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "many")
        lines = os.path.join(directory, "many.jsonl")
        with open(lines, "w") as file:
            for number in range(150_000):
                file.write('{"ts": %d, "name": "a", "payload": {"text": "%s", "number": %d}}\n' % (number, "x" * 60, number))
        ichnos.convert(lines, path, to="ctf")
        trace = ichnos.open(path)
        one, two = (pyarrow.table(trace.events(merge=False, threads=threads)) for threads in (1, 2))
        assert one == two and one["number"].to_pylist() == list(range(150_000))
        reader = pyarrow.RecordBatchReader.from_stream(trace.events(merge=False, threads=2))
        assert reader.read_next_batch()["ts"][0].as_py() == 0
        del reader
        raises(lambda: trace.events(threads=2), "threads: one thread sorts", "merge=False")


def tables():
    frames = ichnos.open(FXT)
    spans = same(frames.spans(), ["begin_ts", "end_ts", "duration", "name", "nesting", "is_complete"])
    durations = collections.defaultdict(list)
    for span in spans:
        durations[span[3]].append(span[2])
    assert sum(durations["BuildFrame"]) == 8333333 and sum(durations["LoadImage"]) == 28333334
    stats = {row["event"]: row for row in frames.stats("event", spans=True)}
    # Statistics pair starts and ends, and leave out events with a duration of their own.
    assert set(stats) == {"BuildFrame", "LoadImage", "RenderFrame"}, stats
    for name, row in stats.items():
        assert row["count"] == len(durations[name]) and row["total"] == sum(durations[name]), name
    lttng = ichnos.open(LTTNG)
    classes = same(lttng.classes, ["event", "events"])
    counts = collections.Counter(event.name for event in lttng.events())
    assert {name: count for name, count in classes if count} == counts
    grouped = same(lttng.stats("event"), ["event", "events", "begin_ts", "end_ts"])
    assert {row[0]: row[1] for row in grouped} == counts
    assert sum(row[0] for row in same(lttng.stats(["cpu", "vpid"]), ["events"])) == sum(counts.values())
    assert sum(row[0] for row in same(lttng.stats(), ["events"])) == sum(counts.values())
    assert same(lttng.info, ["trace", "format", "stream", "packets", "clock_frequency"])[0][1] == "ctf"
    assert same(lttng.losses, ["kind", "count"]) == []
    dotnet = ichnos.open(DOTNET)
    stacks, frames = same(dotnet.stacks(), ["stack", "caller", "frame"]), same(dotnet.frames(), ["frame", "symbol"])
    symbols = dict(frames)
    top = collections.Counter(symbols[frame] for event in dotnet.events() for stack, _, frame in stacks if event.get("stack") == stack)
    assert "Hello.Mix(int32)" in top, top.most_common(3)
    proxy = ichnos.open(examples + "/hello-xtrace/proxy.reports")
    tasks = same(proxy.tasks(), ["task", "operations", "edges", "duration"])
    edges = same(proxy.edges(), ["task", "cause", "effect", "kind", "is_critical"])
    assert len(edges) == sum(task[2] for task in tasks) and any(edge[4] for edge in edges)


def texts():
    """The log line has a name of its own, for traces with a field of its usual name."""
    trace = ichnos.open(os.path.join(examples, "hello-fuchsia/boot.log"))
    names = ["message", "ichnos.message", "ichnos.level", "level", "ichnos.trace", "trace"]
    rows = same(trace.events(columns=names), names)
    assert ("slowing down to %d%% of %s", "slowing down to 40% of 2.4 GHz") in {row[:2] for row in rows}, rows
    assert all(row[2] == row[3] for row in rows) and {row[4:] for row in rows} == {(trace.paths[0],) * 2}
    assert [tuple(event[name] for name in names) for event in trace.events(columns=names)] == rows


def numbers():
    """Statistics are as exact as the command, and no column hides another."""
    payloads = [{"u": 2**64 - 1, "s": -(2**63) + 3, "r": 0.5, "count": 1}, {"u": 2**63 + 1, "s": 2**63 - 1, "r": 2, "count": 2}]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "numbers.jsonl")
        with open(path, "w") as file:
            for number, payload in enumerate(payloads):
                file.write(json.dumps({"ts": number, "name": "a", "payload": payload}) + "\n")
        trace = ichnos.open(path)
        for field in ("u", "s", "r", "count"):
            values = sorted(payload[field] for payload in payloads)
            row = dict(next(iter(trace.stats(of=field))))
            wanted = (values[0], values[1], sum(values), 2)
            assert (row["min"], row["max"], row["total"], row["count"]) == wanted, (field, row)
        assert pyarrow.table(trace.stats(of="u")).schema.field("max").type == pyarrow.uint64()
        assert pyarrow.table(trace.stats(of="u")).schema.field("total").type == pyarrow.decimal128(38, 0)
        rows = same(trace.stats("count", of="u"), ["by.count", "count", "min"])
        assert sorted(rows) == [(1, 1, 2**64 - 1), (2, 1, 2**63 + 1)], rows
        assert polars.DataFrame(trace.stats(["bytes", "event"], event="no such event")).height == 0
        raises(lambda: trace.stats(["event", "event"]), "by: `event` is there twice")
        assert raises(lambda: trace.stats(of="cuont"), "of: no event has a field `cuont`").help == "did you mean `count`?"
        for name in ("severity", "level", "operation"):
            raises(lambda: trace.stats(name), "by: no event has a field `%s`" % name)
        raises(lambda: trace.stats("nofield"), "by: no event has a field `nofield`")
        assert raises(lambda: trace.stats("seq"), "no event has a field `seq`").help.startswith("by takes event, span, stream, host")
    # The columns that all events share are keys.
    log, reports = (ichnos.open(os.path.join(examples, name)) for name in ("hello-fuchsia/boot.log", "hello-xtrace"))
    events = list(log.events(columns=["level", "severity", "trace"]))
    for name in ("level", "severity", "trace"):
        counts = collections.Counter(str(event[name]) for event in events)
        found = {str(row[0]): row[1] for row in same(log.stats(name), [name, "events"])}
        assert sorted(found.values()) == sorted(counts.values()) and (name == "severity" or found == counts), (name, found, counts)
    counts = collections.Counter(event["operation"] for event in reports.events() if event.get("operation") is not None)
    assert len(same(reports.stats("operation"), ["operation", "events"])) >= len(counts) > 1


def types():
    """Columns of several classes have a common type."""
    table = pyarrow.table(ichnos.open(LTTNG).events())
    assert table.schema.field("ts").type == pyarrow.int64()
    assert pyarrow.schema(ichnos.open(LTTNG).events()) == table.schema
    assert table.schema.names == ichnos.open(LTTNG).events().columns
    time = pyarrow.table(ichnos.open(LTTNG).events(timestamps="nanos"))
    assert str(time.schema.field("time").type) == "timestamp[ns, tz=UTC]", time.schema
    assert time["time"].cast(pyarrow.int64()).to_pylist() == time["ts"].to_pylist()


events()
threads()
tables()
texts()
numbers()
types()
print("engines.py: events and tables agree")
