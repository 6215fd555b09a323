//! Client for LTTng live: reads recording sessions from an LTTng relay daemon while they are recorded.
//!
//! [`LiveClient`] implements the protocol without input and output: received bytes go in, request bytes and
//! [events](LiveEvent) come out. [`RelayConnection`] connects it to a TCP socket, with blocking calls and timeouts.
//! [`RelayAddress`] is the address of a relay daemon or a recording session.
//!
//! # Protocol
//!
//! The client sends a request, and the relay daemon answers. The relay daemon never sends anything else, so a client
//! must poll. This client sends its requests in this order:
//!
//! 1. the requests of its user: list sessions, attach, detach
//! 2. new metadata, when the relay daemon announces it, before the packets that need it
//! 3. new streams, once per [`tick`](LiveClient::tick) and when the relay daemon announces them
//! 4. the next index entry or packet of the data stream whose known time is the earliest, so that packets arrive
//!    almost sorted by time
//!
//! It waits for each reply, or asks [several data streams](LiveClient::set_outstanding) of a distant relay daemon at a
//! time.
//!
//! A data stream without news is not asked again before the next tick, or before the fourth if it stays idle. A paused
//! data stream is not asked at all.
//!
//! Versions 2.4 and later are supported. Version 2.15 has longer session names, and tells the trace format (CTF 1.8 or
//! CTF 2).
//!
//! # Relay daemon limitations
//!
//! LTTng 2.13's relay daemon drops the data streams of a process with its own buffers when the process exits, even if
//! packets were not read. They are in its files, but a live client cannot know of them. This relay daemon also crashes
//! when a client attaches to a session with a channel that limits its file size without limiting the number of files.
//!
//! # Hostile peers
//!
//! All lengths and counts have [limits](LiveLimits). Memory grows with the received bytes, not with the announced
//! lengths. A reply that the protocol forbids is a [`ProtocolError`], after which the client cannot be used. Strings
//! from the relay daemon can contain anything, for example terminal escapes or `../`.
#![forbid(unsafe_code)]

mod address;
mod client;
mod connection;
mod error;
mod event;
mod limits;
mod live_streams;
mod messages;
mod reply_part;

pub use address::{AddressError, AddressFamily, DEFAULT_PORT, RelayAddress, SessionPath};
pub use client::LiveClient;
pub use connection::{ConnectionError, ConnectionOptions, RelayConnection};
pub use error::ProtocolError;
pub use event::{
    AttachRefusal, LiveEvent, LivePacket, LiveStream, PacketEntry, PacketLossReason, ProtocolVersion,
    RelaySession, SeekPosition, SessionEndReason, StreamEndReason, TraceFormat, TraceKey,
};
pub use limits::LiveLimits;
