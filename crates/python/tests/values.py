#!/usr/bin/env python3
"""Compares events with a Parquet dataset and with JSON Lines of the same traces. values.py COMMAND [TRACES]"""
import json
import os
import sys
import tempfile

import duckdb
import pyarrow

import ichnos
from support import command, here, recorded

sys.path.insert(0, os.path.join(here, "../../duckdb/tests"))
import comparison  # noqa: E402

comparison.command, comparison.recorded = command, recorded
opened = {}


def connect(threads):
    connection = duckdb.connect()
    if threads:
        connection.execute("SET threads = %d" % threads)
    return connection


def table(connection, trace, event=None):
    """Returns the name of a view of the events."""
    if trace not in opened:
        opened.clear()
        opened[trace] = ichnos.open(trace)
    events = opened[trace].events(event=event)
    connection.register("ours", events)
    check_iterator(events, trace, event)
    return "ours"


checked = set()

# Names of columns for values that do not fit the column with the name of the field.
ENDS = (".bytes", ".list", ".list.bytes", ".list.list")


def is_text_of(found, value):
    """Other classes have a text with the name of a number."""
    if isinstance(value, list) and isinstance(found, list):
        return len(found) == len(value) and all(a == b or is_text_of(a, b) for a, b in zip(found, value))
    return str(found) in (str(value), str(value).lower())


def check_iterator(events, trace, event):
    """Compares the values of plain events with the rows of the table."""
    if (trace, event) in checked:
        return
    checked.add((trace, event))
    for _, row in zip(range(1), events):
        pass
    arrow = pyarrow.table(events)
    if arrow.num_rows > 20000:
        return
    count = 0
    for plain, row in zip(events, arrow.to_pylist()):
        count += 1
        lower = {name.lower(): value for name, value in row.items()}
        for name, value in plain.items():
            found = lower[name.lower()]
            # Classes have a list, or bytes, and a single value for this name.
            others = [lower[other] for other in (name.lower() + end for end in ENDS) if other in lower]
            if found is None and value is not None:
                found = next((other for other in others if other is not None), None)
            if value != found and value == value and not is_text_of(found, value):
                if isinstance(found, bytes) and isinstance(value, str) and found == value.encode():
                    continue
                comparison.fail("%s, %s: %r of an event is %r in the table" % (trace, name, value, found))
                return
    if count != arrow.num_rows:
        comparison.fail("%s: %d events, %d rows" % (trace, count, arrow.num_rows))


def kinds():
    """A list, bytes or a number in other classes hides no value."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "kinds.jsonl")
        events = [("a", {"cmd": 7, "x.list": 1, "x": [2]}), ("b", {"cmd": [1, 2], "x": 3}), ("c", {"cmd": "text"})]
        for order in (events, events[::-1]):
            with open(path, "w") as file:
                for number, (name, payload) in enumerate(order):
                    file.write(json.dumps({"ts": number, "name": name, "payload": payload}) + "\n")
            trace = ichnos.open(path)
            assert {e.name: e["cmd"] for e in trace.events()} == {"a": 7, "b": [1, 2], "c": "text"}
            rows = {row["event"]: row for row in pyarrow.table(trace.events()).to_pylist()}
            assert [rows[name]["cmd"] for name in "abc"] == ["7", None, "text"], rows
            assert [rows[name]["cmd.list"] for name in "abc"] == [None, [1, 2], None], rows
            assert [rows["a"][name] for name in ("x", "x.list", "x.list2")] == [None, 1, [2]], rows
            assert rows["b"]["x"] == 3 and rows["b"]["x.list2"] is None, rows
            table = pyarrow.table(trace.events(columns=["event", "cmd.list"])).to_pydict()
            assert dict(zip(table["event"], table["cmd.list"])) == {"a": None, "b": [1, 2], "c": None}


def spellings():
    """Names of columns find the values of classes that spell them in another way."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "case.jsonl")
        with open(path, "w") as file:
            for number, payload in enumerate([{"Foo": 1}, {"foo": 2}, {"foo": [3]}, {"bar": 4, "Bar": 5}]):
                file.write(json.dumps({"ts": number, "name": "abcd"[number], "payload": payload}) + "\n")
        trace = ichnos.open(path)
        events = {event.name: event for event in trace.events()}
        assert events["a"]["Foo"] == 1 and events["b"]["Foo"] == 2 == events["b"]["foo"], events
        assert "foo" not in events["a"] and list(events["b"])[-1] == "foo"
        assert events["c"]["foo"] == [3] == events["c"]["Foo.list"] and "Foo" not in events["c"], events
        assert [event.get("Foo") for event in trace.events(columns=["Foo"])] == [1, 2, None, None]
        assert sorted(events["d"].fields().values()) == [4, 5]


def wide():
    """Integers of any size are integers."""
    numbers = [2**200 + 7, -(2**100), 2**127, 2**64, 5]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "wide.jsonl")
        with open(path, "w") as file:
            for number, value in enumerate(numbers):
                file.write(json.dumps({"ts": number, "name": "e%d" % number, "payload": {"n": value, "list": [value, 1]}}) + "\n")
        found = [(event["n"], event["list"]) for event in ichnos.open(path).events()]
        assert found == [(value, [value, 1]) for value in numbers], found
        tables = [pyarrow.table(ichnos.open(path).events(event=name)) for name in ("e0", "e4")]
        kinds = [table.schema.field("n").metadata for table in tables]
        assert kinds == [{b"ichnos.integer": b"signed"}, None], kinds


kinds()
spellings()
wide()
sys.exit(comparison.compare_all(connect, table))
