//! Reply parts.

use crate::event::{PacketEntry, ProtocolVersion, RelaySession, TraceKey};
use crate::messages::{
    CONNECT_BYTES, INDEX_BYTES, ListedSession, METADATA_HEADER_BYTES, PACKET_HEADER_BYTES,
    SESSION_COUNT_BYTES, STATUS_BYTES, STREAM_BYTES, STREAM_COUNT_BYTES, ViewerRequest, session_bytes,
};

/// Part of a reply whose size is known before it arrives: a header, an item of a list, or data.
#[derive(Debug)]
pub(crate) enum ReplyPart {
    Connect,
    SessionCount,
    /// Session in a list, without names that follow it.
    Session {
        left: u32,
        list: Vec<RelaySession>,
    },
    SessionNames {
        session: ListedSession,
        left: u32,
        list: Vec<RelaySession>,
    },
    ViewerSession,
    Attach {
        session: u64,
    },
    Detach {
        session: u64,
    },
    NewStreams {
        session: u64,
    },
    /// Stream in a list.
    Stream {
        session: u64,
        left: u32,
    },
    Index {
        stream: u64,
    },
    Packet {
        stream: u64,
        requested: u32,
    },
    PacketBytes {
        stream: u64,
        length: u32,
    },
    Metadata {
        trace: TraceKey,
    },
    MetadataBytes {
        trace: TraceKey,
        length: u64,
    },
}

impl ReplyPart {
    /// Returns the first part of the reply to a request.
    pub(crate) fn first(request: &ViewerRequest) -> Self {
        match *request {
            ViewerRequest::Connect => Self::Connect,
            ViewerRequest::ListSessions => Self::SessionCount,
            ViewerRequest::CreateViewerSession => Self::ViewerSession,
            ViewerRequest::Attach { session, .. } => Self::Attach { session },
            ViewerRequest::Detach { session } => Self::Detach { session },
            ViewerRequest::NewStreams { session } => Self::NewStreams { session },
            ViewerRequest::NextIndex { stream } => Self::Index { stream },
            ViewerRequest::Packet { stream, length, .. } => Self::Packet { stream, requested: length },
            ViewerRequest::Metadata { trace, .. } => Self::Metadata { trace },
        }
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self, version: ProtocolVersion) -> usize {
        match self {
            Self::Connect => CONNECT_BYTES,
            Self::SessionCount => SESSION_COUNT_BYTES,
            Self::Session { .. } => session_bytes(version),
            Self::SessionNames { session, .. } => {
                let (host, name) = session.name_lengths;
                (host as usize).saturating_add(name as usize)
            }
            Self::ViewerSession | Self::Detach { .. } => STATUS_BYTES,
            Self::Attach { .. } | Self::NewStreams { .. } => STREAM_COUNT_BYTES,
            Self::Stream { .. } => STREAM_BYTES,
            Self::Index { .. } => INDEX_BYTES,
            Self::Packet { .. } => PACKET_HEADER_BYTES,
            Self::PacketBytes { length, .. } => *length as usize,
            Self::Metadata { .. } => METADATA_HEADER_BYTES,
            Self::MetadataBytes { length, .. } => usize::try_from(*length).unwrap_or(usize::MAX),
        }
    }
}

/// Packet that the relay daemon sends.
#[derive(Debug)]
pub(crate) struct PartialPacket {
    pub(crate) entry: PacketEntry,
    pub(crate) bytes: Vec<u8>,
    /// The relay daemon has already asked for a second request once.
    pub(crate) is_repeated: bool,
}

impl PartialPacket {
    /// Returns the request for the next bytes.
    pub(crate) fn request(&self, stream: u64, most: u32) -> ViewerRequest {
        let received = self.bytes.len() as u64;
        let missing = self.entry.bytes().saturating_sub(received);
        ViewerRequest::Packet {
            stream,
            offset: self.entry.offset.saturating_add(received),
            length: u32::try_from(missing).unwrap_or(u32::MAX).min(most.max(1)),
        }
    }
}
