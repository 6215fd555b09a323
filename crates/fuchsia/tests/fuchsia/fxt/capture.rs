//! A real capture from Jane Street's magic-trace.

use std::collections::BTreeMap;

use ichnos_fuchsia::fxt::{Record, Records};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::{Cursor, Message, OpenedTrace, Window};

use super::dump::{open, read};

fn capture() -> Option<Vec<u8>> {
    std::fs::read(ichnos_testing::recorded("fuchsia/magic-trace/trace.fxt")?).ok()
}

#[test]
fn all_records_are_read_by_kind() {
    let Some(bytes) = capture() else { return };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for record in Records::new(&bytes) {
        let name = match record.unwrap().record {
            Record::Metadata(_) => "metadata",
            Record::Initialization(clock) => {
                assert!(clock.base.is_some());
                "initialization"
            }
            Record::String(_) => "string",
            Record::Thread(_) => "thread",
            Record::Event(event) if event.kind.number() == 2 => "begin",
            Record::Event(event) if event.kind.number() == 3 => "end",
            Record::KernelObject(_) => "kernel object",
            other => panic!("{other:?}"),
        };
        *counts.entry(name).or_default() += 1;
    }
    let expected = [
        ("begin", 17_296),
        ("end", 17_296),
        ("initialization", 1),
        ("kernel object", 2),
        ("metadata", 3),
        ("string", 864),
        ("thread", 1),
    ];
    assert_eq!(counts.values().sum::<u64>(), 35_463);
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn events_have_times_names_and_threads() {
    let Some(bytes) = capture() else { return };
    let lines = read(&bytes);
    assert_eq!(lines.len(), 34_594);
    assert_eq!(lines[0], "- kernel_object |  | koid=1 type=1(process) name='2248878/2248878'");
    assert_eq!(lines[1], "- kernel_object |  | koid=2 type=2(thread) name='main' | process=1");
    let names = "process_name='2248878/2248878' thread_name='main'";
    assert!(lines[2..].iter().all(|line| line.ends_with(names)), "{}", lines[2]);
    let trace = open(&bytes);
    let mut times = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current()
                && let Some(clock) = event.clock
            {
                times.push(clock.nanoseconds);
            }
        }
    }
    assert!(times.is_sorted());
    // The time of the initialization record, 2022-04-20.
    let base = ClockOrigin::UnixEpoch;
    assert_eq!(trace.trace().class.clocks[0].origin, base);
    assert_eq!(times[0] / 1_000_000_000, 1_650_419_113);
}
