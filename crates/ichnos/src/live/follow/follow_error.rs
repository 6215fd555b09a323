//! Errors while growing files are opened.

use crate::OpenError;

/// Error while files are opened that grow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The paths cannot be read, and waiting does not help.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The [stop flag](ichnos_model::live::LiveOptions::stop) was set before there was a trace.
    #[error("stopped before there was a trace")]
    Stopped,
    /// There is no trace yet, but other inputs of the paths are read.
    #[error("there is no trace yet")]
    GoesOn,
    /// Files in the format are read once, which an archive does not allow.
    #[error("{0} files in an archive cannot be followed: unpack it")]
    ReadOnce(&'static str),
    /// A .NET file cannot be read while it grows.
    #[error("{path}: {problem}")]
    Nettrace {
        /// The file.
        path: String,
        /// Reason.
        problem: String,
    },
    /// A pipe cannot be copied into a temporary file.
    #[error("{path}: {error}")]
    Pipe {
        /// The pipe.
        path: String,
        /// Reason.
        error: std::io::Error,
    },
    /// The system refuses a thread.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}
