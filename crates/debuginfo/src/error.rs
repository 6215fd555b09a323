//! Reasons for missing debug information.

use crate::budget::Exhausted;

/// Reason why a file's debug information cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DebugInfoError {
    /// The file cannot be read.
    #[error("{path}: {message}")]
    Io {
        /// Path of the file.
        path: String,
        /// Message of the operating system.
        message: String,
    },
    /// The path does not lead to a regular file, or the file must not be read.
    #[error("{path}: {reason}")]
    Path {
        /// The path.
        path: String,
        /// Reason.
        reason: &'static str,
    },
    /// The traced system's root directory is not given, so no binary is read.
    #[error(
        "the trace's own paths are not read without a target prefix; for a trace of this system, it is `/`"
    )]
    NoPrefix,
    /// The file is larger than allowed.
    #[error("{path}: {size} bytes, the limit is {limit} bytes")]
    TooLarge {
        /// Path of the file.
        path: String,
        /// Size of the file.
        size: u64,
        /// Limit.
        limit: u64,
    },
    /// The file is not a valid ELF file.
    #[error("{path}: {message}")]
    Elf {
        /// Path of the file.
        path: String,
        /// Description of the problem.
        message: String,
    },
    /// The file is from another build than the traced program.
    #[error("{path}: another build: build id {}, the trace has {}", hexadecimal(.actual), hexadecimal(.expected))]
    BuildId {
        /// Path of the file.
        path: String,
        /// Build id of the file, empty without one.
        actual: Vec<u8>,
        /// Build id in the trace.
        expected: Vec<u8>,
    },
    /// The DWARF data in the file are invalid.
    #[error("{path}: invalid DWARF: {message}")]
    Dwarf {
        /// Path of the file.
        path: String,
        /// Description of the problem.
        message: String,
    },
    /// The file was read only in part, or not at all: it takes too much time or memory. For example, its entries refer
    /// to the same data again and again.
    #[error("{path}: incomplete debug information: reading takes too much time or memory")]
    Limit {
        /// Path of the file.
        path: String,
    },
    /// The file has neither DWARF data nor a separate debug file.
    #[error("{path}: no debug information")]
    Missing {
        /// Path of the file.
        path: String,
    },
}

impl DebugInfoError {
    /// Returns `true` if debug information exists, but was not read because of a limit.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::Limit { .. })
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Problem in DWARF data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DwarfProblem {
    Invalid(gimli::Error),
    Exhausted,
}

impl From<gimli::Error> for DwarfProblem {
    fn from(error: gimli::Error) -> Self {
        Self::Invalid(error)
    }
}

impl From<Exhausted> for DwarfProblem {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

impl DwarfProblem {
    /// Returns the error for a file.
    pub(crate) fn in_file(self, path: &str) -> DebugInfoError {
        let path = path.to_owned();
        match self {
            Self::Invalid(error) => DebugInfoError::Dwarf { path, message: error.to_string() },
            Self::Exhausted => DebugInfoError::Limit { path },
        }
    }
}
