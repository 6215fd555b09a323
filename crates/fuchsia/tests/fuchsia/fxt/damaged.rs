//! Damaged traces: each error is reported with its position, and reading continues.

use ichnos_fuchsia::fxt::{Record, Records, Rule, recognize};
use ichnos_fuchsia::fxt_reader::{FxtOptions, FxtTrace};
use ichnos_model::{Cursor as _, Message, OpenedTrace as _};

use super::builder::{Builder, MAGIC, body, header, inline};
use super::dump::{checked, messages, open_with, read};

/// Returns the messages for a trace with additional records between two events.
fn between(build: impl FnOnce(&mut Builder)) -> Vec<String> {
    let mut builder = Builder::new();
    builder.event(0, 1, ["c", "before"], vec![], &[]);
    build(&mut builder);
    builder.event(0, 2, ["c", "after"], vec![], &[]);
    let mut lines = read(&builder.bytes);
    assert_eq!(lines.first().unwrap(), "1 c:before | pid=1 tid=2");
    assert_eq!(lines.last().unwrap(), "2 c:after | pid=1 tid=2", "{lines:?}");
    lines.pop();
    lines.remove(0);
    lines
}

#[test]
fn records_that_cannot_be_read_are_skipped() {
    let zeros = between(|builder| builder.bytes.extend([0; 24]));
    assert_eq!(
        zeros,
        [
            "a.fxt: byte 56: record 2 breaks the rule record-size-minimum: the size of a record includes its header and its fixed words: expected at least 1 words, found 0; skipped 24 bytes"
        ]
    );
    // A thread record of two words.
    let short = between(|builder| {
        builder.record(header(3, &[(16, 1)]), body().word(1));
    });
    assert_eq!(
        short,
        [
            "a.fxt: byte 56: record 2 breaks the rule record-size-minimum: the size of a record includes its header and its fixed words: expected at least 3 words, found 2; skipped 16 bytes"
        ]
    );
    // A name that extends beyond its record.
    let name = between(|builder| {
        builder.record(header(7, &[(24, 0x8000 | 9)]), body().words(&[1, 2]));
    });
    assert_eq!(
        name,
        [
            "a.fxt: byte 56: record 2 breaks the rule record-content: the content of a record ends within it: expected at most 8 bytes, found 9, at byte 72; skipped 24 bytes"
        ]
    );
}

#[test]
fn arguments_that_do_not_fit_are_reported() {
    // An argument with size 0.
    let lines = between(|builder| {
        builder.record(header(7, &[(40, 1)]), body().words(&[1, 0]));
    });
    assert_eq!(
        lines,
        [
            "a.fxt: byte 56: record 2 breaks the rule argument-size: the size of an argument includes its header, its name and its value: expected at least 1 words, found 0, at byte 72; skipped 24 bytes"
        ]
    );
    // Extends beyond the record.
    let lines = between(|builder| {
        builder.record(header(7, &[(40, 1)]), body().words(&[1, 0x51]));
    });
    assert_eq!(
        lines,
        [
            "a.fxt: byte 56: record 2 breaks the rule argument-beyond-record: an argument ends within its record: expected at most 1 words, found 5, at byte 72; skipped 24 bytes"
        ]
    );
    // Lacks the value for its type.
    let lines = between(|builder| {
        builder.record(header(7, &[(40, 1)]), body().words(&[1, 0x14]));
    });
    assert_eq!(lines.len(), 2);
    assert_eq!(
        lines[0],
        "a.fxt: byte 72: record 2 breaks the rule argument-size: the size of an argument includes its header, its name and its value: expected at least 2 words, found 1"
    );
    assert_eq!(lines[1], "- kernel_object |  | koid=1 type=0(none) name=''");
}

#[test]
fn references_without_an_entry_are_reported_once() {
    let lines = between(|builder| {
        for _ in 0..3 {
            builder.record(header(4, &[(24, 9), (32, 7), (48, inline("n"))]), body().word(1).text("n"));
        }
    });
    assert_eq!(
        lines,
        [
            "a.fxt: byte 56: record 2 breaks the rule thread-index: a thread is registered before its index is used: found the index 0x9",
            "a.fxt: byte 56: record 2 breaks the rule string-index: a string is registered before its index is used: found the index 0x7",
            "1 <unknown string 7>:n | ",
            "1 <unknown string 7>:n | ",
            "1 <unknown string 7>:n | ",
        ]
        .map(|line| line.trim_end_matches([' ', '|']))
    );
}

#[test]
fn truncated_files_are_read_up_to_the_last_whole_record() {
    let mut builder = Builder::new();
    builder.event(0, 1, ["c", "first"], vec![], &[]);
    let whole = builder.bytes.len();
    builder.event(0, 2, ["c", "second"], vec![], &[]);
    for length in whole + 1..builder.bytes.len() {
        let lines = read(&builder.bytes[..length]);
        assert_eq!(lines.len(), 2, "{length}: {lines:?}");
        assert_eq!(lines[0], "1 c:first | pid=1 tid=2");
        let rule = if length < whole + 8 { "record-header-truncated" } else { "record-truncated" };
        assert!(
            lines[1].contains(rule) && lines[1].starts_with(&format!("a.fxt: byte {whole}:")),
            "{}",
            lines[1]
        );
    }
}

/// The rest of the last record is not searched for records, although its arguments look like records.
#[test]
fn the_rest_of_a_truncated_record_is_not_a_record() {
    let mut builder = Builder::new();
    builder.string(1, "text").event(0, 1, ["c", "first"], vec![], &[]);
    let whole = builder.bytes.len();
    let argument = |kind: u64, low: u64| body().word(kind | 1 << 4 | 1 << 16 | low << 32);
    let looks_like_objects = (0..6).map(|_| argument(6, 1)).collect();
    builder.event(2, 2, ["c", "second"], looks_like_objects, &[]);
    // The same, in data.
    let embedded = [builder.bytes.clone(), Builder::new().initialization(5).bytes.clone()].concat();
    let format = header(0, &[(0, inline("c")), (16, inline("n"))]);
    let all = body().word(format).text("c").text("n").word(embedded.len() as u64).stream(&embedded);
    let second = builder.bytes.len();
    builder.record(header(15, &[(40, 1)]), all);
    for (begin, end) in [(whole, second), (second, builder.bytes.len())] {
        for length in begin + 8..end {
            let lines = read(&builder.bytes[..length]);
            let count = if begin == whole { 1 } else { 2 };
            assert_eq!(lines.len(), count + usize::from(length > begin), "{length}: {lines:?}");
            let last = lines.last().unwrap();
            assert!(last.starts_with(&format!("a.fxt: byte {begin}:")), "{last}");
            assert!(last.contains("record-truncated"), "{last}");
            assert!(last.ends_with(&format!("skipped {} bytes", length - begin)), "{last}");
        }
    }
}

/// A size that is too large does not mean a truncated file, so the records inside are found.
#[test]
fn a_wrong_size_hides_no_records() {
    let mut builder = Builder::new();
    for ticks in 0..4 {
        builder.event(0, ticks, ["cat", "name"], vec![], &[]);
    }
    let size = (builder.bytes.len() - 8) / 4;
    builder.bytes[8 + size + 1] = 0x0f;
    let lines = read(&builder.bytes);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[1].contains("record-truncated"), "{}", lines[1]);
    assert_eq!([&lines[0][..1], &lines[2][..1], &lines[3][..1]], ["0", "2", "3"]);
}

#[test]
fn provider_events_lack_a_time() {
    let mut builder = Builder::new();
    builder.provider(1, "p").event(0, 1, ["c", "n"], vec![], &[]);
    builder.record(header(0, &[(16, 3), (20, 1), (52, 5)]), body());
    let lines = read(&builder.bytes);
    assert_eq!(lines[0], "1 c:n | pid=1 tid=2");
    assert!(lines[1].starts_with("- unknown_record |  |  | type=0 record=x'"), "{lines:?}");
}

#[test]
fn big_endian_files_are_refused() {
    let mut bytes = MAGIC;
    bytes.reverse();
    assert!(recognize(&bytes));
    let error = FxtTrace::open("a.fxt", bytes.to_vec().into(), &FxtOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "big-endian trace: starts with 0x1000044678541600, expected 0x0016547846040010 (only little-endian traces are supported)"
    );
    let damage = Records::new(&bytes).next().unwrap().unwrap_err();
    assert_eq!((damage.error.rule, damage.skipped), (Rule::ByteOrder, 8));
}

#[test]
fn a_clock_without_ticks_is_reported() {
    let lines = between(|builder| {
        builder.initialization(0);
    });
    assert_eq!(
        lines,
        [
            "a.fxt: byte 64: record 2 breaks the rule ticks-per-second: a clock has at least one tick per second: expected at least 1 tick, found 0"
        ]
    );
}

#[test]
fn checks_report_what_reading_tolerates() {
    let mut builder = Builder::new();
    builder.record(header(1, &[(20, 1)]), body().word(1_000));
    builder.record(header(2, &[(16, 0), (32, 2)]), body().stream(b"a\xff").word(5));
    builder.record(header(3, &[]), body().words(&[1, 2]));
    builder.record(header(9, &[(16, 1)]), body().words(&[0, 1, 2, 0x100 | u64::from(b'm')]));
    builder.event(0, 1, ["c", "n"], vec![body().argument(13, "odd", 0, body())], &[]);
    let rules: Vec<_> = messages(&open_with(&builder.bytes, &checked()))
        .iter()
        .filter_map(|line| Some(line.split_once("the rule ")?.1.split(':').next()?.to_owned()))
        .collect();
    assert_eq!(
        rules,
        [
            "record-reserved",
            "text-utf8",
            "string-zero",
            "record-extra",
            "thread-zero",
            "padding",
            "argument-type"
        ]
    );
    // Without a check, nothing is reported.
    assert_eq!(read(&builder.bytes).len(), 2);
}

/// For each rule, a file that breaks only this rule, and the position of the violation.
fn broken(rule: Rule) -> (Vec<u8>, u64) {
    let mut builder = Builder::new();
    let at = match rule {
        Rule::ByteOrder => return (MAGIC.iter().rev().copied().collect(), 0),
        Rule::RecordHeaderTruncated => {
            builder.bytes.push(0x10);
            8
        }
        Rule::RecordSizeMinimum => {
            builder.bytes.extend(0x01u64.to_le_bytes());
            8
        }
        Rule::RecordTruncated => {
            builder.bytes.extend(0x21u64.to_le_bytes());
            8
        }
        // Extends beyond the two-word record.
        Rule::RecordContent => {
            builder.record(header(7, &[(24, 0x8000 | 9)]), body().word(1));
            24
        }
        Rule::RecordReserved => {
            builder.record(header(1, &[(63, 1)]), body().word(1));
            8
        }
        Rule::RecordExtra => {
            builder.record(header(7, &[]), body().words(&[1, 0]));
            24
        }
        Rule::Padding => {
            builder.record(header(2, &[(16, 1), (32, 1)]), body().stream(b"a\0\0\0b"));
            17
        }
        Rule::ArgumentSize => {
            builder.record(header(7, &[(40, 1)]), body().words(&[1, 0x14]));
            24
        }
        Rule::ArgumentBeyondRecord => {
            builder.record(header(7, &[(40, 1)]), body().words(&[1, 0x20]));
            24
        }
        Rule::ArgumentType => {
            builder.record(header(7, &[(40, 1)]), body().words(&[1, 0x1f]));
            8
        }
        Rule::StringIndex => {
            builder.record(header(7, &[(24, 1)]), body().word(1));
            8
        }
        Rule::StringZero => {
            builder.string(0, "a");
            8
        }
        Rule::ThreadIndex => {
            builder.record(header(4, &[(24, 1)]), body().word(1));
            8
        }
        Rule::ThreadZero => {
            builder.thread(0, 1, 2);
            8
        }
        Rule::TextUtf8 => {
            builder.record(header(2, &[(16, 1), (32, 2)]), body().stream(b"a\xff"));
            17
        }
        Rule::TicksPerSecond => {
            builder.initialization(0);
            16
        }
        rule => panic!("no file breaks {rule}"),
    };
    (builder.bytes, at)
}

/// Each rule in the table is found where it is broken, alone, and all other reading succeeds.
#[test]
fn each_rule_is_found_where_it_is_broken() {
    for rule in Rule::ALL.iter().copied() {
        let (bytes, at) = broken(rule);
        let error = match Records::new(&bytes).find_map(Result::err) {
            Some(damage) => {
                assert!(rule.is_fatal(), "{rule}");
                assert_eq!(damage.offset + damage.skipped, bytes.len() as u64, "{rule}");
                Some(damage.error)
            }
            None => None,
        };
        // Rules about tables and clocks apply to a file, not to a record.
        let is_of_file = error.is_none() && rule.is_fatal();
        if rule != Rule::ByteOrder {
            let options = if is_of_file { FxtOptions::default() } else { checked() };
            let trace = open_with(&bytes, &options);
            let damage: Vec<_> =
                messages(&trace).into_iter().filter(|line| line.starts_with("a.fxt:")).collect();
            assert_eq!(damage.len(), 1, "{rule}: {damage:?}");
            assert!(damage[0].contains(&format!("breaks the rule {rule}:")), "{rule}: {damage:?}");
            let place = [format!("byte {at}:"), format!("at byte {at}")];
            assert!(place.iter().any(|place| damage[0].contains(place)), "{rule}, {at}: {damage:?}");
        }
        if let Some(error) = error {
            assert_eq!((error.rule, error.at), (rule, at));
        }
    }
}

#[test]
fn files_of_other_formats_are_not_traces() {
    for bytes in [&b""[..], &[0; 64], b"Nettrace", b"a line of text\nand another one\n", &[0xff; 64]] {
        assert!(!recognize(bytes), "{bytes:?}");
    }
    // A structured log record. It has the type of FXT log records, but its severity is in bits that are zero there.
    let record = [header(9, &[(56, 0x30)]) | 2 << 4, 5].map(u64::to_le_bytes).concat();
    assert!(!recognize(&record));
    // Traces need not begin with the magic number.
    let mut builder = Builder::default();
    builder.initialization(5).string(1, "a");
    assert!(recognize(&builder.bytes));
    assert!(matches!(Record::read(&builder.bytes[..16], 0), Ok(Record::Initialization(_))));
}

#[test]
fn a_string_may_be_registered_after_its_first_use() {
    let event = |builder: &mut Builder| {
        builder.record(header(4, &[(32, inline("c")), (48, 7)]), body().words(&[1, 1, 2]).text("c"));
    };
    let lines = between(|builder| {
        event(builder);
        builder.record(header(2, &[(16, 7), (32, 4)]), body().text("late"));
        event(builder);
    });
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[1..], ["1 c:<unknown string 7> | pid=1 tid=2", "1 c:late | pid=1 tid=2"]);
}

/// Events with the same record and argument headers, one of which lacks its value.
#[test]
fn a_broken_argument_spoils_no_other_event() {
    let event = |builder: &mut Builder, argument: &[u64]| {
        builder.record(header(4, &[(20, 1), (24, 1), (32, 1), (48, 1)]), body().word(1).words(argument));
    };
    let lines = |events: &[&[u64]]| {
        between(|builder| {
            builder.record(header(2, &[(16, 1), (32, 1)]), body().text("c"));
            builder.record(header(3, &[(16, 1)]), body().words(&[1, 2]));
            events.iter().for_each(|argument| event(builder, argument));
        })
    };
    let (sound, broken): (&[u64], &[u64]) = (&[0x1_0023, 7], &[0x1_0013]);
    let alone = [lines(&[sound]), lines(&[broken])];
    assert_eq!([alone[0].len(), alone[1].len()], [1, 2], "{alone:?}");
    assert!(alone[0][0].contains('7'), "{alone:?}");
    for order in [[sound, broken, sound], [broken, sound, broken]] {
        let events: Vec<String> = lines(&order).into_iter().filter(|line| !line.contains("breaks")).collect();
        let expected = order.map(|one| if one == sound { &alone[0][0] } else { &alone[1][1] });
        assert_eq!(events.iter().collect::<Vec<_>>(), expected);
    }
}

/// Returns the events of a growing file in file order, for its only data stream.
fn growing(bytes: &[u8]) -> Vec<String> {
    let mut options = FxtOptions::default();
    (options.growing, options.unsorted) = (true, true);
    let mut lines = messages(&open_with(bytes, &options));
    lines.retain(|line| line.contains(" c:"));
    lines
}

/// What is read of a growing file never changes, even after damage: its events are the first of the finished file.
#[test]
fn growing_files_have_the_first_events_of_the_finished_file() {
    let mut builder = Builder::new();
    for ticks in 0..3000 {
        builder.event(0, 3000 - ticks, ["c", "tick"], vec![], &[]);
    }
    let (whole, mut state) = (builder.bytes, 1u64);
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    for round in 0..20 {
        let mut bytes = whole.clone();
        for _ in 0..round {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        let finished = growing(&bytes);
        for _ in 0..20 {
            let events = growing(&bytes[..random(bytes.len())]);
            assert!(finished.starts_with(&events), "{round}: {} of {}", events.len(), finished.len());
        }
    }
    // Only the last record is left out.
    assert_eq!(growing(&whole[..whole.len() - 1]).len(), 2999);
    assert_eq!(growing(&whole).len(), 3000);
    // Before the first event, there is no data stream.
    let mut options = FxtOptions::default();
    options.growing = true;
    assert!(open_with(&whole[..40], &options).data_streams().is_empty());
}

/// The rest after some events is sorted.
#[test]
fn events_after_a_position_are_sorted() {
    let mut builder = Builder::new();
    for ticks in [5, 4, 9, 8, 7] {
        builder.event(0, ticks, ["c", "tick"], vec![], &[]);
    }
    let mut options = FxtOptions::default();
    options.unsorted = true;
    let trace = open_with(&builder.bytes, &options);
    for (events, expected) in [(0, vec![4, 5, 7, 8, 9]), (2, vec![7, 8, 9]), (4, vec![7]), (9, vec![])] {
        let mut cursor = trace.cursor_after(0, events).unwrap();
        let mut found = Vec::new();
        while cursor.advance() {
            found.extend(cursor.current().and_then(|message| match message {
                Message::Event(event) => event.clock.map(|clock| clock.cycles),
                _ => None,
            }));
        }
        assert_eq!(found, expected, "{events}");
    }
}
