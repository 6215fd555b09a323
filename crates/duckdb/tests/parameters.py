#!/usr/bin/env python3
"""Parameters of the functions: clock offsets, event maps, times. parameters.py EXTENSION COMMAND"""
import os
import sys
import tempfile

try:
    import duckdb
except ImportError:
    print("skipped: parameters.py (the Python package duckdb is missing)")
    sys.exit(0)

examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/")
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute("LOAD '%s'" % sys.argv[1])
lttng, dotnet = examples + "hello-lttng/trace", examples + "hello-dotnet/hello.nettrace.zst"


def one(sql):
    return connection.execute(sql).fetchone()


def error(sql):
    try:
        connection.execute(sql)
    except duckdb.Error as error:
        return str(error)
    raise AssertionError("no error: " + sql)


first = one("SELECT min(ts) FROM read_trace('%s')" % lttng)[0]
for offset in ("'+2s'", "['+1s', '*trace=+1s']", "'%s=+2s'" % lttng):
    assert one("SELECT min(ts) FROM read_trace('%s', clock_offset := %s)" % (lttng, offset))[0] == first + 2 * 10**9, offset
begin = "SELECT begin_ts FROM trace_info('%s'%s) ORDER BY ALL LIMIT 1"
assert one(begin % (lttng, ", clock_offset := '-1ns'"))[0] == one(begin % (lttng, ""))[0] - 1
assert "no path matches `nothing`" in error("FROM trace_spans('%s', clock_offset := 'nothing=+1s')" % lttng)
assert "is not a time" in error("FROM trace_losses('%s', clock_offset := 'soon')" % lttng)

# Unrelated clocks are an error, as for the command. The tables of data streams and classes have no timeline.
unrelated = examples + "one-request/trace"
for function in ("read_trace", "trace_events", "trace_spans", "trace_tasks", "trace_edges"):
    found = error("FROM %s('%s')" % (function, unrelated))
    assert "unrelated origins" in found and "`assume_correlated`" in found, (function, found)
    assert one("SELECT count(*) FROM %s('%s', assume_correlated := true)" % (function, unrelated))[0] >= 0, function
assert one("SELECT count(*) FROM trace_info('%s')" % unrelated)[0] > 3
assert one("SELECT sum(events) FROM trace_classes('%s')" % unrelated) == one("SELECT count(*) FROM read_trace('%s', assume_correlated := true)" % unrelated)
assert "expected true or false" in error("FROM read_trace('%s', assume_correlated := 'yes')" % unrelated)
for function in ("read_trace", "trace_events", "trace_spans"):
    found = error("FROM %s('%s', begin := '+2s', \"end\" := '+1s')" % (function, lttng))
    assert "is after the end time" in found, found
assert "the path of a trace is empty" in error("FROM read_trace('')")

with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "map.toml")

    def write(text):
        with open(path, "w") as file:
            file.write(text)

    write("[[event]]\nmatch = '*/WorkStart'\nrole = 'begin'\nname = 'mapped'\n[[event]]\nmatch = '*/WorkStop'\nrole = 'end'\nname = 'mapped'\n")
    spans = "SELECT count(*) FROM trace_spans('%s', map := %s) WHERE name = 'mapped' AND is_complete"
    for maps in ("'%s'" % path, "['%s']" % path):
        assert one(spans % (dotnet, maps)) == (16,), maps
    assert one("SELECT count(*) FROM read_trace('%s', map := '%s')" % (dotnet, path)) == one("SELECT count(*) FROM '%s'" % ("trace:" + dotnet))
    write("[[event]]\nmatch = 'x'\nrole = 'beginn'\n")
    found = error(spans % (dotnet, "'%s'" % path))
    assert "map.toml:3:8: expected" in found and "did you mean `begin`?" in found, found
assert "cannot be read" in error(spans % (dotnet, "'/nonexistent.toml'"))

# Answers do not depend on the number of threads.
for trace in (lttng, dotnet):
    answers = set()
    for threads in (1, 2, 4):
        connection.execute("SET threads = %d" % threads)
        sql = "SELECT count(*), sum(hash(ts, event, stream, seq)), bool_and(is_sorted) FROM (" \
            "SELECT *, ts >= coalesce(lag(ts) OVER (PARTITION BY stream ORDER BY packet, seq), ts) AS is_sorted FROM read_trace('%s'))"
        answers.add(one(sql % trace))
    assert len(answers) == 1 and next(iter(answers))[2], answers
print("parameters.py: done")
