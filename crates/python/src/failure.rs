//! Errors, as exceptions with the place of the problem.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ichnos::OpenError;
use ichnos::convert::ConvertError;
use ichnos::query::QueryError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::text::{line, lines};

pyo3::create_exception!(
    ichnos,
    Error,
    PyException,
    "A trace cannot be read or written, or an argument is wrong.\n\n`path` is the file or trace, `byte` the place in it, \
     and `help` says what can be done. Each is `None` if it is unknown."
);

/// An error.
#[derive(Debug)]
pub(crate) struct CallFailure {
    message: String,
    path: Option<String>,
    byte: Option<u64>,
    help: Option<String>,
    /// Exception from a signal handler, for example of Ctrl-C.
    signal: Option<Box<PyErr>>,
}

impl CallFailure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: None, byte: None, help: None, signal: None }
    }

    /// The exception of a signal.
    pub(crate) fn from_signal(error: PyErr) -> Self {
        Self { signal: Some(Box::new(error)), ..Self::new("interrupted") }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(crate) fn path(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Returns the failure of later calls, which cannot go on. An exception from a signal handler is raised only once.
    pub(crate) fn again(&self) -> Self {
        if self.signal.is_some() {
            return Self::new("an exception from a signal handler ended the iterator")
                .help("iterate again from the beginning");
        }
        let Self { message, path, byte, help, .. } = self;
        Self { message: message.clone(), path: path.clone(), byte: *byte, help: help.clone(), signal: None }
    }

    /// Returns the text.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl From<QueryError> for CallFailure {
    fn from(error: QueryError) -> Self {
        let QueryError { message, details, help, path, byte, .. } = error;
        let add = |message, detail: &String| format!("{message}\n{}", line(detail));
        let message = details.iter().fold(message, add);
        Self { help, path, byte, ..Self::new(message) }
    }
}

impl From<OpenError> for CallFailure {
    fn from(error: OpenError) -> Self {
        QueryError::from(error).into()
    }
}

impl From<ConvertError> for CallFailure {
    fn from(error: ConvertError) -> Self {
        let failure = Self::new(error.to_string());
        match &error {
            ConvertError::Refused(damage) => {
                Self { byte: Some(damage.bit / 8), ..failure.path(damage.file.as_str()) }
            }
            ConvertError::Conflict(_) => failure.help("write to another path"),
            _ => failure,
        }
    }
}

impl From<std::io::Error> for CallFailure {
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => failure,
            Err(error) => Self::new(error.to_string()),
        }
    }
}

impl From<CallFailure> for std::io::Error {
    fn from(failure: CallFailure) -> Self {
        Self::other(failure)
    }
}

impl std::error::Error for CallFailure {}

impl std::fmt::Display for CallFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<CallFailure> for PyErr {
    fn from(failure: CallFailure) -> Self {
        Python::attach(|py| {
            if let Some(signal) = failure.signal {
                return *signal;
            }
            let help = failure.help.as_deref().map(line);
            let message = lines(&failure.message);
            let error = Error::new_err(match &help {
                Some(help) => format!("{message}\nhelp: {help}"),
                None => message,
            });
            let value = error.value(py);
            let set = value
                .setattr("path", failure.path)
                .and_then(|()| value.setattr("byte", failure.byte))
                .and_then(|()| value.setattr("help", help));
            set.err().unwrap_or(error)
        })
    }
}

/// Runs a function without the interpreter's lock. A panic is an error.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    run: impl FnOnce() -> Result<T, CallFailure> + Send,
) -> Result<T, CallFailure> {
    py.detach(|| caught(run))
}

/// Runs a function. A panic is an error.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, CallFailure>) -> Result<T, CallFailure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(from_panic(panic.as_ref())))
}

fn from_panic(panic: &(dyn Any + Send)) -> CallFailure {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    CallFailure::new(format!("internal error: {}", text.unwrap_or("unknown")))
}
