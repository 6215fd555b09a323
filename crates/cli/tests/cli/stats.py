"""Computes statistics of the text that `babeltrace2 --clock-seconds` prints, read from standard input, in the
simplest way: stats.py BEGIN END KEY FIELD prints them as JSON."""

import fnmatch
import json
import re
import sys

begin_name, end_name, key_name, field_name = sys.argv[1:]
LINE = re.compile(r"\[(\d+)\.(\d{9})\] \(\S+\) (?:\S+ )?(\S+): (.*)")


def quantiles(numbers):
    numbers = sorted(numbers)
    rank = lambda part: numbers[max(-(-part * len(numbers) // 1000), 1) - 1]
    return {
        "count": len(numbers),
        "min": numbers[0],
        "mean": sum(numbers) / len(numbers),
        "p50": rank(500),
        "p90": rank(900),
        "p99": rank(990),
        "max": numbers[-1],
    }


def field(text, name):
    found = re.search(r"[{,] " + re.escape(name) + r" = (-?(?:0x[0-9A-F]+|\d+))", text)
    return found and int(found.group(1), 0)


events, gaps, last, values = {}, {}, {}, []
open_, latencies, unpaired = {}, [], {"begun_again": 0, "without_begin": 0, "without_end": 0}
for line in sys.stdin:
    found = LINE.match(line)
    seconds, fraction, name, text = found.groups()
    time = int(seconds) * 10**9 + int(fraction)
    event = events.setdefault(name, {"events": 0, "begin_ns": time})
    event["events"] += 1
    event["end_ns"] = time
    if name in last and time - last[name] > gaps.get(name, (-1, 0))[0]:
        gaps[name] = (time - last[name], last[name])
    last[name] = time
    value = field(text, field_name)
    if value is not None:
        values.append(value)
    key = field(text, key_name)
    if fnmatch.fnmatchcase(name, end_name):
        if key in open_:
            latencies.append((time - open_.pop(key), time))
        else:
            unpaired["without_begin"] += 1
    if fnmatch.fnmatchcase(name, begin_name):
        unpaired["begun_again"] += key in open_
        open_[key] = time
unpaired["without_end"] = len(open_)
for name, (length, begin) in gaps.items():
    events[name]["largest_gap_ns"] = length
    events[name]["largest_gap_begin_ns"] = begin
print(
    json.dumps(
        {
            "events": events,
            "values": quantiles(values),
            "latencies": quantiles([length for length, _ in latencies]),
            "slowest": sorted(latencies, key=lambda pair: -pair[0])[:5],
            "unpaired": unpaired,
        }
    )
)
