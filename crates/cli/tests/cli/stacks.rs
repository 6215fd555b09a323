//! `ichnos stacks`, and the frames that `ichnos cat` prints, for a trace that the test writes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Run, ichnos, recorded};
use crate::transcript::transcript;

/// Spans are calls with own time, by thread and as callers.
#[test]
fn spans_are_calls() {
    let directory = Directory::new("stacks-spans");
    let lines = [
        r#"{"ts":1000,"name":"outer_begin","payload":{"tid":7}}"#,
        r#"{"ts":1010,"name":"inner_begin","payload":{"tid":7}}"#,
        r#"{"ts":1015,"name":"outer_begin","payload":{"tid":8}}"#,
        r#"{"ts":1040,"name":"inner_end","payload":{"tid":7}}"#,
        r#"{"ts":1050,"name":"inner_begin","payload":{"tid":7}}"#,
        r#"{"ts":1051,"name":"inner_end","payload":{"tid":7}}"#,
        r#"{"ts":1100,"name":"outer_end","payload":{"tid":7}}"#,
        r#"{"ts":1115,"name":"outer_end","payload":{"tid":8}}"#,
        r#"{"ts":1200,"name":"open_begin","payload":{"tid":8}}"#,
    ];
    let trace = directory.join("t.jsonl");
    fs::write(&trace, lines.join("\n") + "\n").unwrap();
    let trace = trace.to_str().unwrap();
    let map = directory.join("map.toml");
    fs::write(&map, "[[event]]\nmatch = \"*_begin\"\nrole = \"begin\"\n[[event]]\nmatch = \"*_end\"\nrole = \"end\"\n[[event]]\nmatch = \"*\"\nfields = { thread = \"tid\" }\n").unwrap();
    let trace = [trace, "--map", map.to_str().unwrap()];
    let folded = |options: &[&str]| {
        let words = [&["stacks", "--spans"], &trace[..], options].concat();
        ichnos(words).expect(0, &[]).out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(folded(&[]), ["outer 169", "outer;inner 31"]);
    assert_eq!(folded(&["--inverted"]), ["inner;outer 31", "outer 169"]);
    assert_eq!(folded(&["--thread", "8"]), ["outer 100"]);
    // Self times equal the statistics.
    let out =
        ichnos([&["stats", "--spans", "--sort", "self", "--json"], &trace[..]].concat()).expect(0, &[]).out;
    let stats: serde_json::Value = serde_json::from_str(&out).unwrap();
    let own = |row: &serde_json::Value| row["self"].as_u64().or_else(|| row["self_ns"].as_u64());
    assert_eq!(stats["rows"].as_array().unwrap().iter().filter_map(own).collect::<Vec<_>>(), [169, 31]);
    // The running thread is unknown.
    ichnos([&["stacks", "--spans", "--running"], &trace[..]].concat()).expect(1, &["left out 2 threads"]);
    let of_one = [&["stacks", "--spans", "--running", "--thread", "8"], &trace[..]].concat();
    ichnos(of_one).expect(1, &["left out 1 thread:"]);
    let speedscope = directory.join("t.speedscope.json");
    folded(&["-o", speedscope.to_str().unwrap()]);
    let text = fs::read_to_string(&speedscope).unwrap();
    let profile: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = profile["profiles"][0]["events"].as_array().unwrap().iter();
    assert_eq!(
        events.map(|event| event["at"].as_u64().unwrap()).collect::<Vec<_>>(),
        [0, 10, 40, 50, 51, 100]
    );
}

/// Short spans keep their times in long traces.
#[test]
fn short_spans_of_a_long_trace() {
    let directory = Directory::new("stacks-long");
    let (trace, map) = (directory.join("t.jsonl"), directory.join("map.toml"));
    let span = |name: &str, begin: u64, end: u64| {
        format!(
            "{{\"ts\":{begin},\"name\":\"{name}_begin\",\"payload\":{{\"tid\":7}}}}\n{{\"ts\":{end},\"name\":\"{name}_end\",\"payload\":{{\"tid\":7}}}}\n"
        )
    };
    let calls = (0..1_000).map(|number| span("call", 5_000 * number, 5_000 * number + 100));
    let lines = calls.chain([span("call", 86_400_000_000_000, 86_400_000_000_100)]).collect::<String>();
    fs::write(&trace, lines).unwrap();
    fs::write(&map, "[[event]]\nmatch = \"*_begin\"\nrole = \"begin\"\n[[event]]\nmatch = \"*_end\"\nrole = \"end\"\n[[event]]\nmatch = \"*\"\nfields = { thread = \"tid\" }\n").unwrap();
    let words = ["stacks", "--spans", trace.to_str().unwrap(), "--map", map.to_str().unwrap()];
    assert_eq!(ichnos(words).expect(0, &[]).out, "call 100100\n");
}

/// Appends an integer with 7 bits per byte.
fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Trace file as the .NET runtime writes it (version 4).
struct File(Vec<u8>);

impl File {
    fn new() -> Self {
        let mut file = Self(b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec());
        file.begin("Trace", 4);
        // 2026-01-02, a Friday, 03:04:05.006. Times are nanoseconds from 1,000 on, and pointers have 8 bytes.
        let date: [u16; 8] = [2026, 1, 5, 2, 3, 4, 5, 6];
        file.0.extend(date.into_iter().flat_map(u16::to_le_bytes));
        file.0.extend([1_000_u64, 1_000_000_000].into_iter().flat_map(u64::to_le_bytes));
        file.0.extend([8_u32, 77, 2, 0].into_iter().flat_map(u32::to_le_bytes));
        file.0.push(6);
        file
    }

    fn begin(&mut self, name: &str, version: u32) {
        self.0.extend([5, 5, 1]);
        let header = [version, version.min(2) * u32::from(version > 2) * 2, name.len() as u32];
        self.0.extend(header.into_iter().flat_map(u32::to_le_bytes));
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(6);
    }

    fn block(mut self, name: &str, content: &[u8]) -> Self {
        self.begin(name, 2);
        self.0.extend((content.len() as u32).to_le_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.0.extend_from_slice(content);
        self.0.push(6);
        self
    }

    /// Appends a block of rows with compressed headers.
    fn rows(self, name: &str, rows: &[u8], times: [u64; 2]) -> Self {
        let header = [20_u16, 1].into_iter().flat_map(u16::to_le_bytes);
        let header: Vec<u8> = header.chain(times.into_iter().flat_map(u64::to_le_bytes)).collect();
        self.block(name, &[&header, rows].concat())
    }

    fn write(mut self, path: PathBuf) -> PathBuf {
        self.0.push(1);
        std::fs::write(&path, self.0).unwrap();
        path
    }
}

/// Writes a trace with samples: `(time in ms, thread, stack, type)`. Type 1 is outside managed code, type 2 inside.
fn trace(directory: &Path) -> PathBuf {
    let samples: [(u64, u64, u64, u32); 7] = [
        (1, 11, 1, 2),
        (2, 11, 2, 2),
        (3, 12, 3, 2),
        (4, 11, 2, 1),
        (7, 11, 1, 2),
        (9, 12, 3, 2),
        (12, 11, 1, 2),
    ];
    let mut metadata = 1_u32.to_le_bytes().to_vec();
    metadata.extend(utf16("Microsoft-DotNETCore-SampleProfiler"));
    metadata.extend(0_u32.to_le_bytes());
    metadata.extend(utf16(""));
    metadata.extend([0; 20]);
    // The time, the payload size, and the payload.
    let mut metadata_rows = vec![0x80, 0];
    push(&mut metadata_rows, metadata.len() as u64);
    metadata_rows.extend(metadata);
    let stacks: [&[u64]; 3] = [&[0x2010, 0x1010], &[0x3010, 0x2020, 0x1010], &[0x4000]];
    let mut stack_block = [1_u32, 3].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    for stack in stacks {
        stack_block.extend((8 * stack.len() as u32).to_le_bytes());
        stack_block.extend(stack.iter().flat_map(|address| address.to_le_bytes()));
    }
    let (mut rows, mut last) = (Vec::new(), 0);
    for (number, (time, thread, stack, kind)) in samples.into_iter().enumerate() {
        let time = 1_000 + time * 1_000_000;
        // All fields, sorted by time. A single thread captures, so sequence numbers are consecutive.
        rows.push(0x01 | 0x02 | 0x04 | 0x08 | 0x40 | 0x80);
        push(&mut rows, 1);
        push(&mut rows, 0);
        push(&mut rows, 99);
        push(&mut rows, (number % 2) as u64);
        push(&mut rows, thread);
        push(&mut rows, stack);
        push(&mut rows, time - last);
        last = time;
        push(&mut rows, 4);
        rows.extend(kind.to_le_bytes());
    }
    File::new()
        .rows("MetadataBlock", &metadata_rows, [0, 0])
        .block("StackBlock", &stack_block)
        .rows("EventBlock", &rows, [1_001_000, last])
        .write(directory.join("samples.nettrace"))
}

fn run(directory: &Directory, words: &str) -> Run {
    let path = trace(directory);
    let words = words.split(' ').map(str::to_owned);
    let mut words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.insert(1, path.to_string_lossy().into_owned());
    ichnos(words)
}

#[test]
fn profiles() {
    let _transcript = transcript!();
    let directory = Directory::new("stacks");
    for options in [
        "",
        "--weight time",
        "--weight time-before --samples Type=Managed",
        "--stack-roots thread --thread 11",
        "--process 78",
        "--top 3 --weight time",
        "--format speedscope --weight time",
        "--begin=+4ms",
        "--weight Type",
        "--weight nothing",
        "--frames managed",
        "--event *nothing*",
        "--top 3 --format folded",
    ] {
        run(&directory, &format!("stacks {options}"));
    }
}

#[test]
fn the_file_name_decides() {
    let directory = Directory::new("stacks-files");
    for (name, begin) in [
        ("a.speedscope.json", &b"{\"$schema\":\"https://www.speedscope.app"[..]),
        ("a.json", b"{\"meta\":"),
        ("a.pb.gz", b"\x1f\x8b"),
        ("a.svg", b"<?xml"),
        ("a.txt", b"0x"),
    ] {
        let output = directory.join(name);
        run(&directory, &format!("stacks --weight time -o {}", output.display())).expect(0, &[]);
        assert!(std::fs::read(output).unwrap().starts_with(begin), "{name}");
    }
}

/// Without weights, nothing is written: viewers reject empty profiles.
#[test]
fn empty_profiles_are_not_written() {
    let directory = Directory::new("stacks-nothing");
    let output = directory.join("out.svg");
    run(&directory, &format!("stacks --process 78 -o {}", output.display()))
        .expect(1, &["no selected event has a call stack"]);
    assert!(!output.exists());
}

#[test]
fn frames_below_events() {
    let directory = Directory::new("stacks-cat");
    let cat = |options: &str| run(&directory, &format!("cat -n 2 {options}"));
    let lines = ["    0x2010\n    0x1010\n", "    0x3010\n    0x2020\n    0x1010\n"];
    for format in ["pretty", "details", "log"] {
        cat(&format!("--stacks -f {format}")).expect(0, &[]).prints(&lines);
        let without = cat(&format!("-f {format}")).expect(0, &[]);
        assert!(!without.out.contains("0x2010"), "{}", without.out);
    }
    let members = [
        r#","stacks":{"stack":[{"address":8208},{"address":4112}]}}"#,
        r#","stacks":{"stack":[{"address":12304},{"address":8224},{"address":4112}]}}"#,
    ];
    for format in ["jsonl", "log-json"] {
        cat(&format!("--stacks -f {format}")).expect(0, &[]).prints(&members);
    }
    cat("--stacks -f null").expect(2, &["`--stacks` does not apply to the format `null`"]);
}

/// Results from an independent reader: the time since the previous sample of the same thread, for all samples and for
/// samples whose previous sample was in managed code.
#[test]
fn times_of_recorded_samples() {
    let Some(directory) = recorded("nettrace/dotnetdiag") else { return };
    let file = "dotnet-5.0-SampleProfiler-single-thread";
    let trace = directory.join(format!("{file}.golden.nettrace")).to_string_lossy().into_owned();
    for (expected, options) in [("", &[][..]), ("-managed-only", &["--samples", "Type=Managed"])] {
        let expected = std::fs::read_to_string(directory.join(format!("{file}{expected}.txt"))).unwrap();
        let words = ["stacks", &trace, "--weight", "time-before"].into_iter().chain(options.iter().copied());
        assert_eq!(ichnos(words).expect(0, &[]).out, expected);
    }
}

/// The runtime names threads by their purpose. Events do not contain these names.
#[test]
fn threads_are_selected_by_inferred_names() {
    let Some(trace) = recorded("nettrace/runtime/net10.0-small.nettrace") else { return };
    let trace = trace.to_string_lossy().into_owned();
    let names = |selection: &[&str]| {
        let words = ["stacks", "--format", "speedscope", "--quiet", &trace];
        let out = ichnos(words.into_iter().chain(selection.iter().copied())).expect(0, &[]).out;
        let profile: serde_json::Value = serde_json::from_str(&out).unwrap();
        let profiles = profile["profiles"].as_array().unwrap().clone();
        let mut names: Vec<_> = profiles.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let all = names(&[]);
    let workers: Vec<_> = all.iter().filter(|name| name.contains("ThreadPool Worker")).cloned().collect();
    assert!(!workers.is_empty() && workers.len() < all.len(), "{all:?}");
    assert_eq!(names(&["--thread", "*ThreadPool Worker*"]), workers);
}

const PERF: &str = r#"/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
clock { name = c; freq = 1000000000; };
trace { major = 1; minor = 8; byte_order = le; };
stream {
    event.header := struct { u32 id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; };
};
event { id = 0; name = "cpu-clock"; fields := struct {
    u64 perf_ip; u32 perf_tid; u32 perf_pid; u32 perf_callchain_size; u64 perf_callchain[perf_callchain_size]; }; };
event { id = 1; name = "perf_mmap2"; fields := struct { u32 pid; u32 tid; u64 start; string filename; }; };
event { id = 2; name = "perf_fork"; fields := struct { u32 pid; u32 ppid; }; };
"#;

/// Each new process inherits 1200 mappings, so that a small trace has more than 2^20.
#[test]
fn too_many_binaries_are_reported() {
    for (processes, options, is_reported) in [(1, Some("--debug-info"), false), (900, None, true)] {
        let directory = Directory::new("stacks-binaries");
        let mut data = Vec::new();
        let mut time = 0_u64;
        let mut event = |id: u32, numbers: &[u32], rest: &[u8]| {
            time += 1;
            data.extend(id.to_le_bytes());
            data.extend(time.to_le_bytes());
            numbers.iter().for_each(|number| data.extend(number.to_le_bytes()));
            data.extend(rest);
        };
        for index in 0..1200 {
            event(1, &[5, 5, index << 12, 0], b"/lib.so\0");
        }
        for process in 0..processes {
            event(2, &[6 + process, 5], &[]);
        }
        event(0, &[0, 0, 5, 5, 1, 0x1010, 0], &[]);
        fs::write(directory.join("metadata"), PERF).unwrap();
        fs::write(directory.join("stream"), data).unwrap();
        let words = ["stacks", directory.to_str().unwrap()].into_iter().chain(options);
        let run = ichnos(words).expect(0, &[]).prints(&["/lib.so"]);
        // A trace could name any file.
        let reads_nothing = run.err.contains("`--target-prefix /`");
        assert_eq!(reads_nothing, options.is_some(), "{}", run.err);
        let message =
            "too many binaries, functions or thread names in the trace: the last of them are unknown";
        assert_eq!(run.err.matches(message).count(), usize::from(is_reported), "{}", run.err);
    }
}
