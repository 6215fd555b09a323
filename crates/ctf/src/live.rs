//! Traces that are read while they are recorded.
//!
//! A [`LiveReader`] takes metadata and packets as they arrive, and merges the messages of all data streams by time. It
//! has no input of its own, so any connection can be its source.

mod arrived_packets;
mod arriving_stream;
mod growing_trace;
mod lost_packet;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::{Duration, Instant};

use ichnos_model::Message;
use ichnos_model::cursor::Head;
use ichnos_model::live::LivePoll;
use ichnos_model::message::Damage;

use self::arriving_stream::{ArrivingStream, NextMessage, StreamItem};
use self::growing_trace::GrowingTrace;
pub use self::lost_packet::LostPacket;
pub use crate::ctf_options::CtfOptions;
use crate::rule::Rule;

/// Reads traces while they are recorded.
///
/// Traces and data streams have keys, which the caller chooses. Each data stream gets whole packets, in order. A
/// message is delivered when all other open data streams have reached its time: by a later message, by the end of their
/// last packet, or by [`set_inactive`](Self::set_inactive). Silent data streams can be [passed](Self::pass_silent).
///
/// When metadata has grown, data streams with new classes end, and go on as new data streams with the same name.
#[derive(Debug, Default)]
pub struct LiveReader {
    options: CtfOptions,
    traces: BTreeMap<u64, GrowingTrace>,
    streams: BTreeMap<u64, OpenStream>,
    /// Data streams with a message, by time.
    ready: BinaryHeap<Reverse<(i128, u64)>>,
    /// Data streams without a message, by the time that they have reached.
    waiting: BTreeSet<(i128, u64)>,
    /// Waiting data streams for which something arrived.
    changed: BTreeSet<u64>,
    /// Data stream with the current message.
    current: Option<u64>,
    /// Time before which no message follows.
    promised: Option<i128>,
    /// Sizes of packets and losses that were read, with their data streams.
    consumed: Vec<(u64, usize)>,
    has_ended: bool,
    /// Reason for an early end, or for packets that were dropped at the end.
    problem: Option<String>,
}

/// A data stream, and its place among the others.
#[derive(Debug)]
struct OpenStream {
    stream: ArrivingStream,
    head: Option<Head>,
    /// Time that it has reached, if it waits. Unless it is silent, this is its place in `waiting`.
    waits_since: Option<i128>,
    /// Last reached time, and since when it has been reached.
    reached: i128,
    alive: Instant,
    /// `true` if it had messages since then.
    moved: bool,
    /// `true` if the others go on without it.
    is_silent: bool,
}

/// Time of messages that come at once.
const AT_ONCE: i128 = i128::MIN;

impl LiveReader {
    /// Creates a reader without traces.
    #[must_use]
    pub fn new(options: CtfOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Adds a trace. `path` names it. Data streams of an earlier trace with this key go on.
    pub fn begin_trace(&mut self, trace: u64, path: &str) {
        self.traces.entry(trace).or_insert_with(|| GrowingTrace::new(path));
    }

    /// Appends metadata to a trace: the bytes of its file `metadata`, as they are.
    pub fn add_metadata(&mut self, trace: u64, bytes: &[u8]) {
        let others = self.traces.iter().filter(|(key, _)| **key != trace);
        let others = others.fold(0, |sum: u64, (_, trace)| sum.saturating_add(trace.metadata_bytes()));
        let Some(growing) = self.traces.get_mut(&trace) else { return };
        if let Err(problem) = growing.append(bytes, others, &self.options.limits) {
            self.problem.get_or_insert(problem);
            return self.end();
        }
        let blocked = self.streams.iter().filter(|(_, open)| open.stream.trace == trace);
        let blocked = blocked.filter(|(_, open)| open.stream.needs_metadata);
        self.changed.extend(blocked.map(|(key, _)| *key));
    }

    /// Notes that a trace gets no further metadata and data streams. Open data streams go on.
    pub fn end_trace(&mut self, trace: u64) {
        if let Some(growing) = self.traces.get_mut(&trace) {
            growing.has_ended = true;
        }
        self.drop_trace(trace);
    }

    /// Adds a data stream to a trace. `file` is the name of its file in the trace. All messages wait for it.
    pub fn begin_stream(&mut self, stream: u64, trace: u64, file: &str) {
        let Some(growing) = self.traces.get_mut(&trace) else { return };
        if self.streams.contains_key(&stream) {
            return;
        }
        growing.streams += 1;
        let path = growing.path();
        let file = if path.is_empty() { file.to_owned() } else { format!("{path}/{file}") };
        let open = OpenStream {
            stream: ArrivingStream::new(trace, &file),
            head: None,
            waits_since: Some(AT_ONCE),
            reached: AT_ONCE,
            alive: Instant::now(),
            moved: false,
            is_silent: false,
        };
        self.streams.insert(stream, open);
        self.waiting.insert((AT_ONCE, stream));
    }

    /// Gives a data stream another name than its file, before its first packet.
    pub fn name_stream(&mut self, stream: u64, name: &str) {
        if let Some(open) = self.streams.get_mut(&stream) {
            open.stream.set_name(name);
        }
    }

    /// Adds a packet of a data stream. `offset` is its offset in the file.
    pub fn add_packet(&mut self, stream: u64, offset: u64, bytes: Vec<u8>) {
        self.push(stream, StreamItem::Packet { offset, bytes });
    }

    /// Reports that a packet was not received, because of `reason`. It ends at a value of the clock of its data stream
    /// class.
    pub fn lose_packet(&mut self, stream: u64, place: LostPacket, reason: String) {
        let Some(open) = self.streams.get(&stream) else { return };
        let LostPacket { offset, bytes, class_id, end } = place;
        let kind = Rule::NotReceived { bytes, reason }.into();
        let damage = Damage::new(open.stream.file(), offset.saturating_mul(8), kind);
        let damage = Box::new(damage.skipping(bytes.saturating_mul(8)));
        self.push(stream, StreamItem::Lost { damage, class_id, end });
    }

    /// Notes that no packet of a data stream will begin before a value of the clock. `class_id` is the id of its data
    /// stream class.
    pub fn set_inactive(&mut self, stream: u64, class_id: u128, cycles: u64) {
        self.push(stream, StreamItem::Inactive { class_id, cycles });
    }

    /// No longer waits for data streams that have not moved for `patience` while messages of others wait for them. They
    /// are waited for again when something arrives that moves them. Returns their names.
    pub fn pass_silent(&mut self, patience: Duration) -> Vec<String> {
        let mut passed = Vec::new();
        while let Some((reached, key)) = self.waiting.first().copied()
            && self.ready.peek().is_some_and(|Reverse((time, _))| *time > reached)
            && let Some(open) = self.streams.get_mut(&key)
            && open.alive.elapsed() >= patience
        {
            open.is_silent = true;
            self.waiting.remove(&(reached, key));
            passed.push(open.stream.file().to_owned());
        }
        passed
    }

    /// Ends a data stream after its last packet.
    pub fn end_stream(&mut self, stream: u64) {
        self.push(stream, StreamItem::End);
    }

    /// Ends all data streams. No others follow.
    pub fn end(&mut self) {
        self.has_ended = true;
        let open: Vec<u64> = self.streams.keys().copied().collect();
        open.into_iter().for_each(|stream| self.end_stream(stream));
    }

    /// Returns the reason why a data stream waits for metadata, if one does: one sentence without the full stop.
    #[must_use]
    pub fn metadata_problem(&self) -> Option<String> {
        let blocked = self.streams.values().find(|open| open.stream.needs_metadata)?;
        Some(self.traces.get(&blocked.stream.trace)?.problem())
    }

    /// Returns the packets that were read since the last call: their data streams and their sizes in bytes. Packets that
    /// were not received have the size [`LostPacket::MEMORY`].
    pub fn take_consumed(&mut self) -> Vec<(u64, usize)> {
        std::mem::take(&mut self.consumed)
    }

    /// Returns the current message after [`LivePoll::Message`].
    #[must_use]
    pub fn current(&self) -> Option<Message<'_>> {
        self.streams.get(&self.current?)?.stream.current()
    }

    /// Moves to the next message, if it is ready.
    pub fn poll(&mut self) -> LivePoll {
        while let Some(stream) = self.changed.pop_first() {
            self.wake(stream);
        }
        if let Some(stream) = self.current.take()
            && let Some(head) = self.advance(stream)
        {
            let time = time_of(head);
            if self.earliest().is_none_or(|earliest| time <= earliest) {
                self.current = Some(stream);
                return LivePoll::Message(head);
            }
            self.ready.push(Reverse((time, stream)));
        }
        if self.has_ended {
            self.give_up_waiting();
        }
        let waits_for = self.waiting.first().map(|(reached, _)| *reached);
        if let Some(Reverse((time, stream))) = self.ready.peek().copied()
            && waits_for.is_none_or(|reached| time <= reached)
            && let Some(head) = self.streams.get(&stream).and_then(|open| open.head)
        {
            self.ready.pop();
            self.current = Some(stream);
            return LivePoll::Message(head);
        }
        if !self.has_ended || !self.streams.is_empty() {
            let until = self.earliest().filter(|earliest| *earliest > AT_ONCE);
            self.promised = self.promised.max(until);
            return LivePoll::Pending(self.promised);
        }
        if self.problem.is_none() {
            let options = &self.options;
            self.problem = self.traces.values_mut().find_map(|trace| trace.unread_metadata(options));
        }
        self.problem.clone().map_or(LivePoll::End, LivePoll::Failed)
    }

    fn push(&mut self, stream: u64, item: StreamItem) {
        if let Some(open) = self.streams.get_mut(&stream) {
            open.stream.push(item);
            if open.waits_since.is_some() {
                self.changed.insert(stream);
            }
        }
    }

    /// Moves a waiting data stream to its next message.
    fn wake(&mut self, stream: u64) {
        let Some(since) = self.streams.get_mut(&stream).and_then(|open| open.waits_since.take()) else {
            return;
        };
        self.waiting.remove(&(since, stream));
        if let Some(head) = self.advance(stream) {
            self.ready.push(Reverse((time_of(head), stream)));
        }
    }

    /// Moves a data stream to its next message. Without one, it waits or has ended.
    fn advance(&mut self, key: u64) -> Option<Head> {
        let open = self.streams.get_mut(&key)?;
        let trace = self.traces.get_mut(&open.stream.trace)?;
        let next = open.stream.next(trace, &self.options);
        self.consumed.extend(open.stream.take_consumed().into_iter().map(|bytes| (key, bytes)));
        open.head = None;
        match next {
            NextMessage::Message(head) => {
                open.head = Some(head);
                open.is_silent = false;
                open.moved = true;
            }
            NextMessage::Waiting => {
                let since = open.stream.reached.unwrap_or(AT_ONCE);
                if std::mem::take(&mut open.moved) || since > open.reached || self.has_ended {
                    (open.reached, open.alive, open.is_silent) = (since, Instant::now(), false);
                }
                open.waits_since = Some(since);
                if !open.is_silent {
                    self.waiting.insert((since, key));
                }
            }
            NextMessage::Ended => self.remove(key),
        }
        self.streams.get(&key)?.head
    }

    fn remove(&mut self, stream: u64) {
        let Some(open) = self.streams.remove(&stream) else { return };
        if let Some(since) = open.waits_since {
            self.waiting.remove(&(since, stream));
        }
        let trace = open.stream.trace;
        if let Some(growing) = self.traces.get_mut(&trace) {
            growing.streams = growing.streams.saturating_sub(1);
        }
        self.drop_trace(trace);
    }

    /// Drops a trace if it has ended and its data streams, too.
    fn drop_trace(&mut self, trace: u64) {
        if self.traces.get(&trace).is_some_and(|growing| growing.has_ended && growing.streams == 0)
            && let Some(mut growing) = self.traces.remove(&trace)
            && self.problem.is_none()
        {
            self.problem = growing.unread_metadata(&self.options);
        }
    }

    /// Drops the packets of data streams that wait after the end, because their metadata cannot be read.
    fn give_up_waiting(&mut self) {
        while let Some((_, stream)) = self.waiting.first().copied() {
            if self.problem.is_none() {
                self.problem = self.metadata_problem();
            }
            match self.streams.get_mut(&stream) {
                Some(open) => open.stream.give_up(),
                None => return,
            }
            self.wake(stream);
        }
    }

    /// Returns the time of the earliest message that is not the current one, or the time that all waiting data streams
    /// have reached, if it is earlier.
    fn earliest(&self) -> Option<i128> {
        let ready = self.ready.peek().map(|Reverse((time, _))| *time);
        let reached = self.waiting.first().map(|(reached, _)| *reached);
        ready.into_iter().chain(reached).min()
    }
}

fn time_of(head: Head) -> i128 {
    head.nanoseconds().unwrap_or(AT_ONCE)
}

#[cfg(test)]
mod tests;
