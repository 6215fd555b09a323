//! Event levels.

use super::provider_error::ProviderError;

/// Event level. A session with a level also records all lower levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Level {
    /// All events, independent of their level.
    LogAlways = 0,
    /// Critical errors.
    Critical = 1,
    /// Errors.
    Error = 2,
    /// Warnings.
    Warning = 3,
    /// Information.
    #[default]
    Informational = 4,
    /// Everything.
    Verbose = 5,
}

impl Level {
    const NAMES: [(&str, Self); 6] = [
        ("logalways", Self::LogAlways),
        ("critical", Self::Critical),
        ("error", Self::Error),
        ("warning", Self::Warning),
        ("informational", Self::Informational),
        ("verbose", Self::Verbose),
    ];

    /// Parses a level name or number. Numbers over 5 are [`Verbose`](Self::Verbose).
    ///
    /// # Errors
    /// If the text is neither a name nor a number.
    pub fn parse(text: &str) -> Result<Self, ProviderError> {
        let name = Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        let number = || Some(text.parse::<u32>().ok()?.min(5) as usize);
        let found = name.or_else(|| Self::NAMES.get(number()?));
        found.map(|(_, level)| *level).ok_or_else(|| ProviderError::Level { level: text.to_owned() })
    }

    /// Returns the level that includes both.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::LogAlways, _) | (_, Self::LogAlways) => Self::LogAlways,
            (level, other) if level as u32 >= other as u32 => level,
            (_, other) => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_parsed() {
        for (text, level) in [
            ("0", Some(Level::LogAlways)),
            ("4", Some(Level::Informational)),
            ("5", Some(Level::Verbose)),
            ("255", Some(Level::Verbose)),
            ("Verbose", Some(Level::Verbose)),
            ("WARNING", Some(Level::Warning)),
            ("logAlways", Some(Level::LogAlways)),
            ("-1", None),
            ("", None),
            ("warn", None),
        ] {
            assert_eq!(Level::parse(text).ok(), level, "{text}");
        }
        assert_eq!(Level::Error.max(Level::Warning), Level::Warning);
        assert_eq!(Level::Verbose.max(Level::LogAlways), Level::LogAlways);
    }
}
