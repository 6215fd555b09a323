//! What can go wrong before there are any bytes to decode.

use std::io;

/// Why a tree cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// There is nothing of this name.
    #[error("{path}: no such file or directory")]
    NotFound {
        /// What was asked for.
        path: String,
    },
    /// The system does not let this user read it.
    #[error("{path}: no permission to read this {what}; check its owner and mode, or run as a user who may")]
    Permission {
        /// What was asked for.
        path: String,
        /// "file" or "directory".
        what: &'static str,
    },
    /// It is a device or a socket.
    #[error("{path}: expected a directory, a file or a pipe, found {found}")]
    Special {
        /// What was asked for.
        path: String,
        /// What it is.
        found: &'static str,
    },
    /// There is not enough memory for what is read.
    #[error("{path}: there is not enough memory to hold {bytes} bytes of it")]
    Memory {
        /// What was read.
        path: String,
        /// How many bytes were to be held at once.
        bytes: u64,
    },
    /// Unpacked data cannot be written to a temporary file.
    #[error("{path}: unpacked data cannot be kept in a temporary file in {directory}: {source}")]
    Temporary {
        /// What was read.
        path: String,
        /// The directory of the temporary file.
        directory: String,
        /// What the system says.
        source: io::Error,
    },
    /// A limit was reached.
    #[error("{path}: {what} is more than the limit of {limit}")]
    Limit {
        /// What was read.
        path: String,
        /// What there is too much of.
        what: &'static str,
        /// The name of the limit, a member of [`IoLimits`](crate::IoLimits).
        name: &'static str,
        /// The limit.
        limit: u64,
    },
    /// An archive or compressed file becomes too many times larger than it is.
    #[error("{path}: {packed} packed bytes become more than the limit of {limit}")]
    Ratio {
        /// What was read.
        path: String,
        /// How many bytes were packed.
        packed: u64,
        /// How many bytes they may become, by [`IoLimits::unpacked`](crate::IoLimits::unpacked).
        limit: u64,
    },
    /// An archive or compressed file that cannot be read at all.
    #[error("{path}: this looks like {what}, but it cannot be read: {problem}")]
    Damaged {
        /// What was read.
        path: String,
        /// What it looks like, for instance "a zip archive".
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A kind of compression that this program does not know.
    #[error("{path}: {what} is not supported; unpack it first")]
    Unsupported {
        /// What was read.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The system says no for another reason.
    #[error("{path}: {source}")]
    System {
        /// What was asked for.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl IoError {
    /// The name of the limit that was reached, a member of [`IoLimits`](crate::IoLimits), if that is what is
    /// wrong.
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
