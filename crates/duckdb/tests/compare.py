#!/usr/bin/env python3
"""Compares answers of the extension with a Parquet dataset and with JSON Lines of the same traces.

compare.py EXTENSION COMMAND [TRACES]: COMMAND is `ichnos` with the feature `table`, TRACES a directory with recorded traces.
"""
import sys

try:
    import duckdb
except ImportError:
    print("skipped: compare.py (the Python package duckdb is missing)")
    sys.exit(0)

import comparison

extension, comparison.command = sys.argv[1:3]
comparison.recorded = sys.argv[3] if len(sys.argv) > 3 else None


def connect(threads):
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute("LOAD '%s'" % extension)
    if threads:
        connection.execute("SET threads = %d" % threads)
    return connection


def table(_, trace, event=None):
    if event is None:
        return "read_trace(%s)" % comparison.text(trace)
    return "read_trace(%s, event := %s)" % (comparison.text(trace), comparison.text(event))


sys.exit(comparison.compare_all(connect, table))
