//! Event classes from other formats.

use ichnos_model::class::{FieldKind, Value};
use ichnos_model::log::{LevelScale, LogLevel, LogSeverity};
use ichnos_model::lower::{KeptMetadata, LossKind, LossRecorder, LossTable};
use ichnos_model::meaning::{CauseKind, EventRole, Meaning};
use ichnos_model::plan::Plan;
use ichnos_model::{Event, Scope, TraceClass};

use crate::reader::class::{CLOCK, LineRole, SCALE};

/// Metadata that reports preserve.
pub(super) const KEPT_METADATA: KeptMetadata =
    KeptMetadata { namespace: None, clocks: &[CLOCK], stream_names: false, severities: true };

/// Field use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldUse {
    Skip,
    Line,
    Message,
    Task,
    Operation,
    Cause(CauseKind),
    Chain,
    CauseChain,
    Process,
    Thread,
    Severity,
}

/// Use of a plan node, and key index for its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeUse {
    pub(super) field: FieldUse,
    pub(super) key: u32,
}

/// Conversion of an event class from another format.
#[derive(Debug)]
pub(super) struct ForeignClass {
    /// Node uses by node index.
    pub(super) scopes: Vec<(Scope, Box<[NodeUse]>)>,
    keys: Vec<String>,
    /// Lines for all events, from trace data.
    pub(super) constant: Vec<(&'static str, String)>,
    pub(super) name: String,
    /// Process of the trace.
    pub(super) own_process: u64,
    scale: Option<LevelScale>,
}

/// Trace data that becomes an event line, unless events have a field with this meaning.
#[derive(Debug)]
pub(super) struct TraceConstant {
    pub(super) meaning: Meaning,
    key: &'static str,
    /// Name of the environment entry.
    pub(super) entry: &'static str,
    value: String,
}

/// Returns the trace data that becomes event lines.
pub(super) fn trace_constants(class: &TraceClass) -> Vec<TraceConstant> {
    let text = |entry| Some((entry, class.environment(entry)?.as_text()?.to_owned()));
    let process = match class.environment("vpid") {
        Some(Value::Integer(process)) => Some(("vpid", process.to_string())),
        _ => None,
    };
    let all = [
        (Meaning::Machine, "Host", text("hostname")),
        (Meaning::Component, "Agent", text("procname").or_else(|| text("tracer_name"))),
        (Meaning::Process, "ProcessID", process),
    ];
    let constant = |(meaning, key, found): (_, _, Option<_>)| {
        found.map(|(entry, value)| TraceConstant { meaning, key, entry, value })
    };
    all.into_iter().filter_map(constant).collect()
}

/// Scopes in line order.
const SCOPES: [Scope; 5] =
    [Scope::EventRecordHeader, Scope::CommonContext, Scope::SpecificContext, Scope::Resource, Scope::Payload];

impl ForeignClass {
    /// Creates the conversion for the class of an event, and adds class-wide losses to `table`.
    pub(super) fn new(event: &Event<'_>, table: &mut LossTable) -> Self {
        let class = event.class;
        let log = class.log.as_deref();
        let mut made = Self {
            scopes: Vec::new(),
            keys: Vec::new(),
            constant: Vec::new(),
            name: event.name().to_owned(),
            own_process: 0,
            scale: log.map(|log| log.scale),
        };
        table.add_class_metadata(event, KEPT_METADATA);
        table.add_dates(event);
        table.add_clock_updates(event);
        table.add_other_clocks(event);
        let mut losses = table.for_class(event.name());
        losses.record_loss(LossKind::Lowered, "", "fields -> lines");
        if class.role != EventRole::Instant {
            losses.record_loss(LossKind::Dropped, "", "role of the class");
        }
        let has = |meaning| class.meanings.members(meaning).next().is_some();
        if has(Meaning::Stack) {
            losses.record_loss(LossKind::Dropped, "stack", "call stack");
        }
        if has(Meaning::Cause(CauseKind::Related)) {
            losses.record_loss(LossKind::Lowered, "", "related operation -> edge");
        }
        let severity = log.map(|log| log.severity);
        if class.log_level.is_some() && matches!(severity, Some(LogSeverity::Constant(_))) {
            losses.record_loss(LossKind::Lowered, "", "log level -> line `Severity`");
        }
        made.add_constants(event, has);
        if let Some(LogSeverity::Constant(level)) = severity {
            made.constant.push(("Severity", made.severity(level).to_string()));
        }
        for scope in SCOPES {
            let Some(plan) = event.plan(scope) else { continue };
            let unused = NodeUse { field: FieldUse::Skip, key: 0 };
            let mut uses: Box<[NodeUse]> = vec![unused; plan.nodes().count()].into();
            for (index, member) in plan.fields().enumerate() {
                let meaning = class.meanings.get(scope, index);
                // Header fields without a meaning are times and ids.
                if meaning.is_none() && scope == Scope::EventRecordHeader {
                    table.add_member(scope, plan, member);
                    continue;
                }
                made.add_member(
                    (scope, plan),
                    member,
                    meaning,
                    &mut uses,
                    &mut table.for_class(event.name()),
                );
            }
            if uses.iter().any(|node| node.field != FieldUse::Skip) {
                made.scopes.push((scope, uses));
            }
        }
        made
    }

    /// Returns the key at an index.
    pub(super) fn key(&self, index: u32) -> &[u8] {
        self.keys.get(index as usize).map_or(&[], |key| key.as_bytes())
    }

    /// Returns the syslog level for a level of the class.
    pub(super) fn severity(&self, level: i64) -> u8 {
        if let (true, Ok(level)) = (self.scale == Some(SCALE), u8::try_from(level)) {
            return level;
        }
        match self.scale.map_or(LogLevel::Info, |scale| scale.level(level)) {
            LogLevel::Fatal => 2,
            LogLevel::Error => 3,
            LogLevel::Warn => 4,
            LogLevel::Info => 6,
            LogLevel::Debug | LogLevel::Trace => 7,
        }
    }

    /// Adds the lines from trace data that events lack.
    fn add_constants(&mut self, event: &Event<'_>, has: impl Fn(Meaning) -> bool) {
        for TraceConstant { meaning, key, value, .. } in trace_constants(&event.stream.trace.class) {
            if has(meaning) {
                continue;
            }
            if meaning == Meaning::Process {
                self.own_process = value.parse().unwrap_or(0);
            }
            self.constant.push((key, value));
        }
    }

    /// Adds a scope member and everything in it.
    fn add_member(
        &mut self,
        (scope, plan): (Scope, &Plan),
        member: usize,
        meaning: Option<Meaning>,
        uses: &mut [NodeUse],
        losses: &mut LossRecorder<'_>,
    ) {
        let name = plan.field_name(member);
        let is_text =
            plan.within(member).filter_map(|node| plan.get(node)).any(|node| is_text(&node.class.kind));
        let (field, key) = match meaning {
            Some(Meaning::Hidden | Meaning::Stack) => return,
            Some(Meaning::TaskId) => (FieldUse::Task, None),
            Some(Meaning::OperationId) => (FieldUse::Operation, None),
            Some(Meaning::Cause(kind)) => (FieldUse::Cause(kind), None),
            Some(Meaning::ChainId) => (FieldUse::Chain, None),
            Some(Meaning::CauseChain) => (FieldUse::CauseChain, None),
            Some(Meaning::Message) if is_text => (FieldUse::Message, Some("Label")),
            Some(Meaning::TaskTitle) if is_text => (FieldUse::Line, Some("Title")),
            Some(Meaning::Machine) => (FieldUse::Line, Some("Host")),
            Some(Meaning::Component) if is_text => (FieldUse::Line, Some("Agent")),
            Some(Meaning::Tag) if is_text => (FieldUse::Line, Some("Tag")),
            Some(Meaning::ProcessName) if is_text => (FieldUse::Line, Some("ProcessName")),
            Some(Meaning::ThreadName) if is_text => (FieldUse::Line, Some("ThreadName")),
            Some(Meaning::Thread) if is_text => (FieldUse::Thread, Some("ThreadName")),
            Some(Meaning::Thread) => (FieldUse::Thread, Some("ThreadID")),
            Some(Meaning::Process) if !is_text => (FieldUse::Process, Some("ProcessID")),
            Some(Meaning::Severity) if !is_text => (FieldUse::Severity, Some("Severity")),
            _ => (FieldUse::Line, None),
        };
        let key = match key {
            Some(key) => key.to_owned(),
            None => free_key(name),
        };
        if key != name && field == FieldUse::Line && meaning.is_none() {
            let field = format!("{}.{name}", scope.short_name());
            losses.record_loss(LossKind::Renamed, field, format!("`{name}` -> `{key}`"));
        }
        let key = self.add_key(key);
        self.add_node(plan, member, key, field, uses);
    }

    fn add_key(&mut self, key: String) -> u32 {
        self.keys.push(key);
        self.keys.len() as u32 - 1
    }

    /// Adds a node and everything in it.
    fn add_node(&mut self, plan: &Plan, index: usize, key: u32, field: FieldUse, uses: &mut [NodeUse]) {
        let Some(node) = plan.get(index) else { return };
        if node.only_serves_decoding() && !node.class.is_compound() {
            return;
        }
        if let Some(place) = uses.get_mut(index) {
            *place = NodeUse { field, key };
        }
        for child in plan.children(index) {
            // Elements, options and optional values use the key of the enclosing field.
            let name = plan.get(child).filter(|child| !child.is_variant_option());
            let key = match name.and_then(|child| child.name.as_deref()) {
                None => key,
                Some(name) => {
                    let path = self.keys.get(key as usize).map_or("", String::as_str);
                    let path = format!("{path}.{name}");
                    self.add_key(path)
                }
            };
            self.add_node(plan, child, key, field, uses);
        }
    }
}

/// Returns a member key without any other meaning for report readers.
fn free_key(name: &str) -> String {
    let is_taken = LineRole::from_key(name.as_bytes()) != LineRole::Other || RESERVED.contains(&name);
    if is_taken { format!("{name}_") } else { name.to_owned() }
}

/// Reserved keys, in addition to [`LineRole`] keys and JSON report keys.
const RESERVED: [&str; 15] = [
    "Agent",
    "Class",
    "Escaped",
    "Event",
    "Host",
    "Label",
    "Operation",
    "Option",
    "ProcessName",
    "Source",
    "Tag",
    "ThreadName",
    "Title",
    "reports",
    "version",
];

fn is_text(kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::String { .. })
}
