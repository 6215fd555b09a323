//! Times stay the same in nanoseconds when a trace is written and read again.

use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::source::{NextRecord, Record as ModelRecord, RecordTrace};
use ichnos_model::trace::Limits;
use ichnos_model::{Cursor, Message, OpenedTrace, Source, Trace, TraceClass, Window};
use proptest::collection::vec;
use proptest::prelude::*;

use super::builder::{Builder, body};
use super::dump::open;
use super::writer::write;

/// Ticks and nanoseconds of all events.
fn times(trace: &dyn OpenedTrace) -> Vec<(u64, i128)> {
    let mut times = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                times.extend(event.clock.map(|clock| (clock.cycles, clock.nanoseconds)));
            }
        }
    }
    times
}

fn trace_with_base(frequency: u64, base: [u64; 2], ticks: &[u64]) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.record(1, body().word(frequency).words(&base));
    for ticks in ticks {
        builder.event(0, *ticks, ["c", "n"], vec![], &[]);
    }
    builder.bytes
}

/// One event at each of these ticks.
struct Moments(Vec<u64>);

impl Source for Moments {
    fn next(&mut self, record: &mut ModelRecord) -> NextRecord {
        let Some(cycles) = self.0.pop() else { return NextRecord::End };
        record.set_class(0);
        record.set_cycles(cycles);
        NextRecord::Event
    }
}

fn trace_of_clock(clock: ClockClass, mut ticks: Vec<u64>) -> RecordTrace {
    ticks.sort_unstable_by(|a, b| b.cmp(a));
    let stream = DataStreamClass::new(Some(0), [EventRecordClass::new("e", [])]);
    let trace = Trace::new(TraceClass::new("others", [clock], [stream]), "t", &Limits::default()).unwrap();
    RecordTrace::new("others", trace, &Limits::default())
        .with_stream(0, "a", 0, move || Moments(ticks.clone()))
}

fn frequency() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(1_000_000_000),
        Just(24_000_000),
        Just(2_995_200_000),
        Just(1),
        1..5_000u64,
        1..10_000_000_000u64,
    ]
}

/// From 1970 to 2500.
const TIMES: std::ops::Range<u64> = 0..16_725_000_000_000_000_000;

proptest! {
    /// Times stay the same however often a trace is written.
    #[test]
    fn times_of_a_base_stay_the_same(
        frequency in frequency(),
        base in (0..1_000_000_000_000u64, TIMES),
        ticks in vec(0..1u64 << 40, 1..8),
    ) {
        let read = open(&trace_with_base(frequency, base.into(), &ticks));
        let expected = times(&read);
        let (written, losses) = write(&read);
        prop_assert!(losses.is_empty(), "{:?}", losses);
        let again = open(&written);
        prop_assert_eq!(&times(&again), &expected);
        prop_assert_eq!(&again.trace().class.clocks[0].origin, &ClockOrigin::UnixEpoch);
        prop_assert_eq!(write(&again).0, written);
    }

    /// A base time is exact on a clock with at least one tick per nanosecond, and within half a tick on others.
    #[test]
    fn ticks_of_a_base_are_its_nanoseconds(frequency in frequency(), ticks in 0..1_000_000u64, nanoseconds in TIMES) {
        let trace = open(&trace_with_base(frequency, [ticks, nanoseconds], &[ticks]));
        let error = (times(&trace)[0].1 - i128::from(nanoseconds)).unsigned_abs();
        let most = if frequency < 1_000_000_000 { 500_000_000u64.div_ceil(frequency) } else { 0 };
        prop_assert!(error <= most.into(), "{}", error);
    }

    /// Clocks from other formats that count from 1970 also keep their times, unless they exceed 63 bits.
    #[test]
    fn times_of_other_formats_stay_the_same(
        frequency in frequency(),
        seconds in -1_000_000i64..4_000_000_000,
        cycles in 0..5_000_000_000u64,
        ticks in vec(0..1u64 << 40, 1..8),
    ) {
        let mut clock = ClockClass::new("c", frequency);
        (clock.offset_seconds, clock.offset_cycles) = (seconds, cycles);
        clock.origin = ClockOrigin::UnixEpoch;
        let trace = trace_of_clock(clock, ticks);
        let (written, losses) = write(&trace);
        let again = open(&written);
        let clock = &again.trace().class.clocks[0];
        let most = i128::from(i64::MAX);
        let (wanted, found) = (times(&trace), times(&again));
        prop_assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.into_iter().zip(&wanted) {
            if wanted.1 <= most {
                prop_assert_eq!(found, *wanted);
            } else {
                prop_assert!(found.1 <= most && clock.nanoseconds(found.0 + 1) > most, "{:?}", found);
            }
        }
        let rounded = losses.iter().filter(|(loss, _)| loss.what.starts_with("time before the origin"));
        let late = wanted.iter().filter(|(_, time)| *time > most).count() as u64;
        prop_assert_eq!(rounded.map(|(_, count)| count).sum::<u64>(), late);
        prop_assert_eq!(&clock.origin, &ClockOrigin::UnixEpoch);
        prop_assert!(losses.iter().all(|(loss, _)| !loss.field.starts_with("clock")), "{:?}", losses);
    }
}

/// A clock that starts after 63 bits of nanoseconds. All its events are at their end.
#[test]
fn a_clock_that_starts_too_late() {
    let mut clock = ClockClass::new("c", 1_000);
    clock.offset_seconds = 10_000_000_000;
    clock.origin = ClockOrigin::UnixEpoch;
    let (written, losses) = write(&trace_of_clock(clock, vec![0, 5]));
    let most = i64::MAX as u64 / 1_000_000;
    assert_eq!(times(&open(&written)), [(most, i128::from(most) * 1_000_000); 2]);
    let is_range = |loss: &str| loss.ends_with("more than 63 bits of nanoseconds after it");
    assert!(losses.iter().any(|(loss, count)| is_range(&loss.what) && count == 2), "{losses:?}");
}

/// A clock whose 64 bits end before 1970 cannot have a base time in a trace, so its times count from its own origin.
#[test]
fn an_origin_without_a_base_is_a_loss() {
    let mut clock = ClockClass::new("c", 3);
    clock.offset_seconds = i64::MIN;
    clock.origin = ClockOrigin::UnixEpoch;
    let (written, losses) = write(&trace_of_clock(clock, vec![5]));
    assert_eq!(open(&written).trace().class.clocks[0].origin, ClockOrigin::Unknown);
    let losses: Vec<_> =
        losses.iter().map(|(loss, _)| format!("{} {} {}", loss.kind, loss.field, loss.what)).collect();
    for expected in [
        "dropped clock.c origin: 1970, because no whole-nanosecond time fits in 63 bits",
        "lowered clock.c offset -> added to all times",
        "rounded  time before the origin, or more than 63 bits of nanoseconds after it",
    ] {
        assert!(losses.iter().any(|loss| loss == expected), "{losses:#?}");
    }
}
