//! Settings of a recording.

use std::path::PathBuf;
use std::time::Duration;

use super::recording_clock::ClockSource;
use crate::packet::LARGEST;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SizeLimit {
    /// Everything, as long as the disk has room.
    #[default]
    Unlimited,
    /// The first files, with so many bytes in all. Later events are discarded and counted.
    First(u64),
    /// The last files of each thread, with so many bytes for each (flight recorder). The current file always stays. Up to 16
    /// files are used again: the oldest one takes new packets if it is as large as a new file, and no other program has opened it.
    Last(u64),
}

impl SizeLimit {
    /// Returns the number of bytes that a thread keeps, if there is a limit.
    pub(super) fn kept(self) -> Option<u64> {
        match self {
            Self::Last(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Settings of a recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordingOptions {
    /// Directory of the trace. It is created, and must not have a trace.
    pub directory: PathBuf,
    /// Largest size of a packet in bytes. A larger event is discarded.
    pub packet_size: usize,
    /// Size of a file in bytes. The first files of a thread are smaller.
    pub file_size: usize,
    /// Longest time from the first event of a file until it ends, even if it is not full. The first event after that is
    /// in a new file.
    pub file_duration: Option<Duration>,
    /// How much is kept.
    pub limit: SizeLimit,
    /// Clock.
    pub clock: ClockSource,
}

impl RecordingOptions {
    /// Returns the default settings: packets of 64 KiB, files of up to 4 MiB, the monotonic clock, and no limit.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            packet_size: 64 << 10,
            file_size: 4 << 20,
            file_duration: None,
            limit: SizeLimit::Unlimited,
            clock: ClockSource::Monotonic,
        }
    }

    /// Returns the settings with sizes that packets can have.
    pub(super) fn corrected(mut self) -> Self {
        self.packet_size = self.packet_size.clamp(256, LARGEST) & !7;
        self.file_size = self.file_size.clamp(4096, LARGEST);
        self
    }
}
