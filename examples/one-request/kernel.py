#!/usr/bin/env python3
"""Records when the Linux kernel switches and wakes the threads of a program: kernel.py LINES PROGRAM [ARGUMENT]...

Needs root. The kernel's own tracer, ftrace, follows the program and all programs that it starts. LINES are JSON Lines for
ichnos, with the event names of LTTng's kernel tracer. Times are microseconds, because ftrace prints no more digits.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

# System calls in which threads wait.
CALLS = """accept4 clock_nanosleep connect epoll_pwait epoll_wait fsync futex nanosleep openat poll ppoll pread64 pselect6
read recvfrom recvmsg select wait4 waitid""".split()
STATES = {"R": 0, "S": 1, "D": 2, "T": 4, "t": 8, "X": 16, "Z": 32, "P": 64, "I": 128}
LINE = re.compile(r"\s*(.*)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d{6}): (\w+)(?:: |\(| -> )(.*)")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)")
WAKING = re.compile(r"comm=(.*) pid=(\d+) prio=(\d+) target_cpu=(\d+)")
CONTEXT = {"cpu_id": "processor", "tid": "thread", "procname": "thread-name"}


def event_class(name, number):
    """Returns the line that describes the events with a name."""
    line = {"type": "event-class", "id": number, "name": name, "display": {"category": "syscall"}, "meanings": {"specific_context": CONTEXT}}
    if name == "sched_switch":
        payload = {"prev_comm": "previous-thread-name", "prev_tid": "previous-thread", "prev_state": "previous-state",
                   "next_comm": "target-thread-name", "next_tid": "target-thread"}
        line.update(role="switch", display={"category": "sched"})
        line["meanings"]["payload"] = payload
    elif name == "sched_waking":
        line.update(role="wakeup", display={"category": "sched"})
        line["meanings"]["payload"] = {"comm": "target-thread-name", "tid": "target-thread"}
    else:
        line.update(role="begin" if "_entry_" in name else "end")
        line["display"]["name"] = name.split("_", 2)[2]
    return line


def event(text):
    """Returns the processor, the thread, the time in microseconds, the name and the payload of a line of ftrace."""
    found = LINE.match(text)
    if not found:
        return None
    comm, tid, cpu, seconds, micros, name, rest = found.groups()
    if name == "sched_switch":
        a = SWITCH.match(rest).groups()
        payload = {"prev_comm": a[0], "prev_tid": int(a[1]), "prev_prio": int(a[2]), "prev_state": STATES[a[3][0]],
                   "next_comm": a[4], "next_tid": int(a[5]), "next_prio": int(a[6])}
    elif name == "sched_waking":
        a = WAKING.match(rest).groups()
        payload = {"comm": a[0], "tid": int(a[1]), "prio": int(a[2]), "target_cpu": int(a[3])}
    elif ") ->" not in text and " -> 0x" in text:
        name, value = name.replace("sys_", "syscall_exit_", 1), int(rest, 16)
        payload = {"ret": value - (value >> 63 << 64)}
    else:
        name, payload = name.replace("sys_", "syscall_entry_", 1), {}
    return int(cpu), int(tid), comm, int(seconds) * 10**6 + int(micros), name, payload


def write(lines, trace, offset):
    """Writes all events, one data stream for each processor."""
    with open(lines, "w") as output:
        def add(line):
            print(json.dumps(line, separators=(",", ":")), file=output)

        environment = {"tracer_name": "ftrace", "sysname": "Linux", "hostname": os.uname().nodename}
        clock = {"id": "monotonic", "frequency": 1000000, "offset_seconds": offset // 10**6, "offset_cycles": offset % 10**6, "origin": "unix-epoch"}
        numbers, known = {}, set()
        for cpu, tid, comm, at, name, payload in filter(None, map(event, trace)):
            if cpu not in known:
                known.add(cpu)
                add({"type": "stream-begin", "stream": cpu, "name": "cpu%d" % cpu, "trace": {"environment": environment}, "clock": clock})
            # The data streams are of one class, so a name has one number in all of them.
            number = numbers.setdefault(name, len(numbers))
            if (cpu, name) not in known:
                known.add((cpu, name))
                add({**event_class(name, number), "stream": cpu})
            add({"type": "event", "stream": cpu, "cycles": at, "id": number, "name": name,
                 "specific_context": {"cpu_id": cpu, "tid": tid, "procname": comm}, "payload": payload})


def main():
    lines, program = sys.argv[1], sys.argv[2:]
    with contextlib.ExitStack() as at_end:
        files = at_end.enter_context(tempfile.TemporaryDirectory())
        subprocess.run(["mount", "-t", "tracefs", "none", files], check=True)
        at_end.callback(subprocess.run, ["umount", files], check=True)
        # Buffers that no other user of ftrace sees.
        own = os.path.join(files, "instances/kernel-py-%d" % os.getpid())
        os.mkdir(own)
        at_end.callback(os.rmdir, own)

        def put(name, value):
            with open(os.path.join(own, name), "w") as file:
                file.write(value)

        put("buffer_size_kb", "16384")
        put("trace_clock", "mono")
        put("options/event-fork", "1")
        for name in ["sched/sched_switch", "sched/sched_waking"] + ["syscalls/sys_%s_%s" % (edge, call) for call in CALLS for edge in ("enter", "exit")]:
            put("events/%s/enable" % name, "1")
        # The program waits until the kernel knows its number.
        waiting = subprocess.Popen(["sh", "-c", 'read -r go && exec "$@"', "sh", *program], stdin=subprocess.PIPE)
        put("set_event_pid", str(waiting.pid))
        offset = (time.time_ns() - time.monotonic_ns()) // 1000
        waiting.communicate(b"go\n")
        put("tracing_on", "0")
        for cpu in os.listdir(os.path.join(own, "per_cpu")):
            with open(os.path.join(own, "per_cpu", cpu, "stats")) as stats:
                assert "overrun: 0\n" in stats.read(), "the kernel has lost events"
        with open(os.path.join(own, "trace"), errors="replace") as trace:
            write(lines, trace, offset)
    sys.exit(waiting.returncode)


main()
