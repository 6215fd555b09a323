//! Encoder: argument order, limits, and unchanged buffers after errors.

use ichnos_fuchsia::log::{EncodeError, Encoder, Event, Record, RecordEncoder, Value, add_dropped_count};

use crate::support::bytes;

fn names(bytes: &[u8]) -> Vec<String> {
    let (record, rest) = Record::read(bytes, 0).unwrap();
    assert!(rest.is_empty());
    record.arguments().map(|argument| argument.unwrap().name.to_string()).collect()
}

fn event(event: &Event<'_>) -> Vec<u8> {
    let mut buffer = [0xee; 4_096];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.event(event).unwrap();
    encoder.written().to_vec()
}

#[test]
fn bytes_by_hand() {
    let mut buffer = [0xee; 256];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(-2, 0x2e).unwrap();
    record.argument("signed", -1999i64).unwrap();
    record.argument("12345678", 42u64).unwrap();
    record.argument("float-of-9", 3.25).unwrap();
    record.argument("b", true).unwrap();
    record.argument("", "grüße!").unwrap();
    record.finish();
    let expected = "word:2e000000.00000109 word:ffffffff.fffffffe \
                    word:00000000.80060033 'signed' _ word:ffffffff.fffff831 \
                    word:00000000.80080034 '12345678' word:00000000.0000002a \
                    word:00000000.800a0045 'float-of-9' _ word:400a0000.00000000 \
                    word:00000001.80010029 'b' _ \
                    word:00008008.00000026 'gr' c3 bc c3 9f 'e!'";
    assert_eq!(encoder.written(), bytes(expected));
}

#[test]
fn order_of_the_rust_library() {
    let all = Event {
        timestamp: 1,
        severity: 0x30,
        pid: 2,
        tid: 3,
        dropped: 4,
        file: Some("../../src/lib/../foo/main.rs"),
        line: Some(5),
        target: Some("target"),
        message: Some("hello"),
        arguments: &[("k", Value::Signed(-1)), ("l", Value::Bool(false))],
        tags: &["a", "b"],
        ..Event::default()
    };
    let info = names(&event(&all));
    assert_eq!(info, ["pid", "tid", "num_dropped", "tag", "message", "k", "l", "tag", "tag"]);
    let with_file = ["pid", "tid", "num_dropped", "file", "line", "tag", "message", "k", "l", "tag", "tag"];
    let error = event(&Event { severity: 0x50, ..all });
    assert_eq!(names(&error), with_file);
    assert_eq!(Record::read(&error, 0).unwrap().0.known().file.unwrap(), "foo/main.rs");
    assert_eq!(names(&event(&Event { always_file_and_line: true, ..all })), with_file);
    assert_eq!(names(&event(&Event::default())), ["pid", "tid"]);
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let all = Event { message: Some("hello"), tags: &["a"], ..Event::default() };
    let size = event(&all).len();
    for length in 0..size {
        let mut buffer = vec![0xee; length];
        let mut encoder = Encoder::new(&mut buffer);
        let error = encoder.event(&all).unwrap_err();
        assert_eq!(error, EncodeError::BufferFull { needed: size, left: length });
        assert!(encoder.written().is_empty());
        assert!(buffer.iter().all(|byte| *byte == 0xee), "{length}");
    }
    // An argument that does not fit leaves the record unchanged.
    let mut buffer = [0xee; 16 + 24 + 8];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(1, 0x30).unwrap();
    record.argument("one", 1u64).unwrap();
    let error = record.argument("two", 2u64).unwrap_err();
    assert_eq!(error, EncodeError::BufferFull { needed: 64, left: 48 });
    record.argument("", false).unwrap();
    record.finish();
    assert_eq!(encoder.left(), 0);
    assert_eq!(encoder.begin(1, 0x30).unwrap_err(), EncodeError::BufferFull { needed: 16, left: 0 });
    assert_eq!(names(&buffer), ["one", ""]);

    let mut buffer = [0xee; 15];
    assert!(Encoder::new(&mut buffer).begin(1, 0x30).is_err());
    assert_eq!(buffer, [0xee; 15]);
}

#[test]
fn an_unfinished_record_does_not_count() {
    let mut buffer = [0; 64];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.begin(1, 0x30).unwrap().finish();
    encoder.begin(2, 0x30).unwrap().argument("n", 1u64).unwrap();
    assert_eq!(encoder.written().len(), 16);
    encoder.begin(3, 0x30).unwrap().finish();
    let (_, rest) = Record::read(encoder.written(), 0).unwrap();
    assert_eq!(Record::read(rest, 16).unwrap().0.timestamp(), 3);
}

#[test]
fn limits_of_the_format() {
    let mut buffer = vec![0; 100_000];
    let mut encoder = Encoder::new(&mut buffer);
    let long = "x".repeat(32_768);
    let mut record = encoder.begin(1, 0x30).unwrap();
    let error = EncodeError::TextTooLong { length: 32_768 };
    assert_eq!(record.argument("n", long.as_str()), Err(error));
    assert_eq!(record.argument(long.as_str(), 1u64), Err(error));
    assert_eq!(record.argument("n", &long[..32_767]), Err(EncodeError::RecordTooLong { words: 2 + 4_098 }));
    record.argument("n", &long[..32_728]).unwrap();
    assert_eq!(record.argument("", true), Err(EncodeError::RecordTooLong { words: 4_096 }));
    record.finish();
    assert_eq!(encoder.written().len(), 32_760);
    let too_long = Event { message: Some(&long), ..Event::default() };
    assert_eq!(encoder.event(&too_long), Err(error));
    let too_long = Event { tags: &[&long[..20_000]; 2], ..Event::default() };
    assert_eq!(encoder.event(&too_long), Err(EncodeError::RecordTooLong { words: 2 + 6 + 2 * 2_502 }));
    assert_eq!(encoder.written().len(), 32_760);
}

#[test]
fn the_dropped_count_grows_in_place() {
    let mut buffer = [0; 256];
    let length = {
        let mut encoder = Encoder::new(&mut buffer);
        let mut record = encoder.begin(1, 0x30).unwrap();
        record.set_tag(9);
        record.argument("dropped_logs", 1u64).unwrap();
        record.finish();
        encoder.written().len()
    };
    let before = buffer[..length].to_vec();
    // Only the name from the Rust library counts.
    let longer = add_dropped_count(&mut buffer, length, 5).unwrap();
    assert_eq!(longer, length + 32);
    assert_eq!(buffer[8..length], before[8..]);
    assert_eq!(names(&buffer[..longer]), ["dropped_logs", "num_dropped"]);
    let same = add_dropped_count(&mut buffer, longer, 6).unwrap();
    let (record, _) = Record::read(&buffer[..same], 0).unwrap();
    assert_eq!((same, record.known().dropped, record.tag()), (longer, 12, 9));
    add_dropped_count(&mut buffer, longer, u64::MAX).unwrap();
    assert_eq!(Record::read(&buffer[..longer], 0).unwrap().0.known().dropped, u64::MAX);

    let mut small = before.clone();
    small.resize(length + 31, 0xee);
    let full = small.clone();
    let error = EncodeError::BufferFull { needed: length + 32, left: length + 31 };
    assert_eq!(add_dropped_count(&mut small, length, 5), Err(error));
    assert_eq!(add_dropped_count(&mut small, length - 1, 5), Err(EncodeError::Unreadable));
    assert_eq!(add_dropped_count(&mut small, 1_000, 5), Err(EncodeError::Unreadable));
    assert_eq!(small, full);
    // 4,092 words and four more are too many.
    let mut large = vec![0; 40_000];
    let text = "x".repeat(8 * (4_092 - 2 - 2));
    let mut encoder = Encoder::new(&mut large);
    let mut record = encoder.begin(1, 0x30).unwrap();
    record.argument("n", text.as_str()).unwrap();
    record.finish();
    let length = encoder.written().len();
    assert_eq!(add_dropped_count(&mut large, length, 5), Err(EncodeError::RecordTooLong { words: 4_096 }));
}

/// A value whose formatting fails.
struct Failing;

impl std::fmt::Display for Failing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("so far")?;
        Err(std::fmt::Error)
    }
}

fn record_of(fill: u8, write: impl FnOnce(&mut RecordEncoder<'_>)) -> Vec<u8> {
    let mut buffer = [fill; 96];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(1, 0x30).unwrap();
    write(&mut record);
    record.finish();
    encoder.written().to_vec()
}

#[test]
fn texts_are_made_at_their_place() {
    for (name, value) in [("n", "five is 5"), ("of-9-byte", "5"), ("message", ""), ("", "12345678")] {
        let expected = record_of(0xee, |record| record.argument(name, value).unwrap());
        let (first, rest) = value.split_at(value.len() / 2);
        let made = record_of(0xdd, |record| record.formatted(name, format_args!("{first}{rest}")).unwrap());
        assert_eq!(made, expected, "{name}");
    }
    let expected = record_of(0xee, |record| record.argument("n", "so far").unwrap());
    assert_eq!(record_of(0xdd, |record| record.formatted("n", format_args!("{Failing}")).unwrap()), expected);
    // A text that does not fit leaves the record unchanged.
    for length in [65, 72, 32_767, 32_768, 100_000] {
        let expected = record_of(0xee, |record| record.argument("n", 1u64).unwrap());
        let made = record_of(0xdd, |record| {
            let error = record.formatted("n", format_args!("{}", "x".repeat(length))).unwrap_err();
            let is_too_long = matches!(error, EncodeError::TextTooLong { .. });
            assert_eq!(is_too_long, length > 32_767, "{error}");
            record.argument("n", 1u64).unwrap();
        });
        assert_eq!(made, expected, "{length}");
    }
}

#[test]
fn broken_records_are_not_copied() {
    let broken = bytes("word:3000000000000049 word:0000000000000001 word:0000000080010021 'n' _");
    let (record, _) = Record::read(&broken, 0).unwrap();
    let mut buffer = [0xee; 64];
    assert_eq!(Encoder::new(&mut buffer).record(&record), Err(EncodeError::Unreadable));
    assert_eq!(buffer, [0xee; 64]);
}
