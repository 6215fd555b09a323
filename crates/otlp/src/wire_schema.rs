//! Kinds of the fields in protobuf messages, which tell the signals apart.

use crate::request_signal::RequestSignal;
use crate::wire::{WireReader, WireValue};

/// Kind of a field.
#[derive(Clone, Copy)]
pub(crate) enum WireKind {
    Varint,
    Fixed64,
    Fixed32,
    /// UTF-8.
    Text,
    /// Identifier with a number of bytes.
    Id(usize),
    /// Bytes, and texts that programs do not check.
    Bytes,
    Message(&'static WireSchema),
}

/// Fields of a message.
pub(crate) type WireSchema = [(u32, WireKind)];

use WireKind::*;

static ANY: [(u32, WireKind); 7] = [
    (1, Bytes),
    (2, Varint),
    (3, Varint),
    (4, Fixed64),
    (5, Message(&[(1, Message(&ANY))])),
    (6, Message(&[(1, Message(&PAIR))])),
    (7, Bytes),
];
static PAIR: [(u32, WireKind); 2] = [(1, Text), (2, Message(&ANY))];
static EVENT: &WireSchema = &[(1, Fixed64), (2, Text), (3, Message(&PAIR)), (4, Varint)];
static LINK: &WireSchema =
    &[(1, Id(16)), (2, Id(8)), (3, Text), (4, Message(&PAIR)), (5, Varint), (6, Fixed32)];
static STATUS: &WireSchema = &[(2, Text), (3, Varint)];
static SPAN: &WireSchema = &[
    (1, Id(16)),
    (2, Id(8)),
    (3, Text),
    (4, Id(8)),
    (5, Text),
    (6, Varint),
    (7, Fixed64),
    (8, Fixed64),
    (9, Message(&PAIR)),
    (10, Varint),
    (11, Message(EVENT)),
    (12, Varint),
    (13, Message(LINK)),
    (14, Varint),
    (15, Message(STATUS)),
    (16, Fixed32),
];
static LOG: &WireSchema = &[
    (1, Fixed64),
    (2, Varint),
    (3, Text),
    (5, Message(&ANY)),
    (6, Message(&PAIR)),
    (7, Varint),
    (8, Fixed32),
    (9, Id(16)),
    (10, Id(8)),
    (11, Fixed64),
    (12, Text),
];
static EXEMPLAR: &WireSchema =
    &[(2, Fixed64), (3, Fixed64), (4, Id(8)), (5, Id(16)), (6, Fixed64), (7, Message(&PAIR))];
static NUMBER: &WireSchema = &[
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Message(EXEMPLAR)),
    (6, Fixed64),
    (7, Message(&PAIR)),
    (8, Varint),
];
static HISTOGRAM: &WireSchema = &[
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Fixed64),
    (6, Bytes),
    (7, Bytes),
    (8, Message(EXEMPLAR)),
    (9, Message(&PAIR)),
    (10, Varint),
    (11, Fixed64),
    (12, Fixed64),
];
static BUCKETS: &WireSchema = &[(1, Varint), (2, Bytes)];
static EXPONENTIAL: &WireSchema = &[
    (1, Message(&PAIR)),
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Fixed64),
    (6, Varint),
    (7, Fixed64),
    (8, Message(BUCKETS)),
    (9, Message(BUCKETS)),
    (10, Varint),
    (11, Message(EXEMPLAR)),
    (12, Fixed64),
    (13, Fixed64),
    (14, Fixed64),
];
static SUMMARY: &WireSchema = &[
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Fixed64),
    (6, Message(&[(1, Fixed64), (2, Fixed64)])),
    (7, Message(&PAIR)),
    (8, Varint),
];
static METRIC: &WireSchema = &[
    (1, Text),
    (2, Text),
    (3, Text),
    (5, Message(&[(1, Message(NUMBER))])),
    (7, Message(&[(1, Message(NUMBER)), (2, Varint), (3, Varint)])),
    (9, Message(&[(1, Message(HISTOGRAM)), (2, Varint)])),
    (10, Message(&[(1, Message(EXPONENTIAL)), (2, Varint)])),
    (11, Message(&[(1, Message(SUMMARY))])),
    (12, Message(&PAIR)),
];
static SCOPE: &WireSchema = &[(1, Text), (2, Text), (3, Message(&PAIR)), (4, Varint)];
static ENTITY: &WireSchema = &[(1, Text), (2, Text), (3, Text), (4, Text)];
static RESOURCE: &WireSchema = &[(1, Message(&PAIR)), (2, Varint), (3, Message(ENTITY))];

/// Maximum nesting depth of messages that are checked.
const MOST_DEPTH: u32 = 32;

impl WireKind {
    /// Returns the kind of a field. `None` if the message does not have it.
    pub(crate) fn of_field(schema: &WireSchema, number: u32) -> Option<Self> {
        schema.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }

    /// Returns the schema of the spans, log records or metrics of a signal.
    pub(crate) fn of_elements(signal: RequestSignal) -> &'static WireSchema {
        match signal {
            RequestSignal::Traces => SPAN,
            RequestSignal::Logs => LOG,
            RequestSignal::Metrics => METRIC,
        }
    }

    /// Returns `true` if a value has the wire type of the field.
    pub(crate) fn has_type(self, value: WireValue<'_>) -> bool {
        match self {
            Varint => matches!(value, WireValue::Varint(_)),
            Fixed64 => matches!(value, WireValue::Fixed64(_)),
            Fixed32 => matches!(value, WireValue::Fixed32(_)),
            Text | Id(_) | Bytes | Message(_) => matches!(value, WireValue::Bytes(..)),
        }
    }

    /// Returns `true` if a value can be in the field.
    pub(crate) fn fits(self, value: WireValue<'_>) -> bool {
        self.fits_within(value, MOST_DEPTH)
    }

    fn fits_within(self, value: WireValue<'_>, depth: u32) -> bool {
        let WireValue::Bytes(bytes, _) = value else { return self.has_type(value) };
        match self {
            Text => std::str::from_utf8(bytes).is_ok(),
            Id(length) => bytes.len() == length || bytes.is_empty(),
            Message(schema) => depth == 0 || is_message(bytes, schema, depth - 1),
            Bytes => true,
            Varint | Fixed64 | Fixed32 => false,
        }
    }
}

/// Returns `true` if all fields belong to a message.
fn is_message(bytes: &[u8], schema: &WireSchema, depth: u32) -> bool {
    let mut reader = WireReader::new(bytes, 0);
    loop {
        match reader.field() {
            Ok(None) => return true,
            Ok(Some((number, value))) => match WireKind::of_field(schema, number) {
                Some(kind) if kind.fits_within(value, depth) => {}
                _ => return false,
            },
            Err(_) => return false,
        }
    }
}

/// Returns `true` if bytes are an instrumentation scope.
pub(crate) fn is_scope(bytes: &[u8]) -> bool {
    is_message(bytes, SCOPE, MOST_DEPTH)
}

/// Returns `true` if bytes are a resource.
pub(crate) fn is_resource(bytes: &[u8]) -> bool {
    is_message(bytes, RESOURCE, MOST_DEPTH)
}
