//! What is wrong with the description of a trace, reported so that it can be corrected.

use std::fmt;

use crate::TextPosition;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; never refused.
    Note,
    /// A warning: the text breaks the rules, but what it means is clear. It is read as it was meant;
    /// strict reading refuses it.
    Warning,
    /// The text cannot be read as written.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One problem: where, within what, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is; unknown for what concerns the whole text.
    pub position: TextPosition,
    /// What encloses the position, from the outside in ("event record class 3", "payload",
    /// "member `len`").
    pub within: Vec<String>,
    /// One sentence without the final full stop that says what is wrong.
    pub message: String,
    /// What would have been right, where that can be said.
    pub expected: Option<String>,
    /// What was found instead.
    pub found: Option<String>,
    /// Which limit was reached, if that is what is wrong: the name of a member of
    /// [`Limits`](crate::Limits).
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

    /// Says what was expected and what was found.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self.found = Some(found.into());
        self
    }

    /// Says which limit was reached, by its name in [`Limits`](crate::Limits).
    #[must_use]
    pub fn limit(mut self, limit: &'static str) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Says what encloses the position.
    #[must_use]
    pub fn within(mut self, within: Vec<String>) -> Self {
        self.within = within;
        self
    }
}

impl Diagnostic {
    /// What is wrong, without where and how bad: what encloses it, the message, what was expected and found.
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

/// What a file with a problem is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileRole {
    /// It describes the trace.
    #[default]
    Metadata,
    /// It says where packets are, which can be found out without it.
    Index,
}

/// A problem in a file that describes a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiagnostic {
    /// The file.
    pub file: String,
    /// What the file is for.
    pub role: FileRole,
    /// The problem.
    pub diagnostic: Diagnostic,
}

impl FileDiagnostic {
    /// A problem of [metadata](FileRole::Metadata).
    pub fn new(file: impl Into<String>, diagnostic: Diagnostic) -> Self {
        Self { file: file.into(), role: FileRole::Metadata, diagnostic }
    }

    /// The same of a file that is for something else.
    #[must_use]
    pub fn with_role(self, role: FileRole) -> Self {
        Self { role, ..self }
    }

    /// The file and, if that is known, line and column: `FILE:LINE:COLUMN`.
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
