#!/usr/bin/env python3
"""Reads damaged traces: each call has an answer or raises `ichnos.Error`, and never ends the process. hostile.py COMMAND [TRACES]"""
import os
import random
import subprocess
import sys
import tempfile

import pyarrow

import ichnos
from support import LTTNG, examples

FILES = ["hello-fxt/frames.fxt", "hello-dotnet/hello.nettrace.zst", "hello-jsonl/requests.jsonl",
         "hello-otlp/shop.otlp.jsonl", "hello-xtrace/proxy.reports", "hello-fuchsia/boot.log"]
answers = errors = 0


def ask(call):
    global answers, errors
    try:
        call()
        answers += 1
    except ichnos.Error as error:
        errors += 1
        assert "internal error" not in str(error), error
    except pyarrow.ArrowException as error:
        errors += 1
        assert "internal error" not in str(error), error


def questions(trace):
    yield lambda: pyarrow.table(trace.events())
    yield lambda: pyarrow.table(trace.events(merge=False))
    yield lambda: pyarrow.table(trace.events(columns=["ts", "message"]))
    yield lambda: [(event.ts, repr(event), dict(event)) for event in trace.events()]
    yield trace._repr_html_
    for table in ("info", "classes", "losses"):
        yield lambda: list(getattr(trace, table))
    for table in ("spans", "stacks", "frames", "tasks", "edges"):
        yield lambda: pyarrow.table(getattr(trace, table)())
        yield lambda: getattr(trace, table)()._repr_html_()
    yield lambda: list(trace.stats("event"))
    yield lambda: list(trace.stats("event", spans=True))
    yield lambda: trace.schema


def read(path):
    opened = []
    ask(lambda: opened.append(ichnos.open(path)))
    for trace in opened:
        for question in questions(trace):
            ask(question)


def files(directory, chance):
    for name in FILES:
        with open(os.path.join(examples, name), "rb") as file:
            content = bytearray(file.read())
        for number in range(4):
            changed = bytearray(content)
            if number == 0:
                changed = changed[: chance.randrange(len(changed))]
            else:
                for _ in range(chance.randrange(1, 20)):
                    changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            path = os.path.join(directory, "%d-%s" % (number, os.path.basename(name)))
            with open(path, "wb") as file:
                file.write(changed)
            read(path)


def directories(directory, chance):
    for number in range(6):
        target = os.path.join(directory, "ctf%d" % number)
        for folder, _, names in os.walk(LTTNG):
            inner = os.path.join(target, os.path.relpath(folder, LTTNG))
            os.makedirs(inner, exist_ok=True)
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    content = bytearray(file.read())
                if name != "metadata" or number % 2:
                    for _ in range(chance.randrange(1, 10)):
                        if content:
                            content[chance.randrange(len(content))] = chance.randrange(256)
                with open(os.path.join(inner, name), "wb") as file:
                    file.write(content)
        read(target)


def truncated(directory):
    """Another program truncates a file while its events are read."""
    path, count = os.path.join(directory, "shrinking"), 100_000
    generator = os.path.join(examples, "../benches/make_trace.py")
    subprocess.check_call([sys.executable, generator, path, "1", str(count)], stdout=subprocess.DEVNULL)
    trace = ichnos.open(path)
    events = iter(trace.events())
    next(events)
    os.truncate(os.path.join(path, "chan_0"), 1 << 16)
    read = 1 + sum(1 for _ in events)
    assert read < count, read
    assert list(trace.losses), "no loss of truncated data"


with tempfile.TemporaryDirectory() as directory:
    truncated(directory)
    files(directory, random.Random(58))
    directories(directory, random.Random(59))
assert len(list(ichnos.open(LTTNG).events())) > 0
print("hostile.py: %d answers, %d errors" % (answers, errors))
