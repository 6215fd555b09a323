//! Errors for the users who wrote a query.

use std::fmt;

use ichnos_filter::FilterError;

use crate::OpenError;

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
}

impl QueryError {
    /// Creates an error with one sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
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

    /// Returns the error of an invalid expression in a parameter.
    pub(crate) fn of_filter(error: &FilterError, parameter: &str) -> Self {
        let help = error.help.as_ref().map(ToString::to_string);
        Self { message: format!("{parameter}: {error}"), details: error.excerpt().into(), help }
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
            OpenError::Refused(refused) => {
                let problems = refused.iter().flat_map(|trace| &trace.diagnostics);
                let problems: Vec<String> = problems.take(SHOWN).map(ToString::to_string).collect();
                Self::new(format!("{text}: {}", problems.join("; ")))
            }
            OpenError::NoTrace(found) => {
                let nearby = found.nearby.as_ref().map(|nearby| format!("; {nearby}")).unwrap_or_default();
                Self::new(format!("{text}{nearby}"))
            }
            _ => Self::new(text),
        }
    }
}
