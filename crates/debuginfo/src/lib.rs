//! Debug information for addresses in traces: which binary was mapped there, and its function and source line.
//!
//! LTTng-UST records the binaries of each process: state dumps list them, and later events report loaded and unloaded
//! libraries. [`AddressSpaces`] is the table of them. [`DebugInfo::locate`] finds functions and source lines in the ELF
//! file of a binary, with its own DWARF data or those of a separate debug file.
//!
//! [`DebugInfo::wrap`] adds the names to the events of a trace, as Babeltrace's filter `lttng-utils.debug-info` does.
//! Events whose common context has `vpid` and `ip` get a [resource](ichnos_model::Scope::Resource) with one structure:
//!
//! ```text
//! debug_info = { bin = "libfoo.so+0x2349", func = "foo+0xd2", src = "foo.c:35" }
//! ```
//!
//! | member | contents |
//! |---|---|
//! | `bin` | binary, and the address in it: `+0x...` relative to its base, `@0x...` absolute |
//! | `func` | function, and the offset in it. Not inlined: the function whose code it is |
//! | `src` | source file and line, for an inlined function the place of its call |
//!
//! A text is empty if unknown. Paths in a trace are not trusted: only regular files of limited size are read, and only
//! in the target prefix, if one is set. Reading damaged files takes limited time and memory.
#![forbid(unsafe_code)]

mod address_spaces;
mod binaries;
mod binary;
mod budget;
mod class;
mod crc;
mod dwarf;
mod elf;
mod error;
mod files;
mod lookup;
mod mapping_events;
mod texts;
mod trace;

use std::path::PathBuf;

pub use self::address_spaces::{
    AddressSpaceEvent, AddressSpaces, AddressSpacesBuilder, LoadedBinary, MappedBinary,
};
pub use self::binaries::Limits;
pub use self::binary::{BinaryId, Location};
pub use self::dwarf::{CodeFrame, SourceLine};
pub use self::error::DebugInfoError;
pub use self::texts::DebugInfoTexts;
pub use self::trace::DebugInfo;

/// Compression of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstandard,
}

/// Decompresses a section to a buffer of a known size. Returns `None` if that fails.
pub type Decompress = fn(Compression, &[u8], usize) -> Option<Vec<u8>>;

/// Options for debug information.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DebugInfoOptions {
    /// Directory of separate debug files, `/usr/lib/debug` by default.
    pub debug_info_dir: Option<PathBuf>,
    /// Root directory of the traced system. Without it, paths in the trace are paths of this system.
    pub target_prefix: Option<PathBuf>,
    /// Name of the structure that is added to events, `debug_info` by default.
    pub field_name: String,
    /// Show whole paths instead of file names.
    pub full_path: bool,
    /// Show nothing for a binary whose build id is recorded, but whose file is missing or from another build.
    /// Babeltrace does this. Otherwise, the binary and the address in it are shown.
    pub verified_only: bool,
    /// Limits.
    pub limits: Limits,
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
            verified_only: false,
            limits: Limits::default(),
            decompress: None,
        }
    }
}
