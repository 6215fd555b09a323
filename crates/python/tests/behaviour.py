#!/usr/bin/env python3
"""Arguments, errors, texts, threads, Ctrl-C, and streams that are read in part. behaviour.py COMMAND [TRACES]"""
import collections.abc
import datetime
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings

import polars
import pyarrow

import ichnos
from support import FXT, LTTNG, examples, raises, recorded, run


def lines(path, events):
    with open(path, "w") as file:
        for number, (name, payload) in enumerate(events):
            file.write(json.dumps({"ts": number, "name": name, "payload": payload}) + "\n")


def selection():
    trace = ichnos.open(pathlib.Path(LTTNG))
    names = collections.Counter(event.name for event in trace.events())
    name = min(names)
    assert {event.name for event in trace.events(event=name)} == {name}
    assert sum(1 for _ in trace.events(event=[name, "no such event"])) == names[name]
    assert sum(1 for _ in trace.events(filter='event == "%s"' % name)) == names[name]
    times = [event.ts for event in trace.events()]
    middle = times[len(times) // 2]
    assert [event.ts for event in trace.events(begin=middle)] == [ts for ts in times if ts >= middle]
    # A trace can start before its first event.
    start = min(row["begin_ts"] for row in trace.info)
    later = [event.ts for event in trace.events(begin="+1ms", end="+1h")]
    assert later == [ts for ts in times if ts >= start + 1_000_000]
    shifted = ichnos.open(LTTNG, offset="+1s")
    assert [event.ts for event in shifted.events()] == [ts + 10**9 for ts in times]
    assert [event.ts for event in ichnos.open(LTTNG, offset={LTTNG: 10**9}).events()] == [ts + 10**9 for ts in times]
    with tempfile.TemporaryDirectory() as directory:
        # A path is no pattern.
        named, other, open_bracket = (os.path.join(directory, name) for name in ("a[1].jsonl", "a1.jsonl", "b[1.jsonl"))
        for path in (named, other, open_bracket):
            lines(path, [("a", {})])
        moved = ichnos.open([named, other, open_bracket], offset={named: 1000, pathlib.Path(open_bracket): 5})
        assert sorted((event.ts, event["trace"]) for event in moved.events(columns=["trace"])) == [(0, other), (5, open_bracket), (1000, named)]
        raises(lambda: ichnos.open([other], offset={named: 1}), "no path matches")
    assert pyarrow.table(trace.events(columns=[])).num_rows == len(times)
    both = ichnos.open([LTTNG, FXT], assume_correlated=True)
    assert len(both.paths) == 2 and {row["trace"] for row in both.info} == set(both.paths)


def classes():
    """Classes of a trace that declares none are found once, and all selections have their columns."""
    assert {getattr(ichnos, name).__module__ for name in ichnos.__all__ if name != "__version__"} == {"ichnos"}
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "many.jsonl")
        lines(path, [("a", {"x": 1})] * 100_000 + [("b", {"y": 2})])
        trace = ichnos.open(path)
        began = time.process_time()
        common = trace.events().columns[:-2]
        first = time.process_time() - began
        assert trace.events().columns == common + ["x", "y"] and trace.events(filter="x == 1").columns == common + ["x", "y"]
        assert [trace.events(event=name).columns for name in "ab"] == [common + ["x"], common + ["y"]]
        assert trace.events(timestamps="micros", event="b").columns == ichnos.open(path).events(timestamps="micros", event="b").columns
        assert trace.events(end=99_999).columns == common + ["x"]
        began = time.process_time()
        for _ in range(10):
            trace.events(event="b")
        assert time.process_time() - began < max(first, 0.1), (time.process_time() - began, first)
        raises(lambda: trace.events(filter="z == 1"), "z")


def dates():
    """Dates of Python and pandas are the time that they mean."""
    trace = ichnos.open(LTTNG)
    times = [event.ts for event in trace.events()]
    middle = times[len(times) // 2]
    zone = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
    whole = datetime.datetime.fromtimestamp(middle // 10**9, zone).replace(microsecond=middle // 1000 % 10**6)
    from_begin = [ts for ts in times if ts >= middle // 1000 * 1000]
    assert [event.ts for event in trace.events(begin=whole)] == from_begin
    assert [event.ts for event in trace.events(end=whole)] == [ts for ts in times if ts <= middle // 1000 * 1000]
    old = datetime.datetime(1, 1, 2, tzinfo=datetime.timezone.utc)
    assert [event.ts for event in trace.events(begin=old)] == times
    error = raises(lambda: trace.events(begin=whole.replace(tzinfo=None)), "begin: the datetime has no time zone")
    assert "timezone.utc" in error.help
    raises(lambda: trace.events(begin=True), "begin: expected nanoseconds, a datetime", "found bool", of=TypeError)
    raises(lambda: trace.events(end=1.5), "end: expected nanoseconds", "found float", of=TypeError)
    raises(lambda: trace.events(end=2**130), "end: expected nanoseconds from -9223372036854775808 to 9223372036854775807")
    raises(lambda: ichnos.open(LTTNG, offset=whole), "offset: expected nanoseconds", of=TypeError)
    try:
        import pandas
    except ImportError:
        print("skipped: dates of pandas (not installed)")
        return
    exact = pandas.Timestamp(middle, unit="ns", tz="UTC").tz_convert("Asia/Kolkata")
    assert [event.ts for event in trace.events(begin=exact)] == [ts for ts in times if ts >= middle]
    raises(lambda: trace.events(begin=pandas.NaT), "begin: ")


def event():
    trace = ichnos.open(LTTNG)
    for event in trace.events():
        assert isinstance(event, collections.abc.Mapping)
        whole = dict(event)
        assert whole["ts"] == event.ts and whole["event"] == event.name == event["event"]
        assert list(event) == event.keys() and len(event) == len(whole) == len(event.values()) == len(event.items())
        assert event.get("no such field") is None and event.get("no such field", 7) == 7
        assert "no such field" not in event and 7 not in event and "ts" in event
        assert set(whole) - set(event.fields()) <= {"ts", "event", "stream", "packet", "seq"}
        raises(lambda: event["no such field"], "no such field", of=KeyError)
        raises(lambda: event[7], "7", of=KeyError)
        assert event.get("no such field", default=3) == 3 and event.get(key="ts") == event.ts and event.get(7) is None
        assert event == whole == event and whole == event and event == collections.UserDict(whole)
        assert event != {**whole, "more": 1} and event != {} and event != 7 and not event == list(whole)
    first, second = iter(trace.events()), iter(trace.events())
    assert next(first) == next(second) and next(first) != next(iter(trace.events()))
    row = next(iter(trace.info))
    assert row == dict(row) and row.get("x", default=3) == 3 and row.get(7, 8) == 8
    raises(lambda: row[7], "7", of=KeyError)
    only = next(iter(trace.events(columns=["stream"])))
    assert only.stream is not None
    with tempfile.TemporaryDirectory() as directory:
        # A field can be called as the column of `timestamps`.
        path = os.path.join(directory, "time.jsonl")
        lines(path, [("a", {"time": 7, "x": 1})])
        assert next(iter(ichnos.open(path).events())).fields() == {"time": 7, "x": 1}
        dated = next(iter(ichnos.open(path).events(timestamps="micros")))
        assert "time" in dated and sorted(dated.fields().values()) == [1, 7], dict(dated)


def errors():
    error = raises(lambda: ichnos.open("/nonexistent"), "/nonexistent: no such file or directory")
    assert error.path == "/nonexistent" and error.byte is None
    shown = run("cat", "/nonexistent").stderr.decode()
    assert str(error).splitlines()[0] in shown, (str(error), shown)
    raises(lambda: ichnos.open(__file__), "no trace found")
    raises(lambda: ichnos.open([]), "at least one path")
    raises(lambda: ichnos.open("-"), "standard input")
    raises(lambda: ichnos.open(7), "paths: expected a path", of=TypeError)
    raises(lambda: ichnos.open([7]), "paths: expected a path", of=TypeError)
    raises(lambda: ichnos.open(b"x"), "paths: expected a path or a list of paths, found bytes", of=TypeError)
    raises(lambda: ichnos.open(LTTNG, offset="yesterday"), "offset: ")
    assert raises(lambda: ichnos.open(LTTNG, offset={"/other": 1}), "no path matches").path == "/other"
    assert raises(lambda: ichnos.open(LTTNG, map="/nonexistent.toml"), "/nonexistent.toml").path == "/nonexistent.toml"
    raises(lambda: ichnos.open(LTTNG, map=[]), "map: expected at least one path")
    trace = ichnos.open(FXT)
    # Classes of this trace are known once it was read.
    jsonl = ichnos.open(os.path.join(examples, "hello-jsonl/requests.jsonl"))
    for unknown in (jsonl.events, jsonl.stats, lambda **k: list(jsonl.spans(**k))):
        raises(lambda: unknown(filter="numbr == 1"), "filter: no event has a field `numbr`")
    raises(lambda: trace.events(event=1), "event: expected a text", of=TypeError)
    raises(lambda: trace.events(event="["), "event: ")
    raises(lambda: trace.events(filter="a =="), "filter: ")
    raises(lambda: trace.events(filter="nonexistent_field == 1"), "nonexistent_field")
    raises(lambda: trace.events(begin="yesterday"), "begin: ")
    raises(lambda: trace.events(columns=["tss"]), "no column `tss`", "`ts`")
    raises(lambda: trace.events(timestamps="hours"), "timestamps: ")
    raises(lambda: trace.stats("event", of="x", spans=True), "of and spans")
    with tempfile.TemporaryDirectory() as directory:
        broken = os.path.join(directory, "metadata")
        with open(broken, "w") as file:
            file.write("/* CTF 1.8 */\ntrace { major = 1;\n")
        map = os.path.join(directory, "map.toml")
        with open(map, "w") as file:
            file.write("[[event]]\nmatch = 7\n")
        error = raises(lambda: ichnos.open(LTTNG, map=map), "map.toml:2:9: expected an event name pattern")
        assert error.path == map and error.byte == 18, vars(error)
        error = raises(lambda: ichnos.open(directory), "metadata")
        assert error.path is not None and error.path.endswith("metadata") and error.byte is not None, vars(error)
        output = os.path.join(directory, "out.jsonl")
        report = ichnos.convert(FXT, output)
        assert report["events"] == sum(1 for _ in trace.events()) and report["paths"] == [output], report
        assert [e.ts for e in ichnos.open(output).events()] == [e.ts for e in trace.events()]
        error = raises(lambda: ichnos.convert(FXT, output), "exist")
        assert error.path == output
        ichnos.convert(FXT, output, force=True, event="no such event")
        raises(lambda: ichnos.convert(FXT, output, to="no such format", force=True), "unknown format", "parquet")
        raises(lambda: ichnos.convert(FXT, FXT, to="fxt", force=True), "input")
        raises(lambda: ichnos.convert(FXT, os.path.join(directory, "p"), to="parquet", options={"timestamps": "hours"}), "options")
        raises(lambda: ichnos.convert(FXT, "-", to="jsonl"), "output: standard output")
        raises(lambda: ichnos.convert(FXT, "", to="jsonl"), "output: the path is empty")
        raises(lambda: ichnos.convert(FXT, os.path.join(directory, "p"), to="parquet", options={"fields": []}), "`fields`: expected at least one value")
        raises(lambda: ichnos.convert(FXT, output, options={"nosuch": 1}, force=True), "nosuch`; the format has no options")
        raises(lambda: ichnos.convert(FXT, output, to="ctf", dialect="ctf7", force=True), "dialect: unknown", "ctf1.8")
        raises(lambda: ichnos.convert(FXT, output, to="jsonl", options=[1], force=True), "options: expected a mapping", of=TypeError)
        raises(lambda: ichnos.convert(FXT, output, to="jsonl", options={"a": None}, force=True), "options: expected a text, a number", of=TypeError)
        raises(lambda: ichnos.convert(FXT, output, to="jsonl", options={"a": {}}, force=True), "options: ", of=TypeError)
        raises(lambda: ichnos.convert(trace, output, offset=1, force=True), "belong to paths")
        # A Trace has its times and meanings.
        wakeups = sum(1 for _ in trace.events(event="thread_wakeup"))
        moved = ichnos.open(FXT, offset="+1s")
        assert ichnos.convert(moved, output, event="thread_wakeup", force=True)["events"] == wakeups
        found = [e.ts for e in ichnos.open(output).events()]
        assert found == [e.ts + 10**9 for e in trace.events(event="thread_wakeup")]
        ichnos.convert([FXT], output, event="thread_wakeup", force=True, offset={pathlib.Path(FXT): 10**9})
        assert [e.ts for e in ichnos.open(output).events()] == found
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ichnos.convert(jsonl, output, filter="numbr == 1", force=True)
        assert [str(w.message) for w in caught] == ["filter: no event has a field `numbr`"], caught
        dataset = os.path.join(directory, "events")
        ichnos.convert(moved, dataset, to="parquet", options={"u64-type": "decimal"})
        raises(lambda: ichnos.convert(moved, dataset, to="parquet", options={"timestamps": 7}, force=True), "options: ", "`7`")
        assert polars.read_parquet(dataset + "/event=thread_wakeup/*.parquet").height == wakeups
        ichnos.convert(moved, dataset, to="parquet", force=True, options=types.MappingProxyType({"fields": ["ts", "event"]}))
        assert polars.read_parquet(dataset + "/event=thread_wakeup/*.parquet").columns == ["ts", "event"]
        ichnos.convert(LTTNG, dataset, to="parquet", options={"timestamps": "nanos"}, force=True)
        assert polars.scan_parquet(dataset + "/event=*/*.parquet", missing_columns="insert", extra_columns="ignore").collect().height == sum(1 for _ in ichnos.open(LTTNG).events())


def running():
    """A filter can name the running thread, also if the output has no columns for it."""
    trace = recorded and os.path.join(recorded, "ctf/real/tracecompass/bug446190")
    if not trace or not os.path.isdir(trace):
        print("skipped: running threads (there are no recorded traces)")
        return
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, "out.jsonl")
        opened = ichnos.open(trace)
        for filter in ('comm == "swapper/0"', "pid == 0", "thread == 0", 'event == "sched_switch"'):
            wanted = sum(1 for _ in opened.events(filter=filter, columns=[]))
            contents = []
            for source in (trace, opened):
                assert ichnos.convert(source, output, filter=filter, force=True)["events"] == wanted > 0, filter
                with open(output, "rb") as file:
                    contents.append(file.read())
            assert contents[0] == contents[1], filter


def texts():
    """No text of a trace reaches a terminal or a notebook as it is."""
    hostile = "\x1b[31m<b>&\u202e'\"\0"
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "hostile.jsonl")
        lines(path, [(hostile, {hostile: hostile, "x": [hostile]}), ("a", {"x": 1})])
        trace = ichnos.open(path)
        events = trace.events()
        printed = [repr(trace), repr(events), str(events), repr(trace.classes), *map(repr, events), *map(repr, trace.classes)]
        for text in printed:
            assert not any(ord(c) < 32 or c in "\x7f\u202e" for c in text), text
        for html in (trace._repr_html_(), events._repr_html_(), trace.classes._repr_html_()):
            assert "<b>" not in html and "\x1b" not in html and "\u202e" not in html and "<table>" in html
        assert "&lt;b&gt;" in trace.classes._repr_html_()
        assert events._repr_html_().count("<tr>") == 3 and "<td>1</td>" in events._repr_html_()
        error = raises(lambda: trace.events(columns=[hostile[:-1]]), "\nhelp: did you mean")
        for text in (str(error).replace("\n", ""), error.help):
            assert not any(ord(c) < 32 or c in "\x7f\u202e" for c in text), repr(text)
        broken = os.path.join(directory, "broken.jsonl")
        lines(broken, [("a", {"field\nhelp: run this": 1})])
        error = raises(lambda: ichnos.open(broken).events(columns=["field help: run this"]), "did you mean `field\\u{a}help")
        assert "\n" not in error.help, error.help
        first = next(iter(events))
        assert first.name == hostile and first[hostile] == hostile
        # The C interface cannot express a NUL in a name.
        assert pyarrow.table(events).num_rows == 2
        assert trace.schema[0]["format"] == "jsonl"
        many = os.path.join(directory, "many.jsonl")
        lines(many, [("event %d" % number, {}) for number in range(30)])
        assert "more rows" in ichnos.open(many).classes._repr_html_()


def parts():
    """A stream and an iterator can be dropped before their ends, also in other threads."""
    trace = ichnos.open(LTTNG)
    for _ in range(20):
        reader = pyarrow.RecordBatchReader.from_stream(trace.events())
        reader.schema
        del reader
        capsule = trace.events().__arrow_c_stream__()
        del capsule
        iterator = iter(trace.events())
        next(iterator)
        kept = next(iterator)
        del iterator
        gc.collect()
        assert kept.name
    events = trace.events()
    del trace
    gc.collect()
    assert len(list(events)) == len(list(events)) > 0


def threads():
    """Several threads read the same events, and share an iterator."""
    trace = ichnos.open(LTTNG)
    events = trace.events()
    wanted = sum(1 for _ in events)
    found, shared = [], iter(events)
    problems = []

    def work(number):
        try:
            if number % 3 == 0:
                found.append(pyarrow.table(events).num_rows)
            elif number % 3 == 1:
                found.append(sum(1 for _ in trace.events()))
            else:
                counts.append(sum(1 for _ in shared))
        except BaseException as error:  # noqa: B902
            problems.append(error)

    counts = []
    workers = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems, problems
    assert found == [wanted] * 8 and sum(counts) == wanted, (found, counts, wanted)


ENDLESS = """
import os, signal, sys, threading, time
import ichnos, pyarrow
trace = ichnos.open(sys.argv[1])
def raises(call):
    try:
        call()
    except ichnos.Error:
        pass
def interrupt():
    # The work below must have begun.
    time.sleep(0.05)
    print("interrupting", flush=True)
    global sent
    sent = time.time()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    while True:
        WORK
except KeyboardInterrupt:
    print("interrupted", flush=True)
except Exception as error:
    print("interrupted" if "interrupted" in str(error) else repr(error), flush=True)
assert time.time() - sent < 1, time.time() - sent
"""

WORK = {
    "iterator": "sum(1 for _ in trace.events())",
    "nothing selected": "list(trace.events(filter='number == -1'))",
    "pyarrow": "pyarrow.table(trace.events(filter='number == -1'))",
    "statistics": "trace.stats('event')",
    "spans": "list(trace.spans())",
    "losses": "list(trace.losses)",
    "tasks": "list(trace.tasks())",
    "schema": "trace.schema",
    "times from the end": "trace.events(begin='-1ns')",
    "unknown key": "raises(lambda: trace.stats('nofield'))",
    "opening": "ichnos.open(sys.argv[1])",
    "conversion": "ichnos.convert(sys.argv[1], sys.argv[1] + '.jsonl', force=True)",
}


def interrupts():
    """Ctrl-C ends reading within a second, and is an exception."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "many.jsonl")
        lines(path, [("a", {"number": number}) for number in range(200_000)])
        for name, work in WORK.items():
            program = [sys.executable, "-c", ENDLESS.replace("WORK", work), path]
            done = subprocess.run(program, capture_output=True, timeout=120, check=False)
            assert done.stdout.split() == [b"interrupting", b"interrupted"] and done.returncode == 0, (name, done)


HANDLER = """
import signal, sys
import ichnos
iterator = iter(ichnos.open(sys.argv[1]).events(filter="number == -1"))
found = []
def handle(*_):
    try:
        next(iterator, None)
    except ValueError as error:
        found.append(str(error))
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
assert sum(1 for _ in iterator) == 0
signal.setitimer(signal.ITIMER_REAL, 0)
print(set(found))
"""

FORK = """
import os, sys, threading
import ichnos
iterator = iter(ichnos.open(sys.argv[1]).events(filter="number == -1"))
reading = threading.Thread(target=lambda: next(iterator, None))
reading.start()
found = set()
while reading.is_alive():
    child = os.fork()
    if child == 0:
        try:
            next(iterator, None)
            os._exit(0)
        except ValueError:
            os._exit(7)
    found.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if 7 in found:
        break
print(7 in found)
os._exit(0)
"""


SHARED = """
import sys, threading, time
import ichnos, pyarrow
trace = ichnos.open(sys.argv[1])
rows, problems = [], []
def read(stream):
    while True:
        try:
            batch = stream.read_next_batch()
        except StopIteration:
            return
        except pyarrow.ArrowException as error:
            if "busy with another call" not in str(error):
                problems.append(error)
                return
            time.sleep(0.001)
            continue
        rows.append(batch.num_rows)
for number in range(6):
    rows.clear()
    how = dict(merge=False, threads=2) if number % 2 else {}
    stream = pyarrow.RecordBatchReader.from_stream(trace.events(columns=["number"], **how))
    workers = [threading.Thread(target=read, args=(stream,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(rows) == 150_000, (number, sum(rows))
assert not problems, problems
print("whole")
"""

FAILED = """
import signal, sys
import ichnos, pyarrow
class Tick(Exception):
    pass
def handle(*_):
    raise Tick
signal.signal(signal.SIGALRM, handle)
# The shortest of these scans takes 0.09 s in a test build. A signal after its end would raise Tick after a complete answer.
SOON = 0.02
trace = ichnos.open(sys.argv[1])
for values in (trace.events(filter="number == -1"), trace.events(filter="number == -1", merge=False), trace.spans(filter="number == -1"), trace.losses):
    iterator, is_over = iter(values), False
    try:
        signal.setitimer(signal.ITIMER_REAL, SOON)
        next(iterator, None)
        # A fast machine has answered.
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Tick:
        for _ in range(0 if is_over else 2):
            try:
                next(iterator)
                print("goes on")
            except StopIteration:
                print("looks complete")
            except ichnos.Error as error:
                assert "signal handler" in str(error), error
    stream = pyarrow.RecordBatchReader.from_stream(values)
    try:
        signal.setitimer(signal.ITIMER_REAL, SOON)
        while stream.read_next_batch().num_rows == 0:
            pass
    except StopIteration:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Tick:
        pass
    except pyarrow.ArrowException as error:
        try:
            stream.read_next_batch()
            print("stream goes on")
        except StopIteration:
            print("stream looks complete")
        except pyarrow.ArrowException as again:
            assert str(again) == str(error), again
print("ok")
"""

FORKED = """
import os, sys
import ichnos, pyarrow
stream = pyarrow.RecordBatchReader.from_stream(ichnos.open(sys.argv[1]).events(merge=False, threads=2))
stream.read_next_batch()
child = os.fork()
if child == 0:
    try:
        stream.read_next_batch()
        os._exit(1)
    except pyarrow.ArrowException as error:
        del stream
        os._exit(7 if "forked process" in str(error) else 2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def failures():
    """Several threads that share a stream get each batch once, and what failed never looks complete."""
    with tempfile.TemporaryDirectory() as directory:
        # Two files, because a thread reads at least one.
        for name in ("a", "b"):
            lines(os.path.join(directory, name + ".jsonl"), [("a", {"number": number}) for number in range(75_000)])
        for program, wanted in ((SHARED, b"whole"), (FAILED, b"ok"), (FORKED, b"7")):
            done = subprocess.run([sys.executable, "-c", program, directory], capture_output=True, timeout=120, check=False)
            assert done.stdout.strip() == wanted and done.returncode == 0, done


def reentry():
    """A signal handler during a call, and a process that is forked during a call, cannot wait for it."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "many.jsonl")
        lines(path, [("a", {"number": number}) for number in range(150_000)])
        for program, wanted in ((HANDLER, b"{'iterator already executing'}"), (FORK, b"True")):
            done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, timeout=120, check=False)
            assert done.stdout.strip() == wanted, done


def stubs():
    """The types of the package are those of the compiled module."""
    try:
        import mypy  # noqa: F401
    except ImportError:
        print("skipped: types (mypy is not installed)")
        return
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "ichnos"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "typed.py")
        with open(path, "w") as file:
            file.write(
                "import pathlib\n"
                "import ichnos\n"
                "offsets: dict[str, int] = {'x': 3}\n"
                "trace = ichnos.open('x', offset=offsets)\n"
                "ichnos.open('x', offset={pathlib.Path('x'): '+3s'})\n"
                "names: list[str] = [event.name for event in trace.events(event=['a'], begin='+1s')]\n"
                "times: list[int | None] = [event.ts for event in trace.events()]\n"
                "rows = [dict(row) for row in trace.spans()]\n"
            )
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", path], capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode()


for test in (selection, classes, dates, event, errors, running, texts, parts, threads, interrupts, failures, reentry, stubs):
    began = time.time()
    test()
    print("behaviour.py: %s, %.1f s" % (test.__name__, time.time() - began), flush=True)
