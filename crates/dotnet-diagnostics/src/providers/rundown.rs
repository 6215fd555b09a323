//! Rundown at the end of a session.

/// Events that describe loaded methods and modules, at the end of a session. Without them, stack addresses lack names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rundown {
    /// Methods and modules.
    #[default]
    Default,
    /// No rundown.
    Omitted,
    /// Events with keywords. .NET 9 and later.
    Keywords(u64),
}

impl Rundown {
    /// Keywords that are equal to [`Default`](Self::Default), from the section "`CollectTracing4`" of the protocol.
    const DEFAULT: u64 = 0x8002_0139;

    /// Returns the keywords.
    #[must_use]
    pub fn keywords(self) -> u64 {
        match self {
            Self::Default => Self::DEFAULT,
            Self::Omitted => 0,
            Self::Keywords(keywords) => keywords,
        }
    }

    /// Creates a rundown from keywords.
    #[must_use]
    pub fn from_keywords(keywords: u64) -> Self {
        match keywords {
            Self::DEFAULT => Self::Default,
            0 => Self::Omitted,
            keywords => Self::Keywords(keywords),
        }
    }

    /// Returns the nearest rundown for runtimes without rundown keywords. Keeps method names.
    #[must_use]
    pub fn without_keywords(self) -> Self {
        /// Loader, JIT and native images: the events with names.
        const NAMES: u64 = 0x38;
        match self {
            Self::Keywords(keywords) if keywords & NAMES == 0 => Self::Omitted,
            Self::Keywords(_) => Self::Default,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_come_back() {
        for rundown in [Rundown::Default, Rundown::Omitted, Rundown::Keywords(1)] {
            assert_eq!(Rundown::from_keywords(rundown.keywords()), rundown);
        }
        for (keywords, nearest) in [
            (0x1, Rundown::Omitted),
            (0x10, Rundown::Default),
            (0x9, Rundown::Default),
            (0x100, Rundown::Omitted),
        ] {
            assert_eq!(Rundown::Keywords(keywords).without_keywords(), nearest, "{keywords:x}");
        }
        assert_eq!(Rundown::Default.without_keywords(), Rundown::Default);
    }
}
