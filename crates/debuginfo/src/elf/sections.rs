//! Sections and notes in an ELF file.
//!
//! A file can have many section headers, which refer to the same names and notes. So each header is read only once, and
//! names are read only as far as they are compared.

use std::ops::Range;

use gimli::SectionId;
use object::read::elf::{
    ElfFile, FileHeader, NoteIterator, ProgramHeader as _, SectionHeader as _, SectionTable,
};
use object::{CompressionFormat, Endianness, Object as _, ObjectSection as _, SectionIndex};

use crate::binary_id::MOST_BUILD_ID;
use crate::budget::{Budget, Exhausted};
use crate::options::{Compression, Decompress};

/// Maximum length of a name in bytes.
pub(super) const MOST_NAME: usize = 4096;

/// Maximum ratio between decompressed and compressed section size. Small sections can have any ratio.
const MOST_RATIO: u64 = 64;
const FEW_BYTES: u64 = 1 << 20;

/// Sections with debug information that are read.
pub(super) const SECTIONS: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// Content of a section.
#[derive(Debug)]
pub(super) enum Section {
    InFile(Range<usize>),
    Decompressed(Vec<u8>),
}

/// Name and checksum of a separate debug file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DebugLink {
    pub(crate) name: String,
    pub(crate) crc: u32,
}

/// An ELF file with the indexes of its sections.
pub(super) struct SectionReader<'f, 'd, E: FileHeader<Endian = Endianness>> {
    elf: &'f ElfFile<'d, E>,
    data: &'d [u8],
    /// Sections with debug information, in the order of [`SECTIONS`].
    plain: SectionPlaces,
    /// The same sections with the names `.zdebug_...`, which they had before compression was standardized.
    packed: SectionPlaces,
    debug_link: Option<SectionIndex>,
}

type SectionPlaces = [Option<SectionIndex>; SECTIONS.len()];

impl<'f, 'd, E: FileHeader<Endian = Endianness>> SectionReader<'f, 'd, E> {
    /// Finds the sections. The first section with a name counts.
    pub(super) fn new(elf: &'f ElfFile<'d, E>, data: &'d [u8]) -> Self {
        let (plain, packed) = (SectionPlaces::default(), SectionPlaces::default());
        let mut reader = Self { elf, data, plain, packed, debug_link: None };
        let sections = elf.elf_section_table();
        let Some(names) = section_names(elf, data, sections) else { return reader };
        for (index, section) in sections.enumerate() {
            let start = usize::try_from(section.sh_name(elf.endian())).ok();
            let Some(name) = start.and_then(|start| names.get(start..)) else { continue };
            if let Some(place) = reader.place(name) {
                place.get_or_insert(index);
            }
        }
        reader
    }

    /// Returns the place for a section whose name is at the start of these bytes.
    fn place(&mut self, name: &[u8]) -> Option<&mut Option<SectionIndex>> {
        if is_name(name, ".gnu_debuglink") {
            return Some(&mut self.debug_link);
        }
        let (rest, places) = match name.strip_prefix(b".z") {
            Some(rest) => (rest, &mut self.packed),
            None => (name.strip_prefix(b".")?, &mut self.plain),
        };
        let is_same = |id: &SectionId| is_name(rest, id.name().trim_start_matches('.'));
        places.get_mut(SECTIONS.iter().position(is_same)?)
    }

    /// Reads the sections with debug information. Decompressed sections may have `limit` bytes together.
    pub(super) fn read(&self, decompress: Option<Decompress>, limit: u64) -> Vec<(SectionId, Section)> {
        let mut left = limit;
        let places = self.plain.iter().zip(&self.packed);
        let sections = SECTIONS.into_iter().zip(places).filter_map(|(id, (plain, packed))| {
            let section = self.section((*plain).or(*packed)?, decompress, &mut left)?;
            Some((id, section))
        });
        sections.collect()
    }

    /// Reads a section. `left` is the number of bytes that decompressed sections may still have.
    fn section(
        &self,
        index: SectionIndex,
        decompress: Option<Decompress>,
        left: &mut u64,
    ) -> Option<Section> {
        let range = self.elf.section_by_index(index).ok()?.compressed_file_range().ok()?;
        let (begin, packed_size) =
            (usize::try_from(range.offset).ok()?, usize::try_from(range.compressed_size).ok()?);
        let bytes = begin..begin.checked_add(packed_size)?;
        let packed = self.data.get(bytes.clone())?;
        let compression = match range.format {
            CompressionFormat::None => return Some(Section::InFile(bytes)),
            CompressionFormat::Zlib => Compression::Zlib,
            CompressionFormat::Zstandard => Compression::Zstandard,
            _ => return None,
        };
        let size = range.uncompressed_size;
        // Real debug information has at most a few times the compressed size.
        let most = range.compressed_size.saturating_mul(MOST_RATIO).max(FEW_BYTES);
        let rest = left.checked_sub(size).filter(|_| size <= most)?;
        let unpacked = decompress?(compression, packed, usize::try_from(size).ok()?)?;
        *left = rest;
        Some(Section::Decompressed(unpacked))
    }

    /// Reads the debug link: a file name, padding and a checksum.
    pub(super) fn debug_link(&self) -> Option<DebugLink> {
        let section = self.elf.elf_section_table().section(self.debug_link?).ok()?;
        let bytes = section.data(self.elf.endian(), self.data).ok()?;
        let length = bytes.iter().take(MOST_NAME).position(|byte| *byte == 0)?;
        let crc = bytes.get((length + 1).next_multiple_of(4)..)?.first_chunk()?;
        let crc = match self.elf.is_little_endian() {
            true => u32::from_le_bytes(*crc),
            false => u32::from_be_bytes(*crc),
        };
        let name = String::from_utf8_lossy(bytes.get(..length)?).into_owned();
        Some(DebugLink { name, crc })
    }

    /// Finds the build id in the notes. Files without section headers have notes in segments.
    pub(super) fn build_id(&self) -> Result<Option<Vec<u8>>, Exhausted> {
        let (endian, data) = (self.elf.endian(), self.data);
        // Programs have a few thousand notes at most.
        let mut budget = Budget::for_size(0);
        let sections = self.elf.elf_section_table();
        let found = if sections.is_empty() {
            let segments = self.elf.elf_program_headers().iter();
            let lists = segments.filter_map(|segment| segment.notes(endian, data).ok().flatten());
            build_id_in(endian, lists, &mut budget)?
        } else {
            let lists = sections.iter().filter_map(|section| section.notes(endian, data).ok().flatten());
            build_id_in(endian, lists, &mut budget)?
        };
        Ok(found.map(|id| id.get(..MOST_BUILD_ID).unwrap_or(id).to_vec()))
    }
}

fn build_id_in<'d, E: FileHeader<Endian = Endianness>>(
    endian: Endianness,
    lists: impl Iterator<Item = NoteIterator<'d, E>>,
    budget: &mut Budget,
) -> Result<Option<&'d [u8]>, Exhausted> {
    for mut notes in lists {
        budget.charge(1)?;
        // The rest of a damaged list is ignored.
        while let Ok(Some(note)) = notes.next() {
            budget.charge(1)?;
            let is_build_id = note.n_type(endian) == object::elf::NT_GNU_BUILD_ID;
            if is_build_id && matches!(note.name_bytes(), b"GNU" | b"GNU\0") {
                return Ok(Some(note.desc()));
            }
        }
    }
    Ok(None)
}

/// Returns the section names, each with a NUL after it.
fn section_names<'d, E: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'d, E>,
    data: &'d [u8],
    sections: &SectionTable<'d, E>,
) -> Option<&'d [u8]> {
    let index = elf.elf_header().section_strings_index(elf.endian(), data).ok()?;
    sections.section(index).ok()?.data(elf.endian(), data).ok()
}

/// Returns `true` if bytes start with a name and a NUL.
fn is_name(bytes: &[u8], name: &str) -> bool {
    bytes.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}
