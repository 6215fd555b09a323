//! Missing and additional bytes at any position: only the affected messages are lost.

use std::collections::HashMap;
use std::time::Duration;

use ichnos_fuchsia::log::{Framing, Message, Messages, Rule};
use ichnos_testing::{Random, cases, in_cpu_time};

use crate::framing::{datagrams, legacy, records};
use crate::properties::split;

/// A file of messages with the end of each.
struct File {
    bytes: Vec<u8>,
    framing: Framing,
    /// Start offsets of all messages, and the end offset.
    ends: Vec<usize>,
}

impl File {
    fn new(framing: Framing, messages: &[Vec<u8>]) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for message in messages {
            bytes.extend(message);
            ends.push(bytes.len());
        }
        Self { bytes, framing, ends }
    }

    fn of_records(count: u64) -> Self {
        let (bytes, mut begins) = records(count);
        begins.push(bytes.len());
        let messages: Vec<_> = begins.windows(2).map(|ends| bytes[ends[0]..ends[1]].to_vec()).collect();
        Self::new(Framing::Records, &messages)
    }

    fn of_extended_records(count: u64) -> Self {
        let plain = Self::of_records(count);
        let behind = |index: usize| {
            let moniker = &b"core/network"[..1 + index % 12];
            let url = &b"fuchsia-pkg://x#y.cm"[..index % 20];
            let mut bytes =
                [&(moniker.len() as u32).to_le_bytes()[..], &(url.len() as u32).to_le_bytes()].concat();
            bytes.extend((index as u64 % 3).to_le_bytes());
            for text in [moniker, url] {
                bytes.extend(text);
                bytes.resize(bytes.len().next_multiple_of(8), 0);
            }
            bytes
        };
        let extend = |(index, message): (usize, &[u8])| [message, &behind(index)].concat();
        let messages: Vec<_> = plain.messages().enumerate().map(extend).collect();
        Self::new(Framing::ExtendedRecords, &messages)
    }

    fn of_datagrams(count: u64, has_packets: bool) -> Self {
        let plain = Self::of_records(count);
        let frame = |(index, message): (usize, &[u8])| match has_packets && index % 2 == 0 {
            true => datagrams(&[&legacy(&format!("packet {index} of many"))]),
            false => datagrams(&[message]),
        };
        let messages: Vec<_> = plain.messages().enumerate().map(frame).collect();
        Self::new(Framing::Datagrams, &messages)
    }

    fn messages(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.ends.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }
}

/// A number of removed bytes, or inserted bytes, at a position.
struct Change {
    at: usize,
    removed: usize,
    inserted: Vec<u8>,
}

impl Change {
    fn random(random: &mut Random, begin: usize, end: usize, most: usize) -> Self {
        let at = begin + random.index(end - begin);
        let size = 1 + random.index(most);
        if random.is_one_in(2) {
            return Self { at, removed: size.min(end - at), inserted: Vec::new() };
        }
        let kind = random.below(4);
        let inserted = (0..size).map(|_| match kind {
            0 => 0,
            1 => b' ' + random.below(90) as u8,
            _ => random.byte(),
        });
        Self { at, removed: 0, inserted: inserted.collect() }
    }
}

/// Applies sorted changes, and checks the result of reading.
fn check(file: &File, changes: &[Change], what: &str) {
    let (mut bytes, mut at) = (Vec::new(), 0);
    // Intact messages in the changed file, and starts of other bytes.
    let mut touched = vec![false; file.ends.len() - 1];
    for change in changes {
        bytes.extend(&file.bytes[at..change.at]);
        bytes.extend(&change.inserted);
        at = change.at + change.removed;
        for (index, ends) in file.ends.windows(2).enumerate() {
            let is_within = ends[0] < at && change.at < ends[1];
            touched[index] |= is_within && !(change.removed == 0 && change.at == ends[0]);
        }
    }
    bytes.extend(&file.bytes[at..]);

    let (mut end, mut found) = (0, Vec::new());
    let mut messages = Messages::new(&bytes, file.framing);
    while let Some(message) = messages.next() {
        let begin = end;
        end = messages.offset() as usize;
        match message {
            Ok(_) => found.push(&bytes[begin..end]),
            Err(damage) => {
                // All skipped bytes are damage with the right position.
                assert_eq!(
                    (damage.offset, damage.offset + damage.skipped),
                    (begin as u64, end as u64),
                    "{what}"
                );
            }
        }
    }
    assert_eq!(end, bytes.len(), "{what}");
    let whole: Vec<&[u8]> =
        file.messages().zip(&touched).filter(|(_, touched)| !**touched).map(|(message, _)| message).collect();
    // All messages differ.
    let numbers: HashMap<&[u8], usize> =
        whole.iter().enumerate().map(|(number, bytes)| (*bytes, number)).collect();
    let known: Vec<usize> = found.iter().filter_map(|message| numbers.get(message).copied()).collect();
    assert!(known.is_sorted(), "{what}");
    let lost: Vec<usize> = (0..whole.len()).filter(|number| known.binary_search(number).is_err()).collect();
    let first = &lost[..lost.len().min(9)];
    assert!(lost.is_empty(), "{what}: lost {} of {}, {first:?}", lost.len(), whole.len());
    // A changed message can still be valid.
    let invented: Vec<_> = found.iter().filter(|message| !numbers.contains_key(*message)).collect();
    assert!(invented.len() <= changes.len(), "{what}: there were none of {invented:x?}");
}

fn files(count: u64) -> [File; 4] {
    [
        File::of_records(count),
        File::of_extended_records(count),
        File::of_datagrams(count, false),
        File::of_datagrams(count, true),
    ]
}

/// Removes one byte from a record, at each position.
#[test]
fn a_byte_removed_loses_its_record_only() {
    for file in files(500) {
        for at in file.ends[100]..file.ends[101] {
            let change = Change { at, removed: 1, inserted: Vec::new() };
            check(&file, &[change], &format!("{:?}, byte {at}", file.framing));
        }
    }
}

#[test]
fn a_byte_inserted_loses_its_record_only() {
    for file in files(110) {
        for at in file.ends[100]..file.ends[102] {
            for byte in [0, b'x', 0xff] {
                let change = Change { at, removed: 0, inserted: vec![byte] };
                check(&file, &[change], &format!("{:?}, byte {at}", file.framing));
            }
        }
    }
}

#[test]
fn random_deletions_and_insertions_lose_what_they_touch_only() {
    for (kind, file) in files(500).iter().enumerate() {
        cases(200, |random| {
            let round = random.seed();
            let most = [1, 8, 40, 300, 3_000][round as usize % 5];
            let change = Change::random(random, 0, file.bytes.len(), most);
            let what = format!(
                "{:?} {kind}, round {round}: {} bytes removed, {:?} inserted at {}",
                file.framing, change.removed, change.inserted, change.at
            );
            check(file, &[change], &what);
        });
    }
}

/// All changes in one file.
#[test]
fn two_hundred_changes_of_one_file() {
    for (kind, file) in files(6_000).iter().enumerate() {
        cases(5, |random| {
            let round = random.seed();
            let part = file.bytes.len() / 200;
            // One change in each part, with intact messages between them.
            let changes: Vec<Change> = (0..200)
                .map(|index| Change::random(random, index * part, index * part + part / 2, 40))
                .collect();
            check(file, &changes, &format!("{:?} {kind}, round {round}", file.framing));
        });
    }
}

#[test]
fn what_is_found_behind_a_cut_does_not_depend_on_the_pieces() {
    for file in files(60) {
        cases(20, |random| {
            let change = Change::random(random, 0, file.bytes.len(), 30);
            let mut bytes = file.bytes.clone();
            bytes.splice(change.at..change.at + change.removed, change.inserted);
            let whole: Vec<_> =
                Messages::new(&bytes, file.framing).map(|message| format!("{message:?}")).collect();
            for piece in [1, 7, 64, 1_000] {
                let pieces = split(&bytes, file.framing, std::iter::repeat(piece));
                assert!(pieces == whole, "{:?}, pieces of {piece}", file.framing);
            }
        });
    }
}

/// A record whose last value lost its last byte is readable, with the first byte of the next record in its place.
#[test]
fn a_record_that_continues_in_the_next_record_is_invalid() {
    let file = File::of_records(20);
    // Its last argument is a number.
    let end = file.ends[2];
    let mut bytes = file.bytes.clone();
    bytes.remove(end - 1);
    let damages: Vec<_> = Messages::new(&bytes, Framing::Records).filter_map(Result::err).collect();
    let [damage] = damages[..] else { panic!("{damages:?}") };
    assert_eq!(damage.offset + damage.skipped, end as u64 - 1);
    assert_eq!(damage.offset, file.ends[1] as u64);
    let overlap = (Rule::RecordOverlap, damage.skipped, damage.skipped + 1);
    assert_eq!((damage.error.rule, damage.error.expected, damage.error.found), overlap);
}

/// A string can contain records. While the enclosing record is intact, they are text at any position.
#[test]
fn records_within_a_string_are_text() {
    let inner = File::of_records(5).bytes;
    for skip in 0..8 {
        let text = [&b"12345678"[..skip], &inner].concat();
        let words = text.len().div_ceil(8) as u64;
        let argument = 0x8007_0006 | (2 + words) << 4 | (0x8000 | text.len() as u64) << 32;
        let header = 0x3000_0000_0000_0009 | (4 + words) << 4;
        let mut record =
            [header, 1, argument, u64::from_le_bytes(*b"message\0")].map(u64::to_le_bytes).concat();
        record.extend(&text);
        record.resize(record.len().next_multiple_of(8), 0);
        let many = record.repeat(10);
        let messages: Vec<_> = Messages::new(&many, Framing::Records).collect::<Result<_, _>>().unwrap();
        assert_eq!(messages.len(), 10);
        assert!(messages.iter().all(|message| matches!(message, Message::Record { .. })));
    }
}

/// If each position looks like the start of a long record with a wrong end, the time is still linear.
#[test]
fn time_is_in_proportion_to_the_size_of_hostile_input() {
    let repeat = |words: &[u64]| -> Vec<u8> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.repeat(1_000_000 / bytes.len())
    };
    // Headers with 4,091 words, each followed by arguments with three words, where the last argument does not fit.
    let chains = repeat(&[0x3000_0000_0000_ffb9, 0, 0x8001_0034]);
    // Name headers with 32,000 bytes that are UTF-8 up to their end.
    let names = repeat(&[0x3000_0000_0000_7f79, 0, 0x3fc3_0000_8101_7fa4]);
    // Broken records, each with an intact record inside.
    let nested =
        repeat(&[0x3000_0000_0000_ff09, 1, 0x3000_0000_0000_0059, 1, 0x8001_0034, 0x6e, 5, 0x8001_0031]);
    let lengths = {
        let datagram = [&1_000u32.to_le_bytes()[..], &[1; 12], &[0; 12], &[0; 8]].concat();
        datagram.repeat(1_000_000 / datagram.len())
    };
    for (name, bytes) in [("chains", chains), ("names", names), ("nested", nested), ("lengths", lengths)] {
        for framing in [Framing::Records, Framing::ExtendedRecords, Framing::Datagrams] {
            let what = format!("{name}, {framing:?}");
            // The limit applies to a test build.
            in_cpu_time(Duration::from_secs(10), &what, || Messages::new(&bytes, framing).count());
        }
    }
}
