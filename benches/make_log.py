#!/usr/bin/env python3
"""Makes a file of Fuchsia's log records for measurements: make_log.py FILE RECORDS

Each record has 96 bytes and three arguments: a process, a thread and a message of 9 to 16 bytes."""
import struct, sys


def argument(kind, name, value, high=0):
    words = 2 + len(value) // 8
    name_ref = 0x8000 | len(name)
    return struct.pack("<Q", kind | words << 4 | name_ref << 16 | high << 32) + name.ljust(8, b"\0") + value


def main():
    path, records = sys.argv[1], int(sys.argv[2])
    with open(path, "wb") as file:
        block = bytearray()
        for number in range(records):
            text = b"valve %d %d" % (number % 3, 100 + number % 9973)
            body = argument(4, b"pid", struct.pack("<Q", 1000 + number % 7))
            body += argument(4, b"tid", struct.pack("<Q", 2000 + number % 31))
            body += argument(6, b"message", text.ljust(16, b"\0"), 0x8000 | len(text))
            block += struct.pack("<QQ", 9 | 12 << 4 | 0x30 << 56, 1_000_000_000 + number * 1000) + body
            if len(block) >= 1 << 20:
                file.write(block)
                block.clear()
        file.write(block)


main()
