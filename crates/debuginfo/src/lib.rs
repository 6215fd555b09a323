//! Debug information for addresses in traces: which binary was mapped there, and its function and source line.
//!
//! LTTng-UST records which binaries each process has: state dumps list them, and later events report loaded and
//! unloaded libraries. [`AddressSpaces`] keeps them by process, address and time. [`DebugInfo::locate`] finds functions
//! and source lines in a binary's ELF file. DWARF data can be in this file or in a separate debug file.
//!
//! [`DebugInfo::wrap`] adds the names to the events in a trace, as Babeltrace's filter `lttng-utils.debug-info` does.
//! Events whose common context has `vpid` and `ip` get a [resource](ichnos_model::Scope::Resource) with one structure:
//!
//! ```text
//! debug_info = { bin = "libfoo.so+0x2349", func = "foo+0xd2", src = "foo.c:35" }
//! ```
//!
//! | member | contents |
//! |---|---|
//! | `bin` | binary, and the address in it: `+0x...` relative to its base, `@0x...` absolute |
//! | `func` | function, and the offset in it. Never an inlined function, but the function that contains its code |
//! | `src` | source file and line. For an inlined function, the line that calls it |
//!
//! Unknown texts are empty. Paths in a trace are not trusted: only regular files up to a size limit are read, and with
//! a target prefix only files in it. Damaged or hostile files take limited time and memory.
#![forbid(unsafe_code)]

mod address_fields;
mod address_spaces;
mod binaries;
mod binary;
mod binary_id;
mod budget;
mod class;
mod dwarf;
mod elf;
mod error;
mod files;
mod first_lookups;
mod lookup;
mod mapping_events;
mod options;
mod texts;
mod trace;

pub use self::address_spaces::{
    AddressSpaceEvent, AddressSpaces, AddressSpacesBuilder, LoadedBinary, MappedBinary,
};
pub use self::binary::{CodeLocation, NameSource};
pub use self::binary_id::{BinaryId, MappingBase};
pub use self::class::DebugInfoTexts;
pub use self::dwarf::{CodeFrame, SourceLine};
pub use self::error::DebugInfoError;
pub use self::options::{Compression, DebugInfoLimits, DebugInfoOptions, Decompress};
pub use self::trace::{DebugInfo, with_symbols};
