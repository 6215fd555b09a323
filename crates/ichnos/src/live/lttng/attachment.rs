//! Streams of a session, across several connections.

use std::collections::{BTreeMap, BTreeSet};

use crate::ctf::live::LostPacket;
use ichnos_lttng_live::{LiveEvent, LiveStream, PacketEntry, SeekPosition, TraceKey};

use super::received_queue::Received;

/// Number of bytes at the start of metadata that identify a trace. They contain its UUID.
const HEAD_BYTES: usize = 4096;

/// Streams of the attached sessions. After a lost connection, traces and data streams go on where they were.
#[derive(Debug)]
pub(super) struct Attachment {
    from: SeekPosition,
    /// Earliest clock value that the first connection has delivered.
    begin: Option<u64>,
    /// `true` if a connection was lost.
    was_lost: bool,
    next_key: u64,
    sessions: BTreeSet<u64>,
    traces: BTreeMap<TraceKey, AttachedTrace>,
    /// Data streams by the id of the relay daemon.
    streams: BTreeMap<u64, AttachedStream>,
    /// Traces of metadata streams.
    metadata_streams: BTreeMap<u64, TraceKey>,
    /// Traces of the lost connection, by path.
    lost: BTreeMap<String, AttachedTrace>,
}

#[derive(Debug)]
struct AttachedTrace {
    key: u64,
    path: String,
    /// Start of its metadata, and the number of all metadata bytes.
    head: Vec<u8>,
    metadata_bytes: u64,
    /// Number of metadata bytes that arrive again.
    known_bytes: u64,
    /// Data streams of the lost connection, by file.
    lost_streams: BTreeMap<String, AttachedStream>,
    /// Data streams that arrived before it was known whether the trace goes on: ids and files.
    undecided: Option<Vec<(u64, String)>>,
    has_ended: bool,
}

#[derive(Debug)]
struct AttachedStream {
    key: u64,
    trace: TraceKey,
    file: String,
    /// Clock value before which everything has arrived.
    reached: u64,
    /// `true` if packets may arrive again.
    goes_on: bool,
}

impl Attachment {
    pub(super) fn new(from: SeekPosition) -> Self {
        Self {
            from,
            begin: None,
            was_lost: false,
            next_key: 0,
            sessions: BTreeSet::new(),
            traces: BTreeMap::new(),
            streams: BTreeMap::new(),
            metadata_streams: BTreeMap::new(),
            lost: BTreeMap::new(),
        }
    }

    /// Returns `true` if a time was delivered.
    pub(super) fn has_begun(&self) -> bool {
        self.begin.is_some()
    }

    /// Notes a delivered time.
    fn note_time(&mut self, time: u64) {
        if !self.was_lost {
            self.begin = Some(self.begin.map_or(time, |begin| begin.min(time)));
        }
    }

    /// Returns `true` for packets from before the first connection, which a later connection delivers.
    fn is_before(&self, end: u64) -> bool {
        self.was_lost && self.from == SeekPosition::Last && self.begin.is_some_and(|begin| end < begin)
    }

    /// Returns the number of open data streams.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns the attached sessions.
    pub(super) fn sessions(&self) -> &BTreeSet<u64> {
        &self.sessions
    }

    /// Returns the ids of all data streams at the relay daemon, and their keys.
    pub(super) fn ids(&self) -> impl Iterator<Item = (u64, u64)> {
        self.streams.iter().map(|(id, stream)| (*id, stream.key))
    }

    /// Notes that the connection was lost.
    pub(super) fn disconnect(&mut self) {
        self.was_lost = self.has_begun();
        self.sessions.clear();
        self.metadata_streams.clear();
        let mut traces = std::mem::take(&mut self.traces);
        for (_, stream) in std::mem::take(&mut self.streams) {
            if let Some(trace) = traces.get_mut(&stream.trace) {
                trace.lost_streams.insert(stream.file.clone(), stream);
            }
        }
        // An undecided trace is still among the lost ones.
        for (_, trace) in traces.into_iter().filter(|(_, trace)| trace.undecided.is_none()) {
            self.lost.insert(trace.path.clone(), trace);
        }
    }

    /// Ends what did not come back after the connection was restored. All streams were announced by now.
    pub(super) fn end_lost(&mut self, push: &mut dyn FnMut(Received)) {
        let back: BTreeSet<&String> = self.traces.values().map(|trace| &trace.path).collect();
        let gone = self.lost.extract_if(.., |path, _| !back.contains(path));
        gone.for_each(|(_, trace)| end_trace(trace, push));
    }

    /// Translates an event.
    pub(super) fn take(&mut self, event: LiveEvent, push: &mut dyn FnMut(Received)) {
        match event {
            LiveEvent::Attached { session } => {
                self.sessions.insert(session);
            }
            LiveEvent::StreamBegin(stream) => self.begin(stream, push),
            LiveEvent::Metadata { trace, bytes } => self.add_metadata(trace, bytes, push),
            LiveEvent::Packet(packet) => {
                if let Some(stream) = self.reach(packet.stream, packet.entry, push) {
                    push(Received::Packet { stream, offset: packet.entry.offset, bytes: packet.bytes });
                }
            }
            LiveEvent::PacketLost { stream, entry, reason } => {
                if let Some(stream) = self.reach(stream, entry, push) {
                    let place = LostPacket {
                        offset: entry.offset,
                        bytes: entry.bytes(),
                        class_id: entry.stream_class.into(),
                        end: entry.timestamp_end,
                    };
                    push(Received::PacketLost { stream, place, reason: reason.to_string() });
                }
            }
            LiveEvent::Inactive { stream, time, stream_class: class_id } => {
                self.decide_for(stream, push);
                self.note_time(time);
                if let Some(known) = self.streams.get_mut(&stream) {
                    known.reached = known.reached.max(time);
                    push(Received::Inactive { stream: known.key, class_id, time });
                }
            }
            LiveEvent::StreamEnd { stream, .. } => self.end(stream, push),
            LiveEvent::SessionEnd { session, .. } => {
                self.sessions.remove(&session);
            }
            // Answers to requests.
            _ => {}
        }
    }

    fn next_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }

    fn begin(&mut self, stream: LiveStream, push: &mut dyn FnMut(Received)) {
        if !self.traces.contains_key(&stream.trace) {
            let key = self.next_key();
            let is_lost = self.lost.contains_key(&stream.path);
            if !is_lost {
                push(Received::TraceBegin { trace: key, path: stream.path.clone() });
            }
            let trace = AttachedTrace::new(key, stream.path, is_lost);
            self.traces.insert(stream.trace, trace);
        }
        if stream.is_metadata {
            self.metadata_streams.insert(stream.id, stream.trace);
            return;
        }
        let Some(trace) = self.traces.get_mut(&stream.trace) else { return };
        match &mut trace.undecided {
            Some(undecided) => undecided.push((stream.id, stream.channel)),
            None => self.begin_data(stream.id, stream.trace, stream.channel, push),
        }
    }

    /// Begins a data stream, or continues one of the lost connection.
    fn begin_data(&mut self, id: u64, trace: TraceKey, file: String, push: &mut dyn FnMut(Received)) {
        let key = self.next_key();
        let Some(own) = self.traces.get_mut(&trace) else { return };
        let stream = match own.lost_streams.remove(&file) {
            Some(before) => AttachedStream { trace, goes_on: true, ..before },
            None => {
                push(Received::StreamBegin { stream: key, trace: own.key, file: file.clone(), number: id });
                AttachedStream { key, trace, file, reached: 0, goes_on: false }
            }
        };
        self.streams.insert(id, stream);
    }

    fn add_metadata(&mut self, key: TraceKey, bytes: Vec<u8>, push: &mut dyn FnMut(Received)) {
        self.decide(key, Some(&bytes), push);
        let Some(trace) = self.traces.get_mut(&key) else { return };
        let known = usize::try_from(trace.known_bytes).unwrap_or(usize::MAX).min(bytes.len());
        trace.known_bytes -= known as u64;
        let bytes = bytes.get(known..).unwrap_or_default().to_vec();
        let room = HEAD_BYTES.saturating_sub(trace.head.len()).min(bytes.len());
        trace.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        trace.metadata_bytes += bytes.len() as u64;
        if !bytes.is_empty() {
            push(Received::Metadata { trace: trace.key, bytes });
        }
    }

    /// Decides whether a trace is the one of the lost connection: its metadata begins in the same way.
    fn decide(&mut self, key: TraceKey, metadata: Option<&[u8]>, push: &mut dyn FnMut(Received)) {
        let Some(trace) = self.traces.get_mut(&key) else { return };
        let Some(undecided) = trace.undecided.take() else { return };
        if let Some(lost) = self.lost.remove(&trace.path) {
            let common = metadata.map_or(0, |metadata| metadata.len().min(lost.head.len()));
            let is_same =
                common > 0 && metadata.and_then(|bytes| bytes.get(..common)) == lost.head.get(..common);
            if is_same {
                *trace = AttachedTrace { known_bytes: lost.metadata_bytes, ..lost };
            } else {
                push(Received::TraceBegin { trace: trace.key, path: trace.path.clone() });
                end_trace(lost, push);
            }
        }
        for (id, file) in undecided {
            self.begin_data(id, key, file, push);
        }
        if let Some(trace) = self.traces.get_mut(&key) {
            let gone = std::mem::take(&mut trace.lost_streams);
            gone.into_values().for_each(|stream| push(Received::StreamEnd { stream: stream.key }));
        }
    }

    /// Decides about the trace of a data stream if its metadata has not arrived.
    fn decide_for(&mut self, stream: u64, push: &mut dyn FnMut(Received)) {
        if self.streams.contains_key(&stream) {
            return;
        }
        let has_stream = |trace: &AttachedTrace| {
            trace.undecided.as_ref().is_some_and(|streams| streams.iter().any(|(id, _)| *id == stream))
        };
        let key = self.traces.iter().find(|(_, trace)| has_stream(trace)).map(|(key, _)| *key);
        if let Some(key) = key {
            self.decide(key, None, push);
        }
    }

    /// Returns the key of a packet's data stream, if the packet is new.
    fn reach(&mut self, stream: u64, entry: PacketEntry, push: &mut dyn FnMut(Received)) -> Option<u64> {
        self.decide_for(stream, push);
        if self.is_before(entry.timestamp_end) {
            return None;
        }
        self.note_time(entry.timestamp_begin);
        let stream = self.streams.get_mut(&stream)?;
        if stream.goes_on && entry.timestamp_end <= stream.reached {
            return None;
        }
        stream.goes_on = false;
        stream.reached = stream.reached.max(entry.timestamp_end);
        Some(stream.key)
    }

    fn end(&mut self, id: u64, push: &mut dyn FnMut(Received)) {
        self.decide_for(id, push);
        if let Some(key) = self.metadata_streams.remove(&id) {
            self.decide(key, None, push);
            if let Some(trace) = self.traces.get_mut(&key) {
                trace.has_ended = true;
                push(Received::TraceEnd { trace: trace.key });
            }
            self.forget(key);
        } else if let Some(stream) = self.streams.remove(&id) {
            push(Received::StreamEnd { stream: stream.key });
            self.forget(stream.trace);
        }
    }

    /// Forgets a trace that has ended.
    fn forget(&mut self, key: TraceKey) {
        let has_ended = self.traces.get(&key).is_some_and(|trace| trace.has_ended);
        if has_ended && !self.streams.values().any(|stream| stream.trace == key) {
            self.traces.remove(&key);
        }
    }
}

impl AttachedTrace {
    fn new(key: u64, path: String, is_lost: bool) -> Self {
        Self {
            key,
            path,
            head: Vec::new(),
            metadata_bytes: 0,
            known_bytes: 0,
            lost_streams: BTreeMap::new(),
            undecided: is_lost.then(Vec::new),
            has_ended: false,
        }
    }
}

/// Ends a trace of the lost connection.
fn end_trace(trace: AttachedTrace, push: &mut dyn FnMut(Received)) {
    trace.lost_streams.into_values().for_each(|stream| push(Received::StreamEnd { stream: stream.key }));
    push(Received::TraceEnd { trace: trace.key });
}

#[cfg(test)]
mod tests {
    use ichnos_lttng_live::{LivePacket, PacketLossReason};

    use super::*;

    const TRACE: TraceKey = TraceKey { session: 1, trace: 1 };

    fn stream(id: u64, is_metadata: bool, channel: &str) -> LiveEvent {
        let (path, channel) = ("ust".to_owned(), channel.to_owned());
        LiveEvent::StreamBegin(LiveStream { id, trace: TRACE, is_metadata, path, channel })
    }

    fn packet(stream: u64, timestamp_begin: u64, timestamp_end: u64) -> LiveEvent {
        let entry = PacketEntry {
            offset: 0,
            packet_size: 8,
            content_size: 8,
            timestamp_begin,
            timestamp_end,
            events_discarded: 0,
            stream_class: 0,
        };
        LiveEvent::Packet(LivePacket { stream, entry, bytes: vec![0] })
    }

    /// Attaches to two data streams, `id` and the next one. Returns the keys of the data streams with packets.
    fn packets(attachment: &mut Attachment, id: u64, events: Vec<LiveEvent>) -> Vec<u64> {
        let mut keys = Vec::new();
        let metadata = LiveEvent::Metadata { trace: TRACE, bytes: b"metadata".to_vec() };
        let streams =
            [stream(99, true, "metadata"), stream(id, false, "a"), stream(id + 1, false, "b"), metadata];
        for event in streams.into_iter().chain(events) {
            attachment.take(event, &mut |item| {
                if let Received::Packet { stream, .. } = item {
                    keys.push(stream);
                }
            });
        }
        keys
    }

    /// The first connection began at 100. What is older stays away, also in data streams that had nothing since then.
    #[test]
    fn what_was_left_out_stays_out_after_a_lost_connection() {
        let mut attachment = Attachment::new(SeekPosition::Last);
        let beacon = LiveEvent::Inactive { stream: 2, time: 120, stream_class: 0 };
        assert_eq!(packets(&mut attachment, 1, vec![packet(1, 100, 110), beacon]).len(), 1);
        attachment.disconnect();
        let again = vec![packet(11, 10, 20), packet(11, 100, 110), packet(11, 115, 130)];
        let other = vec![
            packet(12, 30, 99),
            packet(12, 90, 130),
            LiveEvent::PacketLost {
                stream: 12,
                entry: PacketEntry {
                    offset: 0,
                    packet_size: 8,
                    content_size: 8,
                    timestamp_begin: 1,
                    timestamp_end: 2,
                    events_discarded: 0,
                    stream_class: 0,
                },
                reason: PacketLossReason::Failed,
            },
        ];
        let keys = packets(&mut attachment, 11, again.into_iter().chain(other).collect());
        assert_eq!(keys.len(), 2, "{keys:?}");
        // From the beginning, everything that is new counts.
        let mut attachment = Attachment::new(SeekPosition::Beginning);
        packets(&mut attachment, 1, vec![packet(1, 100, 110)]);
        attachment.disconnect();
        assert_eq!(packets(&mut attachment, 11, vec![packet(11, 100, 110), packet(12, 30, 99)]).len(), 1);
    }

    /// Without any delivered time, the relay daemon is asked for the newest packets again.
    #[test]
    fn a_connection_that_delivered_nothing() {
        let mut attachment = Attachment::new(SeekPosition::Last);
        attachment.disconnect();
        assert!(!attachment.has_begun());
        assert_eq!(packets(&mut attachment, 1, vec![packet(1, 100, 110)]).len(), 1);
    }
}
