//! Damaged files in every format: the output of `repair` is valid (checked by `check --strict`), and equals what was
//! read (checked by `--verify`, which all these tests use).
//!
//! `ICHNOS_SWEEPS=all` tests 100 times as many files. `ICHNOS_SWEEPS=FIRST..LAST` selects files by number.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ichnos_testing::nettrace_file::{
    Bytes, File as NettraceFile, FileEvent, FileMetadata, FileVersion, field,
};

use crate::mutated::{File, Numbers, files, mutate, write};
use crate::support::{Directory, Run, ichnos, recorded, root};

/// Number of damaged files per source, without `ICHNOS_SWEEPS`.
const COUNT: u64 = 16;

/// Minimum share of repaired files: one in this number. Other files have unreadable metadata or headers.
const LEAST_WRITTEN: u64 = 4;

/// Damages some bytes: as any mutation, or like faulty media and tracers with wrong clocks.
fn damage(files: &mut [File], numbers: &mut Numbers) {
    /// Length of the start of a file that usually contains headers, in bytes.
    const HEAD: usize = 120;
    let chosen = numbers.below(files.len());
    let (path, bytes) = &mut files[chosen];
    let is_metadata = path.file_name().is_some_and(|name| name == "metadata");
    let kind = numbers.below(8);
    if kind < 4 || bytes.is_empty() || is_metadata {
        return mutate(files, numbers);
    }
    let at = numbers.below(bytes.len());
    let most = numbers.one(&[4, 40, 400]).min(bytes.len() - at);
    let length = 1 + numbers.below(most);
    match kind {
        4 => bytes[at..at + length].fill(0),
        5 => bytes[at..at + length].fill(0xff),
        6 => {
            let width = numbers.one(&[1, 2, 4, 8]);
            let at = numbers.below(bytes.len().min(HEAD)) / width * width;
            let value = numbers.one(&[0u64, 1, 1 << 30, u64::MAX, 1 << 63]);
            for (byte, value) in bytes[at..].iter_mut().zip(&value.to_le_bytes()[..width]) {
                *byte = *value;
            }
        }
        _ => {
            let at = at / 8 * 8;
            if let Some(bytes) = bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<8>()) {
                let step = numbers.one(&[1, -1, 1_000_000_000, -1_000_000_000, 1 << 32, -(1 << 32)]);
                *bytes = u64::from_le_bytes(*bytes).wrapping_add_signed(step).to_le_bytes();
            }
        }
    }
}

/// Returns a strict check's findings.
fn findings(path: &str) -> Vec<String> {
    let Run { code, out, err } = ichnos(["check", "--strict", path]);
    let is_finding = |line: &&str| line.contains(": error: ") || line.contains(": warning: ");
    let found: Vec<String> = out.lines().filter(is_finding).map(str::to_owned).collect();
    if code != 0 && found.is_empty() { vec![format!("{out}{err}")] } else { found }
}

/// Returns the text of a warning about metadata.
fn metadata_warning(finding: &str) -> Option<&str> {
    let (place, statement) = finding.split_once(": warning: ")?;
    place.contains("/metadata:").then_some(statement)
}

/// Returns the first avoidable finding in an output. A repair keeps the metadata in the input, and so the warnings
/// about them.
fn first_finding(from: &str, to: &str) -> Option<String> {
    let found = findings(to);
    if found.is_empty() {
        return None;
    }
    let kept = findings(from);
    let kept: Vec<&str> = kept.iter().filter_map(|finding| metadata_warning(finding)).collect();
    found
        .into_iter()
        .find(|finding| !metadata_warning(finding).is_some_and(|warning| kept.contains(&warning)))
}

/// Repairs a damaged file. Returns `true` if an output is written.
fn one(source: &[File], seed: u64) -> bool {
    let mut numbers = Numbers(seed);
    let directory = Directory::new("repaired-mutant");
    let (input, output) = (directory.join("in"), directory.join("out"));
    let mut damaged = source.to_vec();
    (0..=numbers.below(2)).for_each(|_| damage(&mut damaged, &mut numbers));
    write(&damaged, &input);
    let [from, to] = [&input, &output].map(|path| path.to_str().unwrap());
    let Run { code, out, err } = ichnos(["repair", from, "-o", to, "--losses"]);
    let fail = |what: &str| -> ! {
        let kept = std::env::temp_dir().join(format!("ichnos-repaired-mutant-{seed}"));
        let _ = fs::remove_dir_all(&kept);
        write(&damaged, &kept.join("in"));
        panic!("{seed}: {what}; the input is kept in {}\n{out}{err}", kept.display());
    };
    if err.contains("panicked") || !(0..=3).contains(&code) {
        fail("it does not end as it should");
    }
    if err.contains("differs from the written data") {
        fail("the output differs");
    }
    if !output.exists() {
        if code == 0 {
            fail("nothing is written");
        }
        return false;
    }
    // An empty file is in no format. It is the output if nothing can be recovered.
    let is_empty = output.metadata().unwrap().len() == 0;
    if is_empty && code != 3 {
        fail("an empty file is written");
    }
    if let Some(finding) = first_finding(from, to).filter(|_| !is_empty) {
        fail(&format!("the output is not valid: {finding}"));
    }
    // Only changed values count.
    let rounds = |line: &&str| line.starts_with("rounded ") && !line.contains("  packet.");
    if code == 0 && out.lines().any(|line| rounds(&line)) {
        fail("values of events are changed, but the exit code is 0");
    }
    true
}

/// Returns the selected seeds: `count` from `first` on, by default.
fn seeds(first: u64, count: u64) -> Range<u64> {
    match std::env::var("ICHNOS_SWEEPS").as_deref() {
        Ok("all") => first..first + 100 * count,
        Ok(range) => {
            let (begin, end) = range.split_once("..").unwrap();
            begin.parse().unwrap()..end.parse().unwrap()
        }
        Err(_) => first..first + count,
    }
}

/// Returns a trace's files without compression: damage in compressed bytes would not test their content.
fn source(path: &Path) -> Vec<File> {
    let mut source = Vec::new();
    files(path, Path::new(path.file_name().unwrap()), &mut source);
    for (path, bytes) in &mut source {
        if path.extension().is_some_and(|extension| extension == "zst") {
            *bytes = zstd::decode_all(&bytes[..]).unwrap();
            path.set_extension("");
        }
    }
    source
}

/// Damages and repairs a trace with several seeds. Returns the number of written repairs.
fn written(path: &Path, first: u64, count: u64) -> u64 {
    let source = source(path);
    let (mut written, mut failed) = (0, Vec::new());
    for seed in seeds(first, count) {
        match std::panic::catch_unwind(|| one(&source, seed)) {
            Ok(is_written) => written += u64::from(is_written),
            Err(_) => failed.push(seed),
        }
    }
    assert!(failed.is_empty(), "of {}: {failed:?}", path.display());
    let count = seeds(first, count).count();
    println!("{written} of {count} repairs of {} are written", path.display());
    written
}

fn repairs(path: &Path, first: u64) {
    let (written, count) = (written(path, first, COUNT), seeds(first, COUNT).count() as u64);
    assert!(count < COUNT || written >= count / LEAST_WRITTEN, "{written} of {count} repairs are written");
}

/// Converts an example to a format and a dialect.
fn converted(directory: &Directory, example: &str, words: &[&str]) -> PathBuf {
    let path = directory.join("seed");
    let example = root().join("examples").join(example);
    let ends = [example.to_str().unwrap(), "-o", path.to_str().unwrap()];
    ichnos([&["convert", "-q"], words, &ends].concat()).expect(0, &[]);
    path
}

macro_rules! examples {
    ($($name:ident: $path:literal, $first:literal;)*) => {
        $(
            #[test]
            fn $name() {
                repairs(&root().join("examples").join($path), $first);
            }
        )*
    };
}

examples! {
    spec2: "hello-ctf2/trace", 0;
    lttng: "hello-lttng/trace", 10_000;
    prop1: "hello-proposals/prop1", 20_000;
    prop2: "hello-proposals/prop2", 30_000;
    fuchsia_log: "hello-fuchsia/boot.log", 40_000;
    fxt: "hello-fxt/frames.fxt", 50_000;
    xtrace: "hello-xtrace/proxy.reports", 60_000;
    jsonl: "hello-jsonl/requests.jsonl", 70_000;
}

macro_rules! conversions {
    ($($name:ident: $path:literal, $words:expr, $first:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let directory = Directory::new("repaired-seed");
                repairs(&converted(&directory, $path, &$words), $first);
            }
        )*
    };
}

conversions! {
    ctf18: "hello-ctf2", ["--to-dialect", "ctf1.8"], 100_000;
    ctf18_packetized: "hello-ctf2", ["--to-dialect", "ctf1.8-packetized"], 110_000;
    lttng_in_prop1: "hello-lttng", ["--to-dialect", "prop1"], 120_000;
    nettrace4: "hello-jsonl", ["--to", "nettrace", "--to-dialect", "4"], 130_000;
    nettrace6: "hello-jsonl", ["--to", "nettrace", "--to-dialect", "6"], 140_000;
    datagrams: "hello-fuchsia", ["--to", "fuchsia-log", "--to-dialect", "datagrams"], 150_000;
    xtrace_json: "hello-xtrace", ["--to", "xtrace", "--to-dialect", "json"], 160_000;
}

/// A file in version 3, which no current program writes.
#[test]
fn nettrace3() {
    let directory = Directory::new("repaired-seed");
    let form = FileVersion::V3;
    let mut file = NettraceFile::new(form);
    file.metadata(&[FileMetadata::new(1, "request", [field(form, 9, "count")])]);
    let event = |number: u32| {
        FileEvent::new(1, 5, number, 2_000 + 1_000 * u64::from(number)).with(Bytes::new().u32(number))
    };
    file.events(false, &(1..20).map(event).collect::<Vec<_>>());
    let path = directory.join("a.netperf");
    fs::write(&path, file.end()).unwrap();
    ichnos(["check", "--strict", path.to_str().unwrap()]).expect(0, &[]);
    repairs(&path, 170_000);
}

/// Small inputs that were once read, written or repaired incorrectly.
#[test]
fn reported_inputs() {
    let Some(folder) = recorded("reports") else { return };
    let mut paths = Vec::new();
    for folder in ["seeds", "field", "hostile", "use"].map(|name| folder.join(name)) {
        paths.extend(fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()));
    }
    paths.sort();
    let firsts = (200_000..).step_by(10_000);
    let failed: Vec<_> = paths
        .iter()
        .zip(firsts)
        .filter(|(path, first)| std::panic::catch_unwind(|| written(path, *first, 2)).is_err())
        .map(|(path, _)| path)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}
