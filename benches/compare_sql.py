#!/usr/bin/env python3
"""Compares SQL and Python over a trace with other ways to the same answers: compare_sql.py TRACE [RUNS]

The trace is one of `make_trace.py DIR STREAMS EVENTS`. DuckDB's extension and the package `ichnos` are compared with
DuckDB's readers for CSV and JSON, which get the trace as ichnos converts it (not measured), and with Babeltrace's
module `bt2`. All programs run in turns with one thread, so that other work on the machine affects all of them. Printed
are medians of CPU time without the start of Python, millions of events in a second, and the same figures for the other
program. All answers to a question must be equal.

Variables: ICHNOS (command, default target/dist/ichnos), ICHNOS_DUCKDB (extension, default
target/packages/ichnos.duckdb_extension), ICHNOS_PYTHON (Python with the packages duckdb, ichnos and pyarrow), BT2_PYTHON
(Python with the module bt2, default /usr/bin/python3). What is missing is left out by name."""
import json, os, statistics, subprocess, sys, tempfile

OURS = os.environ.get("ICHNOS", "target/dist/ichnos")
EXTENSION = os.environ.get("ICHNOS_DUCKDB", "target/packages/ichnos.duckdb_extension")
PYTHON = os.environ.get("ICHNOS_PYTHON", sys.executable)
BT2_PYTHON = os.environ.get("BT2_PYTHON", "/usr/bin/python3")

# Each program sets `answer`. The time of `prepare` is not measured.
MEASURED = """
import json, sys, time
trace, csv, lines, extension = sys.argv[1:]
{prepare}
begin = time.process_time()
{work}
print(json.dumps([time.process_time() - begin, answer]))
"""
DUCKDB = """
import duckdb
sql = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 1})
sql.execute(f"LOAD '{extension}'")
"""
EVENTS = "columns={type: 'VARCHAR', name: 'VARCHAR', payload: 'STRUCT(i BIGINT)'}"


def query(text):
    return DUCKDB, f'answer = str(sql.execute(f"""{text}""").fetchall())'


def loop(prepare, work):
    return prepare, "answer = 0\n" + work


TRACE = "read_trace('{trace}')"
LINES = "read_json('{lines}', format='newline_delimited', " + EVENTS.replace("{", "{{").replace("}", "}}") + ") WHERE type = 'event'"
CSV = "read_csv('{csv}')"
PACKAGE = "import ichnos\nopened = ichnos.open(trace)"
ARROW = PACKAGE + "\nimport pyarrow"
BT2 = "import bt2\nevents = (m for m in bt2.TraceCollectionMessageIterator(trace) if type(m) is bt2._EventMessageConst)"
READ = "for batch in pyarrow.RecordBatchReader.from_stream(opened.events({})):\n    answer += batch.num_rows"
# Programs with the same answer: name, Python, program.
WORK = [
    [
        ("`count(*)`", PYTHON, query("SELECT count(*) FROM " + TRACE)),
        ("DuckDB's CSV reader", PYTHON, query("SELECT count(*) FROM " + CSV)),
        ("DuckDB's JSON reader", PYTHON, query("SELECT count(*) FROM " + LINES)),
    ],
    [
        ("`max(i), sum(i)`", PYTHON, query("SELECT max(i), sum(i) FROM " + TRACE)),
        ("DuckDB's CSV reader", PYTHON, query("SELECT max(i), sum(i) FROM " + CSV)),
        ("DuckDB's JSON reader", PYTHON, query("SELECT max(payload.i), sum(payload.i) FROM " + LINES)),
    ],
    [("`max(ts), sum(i)`", PYTHON, query("SELECT max(ts), sum(i) FROM " + TRACE))],
    [
        ("`GROUP BY event`", PYTHON, query("SELECT event, count(*) FROM " + TRACE + " GROUP BY 1 ORDER BY 1")),
        ("DuckDB's JSON reader", PYTHON, query("SELECT name, count(*) FROM " + LINES + " GROUP BY 1 ORDER BY 1")),
    ],
    [
        ("`for event in trace.events()`", PYTHON, loop(PACKAGE, "for event in opened.events():\n    answer += 1")),
        ("`bt2`", BT2_PYTHON, loop(BT2, "for event in events:\n    answer += 1")),
    ],
    [
        ("the same, `event.ts`", PYTHON, loop(PACKAGE, "for event in opened.events():\n    answer += event.ts")),
        ("`bt2`", BT2_PYTHON, loop(BT2, "for event in events:\n    answer += event.default_clock_snapshot.ns_from_origin")),
    ],
    [("Arrow stream, all columns", PYTHON, loop(ARROW, READ.format("")))],
    [("Arrow stream, `ts` and `i`", PYTHON, loop(ARROW, READ.format('columns=["ts", "i"]')))],
]


def run(python, program, arguments):
    """CPU time and answer, or None if the program cannot run."""
    prepare, work = program
    code = MEASURED.replace("{prepare}", prepare).replace("{work}", work)
    done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["?"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def main():
    trace, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    counted = json.loads(subprocess.check_output([OURS, "info", "--count", "--json", trace]))
    events = counted["events"]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(trace))) as directory:
        csv, lines = os.path.join(directory, "trace.csv"), os.path.join(directory, "trace.jsonl")
        for path in (csv, lines):
            subprocess.check_call([OURS, "convert", "-q", trace, "-o", path])
        arguments = [trace, csv, lines, EXTENSION]
        print(f"{events} events; one thread, CPU time, medians of {runs} runs in turns\n")
        print("| question | ichnos | million events a second | other program |\n|---|---|---|---|")
        for programs in WORK:
            rounds = [[run(python, program, arguments) for _, python, program in programs] for _ in range(runs)]
            answers = {json.dumps(answer) for one in rounds for time, answer in one if time is not None}
            assert len(answers) <= 1, (programs[0][0], answers)
            cells = []
            for at, (name, *_) in enumerate(programs):
                times = [one[at][0] for one in rounds if one[at][0] is not None]
                if not times:
                    print(f"left out: {programs[0][0]}, {name}: {rounds[0][at][1]}", file=sys.stderr)
                    if at == 0:
                        break
                    continue
                time = statistics.median(times)
                if at == 0:
                    cells += [name, f"{time:.3f} s", f"{events / time / 1e6:.1f}"]
                else:
                    cells.append(f"{name} {time:.2f} s")
            if not cells:
                continue
            print("| " + " | ".join(cells[:3] + [", ".join(cells[3:])]) + " |", flush=True)


main()
