//! Conversations with a scripted relay daemon.

mod lies;
mod script;
mod splits;

use super::LiveClient;
use crate::event::*;
use script::{Conversation, PACKET, attached, bytes, entry, index, metadata, new_streams, packet, stream};

const TRACE: TraceKey = TraceKey { session: 7, trace: 70 };

fn end(stream: u64, reason: StreamEndReason) -> LiveEvent {
    LiveEvent::StreamEnd { stream, reason }
}

#[test]
fn requests_have_their_bytes() {
    let mut talk = Conversation::new(LiveClient::default());
    // Connection: size 20, command 1, version 0; no viewer session, 2.15, commands.
    talk.asks(1, &bytes(&[&[u64::MAX]], &[2, 15, 1]));
    talk.answer(&bytes(&[&[99]], &[2, 13, 1]));
    assert_eq!(talk.events(), [LiveEvent::Connected(ProtocolVersion { major: 2, minor: 13 })]);
    assert_eq!(talk.client.version(), Some(ProtocolVersion { major: 2, minor: 13 }));
    assert!(!talk.client.is_waiting_for_reply());
    talk.client.list_sessions();
    talk.asks(2, &[]);
    talk.answer(&0_u32.to_be_bytes());
    assert_eq!(talk.events(), [LiveEvent::Sessions(Vec::new())]);
    talk.client.attach(7, SeekPosition::Last);
    talk.asks(8, &[]);
    talk.answer(&1_u32.to_be_bytes());
    talk.asks(3, &bytes(&[&[7, 0]], &[2]));
    talk.answer(&bytes(&[], &[1, 0]));
    assert_eq!(talk.events(), [LiveEvent::Attached { session: 7 }]);
    // A second session needs no second viewer session.
    talk.client.attach(8, SeekPosition::Beginning);
    talk.asks(3, &bytes(&[&[8, 0]], &[1]));
    talk.answer(&bytes(&[], &[3, 0]));
    assert_eq!(talk.events(), [LiveEvent::AttachRefused { session: 8, reason: AttachRefusal::Unknown }]);
    talk.client.tick();
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(1, &[stream(4, 70, true, "metadata"), stream(5, 70, false, "c_0")]));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(1, b"abc"));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 0, entry(100, 200)));
    talk.asks(5, &bytes(&[&[5, 4096]], &[PACKET.len() as u32]));
    talk.answer(&packet(1, 0, PACKET));
    talk.asks(4, &5_u64.to_be_bytes());
    talk.client.detach(7);
    talk.answer(&index(2, 0, [0; 7]));
    talk.asks(9, &7_u64.to_be_bytes());
    talk.answer(&1_u32.to_be_bytes());
    let events = talk.events();
    assert_eq!(
        events.last(),
        Some(&LiveEvent::SessionEnd { session: 7, reason: SessionEndReason::Detached })
    );
    assert_eq!(talk.client.check_end(), Ok(()));
}

#[test]
fn session_lists_of_both_versions() {
    let expected = |host: &str, name: &str, format| RelaySession {
        id: 7,
        host: host.to_owned(),
        name: name.to_owned(),
        live_timer: 500_000,
        clients: 1,
        streams: 3,
        format,
    };
    // Host and name; names up to 2.14 end at a zero byte or at the end of the field.
    let cases: [(&[u8], &[u8], &str, &str); 4] = [
        (b"web-1", b"auto", "web-1", "auto"),
        (b"", b"", "", ""),
        (&[b'h'; 64], &[b'n'; 255], &"h".repeat(64), &"n".repeat(255)),
        (b"\xff\x1b[31m", b"a\0b", "\u{fffd}\x1b[31m", "a"),
    ];
    for minor in [4, 13, 14, 15, 99] {
        for (host, name, host_text, name_text) in cases {
            let mut talk = Conversation::connected(minor);
            talk.client.list_sessions();
            talk.asks(2, &[]);
            let mut reply = 2_u32.to_be_bytes().to_vec();
            for format in [0, 1] {
                reply.extend(script::session(minor, host, name, format));
            }
            talk.answer(&reply);
            let second = if minor < 15 { TraceFormat::Ctf18 } else { TraceFormat::Ctf2 };
            let list = [TraceFormat::Ctf18, second].map(|format| expected(host_text, name_text, format));
            assert_eq!(talk.events(), [LiveEvent::Sessions(list.to_vec())], "{minor}");
        }
    }
}

#[test]
fn each_refusal_to_attach_has_a_reason() {
    let reasons = [
        (2, AttachRefusal::Already),
        (3, AttachRefusal::Unknown),
        (4, AttachRefusal::NotLive),
        (5, AttachRefusal::Seek),
        (6, AttachRefusal::NoViewerSession),
    ];
    for (status, reason) in reasons {
        let mut talk = Conversation::connected(13);
        talk.client.attach(7, SeekPosition::Beginning);
        talk.asks(8, &[]);
        talk.answer(&1_u32.to_be_bytes());
        talk.asks(3, &bytes(&[&[7, 0]], &[1]));
        talk.answer(&bytes(&[], &[status, 4]));
        assert_eq!(talk.events(), [LiveEvent::AttachRefused { session: 7, reason }]);
        assert!(!talk.client.is_waiting_for_reply());
    }
}

#[test]
fn index_answers() {
    // Status, flags; next command, events.
    let lost = |reason| vec![end(5, reason)];
    let inactive = LiveEvent::Inactive { stream: 5, time: 200, stream_class: 3 };
    let cases = [
        (1, 0, Some(5), vec![]),
        // New metadata before the packet, new streams as well.
        (1, 1, Some(6), vec![]),
        (1, 2, Some(7), vec![]),
        (1, 3, Some(6), vec![]),
        // Flags of later versions.
        (1, 0xffff_fffc, Some(5), vec![]),
        (2, 0, None, vec![]),
        (2, 1, Some(6), vec![]),
        (2, 2, Some(7), vec![]),
        // After the last data stream: the last metadata.
        (3, 0, Some(6), lost(StreamEndReason::HungUp)),
        (6, 0, Some(6), lost(StreamEndReason::HungUp)),
        (4, 0, Some(6), lost(StreamEndReason::Failed)),
        (5, 0, None, vec![inactive.clone()]),
        (5, 2, Some(7), vec![inactive]),
    ];
    for (status, flags, command, events) in cases {
        let mut talk = attached();
        talk.asks(4, &5_u64.to_be_bytes());
        talk.answer(&index(status, flags, entry(100, 200)));
        assert_eq!(talk.events(), events, "{status} {flags}");
        assert_eq!(talk.command(), command, "{status} {flags}");
        assert_eq!(talk.client.is_waiting_for_reply(), command.is_some());
    }
}

#[test]
fn packet_answers() {
    use PacketLossReason::{EndOfFile, Failed};
    let fields = entry(100, 200);
    let lost = |reason| {
        let entry = script::decoded(fields);
        vec![LiveEvent::PacketLost { stream: 5, entry, reason }]
    };
    let whole = || {
        let entry = script::decoded(fields);
        vec![LiveEvent::Packet(LivePacket { stream: 5, entry, bytes: PACKET.to_vec() })]
    };
    let cases = [
        (1, 0, PACKET, Some(4), whole()),
        (1, 1, PACKET, Some(6), whole()),
        // The rest of the packet.
        (1, 0, &PACKET[..10], Some(5), vec![]),
        (2, 0, b"", None, vec![]),
        (3, 0, b"", Some(4), lost(Failed)),
        (3, 1, b"", Some(6), vec![]),
        (3, 2, b"", Some(7), vec![]),
        (4, 0, b"", Some(4), lost(EndOfFile)),
    ];
    for (status, flags, data, command, events) in cases {
        let mut talk = attached();
        talk.asks(4, &5_u64.to_be_bytes());
        talk.answer(&index(1, 0, fields));
        talk.asks(5, &bytes(&[&[5, 4096]], &[PACKET.len() as u32]));
        talk.answer(&packet(status, flags, data));
        assert_eq!(talk.events(), events, "{status} {flags}");
        assert_eq!(talk.command(), command, "{status} {flags}");
    }
}

/// A packet in several parts is finished first, even if its stream is paused and another stream is earlier.
#[test]
fn packets_in_several_requests() {
    let limits = crate::LiveLimits { request_bytes: 16, ..Default::default() };
    let mut talk = script::attached_with(limits);
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(5, 0, entry(0, 99)));
    talk.client.tick();
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(2, &[]));
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 2, entry(100, 200)));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(2, &[]));
    assert_eq!(talk.events().len(), 1);
    talk.client.tick();
    for (at, length) in [(0, 16), (16, 16), (32, 8)] {
        assert_eq!(talk.events(), []);
        talk.asks(5, &bytes(&[&[5, 4096 + at as u64]], &[length]));
        talk.answer(&packet(1, 0, &PACKET[at..at + length as usize]));
        if at == 0 {
            talk.asks(7, &7_u64.to_be_bytes());
            talk.answer(&new_streams(1, &[stream(6, 70, false, "c_1")]));
            assert_eq!(talk.events().len(), 1);
            talk.client.pause(5);
        }
    }
    let entry = script::decoded(entry(100, 200));
    let expected = LivePacket { stream: 5, entry, bytes: PACKET.to_vec() };
    assert_eq!(talk.events(), [LiveEvent::Packet(expected)]);
    talk.asks(4, &6_u64.to_be_bytes());
}

/// The relay daemon refuses a packet until new metadata was read. A second refusal must not become a fast loop.
#[test]
fn refused_packets_are_requested_again() {
    let mut talk = attached();
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 0, entry(100, 200)));
    for round in 0..3 {
        talk.asks(5, &bytes(&[&[5, 4096]], &[PACKET.len() as u32]));
        talk.answer(&packet(3, 1, b""));
        talk.asks(6, &4_u64.to_be_bytes());
        talk.answer(&metadata(2, b""));
        talk.ticks(round);
    }
    talk.asks(5, &bytes(&[&[5, 4096]], &[PACKET.len() as u32]));
    talk.answer(&packet(1, 0, PACKET));
    assert_eq!(talk.events().len(), 1);
}

#[test]
fn packets_wait_for_metadata() {
    let mut talk = script::attached_without_metadata(crate::LiveLimits::default());
    // Nothing yet, or an empty answer: again after a tick, and no index entry is requested.
    for (round, status) in [2, 1, 2].into_iter().enumerate() {
        talk.asks(6, &4_u64.to_be_bytes());
        talk.answer(&metadata(status, b""));
        if round > 0 {
            talk.asks(7, &7_u64.to_be_bytes());
            talk.answer(&new_streams(2, &[]));
        }
        assert!(!talk.client.is_waiting_for_reply());
        talk.client.tick();
    }
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(1, b"abc"));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(1, b"de"));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    let part = |bytes: &[u8]| LiveEvent::Metadata { trace: TRACE, bytes: bytes.to_vec() };
    assert_eq!(talk.events(), [part(b"abc"), part(b"de")]);
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(2, &[]));
    talk.asks(4, &5_u64.to_be_bytes());
}

/// A short process with its own buffers: the relay daemon has dropped its metadata.
#[test]
fn packets_without_metadata_are_not_lost() {
    let mut talk = script::attached_without_metadata(crate::LiveLimits::default());
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(3, b""));
    assert_eq!(talk.events(), [end(4, StreamEndReason::Failed)]);
    talk.asks(4, &5_u64.to_be_bytes());
    // A closed session cannot get metadata, either.
    let mut talk = script::attached_without_metadata(crate::LiveLimits::default());
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    talk.client.tick();
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(4, &[]));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    talk.asks(4, &5_u64.to_be_bytes());
}

#[test]
fn a_session_ends_after_its_streams() {
    for (status, reason) in [(4, SessionEndReason::Closed), (3, SessionEndReason::Failed)] {
        let mut talk = attached();
        talk.asks(4, &5_u64.to_be_bytes());
        talk.answer(&index(3, 0, [0; 7]));
        talk.asks(6, &4_u64.to_be_bytes());
        talk.answer(&metadata(1, b"last"));
        talk.asks(6, &4_u64.to_be_bytes());
        talk.answer(&metadata(2, b""));
        talk.asks(7, &7_u64.to_be_bytes());
        talk.answer(&new_streams(status, &[]));
        assert!(!talk.client.is_waiting_for_reply());
        let last = LiveEvent::Metadata { trace: TRACE, bytes: b"last".to_vec() };
        assert_eq!(
            talk.events(),
            [
                end(5, StreamEndReason::HungUp),
                last,
                end(4, StreamEndReason::SessionEnd),
                LiveEvent::SessionEnd { session: 7, reason }
            ]
        );
        talk.client.tick();
        assert!(!talk.client.is_waiting_for_reply());
    }
}

/// The relay daemon closes a session before its last packets are read.
#[test]
fn a_closed_session_is_read_to_its_end() {
    let mut talk = attached();
    talk.client.tick();
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 0, entry(100, 200)));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(4, &[]));
    talk.asks(5, &bytes(&[&[5, 4096]], &[PACKET.len() as u32]));
    talk.client.tick();
    talk.answer(&packet(1, 0, PACKET));
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(3, 0, [0; 7]));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(3, b""));
    let events = talk.events();
    assert!(matches!(events[0], LiveEvent::Packet(_)));
    let closed = LiveEvent::SessionEnd { session: 7, reason: SessionEndReason::Closed };
    let ends = [end(5, StreamEndReason::HungUp), end(4, StreamEndReason::HungUp), closed];
    assert_eq!(events[1..], ends);
}

#[test]
fn streams_of_a_session_without_streams_are_awaited() {
    let mut talk = attached();
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(3, 0, [0; 7]));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(3, b""));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(2, &[]));
    assert!(!talk.client.is_waiting_for_reply());
    talk.client.tick();
    talk.asks(7, &7_u64.to_be_bytes());
    // A second process, with the ids of the first one.
    talk.answer(&new_streams(1, &[stream(5, 70, false, "c_0"), stream(4, 70, true, "metadata")]));
    talk.asks(6, &4_u64.to_be_bytes());
}

/// An idle data stream is asked less and less often.
#[test]
fn inactivity_is_reported_once() {
    let mut talk = attached();
    for (time, is_news, ticks) in
        [(300, true, 1), (300, false, 2), (299, false, 4), (301, true, 4), (301, false, 4)]
    {
        talk.asks(4, &5_u64.to_be_bytes());
        talk.answer(&index(5, 0, entry(0, time)));
        let event = LiveEvent::Inactive { stream: 5, time, stream_class: 3 };
        assert_eq!(talk.events(), if is_news { vec![event] } else { vec![] });
        talk.ticks(ticks);
    }
    // A packet makes it busy again.
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 0, entry(301, 400)));
    talk.asks(5, &bytes(&[&[5, 4096]], &[PACKET.len() as u32]));
    talk.answer(&packet(1, 0, PACKET));
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(2, 0, [0; 7]));
    talk.ticks(1);
    talk.asks(4, &5_u64.to_be_bytes());
}

/// Streams take turns by time, and a paused stream is not read.
#[test]
fn the_earliest_stream_is_read_first() {
    fn finish_packet(talk: &mut Conversation, id: u64) {
        talk.asks(5, &bytes(&[&[id, 4096]], &[PACKET.len() as u32]));
        talk.answer(&packet(1, 0, PACKET));
    }
    fn read(talk: &mut Conversation, id: u64, end: u64) {
        talk.asks(4, &id.to_be_bytes());
        talk.answer(&index(1, 0, entry(1, end)));
        finish_packet(talk, id);
    }
    let mut talk = attached();
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 2, entry(1, 200)));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(1, &[stream(6, 70, false, "c_1")]));
    finish_packet(&mut talk, 5);
    for (id, end) in [(6, 150), (6, 250), (5, 300), (6, 300), (5, 400), (6, 500)] {
        read(&mut talk, id, end);
    }
    // A request was already sent. Its packet is read, then it is the turn of the other stream.
    talk.client.pause(5);
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(1, 0, entry(400, 450)));
    for end in [600, 700] {
        read(&mut talk, 6, end);
    }
    talk.client.tick();
    talk.client.pause(6);
    talk.asks(4, &6_u64.to_be_bytes());
    talk.answer(&index(2, 0, [0; 7]));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(2, &[]));
    assert!(!talk.client.is_waiting_for_reply());
    talk.client.resume(6);
    // No news before the next tick.
    assert!(!talk.client.is_waiting_for_reply());
    talk.client.resume(5);
    finish_packet(&mut talk, 5);
    talk.asks(4, &5_u64.to_be_bytes());
    talk.client.resume(1234);
    talk.client.pause(1234);
}

#[test]
fn detaching_reports_what_was_not_read() {
    for status in [1_u32, 2, 3] {
        let mut talk = attached();
        talk.asks(4, &5_u64.to_be_bytes());
        talk.client.detach(7);
        talk.answer(&index(1, 0, entry(100, 200)));
        talk.asks(9, &7_u64.to_be_bytes());
        talk.answer(&status.to_be_bytes());
        let entry = script::decoded(entry(100, 200));
        let reason = PacketLossReason::Detached;
        assert_eq!(
            talk.events(),
            [
                LiveEvent::PacketLost { stream: 5, entry, reason },
                end(5, StreamEndReason::SessionEnd),
                end(4, StreamEndReason::SessionEnd),
                LiveEvent::SessionEnd { session: 7, reason: SessionEndReason::Detached }
            ]
        );
        talk.client.tick();
        assert!(!talk.client.is_waiting_for_reply());
    }
}

/// Data streams are asked without waiting for replies, up to a limit. Anything else waits for all replies.
#[test]
fn several_data_streams_are_asked_at_once() {
    let limits = crate::LiveLimits { request_bytes: 30, ..Default::default() };
    let mut talk = script::attached_with(limits);
    talk.client.set_outstanding(3);
    talk.asks(4, &5_u64.to_be_bytes());
    talk.answer(&index(2, 2, [0; 7]));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(1, &[6, 8, 9].map(|id| stream(id, 70, false, "c"))));
    assert_eq!(talk.events().len(), 3);
    for id in [6_u64, 8, 9] {
        talk.asks(4, &id.to_be_bytes());
    }
    assert_eq!(talk.command(), None);
    // Packets of 40 bytes take two requests, so they are read one after the other.
    talk.answer(&index(1, 0, entry(1, 200)));
    talk.asks(5, &bytes(&[&[6, 4096]], &[30]));
    talk.answer(&index(1, 0, entry(1, 300)));
    assert_eq!(talk.command(), None);
    // The metadata of stream 9 comes before its packet, and after all replies.
    talk.answer(&index(1, 1, entry(1, 400)));
    assert_eq!(talk.command(), None);
    talk.client.tick();
    talk.answer(&packet(1, 0, &PACKET[..30]));
    talk.asks(6, &4_u64.to_be_bytes());
    talk.answer(&metadata(2, b""));
    talk.asks(7, &7_u64.to_be_bytes());
    talk.answer(&new_streams(2, &[]));
    talk.asks(5, &bytes(&[&[6, 4126]], &[10]));
    // Stream 5, which waited for the tick, is asked. The large packets of the others are not requested yet.
    talk.asks(4, &5_u64.to_be_bytes());
    assert_eq!(talk.command(), None);
    talk.answer(&packet(1, 0, &PACKET[30..]));
    assert_eq!(talk.events().len(), 1);
    talk.asks(5, &bytes(&[&[8, 4096]], &[30]));
    talk.asks(4, &6_u64.to_be_bytes());
    assert_eq!(talk.command(), None);
}
