//! Legacy packets: each check in order, and both severity scales.

use ichnos_fuchsia::log::{Message, Packet, Rule, Severity, SeverityScale};

fn packet(severity: i32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [1_000u64, 2_000, 3_000] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(severity.to_le_bytes());
    bytes.extend(7u32.to_le_bytes());
    bytes.extend(data);
    bytes
}

fn error(data: &[u8]) -> (Rule, u64) {
    let error = Packet::read(&packet(0x30, data), 100).unwrap_err();
    assert_eq!(error.record, 100);
    (error.rule, error.at - 100)
}

#[test]
fn checks_come_in_order() {
    // Each of these also breaks the later rules.
    assert_eq!(Packet::read(&[1; 32], 0).unwrap_err().rule, Rule::LegacyTooShort);
    let long = [&b"\x01a\x01b\x01c\x01d\x01e"[..], &[64], &[b'x'; 64]].concat();
    assert_eq!(error(&long), (Rule::LegacyNotTerminated, 32 + 74));
    let sixth = [&long[..], b"\0"].concat();
    assert_eq!(error(&sixth), (Rule::LegacyTooManyTags, 32 + 10));
    let too_long = b"\x01a\x40b\0";
    assert_eq!(error(too_long), (Rule::LegacyTagTooLong, 32 + 2));
    assert_eq!(error(b"\x01a\x3fb\0"), (Rule::LegacyOutOfBounds, 32 + 2));
    // The tag ends together with the packet, so the terminating 0 has no room.
    assert_eq!(error(b"\x02a\0"), (Rule::LegacyOutOfBounds, 32));
    // The final 0 ends the tags, so the message is missing.
    assert_eq!(error(b"\0"), (Rule::LegacyOutOfBounds, 32 + 1));
    assert_eq!(error(b"\x01a\0"), (Rule::LegacyOutOfBounds, 32 + 3));
}

#[test]
fn packet_content() {
    let bytes = packet(0x40, b"\x02ab\x03\xff\xfec\0hello\xf0\x90\x80\0ignored\0");
    let packet = Packet::read(&bytes, 0).unwrap();
    assert_eq!((packet.pid(), packet.tid(), packet.timestamp(), packet.dropped()), (1_000, 2_000, 3_000, 7));
    let tags: Vec<_> = packet.tags().map(|tag| tag.to_string()).collect();
    assert_eq!(tags, ["ab", "\u{fffd}\u{fffd}c"]);
    assert_eq!(packet.message().to_string(), "hello\u{fffd}");
    assert_eq!(packet.message().as_bytes(), b"hello\xf0\x90\x80");
    assert_eq!(packet.size(), 32 + 3 + 4 + 1 + 8);
    assert!(matches!(Message::read(&bytes, 0), Ok(Message::Legacy(_))));
}

#[test]
fn scales_of_severity() {
    let severity = |raw: i32, scale| {
        let bytes = packet(raw, b"\0\0");
        let packet = Packet::read(&bytes, 0).unwrap();
        (packet.severity(scale), packet.verbosity(scale))
    };
    for (raw, expected) in [
        (i32::MIN, Severity::Trace),
        (-1, Severity::Trace),
        (0, Severity::Trace),
        (0x2f, Severity::Debug),
        (0x30, Severity::Info),
        (0x31, Severity::Warn),
        (0x100, Severity::Fatal),
        (i32::MAX, Severity::Fatal),
    ] {
        assert_eq!(severity(raw, SeverityScale::Current), (expected, None), "{raw}");
    }
    for (raw, expected) in [
        (-10, (Severity::Debug, Some(10))),
        (-3, (Severity::Debug, Some(3))),
        (-2, (Severity::Trace, Some(2))),
        (-1, (Severity::Debug, Some(1))),
        (0, (Severity::Info, None)),
        (1, (Severity::Warn, None)),
        (2, (Severity::Error, None)),
        (3, (Severity::Fatal, None)),
        (0x30, (Severity::Info, None)),
        (i32::MIN, (Severity::Debug, Some(1 << 31))),
    ] {
        assert_eq!(severity(raw, SeverityScale::Original), expected, "{raw}");
    }
}

/// A packet whose process koid starts like a record.
#[test]
fn packets_and_records_are_distinguished() {
    let mut bytes = packet(0x30, b"\0a message\0");
    bytes[..8].copy_from_slice(&0x29u64.to_le_bytes());
    let Ok(Message::Legacy(packet)) = Message::read(&bytes, 0) else { panic!() };
    assert_eq!((packet.pid(), packet.message().to_string()), (0x29, "a message".to_owned()));
    // A severity in bits that koids do not use makes it a broken record.
    bytes[7] = 0x30;
    let Ok(Message::Record { behind, .. }) = Message::read(&bytes, 0) else { panic!() };
    assert!(!behind.is_empty());
    bytes[0] = 0x2a;
    assert_eq!(Message::read(&bytes, 0).unwrap_err().rule, Rule::RecordType);
}
