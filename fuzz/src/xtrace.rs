//! Metadata of X-Trace and its dialects.

use std::fmt::Write;

use ichnos_xtrace::dialect::{SwMember, TraceParent, TraceState, Version2, WithState};
use ichnos_xtrace::metadata::{Metadata, MetadataRef, Mode, Rule};
use ichnos_xtrace::option::{ChainId, Registry, Severity, TenantClass};
use ichnos_xtrace::{Edge, EdgeKind, Identifier, OpId, find_identifiers};

/// Reads the input as the binary form, as text, and as text of the other dialects, and looks for identifiers in it.
pub fn metadata(bytes: &[u8]) {
    let text = bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02X}").unwrap();
        text
    });
    binary(bytes, &text);
    // The input itself as text.
    let strict = Metadata::parse(bytes);
    if let Ok(metadata) = &strict {
        assert!(metadata.to_string().as_bytes().eq_ignore_ascii_case(bytes));
    }
    let _ = Metadata::parse_lenient(bytes);
    if let Ok(metadata) = Version2::parse(bytes) {
        assert!(metadata.to_string().as_bytes().eq_ignore_ascii_case(bytes));
    }
    if let Ok(metadata) = Version2::parse_bytes(bytes) {
        assert_eq!(metadata.to_bytes(), bytes);
        version_2(&metadata);
    }
    identifiers(bytes);
    identifiers(text.as_bytes());
    if let Ok(input) = std::str::from_utf8(bytes) {
        headers(input);
        if let Ok(edge) = input.parse::<Edge>() {
            assert_eq!(edge.to_string().parse(), Ok(edge));
        }
    }
}

fn binary(bytes: &[u8], text: &str) {
    let strict = Metadata::parse_bytes(bytes);
    assert_eq!(Metadata::parse(text), strict);
    let lenient = Metadata::parse_with(text.as_bytes(), Mode::Lenient);
    assert_eq!(lenient, Metadata::parse_bytes_with(bytes, Mode::Lenient));
    let original = Metadata::parse_lenient(text.as_bytes());
    match lenient {
        Ok(lenient) => {
            assert_eq!(original, lenient);
            assert_eq!(Metadata::parse_bytes_with(lenient.as_bytes(), Mode::Lenient), Ok(lenient));
        }
        Err(_) => assert!(strict.is_err() && !original.is_valid()),
    }
    if let Ok((first, rest)) = MetadataRef::split_from(bytes) {
        assert_eq!([first.as_bytes(), rest].concat(), bytes);
    }
    match strict {
        Ok(metadata) => {
            assert_eq!(metadata.as_bytes(), bytes);
            well_formed(metadata);
        }
        Err(error) => {
            assert!(usize::from(error.offset) <= bytes.len());
            assert_ne!(error.rule, Rule::TextDigits);
        }
    }
}

fn well_formed(metadata: Metadata) {
    assert_eq!(metadata.to_string().parse().as_ref(), Ok(&metadata));
    let length: usize = metadata.options().map(|option| 2 + option.payload.len()).sum();
    let options = metadata.as_ref().options_bytes();
    assert_eq!(length + metadata.as_ref().padding().len(), options.len());
    let borrowed = metadata.as_ref();
    let _ = (
        ChainId::from_metadata(borrowed),
        Severity::from_metadata(borrowed),
        TenantClass::from_metadata(borrowed),
    );
    for option in metadata.options() {
        let mut changed = metadata.clone();
        let payload = option.payload.repeat(2);
        let is_changed = changed.set_option(option.number, &payload).is_ok();
        assert_eq!(changed.option(option.number) == Some(&payload[..]), is_changed || payload.is_empty());
        assert!(changed.remove_option(option.number));
        assert_eq!(Metadata::parse_bytes(changed.as_bytes()), Ok(changed));
    }
    let Ok(mut valid) = metadata.clone().validate() else { return };
    if let Ok(there) = WithState::from_metadata(&valid) {
        let mut state = String::new();
        there.write_state(&TraceState::default(), &mut state).unwrap();
        let state = TraceState::parse(&state).unwrap();
        let back = there.parent.to_metadata(&state);
        assert_eq!(back == valid, there.loss.is_none());
        assert_eq!(back.task_id(), valid.task_id());
    }
    let (converted, loss) = Version2::from_metadata(&valid);
    if loss.is_none() {
        assert_eq!(converted.to_metadata().as_ref(), Ok(&valid));
    }
    for op in [OpId::from([1; 4]), OpId::from([2; 8])] {
        valid.advance(op, EdgeKind::Next, &Registry::standard()).unwrap();
        assert_eq!((valid.op_id(), valid.task_id()), (op, metadata.task_id()));
        assert_eq!(valid.as_ref().options_bytes(), options);
        assert_eq!(Metadata::parse_bytes(valid.as_bytes()).as_ref(), Ok(&*valid));
    }
}

fn version_2(metadata: &Version2) {
    if let Ok(there) = WithState::from_version_2(metadata) {
        let mut state = String::new();
        there.write_state(&TraceState::default(), &mut state).unwrap();
        let state = TraceState::parse(&state).unwrap();
        assert!(SwMember::from_state(&state).is_some());
        assert_eq!(there.parent.to_version_2(&state), *metadata);
    }
}

/// A traceparent in the first line, a tracestate in the second one.
fn headers(input: &str) {
    let (parent, state) = input.split_once('\n').unwrap_or((input, input));
    let state = match TraceState::parse(state) {
        Ok(state) => {
            let text = state.to_string();
            let again = TraceState::parse(&text).unwrap();
            assert!(again.members().eq(state.members()));
            assert!(state.members().count() <= 32);
            state
        }
        Err(_) => TraceState::default(),
    };
    let _ = SwMember::from_state(&state);
    if let Ok(parent) = TraceParent::parse(parent) {
        let again: TraceParent = parent.to_string().parse().unwrap();
        assert_eq!((again.trace_id(), again.parent_id()), (parent.trace_id(), parent.parent_id()));
        let metadata = parent.to_metadata(&state);
        let there = WithState::from_metadata(&metadata).unwrap();
        assert_eq!(
            (there.parent.trace_id(), there.parent.parent_id()),
            (parent.trace_id(), parent.parent_id())
        );
        let mut out = String::new();
        there.write_state(&state, &mut out).unwrap();
        assert!(TraceState::parse(&out).is_ok());
    }
}

/// What is found is right, in order, and not less than what a plain search finds.
fn identifiers(text: &[u8]) {
    let mut at = 0;
    let mut found = Vec::new();
    for (range, identifier) in find_identifiers(text) {
        assert!(at <= range.start && range.start < range.end && range.end <= text.len());
        at = range.end;
        assert!(identifier.op_id().is_none_or(|op| op.is_valid()));
        let exact = &text[range.clone()];
        assert!(match identifier {
            Identifier::Metadata { .. } => Metadata::parse(exact).is_ok_and(|metadata| metadata.is_valid()),
            Identifier::Version2(version_2) => Version2::parse(exact) == Ok(version_2),
            Identifier::TraceParent(parent) => TraceParent::parse(exact) == Ok(parent),
            Identifier::Labeled(ids) => {
                let trace =
                    str::from_utf8(exact).ok().and_then(|digits| u128::from_str_radix(digits, 16).ok());
                exact.len() == 32 && trace == Some(u128::from_be_bytes(ids.trace_id)) && trace != Some(0)
            }
            _ => false,
        });
        found.push(range);
    }
    // Words between blanks are easy to find.
    for word in text.split(|byte| *byte == b' ') {
        let from = word.as_ptr() as usize - text.as_ptr() as usize;
        let is_identifier = Metadata::parse(word)
            .is_ok_and(|metadata| metadata.is_valid() && metadata.op_id().is_valid())
            || TraceParent::parse(word).is_ok_and(|_| word.starts_with(b"00"));
        if is_identifier {
            assert!(found.contains(&(from..from + word.len())));
        }
    }
}
