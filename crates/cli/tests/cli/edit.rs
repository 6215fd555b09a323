//! Verbs that edit traces: merge, cut, split and repair.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ichnos_testing::{cases, is_turn, sample_size};

use crate::fault_trace::{FaultTrace, choose};
use crate::support::{Directory, METADATA, Run, ichnos, packet, recorded, root, text, trace};

fn run(arguments: &[&str]) -> Run {
    ichnos(arguments.iter().copied())
}

/// Returns the event lines in traces, in an order that does not depend on data stream names.
fn events(paths: &[&Path], options: &[&str]) -> Vec<String> {
    let paths = paths.iter().map(|path| text(path));
    let words = ["cat", "-q", "--no-delta", "--clock-cycles", "--names", "none"];
    let run = ichnos(words.into_iter().chain(options.iter().copied()).chain(paths));
    assert_ne!(run.code, 2, "{}", run.err);
    let mut lines: Vec<String> = run.out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns the sorted output of babeltrace2, or `None` if it is not installed.
fn babeltrace2(paths: &[&Path]) -> Option<Vec<String>> {
    let output = Command::new("babeltrace2").arg("--no-delta").args(paths).stdin(Stdio::null()).output();
    let Ok(output) = output else {
        eprintln!("skipped: `babeltrace2` is not installed");
        return None;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{paths:?}: {error}");
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    Some(lines)
}

#[track_caller]
fn is_sound(path: &Path) {
    run(&["check", "--strict", text(path)]).expect(0, &[]);
}

/// Writes a trace with one data stream.
fn single(directory: &Path, name: &str, metadata: &str, times: &[u64]) -> std::path::PathBuf {
    let trace = directory.join(name);
    fs::create_dir(&trace).unwrap();
    fs::write(trace.join("metadata"), metadata).unwrap();
    fs::write(trace.join("stream"), packet(times, 0)).unwrap();
    trace
}

#[test]
fn equal_metadata_is_merged_without_a_change() {
    let (a, b) = (trace("merge-a"), trace("merge-b"));
    let directory = Directory::new("merge");
    let out = directory.join("out");
    let merged =
        run(&["merge", "--json", text(&a), text(&b), "--force", "-o", text(&out)]).expect(0, &[]).json();
    assert_eq!(merged["copied_packets"], merged["packets"]);
    assert_eq!(merged["losses"], serde_json::json!([]));
    is_sound(&out);
    assert_eq!(events(&[&out], &[]), events(&[&a, &b], &[]));
    // The output is one trace with two data streams per file name.
    assert!(out.join("metadata").is_file() && out.join("stream_a_2").is_file());
}

#[test]
fn ids_clocks_and_environments_that_collide_are_reported() {
    let directory = Directory::new("merge-different");
    let other = METADATA
        .replace("hostname = \"box\"", "hostname = \"fox\"")
        .replace("offset_s = 1000000000", "offset_s = 1000000001")
        .replace("u8 small;", "u8 tiny;");
    let a = single(&directory, "a", METADATA, &[1_000, 3_000]);
    let b = single(&directory, "b", &other, &[2_000, 4_000]);
    for dialect in ["ctf2", "ctf1.8"] {
        let out = directory.join(dialect);
        let merged = run(&[
            "merge",
            "--losses",
            "--to-dialect",
            dialect,
            text(&a),
            text(&b),
            "--force",
            "-o",
            text(&out),
        ]);
        merged.expect(0, &["3 renamed"]).prints(&[
            "data stream class 0 -> 1",
            "hostname -> hostname_2",
            "mono -> mono_2",
        ]);
    }
}

/// Writes an LTTng trace with one data stream, like a session snapshot: these packets of the session.
fn snapshot(directory: &Path, name: &str, numbers: std::ops::Range<u64>) -> std::path::PathBuf {
    let metadata = METADATA
        .replace("minor = 8;", "minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\";")
        .replace("u32 stream_id; }", "u32 stream_id; u32 stream_instance_id; }")
        .replace("u64 events_discarded;", "u64 events_discarded; u64 packet_seq_num;");
    let trace = directory.join(name);
    fs::create_dir(&trace).unwrap();
    fs::write(trace.join("metadata"), metadata).unwrap();
    let mut bytes = Vec::new();
    for number in numbers {
        let begin = 1_000 * (number + 1);
        let mut packet = packet(&[begin, begin + 100, begin + 200], 0);
        packet.splice(48..48, number.to_le_bytes());
        packet.splice(8..8, [0; 4]);
        let bits = packet.len() as u64 * 8;
        packet[28..36].copy_from_slice(&bits.to_le_bytes());
        packet[36..44].copy_from_slice(&bits.to_le_bytes());
        bytes.extend(packet);
    }
    fs::write(trace.join("channel0_0"), bytes).unwrap();
    trace
}

/// Packets that several snapshots share are written once, and their number is reported.
#[test]
fn packets_of_several_snapshots_are_written_once() {
    let directory = Directory::new("merge-snapshots");
    let first = snapshot(&directory, "snapshot-1", 0..4);
    let second = snapshot(&directory, "snapshot-2", 2..6);
    let all = snapshot(&directory, "all", 0..6);
    let out = directory.join("out");
    for verb in ["merge", "convert"] {
        let words =
            [verb, "--to-dialect=ctf1.8", "--json", text(&first), text(&second), "--force", "-o", text(&out)];
        let note = "note: 2 packets are in several files, as in overlapping snapshots: each is written once";
        let merged = run(&words).expect(0, &[note]).json();
        assert_eq!((&merged["packets"], &merged["copied_packets"]), (&6.into(), &6.into()));
        assert_eq!((&merged["repeated_packets"], &merged["losses"]), (&2.into(), &serde_json::json!([])));
        is_sound(&out);
        assert_eq!(events(&[&out], &[]), events(&[&all], &[]));
        assert_eq!(babeltrace2(&[&out]), babeltrace2(&[&all]));
    }
    // Without such packets, no number is reported.
    let alone = run(&["convert", "--json", text(&all), "--force", "-o", text(&out)]).expect(0, &[]);
    assert!(!alone.err.contains("snapshots"), "{}", alone.err);
    assert_eq!(alone.json()["repeated_packets"], 0);
}

#[test]
fn unrelated_clocks_are_an_error() {
    let directory = Directory::new("merge-clocks");
    let metadata = METADATA.replace("absolute = true;", "");
    let a = single(&directory, "a", &metadata, &[1_000, 3_000]);
    let b = single(&directory, "b", &metadata, &[2_000, 4_000]);
    let out = directory.join("out");
    run(&["merge", text(&a), text(&b), "--force", "-o", text(&out)]).expect(2, &["unrelated origins"]);
    assert!(!out.exists());
    run(&["merge", "--assume-correlated", text(&a), text(&b), "--force", "-o", text(&out)]).expect(0, &[]);
    is_sound(&out);
    assert_eq!(events(&[&out], &[]), events(&[&a, &b], &["--assume-correlated"]));
    let offset = format!("{}=-1s", text(&b));
    let options = ["--offset", &*offset];
    let out = directory.join("moved");
    run(&[&["merge", text(&a), text(&b), "--force", "-o", text(&out)][..], &options].concat()).expect(0, &[]);
    is_sound(&out);
    let seconds = |paths: &[&str], options: &[&str]| {
        let run =
            run(&[&["cat", "-q", "--no-delta", "--clock-seconds", "--names", "none"], paths, options]
                .concat());
        run.expect(0, &[]).out
    };
    assert_eq!(seconds(&[text(&out)], &[]), seconds(&[text(&a), text(&b)], &options));
}

#[test]
fn recorded_traces_are_merged_without_encoding_a_packet() {
    let Some(discard) = recorded("ctf/real/lttng-ust/discard") else { return };
    let Some(overwrite) = recorded("ctf/real/lttng-ust/overwrite") else { return };
    let directory = Directory::new("merge-recorded");
    let out = directory.join("out");
    let paths = [text(&discard), text(&overwrite), "--force", "-o", text(&out), "--to-dialect=ctf1.8"];
    let merged = run(&[&["merge", "--json"][..], &paths].concat()).expect(0, &[]).json();
    assert_eq!((&merged["packets"], &merged["encoded_events"]), (&merged["copied_packets"], &0.into()));
    is_sound(&out);
    assert_eq!(babeltrace2(&[&out]), babeltrace2(&[&discard, &overwrite]));
}

/// Packets from traces with different headers get a common header. Their events stay unchanged.
#[test]
fn different_packet_headers_are_unified() {
    let Some(barectf) = recorded("ctf/real/barectf/assembled") else { return };
    let Some(small) = recorded("ctf/real/babeltrace/1/succeed/smalltrace") else { return };
    let directory = Directory::new("merge-headers");
    let mut merged = 0;
    let mut traces: Vec<_> = fs::read_dir(&barectf).unwrap().map(|trace| trace.unwrap().path()).collect();
    // The field for the packet size is too short for a longer header.
    traces.retain(|trace| !text(trace).contains("packet-set-buf") && trace.join("metadata").is_file());
    traces.sort();
    // Many have the same header.
    for (_, case) in traces.into_iter().enumerate().filter(|(number, _)| is_turn(*number, 0, 2)) {
        let out = directory.join(case.file_name().unwrap());
        let options = ["--assume-correlated"];
        run(&[&["merge", "-q", text(&case), text(&small), "--force", "-o", text(&out)][..], &options]
            .concat())
        .expect(0, &[]);
        is_sound(&out);
        assert_eq!(events(&[&out], &options), events(&[&case, &small], &options), "{}", case.display());
        merged += 1;
    }
    assert!(merged > 15, "{merged}");
}

#[test]
fn whole_packets_are_cut_out() {
    let trace = trace("cut-packets");
    let directory = Directory::new("cut-packets-out");
    let out = directory.join("out");
    let times = ["--begin", "1000000000.000003", "--end", "1000000000.000004"];
    let cut =
        [&["cut", "--align", "packet", "--json", text(&trace), "--force", "-o", text(&out)][..], &times]
            .concat();
    let written = run(&cut).expect(0, &[]).json();
    assert_eq!((&written["packets"], &written["copied_packets"]), (&2.into(), &2.into()));
    // The complete first packet in each data stream.
    assert_eq!(events(&[&out], &[]).len(), 7);
    let exact = directory.join("exact");
    run(&[&["cut", text(&trace), "-o", text(&exact)][..], &times].concat()).expect(0, &[]);
    assert_eq!(events(&[&exact], &[]), events(&[&trace], &times));
    assert_eq!(events(&[&exact], &[]).len(), 2);
    run(&[&cut[..], &["--event", "x"]].concat()).expect(2, &["cannot select events"]);
}

/// Babeltrace's expected results: a converted trace prints like the original.
#[test]
fn intersections_and_sequence_numbers_print_the_same() {
    for case in [
        "intersection/onestream",
        "packet-seq-num/no-lost",
        "packet-seq-num/no-lost-not-starting-at-0",
        "deterministic-ordering/b-not-corrupted",
    ] {
        let Some(original) = recorded(format!("ctf/real/babeltrace/1/{case}")) else { return };
        let directory = Directory::new("cases");
        for (verb, options) in [
            ("convert", &[][..]),
            ("convert", &["--stream-intersection"]),
            ("cut", &["--begin", "0"]),
            ("cut", &["--begin=+0s", "--end=+1ns"]),
        ] {
            let out = directory.join("out");
            let words = [verb, "-q", text(&original), "--force", "-o", text(&out), "--to-dialect", "ctf1.8"];
            let written = run(&[&words[..], options].concat());
            assert!(written.code != 2, "{case} {options:?}: {}", written.err);
            for format in ["pretty", "jsonl"] {
                let cat = |path: &Path, options: &[&str]| {
                    let words =
                        ["cat", "-q", "--clock-gmt", "--names", "none", "--format", format, text(path)];
                    let lines = run(&[&words[..], options].concat()).out;
                    lines.lines().filter(|line| format == "pretty" || line.contains("\"event\"")).count()
                };
                assert_eq!(cat(&out, &[]), cat(&original, options), "{case} {options:?} {format}");
            }
            assert_eq!(events(&[&out], &[]), events(&[&original], options), "{case} {options:?}");
            fs::remove_dir_all(&out).unwrap();
        }
    }
}

/// Checks that all events are in one of the parts. Returns the part names.
#[track_caller]
fn split(trace: &Path, by: &str) -> Vec<String> {
    let directory = Directory::new("split");
    let out = directory.join("out");
    run(&["split", "--by", by, text(trace), "--force", "-o", text(&out)]).expect(0, &[]);
    let mut parts: Vec<_> = fs::read_dir(&out).unwrap().map(|part| part.unwrap().path()).collect();
    parts.sort();
    let mut all: Vec<String> = Vec::new();
    for part in &parts {
        is_sound(part);
        all.append(&mut events(&[part], &[]));
    }
    all.sort();
    assert_eq!(all, events(&[trace], &[]), "{by}");
    parts.iter().map(|part| part.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn each_event_is_in_one_part() {
    let trace = trace("split-in");
    assert_eq!(split(&trace, "stream"), ["stream_a", "stream_b"]);
    assert_eq!(split(&trace, "event"), ["demo_tick", "demo_tock"]);
    assert_eq!(split(&trace, "time=1s"), ["001", "002", "003"]);
    assert!(split(&trace, "size=100").len() > 2);
    assert_eq!(split(&trace, "size=1G"), ["001"]);
    assert_eq!(split(&trace, "value"), ["value=0", "value=2", "without-value"]);
    assert_eq!(
        split(&trace, "payload.small"),
        ["payload.small=1", "payload.small=3", "without-payload.small"]
    );
}

/// Returns the discarded event count and the discarded packet count.
fn losses(trace: &Path) -> (u64, u64) {
    let info = run(&["info", "--json", text(trace)]).json();
    let streams = info["traces"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|trace| trace["data_streams"].as_array().unwrap().clone());
    let count = |stream: &serde_json::Value, name: &str| stream[name].as_u64().unwrap_or(0);
    streams.fold((0, 0), |(events, packets), stream| {
        (events + count(&stream, "discarded_events"), packets + count(&stream, "discarded_packets"))
    })
}

/// Checks that each event and each loss of a trace is in one part, however the trace is split.
#[track_caller]
fn has_all(trace: &Path, ways: &[&str]) {
    let (all, lost) = (events(&[trace], &[]), losses(trace));
    for by in ways {
        let directory = Directory::new("split-losses");
        let out = directory.join("out");
        run(&["split", "--by", by, text(trace), "-o", text(&out)]).expect(0, &[]);
        let parts: Vec<_> = fs::read_dir(&out).unwrap().map(|part| part.unwrap().path()).collect();
        let mut found = (0, 0);
        for part in &parts {
            let check = run(&["check", "--strict", "--json", text(part)]).expect(0, &[]).json();
            found.0 += check["discarded_events"].as_u64().unwrap();
            found.1 += check["discarded_packets"].as_u64().unwrap();
        }
        let parts: Vec<&Path> = parts.iter().map(|part| &**part).collect();
        assert_eq!(events(&parts, &[]), all, "{} {by}", trace.display());
        assert_eq!(found, lost, "{} {by}", trace.display());
    }
}

/// Exactly one part reports each loss in a trace.
#[test]
fn each_loss_is_in_one_part() {
    for name in ["lttng-ust/discard", "lttng-ust/overwrite", "tracecompass/hello-lost"] {
        let Some(trace) = recorded(format!("ctf/real/{name}")) else { return };
        assert_ne!(losses(&trace), (0, 0), "{name}");
        has_all(&trace, &["time=5ms", "time=50ms", "size=64K", "stream", "event", "cpu_id"]);
    }
    let Some(trace) = recorded("ctf/real/babeltrace/1/succeed/ev-disc-no-ts-begin-end") else { return };
    has_all(&trace, &["time=1s", "size=100", "stream", "event"]);
}

/// The same for random packets, many of them without events.
#[test]
fn each_loss_of_random_packets_is_in_one_part() {
    let metadata = METADATA
        .replace("u32 stream_id; }", "u32 stream_id; u32 stream_instance_id; }")
        .replace("minor = 8;", "minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\";")
        .replace("u64 events_discarded;", "u32 events_discarded; u64 packet_seq_num;");
    cases(sample_size(4, 12), |random| {
        let trace = Directory::new("split-random");
        fs::write(trace.join("metadata"), &metadata).unwrap();
        for stream in 0..2u32 {
            let (mut discarded, mut sequence, mut time, mut bytes) = (0u32, 3u64, 1_000u64, Vec::new());
            for _ in 0..12 {
                discarded += if random.below(2) == 0 { random.below(5) as u32 } else { 0 };
                sequence += 1 + if random.below(3) == 0 { random.below(3) } else { 0 };
                let begin = time + random.below(300);
                let mut events = Vec::new();
                time = begin;
                for _ in 0..random.below(5).saturating_sub(1) {
                    time += random.below(200);
                    let id = random.below(2) as u8;
                    events.push(id);
                    events.extend(time.to_le_bytes());
                    match id {
                        0 => events.extend([random.below(3) as u8, 0, 0, 0, b'a', 0]),
                        _ => events.push(random.below(2) as u8),
                    }
                }
                time += random.below(100);
                let bits = (12 + 44 + events.len() as u64) * 8;
                bytes.extend([0xc1, 0x1f, 0xfc, 0xc1].into_iter().chain(0u32.to_le_bytes()));
                bytes.extend(stream.to_le_bytes());
                [begin, time, bits, bits].iter().for_each(|value| bytes.extend(value.to_le_bytes()));
                bytes.extend(discarded.to_le_bytes());
                bytes.extend(sequence.to_le_bytes());
                bytes.extend(events);
            }
            fs::write(trace.join(format!("stream_{stream}")), bytes).unwrap();
        }
        has_all(&trace, &["time=100ns", "time=1us", "size=100", "stream", "event", "value"]);
    });
}

/// Parts are created when their first event comes, with few files open at the same time.
#[cfg(unix)]
#[test]
fn very_many_parts() {
    let trace = Directory::new("split-many");
    fs::write(trace.join("metadata"), METADATA).unwrap();
    // Each value occurs twice, far apart.
    let times: Vec<u64> = (0..3_000).collect();
    let mut bytes = packet(&times, 0);
    bytes.extend(packet(&(3_000..6_000).collect::<Vec<_>>(), 0));
    fs::write(trace.join("stream_a"), bytes).unwrap();
    let out = Directory::new("split-many-out");
    let path = out.join("out");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 200 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ichnos"), "split"]);
    command.args(["--by", "value", "--json"]).arg(&*trace).arg("-o").arg(&path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1_501);
    assert_eq!(events(&[&path], &[]), events(&[&trace], &[]));
}

/// Without events, the output contains the trace description.
#[test]
fn empty_selections_are_explained() {
    let directory = trace("edit-nothing");
    let out = Directory::new("edit-nothing-out");
    let to = out.join("none");
    let [path, to] = [text(&directory), text(&to)];
    let run = |arguments: &[&str], part: &str| {
        run(&[arguments, &["--force", "-o", to]].concat()).expect(1, &[part])
    };
    run(&["filter", "value == 2 && value == 3", path], "no event matches --filter");
    run(&["cut", "--begin", "2100-01-01", path], "no event is");
    run(&["convert", "--event", "demo:tik", path], "did you mean `demo:tick`");
    assert_eq!(events(&[Path::new(to)], &[]).len(), 0);
}

#[test]
fn impossible_parts_are_errors() {
    let trace = trace("split-errors");
    let directory = Directory::new("split-errors-out");
    let out = directory.join("out");
    let split = |by: &str| run(&["split", "--by", by, text(&trace), "--force", "-o", text(&out)]);
    split("nothing").expect(2, &["no selected event has a field `nothing`"]);
    split("time=1ns").expect(2, &["parts would exceed the limit of 100,000"]);
    split("size=0").expect(2, &["part size must be greater than 0"]);
    split("time=soon").expect(2, &["expected a duration"]);
    assert!(!out.exists());
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine"), "").unwrap();
    split("event").expect(2, &["`mine`"]);
    assert!(out.join("mine").exists());
}

#[test]
fn dropped_data_in_a_repair_is_reported() {
    let trace = trace("repair");
    let directory = Directory::new("repair-out");
    let mut bytes = fs::read(trace.join("stream_a")).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(trace.join("stream_a"), bytes).unwrap();
    let out = directory.join("out");
    let repaired =
        run(&["repair", "--json", text(&trace), "--force", "-o", text(&out)]).expect(0, &["stream_a: byte"]);
    let left_out = &repaired.json()["left_out"];
    assert_eq!(left_out.as_array().unwrap().len(), 1, "{left_out}");
    assert!(left_out[0]["skipped_bytes"].as_u64().unwrap() > 0);
    is_sound(&out);
    assert_eq!(events(&[&out], &[]), events(&[&trace], &[]));
    // One event is counted as discarded.
    run(&["info", text(&out)]).expect(0, &[]).prints(&["8 events discarded by the tracer"]);
}

/// Repaired and divided packets have consecutive numbers.
#[test]
fn repaired_packets_are_divided() {
    let trace = trace("repair-divided");
    let directory = Directory::new("repair-divided-out");
    let mut bytes = fs::read(trace.join("stream_a")).unwrap();
    bytes.truncate(bytes.len() - 5);
    fs::write(trace.join("stream_a"), bytes).unwrap();
    for size in ["1", "100", "10000"] {
        let out = directory.join(size);
        run(&["repair", "--packet-size", size, text(&trace), "--force", "-o", text(&out)]).expect(0, &[]);
        is_sound(&out);
        assert_eq!(events(&[&out], &[]), events(&[&trace], &[]));
    }
    let Some(recorded) = recorded("ctf/real/babeltrace/1/succeed/lttng-crash") else { return };
    let out = directory.join("recorded");
    run(&["repair", "--packet-size", "100", text(&recorded), "--force", "-o", text(&out)]).expect(0, &[]);
    is_sound(&out);
    assert_eq!(events(&[&out], &[]), events(&[&recorded], &[]));
}

/// The parts of a split trace, or the outputs of a filter and its opposite, add up to the trace.
#[test]
fn parts_are_separate_traces() {
    let directory = Directory::new("edit-parts");
    let trace = root().join("examples/hello-lttng");
    let all = events(&[&trace], &[]);
    for by in ["event", "cpu_id", "stream", "size=4K", "time=1ms"] {
        let out = directory.join(by);
        run(&["split", "--by", by, text(&trace), "--force", "-o", text(&out)]).expect(0, &[]);
        assert_eq!(events(&[&out], &[]), all, "{by}");
        is_sound(&out);
        let again = directory.join(format!("{by}-again"));
        run(&["split", "--by", by, text(&trace), "-o", text(&again)]).expect(0, &[]);
        let metadata = |out: &Path| {
            let part = fs::read_dir(out).unwrap().map(|part| part.unwrap().file_name()).min().unwrap();
            fs::read(out.join(&part).join("metadata"))
                .ok()
                .or(fs::read(out.join(part).join("64-bit/metadata")).ok())
        };
        assert!(metadata(&out).is_some() && metadata(&out) == metadata(&again), "{by}");
    }
    let (ticks, others) = (directory.join("ticks"), directory.join("others"));
    run(&["filter", "event == \"hello:tick\"", text(&trace), "-o", text(&ticks)]).expect(0, &[]);
    run(&["filter", "event != \"hello:tick\"", text(&trace), "-o", text(&others)]).expect(0, &[]);
    assert_eq!(events(&[&ticks, &others], &[]), all);
}

/// LTTng 2.10 writes events after the end of their packet. A packet that ends in the time range is then not completely
/// in it.
#[test]
fn events_behind_their_packets_are_cut() {
    let Some(trace) = recorded("ctf/real/babeltrace/1/succeed/lttng-event-after-packet") else { return };
    let directory = Directory::new("cut-late");
    let (out, window) = (directory.join("out"), ["--end=@1565957302180016040", "--stream=*chan_0"]);
    let cut = [&["cut", text(&trace), "--force", "-o", text(&out)], &window[..]].concat();
    run(&cut).expect(1, &["no event is in the time"]);
    assert_eq!(events(&[&out], &[]), events(&[&trace], &window));
}

/// If packets do not tell where their content ends, the rest of the last byte would be read as an event. There are ten
/// events with three bits. Eight of them fill whole bytes.
#[test]
fn packets_without_a_size_end_at_a_byte() {
    let directory = Directory::new("edit-bits");
    let metadata = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };
        event { name = e; fields := struct { integer { size = 3; align = 1; signed = false; } v; }; };";
    fs::write(directory.join("metadata"), metadata).unwrap();
    fs::write(directory.join("stream"), [0x88, 0xc6, 0xfa, 0x11]).unwrap();
    let values = |path: &Path| -> Vec<String> {
        let out = run(&["cat", "-f", "csv", "--fields", "v", text(path)]).out;
        out.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
    };
    let all = values(&directory);
    assert_eq!(all.len(), 10);
    let outputs = Directory::new("edit-bits-out");
    for (verb, code) in [("convert", 3), ("repair", 0)] {
        let out = outputs.join(verb);
        let written =
            run(&[verb, "--losses", text(&directory), "--force", "-o", text(&out)]).expect(code, &[]);
        assert!(written.out.contains("events after the last whole byte"), "{}", written.out);
        is_sound(&out);
        assert_eq!(values(&out), all[..8]);
    }
}

/// Packets with only a total size are divided at bytes, so that no event is lost.
#[test]
fn packets_with_one_size_are_divided_at_bytes() {
    let directory = Directory::new("edit-total");
    let metadata = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };
        stream { packet.context := struct { integer { size = 8; align = 8; } packet_size; }; };
        event { name = e; fields := struct { integer { size = 3; align = 1; } v; }; };";
    fs::write(directory.join("metadata"), metadata).unwrap();
    // Each has 16 events with three bits.
    let packet = [56, 0x88, 0xc6, 0xfa, 0x88, 0xc6, 0xfa];
    fs::write(directory.join("stream"), [packet, packet].concat()).unwrap();
    let all = events(&[&directory], &[]);
    assert_eq!(all.len(), 32);
    let outputs = Directory::new("edit-total-out");
    for size in ["1", "3", "5"] {
        let out = outputs.join(size);
        run(&["convert", "--strict", "--packet-size", size, text(&directory), "--force", "-o", text(&out)])
            .expect(0, &[]);
        is_sound(&out);
        assert_eq!(events(&[&out], &[]), all);
    }
}

/// `split` and `convert` report a file outside data streams once.
#[test]
fn parts_report_damage_once() {
    let trace = trace("split-damage");
    fs::write(trace.join("stream_c"), [0xaa; 64]).unwrap();
    let directory = Directory::new("split-damage-out");
    for to in ["jsonl", "fuchsia-log", "ctf"] {
        let [one, parts] = ["one", "parts"].map(|name| directory.join(format!("{name}-{to}")));
        let of_file = |run: Run| run.err.lines().filter(|line| line.contains("stream_c")).count();
        assert_eq!(of_file(run(&["convert", text(&trace), "--to", to, "-o", text(&one)]).expect(3, &[])), 1);
        let words = ["split", "--by", "event", text(&trace), "--to", to, "-o", text(&parts)];
        assert_eq!(of_file(run(&words).expect(3, &[])), 1);
    }
}

/// Whatever is damaged, the output is valid, and other readers can read it.
#[test]
fn repaired_traces_are_sound() {
    let directory = Directory::new("repair-random");
    let (damaged, out) = (directory.join("in"), directory.join("out"));
    fs::create_dir(&damaged).unwrap();
    cases(sample_size(20, 60), |random| {
        let trace = match random.is_one_in(4) {
            true => FaultTrace::without_uuid(60),
            false => FaultTrace::new(60),
        };
        fs::write(damaged.join("metadata"), &trace.metadata).unwrap();
        let count = 1 + random.index(4);
        fs::write(damaged.join("stream"), trace.damaged(count, random.number(), choose).bytes).unwrap();
        let size = random.pick(&["1", "100", "1000", "100000"]);
        for options in [&["--to-dialect=ctf2"][..], &["--packet-size", size], &["--to-dialect=ctf1.8"]] {
            let words = ["repair", "-q", text(&damaged), "--force", "-o", text(&out)];
            // Damage can change event times.
            let repaired = run(&[&words[..], options].concat());
            assert!([0, 3].contains(&repaired.code), "{}", repaired.err);
            is_sound(&out);
        }
        babeltrace2(&[&out]);
        fs::remove_dir_all(&out).unwrap();
    });
}

/// Records with 12 bits: if one is dropped, the next records have other positions in their bytes.
#[test]
fn events_within_bytes_are_filtered() {
    let directory = Directory::new("edit-nibbles");
    let metadata = "/* CTF 1.8 */
        trace { major = 1; minor = 8; byte_order = le; };
        typealias integer { size = 32; align = 1; signed = false; } := uint32_t;
        stream { packet.context := struct { uint32_t content_size; uint32_t packet_size; };
            event.header := struct { integer { size = 8; align = 1; signed = false; } id; }; };
        event { name = \"a\"; id = 0; fields := struct { integer { size = 4; align = 1; signed = false; } v; }; };
        event { name = \"b\"; id = 1; fields := struct { integer { size = 4; align = 1; signed = false; } v; }; };";
    fs::write(directory.join("metadata"), metadata).unwrap();
    // Two thirds of the events are `a`.
    let (mut bits, number) = (Vec::new(), |value: u32, length: u32, bits: &mut Vec<bool>| {
        bits.extend((0..length).map(|bit| value >> bit & 1 == 1));
    });
    let count = 40;
    number(64 + 12 * count, 32, &mut bits);
    number(8 * (64 + 12 * count).div_ceil(8), 32, &mut bits);
    for event in 0..count {
        number(u32::from(event % 3 == 0), 8, &mut bits);
        number(event % 16, 4, &mut bits);
    }
    let byte = |bits: &[bool]| bits.iter().enumerate().map(|(at, bit)| u8::from(*bit) << at).sum::<u8>();
    let bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
    fs::write(directory.join("stream"), bytes).unwrap();
    let outputs = Directory::new("edit-nibbles-out");
    for expression in ["event == \"a\"", "event == \"b\"", "v % 2 == 0", "v > 5"] {
        let out = outputs.join("out");
        run(&["filter", expression, text(&directory), "--force", "-o", text(&out)]).expect(0, &[]);
        is_sound(&out);
        assert_eq!(events(&[&out], &[]), events(&[&directory], &["--filter", expression]), "{expression}");
    }
}

/// A packet whose size field has more than 64 bits is truncated. The output contains the actual size.
#[test]
fn oversized_size_fields_are_corrected() {
    let directory = Directory::new("edit-wide-size");
    let size = |class: &str| {
        format!(
            r#"{{"type": "preamble", "version": 2}}{{"type": "trace-class"}}
            {{"type": "data-stream-class", "id": 0, "packet-context-field-class": {{"type": "structure",
            "member-classes": [{{"name": "content", "field-class": {{{class}, "roles": ["packet-content-length"]}}}}]}}}}
            {{"type": "event-record-class", "data-stream-class-id": 0, "id": 0, "name": "e", "payload-field-class": {{
            "type": "structure", "member-classes": [{{"name": "v", "field-class": {{"type":
            "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}}}}]}}}}"#
        )
        .replace("}{", "}\u{1e}{")
        .replace("}\n            {\"type\": \"", "}\u{1e}{\"type\": \"")
    };
    let fixed = |order: &str| {
        format!(
            r#""type": "fixed-length-unsigned-integer", "length": 96, "byte-order": "{order}-endian", "alignment": 8"#
        )
    };
    let kinds = [
        (r#""type": "variable-length-unsigned-integer""#.to_owned(), [&[0xff; 11][..], &[0x7f]].concat()),
        (fixed("little"), vec![0x80; 12]),
        (fixed("big"), vec![0x80; 12]),
    ];
    for (class, head) in kinds {
        let text_of = size(&class);
        fs::write(directory.join("metadata"), format!("\u{1e}{text_of}")).unwrap();
        fs::write(directory.join("stream"), [head, vec![1, 2, 3]].concat()).unwrap();
        let outputs = Directory::new("edit-wide-size-out");
        for (verb, code) in [("convert", 3), ("repair", 0)] {
            let out = outputs.join(verb);
            run(&[verb, text(&directory), "--force", "-o", text(&out)]).expect(code, &[]);
            is_sound(&out);
            assert_eq!(events(&[&out], &[]).len(), 3, "{class}");
        }
    }
}

/// Events near events for which the expression is true are kept. The test counts them in the lines of all events.
#[test]
fn the_time_around_events_is_kept() {
    let directory = Directory::new("edit-around");
    let lttng = root().join("examples/hello-lttng");
    let out = directory.join("out");
    let time = |line: &str| -> i128 { line[1..line.find(']').unwrap()].parse().unwrap() };
    let all = events(&[&lttng], &[]);
    let near = |anchors: &[i128], margin: i128| -> Vec<String> {
        let is_near = |line: &&String| anchors.iter().any(|anchor| (time(line) - anchor).abs() <= margin);
        all.iter().filter(is_near).cloned().collect()
    };
    let selected = events(&[&lttng], &["--filter", "number == 13"]);
    let anchors: Vec<i128> = selected.iter().map(|line| time(line)).collect();
    let greetings = events(&[&lttng], &["--event", "*greeting"]);
    assert_eq!(anchors.len(), 3);
    for (margin, nanoseconds) in [("0ns", 0), ("2us", 2_000), ("50us", 50_000), ("1s", 1_000_000_000)] {
        let words = [
            "cut",
            "--force",
            "--verify",
            "--around",
            "number == 13",
            margin,
            text(&lttng),
            "-o",
            text(&out),
        ];
        run(&words).expect(0, &[]);
        is_sound(&out);
        assert_eq!(events(&[&out], &[]), near(&anchors, nanoseconds), "{margin}");
    }
    // Other options select the written events, and the range to search.
    let begin = anchors.iter().min().unwrap() + 1;
    let words = ["cut", "--force", "--around", "number == 13", "5us", text(&lttng), "-o", text(&out)];
    run(&[&words[..], &["--event", "*greeting"]].concat()).expect(0, &[]);
    let mut expected = near(&anchors, 5_000);
    expected.retain(|line| greetings.contains(line));
    assert!(!expected.is_empty());
    assert_eq!(events(&[&out], &[]), expected);
    // Origin of the trace clock.
    let since = format!("@{}", 1_795_247_584_907_214_678 + begin);
    run(&[&words[..], &["--begin", &since]].concat()).expect(0, &[]);
    let mut expected =
        near(&anchors[..].iter().copied().filter(|anchor| *anchor >= begin).collect::<Vec<_>>(), 5_000);
    expected.retain(|line| time(line) >= begin);
    assert_eq!(events(&[&out], &[]), expected);
    // Invalid options.
    let around = |expression: &str, margin: &str, more: &[&str]| {
        let words = ["cut", "--force", "--around", expression, margin, text(&lttng), "-o", text(&out)];
        run(&[&words[..], more].concat())
    };
    around("number == 1000", "1s", &[]).expect(1, &["no event matches, so nothing is written"]);
    around("numbr == 13", "1s", &[]).expect(2, &["--around: no event has a field `numbr`", "`number`"]);
    around("number = 13", "1s", &[]).expect(2, &["--around: `=` is not an operator"]);
    around("number == 13", "1 parsec", &[]).expect(2, &["`1 parsec` is not a duration"]);
    around("number == 13", "1x", &[]).expect(2, &["`1x` is not a duration"]);
    around("number == 13", "1s", &["--align", "packet"]).expect(2, &["cannot cut around events"]);
}
