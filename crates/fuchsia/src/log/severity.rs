//! Severities: six names, and the numbers between them.

use core::fmt;

/// A named severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Severity {
    /// 0x10.
    Trace = 0x10,
    /// 0x20.
    Debug = 0x20,
    /// 0x30.
    Info = 0x30,
    /// 0x40.
    Warn = 0x40,
    /// 0x50.
    Error = 0x50,
    /// 0x60.
    Fatal = 0x60,
}

impl Severity {
    /// Returns the named severity for any number.
    ///
    /// A number between two names maps to the upper name, except that numbers between TRACE and INFO are verbosity
    /// levels and map to DEBUG.
    #[must_use]
    pub const fn from_raw(raw: u8) -> Self {
        match raw {
            0x00..=0x10 => Self::Trace,
            0x11..=0x2f => Self::Debug,
            0x30 => Self::Info,
            0x31..=0x40 => Self::Warn,
            0x41..=0x50 => Self::Error,
            0x51..=0xff => Self::Fatal,
        }
    }

    /// Returns the severity with exactly this number, or `None` for a number between two names.
    #[must_use]
    pub const fn exact(raw: u8) -> Option<Self> {
        let severity = Self::from_raw(raw);
        if severity.raw() == raw { Some(severity) } else { None }
    }

    /// Returns the number.
    #[must_use]
    pub const fn raw(self) -> u8 {
        self as u8
    }

    /// Returns the name in uppercase, for example `WARN`.
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

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        let all = [Severity::Trace, Severity::Debug, Severity::Info, Severity::Warn, Severity::Error];
        for severity in all.into_iter().chain([Severity::Fatal]) {
            assert_eq!(Severity::exact(severity.raw()), Some(severity));
        }
        assert_eq!((0..=255).filter(|raw| Severity::exact(*raw).is_some()).count(), 6);
    }

    #[test]
    fn between_the_names() {
        for (raw, severity) in [
            (0x00, Severity::Trace),
            (0x0f, Severity::Trace),
            (0x11, Severity::Debug),
            (0x21, Severity::Debug),
            (0x2e, Severity::Debug),
            (0x2f, Severity::Debug),
            (0x31, Severity::Warn),
            (0x41, Severity::Error),
            (0x51, Severity::Fatal),
            (0xff, Severity::Fatal),
        ] {
            assert_eq!(Severity::from_raw(raw), severity, "{raw:#x}");
        }
    }
}
