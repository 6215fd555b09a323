//! Random traces in both proposals must be read as specified.

use std::collections::BTreeMap;

use ichnos_testing::cases;
use ichnos_testing::proposals::{ExpectedFields, Proposal, RandomTrace, random_trace};

use crate::reading::{MessageReport, damage, events, observed, packets, trace};

/// Number of traces for each document.
const TRACES: u64 = 110;

/// Minimum percentage of a document's traces that contain each construct.
const LEAST_PERCENT: usize = 5;

fn compare(found: &ExpectedFields, expected: &ExpectedFields, random: &RandomTrace) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{}", random.metadata);
    }
    assert_eq!(found.len(), expected.len(), "{}", random.metadata);
}

#[test]
fn all_values_are_read() {
    for proposal in Proposal::ALL {
        let mut constructs: BTreeMap<&str, usize> = BTreeMap::new();
        let mut values = 0;
        let traces = cases(TRACES, |random| {
            let random = random_trace(proposal, random);
            random.constructs.iter().for_each(|name| *constructs.entry(name).or_default() += 1);
            let files: Vec<(&str, &[u8])> =
                random.streams.iter().map(|stream| (&*stream.file, &*stream.bytes)).collect();
            let trace = trace(random.metadata.as_bytes(), &files);
            let observed = observed(&trace);
            assert_eq!(
                damage(&observed),
                Vec::<&ichnos_model::message::Damage>::new(),
                "{}",
                random.metadata
            );
            let expected_packets = random.streams.iter().flat_map(|stream| &stream.packets);
            let found_packets = packets(&observed);
            let mut expected_events = Vec::new();
            let mut count = 0;
            for (found, expected) in found_packets.iter().zip(expected_packets) {
                assert_eq!((found.total, found.content), (expected.total, expected.content));
                compare(&found.fields, &expected.fields, &random);
                values += expected.fields.len();
                expected_events.extend(&expected.events);
                count += 1;
            }
            assert_eq!(found_packets.len(), count);
            let found_events = events(&observed);
            for (found, expected) in found_events.iter().zip(&expected_events) {
                assert_eq!(found.id, expected.id, "{}", random.metadata);
                compare(&found.fields, &expected.fields, &random);
                values += expected.fields.len();
            }
            assert_eq!(found_events.len(), expected_events.len(), "{}", random.metadata);
            assert!(!observed.iter().any(|one| matches!(one, MessageReport::DiscardedPackets(_))));
        });
        println!("{}: {traces} traces with {values} values", proposal.name());
        for (construct, count) in &constructs {
            println!("{count:5} of {traces} traces: {construct}");
        }
        if traces >= TRACES {
            let rare: Vec<_> = constructs
                .iter()
                .filter(|(_, count)| **count * 100 < traces as usize * LEAST_PERCENT)
                .collect();
            assert!(rare.is_empty(), "{rare:?}");
        }
    }
}
