//! The log role: makes an event a line of a log, in any format.
//!
//! Readers set it for event record classes, if they know it; sinks that write logs use only this role.

use std::fmt;
use std::sync::Mutex;

use crate::{Event, IgnorePoison as _};

/// Names of LTTng's log levels in attributes of event record classes, each at its number.
pub const LOG_LEVEL_NAMES: [&str; 15] = [
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "info",
    "debug:system",
    "debug:program",
    "debug:process",
    "debug:module",
    "debug:unit",
    "debug:function",
    "debug:line",
    "debug",
];

/// Namespaces of attributes in which tracers store the log level and the EMF URI of event record classes.
pub const TRACER_NAMESPACES: [&str; 4] = ["babeltrace.org,2020", "lttng.org,2009", "diamon.org,2012", "std"];

crate::named_enum! {
    /// Importance of a line of a log, in six steps; see [`LevelScale`] for the numbers of tracers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[allow(missing_docs)]
    pub enum LogLevel {
        Trace = "TRACE",
        Debug = "DEBUG",
        Info = "INFO",
        Warn = "WARN",
        Error = "ERROR",
        Fatal = "FATAL",
    }
}

impl LogLevel {
    /// Returns the level of this name, in any case; WARN is also called WARNING.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("warning") { "warn" } else { name };
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

/// A step of a [`LevelScale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelStep {
    /// Largest number of the step, which begins after the previous step.
    pub up_to: i64,
    /// Level of the step.
    pub level: LogLevel,
    /// The number that means exactly that level. Any other number is worth reporting beside the level.
    pub exact: Option<i64>,
}

impl LevelStep {
    /// Makes a step whose largest number means exactly the level.
    #[must_use]
    pub const fn new(up_to: i64, level: LogLevel) -> Self {
        Self { up_to, level, exact: Some(up_to) }
    }
}

/// Levels of the numbers of a format: steps in ascending order. Numbers above the last step belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelScale(pub &'static [LevelStep]);

/// Scales that files declared, each of them once.
static KEPT: Mutex<Vec<LevelScale>> = Mutex::new(Vec::new());

/// Maximum number of scales that are kept, and of steps of each: scales are never freed, so files must not
/// add them without end.
const MOST_KEPT: usize = 64;

impl LevelScale {
    /// Keeps a scale that a file declared; `None` if it has too many steps, or there are too many scales.
    /// Equal scales are kept once, until the program ends.
    #[must_use]
    pub fn kept(steps: Vec<LevelStep>) -> Option<Self> {
        let mut kept = KEPT.lock().ignore_poison();
        if let Some(known) = kept.iter().find(|known| known.0 == steps) {
            return Some(*known);
        }
        if kept.len() >= MOST_KEPT || steps.len() > MOST_KEPT {
            return None;
        }
        let scale = Self(steps.leak());
        kept.push(scale);
        Some(scale)
    }

    /// Returns the step of a number; `None` only if there are no steps.
    #[must_use]
    pub fn step(&self, raw: i64) -> Option<LevelStep> {
        self.0.iter().find(|step| raw <= step.up_to).or(self.0.last()).copied()
    }

    /// Returns the level of a number; a scale without steps only has [`LogLevel::Info`].
    #[must_use]
    pub fn level(&self, raw: i64) -> LogLevel {
        self.step(raw).map_or(LogLevel::Info, |step| step.level)
    }

    /// Returns `true` if a number means exactly its level.
    #[must_use]
    pub fn is_exact(&self, raw: i64) -> bool {
        self.step(raw).is_some_and(|step| step.exact == Some(raw))
    }
}

/// Source of an event's severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogSeverity {
    /// Unknown.
    Unknown,
    /// A number that all events of the class have.
    Constant(i64),
    /// The member with [`Meaning::Severity`](crate::Meaning::Severity).
    Member,
}

/// Writes the message of an event that is not just a field: a format string with its arguments.
#[derive(Clone, Copy)]
pub struct LogText {
    /// Writes the text for display, with U+FFFD for invalid UTF-8.
    pub write: fn(&Event<'_>, &mut dyn fmt::Write) -> fmt::Result,
}

impl LogText {
    /// The message is the name of the class.
    pub const NAME: Self = Self { write: write_name };
}

// Not inlined, so that comparisons see a single address.
#[inline(never)]
fn write_name(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str(event.class.name.as_deref().unwrap_or("<unknown>"))
}

impl fmt::Debug for LogText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogText").finish_non_exhaustive()
    }
}

impl PartialEq for LogText {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.write, other.write)
    }
}

impl Eq for LogText {}

/// Makes the events of a class lines of a log, together with the [meanings](crate::Meanings) of the class's
/// members.
///
/// Payload members without a meaning are the name-value pairs of the line, in order; context members without
/// a meaning are not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRole {
    /// Source of the severity.
    pub severity: LogSeverity,
    /// Levels of its numbers.
    pub scale: LevelScale,
    /// Writes the message, unless it is just the member with [`Meaning::Message`](crate::Meaning::Message).
    pub text: Option<LogText>,
}

impl LogRole {
    /// A role of events whose message is a member.
    #[must_use]
    pub const fn new(severity: LogSeverity, scale: LevelScale) -> Self {
        Self { severity, scale, text: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: LevelScale = LevelScale(&[
        LevelStep::new(10, LogLevel::Debug),
        LevelStep { up_to: 20, level: LogLevel::Info, exact: Some(15) },
        LevelStep::new(30, LogLevel::Error),
    ]);

    #[test]
    fn numbers_between_two_steps_belong_to_the_upper_one() {
        let levels = [i64::MIN, 10, 11, 15, 20, 21, 31, i64::MAX].map(|raw| SCALE.level(raw));
        use LogLevel::{Debug, Error, Info};
        assert_eq!(levels, [Debug, Debug, Info, Info, Info, Error, Error, Error]);
        let exact = [9, 10, 15, 20, 30, 31].map(|raw| SCALE.is_exact(raw));
        assert_eq!(exact, [false, true, true, false, true, false]);
        assert_eq!(LevelScale(&[]).level(3), LogLevel::Info);
    }
}
