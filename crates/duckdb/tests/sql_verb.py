#!/usr/bin/env python3
"""Runs `ichnos sql` with Python's DuckDB, and with the program `duckdb` if it is installed. sql_verb.py EXTENSION COMMAND"""
import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys

extension, command = sys.argv[1:3]
examples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/")
lttng, fxt = examples + "hello-lttng/trace", examples + "hello-fxt/frames.fxt"
duckdb = shutil.which("duckdb")


def run(path, *arguments):
    environment = dict(os.environ, PATH=path, ICHNOS_DUCKDB_EXTENSION=extension, ICHNOS_PYTHON=sys.executable)
    return subprocess.run([command, "sql", *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True)


def on_terminal(path, *arguments):
    """Returns what a terminal gets."""
    terminal, end = pty.openpty()
    environment = dict(os.environ, PATH=path, ICHNOS_DUCKDB_EXTENSION=extension, ICHNOS_PYTHON=sys.executable)
    with subprocess.Popen([command, "sql", *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=end):
        os.close(end)
        shown = b""
        # The end of the last program closes the terminal.
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 4096):
                shown += part
    os.close(terminal)
    return shown


def answer(path, *arguments):
    done = run(path, *arguments)
    assert done.returncode == 0, done
    return done.stdout.decode()


programs = {"Python": "/nonexistent"}
if duckdb:
    programs["duckdb"] = os.environ["PATH"]
for program, path in programs.items():
    output = subprocess.run([command, "cat", lttng, "--format", "jsonl"], capture_output=True, check=True).stdout
    count = sum(json.loads(line)["type"] == "event" for line in output.splitlines())
    assert answer(path, lttng, "SELECT count(*) AS n FROM trace", "--format", "csv") == "n\n%d\n" % count
    rows = json.loads(answer(path, "--format=json", "--assume-correlated", lttng, fxt, "SELECT count(DISTINCT trace) AS traces FROM events"))
    assert rows == [{"traces": 2}], rows
    rows = json.loads(answer(path, "--format=json", fxt, "SELECT name, duration FROM slowest_spans LIMIT 1"))
    assert rows == [{"name": "LoadImage", "duration": 14166667}], rows
    lines = answer(path, "--format=jsonlines", "--begin=+1ms", fxt, "SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a").splitlines()
    assert [json.loads(line) for line in lines] == [{"a": 1}, {"a": 2}], lines
    assert "LoadImage" in answer(path, fxt, "FROM slowest_spans")
    assert answer(path, "--format=markdown", fxt, "SELECT 'x' AS a, NULL AS b").count("|") >= 9
    # Values are DuckDB's texts, also in Python.
    values = "SELECT true AS t, [1, NULL] AS l, TIMESTAMP_NS '2026-11-30 01:02:03.123456789' AS n"
    expected = 't,l,n\ntrue,"[1, NULL]",2026-11-30 01:02:03.123456789\n'
    assert answer(path, "--format=csv", fxt, values) == expected, answer(path, "--format=csv", fxt, values)
    assert answer(path, "--format=csv", fxt, "SELECT NULL AS n, 'NULL' AS t") == "n,t\n,NULL\n"
    # Two answers in a file: the second one follows the first one.
    assert answer(path, "--format=csv", fxt, "SELECT 1 AS a; SELECT 2 AS b") == "a\n1\nb\n2\n"
    for form in ["box", "csv", "markdown", "json", "jsonlines"]:
        shown = on_terminal(path, "--format=" + form, fxt, "SELECT 'a' || chr(27) || '[2J' || chr(155) || '31m' AS e")
        assert b"\x1b" not in shown and b"\xc2\x9b" not in shown and b"[2J" in shown, (form, shown)
    # A query can begin with a comment.
    assert answer(path, "--format=csv", fxt, "-- one\nSELECT 1 AS a -- two") == "a\n1\n"
    assert "1" in answer(path, fxt, "-- one\nSELECT 1 AS a")
    # The macros of the views take a list of paths.
    assert "2" in answer(path, "--format=csv", "--assume-correlated", lttng, fxt, "SELECT count(*) FROM event_counts")
    failed = run(path, fxt, "SELECT nothing FROM trace")
    assert failed.returncode == 2 and b"nothing" in failed.stderr and b"Traceback" not in failed.stderr, failed
    failed = run(path, "/nonexistent/trace", "SELECT * FROM trace")
    assert failed.returncode == 2 and b"/nonexistent/trace" in failed.stderr, failed
# The last question of docs/sql.md has the answer that is printed there.
with open(os.path.join(examples, "../docs/sql.md")) as page:
    question, answered = page.read().rsplit("```sql\n", 1)[1].split("```\n", 1)
table = "".join(line for line in answered.splitlines(True) if line.startswith("|"))
found = answer("/nonexistent", "--format=markdown", examples + "one-request/waits.tar.zst", question)
assert found == table and found.count("\n") == 6, found
print("sql_verb.py: %s" % ", ".join(programs))
