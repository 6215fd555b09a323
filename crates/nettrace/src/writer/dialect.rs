//! Supported output versions.

use ichnos_io::{OptionValue, WriteSource};

/// Output version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Version 4 with the tags of version 5.
    V4,
    /// Version 6.
    V6,
}

/// Dialect names. The first is the default for events of one process.
pub(super) const DIALECTS: &[OptionValue] = &[
    OptionValue::new("4", "nettrace 4 with the tags of 5, as .NET writes it; for events of one process")
        .aliases(&["nettrace4"]),
    OptionValue::new("6", "nettrace 6: with processes, thread names, and OpenTelemetry ids")
        .aliases(&["nettrace6"]),
];

impl Dialect {
    /// Returns the dialect with a name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let known = DIALECTS.iter().find(|known| known.name == name || known.aliases.contains(&name))?;
        Some(if known.name == "6" { Self::V6 } else { Self::V4 })
    }

    /// Returns the dialect for sources: version 6 if they have this version, or are files from several processes.
    pub(super) fn from_sources(sources: &[WriteSource]) -> Self {
        let files = || sources.iter().filter(|source| source.format == "nettrace");
        let process = |source: &WriteSource| source.trace.class.environment("process_id").cloned();
        let first = files().next().map(process);
        let is_v6 = files().any(|source| source.trace.class.dialect.starts_with("NetTrace 6"))
            || files().any(|source| Some(process(source)) != first);
        if is_v6 { Self::V6 } else { Self::V4 }
    }

    pub(super) fn is_v6(self) -> bool {
        self == Self::V6
    }
}
