//! The tracer for programs without an operating system.

use ichnos_tracer::{
    ClockDescription, FullPolicy, Platform, StreamOptions, TraceDescription, TraceEvent, Tracer,
};

use crate::read;

#[derive(TraceEvent)]
struct Tick {
    number: u32,
}

#[derive(TraceEvent)]
struct Large<'a> {
    bytes: &'a [u8],
}

ichnos_tracer::event_set! { struct Events { Tick, Large<'_> } }

/// A platform whose clock and readiness the test sets.
#[derive(Default)]
struct Board {
    now: u64,
    is_ready: bool,
    packets: Vec<u8>,
}

impl Platform for Board {
    fn now(&mut self) -> u64 {
        self.now
    }

    fn take(&mut self, packet: &[u8]) -> bool {
        if self.is_ready {
            self.packets.extend_from_slice(packet);
        }
        self.is_ready
    }
}

/// Returns the numbers of ticks, their times, and the numbers of discarded events.
fn ticks(tracer: &mut Tracer<'_, Board, Events>) -> (Vec<u64>, Vec<u64>, u32) {
    tracer.platform_mut().is_ready = true;
    assert!(tracer.flush());
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("s"), &tracer.platform().packets).unwrap();
    let mut metadata = String::new();
    TraceDescription::new(ClockDescription::new("c", 1000)).write::<Events>(&mut metadata).unwrap();
    std::fs::write(directory.path().join("metadata"), metadata).unwrap();
    let events = read(directory.path(), true);
    let number = |event: &serde_json::Value, path: &str| event.pointer(path).unwrap().as_u64().unwrap();
    let numbers = events.iter().map(|event| number(event, "/payload/number")).collect();
    let times = events.iter().map(|event| number(event, "/cycles")).collect();
    (numbers, times, tracer.discarded())
}

/// Four packets with five ticks each.
const SIZES: (usize, usize) = (4 * 96, 96);

fn tracer(buffer: &mut [u8], options: StreamOptions) -> Tracer<'_, Board, Events> {
    Tracer::new(Board::default(), buffer, SIZES.1, options)
}

#[test]
fn later_events_are_discarded_and_counted() {
    let mut buffer = [0; SIZES.0];
    let mut tracer = tracer(&mut buffer, StreamOptions::new(0));
    for number in 0..30 {
        assert_eq!(tracer.record(&Tick { number }), number < 20, "{number}");
    }
    tracer.platform_mut().is_ready = true;
    assert!(tracer.record(&Tick { number: 30 }));
    let (numbers, _, discarded) = ticks(&mut tracer);
    assert_eq!(numbers, (0..20).chain([30]).collect::<Vec<_>>());
    assert_eq!(discarded, 10);
}

#[test]
fn an_empty_packet_tells_what_was_discarded_at_the_end() {
    let mut buffer = [0; SIZES.0];
    let mut tracer = tracer(&mut buffer, StreamOptions::new(0));
    (0..30).for_each(|number| {
        tracer.record(&Tick { number });
    });
    // No packet is free.
    assert!(!tracer.flush());
    let (numbers, _, discarded) = ticks(&mut tracer);
    assert_eq!((numbers, discarded), ((0..20).collect(), 10));
    let packets = &tracer.platform().packets;
    assert_eq!(packets[packets.len() - 4..], 10u32.to_le_bytes());
    // It is told once.
    let length = packets.len();
    assert!(tracer.flush());
    assert_eq!(tracer.platform().packets.len(), length);
}

#[test]
fn a_flight_recorder_keeps_the_last_packets() {
    let mut buffer = [0; SIZES.0];
    let options = StreamOptions::new(0).with_policy(FullPolicy::Overwrite).with_whole_packets();
    let mut tracer = tracer(&mut buffer, options);
    assert!((0..33).all(|number| tracer.record(&Tick { number })));
    let (numbers, _, discarded) = ticks(&mut tracer);
    assert_eq!((numbers, discarded), ((15..33).collect(), 0));
}

#[test]
fn a_large_event_is_discarded_and_the_next_one_recorded() {
    let mut buffer = [0; SIZES.0];
    let mut tracer = tracer(&mut buffer, StreamOptions::new(0));
    assert!(tracer.record(&Tick { number: 1 }));
    assert!(!tracer.record(&Large { bytes: &[0; 100] }));
    assert!(tracer.record(&Tick { number: 2 }));
    assert_eq!(ticks(&mut tracer).0, [1, 2]);
    assert_eq!(tracer.discarded(), 1);
    let mut too_small = [0; 40];
    assert!(
        !Tracer::<_, Events>::new(Board::default(), &mut too_small, 40, StreamOptions::new(0))
            .record(&Tick { number: 1 })
    );
}

#[test]
fn times_never_go_back_and_long_pauses_begin_packets() {
    let mut buffer = [0; SIZES.0];
    let mut tracer = tracer(&mut buffer, StreamOptions::new(0));
    let times = [
        5,
        1 << 31,
        7,
        (1 << 31) + 9,
        (1 << 32) + (1 << 31) + 9,
        1 << 40,
        (1 << 40) + (1 << 32) - 1,
        1 << 42,
    ];
    for (number, now) in (0..).zip(times) {
        tracer.platform_mut().now = now;
        assert!(tracer.record(&Tick { number }));
    }
    let (_, found, _) = ticks(&mut tracer);
    let mut last = 0;
    let expected = times.map(|now| {
        last = last.max(now);
        last
    });
    assert_eq!(found, expected);
}
