//! Relay daemons that violate the protocol.

use super::script::{
    self, Conversation, PACKET, attached, attached_without_metadata, bytes, entry, index, metadata,
    new_streams, packet, stream,
};
use crate::client::LiveClient;
use crate::error::ProtocolError;
use crate::event::SeekPosition;
use crate::limits::LiveLimits;

fn unknown(field: &'static str, value: u64) -> ProtocolError {
    ProtocolError::UnknownValue { field, value }
}

fn limit(items: &'static str, count: u64, limit: u64) -> ProtocolError {
    ProtocolError::Limit { items, count, limit }
}

/// Answers the next request, and checks the error. The client must not send anything after it.
#[track_caller]
fn fails(mut talk: Conversation, reply: &[u8], error: &ProtocolError) {
    talk.client.sent(talk.client.output().len());
    assert_eq!(talk.client.receive(reply), Err(error.clone()));
    talk.client.tick();
    talk.client.list_sessions();
    assert_eq!(talk.client.output(), b"");
    assert!(!talk.client.is_waiting_for_reply());
    assert_eq!(talk.client.receive(b"x"), Err(error.clone()));
    assert_eq!(talk.client.check_end(), Err(error.clone()));
    assert!(!error.to_string().is_empty());
}

#[test]
fn wrong_versions() {
    for (major, minor) in [(1, 15), (3, 0), (2, 3), (2, 0), (0, 0), (u32::MAX, u32::MAX)] {
        let talk = Conversation::new(LiveClient::default());
        fails(talk, &bytes(&[&[1]], &[major, minor, 1]), &ProtocolError::Version { major, minor });
    }
}

#[test]
fn bytes_without_a_request() {
    let mut talk = Conversation::new(LiveClient::default());
    // The request was not sent yet.
    assert_eq!(talk.client.receive(&[0]), Err(ProtocolError::Unrequested(1)));
    talk = Conversation::new(LiveClient::default());
    let reply = [bytes(&[&[1]], &[2, 13, 1]), vec![1, 2, 3]].concat();
    fails(talk, &reply, &ProtocolError::Unrequested(3));
    talk = attached();
    let reply = [index(1, 0, entry(1, 2)), packet(1, 0, PACKET)].concat();
    fails(talk, &reply, &ProtocolError::Unrequested(12 + PACKET.len()));
    talk = Conversation::connected(13);
    fails(talk, b"unasked", &ProtocolError::Unrequested(7));
}

#[test]
fn session_lists() {
    let session = |lengths: [u32; 2], format| {
        [bytes(&[], &[1]), bytes(&[&[7]], &[1, 1, 1, lengths[0], lengths[1], format])].concat()
    };
    let cases = [
        (13, bytes(&[], &[1025]), limit("sessions", 1025, 1024)),
        (15, bytes(&[], &[u32::MAX]), limit("sessions", u32::MAX.into(), 1024)),
        (15, session([4097, 1], 0), limit("bytes of a name", 4097, 4096)),
        (15, session([0, u32::MAX], 0), limit("bytes of a name", u32::MAX.into(), 4096)),
        (15, session([1, 1], 2), unknown("trace format", 2)),
    ];
    for (minor, reply, error) in cases {
        let mut talk = Conversation::connected(minor);
        talk.client.list_sessions();
        fails(talk, &reply, &error);
    }
}

#[test]
fn viewer_sessions_and_attaching() {
    let talk = || {
        let mut talk = Conversation::connected(13);
        talk.client.attach(7, SeekPosition::Beginning);
        talk
    };
    for status in [0, 2, u32::MAX] {
        fails(talk(), &status.to_be_bytes(), &ProtocolError::NoViewerSession);
    }
    let twice = |ids: [(u64, bool); 2]| {
        new_streams(1, &ids.map(|(id, is_metadata)| stream(id, 70, is_metadata, "c")))
    };
    let cases = [
        (bytes(&[], &[0, 0]), unknown("attach status", 0)),
        (bytes(&[], &[7, 0]), unknown("attach status", 7)),
        (bytes(&[], &[1, 10_000]), limit("streams", 10_000, 8192)),
        (bytes(&[], &[1, u32::MAX]), limit("streams", u32::MAX.into(), 8192)),
        (twice([(5, false), (5, false)]), ProtocolError::DuplicateStream(5)),
        (twice([(4, true), (5, true)]), ProtocolError::DuplicateMetadata(5)),
    ];
    for (reply, error) in cases {
        let mut talk = talk();
        talk.asks(8, &[]);
        talk.answer(&1_u32.to_be_bytes());
        fails(talk, &reply, &error);
    }
}

#[test]
fn data_streams() {
    let bits = 8 * PACKET.len() as u64;
    let index_entry = |reason| ProtocolError::IndexEntry { stream: 5, reason };
    let with = |at: usize, value: u64| {
        let mut fields = entry(1, 2);
        fields[at] = value;
        index(1, 0, fields)
    };
    let too_large = (256 << 20) + 1;
    let cases = [
        (index(0, 0, entry(1, 2)), unknown("index status", 0)),
        (index(7, 0, entry(1, 2)), unknown("index status", 7)),
        (with(1, 0), index_entry("the packet is empty")),
        (with(1, bits - 1), index_entry("the packet size is not a multiple of 8 bits")),
        (with(2, bits + 1), index_entry("the content is larger than the packet")),
        (with(0, u64::MAX), index_entry("the packet ends after the largest offset")),
        (with(1, 8 * too_large), limit("bytes of a packet", too_large, 256 << 20)),
        (with(1, u64::MAX - 7), limit("bytes of a packet", (u64::MAX - 7) / 8, 256 << 20)),
    ];
    for (reply, error) in cases {
        fails(attached(), &reply, &error);
    }
    let requested = PACKET.len() as u32;
    let length = |length| ProtocolError::PacketLength { stream: 5, length, requested };
    let cases = [
        (bytes(&[], &[0, 1, 0]), unknown("packet status", 0)),
        (bytes(&[], &[5, 1, 0]), unknown("packet status", 5)),
        (bytes(&[], &[1, 0, 0]), length(0)),
        (bytes(&[], &[1, requested + 1, 0]), length(requested + 1)),
        (bytes(&[], &[1, u32::MAX, 0]), length(u32::MAX)),
    ];
    for (reply, error) in cases {
        let mut talk = attached();
        talk.asks(4, &5_u64.to_be_bytes());
        talk.answer(&index(1, 0, entry(1, 2)));
        fails(talk, &reply, &error);
    }
}

#[test]
fn metadata_and_new_streams() {
    let most = LiveLimits::default().metadata_bytes;
    let cases = [
        (bytes(&[&[0]], &[0]), unknown("metadata status", 0)),
        (bytes(&[&[0]], &[4]), unknown("metadata status", 4)),
        (bytes(&[&[most + 1]], &[1]), limit("bytes of metadata", most + 1, most)),
        (bytes(&[&[u64::MAX]], &[1]), limit("bytes of metadata", u64::MAX, most)),
    ];
    for (reply, error) in cases {
        fails(attached_without_metadata(LiveLimits::default()), &reply, &error);
    }
    // The limit is for all metadata of a trace.
    let mut talk = attached_without_metadata(LiveLimits { metadata_bytes: 10, ..Default::default() });
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(1, b"123456"));
    fails(talk, &metadata(1, b"78901"), &limit("bytes of metadata", 11, 10));
    let cases = [
        (bytes(&[], &[0, 0]), unknown("new stream status", 0)),
        (bytes(&[], &[5, 0]), unknown("new stream status", 5)),
        // Two streams are there already.
        (bytes(&[], &[1, 8191]), limit("streams", 8193, 8192)),
        (new_streams(1, &[stream(5, 70, false, "c_0")]), ProtocolError::DuplicateStream(5)),
    ];
    for (reply, error) in cases {
        let mut talk = attached();
        talk.client.tick();
        talk.asks(4, &5_u64.to_be_bytes());
        talk.answer(&index(2, 0, [0; 7]));
        assert_eq!(talk.command(), Some(7));
        fails(talk, &reply, &error);
    }
    let mut talk = attached();
    talk.client.detach(7);
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(2, 0, [0; 7]));
    fails(talk, &4_u32.to_be_bytes(), &unknown("detach status", 4));
}

/// The relay daemon delays packets, so that several streams have an incomplete packet.
#[test]
fn incomplete_packets() {
    let limits = LiveLimits { request_bytes: 30, packet_bytes: 50, ..Default::default() };
    let mut talk = script::attached_with(limits);
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 2, entry(100, 200)));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(1, &[stream(6, 70, false, "c_1")]));
    talk.asks(5, &bytes(&[&[5, 4096]], &[30]));
    talk.answer(&packet(1, 0, &PACKET[..30]));
    talk.asks(5, &bytes(&[&[5, 4126]], &[10]));
    talk.answer(&packet(2, 0, b""));
    talk.asks(4, &6_u64.to_be_bytes());
    talk.answer(&index(1, 0, entry(100, 200)));
    talk.asks(5, &bytes(&[&[6, 4096]], &[30]));
    fails(talk, &packet(1, 0, &PACKET[..30]), &limit("bytes of incomplete packets", 60, 50));
}

/// With a higher limit, 10,000 streams are read. Each is asked once per tick.
#[test]
fn ten_thousand_streams() {
    let streams: Vec<_> = (0..9_999)
        .map(|id| stream(id, 70, false, "c"))
        .chain([stream(9_999, 70, true, "metadata")])
        .collect();
    let limits = LiveLimits { streams: 10_000, ..Default::default() };
    let mut talk = Conversation::new(LiveClient::new(limits));
    talk.asks(1, &bytes(&[&[u64::MAX]], &[2, 15, 1]));
    talk.answer(&bytes(&[&[1]], &[2, 13, 1]));
    talk.client.attach(7, SeekPosition::Beginning);
    talk.asks(8, &[]);
    talk.answer(&1_u32.to_be_bytes());
    talk.asks(3, &bytes(&[&[7, 0]], &[1]));
    talk.answer(&new_streams(1, &streams));
    assert_eq!(talk.events().len(), 2 + 10_000);
    talk.asks(6, &9_999_u64.to_be_bytes());
    talk.answer(&metadata(1, b"m"));
    talk.asks(6, &9_999_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    for ticks in [1, 2, 4] {
        let mut asked = 0;
        while talk.client.is_waiting_for_reply() {
            assert_eq!(talk.command(), Some(4));
            talk.client.sent(talk.client.output().len());
            talk.answer(&index(2, 0, [0; 7]));
            asked += 1;
        }
        assert_eq!(asked, 9_999);
        talk.ticks(ticks);
    }
}

/// Random damage in any reply is an error or other events, but never a panic.
#[test]
fn random_bytes() {
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % below
    };
    let (mut errors, mut events) = (0, 0);
    for _ in 0..3_000 {
        let mut talk = Conversation::new(LiveClient::default());
        talk.client.list_sessions();
        talk.client.attach(7, SeekPosition::Beginning);
        for mut reply in script_replies() {
            talk.client.sent(talk.client.output().len());
            if random(6) == 0 {
                let at = random(reply.len());
                reply[at] = [0, 1, 2, 3, 4, 5, 6, 0x7f, 0xff][random(9)];
            }
            if talk.client.receive(&reply).is_err() {
                errors += 1;
                break;
            }
            if random(4) == 0 {
                talk.client.tick();
            }
            events += talk.events().len();
        }
    }
    assert!(errors > 1_000 && events > 10_000, "{errors} {events}");
}

/// Returns the replies of a session that is read from its beginning to its end.
fn script_replies() -> Vec<Vec<u8>> {
    script::replies().into_iter().map(|(_, reply)| reply).collect()
}
