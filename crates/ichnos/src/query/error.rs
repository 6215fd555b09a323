//! Errors for the users who wrote a query.

use std::fmt;

use ichnos_filter::FilterError;

use crate::{OpenError, RefusedTrace};

/// Help for clocks that are not related.
const UNRELATED_CLOCKS: &str =
    "read the traces one by one, give clock offsets, or force one timeline with `assume_correlated`";

/// Maximum number of problems in an error.
const SHOWN: usize = 20;

/// An error, and possible fixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryError {
    /// One sentence without the final full stop.
    pub message: String,
    /// Further details, one line each.
    pub details: Vec<String>,
    /// Suggested fix.
    pub help: Option<String>,
    /// Trace or file with the problem.
    pub path: Option<String>,
    /// Position in this file.
    pub byte: Option<u64>,
}

impl QueryError {
    /// Creates an error with one sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Returns the error of a run that its user ended.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::new("interrupted")
    }

    /// Sets the file with the problem, and the position in it.
    #[must_use]
    pub(crate) fn at(self, path: impl Into<String>, byte: Option<u64>) -> Self {
        Self { path: Some(path.into()), byte, ..self }
    }

    /// Sets the suggested fix.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        self.maybe_help(Some(help))
    }

    /// Sets the suggested fix, unless it is `None`.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<impl Into<String>>) -> Self {
        self.help = help.map(Into::into).or(self.help);
        self
    }

    /// Returns the error of an unreadable trace, with its first problems.
    pub(crate) fn of_refused(message: &str, refused: &[RefusedTrace]) -> Self {
        let problems = refused.iter().flat_map(|trace| &trace.diagnostics);
        let shown: Vec<String> = problems.clone().take(SHOWN).map(ToString::to_string).collect();
        let first = problems.clone().next();
        let position = first.map(|first| first.diagnostic.position).filter(|position| !position.is_unknown());
        let file = first.map(|first| first.file.clone());
        Self {
            path: file.or_else(|| refused.first().map(|trace| trace.path.clone())),
            byte: position.map(|position| position.offset),
            ..Self::new(format!("{message}: {}", shown.join("; ")))
        }
    }

    /// Returns the error of an invalid expression in a parameter.
    pub(crate) fn of_filter(error: &FilterError, parameter: &str) -> Self {
        let help = error.help.as_ref().map(ToString::to_string);
        Self { details: error.excerpt().into(), help, ..Self::new(format!("{parameter}: {error}")) }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.details.iter().try_for_each(|detail| write!(f, "\n{detail}"))?;
        self.help.iter().try_for_each(|help| write!(f, "\n{help}"))
    }
}

impl std::error::Error for QueryError {}

impl From<OpenError> for QueryError {
    fn from(error: OpenError) -> Self {
        let text = error.to_string();
        match error {
            OpenError::Refused(refused) => Self::of_refused(&text, &refused),
            OpenError::NoTrace(found) => {
                let nearby = found.nearby.as_ref().map(|nearby| format!("; {nearby}")).unwrap_or_default();
                Self { path: Some(found.path), ..Self::new(format!("{text}{nearby}")) }
            }
            // The path comes first.
            OpenError::Io(_) | OpenError::Conflict { .. } => {
                let path = text.split_once(": ").map(|(path, _)| path.to_owned());
                Self { path, ..Self::new(text) }
            }
            OpenError::Uncorrelated(_) => Self::new(text).help(UNRELATED_CLOCKS),
            _ => Self::new(text),
        }
    }
}
