//! Behavior of Fuchsia's own readers and writers beyond the document.

use ichnos_fuchsia::log::{
    ARCHIVIST_URL, Attribution, CheckOptions, Encoder, Message, Record, Rule, Severity, Value,
};

use crate::support::{broken, broken_rules, bytes};

fn encoded(write: impl FnOnce(&mut ichnos_fuchsia::log::RecordEncoder<'_>)) -> Vec<u8> {
    let mut buffer = vec![0xee; 40_000];
    let mut encoder = Encoder::new(&mut buffer);
    let mut record = encoder.begin(1, Severity::Info.raw()).unwrap();
    write(&mut record);
    record.finish();
    encoder.written().to_vec()
}

#[test]
fn only_the_first_message_is_lossy() {
    let hello = "word:0000800380070036 'message' _ 'a' ff 'b' _";
    let bytes = |second: &str, size: &str| bytes(&format!("{size} word:0000000000000001 {hello} {second}"));
    let one = bytes("", "word:3000000000000059");
    let (record, _) = Record::read(&one, 0).unwrap();
    assert_eq!(record.known().message.unwrap().to_string(), "a\u{fffd}b");
    assert_eq!(record.known().message.unwrap().as_str(), None);
    assert_eq!(record.text().to_string(), "a\u{fffd}b");
    assert_eq!(broken_rules(&one), [Rule::MessageUtf8]);

    let two = bytes(hello, "word:3000000000000089");
    let errors = broken(&two, CheckOptions::default());
    assert_eq!(
        errors.iter().map(|error| error.rule).collect::<Vec<_>>(),
        [Rule::MessageUtf8, Rule::ValueUtf8]
    );
    assert_eq!(errors[1].at, 16 + 24 + 16 + 1);
    assert!(Record::read(&two, 0).unwrap().0.validate().is_err());
    // A numeric message is an ordinary pair, and does not affect the next message.
    let number = "word:0000000080070034 'message' _ word:0000000000000005";
    let mixed =
        crate::support::bytes(&format!("word:3000000000000089 word:0000000000000001 {number} {hello}"));
    assert_eq!(broken_rules(&mixed), [Rule::MessageUtf8]);
    assert_eq!(Record::read(&mixed, 0).unwrap().0.text().to_string(), "a\u{fffd}b message=5");
}

#[test]
fn duplicates_stay_in_order() {
    let bytes = encoded(|record| {
        for (name, value) in [("tag", Value::from("one")), ("k", 1u64.into()), ("k", 2u64.into())] {
            record.argument(name, value).unwrap();
        }
        record.argument("tag", "two").unwrap();
        record.argument("dropped_logs", 3u64).unwrap();
        record.argument("num_dropped", 4u64).unwrap();
        record.argument("pid", "no number").unwrap();
    });
    let (record, _) = Record::read(&bytes, 0).unwrap();
    let names: Vec<_> = record.arguments().map(|argument| argument.unwrap().name.as_str()).collect();
    assert_eq!(names, ["tag", "k", "k", "tag", "dropped_logs", "num_dropped", "pid"]);
    assert_eq!(record.known().dropped, 7);
    assert_eq!(record.known().pid, None);
    assert_eq!(record.text().to_string(), "k=1 k=2 pid=no number");
}

#[test]
fn argument_positions_are_exact() {
    let bytes = encoded(|record| {
        record.argument("name-of-9", 7u64).unwrap();
        record.argument("text", "abc").unwrap();
        record.argument("flag", true).unwrap();
    });
    let (record, _) = Record::read(&bytes, 0).unwrap();
    let places: Vec<_> = record
        .arguments()
        .map(|argument| argument.map(|argument| (argument.offset(), argument.value_offset())).unwrap())
        .collect();
    assert_eq!(places, [(16, 40), (48, 64), (72, 76)]);
    assert_eq!(bytes[40], 7);
    assert_eq!(&bytes[64..67], b"abc");
    assert_eq!(bytes[76], 1);
}

#[test]
fn tags_and_control_records() {
    let plain = encoded(|record| record.set_tag(0x7abc_def0));
    let (record, _) = Record::read(&plain, 0).unwrap();
    assert_eq!((record.tag(), record.is_control()), (0x7abc_def0, false));
    assert_eq!(record.control(), None);
    assert_eq!(broken(&plain, CheckOptions::default()), []);
    let mut options = CheckOptions::default();
    options.newer_forms = false;
    assert_eq!(broken(&plain, options).iter().map(|error| error.rule).collect::<Vec<_>>(), [Rule::RecordTag]);

    let control = encoded(|record| {
        record.set_tag(5);
        record.set_control(true);
        record.argument("moniker", "core/foo").unwrap();
        record.argument("url", ARCHIVIST_URL).unwrap();
        record.argument("rolled_out", 9u64).unwrap();
    });
    let (record, _) = Record::read(&control, 0).unwrap();
    assert_eq!((record.tag(), record.is_control()), (5, true));
    let reported = record.control().unwrap();
    assert_eq!(reported.moniker.unwrap(), "core/foo");
    assert_eq!(reported.url.unwrap(), ARCHIVIST_URL);
    assert_eq!(reported.rolled_out, Some(9));
    // A known name with another type has no meaning.
    let wrong = encoded(|record| {
        record.set_control(true);
        record.argument("rolled_out", -9i64).unwrap();
    });
    assert_eq!(Record::read(&wrong, 0).unwrap().0.control().unwrap(), Default::default());
}

#[test]
fn archivist_arguments_are_at_the_end() {
    let bytes = encoded(|record| {
        record.argument("$__url", "not the last").unwrap();
        record.argument("k", 1u64).unwrap();
        record.argument("$__moniker", "core/foo").unwrap();
        record.argument("$__rolled_out", 3u64).unwrap();
    });
    let (attribution, first) = Record::read(&bytes, 0).unwrap().0.appended().unwrap();
    assert_eq!(first, 2);
    assert_eq!(attribution.moniker.unwrap(), "core/foo");
    assert_eq!((attribution.url, attribution.rolled_out), (None, 3));
    let none = encoded(|record| record.argument("k", 1u64).unwrap());
    assert!(Record::read(&none, 0).unwrap().0.appended().is_none());
}

#[test]
fn extended_records() {
    let record = "word:3000000000000029 word:0000000000000001";
    let whole = format!("{record} 03 00 00 00 09 00 00 00 word:0000000000000002 'm/n' _ 'url-of-9!' _");
    let extended = bytes(&whole);
    let message = Message::read(&extended, 0).unwrap();
    let Message::Record { behind, .. } = message else { panic!() };
    let attribution = message.attribution().unwrap();
    assert_eq!(attribution.moniker.unwrap(), "m/n");
    assert_eq!(attribution.url.unwrap(), "url-of-9!");
    assert_eq!(attribution.rolled_out, 2);
    assert_eq!(behind.len(), 40);
    assert_eq!(broken(&extended, CheckOptions::default()), []);

    let mut options = CheckOptions::default();
    options.newer_forms = false;
    let errors = broken(&extended, options);
    let expected = [(Rule::TrailingBytes, 16, 40)];
    assert_eq!(errors.iter().map(|error| (error.rule, error.at, error.found)).collect::<Vec<_>>(), expected);

    // Non-zero padding can be read as well.
    let mut dirty = extended.clone();
    dirty[39] = 1;
    let errors = broken(&dirty, CheckOptions::default());
    assert_eq!(
        errors.iter().map(|error| (error.rule, error.at)).collect::<Vec<_>>(),
        [(Rule::ExtendedPadding, 35)]
    );
    // Anything else is trailing bytes.
    let mut cut = extended.clone();
    cut.pop();
    assert_eq!(broken_rules(&cut), [Rule::TrailingBytes]);

    let read = |bytes: &[u8]| Attribution::read_extended(bytes, 0, 16, &mut |_| {}).map(drop).unwrap_err();
    let error = read(&extended[16..55]);
    assert_eq!((error.rule, error.expected, error.found), (Rule::ExtendedTruncated, 40, 39));
    let error = read(&extended[16..20]);
    assert_eq!((error.rule, error.expected, error.found), (Rule::ExtendedTruncated, 16, 4));
    let error = read(&bytes("ff ff ff ff 00 00 00 00 word:0000000000000000"));
    assert_eq!((error.rule, error.at, error.found), (Rule::ExtendedTextTooLong, 16, 0xffff_ffff));
    let error = read(&bytes("00 00 00 00 02 00 00 00 word:0000000000000000 61 ff _"));
    assert_eq!((error.rule, error.at, error.found), (Rule::ExtendedUtf8, 16 + 17, 0xff));
}

#[test]
fn datagrams_that_are_too_long() {
    let mut packet = vec![0; 32_769];
    let error = Message::read(&packet, 0).unwrap_err();
    assert_eq!((error.rule, error.expected, error.found), (Rule::RecordSizeMaximum, 32_768, 32_769));
    packet.pop();
    assert!(matches!(Message::read(&packet, 0), Ok(Message::Legacy(_))));
}

#[test]
fn the_longest_record() {
    // 4,095 words: header, timestamp, and an argument of 4,093.
    let text = "x".repeat(32_728);
    let bytes = encoded(|record| record.argument("n", text.as_str()).unwrap());
    assert_eq!(bytes.len(), 32_760);
    let (record, rest) = Record::read(&bytes, 0).unwrap();
    assert!(rest.is_empty());
    assert_eq!(record.size_words(), 4_095);
    assert_eq!(record.arguments().next().unwrap().unwrap().value, Value::from(text.as_str()));
}
