//! Trace classes and event record classes.

use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, DynamicClass, EventRecordClass, FieldClass, Member};
use ichnos_model::clock::{ClockClass, ClockOffsets};
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity};
use ichnos_model::meaning::{CauseKind, EventDisplay, EventRole, Meaning, Meanings};
use ichnos_model::telemetry::{ElementRole, element_field};
use ichnos_model::{DataStream, Scope, TraceClass};

use crate::draft::{DraftKind, EventDraft};
use crate::origin::{InstrumentationScope, Resource};
use crate::shape::{AnyShape, push_key_text};

/// Name of the format.
pub(crate) const NAME: &str = "otlp";

/// Dialect of traces that were read from requests.
pub(crate) const DIALECT: &str = "OTLP 1";

/// OpenTelemetry's severity numbers.
const SCALE: LevelScale = LevelScale(&[
    step(4, LogLevel::Trace),
    step(8, LogLevel::Debug),
    step(12, LogLevel::Info),
    step(16, LogLevel::Warn),
    step(20, LogLevel::Error),
    step(24, LogLevel::Fatal),
]);

const fn step(up_to: i64, level: LogLevel) -> LevelStep {
    LevelStep { up_to, level, exact: Some(up_to - 3) }
}

/// Creates a trace class with a data stream class for each resource. `None` if the clock offset does not fit.
pub(crate) fn trace_class<'r>(
    resources: impl IntoIterator<Item = &'r Resource>,
    clock_offsets: &ClockOffsets,
) -> Option<TraceClass> {
    let mut clock = ClockClass::since_unix_epoch("time");
    clock.name = Some("time".to_owned());
    clock.description = Some("nanoseconds since 1970".to_owned());
    let offset = clock_offsets.for_clock(&clock);
    if i64::try_from(offset).is_err() || !clock.add_offset(offset) {
        return None;
    }
    let common = Arc::new(common_context());
    let stream = |resource: &Resource| DataStreamClass {
        default_clock: Some(0),
        common_context: Some(Arc::clone(&common)),
        resource: resource.attributes.class().map(Arc::new),
        ..DataStreamClass::default()
    };
    Some(TraceClass::new(DIALECT, [clock], resources.into_iter().map(stream)))
}

/// Returns the class of the identifiers.
fn common_context() -> FieldClass {
    let text = || FieldClass::optional(FieldClass::string());
    let texts = FieldClass::optional(FieldClass::array_by_values(FieldClass::string()));
    FieldClass::structure([
        Member::new("trace_id", text()),
        Member::new("span_id", text()),
        Member::new("parent_span_id", text()),
        Member::new("linked_span_ids", texts),
    ])
}

/// Meanings of the identifiers.
const ID_MEANINGS: [Meaning; 4] = [
    Meaning::TaskId,
    Meaning::OperationId,
    Meaning::Cause(CauseKind::Parent),
    Meaning::Cause(CauseKind::Related),
];

/// Returns the meaning of a field that OpenTelemetry defines for a kind of events.
fn own_meaning(kind: DraftKind, name: &str) -> Option<Meaning> {
    Some(match (kind, name) {
        (DraftKind::SpanBegin | DraftKind::SpanEnd, element_field::SPAN) => Meaning::PairKey,
        (DraftKind::Log, element_field::SEVERITY) => Meaning::Severity,
        (DraftKind::Log, element_field::MESSAGE) => Meaning::Message,
        (DraftKind::Log, element_field::SEVERITY_TEXT) => Meaning::Rendered,
        (DraftKind::Point, element_field::VALUE | element_field::COUNT | element_field::SUM) => {
            Meaning::CounterValue
        }
        (DraftKind::Point, "metric") => Meaning::CounterName,
        // Beyond the limits, classes do not name events.
        (_, "name") => Meaning::EventName,
        _ => return None,
    })
}

/// Returns the meaning of an attribute by the semantic conventions.
fn attribute_meaning(kind: DraftKind, name: &str, shape: &AnyShape) -> Option<Meaning> {
    Some(match (name, shape) {
        ("thread.id", AnyShape::Integer) => Meaning::Thread,
        ("thread.name", AnyShape::Text) => Meaning::ThreadName,
        ("code.function.name" | "code.function", AnyShape::Text) => Meaning::Function,
        ("code.file.path" | "code.filepath", AnyShape::Text) => Meaning::File,
        ("code.line.number" | "code.lineno", AnyShape::Integer) => Meaning::Line,
        ("exception.message", AnyShape::Text) if kind == DraftKind::SpanEvent => Meaning::Message,
        _ => return None,
    })
}

/// Origin of an event, for its class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DraftOrigin<'o> {
    pub(crate) resource: &'o Resource,
    pub(crate) scope: &'o InstrumentationScope,
}

/// Shapes of an event's members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DraftShape<'s> {
    pub(crate) shapes: &'s [AnyShape],
    /// Renamed members: indexes and original names.
    pub(crate) renamed: &'s [(usize, String)],
    /// `true` for the class that all events of a kind share beyond the limits.
    pub(crate) is_shared: bool,
}

/// Returns the class name of an event.
fn class_name(draft: &EventDraft<'_>) -> String {
    match (draft.kind, &*draft.name) {
        (kind, "") => kind.name().to_owned(),
        (DraftKind::SpanBegin, name) => format!("{name}:begin"),
        (DraftKind::SpanEnd, name) => format!("{name}:end"),
        (_, name) => name.to_owned(),
    }
}

/// Appends the key of an event's class.
pub(crate) fn push_class_key(
    draft: &EventDraft<'_>,
    DraftShape { shapes, renamed, .. }: DraftShape<'_>,
    origin: DraftOrigin<'_>,
    key: &mut Vec<u8>,
) {
    let scope = origin.scope;
    key.push(draft.part as u8);
    push_key_text(key, draft.name.as_bytes());
    push_key_text(key, draft.unit.as_bytes());
    // It names the category.
    push_key_text(key, scope.name.as_bytes());
    push_key_text(key, scope.attributes.shape_key());
    key.extend_from_slice(&(draft.own as u64).to_le_bytes());
    for (member, shape) in draft.members.iter().zip(shapes) {
        push_key_text(key, member.name.as_bytes());
        shape.push_key(key);
    }
    for (index, name) in renamed {
        key.extend_from_slice(&(*index as u64).to_le_bytes());
        push_key_text(key, name.as_bytes());
    }
    // Identifiers of other classes stay the same as in earlier versions.
    let has_unread_fields = draft.has_unread_fields || scope.is_cut();
    if !draft.description.is_empty() || has_unread_fields || origin.resource.has_unread_fields() {
        key.extend_from_slice(&u64::MAX.to_le_bytes());
        push_key_text(key, draft.description.as_bytes());
        key.extend([has_unread_fields, origin.resource.has_unread_fields()].map(u8::from));
    }
}

/// Returns the class of an event, with the shapes of its members.
pub(crate) fn event_class(
    draft: &EventDraft<'_>,
    shape: DraftShape<'_>,
    origin: DraftOrigin<'_>,
    key: &[u8],
) -> EventRecordClass {
    let kind = draft.kind;
    let mut meanings = Meanings::default();
    for (index, meaning) in ID_MEANINGS.into_iter().enumerate() {
        meanings.insert(Scope::CommonContext, index, meaning);
    }
    origin.resource.insert_meanings(&mut meanings);
    if let Some(index) = origin.scope.attributes.find(element_field::SCOPE_NAME, &AnyShape::Text)
        && !origin.scope.name.is_empty()
    {
        meanings.insert(Scope::SpecificContext, index, Meaning::Tag);
    }
    let members = draft.members.iter().zip(shape.shapes).enumerate();
    let members = members.map(|(index, (member, shape))| {
        let meaning = match index < draft.own {
            true => own_meaning(kind, &member.name),
            false => attribute_meaning(kind, &member.name, shape),
        };
        if let Some(meaning) = meaning {
            meanings.insert(Scope::Payload, index, meaning);
        }
        Member::new(&*member.name, shape.class())
    });
    let payload = FieldClass::structure(members.collect::<Vec<_>>());
    let role = match kind {
        DraftKind::SpanBegin => EventRole::Begin,
        DraftKind::SpanEnd => EventRole::End,
        DraftKind::Point => EventRole::Counter,
        DraftKind::SpanEvent | DraftKind::Log => EventRole::Instant,
    };
    EventRecordClass {
        id: EventRecordClass::id_from_key(key),
        name: Some(class_name(draft)),
        role,
        display: Some(Arc::new(display(draft, origin.scope))),
        log: log_role(draft).map(Arc::new),
        element: Some(Arc::new(element_role(draft, shape, origin))),
        specific_context: origin.scope.attributes.class().map(Arc::new),
        payload: Some(Arc::new(payload)),
        meanings,
        ..EventRecordClass::default()
    }
}

fn element_role(draft: &EventDraft<'_>, shape: DraftShape<'_>, origin: DraftOrigin<'_>) -> ElementRole {
    let origins = [&origin.resource.attributes, &origin.scope.attributes];
    let member = |index: usize| Some(draft.members.get(index)?.name.to_string());
    let renamed = shape.renamed.iter().filter_map(|(index, name)| Some((member(*index)?, name.clone())));
    ElementRole {
        part: draft.part,
        name: draft.name.to_string(),
        description: draft.description.to_owned(),
        own: draft.members.iter().take(draft.own).map(|member| member.name.to_string()).collect(),
        renamed: renamed.collect(),
        renamed_in_resource: origin.resource.attributes.renamed.clone(),
        renamed_in_scope: origin.scope.attributes.renamed.clone(),
        has_lowered_values: shape.shapes.iter().any(AnyShape::is_lowered)
            || origins.iter().any(|attributes| attributes.is_lowered()),
        has_changed_origin: origins.iter().any(|attributes| attributes.is_changed),
        has_unread_fields: draft.has_unread_fields
            || origin.scope.is_cut()
            || origin.resource.has_unread_fields(),
        is_shared: shape.is_shared,
    }
}

fn display(draft: &EventDraft<'_>, scope: &InstrumentationScope) -> EventDisplay {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let has = |name: &str| draft.members.iter().take(draft.own).any(|member| member.name == name);
    let field = |name: &str| has(name).then(|| format!("payload.{name}"));
    EventDisplay {
        name: text(&draft.name),
        category: text(&scope.name),
        unit: text(draft.unit),
        counter_name: field("metric"),
        counter_tags: field("series"),
        ..EventDisplay::default()
    }
}

/// Returns the role of a log record.
fn log_role(draft: &EventDraft<'_>) -> Option<LogRole> {
    let has_severity = draft.members.first().is_some_and(|member| member.name == "severity");
    let severity = if has_severity { LogSeverity::Member } else { LogSeverity::Unknown };
    (draft.kind == DraftKind::Log).then(|| LogRole::new(severity, SCALE))
}

/// Finds or adds the class with a key. `None` beyond the limits. With `is_last`, the limits do not apply.
pub(crate) fn find_class(
    stream: &DataStream,
    key: &[u8],
    is_last: bool,
    make: impl FnOnce() -> EventRecordClass,
) -> Option<Arc<DynamicClass>> {
    let classes = stream.trace.dynamic_classes(stream.class_index)?;
    let found = if is_last { classes.last(key, make) } else { classes.intern(key, make) };
    found.ok().flatten()
}
