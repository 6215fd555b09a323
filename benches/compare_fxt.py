#!/usr/bin/env python3
"""Compares ichnos with the Python package `fxt` on a trace of Fuchsia: compare_fxt.py TRACE [RUNS] [TIMES]

Copies of the trace follow each other in one file, as many as TIMES says (by default 10), without the providers and
clocks at their beginning, which the package reads only once. Both read all records with strings and threads resolved,
and decode all arguments; ichnos also prints them as JSON Lines. They run in turns, so that other work on the machine
affects both. Printed are medians of wall-clock time and CPU time in seconds, with the start of each process, and
medians of the ratios of the pairs. Needs the fastest build, `cargo build --profile dist`; the environment variable
ICHNOS names another one. Without the package (`pip install fxt`), nothing is compared."""
import os, statistics, subprocess, sys, tempfile, time

OURS = os.environ.get("ICHNOS", "target/dist/ichnos")
CAT = [OURS, "cat", "--threads=1", "--unsorted", "-q"]
THEIRS = """
import sys
from fxt.reader import parse_records
with open(sys.argv[1], "rb") as file:
    assert parse_records(file).records_by_provider
"""
WORK = {
    "ichnos, all read": CAT + ["--format=null"],
    "ichnos, printed as JSON Lines": CAT + ["--format=jsonl"],
    "Python package `fxt`": [sys.executable, "-c", THEIRS],
}


def rest(trace):
    """The trace without its records of the types 0 (metadata) and 1 (initialization) at the beginning."""
    at = 0
    while trace[at] & 15 < 2:
        at += 8 * (int.from_bytes(trace[at : at + 2], "little") >> 4)
    return trace[at:]


def run(command, path):
    begin = time.monotonic()
    process = subprocess.Popen(command + [path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, (command, status)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def main():
    try:
        import fxt
    except ImportError:
        print("skipped: the Python package `fxt` is not installed")
        return
    trace = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "repeated.fxt")
        with open(trace, "rb") as one, open(path, "wb") as file:
            bytes = one.read()
            file.write(bytes + rest(bytes) * (times - 1))
        size = os.path.getsize(path) / 1e6
        rounds = [[run(command, path) for command in WORK.values()] for _ in range(runs)]
    print(f"{size:.1f} MB\n\n| | wall (CPU) | MB/s of CPU time | times faster |\n|---|---|---|---|")
    for index, name in enumerate(WORK):
        wall, cpu = (statistics.median(one[index][what] for one in rounds) for what in (0, 1))
        ratio = lambda what: statistics.median(one[-1][what] / one[index][what] for one in rounds)
        print(f"| {name} | {wall:.3f} s ({cpu:.3f}) | {size / cpu:.1f} | {ratio(0):.0f} ({ratio(1):.0f}) |")


main()
