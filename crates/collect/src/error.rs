//! Why it is not possible to collect, or to read what was collected.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Why it is not possible to collect, or to read what was collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A file or the directory cannot be read, made or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Nothing can be received at an address.
    #[error("{protocol} {address}: {error}")]
    Address {
        /// `UDP` or `TCP`.
        protocol: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// Another collector writes there.
    #[error("{}: another collector writes there", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is not where it was when the collector began to write to it.
    #[error("{}: the directory was moved, replaced or removed: it has to be moved back", path.display())]
    Moved {
        /// Its path.
        path: PathBuf,
    },
    /// The directory has reports of another format.
    #[error("{}: has reports of the format {found}, not of {wanted}", path.display())]
    Format {
        /// The directory.
        path: PathBuf,
        /// The format of its reports.
        found: String,
        /// The format that is wanted.
        wanted: String,
    },
    /// The directory is none that was collected in.
    #[error("{}: expected a directory that a collector has made", path.display())]
    NoCollection {
        /// The directory.
        path: PathBuf,
    },
    /// The index cannot be read or written.
    #[error("{}: {error}", path.display())]
    Index {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: Box<redb::Error>,
    },
    /// A thread cannot be started, or has failed.
    #[error("a thread of the collector: {0}")]
    Thread(io::Error),
}

impl CollectError {
    /// For errors of a file.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}
