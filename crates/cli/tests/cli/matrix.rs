//! Every kind of trace in every dialect, and from there in every other dialect and back. Each conversion is verified
//! (as in all these tests), the output is valid, other readers print the same, and a second conversion gives the same
//! bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichnos_testing::{cases, is_complete_sweep, is_turn};

use crate::generated::generate;
use crate::oracles::{self, Judges};
use crate::other_readers;
use crate::support::{Directory, ichnos, recorded, root, text};

const DIALECTS: [&str; 5] = ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];

/// Sources (name prefixes) whose text output changes on the way through a dialect, with the loss that explains it.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("hello-ctf2", "prop1", "environment"),
    ("hello-lttng", "prop1", "environment"),
    ("hello-xtrace", "ctf1.8", "specific context -> payload"),
    ("hello-fuchsia/boot.log", "ctf1.8", "`` -> `_`"),
    ("fuchsia/vectors/log_printf.bin", "ctf1.8", "`` -> `_`"),
    ("ctf/real/", "prop1", "environment"),
    ("xtrace/brown/text/small.txt", "ctf1.8", "specific context -> payload"),
];

/// Losses that explain changes in generated traces on the way through a dialect. `.value_` stands for a structure with
/// an unnamed field, and text before it.
const GENERATED_LOSSES: [&str; 7] =
    ["renamed", "moved", "rounded", "dropped", "its bytes", "structure without members", ".value_"];

/// Outputs that another reader prints differently: source, dialect, reason.
const MISREAD: &[(&str, &str, &str)] = &[
    (
        "ctf/real/babeltrace/2/succeed/meta-ctx-sequence",
        "ctf1.8",
        "Babeltrace 2.0.4 ends itself where a specific context has a length, also in the original",
    ),
    ("generated of all types", "", "types that other readers do not know, and bugs of theirs"),
];

/// Converts a trace. Returns the loss table.
fn convert(from: &Path, dialect: &str, to: &Path) -> String {
    let words = ["convert", "-q", "--losses", "--to-dialect", dialect, text(from), "--force", "-o", text(to)];
    ichnos(words).expect(0, &[]).out
}

/// Returns the files in a trace by relative path.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut next = vec![directory.to_owned()];
    while let Some(path) = next.pop() {
        for item in fs::read_dir(path).unwrap() {
            let path = item.unwrap().path();
            match path.is_dir() {
                true => next.push(path),
                false => drop(
                    found.insert(path.strip_prefix(directory).unwrap().to_owned(), fs::read(&path).unwrap()),
                ),
            }
        }
    }
    found
}

fn events(path: &Path) -> String {
    ichnos(["cat", text(path)]).expect(0, &[]).out
}

/// Checks that other readers print the same for a trace.
fn others_agree(name: &str, dialect: &str, trace: &Path) {
    let is_misread = |(source, other, _): &(&str, &str, &str)| *source == name && dialect.starts_with(other);
    if !MISREAD.iter().any(is_misread) {
        let judges = if name.starts_with("generated") { Judges::Best } else { Judges::All };
        let difference = oracles::difference(trace, dialect, judges);
        assert!(difference.is_none(), "{name}: {dialect}: {}", difference.unwrap_or_default());
    }
}

/// Dialects between a conversion and the conversion back: two, or one if there are many traces. Each number selects
/// other dialects. A complete sweep uses all.
#[derive(Clone, Copy)]
enum Through {
    Two(usize),
    One(usize),
}

impl Through {
    /// Returns `true` if the source is written in a dialect. If there are many traces, each is written in every second
    /// dialect.
    fn has(self, dialect: usize) -> bool {
        match self {
            Self::Two(_) => true,
            Self::One(number) => is_turn(dialect + number, 0, 2),
        }
    }

    /// Returns the number that selects one reader. `None` selects all readers.
    fn number(self) -> Option<usize> {
        match self {
            Self::Two(_) => None,
            Self::One(number) => Some(number),
        }
    }

    fn dialects(self, from: usize) -> Vec<&'static str> {
        let dialect = |number: usize| DIALECTS[(from + number) % 4];
        match self {
            _ if is_complete_sweep() => DIALECTS[..4].to_vec(),
            Self::Two(number) => vec![dialect(number), dialect(number + 2)],
            Self::One(number) => vec![dialect(number)],
        }
    }
}

/// Returns `true` if a table lists field losses that explain changes in generated traces.
fn losses_of_fields(losses: &str) -> bool {
    let of_fields = losses.lines().filter(|line| !line.contains("  packet.") && !line.contains("  trace  "));
    of_fields.into_iter().any(|line| GENERATED_LOSSES.iter().any(|loss| line.contains(loss)))
}

fn each_dialect_and_back(name: &str, source: &Path, through: Through) {
    let directory = Directory::new("matrix");
    other_readers::check(name, source, through.number());
    let [first, again, other, back] = ["first", "again", "other", "back"].map(|name| directory.join(name));
    let dialects = DIALECTS.into_iter().enumerate().filter(|(number, _)| through.has(*number));
    for (number, dialect) in dialects {
        convert(source, dialect, &first);
        ichnos(["check", "--strict", text(&first)]).expect(0, &[]);
        others_agree(name, dialect, &first);
        convert(&first, dialect, &again);
        assert!(files(&first) == files(&again), "{name}: {dialect}, once more");
        let expected = events(&first);
        for through in through.dialects(number) {
            let losses = convert(&first, through, &other);
            convert(&other, dialect, &back);
            let is_same = events(&back) == expected;
            let is_generated = name.starts_with("generated");
            if is_generated && losses_of_fields(&losses) {
                continue;
            }
            let known = DIFFERENT.iter().find(|(source, via, _)| name.starts_with(source) && *via == through);
            match known {
                Some((.., loss)) if !is_same => {
                    assert!(losses.contains(loss), "{name}: {dialect} -> {through}:\n{losses}");
                }
                _ => assert!(is_same, "{name}: {dialect} -> {through} -> {dialect}:\n{losses}"),
            }
        }
    }
}

macro_rules! examples {
    ($($number:literal $name:ident: $path:literal,)*) => {
        $(
            #[test]
            fn $name() {
                each_dialect_and_back($path, &root().join("examples").join($path), Through::Two($number));
            }
        )*
    };
}

examples! {
    0 ctf2: "hello-ctf2",
    1 lttng: "hello-lttng",
    2 dotnet: "hello-dotnet/hello.nettrace.zst",
    3 xtrace: "hello-xtrace",
    4 fuchsia: "hello-fuchsia/boot.log",
    5 fxt: "hello-fxt",
    6 jsonl: "hello-jsonl",
}

macro_rules! recorded_traces {
    ($($name:ident: [$($path:literal,)*],)*) => {
        $(
            #[test]
            fn $name() {
                for (number, name) in [$($path),*].into_iter().enumerate() {
                    if let Some(path) = recorded(name) {
                        each_dialect_and_back(name, &path, Through::One(number));
                    }
                }
            }
        )*
    };
}

recorded_traces! {
    recorded_by_lttng: [
        "ctf/real/babeltrace/2/succeed/smalltrace",
        "ctf/real/babeltrace/2/succeed/session-rotation/a/1/ust/pid/10352",
        "ctf/real/babeltrace/1/packet-seq-num/no-lost-not-starting-at-0",
        "ctf/real/tracecompass/CTF2-7.0-smalltrace",
        "ctf/real/tracecompass/debuginfo-synth-exec",
    ],
    recorded_by_barectf: [
        "ctf/real/barectf/assembled/basic__dynamic-array__of-uint3-middle",
        "ctf/real/barectf/assembled/basic__static-array__of-static-array-of-str",
        "ctf/real/barectf/assembled/counter-clock__dst-packet-features__none",
        "ctf/real/barectf/assembled/counter-clock__dst-packet-features__seq-num",
        "ctf/real/barectf/assembled/counter-clock__ert__spec-ctx",
    ],
    recorded_by_other_tracers_of_ctf: [
        "ctf/real/babeltrace/2/succeed/fl-bm",
        "ctf/real/babeltrace/2/succeed/meta-variant-one-underscore",
        "ctf/real/babeltrace/2/succeed/meta-ctx-sequence",
        "ctf/real/babeltrace/1/succeed/struct-array-align-elem",
        "ctf/real/tracecompass/CTF2-vl-ints",
        "ctf/real/tracecompass/mpi_ssend_irecv",
    ],
    recorded_by_dotnet: [
        "nettrace/runtime/net10.0-nostacks.nettrace",
        "nettrace/runtime/net10.0-custom-only-norundown.nettrace",
        "nettrace/perfview/eventpipe-dotnetcore6.0-win-x64-executioncheckpoints.nettrace",
        "nettrace/perfview/eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
    ],
    recorded_by_fuchsia: [
        "fuchsia/vectors/log_full.bin",
        "fuchsia/vectors/log_cpp_dropped.bin",
        "fuchsia/vectors/log_printf.bin",
        "fuchsia/vectors/log_manifest_control.bin",
        "fuchsia/vectors/log_tagged.bin",
        "fuchsia/vectors/log_text.bin",
    ],
    recorded_by_xtrace: [
        "xtrace/brown/text/small.txt",
    ],
}

/// Number of generated traces. The sample uses half of them. `ICHNOS_GENERATED_TRACES` sets the number.
const GENERATED: u64 = 24;

/// Checks the generated traces whose seeds have this remainder modulo 4.
fn generated_traces(remainder: u64) {
    let directory = Directory::new("generated");
    let source = directory.join("lines.jsonl");
    let count = std::env::var("ICHNOS_GENERATED_TRACES").ok().map(|count| count.parse().unwrap());
    let are_all = count.is_some() || std::env::var_os("ICHNOS_SEED").is_some();
    cases(count.unwrap_or(GENERATED), |random| {
        let seed = random.seed();
        let is_sampled = are_all || is_turn(seed as usize / 4, remainder as usize % 2, 2);
        if seed % 4 != remainder || !is_sampled {
            return;
        }
        let generated = generate(random);
        fs::write(&source, generated.lines).unwrap();
        ichnos(["check", text(&source)]).expect(0, &[]);
        let name = if generated.is_plain { "generated" } else { "generated of all types" };
        each_dialect_and_back(name, &source, Through::One(seed as usize / 4));
    });
}

#[test]
fn generated_traces_a() {
    generated_traces(0);
}

#[test]
fn generated_traces_b() {
    generated_traces(1);
}

#[test]
fn generated_traces_c() {
    generated_traces(2);
}

#[test]
fn generated_traces_d() {
    generated_traces(3);
}
