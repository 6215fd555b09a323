#!/usr/bin/env python3
"""Makes a small CTF 2 trace (SPEC-2.0) of a thermometer: make.py DIR"""
import json, struct, sys, pathlib

u8, u64 = ({"type": "fixed-length-unsigned-integer", "length": n, "byte-order": "little-endian", "alignment": 8} for n in (8, 64))
structure = lambda **members: {"type": "structure", "member-classes": [
    {"name": name, "field-class": fc} for name, fc in members.items()]}
role = lambda fc, name: fc | {"roles": [name]}
fragments = [
    {"type": "preamble", "version": 2},
    {"type": "trace-class", "environment": {"hostname": "garden"}},
    {"type": "clock-class", "id": "clk", "frequency": 1000, "origin": "unix-epoch",
     "offset-from-origin": {"seconds": 1780000000}},
    {"type": "data-stream-class", "default-clock-class-id": "clk",
     "packet-context-field-class": structure(
         total=role(u64, "packet-total-length"), begin=role(u64, "default-clock-timestamp"),
         end=role(u64, "packet-end-default-clock-timestamp")),
     "event-record-header-field-class": structure(
         id=role(u8, "event-record-class-id"), ticks=role(u64, "default-clock-timestamp"))},
    {"type": "event-record-class", "id": 0, "name": "sample", "payload-field-class": structure(
        celsius={"type": "fixed-length-floating-point-number", "length": 32, "byte-order": "little-endian", "alignment": 8},
        state=u8 | {"mappings": {"frost": [[0, 0]], "fine": [[1, 9]], "hot": [[10, 255]]}})},
    {"type": "event-record-class", "id": 1, "name": "note", "payload-field-class": structure(
        text={"type": "null-terminated-string"},
        flags={"type": "fixed-length-bit-map", "length": 8, "byte-order": "little-endian", "alignment": 8,
               "flags": {"battery-low": [[0, 0]], "lid-open": [[3, 4]]}},
        peer={"type": "static-length-blob", "length": 6})},
]
directory = pathlib.Path(sys.argv[1])
directory.mkdir()
(directory / "metadata").write_text("".join("\x1e" + json.dumps(fragment) + "\n" for fragment in fragments))
with open(directory / "thermometer", "wb") as stream:
    for packet in range(3):
        times = [packet * 60_000 + i * 10_000 for i in range(6)]
        records = b"".join(
            struct.pack("<BQfB", 0, t, t / 8000 - 3, max(0, int(t / 10000) - 2)) if i < 5 else
            struct.pack("<BQ", 1, t) + f"packet {packet} says grüezi\0".encode() + bytes([0b1001 * (packet % 2)]) + bytes(range(packet, packet + 6))
            for i, t in enumerate(times))
        stream.write(struct.pack("<QQQ", 8 * (24 + len(records)), times[0], times[-1]) + records)
