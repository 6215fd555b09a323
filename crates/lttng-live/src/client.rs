//! Live client without input and output.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use crate::error::ProtocolError;
use crate::event::{
    LiveEvent, PacketLossReason, ProtocolVersion, RelaySession, SeekPosition, SessionEndReason,
    StreamEndReason, TraceKey,
};
use crate::limits::LiveLimits;
use crate::live_streams::LiveStreams;
use crate::messages::{
    self, IndexReply, ListedSession, MetadataReply, NEWEST, NewStreamsReply, NewsFlags, PacketReply,
    ViewerRequest,
};
use crate::reply_part::ReplyPart;

/// Client of a relay daemon, without input and output.
///
/// Send [`output`](Self::output) to the relay daemon, pass what it answers to [`receive`](Self::receive), take
/// [events](Self::next_event), and call [`tick`](Self::tick) regularly.
///
/// ```
/// use ichnos_lttng_live::{LiveClient, LiveEvent};
///
/// let mut client = LiveClient::default();
/// client.list_sessions();
/// // The first request is for a connection. It has a header of 16 bytes and a payload of 20 bytes.
/// assert_eq!(client.output().len(), 36);
/// client.sent(36);
/// // Version 2.13 in the answer, after the number of the viewer session.
/// client.receive(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 13, 0, 0, 0, 1])?;
/// let Some(LiveEvent::Connected(version)) = client.next_event() else { panic!("not connected") };
/// assert_eq!(version.to_string(), "2.13");
/// // Now the client asks for the list of sessions.
/// client.sent(client.output().len());
/// client.receive(&[0, 0, 0, 0])?;
/// assert_eq!(client.next_event(), Some(LiveEvent::Sessions(Vec::new())));
/// # Ok::<(), ichnos_lttng_live::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct LiveClient {
    limits: LiveLimits,
    version: Option<ProtocolVersion>,
    has_viewer_session: bool,
    /// Requests of the user.
    requests: VecDeque<ViewerRequest>,
    sessions: BTreeMap<u64, AttachedSession>,
    streams: LiveStreams,
    /// Outstanding replies. The input has bytes from the first reply.
    replies: VecDeque<ExpectedReply>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Number of all request bytes: sent bytes, and bytes in the output.
    requested_bytes: u64,
    /// Number of data streams that can be asked at a time.
    most_outstanding: usize,
    events: VecDeque<LiveEvent>,
    error: Option<ProtocolError>,
}

#[derive(Debug, Default)]
struct AttachedSession {
    data_streams: u32,
    /// `true` if new streams must be requested.
    is_due: bool,
    /// Reason for the end, once no new streams will follow. The session ends after its last data stream.
    end: Option<SessionEndReason>,
}

impl AttachedSession {
    /// Returns the reason for the end if the session is over.
    fn end_reason(&self) -> Option<SessionEndReason> {
        self.end.filter(|_| self.data_streams == 0)
    }
}

/// Outstanding reply.
#[derive(Debug)]
struct ExpectedReply {
    /// Next part of the reply.
    part: ReplyPart,
    /// Number of request bytes that must be sent before it.
    after_bytes: u64,
    /// `true` if other requests can be sent before the reply arrives, because it only concerns one data stream.
    is_data: bool,
}

impl Default for LiveClient {
    fn default() -> Self {
        Self::new(LiveLimits::default())
    }
}

impl LiveClient {
    /// Creates a client, whose first request is for a connection.
    #[must_use]
    pub fn new(limits: LiveLimits) -> Self {
        let mut client = Self {
            limits,
            version: None,
            has_viewer_session: false,
            requests: VecDeque::from([ViewerRequest::Connect]),
            sessions: BTreeMap::new(),
            streams: LiveStreams::default(),
            replies: VecDeque::new(),
            input: Vec::new(),
            output: Vec::new(),
            requested_bytes: 0,
            most_outstanding: 1,
            events: VecDeque::new(),
            error: None,
        };
        client.send_next();
        client
    }

    /// Returns the protocol version once the client is connected.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.version
    }

    /// Sets the number of data streams that can be asked at a time, without waiting for replies. Default: 1.
    ///
    /// A distant relay daemon needs many, because each packet takes two round trips. Then its small replies wait for
    /// TCP acknowledgments, for 40 ms on Linux, so a near relay daemon is faster with 1.
    pub fn set_outstanding(&mut self, most: usize) {
        self.most_outstanding = most;
        self.send_next();
    }

    /// Returns the number of requests without a complete reply.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.replies.len()
    }

    /// Requests the session list, for [`LiveEvent::Sessions`].
    pub fn list_sessions(&mut self) {
        self.request(ViewerRequest::ListSessions);
    }

    /// Attaches to a session, for [`LiveEvent::Attached`] or [`LiveEvent::AttachRefused`].
    pub fn attach(&mut self, session: u64, seek: SeekPosition) {
        self.request(ViewerRequest::Attach { session, seek });
    }

    /// Detaches from a session, for [`LiveEvent::SessionEnd`].
    pub fn detach(&mut self, session: u64) {
        self.request(ViewerRequest::Detach { session });
    }

    /// Stops reading a data stream until [`resume`](Self::resume). A packet that was begun is still finished.
    ///
    /// Pause data streams that are far ahead of others, to limit memory.
    pub fn pause(&mut self, stream: u64) {
        self.streams.set_paused(stream, true);
    }

    /// Continues to read a data stream.
    pub fn resume(&mut self, stream: u64) {
        self.streams.set_paused(stream, false);
        self.send_next();
    }

    /// Lets the client ask for new streams, and ask data streams without news again: after one tick, later after up to
    /// four. Call it about 50 times per second.
    pub fn tick(&mut self) {
        self.streams.tick();
        for session in self.sessions.values_mut() {
            session.is_due = session.end.is_none();
        }
        self.send_next();
    }

    /// Returns `true` if the relay daemon is being asked for new streams, or will be asked next. It may have streams
    /// whose events are earlier than what other streams have reached.
    #[must_use]
    pub fn may_lack_streams(&self) -> bool {
        let is_list = |reply: &ExpectedReply| {
            matches!(
                reply.part,
                ReplyPart::Attach { .. } | ReplyPart::NewStreams { .. } | ReplyPart::Stream { .. }
            )
        };
        self.sessions.values().any(|session| session.is_due) || self.replies.iter().any(is_list)
    }

    /// Returns the next event.
    pub fn next_event(&mut self) -> Option<LiveEvent> {
        self.events.pop_front()
    }

    /// Returns bytes to send.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Removes sent bytes from the output.
    pub fn sent(&mut self, bytes: usize) {
        self.output.drain(..bytes.min(self.output.len()));
    }

    /// Returns `true` if a reply is outstanding. Otherwise, there is nothing to do before the next tick.
    #[must_use]
    pub fn is_waiting_for_reply(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Processes received bytes. After an error, close the connection.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let result = self.process(bytes);
        if let Err(error) = &result {
            self.error = Some(error.clone());
            self.output.clear();
            self.replies.clear();
        }
        result
    }

    /// Checks that the connection may end here. Call it when the relay daemon has closed the connection.
    pub fn check_end(&self) -> Result<(), ProtocolError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None if self.replies.is_empty() => Ok(()),
            None => Err(ProtocolError::Truncated),
        }
    }

    fn request(&mut self, request: ViewerRequest) {
        self.requests.push_back(request);
        self.send_next();
    }

    fn process(&mut self, mut bytes: &[u8]) -> Result<(), ProtocolError> {
        while !bytes.is_empty() {
            let sent = self.requested_bytes.saturating_sub(self.output.len() as u64);
            let is_sent = self.replies.front().is_some_and(|reply| reply.after_bytes <= sent);
            let Some(missing) = self.missing_bytes().filter(|_| is_sent) else {
                return Err(ProtocolError::Unrequested(bytes.len()));
            };
            let (now, rest) = bytes.split_at(missing.min(bytes.len()));
            self.input.extend_from_slice(now);
            bytes = rest;
            // Names with a length of 0 are complete at once.
            while self.missing_bytes() == Some(0)
                && let Some(reply) = self.replies.pop_front()
            {
                let input = mem::take(&mut self.input);
                if let Some(part) = self.process_part(reply.part, input)? {
                    self.replies.push_front(ExpectedReply { part, ..reply });
                }
            }
            self.send_next();
        }
        Ok(())
    }

    fn missing_bytes(&self) -> Option<usize> {
        let part = &self.replies.front()?.part;
        Some(part.bytes(self.version.unwrap_or(NEWEST)).saturating_sub(self.input.len()))
    }

    /// Sends the next requests. Only requests for different data streams can be outstanding at the same time, so that
    /// metadata arrives before the packets that need it.
    fn send_next(&mut self) {
        while self.error.is_none() {
            let (request, is_data) = match self.replies.back() {
                None => match self.next_request() {
                    Some(request) => (Some(request), false),
                    None => (self.streams.data_request(self.limits.request_bytes), true),
                },
                Some(reply) if reply.is_data && self.has_room() => {
                    (self.streams.data_request(self.limits.request_bytes), true)
                }
                Some(_) => return,
            };
            let Some(request) = request else { return };
            let length = self.output.len();
            request.encode(&mut self.output);
            self.requested_bytes += (self.output.len() - length) as u64;
            let part = ReplyPart::first(&request);
            self.replies.push_back(ExpectedReply { part, after_bytes: self.requested_bytes, is_data });
        }
    }

    /// Returns `true` if another data stream can be asked before the outstanding replies.
    fn has_room(&self) -> bool {
        let is_free = self.replies.len() < self.most_outstanding;
        let is_due = self.sessions.values().any(|session| session.is_due || session.end_reason().is_some());
        is_free && !is_due && self.requests.is_empty() && !self.streams.is_metadata_due()
    }

    /// Returns the next request that is not for a data stream.
    fn next_request(&mut self) -> Option<ViewerRequest> {
        match self.requests.front() {
            Some(ViewerRequest::Attach { .. }) if !self.has_viewer_session => {
                return Some(ViewerRequest::CreateViewerSession);
            }
            Some(_) => return self.requests.pop_front(),
            None => (),
        }
        if let Some(request) = self.streams.metadata_request() {
            return Some(request);
        }
        self.end_sessions();
        let due = self.sessions.iter_mut().find(|(_, session)| session.is_due);
        if let Some((id, session)) = due {
            session.is_due = false;
            return Some(ViewerRequest::NewStreams { session: *id });
        }
        None
    }

    /// Ends sessions without data streams that are closed. Their metadata is complete.
    fn end_sessions(&mut self) {
        while let Some((id, reason)) =
            self.sessions.iter().find_map(|(id, session)| Some((*id, session.end_reason()?)))
        {
            self.end_session(id, reason);
        }
    }

    fn end_session(&mut self, id: u64, reason: SessionEndReason) {
        if self.sessions.remove(&id).is_none() {
            return;
        }
        for (stream, entry) in self.streams.end_session(id) {
            let reason = PacketLossReason::Detached;
            self.events.extend(entry.map(|entry| LiveEvent::PacketLost { stream, entry, reason }));
            self.events.push_back(LiveEvent::StreamEnd { stream, reason: StreamEndReason::SessionEnd });
        }
        self.events.push_back(LiveEvent::SessionEnd { session: id, reason });
    }

    /// Processes a complete part of a reply. Returns the next part.
    fn process_part(&mut self, part: ReplyPart, input: Vec<u8>) -> Result<Option<ReplyPart>, ProtocolError> {
        match part {
            ReplyPart::Connect => {
                let version = messages::decode_version(&input)?;
                self.version = Some(version);
                self.events.push_back(LiveEvent::Connected(version));
                Ok(None)
            }
            ReplyPart::SessionCount => {
                let count = messages::decode_number(&input);
                check_limit("sessions", count.into(), self.limits.sessions.into())?;
                Ok(self.next_session(count, Vec::new()))
            }
            ReplyPart::Session { left, list } => self.process_session(&input, left, list),
            ReplyPart::SessionNames { session, left, mut list } => {
                list.push(session.with_names(&input));
                Ok(self.next_session(left, list))
            }
            ReplyPart::ViewerSession => match messages::decode_number(&input) {
                1 => {
                    self.has_viewer_session = true;
                    Ok(None)
                }
                _ => Err(ProtocolError::NoViewerSession),
            },
            ReplyPart::Attach { session } => self.process_attach(session, &input),
            ReplyPart::Detach { session } => {
                // A session that the relay daemon does not know is not attached, either.
                messages::decode_detach(&input)?;
                self.end_session(session, SessionEndReason::Detached);
                Ok(None)
            }
            ReplyPart::NewStreams { session } => self.process_new_streams(session, &input),
            ReplyPart::Stream { session, left } => self.process_stream(session, &input, left),
            ReplyPart::Index { stream } => self.process_index(stream, &input),
            ReplyPart::Packet { stream, requested } => self.process_packet(stream, requested, &input),
            ReplyPart::PacketBytes { stream, .. } => {
                let packet = self.streams.append_packet(stream, input, &self.limits)?;
                self.events.extend(packet.map(LiveEvent::Packet));
                self.streams.ask_again(stream);
                Ok(None)
            }
            ReplyPart::Metadata { trace } => self.process_metadata(trace, &input),
            ReplyPart::MetadataBytes { trace, .. } => {
                self.events.push_back(LiveEvent::Metadata { trace, bytes: input });
                Ok(None)
            }
        }
    }

    fn next_session(&mut self, left: u32, list: Vec<RelaySession>) -> Option<ReplyPart> {
        let Some(left) = left.checked_sub(1) else {
            self.events.push_back(LiveEvent::Sessions(list));
            return None;
        };
        Some(ReplyPart::Session { left, list })
    }

    fn process_session(
        &mut self,
        input: &[u8],
        left: u32,
        mut list: Vec<RelaySession>,
    ) -> Result<Option<ReplyPart>, ProtocolError> {
        let version = self.version.unwrap_or(NEWEST);
        let session = ListedSession::decode(input, version)?;
        if version.minor >= messages::LONG_NAMES_MINOR {
            let (host, name) = session.name_lengths;
            check_limit("bytes of a name", host.max(name).into(), self.limits.name_bytes.into())?;
            return Ok(Some(ReplyPart::SessionNames { session, left, list }));
        }
        list.push(session.session);
        Ok(self.next_session(left, list))
    }

    fn process_attach(&mut self, session: u64, input: &[u8]) -> Result<Option<ReplyPart>, ProtocolError> {
        match messages::decode_attach(input)? {
            Ok(streams) => {
                self.sessions.entry(session).or_default();
                self.events.push_back(LiveEvent::Attached { session });
                self.next_stream(session, streams)
            }
            Err(reason) => {
                self.events.push_back(LiveEvent::AttachRefused { session, reason });
                Ok(None)
            }
        }
    }

    fn process_new_streams(&mut self, id: u64, input: &[u8]) -> Result<Option<ReplyPart>, ProtocolError> {
        let end = match NewStreamsReply::decode(input)? {
            NewStreamsReply::Streams(streams) => return self.next_stream(id, streams),
            NewStreamsReply::None => return Ok(None),
            NewStreamsReply::Failed => SessionEndReason::Failed,
            NewStreamsReply::HungUp => SessionEndReason::Closed,
        };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.is_due = false;
            session.end = Some(end);
        }
        self.streams.close_session(id);
        Ok(None)
    }

    /// Starts the next stream of a list with `left` streams.
    fn next_stream(&mut self, session: u64, left: u32) -> Result<Option<ReplyPart>, ProtocolError> {
        let Some(rest) = left.checked_sub(1) else { return Ok(None) };
        let count = self.streams.count().saturating_add(left.into());
        check_limit("streams", count, self.limits.streams.into())?;
        Ok(Some(ReplyPart::Stream { session, left: rest }))
    }

    fn process_stream(
        &mut self,
        session: u64,
        input: &[u8],
        left: u32,
    ) -> Result<Option<ReplyPart>, ProtocolError> {
        let stream = messages::decode_stream(input, session);
        self.streams.begin(&stream)?;
        if let Some(session) = self.sessions.get_mut(&session).filter(|_| !stream.is_metadata) {
            session.data_streams += 1;
        }
        self.events.push_back(LiveEvent::StreamBegin(stream));
        Ok(left.checked_sub(1).map(|left| ReplyPart::Stream { session, left }))
    }

    fn process_index(&mut self, stream: u64, input: &[u8]) -> Result<Option<ReplyPart>, ProtocolError> {
        let (reply, flags) = IndexReply::decode(input)?;
        self.note_news(stream, flags);
        match reply {
            IndexReply::Entry(entry) => {
                self.streams.begin_packet(stream, entry, &self.limits)?;
                self.streams.ask_again(stream);
            }
            IndexReply::Retry => self.streams.wait(stream),
            IndexReply::Inactive { time, stream_class } => {
                if self.streams.advance(stream, time) {
                    self.events.push_back(LiveEvent::Inactive { stream, time, stream_class });
                }
                self.streams.wait(stream);
            }
            IndexReply::HungUp => self.end_stream(stream, StreamEndReason::HungUp),
            IndexReply::Failed => self.end_stream(stream, StreamEndReason::Failed),
        }
        Ok(None)
    }

    fn note_news(&mut self, stream: u64, flags: NewsFlags) {
        if flags.has_metadata {
            self.streams.need_metadata(stream);
        }
        if flags.has_streams {
            // The new streams can belong to any attached session.
            for session in self.sessions.values_mut() {
                session.is_due = session.end.is_none();
            }
        }
    }

    fn end_stream(&mut self, stream: u64, reason: StreamEndReason) {
        let Some(trace) = self.streams.end(stream) else { return };
        self.events.push_back(LiveEvent::StreamEnd { stream, reason });
        if let Some(session) = self.sessions.get_mut(&trace.session) {
            session.data_streams = session.data_streams.saturating_sub(1);
            // The session has probably ended. The reply tells.
            session.is_due |= session.data_streams == 0 && session.end.is_none();
        }
    }

    fn process_packet(
        &mut self,
        stream: u64,
        requested: u32,
        input: &[u8],
    ) -> Result<Option<ReplyPart>, ProtocolError> {
        let (reply, flags) = PacketReply::decode(input)?;
        self.note_news(stream, flags);
        let reason = match reply {
            PacketReply::Bytes(length) if length == 0 || length > requested => {
                return Err(ProtocolError::PacketLength { stream, length, requested });
            }
            PacketReply::Bytes(length) => return Ok(Some(ReplyPart::PacketBytes { stream, length })),
            PacketReply::Retry => {
                self.streams.wait(stream);
                return Ok(None);
            }
            PacketReply::Failed if flags.has_metadata || flags.has_streams => {
                self.streams.repeat_packet(stream);
                return Ok(None);
            }
            PacketReply::Failed => PacketLossReason::Failed,
            PacketReply::EndOfFile => PacketLossReason::EndOfFile,
        };
        if let Some(entry) = self.streams.lose_packet(stream) {
            self.events.push_back(LiveEvent::PacketLost { stream, entry, reason });
        }
        self.streams.ask_again(stream);
        Ok(None)
    }

    fn process_metadata(
        &mut self,
        trace: TraceKey,
        input: &[u8],
    ) -> Result<Option<ReplyPart>, ProtocolError> {
        match MetadataReply::decode(input)? {
            MetadataReply::Bytes(length) => {
                self.streams.begin_metadata(trace, length, &self.limits)?;
                return Ok((length > 0).then_some(ReplyPart::MetadataBytes { trace, length }));
            }
            MetadataReply::NoNew => self.streams.finish_metadata(trace),
            MetadataReply::Failed => {
                if let Some((stream, has_metadata)) = self.streams.end_metadata(trace) {
                    let reason = match has_metadata {
                        true => StreamEndReason::HungUp,
                        false => StreamEndReason::Failed,
                    };
                    self.events.push_back(LiveEvent::StreamEnd { stream, reason });
                }
            }
        }
        Ok(None)
    }
}

fn check_limit(items: &'static str, count: u64, limit: u64) -> Result<(), ProtocolError> {
    match count > limit {
        true => Err(ProtocolError::Limit { items, count, limit }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
