#!/usr/bin/env python3
"""Values of all shapes: long lists, missing items, and columns with different types in several classes.

values.py EXTENSION COMMAND [TRACES]
"""
import json
import os
import sys
import tempfile

try:
    import duckdb
except ImportError:
    print("skipped: values.py (the Python package duckdb is missing)")
    sys.exit(0)

connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute("LOAD '%s'" % sys.argv[1])


def read(events, query):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.jsonl")
        with open(path, "w") as file:
            for number, (name, payload) in enumerate(events):
                file.write(json.dumps({"ts": number, "name": name, "payload": payload}) + "\n")
        return connection.execute(query.replace("$", "read_trace('%s')" % path)).fetchall()


def lists():
    """More items in a chunk of rows than rows, and texts that do not fit into DuckDB's short form."""
    payloads = [
        {
            "numbers": [None if item % 3 == 0 else item for item in range(200 if number % 2 else 2)],
            "texts": ["item %d" % item * (item % 9) for item in range(1 + number % 50)],
            "nested": [[1, number], [3]],
            "optional": None if number % 4 else 7,
        }
        for number in range(3000)
    ]
    rows = read([("lists", payload) for payload in payloads], "SELECT numbers, texts, nested, optional FROM $ ORDER BY ts")
    assert len(rows) == len(payloads)
    for row, payload in zip(rows, payloads):
        wanted = tuple(payload[name] for name in ("numbers", "texts", "nested", "optional"))
        assert row == wanted, (row, wanted)


def types():
    """A text is the type for a number and a text. Names that differ in case are one column. Lists have their own column."""
    events = [("a", {"x": 1, "y": 1, "list": 1}), ("b", {"x": "one", "y": 2.5, "list": [1]}), ("c", {"X": True})]
    described = {row[0]: row[1] for row in read(events, "DESCRIBE FROM $")}
    assert described["x"] == "VARCHAR" and described["y"] == "VARCHAR" and described["list"] == described["list.list"][:-2], described
    rows = read(events, 'SELECT event, list, "list.list" FROM $ ORDER BY ts')
    assert rows == [("a", 1, None), ("b", None, [1]), ("c", None, None)], rows
    assert read(events, 'SELECT "list.list" FROM $ WHERE event = \'b\'') == [([1],)]
    rows = read(events, "SELECT event, x, y FROM $ ORDER BY ts")
    assert rows == [("a", "1", "1"), ("b", "one", "2.5"), ("c", "true", None)], rows
    assert read(events, "SELECT x FROM $ WHERE event = 'a'") == [("1",)]


def mixed():
    """Rows keep the order of the events, across chunks."""
    events = [("abc"[number * 7 % 5 % 3], {"abc"[number * 7 % 5 % 3]: number, "all": number}) for number in range(20000)]
    rows = read(events, "SELECT ts, event, a, b, c, \"all\", seq FROM $")
    for number, (row, (name, _)) in enumerate(zip(rows, events)):
        wanted = (number, name, *(number if name == other else None for other in "abc"), number, number)
        assert row == wanted, (row, wanted)
    assert len(rows) == len(events)
    assert read(events, "SELECT count(*), count(b), sum(\"all\") FROM $") == [(20000, sum(e[0] == "b" for e in events), sum(range(20000)))]


lists()
types()
mixed()
print("values.py: lists, types, order")
