//! Events and losses in a sorter, before their rows are written.

use ichnos_model::message::Discarded;

use super::written_event::NettraceEvent;
use crate::wire::Wire;
use crate::wire::zigzag;
use crate::wire_writer::{push_string, push_u32, push_u64, push_varint, push_varuint};

/// Stack in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventStack {
    /// Number in the trace's stack table.
    pub(super) number: u32,
    /// Process (version 6) and time of the event, if its function names are written at the end of the file.
    pub(super) names: Option<(Option<u64>, Option<i128>)>,
}

/// Message in a sorter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoredMessage<'r> {
    /// Event. Its other parts are in a [`NettraceEvent`].
    Event {
        metadata_id: u32,
        /// Data stream key.
        stream: u32,
        stack: Option<EventStack>,
        payload: &'r [u8],
    },
    /// Missing events in a thread. Without a count, their number is unknown.
    Loss { thread: Option<u64>, count: Option<u64> },
}

const LOSS: u8 = 0;
const EVENT: u8 = 1;

/// Appends a loss.
pub(super) fn store_loss(discarded: &Discarded<'_>, out: &mut Vec<u8>) {
    out.push(LOSS);
    for number in [discarded.thread, discarded.count] {
        push_option(out, number, push_varuint);
    }
}

fn push_option<T>(out: &mut Vec<u8>, value: Option<T>, push: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(value.is_some().into());
    if let Some(value) = value {
        push(out, value);
    }
}

fn push_time(out: &mut Vec<u8>, time: i128) {
    out.extend_from_slice(&time.to_le_bytes());
}

impl StoredMessage<'_> {
    /// Appends an event with these parts.
    pub(super) fn store(&self, parts: &NettraceEvent, out: &mut Vec<u8>) {
        let Self::Event { metadata_id, stream, stack, payload } = self else { return };
        out.push(EVENT);
        push_u32(out, *metadata_id);
        push_u32(out, *stream);
        push_option(out, *stack, |out, stack| {
            push_u32(out, stack.number);
            push_option(out, stack.names, |out, (process, time)| {
                push_option(out, process, push_varuint);
                push_option(out, time, push_time);
            });
        });
        push_u64(out, parts.ticks);
        push_varuint(out, parts.thread);
        push_u32(out, parts.processor);
        for id in [parts.activity, parts.related_activity] {
            push_option(out, Some(id).filter(|id| *id != [0; 16]), |out, id| out.extend_from_slice(&id));
        }
        for number in [parts.capture_thread, parts.process, parts.span_id, parts.capture_process] {
            push_option(out, number, push_varuint);
        }
        push_option(out, parts.trace_id, |out, id| out.extend_from_slice(&id));
        push_option(out, parts.thread_name.as_deref(), push_string);
        push_varuint(out, parts.labels.len() as u64);
        for (name, value) in &parts.labels {
            push_string(out, name);
            push_string(out, value);
        }
        push_varuint(out, parts.numeric_labels.len() as u64);
        for (name, value) in &parts.numeric_labels {
            push_string(out, name);
            push_varint(out, *value);
        }
        out.extend_from_slice(payload);
    }
}

fn option<'w, T>(wire: &mut Wire<'w>, read: impl FnOnce(&mut Wire<'w>) -> Option<T>) -> Option<Option<T>> {
    Some(match wire.u8()? {
        0 => None,
        _ => Some(read(wire)?),
    })
}

fn number(wire: &mut Wire<'_>) -> Option<Option<u64>> {
    option(wire, Wire::varuint64)
}

/// Reads a message, and an event's parts into `parts`. Returns `None` if it is incomplete.
pub(super) fn load<'r>(record: &'r [u8], parts: &mut NettraceEvent) -> Option<StoredMessage<'r>> {
    let wire = &mut Wire::new(record);
    if wire.u8()? == LOSS {
        return Some(StoredMessage::Loss { thread: number(wire)?, count: number(wire)? });
    }
    let (metadata_id, stream) = (wire.u32()?, wire.u32()?);
    let stack = option(wire, |wire| {
        let number_of_stack = wire.u32()?;
        let names = option(wire, |wire| {
            let process = number(wire)?;
            let time = option(wire, |wire| Some(i128::from_le_bytes(*wire.take(16)?.first_chunk()?)))?;
            Some((process, time))
        })?;
        Some(EventStack { number: number_of_stack, names })
    })?;
    parts.begin(wire.u64()?);
    parts.thread = wire.varuint64()?;
    parts.processor = wire.u32()?;
    // A missing GUID is all zeros, as in files.
    parts.activity = option(wire, Wire::guid)?.unwrap_or_default();
    parts.related_activity = option(wire, Wire::guid)?.unwrap_or_default();
    parts.capture_thread = number(wire)?;
    parts.process = number(wire)?;
    parts.span_id = number(wire)?;
    parts.capture_process = number(wire)?;
    parts.trace_id = option(wire, Wire::guid)?;
    parts.thread_name = option(wire, Wire::string)?;
    for _ in 0..wire.varuint64()? {
        parts.labels.push((wire.string()?, wire.string()?));
    }
    for _ in 0..wire.varuint64()? {
        parts.numeric_labels.push((wire.string()?, zigzag(wire.varuint64()?)));
    }
    Some(StoredMessage::Event { metadata_id, stream, stack, payload: wire.rest() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_loaded_as_they_were() {
        let parts = NettraceEvent {
            ticks: u64::MAX,
            thread: 1 << 40,
            capture_thread: Some(0),
            processor: 3,
            activity: [7; 16],
            process: Some(9),
            thread_name: Some("worker".to_owned()),
            trace_id: Some([1; 16]),
            labels: vec![("k".to_owned(), "v".to_owned())],
            numeric_labels: vec![("n".to_owned(), i64::MIN)],
            ..NettraceEvent::default()
        };
        let names = [None, Some((None, Some(-1))), Some((Some(5), None))];
        let stacks = names.map(|names| Some(EventStack { number: 4, names }));
        for stack in stacks.into_iter().chain([None]) {
            let event = StoredMessage::Event { metadata_id: 2, stream: 8, stack, payload: b"abc" };
            let mut record = Vec::new();
            event.store(&parts, &mut record);
            let mut loaded = NettraceEvent::default();
            assert_eq!(load(&record, &mut loaded), Some(event));
            assert_eq!(format!("{loaded:?}"), format!("{parts:?}"));
            assert_eq!(load(&record[..10], &mut loaded), None);
        }
    }
}
