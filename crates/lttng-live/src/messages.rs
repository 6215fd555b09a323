//! Requests and replies. All numbers are big-endian.

use crate::error::ProtocolError;
use crate::event::{
    AttachRefusal, LiveStream, PacketEntry, ProtocolVersion, RelaySession, SeekPosition, TraceFormat,
    TraceKey,
};

/// Newest version whose messages this crate knows.
pub(crate) const NEWEST: ProtocolVersion = ProtocolVersion { major: 2, minor: 15 };
/// Oldest minor version with a live protocol.
pub(crate) const OLDEST_MINOR: u32 = 4;
/// First minor version whose session lists have long names and trace formats.
pub(crate) const LONG_NAMES_MINOR: u32 = 15;

/// New metadata must be read before the packet.
const FLAG_NEW_METADATA: u32 = 1 << 0;
/// New streams must be read.
const FLAG_NEW_STREAM: u32 = 1 << 1;

const HOST_NAME_MAX: usize = 64;
const NAME_MAX: usize = 255;
const PATH_MAX: usize = 4096;

pub(crate) const CONNECT_BYTES: usize = 8 + 3 * 4;
pub(crate) const SESSION_COUNT_BYTES: usize = 4;
const SESSION_BYTES: usize = 8 + 3 * 4 + HOST_NAME_MAX + NAME_MAX;
const SESSION_WITH_LENGTHS_BYTES: usize = 8 + 6 * 4;
pub(crate) const STATUS_BYTES: usize = 4;
pub(crate) const STREAM_COUNT_BYTES: usize = 2 * 4;
pub(crate) const STREAM_BYTES: usize = 2 * 8 + 4 + PATH_MAX + NAME_MAX;
pub(crate) const INDEX_BYTES: usize = 7 * 8 + 2 * 4;
pub(crate) const PACKET_HEADER_BYTES: usize = 3 * 4;
pub(crate) const METADATA_HEADER_BYTES: usize = 8 + 4;

/// Request to a relay daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewerRequest {
    Connect,
    ListSessions,
    CreateViewerSession,
    Attach {
        session: u64,
        seek: SeekPosition,
    },
    Detach {
        session: u64,
    },
    NewStreams {
        session: u64,
    },
    NextIndex {
        stream: u64,
    },
    Packet {
        stream: u64,
        offset: u64,
        length: u32,
    },
    /// The trace is for the client alone, the stream for the relay daemon.
    Metadata {
        trace: TraceKey,
        stream: u64,
    },
}

impl ViewerRequest {
    /// Appends the request with its header.
    pub(crate) fn encode(&self, output: &mut Vec<u8>) {
        let (command, payload) = match *self {
            Self::Connect => {
                // The relay daemon replaces the viewer session id.
                let mut payload = u64::MAX.to_be_bytes().to_vec();
                payload.extend(NEWEST.major.to_be_bytes());
                payload.extend(NEWEST.minor.to_be_bytes());
                // The only connection type: a connection for commands.
                payload.extend(1_u32.to_be_bytes());
                (1_u32, payload)
            }
            Self::ListSessions => (2, Vec::new()),
            Self::Attach { session, seek } => {
                let mut payload = session.to_be_bytes().to_vec();
                // An offset, which is not used.
                payload.extend(0_u64.to_be_bytes());
                let seek: u32 = match seek {
                    SeekPosition::Beginning => 1,
                    SeekPosition::Last => 2,
                };
                payload.extend(seek.to_be_bytes());
                (3, payload)
            }
            Self::NextIndex { stream } => (4, stream.to_be_bytes().to_vec()),
            Self::Packet { stream, offset, length } => {
                let mut payload = stream.to_be_bytes().to_vec();
                payload.extend(offset.to_be_bytes());
                payload.extend(length.to_be_bytes());
                (5, payload)
            }
            Self::Metadata { stream, .. } => (6, stream.to_be_bytes().to_vec()),
            Self::NewStreams { session } => (7, session.to_be_bytes().to_vec()),
            Self::CreateViewerSession => (8, Vec::new()),
            Self::Detach { session } => (9, session.to_be_bytes().to_vec()),
        };
        output.extend((payload.len() as u64).to_be_bytes());
        output.extend(command.to_be_bytes());
        // The command's version: there is only one.
        output.extend(0_u32.to_be_bytes());
        output.extend(payload);
    }
}

/// Cursor over the fields of a reply. Fields after the end are 0, because the length is checked before.
#[derive(Debug)]
struct ReplyFields<'a>(&'a [u8]);

impl<'a> ReplyFields<'a> {
    fn u32(&mut self) -> u32 {
        let Some((bytes, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u32::from_be_bytes(*bytes)
    }

    fn u64(&mut self) -> u64 {
        let Some((bytes, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u64::from_be_bytes(*bytes)
    }

    /// Returns a string from a field with a fixed size, without its padding.
    fn text(&mut self, size: usize) -> String {
        let (field, rest) = self.0.split_at(size.min(self.0.len()));
        self.0 = rest;
        let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// Decodes the reply to a connection request. Returns the lower version of both peers.
pub(crate) fn decode_version(bytes: &[u8]) -> Result<ProtocolVersion, ProtocolError> {
    let mut fields = ReplyFields(bytes);
    let _viewer_session = fields.u64();
    let (major, minor) = (fields.u32(), fields.u32());
    if major != NEWEST.major || minor < OLDEST_MINOR {
        return Err(ProtocolError::Version { major, minor });
    }
    Ok(ProtocolVersion { major, minor: minor.min(NEWEST.minor) })
}

/// Decodes a reply with one number: a count or a status.
pub(crate) fn decode_number(bytes: &[u8]) -> u32 {
    ReplyFields(bytes).u32()
}

/// Returns the size of a session in a list, without names that follow it.
pub(crate) fn session_bytes(version: ProtocolVersion) -> usize {
    match version.minor >= LONG_NAMES_MINOR {
        true => SESSION_WITH_LENGTHS_BYTES,
        false => SESSION_BYTES,
    }
}

/// Session in a list, whose names may follow it.
#[derive(Debug)]
pub(crate) struct ListedSession {
    pub(crate) session: RelaySession,
    /// Lengths of the host name and the session name that follow.
    pub(crate) name_lengths: (u32, u32),
}

impl ListedSession {
    pub(crate) fn decode(bytes: &[u8], version: ProtocolVersion) -> Result<Self, ProtocolError> {
        let mut fields = ReplyFields(bytes);
        let mut session = RelaySession {
            id: fields.u64(),
            live_timer: fields.u32(),
            clients: fields.u32(),
            streams: fields.u32(),
            host: String::new(),
            name: String::new(),
            format: TraceFormat::Ctf18,
        };
        let mut name_lengths = (0, 0);
        if version.minor < LONG_NAMES_MINOR {
            session.host = fields.text(HOST_NAME_MAX);
            session.name = fields.text(NAME_MAX);
        } else {
            name_lengths = (fields.u32(), fields.u32());
            session.format = match fields.u32() {
                0 => TraceFormat::Ctf18,
                1 => TraceFormat::Ctf2,
                value => {
                    return Err(ProtocolError::UnknownValue { field: "trace format", value: value.into() });
                }
            };
        }
        Ok(Self { session, name_lengths })
    }

    /// Returns the session with the names that follow it.
    pub(crate) fn with_names(mut self, bytes: &[u8]) -> RelaySession {
        let mut fields = ReplyFields(bytes);
        self.session.host = fields.text(self.name_lengths.0 as usize);
        self.session.name = fields.text(self.name_lengths.1 as usize);
        self.session
    }
}

/// Decodes the reply to an attach request: the number of streams that follow.
pub(crate) fn decode_attach(bytes: &[u8]) -> Result<Result<u32, AttachRefusal>, ProtocolError> {
    let mut fields = ReplyFields(bytes);
    let (status, streams) = (fields.u32(), fields.u32());
    Ok(Err(match status {
        1 => return Ok(Ok(streams)),
        2 => AttachRefusal::Already,
        3 => AttachRefusal::Unknown,
        4 => AttachRefusal::NotLive,
        5 => AttachRefusal::Seek,
        6 => AttachRefusal::NoViewerSession,
        value => return Err(ProtocolError::UnknownValue { field: "attach status", value: value.into() }),
    }))
}

/// Reply to a request for new streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewStreamsReply {
    /// Number of streams that follow.
    Streams(u32),
    /// Nothing new.
    None,
    /// The relay daemon does not know the session.
    Failed,
    /// The session is closed: there will be no new streams.
    HungUp,
}

impl NewStreamsReply {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = ReplyFields(bytes);
        let (status, streams) = (fields.u32(), fields.u32());
        Ok(match status {
            1 => Self::Streams(streams),
            2 => Self::None,
            3 => Self::Failed,
            4 => Self::HungUp,
            value => {
                return Err(ProtocolError::UnknownValue { field: "new stream status", value: value.into() });
            }
        })
    }
}

/// Decodes a stream.
pub(crate) fn decode_stream(bytes: &[u8], session: u64) -> LiveStream {
    let mut fields = ReplyFields(bytes);
    LiveStream {
        id: fields.u64(),
        trace: TraceKey { session, trace: fields.u64() },
        is_metadata: fields.u32() != 0,
        path: fields.text(PATH_MAX),
        channel: fields.text(NAME_MAX),
    }
}

/// Announcements in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewsFlags {
    pub(crate) has_metadata: bool,
    pub(crate) has_streams: bool,
}

impl NewsFlags {
    /// Unknown flags are ignored: a later version may define them.
    fn new(bits: u32) -> Self {
        Self { has_metadata: bits & FLAG_NEW_METADATA != 0, has_streams: bits & FLAG_NEW_STREAM != 0 }
    }
}

/// Reply to a request for the next index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexReply {
    Entry(PacketEntry),
    Retry,
    Inactive { time: u64, stream_class: u64 },
    HungUp,
    Failed,
}

impl IndexReply {
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, NewsFlags), ProtocolError> {
        let mut fields = ReplyFields(bytes);
        let entry = PacketEntry {
            offset: fields.u64(),
            packet_size: fields.u64(),
            content_size: fields.u64(),
            timestamp_begin: fields.u64(),
            timestamp_end: fields.u64(),
            events_discarded: fields.u64(),
            stream_class: fields.u64(),
        };
        let (status, flags) = (fields.u32(), NewsFlags::new(fields.u32()));
        let reply = match status {
            1 => Self::Entry(entry),
            2 => Self::Retry,
            // The end of the index file is the end of the data stream, too.
            3 | 6 => Self::HungUp,
            4 => Self::Failed,
            5 => Self::Inactive { time: entry.timestamp_end, stream_class: entry.stream_class },
            value => return Err(ProtocolError::UnknownValue { field: "index status", value: value.into() }),
        };
        Ok((reply, flags))
    }
}

/// Reply to a request for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketReply {
    /// Number of bytes that follow.
    Bytes(u32),
    Retry,
    Failed,
    EndOfFile,
}

impl PacketReply {
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, NewsFlags), ProtocolError> {
        let mut fields = ReplyFields(bytes);
        let (status, length, flags) = (fields.u32(), fields.u32(), NewsFlags::new(fields.u32()));
        let reply = match status {
            1 => Self::Bytes(length),
            2 => Self::Retry,
            3 => Self::Failed,
            4 => Self::EndOfFile,
            value => return Err(ProtocolError::UnknownValue { field: "packet status", value: value.into() }),
        };
        Ok((reply, flags))
    }
}

/// Reply to a request for metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataReply {
    /// Number of bytes that follow. 0 means that the request must be repeated later.
    Bytes(u64),
    NoNew,
    Failed,
}

impl MetadataReply {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = ReplyFields(bytes);
        let (length, status) = (fields.u64(), fields.u32());
        Ok(match status {
            1 => Self::Bytes(length),
            2 => Self::NoNew,
            3 => Self::Failed,
            value => {
                return Err(ProtocolError::UnknownValue { field: "metadata status", value: value.into() });
            }
        })
    }
}

/// Reply to a request to detach.
pub(crate) fn decode_detach(bytes: &[u8]) -> Result<bool, ProtocolError> {
    match decode_number(bytes) {
        1 => Ok(true),
        2 | 3 => Ok(false),
        value => Err(ProtocolError::UnknownValue { field: "detach status", value: value.into() }),
    }
}
