//! Problems in the description of a trace, reported so that they can be corrected.

use std::fmt;

use crate::TextPosition;

crate::named_enum! {
    /// Severity of a problem.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// Information; never refused.
        Note = "note",
        /// The text breaks the rules, but its meaning is clear, and it is read accordingly; strict reading
        /// refuses it.
        Warning = "warning",
        /// The text cannot be read as written.
        Error = "error",
    }
}

/// One problem: its position and context, the expected and the actual text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Position; unknown for a problem of the whole text.
    pub position: TextPosition,
    /// Path to the position, from the outside in ("event record class 3", "payload", "member `len`").
    pub within: Vec<String>,
    /// Description of the problem, one sentence without the final full stop.
    pub message: String,
    /// Text that would have been right, if known.
    pub expected: Option<String>,
    /// Text found instead.
    pub found: Option<String>,
    /// Name of the limit that was reached, a member of [`Limits`](crate::Limits), if that is the problem.
    pub limit: Option<&'static str>,
}

impl Diagnostic {
    /// A problem at a position.
    pub fn new(severity: Severity, position: TextPosition, message: impl Into<String>) -> Self {
        Self {
            severity,
            position,
            within: Vec::new(),
            message: message.into(),
            expected: None,
            found: None,
            limit: None,
        }
    }

    /// An [error](Severity::Error) at a position.
    pub fn error(position: TextPosition, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, position, message)
    }

    /// A [warning](Severity::Warning) at a position.
    pub fn warning(position: TextPosition, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, position, message)
    }

    /// A [note](Severity::Note) at a position.
    pub fn note(position: TextPosition, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, position, message)
    }

    /// Adds the expected and the actual text.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self.found = Some(found.into());
        self
    }

    /// Adds the name of the limit that was reached, a member of [`Limits`](crate::Limits).
    #[must_use]
    pub fn limit(mut self, limit: &'static str) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Adds the path to the position.
    #[must_use]
    pub fn within(mut self, within: Vec<String>) -> Self {
        self.within = within;
        self
    }
}

impl Diagnostic {
    /// Returns the problem without position and severity: its path, the message, the expected and the actual
    /// text.
    #[must_use]
    pub fn statement(&self) -> String {
        let mut statement = match self.within.as_slice() {
            [] => String::new(),
            within => format!("in {}: ", within.join(", ")),
        };
        statement.push_str(&self.message);
        let found = match (&self.expected, &self.found) {
            (Some(expected), Some(found)) => format!(" (expected {expected}, found {found})"),
            (Some(expected), None) => format!(" (expected {expected})"),
            (None, Some(found)) => format!(" (found {found})"),
            (None, None) => String::new(),
        };
        statement + &found
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.position.is_unknown() {
            write!(f, "{}: ", self.position)?;
        }
        write!(f, "{}: {}", self.severity, self.statement())
    }
}

impl std::error::Error for Diagnostic {}

/// Purpose of a file with a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileRole {
    /// Description of the trace.
    #[default]
    Metadata,
    /// Positions of packets, which can be found without it.
    Index,
}

/// A problem in a file that describes a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiagnostic {
    /// Name of the file.
    pub file: String,
    /// Purpose of the file.
    pub role: FileRole,
    /// The problem.
    pub diagnostic: Diagnostic,
}

impl FileDiagnostic {
    /// A problem of [metadata](FileRole::Metadata).
    pub fn new(file: impl Into<String>, diagnostic: Diagnostic) -> Self {
        Self { file: file.into(), role: FileRole::Metadata, diagnostic }
    }

    /// Sets the purpose of the file.
    #[must_use]
    pub fn with_role(self, role: FileRole) -> Self {
        Self { role, ..self }
    }

    /// Returns the file and, if known, line and column: `FILE:LINE:COLUMN`.
    #[must_use]
    pub fn location(&self) -> String {
        match self.diagnostic.position {
            position if position.is_unknown() => self.file.clone(),
            position => format!("{}:{position}", self.file),
        }
    }
}

impl fmt::Display for FileDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { severity, .. } = self.diagnostic;
        write!(f, "{}: {severity}: {}", self.location(), self.diagnostic.statement())
    }
}
