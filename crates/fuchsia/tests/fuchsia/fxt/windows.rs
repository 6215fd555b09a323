//! Windows of the timeline are read independently, as several threads do.

use ichnos_model::{Cursor, Message, OpenedTrace, Window};
use proptest::collection::vec;
use proptest::prelude::*;

use super::builder::Builder;
use super::dump::{line, open};
use super::properties::{add, parts, table};
use super::writer::write;

/// Returns the events of a trace in a window.
fn events(bytes: &[u8], window: Window) -> Vec<String> {
    let mut lines = Vec::new();
    for mut cursor in open(bytes).cursors(window) {
        while cursor.advance() {
            match cursor.current().unwrap() {
                Message::Event(event) => lines.push(line(&event)),
                Message::Damage(damage) => panic!("{damage}"),
                _ => {}
            }
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Wherever the timeline is cut, and whatever the record order is, each event is in one window.
    #[test]
    fn windows_have_all_events(mut all in vec(parts(), 0..40), mut cuts in vec(0u64..1_100, 0..5), sorted: bool) {
        // The first events create the classes for later events.
        for (number, event) in all.iter_mut().enumerate() {
            event.1 = if sorted { number as u64 * 25 } else { event.1 % 1_000 };
        }
        let again = all.clone();
        let mut builder = Builder::new();
        table(&mut builder);
        all.iter().chain(&again).for_each(|event| drop(add(&mut builder, event)));
        // After writing, names are in the tables.
        let bytes = if sorted { write(&open(&builder.bytes)).0 } else { builder.bytes };
        let whole = events(&bytes, Window::default());
        prop_assert_eq!(whole.len(), 2 * all.len());
        cuts.sort_unstable();
        cuts.dedup();
        let mut begin = None;
        let mut joined = Vec::new();
        for cut in cuts {
            joined.extend(events(&bytes, Window { begin, end: Some(i128::from(cut) - 1) }));
            begin = Some(i128::from(cut));
        }
        joined.extend(events(&bytes, Window { begin, end: None }));
        prop_assert_eq!(joined, whole);
    }
}
