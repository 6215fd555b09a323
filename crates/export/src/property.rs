//! Class properties that several sinks show.

use std::borrow::Cow;

use ichnos_model::class::{Attributes, EventRecordClass, UuidOf};
use ichnos_model::log::LOG_LEVEL_NAMES;
use ichnos_model::plan::Plan;
use ichnos_model::{Trace, TraceClass};

/// Attribute namespaces of log levels and EMF URIs in CTF 2.
const NAMESPACES: [&str; 2] = ["babeltrace.org,2020", "lttng.org,2009"];

/// LTTng log level: number and names.
pub(crate) struct LogLevel {
    pub(crate) number: u8,
    /// Name in CTF 2 attributes.
    pub(crate) attribute: &'static str,
    /// Name in tracers.
    pub(crate) macro_name: &'static str,
    /// Name for display.
    pub(crate) title: &'static str,
}

const fn level(number: u8, macro_name: &'static str, title: &'static str) -> LogLevel {
    LogLevel { number, attribute: LOG_LEVEL_NAMES[number as usize], macro_name, title }
}

static LOG_LEVELS: [LogLevel; 15] = [
    level(0, "TRACE_EMERG", "Emergency"),
    level(1, "TRACE_ALERT", "Alert"),
    level(2, "TRACE_CRIT", "Critical"),
    level(3, "TRACE_ERR", "Error"),
    level(4, "TRACE_WARNING", "Warning"),
    level(5, "TRACE_NOTICE", "Notice"),
    level(6, "TRACE_INFO", "Info"),
    level(7, "TRACE_DEBUG_SYSTEM", "Debug (system)"),
    level(8, "TRACE_DEBUG_PROGRAM", "Debug (program)"),
    level(9, "TRACE_DEBUG_PROCESS", "Debug (process)"),
    level(10, "TRACE_DEBUG_MODULE", "Debug (module)"),
    level(11, "TRACE_DEBUG_UNIT", "Debug (unit)"),
    level(12, "TRACE_DEBUG_FUNCTION", "Debug (function)"),
    level(13, "TRACE_DEBUG_LINE", "Debug (line)"),
    level(14, "TRACE_DEBUG", "Debug"),
];

fn attribute<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    NAMESPACES.iter().find_map(|namespace| attributes.get(namespace)?.get(name)?.as_text())
}

/// Returns the log level name of an event record class, if it has one.
#[must_use]
pub fn log_level_name(class: &EventRecordClass) -> Option<&'static str> {
    log_level(class).map(|level| level.attribute)
}

/// Returns the number of a log level by its name.
#[must_use]
pub fn log_level_number(name: &str) -> Option<i64> {
    LOG_LEVELS.iter().find(|level| level.attribute == name).map(|level| level.number.into())
}

/// Returns the log level of an event record class.
pub(crate) fn log_level(class: &EventRecordClass) -> Option<&'static LogLevel> {
    if let Some(number) = class.log_level {
        return LOG_LEVELS.iter().find(|level| i64::from(level.number) == number);
    }
    let name = attribute(&class.attributes, "log-level")?;
    LOG_LEVELS.iter().find(|level| level.attribute == name)
}

/// Returns the EMF URI of an event record class.
#[must_use]
pub fn emf_uri(class: &EventRecordClass) -> Option<&str> {
    class.emf_uri.as_deref().or_else(|| attribute(&class.attributes, "emf-uri"))
}

/// Returns the namespace of a trace.
pub(crate) fn trace_namespace(class: &TraceClass) -> Option<&str> {
    class.namespace.as_deref().or(class.implied_namespace.as_deref())
}

/// Returns the unique identifier of a trace, by default its UUID.
pub(crate) fn trace_uid(class: &TraceClass) -> Option<Cow<'_, str>> {
    if let Some(uid) = &class.uid {
        return Some(uid.into());
    }
    let uuid = class.uuid.filter(|_| class.uuid_of != UuidOf::MetadataStream)?;
    Some(uuid.to_string().into())
}

/// Returns the name of a trace.
pub(crate) fn trace_name(trace: &Trace) -> Option<&str> {
    let own = || trace.class.name.as_deref().or((!trace.name.is_empty()).then_some(&*trace.name));
    trace.given_name.as_deref().or_else(own)
}

/// Fields of a scope that only serve decoding and are not displayed: fields with roles, unless another field needs
/// them, and containers without other fields.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    /// `true` for hidden nodes, by index. Empty if nothing is hidden.
    nodes: Vec<bool>,
}

impl Hidden {
    pub(crate) fn for_plan(plan: Option<&Plan>) -> Self {
        let Some(plan) = plan else {
            return Self::default();
        };
        let mut hidden = vec![false; plan.nodes().count()];
        // Fields come after their containers.
        for index in (0..hidden.len()).rev() {
            let Some(node) = plan.get(index) else { continue };
            hidden[index] = if node.class.is_compound() {
                let mut within = plan.children(index).peekable();
                within.peek().is_some() && within.all(|child| hidden[child])
            } else {
                node.class.is_padding() || !node.roles.is_empty() && !node.is_needed()
            };
        }
        if !hidden.contains(&true) {
            hidden.clear();
        }
        Self { nodes: hidden }
    }

    /// Returns the fields of a plan that visitors do not receive.
    pub(crate) fn padding(plan: &Plan) -> Self {
        Self { nodes: plan.nodes().map(|node| node.class.is_padding()).collect() }
    }

    /// Returns `true` if the field with this index, in the order of [`Plan::nodes`], is hidden.
    pub(crate) fn at(&self, index: usize) -> bool {
        self.nodes.get(index).copied().unwrap_or(false)
    }

    /// Returns `true` if the whole scope is hidden.
    pub(crate) fn all(&self) -> bool {
        self.at(0)
    }
}

/// Returns `true` if a field of a scope has a value and no role.
#[must_use]
pub fn has_plain_field(plan: &Plan) -> bool {
    plan.nodes().any(|node| {
        let has_value = !node.class.is_compound() && !node.class.is_padding();
        has_value && node.roles.is_empty()
    })
}
