//! Compares every value of every event with the reference's dumps.

use std::collections::BTreeSet;
use std::path::Path;

use ichnos_model::Message;

use crate::comparison::{Comparison, OwnEvent};
use crate::differences::DIFFERENCES;
use crate::support::{Opened, bytes_of, find};
use crate::{baselines, reference};

/// Compares a file with its dump.
fn compare(traces: &Path, name: &str, dump: &str) -> Comparison {
    let text = String::from_utf8_lossy(&bytes_of(&traces.join("expected").join(dump))).into_owned();
    let expected: Vec<_> = reference::events(&text).collect();
    let opened = Opened::new(&find(traces, name));
    let mut own = Vec::new();
    opened.each(|message| match message {
        Message::Event(event) => own.push(OwnEvent::new(&opened, event)),
        Message::Damage(damage) => panic!("{damage}"),
        _ => {}
    });
    assert_eq!(own.len(), expected.len(), "{name}");
    let mut comparison = Comparison::default();
    comparison.all(&own, &expected);
    comparison
}

macro_rules! dumps {
    ($($test:ident: $name:literal, $dump:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
                compare(&traces, $name, $dump).report($name);
            }
        )*

        /// Returns all comparisons.
        pub fn all(traces: &Path) -> Vec<Comparison> {
            vec![$(compare(traces, $name, $dump)),*]
        }
    };
}

dumps! {
    custom_events: "net10.0-custom-only-norundown.nettrace", "net10.0-custom-only-norundown.traceevent.xml.xz";
    events_without_stacks: "net10.0-nostacks.nettrace", "net10.0-nostacks.traceevent.xml.xz";
    events_of_the_runtime: "net10.0-small.nettrace", "net10.0-small.traceevent.xml.xz";
    arrays: "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace", "arraytypes.traceevent.xml.xz";
    samples_of_a_machine: "perl-cpu-v6.nettrace", "perl-cpu-v6.traceevent.xml.xz";
}

#[test]
fn every_known_difference_is_met() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    let comparisons = all(&traces).into_iter().chain(baselines::all(&traces));
    let met: BTreeSet<usize> = comparisons.flat_map(|comparison| comparison.explained.into_keys()).collect();
    for (index, difference) in DIFFERENCES.iter().enumerate() {
        let (kind, field) = (difference.kind, difference.field);
        assert!(
            difference.is_live || met.contains(&index),
            "{:?} {kind:?} {field}: {}",
            difference.events,
            difference.reason
        );
    }
}
