//! Messages for people while a collector runs.

use std::fmt;
use std::path::PathBuf;

/// A message for people while a collector runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A segment was not closed properly: reports after the last checksum were checked one by one.
    Recovered {
        /// The segment.
        path: PathBuf,
        /// Number of complete reports without a valid checksum.
        reports: u64,
        /// Number of damaged bytes, now in the file `damaged`.
        damaged_bytes: u64,
        /// File with the damaged data.
        damaged: PathBuf,
        /// Number of missing bytes that had a checksum.
        missing_bytes: u64,
    },
    /// A file with requests ends with an unfinished request, which was never acknowledged, or is damaged.
    Unfinished {
        /// The file.
        path: PathBuf,
        /// Number of bytes that were moved.
        bytes: u64,
        /// File with these bytes.
        damaged: PathBuf,
    },
    /// Writing fails at the moment. No reports are accepted until it works again.
    CannotWrite {
        /// The file and the reason.
        error: String,
    },
    /// A segment cannot be closed properly. Its reports are on the disk, without checksums. The next start checks them
    /// one by one.
    NotClosed {
        /// The file and the reason.
        error: String,
    },
    /// Writing works again.
    WritesAgain,
    /// Accepted reports were not flushed before the collector stopped. The next start recovers those in the segment.
    NotWritten {
        /// Number of reports.
        reports: u64,
    },
    /// The index cannot be written. Missing segments are added later.
    Index {
        /// The reason.
        error: String,
    },
    /// Connections cannot be accepted at the moment.
    CannotAccept {
        /// The reason.
        error: String,
    },
    /// Datagrams cannot be received.
    CannotReceive {
        /// The reason.
        error: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recovered { path, reports, damaged_bytes, damaged, missing_bytes } => {
                let (path, reports) = (path.display(), CountedNoun(*reports, "report"));
                write!(f, "{path}: not closed properly; recovered {reports} without a checksum")?;
                if *damaged_bytes > 0 {
                    let bytes = CountedNoun(*damaged_bytes, "byte");
                    write!(f, "; moved {bytes} of damaged data to {}", damaged.display())?;
                }
                if *missing_bytes > 0 {
                    write!(f, "; missing {} with a checksum", CountedNoun(*missing_bytes, "byte"))?;
                }
                Ok(())
            }
            Self::Unfinished { path, bytes, damaged } => {
                let (path, bytes, damaged) = (path.display(), CountedNoun(*bytes, "byte"), damaged.display());
                write!(f, "{path}: not closed properly; moved {bytes} of an unfinished request to {damaged}")
            }
            Self::CannotWrite { error } => {
                write!(f, "nothing is accepted until writing works again: {error}")
            }
            Self::WritesAgain => f.write_str("writing works again"),
            Self::NotClosed { error } => write!(f, "segment not closed properly: {error}"),
            Self::NotWritten { reports } => {
                write!(f, "{} accepted but not written, possibly lost", CountedNoun(*reports, "report"))
            }
            Self::Index { error } => write!(f, "cannot write the index at the moment: {error}"),
            Self::CannotAccept { error } => write!(f, "cannot accept connections at the moment: {error}"),
            Self::CannotReceive { error } => write!(f, "cannot receive datagrams: {error}"),
        }
    }
}

/// A count with its noun.
struct CountedNoun(u64, &'static str);

impl fmt::Display for CountedNoun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        write!(f, "{count} {noun}{}", if *count == 1 { "" } else { "s" })
    }
}
