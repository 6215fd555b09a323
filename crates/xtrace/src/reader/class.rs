//! Event record classes for reports.

use std::sync::{Arc, LazyLock};

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, DisplayBase, EventRecordClass, FieldClass, FieldKind,
    IntegerProperties, Member,
};
use ichnos_model::clock::{ClockClass, ClockOffsets};
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText};
use ichnos_model::meaning::{CauseKind, EventDisplay, Meaning, Meanings};
use ichnos_model::{Scope, TraceClass};

use super::log_text;

/// Role of a line in the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRole {
    Metadata,
    Edge,
    Timestamp,
    Chain,
    Process,
    Thread,
    Severity,
    /// The three keys in JSON without metadata.
    TaskId,
    EventId,
    ParentEventId,
    Other,
}

impl LineRole {
    /// Returns the role for a key.
    pub(crate) fn from_key(key: &[u8]) -> Self {
        match key {
            b"X-Trace" => Self::Metadata,
            b"Edge" => Self::Edge,
            b"Timestamp" => Self::Timestamp,
            b"ChainId" => Self::Chain,
            b"ProcessID" => Self::Process,
            b"ThreadID" => Self::Thread,
            b"Severity" => Self::Severity,
            b"TaskID" => Self::TaskId,
            b"EventID" => Self::EventId,
            b"ParentEventID" => Self::ParentEventId,
            _ => Self::Other,
        }
    }
}

/// Returns `true` if the lines of a key always form an array, even a single line.
pub(super) fn is_list(key: &[u8]) -> bool {
    matches!(key, b"Edge" | b"Option" | b"Tag" | b"ParentEventID")
}

/// Dialect of traces read from reports.
pub(crate) const DIALECT: &str = "X-Trace Report 1.0";
/// Class name for all reports.
pub(crate) const CLASS_NAME: &str = "report";
/// Payload member for reports beyond the class limit: an array of structures with these two members.
pub(crate) const ANY_MEMBER: &str = "lines";

/// Syslog levels, where 0 is the most important.
pub(crate) const SCALE: LevelScale = LevelScale(&[
    LevelStep::new(2, LogLevel::Fatal),
    LevelStep::new(3, LogLevel::Error),
    LevelStep::new(4, LogLevel::Warn),
    LevelStep::new(6, LogLevel::Info),
    LevelStep::new(7, LogLevel::Debug),
    LevelStep { up_to: i64::MAX, level: LogLevel::Trace, exact: None },
]);

/// Clock description.
pub(crate) const CLOCK: &str = "key Timestamp: nanoseconds since 1970";

/// Returns the trace class before reading, or `None` if the clock offset does not fit.
pub(super) fn trace_class(clock_offsets: &ClockOffsets) -> Option<TraceClass> {
    let mut clock = ClockClass::since_unix_epoch("timestamp");
    clock.name = Some("timestamp".to_owned());
    clock.description = Some(CLOCK.to_owned());
    let offset = clock_offsets.for_clock(&clock);
    if i64::try_from(offset).is_err() || !clock.add_offset(offset) {
        return None;
    }
    let stream = DataStreamClass {
        default_clock: Some(0),
        common_context: Some(Arc::new(common_context())),
        ..DataStreamClass::default()
    };
    Some(TraceClass::new(DIALECT, [clock], [stream]))
}

/// Returns the common context class, with metadata and edges.
fn common_context() -> FieldClass {
    let text = || FieldClass::optional(FieldClass::string());
    let texts = || FieldClass::optional(FieldClass::array_by_values(FieldClass::string()));
    let chain =
        IntegerProperties { preferred_base: DisplayBase::Hexadecimal, ..IntegerProperties::default() };
    let bits = BitField::new(16, ByteOrder::LittleEndian, 8);
    let chain = FieldClass::new(FieldKind::Integer { bits, integer: chain });
    let chains = FieldClass::optional(FieldClass::array_by_values(FieldClass::signed(32)));
    FieldClass::structure([
        Member::new("task_id", text()),
        Member::new("operation_id", text()),
        Member::new("parents", texts()),
        Member::new("predecessors", texts()),
        Member::new("returns", texts()),
        Member::new("chain_id", FieldClass::optional(chain)),
        Member::new("cause_chains", chains),
        Member::new("metadata_version", FieldClass::optional(FieldClass::unsigned(8))),
        Member::new("metadata_options", texts()),
        Member::new("metadata_padding", FieldClass::optional(FieldClass::unsigned(8))),
    ])
}

/// Inserts the meanings of [`common_context`] members.
fn insert_common_meanings(meanings: &mut Meanings) {
    let all = [
        Meaning::TaskId,
        Meaning::OperationId,
        Meaning::Cause(CauseKind::Parent),
        Meaning::Cause(CauseKind::Predecessor),
        Meaning::Cause(CauseKind::Return),
        Meaning::ChainId,
        Meaning::CauseChain,
    ];
    for (index, meaning) in all.into_iter().enumerate() {
        meanings.insert(Scope::CommonContext, index, meaning);
    }
}

/// Class key for reports beyond the class limit, which differs from all key lists.
pub(super) const ANY_KEY: &[u8] = &[0xff];

/// A report key within a class key.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportKey<'k> {
    pub(super) name: &'k [u8],
    /// `true` if its lines form an array.
    pub(super) is_array: bool,
}

/// Appends a report key to a class key.
pub(super) fn push_key(key: &mut Vec<u8>, ReportKey { name, is_array }: ReportKey<'_>) {
    key.push(u8::from(is_array));
    key.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
    key.extend_from_slice(name);
}

/// Returns the report keys in a class key.
fn keys(mut key: &[u8]) -> impl Iterator<Item = ReportKey<'_>> + Clone {
    std::iter::from_fn(move || {
        let (&[is_array, a, b, c, d], rest) = key.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize)?;
        key = rest;
        Some(ReportKey { name, is_array: is_array == 1 })
    })
}

/// Returns the specific context numbers for a report with these keys, in order.
pub(super) fn numbers<'k>(
    keys: impl Iterator<Item = ReportKey<'k>> + Clone,
) -> impl Iterator<Item = LineRole> {
    let has = move |role: LineRole| keys.clone().any(|key| LineRole::from_key(key.name) == role);
    [LineRole::Process, LineRole::Thread, LineRole::Severity].into_iter().filter(move |role| has(*role))
}

/// Returns the name and meaning of a specific context number.
fn number(role: LineRole) -> (&'static str, Meaning) {
    match role {
        LineRole::Process => ("process_id", Meaning::Process),
        LineRole::Thread => ("thread_id", Meaning::Thread),
        _ => ("severity", Meaning::Severity),
    }
}

/// Returns the class for a key from [`push_key`], or for [`ANY_KEY`].
pub(super) fn class_of(key: &[u8]) -> EventRecordClass {
    let mut meanings = Meanings::default();
    insert_common_meanings(&mut meanings);
    let mut role = LogRole::new(LogSeverity::Unknown, SCALE);
    let is_any = key == ANY_KEY;
    let all = [LineRole::Process, LineRole::Thread, LineRole::Severity];
    let of_key = numbers(keys(key)).collect::<Vec<_>>();
    let mut context = Vec::new();
    for number_role in all.into_iter().filter(|role| is_any || of_key.contains(role)) {
        let (name, meaning) = number(number_role);
        meanings.insert(Scope::SpecificContext, context.len(), meaning);
        context.push(Member::new(name, FieldClass::optional(FieldClass::unsigned(64))));
        if meaning == Meaning::Severity {
            role.severity = LogSeverity::Member;
        }
    }
    let mut members = Vec::new();
    let mut display = None;
    if is_any {
        let text = || FieldClass::string();
        let line = FieldClass::structure([Member::new("key", text()), Member::new("value", text())]);
        meanings.insert(Scope::Payload, 0, Meaning::Rendered);
        members.push(Member::new(ANY_MEMBER, FieldClass::array_by_values(line)));
        role.text = Some(LogText { write: log_text::write });
    } else {
        // All members of a kind share a class.
        static TEXT: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::string()));
        static TEXTS: LazyLock<Arc<FieldClass>> =
            LazyLock::new(|| Arc::new(FieldClass::array_by_values(FieldClass::string())));
        let message = [&b"Label"[..], b"Operation", b"Title"]
            .into_iter()
            .find(|name| keys(key).any(|key| key.name == *name && !key.is_array));
        // Viewers name reports by it.
        let name = message.and_then(|message| std::str::from_utf8(message).ok());
        let name = name.map(|name| Some(format!("payload.{name}")));
        display = name.map(|name_field| Arc::new(EventDisplay { name_field, ..EventDisplay::default() }));
        for key in keys(key) {
            if let Some(meaning) = meaning_of(key, message) {
                meanings.insert(Scope::Payload, members.len(), meaning);
            }
            let class = if key.is_array { &TEXTS } else { &TEXT };
            members.push(Member::new(String::from_utf8_lossy(key.name), Arc::clone(class)));
        }
    }
    let structure = |members: Vec<Member>| Arc::new(FieldClass::structure(members));
    EventRecordClass {
        id: EventRecordClass::id_from_key(key),
        name: Some(CLASS_NAME.to_owned()),
        specific_context: Some(context).filter(|context| !context.is_empty()).map(structure),
        payload: Some(structure(members)),
        meanings,
        log: Some(Arc::new(role)),
        display,
        ..EventRecordClass::default()
    }
}

/// Returns the meaning of the lines of a key. `message` is the message key.
fn meaning_of(key: ReportKey<'_>, message: Option<&[u8]>) -> Option<Meaning> {
    // The contexts contain these.
    if LineRole::from_key(key.name) != LineRole::Other {
        return Some(Meaning::Rendered);
    }
    match key.name {
        b"Tag" => return Some(Meaning::Tag),
        b"Title" if message != Some(key.name) => return Some(Meaning::TaskTitle),
        _ if key.is_array => return None,
        _ => {}
    }
    Some(match key.name {
        name if Some(name) == message => Meaning::Message,
        b"Host" => Meaning::Machine,
        b"Agent" => Meaning::Component,
        b"Class" => Meaning::Tag,
        b"ProcessName" => Meaning::ProcessName,
        b"ThreadName" => Meaning::Thread,
        b"Source" => Meaning::File,
        _ => return None,
    })
}
