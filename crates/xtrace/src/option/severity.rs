//! Severity threshold for reports.

use core::fmt;

use super::{PayloadLength, payload};
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// Option Severity: minimum importance of reported events, as a syslog level. One byte.
///
/// 0 is the most important level. An event is [reported](Self::reports) if its level does not exceed the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(pub u8);

impl Severity {
    /// Option type.
    pub const NUMBER: u8 = 0xCE;

    /// The system is unusable.
    pub const EMERGENCY: Self = Self(0);
    /// Immediate action is necessary.
    pub const ALERT: Self = Self(1);
    /// A critical condition.
    pub const CRITICAL: Self = Self(2);
    /// An error.
    pub const ERROR: Self = Self(3);
    /// A warning.
    pub const WARNING: Self = Self(4);
    /// Normal but significant.
    pub const NOTICE: Self = Self(5);
    /// Information.
    pub const INFO: Self = Self(6);
    /// Debugging.
    pub const DEBUG: Self = Self(7);

    /// Threshold that reports everything.
    pub const ALL: Self = Self(8);
    /// Not set. As a threshold, each program uses its own threshold. As an event level, it means
    /// [`NOTICE`](Self::NOTICE).
    pub const UNSET: Self = Self(254);
    /// Threshold that reports nothing.
    pub const NONE: Self = Self(255);

    /// Returns the threshold from metadata, or `None` without the option.
    ///
    /// # Errors
    /// If the payload does not have 1 byte.
    pub fn from_metadata(metadata: MetadataRef<'_>) -> Result<Option<Self>, PayloadLength> {
        Ok(payload(metadata, Self::NUMBER)?.map(|[level]| Self(level)))
    }

    /// Returns the threshold from metadata, or [`UNSET`](Self::UNSET) if it is missing or has a wrong length.
    #[must_use]
    pub fn threshold_of(metadata: MetadataRef<'_>) -> Self {
        Self::from_metadata(metadata).ok().flatten().unwrap_or(Self::UNSET)
    }

    /// Sets the threshold in metadata.
    ///
    /// # Errors
    /// If the option does not fit.
    pub fn set(self, metadata: &mut Metadata) -> Result<(), OptionsFull> {
        metadata.set_option(Self::NUMBER, &[self.0])
    }

    /// Returns this threshold, or `other` if it is [not set](Self::UNSET).
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::UNSET { other } else { self }
    }

    /// Returns `true` if this threshold reports an event level. *Not set* means [`NOTICE`](Self::NOTICE).
    #[must_use]
    pub fn reports(self, event: Self) -> bool {
        self != Self::NONE && event.or(Self::NOTICE) <= self.or(Self::NOTICE)
    }

    /// Returns the syslog name, or `None` for numbers without a name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::EMERGENCY => "emergency",
            Self::ALERT => "alert",
            Self::CRITICAL => "critical",
            Self::ERROR => "error",
            Self::WARNING => "warning",
            Self::NOTICE => "notice",
            Self::INFO => "info",
            Self::DEBUG => "debug",
            Self::ALL => "all",
            Self::UNSET => "unset",
            Self::NONE => "none",
            _ => return None,
        })
    }
}

impl Default for Severity {
    fn default() -> Self {
        Self::NOTICE
    }
}

/// Writes the number, as in reports.
impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds() {
        assert!(Severity::WARNING.reports(Severity::WARNING));
        assert!(Severity::WARNING.reports(Severity::EMERGENCY));
        assert!(!Severity::WARNING.reports(Severity::NOTICE));
        assert!(Severity::UNSET.reports(Severity::UNSET));
        assert!(!Severity::UNSET.reports(Severity::INFO));
        assert!(Severity::ALL.reports(Severity::DEBUG));
        assert!(!Severity::NONE.reports(Severity::EMERGENCY));
    }
}
