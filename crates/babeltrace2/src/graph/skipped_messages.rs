//! Number of messages before a time window.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ichnos::Session;
use ichnos::model::Window;
use ichnos::model::cursor::MessageKind;

use crate::graph::trimmed_streams::TrimmedStreams;

/// Counts the messages that Babeltrace's trimmer receives and drops before the first message in its window. Returns `None`
/// if the window is open at its start.
pub(crate) fn skipped_messages(session: &Session, streams: &TrimmedStreams) -> Option<u64> {
    let begin = streams.window_begin()?;
    let mut uncertain: HashSet<u32> = HashSet::new();
    for trace in session.traces() {
        trace.for_each_stream(&mut |summary| {
            if summary.discarded_before {
                uncertain.insert(summary.stream.key);
            }
        });
    }
    let mut skipped = 0;
    let window = Window { begin: None, end: Some(begin) };
    let reader = session.stream_reader_of(window, |stream| streams.contains(stream.key));
    reader.for_each_head(|stream, head| {
        if head.nanoseconds().is_some_and(|time| time >= begin) {
            return ControlFlow::Break(());
        }
        let is_counted = match head.kind {
            MessageKind::Damage | MessageKind::Inactivity => false,
            // Babeltrace knows no loss before the first packet.
            MessageKind::DiscardedEvents => !uncertain.remove(&stream.key),
            MessageKind::StreamEnd => streams.is_early(stream.key),
            _ => true,
        };
        skipped += u64::from(is_counted);
        ControlFlow::Continue(())
    });
    Some(skipped)
}
