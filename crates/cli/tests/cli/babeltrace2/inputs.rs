//! Inputs of the command lines in the tables.

use std::fs;
use std::path::Path;

use crate::support::{METADATA, example, packet};

/// Metadata with all properties that Babeltrace prints: environment, clock, log level, URI, contexts.
const FEW: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace {
    major = 1;
    minor = 8;
    uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564";
    byte_order = le;
    packet.header := struct { u32 magic; u32 stream_id; };
};
env {
    hostname = "box"; domain = "ust"; procname = "maker"; vpid = 77; answer = 42;
    tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 12; tracer_patchlevel = 1;
};
clock {
    name = "ticks"; uuid = "00112233-4455-6677-8899-aabbccddeeff"; description = "a slow clock";
    freq = 1000; precision = 10; offset_s = 1300000000; offset = 250; absolute = false;
};
typealias integer { size = 64; align = 8; signed = false; map = clock.ticks.value; } := time;
stream {
    id = 3;
    packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size;
        u64 packet_seq_num; u64 events_discarded; u8 cpu_id; };
    event.header := struct { u8 id; time timestamp; };
    event.context := struct { u32 vpid; u8 prio; };
};
event {
    id = 1; name = "small"; stream_id = 3; loglevel = 6; model.emf.uri = "http://example.com/emf";
    context := struct { u8 own; };
    fields := struct { enum : u8 { ONE = 1, TWO = 2, FOUR = 4 } _flags; };
};
event { id = 2; name = "none"; stream_id = 3; };
"#;

/// Event record class with a field of each kind.
const KINDS: &str = r#"event {
    id = 0; name = "all:kinds"; stream_id = 3;
    fields := struct {
        integer { size = 8; align = 8; signed = true; } minus;
        integer { size = 8; align = 8; signed = false; base = x; } hex;
        integer { size = 8; align = 8; signed = false; base = o; } octal;
        integer { size = 8; align = 8; signed = false; base = b; } bits;
        floating_point { exp_dig = 8; mant_dig = 24; align = 8; byte_order = le; } half_word;
        floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = le; } whole_word;
        string text;
        integer { size = 8; align = 8; signed = false; encoding = UTF8; } letters[4];
        enum : u8 { ONE = 1, TWO = 2, FOUR = 4, MANY = 10 ... 20 } label;
        enum : u8 { ONE = 1, TWO = 2, FOUR = 4, MANY = 10 ... 20 } unknown;
        struct { u8 x; struct { u8 z; } inner; } point;
        u8 pair[2];
        u8 length;
        u8 items[length];
        enum : u8 { number = 0, text = 1 } tag;
        variant <tag> { u8 number; string text; } choice;
        struct { } nothing;
    };
};
"#;

/// Returns a packet for [`FEW`].
fn few_packet(times: [u64; 2], number: u64, discarded: u64, events: &[Vec<u8>]) -> Vec<u8> {
    let events = events.concat();
    let size = (8 + 6 * 8 + 1 + events.len()) as u64 * 8;
    let numbers = [times[0], times[1], size, size, number, discarded];
    let mut packet = [0xc1fc_1fc1_u32.to_le_bytes(), 3_u32.to_le_bytes()].concat();
    packet.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    packet.push(1);
    packet.extend(events);
    packet
}

/// Returns an event record for [`FEW`].
fn event(id: u8, time: u64, rest: &[u8]) -> Vec<u8> {
    [&[id][..], &time.to_le_bytes(), &5_u32.to_le_bytes(), &[20], rest].concat()
}

/// Returns the payload of [`KINDS`].
fn kinds(choice: &[u8]) -> Vec<u8> {
    let (half, whole) = (1.5_f32.to_le_bytes(), (-2.25e10_f64).to_le_bytes());
    let fixed = [&[0xfb, 0x2a, 8, 5][..], &half, &whole, b"say \"hi\"\t\\\n\0ab\0d"].concat();
    [&fixed[..], &[2, 99, 1, 2, 8, 9, 3, 10, 11, 12], choice].concat()
}

fn write(directory: &Path, files: &[(&str, &[u8])]) {
    fs::create_dir_all(directory).unwrap();
    for (name, bytes) in files {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

/// Writes a trace with two data streams, of which one has discarded events.
fn write_one(directory: &Path, metadata: &str) {
    let first =
        [packet(&[1_000, 3_000, 5_000], 0), packet(&[1_000_000_000, 2_000_000_000, 3_000_000_000], 7)];
    let second = packet(&[2_000, 4_000, 6_000, 1_500_000_000], 0);
    write(
        directory,
        &[("metadata", metadata.as_bytes()), ("stream_a", &first.concat()), ("stream_b", &second)],
    );
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(item.file_name());
        match item.path().is_dir() {
            true => copy(&item.path(), &target),
            false => drop(fs::copy(item.path(), target).unwrap()),
        }
    }
}

/// Writes traces whose packets have wrong times, because of a bug of the tracer that their metadata names.
fn write_bugs(directory: &Path) {
    let small = |time: u64| event(2, time, &[]);
    // Events after the end of their packet, and packets that end long after their last event.
    let late = |shift: u64| {
        let [a, b, c, d] = [1_000, 3_000, 4_000, 6_500].map(|time: u64| time + shift);
        let first = few_packet([a, b - 1], 0, 0, &[small(a), small(b)]);
        [first, few_packet([c, d + 500], 1, 0, &[small(c), small(d)])].concat()
    };
    let version = FEW.replace("tracer_minor = 12", "tracer_minor = 10");
    let after = few_packet([1_200, 2_000], 0, 0, &[small(1_200), small(6_600)]);
    write(
        &directory.join("late"),
        &[
            ("metadata", version.as_bytes()),
            ("stream_1", &late(0)),
            ("stream_2", &late(700)),
            ("stream_3", &after),
        ],
    );
    // Packets without an end.
    let packet =
        |begin: u64, number| few_packet([begin, 0], number, 0, &[small(begin + 1), small(begin + 90)]);
    let (one, two) = ([packet(1_000, 0), packet(2_000, 1)].concat(), few_packet([1_500, 0], 0, 0, &[]));
    let metadata = FEW.as_bytes();
    write(
        &directory.join("crashed"),
        &[("metadata", metadata), ("stream_1", &one), ("stream_2", &packet(1_040, 0)), ("stream_3", &two)],
    );
    // Events before the begin of their packet.
    let barectf = FEW.replace("lttng-ust", "barectf").replace("tracer_minor = 12", "tracer_minor = 2");
    let one = [
        few_packet([1_000, 2_000], 0, 0, &[small(1_000), small(1_900)]),
        few_packet([2_100, 3_000], 1, 0, &[small(1_950), small(2_800)]),
    ];
    let two = few_packet([1_100, 2_500], 0, 0, &[small(1_100), small(2_500)]);
    write(
        &directory.join("early"),
        &[("metadata", barectf.as_bytes()), ("stream_1", &one.concat()), ("stream_2", &two)],
    );
    // Packets with only a begin or only an end.
    for (name, without) in [("endless", "timestamp_end"), ("beginless", "timestamp_begin")] {
        let metadata = METADATA.replace(&format!("time {without};"), &format!("u64 other_{without};"));
        write_one(&directory.join(name), &metadata);
    }
}

/// Metadata of a program that reports its libraries.
const UST: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = "ticks"; freq = 1000; };
typealias integer { size = 64; align = 8; map = clock.ticks.value; } := time;
stream {
    packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; };
    event.header := struct { u8 id; time timestamp; };
    event.context := struct { integer { size = 32; align = 8; signed = true; } _vpid; u64 _ip; };
};
event { id = 0; name = "lttng_ust_statedump:start"; fields := struct { }; };
event { id = 1; name = "lttng_ust_statedump:bin_info";
    fields := struct { u64 _baddr; u64 _memsz; string _path; u8 _is_pic; }; };
event { id = 2; name = "lttng_ust_statedump:build_id";
    fields := struct { u64 _baddr; u8 __build_id_length; u8 _build_id[__build_id_length]; }; };
event { id = 3; name = "lttng_ust_lib:load"; fields := struct { u64 _baddr; u64 _memsz; string _path; }; };
event { id = 4; name = "lttng_ust_lib:build_id";
    fields := struct { u64 _baddr; u8 __build_id_length; u8 _build_id[__build_id_length]; }; };
event { id = 5; name = "lttng_ust_lib:unload"; fields := struct { u64 _baddr; }; };
event { id = 6; name = "app:event"; };
"#;

/// Returns a packet whose context has its first time, last time and sizes.
fn plain_packet(begin: u64, end: u64, events: &[u8]) -> Vec<u8> {
    let size = (4 * 8 + events.len()) as u64 * 8;
    let head: Vec<u8> = [begin, end, size, size].iter().flat_map(|number| number.to_le_bytes()).collect();
    [&head, events].concat()
}

/// Writes a trace of a program that reports its libraries, which are missing.
fn write_ust(directory: &Path) {
    const A: u64 = 0x7f00_0000_0000;
    const B: u64 = 0x7f00_0010_0000;
    let mut stream = Vec::new();
    let mut put = |id: u8, address: u64, payload: &[&[u8]]| {
        let time = 1_000 + stream.len() as u64;
        let head = [&[id][..], &time.to_le_bytes(), &5_i32.to_le_bytes(), &address.to_le_bytes()];
        stream.extend([&head[..], payload].concat().concat());
    };
    let (a, b, size) = (A.to_le_bytes(), B.to_le_bytes(), 0x1000_u64.to_le_bytes());
    put(6, A + 0x10, &[]);
    for _ in 0..2 {
        put(0, A + 0x20, &[]);
        put(1, A + 0x30, &[&a, &size, b"/missing/liba.so\0", &[1]]);
        put(2, A + 0x40, &[&a, &[2, 0xab, 0xcd]]);
        for place in [0x10, 0x30, 0x40] {
            put(6, A + place, &[]);
        }
        put(3, B + 0x30, &[&b, &size, b"/missing/libb.so\0"]);
        put(4, B + 0x40, &[&b, &[2, 0xab, 0xcd]]);
        put(6, B + 0x10, &[]);
        put(5, B + 0x20, &[&b]);
        put(6, B + 0x10, &[]);
        put(6, B + 0x50, &[]);
    }
    let packet = plain_packet(1_000, 2_000, &stream);
    write(&directory.join("ust"), &[("metadata", UST.as_bytes()), ("stream", &packet)]);
}

/// Metadata with short and long timestamps, as LTTng writes them.
const COMPACT: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = "ns"; freq = 1000000000; };
typealias integer { size = 16; align = 8; signed = false; map = clock.ns.value; } := short;
typealias integer { size = 64; align = 8; signed = false; map = clock.ns.value; } := time;
stream {
    packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; };
    event.header := struct {
        enum : u8 { compact = 0 ... 30, extended = 31 } id;
        variant <id> {
            struct { short timestamp; } compact;
            struct { u8 id; time timestamp; } extended;
        } v;
    };
};
event { id = 1; name = "tick"; };
"#;

/// Writes a trace with long times between events.
fn write_compact(directory: &Path) {
    let extended = |time: u64| [&[31, 1][..], &time.to_le_bytes()].concat();
    let compact = |time: u16| [&[1][..], &time.to_le_bytes()].concat();
    let events = [extended(500_000), compact(0xa200), extended(800_000)].concat();
    let first = plain_packet(1_000, 900_000, &events);
    let second = plain_packet(900_000, 2_000_000, &[extended(1_000_000), extended(1_900_000)].concat());
    let stream = [first, second].concat();
    write(&directory.join("compact"), &[("metadata", COMPACT.as_bytes()), ("stream", &stream)]);
}

/// Writes traces whose files are cut off.
fn write_cut(directory: &Path) {
    let bytes = fs::read(directory.join("few/stream")).unwrap();
    let second = bytes.len() - (8 + 6 * 8 + 1 + 16);
    for (name, end) in
        [("cut/event", bytes.len() - 3), ("cut/context", second + 30), ("cut/header", second + 2)]
    {
        write(&directory.join(name), &[("metadata", FEW.as_bytes()), ("stream", &bytes[..end])]);
    }
    for (name, end) in [("cut/metadata", FEW.len() - 40), ("cut/class", FEW.find("event {").unwrap())] {
        write(&directory.join(name), &[("metadata", &FEW.as_bytes()[..end]), ("stream", &bytes)]);
    }
}

/// Writes all inputs into a directory.
pub fn write_inputs(directory: &Path) {
    copy(&example("hello-lttng/trace"), &directory.join("lttng"));
    copy(&example("one-request/trace/stock/ust/uid/65534/64-bit"), &directory.join("stock"));
    copy(&example("hello-ctf2/trace"), &directory.join("ctf2"));
    write_one(&directory.join("one"), METADATA);
    write_one(&directory.join("my trace"), METADATA);
    for (name, number) in [("pair/a", 1), ("pair/b", 2)] {
        let uuid = format!("byte_order = le; uuid = \"00000000-0000-0000-0000-00000000000{number}\";");
        write_one(&directory.join(name), &METADATA.replace("byte_order = le;", &uuid));
    }
    let small = [
        few_packet([1_001, 2_500], 0, 0, &[event(1, 1_001, &[9, 6]), event(2, 2_500, &[])]),
        few_packet([4_000, 5_000], 3, 2, &[event(1, 4_500, &[9, 1])]),
    ];
    write(&directory.join("few"), &[("metadata", FEW.as_bytes()), ("stream", &small.concat())]);
    let large = [
        few_packet([1_000, 2_500], 0, 0, &[event(0, 1_000, &kinds(&[0, 7])), event(2, 2_500, &[])]),
        few_packet([4_000, 5_000], 1, 0, &[event(0, 4_000, &kinds(b"\x01seven\0"))]),
    ];
    write(
        &directory.join("rich"),
        &[("metadata", [FEW, KINDS].concat().as_bytes()), ("stream", &large.concat())],
    );
    let reset = [
        few_packet([1_000, 2_000], 5, 5, &[event(2, 1_500, &[])]),
        few_packet([3_000, 4_000], 3, 2, &[event(2, 3_500, &[])]),
        few_packet([5_000, 6_000], 4, 3, &[event(2, 5_500, &[])]),
    ];
    write(&directory.join("reset"), &[("metadata", FEW.as_bytes()), ("stream", &reset.concat())]);
    let mut latin = METADATA.as_bytes().to_vec();
    latin.extend(b"/* caf\xe9 */\n");
    write(&directory.join("latin"), &[("metadata", &latin)]);
    write_ust(directory);
    write_compact(directory);
    write_bugs(directory);
    write_cut(directory);
    write(&directory.join("nodata"), &[("metadata", METADATA.as_bytes())]);
    write(&directory.join("broken"), &[("metadata", b"/* CTF 1.8 */ trace {")]);
    write_one(&directory.join("damaged"), METADATA);
    let stream = directory.join("damaged/stream_a");
    let bytes = fs::read(&stream).unwrap();
    fs::write(stream, &bytes[..bytes.len() - 5]).unwrap();
    // The second event has an identifier without a class.
    write_one(&directory.join("spoilt"), METADATA);
    let stream = directory.join("spoilt/stream_b");
    let mut bytes = fs::read(&stream).unwrap();
    bytes[8 + 5 * 8 + 1 + 8 + 4 + b"hello\x1b[31m\0".len()] = 9;
    fs::write(stream, bytes).unwrap();
    fs::create_dir(directory.join("empty")).unwrap();
    let dmesg =
        b"[    0.000000] Linux version 6.1\n[    1.500000] usb 1-1: new device\n\n[   12.345678] last line\n";
    let plain = b"no time here\n[1.0 broken\n[    2.000001] with time\n";
    write(directory, &[("dmesg.txt", dmesg), ("plain.txt", plain), ("file.txt", b"a text\n")]);
}
