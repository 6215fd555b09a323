//! ELF files: sections, function symbols, build ids, debug links.

mod sections;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use gimli::{RunTimeEndian, SectionId};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader as _, Sym as _, SymbolTable};
use object::{Endianness, Object as _, ObjectSection as _};

pub(crate) use self::sections::DebugLink;
use self::sections::{MOST_NAME, SECTIONS, Section, SectionReader};
use crate::budget::{Budget, Exhausted};
use crate::error::DebugInfoError;
use crate::options::Decompress;

/// ELF file in memory.
#[derive(Debug)]
pub(crate) struct Elf {
    pub(crate) path: String,
    data: Vec<u8>,
    pub(crate) endian: RunTimeEndian,
    /// `true` if the file can be loaded at any address.
    pub(crate) is_position_independent: bool,
    /// First address of the memory page where the code begins.
    pub(crate) code_address: u64,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) debug_link: Option<DebugLink>,
    sections: Vec<(SectionId, Section)>,
    symbols: Functions,
    /// Functions that a stripped file still offers to others.
    exports: Functions,
}

impl Elf {
    /// Reads an ELF file. Decompressed sections may have `limit` bytes together.
    pub(crate) fn new(
        path: String,
        data: Vec<u8>,
        decompress: Option<Decompress>,
        limit: u64,
    ) -> Result<Self, DebugInfoError> {
        let parsed = match object::File::parse(&*data) {
            Ok(object::File::Elf32(elf)) => Parsed::new(&elf, &data, decompress, limit),
            Ok(object::File::Elf64(elf)) => Parsed::new(&elf, &data, decompress, limit),
            // No other format is compiled in.
            Ok(_) => Ok(Parsed::default()),
            Err(error) => return Err(DebugInfoError::Elf { path, message: error.to_string() }),
        };
        let Ok(parsed) = parsed else { return Err(DebugInfoError::Limit { path }) };
        Ok(Self {
            path,
            endian: if parsed.is_big_endian { RunTimeEndian::Big } else { RunTimeEndian::Little },
            is_position_independent: parsed.is_position_independent,
            code_address: parsed.code_address,
            build_id: parsed.build_id,
            debug_link: parsed.debug_link,
            sections: parsed.sections,
            symbols: parsed.symbols,
            exports: parsed.exports,
            data,
        })
    }

    /// Returns the content of a section, empty if it is missing.
    pub(crate) fn section(&self, id: SectionId) -> &[u8] {
        let found = self.sections.iter().find(|(known, _)| *known == id);
        match found.map(|(_, section)| section) {
            Some(Section::InFile(range)) => self.data.get(range.clone()).unwrap_or_default(),
            Some(Section::Decompressed(data)) => data,
            None => &[],
        }
    }

    /// Returns `true` if the file has DWARF data.
    pub(crate) fn has_dwarf(&self) -> bool {
        !self.section(SectionId::DebugInfo).is_empty()
    }

    /// Returns the number of bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let decompressed = self.sections.iter().map(|(_, section)| match section {
            Section::InFile(_) => 0,
            Section::Decompressed(data) => data.len(),
        });
        let symbols = self.symbols.symbols.len() + self.exports.symbols.len();
        self.data.len() + decompressed.sum::<usize>() + symbols * size_of::<FunctionSymbol>()
    }

    /// Returns the file's checksum, as in `.gnu_debuglink` sections.
    pub(crate) fn crc(&self) -> u32 {
        crc32fast::hash(&self.data)
    }

    /// Finds the last function that begins at an address or before, and its first address.
    pub(crate) fn function(&self, address: u64) -> Option<(Cow<'_, str>, u64)> {
        let symbol = self.symbols.last_before(address)?;
        Some((self.symbols.name(symbol, &self.data)?, symbol.address))
    }

    /// Returns the functions in the symbol table: first address, end and name.
    pub(crate) fn functions(&self) -> Vec<(u64, u64, Arc<str>)> {
        self.symbols.list(&self.data)
    }

    /// Returns the exported functions: first address, end and name.
    pub(crate) fn exported_functions(&self) -> Vec<(u64, u64, Arc<str>)> {
        self.exports.list(&self.data)
    }

    /// Finds the exported function that contains an address, and its first address.
    pub(crate) fn exported_function(&self, address: u64) -> Option<(Cow<'_, str>, u64)> {
        let symbol = self.exports.last_before(address)?;
        let is_inside = address - symbol.address < symbol.size;
        Some((self.exports.name(symbol, &self.data).filter(|_| is_inside)?, symbol.address))
    }
}

/// Parsed ELF file.
#[derive(Default)]
struct Parsed {
    is_big_endian: bool,
    is_position_independent: bool,
    code_address: u64,
    build_id: Option<Vec<u8>>,
    debug_link: Option<DebugLink>,
    sections: Vec<(SectionId, Section)>,
    symbols: Functions,
    exports: Functions,
}

impl Parsed {
    fn new<'d, E: FileHeader<Endian = Endianness>>(
        elf: &ElfFile<'d, E>,
        data: &'d [u8],
        decompress: Option<Decompress>,
        limit: u64,
    ) -> Result<Self, Exhausted> {
        let sections = SectionReader::new(elf, data);
        Ok(Self {
            is_big_endian: !elf.is_little_endian(),
            is_position_independent: elf.elf_header().e_type(elf.endian()) == object::elf::ET_DYN,
            code_address: code_address(elf),
            // A damaged note or link is like a missing one.
            build_id: sections.build_id()?,
            debug_link: sections.debug_link(),
            sections: sections.read(decompress, limit),
            symbols: Functions::new(elf, elf.elf_symbol_table()),
            exports: Functions::new(elf, elf.elf_dynamic_symbol_table()),
        })
    }
}

/// Returns the first address of the memory page where the code begins, 0 without code.
fn code_address<E: FileHeader<Endian = Endianness>>(elf: &ElfFile<'_, E>) -> u64 {
    /// Memory page size in bytes. Larger pages begin at a multiple of it, too.
    const PAGE: u64 = 4096;
    let endian = elf.endian();
    let code = elf.elf_program_headers().iter().find(|header| {
        header.p_type(endian) == object::elf::PT_LOAD && header.p_flags(endian).0 & object::elf::PF_X.0 != 0
    });
    code.map_or(0, |header| header.p_vaddr(endian).into() / PAGE * PAGE)
}

/// Functions in a symbol table, sorted by address.
#[derive(Debug, Default)]
struct Functions {
    symbols: Vec<FunctionSymbol>,
    /// File range with the names.
    names: Range<usize>,
}

#[derive(Clone, Copy, Debug)]
struct FunctionSymbol {
    address: u64,
    size: u64,
    /// Offset in the names.
    name: u32,
}

impl Functions {
    fn new<'d, E: FileHeader<Endian = Endianness>>(elf: &ElfFile<'d, E>, table: &SymbolTable<'d, E>) -> Self {
        let endian = elf.endian();
        let names = elf.section_by_index(table.string_section()).ok();
        let names = names.and_then(|section| section.file_range()).and_then(|(begin, size)| {
            let begin = usize::try_from(begin).ok()?;
            Some(begin..begin.checked_add(usize::try_from(size).ok()?)?)
        });
        let functions = table
            .iter()
            .filter(|symbol| symbol.st_type() == object::elf::STT_FUNC && !symbol.is_undefined(endian));
        let mut symbols: Vec<_> = functions
            .map(|symbol| FunctionSymbol {
                address: symbol.st_value(endian).into(),
                size: symbol.st_size(endian).into(),
                name: symbol.st_name(endian),
            })
            .collect();
        // Of several names for the same address, the first counts.
        symbols.sort_by_key(|symbol| symbol.address);
        symbols.dedup_by_key(|symbol| symbol.address);
        Self { symbols, names: names.unwrap_or_default() }
    }

    fn last_before(&self, address: u64) -> Option<&FunctionSymbol> {
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        self.symbols.get(behind.checked_sub(1)?)
    }

    /// Returns the functions with their names. A function without a size ends at the next one.
    fn list(&self, data: &[u8]) -> Vec<(u64, u64, Arc<str>)> {
        /// Maximum number of functions, and of bytes in their names. Names can overlap in a file.
        const MOST: usize = 1 << 20;
        const MOST_BYTES: usize = 256 << 20;
        let next = self.symbols.iter().skip(1).map(|symbol| symbol.address).chain([u64::MAX]);
        let mut bytes = 0;
        let functions = self.symbols.iter().zip(next).take(MOST).map_while(|(symbol, next)| {
            let end = match symbol.size {
                0 if next == u64::MAX => symbol.address.saturating_add(1),
                0 => next,
                size => symbol.address.saturating_add(size),
            };
            let name: Arc<str> = self.name(symbol, data).unwrap_or_default().into();
            bytes += name.len();
            (bytes <= MOST_BYTES).then_some((symbol.address, end, name))
        });
        functions.filter(|(_, _, name)| !name.is_empty()).collect()
    }

    fn name<'d>(&self, symbol: &FunctionSymbol, data: &'d [u8]) -> Option<Cow<'d, str>> {
        let names = data.get(self.names.clone())?.get(symbol.name as usize..)?;
        let name = names.get(..MOST_NAME).unwrap_or(names).split(|byte| *byte == 0).next()?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(name))
    }
}

/// Returns the budget for the DWARF data in a file.
pub(crate) fn budget(elf: &Elf) -> Budget {
    Budget::for_size(SECTIONS.iter().map(|id| elf.section(*id).len()).sum())
}
