//! Sections with DWARF data.

use gimli::{EndianSlice, RunTimeEndian};

use crate::elf::Elf;

pub(super) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
pub(super) type Sections<'a> = gimli::Dwarf<Slice<'a>>;

/// Returns the sections in a file.
pub(super) fn sections(elf: &Elf) -> Sections<'_> {
    let load = |id| Ok::<_, std::convert::Infallible>(EndianSlice::new(elf.section(id), elf.endian));
    match gimli::Dwarf::load(load) {
        Ok(sections) => sections,
        Err(never) => match never {},
    }
}
