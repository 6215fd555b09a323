//! Classes of reports.

use std::sync::{Arc, LazyLock};

use ichnos_model::{
    BitField, ByteOrder, CauseKind, ClockClass, ClockOffsets, DataStreamClass, DisplayBase, EventDisplay,
    EventRecordClass, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, LevelScale, LevelStep,
    LogLevel, LogRole, LogSeverity, LogText, Meaning, Meanings, Member, Scope, TraceClass,
};

use super::log_text;

/// Meaning of a line beyond its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRole {
    Metadata,
    Edge,
    Timestamp,
    Chain,
    Process,
    Thread,
    Severity,
    /// The three keys of JSON without metadata.
    TaskId,
    EventId,
    ParentEventId,
    Other,
}

impl LineRole {
    /// Returns the role of lines with a key.
    pub(crate) fn of(key: &[u8]) -> Self {
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

/// Returns `true` if lines of a key are an array in all classes, even a single one.
pub(super) fn is_list(key: &[u8]) -> bool {
    matches!(key, b"Edge" | b"Option" | b"Tag" | b"ParentEventID")
}

/// Dialect of traces that are read from reports.
pub(crate) const DIALECT: &str = "X-Trace Report 1.0";
/// Name of all classes of reports.
pub(crate) const CLASS_NAME: &str = "report";
/// Payload of reports beyond the limit of classes: an array of structures of these two members.
pub(crate) const ANY_MEMBER: &str = "lines";

/// Levels of syslog: 0 is the most important.
pub(crate) const SCALE: LevelScale = LevelScale(&[
    LevelStep::new(2, LogLevel::Fatal),
    LevelStep::new(3, LogLevel::Error),
    LevelStep::new(4, LogLevel::Warn),
    LevelStep::new(6, LogLevel::Info),
    LevelStep::new(7, LogLevel::Debug),
    LevelStep { up_to: i64::MAX, level: LogLevel::Trace, exact: None },
]);

/// Description of the clock.
pub(crate) const CLOCK: &str = "key Timestamp: nanoseconds since 1970";

/// Returns the class of a trace before anything is read, or `None` if the clock offset does not fit.
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

/// Returns the class of the common context: data of the metadata and the edges.
fn common_context() -> FieldClass {
    let text = || FieldClass::optional(FieldClass::string());
    let texts = || FieldClass::optional(array_of_values(FieldClass::string()));
    let chain =
        IntegerProperties { preferred_base: DisplayBase::Hexadecimal, ..IntegerProperties::default() };
    let bits = BitField::new(16, ByteOrder::LittleEndian, 8);
    let chain = FieldClass::new(FieldKind::Integer { bits, integer: chain });
    let chains = FieldClass::optional(array_of_values(FieldClass::signed(32)));
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

/// Inserts the meanings of the members of [`common_context`].
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

/// Returns an array in a scope of values, which contain the number of its elements.
fn array_of_values(element: FieldClass) -> FieldClass {
    FieldClass::new(FieldKind::Array {
        element: Arc::new(element),
        length: Length::Dynamic(Box::new(FieldLocation::by_values())),
        minimum_alignment: 8,
        element_aligns: true,
    })
}

/// Key of the class of reports beyond the limit of classes, which is never a list of keys.
pub(super) const ANY_KEY: &[u8] = &[0xff];

/// A report's key within the key of its class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'k> {
    pub(super) name: &'k [u8],
    /// `true` if its lines are an array.
    pub(super) is_array: bool,
}

/// Appends a report's key to the key of its class.
pub(super) fn push_key(key: &mut Vec<u8>, Key { name, is_array }: Key<'_>) {
    key.push(u8::from(is_array));
    key.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
    key.extend_from_slice(name);
}

/// Returns the report's keys within the key of a class.
fn keys(mut key: &[u8]) -> impl Iterator<Item = Key<'_>> + Clone {
    std::iter::from_fn(move || {
        let (&[is_array, a, b, c, d], rest) = key.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize)?;
        key = rest;
        Some(Key { name, is_array: is_array == 1 })
    })
}

/// Returns the numbers in the specific context of a report with these keys, in order.
pub(super) fn numbers<'k>(keys: impl Iterator<Item = Key<'k>> + Clone) -> impl Iterator<Item = LineRole> {
    let has = move |role: LineRole| keys.clone().any(|key| LineRole::of(key.name) == role);
    [LineRole::Process, LineRole::Thread, LineRole::Severity].into_iter().filter(move |role| has(*role))
}

/// Returns the name and meaning of a number in the specific context.
fn number(role: LineRole) -> (&'static str, Meaning) {
    match role {
        LineRole::Process => ("process_id", Meaning::Process),
        LineRole::Thread => ("thread_id", Meaning::Thread),
        _ => ("severity", Meaning::Severity),
    }
}

/// Returns the class of reports with a key written by [`push_key`], or with [`ANY_KEY`].
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
        members.push(Member::new(ANY_MEMBER, array_of_values(line)));
        role.text = Some(LogText { write: log_text::write });
    } else {
        // All members of a kind share a class.
        static TEXT: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::string()));
        static TEXTS: LazyLock<Arc<FieldClass>> =
            LazyLock::new(|| Arc::new(array_of_values(FieldClass::string())));
        let message = [&b"Label"[..], b"Operation", b"Title"]
            .into_iter()
            .find(|name| keys(key).any(|key| key.name == *name && !key.is_array));
        // Viewers call reports by it.
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
        id: id_of(key).into(),
        name: Some(CLASS_NAME.to_owned()),
        specific_context: Some(context).filter(|context| !context.is_empty()).map(structure),
        payload: Some(structure(members)),
        meanings,
        log: Some(Arc::new(role)),
        display,
        ..EventRecordClass::default()
    }
}

/// Returns the meaning of lines of a key; `message` is the key of the message.
fn meaning_of(key: Key<'_>, message: Option<&[u8]>) -> Option<Meaning> {
    // These are in the contexts.
    if LineRole::of(key.name) != LineRole::Other {
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

/// Returns the id of a class, which only depends on its key, so that it is the same in every file: the hash
/// FNV-1a, of which 48 bits are kept.
fn id_of(key: &[u8]) -> u64 {
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 48) & 0xffff_ffff_ffff
}
