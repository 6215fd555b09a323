//! Stream table and read order for attached sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::RangeInclusive;

use crate::error::ProtocolError;
use crate::event::{LivePacket, LiveStream, PacketEntry, TraceKey};
use crate::limits::LiveLimits;
use crate::messages::ViewerRequest;
use crate::reply_part::PartialPacket;

/// Longest time after which an idle data stream is asked again, in ticks.
const LONGEST_WAIT: u32 = 4;

/// Streams of all attached sessions.
#[derive(Debug, Default)]
pub(crate) struct LiveStreams {
    data: BTreeMap<u64, LiveDataStream>,
    traces: BTreeMap<TraceKey, LiveTrace>,
    /// Data streams to ask, by known time and id.
    ready: BTreeSet<(u64, u64)>,
    /// Data stream with an incomplete packet. It is finished before other packets, so that only one is in memory.
    unfinished: Option<u64>,
    /// Traces whose metadata must be read before anything else.
    metadata_due: BTreeSet<TraceKey>,
}

#[derive(Debug)]
struct LiveDataStream {
    trace: TraceKey,
    /// Time before which everything is known, in clock cycles.
    known_time: u64,
    packet: Option<PartialPacket>,
    readiness: Readiness,
    is_paused: bool,
    /// Ticks before the next request of a waiting data stream.
    ticks_left: u32,
    /// Last number of ticks to wait. It doubles until there is a packet: a new process must be read at once, because
    /// it may exit soon, but many idle data streams must not keep the relay daemon busy.
    wait: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    /// The data stream can be asked.
    Ready,
    /// A request was sent.
    Asked,
    /// The data stream must not be asked before a later tick.
    Waiting,
}

#[derive(Debug, Default)]
struct LiveTrace {
    metadata_stream: Option<u64>,
    metadata: MetadataState,
    metadata_bytes: u64,
    data_streams: u32,
    /// Had data streams. After the last one, the metadata is only read until the relay daemon drops it.
    had_data_streams: bool,
    /// The session is closed. Packets are read without metadata if nothing has arrived by now.
    is_closed: bool,
}

impl LiveDataStream {
    /// Returns the request for the next index entry, or the next part of a packet.
    fn request(&mut self, id: u64, request_bytes: u32) -> ViewerRequest {
        self.readiness = Readiness::Asked;
        match &self.packet {
            Some(packet) => packet.request(id, request_bytes),
            None => ViewerRequest::NextIndex { stream: id },
        }
    }
}

impl LiveTrace {
    /// Returns `true` if packets can be decoded, or never will be.
    fn is_readable(&self) -> bool {
        self.metadata != MetadataState::Missing || self.is_closed
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum MetadataState {
    /// No metadata has arrived. Packets cannot be decoded without it, so they are not requested.
    #[default]
    Missing,
    /// All metadata that the relay daemon had was received.
    Current,
    /// The relay daemon has dropped the metadata.
    Ended,
}

impl LiveStreams {
    /// Returns the number of data and metadata streams.
    pub(crate) fn count(&self) -> u64 {
        let metadata = self.traces.values().filter(|trace| trace.metadata_stream.is_some()).count();
        (self.data.len() + metadata) as u64
    }

    /// Adds a stream.
    pub(crate) fn begin(&mut self, stream: &LiveStream) -> Result<(), ProtocolError> {
        let trace = self.traces.entry(stream.trace).or_default();
        if stream.is_metadata {
            if trace.metadata_stream.is_some() {
                return Err(ProtocolError::DuplicateMetadata(stream.id));
            }
            trace.metadata_stream = Some(stream.id);
            self.metadata_due.insert(stream.trace);
            return Ok(());
        }
        if self.data.contains_key(&stream.id) {
            return Err(ProtocolError::DuplicateStream(stream.id));
        }
        trace.data_streams += 1;
        trace.had_data_streams = true;
        let data = LiveDataStream {
            trace: stream.trace,
            known_time: 0,
            packet: None,
            readiness: Readiness::Ready,
            is_paused: false,
            ticks_left: 0,
            wait: 0,
        };
        self.data.insert(stream.id, data);
        self.set_readiness(stream.id, Readiness::Ready);
        Ok(())
    }

    /// Returns the next request for metadata that must be read.
    pub(crate) fn metadata_request(&mut self) -> Option<ViewerRequest> {
        while let Some(key) = self.metadata_due.pop_first() {
            if let Some(stream) = self.traces.get(&key).and_then(|trace| trace.metadata_stream) {
                return Some(ViewerRequest::Metadata { trace: key, stream });
            }
        }
        None
    }

    /// Returns the request for the next index entry, or the next part of a packet.
    pub(crate) fn data_request(&mut self, request_bytes: u32) -> Option<ViewerRequest> {
        if let Some(id) = self.unfinished
            && let Some(stream) = self.data.get_mut(&id).filter(|stream| stream.readiness == Readiness::Ready)
        {
            self.ready.remove(&(stream.known_time, id));
            return Some(stream.request(id, request_bytes));
        }
        let mut postponed = Vec::new();
        let request = loop {
            let Some(key) = self.ready.pop_first() else { break None };
            let Some(stream) = self.data.get_mut(&key.1) else { continue };
            if !self.traces.get(&stream.trace).is_some_and(LiveTrace::is_readable) {
                stream.readiness = Readiness::Waiting;
                continue;
            }
            let is_large = |packet: &PartialPacket| packet.entry.bytes() > request_bytes.into();
            if stream.packet.as_ref().is_some_and(is_large) {
                if self.unfinished.is_some() {
                    postponed.push(key);
                    continue;
                }
                self.unfinished = Some(key.1);
            }
            break Some(stream.request(key.1, request_bytes));
        };
        self.ready.extend(postponed);
        request
    }

    /// Returns `true` if metadata must be read.
    pub(crate) fn is_metadata_due(&self) -> bool {
        !self.metadata_due.is_empty()
    }

    /// Makes a data stream ready for the next request.
    pub(crate) fn ask_again(&mut self, id: u64) {
        self.set_readiness(id, Readiness::Ready);
    }

    /// Makes a data stream wait some ticks before the next request.
    pub(crate) fn wait(&mut self, id: u64) {
        self.release(id);
        if let Some(stream) = self.data.get_mut(&id) {
            stream.wait = (2 * stream.wait).clamp(1, LONGEST_WAIT);
            stream.ticks_left = stream.wait;
        }
        self.set_readiness(id, Readiness::Waiting);
    }

    /// Records that a data stream's packet is finished. Other data streams can then have an incomplete packet.
    fn release(&mut self, id: u64) {
        self.unfinished.take_if(|unfinished| *unfinished == id);
    }

    fn set_readiness(&mut self, id: u64, readiness: Readiness) {
        let Some(stream) = self.data.get_mut(&id) else { return };
        stream.readiness = readiness;
        let key = (stream.known_time, id);
        if readiness == Readiness::Ready && !stream.is_paused {
            self.ready.insert(key);
        } else {
            self.ready.remove(&key);
        }
    }

    /// Pauses or continues a data stream.
    pub(crate) fn set_paused(&mut self, id: u64, is_paused: bool) {
        let Some(stream) = self.data.get_mut(&id) else { return };
        stream.is_paused = is_paused;
        let readiness = stream.readiness;
        self.set_readiness(id, readiness);
    }

    /// Counts a tick for waiting data streams and missing metadata, which can be requested again after their last tick.
    pub(crate) fn tick(&mut self) {
        for (id, stream) in self.data.iter_mut().filter(|(_, stream)| stream.readiness == Readiness::Waiting)
        {
            stream.ticks_left = stream.ticks_left.saturating_sub(1);
            if stream.ticks_left > 0 {
                continue;
            }
            stream.readiness = Readiness::Ready;
            if !stream.is_paused {
                self.ready.insert((stream.known_time, *id));
            }
        }
        for (key, trace) in &self.traces {
            let is_over = trace.data_streams == 0 && trace.had_data_streams;
            if trace.metadata == MetadataState::Missing || is_over {
                self.metadata_due.insert(*key);
            }
        }
    }

    /// Starts a packet.
    pub(crate) fn begin_packet(
        &mut self,
        id: u64,
        entry: PacketEntry,
        limits: &LiveLimits,
    ) -> Result<(), ProtocolError> {
        let invalid = |reason| ProtocolError::IndexEntry { stream: id, reason };
        let bytes = entry.bytes();
        if entry.packet_size == 0 {
            return Err(invalid("the packet is empty"));
        }
        if entry.packet_size % 8 != 0 {
            return Err(invalid("the packet size is not a multiple of 8 bits"));
        }
        if entry.content_size > entry.packet_size {
            return Err(invalid("the content is larger than the packet"));
        }
        if entry.offset.checked_add(bytes).is_none() {
            return Err(invalid("the packet ends after the largest offset"));
        }
        if bytes > limits.packet_bytes {
            return Err(ProtocolError::Limit {
                items: "bytes of a packet",
                count: bytes,
                limit: limits.packet_bytes,
            });
        }
        if let Some(stream) = self.data.get_mut(&id) {
            stream.packet = Some(PartialPacket { entry, bytes: Vec::new(), is_repeated: false });
            stream.wait = 0;
        }
        Ok(())
    }

    /// Appends bytes to a packet. Returns the packet when it is complete.
    pub(crate) fn append_packet(
        &mut self,
        id: u64,
        bytes: Vec<u8>,
        limits: &LiveLimits,
    ) -> Result<Option<LivePacket>, ProtocolError> {
        let Some(stream) = self.data.get_mut(&id) else { return Ok(None) };
        let Some(mut packet) = stream.packet.take() else { return Ok(None) };
        match packet.bytes.is_empty() {
            true => packet.bytes = bytes,
            false => packet.bytes.extend(bytes),
        }
        if packet.bytes.len() as u64 >= packet.entry.bytes() {
            stream.known_time = stream.known_time.max(packet.entry.timestamp_end);
            self.release(id);
            return Ok(Some(LivePacket { stream: id, entry: packet.entry, bytes: packet.bytes }));
        }
        stream.packet = Some(packet);
        self.unfinished = Some(id);
        // There is more than one incomplete packet only if the relay daemon delays them.
        let packets = self.data.values().filter_map(|stream| stream.packet.as_ref());
        let count = packets.map(|packet| packet.bytes.len() as u64).sum();
        match count > limits.packet_bytes {
            true => {
                let limit = limits.packet_bytes;
                Err(ProtocolError::Limit { items: "bytes of incomplete packets", count, limit })
            }
            false => Ok(None),
        }
    }

    /// Gives up a packet. Returns its index entry.
    pub(crate) fn lose_packet(&mut self, id: u64) -> Option<PacketEntry> {
        self.release(id);
        Some(self.data.get_mut(&id)?.packet.take()?.entry)
    }

    /// Repeats the request for a packet: the first time at once, later after a tick.
    pub(crate) fn repeat_packet(&mut self, id: u64) {
        let packet = self.data.get_mut(&id).and_then(|stream| stream.packet.as_mut());
        let was_repeated = packet.is_none_or(|packet| mem::replace(&mut packet.is_repeated, true));
        match was_repeated {
            true => self.wait(id),
            false => self.ask_again(id),
        }
    }

    /// Advances the known time of a data stream. Returns `false` if it was known already.
    pub(crate) fn advance(&mut self, id: u64, time: u64) -> bool {
        let Some(stream) = self.data.get_mut(&id) else { return false };
        let is_news = time > stream.known_time;
        stream.known_time = stream.known_time.max(time);
        is_news
    }

    /// Marks the metadata of a data stream's trace as due.
    pub(crate) fn need_metadata(&mut self, id: u64) {
        if let Some(stream) = self.data.get(&id) {
            self.metadata_due.insert(stream.trace);
        }
    }

    /// Counts metadata bytes before they arrive. After 0 bytes, the request must wait for a tick.
    pub(crate) fn begin_metadata(
        &mut self,
        key: TraceKey,
        length: u64,
        limits: &LiveLimits,
    ) -> Result<(), ProtocolError> {
        let all = self.traces.values().fold(length, |sum, trace| sum.saturating_add(trace.metadata_bytes));
        let Some(trace) = self.traces.get_mut(&key) else { return Ok(()) };
        if all > limits.metadata_bytes {
            let limit = limits.metadata_bytes;
            return Err(ProtocolError::Limit { items: "bytes of metadata", count: all, limit });
        }
        trace.metadata_bytes = trace.metadata_bytes.saturating_add(length);
        match length {
            0 => trace.metadata = MetadataState::Missing,
            _ => {
                self.metadata_due.insert(key);
            }
        }
        Ok(())
    }

    /// Records that all present metadata was read.
    pub(crate) fn finish_metadata(&mut self, key: TraceKey) {
        if let Some(trace) = self.traces.get_mut(&key)
            && trace.metadata_bytes > 0
        {
            trace.metadata = MetadataState::Current;
        }
    }

    /// Ends a trace's metadata. Returns the metadata stream, and `true` if there was any metadata.
    pub(crate) fn end_metadata(&mut self, key: TraceKey) -> Option<(u64, bool)> {
        let trace = self.traces.get_mut(&key)?;
        let stream = trace.metadata_stream.take()?;
        let has_metadata = trace.metadata_bytes > 0;
        trace.metadata = MetadataState::Ended;
        if trace.data_streams == 0 {
            self.traces.remove(&key);
        }
        Some((stream, has_metadata))
    }

    /// Ends a data stream. Returns its trace.
    pub(crate) fn end(&mut self, id: u64) -> Option<TraceKey> {
        let stream = self.data.remove(&id)?;
        self.release(id);
        self.ready.remove(&(stream.known_time, id));
        let key = stream.trace;
        if let Some(trace) = self.traces.get_mut(&key) {
            trace.data_streams = trace.data_streams.saturating_sub(1);
            if trace.data_streams == 0 {
                // The last metadata, although no packet needs it: it is a part of the trace.
                self.metadata_due.insert(key);
                if trace.metadata == MetadataState::Ended {
                    self.traces.remove(&key);
                }
            }
        }
        Some(key)
    }

    /// Notes that a session will get no more streams.
    pub(crate) fn close_session(&mut self, session: u64) {
        for (key, trace) in self.traces.range_mut(session_traces(session)) {
            trace.is_closed = true;
            if trace.metadata == MetadataState::Missing {
                self.metadata_due.insert(*key);
            }
        }
    }

    /// Removes all streams of a session. Returns their ids, each with the index entry of an incomplete packet.
    pub(crate) fn end_session(&mut self, session: u64) -> Vec<(u64, Option<PacketEntry>)> {
        let mut ended = Vec::new();
        for (id, stream) in self.data.extract_if(.., |_, stream| stream.trace.session == session) {
            self.ready.remove(&(stream.known_time, id));
            self.unfinished.take_if(|unfinished| *unfinished == id);
            ended.push((id, stream.packet.map(|packet| packet.entry)));
        }
        for (_, trace) in self.traces.extract_if(session_traces(session), |_, _| true) {
            ended.extend(trace.metadata_stream.map(|id| (id, None)));
        }
        ended
    }
}

fn session_traces(session: u64) -> RangeInclusive<TraceKey> {
    TraceKey { session, trace: 0 }..=TraceKey { session, trace: u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit is for the metadata of all open traces.
    #[test]
    fn metadata_of_several_traces() {
        let limits = LiveLimits { metadata_bytes: 10, ..LiveLimits::default() };
        let [first, second] = [1, 2].map(|trace| TraceKey { session: 1, trace });
        let mut streams = LiveStreams::default();
        for (id, trace) in [(1, first), (2, second)] {
            let (path, channel) = (String::new(), "metadata".to_owned());
            streams.begin(&LiveStream { id, trace, is_metadata: true, path, channel }).unwrap();
        }
        assert_eq!(streams.begin_metadata(first, 6, &limits), Ok(()));
        assert_eq!(streams.begin_metadata(second, 4, &limits), Ok(()));
        let error = ProtocolError::Limit { items: "bytes of metadata", count: 11, limit: 10 };
        assert_eq!(streams.begin_metadata(second, 1, &limits), Err(error));
        streams.end_metadata(first);
        assert_eq!(streams.begin_metadata(second, 6, &limits), Ok(()));
    }
}
