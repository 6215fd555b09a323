//! Errors while collecting, or while reading collected reports.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Error while collecting, or while reading collected reports.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A file or the directory cannot be read, created or written.
    #[error("{}: {error}", path.display())]
    File {
        /// File path.
        path: PathBuf,
        /// System error.
        error: io::Error,
    },
    /// An address cannot be used.
    #[error("{protocol} {address}: {error}")]
    Address {
        /// `UDP` or `TCP`.
        protocol: &'static str,
        /// The address.
        address: SocketAddr,
        /// System error.
        error: io::Error,
    },
    /// Another collector uses the directory.
    #[error("{}: in use by another collector", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory was moved or replaced while the collector wrote to it.
    #[error("{}: the directory was moved, replaced or removed; move it back", path.display())]
    Moved {
        /// Original path of the directory.
        path: PathBuf,
    },
    /// The directory contains reports in another format.
    #[error("{}: expected reports of the format {wanted}, found {found}", path.display())]
    Format {
        /// The directory.
        path: PathBuf,
        /// Format in the directory.
        found: String,
        /// Expected format.
        wanted: String,
    },
    /// The directory was not made by a collector.
    #[error("{}: not a collector directory", path.display())]
    NoCollection {
        /// The directory.
        path: PathBuf,
    },
    /// The index cannot be read or written.
    #[error("{}: {error}", path.display())]
    Index {
        /// Index path.
        path: PathBuf,
        /// Database error.
        error: Box<redb::Error>,
    },
    /// A thread cannot be started, or has failed.
    #[error("collector thread failed: {0}")]
    Thread(io::Error),
}

impl CollectError {
    /// Returns a function that adds a file's path to an error.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}
