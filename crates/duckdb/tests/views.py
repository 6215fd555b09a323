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
with open(os.path.join(here, "../../ichnos/src/query/views.sql")) as views:
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

names = collections.Counter(line["name"] for line in lines)
assert {row[0]: row[1] for row in view("event_counts", lttng)} == names
reports = examples + "hello-xtrace/proxy.reports"
listed = json.loads(subprocess.run([command, "task", "list", reports, "--json"], capture_output=True, check=True).stdout)
assert sorted(row[1] for row in view("slowest_tasks", reports)) == sorted(task["id"] for task in listed["tasks"]), listed
folded = subprocess.run([command, "stacks", dotnet, "--format", "folded"], capture_output=True, check=True).stdout.decode()
stacks = {";".join(frame.split("!", 1)[-1] for frame in line.rsplit(" ", 1)[0].split(";")) for line in folded.splitlines()}
found = view("top_stacks", dotnet)
assert stacks and stacks <= {row[1] for row in found}, stacks - {row[1] for row in found}
numbers = (line.get("common_context", {}).get("stack") for line in events(dotnet))
numbers = collections.Counter(number for number in numbers if number is not None)
assert [row[0] for row in found] == [count for _, count in numbers.most_common(100)]
# Views of events that a trace lacks have no rows.
for name in ("exceptions", "allocations", "lock_waits", "cpu_use", "off_cpu", "run_queue_latency"):
    assert view(name, fxt) == [], name
    tested.discard(name)

runtime = os.path.join(recorded, "nettrace/runtime/net3.1.2-small.nettrace")
if os.path.isfile(runtime):
    lines = events(runtime)
    by_type, bytes_by_type, waits, began = collections.Counter(), collections.Counter(), [], {}
    for line in lines:
        event, payload = line["name"].rsplit("/", 1)[-1], line["payload"]
        thread = line["common_context"]["thread"]
        if event == "ExceptionThrown":
            by_type[payload["ExceptionType"]] += 1
        elif event == "GCAllocationTick":
            bytes_by_type[payload["TypeName"]] += payload["AllocationAmount64"]
        elif event == "ContentionStart":
            began[thread] = line["ts"]
        elif event == "ContentionStop" and thread in began:
            waits.append((began[thread], line["ts"], thread))
    assert {row[0]: row[1] for row in view("exceptions", runtime)} == by_type and by_type
    assert {row[0]: row[2] for row in view("allocations", runtime)} == bytes_by_type
    assert sorted((row[0], row[1], row[4]) for row in view("lock_waits", runtime)) == sorted(waits) and waits

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
    busy, whole, last = collections.Counter(), collections.Counter(), {}
    for line in map(json.loads, output.splitlines()):
        if line["type"] == "event":
            # The files are named after the processors.
            cpu = line["stream"]
            if cpu in last:
                whole[cpu] += line["ts"] - last[cpu]
                busy[cpu] += (line["ts"] - last[cpu]) * (line["payload"]["prev_tid"] != 0)
            last[cpu] = line["ts"]
    assert {row[0]: row[1:3] for row in view("cpu_use", kernel)} == {cpu: (busy[cpu], whole[cpu]) for cpu in whole}
    # By hand: from the last wakeup of a thread that does not run to the switch to it.
    running, woken, waits = set(), {}, collections.defaultdict(list)
    names = [word for name in ("switch", "wakeup", "wakeup_new", "waking") for word in ("--event", "sched_" + name)]
    output = subprocess.run([command, "cat", kernel, *names, "--format", "jsonl"], capture_output=True, check=True).stdout
    for line in map(json.loads, output.splitlines()):
        if line["type"] != "event":
            continue
        payload = line["payload"]
        if line["name"] != "sched_switch":
            if payload["tid"] not in running:
                woken[payload["tid"]] = line["ts"]
            continue
        running.discard(payload["prev_tid"])
        woken.pop(payload["prev_tid"], None)
        running.add(payload["next_tid"])
        if payload["next_tid"] in woken:
            waits[payload["next_tid"]].append(line["ts"] - woken.pop(payload["next_tid"]))
    found = {row[0]: (row[2], row[5]) for row in view("run_queue_latency", kernel)}
    waits = {thread: (len(times), max(times)) for thread, times in waits.items() if thread}
    assert waits and found == waits, {thread: (found.get(thread), waits.get(thread)) for thread in found.keys() | waits.keys() if found.get(thread) != waits.get(thread)}
    assert all(row[6] >= row[3] for row in view("syscall_times", kernel))
    lossy = os.path.join(recorded, "ctf/real/lttng-ust/discard")
    assert sum(row[3] for row in view("losses_by_stream", lossy)) == 14700 + 39682
else:
    print("skipped: views of kernel traces (no recorded traces)")
print("views.py: %d views" % len(tested))
