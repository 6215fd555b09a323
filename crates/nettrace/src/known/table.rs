//! Runtime event table, `runtime_events.txt`.
//!
//! Each provider has these lines, in this order:
//!
//! - `provider NAME GUID`
//! - `keyword MASK NAME`
//! - `values NAME VALUE=NAME…`, `flags NAME MASK=NAME…`: names for values or bits.
//! - `template NAME FIELD…`: fields. A field is `NAME:TYPE`, then `x` for hexadecimal, `[COUNT]` for an array with the
//!   length in the field COUNT, and `=MAP` for value names. `NAME[COUNT]{ FIELD… }` is an array of structures.
//! - `event ID VERSION NAME LEVEL KEYWORDS TASK OPCODE OPCODE-NAME TEMPLATE`, with `-` for missing parts.
//!
//! The table is not kept in memory. A look-up reads the lines of one provider, which takes some 10 µs, once per event
//! in a file's metadata.

use std::sync::{Arc, LazyLock};

use ichnos_model::meaning::EventRole;
use uuid::Uuid;

use super::KnownEvent;
use super::meaning::meaning;
use crate::{FieldType, PayloadField, ValueNames};

const TABLE: &str = include_str!("runtime_events.txt");

/// Providers with the start of their lines, because files can have very many events from other providers.
static SECTIONS: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let begins = TABLE.match_indices("\nprovider ").filter_map(|(at, _)| TABLE.get(at + 1..));
    begins.filter_map(|rest| Some((rest.split([' ', '\n']).nth(1)?, rest))).collect()
});

/// Returns the lines for `provider`. The first line has its name and its GUID.
fn section(provider: &str) -> Option<impl Iterator<Item = &'static str> + Clone + use<>> {
    let (_, rest) = SECTIONS.iter().find(|(name, _)| *name == provider)?;
    Some(rest.lines().take_while(|line| !line.is_empty()))
}

/// See [`super::provider_guid`].
pub(super) fn provider_guid(provider: &str) -> Option<Uuid> {
    section(provider)?.next()?.split(' ').nth(2)?.parse().ok()
}

/// See [`super::keyword_names`].
pub(super) fn keyword_names(provider: &str) -> Vec<(u64, &'static str)> {
    let lines = section(provider).into_iter().flatten();
    lines
        .filter_map(|line| line.strip_prefix("keyword ")?.split_once(' '))
        .filter_map(number_and_name)
        .collect()
}

/// Parses a map entry: its number after `0x`, and its name.
fn number_and_name((number, name): (&str, &'static str)) -> Option<(u64, &'static str)> {
    Some((u64::from_str_radix(number.strip_prefix("0x")?, 16).ok()?, name))
}

/// See [`super::find`].
pub(super) fn find(provider: &str, event_id: u32, version: u32) -> Option<KnownEvent> {
    let lines = section(provider)?;
    // The lines of an event are sorted by version.
    let mut best: Option<(u32, &str)> = None;
    for line in lines.clone() {
        let Some((id, rest)) = line.strip_prefix("event ").and_then(|line| line.split_once(' ')) else {
            continue;
        };
        if id.parse() != Ok(event_id) {
            continue;
        }
        let Some((known, rest)) = rest.split_once(' ') else { continue };
        let Ok(known) = known.parse::<u32>() else { continue };
        if best.is_none() || known <= version {
            best = Some((known, rest));
        }
    }
    let (version, rest) = best?;
    let mut words = rest.split(' ');
    let name = words.next()?.to_owned();
    let level = Some(words.next()?.parse().ok()?);
    let keywords = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    let task = words.next().filter(|&task| task != "-").map(str::to_owned);
    let opcode = words.next()?.parse().ok()?;
    let opcode_name = words.next()?.to_owned();
    let fields = match words.next()? {
        "-" => Vec::new(),
        template => fields_of(lines.clone(), template)?,
    };
    let mut meaning = meaning(provider, &name, opcode, &fields);
    if let Some((role, span)) = span_of(lines, &name, task.as_deref(), opcode) {
        meaning.role = role;
        meaning.span = Some(span);
    }
    Some(KnownEvent { name, version, task, opcode, opcode_name, level, keywords, fields, meaning })
}

/// Returns the span that starts or ends with an event. Its name is the task, or the event name without `Begin` and
/// `End`. Starts without a stop are instants. `lines` are the provider's lines.
fn span_of(
    lines: impl Iterator<Item = &'static str>,
    name: &str,
    task: Option<&str>,
    opcode: u8,
) -> Option<(EventRole, String)> {
    // Words in the other events' lines: id, version, name, level, keywords, task, opcode.
    let mut others = lines.filter_map(|line| line.strip_prefix("event ")).map(|line| line.split(' '));
    match opcode {
        1 | 2 => {
            let task = task?;
            let other = if opcode == 1 { "2" } else { "1" };
            let is_paired = others.any(|mut words| words.nth(5) == Some(task) && words.next() == Some(other));
            let role = if opcode == 1 { EventRole::Begin } else { EventRole::End };
            is_paired.then(|| (role, task.to_owned()))
        }
        _ => {
            let (role, span, other) = match name.strip_suffix("Begin") {
                Some(span) => (EventRole::Begin, span, "End"),
                None => (EventRole::End, name.strip_suffix("End")?, "Begin"),
            };
            let is_other = |words: &str| words.strip_prefix(span) == Some(other);
            let is_paired = others.any(|mut words| words.nth(2).is_some_and(is_other));
            is_paired.then(|| (role, span.to_owned()))
        }
    }
}

/// Returns a template's fields, from a provider's lines.
fn fields_of(lines: impl Iterator<Item = &'static str> + Clone, template: &str) -> Option<Vec<PayloadField>> {
    let mut found = lines
        .clone()
        .filter_map(|line| line.strip_prefix("template "))
        .filter(|line| line.split(' ').next() == Some(template));
    let mut words = found.next()?.split(' ');
    words.next();
    parse_fields(&mut words, &lines)
}

/// Parses a template's fields.
fn parse_fields<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    lines: &(impl Iterator<Item = &'static str> + Clone),
) -> Option<Vec<PayloadField>> {
    let mut fields: Vec<PayloadField> = Vec::new();
    while let Some(word) = words.next() {
        let field = match word.strip_suffix("]{") {
            Some(word) => {
                let (name, count) = word.split_once('[')?;
                let count = fields.iter().position(|field| field.name == count)?;
                // Structures are not nested.
                let mut elements = Vec::new();
                for word in words.by_ref().take_while(|&word| word != "}") {
                    elements.push(parse_field(word, &elements, lines)?);
                }
                PayloadField::new(
                    name,
                    FieldType::Counted { element: Box::new(FieldType::Object(elements)), count },
                )
            }
            None => parse_field(word, &fields, lines)?,
        };
        fields.push(field);
    }
    Some(fields)
}

/// Parses a field that is not a structure array. `before` has the preceding fields.
fn parse_field(
    word: &str,
    before: &[PayloadField],
    lines: &(impl Iterator<Item = &'static str> + Clone),
) -> Option<PayloadField> {
    let (name, kind) = word.split_once(':')?;
    let (kind, map) = match kind.split_once('=') {
        Some((kind, map)) => (kind, Some(map)),
        None => (kind, None),
    };
    let (kind, count) = match kind.strip_suffix(']').and_then(|kind| kind.split_once('[')) {
        Some((kind, count)) => (kind, Some(before.iter().position(|field| field.name == count)?)),
        None => (kind, None),
    };
    let (kind, hexadecimal) = match kind.strip_suffix('x') {
        Some(kind) => (kind, true),
        None => (kind, kind == "pointer"),
    };
    let kind = match kind {
        "bool" => FieldType::Boolean32,
        "i8" => FieldType::I8,
        "u8" => FieldType::U8,
        "i16" => FieldType::I16,
        "u16" => FieldType::U16,
        "i32" => FieldType::I32,
        "u32" => FieldType::U32,
        "i64" => FieldType::I64,
        "u64" => FieldType::U64,
        "f32" => FieldType::F32,
        "f64" => FieldType::F64,
        "pointer" => FieldType::Pointer,
        "guid" => FieldType::Guid,
        "filetime" => FieldType::FileTime,
        "utf16" => FieldType::Utf16String,
        "utf8" => FieldType::Utf8String,
        _ => return None,
    };
    let kind = match count {
        Some(count) => FieldType::Counted { element: Box::new(kind), count },
        None => kind,
    };
    let mut field = PayloadField::new(name, kind);
    field.is_hexadecimal = hexadecimal;
    field.names = map.and_then(|map| names_of(lines.clone(), map)).map(Arc::new);
    Some(field)
}

/// Returns the value names in a map, from a provider's lines.
fn names_of(mut lines: impl Iterator<Item = &'static str>, map: &str) -> Option<ValueNames> {
    lines.find_map(|line| {
        let mut words = line.split(' ');
        let are_flags = match words.next() {
            Some("flags") => true,
            Some("values") => false,
            _ => return None,
        };
        if words.next() != Some(map) {
            return None;
        }
        let names = words.filter_map(|word| number_and_name(word.split_once('=')?));
        Some(ValueNames { are_flags, names: names.map(|(value, name)| (value, name.to_owned())).collect() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
    const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
    const STRESS: &str = "Microsoft-Windows-DotNETRuntimeStress";
    const PRIVATE: &str = "Microsoft-Windows-DotNETRuntimePrivate";

    /// Returns the ids and versions of a provider's events.
    fn events_of(provider: &str) -> Vec<(u32, u32)> {
        let lines = section(provider).into_iter().flatten();
        lines
            .filter_map(|line| line.strip_prefix("event "))
            .map(|line| {
                let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
                (words.next().expect("an identifier"), words.next().expect("a version"))
            })
            .collect()
    }

    fn names_of_fields(event: &KnownEvent) -> String {
        event.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_line_is_read() {
        let mut providers = 0;
        let mut current = "";
        for line in TABLE.lines() {
            let mut words = line.split(' ');
            match words.next().expect("a word") {
                "" | "#" => {}
                "provider" => {
                    providers += 1;
                    current = words.next().expect("a name");
                    assert!(provider_guid(current).is_some(), "{line}");
                }
                "keyword" => {
                    let word = words.next().expect("a mask");
                    let mask = u64::from_str_radix(&word[2..], 16).expect("a mask");
                    let name = words.next().expect("a name");
                    assert!(
                        mask.is_power_of_two() && keyword_names(current).contains(&(mask, name)),
                        "{line}"
                    );
                }
                "flags" | "values" => {
                    let name = words.next().expect("a name");
                    let names = names_of(section(current).expect("lines"), name).expect("names");
                    assert_eq!(names.names.len(), words.count(), "{line}");
                    assert!(!names.names.is_empty(), "{line}");
                }
                "template" => {
                    let name = words.next().expect("a name");
                    let fields = fields_of(section(current).expect("lines"), name).expect(line);
                    let count = words.filter(|word| word.contains([':', '{'])).count();
                    let inside: usize = fields
                        .iter()
                        .map(|field| match &field.kind {
                            FieldType::Counted { element, .. } => match &**element {
                                FieldType::Object(inside) => inside.len(),
                                _ => 0,
                            },
                            _ => 0,
                        })
                        .sum();
                    assert_eq!(fields.len() + inside, count, "{line}");
                    let maps = line.matches('=').count();
                    let all = format!("{fields:?}");
                    assert_eq!(all.matches("names: Some(").count(), maps, "{line}");
                }
                "event" => {
                    assert_eq!(line.split(' ').count(), 10, "{line}");
                    let id = words.next().expect("a number").parse().expect("a number");
                    let version = words.next().expect("a number").parse().expect("a number");
                    let event = find(current, id, version).expect(line);
                    assert_eq!(event.version, version, "{line}");
                    assert_eq!(event.name, words.next().expect("a name"), "{line}");
                }
                _ => panic!("{line}"),
            }
        }
        assert_eq!(providers, 4);
    }

    #[test]
    fn there_are_as_many_events_as_in_the_manifest() {
        // The manifest from May 2021 has 196, 46, 3 and 184 events. 15, 5, 0 and 1 are newer.
        for (provider, count) in [(RUNTIME, 211), (RUNDOWN, 51), (STRESS, 3), (PRIVATE, 185)] {
            let mut events = events_of(provider);
            assert_eq!(events.len(), count, "{provider}");
            assert!(events.is_sorted(), "{provider}");
            events.dedup();
            assert_eq!(events.len(), count, "{provider}");
        }
    }

    #[test]
    fn events_are_as_the_runtime_writes_them() {
        let event = find(RUNTIME, 1, 2).expect("known");
        assert_eq!((event.name.as_str(), event.task.as_deref()), ("GCStart", Some("GC")));
        assert_eq!((event.opcode, event.opcode_name.as_str()), (1, "Start"));
        assert_eq!((event.level, event.keywords), (Some(4), 1));
        assert_eq!(names_of_fields(&event), "Count Depth Reason Type ClrInstanceID ClientSequenceNumber");
        let reason = event.fields[2].names.as_ref().expect("names of values");
        assert!(!reason.are_flags);
        assert_eq!(reason.names[1], (1, "Induced".to_owned()));

        let event = find(RUNDOWN, 144, 2).expect("known");
        assert_eq!(
            (event.name.as_str(), event.opcode_name.as_str()),
            ("MethodDCEndVerbose", "DCStopVerbose")
        );
        assert_eq!(
            names_of_fields(&event),
            "MethodID ModuleID MethodStartAddress MethodSize MethodToken MethodFlags MethodNamespace MethodName \
             MethodSignature ClrInstanceID ReJITID"
        );
        assert!(event.fields[2].is_hexadecimal && event.fields[2].kind == FieldType::U64);
        assert!(event.fields[5].names.as_ref().is_some_and(|names| names.are_flags));
    }

    #[test]
    fn arrays_have_as_many_elements_as_a_field_says() {
        let event = find(RUNTIME, 15, 0).expect("known");
        assert_eq!(names_of_fields(&event), "Count ClrInstanceID Values");
        let FieldType::Counted { element, count: 0 } = &event.fields[2].kind else { panic!("{event:?}") };
        let FieldType::Object(inside) = &**element else { panic!("{element:?}") };
        assert_eq!(inside[5].kind, FieldType::Utf16String);
        assert_eq!(inside[7].kind, FieldType::Counted { element: Box::new(FieldType::U64), count: 6 });

        let event = find(RUNTIME, 190, 0).expect("known");
        let offsets = FieldType::Counted { element: Box::new(FieldType::U32), count: 3 };
        assert_eq!((&event.fields[4].kind, &event.fields[5].kind), (&offsets, &offsets));

        let event = find(RUNTIME, 39, 0).expect("known");
        assert_eq!(event.fields[2].kind, FieldType::Counted { element: Box::new(FieldType::U8), count: 1 });
    }

    #[test]
    fn what_starts_and_stops_is_a_span() {
        let span = |provider, id, version| {
            let meaning = find(provider, id, version).expect("known").meaning;
            (meaning.role, meaning.span)
        };
        assert_eq!(span(RUNTIME, 1, 2), (EventRole::Begin, Some("GC".to_owned())));
        assert_eq!(span(RUNTIME, 2, 1), (EventRole::End, Some("GC".to_owned())));
        assert_eq!(span(RUNTIME, 40, 0), (EventRole::Begin, Some("WorkerThreadCreationV2".to_owned())));
        assert_eq!(span(RUNTIME, 41, 0), (EventRole::End, Some("WorkerThreadCreationV2".to_owned())));
        assert_eq!(span(RUNTIME, 9, 1), (EventRole::Begin, Some("GCSuspendEE".to_owned())));
        assert_eq!(span(RUNTIME, 8, 1), (EventRole::End, Some("GCSuspendEE".to_owned())));
        // These events lack a stop. The last event ends a rundown, which starts with another event.
        for (provider, id) in [(RUNTIME, 187), (RUNTIME, 60), (RUNTIME, 260), (STRESS, 0), (RUNDOWN, 144)] {
            assert_eq!(span(provider, id, 0), (EventRole::Instant, None));
        }
    }

    #[test]
    fn allocations_are_samples_of_bytes() {
        for (id, version, field) in [(10, 0, 0), (10, 4, 3), (303, 0, 5), (20, 0, 3)] {
            let event = find(RUNTIME, id, version).expect("known");
            assert_eq!(event.meaning.role, EventRole::Sample);
            assert_eq!(event.meaning.weight, Some(vec![field]), "{event:?}");
        }
        let event = find(RUNTIME, 80, 1).expect("known");
        assert_eq!(event.meaning.message, Some(vec![1]));
    }

    #[test]
    fn a_version_that_is_not_known_has_one_in_its_place() {
        // Newer than all known versions.
        assert_eq!(find(RUNTIME, 1, 9).map(|event| event.version), Some(2));
        // The only version is 3.
        assert_eq!(find(RUNTIME, 204, 1).map(|event| event.version), Some(3));
        assert_eq!(find(RUNTIME, 24, 0), None);
        assert_eq!(find("Microsoft-Windows-DotNET", 1, 0), None);
        assert_eq!(find("", 0, 0), None);
    }

    #[test]
    fn providers_have_guids_and_keywords() {
        let guid = provider_guid(PRIVATE).expect("known");
        assert_eq!(guid.to_string(), "763fd754-7086-4dfe-95eb-c01a46faf4ca");
        assert_eq!(provider_guid("My-Provider"), None);
        let keywords = keyword_names(RUNTIME);
        assert_eq!((keywords[0], keywords.len()), ((1, "GC"), 39));
        assert!(keyword_names("My-Provider").is_empty());
    }
}
