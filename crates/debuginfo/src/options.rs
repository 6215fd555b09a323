//! Options for debug information.

use std::path::PathBuf;

use crate::address_spaces::AddressSpacesBuilder;

/// Limits for debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebugInfoLimits {
    /// Maximum file size in bytes.
    pub file_bytes: u64,
    /// Maximum number of opened binaries.
    pub open_binaries: usize,
    /// Maximum memory for all opened binaries, in bytes. One binary is opened even if it is larger.
    pub open_bytes: usize,
    /// Maximum number of mappings in a trace, and of thread names. A binary in ten processes has ten mappings.
    pub mappings: usize,
}

impl Default for DebugInfoLimits {
    /// 2 GiB for a file, 256 binaries, 2 GiB for all of them,
    /// [`MOST_MAPPINGS`](AddressSpacesBuilder::MOST_MAPPINGS).
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            open_binaries: 256,
            open_bytes: 2 << 30,
            mappings: AddressSpacesBuilder::MOST_MAPPINGS,
        }
    }
}

/// Section compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstandard,
}

/// Decompresses a section with a known size. Returns `None` if that fails.
pub type Decompress = fn(Compression, &[u8], usize) -> Option<Vec<u8>>;

/// Options for debug information.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DebugInfoOptions {
    /// Directory for separate debug files, `/usr/lib/debug` by default.
    pub debug_info_dir: Option<PathBuf>,
    /// Root directory of the traced system, `/` for a trace of this system. Binaries outside it are not read, and without
    /// it no binaries, because a trace could name any file. Separate debug files do not need it.
    pub target_prefix: Option<PathBuf>,
    /// Name of the structure that is added to events, `debug_info` by default.
    pub field_name: String,
    /// Show whole paths instead of file names.
    pub full_path: bool,
    /// Show only what Babeltrace shows.
    ///
    /// Babeltrace shows nothing for a binary with a recorded build id if the file is missing or from another build. It
    /// shows a line only for an inlined function, or at the line's first address. It uses the symbol table only if
    /// DWARF data are missing, and never the names that a stripped library exports. Without a target prefix, it reads the
    /// paths in the trace on this system.
    pub as_babeltrace: bool,
    /// Limits.
    pub limits: DebugInfoLimits,
    /// Function that decompresses sections. Without it, compressed sections are like missing sections.
    pub decompress: Option<Decompress>,
}

impl Default for DebugInfoOptions {
    fn default() -> Self {
        Self {
            debug_info_dir: None,
            target_prefix: None,
            field_name: "debug_info".to_owned(),
            full_path: false,
            as_babeltrace: false,
            limits: DebugInfoLimits::default(),
            decompress: None,
        }
    }
}
