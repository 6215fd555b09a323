//! Replies of a relay daemon, byte by byte, and the conversation with a client.

use crate::client::LiveClient;
use crate::event::{LiveEvent, PacketEntry, SeekPosition};
use crate::limits::LiveLimits;

/// Bytes of a packet.
pub(super) const PACKET: &[u8] = b"0123456789abcdefghijABCDEFGHIJ9876543210";

/// Returns 64-bit numbers, and after them 32-bit numbers.
pub(super) fn bytes(long: &[&[u64]], short: &[u32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = long.concat().iter().flat_map(|number| number.to_be_bytes()).collect();
    bytes.extend(short.iter().flat_map(|number| number.to_be_bytes()));
    bytes
}

fn padded(text: &[u8], size: usize) -> Vec<u8> {
    let mut field = text.to_vec();
    field.resize(size, 0);
    field
}

/// Returns a session in a list.
pub(super) fn session(minor: u32, host: &[u8], name: &[u8], format: u32) -> Vec<u8> {
    let mut reply = bytes(&[&[7]], &[500_000, 1, 3]);
    match minor {
        ..15 => reply.extend([padded(host, 64), padded(name, 255)].concat()),
        _ => {
            reply.extend(bytes(&[], &[host.len() as u32, name.len() as u32, format]));
            reply.extend([host, name].concat());
        }
    }
    reply
}

/// Returns a stream in a list.
pub(super) fn stream(id: u64, trace: u64, is_metadata: bool, channel: &str) -> Vec<u8> {
    let mut reply = bytes(&[&[id, trace]], &[is_metadata.into()]);
    reply.extend(padded(b"ust/uid/0/64-bit", 4096));
    reply.extend(padded(channel.as_bytes(), 255));
    reply
}

/// Returns an answer about new streams, or to a request to attach.
pub(super) fn new_streams(status: u32, streams: &[Vec<u8>]) -> Vec<u8> {
    let mut reply = bytes(&[], &[status, streams.len() as u32]);
    reply.extend(streams.concat());
    reply
}

/// Returns the fields of an index entry for [`PACKET`].
pub(super) fn entry(begin: u64, end: u64) -> [u64; 7] {
    let bits = 8 * PACKET.len() as u64;
    [4096, bits, bits - 8, begin, end, 2, 3]
}

/// Returns the index entry that a client decodes.
pub(super) fn decoded(fields: [u64; 7]) -> PacketEntry {
    let [offset, packet_size, content_size, timestamp_begin, timestamp_end, events_discarded, stream_class] =
        fields;
    PacketEntry {
        offset,
        packet_size,
        content_size,
        timestamp_begin,
        timestamp_end,
        events_discarded,
        stream_class,
    }
}

pub(super) fn index(status: u32, flags: u32, fields: [u64; 7]) -> Vec<u8> {
    bytes(&[&fields], &[status, flags])
}

pub(super) fn packet(status: u32, flags: u32, data: &[u8]) -> Vec<u8> {
    let mut reply = bytes(&[], &[status, data.len() as u32, flags]);
    reply.extend(data);
    reply
}

pub(super) fn metadata(status: u32, data: &[u8]) -> Vec<u8> {
    let mut reply = bytes(&[&[data.len() as u64]], &[status]);
    reply.extend(data);
    reply
}

/// Client and its scripted relay daemon.
pub(super) struct Conversation {
    pub(super) client: LiveClient,
}

impl Conversation {
    pub(super) fn new(client: LiveClient) -> Self {
        Self { client }
    }

    /// Connects to a relay daemon with version 2.`minor`.
    pub(super) fn connected(minor: u32) -> Self {
        let mut talk = Self::new(LiveClient::default());
        talk.connect(minor);
        talk
    }

    fn connect(&mut self, minor: u32) {
        self.asks(1, &bytes(&[&[u64::MAX]], &[2, 15, 1]));
        self.answer(&bytes(&[&[1]], &[2, minor, 1]));
        assert_eq!(self.events().len(), 1);
    }

    /// Returns the command of the next request.
    pub(super) fn command(&self) -> Option<u32> {
        let command = self.client.output().get(8..12)?;
        Some(u32::from_be_bytes(command.try_into().unwrap()))
    }

    /// Checks a request, and takes it.
    #[track_caller]
    pub(super) fn asks(&mut self, command: u32, payload: &[u8]) {
        let mut expected = bytes(&[&[payload.len() as u64]], &[command, 0]);
        expected.extend(payload);
        let output = self.client.output();
        assert_eq!(&output[..expected.len().min(output.len())], expected);
        self.client.sent(expected.len());
    }

    /// Takes a request.
    pub(super) fn take(&mut self) {
        let size = self.client.output().get(..8).map(|size| u64::from_be_bytes(size.try_into().unwrap()));
        self.client.sent(16 + size.unwrap_or_default() as usize);
    }

    #[track_caller]
    pub(super) fn answer(&mut self, reply: &[u8]) {
        assert_eq!(self.client.receive(reply), Ok(()));
    }

    /// Lets ticks pass. Session 7 does not have new streams.
    #[track_caller]
    pub(super) fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            assert!(!self.client.is_waiting_for_reply());
            self.client.tick();
            self.asks(7, &7_u64.to_be_bytes());
            self.answer(&new_streams(2, &[]));
        }
    }

    pub(super) fn events(&mut self) -> Vec<LiveEvent> {
        std::iter::from_fn(|| self.client.next_event()).collect()
    }
}

/// Returns a conversation that is attached to session 7, with metadata stream 4 and data stream 5 in trace 70. The
/// metadata was not requested yet.
pub(super) fn attached_without_metadata(limits: LiveLimits) -> Conversation {
    let mut talk = Conversation::new(LiveClient::new(limits));
    talk.connect(13);
    talk.client.attach(7, SeekPosition::Beginning);
    talk.asks(8, &[]);
    talk.answer(&1_u32.to_be_bytes());
    talk.asks(3, &bytes(&[&[7, 0]], &[1]));
    talk.answer(&new_streams(1, &[stream(4, 70, true, "metadata"), stream(5, 70, false, "c_0")]));
    let events = talk.events();
    assert_eq!(events.len(), 3, "{events:?}");
    talk
}

/// Returns the same conversation after the metadata was read.
pub(super) fn attached_with(limits: LiveLimits) -> Conversation {
    let mut talk = attached_without_metadata(limits);
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(1, b"/* CTF 1.8 */"));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    assert_eq!(talk.events().len(), 1);
    talk
}

pub(super) fn attached() -> Conversation {
    attached_with(LiveLimits::default())
}

/// Returns commands and replies of a session that is listed, and read from its beginning to its end.
pub(super) fn replies() -> Vec<(u32, Vec<u8>)> {
    let mut list = 2_u32.to_be_bytes().to_vec();
    list.extend(session(15, b"web-1", b"auto", 1));
    list.extend(session(15, b"", b"", 0));
    let streams = [stream(4, 70, true, "metadata"), stream(5, 70, false, "c_0")];
    vec![
        (1, bytes(&[&[1]], &[2, 15, 1])),
        (2, list),
        (8, bytes(&[], &[1])),
        (3, new_streams(1, &streams)),
        (6, metadata(1, b"abc")),
        (6, metadata(2, b"")),
        // New metadata and a new stream, before the packet.
        (4, index(1, 3, entry(1, 100))),
        (6, metadata(1, b"def")),
        (6, metadata(2, b"")),
        (7, new_streams(1, &[stream(6, 70, false, "c_1")])),
        (5, packet(1, 0, PACKET)),
        (4, index(3, 0, [0; 7])),
        (4, index(3, 0, [0; 7])),
        (6, metadata(3, b"")),
        (7, new_streams(4, &[])),
    ]
}
