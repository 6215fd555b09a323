//! The library examples work as described.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs an example on a trace in the repository.
pub(crate) fn run(example: &str, arguments: &[&str]) -> String {
    // Next to the directory of this test.
    let test = std::env::current_exe().unwrap();
    let directory = test.parent().and_then(Path::parent).unwrap().join("examples");
    let program: PathBuf = directory.join(example).with_extension(std::env::consts::EXE_EXTENSION);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(&program)
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_guide_shows_what_examples_print() {
    const COMMAND: &str = "$ cargo run --release -p ichnos --example ";
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/rust.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let shown = guide.split(COMMAND).skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut count = 0;
    for (line, expected) in shown.filter_map(|block| block.split_once('\n')) {
        let (example, arguments) = line.split_once(" -- ").unwrap();
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        assert_eq!(run(example, &arguments), expected, "{line}");
        count += 1;
    }
    assert!(count >= 2);
}

#[test]
fn events_are_counted_by_name() {
    let out = run("count_by_name", &["examples/hello-lttng"]);
    let counts: Vec<&str> = out.lines().collect();
    let sum: u64 = counts.iter().filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum();
    let session = ichnos::open(
        [Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello-lttng")],
        &ichnos::OpenOptions::default(),
    )
    .unwrap();
    let mut events = session.events().unwrap();
    let mut expected = 0;
    while events.next_event().is_some() {
        expected += 1;
    }
    assert!(expected > 0);
    assert_eq!(sum, expected, "{out}");
    assert!(out.contains("damages: 0"), "{out}");
}

#[test]
fn latencies_are_found_by_key() {
    // A script computed the numbers from the output of Debian's `babeltrace2`.
    let out = run("latency", &["examples/hello-lttng", "hello:tick", "hello:greeting", "ctx.vtid"]);
    assert_eq!(out, "42 pairs, 3 begun and not ended\nleast 170 ns, median 231 ns, greatest 771 ns\n");
}

#[test]
fn threads_are_found_by_path_and_by_meaning() {
    // Debian's `babeltrace2` shows the same number of events for each `vtid`.
    let bar = "#".repeat(40);
    let out = run("histogram_by_thread", &["examples/hello-lttng"]);
    let expected: Vec<String> =
        (11296..=11298).map(|thread| format!("   {thread}       60 {bar}\n")).collect();
    assert_eq!(out, expected.concat());
    if cfg!(feature = "fuchsia-log") {
        // The eighth event lacks a thread.
        let out = run("histogram_by_thread", &["examples/hello-fuchsia"]);
        assert_eq!(out, format!("    1105        7 {bar}\n"));
    }
}

#[cfg(all(feature = "fuchsia-log", feature = "jsonl"))]
#[test]
fn transformed_events_are_written() {
    let directory = tempfile::tempdir().unwrap();
    for (trace, field) in [
        ("examples/hello-lttng", "ctx.vtid"),
        ("examples/hello-jsonl", "payload.id"),
        ("examples/hello-fuchsia", "pid"),
    ] {
        let path = directory.path().join(field.replace('.', "-"));
        run("transform", &[trace, field, "7", path.to_str().unwrap()]);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let [old, new] = [root.join(trace), path].map(|path| {
            let session = ichnos::open([&path], &ichnos::OpenOptions::default()).unwrap();
            let (mut events, mut found) = (session.events().unwrap(), Vec::new());
            while let Some(event) = events.next_event() {
                let value = event.field(field).and_then(|value| value.as_i128());
                found.push((event.nanoseconds(), event.name().to_owned(), value));
            }
            found
        });
        assert!(old.iter().any(|(.., value)| value.is_some_and(|value| value != 7)), "{trace}: {old:?}");
        let changed = old.into_iter().map(|(time, name, value)| (time, name, value.map(|_| 7)));
        assert_eq!(new, changed.collect::<Vec<_>>(), "{trace}");
    }
}

#[test]
fn own_sinks_see_all_events() {
    let out = run("own_sink", &["examples/hello-ctf2"]);
    assert!(out.contains("sample ") && out.contains("state="), "{out}");
}
