//! Damage in one data stream: it is reported, and everything else goes on. With `--strict`, the command stops there.

use std::ffi::OsStr;
use std::fs;

use crate::support::{Directory, METADATA, Run, ichnos, packet, recorded};
use crate::transcript::transcript;

/// Writes a trace with a good data stream and a bad data stream.
fn beside(bad: &[u8]) -> Directory {
    let directory = Directory::new("damaged");
    fs::write(directory.join("metadata"), METADATA).unwrap();
    fs::write(directory.join("good"), [packet(&[1_000, 3_000], 0), packet(&[5_000, 7_000], 0)].concat())
        .unwrap();
    fs::write(directory.join("bad"), bad).unwrap();
    directory
}

fn run(directory: &Directory, verb: &str, options: &[&str]) -> Run {
    let options = options.iter().map(OsStr::new);
    ichnos([OsStr::new(verb), directory.as_os_str()].into_iter().chain(options))
}

/// Returns the printed event times in cycles.
fn times(out: &str) -> Vec<u64> {
    let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["type"] == "event").map(|event| event["cycles"].as_u64().unwrap()).collect()
}

#[test]
fn one_data_stream_fails() {
    const BEYOND: u64 = 9_000_000_000_000_000_000;
    let mut unknown = packet(&[2_000, 4_000], 0);
    // The id of the second event.
    let at = unknown.len() - 10;
    unknown[at] = 77;
    let late = packet(&[4_100, BEYOND, 4_200], 0);
    let backwards = packet(&[4_000, 2_500, 4_200], 0);
    let mut long = packet(&[2_000, 4_000], 0);
    long[16..24].copy_from_slice(&BEYOND.to_le_bytes());
    let cases = [
        (unknown, "unknown event record class 77", vec![1000, 2000, 3000, 5000, 6000, 7000, 8000]),
        (
            late,
            "does not fit in 64 bits",
            // This event comes at the end of its packet, and other data streams do not wait for it.
            vec![1000, 3000, 4100, BEYOND, 4200, 5000, 6000, 7000, 8000],
        ),
        (
            backwards,
            "the clock goes backwards, from 4000 to 2500",
            vec![1000, 3000, 4000, 2500, 4200, 5000, 6000, 7000, 8000],
        ),
        (
            long,
            "the packet ends at 9000000000000000000 cycles, but the next packet begins at 6000",
            vec![1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000],
        ),
    ];
    for (bad, message, expected) in cases {
        let directory = beside(&[bad, packet(&[6_000, 8_000], 0)].concat());
        let cat =
            run(&directory, "cat", &["--format=jsonl"]).expect(3, &["warning: ", "bad: byte ", message]);
        assert_eq!(times(&cat.out), expected, "{message}");
        assert_eq!(cat.err.lines().count(), 1, "{}", cat.err);
        // The command stops at the first damage, and reports no other fault.
        let strict = run(&directory, "cat", &["--format=jsonl", "--strict"]);
        let strict = strict.expect(2, &["error: ", "bad: byte ", message, "without --strict"]);
        let printed = times(&strict.out);
        assert!(expected.starts_with(&printed) && printed.len() < expected.len(), "{message}: {printed:?}");
        for format in ["--format=pretty", "--format=details", "--format=null"] {
            run(&directory, "cat", &[format]).expect(3, &[message]);
            run(&directory, "cat", &[format, "--strict"]).expect(2, &[message]);
        }
        run(&directory, "check", &[]).expect(1, &[]).prints(&["error: ", message, "help: "]);
        run(&directory, "info", &["--count"]);
    }
}

/// The output does not depend on the number of threads, whatever is damaged.
#[test]
fn on_many_threads() {
    let directory = Directory::new("damaged-threads");
    fs::write(directory.join("metadata"), METADATA).unwrap();
    for (stream, name) in ["stream_a", "stream_b"].iter().enumerate() {
        let mut packets: Vec<Vec<u8>> = (0..1200u64)
            .map(|n| {
                let begin = n * 100_000 + stream as u64 * 500;
                packet(&(0..120).map(|i| begin + i * 700).collect::<Vec<_>>(), 0)
            })
            .collect();
        for n in (20..1100usize).step_by(29) {
            let at = 48 + n % 1000;
            match n % 7 {
                0 => packets[n][at] ^= 0x40,
                1 => packets[n].truncate(at),
                2 => packets[n][0] = 0,
                // Start, end, and total size.
                3 => packets[n][14] ^= 1,
                4 => packets[n][22] ^= 1,
                5 => packets[n][36] ^= 1,
                _ => packets.swap(n, n + 3),
            }
        }
        fs::write(directory.join(name), packets.concat()).unwrap();
    }
    for format in ["--format=pretty", "--format=log"] {
        let one = run(&directory, "cat", &[format, "--stats", "--threads=1"]).expect(3, &["damaged places"]);
        let many = run(&directory, "cat", &[format, "--stats", "--threads=3"]).expect(3, &[]);
        assert!(one.out == many.out);
        // The elapsed time varies.
        let lines =
            |run: &Run| run.err.lines().filter(|line| !line.contains(" in ")).map(str::to_owned).collect();
        let (one, many): (Vec<String>, Vec<String>) = (lines(&one), lines(&many));
        assert_eq!(one, many);
    }
}

/// Only the first time before the origin is printed with its sign, even if it is the time of a loss on another output.
#[test]
fn losses_before_the_origin_on_many_threads() {
    let directory = Directory::new("damaged-negative");
    let metadata = METADATA.replace("offset_s = 1000000000", "offset_s = -1000");
    fs::write(directory.join("metadata"), metadata).unwrap();
    let packets = (0..40u64).map(|n| packet(&[n * 100, n * 100 + 50], n));
    fs::write(directory.join("stream"), packets.collect::<Vec<_>>().concat()).unwrap();
    for clock in ["--clock-gmt", "--clock-cycles"] {
        let one = run(&directory, "cat", &[clock, "--threads=1"]).expect(0, &["WARNING"]);
        let many = run(&directory, "cat", &[clock, "--threads=3", "--chunk-size=1"]).expect(0, &[]);
        assert!(one.out == many.out);
        assert_eq!(one.err, many.err);
    }
}

/// If packets lack a start time, one wrong time must not remove the following events.
#[test]
fn a_window_continues_after_a_late_event() {
    let _transcript = transcript!();
    const BEYOND: u64 = 9_000_000_000_000;
    let directory = Directory::new("damaged-window");
    fs::write(directory.join("metadata"), METADATA.replace("time timestamp_begin; ", "")).unwrap();
    let packets = [&[1_000, BEYOND, 3_000][..], &[4_000, 5_000], &[6_000, 20_000], &[30_000]].map(|times| {
        let mut packet = packet(times, 0);
        packet.drain(8..16);
        let size = (packet.len() as u64 * 8).to_le_bytes();
        packet[16..24].copy_from_slice(&size);
        packet[24..32].copy_from_slice(&size);
        packet
    });
    fs::write(directory.join("stream"), packets.concat()).unwrap();
    let whole = run(&directory, "cat", &["--format=jsonl"]);
    assert_eq!(times(&whole.out), [1_000, BEYOND, 3_000, 4_000, 5_000, 6_000, 20_000, 30_000]);
    let cat = run(&directory, "cat", &["--format=jsonl", "--end=@1000000000000010000"]);
    assert_eq!(times(&cat.out), [1_000, 3_000, 4_000, 5_000, 6_000]);
}

/// An index for a different file is reported and not used.
#[test]
fn stale_indexes() {
    let _transcript = transcript!();
    let directory = beside(&packet(&[2_000, 4_000], 0));
    fs::create_dir(directory.join("index")).unwrap();
    // Of the first packet only.
    let size = packet(&[1_000, 3_000], 0).len() as u64;
    let mut index: Vec<u8> = [0xc1f1_dcc1u32, 1, 0, 56].iter().flat_map(|n| n.to_be_bytes()).collect();
    index.extend([0, size * 8, size * 8, 1_000, 3_000, 0, 0].iter().flat_map(|n: &u64| n.to_be_bytes()));
    fs::write(directory.join("index/good.idx"), &index).unwrap();
    let reported = ["index/good.idx", "the packet index is not used: its packets end at byte "];
    let cat = run(&directory, "cat", &["--format=jsonl", "-v"]).expect(0, &reported);
    assert_eq!(times(&cat.out), [1000, 2000, 3000, 4000, 5000, 7000]);
    run(&directory, "check", &[]).prints(&["warning", reported[0], reported[1]]);
    run(&directory, "check", &["--strict"]).prints(&reported);
    run(&directory, "info", &[]).prints(&reported);
    let json = run(&directory, "check", &["--json"]).json();
    assert_eq!((&json["warnings"], &json["findings"][0]["kind"]), (&1.into(), &"index".into()));
}

/// Without sequence numbers, a packet counts as a copy only if all its bytes are equal.
#[test]
fn a_copied_packet_is_read_once() {
    let _transcript = transcript!();
    let (one, next) = (packet(&[2_000, 4_000], 0), packet(&[6_000, 8_000], 0));
    let expected = [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000];
    for bad in [[&*one, &one, &next].concat(), [&*one, &next, &one].concat(), [&*one, &next, &next].concat()]
    {
        let directory = beside(&bad);
        let copy = "the packet is a copy of the packet at byte ";
        let cat = run(&directory, "cat", &["--format=jsonl"]).expect(3, &["bad: byte ", copy]);
        assert_eq!(times(&cat.out), expected);
        assert!(!cat.err.contains("clock"), "{}", cat.err);
        run(&directory, "check", &[]).prints(&[copy, "help: the packet was copied", "read once"]);
    }
    // If a single byte differs, they are two packets.
    let mut other = one.clone();
    *other.last_mut().unwrap() ^= 1;
    let cat = run(&beside(&[&*one, &other, &next].concat()), "cat", &["--format=jsonl"]);
    assert_eq!(times(&cat.out).len(), 10);
    // If the clock stands still, packets can repeat.
    let still = packet(&[2_000, 2_000], 0);
    let cat = run(&beside(&[&*still, &still, &next].concat()), "cat", &["--format=jsonl"]);
    assert_eq!(times(&cat.out).len(), 10);
}

#[test]
fn a_copied_recorded_packet_is_read_once() {
    let Some(trace) = recorded("ctf/real/tracecompass/hello-lost") else { return };
    let directory = Directory::new("hello-lost");
    for file in fs::read_dir(&trace).unwrap() {
        let file = file.unwrap();
        fs::write(directory.join(file.file_name()), fs::read(file.path()).unwrap()).unwrap();
    }
    let events = |directory: &Directory| run(directory, "cat", &["--format=jsonl"]);
    let before = times(&events(&directory).out);
    // A copy of the second packet directly after it. Both have 4096 bytes.
    let stream = fs::read(trace.join("channel1_2")).unwrap();
    let (head, tail) = stream.split_at(8192);
    fs::write(directory.join("channel1_2"), [head, &head[4096..], tail].concat()).unwrap();
    let after =
        events(&directory).expect(3, &["channel1_2: byte 8192", "is a copy of the packet at byte 4096"]);
    assert_eq!(times(&after.out), before);
    assert!(!after.err.contains("clock"), "{}", after.err);
}
