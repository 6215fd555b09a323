//! JSON Lines as a trace: what is written of them is read again as what it is.

use std::collections::BTreeMap;

use ichnos::export::{Log, LogOptions, Pretty, PrettyOptions};
use ichnos::flow::{Merge, pump};
use ichnos::io::{Entry, Format, OpenedTraces, ReadOptions, Tree};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::{Sink, Window};
use ichnos_jsonl::JsonLinesFormat;

/// Reads a file behind the first byte, which chooses options.
pub fn lines(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let Some(opened) = open(bytes, choice & 1 == 1) else { return };
    let mut options = JsonLinesOptions::default();
    options.packets = choice & 2 == 2;
    let mut once = Vec::new();
    feed(&opened, &mut JsonLines::new(&mut once, options.clone()));
    feed(&opened, &mut Pretty::new(Vec::new(), PrettyOptions::default()).warnings_to(std::io::sink()));
    feed(&opened, &mut Log::new(Vec::new(), LogOptions::default()));
    // Of what the lines can be in more than one way, reading and writing decide; then they are settled.
    let Some(opened) = open(&once, false) else { return };
    let mut twice = Vec::new();
    feed(&opened, &mut JsonLines::new(&mut twice, options));
    assert_eq!(
        events(&twice),
        events(&once),
        "{}\n{}",
        String::from_utf8_lossy(&once),
        String::from_utf8_lossy(&twice)
    );
}

/// The lines of events of each data stream, without its number: data streams of several traces, and events without
/// times, can come in another order.
fn events(text: &[u8]) -> Vec<Vec<String>> {
    let mut streams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(text).lines() {
        if let Some(rest) = line.strip_prefix("{\"type\":\"event\",\"stream\":")
            && let Some((stream, event)) = rest.split_once(',')
        {
            streams.entry(stream.to_owned()).or_default().push(event.to_owned());
        }
    }
    let mut streams: Vec<_> = streams.into_values().collect();
    streams.sort();
    streams
}

fn open(bytes: &[u8], check: bool) -> Option<OpenedTraces> {
    let entries = vec![Entry::from_bytes("a.jsonl", bytes.to_vec())];
    let tree = Tree { name: "a.jsonl".to_owned(), entries, problems: Vec::new() };
    let mut options = ReadOptions::default();
    (options.check, options.force) = (check, true);
    let opened = JsonLinesFormat.open(&[&tree], &options);
    opened.refused.is_empty().then_some(opened)
}

fn feed(opened: &OpenedTraces, sink: &mut impl Sink) {
    let cursors = opened.traces.iter().flat_map(|trace| trace.cursors(Window::default())).collect();
    pump(&mut Merge::new(cursors), sink).expect("nothing fails but reading");
}
