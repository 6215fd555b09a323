//! Errors that occur before decoding.

use std::io;

/// Reason why a tree cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The path does not exist.
    #[error("{path}: no such file or directory")]
    NotFound {
        /// Path.
        path: String,
    },
    /// The user has no permission to read it.
    #[error(
        "{path}: no permission to read this {what}; check its owner and mode, or run as a user with \
        permission"
    )]
    Permission {
        /// Path.
        path: String,
        /// "file" or "directory".
        what: &'static str,
    },
    /// The path is a device or a socket.
    #[error("{path}: expected a directory, a file or a pipe, found {found}")]
    Special {
        /// Path.
        path: String,
        /// Actual kind.
        found: &'static str,
    },
    /// The input does not fit in memory.
    #[error("{path}: not enough memory to hold {bytes} bytes")]
    Memory {
        /// Path.
        path: String,
        /// Number of bytes needed at once.
        bytes: u64,
    },
    /// Unpacked data cannot be written to a temporary file.
    #[error("{path}: unpacked data cannot be kept in a temporary file in {directory}: {source}")]
    Temporary {
        /// Path.
        path: String,
        /// Directory for the temporary file.
        directory: String,
        /// System error.
        source: io::Error,
    },
    /// A limit was reached.
    #[error("{path}: {what} exceeds the limit of {limit}")]
    Limit {
        /// Path.
        path: String,
        /// Quantity that exceeds the limit.
        what: &'static str,
        /// Limit name, a member of [`IoLimits`](crate::IoLimits).
        name: &'static str,
        /// Limit value.
        limit: u64,
    },
    /// An archive or compressed file exceeds the limit when unpacked.
    #[error("{path}: {packed} packed bytes unpack to more than the limit of {limit}")]
    Ratio {
        /// Path.
        path: String,
        /// Number of packed bytes.
        packed: u64,
        /// Limit for unpacked bytes, from [`IoLimits::unpacked`](crate::IoLimits::unpacked).
        limit: u64,
    },
    /// An archive or compressed file cannot be read at all.
    #[error("{path}: this looks like {what}, but it cannot be read: {problem}")]
    Damaged {
        /// Path.
        path: String,
        /// File kind, for example "a zip archive".
        what: &'static str,
        /// Problem.
        problem: String,
    },
    /// The kind of compression is not supported.
    #[error("{path}: {what} is not supported; unpack it first")]
    Unsupported {
        /// Path.
        path: String,
        /// Compression kind.
        what: &'static str,
    },
    /// Another system error.
    #[error("{path}: {source}")]
    System {
        /// Path.
        path: String,
        /// System error.
        source: io::Error,
    },
}

impl IoError {
    /// Returns the name of the exceeded limit, a member of [`IoLimits`](crate::IoLimits).
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Limit { name, .. } => Some(name),
            Self::Ratio { .. } => Some("ratio"),
            _ => None,
        }
    }

    pub(crate) fn system(path: impl Into<String>, what: &'static str, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path, what },
            _ => Self::System { path, source },
        }
    }
}
