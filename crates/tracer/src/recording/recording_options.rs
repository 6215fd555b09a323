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
    /// The last files of each thread, with so many bytes for each (flight recorder). A file has at most a quarter of
    /// them, and at least 4096. So when files have their full size and a new one begins, three quarters of the limit
    /// are still there, apart from rounding. An event that is larger than a quarter has a file of its own. The current
    /// file always stays. A thread keeps at most 65,536 files. The oldest file takes new packets if it is as large as a
    /// new file, and no other program has opened it.
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

/// Smallest file. Files have whole pages.
const PAGE: usize = 4096;

/// Returns the size of files of which a whole number, at least four, have so many bytes in all.
fn part_of(kept: u64, file_size: usize) -> usize {
    let files = kept.div_ceil(file_size as u64).max(4);
    usize::try_from(kept / files).unwrap_or(usize::MAX) & !(PAGE - 1)
}

/// Settings of a recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordingOptions {
    /// Directory of the trace. It is created, and must not have a trace.
    pub directory: PathBuf,
    /// Largest size of a packet in bytes. A larger event is discarded.
    pub packet_size: usize,
    /// Size of a file in bytes. The first files of a thread are smaller, and those of a small [`SizeLimit::Last`], too.
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
        self.file_size = self.file_size.clamp(PAGE, LARGEST);
        if let Some(kept) = self.limit.kept() {
            self.file_size = self.file_size.min(part_of(kept, self.file_size)).max(PAGE);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_stay_when_a_file_begins() {
        for kept in (16 << 10..16 << 20).step_by(77_777) {
            for file_size in [4096, 100_000, 4 << 20] {
                let mut options = RecordingOptions::new("");
                (options.limit, options.file_size) = (SizeLimit::Last(kept), file_size);
                let size = options.corrected().file_size as u64;
                assert!(size % 4096 == 0 && size <= file_size as u64 && 4 * size <= kept);
                let files = kept / size - 1;
                assert!(files * size + 4 * 4096 >= kept / 4 * 3, "{kept} {file_size} {size}");
            }
        }
        let mut options = RecordingOptions::new("");
        options.limit = SizeLimit::Last(1);
        assert_eq!(options.corrected().file_size, 4096);
    }
}
