//! Example, recorded and generated traces in every format, written in every writable format: every event arrives at its
//! time, or is in the loss table. `--verify`, which all these tests use, compares the values.
//!
//! With `ICHNOS_ALL_FORMATS`, all recorded traces are converted, except large ones, and generated traces are converted
//! in all combinations:
//!
//! ```sh
//! ICHNOS_ALL_FORMATS=1 cargo nextest run -p ichnos-cli every_format
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use ichnos_testing::{TraceProcessor, cases};
use serde_json::Value;

use crate::generated::generate;
use crate::support::{Directory, ichnos, recorded, root, text};

/// Examples, one per input format.
const SOURCES: [&str; 7] = [
    "hello-ctf2",
    "hello-lttng",
    "hello-dotnet",
    "hello-fuchsia",
    "hello-fxt",
    "hello-xtrace",
    "hello-jsonl",
];

/// Recorded traces in each format that are small enough for every run.
const RECORDED: [(&str, &[&str]); 4] = [
    (
        "ctf",
        &[
            "ctf/real/babeltrace/1/succeed/sequence",
            "ctf/real/ctf2/session-rot",
            "ctf/real/babeltrace/2/succeed/session-rotation/3/ust/pid/10353",
        ],
    ),
    (
        "nettrace",
        &[
            "nettrace/runtime/net10.0-nostacks.nettrace",
            "nettrace/runtime/perl-cpu-v6.nettrace",
            "nettrace/perfview/eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
        ],
    ),
    (
        "fuchsia",
        &[
            "fuchsia/vectors/log_full.bin",
            "fuchsia/vectors/log_printf.bin",
            "fuchsia/goldens/simple_trace_reconstructed.fxt",
        ],
    ),
    ("xtrace", &["xtrace/brown/text/small.txt", "xtrace/brown/small.json"]),
];

/// Maximum size of a trace that is converted on request, in bytes.
const MOST_BYTES: u64 = 1_000_000;

/// Provider of events that name functions in stacks.
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Output formats and dialects.
const TARGETS: [(&str, &str); 10] = [
    ("ctf", "spec2"),
    ("ctf", "prop1"),
    ("ctf", "ctf1.8"),
    ("nettrace", "4"),
    ("nettrace", "6"),
    ("fuchsia-log", ""),
    ("fxt", ""),
    ("xtrace", "text"),
    ("xtrace", "json"),
    ("jsonl", ""),
];

/// Returns the number of whole events that losses drop, or merge into others.
fn dropped(losses: &[Value]) -> u64 {
    let is_event = |loss: &&Value| {
        let what = loss["what"].as_str().unwrap();
        let is_whole = what.starts_with("event") && !what.starts_with("event record class name")
            || what.starts_with("record:");
        loss["kind"] == "dropped" && is_whole || what.starts_with("event -> line `Event`")
    };
    losses.iter().filter(is_event).map(|loss| loss["count"].as_u64().unwrap()).sum()
}

/// Event name and time in nanoseconds.
type NameAndTime = (String, String);

/// Returns the names and times of the events in a trace.
fn events(path: &Path) -> Vec<NameAndTime> {
    let events = ichnos(["cat", "-q", "--format", "jsonl", text(path)]);
    let lines = events.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let name = |event: &Value| event["name"].as_str().unwrap_or_default().to_owned();
    lines
        .filter(|line| line["type"] == "event")
        .map(|event| (name(&event), event["ts"].to_string()))
        .collect()
}

/// Trace to convert.
struct Source {
    name: String,
    path: PathBuf,
}

impl Source {
    fn example(name: &str) -> Self {
        Self { name: name.to_owned(), path: root().join("examples").join(name) }
    }
}

/// Returns `true` if all combinations are requested.
fn are_all_wanted() -> bool {
    std::env::var_os("ICHNOS_ALL_FORMATS").is_some()
}

/// Returns `true` for events that a conversion adds because the source has call stacks.
fn is_added(format: &str, name: &str) -> bool {
    match format {
        "nettrace" => name.starts_with(RUNDOWN),
        "fxt" => ["backtrace", "module", "mapping"].contains(&name),
        _ => false,
    }
}

/// Converts a trace to a format and a dialect in `out`, and compares the events with the source's events. Returns the
/// written events.
fn convert(
    source: &Source,
    expected: &[NameAndTime],
    (format, dialect): (&str, &str),
    out: &Path,
) -> Vec<NameAndTime> {
    let mut words = vec!["convert", "-q", "--json", "--to", format];
    if !dialect.is_empty() {
        words.extend(["--to-dialect", dialect]);
    }
    words.extend([text(&source.path), "-o", text(out)]);
    let what = format!("{} -> {format} {dialect}", source.name);
    let written = ichnos(words).json();
    let losses = written["losses"].as_array().unwrap_or_else(|| panic!("{what}: {written}"));
    let times = |mut events: Vec<NameAndTime>| {
        events.sort_by(|a, b| a.1.cmp(&b.1));
        events.into_iter().map(|(_, time)| time).collect::<Vec<String>>()
    };
    let written_events = events(out);
    let mut found = written_events.clone();
    // If the source contains such events, they are written unchanged.
    if !expected.iter().any(|(name, _)| is_added(format, name)) {
        found.retain(|(name, _)| !is_added(format, name));
    }
    let (expected, found, dropped) = (times(expected.to_vec()), times(found), dropped(losses));
    println!("{what}: {} events, {dropped} dropped, {} losses", found.len(), losses.len());
    assert_eq!(found.len() as u64 + dropped, expected.len() as u64, "{what}: {losses:#?}");
    let is_of_time =
        |loss: &Value| ["time", "clock", "origin"].iter().any(|word| loss.to_string().contains(word));
    if dropped == 0 && !losses.iter().any(is_of_time) {
        assert!(expected == found, "{what}: times differ\n{expected:?}\n{found:?}");
    }
    written_events
}

/// Converts a trace to every format and dialect.
fn convert_to_all(source: &Source) {
    let expected = events(&source.path);
    for target in TARGETS {
        let directory = Directory::new("every-format");
        convert(source, &expected, target, &directory.join("out"));
    }
}

/// Returns the size of a file, or of all files in a directory.
fn size(path: &Path) -> u64 {
    if !path.is_dir() {
        return path.metadata().map_or(0, |metadata| metadata.len());
    }
    fs::read_dir(path).unwrap().map(|item| size(&item.unwrap().path())).sum()
}

/// Adds the traces in a directory: directories with metadata, and files.
fn traces(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut items: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|item| item.unwrap().path()).collect();
    items.sort();
    for path in items {
        if path.is_dir() && !path.join("metadata").exists() {
            traces(&path, found);
        } else if size(&path) <= MOST_BYTES {
            found.push(path);
        }
    }
}

/// Converts recorded traces in a format: a few small traces, or all on request.
fn convert_recorded(family: &str) {
    let (_, names) = RECORDED.into_iter().find(|(name, _)| *name == family).unwrap();
    let mut paths: Vec<PathBuf> = names.iter().filter_map(recorded).collect();
    if are_all_wanted()
        && let Some(all) = recorded(if family == "ctf" { "ctf/real" } else { family })
    {
        paths.clear();
        traces(&all, &mut paths);
        // Files without events are lists and licenses, not traces.
        paths.retain(|path| !events(path).is_empty());
    }
    for path in paths {
        convert_to_all(&Source { name: path.display().to_string(), path });
    }
}

macro_rules! targets {
    ($($test:ident: $source:literal;)*) => {
        $(
            #[test]
            fn $test() {
                convert_to_all(&Source::example($source));
            }
        )*

        #[test]
        fn all_examples_are_converted() {
            assert_eq!([$($source),*], SOURCES);
        }
    };
}

targets! {
    ctf2: "hello-ctf2";
    lttng: "hello-lttng";
    dotnet: "hello-dotnet";
    fuchsia_logs: "hello-fuchsia";
    fxt: "hello-fxt";
    xtrace: "hello-xtrace";
    jsonl: "hello-jsonl";
}

#[test]
fn recorded_ctf() {
    convert_recorded("ctf");
}

#[test]
fn recorded_nettrace() {
    convert_recorded("nettrace");
}

#[test]
fn recorded_fuchsia() {
    convert_recorded("fuchsia");
}

#[test]
fn recorded_xtrace() {
    convert_recorded("xtrace");
}

/// Google's trace processor finds the events in a written FXT file, with their times and values.
#[test]
fn the_trace_processor_reads_written_fxt() {
    const EVENTS: &str = "select s.ts, s.name, sum(a.int_value) as sum from slice s left join args a using (arg_set_id) group by s.id order by s.ts";
    let test = "the_trace_processor_reads_written_fxt";
    let Some(processor) = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let directory = Directory::new("written-fxt");
    let [lines, written] = ["lines.jsonl", "written.fxt"].map(|name| directory.join(name));
    let event = |index: u64| (1_700_000_000_000_000_000 + 1_000 * index + index % 7, 3 * index);
    let text_of = |index| {
        let (time, value) = event(index);
        format!("{{\"ts\":{time},\"name\":\"step\",\"payload\":{{\"value\":{value},\"text\":\"x\"}}}}\n")
    };
    fs::write(&lines, (0..100).map(text_of).collect::<String>()).unwrap();
    ichnos(["convert", "-q", "--to", "fxt", text(&lines), "-o", text(&written)]).expect(0, &[]);
    let rows = processor.query(&written, &[EVENTS]);
    let found = rows.lines().map(|row| {
        let row: Value = serde_json::from_str(row).unwrap();
        assert_eq!(row["name"], "step");
        // Larger integers are texts.
        let number =
            |name: &str| row[name].as_str().map_or(row[name].as_u64(), |text| text.parse().ok()).unwrap();
        (number("ts"), number("sum"))
    });
    assert_eq!(found.collect::<Vec<_>>(), (0..100).map(event).collect::<Vec<_>>());
}

/// Each generated trace is converted to one format, and the result to the next. On request, to all formats.
#[test]
fn generated_in_every_format() {
    let count = if are_all_wanted() { 20 } else { 2 };
    let mut round = 0;
    cases(count, |random| {
        let directory = Directory::new("every-format-generated");
        let lines = directory.join("generated.jsonl");
        fs::write(&lines, generate(random).lines).unwrap();
        let generated = Source { name: format!("generated {}", random.seed()), path: lines };
        let expected = events(&generated.path);
        round += 1;
        for (index, target) in TARGETS.into_iter().enumerate() {
            let path = directory.join(format!("out-{index}"));
            let written_events = convert(&generated, &expected, target, &path);
            if written_events.is_empty() {
                continue;
            }
            let name = format!("{} as {} {}", generated.name, target.0, target.1);
            let converted = Source { name, path };
            if are_all_wanted() {
                convert_to_all(&converted);
            } else {
                let next = TARGETS[(index + round) % TARGETS.len()];
                convert(&converted, &written_events, next, &directory.join(format!("next-{index}")));
            }
        }
    });
}
