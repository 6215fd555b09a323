#!/usr/bin/env python3
"""Appends the footer that makes a shared library an extension of DuckDB: footer.py LIBRARY OUTPUT PLATFORM VERSION"""
import sys

library, output, platform, version = sys.argv[1:5]
# The section of WebAssembly that DuckDB looks for, on other platforms, too.
section = bytes([0, 0x93, 0x04, 0x10]) + b"duckdb_signature" + bytes([0x80, 0x04])
# The fields, last to first: the C API is stable from v1.2.0 on.
fields = ["", "", "", "C_STRUCT", version, "v1.2.0", platform, "4"]
footer = section + b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256)
with open(library, "rb") as source, open(output, "wb") as target:
    target.write(source.read() + footer)
