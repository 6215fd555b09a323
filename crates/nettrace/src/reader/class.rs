//! Event classes, built from metadata.

use std::sync::Arc;

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, DisplayBase, EventRecordClass, FieldClass, FieldKind,
    FieldLocation, IntegerProperties, IntegerRange, Length, LocationStep, Mappings, MappingsBuilder, Member,
    StringLength, Uuid, Value, VariableLengthValue,
};
use ichnos_model::clock::{ClockClass, ClockOrigin, WallClock};
use ichnos_model::field::StringEncoding;
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity};
use ichnos_model::meaning::{ActivityPaths, CauseKind, EventDisplay, Meaning, Meanings};
use ichnos_model::{Scope, TraceClass};

use super::index::NettraceIndex;
use super::nettrace_options::NettraceOptions;
use crate::known::{self, EventMeaning, KnownEvent, PayloadPath};
use crate::{EventMetadata, FieldType, PayloadField, ValueNames, Version};

/// Member indexes in the common context of all events. The context always consists of values.
pub(crate) mod context {
    /// Thread that the event is about.
    pub(crate) const THREAD: usize = 0;
    /// Thread that emitted the event, if it is another thread.
    pub(crate) const CAPTURE_THREAD: usize = 1;
    pub(crate) const CAPTURE_THREAD_NAME: &str = "capture_thread";

    /// Member names that only version 6 has, except process and thread.
    pub(crate) const TRACE_ID_NAME: &str = "trace_id";
    pub(crate) const SPAN_ID_NAME: &str = "span_id";
    pub(crate) const LABELS_NAME: &str = "labels";
    pub(crate) const NUMERIC_LABELS_NAME: &str = "numeric_labels";
    pub(crate) const CAPTURE_PROCESS_NAME: &str = "capture_process";
    pub(crate) const PROCESSOR: usize = 2;
    pub(crate) const STACK: usize = 3;
    pub(crate) const ACTIVITY: usize = 4;
    pub(crate) const RELATED_ACTIVITY: usize = 5;
    /// Version 6 only.
    pub(crate) const PROCESS: usize = 6;
    /// Version 6 only.
    pub(crate) const PROCESS_NAME: usize = 7;
    /// Version 6 only.
    pub(crate) const THREAD_NAME: usize = 8;
    /// Version 6 only.
    pub(crate) const TRACE_ID: usize = 9;
    /// Version 6 only.
    pub(crate) const SPAN_ID: usize = 10;
    /// Capture thread's process, if it is another thread. Version 6 only.
    pub(crate) const CAPTURE_PROCESS: usize = 13;
}

/// Keyword bits that are set by sessions, and are not event properties.
const SESSION_KEYWORDS: u64 = 0xf000_0000_0000;

/// Conversion from payload to fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PayloadForm {
    /// The payload has the layout of the class.
    Bits,
    /// The payload must be read into values.
    Values(Vec<PayloadField>),
    /// The payload is not described. One field contains all bytes, if there are any.
    Raw,
}

/// Event kind.
#[derive(Debug)]
pub(super) struct EventKind {
    pub(super) class: EventRecordClass,
    pub(super) form: PayloadForm,
}

impl EventKind {
    /// Returns the same event kind with one field for the payload.
    pub(super) fn into_raw(mut self, is_v6: bool) -> Self {
        let (payload, form) = payload_class(None, 64, is_v6);
        self.class.payload = Some(Arc::new(payload));
        self.class.meanings = context_meanings(is_v6);
        self.class.log = None;
        Self { class: self.class, form }
    }
}

/// Field name for payloads that are not described.
pub(crate) const RAW_PAYLOAD: &str = "payload";

/// Clock description.
pub(crate) const CLOCK: &str = "the performance counter of the machine";

/// Field name for the bytes that newer versions append.
const NEWER: &str = "unknown_fields";

/// EventSource levels.
const LEVELS: LevelScale = LevelScale(&[
    // 0 means "always".
    LevelStep { up_to: 0, level: LogLevel::Info, exact: Some(0) },
    LevelStep::new(1, LogLevel::Fatal),
    LevelStep::new(2, LogLevel::Error),
    LevelStep::new(3, LogLevel::Warn),
    LevelStep::new(4, LogLevel::Info),
    LevelStep::new(5, LogLevel::Debug),
]);

/// `Microsoft.Extensions.Logging` levels.
const LOGGER_LEVELS: LevelScale = LevelScale(&[
    LevelStep::new(0, LogLevel::Trace),
    LevelStep::new(1, LogLevel::Debug),
    LevelStep::new(2, LogLevel::Info),
    LevelStep::new(3, LogLevel::Warn),
    LevelStep::new(4, LogLevel::Error),
    LevelStep::new(5, LogLevel::Fatal),
]);

/// Returns the event kind for metadata or for a well-known event.
pub(super) fn event_kind(metadata: &EventMetadata, id: u128, pointer_bits: u64, is_v6: bool) -> EventKind {
    let known = known::find(&metadata.provider, metadata.event_id, metadata.version, &metadata.name);
    let name = match &*metadata.name {
        "" => {
            known.as_ref().map_or_else(|| format!("Event{}", metadata.event_id), |known| known.name.clone())
        }
        name => name.to_owned(),
    };
    let described = flatten(&metadata.fields);
    let fields = match &known {
        Some(known) if described.is_empty() || known::replaces_metadata(&metadata.provider) => {
            Some(&*known.fields)
        }
        _ if !described.is_empty() => Some(described),
        // The event lacks fields, or its provider could not describe them. The payload will tell.
        _ => None,
    };
    let opcode = metadata.opcode.or_else(|| known.as_ref().map(|known| known.opcode)).unwrap_or(0);
    let meaning = match &known {
        Some(known) => known.meaning_with(opcode),
        // Without known fields, only names tell the meaning.
        None => known::meaning(&metadata.provider, &name, opcode, fields.unwrap_or_default()),
    };
    let newer;
    let fields = match (&known, fields) {
        // Newer versions append fields.
        (Some(known), Some(fields)) if described.is_empty() && metadata.version > known.version => {
            newer = [fields, &[PayloadField::new(NEWER, FieldType::Rest)]].concat();
            Some(&*newer)
        }
        (_, fields) => fields,
    };
    let (payload, form) = payload_class(fields, pointer_bits, is_v6);
    let level = level(metadata, known.as_ref());
    let mut meanings = context_meanings(is_v6);
    insert_meanings(&mut meanings, &payload, fields.unwrap_or_default(), &meaning);
    let log = log_role(metadata, level, &meaning);
    let properties = properties_of(metadata, known.as_ref(), level, opcode, &meaning);
    let mut class = EventRecordClass {
        id,
        name: Some(format!("{}/{name}", metadata.provider)),
        payload: Some(Arc::new(payload)),
        meanings,
        role: meaning.role,
        display: display(&meaning, fields.unwrap_or_default()),
        log: log.map(Arc::new),
        ..EventRecordClass::default()
    };
    class.attributes.set("nettrace", Value::Map(properties));
    EventKind { class, form }
}

/// Returns how viewers show spans and counters. Both ends of a span have the same name, and counter fields can be
/// within an object.
fn display(meaning: &EventMeaning, fields: &[PayloadField]) -> Option<Arc<EventDisplay>> {
    let mut display = EventDisplay { name: meaning.span.clone(), ..EventDisplay::default() };
    if let Some(counter) = &meaning.counter {
        let path = |path: Option<&PayloadPath>| dotted_path(fields, path?);
        display.counter_value = path(Some(&counter.value));
        display.counter_name = path(Some(&counter.name));
        display.counter_unit = path(counter.unit.as_ref());
        display.counter_tags = path(counter.tags.as_ref());
    }
    (display != EventDisplay::default()).then(|| Arc::new(display))
}

/// Returns a payload field's path as names. Returns `None` if another field with these names comes first.
fn dotted_path(fields: &[PayloadField], path: &[usize]) -> Option<String> {
    let mut inside = fields;
    let mut dotted = "payload".to_owned();
    for index in path {
        let field = inside.get(*index)?;
        if !field.name.is_empty() {
            let is_first = inside.iter().position(|other| other.name == field.name) == Some(*index);
            if !is_first || field.name.contains('.') {
                return None;
            }
            dotted.push('.');
            dotted.push_str(&field.name);
        }
        inside = match &field.kind {
            FieldType::Object(fields) => fields,
            _ => &[],
        };
    }
    Some(dotted)
}

/// Returns the event properties that the model lacks.
fn properties_of(
    metadata: &EventMetadata,
    known: Option<&KnownEvent>,
    level: Option<u8>,
    opcode: u8,
    meaning: &EventMeaning,
) -> Vec<(String, Value)> {
    let keywords = own_keywords(metadata);
    let mut properties = vec![
        ("provider".to_owned(), Value::Text(metadata.provider.clone())),
        ("event-id".to_owned(), Value::Integer(metadata.event_id.into())),
        ("version".to_owned(), Value::Integer(metadata.version.into())),
    ];
    properties.extend(level.map(|level| ("level".to_owned(), Value::Integer(level.into()))));
    properties.push(("keywords".to_owned(), Value::Text(format!("{keywords:#x}"))));
    let names = known::keyword_names(&metadata.provider);
    let names: Vec<_> =
        names.into_iter().filter(|(mask, _)| keywords & mask != 0).map(|(_, name)| name).collect();
    if !names.is_empty() {
        properties.push(("keyword-names".to_owned(), Value::Text(names.join(", "))));
    }
    if let Some(known) = known {
        let task = known.task.as_ref().map(|task| ("task".to_owned(), Value::Text(task.clone())));
        properties.extend(task);
    }
    if opcode != 0 {
        properties.push(("opcode".to_owned(), Value::Integer(opcode.into())));
        let known = known.filter(|known| known.opcode == opcode && !known.opcode_name.is_empty());
        let name = known.map(|known| Value::Text(known.opcode_name.clone()));
        properties.extend(name.map(|name| ("opcode-name".to_owned(), name)));
    }
    let texts = [
        ("span", &meaning.span),
        ("message-template", &metadata.message_template),
        ("description", &metadata.description),
    ];
    for (name, text) in texts {
        properties.extend(text.iter().map(|text| (name.to_owned(), Value::Text(text.clone()))));
    }
    let guid = metadata.provider_guid.map(|guid| Value::Text(Uuid::from_bytes_le(guid).to_string()));
    properties.extend(guid.map(|guid| ("provider-guid".to_owned(), guid)));
    let others = metadata.properties.iter();
    properties.extend(others.map(|(name, value)| (property_name(name), Value::Text(value.clone()))));
    properties
}

/// Event property names that are not keys in the file.
const PROPERTIES: [&str; 13] = [
    "provider",
    "event-id",
    "version",
    "level",
    "keywords",
    "keyword-names",
    "task",
    "opcode",
    "opcode-name",
    "span",
    "message-template",
    "description",
    "provider-guid",
];

/// Prefix for a file key that is equal to another property's name.
const OWN: &str = "property-";

/// Returns `true` for another property's name, also after [`OWN`].
fn is_other_property(key: &str) -> bool {
    PROPERTIES.contains(&key.trim_start_matches(OWN))
}

/// Returns the property name for a file key.
fn property_name(key: &str) -> String {
    if is_other_property(key) { format!("{OWN}{key}") } else { key.to_owned() }
}

/// Returns the file key for a property name.
pub(crate) fn own_property(name: &str) -> &str {
    match name.strip_prefix(OWN) {
        Some(key) if is_other_property(key) => key,
        _ => name,
    }
}

/// Returns an event's level, from the file or else from the manifest.
pub(super) fn level(metadata: &EventMetadata, known: Option<&KnownEvent>) -> Option<u8> {
    metadata.level.or(known.and_then(|known| known.level))
}

/// Returns an event's keywords, without the four bits that an EventSource adds for sessions.
pub(super) fn own_keywords(metadata: &EventMetadata) -> u64 {
    match metadata.keywords {
        // All bits: written by EventSource itself.
        u64::MAX => u64::MAX,
        keywords if keywords & SESSION_KEYWORDS == SESSION_KEYWORDS => keywords & !SESSION_KEYWORDS,
        keywords => keywords,
    }
}

/// Returns a self-describing event's inner fields. Such an event has an unnamed outer field.
fn flatten(fields: &[PayloadField]) -> &[PayloadField] {
    match fields {
        [PayloadField { name, kind: FieldType::Object(fields), .. }] if name.is_empty() => fields,
        fields => fields,
    }
}

/// Inserts payload field meanings. Only top-level fields have meanings, because an inner field's meaning does not apply
/// to the outer field.
fn insert_meanings(
    meanings: &mut Meanings,
    payload: &FieldClass,
    fields: &[PayloadField],
    meaning: &EventMeaning,
) {
    let FieldKind::Structure { members, .. } = &payload.kind else { return };
    // Array lengths are members, but not fields.
    let shown =
        members.iter().enumerate().filter(|(_, member)| !matches!(member.class.kind, FieldKind::Padding(_)));
    let indexes: Vec<usize> = shown.map(|(index, _)| index).collect();
    // Self-describing events have one outer field.
    let is_flattened = fields.len() != 1;
    let mut insert = |path: Option<&PayloadPath>, meaning: Meaning| {
        let index = match path.map(Vec::as_slice) {
            Some([index]) => Some(*index),
            Some([0, index]) if is_flattened => Some(*index),
            _ => None,
        };
        if let Some(index) = index.and_then(|index| indexes.get(index)) {
            meanings.insert(Scope::Payload, *index, meaning);
        }
    };
    insert(meaning.weight.as_ref(), Meaning::Weight);
    insert(meaning.thread_state.as_ref(), Meaning::ThreadState);
    insert(meaning.message.as_ref(), Meaning::Message);
    insert(meaning.severity.as_ref(), Meaning::Severity);
    if let Some(counter) = &meaning.counter {
        insert(Some(&counter.name), Meaning::CounterName);
        insert(Some(&counter.value), Meaning::CounterValue);
    }
}

/// Returns the log role for messages from EventSource itself, and from loggers.
fn log_role(metadata: &EventMetadata, level: Option<u8>, meaning: &EventMeaning) -> Option<LogRole> {
    // Without a level, the event is always logged.
    let level = level.unwrap_or(0);
    if metadata.name == "EventSourceMessage" {
        // An error in the provider itself.
        return Some(LogRole::new(LogSeverity::Constant(level.clamp(2, 3).into()), LEVELS));
    }
    meaning.message.as_ref()?;
    Some(match meaning.severity {
        Some(_) => LogRole::new(LogSeverity::Member, LOGGER_LEVELS),
        None => LogRole::new(LogSeverity::Constant(level.into()), LEVELS),
    })
}

/// Id of the first raw class. Raw classes belong to events that do not match their own class. The event kind's index is
/// added.
const FIRST_RAW: u128 = 1 << 32;

/// Returns the event kind's index for a [raw class](raw_class). Returns `None` for other classes.
pub(super) fn raw_kind(class: &EventRecordClass) -> Option<u32> {
    u32::try_from(class.id.checked_sub(FIRST_RAW)?).ok()
}

/// Returns the class for events that lack a class or do not match it. `kind` is the index of the event kind.
pub(super) fn raw_class(like: Option<&EventRecordClass>, kind: u32, is_v6: bool) -> EventRecordClass {
    let id = FIRST_RAW + u128::from(kind);
    let (payload, _) = payload_class(None, 64, is_v6);
    EventRecordClass {
        id,
        name: Some(like.and_then(|class| class.name.clone()).unwrap_or_else(|| "unknown event".to_owned())),
        payload: Some(Arc::new(payload)),
        meanings: context_meanings(is_v6),
        is_undescribed: true,
        // Events without a class have no attributes.
        attributes: like.map(|class| class.attributes.clone()).unwrap_or_default(),
        ..EventRecordClass::default()
    }
}

fn context_meanings(is_v6: bool) -> Meanings {
    let mut meanings = Meanings::default();
    let members = [
        (context::THREAD, Meaning::Thread),
        (context::PROCESSOR, Meaning::Processor),
        (context::STACK, Meaning::Stack),
        (context::ACTIVITY, Meaning::OperationId),
        (context::RELATED_ACTIVITY, Meaning::Cause(CauseKind::Related)),
    ];
    for (index, meaning) in members {
        meanings.insert(Scope::CommonContext, index, meaning);
    }
    if is_v6 {
        meanings.insert(Scope::CommonContext, context::PROCESS, Meaning::Process);
        meanings.insert(Scope::CommonContext, context::PROCESS_NAME, Meaning::ProcessName);
        meanings.insert(Scope::CommonContext, context::THREAD_NAME, Meaning::ThreadName);
        meanings.insert(Scope::CommonContext, context::TRACE_ID, Meaning::TaskId);
        // Inserted after the activity, so that the span takes precedence: it is known outside the process, too.
        meanings.insert(Scope::CommonContext, context::SPAN_ID, Meaning::OperationId);
    } else {
        meanings.insert(Scope::Resource, 0, Meaning::Process);
    }
    meanings
}

/// Returns the trace's class.
pub(super) fn trace_class(
    index: &NettraceIndex,
    kinds: &[EventKind],
    recorded: Vec<(String, Value)>,
    options: &NettraceOptions,
) -> Option<TraceClass> {
    let trace = &index.trace;
    let is_v6 = matches!(index.version, Version::V6(_));
    let mut clock = ClockClass::new("ticks", trace.frequency);
    if let Some(zero) = options.clock_zero {
        clock.offset_seconds = i64::try_from(zero.div_euclid(1_000_000_000)).ok()?;
        clock.offset_cycles = u64::try_from(zero.rem_euclid(1_000_000_000)).ok()?;
        clock.origin = ClockOrigin::UnixEpoch;
    } else if let Some(since) = trace.sync_time.since_unix_epoch() {
        let frequency = i128::from(trace.frequency);
        // Dates have a resolution of one millisecond.
        let cycles = (since / 1_000_000 * frequency + 500).div_euclid(1_000) - i128::from(trace.sync_ticks);
        clock.offset_seconds = i64::try_from(cycles.div_euclid(frequency)).ok()?;
        clock.offset_cycles = u64::try_from(cycles.rem_euclid(frequency)).ok()?;
        clock.origin = ClockOrigin::UnixEpoch;
    }
    clock.description = Some(CLOCK.to_owned());
    if !options.clock_offsets.add_to(&mut clock) {
        return None;
    }
    let number = |value: Option<u64>| value.map(|value| Value::Integer(value.into()));
    let environment = [
        ("process_id", number(trace.process_id)),
        ("processors", number(trace.processors)),
        ("pointer_size", number(Some(trace.pointer_size.into()))),
        ("sampling_interval_ns", number(trace.sampling_interval)),
    ];
    let environment = environment.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let properties = trace.properties.iter().map(|(name, value)| (name.clone(), Value::Text(value.clone())));
    let stream = DataStreamClass {
        default_clock: Some(0),
        common_context: Some(Arc::new(common_context(is_v6, trace.process_id))),
        resource: (!is_v6).then(|| {
            let process = FieldClass::optional(FieldClass::unsigned(64));
            Arc::new(FieldClass::structure([Member::new("process", process)]))
        }),
        event_records: kinds.iter().map(|kind| Arc::new(kind.class.clone())).collect(),
        ..DataStreamClass::default()
    };
    Some(TraceClass {
        dialect: match index.version {
            Version::V3 => "NetPerf 3".to_owned(),
            Version::V4 => "NetTrace 4".to_owned(),
            Version::V6(minor) => format!("NetTrace 6.{minor}"),
        },
        environment: environment.chain(properties).chain(recorded).collect(),
        clocks: vec![clock],
        data_streams: vec![stream],
        ..TraceClass::default()
    })
}

/// Returns the common context's class.
fn common_context(is_v6: bool, process: Option<u64>) -> FieldClass {
    // With several processes, the class cannot know an event's process.
    let process = process.filter(|_| !is_v6).and_then(|process| u32::try_from(process).ok()).unwrap_or(0);
    let activity = || {
        let activity_paths = Some(ActivityPaths { process });
        FieldClass::optional(FieldClass { activity_paths, ..FieldClass::guid() })
    };
    let number = || FieldClass::unsigned(64);
    let mut members = vec![
        Member::new("thread", number()),
        Member::new(context::CAPTURE_THREAD_NAME, FieldClass::optional(number())),
        Member::new("processor", FieldClass::optional(FieldClass::unsigned(32))),
        Member::new("stack", FieldClass::optional(FieldClass::unsigned(32))),
        Member::new("activity", activity()),
        Member::new("related_activity", activity()),
    ];
    if is_v6 {
        let label = |value: FieldClass| {
            let members = [Member::new("name", FieldClass::string()), Member::new("value", value)];
            FieldClass::optional(FieldClass::array_by_values(FieldClass::structure(members)))
        };
        members.extend([
            Member::new("process", FieldClass::optional(number())),
            Member::new("process_name", FieldClass::optional(FieldClass::string())),
            Member::new("thread_name", FieldClass::optional(FieldClass::string())),
            Member::new(context::TRACE_ID_NAME, FieldClass::optional(FieldClass::string())),
            Member::new(context::SPAN_ID_NAME, FieldClass::optional(hexadecimal(64))),
            Member::new(context::LABELS_NAME, label(FieldClass::string())),
            Member::new(context::NUMERIC_LABELS_NAME, label(FieldClass::signed(64))),
            Member::new(context::CAPTURE_PROCESS_NAME, FieldClass::optional(number())),
        ]);
    }
    FieldClass::structure(members)
}

/// Returns the payload class and its form. `fields` is `None` if unknown.
fn payload_class(
    fields: Option<&[PayloadField]>,
    pointer_bits: u64,
    is_v6: bool,
) -> (FieldClass, PayloadForm) {
    let builder = PayloadClassBuilder { pointer_bits };
    match fields {
        // Events without fields have no payload.
        None => {
            let bytes = FieldClass::optional(blob(Box::new(FieldLocation::by_values())));
            (FieldClass::structure([Member::new(RAW_PAYLOAD, bytes)]), PayloadForm::Raw)
        }
        Some(fields) => {
            let class = FieldClass::structure(builder.members(fields));
            match fields.iter().all(|field| is_laid_out(&field.kind, is_v6)) {
                true => (class, PayloadForm::Bits),
                false => (class, PayloadForm::Values(fields.to_vec())),
            }
        }
    }
}

/// Returns `true` if fields of this type can be read in place.
fn is_laid_out(kind: &FieldType, is_v6: bool) -> bool {
    match kind {
        FieldType::VarInt
        // A single code unit can be zero, which would terminate a text.
        | FieldType::Char
        | FieldType::Utf8CodeUnit
        | FieldType::Rest
        | FieldType::RelLoc(_)
        | FieldType::DataLoc(_)
        | FieldType::Appended(_)
        | FieldType::Named { .. } => false,
        // 8 or 16 bytes.
        FieldType::FileTime => !is_v6,
        FieldType::Object(fields) => fields.iter().all(|field| is_laid_out(&field.kind, is_v6)),
        FieldType::Array(element) if **element == FieldType::Utf8CodeUnit => true,
        FieldType::FixedLengthArray(element, _)
            if matches!(**element, FieldType::Utf8CodeUnit | FieldType::Char) =>
        {
            true
        }
        // An inner array's length is not in a structure.
        FieldType::Array(element)
        | FieldType::FixedLengthArray(element, _)
        | FieldType::Counted { element, .. } => !is_array(element) && is_laid_out(element, is_v6),
        _ => true,
    }
}

/// Returns `true` for an array after its length, except UTF-8 bytes, which are a text.
fn is_array(kind: &FieldType) -> bool {
    matches!(kind, FieldType::Array(element) if **element != FieldType::Utf8CodeUnit)
}

struct PayloadClassBuilder {
    pointer_bits: u64,
}

impl PayloadClassBuilder {
    /// Returns the members for a structure with these fields. An array follows its length.
    fn members(&self, fields: &[PayloadField]) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::with_capacity(fields.len());
        let mut taken = hashbrown::HashSet::<String, std::hash::RandomState>::default();
        // By field index.
        let mut names: Vec<String> = Vec::with_capacity(fields.len());
        for field in fields {
            let name = if field.name.is_empty() { "value" } else { &*field.name };
            let name = free_name(name.to_owned(), &mut taken);
            names.push(name.clone());
            let class = match &field.kind {
                FieldType::Array(element) if is_array(&field.kind) => {
                    let length = free_name(format!("{name}_length"), &mut taken);
                    members.push(Member::new(length.clone(), padding(16)));
                    dynamic_array(&length, self.class(element, None, false))
                }
                FieldType::Counted { element, count } => match (names.get(*count), &**element) {
                    (Some(length), FieldType::U8) => blob(location(length)),
                    (Some(length), element) => dynamic_array(length, self.class(element, None, false)),
                    (None, element) => self.class(element, None, false),
                },
                FieldType::Parts(parts) => {
                    let mut name = Some(name);
                    for (part, length) in parts {
                        // The first part has the name of the field.
                        let name = name.take().unwrap_or_else(|| free_name(part.name.clone(), &mut taken));
                        members.push(Member::new(name, part_class(part, (*length).into())));
                    }
                    continue;
                }
                FieldType::Named { kinds, .. } => {
                    for member in self.members(kinds) {
                        members.push(Member::new(member.name, FieldClass::optional(member.class)));
                    }
                    self.class(&field.kind, None, false)
                }
                kind => self.class(kind, field.names.as_deref(), field.is_hexadecimal),
            };
            members.push(Member::new(name, class));
        }
        members
    }

    fn class(&self, kind: &FieldType, names: Option<&ValueNames>, is_hexadecimal: bool) -> FieldClass {
        let integer = |length: u64, signed: bool| integer_class(length, signed, names, is_hexadecimal);
        match kind {
            FieldType::Boolean32 => FieldClass::new(FieldKind::Boolean(bits(32))),
            FieldType::Boolean8 => FieldClass::new(FieldKind::Boolean(bits(8))),
            FieldType::Char => text(StringEncoding::Utf16Le, 2),
            FieldType::I8 => integer(8, true),
            FieldType::U8 => integer(8, false),
            FieldType::I16 => integer(16, true),
            FieldType::U16 => integer(16, false),
            FieldType::I32 => integer(32, true),
            FieldType::U32 => integer(32, false),
            FieldType::I64 => integer(64, true),
            FieldType::U64 => integer(64, false),
            FieldType::Pointer => integer_class(self.pointer_bits, false, names, true),
            FieldType::F32 => FieldClass::float(32),
            FieldType::F64 => FieldClass::float(64),
            FieldType::Decimal => FieldClass::new(FieldKind::Blob {
                length: Length::Static(16),
                media_type: "application/octet-stream".to_owned(),
                alignment: 8,
            }),
            FieldType::FileTime => FieldClass::wall_clock(true, WallClock::FILETIME),
            FieldType::Guid => FieldClass::guid(),
            FieldType::Utf16String => string(StringEncoding::Utf16Le, StringLength::NullTerminated),
            FieldType::Utf8String => FieldClass::string(),
            FieldType::Utf8CodeUnit => text(StringEncoding::Utf8, 1),
            FieldType::VarInt => integer(64, true),
            FieldType::VarUInt => {
                let value = VariableLengthValue::Integer(properties(64, false, names, is_hexadecimal));
                FieldClass::new(FieldKind::VariableLength { value, alignment: 8 })
            }
            FieldType::Object(fields) => FieldClass::structure(self.members(fields)),
            FieldType::Array(element) if matches!(**element, FieldType::Utf8CodeUnit) => {
                string(StringEncoding::Utf8, StringLength::Prefixed { length: bits(16), gap: 0 })
            }
            // A nested array, which is read into values.
            FieldType::Array(element) => FieldClass::array_by_values(self.class(element, None, false)),
            FieldType::FixedLengthArray(element, count) => match **element {
                FieldType::Utf8CodeUnit => text(StringEncoding::Utf8, u64::from(*count)),
                FieldType::Char => text(StringEncoding::Utf16Le, 2 * u64::from(*count)),
                _ => FieldClass::new(FieldKind::Array {
                    element: Arc::new(self.class(element, None, false)),
                    length: Length::Static((*count).into()),
                    minimum_alignment: 8,
                    element_aligns: true,
                }),
            },
            // Read into values.
            FieldType::RelLoc(element) | FieldType::DataLoc(element) => match **element {
                FieldType::Utf8CodeUnit | FieldType::Char => FieldClass::string(),
                _ => FieldClass::array_by_values(self.class(element, None, false)),
            },
            FieldType::Counted { element, .. } => self.class(element, None, false),
            // Its parts are separate members.
            FieldType::Parts(_) => integer(32, false),
            FieldType::Named { .. } | FieldType::Rest => {
                FieldClass::optional(blob(Box::new(FieldLocation::by_values())))
            }
            FieldType::Appended(kind) => FieldClass::optional(self.class(kind, names, is_hexadecimal)),
        }
    }
}

/// Returns an unused member name.
fn free_name(mut name: String, taken: &mut hashbrown::HashSet<String, std::hash::RandomState>) -> String {
    if !taken.insert(name.clone()) {
        // Hostile descriptions may repeat a name very often, so do not try all numbers.
        let number = taken.len();
        let is_free = |other: &String| !taken.contains(other);
        let other = [format!("{name}_"), format!("{name}_{number}")].into_iter().find(is_free);
        name = other.unwrap_or_else(|| format!("{name}__{number}__"));
        taken.insert(name.clone());
    }
    name
}

fn text(encoding: StringEncoding, bytes: u64) -> FieldClass {
    string(encoding, StringLength::Static(bytes))
}

fn string(encoding: StringEncoding, length: StringLength) -> FieldClass {
    FieldClass::new(FieldKind::String { encoding, length, alignment: 8 })
}

fn bits(length: u64) -> BitField {
    BitField::new(length, ByteOrder::LittleEndian, 8)
}

fn padding(length: u64) -> FieldClass {
    FieldClass::new(FieldKind::Padding(bits(length)))
}

fn hexadecimal(length: u64) -> FieldClass {
    integer_class(length, false, None, true)
}

fn location(name: &str) -> Box<FieldLocation> {
    let path = vec![LocationStep::Member(name.to_owned())];
    Box::new(FieldLocation { origin: None, path, any_option: false, declared_at: Default::default() })
}

fn dynamic_array(length: &str, element: FieldClass) -> FieldClass {
    FieldClass::new(FieldKind::Array {
        element: Arc::new(element),
        length: Length::Dynamic(location(length)),
        minimum_alignment: 8,
        element_aligns: true,
    })
}

fn blob(length: Box<FieldLocation>) -> FieldClass {
    FieldClass::new(FieldKind::Blob {
        length: Length::Dynamic(length),
        media_type: "application/octet-stream".to_owned(),
        alignment: 8,
    })
}

/// Returns the class for an integer part. A part can start at any bit.
fn part_class(part: &PayloadField, length: u64) -> FieldClass {
    let bits = BitField::new(length, ByteOrder::LittleEndian, 1);
    integer_of_bits(bits, false, part.names.as_deref(), part.is_hexadecimal)
}

fn integer_class(length: u64, signed: bool, names: Option<&ValueNames>, is_hexadecimal: bool) -> FieldClass {
    integer_of_bits(bits(length), signed, names, is_hexadecimal)
}

fn integer_of_bits(
    bits: BitField,
    signed: bool,
    names: Option<&ValueNames>,
    is_hexadecimal: bool,
) -> FieldClass {
    let length = bits.length;
    match names {
        Some(names) if names.are_flags => {
            let flags = names.names.iter().filter(|(mask, _)| mask.is_power_of_two());
            let flags = flags.map(|(mask, name)| (u64::from(mask.trailing_zeros()), &**name));
            FieldClass::new(FieldKind::BitMap { bits, flags: mappings(flags, length, false) })
        }
        _ => FieldClass::new(FieldKind::Integer {
            bits,
            integer: properties(length, signed, names, is_hexadecimal),
        }),
    }
}

fn properties(
    length: u64,
    signed: bool,
    names: Option<&ValueNames>,
    is_hexadecimal: bool,
) -> IntegerProperties {
    let names = names.filter(|names| !names.are_flags);
    let pairs = |names: &ValueNames| {
        let pairs = names.names.iter().map(|(value, name)| (*value, &**name));
        mappings(pairs, length, signed)
    };
    IntegerProperties {
        signed,
        preferred_base: if is_hexadecimal { DisplayBase::Hexadecimal } else { DisplayBase::Decimal },
        mappings: names.map(pairs),
        ..IntegerProperties::default()
    }
}

/// Returns the value mappings for an integer with `length` bits.
fn mappings<'n>(names: impl Iterator<Item = (u64, &'n str)>, length: u64, signed: bool) -> Mappings {
    let mut mappings = MappingsBuilder::default();
    for (value, name) in names {
        let shift = 64 - length.clamp(1, 64);
        let value = match signed {
            true => i128::from((value << shift) as i64 >> shift),
            false => i128::from(value << shift >> shift),
        };
        if mappings.add_name(name) {
            mappings.add_range(IntegerRange::single(value));
        }
    }
    mappings.finish()
}
