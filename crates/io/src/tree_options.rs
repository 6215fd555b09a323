//! Options for opening a tree.

use std::path::PathBuf;

use crate::{IoLimits, ScanProgress};

/// Options for opening a tree.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Input limits.
    pub limits: IoLimits,
    /// Receiver of progress reports.
    pub progress: ScanProgress,
    /// Maximum directory depth, without a message about deeper directories: 0 for files directly in the opened
    /// directory. `None` for all, up to the limit.
    pub depth: Option<u32>,
    /// Follow symbolic links to directories outside the opened directory. Otherwise, they are reported as problems.
    /// Default: no.
    pub follow_links: bool,
    /// Maximum total number of unpacked bytes in a tree that are kept in memory. Further bytes go to a temporary file.
    /// Default: 64 MiB.
    pub memory_bytes: u64,
    /// Directory for temporary files with unpacked bytes; `None` for the system default, set by the variable `TMPDIR`.
    /// These files are unnamed, and disappear with the process.
    pub temp_dir: Option<PathBuf>,
    /// Maximum number of bytes to keep of each packed file. No more than this is unpacked if that is possible without
    /// losing other files: for a compressed file, for each member of a zip archive, and for the last member of a
    /// compressed tar archive. [`Entry::goes_on`](crate::Entry::goes_on) is `true` for files that may be longer. Pipes
    /// are read as a whole. Default: everything is unpacked.
    pub beginning: Option<u64>,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            limits: IoLimits::default(),
            progress: ScanProgress::default(),
            depth: None,
            follow_links: false,
            memory_bytes: 64 << 20,
            temp_dir: None,
            beginning: None,
        }
    }
}

impl From<IoLimits> for TreeOptions {
    fn from(limits: IoLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}
