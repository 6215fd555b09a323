//! What happens while reports are collected, for people.

use std::fmt;
use std::path::PathBuf;

/// What happens while reports are collected, for people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A segment was not closed properly: reports behind the last checksum were checked one by one.
    Recovered {
        /// The segment.
        path: PathBuf,
        /// Reports that are whole.
        reports: u64,
        /// Bytes that are none, which are in the file `damaged` now.
        damaged_bytes: u64,
        /// Where these are.
        damaged: PathBuf,
        /// Bytes that have a checksum and are not there any more.
        missing_bytes: u64,
    },
    /// Nothing can be written for now. Nothing more is taken until it can.
    CannotWrite {
        /// The file, and why.
        error: String,
    },
    /// A segment cannot be closed properly. Its reports are on the disk; without checksums, they are checked one
    /// by one at the next start.
    NotClosed {
        /// The file, and why.
        error: String,
    },
    /// It can be written again.
    WritesAgain,
    /// Reports that were taken were not flushed until the end. What of them is in the segment is recovered at the
    /// next start.
    NotWritten {
        /// How many.
        reports: u64,
    },
    /// The index cannot be written. What it lacks is put into it later.
    Index {
        /// Why.
        error: String,
    },
    /// Connections cannot be accepted for now.
    CannotAccept {
        /// Why.
        error: String,
    },
    /// Datagrams cannot be received.
    CannotReceive {
        /// Why.
        error: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recovered { path, reports, damaged_bytes, damaged, missing_bytes } => {
                let (path, reports) = (path.display(), Count(*reports, "report"));
                write!(f, "{path}: was not closed properly: {reports} without a checksum recovered")?;
                if *damaged_bytes > 0 {
                    let bytes = Count(*damaged_bytes, "byte");
                    write!(f, "; {bytes} that are no report moved to {}", damaged.display())?;
                }
                if *missing_bytes > 0 {
                    write!(f, "; {} with a checksum are missing", Count(*missing_bytes, "byte"))?;
                }
                Ok(())
            }
            Self::CannotWrite { error } => {
                write!(f, "{error}: nothing more is taken until it can be written")
            }
            Self::WritesAgain => f.write_str("it can be written again"),
            Self::NotClosed { error } => write!(f, "{error}: the segment is not closed properly"),
            Self::NotWritten { reports } => {
                write!(f, "{} taken but not written to the end, and maybe lost", Count(*reports, "report"))
            }
            Self::Index { error } => write!(f, "the index cannot be written for now: {error}"),
            Self::CannotAccept { error } => write!(f, "connections cannot be accepted for now: {error}"),
            Self::CannotReceive { error } => write!(f, "datagrams cannot be received: {error}"),
        }
    }
}

/// A number of things.
struct Count(u64, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        write!(f, "{count} {noun}{}", if *count == 1 { "" } else { "s" })
    }
}
