#!/usr/bin/env python3
"""Writes the trace of a made-up system that draws two frames: make.py OUT.fxt"""

import struct
import sys

out = bytearray()


def padded(data):
    return data + bytes(-len(data) % 8)


def words(*values):
    return b"".join(struct.pack("<Q", value & 0xFFFF_FFFF_FFFF_FFFF) for value in values)


def record(kind, fields, body=b""):
    """Appends a record; fields are bit positions and values."""
    header = kind | (1 + len(body) // 8) << 4
    for bit, value in fields:
        header |= value << bit
    out.extend(words(header) + body)


def argument(name, value):
    """Returns an argument whose name is in the table."""
    fields, body = [(16, string(name))], b""
    if isinstance(value, str):
        kind = 6
        fields.append((32, string(value)))
    elif isinstance(value, bool):
        kind = 9
        fields.append((32, int(value)))
    elif isinstance(value, float):
        kind, body = 5, struct.pack("<d", value)
    else:
        kind = 2
        fields.append((32, value))
    header = kind | (1 + len(body) // 8) << 4
    for bit, number in fields:
        header |= number << bit
    return words(header) + body


strings, threads = {}, {}


def provider(number, name):
    """Begins the records of a provider, with empty tables."""
    strings.clear()
    threads.clear()
    record(0, [(16, 1), (20, number), (52, len(name))], padded(name.encode()))
    # Ticks per second.
    record(1, [], words(24_000_000))


def string(text):
    if text not in strings:
        strings[text] = len(strings) + 1
        record(2, [(16, strings[text]), (32, len(text))], padded(text.encode()))
    return strings[text]


def thread(process, number):
    if (process, number) not in threads:
        threads[process, number] = len(threads) + 1
        record(3, [(16, threads[process, number])], words(process, number))
    return threads[process, number]


def kernel_object(kind, koid, name, process=None):
    arguments = b""
    if process is not None:
        header = 8 | 2 << 4 | string("process") << 16
        arguments = words(header, process)
    record(7, [(16, kind), (24, string(name)), (40, 1 if arguments else 0)], words(koid) + arguments)


INSTANT, COUNTER, BEGIN, END, COMPLETE, ASYNC_BEGIN, ASYNC_INSTANT, ASYNC_END, FLOW_BEGIN, FLOW_STEP, FLOW_END = range(11)


def event(kind, ticks, where, category, name, arguments=(), word=None):
    body = b"".join(argument(*one) for one in arguments)
    fields = [(16, kind), (20, len(arguments)), (24, thread(*where)), (32, string(category)), (48, string(name))]
    record(4, fields, words(ticks) + body + (words(word) if word is not None else b""))


def switch(ticks, cpu, state, outgoing, incoming):
    fields = [(20, cpu), (36, state), (60, 1)]
    record(8, fields, words(ticks, outgoing, incoming))


def wakeup(ticks, cpu, number):
    record(8, [(20, cpu), (60, 2)], words(ticks, number))


def sample(ticks, where, *frames):
    fields = [(16, 2), (20, thread(*where)), (28, len(frames))]
    record(10, fields, words(ticks, *frames))


# The magic number record.
out.extend(bytes.fromhex("1000044678541600"))

app, ui = (1103, 1105), (1200, 1201)
provider(1, "scenic")
kernel_object(1, 1200, "scenic")
kernel_object(2, 1201, "compositor", 1200)
for frame in range(2):
    at = 24_000_000 + 400_000 * frame
    event(BEGIN, at + 120_000, ui, "gfx", "RenderFrame", [("frame", frame)])
    event(FLOW_END, at + 121_000, ui, "gfx", "Present", word=70 + frame)
    event(COMPLETE, at + 130_000, ui, "gfx", "Upload", [("bytes", 4096 * (frame + 1)), ("target", "atlas")], at + 170_000)
    event(COUNTER, at + 180_000, ui, "memory", "textures", [("used", 10 + 3 * frame), ("free", 90 - 3 * frame)], 5)
    event(END, at + 300_000, ui, "gfx", "RenderFrame", [("late", frame == 1)])

provider(2, "flutter")
kernel_object(1, 1103, "gallery")
kernel_object(2, 1105, "ui", 1103)
for frame in range(2):
    at = 24_000_000 + 400_000 * frame
    event(BEGIN, at, app, "flutter", "BuildFrame", [("frame", frame), ("scale", 1.5)])
    event(FLOW_BEGIN, at + 90_000, app, "gfx", "Present", word=70 + frame)
    event(END, at + 100_000, app, "flutter", "BuildFrame")
    event(ASYNC_BEGIN, at + 10_000, app, "flutter", "LoadImage", [("path", "logo.png")], 900 + frame)
    event(ASYNC_END, at + 350_000, app, "flutter", "LoadImage", word=900 + frame)
event(INSTANT, 24_780_000, app, "flutter", "LowMemory")
message = b"dropped a frame"
record(9, [(16, len(message)), (32, thread(*app))], words(24_790_000) + padded(message))

# The buffer of provider 1 was full.
record(0, [(16, 3), (20, 1)])

provider(3, "kernel")
for at in (24_000_000, 24_400_000):
    wakeup(at + 110_000, 0, 1201)
    switch(at + 115_000, 0, 3, 1105, 1201)
    switch(at + 310_000, 0, 3, 1201, 1105)

provider(4, "profiler")
name, build_id = b"libgfx.so", bytes.fromhex("68920bd06a8149b5")
record(10, [(16, 0), (20, thread(*ui)), (28, 1), (44, len(name)), (52, len(build_id))], words(24_000_000) + padded(name) + padded(build_id))
record(10, [(16, 1), (20, thread(*ui)), (28, 1), (44, 5)], words(24_000_000, 0x40_0000, 0x10_0000, 0))
for at in range(24_125_000, 24_300_000, 25_000):
    sample(at, ui, 0x40_1200 + at % 3 * 16, 0x40_0800, 0x90_0010)

with open(sys.argv[1], "wb") as file:
    file.write(out)
