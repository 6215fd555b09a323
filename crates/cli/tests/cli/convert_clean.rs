//! Clean traces stay clean: `check --strict` accepts each output if it accepts the input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ichnos_testing::is_turn;

use crate::support::{Directory, ichnos, recorded, root, text};

const DIALECTS: [&str; 5] = ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];

/// Returns traces that take little time.
fn inputs(directory: &Path) -> Vec<PathBuf> {
    let examples = root().join("examples");
    let mut all: Vec<PathBuf> = [
        "hello-ctf2",
        "hello-lttng",
        "hello-dotnet/hello.nettrace.zst",
        "hello-fuchsia/boot.log",
        "hello-jsonl/requests.jsonl",
        "hello-xtrace/proxy.reports",
        "one-request/trace/shop.reports",
        "one-request/trace/stock",
    ]
    .iter()
    .map(|name| examples.join(name))
    .collect();
    let names = ["nettrace/runtime/net10.0-nostacks.nettrace", "xtrace/brown/text/small.txt"];
    all.extend(names.iter().filter_map(recorded));
    for folder in ["ctf/decode/ctf-1", "ctf/decode/ctf-2"] {
        let Some(folder) = recorded(folder) else { continue };
        let mut cases: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
        cases.retain(|case| case.file_name().unwrap().to_string_lossy().starts_with("pass-"));
        for case in cases {
            // Without the description next to the trace.
            let trace = directory.join(format!("in-{}", all.len()));
            fs::create_dir(&trace).unwrap();
            for name in ["metadata", "stream"].iter().filter(|name| case.join(name).exists()) {
                fs::copy(case.join(name), trace.join(name)).unwrap();
            }
            all.push(trace);
        }
    }
    all
}

/// Calls `work` for all numbers below `count`, on several threads.
fn for_each(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count) {
            work(number);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(run)));
    });
}

#[test]
fn check_accepts_the_output_if_it_accepts_the_input() {
    let directory = Directory::new("convert-clean");
    let inputs = inputs(&directory);
    let (problems, clean) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    for_each(inputs.len(), |number| {
        let input = &inputs[number];
        if ichnos(["check", "--strict", text(input)]).code != 0 {
            return;
        }
        clean.fetch_add(1, Ordering::Relaxed);
        // Examples are written in all dialects, and the many small recorded traces in every second one.
        let is_example = input.starts_with(root().join("examples"));
        let dialects = DIALECTS.iter().enumerate();
        for (index, dialect) in dialects.filter(|(index, _)| is_example || is_turn(number + index, 0, 2)) {
            let out = directory.join(format!("out-{number}-{index}"));
            let converted = ichnos(["convert", "-q", "--to-dialect", dialect, text(input), "-o", text(&out)]);
            let checked = ichnos(["check", "--strict", text(&out)]);
            if converted.code != 0 || checked.code != 0 {
                let output = [converted.err, checked.out, checked.err].concat();
                problems.lock().unwrap().push(format!("{} as {dialect}: {output}", input.display()));
            }
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(clean.into_inner() >= 8);
}

/// Writes a CTF 1.8 trace with header fields that do not describe packets or event records.
fn with_user_fields(directory: &Path) -> PathBuf {
    let trace = directory.join("user-fields");
    fs::create_dir(&trace).unwrap();
    let metadata = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace {
    major = 1;
    minor = 8;
    byte_order = le;
    packet.header := struct {
        integer { size = 32; align = 8; base = 16; } magic;
        u8 board;
        struct { u8 stream_id; string place; } where;
        enum : u8 { cold, hot } state;
        variant <state> { u8 cold; string hot; } weather;
        u8 cpu;
    };
};
stream {
    id = 3;
    packet.context := struct { u8 packet_size; u8 cpu; u8 cpus[stream.packet.context.cpu]; };
    event.header := struct { u8 id; u8 core; };
    event.context := struct { u8 thread; };
};
event { id = 5; name = "e"; stream_id = 3; fields := struct { u8 x; u8 core; }; };
"#;
    fs::write(trace.join("metadata"), metadata).unwrap();
    let mut packet = 0xc1fc_1fc1u32.to_le_bytes().to_vec();
    packet.extend([7, 3, b'b', b'a', b'r', b'n', 0, 1, b'w', b'a', b'r', b'm', 0, 11]);
    packet.extend([8 * 27, 2, 21, 22]);
    packet.extend([5, 31, 41, 51, 61]);
    fs::write(trace.join("stream"), packet).unwrap();
    trace
}

/// CTF 2 headers cannot contain such fields.
#[test]
fn fields_of_headers_without_a_role_move_to_contexts() {
    let directory = Directory::new("convert-user-fields");
    let trace = with_user_fields(&directory);
    ichnos(["check", "--strict", text(&trace)]).expect(0, &[]);
    let packets = |path: &Path| -> Vec<String> {
        let run = ichnos(["cat", "-q", "--format", "jsonl", "--packets", text(path)]);
        run.out.lines().filter(|line| !line.contains("class")).map(str::to_owned).collect()
    };
    let read = packets(&trace).join("\n");
    for part in [r#""board":7"#, r#""place":"barn""#, r#""weather":"warm""#, r#""header":{"id":5,"core":31}"#]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    for dialect in ["spec2", "prop2"] {
        let out = directory.join(dialect);
        let words = ["convert", "--losses", "--to-dialect", dialect, text(&trace), "-o", text(&out)];
        ichnos(words).expect(0, &[]).prints(&[
            "moved           4  packet.header  fields without a role -> packet-context",
            "moved           1  header  fields without a role -> event-record-common-context",
            "renamed         1  packet.header.cpu  `cpu` -> `cpu_2`",
        ]);
        ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
        let written = packets(&out).join("\n");
        for part in [
            r#""context":{"board":7,"place":"barn","weather":"warm","cpu_2":11,"packet_size":"#,
            r#""cpu":2,"cpus":[21,22]"#,
            r#""state":{"value":1,"labels":["hot"]}"#,
            r#""common_context":{"core":31,"thread":41},"payload":{"x":51,"core":61}"#,
        ] {
            assert!(written.contains(part), "{part}: {written}");
        }
    }
    // Items that can be kept are kept.
    let out = directory.join("same");
    let words = ["convert", "--losses", "--to-dialect", "ctf1.8", text(&trace), "-o", text(&out)];
    assert!(!ichnos(words).out.contains("fields without a role"));
}

/// PROP-2.0 lacks paths out of an array element. In CTF 1.8, Babeltrace accepts a name alone as such a path.
#[test]
fn fields_in_arrays_depend_on_outer_fields() {
    let directory = Directory::new("convert-outside");
    let trace = directory.join("in");
    fs::create_dir(&trace).unwrap();
    let metadata = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
event { name = "e"; fields := struct {
    u8 n;
    enum : u8 { A, B } kind;
    u8 rows[2][n];
    struct {
        integer { size = 8; align = 8; encoding = UTF8; } name[n];
        struct { variant <kind> { u8 A; string B; } v; } inner;
    } all[2];
}; };
"#;
    fs::write(trace.join("metadata"), metadata).unwrap();
    fs::write(trace.join("stream"), b"\x02\x01\x01\x02\x03\x04abx\0cdy\0").unwrap();
    let cat = |path: &Path| ichnos(["cat", "-q", text(path)]).expect(0, &[]).out;
    let read = cat(&trace);
    assert!(read.contains("name = \"ab\"") && read.contains("\"y\""), "{read}");
    for dialect in ["spec2", "prop2", "prop1", "ctf1.8"] {
        let out = directory.join(dialect.replace('.', "_"));
        let words = ["convert", "--losses", "--to-dialect", dialect, text(&trace), "-o", text(&out)];
        let losses = ichnos(words).expect(0, &[]).out;
        ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
        assert_eq!(losses.contains("added: the length"), dialect == "prop2", "{losses}");
        assert_eq!(losses.contains("added: the selected option"), dialect == "prop2", "{losses}");
        if dialect != "prop2" {
            assert_eq!(cat(&out), read);
        }
        if dialect == "ctf1.8" {
            // Babeltrace 2 does not read absolute locations there, and would reject the metadata.
            let metadata = fs::read_to_string(out.join("metadata")).unwrap();
            assert!(metadata.contains("variant <kind> {"), "{metadata}");
            match Command::new("babeltrace2").arg(&out).stdin(Stdio::null()).output() {
                Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
                Err(_) => eprintln!("skipped: `babeltrace2` is not installed"),
            }
        }
    }
    let prop2 = cat(&directory.join("prop2"));
    for part in ["[0] = 1, [1] = 2", "[0] = 3, [1] = 4", "\"ab\"", "\"x\"", "\"cd\"", "\"y\""] {
        assert!(prop2.contains(part), "{part}: {prop2}");
    }
}
