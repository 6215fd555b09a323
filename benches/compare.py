#!/usr/bin/env python3
"""Compares ichnos with babeltrace2 on a trace: compare.py TRACE [RUNS]

Runs the two in turns, so that what else the machine does meets both alike, and prints medians of
wall-clock time and CPU time in seconds, the median of the ratios of the pairs, and the most
memory of its own that a run ever had (RssAnon: without the mapped files of the trace)."""
import os, statistics, subprocess, sys, time

OURS, THEIRS = "target/release/ichnos", "babeltrace2"
WORK = {
    "read all": ([OURS, "cat", "--format=null"], [THEIRS, "--output-format=dummy"]),
    "text": ([OURS, "cat"], [THEIRS]),
    "details": ([OURS, "cat", "--format=details"], [THEIRS, "--component=sink.text.details"]),
    "JSON Lines": ([OURS, "cat", "--format=jsonl"], None),
}


def run(command):
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    anonymous = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        try:
            for line in open(f"/proc/{process.pid}/status"):
                if line.startswith("RssAnon:"):
                    anonymous = max(anonymous, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.01)
    assert status == 0, command
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, anonymous / 1024, usage.ru_maxrss / 1024


def main():
    trace, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print("| | ichnos wall (CPU) | babeltrace2 wall (CPU) | times faster (CPU) | ichnos most RssAnon, RSS | babeltrace2 |")
    print("|---|---|---|---|---|---|")
    for name, (ours, theirs) in WORK.items():
        pairs = [(run(ours + [trace]), run(theirs + [trace]) if theirs else None) for _ in range(runs)]
        median = lambda side, what: statistics.median(pair[side][what] for pair in pairs)
        most = lambda side: " MB, ".join(f"{max(pair[side][what] for pair in pairs):.1f}" for what in (2, 3)) + " MB"
        times = lambda side: f"{median(side, 0):.2f} s ({median(side, 1):.2f})"
        ratio = lambda what: statistics.median(pair[1][what] / pair[0][what] for pair in pairs)
        cells = [times(0), times(1), f"{ratio(0):.1f} ({ratio(1):.1f})", most(0), most(1)] if theirs else [times(0), "", "", most(0), ""]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


main()
