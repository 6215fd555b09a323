//! Options for opening a tree.

use std::path::PathBuf;

use crate::{IoLimits, ScanProgress};

/// Options for opening a tree.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Limits of the input.
    pub limits: IoLimits,
    /// Receiver of progress reports.
    pub progress: ScanProgress,
    /// Maximum depth of directories, without a message on deeper ones: 0 for files directly in the opened
    /// directory. `None` for all, up to the limit.
    pub depth: Option<u32>,
    /// Follow symbolic links to directories out of the opened directory. Otherwise, they are problems of the tree. Default:
    /// no.
    pub follow_links: bool,
    /// Maximum total of unpacked bytes of a tree that are kept in memory; further ones go to a temporary
    /// file. Default: 64 MiB.
    pub memory_bytes: u64,
    /// Directory of the temporary files for unpacked bytes; `None` for that of the system, set by the
    /// variable `TMPDIR`. These files have no name, and disappear with the process.
    pub temp_dir: Option<PathBuf>,
    /// Maximum number of bytes that are kept of each file that has to be unpacked. No more than this is
    /// unpacked if that is possible without losing other files: of a compressed file, of each member of a zip
    /// archive, and of the last member of a compressed tar archive. [`Entry::goes_on`](crate::Entry::goes_on) is `true` for files
    /// that may be longer. Pipes are read as a whole. Default: everything is unpacked.
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
