//! Columns of tables as group keys.

use ichnos_model::class::EventRecordClass;
use ichnos_model::log::{LogSeverity, LogText};

/// Names that group events besides fields. Other meanings are names, too.
pub const KEY_NAMES: [&str; 12] = [
    "event",
    "span",
    "stream",
    "host",
    "trace",
    "level",
    "severity",
    "message",
    "process",
    "thread",
    "cpu",
    "operation",
];

/// Event property that is a column of all events in tables, and not always a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyProperty {
    /// Severity number of the class.
    Severity,
    /// Log level.
    Level,
    /// Message that consists of several fields.
    Message,
    /// Path of the trace.
    Trace,
}

impl KeyProperty {
    /// Returns the property with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "severity" => Some(Self::Severity),
            "level" => Some(Self::Level),
            "message" => Some(Self::Message),
            "trace" => Some(Self::Trace),
            _ => None,
        }
    }

    /// Returns `true` if events of a class have the property without a field of this name or meaning.
    #[must_use]
    pub fn is_in(self, class: &EventRecordClass) -> bool {
        let role = class.log.as_deref();
        let severity = role.map_or(LogSeverity::Unknown, |role| role.severity);
        match self {
            Self::Severity => matches!(severity, LogSeverity::Constant(_)),
            Self::Level => severity != LogSeverity::Unknown,
            Self::Message => role.and_then(|role| role.text).is_some_and(|text| text != LogText::NAME),
            Self::Trace => true,
        }
    }
}
