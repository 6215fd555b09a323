//! `--stream-intersection`: messages in the time range in which all data streams of a trace are active.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Directory, METADATA, Run, ichnos, packet, recorded};
use crate::transcript::transcript;

/// Writes a trace into a directory, with a data stream for each list of packets.
fn trace(directory: &Path, name: &str, streams: &[&[&[u64]]]) {
    let trace = directory.join(name);
    fs::create_dir(&trace).unwrap();
    fs::write(trace.join("metadata"), METADATA).unwrap();
    for (i, packets) in streams.iter().enumerate() {
        let bytes: Vec<u8> = packets.iter().flat_map(|times| packet(times, 0)).collect();
        fs::write(trace.join(format!("stream_{i}")), bytes).unwrap();
    }
}

pub(crate) fn traces(name: &str) -> Directory {
    let directory = Directory::new(name);
    trace(&directory, "common", &[&[&[1_000, 3_000], &[5_000]], &[&[2_000, 4_000], &[6_000, 7_000]]]);
    trace(&directory, "touching", &[&[&[1_000, 3_000]], &[&[3_000, 6_000]]]);
    trace(&directory, "apart", &[&[&[1_000, 3_000]], &[&[4_000, 6_000]]]);
    trace(&directory, "alone", &[&[&[1_000, 3_000]]]);
    trace(&directory, "with-empty", &[&[&[1_000, 3_000]], &[&[2_000, 4_000]], &[]]);
    directory
}

fn cat(directory: &Directory, names: &[&str], options: &[&str]) -> Run {
    let paths = names.iter().map(|name| directory.join(name).to_str().unwrap().to_owned());
    let options = options.iter().map(|option| (*option).to_owned());
    let words = ["cat", "--stream-intersection", "-q"].map(str::to_owned);
    ichnos(words.into_iter().chain(paths).chain(options))
}

/// Returns nanoseconds since the clock origin for all events.
fn times(directory: &Directory, names: &[&str], options: &[&str]) -> Vec<u64> {
    let run = cat(directory, names, &[&["--clock-cycles", "--no-delta"], options].concat()).expect(0, &[]);
    run.out.lines().map(|line| line[1..21].parse().unwrap()).collect()
}

#[test]
fn of_each_trace() {
    let _transcript = transcript!();
    let directory = traces("intersection");
    let times = |names: &[&str], options: &[&str]| times(&directory, names, options);
    assert_eq!(times(&["common"], &[]), [2_000, 3_000, 4_000, 5_000]);
    assert_eq!(times(&["touching"], &[]), [3_000, 3_000]);
    assert_eq!(times(&["alone"], &[]), [1_000, 3_000]);
    assert_eq!(times(&["with-empty"], &[]), [2_000, 3_000]);
    // Each trace has its own time range.
    assert_eq!(times(&["common", "alone"], &[]), [1_000, 2_000, 3_000, 3_000, 4_000, 5_000]);
    // With a time window. All data streams count, even if they are not selected.
    assert_eq!(times(&["common"], &["--begin", "1000000000.000003"]), [3_000, 4_000, 5_000]);
    assert_eq!(times(&["common"], &["--stream", "stream_0"]), [3_000, 5_000]);
    cat(&directory, &["common"], &["--begin", "1000000000.000006"]);
}

#[test]
fn no_common_time() {
    let _transcript = transcript!();
    let directory = traces("nothing-in-common");
    cat(&directory, &["apart"], &[]);
    cat(&directory, &["common", "apart"], &[]);
    let logs = crate::support::root().join("examples/hello-fuchsia");
    ichnos(["cat", "--stream-intersection", logs.to_str().unwrap()]);
    ichnos(["cat", "--stream-intersection", "--listen", "unixgram:x"]);
}

/// Each trace keeps its own time range in the output, in any order.
#[test]
fn of_traces_that_are_written() {
    let directory = traces("intersection-written");
    let paths = ["common", "alone"].map(|name| directory.join(name).to_str().unwrap().to_owned());
    let expected = times(&directory, &["common", "alone"], &[]);
    for (number, verb) in
        [&["convert"][..], &["cut", "--begin", "@1000000000000001000"]].into_iter().enumerate()
    {
        let written = directory.join(format!("written-{number}"));
        let path = written.to_str().unwrap();
        let words = [verb, &["--stream-intersection", "--verify", "-o", path, &paths[0], &paths[1]]].concat();
        ichnos(words).expect(0, &[]);
        let out = ichnos(["cat", "-q", "--clock-cycles", "--no-delta", path]).expect(0, &[]).out;
        let found: Vec<u64> = out.lines().map(|line| line[1..21].parse().unwrap()).collect();
        assert_eq!(found, expected, "{verb:?}");
    }
}

/// The output does not depend on the number of threads.
#[test]
fn on_several_threads() {
    let directory = Directory::new("intersection-threads");
    let packets = |first: u64| -> Vec<Vec<u64>> {
        (0..40).map(|i| (0..100).map(|j| first + i * 10_000 + j * 100).collect()).collect()
    };
    let lists = [packets(0), packets(95_000), packets(40_000)];
    for (i, name) in ["a", "b"].iter().enumerate() {
        let streams: Vec<Vec<&[u64]>> =
            lists[i..i + 2].iter().map(|list| list.iter().map(Vec::as_slice).collect()).collect();
        let streams: Vec<&[&[u64]]> = streams.iter().map(Vec::as_slice).collect();
        trace(&directory, name, &streams);
    }
    let print = |options: &[&str]| cat(&directory, &["a", "b"], options).expect(0, &[]).out;
    let one = print(&["--threads=1"]);
    assert!(one.lines().count() > 8_000, "{}", one.lines().count());
    for size in ["1K", "3000", "20K"] {
        assert_eq!(print(&["--threads=3", "--chunk-size", size]), one, "{size}");
    }
}

/// The output equals `babeltrace2`'s.
#[test]
fn as_babeltrace_does_it() {
    if Command::new("babeltrace2").arg("--version").output().is_err() {
        eprintln!("skipped: `babeltrace2` is not installed");
        return;
    }
    let theirs = |paths: &[&Path]| {
        let output = Command::new("babeltrace2")
            .args(["--stream-intersection", "--clock-seconds"])
            .args(paths)
            .env("TZ", "UTC")
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let ours = |paths: &[&Path]| {
        let paths = paths.iter().map(|path| path.to_str().unwrap());
        ichnos(["cat", "--stream-intersection", "--clock-seconds", "-q"].into_iter().chain(paths))
    };
    let directory = traces("as-babeltrace");
    let path = |name: &str| directory.join(name);
    for name in ["common", "touching", "alone", "with-empty"] {
        let (is_ok, text) = theirs(&[&path(name)]);
        assert!(is_ok, "{name}");
        assert_eq!(ours(&[&path(name)]).expect(0, &[]).out, text, "{name}");
    }
    assert!(!theirs(&[&path("apart")]).0);
    for name in ["lttng-ust/discard", "lttng-ust/overwrite", "lttng-ust/perpid"] {
        let Some(trace) = recorded(format!("ctf/real/{name}")) else { return };
        let (is_ok, text) = theirs(&[&trace]);
        if is_ok {
            assert_eq!(ours(&[&trace]).expect(0, &[]).out, text, "{name}");
        } else {
            ours(&[&trace]).expect(2, &["--stream-intersection"]);
        }
    }
}
