//! Conversion plan of an event class: one decision per field.

use ichnos_model::class::{FieldKind, Value, VariableLengthValue};
use ichnos_model::log::{LogLevel, LogRole, LogSeverity, LogText};
use ichnos_model::lower::{LossKind, LossRecorder, LossTable};
use ichnos_model::meaning::{Meaning, Meanings};
use ichnos_model::plan::Node;
use ichnos_model::{Event, Scope};

use super::log_rules::KEPT_METADATA;
use crate::log::Severity;
use crate::log_reader::any::{MONIKER, ROLLED_OUT, URL};
use crate::log_reader::class::SCALE;

/// Treatment of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// No output itself. The content has its own treatment.
    Through,
    Number(NumberPart),
    Text(TextPart),
    /// A pair, or part of a pair.
    Pair,
    /// Not written.
    Skip,
}

/// Number fields with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberPart {
    Severity,
    Process,
    Thread,
    Line,
    Dropped,
    RolledOut,
}

/// Text fields with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPart {
    Message,
    Tag,
    File,
    Component,
    ComponentUrl,
}

/// Conversion of a scope.
#[derive(Debug)]
pub(super) struct ScopeEncoding {
    pub(super) scope: Scope,
    /// Treatments by node index.
    pub(super) treatments: Box<[Treatment]>,
    /// Member argument names by node index. Empty for nodes inside members.
    names: Box<[Box<str>]>,
    /// Enclosing member node by node index.
    members: Box<[u32]>,
}

/// Conversion of an event class to records.
#[derive(Debug)]
pub(super) struct ForeignClass {
    /// Class name for losses.
    pub(super) name: String,
    /// Message for all events of the class, unless they have their own message.
    pub(super) message: Option<String>,
    /// Scopes with fields to write, except the payload. They include the resource.
    pub(super) contexts: Vec<ScopeEncoding>,
    pub(super) payload: Option<ScopeEncoding>,
    /// Process id from the trace environment, if events lack a process id.
    pub(super) process: Option<u64>,
    pub(super) process_name: Option<String>,
    /// `true` for events that only name a component and become control records.
    pub(super) is_control: bool,
}

/// Argument names that have a meaning with an unsigned value.
const NUMBER_NAMES: [&str; 7] = ["pid", "tid", "line", "num_dropped", "dropped_logs", ROLLED_OUT, "printf"];

/// Argument names that have a meaning with a string value.
const TEXT_NAMES: [&str; 5] = ["message", "tag", "file", MONIKER, URL];

impl ForeignClass {
    /// Returns the conversion of an event class, and adds class-wide losses to `table`.
    pub(super) fn new(event: &Event<'_>, table: &mut LossTable) -> Self {
        table.add_class_metadata(event, KEPT_METADATA);
        table.add_clock_updates(event);
        table.add_other_clocks(event);
        match event.class.log.as_deref() {
            Some(role) => Self::with_role(event, role, table),
            None => Self::without_severity(event, table),
        }
    }
}

/// Message form of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageForm {
    /// A member, or the class name.
    Own,
    /// Rendered from other members.
    Rendered,
    /// A printf format string with arguments, converted from this format before. A member also has the message.
    Printf,
}

impl MessageForm {
    /// Returns the message form. `has_text` must be `true` if the class renders its message.
    fn new(event: &Event<'_>, has_text: bool) -> Self {
        if has_text {
            return Self::Rendered;
        }
        let Some(plan) = event.plan(Scope::Payload) else { return Self::Own };
        let meanings = &event.class.meanings;
        let has_message = meanings.members(Meaning::Message).next().is_some();
        // Readers expect the marker in the first argument.
        let is_marker = |node: &&Node| {
            node.name.as_deref() == Some(MARKER)
                && node.class.integer().is_some_and(|integer| !integer.signed)
                && node.class.bits().is_some_and(|bits| bits.length == 64)
        };
        let first = plan.fields().enumerate().find(|(_, node)| {
            plan.within(*node).filter_map(|node| plan.get(node)).any(|node| !node.only_serves_decoding())
        });
        let is_printf = first.is_some_and(|(member, node)| {
            meanings.get(Scope::Payload, member) == Some(Meaning::Rendered)
                && plan.get(node).as_ref().is_some_and(is_marker)
        });
        if has_message && is_printf && event.stream.trace.class.environment("vpid").is_none() {
            return Self::Printf;
        }
        Self::Own
    }
}

/// Marker argument of printf records.
const MARKER: &str = "printf";

/// Returns the argument name in a printf record, which is empty for format string arguments.
fn printf_name<'n>(own: &'n str, within: &[&Node]) -> &'n str {
    let is_text = matches!(within, [node] if matches!(node.class.kind, FieldKind::String { .. }));
    match own {
        MARKER => own,
        "message" if is_text => own,
        _ => "",
    }
}

impl ForeignClass {
    /// Returns the conversion of events without a severity. The event name is the message, and all fields are pairs, as
    /// in the lines of other log writers.
    fn without_severity(event: &Event<'_>, table: &mut LossTable) -> Self {
        let mut losses = table.for_class(event.name());
        let mut scope = |scope| ScopeEncoding::new(event, scope, None, MessageForm::Own, &mut losses);
        let contexts = [Scope::Resource, Scope::CommonContext, Scope::SpecificContext];
        let contexts = contexts.into_iter().filter_map(&mut scope).collect();
        let payload = scope(Scope::Payload);
        losses.record_loss(LossKind::Lowered, "severity", "none -> INFO");
        losses.record_loss(LossKind::Moved, "", "event record class name -> message");
        Self {
            name: event.name().to_owned(),
            message: Some(event.class.name.as_deref().unwrap_or("<unknown>").to_owned()),
            contexts,
            payload,
            process: None,
            process_name: None,
            is_control: false,
        }
    }

    fn with_role(event: &Event<'_>, role: &LogRole, table: &mut LossTable) -> Self {
        let mut losses = table.for_class(event.name());
        let meanings = &event.class.meanings;
        let has_text = role.text.is_some();
        let form = MessageForm::new(event, has_text);
        let mut scope = |scope| ScopeEncoding::new(event, scope, Some(meanings), form, &mut losses);
        let contexts = [
            Scope::Resource,
            Scope::PacketContext,
            Scope::EventRecordHeader,
            Scope::CommonContext,
            Scope::SpecificContext,
        ];
        let contexts: Vec<ScopeEncoding> = contexts.into_iter().filter_map(&mut scope).collect();
        let payload = scope(Scope::Payload);
        let means = |meaning| meanings.members(meaning).next().is_some();
        let trace = &event.stream.trace.class;
        let process = trace.environment_number("vpid").filter(|_| !means(Meaning::Process));
        let process_name = trace.environment("procname").filter(|_| !means(Meaning::ProcessName));
        let process_name = process_name.and_then(Value::as_text);
        let says_component = |treatment: &Treatment| {
            matches!(
                treatment,
                Treatment::Text(TextPart::Component | TextPart::ComponentUrl)
                    | Treatment::Number(NumberPart::RolledOut)
            )
        };
        let is_control = !has_text
            && !means(Meaning::Message)
            && payload.as_ref().is_some_and(|payload| {
                let all = &payload.treatments;
                let has = all.contains(&Treatment::Text(TextPart::Component));
                let only = |treatment: &Treatment| {
                    says_component(treatment) || matches!(treatment, Treatment::Through | Treatment::Skip)
                };
                has && all.iter().all(only)
            });
        if !is_control && !has_text && event.class.name.is_some() {
            losses.record_loss(LossKind::Dropped, "", "event record class name");
        }
        if role.text == Some(LogText::NAME) {
            losses.record_loss(LossKind::Moved, "", "event record class name -> message");
        }
        record_severity(role, &mut losses);
        Self {
            name: event.name().to_owned(),
            message: None,
            contexts,
            payload,
            process,
            process_name: process_name.map(str::to_owned),
            is_control,
        }
    }
}

/// Records a severity loss if records cannot store the exact severity.
fn record_severity(role: &LogRole, losses: &mut LossRecorder<'_>) {
    match role.severity {
        LogSeverity::Unknown => losses.record_loss(LossKind::Lowered, "severity", "none -> INFO"),
        _ if role.scale == SCALE => {}
        LogSeverity::Member => {
            losses.record_loss(LossKind::Rounded, "severity", "number on another scale -> named severity");
        }
        _ => losses.record_loss(LossKind::Lowered, "severity", "number on another scale -> named severity"),
    }
}

/// Returns the severity number of an event on the record scale. `member` is the event's own number.
pub(super) fn severity(role: Option<&LogRole>, member: Option<i64>) -> u8 {
    let Some(role) = role else { return Severity::Info.raw() };
    let number = match role.severity {
        LogSeverity::Constant(number) => Some(number),
        LogSeverity::Member => member,
        _ => None,
    };
    let Some(number) = number else { return Severity::Info.raw() };
    if let (true, Ok(number)) = (role.scale == SCALE, u8::try_from(number)) {
        return number;
    }
    let severity = match role.scale.level(number) {
        LogLevel::Trace => Severity::Trace,
        LogLevel::Debug => Severity::Debug,
        LogLevel::Info => Severity::Info,
        LogLevel::Warn => Severity::Warn,
        LogLevel::Error => Severity::Error,
        LogLevel::Fatal => Severity::Fatal,
    };
    severity.raw()
}

impl ScopeEncoding {
    /// Returns `None` if nothing in the scope is written. Without `meanings`, all members are pairs.
    fn new(
        event: &Event<'_>,
        scope: Scope,
        meanings: Option<&Meanings>,
        form: MessageForm,
        losses: &mut LossRecorder<'_>,
    ) -> Option<Self> {
        let plan = event.plan(scope)?;
        let nodes: Vec<&Node> = plan.nodes().collect();
        let mut treatments = vec![Treatment::Through; nodes.len()];
        let mut names: Vec<Box<str>> = vec![Box::default(); nodes.len()];
        let mut members = vec![0; nodes.len()];
        for (member, begin) in plan.fields().enumerate() {
            let range = plan.within(begin);
            let within = nodes.get(range.clone())?;
            members.get_mut(range.clone())?.fill(begin as u32);
            let own = plan.field_name(begin);
            let field = format!("{}.{own}", scope.short_name());
            let is_hidden = within.iter().all(|node| node.only_serves_decoding());
            let meaning = meanings.and_then(|meanings| meanings.get(scope, member));
            // Format string arguments lack names, and they have no meaning in JSON lines.
            let is_printf = form == MessageForm::Printf && scope == Scope::Payload;
            let is_of_format =
                is_printf && (meaning == Some(Meaning::Rendered) || meaning.is_none() && own.is_empty());
            let treatment = match meaning {
                _ if is_hidden => Treatment::Skip,
                _ if is_of_format => Treatment::Pair,
                // The format string and its arguments replace it.
                Some(Meaning::Message) if form == MessageForm::Printf => Treatment::Skip,
                None if meanings.is_none() => Treatment::Pair,
                // Losses outside of events are already recorded for the whole trace.
                None if matches!(scope, Scope::PacketContext | Scope::EventRecordHeader) => Treatment::Skip,
                None if scope != Scope::Payload => {
                    losses.record_loss(
                        LossKind::Dropped,
                        &field,
                        "context member that is not part of a line",
                    );
                    Treatment::Skip
                }
                None => Treatment::Pair,
                Some(meaning) => treatment_of(meaning, within, form, &field, losses),
            };
            if is_of_format {
                *names.get_mut(begin)? = printf_name(own, within).into();
            } else if treatment == Treatment::Pair {
                record_pair(within, &field, losses);
                let name = argument_name(own, within);
                if *name != *own {
                    losses.record_loss(LossKind::Renamed, &field, format!("{own} -> {name}"));
                }
                *names.get_mut(begin)? = name.into();
            } else {
                *names.get_mut(begin)? = own.into();
            }
            let all = treatments.get_mut(range)?;
            let is_part = matches!(treatment, Treatment::Number(_) | Treatment::Text(_));
            // The inner value of an optional gets the treatment.
            if is_part && let [optional, inner] = all {
                (*optional, *inner) = (Treatment::Through, treatment);
                let name = names.get(begin)?.clone();
                *names.get_mut(begin + 1)? = name;
            } else {
                all.fill(treatment);
            }
        }
        let is_used = |treatment: &Treatment| !matches!(treatment, Treatment::Through | Treatment::Skip);
        treatments.iter().any(is_used).then(|| Self {
            scope,
            treatments: treatments.into(),
            names: names.into(),
            members: members.into(),
        })
    }

    #[inline]
    pub(super) fn treatment(&self, node: usize) -> Treatment {
        self.treatments.get(node).copied().unwrap_or(Treatment::Skip)
    }

    #[inline]
    pub(super) fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", |name| name)
    }

    /// Returns the name of the member that contains a node.
    pub(super) fn member_name(&self, node: usize) -> &str {
        self.members.get(node).map_or("", |member| self.name(*member as usize))
    }
}

/// Returns the treatment of a member with a meaning. `nodes` are its own node and the nodes inside. Members of another
/// type become pairs.
fn treatment_of(
    meaning: Meaning,
    nodes: &[&Node],
    form: MessageForm,
    field: &str,
    losses: &mut LossRecorder<'_>,
) -> Treatment {
    let kind = match nodes {
        [node] => Some(&node.class.kind),
        [optional, inner] if matches!(optional.class.kind, FieldKind::Optional { .. }) => {
            Some(&inner.class.kind)
        }
        _ => None,
    };
    let is_number = matches!(kind, Some(FieldKind::Integer { bits, .. }) if bits.length <= 64);
    let is_text = matches!(kind, Some(FieldKind::String { .. }));
    let number = |part| if is_number { Treatment::Number(part) } else { Treatment::Pair };
    let text = |part| if is_text { Treatment::Text(part) } else { Treatment::Pair };
    let treatment = match meaning {
        Meaning::Severity => number(NumberPart::Severity),
        Meaning::Process => number(NumberPart::Process),
        Meaning::Thread => number(NumberPart::Thread),
        Meaning::Line => number(NumberPart::Line),
        Meaning::Dropped => number(NumberPart::Dropped),
        Meaning::RolledOut => number(NumberPart::RolledOut),
        Meaning::Message if form == MessageForm::Rendered => Treatment::Skip,
        Meaning::Message => text(TextPart::Message),
        Meaning::Tag | Meaning::ProcessName => text(TextPart::Tag),
        Meaning::File => text(TextPart::File),
        Meaning::Component => text(TextPart::Component),
        Meaning::ComponentUrl => text(TextPart::ComponentUrl),
        Meaning::Hidden => return Treatment::Skip,
        Meaning::Rendered => Treatment::Skip,
        _ => Treatment::Pair,
    };
    match treatment {
        Treatment::Pair => losses.record_loss(LossKind::Lowered, field, format!("{meaning} -> pair")),
        Treatment::Skip => losses.record_loss(LossKind::Lowered, field, "part of the message"),
        _ if meaning == Meaning::ProcessName => {
            losses.record_loss(LossKind::Lowered, field, "process name -> tag");
        }
        _ => {}
    }
    treatment
}

/// Records losses that apply to all values of a pair.
fn record_pair(nodes: &[&Node], field: &str, losses: &mut LossRecorder<'_>) {
    let mut noted: Vec<&str> = Vec::new();
    for node in nodes {
        let what = match &node.class.kind {
            FieldKind::Optional { .. } | FieldKind::Variant { .. } => "optional or variant -> its content",
            _ if node.class.is_compound() => "structure or array -> arguments for its parts",
            FieldKind::BitMap { .. } => "bit map -> its bits as text",
            FieldKind::BitArray(_) => "bits -> text",
            FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => "bits -> text",
            FieldKind::Blob { .. } => "BLOB -> text",
            FieldKind::Guid { .. } => "GUID -> text",
            FieldKind::Integer { bits, .. } if bits.length > 64 => "integer of more than 64 bits -> text",
            FieldKind::Float(bits) if bits.length < 64 => {
                "floating-point number -> 64-bit floating-point number"
            }
            _ => match node.class.integer() {
                Some(integer) if integer.mappings.is_some() => "enumeration -> integer, without its names",
                Some(integer) if integer.date_clock().is_some() => "date -> integer",
                _ => continue,
            },
        };
        if !noted.contains(&what) {
            noted.push(what);
            losses.record_loss(LossKind::Lowered, field, what);
        }
    }
}

/// Returns the argument name of a member, changed if readers would assign a wrong meaning to it.
fn argument_name(own: &str, within: &[&Node]) -> String {
    let kinds = leaf_kinds(within);
    let means = |name: &str| {
        name.is_empty()
            || kinds.unsigned && NUMBER_NAMES.contains(&name)
            || kinds.text && TEXT_NAMES.contains(&name)
    };
    let mut name = own.to_owned();
    // Duplicate names are valid.
    while means(&name) {
        name.push('_');
    }
    name
}

#[derive(Clone, Copy, Debug, Default)]
struct LeafKinds {
    unsigned: bool,
    text: bool,
}

/// Returns the possible types for arguments with exactly the member's name.
fn leaf_kinds(nodes: &[&Node]) -> LeafKinds {
    let mut kinds = LeafKinds::default();
    let is_choice =
        |node: &Node| matches!(node.class.kind, FieldKind::Optional { .. } | FieldKind::Variant { .. });
    // Its members have other names.
    if nodes.first().is_some_and(|node| node.class.is_compound() && !is_choice(node)) {
        return kinds;
    }
    for node in nodes {
        match &node.class.kind {
            _ if is_choice(node) => {}
            FieldKind::Float(_) | FieldKind::Boolean(_) | FieldKind::Null { .. } => {}
            FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {}
            _ => match node.class.integer() {
                Some(integer) => {
                    kinds.unsigned |= !integer.signed;
                    let is_wide = node.class.bits().is_none_or(|bits| bits.length > 64);
                    kinds.text |= is_wide;
                }
                None => kinds.text = true,
            },
        }
    }
    kinds
}
