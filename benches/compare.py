#!/usr/bin/env python3
"""Compares ichnos with babeltrace2 on a trace, and with itself: compare.py TRACE [RUNS] [writing]

Commands that are compared run in turns, so that other work on the machine affects all of them. Printed
are medians of wall-clock time and CPU time in seconds, medians of the ratios of the pairs, and the most
memory that a run had (RssAnon: without the mapped files of the trace). With `writing`, traces are written,
beside the one that is read, and events selected: that takes a trace of `make_trace.py ... rare`. Needs the fastest build, `cargo build --profile dist`."""
import json, os, shutil, statistics, subprocess, sys, tempfile, time

OURS, THEIRS = "target/dist/ichnos", "babeltrace2"
CAT = [OURS, "cat", "--threads=1"]
PEER = {
    "read all": (CAT + ["--format=null"], [THEIRS, "--output-format=dummy"]),
    "text": (CAT, [THEIRS]),
    "details": (CAT + ["--format=details"], [THEIRS, "--component=sink.text.details"]),
    "JSON Lines": (CAT + ["--format=jsonl"], None),
}
TWO = [OURS, "cat", "--threads=2"]
ALONE = {
    "`cat --format null`, 2 threads": (TWO + ["--format=null"], CAT + ["--format=null"]),
    "`cat`, 2 threads": (TWO, CAT),
    "`info --count`": ([OURS, "info", "--count"], CAT + ["--format=null"]),
    "`info`": ([OURS, "info"], CAT + ["--format=null"]),
    "`cat` of 1 % of the time": (CAT + ["WINDOW"], CAT),
}
CONVERT = [OURS, "convert", "--threads=1", "--output=OUT"]
CTF = [THEIRS, "--output-format=ctf", "--output=OUT"]
WRITE = {
    "packets copied": (CONVERT, CTF),
    "events copied into new packets": (CONVERT + ["--packet-size=256K"], CTF),
    "fields encoded anew (`repair`)": ([OURS, "repair", "--threads=1", "--output=OUT"], CTF),
}
NULL = CAT + ["--format=null"]
SELECT = {
    "1 % by class": (NULL + ['--filter=event == "bench:rare"'], NULL),
    "none by a field of the payload": (NULL + ["--filter=i == -1"], NULL),
    "`filter` of 1 % by class": ([OURS, "filter", "--threads=1", 'event == "bench:rare"', "--output=OUT"], CONVERT + ["--packet-size=256K"]),
}
TWICE = {
    name: ([part.replace("--threads=1", "--threads=2") for part in side], side)
    for name, side in {
        "`convert`, events copied into new packets": CONVERT + ["--packet-size=256K"],
        "`repair`": WRITE["fields encoded anew (`repair`)"][0],
        "`filter` of one third by class": [OURS, "filter", "--threads=1", 'event == "bench:rich"', "--output=OUT"],
        "`filter` of half by a field": [OURS, "filter", "--threads=1", "i % 4 < 2", "--output=OUT"],
    }.items()
}


def run(command, out):
    shutil.rmtree(out, ignore_errors=True)
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
        time.sleep(0.001)
    assert status in (0, 256), (command, status)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, anonymous / 1024


def table(work, head, trace, runs, window):
    print(f"\n| | {head[0]} | {head[1]} | times faster | most RssAnon |\n|---|---|---|---|---|")
    for name, sides in work.items():
        out = trace.rstrip("/") + "-written"
        place = lambda part: window if part == "WINDOW" else part.replace("OUT", out)
        commands = [[place(part) for part in side] + [trace] for side in sides if side]
        rounds = [[run(command, out) for command in commands] for _ in range(runs)]
        shutil.rmtree(out, ignore_errors=True)
        median = lambda side, what: statistics.median(one[side][what] for one in rounds)
        cells = [f"{median(side, 0):.3f} s ({median(side, 1):.3f})" for side in range(len(commands))]
        ratio = lambda what: statistics.median(one[1][what] / max(one[0][what], 1e-4) for one in rounds)
        cells += [f"{ratio(0):.1f} ({ratio(1):.1f})"] if len(commands) > 1 else ["", ""]
        print(f"| {name} | " + " | ".join(cells) + f" | {max(one[0][2] for one in rounds):.1f} MB |", flush=True)


def memory_bandwidth():
    """GB of memory that are read, and as many that are written, in a second."""
    size = 256 << 20
    source, target = memoryview(bytearray(size)), memoryview(bytearray(size))
    times = []
    for _ in range(5):
        begin = time.monotonic()
        target[:] = source
        times.append(time.monotonic() - begin)
    return size / min(times) / 1e9


def without_indexes(trace, directory):
    for at, directories, files in os.walk(trace):
        if os.path.basename(at) == "index":
            continue
        to = os.path.join(directory, os.path.relpath(at, trace))
        os.makedirs(to, exist_ok=True)
        for file in files:
            os.link(os.path.join(at, file), os.path.join(to, file))
    return directory


def main():
    trace, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    size = sum(os.path.getsize(os.path.join(at, file)) for at, _, files in os.walk(trace) for file in files)
    facts = json.loads(subprocess.check_output([OURS, "info", "--json", trace]))
    begin, end = facts["begin_ns"], facts["end_ns"]
    middle, width = (begin + end) // 2, (end - begin) // 100
    window = f"--timerange=@{middle},@{middle + width}"
    print(f"{size / 1e6:.1f} MB; copying memory: {memory_bandwidth():.1f} GB/s read and as much written")
    if "writing" in sys.argv[3:]:
        table(WRITE, ("ichnos, 1 thread: wall (CPU)", "babeltrace2: wall (CPU)"), trace, runs, window)
        table(SELECT, ("this: wall (CPU)", "all, 1 thread: wall (CPU)"), trace, runs, window)
        table(TWICE, ("2 threads: wall (CPU)", "1 thread: wall (CPU)"), trace, runs, window)
        return
    table(PEER, ("ichnos, 1 thread: wall (CPU)", "babeltrace2: wall (CPU)"), trace, runs, window)
    table(ALONE, ("this: wall (CPU)", "all, 1 thread: wall (CPU)"), trace, runs, window)
    directory = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(trace)))
    try:
        bare = without_indexes(trace, directory)
        print("\nThe same without LTTng's packet indexes:")
        table({name: ALONE[name] for name in list(ALONE)[3:]}, ("this", "all, 1 thread"), bare, runs, window)
    finally:
        shutil.rmtree(directory)


main()
