//! Number of events and lost events, times and durations: `expected/traceevent-counts.txt`.

use std::collections::BTreeMap;

use ichnos_model::{Message, OpenedTrace};
use ichnos_nettrace::{BlockKind, Container, FileItem, StackRows};

use crate::support::{Opened, bytes_of, find};

/// Line in the reference's results.
struct Line<'t> {
    name: &'t str,
    values: BTreeMap<&'t str, &'t str>,
}

impl<'t> Line<'t> {
    fn parse(line: &'t str) -> Self {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some("count"), "{line}");
        let name = words.next().expect("a name");
        Self { name, values: words.filter_map(|word| word.split_once('=')).collect() }
    }

    fn number(&self, name: &str) -> u64 {
        self.values[name].parse().unwrap()
    }
}

/// Results for a file.
#[derive(Default)]
struct ReadCounts {
    events: u64,
    /// Number of profiler samples.
    samples: u64,
    lost: u64,
    /// Number of losses with unknown size.
    unknown: u64,
    damage: Vec<String>,
    /// Time of the last event, in ticks since the start of the session.
    last: i128,
}

fn read(opened: &Opened) -> ReadCounts {
    let mut found = ReadCounts::default();
    opened.each(|message| match message {
        Message::Event(event) => {
            found.events += 1;
            found.samples += u64::from(event.name() == "Microsoft-DotNETCore-SampleProfiler/ThreadSample");
            found.last = opened.since_begin(event);
        }
        Message::DiscardedEvents(discarded) => match discarded.count {
            Some(count) => found.lost += count,
            None => found.unknown += 1,
        },
        Message::Damage(damage) => found.damage.push(damage.to_string()),
        _ => {}
    });
    found
}

/// Parses a date such as `2019-06-15T23:56:59.7540000Z` to nanoseconds since 1970.
fn nanoseconds(date: &str) -> i128 {
    let number = |range: std::ops::Range<usize>| date[range].parse::<i64>().unwrap();
    let (mut year, mut month) = (number(0..4), number(5..7));
    let (day, seconds) = (number(8..10), (number(11..13) * 60 + number(14..16)) * 60 + number(17..19));
    // Days since 1970 in the Gregorian calendar, with years that start in March.
    (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    i128::from(days * 86_400 + seconds) * 1_000_000_000 + i128::from(number(20..27)) * 100
}

#[test]
fn counts_losses_and_times_are_those_of_the_reference() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    let expected = std::fs::read_to_string(traces.join("expected/traceevent-counts.txt")).unwrap();
    let mut lines = 0;
    for line in expected.lines().filter(|line| !line.is_empty()).map(Line::parse) {
        let name = line.name;
        let opened = Opened::new(&find(&traces, name));
        let found = read(&opened);
        assert_eq!(found.damage, [""; 0], "{name}");
        assert_eq!(
            opened.file.damage().iter().map(ToString::to_string).collect::<Vec<_>>(),
            [""; 0],
            "{name}"
        );
        assert_eq!((found.events, found.lost), (line.number("events"), line.number("lost")), "{name}");
        // The reference ignores events that are missing before a thread's first event.
        assert_eq!(found.unknown, u64::from(name == "net10.0-drops.nettrace"), "{name}");
        assert_eq!(u64::from(opened.block.pointer_size), line.number("ptr"), "{name}");
        let clock = &opened.file.trace().class.clocks[0];
        // A clock class has its offset in whole cycles. If a millisecond is not a whole cycle, the start differs by up
        // to one cycle.
        let start = nanoseconds(line.values["start"]);
        let off = (clock.nanoseconds(opened.block.sync_ticks) - start).unsigned_abs();
        let is_whole = clock.frequency % 1_000 == 0;
        let most = if is_whole { 0 } else { 1_000_000_000u64.div_ceil(clock.frequency).into() };
        assert!(off <= most, "{name}: the start is {off} ns off");
        // The duration is from the synchronization time to the last event, as a floating-point number of milliseconds
        // with 15 exact digits.
        let duration = found.last as f64 * 1_000.0 / clock.frequency as f64;
        let expected: f64 = line.values["dur"].parse().unwrap();
        assert!((duration - expected).abs() <= expected * 1e-14, "{name}: {duration} instead of {expected}");
        println!("{name}: {} events, {} lost, {duration} ms", found.events, found.lost);
        lines += 1;
    }
    assert_eq!(lines, 16);
}

#[test]
fn every_event_of_a_big_file_is_there() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    let opened = Opened::new(&find(&traces, "net10.0-big.nettrace"));
    let found = read(&opened);
    assert_eq!((found.events, found.lost, found.damage.len()), (6_133_017, 0, 0));
    assert_eq!(found.samples, 79_376);
    let (bytes, mut stacks) = (bytes_of(&find(&traces, "net10.0-big.nettrace")), 0);
    let mut container = Container::open(&bytes, true).unwrap().unwrap();
    while let FileItem::Block(block) = container.next(&bytes, 0, true) {
        if block.kind == BlockKind::Stack {
            let rows =
                StackRows::read(&bytes[block.content.start as usize..block.content.end as usize]).unwrap();
            let count = rows.count;
            assert_eq!(rows.count(), count as usize);
            stacks += count;
        }
    }
    assert_eq!(stacks, 11_613);
}
