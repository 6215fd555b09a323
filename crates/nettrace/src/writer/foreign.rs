//! Converts events from other formats to self-describing events.

use std::collections::HashSet;

use ichnos_model::class::{DisplayBase, FieldClass, FieldKind, Length, StringLength, Uuid, Value};
use ichnos_model::field::{Field as VisitedField, FieldRef, FieldValue, StringEncoding};
use ichnos_model::log::{LevelScale, LogLevel, LogRole, LogSeverity};
use ichnos_model::lower::{LossKind, LossRecorder, LossTable, has_attributes};
use ichnos_model::meaning::{CauseKind, EventRole, Meaning};
use ichnos_model::plan::Plan;
use ichnos_model::{Event, Scope, Visitor};

use super::labels::{self, LabelFields, is_label};
use super::losses::{EventLoss, EventLossCounts};
use super::own::normalized;
use super::payload::{
    MOST_FIELDS, PayloadWriter, absent_size, describe, fits, has_no_value, is_array, is_file_time,
    is_own_optional,
};
use super::rules::KEPT_METADATA;
use super::rules::process_of;
use super::written_event::NettraceEvent;
use crate::reader::class::{RAW_PAYLOAD, context, own_property};
use crate::wire::MOST_PROPERTIES;
use crate::{EventMetadata, known};

/// Scopes whose members become fields, in this order.
const SCOPES: [Scope; 5] =
    [Scope::Payload, Scope::SpecificContext, Scope::CommonContext, Scope::EventRecordHeader, Scope::Resource];

/// Event class from another format.
#[derive(Debug)]
pub(super) struct ForeignClass {
    /// Event description. The level is missing if the severity is a field.
    metadata: EventMetadata,
    severity: Option<(FieldRef, LevelScale)>,
    process: Option<FieldRef>,
    /// `true` if the process does not become a field, too.
    pub(super) takes_process: bool,
    thread: Option<FieldRef>,
    thread_name: Option<FieldRef>,
    capture_thread: Option<FieldRef>,
    /// Labels that were converted from version 6.
    labels: Option<LabelFields>,
    processor: Option<FieldRef>,
    stack: Option<FieldRef>,
    activity: Option<FieldRef>,
    related_activity: Option<FieldRef>,
    /// Members in each scope that become fields, by index in the plan.
    members: [Vec<usize>; SCOPES.len()],
    /// Number of bytes for each scope that an event lacks.
    absent: [usize; SCOPES.len()],
    /// The trace's process, for events that do not name theirs.
    own_process: Option<u64>,
    /// `true` if the payload was not described in an EventPipe file. Its bytes are written unchanged.
    pub(super) is_raw: bool,
}

/// Properties of the output file that classes depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenFile {
    pub(super) is_v6: bool,
    /// Process in the trace block.
    pub(super) process: Option<u64>,
}

/// Converts a level to .NET's: 1 is critical, 5 verbose.
fn level_number(level: LogLevel) -> u8 {
    match level {
        LogLevel::Fatal => 1,
        LogLevel::Error => 2,
        LogLevel::Warn => 3,
        LogLevel::Info => 4,
        LogLevel::Debug | LogLevel::Trace => 5,
    }
}

/// Returns a class's metadata except its fields: provider, name and other properties.
fn identity(event: &Event<'_>, event_id: u32, is_v6: bool, losses: &mut LossRecorder<'_>) -> EventMetadata {
    let class = event.class;
    let (provider, name) = split_name(event);
    let opcode = match class.role {
        EventRole::Begin => Some(1),
        EventRole::End => Some(2),
        _ => None,
    };
    // Without a level, an event is always logged.
    let mut metadata = EventMetadata { provider, event_id, name, opcode, ..EventMetadata::default() };
    // Properties that were converted from an EventPipe file.
    if let Some(Value::Map(properties)) = class.attributes.get("nettrace") {
        for (name, value) in properties {
            match (&**name, value) {
                ("provider", Value::Text(provider)) => metadata.provider.clone_from(provider),
                ("event-id", Value::Integer(id)) => {
                    metadata.event_id = u32::try_from(*id).unwrap_or(event_id)
                }
                ("version", Value::Integer(version)) => {
                    metadata.version = u32::try_from(*version).unwrap_or(0)
                }
                ("level", Value::Integer(level)) => metadata.level = u8::try_from(*level).ok(),
                ("opcode", Value::Integer(opcode)) => metadata.opcode = u8::try_from(*opcode).ok(),
                ("provider-guid", Value::Text(guid)) => {
                    metadata.provider_guid = guid.parse().ok().map(|guid: Uuid| guid.to_bytes_le());
                }
                ("message-template", Value::Text(text)) => metadata.message_template = Some(text.clone()),
                ("description", Value::Text(text)) => metadata.description = Some(text.clone()),
                ("keywords", Value::Text(keywords)) => {
                    let digits = keywords.trim_start_matches("0x");
                    metadata.keywords = u64::from_str_radix(digits, 16).unwrap_or(0);
                }
                // Derived from other properties.
                ("keyword-names" | "task" | "opcode-name" | "span", _) => {}
                (name, Value::Text(text)) if is_v6 && metadata.properties.len() < MOST_PROPERTIES => {
                    metadata.properties.push((own_property(name).to_owned(), text.clone()));
                }
                (name, _) => {
                    losses.record_loss(LossKind::Dropped, "", format!("property `{}`", own_property(name)))
                }
            }
        }
        let prefix = format!("{}/", metadata.provider);
        if let Some(name) = event.name().strip_prefix(&prefix) {
            name.clone_into(&mut metadata.name);
        }
    }
    // For known providers, tools read events with built-in schemas, which may not match these fields.
    let is_known = |metadata: &EventMetadata| {
        known::provider_guid(&metadata.provider).is_some()
            || known::find(&metadata.provider, metadata.event_id, metadata.version, &metadata.name).is_some()
    };
    if is_known(&metadata) {
        losses.record_loss(LossKind::Renamed, "", "provider renamed: tools have built-in schemas for it");
        metadata.provider = format!("Converted-{}", metadata.provider);
    }
    metadata
}

/// Splits an event name into provider and name: `PROVIDER:NAME` or `PROVIDER/NAME`. For other names, the data stream or
/// the trace is the provider.
fn split_name(event: &Event<'_>) -> (String, String) {
    let name = event.name();
    let parts = name.split_once(':').or_else(|| name.rsplit_once('/'));
    if let Some((provider, name)) = parts.filter(|(provider, name)| !name.is_empty() && !provider.is_empty())
    {
        return (provider.to_owned(), name.to_owned());
    }
    let class = &event.stream.trace.class;
    let stream = event.stream.class().name.as_deref();
    let provider = stream.or(class.name.as_deref()).filter(|name| !name.is_empty()).unwrap_or("Trace");
    let name = if name.is_empty() { "Event" } else { name };
    (provider.to_owned(), name.to_owned())
}

/// Members that go into headers.
struct HeaderParts<'e, 'a> {
    event: &'e Event<'a>,
    members: HashSet<(Scope, usize)>,
}

impl HeaderParts<'_, '_> {
    /// Takes the first member with a meaning and a suitable class.
    fn take(&mut self, meaning: Meaning, fits: impl Fn(&FieldClass) -> bool) -> Option<FieldRef> {
        let event = self.event;
        let (field, place) = event.class.meanings.members(meaning).find_map(|member| {
            let field = FieldRef::for_member(event, member)?;
            let node = event.plan(member.scope)?.member(member.index as usize)?;
            field.class(event).is_some_and(&fits).then_some((field, (member.scope, node)))
        })?;
        self.members.insert(place);
        Some(field)
    }
}

/// Returns the members that are only needed for decoding or merging.
fn hidden(event: &Event<'_>) -> HashSet<(Scope, usize)> {
    let members = event.class.meanings.members(Meaning::Hidden);
    members
        .filter_map(|member| Some((member.scope, event.plan(member.scope)?.member(member.index as usize)?)))
        .collect()
}

/// Returns `true` for a text class.
fn is_text(class: &FieldClass) -> bool {
    matches!(class.kind, FieldKind::String { .. })
}

/// Returns `true` for a GUID class, possibly optional.
fn is_guid(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::Guid { .. } => true,
        FieldKind::Optional { field, .. } => is_guid(field),
        _ => false,
    }
}

impl ForeignClass {
    /// Creates the class for an event. Adds the losses that all its events share to `table`. `event_id` must be unused.
    pub(super) fn new(event: &Event<'_>, event_id: u32, file: WrittenFile, table: &mut LossTable) -> Self {
        let is_v6 = file.is_v6;
        table.add_class_metadata(event, KEPT_METADATA);
        table.add_other_clocks(event);
        let mut losses = table.for_class(event.name());
        let class = event.class;
        let is_converted = class.attributes.get("nettrace").is_some();
        if !is_converted {
            losses.record_loss(LossKind::Lowered, "", "class -> self-describing event");
        }
        record_name(event, &mut losses);
        let mut metadata = identity(event, event_id, is_v6, &mut losses);
        // EventPipe events have their level in the attributes.
        let log = class.log.as_ref().filter(|_| !is_converted);
        let severity = log.and_then(|log| {
            losses.record_loss(LossKind::Lowered, "", "severity -> one of five levels");
            severity_of(event, log, &mut metadata)
        });
        let mut parts = HeaderParts { event, members: hidden(event) };
        let any = |_: &FieldClass| true;
        let number = |class: &FieldClass| !is_text(class);
        let names = taken_names(event, is_converted, is_v6);
        let own_process = process_of(&event.stream.trace.class);
        // Up to version 5, an event's process is also a field, unless it came from the file's process.
        let takes_process = is_v6 || is_converted && own_process.is_some() && own_process == file.process;
        let mut foreign = Self {
            metadata,
            severity,
            takes_process,
            process: match takes_process {
                true => parts.take(Meaning::Process, number),
                false => FieldRef::for_meaning(event, Meaning::Process),
            },
            thread: parts.take(Meaning::Thread, number),
            thread_name: is_v6.then(|| parts.take(Meaning::ThreadName, any)).flatten(),
            capture_thread: names
                .contains(&context::CAPTURE_THREAD_NAME)
                .then(|| FieldRef::within(event, Scope::CommonContext, context::CAPTURE_THREAD_NAME))
                .flatten(),
            labels: (is_converted && is_v6).then(|| LabelFields::from_event(event, &names)),
            processor: parts.take(Meaning::Processor, number),
            stack: parts.take(Meaning::Stack, any),
            activity: parts.take(Meaning::OperationId, is_guid),
            related_activity: parts.take(Meaning::Cause(CauseKind::Related), is_guid),
            members: Default::default(),
            absent: [0; SCOPES.len()],
            own_process,
            is_raw: false,
        };
        foreign.is_raw = is_converted && is_raw(event, &parts.members, &names);
        if !foreign.is_raw {
            foreign.add_members(event, is_converted, &parts.members, &names, &mut losses);
        }
        foreign.normalize(is_v6, &mut losses);
        foreign
    }

    /// Makes the description equal to what a reader will see. Records the parts that the version cannot store.
    fn normalize(&mut self, is_v6: bool, losses: &mut LossRecorder<'_>) {
        if !is_v6 {
            // 0 is also "always".
            self.metadata.level = Some(self.metadata.level.unwrap_or(0));
        }
        let (after, _) = normalized(&self.metadata, is_v6);
        let mut before = std::mem::replace(&mut self.metadata, after);
        let after = &self.metadata;
        let names = |metadata: &EventMetadata| [&metadata.provider, &metadata.name].map(String::clone);
        if names(&before) != names(after) {
            losses.record_loss(LossKind::Renamed, "", "provider or name -> its text before U+0000");
        }
        if before.fields != after.fields {
            losses.record_loss(LossKind::Renamed, "", "field names -> their text before U+0000");
        }
        [before.provider, before.name] = names(after);
        before.fields.clone_from(&after.fields);
        if before != *after {
            losses.record_loss(LossKind::Dropped, "", "metadata that the version cannot store");
        }
    }

    /// Adds the members that become fields.
    fn add_members(
        &mut self,
        event: &Event<'_>,
        is_converted: bool,
        skipped: &HashSet<(Scope, usize)>,
        taken_names: &[&str],
        losses: &mut LossRecorder<'_>,
    ) {
        let mut taken = HashSet::new();
        let mut left = MOST_FIELDS;
        for ((scope, members), absent) in SCOPES.into_iter().zip(&mut self.members).zip(&mut self.absent) {
            let Some(plan) = event.plan(scope) else { continue };
            for node in plan.fields() {
                let Some(member) = plan.get(node) else { continue };
                let class = &member.class;
                let name = plan.field_name(node);
                if skipped.contains(&(scope, node)) || !is_field(plan, scope, node, taken_names) {
                    continue;
                }
                let path = format!("{}.{name}", scope.short_name());
                if !fits(class, &mut left) {
                    losses.record_loss(LossKind::Dropped, &path, "too many or too deep fields");
                    continue;
                }
                record_class(class, &path, losses);
                if is_converted {
                    record_other_type(class, &path, losses);
                }
                // Readers give this name to unnamed fields.
                let mut free = if name.is_empty() { "value".to_owned() } else { name.to_owned() };
                while !taken.insert(free.clone()) {
                    free = format!("{}_{free}", scope.short_name());
                }
                if free != name {
                    let reason = if name.is_empty() { "unnamed" } else { "duplicate name" };
                    losses.record_loss(LossKind::Renamed, &path, format!("renamed to {free}: {reason}"));
                }
                members.push(node);
                let field = describe(free, class);
                *absent += absent_size(&field.kind);
                self.metadata.fields.push(field);
            }
            members.sort_unstable();
        }
    }

    /// Returns the description for events in this class.
    pub(super) fn metadata(&self) -> &EventMetadata {
        &self.metadata
    }

    /// Returns an event's level, if its severity is a field.
    pub(super) fn level(&self, event: &Event<'_>) -> Option<u8> {
        let (field, scale) = self.severity.as_ref()?;
        let number = match event.get(field)? {
            FieldValue::Signed(number) => number,
            FieldValue::Unsigned(number) => i64::try_from(number).unwrap_or(i64::MAX),
            _ => return None,
        };
        Some(level_number(scale.level(number)))
    }
}

/// Returns the field with the severity of each event. If all events have the same severity, adds it to the metadata.
fn severity_of(
    event: &Event<'_>,
    log: &LogRole,
    metadata: &mut EventMetadata,
) -> Option<(FieldRef, LevelScale)> {
    match log.severity {
        LogSeverity::Constant(number) => {
            metadata.level = Some(level_number(log.scale.level(number)));
            None
        }
        LogSeverity::Member => Some((FieldRef::for_meaning(event, Meaning::Severity)?, log.scale)),
        _ => None,
    }
}

/// Records that a class name is changed by a provider.
fn record_name(event: &Event<'_>, losses: &mut LossRecorder<'_>) {
    let (provider, name) = split_name(event);
    let is_same = |separator: &str| event.name() == format!("{provider}{separator}{name}");
    if !is_same(":") && !is_same("/") && !event.name().is_empty() {
        losses.record_loss(LossKind::Renamed, "", format!("name -> `{provider}/{name}`"));
    }
}

/// Returns the names of the common context members that become parts of events again, if events were converted from an
/// EventPipe file.
fn taken_names(event: &Event<'_>, is_converted: bool, is_v6: bool) -> Vec<&'static str> {
    let thread = is_converted.then_some(context::CAPTURE_THREAD_NAME);
    let labels = labels::NAMES.into_iter().filter(|_| is_converted && is_v6);
    let is_taken = |name: &&str| {
        let plan = event.plan(Scope::CommonContext);
        let mut members = plan.into_iter().flat_map(|plan| plan.fields().filter_map(|node| plan.get(node)));
        let member = members.find(|member| member.name.as_deref() == Some(*name));
        member.is_some_and(|member| is_label(name, &member.class))
    };
    thread.into_iter().chain(labels).filter(is_taken).collect()
}

/// Returns `true` for a scope member with a value for people. Common context members with `taken_names` are parts of
/// events.
fn is_field(plan: &Plan, scope: Scope, node: usize, taken_names: &[&str]) -> bool {
    let Some(member) = plan.get(node) else { return false };
    let is_taken = scope == Scope::CommonContext
        && member.name.as_deref().is_some_and(|name| taken_names.contains(&name));
    let is_decoding = scope == Scope::EventRecordHeader
        && plan
            .within(node)
            .filter_map(|node| plan.get(node))
            .all(|node| node.only_serves_decoding() || node.is_needed());
    !(member.class.is_padding() || is_decoding || is_taken)
}

/// Returns `true` for an EventPipe event whose payload was not described. Its only field has the payload bytes.
fn is_raw(event: &Event<'_>, skipped: &HashSet<(Scope, usize)>, taken_names: &[&str]) -> bool {
    let is_bytes = |class: &FieldClass| matches!(&class.kind, FieldKind::Optional { field, .. } if matches!(field.kind, FieldKind::Blob { .. }));
    let mut fields = SCOPES.into_iter().flat_map(|scope| {
        let plan = event.plan(scope);
        let nodes = plan.into_iter().flat_map(|plan| plan.fields().map(move |node| (plan, node)));
        let fields = nodes.filter(move |(plan, node)| {
            !skipped.contains(&(scope, *node)) && is_field(plan, scope, *node, taken_names)
        });
        fields.map(move |(plan, node)| (scope, plan, node))
    });
    let (Some((Scope::Payload, plan, node)), None) = (fields.next(), fields.next()) else { return false };
    plan.get(node)
        .is_some_and(|member| member.name.as_deref() == Some(RAW_PAYLOAD) && is_bytes(&member.class))
}

/// Appends BLOBs unchanged.
struct RawPayloadWriter<'p>(&'p mut Vec<u8>);

impl Visitor for RawPayloadWriter<'_> {
    fn blob(&mut self, _: VisitedField<'_>, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Records a class's conversions.
fn record_class(class: &FieldClass, path: &str, losses: &mut LossRecorder<'_>) {
    if has_attributes(&class.attributes, Some("nettrace")) {
        losses.record_loss(LossKind::Dropped, path, "attributes");
    }
    if let Some(integer) = class.integer()
        && integer.preferred_base != DisplayBase::Decimal
    {
        losses.record_loss(
            LossKind::Dropped,
            path,
            format!("preferred base {}", integer.preferred_base.radix()),
        );
    }
    let mut lower = |what: &str| losses.record_loss(LossKind::Lowered, path, what);
    match &class.kind {
        FieldKind::BitArray(_) => lower("bit array -> unsigned integer"),
        FieldKind::BitMap { .. } => lower("bit map -> unsigned integer"),
        FieldKind::VariableLength { .. } => lower("variable-length integer -> 64-bit integer"),
        FieldKind::Integer { bits, integer } => {
            if bits.length > 64 {
                lower("integer -> text");
            } else if !matches!(bits.length, 8 | 16 | 32 | 64) {
                lower("integer -> wider integer");
            }
            if integer.mappings.is_some() {
                lower("enumeration -> integer");
            }
            if integer.wall_clock.is_some() && !is_file_time(class) {
                lower("date -> integer");
            }
        }
        FieldKind::Float(bits) if !matches!(bits.length, 32 | 64) => {
            lower("floating-point number -> another length")
        }
        FieldKind::Blob { .. } => lower("BLOB -> array of bytes"),
        FieldKind::Optional { field, .. } => {
            if is_own_optional(field) {
                lower("optional array -> array, empty if it is absent");
                return record_class(field, path, losses);
            }
            lower("optional -> array of at most one element");
            record_element(field, path, losses);
        }
        FieldKind::Variant { options, .. } => {
            lower("variant -> structure with an array for each option");
            options.iter().for_each(|option| record_element(&option.class, path, losses));
        }
        FieldKind::Union { .. } => lower("union -> structure"),
        _ if has_no_value(class) => lower("no value -> empty array"),
        FieldKind::Structure { members, .. } => {
            for member in members.iter().filter(|member| !member.class.is_padding()) {
                record_class(&member.class, &format!("{path}.{}", member.name), losses);
            }
        }
        FieldKind::Array { element, .. } => record_element(element, path, losses),
        _ => {}
    }
}

/// Records field types that are written as other types.
fn record_other_type(class: &FieldClass, path: &str, losses: &mut LossRecorder<'_>) {
    let what = match &class.kind {
        FieldKind::Boolean(bits) if bits.length != 32 => Some("Boolean8 -> Boolean32"),
        FieldKind::String { encoding, length, .. }
            if (*encoding, length) != (StringEncoding::Utf16Le, &StringLength::NullTerminated) =>
        {
            Some("text of another type -> UTF-16 text that ends with U+0000")
        }
        FieldKind::Array { length: Length::Static(_), .. } => Some("FixedLengthArray -> Array"),
        _ => None,
    };
    if let Some(what) = what {
        losses.record_loss(LossKind::Lowered, path, what);
    }
    class.children().for_each(|child| record_other_type(child.class(), path, losses));
}

/// Records the conversions in an array element class.
fn record_element(class: &FieldClass, path: &str, losses: &mut LossRecorder<'_>) {
    if is_array(class) {
        losses.record_loss(LossKind::Lowered, path, "array in an array -> structure with an array");
    }
    record_class(class, path, losses);
}

/// Reads an event's parts and payload.
pub(super) fn read(
    event: &Event<'_>,
    class: &ForeignClass,
    ticks: u64,
    parts: &mut NettraceEvent,
    payload: &mut PayloadWriter,
    losses: &mut EventLossCounts,
) {
    parts.begin(ticks);
    let value = |field: &Option<FieldRef>| field.as_ref().and_then(|field| event.get(field));
    let number = |field: &Option<FieldRef>| value(field).and_then(|value| value.as_u64());
    match value(&class.thread) {
        None | Some(FieldValue::Null) => losses.add(EventLoss::NoThread, 1),
        Some(thread) => match thread.as_u64() {
            Some(thread) => parts.thread = thread,
            None => losses.add(EventLoss::Thread, 1),
        },
    }
    let process = value(&class.process).filter(|value| !matches!(value, FieldValue::Null));
    let number_of_process = process.as_ref().and_then(|value| value.as_u64());
    let has_other_process = class.takes_process && process.is_some() && number_of_process.is_none();
    losses.add(EventLoss::Process, u64::from(has_other_process));
    parts.process = number_of_process.or(class.own_process);
    parts.capture_thread = number(&class.capture_thread);
    let labels = class.labels.as_ref().map(|labels| labels.read(event, parts)).unwrap_or_default();
    losses.add(EventLoss::TraceId, u64::from(labels.has_other_trace_id));
    let mut is_undecodable = labels.is_undecodable;
    match value(&class.processor) {
        None | Some(FieldValue::Null) => {}
        Some(processor) => match processor.as_u64().and_then(|value| u32::try_from(value).ok()) {
            Some(processor) => parts.processor = processor,
            None => losses.add(EventLoss::Processor, 1),
        },
    }
    parts.stack = number(&class.stack).and_then(|value| u32::try_from(value).ok());
    let guid = |field: &Option<FieldRef>| match value(field) {
        Some(FieldValue::Guid(guid)) => Uuid::to_bytes_le(&guid),
        _ => [0; 16],
    };
    parts.activity = guid(&class.activity);
    parts.related_activity = guid(&class.related_activity);
    if let Some(FieldValue::Text(name)) = value(&class.thread_name) {
        parts.set_thread_name(&String::from_utf8_lossy(name));
    }
    payload.clear();
    if class.is_raw {
        is_undecodable |= event.visit(Scope::Payload, &mut RawPayloadWriter(&mut payload.bytes)).is_err();
    }
    for ((scope, members), absent) in SCOPES.into_iter().zip(&class.members).zip(class.absent) {
        if members.is_empty() {
            continue;
        }
        let begin = payload.bytes.len();
        let is_absent = scope == Scope::Resource && !event.has_resource();
        if !is_absent {
            payload.begin_scope(members);
            if event.visit(scope, payload).is_ok() {
                continue;
            }
            is_undecodable = true;
        }
        payload.bytes.truncate(begin);
        payload.bytes.resize(begin + absent, 0);
    }
    losses.add(EventLoss::Fields, u64::from(is_undecodable));
}
