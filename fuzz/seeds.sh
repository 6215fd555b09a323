#!/usr/bin/env bash
# Makes seeds of the fixtures and examples of the project, and a dictionary of the words of the
# dialects: seeds.sh. They go to corpus/TARGET, beside what fuzzing finds.
set -euo pipefail
cd "$(dirname "$0")"
fixtures=../crates/ctf/tests/fixtures
ust=../examples/hello-lttng/trace/ust/uid/65534/64-bit
ctf2=../examples/hello-ctf2/trace

for target in tsdl prop1 prop2 spec2 packetized packets index trace generated roundtrip archive expression log legacy printf fxt nettrace_v3 nettrace_v4 nettrace_v6 xtrace_metadata xtrace_reports json jsonl convert; do
	mkdir -p corpus/$target
done
cp $fixtures/prop1/*.json metadata/prop1.json corpus/prop1
cp $fixtures/prop2/*.json metadata/prop2.json corpus/prop2
cp $ctf2/metadata metadata/spec2.json metadata/empty.json corpus/spec2
cp metadata/*.tsdl corpus/tsdl
cp $ust/metadata corpus/packetized

python3 - $ust $ctf2 <<'PYTHON'
import io, gzip, lzma, pathlib, random, re, struct, sys, tarfile, zipfile, json

ust, ctf2 = map(pathlib.Path, sys.argv[1:])
corpus = pathlib.Path("corpus")
packed = (ust / "metadata").read_bytes()
text, at = b"", 0
while at < len(packed):
    content, size = struct.unpack_from("<II", packed, at + 24)
    text += packed[at + 37:at + content // 8]
    at += size // 8
(corpus / "tsdl/lttng").write_bytes(text)
# SPEC-2.0 is close to PROP-2.0.
for path in pathlib.Path("../crates/ctf/tests/fixtures/prop2").glob("*.json"):
    try:
        fragments = json.loads(path.read_text())
    except ValueError:
        continue
    if isinstance(fragments, list):
        spec2 = "".join("\x1e" + json.dumps(fragment) + "\n" for fragment in fragments)
        spec2 = spec2.replace('"members"', '"member-classes"')
        (corpus / "spec2" / path.name).write_text(spec2)

streams = {0: [ust / "chan_0", ust / "chan_1"], 1: [ctf2 / "thermometer"]}
for number, paths in streams.items():
    for path in paths:
        (corpus / "packets" / f"{number}-{path.name}").write_bytes(bytes([number]) + path.read_bytes())
random.seed(1)
for number in range(2, 8):
    for i in range(8):
        body = bytes(random.choice([0, 0, 1, 2, 3, 7, 31, 255, random.randrange(256)]) for _ in range(40 * i))
        (corpus / "packets" / f"{number}-random-{i}").write_bytes(bytes([number]) + body)
body = struct.pack("<HH", 400, 400) + bytes([1, 9]) + bytes(8) + bytes([0] * 7) + bytes(60)
(corpus / "packets/2-packet").write_bytes(bytes([2]) + body)
body = bytes.fromhex("c1fc1fc1") + bytes([0]) + struct.pack(">IIQQI", 1600, 1600, 1, 99, 0) + bytes([0] * 60) + bytes(range(60))
(corpus / "packets/5-packet").write_bytes(bytes([5]) + body)

def trace(metadata, stream, index=b""):
    return struct.pack("<H", len(metadata)) + metadata + struct.pack("<H", len(stream)) + stream + index
(corpus / "trace/lttng").write_bytes(trace(text, (ust / "chan_1").read_bytes(), (ust / "index/chan_1.idx").read_bytes()))
(corpus / "trace/ctf2").write_bytes(trace((ctf2 / "metadata").read_bytes(), (ctf2 / "thermometer").read_bytes()))
for path in pathlib.Path("metadata").iterdir():
    (corpus / "trace" / path.name).write_bytes(trace(path.read_bytes(), bytes(random.randrange(256) for _ in range(100))))
for i in range(50):
    (corpus / "generated" / f"random-{i}").write_bytes(random.randbytes(60 * i))
(corpus / "index/right").write_bytes(b"")
(corpus / "index/longer").write_bytes(bytes(400))

def tar(format):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as archive:
        for name in ["trace/metadata", "trace/" + "long/" * 30 + "stream"]:
            member = tarfile.TarInfo(name)
            member.size = 10
            archive.addfile(member, io.BytesIO(b"0123456789"))
        link = tarfile.TarInfo("trace/link")
        link.type, link.linkname = tarfile.LNKTYPE, "trace/metadata"
        archive.addfile(link)
    return file.getvalue().rstrip(b"\0") + bytes(1024)
for name, format in [("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT), ("ustar", tarfile.USTAR_FORMAT)]:
    (corpus / "archive" / f"{name}.tar").write_bytes(tar(format))
# A sparse member of GNU tar: 8 bytes at 0, a hole up to 1 MiB.
header = bytearray(tarfile.TarInfo("sparse").tobuf(tarfile.GNU_FORMAT))
header[156] = ord("S")
header[124:136] = b"00000000010\0"
header[386:410] = b"00000000000\0" + b"00000000010\0"
header[410:434] = b"00004000000\0" + b"00000000000\0"
header[483:495] = b"00004000000\0"
header[148:156] = b" " * 8
header[148:156] = b"%06o\0 " % sum(header)
(corpus / "archive/sparse.tar").write_bytes(bytes(header) + b"12345678" + bytes(504 + 1024))
small = tar(tarfile.GNU_FORMAT)
(corpus / "archive/tar.gz").write_bytes(gzip.compress(small))
(corpus / "archive/tar.xz").write_bytes(lzma.compress(small))
(corpus / "archive/text.gz").write_bytes(gzip.compress(text))
(corpus / "archive/text.xz").write_bytes(lzma.compress(text))
for name, method in [("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)]:
    with zipfile.ZipFile(corpus / "archive" / f"{name}.zip", "w", method) as archive:
        archive.writestr("trace/metadata", text[:300])
        archive.writestr("trace/stream", bytes(100))

def padded(data):
    return data + bytes(-len(data) % 8)
def reference(data):
    return 0x8000 | len(data) if data else 0
def argument(name, value):
    name = name.encode()
    if isinstance(value, bool):
        kind, upper, data = 9, int(value), b""
    elif isinstance(value, str):
        kind, data = 6, padded(value.encode())
        upper = reference(value.encode())
    else:
        kind, form = {int: (4, "<Q"), float: (5, "<d")}[type(value)]
        if isinstance(value, int) and value < 0:
            kind, form = 3, "<q"
        upper, data = 0, struct.pack(form, value)
    size = 1 + (len(padded(name)) + len(data)) // 8
    return struct.pack("<Q", kind | size << 4 | reference(name) << 16 | upper << 32) + padded(name) + data
def record(arguments, tag=0):
    body = b"".join(argument(*pair) for pair in arguments)
    return struct.pack("<Qq", 9 | (2 + len(body) // 8) << 4 | tag << 16 | 0x30 << 56, 72) + body
records = [
    record([("pid", 1), ("tid", 2), ("message", "hello"), ("k", -5), ("on", True), ("x", 2.5), ("tag", "t")]),
    record([("printf", 0), ("message", "%d %5.2f %s"), ("", 5), ("", 2.5), ("", "abc"), ("k", "v")]),
    record([("moniker", "core/foo"), ("url", "fuchsia-pkg://x"), ("rolled_out", 3)], 0x80000005),
    record([("num_dropped", 3), ("message", "\u00e4"), ("$__moniker", "m"), ("$__rolled_out", 1)]),
]
packet = struct.pack("<QQqiI", 1, 2, 3, 0x30, 4) + b"\x02ab\x03tag\0message\0"
extension = struct.pack("<IIQ", 3, 5, 1) + padded(b"m/n") + padded(b"url-5")
frames = [*records, records[0] + extension, packet]
files = [b"".join(records), b"".join(one + extension for one in records)]
files.append(b"".join(struct.pack("<I", len(frame)) + frame for frame in frames))
for choice, file in enumerate(files):
    for i, piece in enumerate([0, 7, 80]):
        (corpus / "log" / f"{choice}-{piece}").write_bytes(bytes([choice + 3 * piece]) + file)
    broken = bytearray(file)
    broken[100] ^= 0x11
    (corpus / "log" / f"{choice}-broken").write_bytes(bytes([choice + 30]) + broken)
for i, frame in enumerate(frames):
    (corpus / "legacy" / f"{i}").write_bytes(frame)
formats = ["%d %s", "%-+ #0*.*hhd%%", "%5.3f%g%a%e|%.0f", "%lx%llo%ju%zd%ti%c%p", "%99999999999d%.99999999999f"]
for i, format in enumerate(formats):
    (corpus / "printf" / f"{i}").write_bytes(random.randbytes(20) + format.encode() + random.randbytes(6))
known = ["pid", "tid", "tag", "message", "file", "line", "num_dropped", "dropped_logs", "printf", "moniker", "url",
    "rolled_out", "$__moniker", "$__url", "$__rolled_out", "%d", "%s", "%f", "%*.*Lg", "%-08hhx", "%.5a", "%lc"]
with open("corpus/fuchsia.dict", "w") as file:
    for word in known:
        file.write(f'"{word}"\n')

texts = [
    "10CAFEBABE01020304",
    "1ACAFEBABECAFEBABECAFEBABE0102030405060708",
    "1BCAFEBABECAFEBABECAFEBABECAFEBABECAFEBABE0102030405060708",
    "04000102030A0A0A0A07CE0107C102F8E6",
    "0400010203010101010B0503010203000503010203",
    "14CAFEBABE01020304050100CE0103",
    "1CCAFEBABE010203040506070806CF0400000000",
    "2B0123456789ABCDEF0123456789ABCDEF999988887A71B110E5E3588D01",
]
parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
for i, one in enumerate(texts):
    (corpus / "xtrace_metadata" / f"{i}").write_bytes(bytes.fromhex(one))
    (corpus / "xtrace_metadata" / f"{i}-text").write_text(f"id={one} {one.lower()}, 0A0A0A0A")
(corpus / "xtrace_metadata/headers").write_text(f"{parent}\na=1, tenant@vendor=x y,sw=b7ad6b7169203331-01,xtrace={texts[2]}")
(corpus / "xtrace_metadata/future").write_text(f"cc{parent[2:]}-what\n")
(corpus / "xtrace_metadata/edge").write_text("0A0A0A0A, down, 0xF8E6")
with open("corpus/xtrace.dict", "w") as file:
    keys = ["X-Trace: ", "Edge: ", "Timestamp: ", "Severity: ", "ChainId: 0x", "ProcessID: ", "Escaped: 1", "reports", "version"]
    for word in [*texts, parent, "xtrace=", "sw=", "2B", "00-", "-01", ", up", ", next", "0xF8E6", *keys]:
        file.write(f'"{word}"\n')
    for word in ["X-Trace Report ver 1.0\\x0A", "\\x0A\\x0A", "\\x0D\\x0A", "{\\x22", "\\x22:[\\x22", "\\x22]}", "\\xEF\\xBB\\xBF"]:
        file.write(f'"{word}"\n')
frames = pathlib.Path("../examples/hello-fxt/frames.fxt").read_bytes()
(corpus / "fxt/example").write_bytes(b"\0" + frames)
(corpus / "fxt/checked").write_bytes(b"\5" + frames[:600])
for at in range(8, len(frames), 160):
    broken = bytearray(frames)
    broken[at] ^= 0x11
    (corpus / "fxt" / f"broken-{at}").write_bytes(bytes([at // 160 % 8]) + broken)
example = pathlib.Path("../examples/hello-xtrace/proxy.reports").read_bytes()
objects = []
for report in example.decode().split("\n\n"):
    lines = [line.split(": ", 1) for line in report.split("\n")[1:] if line]
    objects.append({key: [value for name, value in lines if name == key] for key, _ in lines})
reports = {
    "text": example,
    "crlf": example.replace(b"\n", b"\r\n"),
    "crowded": b"\xef\xbb\xbfstray\n" + example.replace(b"\n\n", b"\n"),
    "json": json.dumps([{"id": "a", "reports": objects, "z": 1}]).encode(),
    "lines": "\n".join(json.dumps(one, indent=1) for one in objects).encode(),
    "single": json.dumps([{key: values[0] for key, values in one.items()} for one in objects]).encode(),
}
for i, (name, file) in enumerate(reports.items()):
    (corpus / "xtrace_reports" / name).write_bytes(bytes([i]) + file)
    broken = bytearray(file[:700])
    broken[200] ^= 0x11
    (corpus / "xtrace_reports" / f"{name}-broken").write_bytes(bytes([i]) + broken)

written = b"""{"type":"stream-begin","stream":0,"name":"a","class":{"id":0,"fields":{"common_context":{"type":"structure","members":[{"name":"cpu","class":{"type":"integer","length":8}}]}}},"trace":{"path":"a","environment":{}},"clock":{"id":"c","frequency":1000,"offset_seconds":0,"offset_cycles":0,"origin":"unix-epoch"}}
{"type":"event-class","stream":0,"id":1,"name":"e","meanings":{"payload":{"s":"stack"}},"fields":{"payload":{"type":"structure","members":[{"name":"s","class":{"type":"integer","length":32}},{"name":"v","class":{"type":"variant","options":[{"ranges":[[0,1]],"class":{"type":"float","length":32}},{"ranges":[[2,2]],"class":{"type":"optional","field":{"type":"string","encoding":"utf-16le"}}}]}}]}}}
{"type":"stack","stream":0,"stack":3,"frames":[{"address":5},{"symbol":"f"}],"callers":[1]}
{"type":"event","stream":0,"ts":1000000,"cycles":1,"id":1,"name":"e","common_context":{"cpu":1},"payload":{"s":3,"v":1.5}}
{"type":"discarded-events","stream":0,"count":4,"begin":{"ts":1000000,"cycles":1}}
{"type":"stream-end","stream":0}
"""
for i, line in enumerate(written.splitlines()):
    (corpus / "json" / f"{i}").write_bytes(line)
script = b"""{"ts":1,"name":"a","payload":{"x":1,"y":[1,2.5,null],"z":{"$blob":"00ff","media_type":"a"}}}
{"time":"1970-01-01T00:00:00.5Z","name":"a","payload":{"x":"\\u00e9","w":{"$int":"18446744073709551616"}}}
"""
for i, (name, file) in enumerate({"written": written, "script": script}.items()):
    (corpus / "jsonl" / name).write_bytes(bytes([i]) + file)
# Behind the number of the format, which follows those of `packets`, and that of the way.
for first, name in enumerate(["packets"] * 2 + [None] * 6 + ["jsonl", "xtrace_reports", "log"]):
    for i, path in enumerate(sorted((corpus / name).iterdir())[:40] if name else []):
        file = path.read_bytes()
        if name != "packets" or file[0] == first:
            (corpus / "convert" / f"{first}-{path.name}").write_bytes(bytes([first, i % 48]) + file[1:])
expressions = [
    'event == "hello:tick" && number % 3 == 0 || !(mood in ["BUSY", "CALM"])',
    'text =~ "^h.*\\d" and load > 1.5e0 and len(samples) >= 2 && first_two[-1] == 0x1',
    'time >= +3ms && time - @1795247584000000000 < 5min || time < 2026-11-21 09:22:11.95',
    'ctx.procname != "a*b" && $process == vpid & 0xff << 2 || has(packet.cpu_id) == true',
    'celsius / 0 < -1 || state == "frost" || 5 in samples || level not in [warn, "error"]',
    'stream.id | 1 == 1 ^ 0 && trace.uuid == "9f573d8d-dc6d-4bcd-a9d0-03fb43d62d51" && `x y`.z == 1h',
]
for i, one in enumerate(expressions):
    (corpus / "expression" / f"{i}").write_text(one)
with open("corpus/expression.dict", "w") as file:
    for word in sorted(set(re.findall(r'\w+|[^\w\s"]{1,2}', " ".join(expressions)))):
        file.write('"' + word.replace("\\", "\\\\") + '"\n')

words = set()
for path in pathlib.Path("../crates/ctf/src/metadata").rglob("*.rs"):
    words |= set(re.findall(r'"([A-Za-z][A-Za-z0-9_.-]{1,40})"', path.read_text()))
with open("corpus/words.dict", "w") as file:
    for word in sorted(words):
        file.write(f'"{word}"\n')
PYTHON
if command -v zstd >/dev/null; then
	zstd -q -f corpus/archive/gnu.tar -o corpus/archive/tar.zst
fi
