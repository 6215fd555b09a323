//! What happens while messages are collected, for people.

use std::fmt;
use std::path::PathBuf;

/// What happens while messages are collected, for people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A segment was not closed properly: messages behind the last checksum were checked one by one.
    Recovered {
        /// The segment.
        path: PathBuf,
        /// Messages that are whole.
        messages: u64,
        /// Bytes that are none, which are in the file `damaged` now.
        damaged_bytes: u64,
        /// Where these are.
        damaged: PathBuf,
        /// Bytes that have a checksum and are not there any more.
        missing_bytes: u64,
    },
    /// Nothing can be written for now. Nothing more is taken until it can.
    CannotWrite {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// It can be written again.
    WritesAgain,
    /// Messages that were taken were not flushed until the end. What of them is in the segment is recovered at the
    /// next start.
    NotWritten {
        /// How many.
        messages: u64,
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
            Self::Recovered { path, messages, damaged_bytes, damaged, missing_bytes } => {
                write!(
                    f,
                    "{}: was not closed properly: {messages} messages without a checksum are whole",
                    path.display()
                )?;
                if *damaged_bytes > 0 {
                    write!(f, "; {damaged_bytes} bytes that are none are in {} now", damaged.display())?;
                }
                if *missing_bytes > 0 {
                    write!(f, "; {missing_bytes} bytes that have a checksum are not there any more")?;
                }
                Ok(())
            }
            Self::CannotWrite { path, error } => {
                write!(f, "{}: {error}: nothing more is taken until it can be written", path.display())
            }
            Self::WritesAgain => f.write_str("it can be written again: goes on"),
            Self::NotWritten { messages } => {
                write!(
                    f,
                    "{messages} messages that were taken could not be written to the end, and may be lost"
                )
            }
            Self::Index { error } => {
                write!(f, "the index cannot be written for now: {error}: what it lacks is put into it later")
            }
            Self::CannotAccept { error } => write!(f, "connections cannot be accepted for now: {error}"),
            Self::CannotReceive { error } => write!(f, "datagrams cannot be received: {error}"),
        }
    }
}
