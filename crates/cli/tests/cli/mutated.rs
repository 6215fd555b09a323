//! Traces with a few wrong bytes, through every verb that writes: the output equals what was read, as `--verify` (used
//! by all these tests), `check --strict`, and `cat` on both confirm.
//!
//! `ICHNOS_MUTATIONS=N` multiplies the number of mutations by N. `ICHNOS_MUTATIONS=FIRST..LAST` selects mutations by
//! number.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Run, ichnos, recorded, root};

/// Mutations per example, without `ICHNOS_MUTATIONS`.
const MUTATIONS: u64 = 12;

/// Random numbers from a seed.
pub struct Numbers(pub u64);

impl Numbers {
    /// Returns the next number (SplitMix64).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// File in a trace: relative path and content.
pub type File = (PathBuf, Vec<u8>);

pub fn files(path: &Path, inner: &Path, found: &mut Vec<File>) {
    if !path.is_dir() {
        return found.push((inner.to_owned(), fs::read(path).unwrap()));
    }
    let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|item| item.unwrap().file_name()).collect();
    names.sort();
    for name in names {
        files(&path.join(&name), &inner.join(&name), found);
    }
}

pub fn write(files: &[File], directory: &Path) {
    for (path, bytes) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Changes some bytes in one of the files: flips bits, adds or removes bytes, swaps them, or changes numbers in a text.
pub fn mutate(files: &mut [File], numbers: &mut Numbers) {
    let chosen = numbers.below(files.len());
    let bytes = &mut files[chosen].1;
    for _ in 0..=numbers.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = numbers.below(bytes.len());
        let most = numbers.one(&[4, 40, 400]).min(bytes.len() - at);
        let length = 1 + numbers.below(most);
        let digits = bytes[at..].iter().position(u8::is_ascii_digit);
        match numbers.below(8) {
            0 | 1 => bytes[at] ^= 1 << numbers.below(8),
            2 => bytes[at] = numbers.one(&[0, 1, 0x7f, 0x80, 0xff]),
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let part = bytes[at..at + length].to_vec();
                let to = numbers.below(bytes.len());
                drop(bytes.splice(to..to, part));
            }
            5 => bytes[at..at + length].reverse(),
            6 => bytes.truncate(bytes.len() - numbers.below(bytes.len().min(100))),
            _ if std::str::from_utf8(bytes).is_ok() && digits.is_some() => {
                let begin = at + digits.unwrap_or(0);
                let count = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let numbers = [&b"0"[..], b"1", b"7", b"255", b"4294967296", b"18446744073709551615", b"-1"];
                let number = numbers[at % numbers.len()];
                drop(bytes.splice(begin..begin + count, number.iter().copied()));
            }
            _ => {
                let value = numbers.next().to_le_bytes();
                let end = bytes.len().min(at + numbers.one(&[1, 2, 4, 8]));
                let count = end - at;
                bytes[at..end].copy_from_slice(&value[..count]);
            }
        }
    }
}

/// Returns the words for a verb that writes, without input and output, and `true` if the unchanged source is a second
/// input.
fn verb(numbers: &mut Numbers) -> (Vec<String>, bool) {
    let number = numbers.below(40).to_string();
    let mut words: Vec<String> = match numbers.below(12) {
        0..=3 => vec!["convert".into()],
        4 => vec![
            "convert".into(),
            "--to".into(),
            numbers.one(&["fuchsia-log", "jsonl", "fxt", "xtrace"]).into(),
        ],
        5 => vec!["cut".into(), "--begin".into(), format!("+{number}ms")],
        6 => vec!["cut".into(), "--end".into(), format!("+{number}s")],
        7 => vec!["filter".into(), format!("event.id != {number}")],
        8 => vec!["filter".into(), r#"event != "note" && !(event =~ "tick")"#.into()],
        9 => {
            let by = numbers.one(&["time=10s", "time=50ms", "size=200", "stream", "event"]);
            vec!["split".into(), "--by".into(), by.into()]
        }
        10 => vec!["merge".into(), "--assume-correlated".into()],
        _ => vec!["repair".into()],
    };
    if !words.iter().any(|word| word == "--to") {
        let dialect = numbers.one(&["", "spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"]);
        if !dialect.is_empty() {
            words.extend(["--to-dialect".into(), dialect.into()]);
        }
        if numbers.below(3) == 0 {
            words.extend(["--packet-size".into(), numbers.one(&["1", "100", "5000"]).into()]);
        }
    }
    let merges = words[0] == "merge";
    (words, merges)
}

/// Returns the lines printed by `cat`, in an order that does not depend on the number of data streams.
fn events(path: &str) -> Vec<String> {
    let run = ichnos(["cat", "--no-delta", path]);
    let mut lines: Vec<_> = run.out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Tests one verb with one mutation of a source.
fn one(source: &[File], seed: u64) {
    let mut numbers = Numbers(seed);
    let directory = Directory::new("mutated");
    let [input, other, output] = ["in", "other", "out"].map(|name| directory.join(name));
    let mut mutated = source.to_vec();
    mutate(&mut mutated, &mut numbers);
    write(&mutated, &input);
    let [from, to] = [&input, &output].map(|path| path.to_str().unwrap().to_owned());
    let (mut words, merges) = verb(&mut numbers);
    let says = format!("mutation {seed}: ichnos {}", words.join(" "));
    words.extend([from.clone(), "-o".into(), to.clone(), "--losses".into()]);
    if merges {
        write(source, &other);
        words.insert(1, other.to_str().unwrap().to_owned());
    }
    let Run { code, out, err } = ichnos(&words);
    let fail = |what: &str, more: &str| -> ! {
        let kept = std::env::temp_dir().join(format!("ichnos-mutated-{seed}"));
        let _ = fs::remove_dir_all(&kept);
        write(&mutated, &kept.join("in"));
        panic!("{says}: {what}; the input is kept in {}\n{out}{err}{more}", kept.display());
    };
    if err.contains("panicked") || err.contains("Usage:") || err.contains("^^") || !(0..=3).contains(&code) {
        fail("it does not end as it should", "");
    }
    if err.contains("differs from the written data") {
        fail("the output differs", "");
    }
    if code != 0 || words[0] == "split" {
        return;
    }
    let checked = ichnos(["check", "--strict", from.as_str()]);
    if checked.code != 0 {
        return;
    }
    let written = ichnos(["check", "--strict", to.as_str()]);
    if written.code != 0 {
        fail("`check --strict` says", &format!("{}{}", written.out, written.err));
    }
    if words[0] == "convert" && out.is_empty() && !err.contains("warning") {
        let (read, found) = (events(&from), events(&to));
        if let Some((was, is)) = read.iter().zip(&found).find(|(was, is)| was != is) {
            fail("other events", &format!("- {was}\n+ {is}\n"));
        }
        if read.len() != found.len() {
            fail("another number of events", &format!("{} -> {}", read.len(), found.len()));
        }
    }
}

/// Returns the selected mutations: `count` numbers from `first` on, by default.
fn seeds(first: u64, count: u64) -> Range<u64> {
    let Ok(wanted) = std::env::var("ICHNOS_MUTATIONS") else { return first..first + count };
    match wanted.split_once("..") {
        Some((begin, end)) => begin.parse().unwrap()..end.parse().unwrap(),
        None => first..first + count * wanted.parse::<u64>().unwrap(),
    }
}

fn mutations(path: &Path, first: u64, count: u64) {
    let mut source = Vec::new();
    files(path, Path::new(path.file_name().unwrap()), &mut source);
    // Mutated compressed bytes would not test their content.
    for (path, bytes) in &mut source {
        if path.extension().is_some_and(|extension| extension == "zst") {
            *bytes = zstd::decode_all(&bytes[..]).unwrap();
            path.set_extension("");
        }
    }
    let seeds = seeds(first, count);
    let failed: Vec<_> =
        seeds.filter(|seed| std::panic::catch_unwind(|| one(&source, *seed)).is_err()).collect();
    assert!(failed.is_empty(), "of {}: {failed:?}", path.display());
}

macro_rules! mutations {
    ($($name:ident: $path:literal, $first:literal;)*) => {
        $(
            #[test]
            fn $name() {
                mutations(&root().join("examples").join($path), $first, MUTATIONS);
            }
        )*
    };
}

mutations! {
    ctf2: "hello-ctf2/trace", 0;
    lttng: "hello-lttng/trace", 10_000;
    nettrace: "hello-dotnet/hello.nettrace.zst", 20_000;
    xtrace: "hello-xtrace/proxy.reports", 30_000;
    fuchsia: "hello-fuchsia/boot.log", 40_000;
    jsonl: "hello-jsonl/requests.jsonl", 50_000;
    fxt: "hello-fxt/frames.fxt", 90_000;
}

/// An example in every CTF dialect that no example has.
#[test]
fn dialects() {
    for (number, dialect) in ["prop1", "prop2", "ctf1.8-packetized", "ctf1.8"].into_iter().enumerate() {
        let directory = Directory::new("mutated-dialect");
        let path = directory.join("trace");
        let source = if number == 3 { "hello-xtrace" } else { "hello-ctf2" };
        let source = root().join("examples").join(source);
        let words =
            ["convert", "--to-dialect", dialect, source.to_str().unwrap(), "-o", path.to_str().unwrap()];
        ichnos(words).expect(0, &[]);
        mutations(&path, 60_000 + 1_000 * number as u64, MUTATIONS);
    }
}

/// Tests the recorded traces in a folder, each with its own mutations. Large traces are skipped because they take long.
fn recorded_traces(folder: &str, first: u64) {
    let Some(folder) = recorded(folder) else { return };
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path()).collect();
    paths.sort();
    let size = |path: &PathBuf| {
        let mut source = Vec::new();
        files(path, Path::new(""), &mut source);
        source.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    };
    paths.retain(|path| size(path) < 100_000);
    let failed: Vec<_> = paths
        .iter()
        .zip((first..).step_by(100))
        .filter_map(|(path, first)| {
            std::panic::catch_unwind(|| mutations(path, first, 1)).err().map(|_| path)
        })
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

macro_rules! recorded_traces {
    ($($name:ident: $path:literal, $first:literal;)*) => {
        $(
            #[test]
            fn $name() {
                recorded_traces($path, $first);
            }
        )*
    };
}

recorded_traces! {
    decode_suite_of_ctf1: "ctf/decode/ctf-1", 100_000;
    decode_suite_of_ctf2: "ctf/decode/ctf-2", 200_000;
    fuchsia_vectors: "fuchsia/vectors", 300_000;
    xtrace_texts: "xtrace/brown/text", 400_000;
    nettrace_of_runtimes: "nettrace/runtime", 500_000;
}
