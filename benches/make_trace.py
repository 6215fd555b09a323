#!/usr/bin/env python3
"""Makes a CTF 1.8 trace of the shape that LTTng-UST writes: make_trace.py DIR STREAMS EVENTS [fixed] [rare]

The data streams get events in turns, 1,000 ns apart; two thirds of them have one
integer, one third has nine fields, among them texts and arrays, or with `fixed` twenty integers. With `rare`,
one event in a hundred is of a class of its own.
Two runs make the same bytes."""
import os, struct, sys

UUID = bytes(range(16))
PACKET = 64 << 10
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char;
trace {
	major = 1; minor = 8; byte_order = le; uuid = "%s";
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };
};
clock { name = "monotonic"; freq = 1000000000; offset_s = 1700000000; offset = 0; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
struct event_header_compact {
	enum : integer { size = 5; align = 1; signed = false; } { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_t timestamp; } compact;
		struct { uint32_t id; time_t timestamp; } extended;
	} v;
} align(8);
stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct {
		time_t timestamp_begin; time_t timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
	};
	event.context := struct { int32_t _vpid; int32_t _vtid; char _procname[17]; };
};
event { name = "bench:small"; id = 0; stream_id = 0; fields := struct { int32_t _i; }; };
event {
	name = "bench:rich"; id = 1; stream_id = 0;
	fields := struct {
		int32_t _i; uint64_t _h; string _s;
		floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _d;
		enum : uint8_t { RED = 0, GREEN = 1, OTHER = 2 ... 9 } _color;
		int32_t _fixed3[3]; uint64_t __seq_length; int32_t _seq[__seq_length];
		uint64_t __txt_length; char _txt[__txt_length];
	};
};
event {
	name = "bench:fixed"; id = 2; stream_id = 0; fields := struct { %s };
};
event { name = "bench:rare"; id = 3; stream_id = 0; fields := struct { int32_t _i; }; };
""" % ("-".join(UUID.hex()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))), " ".join(f"uint32_t _f{i};" for i in range(20)))
FIXED, RARE = ("fixed" in sys.argv[4:]), ("rare" in sys.argv[4:])


class Stream:
    def __init__(self, path, number):
        self.file, self.number, self.sequence = open(path, "wb"), number, 0
        self.context = struct.pack("<ii17s", 4000, 4000 + number, b"bench")
        self.events, self.begin, self.end = bytearray(), None, 0

    def add(self, i):
        now = i * 1000
        # A header of the short kind has the lower 27 bits of the time.
        if self.begin is None or now >> 27 != self.end >> 27:
            header = lambda id: struct.pack("<BIQ", 31, id, now)
        else:
            header = lambda id: struct.pack("<I", id | (now & (1 << 27) - 1) << 5)
        if RARE and i % 100 == 50:
            event = header(3) + self.context + struct.pack("<i", i & 0xFFFFFFF)
        elif i % 3:
            event = header(0) + self.context + struct.pack("<i", i & 0xFFFFFFF)
        elif FIXED:
            event = header(2) + self.context + struct.pack("<20I", *range(i & 0xFFFF, (i & 0xFFFF) + 20))
        else:
            text = b"thread %d iteration %d\0" % (self.number, i)
            event = b"".join((
                header(1), self.context, struct.pack("<iQ", i & 0xFFFFFFF, i * 0x9E3779B97F4A7C15 & (1 << 64) - 1), text,
                struct.pack("<dB3i", i / 8, i % 10, i & 0xFFFF, 1, 2),
                struct.pack("<Q", i % 4), struct.pack("<%di" % (i % 4), *range(i % 4)), struct.pack("<Q", 4), text[:4],
            ))
        if self.begin is None:
            self.begin = now
        self.end = now
        self.events += event
        if len(self.events) > PACKET - 512:
            self.close()

    def close(self):
        if self.begin is None:
            return
        begin = struct.pack("<I16sIQ", 0xC1FC1FC1, UUID, 0, self.number)
        content = len(begin) + 52 + len(self.events)
        context = struct.pack("<6QI", self.begin, self.end, content * 8, PACKET * 8, self.sequence, 0, self.number)
        self.file.write((begin + context + self.events).ljust(PACKET, b"\0"))
        self.events, self.begin, self.sequence = bytearray(), None, self.sequence + 1


def main():
    directory, streams, events = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(directory)
    open(os.path.join(directory, "metadata"), "w").write(METADATA)
    all = [Stream(os.path.join(directory, f"chan_{i}"), i) for i in range(streams)]
    for i in range(events):
        all[i % streams].add(i)
    for stream in all:
        stream.close()


main()
