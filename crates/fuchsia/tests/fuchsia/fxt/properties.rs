//! Properties over random records and bytes.

use ichnos_fuchsia::fxt::Records;
use proptest::collection::vec;
use proptest::prelude::*;

use super::builder::{Body, Builder, body, header, inline};
use super::dump::{checked, messages, open, open_with, read};

/// An argument value, which can be formatted.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Int32(i32),
    Uint32(u32),
    Int64(i64),
    Uint64(u64),
    Double(f64),
    Text(String),
    Indexed(u64),
    Pointer(u64),
    Koid(u64),
    Boolean(bool),
    Blob(Vec<u8>),
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::Int32),
        any::<u32>().prop_map(Value::Uint32),
        any::<i64>().prop_map(Value::Int64),
        any::<u64>().prop_map(Value::Uint64),
        any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()).prop_map(Value::Double),
        "[ -~]{0,40}".prop_map(Value::Text),
        (1..4u64).prop_map(Value::Indexed),
        any::<u64>().prop_map(Value::Pointer),
        any::<u64>().prop_map(Value::Koid),
        any::<bool>().prop_map(Value::Boolean),
        vec(any::<u8>(), 0..30).prop_map(Value::Blob),
    ]
}

impl Value {
    fn argument(&self, name: &str) -> Body {
        let word = |kind, value: u64| body().argument(kind, name, 0, body().word(value));
        match self {
            Self::Null => body().argument(0, name, 0, body()),
            Self::Int32(value) => body().argument(1, name, u64::from(*value as u32), body()),
            Self::Uint32(value) => body().argument(2, name, (*value).into(), body()),
            Self::Int64(value) => word(3, *value as u64),
            Self::Uint64(value) => word(4, *value),
            Self::Double(value) => word(5, value.to_bits()),
            Self::Text(text) => body().argument(6, name, inline(text), body().text(text)),
            Self::Indexed(index) => body().argument(6, name, *index, body()),
            Self::Pointer(value) => word(7, *value),
            Self::Koid(value) => word(8, *value),
            Self::Boolean(value) => body().argument(9, name, (*value).into(), body()),
            Self::Blob(bytes) => body().argument(10, name, bytes.len() as u64, body().stream(bytes)),
        }
    }

    fn text(&self, name: &str, table: &[&str]) -> String {
        let value = match self {
            Self::Null => "null".to_owned(),
            Self::Int32(value) => format!("{value:+}"),
            Self::Uint32(value) => value.to_string(),
            Self::Int64(value) => format!("{value:+}"),
            Self::Uint64(value) | Self::Pointer(value) | Self::Koid(value) => value.to_string(),
            Self::Double(value) => format!("{value:?}"),
            Self::Text(text) => format!("'{}'", text.as_bytes().escape_ascii()),
            Self::Indexed(index) => format!("'{}'", table[*index as usize]),
            Self::Boolean(value) => value.to_string(),
            Self::Blob(bytes) => format!("x'{}'", bytes.escape_ascii()),
        };
        format!("{name}={value}")
    }
}

/// Event type, ticks, names and arguments.
pub type Parts = (u64, u64, u64, String, Vec<(String, Value)>);

pub fn parts() -> impl Strategy<Value = Parts> {
    let arguments = vec(("[a-z]{1,12}", value()), 0..15);
    (0..11u64, 0..1_000u64, 1..4u64, "[a-z]{1,20}", arguments)
}

const TABLE: [&str; 4] = ["", "alpha", "beta", "a longer string"];

/// Registers the strings and the thread for [`add`].
pub fn table(builder: &mut Builder) {
    for index in 1..4 {
        builder.string(index, TABLE[index as usize]);
    }
    builder.thread(1, 5, 6);
}

/// Builds an event with a table category and an inline name, and returns its line.
pub fn add(builder: &mut Builder, (kind, ticks, category, name, arguments): &Parts) -> String {
    let fields = [(16, *kind), (20, arguments.len() as u64), (24, 1), (32, *category), (48, inline(name))];
    let mut all = body().word(*ticks).text(name);
    for (name, value) in arguments {
        all.0.extend(value.argument(name).0);
    }
    // Each flow has one event, because flow numbers for a reused id depend on other events.
    let flow = builder.bytes.len();
    let operation = format!("flow_id={flow} operation='{flow:016X}{:016X}'", 6);
    let (suffix, context) = match kind {
        0 => ("", ""),
        1 => ("", "counter_id=77"),
        2 => (":begin", ""),
        3 => (":end", ""),
        4 => ("", &*format!("duration={:+}", 77 - *ticks as i64)),
        5 => (":async_begin", "async_id=77"),
        6 => (":async_instant", "async_id=77"),
        7 => (":async_end", "async_id=77"),
        8 => (":flow_begin", &*format!("flow_id={flow}")),
        9 => (":flow_step", &*operation),
        _ => (":flow_end", &*operation),
    };
    let all = match kind {
        0 | 2 | 3 => all,
        8..=10 => all.word(flow as u64),
        _ => all.word(77),
    };
    builder.record(header(4, &fields), all);
    let payload: Vec<_> = arguments.iter().map(|(name, value)| value.text(name, &TABLE)).collect();
    let line = format!(
        "{ticks} {}:{name}{suffix} | pid=5 tid=6 | {context} | {}",
        TABLE[*category as usize],
        payload.join(" ")
    );
    line.trim_end_matches([' ', '|']).to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Events are read as they were built, sorted by time.
    #[test]
    fn events_are_read_as_built(events in vec(parts(), 0..30)) {
        let mut builder = Builder::new();
        table(&mut builder);
        let mut lines: Vec<(u64, String)> = Vec::new();
        for event in &events {
            let line = add(&mut builder, event);
            lines.push((event.1, line));
        }
        lines.sort_by_key(|(ticks, _)| *ticks);
        let expected: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
        prop_assert_eq!(read(&builder.bytes), expected);
        // A check reports nothing either.
        let checked = messages(&open_with(&builder.bytes, &checked()));
        prop_assert_eq!(checked.len(), events.len());
    }

    /// All bytes are part of a record or of damage, and reading ends.
    #[test]
    fn all_bytes_are_accounted_for(words in vec(word(), 0..200), rest in vec(any::<u8>(), 0..8)) {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(rest);
        let mut at = 0;
        for record in Records::new(&bytes) {
            let (offset, size) = match record {
                Ok(found) => (found.offset, found.bytes.len() as u64),
                Err(damage) => (damage.offset, damage.skipped),
            };
            prop_assert_eq!(offset, at);
            prop_assert!(size > 0);
            at += size;
        }
        prop_assert_eq!(at, bytes.len() as u64);
        let trace = open(&bytes);
        let plain = messages(&trace);
        // A check reports more, but reads the same events.
        let is_event = |line: &&String| !line.starts_with("a.fxt:");
        let checked = messages(&open_with(&bytes, &checked()));
        let events: Vec<_> = plain.iter().filter(is_event).collect();
        prop_assert_eq!(checked.iter().filter(is_event).collect::<Vec<_>>(), events);
    }

    /// A changed byte damages at most its own record, and the records that its size then covers.
    #[test]
    fn records_after_damage_are_found(at in 8usize..968, byte in any::<u8>()) {
        const SIZE: usize = 48;
        let mut builder = Builder::new();
        for ticks in 0..20 {
            builder.event(0, ticks, ["cat", "name"], vec![], &[]);
        }
        let sound = builder.bytes.clone();
        prop_assert_eq!(sound.len(), 8 + 20 * SIZE);
        builder.bytes[at] = byte;
        let begin = 8 + (at - 8) / SIZE * SIZE;
        let changed = u64::from_le_bytes(*builder.bytes[begin..].first_chunk().unwrap());
        let words = if changed & 0xf == 15 { changed >> 4 & 0xffff_ffff } else { changed >> 4 & 0xfff };
        let end = begin.saturating_add(words as usize * 8);
        // With another type and a size beyond the end, it can be a record that the end of the file cuts off.
        prop_assume!(at != begin || end <= sound.len());
        // If it covers exactly some records, or does not end at a record, its end is unknown, and reading resumes
        // inside it.
        let first_sound = if end > sound.len() { begin + SIZE } else { end.max(begin + SIZE).next_multiple_of(SIZE) + 8 };
        let found: Vec<usize> = Records::new(&builder.bytes)
            .filter_map(|found| found.ok().filter(|found| found.bytes.len() == SIZE))
            .filter(|found| found.bytes == &sound[found.offset as usize..][..SIZE])
            .map(|found| found.offset as usize)
            .collect();
        let is_lost = |offset: &usize| !found.contains(offset);
        let of_file = (0..20).map(|number| 8 + number * SIZE);
        let lost: Vec<_> = of_file.clone().filter(|offset| *offset < begin || *offset >= first_sound).filter(is_lost).collect();
        prop_assert!(lost.is_empty(), "byte {}: {:?} of {:?}", at, lost, found);
    }
}

/// Words that are often record headers.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => any::<u64>(),
        4 => (0..16u64, 0..8u64, any::<u64>()).prop_map(|(kind, size, rest)| kind | size << 4 | rest << 16),
        4 => (0..16u64, 1..6u64, 0..4u64).prop_map(|(kind, size, rest)| kind | size << 4 | rest << 16),
        1 => 0..20u64,
    ]
}
