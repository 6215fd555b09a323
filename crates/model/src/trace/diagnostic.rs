//! Problems in trace metadata, reported so that they can be corrected.

use std::fmt;

use crate::trace::TextPosition;

crate::named_enum! {
    /// Problem severity.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// Information. Even strict reading accepts it.
        Note = "note",
        /// The text breaks the rules, but its meaning is clear, and it is read accordingly. Strict reading rejects it.
        Warning = "warning",
        /// The text cannot be read as written.
        Error = "error",
    }
}

/// One problem: position, context, expected and actual text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Position; unknown if the problem concerns the whole text.
    pub position: TextPosition,
    /// Path to the position, outermost first ("event record class 3", "payload", "member `len`").
    pub within: Vec<String>,
    /// Problem description: one sentence without the full stop.
    pub message: String,
    /// Expected text, if known.
    pub expected: Option<String>,
    /// Actual text.
    pub found: Option<String>,
    /// Name of the exceeded limit, a member of [`Limits`](crate::trace::Limits).
    pub limit: Option<&'static str>,
}

impl Diagnostic {
    /// Creates a problem at a position.
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

    /// Creates an [error](Severity::Error) at a position.
    pub fn error(position: TextPosition, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, position, message)
    }

    /// Creates a [warning](Severity::Warning) at a position.
    pub fn warning(position: TextPosition, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, position, message)
    }

    /// Creates a [note](Severity::Note) at a position.
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

    /// Adds the name of the exceeded limit, a member of [`Limits`](crate::trace::Limits).
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
    /// Returns the problem without position and severity: path, message, expected and actual text.
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
    /// Trace metadata.
    #[default]
    Metadata,
    /// Packet positions, which can also be found without the file.
    Index,
}

/// A problem in a file that describes a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiagnostic {
    /// File name.
    pub file: String,
    /// File purpose.
    pub role: FileRole,
    /// The problem.
    pub diagnostic: Diagnostic,
}

impl FileDiagnostic {
    /// Creates a problem in [metadata](FileRole::Metadata).
    pub fn new(file: impl Into<String>, diagnostic: Diagnostic) -> Self {
        Self { file: file.into(), role: FileRole::Metadata, diagnostic }
    }

    /// Sets the file purpose.
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
