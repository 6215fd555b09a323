//! Manifests: files that list traces with clock offsets.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, METADATA, OFFSET, Run, ichnos, ichnos_in, packet, text};

/// Writes a trace with one data stream, whose clock origin is unknown.
fn trace(directory: &Path, name: &str, clock: &str, times: &[u64]) -> PathBuf {
    let trace = directory.join(name);
    fs::create_dir_all(&trace).unwrap();
    let metadata = METADATA.replace("absolute = true;", "").replace("mono", clock);
    fs::write(trace.join("metadata"), metadata).unwrap();
    fs::write(trace.join("stream"), packet(times, 0)).unwrap();
    trace
}

/// Returns event times in nanoseconds, without the traces' own clock offsets.
fn times(arguments: &[&str]) -> Vec<i64> {
    let run = ichnos(["cat", "-q", "--format=jsonl"].iter().chain(arguments)).expect(0, &[]);
    let lines = run.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let events = lines.filter(|line| line["type"] == "event");
    let time = |line: serde_json::Value| line["ts"].to_string().parse::<i128>().unwrap();
    events.map(|line| i64::try_from(time(line) - i128::from(OFFSET)).unwrap()).collect()
}

fn manifest(directory: &Path, content: &str) -> PathBuf {
    let path = directory.join("traces.toml");
    fs::write(&path, content).unwrap();
    path
}

/// The times in the merged trace are the original times plus the offsets.
#[test]
fn merged_times_are_original_times_plus_offsets() {
    let directory = Directory::new("manifest-merge");
    trace(&directory, "a", "mono", &[1_000, 3_000]);
    trace(&directory, "nodes/b", "mono", &[1_000, 3_000]);
    trace(&directory, "nodes/c", "tsc", &[1_000, 3_000]);
    let list = manifest(
        &directory,
        "# Where the clocks are was measured.\n[[trace]]\npath = \"a\"\noffset = \"0s\"\n\n\
         [[trace]]\npath = \"nodes/b\"\noffset = \"+1us\"\n\n\
         [[trace]]\npath = \"nodes/[c-z]\"\noffset = \"-2us\"\nclocks = { tsc = \"1ns\" }\n",
    );
    let out = directory.join("out");
    let merge = |more: &[&str]| -> Run {
        let words = ["merge", "--manifest", text(&list), "--force", "-o", text(&out), "--json"];
        ichnos(words.iter().chain(more))
    };
    let b = [2_000, 4_000];
    let c = [-999, 1_001];
    let mut expected = [[1_000, 3_000], b, c].concat();
    expected.sort_unstable();
    for dialect in ["ctf1.8", "ctf2"] {
        let written = merge(&["--to-dialect", dialect]).expect(0, &[]).json();
        assert_eq!(written["packets"], 3);
        ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
        assert_eq!(times(&[text(&out)]), expected, "{dialect}");
    }
    // All verbs that read take manifests, from any working directory.
    assert_eq!(times(&["--manifest", text(&list)]), expected);
    let there = ichnos_in(&directory.join("a"), ["cat", "-q", "--manifest", "../traces.toml"]).expect(0, &[]);
    assert_eq!(there.out.lines().count(), 6);
    // A manifest with further paths. Offsets on the command line are added.
    let d = trace(&directory, "d", "mono", &[5_000]);
    let of_d = format!("{}=10us", text(&d));
    let of_b = format!("{}=1s", text(&directory.join("nodes/b")));
    let all = times(&["--manifest", text(&list), text(&d), "--offset", &of_d, "--offset", &of_b]);
    assert_eq!(all, [-999, 1_000, 1_001, 3_000, 15_000, 1_000_002_000, 1_000_004_000]);
}

/// An offset relates only the clocks that it applies to.
#[test]
fn only_clocks_with_an_offset_are_related() {
    let directory = Directory::new("manifest-related");
    trace(&directory, "a", "mono", &[1_000]);
    trace(&directory, "b", "mono", &[1_000]);
    trace(&directory, "c", "mono", &[1_000]);
    let out = directory.join("out");
    let merge = |content: &str| {
        let list = manifest(&directory, content);
        ichnos(["merge", "--manifest", text(&list), "--force", "-o", text(&out)])
    };
    let table = |name: &str, more: &str| format!("[[trace]]\npath = '{name}'\n{more}\n");
    merge(&[table("a", ""), table("b", "")].concat()).expect(2, &["unrelated origins", "--manifest"]);
    merge(&[table("a", "offset = '0s'"), table("b", ""), table("c", "")].concat())
        .expect(2, &["unrelated origins"]);
    assert!(!out.exists());
    merge(&[table("a", "clocks.mono = '1s'"), table("b", "")].concat()).expect(0, &[]);
    ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
    assert_eq!(times(&[text(&out)]), [1_000, 1_000_001_000]);
}

#[test]
fn errors_in_a_manifest_have_a_place() {
    let directory = Directory::new("manifest-wrong");
    trace(&directory, "a", "mono", &[1_000]);
    let cat = |content: &str| {
        let list = manifest(&directory, content);
        ichnos(["cat", "--manifest", text(&list)])
    };
    cat("[[trace]]\npath = 'a'\nofset = '1s'\n").expect(
        2,
        &[
            "traces.toml:3:1: expected `path`, `offset` or `clocks`, found the key `ofset`",
            "did you mean `offset`?",
        ],
    );
    cat("[[trace]]\npath = 'b'\n").expect(2, &["traces.toml:2:8: there is no file or directory `", "/b`"]);
    cat("[[trace]]\npath = 'a'\nclocks = { mno = '1s' }\n")
        .expect(2, &["traces.toml:3:12: ", "unknown clock `mno`", "help: there is `mono`"]);
    cat("[[trace]\n").expect(2, &["traces.toml:1:"]);
    ichnos(["cat", "--manifest", text(&directory)]).expect(2, &["cannot be read"]);
    ichnos(["cat"]).expect(2, &["PATH"]);
}
