//! Event record classes for FXT records.

use std::borrow::Cow;
use std::sync::Arc;

use ichnos_model::class::{
    Attributes, BitField, ByteOrder, DataStreamClass, DisplayBase, EventRecordClass, FieldClass, FieldKind,
    FieldLocation, IntegerProperties, IntegerRange, Length, MappingsBuilder, Member, RangeSet,
    Value as Attribute, VariantOption,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::log::{LevelScale, LogRole, LogSeverity};
use ichnos_model::meaning::{CauseKind, EventRole, Meaning, Meanings};
use ichnos_model::{Scope, TraceClass};

use super::key::{RecordForm, RecordKind, read_arguments, read_name};
use crate::fxt::{BaseTime, Initialization, argument_kind as kind};

/// Dialect name, the same for all traces.
pub(crate) const DIALECT: &str = "FXT";

/// Namespace of the attributes that keep argument types.
pub(crate) const NAMESPACE: &str = "fuchsia.dev";

/// Clock description.
pub(crate) const CLOCK: &str = "ticks since the system was started";

/// Context member with the flow id of a flow event.
pub(crate) const FLOW_ID: &str = "flow_id";
/// Context member with the flow number of a flow event, which distinguishes flows with the same id.
pub(crate) const FLOW_NUMBER: &str = "flow_number";

/// Event record class attribute: event type, category and name, or the kind of another record.
const EVENT: &str = "event";
const CATEGORY: &str = "category";
const NAME: &str = "name";
const RECORD: &str = "record";

/// Trace attribute: number of records with reserved bits or with bytes after their known content.
const EXTENDED: &str = "extended-records";

/// Event types by number.
const EVENTS: [&str; 11] = [
    "instant",
    "counter",
    "duration_begin",
    "duration_end",
    "duration_complete",
    "async_begin",
    "async_instant",
    "async_end",
    "flow_begin",
    "flow_step",
    "flow_end",
];

/// Suffixes for event record class names, by event type.
const SUFFIXES: [&str; 11] = [
    "",
    "",
    ":begin",
    ":end",
    "",
    ":async_begin",
    ":async_instant",
    ":async_end",
    ":flow_begin",
    ":flow_step",
    ":flow_end",
];

/// Kernel object types (`ZX_OBJ_TYPE_...` constants in `zircon/types.h`).
const OBJECTS: &[(i128, &str)] = &[
    (0, "none"),
    (1, "process"),
    (2, "thread"),
    (3, "vmo"),
    (4, "channel"),
    (5, "event"),
    (6, "port"),
    (9, "interrupt"),
    (11, "pci_device"),
    (12, "debuglog"),
    (14, "socket"),
    (15, "resource"),
    (16, "eventpair"),
    (17, "job"),
    (18, "vmar"),
    (19, "fifo"),
    (20, "guest"),
    (21, "vcpu"),
    (22, "timer"),
    (23, "iommu"),
    (24, "bti"),
    (25, "profile"),
    (26, "pmt"),
    (27, "suspend_token"),
    (28, "pager"),
    (29, "exception"),
    (30, "clock"),
    (31, "stream"),
    (32, "msi"),
    (33, "iob"),
];

/// Thread states ("Thread States" of the document).
const STATES: &[(i128, &str)] =
    &[(0, "new"), (1, "running"), (2, "suspended"), (3, "blocked"), (4, "dying"), (5, "dead")];

/// BLOB types ("Blob types" of the document).
const BLOBS: &[(i128, &str)] = &[(1, "data"), (2, "last_branch"), (3, "perfetto")];

/// Scopes for instant events.
const SCOPES: &[(i128, &str)] = &[(0, "thread"), (1, "process"), (2, "global")];

/// Returns the clock class of a provider. `shared` is the common origin if the file has several clocks.
pub(crate) fn clock(id: String, clock: Initialization, shared: Option<&str>) -> ClockClass {
    let mut class = ClockClass::new(id, clock.ticks_per_second.max(1));
    class.name = Some(class.id.clone());
    class.description = Some(CLOCK.to_owned());
    if let Some(base) = clock.base {
        if set_base(&mut class, base) {
            class.origin = ClockOrigin::UnixEpoch;
        }
    } else if let Some(uid) = shared {
        let name = "boot".to_owned();
        class.origin = ClockOrigin::Named { namespace: None, name, uid: uid.to_owned() };
    }
    class
}

/// Sets the clock offset from 1970 so that the base ticks fall on the base time, as exactly as whole ticks allow.
/// Returns `false` and changes nothing if the offset is out of range.
fn set_base(clock: &mut ClockClass, base: BaseTime) -> bool {
    const BILLION: u128 = 1_000_000_000;
    let frequency = i128::from(clock.frequency);
    let product = u128::from(base.unix_nanoseconds) * u128::from(clock.frequency);
    // Ticks since 1970, rounded down: below 2^128 / 10^9.
    let since_1970 = (product / BILLION) as i128;
    let candidates = [0, 1].map(|more| {
        let offset = since_1970 + more - i128::from(base.ticks);
        let mut candidate = clock.clone();
        candidate.offset_seconds = i64::try_from(offset.div_euclid(frequency)).ok()?;
        candidate.offset_cycles = offset.rem_euclid(frequency) as u64;
        let error = candidate.nanoseconds(base.ticks) - i128::from(base.unix_nanoseconds);
        Some((error.unsigned_abs(), candidate))
    });
    let Some((_, best)) = candidates.into_iter().flatten().min_by_key(|(error, _)| *error) else {
        return false;
    };
    *clock = best;
    true
}

/// Returns the trace class before any event is read.
///
/// Each data stream class is given as a provider name and a clock index. `extended` is the number of records with
/// content that events do not carry.
pub(super) fn trace_class(
    clocks: Vec<ClockClass>,
    streams: Vec<(Option<&[u8]>, u16)>,
    extended: u64,
) -> TraceClass {
    let structure = |members: [Member; 2]| Some(Arc::new(FieldClass::structure(members)));
    let number = |name: &str| Member::new(name, FieldClass::optional(FieldClass::unsigned(64)));
    let text = |name: &str| Member::new(name, FieldClass::optional(FieldClass::string()));
    let common_context = structure([number("pid"), number("tid")]);
    let resource = structure([text("process_name"), text("thread_name")]);
    let streams = streams.into_iter().map(|(name, clock)| {
        let mut class = DataStreamClass {
            name: name.map(|name| String::from_utf8_lossy(name).into_owned()),
            default_clock: Some(clock),
            common_context: common_context.clone(),
            resource: resource.clone(),
            ..DataStreamClass::default()
        };
        if let Some(bytes) = name.and_then(exact_name) {
            class.attributes.set(NAMESPACE, Attribute::Map(vec![(NAME.to_owned(), bytes)]));
        }
        class
    });
    let mut class = TraceClass::new(DIALECT, clocks, streams);
    if extended > 0 {
        let count = (EXTENDED.to_owned(), Attribute::Integer(extended.into()));
        class.attributes.set(NAMESPACE, Attribute::Map(vec![count]));
    }
    class
}

/// Returns the number of records with content that events do not carry.
pub(crate) fn extended_records(class: &TraceClass) -> u64 {
    let count = class.attributes.get(NAMESPACE).and_then(|own| own.get(EXTENDED)?.as_integer());
    count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

/// Returns the provider name with its original bytes.
pub(crate) fn provider_name(class: &DataStreamClass) -> Option<Cow<'_, [u8]>> {
    let exact = class.attributes.get(NAMESPACE).and_then(|own| bytes_of_name(own.get(NAME)?));
    exact.or_else(|| class.name.as_deref().map(|name| Cow::Borrowed(name.as_bytes())))
}

/// Returns the attribute for a name with invalid UTF-8: its bytes. Class names must be UTF-8.
fn exact_name(name: &[u8]) -> Option<Attribute> {
    let bytes = || name.iter().map(|byte| Attribute::Integer((*byte).into())).collect();
    std::str::from_utf8(name).is_err().then(|| Attribute::Array(bytes()))
}

/// Returns the attribute for any name.
fn name_attribute(name: &[u8]) -> Attribute {
    exact_name(name).unwrap_or_else(|| Attribute::Text(String::from_utf8_lossy(name).into_owned()))
}

/// Returns the bytes of a name attribute.
fn bytes_of_name(attribute: &Attribute) -> Option<Cow<'_, [u8]>> {
    match attribute {
        Attribute::Text(text) => Some(Cow::Borrowed(text.as_bytes())),
        Attribute::Array(bytes) => {
            let bytes = bytes.iter().map(|byte| u8::try_from(byte.as_integer()?).ok());
            bytes.collect::<Option<_>>().map(Cow::Owned)
        }
        _ => None,
    }
}

// ---------------------------------------------------------------------------------------------
// Field classes

fn integer(length: u64, signed: bool, preferred_base: DisplayBase) -> FieldClass {
    let mut class = if signed { FieldClass::signed(length) } else { FieldClass::unsigned(length) };
    if let FieldKind::Integer { integer, .. } = &mut class.kind {
        *integer = IntegerProperties { signed, preferred_base, ..IntegerProperties::default() };
    }
    class
}

fn unsigned(length: u64) -> FieldClass {
    FieldClass::unsigned(length)
}

fn hexadecimal(length: u64) -> FieldClass {
    integer(length, false, DisplayBase::Hexadecimal)
}

fn enumeration(length: u64, names: &[(i128, &str)]) -> FieldClass {
    let mut mappings = MappingsBuilder::default();
    for (value, name) in names {
        if mappings.add_name(name) {
            mappings.add_range(IntegerRange::single(*value));
        }
    }
    let mut class = FieldClass::unsigned(length);
    if let FieldKind::Integer { integer, .. } = &mut class.kind {
        integer.mappings = Some(mappings.finish());
    }
    class
}

fn blob(length: FieldLocation) -> FieldClass {
    let length = Length::Dynamic(Box::new(length));
    let media_type = "application/octet-stream".to_owned();
    FieldClass::new(FieldKind::Blob { length, media_type, alignment: 8 })
}

fn blob_of_values() -> FieldClass {
    blob(FieldLocation::by_values())
}

fn boolean() -> FieldClass {
    let bits = BitField::new(8, ByteOrder::LittleEndian, 8);
    FieldClass::new(FieldKind::Boolean(bits))
}

/// Returns the field class for an argument type. An attribute keeps the type where several types look the same.
fn argument_class(argument: u8) -> FieldClass {
    let typed = |mut class: FieldClass, name: Attribute| {
        set_own(&mut class.attributes, TYPE, name);
        class
    };
    match argument {
        kind::NULL => FieldClass::new(FieldKind::Null { alignment: 1 }),
        kind::INT32 => FieldClass::signed(32),
        kind::UINT32 => unsigned(32),
        kind::INT64 => FieldClass::signed(64),
        kind::UINT64 => unsigned(64),
        kind::DOUBLE => FieldClass::float(64),
        kind::STRING => FieldClass::string(),
        kind::POINTER => typed(hexadecimal(64), Attribute::Text(POINTER.to_owned())),
        kind::KOID => typed(unsigned(64), Attribute::Text(KOID.to_owned())),
        kind::BOOLEAN => boolean(),
        kind::BLOB => blob_of_values(),
        other => typed(blob_of_values(), Attribute::Integer(other.into())),
    }
}

/// Adds an attribute to [`NAMESPACE`].
fn set_own(attributes: &mut Attributes, key: &str, value: Attribute) {
    let mut own = match attributes.remove(NAMESPACE) {
        Some(Attribute::Map(own)) => own,
        _ => Vec::new(),
    };
    own.push((key.to_owned(), value));
    attributes.set(NAMESPACE, Attribute::Map(own));
}

/// Attribute with the argument type: [`POINTER`], [`KOID`], or the number of an unknown type.
const TYPE: &str = "argument-type";
const POINTER: &str = "pointer";
const KOID: &str = "koid";

/// Number of value options in [`any_arguments`], by argument type. The last option is for all other types.
const OPTIONS: u8 = 12;

/// Returns the option for an argument type in [`any_arguments`].
pub(super) fn option_of(argument: u8) -> usize {
    argument.min(OPTIONS - 1).into()
}

/// Returns the class for the arguments of records beyond the class limit: an array of values.
fn any_arguments() -> FieldClass {
    const NAMES: [&str; OPTIONS as usize] = [
        "null", "int32", "uint32", "int64", "uint64", "double", "string", "pointer", "koid", "boolean",
        "blob", "unknown",
    ];
    let options = NAMES.iter().zip(0..).map(|(name, number)| VariantOption {
        name: Some((*name).to_owned()),
        class: Arc::new(argument_class(number)),
        ranges: RangeSet(vec![IntegerRange::single(number.into())]),
        attributes: Attributes::default(),
    });
    let selector = Box::new(FieldLocation::by_values());
    let value = FieldKind::Variant { options: options.collect(), selector, alignment: 1 };
    let element = [Member::new("name", FieldClass::string()), Member::new("value", FieldClass::new(value))];
    FieldClass::new(FieldKind::Array {
        element: Arc::new(FieldClass::structure(element)),
        length: Length::Dynamic(Box::new(FieldLocation::by_values())),
        minimum_alignment: 8,
        element_aligns: true,
    })
}

// ---------------------------------------------------------------------------------------------
// Event record classes

/// Members of a scope, and their meanings.
struct MemberList {
    scope: Scope,
    list: Vec<Member>,
    meanings: Vec<(usize, Meaning)>,
}

impl MemberList {
    fn new(scope: Scope) -> Self {
        Self { scope, list: Vec::new(), meanings: Vec::new() }
    }

    fn add(&mut self, name: &str, class: FieldClass) -> &mut Self {
        self.list.push(Member::new(name, class));
        self
    }

    fn meaning(&mut self, name: &str, class: FieldClass, meaning: Meaning) -> &mut Self {
        self.meanings.push((self.list.len(), meaning));
        self.add(name, class)
    }

    fn finish(self, meanings: &mut Meanings) -> Option<Arc<FieldClass>> {
        for (index, meaning) in self.meanings {
            meanings.insert(self.scope, index, meaning);
        }
        (!self.list.is_empty()).then(|| Arc::new(FieldClass::structure(self.list)))
    }
}

/// Names in a class key.
struct ClassNames {
    namespace: Option<String>,
    name: String,
    attributes: Attributes,
}

impl ClassNames {
    /// Reads the names in a key after the form, if there are any.
    fn read(form: RecordForm, rest: &mut &[u8]) -> Self {
        let entry = |key: &str, value| (key.to_owned(), value);
        let text = |key: &str, text: &str| entry(key, Attribute::Text(text.to_owned()));
        let mut attributes = Attributes::default();
        if form.kind != RecordKind::Event || form.is_any {
            let name = form.kind.name();
            attributes.set(NAMESPACE, Attribute::Map(vec![text(RECORD, name)]));
            return Self { namespace: None, name: name.to_owned(), attributes };
        }
        // Keys are written by this module, so both names are present.
        let mut name = || read_name(rest).unwrap_or_default();
        let (category, name) = (name(), name());
        // Forms only exist for known event types.
        let kind = EVENTS.get(usize::from(form.event)).copied().unwrap_or_default();
        let names = [entry(CATEGORY, name_attribute(category)), entry(NAME, name_attribute(name))];
        let own = std::iter::once(text(EVENT, kind)).chain(names).collect();
        let [category, name] = [category, name].map(|name| String::from_utf8_lossy(name).into_owned());
        attributes.set(NAMESPACE, Attribute::Map(own));
        let full = event_name(&category, &name, form.event);
        Self { namespace: Some(category).filter(|category| !category.is_empty()), name: full, attributes }
    }
}

/// Returns the class of records with this key.
pub(super) fn class_of(key: &[u8]) -> EventRecordClass {
    let Some((form, mut rest)) = RecordForm::read(key) else { return EventRecordClass::default() };
    let mut meanings = Meanings::default();
    meanings.insert(Scope::CommonContext, 0, Meaning::Process);
    meanings.insert(Scope::CommonContext, 1, Meaning::Thread);
    meanings.insert(Scope::Resource, 0, Meaning::ProcessName);
    meanings.insert(Scope::Resource, 1, Meaning::ThreadName);
    let ClassNames { namespace, name, attributes } = ClassNames::read(form, &mut rest);
    let mut context = MemberList::new(Scope::SpecificContext);
    add_context(&mut context, form);
    let mut payload = MemberList::new(Scope::Payload);
    add_payload(&mut payload, form);
    match form.kind {
        RecordKind::LargeBlob => {
            let arguments = match form.is_any {
                true => any_arguments(),
                false => FieldClass::structure(argument_members(rest)),
            };
            context.add("arguments", arguments);
        }
        RecordKind::Event
        | RecordKind::UserspaceObject
        | RecordKind::KernelObject
        | RecordKind::Switch
        | RecordKind::Wakeup => {
            if form.is_any {
                payload.add("arguments", any_arguments());
            } else {
                payload.list.extend(argument_members(rest));
            }
        }
        _ => {}
    }
    let is_counter = form.kind == RecordKind::Event && form.event == 1;
    if is_counter && !form.is_any {
        let values = payload.list.iter().enumerate().filter(|(_, member)| is_number(&member.class));
        payload.meanings.extend(values.map(|(index, _)| (index, Meaning::CounterValue)));
    }
    EventRecordClass {
        id: EventRecordClass::id_from_key(key),
        namespace,
        name: Some(name),
        role: role(form),
        specific_context: context.finish(&mut meanings),
        payload: payload.finish(&mut meanings),
        meanings,
        log: (form.kind == RecordKind::Log)
            .then(|| Arc::new(LogRole::new(LogSeverity::Unknown, LevelScale(&[])))),
        attributes,
        ..EventRecordClass::default()
    }
}

fn argument_members(key: &[u8]) -> Vec<Member> {
    let member = |(kind, name): (u8, &[u8])| {
        let mut class = argument_class(kind);
        if let Some(bytes) = exact_name(name) {
            set_own(&mut class.attributes, NAME, bytes);
        }
        Member::new(String::from_utf8_lossy(name), class)
    };
    read_arguments(key).map(member).collect()
}

fn is_number(class: &FieldClass) -> bool {
    matches!(class.kind, FieldKind::Integer { .. } | FieldKind::Float(_))
}

/// Returns an event record class name from category, name and event type.
pub(crate) fn event_name(category: &str, name: &str, event: u8) -> String {
    // Other types lack a suffix.
    let suffix = SUFFIXES.get(usize::from(event)).copied().unwrap_or_default();
    let colon = if category.is_empty() { "" } else { ":" };
    format!("{category}{colon}{name}{suffix}")
}

/// Record form with the category and name of its events.
type NamedForm<'c> = (RecordForm, Cow<'c, [u8]>, Cow<'c, [u8]>);

/// Returns the record form, category and name for a class that this crate created.
pub(crate) fn form_of(class: &EventRecordClass) -> Option<NamedForm<'_>> {
    let own = class.attributes.get(NAMESPACE)?;
    let text = |name: &str| own.get(name).and_then(Attribute::as_text);
    let has = |scope: &Option<Arc<FieldClass>>, name: &str| {
        // A scope without a class has no members.
        let members = scope.as_deref().and_then(FieldClass::members).unwrap_or_default();
        members.iter().any(|member| member.name == name)
    };
    if let Some(kind) = text(EVENT) {
        let event = (0..).zip(EVENTS).find(|(_, name)| *name == kind)?.0;
        let has_scope = event == 0 && has(&class.specific_context, "scope");
        let form = RecordForm { event, has_scope, ..RecordForm::new(RecordKind::Event) };
        let name = |name: &str| bytes_of_name(own.get(name)?);
        return Some((form, name(CATEGORY)?, name(NAME)?));
    }
    let name = text(RECORD)?;
    let all = RecordKind::ALL.into_iter().filter(|kind| kind.name() == name);
    let kind = match all.collect::<Vec<_>>()[..] {
        [kind] => kind,
        // Two forms share this name and differ in one member.
        [RecordKind::LargeBlob, bare] => match has(&class.specific_context, "arguments") {
            true => RecordKind::LargeBlob,
            false => bare,
        },
        [RecordKind::Unknown, large] => match has(&class.payload, "record") {
            true => RecordKind::Unknown,
            false => large,
        },
        _ => return None,
    };
    // Only records beyond the class limit have an array of arguments.
    let is_any = kind == RecordKind::Event || {
        let scope = if kind == RecordKind::LargeBlob { &class.specific_context } else { &class.payload };
        let members = scope.as_deref().and_then(FieldClass::members).unwrap_or_default();
        let arguments = members.last().filter(|member| member.name == "arguments");
        arguments.is_some_and(|member| matches!(member.class.kind, FieldKind::Array { .. }))
    };
    Some((RecordForm { is_any, ..RecordForm::new(kind) }, Cow::default(), Cow::default()))
}

/// Returns the original argument name for a member.
pub(crate) fn argument_name_of(member: &Member) -> Cow<'_, [u8]> {
    let own = member.class.attributes.get(NAMESPACE);
    let exact = own.and_then(|own| bytes_of_name(own.get(NAME)?));
    exact.unwrap_or(Cow::Borrowed(member.name.as_bytes()))
}

/// Returns the argument type that has this field class, or `None`.
pub(crate) fn argument_kind_of(class: &FieldClass) -> Option<u8> {
    let own = class.attributes.get(NAMESPACE).and_then(|own| own.get(TYPE));
    match own {
        Some(Attribute::Integer(kind)) => return u8::try_from(*kind).ok().filter(|kind| *kind <= 15),
        Some(Attribute::Text(name)) if name == POINTER => return Some(kind::POINTER),
        Some(Attribute::Text(name)) if name == KOID => return Some(kind::KOID),
        _ => {}
    }
    Some(match &class.kind {
        FieldKind::Null { .. } => kind::NULL,
        FieldKind::Integer { bits, integer } if bits.length <= 32 => match integer.signed {
            true => kind::INT32,
            false => kind::UINT32,
        },
        FieldKind::Integer { bits, integer } if bits.length <= 64 => match integer.signed {
            true => kind::INT64,
            false => kind::UINT64,
        },
        FieldKind::Float(_) => kind::DOUBLE,
        FieldKind::String { .. } => kind::STRING,
        FieldKind::Boolean(_) => kind::BOOLEAN,
        FieldKind::Blob { .. } => kind::BLOB,
        _ => return None,
    })
}

fn role(form: RecordForm) -> EventRole {
    match (form.kind, form.event) {
        (RecordKind::Backtrace, _) => EventRole::Sample,
        (RecordKind::Event, 1) => EventRole::Counter,
        (RecordKind::Event, 2 | 5) => EventRole::Begin,
        (RecordKind::Event, 3 | 7) => EventRole::End,
        (RecordKind::Switch | RecordKind::LegacySwitch, _) => EventRole::Switch,
        (RecordKind::Wakeup, _) => EventRole::Wakeup,
        _ => EventRole::Instant,
    }
}

/// Adds the specific context members: all record content except names, threads and arguments.
fn add_context(context: &mut MemberList, form: RecordForm) {
    match form.kind {
        RecordKind::Event => {
            match form.event {
                0 if form.has_scope => context.add("scope", enumeration(64, SCOPES)),
                1 => context.meaning("counter_id", unsigned(64), Meaning::PairKey),
                4 => context.meaning("duration", FieldClass::signed(64), Meaning::Duration),
                5..=7 => context.meaning("async_id", unsigned(64), Meaning::PairKey),
                8 => context.meaning(FLOW_ID, unsigned(64), Meaning::OperationId).meaning(
                    FLOW_NUMBER,
                    FieldClass::optional(unsigned(64)),
                    Meaning::ChainId,
                ),
                9 | 10 => context
                    .meaning(FLOW_ID, unsigned(64), Meaning::Cause(CauseKind::Predecessor))
                    .meaning("operation", FieldClass::string(), Meaning::OperationId)
                    .meaning(FLOW_NUMBER, FieldClass::optional(unsigned(64)), Meaning::ChainId),
                _ => context,
            };
            if form.is_any {
                let types: Vec<_> = (0..).zip(EVENTS).collect();
                context.add("type", enumeration(8, &types));
                context.add("category", FieldClass::string()).add("name", FieldClass::string());
            }
        }
        RecordKind::UserspaceObject => {
            context.add("pointer", hexadecimal(64)).add("name", FieldClass::string());
        }
        RecordKind::KernelObject => {
            context.add("koid", unsigned(64)).add("type", enumeration(8, OBJECTS));
            context.add("name", FieldClass::string());
        }
        RecordKind::Switch => {
            context.meaning("cpu", unsigned(16), Meaning::Processor);
            context.meaning("outgoing_tid", unsigned(64), Meaning::PreviousThread);
            context.meaning("outgoing_state", enumeration(8, STATES), Meaning::PreviousState);
        }
        RecordKind::Wakeup => {
            context.meaning("cpu", unsigned(16), Meaning::Processor);
        }
        RecordKind::LargeBlob | RecordKind::BareLargeBlob => {
            context.add("category", FieldClass::string()).add("name", FieldClass::string());
        }
        _ => {}
    }
}

/// Adds the payload members, except the arguments.
fn add_payload(payload: &mut MemberList, form: RecordForm) {
    match form.kind {
        RecordKind::Blob => {
            payload.add("name", FieldClass::string()).add("type", enumeration(8, BLOBS));
            payload.add("data", blob_of_values());
        }
        RecordKind::LegacySwitch => {
            payload.meaning("cpu", unsigned(8), Meaning::Processor);
            payload.add("outgoing_pid", unsigned(64));
            payload.meaning("outgoing_tid", unsigned(64), Meaning::PreviousThread);
            payload.meaning("outgoing_state", enumeration(8, STATES), Meaning::PreviousState);
            payload.add("outgoing_priority", unsigned(8)).add("incoming_priority", unsigned(8));
        }
        RecordKind::Log => {
            payload.meaning("message", FieldClass::string(), Meaning::Message);
        }
        RecordKind::Module => {
            payload.add("module_id", unsigned(16)).add("name", FieldClass::string());
            payload.add("build_id", blob_of_values());
        }
        RecordKind::Mapping => {
            payload.add("module_id", unsigned(16)).add("flags", hexadecimal(8));
            payload.add("begin", hexadecimal(64)).add("size", unsigned(64));
            payload.add("module_address", hexadecimal(64));
        }
        RecordKind::Backtrace => {
            payload.meaning("stack", FieldClass::optional(unsigned(32)), Meaning::Stack);
            payload.add("flags", hexadecimal(32));
        }
        RecordKind::LargeBlob | RecordKind::BareLargeBlob => {
            // Bits avoid a copy of the data.
            let size = FieldLocation {
                origin: None,
                ..FieldLocation::absolute(Scope::Payload, ["size".to_owned()])
            };
            payload.add("size", unsigned(64)).add("data", blob(size));
        }
        RecordKind::Unknown => {
            payload.add("type", unsigned(8)).add("record", blob_of_values());
        }
        RecordKind::LargeUnknown => {
            payload.add("type", unsigned(8)).add("header", hexadecimal(64)).add("bytes", unsigned(64));
        }
        _ => {}
    }
}
