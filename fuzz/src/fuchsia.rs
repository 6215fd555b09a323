//! Logs of Fuchsia: records, packets and messages of printf.

use std::fmt::Write;

use arbitrary::Unstructured;
use ichnos::flow::{Merge, pump};
use ichnos::fuchsia::log_reader::{FuchsiaLogOptions, LogTrace};
use ichnos::io::{Entry, Tree};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::{OpenedTrace, Window};
use ichnos_fuchsia::log::{
    CheckOptions, Encoder, Framing, Message, Messages, Packet, Record, Rule, SeverityScale, Splitter, Value,
    add_dropped_count,
};

const FRAMINGS: [Framing; 3] = [Framing::Records, Framing::ExtendedRecords, Framing::Datagrams];

/// Reads a file whose framing the first byte chooses, and the same as a stream in pieces.
pub fn log(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let framing = FRAMINGS[usize::from(choice % 3)];
    let mut end = 0;
    let mut found = String::new();
    for message in Messages::new(bytes, framing) {
        writeln!(found, "{message:?}").unwrap();
        match message {
            Ok(message) => {
                assert!(message.offset() >= end, "{message:?} at {end}");
                end = message.offset();
                check(&message);
            }
            Err(damage) => {
                assert!(damage.offset >= end && damage.skipped > 0, "{damage:?} at {end}");
                assert!(damage.error.at >= damage.offset, "{damage:?}");
                end = damage.offset + damage.skipped;
                let _ = damage.to_string();
            }
        }
        assert!(end <= bytes.len() as u64);
    }
    let mut splitter = Splitter::new(framing);
    let mut pieces = String::new();
    let mut drain = |splitter: &mut Splitter| {
        while let Some(message) = splitter.next_message() {
            writeln!(pieces, "{message:?}").unwrap();
        }
    };
    for piece in bytes.chunks(1 + usize::from(choice / 3)) {
        splitter.feed(piece);
        drain(&mut splitter);
    }
    splitter.finish();
    drain(&mut splitter);
    assert_eq!(pieces, found, "in pieces");
    for is_whole in [false, true] {
        let _ = Framing::recognize(bytes, is_whole);
    }
    if let Ok((record, _)) = Record::read(bytes, 0) {
        check(&Message::Record { record, behind: &[] });
    }
    reader(bytes, *choice);
}

/// Prints a file as a log, whatever it is, with room for any number of classes or for hardly any.
fn reader(bytes: &[u8], choice: u8) {
    let mut options = FuchsiaLogOptions::default();
    options.force = true;
    options.check = choice & 1 == 1;
    if choice & 2 == 2 {
        options.limits.dynamic_event_record_classes = 1;
    }
    let entries = vec![Entry::from_bytes("log", bytes.to_vec())];
    let tree = Tree { name: "log".to_owned(), entries, problems: Vec::new() };
    let trace = LogTrace::open(&tree, &options).unwrap();
    let mut sink = JsonLines::new(Vec::new(), JsonLinesOptions::default());
    pump(&mut Merge::new(trace.cursors(Window::default())), &mut sink).unwrap();
    if bytes.is_empty() || options.check {
        return;
    }
    let framing = Framing::recognize(bytes, true).unwrap_or(Framing::Records);
    let events = sink.writer().windows(15).filter(|part| *part == b"\"type\":\"event\",").count();
    assert!(events >= Messages::new(bytes, framing).flatten().count(), "an event is missing");
}

/// Looks at everything in a message, and writes it again.
fn check(message: &Message<'_>) {
    let mut broken = Vec::new();
    message.check(CheckOptions::default(), &mut |error| {
        let _ = error.to_string();
        broken.push(error.rule);
    });
    let record = match message {
        Message::Record { record, .. } => record,
        Message::Legacy(packet) => return check_packet(packet),
        _ => return,
    };
    let (_, _, _) = (record.control(), record.appended(), message.attribution());
    assert!(record.text().to_string().len() <= (128 << 10) + 20);
    for argument in record.arguments().flatten() {
        assert!(argument.offset() < argument.value_offset() + 8);
        assert!(argument.value_offset() <= record.as_bytes().len());
        assert!(argument.name.is_empty() || !argument.name.as_str().is_empty());
    }
    let fatal = broken.iter().filter(|rule| rule.is_fatal()).count();
    assert_eq!(record.validate().is_err(), fatal > 0);
    assert!(fatal <= 1);
    let mut buffer = vec![0xee; record.as_bytes().len() + 32];
    let mut encoder = Encoder::new(&mut buffer);
    let copied = encoder.record(record).is_ok();
    assert_eq!(copied, fatal == 0);
    if !copied {
        return;
    }
    let length = encoder.written().len();
    assert_eq!(length, record.as_bytes().len());
    // What is wrong with it but can be read is not copied; the rest is.
    let is_noted = |rule: &Rule| {
        matches!(rule, Rule::MessageUtf8 | Rule::NameEmpty | Rule::ArgumentTypeNull | Rule::TrailingBytes)
            || rule.name().starts_with("printf")
            || rule.name().starts_with("extended")
    };
    if broken.iter().all(is_noted) {
        assert_eq!(encoder.written(), record.as_bytes());
    }
    let before = record.known().dropped;
    if let Ok(length) = add_dropped_count(&mut buffer, length, 3) {
        let after = Record::read(&buffer[..length], 0).unwrap().0;
        assert!(after.known().dropped >= before);
    }
}

fn check_packet(packet: &Packet<'_>) {
    let tags: Vec<_> = packet.tags().collect();
    assert!(tags.len() <= 5 && tags.iter().all(|tag| (1..=63).contains(&tag.len())));
    assert!(!packet.message().as_bytes().contains(&0));
    for scale in [SeverityScale::Current, SeverityScale::Original] {
        let (_, _) = (packet.severity(scale), packet.verbosity(scale));
    }
    let _ = format!("{packet:?}");
}

/// Reads a packet.
pub fn legacy(bytes: &[u8]) {
    if let Ok(packet) = Packet::read(bytes, 7) {
        assert!(packet.size() < bytes.len());
        check_packet(&packet);
    }
    match Message::read(bytes, 7) {
        Ok(message) => check(&message),
        Err(error) => {
            assert!(error.at >= 7 && error.at <= 7 + bytes.len() as u64, "{error:?}");
            let _ = error.to_string();
        }
    }
}

/// Writes a message of printf with arguments that the input describes, and reads it.
pub fn printf(bytes: &[u8]) {
    // Too few bytes for all arguments make no record.
    let _ = printf_record(Unstructured::new(bytes));
}

fn printf_record(mut input: Unstructured<'_>) -> arbitrary::Result<()> {
    let mut buffer = vec![0; 32_760];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(1, 0x30).unwrap();
    record.argument("printf", 0u64).unwrap();
    let mut arguments = Vec::new();
    for _ in 0..input.int_in_range(0..=6)? {
        arguments.push((input.ratio(1, 6)?, input.int_in_range(0..=4)?, input.arbitrary::<u64>()?));
    }
    let format = input.take_rest();
    let text = String::from_utf8_lossy(format);
    let message = Value::Text(ichnos_fuchsia::log::Text::from(format));
    if record.argument("message", message).is_err() {
        return Ok(());
    }
    for (has_name, kind, bits) in arguments {
        let name = if has_name { "k" } else { "" };
        let _ = match kind {
            0 => record.argument(name, bits),
            1 => record.argument(name, bits as i64),
            2 => record.argument(name, f64::from_bits(bits)),
            3 => record.argument(name, bits % 2 == 0),
            _ => record.argument(name, &text[..text.floor_char_boundary((bits % 99) as usize)]),
        };
    }
    record.finish();
    let record = Record::read(encoder.written(), 0).unwrap().0;
    check(&Message::Record { record, behind: &[] });
    let whole = record.text().to_string();
    for limit in [0, 1, 100] {
        let cut = record.text().with_limit(limit).to_string();
        assert!(cut.len() <= limit + "%!(TRUNCATED)".len());
        let begin = cut.strip_suffix("%!(TRUNCATED)").unwrap_or(&cut);
        assert!(whole.starts_with(begin), "{whole:?} {cut:?}");
    }
    Ok(())
}
