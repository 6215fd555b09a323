//! A time window must return exactly the events that remain after filtering all events by time.

use ichnos_ctf::trace::{CtfOptions, OpenResult, open};
use ichnos_io::{IoLimits, Tree};
use ichnos_model::cursor::StreamCursor;
use ichnos_model::{Message, OpenedTrace, Window};

use crate::support::traces;

/// Time, class and place in the packet of each event in each data stream.
type EventPlaces = Vec<(Option<i128>, String, u64)>;

fn events(cursor: &mut dyn StreamCursor) -> EventPlaces {
    let mut events = Vec::new();
    while cursor.advance() {
        if let Some(Message::Event(event)) = cursor.current() {
            let time = event.clock.map(|clock| clock.nanoseconds);
            let place = event.scopes.begins()[5].bit;
            events.push((time, event.class.name.clone().unwrap_or_default(), place));
        }
    }
    events
}

fn compare(opened: &OpenResult) -> u64 {
    let mut compared = 0;
    for trace in &opened.traces {
        let all: Vec<EventPlaces> =
            trace.cursors(Window::default()).iter_mut().map(|cursor| events(cursor)).collect();
        for (i, full) in all.iter().enumerate() {
            let mut times: Vec<i128> = full.iter().filter_map(|(time, ..)| *time).collect();
            times.sort_unstable();
            let Some(last) = times.len().checked_sub(1) else { continue };
            // Fewer windows in long streams, to save time.
            let at = if full.len() > 2_000 { vec![last / 2] } else { vec![0, last / 2, last] };
            let mut points: Vec<Option<i128>> = at
                .iter()
                .filter_map(|at| times.get(*at))
                .flat_map(|time| [time - 1, *time, time + 1])
                .map(Some)
                .collect();
            points.push(None);
            for begin in &points {
                for end in &points {
                    let wanted = |time: i128| {
                        begin.is_none_or(|begin| time >= begin) && end.is_none_or(|end| time <= end)
                    };
                    let expected: EventPlaces =
                        full.iter().filter(|(time, ..)| time.is_none_or(wanted)).cloned().collect();
                    let window = Window { begin: *begin, end: *end };
                    let found = events(&mut trace.streams[i].cursor(window));
                    assert!(found == expected, "{} stream {i} {window:?}", trace.path());
                    compared += 1;
                }
            }
        }
    }
    compared
}

#[test]
fn are_exact_with_and_without_indexes() {
    let Some(traces) = traces() else { return };
    for directory in ["lttng-ust", "lttng-live-relayd", "babeltrace", "barectf", "ctf2"] {
        let tree = match Tree::open(&traces.join("ctf/real").join(directory), &IoLimits::default()) {
            Ok(tree) => tree,
            Err(error) => {
                eprintln!("skipped {directory}: {error}");
                continue;
            }
        };
        for lttng_index in [true, false] {
            let mut options = CtfOptions::default();
            options.lttng_index = lttng_index;
            let compared = compare(&open(&[&tree], &options));
            eprintln!("{directory}: {compared} windows");
        }
    }
}
