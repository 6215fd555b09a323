#!/usr/bin/env python3
"""Reads damaged traces and calls with wrong arguments: each is an answer or an error of the query, never a crash.

hostile.py EXTENSION COMMAND [TRACES]
"""
import os
import random
import subprocess
import sys
import tempfile

try:
    import duckdb
except ImportError:
    print("skipped: hostile.py (the Python package duckdb is missing)")
    sys.exit(0)

extension = sys.argv[1]
examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples")
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute("LOAD '%s'" % extension)
answers = errors = 0

FILES = ["hello-fxt/frames.fxt", "hello-dotnet/hello.nettrace.zst", "hello-jsonl/requests.jsonl",
         "hello-otlp/shop.otlp.jsonl", "hello-xtrace/proxy.reports", "hello-fuchsia/boot.log"]
FUNCTIONS = ["read_trace", "trace_events", "trace_spans", "trace_classes", "trace_info", "trace_losses",
             "trace_stacks", "trace_frames", "trace_tasks", "trace_edges"]


def ask(query):
    """Every error is an error of the query. A crash ends this process."""
    global answers, errors
    try:
        connection.execute(query).fetchall()
        answers += 1
    except duckdb.Error as error:
        errors += 1
        assert "internal error" not in str(error).lower(), (query, str(error))
        return str(error)
    return None


def fails(query, *parts):
    error = ask(query)
    assert error is not None, query
    for part in parts:
        assert part in error, (query, part, error)


def arguments():
    fxt = os.path.join(examples, FILES[0])
    fails("FROM read_trace('/nonexistent')", "/nonexistent")
    fails("FROM read_trace(NULL)", "expected a path")
    fails("FROM read_trace(1)", "expected a path")
    fails("FROM read_trace([])", "expected")
    fails("FROM read_trace([[1]])", "expected a path")
    fails("FROM read_trace('-')", "standard input")
    fails("FROM read_trace('/nonexistent/*.fxt')", "no file matches")
    fails("FROM read_trace('%s', event := 1)" % fxt, "event: expected a text")
    fails("FROM read_trace('%s', event := '[')" % fxt, "invalid pattern in event")
    fails("FROM read_trace('%s', filter := 'a ==')" % fxt, "filter: ")
    fails("FROM read_trace('%s', filter := 'nonexistent_field == 1')" % fxt, "nonexistent_field")
    fails("FROM read_trace('%s', begin := 'yesterday')" % fxt, "begin: ")
    fails("FROM read_trace('%s', timestamps := 'hours')" % fxt, "timestamps: ")
    fails("FROM read_trace('%s')" % os.path.abspath(__file__), "no trace found")
    fails("FROM '/nonexistent.nettrace'", "/nonexistent.nettrace")
    fails("FROM 'trace:/nonexistent'", "/nonexistent")
    assert ask("FROM read_trace('%s', event := 'no such event')" % fxt) is None
    assert ask("FROM read_trace('%s') LIMIT 0" % fxt) is None
    counts = [connection.execute("SELECT count(*) FROM '%s%s'" % (prefix, fxt)).fetchone() for prefix in ("", "trace:")]
    assert counts[0] == counts[1] and counts[0][0] > 0, counts


def texts(directory):
    """Extreme times, offsets and event maps."""
    fxt, most = os.path.join(examples, FILES[0]), str(2**127 - 1)
    times = ["@" + most, "@-" + most, "+" + "9" * 19 + "h", "-" + "9" * 19 + "h", "9" * 20, "9999-12-31", "0000-01-01", "", "=", "\u2028", "x" * 100000]
    for time in times:
        ask("SELECT count(ts) FROM read_trace('%s', begin := '%s')" % (fxt, time))
        ask("SELECT count(ts) FROM read_trace('%s', \"end\" := '%s')" % (fxt, time))
        for function in FUNCTIONS:
            ask("FROM %s('%s', clock_offset := ['%s', '%s=%s'])" % (function, fxt, time, fxt, time))
    chance = random.Random(58)
    whole = b"[[event]]\nmatch = '*'\nrole = 'begin'\nfields = { key = ['a', 'b'], thread = 'c' }\n"
    for number in range(60):
        changed = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path = os.path.join(directory, "map%d.toml" % number)
        with open(path, "wb") as file:
            file.write(changed)
        ask("FROM trace_spans('%s', map := '%s')" % (fxt, path))
    for path in (directory, "/dev/zero", "/dev/null", fxt):
        fails("FROM trace_spans('%s', map := '%s')" % (fxt, path))


def damaged(directory, seed):
    chance = random.Random(seed)
    for name in FILES:
        with open(os.path.join(examples, name), "rb") as file:
            content = bytearray(file.read())
        for number in range(6):
            changed = bytearray(content)
            if number == 0:
                changed = changed[: chance.randrange(len(changed))]
            else:
                for _ in range(chance.randrange(1, 20)):
                    changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            path = os.path.join(directory, "%d-%s" % (number, os.path.basename(name)))
            with open(path, "wb") as file:
                file.write(changed)
            for function in FUNCTIONS:
                ask("FROM %s('%s')" % (function, path))


def damaged_ctf(directory, seed):
    chance = random.Random(seed)
    source = os.path.join(examples, "hello-lttng/trace")
    for number in range(8):
        target = os.path.join(directory, "ctf%d" % number)
        for folder, _, files in os.walk(source):
            inner = os.path.join(target, os.path.relpath(folder, source))
            os.makedirs(inner, exist_ok=True)
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    content = bytearray(file.read())
                if name != "metadata" or number % 2:
                    for _ in range(chance.randrange(1, 10)):
                        if content:
                            content[chance.randrange(len(content))] = chance.randrange(256)
                with open(os.path.join(inner, name), "wb") as file:
                    file.write(content)
        for function in FUNCTIONS:
            ask("FROM %s('%s')" % (function, target))


def truncated(directory):
    """Another program truncates a file while a query reads it."""
    path, count = os.path.join(directory, "shrinking"), 400_000
    generator = os.path.join(examples, "../benches/make_trace.py")
    subprocess.check_call([sys.executable, generator, path, "1", str(count)], stdout=subprocess.DEVNULL)
    rows = connection.execute("SELECT ts, event FROM read_trace('%s')" % path)
    assert rows.fetchone() is not None
    os.truncate(os.path.join(path, "chan_0"), 1 << 16)
    assert 0 < len(rows.fetchall()) < count - 1


arguments()
with tempfile.TemporaryDirectory() as directory:
    truncated(directory)
    texts(directory)
    damaged(directory, 58)
    damaged_ctf(directory, 58)
# The database still works.
assert connection.execute("SELECT 1").fetchone() == (1,)
print("hostile.py: %d answers, %d errors" % (answers, errors))
