//! Helpers for tests.

use ichnos_export::{Pretty, PrettyOptions};
use ichnos_flow::{Merge, pump};
use ichnos_io::{Entry, Format as _, OpenedTraces, ReadOptions, Tree};
use ichnos_model::{OpenedTrace, Window};
use ichnos_otlp::OtlpRequests;

/// Opens files with this content.
pub(crate) fn open(files: &[(&str, &[u8])]) -> OpenedTraces {
    let entries = files.iter().map(|(name, bytes)| Entry::from_bytes(*name, bytes.to_vec())).collect();
    let tree = Tree { name: "tree".to_owned(), entries, problems: Vec::new() };
    let options = ReadOptions::default();
    assert!(OtlpRequests.probe(&tree, &options), "{files:?}");
    OtlpRequests.open(&[&tree], &options)
}

/// Options for printing all fields, with times in seconds.
pub(crate) fn pretty() -> PrettyOptions {
    let mut options = PrettyOptions::default();
    options.clock_seconds = true;
    options
}

/// Prints a trace, merged by time.
pub(crate) fn print_trace(trace: &dyn OpenedTrace) -> String {
    let mut out = Vec::new();
    let cursors = trace.cursors(Window::default());
    pump(&mut Merge::new(cursors), &mut Pretty::new(&mut out, pretty())).unwrap();
    // Texts in protobuf can have invalid UTF-8.
    String::from_utf8_lossy(&out).into_owned()
}

/// Prints files with this content, which must be undamaged.
pub(crate) fn print(files: &[(&str, &[u8])]) -> String {
    let opened = open(files);
    assert!(opened.refused.is_empty());
    assert_eq!(opened.traces.len(), 1);
    assert_eq!(opened.traces[0].damage(), &[], "{files:?}");
    print_trace(&*opened.traces[0])
}

/// Returns lines without the time since the previous event.
pub(crate) fn without_deltas(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| {
            let (begin, rest) = line.split_once(" (+").unwrap();
            format!("{begin} {}", rest.split_once(") ").unwrap().1)
        })
        .collect()
}
