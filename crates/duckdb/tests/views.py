#!/usr/bin/env python3
"""Runs the views over examples, and compares them with answers from JSON Lines. views.py EXTENSION COMMAND [TRACES]"""
import collections
import json
import os
import subprocess
import sys

try:
    import duckdb
except ImportError:
    print("skipped: views.py (the Python package duckdb is missing)")
    sys.exit(0)

extension, command = sys.argv[1:3]
recorded = sys.argv[3] if len(sys.argv) > 3 else ""
here = os.path.dirname(os.path.abspath(__file__))
examples = os.path.join(here, "../../../examples/")
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute("LOAD '%s'" % extension)
with open(os.path.join(here, "../views.sql")) as views:
    connection.execute(views.read())
tested = set()


def view(name, trace):
    tested.add(name)
    return connection.execute("FROM %s('%s')" % (name, trace)).fetchall()


def events(trace):
    output = subprocess.run([command, "cat", trace, "--format", "jsonl"], capture_output=True, check=True).stdout
    return [line for line in map(json.loads, output.splitlines()) if line["type"] == "event"]


lttng, fxt = examples + "hello-lttng/trace", examples + "hello-fxt/frames.fxt"
lines = events(lttng)
seconds = collections.Counter(line["ts"] // 10**9 for line in lines)
assert view("events_per_second", lttng) == sorted(seconds.items())
by_stream = collections.defaultdict(list)
for line in lines:
    by_stream[line["stream"]].append(line["ts"])
longest = max(b - a for times in by_stream.values() for a, b in zip(times, times[1:]))
gaps = view("gaps", lttng)
assert gaps[0][0] == longest and len(gaps) == len(lines) - len(by_stream)
threads = collections.Counter(line["common_context"]["vtid"] for line in lines)
assert {row[1]: row[2] for row in view("busiest_threads", lttng)} == threads
# Google's trace processor has the same numbers and durations of slices.
assert {row[0]: row[1:3] for row in view("span_times", fxt)} == {
    "BuildFrame": (2, 8333333), "LoadImage": (2, 28333334), "RenderFrame": (2, 15000000), "Upload": (2, 3333334),
}
assert [row[:2] for row in view("slowest_spans", fxt)[:2]] == [(14166667, "LoadImage")] * 2
dotnet = examples + "hello-dotnet/hello.nettrace.zst"
pauses, begin = [], None
for line in events(dotnet):
    if line["name"].endswith("/GCSuspendEEBegin"):
        begin = line["ts"]
    elif line["name"].endswith("/GCRestartEEEnd") and begin is not None:
        pauses.append(line["ts"] - begin)
        begin = None
assert [row[2] for row in view("gc_pauses", dotnet)] == sorted(pauses, reverse=True)
assert view("top_functions", dotnet)[0][0] == "Hello.Mix(int32)"
path = view("critical_path", examples + "hello-xtrace/proxy.reports")
shown = subprocess.run([command, "task", "path", "0ACADE2007050801", examples + "hello-xtrace/proxy.reports"], capture_output=True, check=True)
steps = [line.split("%  ")[1].split("  ")[:2] for line in shown.stdout.decode().splitlines() if "%  " in line]
assert [[row[6].replace("\n", "\\n"), row[8]] for row in path] == steps[1:], (path, steps)
assert [row[:2] for row in view("log_levels", examples + "hello-fuchsia/boot.log")][:2] == [("DEBUG", 3), ("INFO", 3)]

kernel = os.path.join(recorded, "ctf/real/tracecompass/many-threads")
if os.path.isdir(kernel):
    found = {row[0]: row for row in view("off_cpu", kernel)}
    # By hand: from each switch away from a thread to the next switch to it.
    left, waits = {}, collections.defaultdict(list)
    output = subprocess.run([command, "cat", kernel, "--event", "sched_switch", "--format", "jsonl"], capture_output=True, check=True).stdout
    for line in map(json.loads, output.splitlines()):
        if line["type"] == "event":
            previous, following = line["payload"]["prev_tid"], line["payload"]["next_tid"]
            if following in left:
                waits[following].append(line["ts"] - left.pop(following))
            left[previous] = line["ts"]
    waits.pop(0, None)
    assert {thread: (len(times), sum(times), max(times)) for thread, times in waits.items()} == {thread: row[2:] for thread, row in found.items()}
    assert all(row[5] >= row[3] >= 0 for row in view("run_queue_latency", kernel))
    assert all(row[6] >= row[3] for row in view("syscall_times", kernel))
    lossy = os.path.join(recorded, "ctf/real/lttng-ust/discard")
    assert sum(row[3] for row in view("losses_by_stream", lossy)) == 14700 + 39682
else:
    print("skipped: views of kernel traces (no recorded traces)")
print("views.py: %d views" % len(tested))
