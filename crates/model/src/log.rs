//! Log role: turns events into log lines, independent of the format.
//!
//! Readers set it for event record classes whose log role they know. Sinks that write logs use only this role.

use std::fmt;
use std::sync::Mutex;

use crate::event::Event;
use crate::locks::IgnorePoison as _;

/// LTTng log level names, as in event record class attributes. The index is the level number.
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

/// Attribute namespaces in which tracers store the log level and the EMF URI of event record classes.
pub const TRACER_NAMESPACES: [&str; 4] = ["babeltrace.org,2020", "lttng.org,2009", "diamon.org,2012", "std"];

crate::named_enum! {
    /// Importance of a log line, in six steps. See [`LevelScale`] for the numbers that tracers use.
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
    /// Returns the level with this name, in any case. WARN is also called WARNING.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("warning") { "warn" } else { name };
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

/// A step of a [`LevelScale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelStep {
    /// Largest number in the step. The step starts after the previous one.
    pub up_to: i64,
    /// Level for the step.
    pub level: LogLevel,
    /// Number that means exactly that level. Any other number should be shown in addition to the level.
    pub exact: Option<i64>,
}

impl LevelStep {
    /// Creates a step whose largest number means exactly the level.
    #[must_use]
    pub const fn new(up_to: i64, level: LogLevel) -> Self {
        Self { up_to, level, exact: Some(up_to) }
    }
}

/// Log levels for a format's numbers: steps in ascending order. The last step includes all larger numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelScale(pub &'static [LevelStep]);

/// Scales declared by files, without duplicates.
static KEPT: Mutex<Vec<LevelScale>> = Mutex::new(Vec::new());

/// Maximum number of kept scales, and of steps in each. Scales are never freed, so files must not be able to add an
/// unlimited number.
const MOST_KEPT: usize = 64;

impl LevelScale {
    /// Keeps a scale declared by a file. `None` if it has too many steps, or there are too many scales. Equal scales
    /// are kept once, until the program ends.
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

    /// Returns the step for a number; `None` only for an empty scale.
    #[must_use]
    pub fn step(&self, raw: i64) -> Option<LevelStep> {
        self.0.iter().find(|step| raw <= step.up_to).or(self.0.last()).copied()
    }

    /// Returns the level for a number. Without steps, it is [`LogLevel::Info`].
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

/// Event severity source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogSeverity {
    /// Unknown.
    Unknown,
    /// Number for all events in the class.
    Constant(i64),
    /// Member with [`Meaning::Severity`](crate::meaning::Meaning::Severity).
    Member,
}

/// Writes an event's message if it is not just a field, for example a format string with its arguments.
#[derive(Clone, Copy)]
pub struct LogText {
    /// Writes the text for display, with U+FFFD for invalid UTF-8.
    pub write: fn(&Event<'_>, &mut dyn fmt::Write) -> fmt::Result,
}

impl LogText {
    /// Writes the class name as message.
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

/// Turns events of a class into log lines, together with the [meanings](crate::meaning::Meanings) of the class's
/// members.
///
/// Payload members without a meaning are the name-value pairs of the line, in order. Context members without a meaning
/// are omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRole {
    /// Severity source.
    pub severity: LogSeverity,
    /// Levels for the severity numbers.
    pub scale: LevelScale,
    /// Writes the message, unless it is just the [`Meaning::Message`](crate::meaning::Meaning::Message) member.
    pub text: Option<LogText>,
}

impl LogRole {
    /// Creates a role for events whose message is a member.
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
