#!/usr/bin/env python3
"""Compares events with a Parquet dataset and with JSON Lines of the same traces. values.py COMMAND [TRACES]"""
import os
import sys

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
            if name.lower() not in lower:
                # Classes have a list and a single value for this name.
                continue
            found = lower[name.lower()]
            if value != found and value == value and str(found) not in (str(value), str(value).lower()):
                if isinstance(found, bytes) and isinstance(value, str) and found == value.encode():
                    continue
                comparison.fail("%s, %s: %r of an event is %r in the table" % (trace, name, value, found))
                return
    if count != arrow.num_rows:
        comparison.fail("%s: %d events, %d rows" % (trace, count, arrow.num_rows))


sys.exit(comparison.compare_all(connect, table))
