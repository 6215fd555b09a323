"""Prints what queries find in tables of events: query.py QUERY.sql... -- EVENTS.csv...

EVENTS.csv is what `ichnos cat --format csv` writes. The table `events` has the number `row` in the order of the file, the
time `ts`, and the columns in WANTED as texts, null where the file lacks them. Tables that a query makes are there for those
behind it. Each file of events gives a line of JSON: a list with the rows of the last statement of each query, as lists."""

import csv
import json
import sys

import duckdb

WANTED = (
    "event packet.cpu_id perf_cpu perf_tid prev_tid prev_pid prev_state next_tid next_pid tid pid child_tid child_pid skbaddr dev sector name"
).split()



def load(path):
    """Returns a database with the events of a file."""
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
    return database


words = sys.argv[1:]
queries, tables = words[: words.index("--")], words[words.index("--") + 1 :]
for table in tables:
    database = load(table)
    results = []
    for name in queries:
        with open(name, encoding="utf-8") as file:
            results.append(database.execute(file.read()).fetchall())
    print(json.dumps(results))
