"""Prints what queries find in a table of events: query.py EVENTS.csv QUERY.sql...

EVENTS.csv is what `ichnos cat --format csv` writes. The table `events` has the number `row` in the order of the file, the
time `ts`, and the columns in WANTED as texts, null where the file lacks them. Tables that a query makes are there for those
behind it. Each query gives a line of JSON: the rows of its last statement, as lists."""

import csv
import json
import sys

import duckdb

WANTED = (
    "event packet.cpu_id perf_cpu perf_tid prev_tid prev_pid prev_state next_tid next_pid tid pid child_tid child_pid skbaddr dev sector name"
).split()

path, *queries = sys.argv[1:]
with open(path, newline="", encoding="utf-8") as file:
    columns = next(csv.reader(file))
# The first one of several columns with the same name.
places = {name: f"c{number}" for number, name in reversed(list(enumerate(columns)))}
wanted = ", ".join(f'{places.get(name, "null::varchar")} as "{name}"' for name in WANTED)
types = ", ".join(f"'c{number}': 'varchar'" for number in range(len(columns)))
database = duckdb.connect()
# Rows stay in order.
database.execute("set threads = 1")
database.execute(
    f"""create table events as
    select row_number() over () as row, {places["time"]}::bigint as ts, {wanted}
    from read_csv(?, header = true, auto_detect = false, delim = ',', quote = '"', escape = '"',
        max_line_size = 16777216, columns = {{{types}}})""",
    [path],
)
for name in queries:
    with open(name, encoding="utf-8") as file:
        print(json.dumps(database.execute(file.read()).fetchall()))
