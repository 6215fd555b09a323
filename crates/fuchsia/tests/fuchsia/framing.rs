//! Finding messages in files and streams, including after damage.

use ichnos_fuchsia::log::{
    Damage, Encoder, Event, Framing, Message, Messages, Record, Rule, Splitter, Value,
};
use ichnos_testing::{Random, cases};

use crate::properties::split;
use crate::support::bytes;

/// Typical records, and the start of each.
pub fn records(count: u64) -> (Vec<u8>, Vec<usize>) {
    let mut buffer = vec![0; 256];
    let (mut bytes, mut begins) = (Vec::new(), Vec::new());
    for index in 0..count {
        let message = "a message of some words"[..(index % 24) as usize].to_owned();
        let arguments = [("index", Value::Unsigned(index)), ("on", Value::Bool(index % 3 == 0))];
        let event = Event {
            timestamp: 1_000 + index as i64,
            severity: [0x20, 0x30, 0x40, 0x50, 0x2e][index as usize % 5],
            pid: 1_234,
            tid: 1_235,
            message: Some(&message),
            arguments: &arguments[..(index % 3) as usize],
            tags: if index % 4 == 0 { &["tag"] } else { &[] },
            ..Event::default()
        };
        let mut encoder = Encoder::new(&mut buffer);
        encoder.event(&event).unwrap();
        begins.push(bytes.len());
        bytes.extend_from_slice(encoder.written());
    }
    (bytes, begins)
}

fn timestamps(messages: Messages<'_>) -> (Vec<i64>, Vec<Damage>) {
    let (mut timestamps, mut damages) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            Ok(Message::Record { record, .. }) => timestamps.push(record.timestamp()),
            Ok(message) => panic!("{message:?}"),
            Err(damage) => damages.push(damage),
        }
    }
    (timestamps, damages)
}

/// With each kind of damage to one of 10,000 records, all other records are found and nothing else.
#[test]
fn a_damaged_record_loses_itself_only() {
    let many = records(10_000);
    let few = records(200);
    cases(2_000, |random| {
        let round = random.seed();
        let (whole, begins) = if round < 24 { &many } else { &few };
        let mut bytes = whole.clone();
        let index = random.index(begins.len());
        let begin = begins[index];
        let end = begins.get(index + 1).copied().unwrap_or(bytes.len());
        match round % 6 {
            // A byte, anywhere.
            0 => bytes[begin + random.index(end - begin)] ^= 1 + random.below(255) as u8,
            // The sizes in its header.
            1 => bytes[begin + random.index(2)] = random.byte(),
            // The size in the header of its first argument.
            2 => bytes[begin + 16 + random.index(2)] = random.byte(),
            // All of it.
            3 => bytes[begin..end].fill(random.byte()),
            4 => bytes[begin..end].iter_mut().for_each(|byte| *byte = random.byte()),
            // Its end is missing, in words.
            _ => {
                let words = (end - begin) / 8;
                let kept = random.index(words);
                bytes.drain(begin + kept * 8..end);
            }
        }
        let (found, damages) = timestamps(Messages::new(&bytes, Framing::Records));
        // The damaged record can still be valid, with another time, or shorter with an argument that looks like another
        // record. If its end is missing, the next header can fit in its place.
        let most = usize::from(round % 6 == 5);
        let mut left = found.iter();
        let lost: Vec<i64> = (1_000..1_000 + begins.len() as i64)
            .filter(|time| *time != 1_000 + index as i64)
            .filter(|time| !left.clone().any(|found| found == time) || !left.any(|found| found == time))
            .collect();
        assert!(lost.len() <= most, "round {round}, record {index}: {lost:?} {damages:?}");
        assert!(
            found.len() <= begins.len() + 1 && damages.len() <= 2,
            "round {round}, record {index}: {damages:?}"
        );
        for damage in damages {
            let (from, to) = (damage.offset as usize, (damage.offset + damage.skipped) as usize);
            let limit = if most == 0 { end } else { begins.get(index + 2).copied().unwrap_or(end) };
            assert!(begin <= from && to <= limit, "{begin} {end}: {damage:?}");
        }
    });
}

#[test]
fn damage_in_a_stream_is_the_same_however_it_is_cut() {
    let (mut bytes, begins) = records(3_000);
    let mut random = Random::new(2);
    for index in (5..3_000).step_by(500) {
        bytes[begins[index]] = random.byte();
        bytes[begins[index + 20] + 20] ^= 0xff;
    }
    let expected: Vec<String> =
        Messages::new(&bytes, Framing::Records).map(|message| format!("{message:?}")).collect();
    assert!(expected.iter().any(|message| message.starts_with("Err")));
    for piece in [7, 8, 1_000, 65_536, 100_000] {
        let found = split(&bytes, Framing::Records, std::iter::repeat(piece));
        assert!(found == expected, "pieces of {piece}");
    }
}

/// The size of a damaged record is accepted if a record follows. Otherwise each word is tried.
#[test]
fn how_damage_is_skipped() {
    let good =
        "word:30000000.00000059 word:00000000.00000007 word:00000000.80010034 'n' _ word:00000000.00000001";
    let wrong_type =
        "word:30000000.00000059 word:00000000.00000008 word:00000000.80010031 'n' _ word:00000000.00000001";
    let wrong_size =
        "word:30000000.00000069 word:00000000.00000008 word:00000000.80010034 'n' _ word:00000000.00000001";
    let read = |parts: &[&str]| {
        let bytes = bytes(&parts.join(" "));
        let messages = Messages::new(&bytes, Framing::Records);
        messages
            .map(|message| match message {
                Ok(message) => (message.offset(), 0, None),
                Err(damage) => (damage.offset, damage.skipped, Some(damage.error.rule)),
            })
            .collect::<Vec<_>>()
    };
    let record = |offset: u64| (offset, 0, None);
    assert_eq!(
        read(&[good, wrong_type, good]),
        [record(0), (40, 40, Some(Rule::ArgumentTypeReserved)), record(80)]
    );
    assert_eq!(
        read(&[wrong_size, good, good]),
        [(0, 40, Some(Rule::ArgumentBeyondRecord)), record(40), record(80)]
    );
    // Up to the end of the file.
    assert_eq!(read(&[good, wrong_type]), [record(0), (40, 40, Some(Rule::ArgumentTypeReserved))]);
    assert_eq!(read(&[good, "01 02 03"]), [record(0), (40, 3, Some(Rule::RecordHeaderTruncated))]);
    assert_eq!(
        read(&[good, "word:30000000.00000059 word:00000000.00000008"]),
        [record(0), (40, 16, Some(Rule::RecordTruncated))]
    );
    // Two consecutive broken records, where the sizes lead to an intact record.
    let broken = |offset: u64| (offset, 40, Some(Rule::ArgumentTypeReserved));
    assert_eq!(read(&[wrong_type, wrong_type, good]), [broken(0), broken(40), record(80)]);
    // The size of the second record does not lead to a message, so neither size is accepted.
    assert_eq!(
        read(&[wrong_type, "word:3000000000000089 word:0000000000000008 word:0000000000000011", good]),
        [(0, 64, Some(Rule::ArgumentTypeReserved)), record(64)]
    );
    assert_eq!(read(&[]), []);
}

/// Consecutive unreadable records are reported individually, each with its own damage. The same is true for datagrams.
#[test]
fn unreadable_neighbors_are_reported_individually() {
    let (mut records, mut begins) = records(100);
    begins.push(records.len());
    for index in 40..45 {
        // The type of the first argument.
        records[begins[index] + 16] = 0x47;
    }
    records[begins[43] + 18] = 5;
    let payloads: Vec<&[u8]> = begins.windows(2).map(|ends| &records[ends[0]..ends[1]]).collect();
    for (bytes, framing, length) in
        [(datagrams(&payloads), Framing::Datagrams, 4), (records.clone(), Framing::Records, 0)]
    {
        let (found, damages) = timestamps(Messages::new(&bytes, framing));
        assert_eq!(found.len(), 95, "{framing:?}");
        let expected: Vec<(u64, u64)> = (40..45)
            .map(|index| {
                let size = payloads[index].len() + length;
                ((begins[index] + index * length) as u64, size as u64)
            })
            .collect();
        let reported: Vec<_> = damages.iter().map(|damage| (damage.offset, damage.skipped)).collect();
        assert_eq!(reported, expected, "{framing:?}");
        assert!(damages.iter().all(|damage| damage.error.rule == Rule::ArgumentTypeReserved));
        for piece in [1, 7, 8, 64, 1_000] {
            let whole: Vec<_> =
                Messages::new(&bytes, framing).map(|message| format!("{message:?}")).collect();
            assert_eq!(split(&bytes, framing, std::iter::repeat(piece)), whole, "{framing:?}, {piece}");
        }
    }
}

/// A boolean argument inside a broken record looks like a record.
#[test]
fn arguments_are_not_taken_for_records() {
    let mut buffer = [0; 256];
    let mut encoder = Encoder::new(&mut buffer);
    for timestamp in 1..=3 {
        let mut record = encoder.begin(timestamp, 0x30).unwrap();
        record.argument("on", 1u64).unwrap();
        record.argument("off", false).unwrap();
        record.finish();
    }
    let mut bytes = encoder.written().to_vec();
    let size = bytes.len() / 3;
    bytes[size + 16] = 0x31;
    let (found, damages) = timestamps(Messages::new(&bytes, Framing::Records));
    assert_eq!(found, [1, 3]);
    assert_eq!((damages[0].offset, damages[0].skipped), (size as u64, size as u64));
}

pub fn legacy(message: &str) -> Vec<u8> {
    let mut packet = vec![0; 32];
    packet[0] = 77;
    packet[24] = 0x30;
    packet.extend(b"\x03tag\0");
    packet.extend(message.bytes());
    packet.push(0);
    packet
}

pub fn datagrams(payloads: &[&[u8]]) -> Vec<u8> {
    let frame = |payload: &&[u8]| [&(payload.len() as u32).to_le_bytes()[..], payload].concat();
    payloads.iter().flat_map(frame).collect()
}

#[test]
fn datagrams_of_all_kinds() {
    let (bytes, begins) = records(2);
    let extended =
        [&bytes[..begins[1]], &[1, 0, 0, 0, 1, 0, 0, 0], &[0; 8], b"m\0\0\0\0\0\0\0u\0\0\0\0\0\0\0"].concat();
    let packet = legacy("hello");
    let file = datagrams(&[&bytes[begins[1]..], &extended, &packet, &packet]);
    assert_eq!(Framing::recognize(&file, true), Some(Framing::Datagrams));
    let messages: Vec<_> = Messages::new(&file, Framing::Datagrams).map(Result::unwrap).collect();
    assert!(matches!(messages[0], Message::Record { behind: [], .. }));
    assert_eq!(messages[1].attribution().unwrap().moniker.unwrap(), "m");
    assert!(matches!(messages[2], Message::Legacy(packet) if packet.message() == "hello"));
    assert_eq!(messages.len(), 4);
}

#[test]
fn damage_in_datagrams() {
    let packets: Vec<Vec<u8>> = (0..50).map(|index| legacy(&format!("message {index}"))).collect();
    let (records, begins) = records(50);
    let record =
        |index: usize| &records[begins[index]..begins.get(index + 1).copied().unwrap_or(records.len())];
    let payloads: Vec<&[u8]> = (0..50).flat_map(|index| [record(index), packets[index].as_slice()]).collect();
    let whole = datagrams(&payloads);
    let text = |message: &Message<'_>| match message {
        Message::Record { record, .. } => record.text().to_string() + &record.timestamp().to_string(),
        Message::Legacy(packet) => packet.message().to_string(),
        _ => unreachable!(),
    };
    let all: Vec<String> =
        Messages::new(&whole, Framing::Datagrams).map(|message| text(&message.unwrap())).collect();
    assert_eq!(all.len(), 100);
    cases(1_000, |random| {
        let round = random.seed();
        let index = random.index(99);
        let begin: usize = payloads[..index].iter().map(|payload| payload.len() + 4).sum();
        let mut bytes = whole.clone();
        match round % 3 {
            // The length.
            0 => bytes[begin + random.index(4)] ^= 1 + random.below(255) as u8,
            // The start of the content.
            1 => bytes[begin + 4..begin + 12].fill(0xff),
            // All of the content.
            _ => bytes[begin + 4..begin + 4 + payloads[index].len()].fill(0xaa),
        }
        let found: Vec<String> = Messages::new(&bytes, Framing::Datagrams)
            .filter_map(|message| message.ok().map(|message| text(&message)))
            .collect();
        let others: Vec<&String> =
            all.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, text)| text).collect();
        let missing: Vec<_> = others.iter().filter(|text| !found.contains(text)).collect();
        let damages: Vec<_> = Messages::new(&bytes, Framing::Datagrams).filter_map(Result::err).collect();
        assert!(missing.is_empty(), "round {round}, datagram {index} at {begin}: {missing:?} {damages:?}");
        assert!(found.len() <= 100, "round {round}");
    });
}

#[test]
fn lengths_of_datagrams() {
    let packet = legacy("hello");
    let good = datagrams(&[&packet]);
    let rule = |bytes: &[u8]| {
        Messages::new(bytes, Framing::Datagrams).find_map(Result::err).map(|damage| damage.error.rule)
    };
    assert_eq!(rule(&good), None);
    assert_eq!(rule(&[&[0; 4][..], &good].concat()), Some(Rule::FrameLength));
    assert_eq!(rule(&[&[0, 0, 0, 1][..], &good].concat()), Some(Rule::FrameLength));
    assert_eq!(rule(&good[..good.len() - 1]), Some(Rule::FrameTruncated));
    assert_eq!(rule(&good[..3]), Some(Rule::FrameTruncated));
}

#[test]
fn containers_are_recognized() {
    let (bytes, begins) = records(20);
    assert_eq!(Framing::recognize(&bytes, true), Some(Framing::Records));
    assert_eq!(Framing::recognize(&bytes[..400], false), Some(Framing::Records));
    let damaged = [&[0xff; 24][..], &bytes].concat();
    assert_eq!(Framing::recognize(&damaged, true), Some(Framing::Records));
    let packet = legacy("a packet that is longer");
    for payloads in [&[packet.as_slice()][..], &[&bytes[..begins[1]]], &[&[9; 41], &packet, &packet]] {
        let file = datagrams(payloads);
        assert_eq!(Framing::recognize(&file, true), Some(Framing::Datagrams), "{file:?}");
    }
    // The second record refers to a table string, which logs lack. It can be read as a datagram length and content,
    // because small times and numbers look like packet fields.
    let record = |name: u64, time: u64| {
        let words = [0x3000_0000_0000_0059, time, 0x34 | name << 16, u64::from(b'k'), 1];
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()
    };
    let all: Vec<_> = (1..20).flat_map(|time| record(if time == 2 { 3 } else { 0x8001 }, time)).collect();
    assert_eq!(Framing::recognize(&all, true), Some(Framing::Records));
    let extension = b"\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0m\0\0\0\0\0\0\0u\0\0\0\0\0\0\0";
    let extended = [&bytes[..begins[1]], extension, &bytes[begins[1]..begins[2]], extension].concat();
    assert_eq!(Framing::recognize(&extended, true), Some(Framing::ExtendedRecords));
    let messages: Vec<_> = Messages::new(&extended, Framing::ExtendedRecords).map(Result::unwrap).collect();
    assert_eq!(messages.len(), 2);

    for other in [&b""[..], b"{\"traceEvents\":[]}", &[0; 1_000], &[0xff; 1_000], b"\x10\0\x04FxT\x16\0"] {
        assert_eq!(Framing::recognize(other, true), None);
    }
    // A trace that still contains a log record.
    let trace = [&b"\x10\0\x04FxT\x16\0"[..], &bytes].concat();
    assert_eq!(Framing::recognize(&trace, true), None);
}

/// A stream without any message does not fill the memory, and takes linear time.
#[test]
fn garbage_is_not_kept() {
    let mut splitter = Splitter::new(Framing::Records);
    let header = 0x3000_0000_0000_fff9u64.to_le_bytes();
    let piece = header.repeat(1_000);
    for _ in 0..100 {
        splitter.feed(&piece);
        assert!(splitter.next_message().is_none());
    }
    splitter.finish();
    let damage = splitter.next_message().unwrap().unwrap_err();
    assert_eq!((damage.offset, damage.skipped), (0, 800_000));
    assert!(splitter.next_message().is_none());
}

/// A string full of records, none of which leads to the end of the enclosing record. Following all of them from each
/// would take minutes.
#[test]
fn a_message_with_messages_takes_little_time() {
    let inner = bytes("word:3000000000000039 word:0000000000000001 word:0000000000000019");
    let last = bytes("word:3000000000000029 word:0000000000000001 word:0000000000007777");
    let text = [inner.repeat(1_360), last].concat();
    let words = text.len() as u64 / 8;
    // The name padding is wrong, so the record is doubtful.
    let header = 0x3000_0000_0000_0009 | (4 + words) << 4;
    let argument = 0x8001_0006 | (2 + words) << 4 | (0x8000 | text.len() as u64) << 32;
    let head = [header, 1, argument, 0x0100_0000_0000_006e];
    let record = [head.map(u64::to_le_bytes).concat(), text].concat();
    let messages = Messages::new(&record, Framing::Records).collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(messages.len(), 1);
    let many = record.repeat(40);
    assert_eq!(Messages::new(&many, Framing::Records).filter(Result::is_ok).count(), 40);
}

#[test]
fn offsets_are_those_of_the_input() {
    let (bytes, begins) = records(10);
    let offsets: Vec<usize> =
        Messages::new(&bytes, Framing::Records).map(|message| message.unwrap().offset() as usize).collect();
    assert_eq!(offsets, begins);
    let (record, _) = Record::read(&bytes[begins[3]..], begins[3] as u64).unwrap();
    assert_eq!(record.offset() as usize, begins[3]);
}
