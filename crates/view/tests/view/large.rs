//! Generated trace with ten million events.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use ichnos::fuchsia::fxt::{
    ArgumentValue, EventKind, Initialization, RecordWriter, StringRecord, StringRef, ThreadRecord, ThreadRef,
};

/// Number of rounds, of names and of threads.
const ROUNDS: u64 = 1_960_000;
const NAMES: u16 = 500;
const THREADS: u8 = 8;

/// Number of rounds between two counter values.
const COUNTED: u64 = 10;

/// Number of events. Each round starts and ends two spans, with an instant between.
pub(crate) const EVENTS: u64 = 5 * ROUNDS + ROUNDS / COUNTED;

/// Number of spans and instants.
pub(crate) const ITEMS: u64 = 3 * ROUNDS;

/// Writes a Fuchsia trace with ten million events on eight threads and a counter.
pub(crate) fn write_large(path: &Path) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let mut buffer = vec![0; 64 << 10];
    let mut writer = RecordWriter::new(&mut buffer);
    writer.magic().unwrap();
    writer.initialization(&Initialization { ticks_per_second: 1_000_000_000, base: None }).unwrap();
    for thread in 1..=THREADS {
        let process = 100 + u64::from(thread) / 5;
        writer.thread(&ThreadRecord { index: thread, process, thread: 1_000 + u64::from(thread) }).unwrap();
    }
    for name in 1..=NAMES {
        let text = format!("function {name}");
        writer.string(&StringRecord { index: name, string: text.as_bytes() }).unwrap();
    }
    let [category, counter] = [NAMES + 1, NAMES + 2];
    writer.string(&StringRecord { index: category, string: b"made" }).unwrap();
    writer.string(&StringRecord { index: counter, string: b"depth" }).unwrap();
    file.write_all(writer.written()).unwrap();
    for round in 0..ROUNDS {
        writer.clear();
        // Some times are denser than others, and there are pauses.
        let begin = round * 4_000 + (round / 50_000) * 20_000_000 + round.wrapping_mul(2_654_435_761) % 700;
        let thread = ThreadRef::Index(1 + (round % u64::from(THREADS)) as u8);
        let name = |number: u64| StringRef::Index(1 + (number % u64::from(NAMES)) as u16);
        let (outer, inner) = (name(round / 3), name(round * 7));
        let mut event = |kind, after, name| {
            let names = [StringRef::Index(category), name];
            writer.begin_event(kind, begin + after, thread, names).unwrap().finish();
        };
        event(EventKind::DurationBegin, 0, outer);
        event(EventKind::DurationBegin, 200 + round % 100, inner);
        event(EventKind::Instant { scope: None }, 900, name(round));
        event(EventKind::DurationEnd, 1_500 + round % 1_000, inner);
        event(EventKind::DurationEnd, 3_000, outer);
        if round % COUNTED == 0 {
            let names = [StringRef::Index(category), StringRef::Index(counter)];
            let kind = EventKind::Counter { id: 1 };
            let mut event = writer.begin_event(kind, begin + 3_100, thread, names).unwrap();
            event.argument(StringRef::Inline(b"value"), ArgumentValue::Uint64(round % 997)).unwrap();
            event.finish();
        }
        file.write_all(writer.written()).unwrap();
    }
    file.flush().unwrap();
}
