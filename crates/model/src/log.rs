//! The log role: what makes an event a line of a log, whichever format it comes from.
//!
//! Readers set it for the event record classes of which they know it; sinks that write logs use nothing
//! else.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::Event;

/// How much a line of a log matters, in six steps; see [`LevelScale`] for the numbers of tracers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
}

impl LogLevel {
    /// All of them, the least one first.
    pub const ALL: [Self; 6] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    /// Its name in capitals, for instance `WARN`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A step of a [`LevelScale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelStep {
    /// The greatest number of the step: those between the step before and this one belong to it.
    pub up_to: i64,
    /// What they count as.
    pub level: LogLevel,
    /// The number of the step that stands for just that level. Any other one of them is worth being
    /// reported beside the level.
    pub exact: Option<i64>,
}

impl LevelStep {
    /// A step whose greatest number is the one that stands for the level.
    #[must_use]
    pub const fn new(up_to: i64, level: LogLevel) -> Self {
        Self { up_to, level, exact: Some(up_to) }
    }
}

/// Which numbers of a format stand for which levels: steps in ascending order. What is above all of
/// them belongs to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelScale(pub &'static [LevelStep]);

/// The scales that files have declared, each of them once.
static KEPT: Mutex<Vec<LevelScale>> = Mutex::new(Vec::new());

/// Most scales that are kept, and most steps of each: as they are kept for good, files must not add to them
/// without end.
const MOST_KEPT: usize = 64;

impl LevelScale {
    /// A scale of these steps that a file has declared; None if it has too many, or if there are too many
    /// scales. Equal scales are kept once, as long as the program runs.
    #[must_use]
    pub fn kept(steps: Vec<LevelStep>) -> Option<Self> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The step that a number belongs to; None only if there are no steps.
    #[must_use]
    pub fn step(&self, raw: i64) -> Option<LevelStep> {
        self.0.iter().find(|step| raw <= step.up_to).or(self.0.last()).copied()
    }

    /// The level that a number counts as; a scale without steps only knows [`LogLevel::Info`].
    #[must_use]
    pub fn level(&self, raw: i64) -> LogLevel {
        self.step(raw).map_or(LogLevel::Info, |step| step.level)
    }

    /// Whether a number stands for just the level that it counts as.
    #[must_use]
    pub fn is_exact(&self, raw: i64) -> bool {
        self.step(raw).is_some_and(|step| step.exact == Some(raw))
    }
}

/// Where the severity of an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogSeverity {
    /// It is not said how much the events matter.
    Unknown,
    /// All events of the class have this number.
    Constant(i64),
    /// It is in the member with [`Meaning::Severity`](crate::Meaning::Severity).
    Member,
}

/// Writes the message of an event that is more than a field: a format string with its arguments.
#[derive(Clone, Copy)]
pub struct LogText {
    /// Writes the text for people; what is not UTF-8 in it as U+FFFD.
    pub write: fn(&Event<'_>, &mut dyn fmt::Write) -> fmt::Result,
}

impl LogText {
    /// The message is the name of the class.
    pub const NAME: Self = Self { write: write_name };
}

// One function wherever it is compared.
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

/// What makes the events of a class lines of a log, beside what the members of the class
/// [mean](crate::Meanings).
///
/// Members of the payload that mean nothing are the pairs of name and value of the line, in order; members
/// of contexts that mean nothing are not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRole {
    /// Where the severity comes from.
    pub severity: LogSeverity,
    /// What its numbers stand for.
    pub scale: LevelScale,
    /// How to write the message, if it is not just the member with
    /// [`Meaning::Message`](crate::Meaning::Message).
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
