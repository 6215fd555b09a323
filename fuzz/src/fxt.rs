//! Fuchsia traces: all bytes are records or skipped, and records are events.

use ichnos::export::{Pretty, PrettyOptions};
use ichnos::flow::{Merge, pump};
use ichnos::fuchsia::fxt::{MetadataRecord, Record, Records, is_big_endian, recognize};
use ichnos::fuchsia::fxt_reader::{FxtOptions, FxtTrace};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::field::Skip;
use ichnos::model::{Message, OpenedTrace, Scope, Window};

/// Reads a file after the first byte, which chooses options.
pub fn trace(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let events = records(bytes);
    let _ = recognize(bytes);
    let mut options = FxtOptions::default();
    options.check = choice & 1 == 1;
    options.unsorted = choice & 2 == 2;
    if choice & 4 == 4 {
        options.limits.dynamic_event_record_classes = 1;
    }
    let opened = FxtTrace::open("a.fxt", bytes.to_vec().into(), &options);
    assert_eq!(opened.is_err(), is_big_endian(bytes));
    let Ok(trace) = opened else { return };
    let mut found = 0;
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                found += 1;
                for scope in Scope::ALL {
                    event.visit(scope, &mut Skip).expect("a scope cannot be visited");
                }
            }
        }
    }
    // Of too many providers, some are skipped.
    assert!(found == events || !trace.damage().is_empty(), "{found} events of {events}");
    let _ = trace.trace().symbols();
    let sink = &mut JsonLines::new(Vec::new(), JsonLinesOptions::default());
    pump(&mut Merge::new(trace.cursors(Window::default())), sink).unwrap();
    let sink = &mut Pretty::new(Vec::new(), PrettyOptions::default());
    pump(&mut Merge::new(trace.cursors(Window::default())), sink).unwrap();
}

/// Reads all records; returns the number of those that are events.
fn records(bytes: &[u8]) -> u64 {
    let (mut end, mut events) = (0, 0);
    for record in Records::new(bytes) {
        let (offset, size) = match record {
            Ok(found) => {
                Record::check(found.bytes, found.offset, &mut |error| {
                    assert!(error.at >= found.offset && error.at <= bytes.len() as u64, "{error:?}");
                    let _ = error.to_string();
                });
                let is_table =
                    matches!(found.record, Record::String(_) | Record::Thread(_) | Record::Initialization(_));
                let is_metadata = match found.record {
                    // An unknown event of a provider is kept, a full buffer is a loss.
                    Record::Metadata(MetadataRecord::ProviderEvent { event, .. }) => event == 0,
                    Record::Metadata(_) => true,
                    _ => false,
                };
                events += u64::from(!is_table && !is_metadata);
                (found.offset, found.bytes.len() as u64)
            }
            Err(damage) => {
                let _ = damage.error.to_string();
                (damage.offset, damage.skipped)
            }
        };
        assert!(offset == end && size > 0, "{offset} after {end}");
        end += size;
    }
    assert_eq!(end, bytes.len() as u64);
    events
}
