//! Properties over all records, packets and bytes.

use ichnos_fuchsia::log::{
    CheckOptions, Encoder, Framing, Message, Messages, Packet, Record, Rule, SeverityScale, Splitter, Value,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A value that owns its text.
#[derive(Clone, Debug)]
enum Owned {
    Null,
    Signed(i64),
    Unsigned(u64),
    Float(u64),
    Text(String),
    Bool(bool),
}

impl Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Signed(value) => (*value).into(),
            Self::Unsigned(value) => (*value).into(),
            Self::Float(bits) => f64::from_bits(*bits).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Bool(value) => (*value).into(),
        }
    }
}

/// Record content.
#[derive(Clone, Debug)]
pub struct Parts {
    timestamp: i64,
    severity: u8,
    tag: u32,
    is_control: bool,
    arguments: Vec<(String, Owned)>,
}

fn name() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] =
        &["pid", "tid", "tag", "message", "file", "line", "num_dropped", "dropped_logs", "printf", "url", ""];
    prop_oneof![prop::sample::select(KNOWN).prop_map(str::to_owned), "[a-z_.-]{1,20}", "\\PC{0,12}",]
}

fn value() -> impl Strategy<Value = Owned> {
    prop_oneof![
        1 => Just(Owned::Null),
        4 => any::<i64>().prop_map(Owned::Signed),
        4 => any::<u64>().prop_map(Owned::Unsigned),
        2 => any::<u64>().prop_map(Owned::Float),
        4 => "\\PC{0,40}".prop_map(Owned::Text),
        1 => "[ -~]{0,300}".prop_map(Owned::Text),
        2 => any::<bool>().prop_map(Owned::Bool),
    ]
}

pub fn parts() -> impl Strategy<Value = Parts> {
    let header = (any::<i64>(), any::<u8>(), prop_oneof![Just(0), any::<u32>()], any::<bool>());
    (header, vec((name(), value()), 0..8)).prop_map(|((timestamp, severity, tag, is_control), arguments)| {
        Parts { timestamp, severity, tag, is_control, arguments }
    })
}

impl Parts {
    pub fn encode(&self) -> Vec<u8> {
        let mut buffer = vec![0xee; 8_000];
        let mut encoder = Encoder::new(&mut buffer);
        let mut record = encoder.begin(self.timestamp, self.severity).unwrap();
        record.set_tag(self.tag);
        record.set_control(self.is_control);
        for (name, value) in &self.arguments {
            record.argument(name.as_str(), value.value()).unwrap();
        }
        record.finish();
        encoder.written().to_vec()
    }
}

fn is_same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

fn copy(record: &Record<'_>) -> Vec<u8> {
    let mut buffer = vec![0xee; 32_760];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.record(record).unwrap();
    encoder.written().to_vec()
}

/// Visits everything in a message.
fn visit(message: &Message<'_>) {
    message.check(CheckOptions::default(), &mut |error| drop(error.to_string()));
    match message {
        Message::Record { record, .. } => {
            record.text().to_string();
            let (_, _) = (record.control(), record.appended());
            assert!(record.arguments().count() <= record.size_words());
        }
        Message::Legacy(packet) => {
            drop(format!("{packet:?}"));
            let _ = packet.severity(SeverityScale::Original);
        }
        _ => {}
    }
}

/// Returns the splitter results for input in pieces.
pub fn split(input: &[u8], framing: Framing, pieces: impl Iterator<Item = usize>) -> Vec<String> {
    let mut splitter = Splitter::new(framing);
    let mut found = Vec::new();
    let mut left = input;
    let mut drain = |splitter: &mut Splitter| {
        while let Some(message) = splitter.next_message() {
            found.push(format!("{message:?}"));
        }
    };
    for size in pieces {
        let (piece, rest) = left.split_at(size.min(left.len()));
        left = rest;
        splitter.feed(piece);
        drain(&mut splitter);
        if left.is_empty() {
            break;
        }
    }
    splitter.feed(left);
    splitter.finish();
    drain(&mut splitter);
    found
}

/// Each byte belongs to a message or to damage, in order, and a splitter finds the same.
fn check_messages(input: &[u8], framing: Framing, piece: usize) {
    let mut at = 0;
    let mut found = Vec::new();
    for message in Messages::new(input, framing) {
        found.push(format!("{message:?}"));
        match message {
            Ok(message) => {
                visit(&message);
                assert!(message.offset() >= at);
                at = message.offset();
            }
            Err(damage) => {
                drop(damage.to_string());
                assert!(damage.skipped > 0 && damage.offset >= at, "{damage:?} at {at}");
                at = damage.offset + damage.skipped;
            }
        }
        assert!(at <= input.len() as u64);
    }
    assert_eq!(split(input, framing, std::iter::repeat(piece)), found);
}

pub fn framing() -> impl Strategy<Value = Framing> {
    prop::sample::select(&[Framing::Records, Framing::ExtendedRecords, Framing::Datagrams][..])
}

/// Words that often form a record.
fn likely_bytes() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => any::<u64>(),
        4 => (2u64..12, any::<u8>()).prop_map(|(size, severity)| 9 | size << 4 | u64::from(severity) << 56),
        4 => (0u64..16, 0u64..5, 0u64..9, 0u64..9)
            .prop_map(|(kind, size, name, text)| kind | size << 4 | (name | 0x8000) << 16 | text << 32),
        2 => Just(0x64_6970),
        2 => (0u64..80).prop_map(|length| length),
        2 => Just(0),
    ];
    (vec(word, 0..60), 0usize..8, 0usize..8).prop_map(|(words, skip, tail)| {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.drain(..if skip < 3 { skip } else { 0 }.min(bytes.len()));
        bytes.extend(std::iter::repeat_n(0x29, tail / 4));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_encoded_is_read(parts in parts()) {
        let bytes = parts.encode();
        let (record, rest) = Record::read(&bytes, 0).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(record.timestamp(), parts.timestamp);
        prop_assert_eq!(record.raw_severity(), parts.severity);
        prop_assert_eq!(record.tag(), parts.tag & 0x7fff_ffff);
        prop_assert_eq!(record.is_control(), parts.is_control);
        prop_assert_eq!(record.arguments().count(), parts.arguments.len());
        for (read, (name, value)) in record.arguments().zip(&parts.arguments) {
            let read = read.unwrap();
            prop_assert_eq!(read.name.as_str(), name);
            prop_assert!(is_same(read.value, value.value()), "{:?} {:?}", read.value, value);
        }
        prop_assert_eq!(&copy(&record), &bytes);
        // Only intentional violations remain.
        let mut broken = Vec::new();
        record.check(CheckOptions::default(), &mut |error| broken.push(error.rule));
        let expected = [Rule::ArgumentTypeNull, Rule::NameEmpty];
        let is_expected = |rule: &Rule| expected.contains(rule) || rule.name().starts_with("printf");
        prop_assert!(broken.iter().all(is_expected), "{:?}", broken);
    }

    /// A valid record is copied unchanged, also from other writers.
    #[test]
    fn records_of_any_origin_are_copied(input in likely_bytes()) {
        for begin in (0..input.len()).step_by(8) {
            let Ok((record, _)) = Record::read(&input[begin..], 0) else { continue };
            if record.validate().is_err() {
                continue;
            }
            let mut broken = Vec::new();
            record.check(CheckOptions::default(), &mut |error| broken.push(error.rule));
            broken.retain(|rule| !matches!(rule, Rule::NameEmpty | Rule::MessageUtf8 | Rule::ArgumentTypeNull));
            if broken.is_empty() {
                prop_assert_eq!(copy(&record), record.as_bytes());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(input in likely_bytes(), framing in framing(), piece in 1usize..50) {
        check_messages(&input, framing, piece);
        let _ = Framing::recognize(&input, true);
        let _ = Framing::recognize(&input, false);
    }

    #[test]
    fn random_bytes_are_read_to_their_end(
        input in vec(any::<u8>(), 0..400),
        framing in framing(),
        piece in 1usize..50,
    ) {
        check_messages(&input, framing, piece);
        if let Ok(packet) = Packet::read(&input, 0) {
            visit(&Message::Legacy(packet));
        }
    }

    /// With any damage, the fast path through arguments and the checking path agree.
    #[test]
    fn both_ways_through_arguments_agree(parts in parts(), places in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
        let mut bytes = parts.encode();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok((record, _)) = Record::read(&bytes, 0) {
            let mut reported = None;
            record.check(CheckOptions::default(), &mut |error| {
                if error.rule.is_fatal() {
                    reported = Some(error);
                }
            });
            prop_assert_eq!(record.validate().err(), reported);
        }
    }

    #[test]
    fn any_cut_gives_the_same_messages(
        records in vec(parts(), 1..12),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        sizes in vec(1usize..200, 1..100),
        framing in framing(),
    ) {
        let mut bytes = Vec::new();
        for record in &records {
            let record = record.encode();
            if framing == Framing::Datagrams {
                bytes.extend((record.len() as u32).to_le_bytes());
            }
            bytes.extend(record);
            if framing == Framing::ExtendedRecords {
                bytes.extend([3, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
                bytes.extend(b"m/n\0\0\0\0\0url-of-9!\0\0\0\0\0\0\0");
            }
        }
        let whole = Messages::new(&bytes, framing);
        if damage.is_empty() {
            prop_assert_eq!(whole.filter(|message| message.is_ok()).count(), records.len());
        }
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let expected: Vec<String> =
            Messages::new(&bytes, framing).map(|message| format!("{message:?}")).collect();
        prop_assert_eq!(&split(&bytes, framing, sizes.iter().copied().cycle()), &expected);
        prop_assert_eq!(&split(&bytes, framing, std::iter::repeat(1)), &expected);
    }
}
