//! Exit codes and errors.

use std::fmt;
use std::io;
use std::process::ExitCode;

use ichnos::query::QueryError;

/// Exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Success.
    Success = 0,
    /// No event was selected, or a check found problems.
    Nothing = 1,
    /// Invalid usage, or the operation failed.
    Failure = 2,
    /// There is output, but the input is damaged or partly unreadable, or no event could be written.
    Damaged = 3,
    /// SIGHUP: the terminal was closed.
    HungUp = 129,
    /// SIGINT: Ctrl-C.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error, and possible fixes.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One sentence without the final full stop.
    pub(crate) message: String,
    /// Further details, one line each.
    pub(crate) details: Vec<String>,
    /// Suggested fix.
    pub(crate) help: Option<String>,
    /// `true` if the reader closed the output. This must not be reported as an error.
    pub(crate) broken_pipe: bool,
    /// Exit code for ending early without an error.
    pub(crate) exit: Option<Exit>,
    /// Further errors.
    pub(crate) others: Vec<Self>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            details: Vec::new(),
            help: None,
            broken_pipe: false,
            exit: None,
            others: Vec::new(),
        }
    }

    /// Ends a verb early, without an error.
    pub(crate) fn end(exit: Exit) -> Self {
        Self { exit: Some(exit), ..Self::new("") }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        self.maybe_help(Some(help))
    }

    /// Sets the help, unless `help` is `None`.
    pub(crate) fn maybe_help(mut self, help: Option<impl Into<String>>) -> Self {
        self.help = help.map(Into::into).or(self.help);
        self
    }

    /// Returns an error that combines all failures, if there are any.
    pub(crate) fn check(failures: impl IntoIterator<Item = Self>) -> Result<(), Self> {
        Self::all(failures).map_or(Ok(()), Err)
    }

    /// Combines all failures into one. Returns `None` without failures.
    pub(crate) fn all(failures: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut failures = failures.into_iter();
        let mut first = failures.next()?;
        first.others.extend(failures);
        Some(first)
    }

    pub(crate) fn details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for detail in &self.details {
            write!(f, "\n  {detail}")?;
        }
        Ok(())
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Self::new(error.message).details(error.details).maybe_help(error.help)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self { broken_pipe, ..Self::new(format!("the output cannot be written: {error}")) }
    }
}
