#!/usr/bin/env python3
"""Makes a file of Fuchsia's log records for measurements: make_log.py FILE RECORDS [COMPONENTS]

Each record has 96 bytes and three arguments: a process, a thread and a message of 9 to 16 bytes. With
COMPONENTS, as many control records come first that name components, and the tags of the records are theirs,
64 records in a row."""
import struct, sys


def argument(kind, name, value, high=0):
    words = 2 + len(value) // 8
    name_ref = 0x8000 | len(name)
    return struct.pack("<Q", kind | words << 4 | name_ref << 16 | high << 32) + name.ljust(8, b"\0") + value


def text_argument(name, text):
    return argument(6, name, text + bytes(-len(text) % 8), 0x8000 | len(text))


def main():
    path, records = sys.argv[1], int(sys.argv[2])
    components = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with open(path, "wb") as file:
        block = bytearray()
        for tag in range(1, components + 1):
            body = text_argument(b"moniker", b"core/network/netstack-%d" % tag)
            body += text_argument(b"url", b"fuchsia-pkg://fuchsia.com/netstack-%d#meta/netstack.cm" % tag)
            words = 2 + len(body) // 8
            block += struct.pack("<QQ", 9 | words << 4 | tag << 16 | 1 << 47 | 0x30 << 56, 1_000_000_000) + body
        for number in range(records):
            text = b"valve %d %d" % (number % 3, 100 + number % 9973)
            body = argument(4, b"pid", struct.pack("<Q", 1000 + number % 7))
            body += argument(4, b"tid", struct.pack("<Q", 2000 + number % 31))
            body += argument(6, b"message", text.ljust(16, b"\0"), 0x8000 | len(text))
            tag = number // 64 % components + 1 if components else 0
            block += struct.pack("<QQ", 9 | 12 << 4 | tag << 16 | 0x30 << 56, 1_000_000_000 + number * 1000) + body
            if len(block) >= 1 << 20:
                file.write(block)
                block.clear()
        file.write(block)


main()
