//! Events of a live client, and the items in them.

use std::fmt::{self, Display};

/// Protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtocolVersion {
    /// Major version: 2.
    pub major: u32,
    /// Minor version, equal to the LTTng-tools version.
    pub minor: u32,
}

impl Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Trace format of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceFormat {
    /// CTF 1.8, with TSDL metadata. All sessions before version 2.15 have this format.
    Ctf18,
    /// CTF 2, with JSON metadata.
    Ctf2,
}

/// Recording session on a relay daemon.
///
/// A relay daemon has a session for each tracing domain (kernel, user space of 64 and 32 bits). They have the same host
/// and name, so attach to all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelaySession {
    /// Session id.
    pub id: u64,
    /// Host that records the session.
    pub host: String,
    /// Session name.
    pub name: String,
    /// Live timer period in microseconds. Idle data streams report their time once per period. 0 means that the
    /// session is not live.
    pub live_timer: u32,
    /// Number of attached clients.
    pub clients: u32,
    /// Number of streams.
    pub streams: u32,
    /// Trace format.
    pub format: TraceFormat,
}

/// Position in a session at which reading starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SeekPosition {
    /// Oldest packets that the relay daemon has.
    #[default]
    Beginning,
    /// Packets that arrive at the relay daemon from now on.
    Last,
}

/// Reason why a client cannot attach to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachRefusal {
    /// Another client is attached. A relay daemon allows one client per session.
    #[error("another viewer is attached to the session")]
    Already,
    /// The session does not exist, for example because it was destroyed in the meantime.
    #[error("the session does not exist")]
    Unknown,
    /// The session is not live: its creator did not set a live timer.
    #[error("the session is not live")]
    NotLive,
    /// The position is not supported.
    #[error("the relay daemon cannot read from this position")]
    Seek,
    /// The client lacks a viewer session.
    #[error("the relay daemon lost the viewer session")]
    NoViewerSession,
}

/// Identifies a trace on a relay daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceKey {
    /// Session id.
    pub session: u64,
    /// Trace id in the session. Sessions with per-process buffers have a trace per process.
    pub trace: u64,
}

/// Stream of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveStream {
    /// Stream id. Not a CTF data stream id.
    pub id: u64,
    /// The stream's trace.
    pub trace: TraceKey,
    /// Metadata stream if true, data stream otherwise.
    pub is_metadata: bool,
    /// Path of the trace directory, relative to the session directory on the relay daemon.
    pub path: String,
    /// File name in this directory: channel name and processor, or `metadata`.
    pub channel: String,
}

/// Index entry of a packet.
///
/// The protocol lacks packet sequence numbers. Read `packet_seq_num` in the packet context instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEntry {
    /// Byte offset in the relay daemon's file.
    pub offset: u64,
    /// Packet size in bits, a multiple of 8.
    pub packet_size: u64,
    /// Content size in bits, without padding.
    pub content_size: u64,
    /// Begin time in clock cycles.
    pub timestamp_begin: u64,
    /// End time in clock cycles.
    pub timestamp_end: u64,
    /// Number of events that the data stream has discarded so far.
    pub events_discarded: u64,
    /// CTF data stream class id.
    pub stream_class: u64,
}

impl PacketEntry {
    /// Returns the packet size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.packet_size / 8
    }
}

/// Packet of a data stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePacket {
    /// Stream id.
    pub stream: u64,
    /// Index entry.
    pub entry: PacketEntry,
    /// The packet, with padding.
    pub bytes: Vec<u8>,
}

/// Reason why a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketLossReason {
    /// The relay daemon cannot read it. For example, its file was cleared or overwritten.
    #[error("the relay daemon cannot read the packet")]
    Failed,
    /// It is after the end of the relay daemon's file.
    #[error("the packet is after the end of the relay daemon's file")]
    EndOfFile,
    /// The client detached while it read the packet.
    #[error("detached from the session while the packet was read")]
    Detached,
}

/// Reason why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamEndReason {
    /// The tracer closed it: the process exited, or the session was destroyed.
    #[error("closed")]
    HungUp,
    /// The relay daemon cannot read it.
    #[error("the relay daemon cannot read it")]
    Failed,
    /// The session ended.
    #[error("the session ended")]
    SessionEnd,
}

/// Reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionEndReason {
    /// The session was destroyed, and everything was read.
    #[error("destroyed")]
    Closed,
    /// The client detached.
    #[error("detached")]
    Detached,
    /// The relay daemon does not know the session any more.
    #[error("the relay daemon lost the session")]
    Failed,
}

/// Event of a live client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveEvent {
    /// The relay daemon answered. The version is the older one if the peers have different versions.
    Connected(ProtocolVersion),
    /// Answer to a request for the session list.
    Sessions(Vec<RelaySession>),
    /// The client is attached. The session's streams follow.
    Attached {
        /// Session id.
        session: u64,
    },
    /// The relay daemon refused to attach the client.
    AttachRefused {
        /// Session id.
        session: u64,
        /// Reason.
        reason: AttachRefusal,
    },
    /// A stream of an attached session.
    StreamBegin(LiveStream),
    /// More metadata of a trace, to append to the metadata so far.
    ///
    /// Event record classes can be added at any time, so metadata arrives before the first packet that needs it.
    Metadata {
        /// Trace.
        trace: TraceKey,
        /// Appended bytes, as they are in the relay daemon's file.
        bytes: Vec<u8>,
    },
    /// Packet of a data stream, in the order of the data stream.
    Packet(LivePacket),
    /// A packet that cannot be read. The data stream continues after it.
    PacketLost {
        /// Stream id.
        stream: u64,
        /// Index entry.
        entry: PacketEntry,
        /// Reason.
        reason: PacketLossReason,
    },
    /// A data stream will not have events before a time.
    Inactive {
        /// Stream id.
        stream: u64,
        /// Time in clock cycles.
        time: u64,
        /// CTF data stream class id.
        stream_class: u64,
    },
    /// End of a data or metadata stream.
    StreamEnd {
        /// Stream id.
        stream: u64,
        /// Reason.
        reason: StreamEndReason,
    },
    /// End of a session, after the ends of all its streams.
    SessionEnd {
        /// Session id.
        session: u64,
        /// Reason.
        reason: SessionEndReason,
    },
}
