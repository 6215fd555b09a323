//! Classes for records and packets.

use std::sync::{Arc, LazyLock};

use ichnos_model::class::{
    Attributes, BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, MappingsBuilder, Member, RangeSet, StringLength,
    Value as Attribute, VariantOption,
};
use ichnos_model::clock::ClockClass;
use ichnos_model::field::StringEncoding;
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText};
use ichnos_model::meaning::{Meaning, Meanings};
use ichnos_model::{Scope, TraceClass};

use super::any::{MONIKER, ROLLED_OUT, URL};
use super::log_options::{FuchsiaLogOptions, RecordClock};
use super::text;
use crate::log::kind;
use crate::log::{
    Argument, Encoder, Framing, Meaning as ArgumentMeaning, Message, Record, Role, SeverityScale, Value,
};

/// Severities for records.
pub(crate) const SCALE: LevelScale = LevelScale(&[
    LevelStep::new(0x10, LogLevel::Trace),
    LevelStep { up_to: 0x2f, level: LogLevel::Debug, exact: Some(0x20) },
    LevelStep::new(0x30, LogLevel::Info),
    LevelStep::new(0x40, LogLevel::Warn),
    LevelStep::new(0x50, LogLevel::Error),
    LevelStep { up_to: i64::MAX, level: LogLevel::Fatal, exact: Some(0x60) },
]);

/// Severities for packets on the original scale.
const ORIGINAL_SCALE: LevelScale = LevelScale(&[
    LevelStep { up_to: -3, level: LogLevel::Debug, exact: None },
    LevelStep::new(-2, LogLevel::Trace),
    LevelStep::new(-1, LogLevel::Debug),
    LevelStep::new(0, LogLevel::Info),
    LevelStep::new(1, LogLevel::Warn),
    LevelStep::new(2, LogLevel::Error),
    LevelStep::new(3, LogLevel::Fatal),
    LevelStep::new(0x10, LogLevel::Trace),
    LevelStep { up_to: 0x2f, level: LogLevel::Debug, exact: Some(0x20) },
    LevelStep::new(0x30, LogLevel::Info),
    LevelStep::new(0x40, LogLevel::Warn),
    LevelStep::new(0x50, LogLevel::Error),
    LevelStep { up_to: i64::MAX, level: LogLevel::Fatal, exact: Some(0x60) },
]);

/// Dialect names by file framing.
const DIALECTS: [(Framing, &str); 3] = [
    (Framing::Records, "Fuchsia log records"),
    (Framing::ExtendedRecords, "Fuchsia extended log records"),
    (Framing::Datagrams, "Fuchsia log datagrams"),
];

/// Returns the dialect of a trace from its file framings.
pub(super) fn dialect(mut framings: impl Iterator<Item = Framing>) -> &'static str {
    let first = framings.next().unwrap_or(Framing::Records);
    let known = DIALECTS.iter().find(|(framing, _)| *framing == first);
    match known {
        Some((_, name)) if framings.all(|framing| framing == first) => name,
        _ => "Fuchsia logs",
    }
}

/// Returns the framing of all files in a dialect, or `None` if they differ.
pub(crate) fn framing_of(dialect: &str) -> Option<Framing> {
    DIALECTS.iter().find(|(_, name)| *name == dialect).map(|(framing, _)| *framing)
}

/// Description of the monotonic clock.
pub(crate) const MONOTONIC_CLOCK: &str = "nanoseconds since the system was started, without sleep";
/// Description of the boot clock.
pub(crate) const BOOT_CLOCK: &str = "nanoseconds since the system was started";

/// Returns the trace class before reading, without event record classes.
pub(super) fn trace_class(options: &FuchsiaLogOptions, dialect: &str) -> TraceClass {
    let (name, description) = match options.clock {
        RecordClock::Monotonic => ("monotonic", MONOTONIC_CLOCK),
        RecordClock::Boot => ("boot", BOOT_CLOCK),
    };
    let mut clock = ClockClass::new(name, 1_000_000_000);
    clock.name = Some(name.to_owned());
    clock.description = Some(description.to_owned());
    let stream = DataStreamClass {
        default_clock: Some(0),
        resource: Some(resource_class()),
        ..DataStreamClass::default()
    };
    TraceClass {
        dialect: dialect.to_owned(),
        environment: vec![("clock".to_owned(), Attribute::Text(name.to_owned()))],
        clocks: vec![clock],
        data_streams: vec![stream],
        ..TraceClass::default()
    }
}

/// Returns the resource class: the component of a tag, as named by an earlier control record.
fn resource_class() -> Arc<FieldClass> {
    let text = || FieldClass::optional(text_class(16, 0));
    Arc::new(FieldClass::structure([Member::new("moniker", text()), Member::new("url", text())]))
}

/// Inserts the meanings of [`resource_class`] members.
fn insert_resource_meanings(meanings: &mut Meanings) {
    meanings.insert(Scope::Resource, 0, Meaning::Component);
    meanings.insert(Scope::Resource, 1, Meaning::ComponentUrl);
}

/// Key bit of an argument type, for the printf marker.
const MARKER: u8 = 0x40;

/// Message form, which determines the class.
#[derive(Clone, Copy)]
pub(super) enum MessageLayout<'a> {
    Record(Record<'a>),
    /// A record followed by its attribution.
    Extended(Record<'a>),
    /// A packet with this many tags.
    Legacy(u8),
}

impl<'a> MessageLayout<'a> {
    pub(super) fn from_message(message: &Message<'a>) -> Option<Self> {
        Some(match message {
            Message::Record { record, behind: [] } => Self::Record(*record),
            Message::Record { record, .. } if message.attribution().is_some() => Self::Extended(*record),
            Message::Record { record, .. } => Self::Record(*record),
            Message::Legacy(packet) => Self::Legacy(packet.tags().count() as u8),
        })
    }

    /// Writes the class key of the message. Each class has its own key.
    pub(super) fn write_key(&self, key: &mut Vec<u8>) {
        key.clear();
        let (first, record) = match self {
            Self::Legacy(tags) => return key.extend_from_slice(&[0x80, *tags]),
            Self::Record(record) => (0, record),
            Self::Extended(record) => (4, record),
        };
        key.push(first | u8::from(record.tag() != 0) | u8::from(record.is_control()) << 1);
        for (role, argument) in record.roles() {
            let kind = argument.value.kind() | if role == Role::Marker { MARKER } else { 0 };
            key.push(kind);
            key.extend_from_slice(&(argument.name.len() as u16).to_le_bytes());
            key.extend_from_slice(argument.name.as_bytes());
        }
    }
}

/// Returns the class for a key from [`MessageLayout::write_key`], or for [`ANY_KEY`].
pub(super) fn class_of(key: &[u8], scale: SeverityScale) -> EventRecordClass {
    let class = match key {
        ANY_KEY => any_class(),
        [0x80, tags] => packet_class(*tags, scale),
        [flags, arguments @ ..] => {
            // Only names and types matter, so the record can have any values. An argument without a name takes three
            // bytes in the key and two words in the record.
            let mut bytes = vec![0; 16 + 6 * arguments.len()];
            let mut encoder = Encoder::new(&mut bytes);
            let length = match write_record(&mut encoder, *flags, arguments) {
                Some(()) => encoder.written().len(),
                None => 0,
            };
            // The record was written into these bytes.
            match Record::read(bytes.get(..length).unwrap_or_default(), 0) {
                Ok((record, _)) => record_class(&record, flags & 4 != 0),
                Err(_) => EventRecordClass::default(),
            }
        }
        [] => EventRecordClass::default(),
    };
    EventRecordClass { id: EventRecordClass::id_from_key(key), ..class }
}

/// Writes a record with the flags and arguments of a key.
fn write_record(encoder: &mut Encoder<'_>, flags: u8, mut arguments: &[u8]) -> Option<()> {
    let mut record = encoder.begin(0, 0).ok()?;
    record.set_tag((flags & 1).into());
    record.set_control(flags & 2 != 0);
    while let [kind, low, high, rest @ ..] = arguments {
        let (name, rest) = rest.split_at_checked(u16::from_le_bytes([*low, *high]).into())?;
        arguments = rest;
        // Avoids 0, the value of the printf marker.
        let number = u64::from(kind & MARKER == 0);
        let value = match kind & !MARKER {
            kind::NULL => Value::Null,
            kind::SIGNED => Value::Signed(0),
            kind::UNSIGNED => Value::Unsigned(number),
            kind::FLOAT => Value::Float(0.0),
            kind::TEXT => "".into(),
            kind::BOOL => Value::Bool(false),
            _ => return None,
        };
        record.argument(core::str::from_utf8(name).ok()?, value).ok()?;
    }
    record.finish();
    Some(())
}

// ---------------------------------------------------------------------------------------------
// Field classes

/// Word alignment in bits.
const WORD: u64 = 64;

fn bits(length: u64, alignment: u64) -> BitField {
    BitField::new(length, ByteOrder::LittleEndian, alignment)
}

fn padding(length: u64, alignment: u64) -> Arc<FieldClass> {
    // Covers most argument headers and names.
    const FEW: u64 = 8;
    static WORDS: LazyLock<Vec<Arc<FieldClass>>> =
        LazyLock::new(|| (0..FEW).map(|words| new_padding(words * WORD, WORD)).collect());
    let shared = WORDS.get((length / WORD) as usize).filter(|_| length % WORD == 0 && alignment == WORD);
    shared.map_or_else(|| new_padding(length, alignment), Arc::clone)
}

fn new_padding(length: u64, alignment: u64) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(FieldKind::Padding(bits(length, alignment))))
}

fn integer(length: u64, alignment: u64, signed: bool) -> Arc<FieldClass> {
    let integer = IntegerProperties { signed, ..IntegerProperties::default() };
    Arc::new(FieldClass::new(FieldKind::Integer { bits: bits(length, alignment), integer }))
}

/// Returns the class of a text after its length field of `length` bits.
fn text_class(length: u64, gap: u64) -> Arc<FieldClass> {
    let length = StringLength::Prefixed { length: bits(length, 8), gap };
    Arc::new(FieldClass::new(FieldKind::String { encoding: StringEncoding::Utf8, length, alignment: 8 }))
}

fn structure(members: Vec<Member>, alignment: u64) -> Option<Arc<FieldClass>> {
    let class = FieldKind::Structure { members, minimum_alignment: alignment };
    Some(Arc::new(FieldClass::new(class)))
}

/// Field classes shared by all records.
struct SharedClasses {
    unsigned: Arc<FieldClass>,
    signed: Arc<FieldClass>,
    float: Arc<FieldClass>,
    boolean: Arc<FieldClass>,
    null: Arc<FieldClass>,
    /// Half a word at the start of a word.
    half: Arc<FieldClass>,
}

static SHARED: LazyLock<SharedClasses> = LazyLock::new(|| SharedClasses {
    unsigned: integer(64, WORD, false),
    signed: integer(64, WORD, true),
    float: Arc::new(FieldClass::new(FieldKind::Float(bits(64, WORD)))),
    boolean: Arc::new(FieldClass::new(FieldKind::Boolean(bits(1, 1)))),
    null: Arc::new(FieldClass::new(FieldKind::Null { alignment: 1 })),
    half: padding(32, WORD),
});

/// Returns the class of a severity number, mapped to names.
fn severity(layout: BitField, signed: bool, scale: LevelScale) -> Arc<FieldClass> {
    let (least, most) = if signed { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (0, 0xff) };
    let mut mappings = MappingsBuilder::default();
    let mut lower = least;
    for step in scale.0 {
        let upper = step.up_to.min(most);
        let range = IntegerRange { lower: lower.into(), upper: upper.into() };
        let name = step.level.name();
        let known = (0..mappings.len()).find(|index| mappings.name(*index) == Some(name));
        if let Some(index) = known {
            mappings.add_range_to(index, range);
        } else if mappings.add_name(name) {
            mappings.add_range(range);
        }
        lower = upper.saturating_add(1);
    }
    let integer =
        IntegerProperties { signed, mappings: Some(mappings.finish()), ..IntegerProperties::default() };
    Arc::new(FieldClass::new(FieldKind::Integer { bits: layout, integer }))
}

/// Structure members and their meanings.
struct MemberBuilder<'r> {
    list: Vec<Member>,
    scope: Scope,
    meanings: &'r mut Meanings,
}

impl<'r> MemberBuilder<'r> {
    fn new(scope: Scope, meanings: &'r mut Meanings) -> Self {
        Self { list: Vec::new(), scope, meanings }
    }

    fn pad(&mut self, class: Arc<FieldClass>) {
        // The padding after a boolean ends at a word boundary, so it is merged with the next padding.
        if let (Some(last), FieldKind::Padding(next)) = (self.list.last_mut(), &class.kind)
            && let FieldKind::Padding(before) = last.class.kind
        {
            last.class = padding(before.length + next.length, before.alignment);
            return;
        }
        self.list.push(Member::new("", class));
    }

    fn push(&mut self, name: impl Into<String>, class: Arc<FieldClass>, meaning: Option<Meaning>) {
        if let Some(meaning) = meaning {
            self.meanings.insert(self.scope, self.list.len(), meaning);
        }
        self.list.push(Member::new(name, class));
    }
}

// ---------------------------------------------------------------------------------------------
// Records

/// Size of the record header and timestamp in bits. They are the specific context.
pub(super) const RECORD_CONTEXT: u64 = 128;

/// Returns the record header class.
///
/// It is the specific context and not the event record header, because it differs between classes and is shown.
fn record_context(has_tag: bool, meanings: &mut Meanings) -> Option<Arc<FieldClass>> {
    // The header members have the same meanings in all classes.
    static SHARED: LazyLock<[Option<Arc<FieldClass>>; 2]> =
        LazyLock::new(|| [false, true].map(|has_tag| new_record_context(has_tag, &mut Meanings::default())));
    if has_tag {
        meanings.insert(Scope::SpecificContext, 1, Meaning::Hidden);
    }
    meanings.insert(Scope::SpecificContext, if has_tag { 3 } else { 1 }, Meaning::Severity);
    SHARED.get(usize::from(has_tag)).cloned().flatten()
}

fn new_record_context(has_tag: bool, meanings: &mut Meanings) -> Option<Arc<FieldClass>> {
    static SEVERITY: LazyLock<Arc<FieldClass>> = LazyLock::new(|| severity(bits(8, 8), false, SCALE));
    let mut members = MemberBuilder::new(Scope::SpecificContext, meanings);
    if has_tag {
        members.pad(padding(16, WORD));
        members.push("tag", integer(31, 1, false), Some(Meaning::Hidden));
        members.pad(padding(9, 1));
    } else {
        members.pad(padding(56, WORD));
    }
    members.push("severity", Arc::clone(&SEVERITY), Some(Meaning::Severity));
    // The clock replaces the timestamp field.
    members.pad(padding(64, WORD));
    structure(members.list, WORD)
}

fn record_class(record: &Record<'_>, is_extended: bool) -> EventRecordClass {
    let mut role = LogRole::new(LogSeverity::Member, SCALE);
    let mut meanings = Meanings::default();
    let has_tag = record.tag() != 0 || record.is_control();
    let specific_context = record_context(has_tag, &mut meanings);
    let is_printf = record.is_printf();
    if is_printf {
        role.text = Some(LogText { write: text::write_message });
    }
    let appended = record.appended().map_or(usize::MAX, |(_, first)| first);
    let mut members = MemberBuilder::new(Scope::Payload, &mut meanings);
    for (index, (role, argument)) in record.roles().enumerate() {
        let meaning = match role {
            Role::Marker | Role::Positional => Some(Meaning::Rendered),
            Role::Known(ArgumentMeaning::Message) if is_printf => Some(Meaning::Rendered),
            Role::Known(meaning) => meaning_of(meaning),
            Role::Pair if index >= appended => meaning_of_appended(argument.name.as_str()),
            Role::Pair if record.is_control() => meaning_in_control(&argument),
            Role::Pair => None,
        };
        push_argument(&mut members, &argument, meaning);
    }
    if is_extended {
        push_extension(&mut members, record);
    }
    let payload = structure(members.list, WORD);
    if !record.is_control() {
        insert_resource_meanings(&mut meanings);
    }
    let name = if record.is_control() { "log_control" } else { "log" };
    EventRecordClass {
        name: Some(name.to_owned()),
        specific_context,
        payload,
        meanings,
        log: Some(Arc::new(role)),
        ..EventRecordClass::default()
    }
}

fn meaning_of(meaning: ArgumentMeaning) -> Option<Meaning> {
    Some(match meaning {
        ArgumentMeaning::Pid => Meaning::Process,
        ArgumentMeaning::Tid => Meaning::Thread,
        ArgumentMeaning::Tag => Meaning::Tag,
        ArgumentMeaning::Message => Meaning::Message,
        ArgumentMeaning::File => Meaning::File,
        ArgumentMeaning::Line => Meaning::Line,
        ArgumentMeaning::Dropped => Meaning::Dropped,
        ArgumentMeaning::Other => return None,
    })
}

fn meaning_of_appended(name: &str) -> Option<Meaning> {
    Some(match name {
        MONIKER => Meaning::Component,
        URL => Meaning::ComponentUrl,
        ROLLED_OUT => Meaning::RolledOut,
        _ => return None,
    })
}

fn meaning_in_control(argument: &Argument<'_>) -> Option<Meaning> {
    Some(match (argument.name.as_str(), argument.value) {
        ("moniker", Value::Text(_)) => Meaning::Component,
        ("url", Value::Text(_)) => Meaning::ComponentUrl,
        ("rolled_out", Value::Unsigned(_)) => Meaning::RolledOut,
        _ => return None,
    })
}

/// Appends an argument: a header word, the name with the length from the class, and the value. Bits 32 to 46 of the
/// header are a string length, or bit 32 is a boolean.
fn push_argument(members: &mut MemberBuilder<'_>, argument: &Argument<'_>, meaning: Option<Meaning>) {
    let name_bytes = argument.name.len().next_multiple_of(8) as u64;
    let name = argument.name.as_str();
    let shared = &*SHARED;
    let number = |members: &mut MemberBuilder<'_>, class: &Arc<FieldClass>| {
        members.pad(padding(WORD + 8 * name_bytes, WORD));
        members.push(name, Arc::clone(class), meaning);
    };
    match argument.value {
        Value::Unsigned(_) => number(members, &shared.unsigned),
        Value::Signed(_) => number(members, &shared.signed),
        Value::Float(_) => number(members, &shared.float),
        Value::Text(_) => {
            members.pad(Arc::clone(&shared.half));
            members.push(name, text_class(15, 17 + 8 * name_bytes), meaning);
        }
        Value::Bool(_) => {
            members.pad(Arc::clone(&shared.half));
            members.push(name, Arc::clone(&shared.boolean), meaning);
            members.pad(padding(31 + 8 * name_bytes, 1));
        }
        Value::Null => {
            members.pad(padding(WORD + 8 * name_bytes, WORD));
            members.push(name, Arc::clone(&shared.null), meaning);
        }
    }
}

/// Appends an extension: moniker and URL lengths (32 bits each), a count (64 bits), and both texts, padded.
fn push_extension(members: &mut MemberBuilder<'_>, record: &Record<'_>) {
    // The name must differ from all argument names.
    let mut of_url = "length of the URL".to_owned();
    let mut of_moniker = "length of the moniker".to_owned();
    while record.arguments().flatten().any(|a| a.name == *of_url || a.name == *of_moniker) {
        of_url.push('\'');
        of_moniker.push('\'');
    }
    let text = |length: String| {
        let length = StringLength::Dynamic(Box::new(FieldLocation::absolute(Scope::Payload, [length])));
        let kind = FieldKind::String { encoding: StringEncoding::Utf8, length, alignment: WORD };
        Arc::new(FieldClass::new(kind))
    };
    members.push(of_moniker.clone(), padding(32, WORD), None);
    members.push(of_url.clone(), padding(32, 32), None);
    members.push(ROLLED_OUT, integer(64, WORD, false), Some(Meaning::RolledOut));
    members.push(MONIKER, text(of_moniker), Some(Meaning::Component));
    members.push(URL, text(of_url), Some(Meaning::ComponentUrl));
}

// ---------------------------------------------------------------------------------------------
// Packets

/// Size of the packet metadata before the tags in bits. It is the specific context.
pub(super) const PACKET_CONTEXT: u64 = 256;

fn packet_class(tags: u8, scale: SeverityScale) -> EventRecordClass {
    let scale = match scale {
        SeverityScale::Original => ORIGINAL_SCALE,
        _ => SCALE,
    };
    let role = LogRole::new(LogSeverity::Member, scale);
    let mut meanings = Meanings::default();
    let mut members = MemberBuilder::new(Scope::SpecificContext, &mut meanings);
    members.push("pid", integer(64, 8, false), Some(Meaning::Process));
    members.push("tid", integer(64, 8, false), Some(Meaning::Thread));
    members.pad(padding(64, 8));
    members.push("severity", severity(bits(32, 8), true, scale), Some(Meaning::Severity));
    members.push("dropped", integer(32, 8, false), Some(Meaning::Dropped));
    let specific_context = structure(members.list, 8);

    let mut members = MemberBuilder::new(Scope::Payload, &mut meanings);
    for _ in 0..tags {
        members.push("tag", text_class(8, 0), Some(Meaning::Tag));
    }
    members.pad(padding(8, 8));
    let message = FieldKind::String {
        encoding: StringEncoding::Utf8,
        length: StringLength::NullTerminated,
        alignment: 8,
    };
    members.push("message", Arc::new(FieldClass::new(message)), Some(Meaning::Message));
    let payload = structure(members.list, 8);
    EventRecordClass {
        name: Some("log_packet".to_owned()),
        specific_context,
        payload,
        meanings,
        log: Some(Arc::new(role)),
        ..EventRecordClass::default()
    }
}

// ---------------------------------------------------------------------------------------------
// Records of any class

/// Key of [`any_class`], which differs from all message keys.
pub(super) const ANY_KEY: &[u8] = &[0xff];

/// Returns the class for records beyond the class limit. All arguments are [values](super::any::push) in one array.
pub(super) fn any_class() -> EventRecordClass {
    let mut role = LogRole::new(LogSeverity::Member, SCALE);
    let mut meanings = Meanings::default();
    role.text = Some(LogText { write: text::write_all });
    let specific_context = record_context(true, &mut meanings);

    let here = |name: &str| FieldLocation {
        origin: None,
        ..FieldLocation::absolute(Scope::Payload, [name.to_owned()])
    };
    let float = Arc::new(FieldClass::new(FieldKind::Float(bits(64, 8))));
    let options = [
        ("null", 0, Arc::clone(&SHARED.null)),
        ("signed", 3, integer(64, 8, true)),
        ("unsigned", 4, integer(64, 8, false)),
        ("float", 5, float),
        ("text", 6, text_class(16, 0)),
        ("boolean", 9, Arc::new(FieldClass::new(FieldKind::Boolean(bits(8, 8))))),
    ];
    let options = options.map(|(name, kind, class)| VariantOption {
        name: Some(name.to_owned()),
        class,
        ranges: RangeSet(vec![IntegerRange::single(kind)]),
        attributes: Attributes::default(),
    });
    let value =
        FieldKind::Variant { options: options.into(), selector: Box::new(here("type")), alignment: 1 };
    let element = vec![
        Member::new("type", padding(8, 8)),
        Member::new("name", text_class(16, 0)),
        Member::new("value", Arc::new(FieldClass::new(value))),
    ];
    let arguments = FieldKind::Array {
        element: Arc::new(FieldClass::new(FieldKind::Structure { members: element, minimum_alignment: 8 })),
        length: Length::Dynamic(Box::new(here("count"))),
        minimum_alignment: 8,
        element_aligns: true,
    };
    let mut members = MemberBuilder::new(Scope::Payload, &mut meanings);
    members.push("count", padding(32, 8), None);
    members.push("arguments", Arc::new(FieldClass::new(arguments)), Some(Meaning::Rendered));
    let payload = structure(members.list, 8);
    insert_resource_meanings(&mut meanings);
    EventRecordClass {
        id: EventRecordClass::id_from_key(ANY_KEY),
        name: Some("log".to_owned()),
        specific_context,
        payload,
        meanings,
        log: Some(Arc::new(role)),
        ..EventRecordClass::default()
    }
}
