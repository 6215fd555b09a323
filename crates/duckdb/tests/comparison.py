"""Compares tables of events with a Parquet dataset and with JSON Lines of the same traces. For the extension and for Python.

The last arguments of the program are the command with the feature `table`, and a directory with recorded traces.
"""
import glob
import json
import os
import subprocess
import tempfile
import time

# Set by the program.
command = recorded = None
examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples")

EXAMPLES = [
    "hello-lttng/trace", "hello-ctf2/trace", "hello-dotnet/hello.nettrace.zst", "hello-fuchsia/boot.log",
    "hello-fxt/frames.fxt", "hello-jsonl/requests.jsonl", "hello-otlp/shop.otlp.jsonl", "hello-xtrace/proxy.reports",
    "hello-proposals/prop1", "hello-proposals/prop2",
]
RECORDED = [
    "ctf/real/tracecompass/many-threads", "ctf/real/tracecompass/cyg-profile", "ctf/real/tracecompass/CTF2-vl-ints",
    "ctf/real/lttng-ust/discard", "ctf/real/ctf2/session-rot", "ctf/real/barectf/assembled/basic__ds__two-packets",
    "nettrace/perfview/eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace", "nettrace/runtime/net10.0-small.nettrace",
    "nettrace/runtime/perl-cpu-v6.nettrace", "fuchsia/magic-trace", "xtrace/brown/small.json",
]

# Maximum number of classes of a trace whose columns are compared, about.
CLASSES = 12

failures = 0


def fail(what):
    global failures
    failures += 1
    if failures <= 20:
        print("FAILED:", what, flush=True)


def text(value):
    return "'" + value.replace("'", "''") + "'"


def name(value):
    return '"' + value.replace('"', '""') + '"'


def pattern(value):
    """A pattern for exactly this name."""
    return "".join("[%s]" % c if c in "*?[{}" else "\\" + c if c in "]\\" else c for c in value)


def run(*arguments):
    return subprocess.run([command, *arguments], capture_output=True, check=False)


def fingerprint(connection, columns, table):
    """The number of rows, and hashes of all values that do not depend on the order of the rows."""
    row = "hash(%s)" % ", ".join(map(name, columns))
    return connection.execute("SELECT count(*), bit_xor(%s), sum(%s) FROM %s" % (row, row, table)).fetchall()[0]


def types(connection, table):
    rows = connection.execute("DESCRIBE SELECT * FROM %s" % table).fetchall()
    return {row[0]: row[1] for row in rows}


def compare_parquet(connection, table, trace, dataset):
    """Compares each class with the files of its directory."""
    rows = connection.execute("SELECT event, path, rows FROM %s" % text(dataset + "/_classes/*.parquet")).fetchall()
    counts, directories = {}, {}
    for event, path, count in rows:
        counts[event] = counts.get(event, 0) + count
        directories[os.path.join(dataset, os.path.dirname(path))] = event
    # Some classes of a kernel are enough. No pattern matches a class without a name.
    for directory in sorted(directories)[:: max(1, len(directories) // CLASSES)]:
        event = directories[directory]
        if not event:
            continue
        files = "read_parquet(%s, hive_partitioning = false, union_by_name = true)" % text(glob.escape(directory) + "/*.parquet")
        wanted = types(connection, files)
        ours = table(connection, trace, pattern(event))
        found = types(connection, ours)
        differing = {c: (t, found.get(c)) for c, t in wanted.items() if found.get(c) != t}
        if differing:
            fail("%s, %s: types %s" % (trace, event, differing))
            continue
        # Several classes with the same name can have different columns, and long names are cut.
        # `seq` counts the selected events.
        wanted = [column for column in wanted if column != "seq"]
        a, b = fingerprint(connection, wanted, files), fingerprint(connection, wanted, ours)
        if a != b:
            fail("%s, %s: dataset %s, found %s" % (trace, event, a, b))
    common = ["ts", "event", "stream", "packet", "seq"]
    files = "read_parquet(%s, hive_partitioning = false, union_by_name = true)" % text(glob.escape(dataset) + "/event=*/*.parquet")
    a, b = fingerprint(connection, common, files), fingerprint(connection, common, table(connection, trace))
    if counts and a != b:
        fail("%s: dataset %s, found %s" % (trace, a, b))
    query = "SELECT event, count(*) FROM %s GROUP BY event" % table(connection, trace)
    found = dict(connection.execute(query).fetchall())
    if found != counts:
        fail("%s: counts %s instead of %s" % (trace, found, counts))
    total = connection.execute("SELECT count(*) FROM %s" % table(connection, trace)).fetchall()[0][0]
    if total != sum(counts.values()):
        fail("%s: %d events instead of %d" % (trace, total, sum(counts.values())))
    return total


def compare_lines(connection, table, trace):
    """Compares times, and all numbers and texts of the payload, with JSON Lines."""
    output = run("cat", trace, "--format", "jsonl")
    lines = [json.loads(line) for line in output.stdout.splitlines()]
    events = [line for line in lines if line["type"] == "event"]
    if len(events) > 20000:
        return None
    cursor = connection.execute("SELECT * FROM %s ORDER BY stream, packet, seq" % table(connection, trace))
    columns = [column[0].lower() for column in cursor.description]
    rows = cursor.fetchall()
    index = {column: at for at, column in enumerate(columns)}
    # Events of a data stream have the same order in both, unless its clock goes back.
    by_stream = {}
    for event in events:
        by_stream.setdefault(event["stream"], []).append(event)
    ours = {}
    for row in rows:
        ours.setdefault(row[index["stream"]], []).append(row)
    compared = 0
    if sorted(map(len, by_stream.values())) != sorted(map(len, ours.values())):
        fail("%s: data streams with other numbers of events" % trace)
        return None
    flat = sorted((row[index["ts"]] if row[index["ts"]] is not None else -1, row[index["event"]] or "") for row in rows)
    wanted = sorted((event.get("ts", -1), event.get("name") or "") for event in events)
    if flat != wanted:
        fail("%s: times and names differ from JSON Lines" % trace)
    key = lambda row: (row[index["ts"]], row[index["event"]])
    single = {}
    for row in rows:
        single.setdefault(key(row), []).append(row)
    for event in events:
        same = single.get((event.get("ts"), event.get("name")), [])
        if len(same) != 1 or not isinstance(event.get("payload"), dict):
            continue
        row = same[0]
        for field, value in event["payload"].items():
            if isinstance(value, dict) and "value" in value:
                value = value["value"]
            if isinstance(value, bool) or not isinstance(value, (int, str)) or field.lower() not in index or field == "stack":
                continue
            found = row[index[field.lower()]]
            # Bytes, and integers that are dates in JSON Lines.
            if isinstance(found, bytes) or isinstance(found, int) and isinstance(value, str):
                continue
            compared += 1
            if found != value and str(found) != str(value):
                scope = index.get("payload." + field.lower())
                if scope is None or row[scope] != value:
                    fail("%s: %s of %s at %s is %r, not %r" % (trace, field, event.get("name"), event.get("ts"), found, value))
                    return compared
    return compared


def compare(connect, table, trace):
    """Compares a trace. `connect(threads)` returns a connection, and `table(connection, trace, event)` a table for SQL."""
    began = time.time()
    with tempfile.TemporaryDirectory() as directory:
        dataset = os.path.join(directory, "events")
        converted = run("convert", trace, "--to", "parquet", "-o", dataset)
        if not os.path.isdir(dataset):
            fail("%s: %s" % (trace, converted.stderr.decode()))
            return
        for threads in (1, 2):
            total = compare_parquet(connect(threads), table, trace, dataset)
        values = compare_lines(connect(None), table, trace)
        print("%s: %s events, %s values, %.1f s" % (trace, total, values, time.time() - began), flush=True)


def compare_all(connect, table):
    """Compares all traces. Returns the exit code."""
    for trace in EXAMPLES:
        compare(connect, table, os.path.normpath(os.path.join(examples, trace)))
    if recorded and os.path.isdir(recorded):
        for trace in RECORDED:
            compare(connect, table, os.path.join(recorded, trace))
    else:
        print("skipped: recorded traces (no directory)")
    return 1 if failures else 0
