//! Traced binaries: file, separate debug file, and code locations.

use std::sync::Arc;

use crate::binary_id::{BinaryId, MappingBase};
use crate::dwarf::{CodeFrame, Dwarf};
use crate::elf::{DebugLink, Elf};
use crate::error::DebugInfoError;
use crate::files::{Directories, FilePath};
use crate::options::{DebugInfoLimits, Decompress};

/// Code location in a binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeLocation {
    /// Functions at the address, innermost first. All but the last are inlined. Empty if nothing is known.
    pub frames: Vec<CodeFrame>,
    /// Offset in the last function, in bytes. `None` without a function.
    pub offset: Option<u64>,
    /// Origin of the last function's name.
    pub name_source: NameSource,
    /// `true` if the source line starts at this address.
    pub is_line_start: bool,
}

/// Origin of a function name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameSource {
    /// DWARF data.
    #[default]
    Dwarf,
    /// Symbol table, because the binary lacks DWARF data.
    SymbolTable,
    /// Symbol table, because the DWARF data lack the function.
    OtherSymbolTable,
    /// Names that a library exports.
    Exports,
}

/// Suffix for the rarely used part of a function.
const COLD: &str = ".cold";

/// Options for opening binaries.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenSettings {
    pub(crate) directories: Directories,
    pub(crate) limits: DebugInfoLimits,
    pub(crate) decompress: Option<Decompress>,
    /// `true` to find separate debug files only by the build id and the debug link in the trace.
    pub(crate) only_recorded: bool,
}

/// An opened binary.
#[derive(Debug, Default)]
pub(crate) struct Binary {
    /// The binary's file, if it exists.
    program: Option<Elf>,
    /// Separate debug file, if the binary needs one.
    debug_file: Option<Elf>,
    dwarf: Option<Dwarf>,
    /// Functions in the symbol table, once they were needed.
    functions: Option<Vec<(u64, u64, Arc<str>)>>,
    /// Number of bytes in these functions and their names.
    function_bytes: usize,
    problem: Option<DebugInfoError>,
}

impl Binary {
    /// Opens a binary.
    pub(crate) fn open(id: &BinaryId, settings: &OpenSettings) -> Self {
        let mut binary = Self::default();
        let place = settings.directories.binary(&id.path);
        match place
            .as_ref()
            .map_err(DebugInfoError::clone)
            .and_then(|place| open_program(place, id, settings))
        {
            Ok(program) => binary.program = Some(program),
            Err(error) => binary.problem = Some(error),
        }
        let program = binary.program.as_ref();
        if !program.is_some_and(Elf::has_dwarf) {
            let (found, limit) = find_debug_file(place.as_ref().ok(), id, program, settings);
            binary.debug_file = found;
            binary.problem = binary.problem.or(limit);
        }
        let with_dwarf = binary.debug_file.as_ref().or(binary.program.as_ref()).filter(|elf| elf.has_dwarf());
        binary.dwarf = with_dwarf.map(Dwarf::new);
        if binary.dwarf.is_some() && binary.problem == Some(DebugInfoError::NoPrefix) {
            binary.problem = None;
        }
        if binary.dwarf.is_none() && binary.problem.is_none() {
            binary.problem = Some(DebugInfoError::Missing { path: id.path.to_string() });
        }
        binary
    }

    /// Returns `true` if the binary's file was found, and is from the build in the trace.
    pub(crate) fn is_found(&self) -> bool {
        self.program.is_some()
    }

    /// Returns the memory address that corresponds to the address 0 in the file. `None` if addresses in memory and in
    /// the file are equal.
    pub(crate) fn origin(&self, base: u64, kind: MappingBase) -> Option<u64> {
        let elf = self.program.as_ref().or(self.debug_file.as_ref());
        let is_fixed = elf.is_some_and(|elf| !elf.is_position_independent);
        match kind {
            MappingBase::PositionIndependent => Some(base),
            MappingBase::Absolute => None,
            MappingBase::Binary | MappingBase::Code if is_fixed => None,
            MappingBase::Binary => Some(base),
            MappingBase::Code => Some(base.wrapping_sub(elf.map_or(0, |elf| elf.code_address))),
        }
    }

    /// Returns the functions in the symbol table, sorted by address: first address, end and name.
    pub(crate) fn functions(&mut self) -> &[(u64, u64, Arc<str>)] {
        let files = [&self.program, &self.debug_file];
        self.functions.get_or_insert_with(|| {
            let all = files.into_iter().flatten().map(Elf::functions).find(|found| !found.is_empty());
            let exported = || self.program.as_ref().map(Elf::exported_functions);
            let functions = all.or_else(exported).unwrap_or_default();
            let names: usize = functions.iter().map(|(.., name)| name.len()).sum();
            self.function_bytes = functions.len() * size_of::<(u64, u64, Arc<str>)>() + names;
            functions
        })
    }

    /// Returns the reason why debug information is missing or incomplete.
    pub(crate) fn problem(&self) -> Option<DebugInfoError> {
        self.problem.clone().or_else(|| {
            let problem = self.dwarf.as_ref()?.problem()?;
            let elf = self.debug_file.as_ref().or(self.program.as_ref())?;
            Some(problem.in_file(&elf.path))
        })
    }

    /// Returns the number of bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let files = [&self.program, &self.debug_file].into_iter().flatten();
        let dwarf = self.dwarf.as_ref().map_or(0, Dwarf::bytes);
        files.map(Elf::bytes).sum::<usize>() + dwarf + self.function_bytes
    }

    /// Finds the code location at an address in the file.
    pub(crate) fn find(&mut self, address: u64) -> CodeLocation {
        let elf = self.debug_file.as_ref().or(self.program.as_ref());
        let found = match (&mut self.dwarf, elf) {
            (Some(dwarf), Some(elf)) => dwarf.find(elf, address),
            _ => None,
        };
        let mut location = CodeLocation::default();
        if let Some(found) = found {
            location.frames = found.frames;
            location.offset = found.begin.and_then(|begin| address.checked_sub(begin));
            location.is_line_start = found.is_line_start;
        }
        let has_name = location.frames.last().is_some_and(|frame| frame.name.is_some());
        if !(has_name && location.offset.is_some()) {
            self.add_symbol(address, &mut location);
        }
        location
    }

    /// Names a location's last function by the symbol table.
    fn add_symbol(&self, address: u64, location: &mut CodeLocation) {
        let files = [&self.program, &self.debug_file];
        let mut files = files.into_iter().flatten();
        let own = if self.dwarf.is_some() { NameSource::OtherSymbolTable } else { NameSource::SymbolTable };
        let found = files.find_map(|elf| elf.function(address)).map(|found| (found, own));
        let exported = || Some((self.program.as_ref()?.exported_function(address)?, NameSource::Exports));
        let Some(((name, begin), name_source)) = found.or_else(exported) else { return };
        location.name_source = name_source;
        if location.frames.is_empty() {
            location.frames.push(CodeFrame::default());
        }
        if let Some(last) = location.frames.last_mut() {
            // The rarely used part has a mangled name in the symbol table.
            last.name = Some(match &last.name {
                Some(own) if name.ends_with(COLD) => format!("{own}{COLD}").into(),
                _ => name.into(),
            });
            location.offset = address.checked_sub(begin);
        }
    }
}

/// Opens a binary's file, and compares the build id.
fn open_program(place: &FilePath<'_>, id: &BinaryId, settings: &OpenSettings) -> Result<Elf, DebugInfoError> {
    let elf = open_elf(place, settings)?;
    match &id.build_id {
        Some(expected) if elf.build_id.as_deref() != Some(expected) => Err(DebugInfoError::BuildId {
            path: elf.path,
            actual: elf.build_id.unwrap_or_default(),
            expected: expected.to_vec(),
        }),
        _ => Ok(elf),
    }
}

fn open_elf(place: &FilePath<'_>, settings: &OpenSettings) -> Result<Elf, DebugInfoError> {
    let limit = settings.limits.file_bytes;
    Elf::new(place.shown(), place.read(limit)?, settings.decompress, limit)
}

/// Finds the separate debug file: by the build id, then by the debug link. Without such a file, returns the first error
/// about a file that exceeds a limit.
fn find_debug_file(
    place: Option<&FilePath<'_>>,
    id: &BinaryId,
    program: Option<&Elf>,
    settings: &OpenSettings,
) -> (Option<Elf>, Option<DebugInfoError>) {
    let mut limit = None;
    let open = |place: &FilePath<'_>| match open_elf(place, settings) {
        Ok(elf) => Some(elf).filter(Elf::has_dwarf),
        Err(error) => {
            limit = limit.take().or(Some(error).filter(DebugInfoError::is_limit));
            None
        }
    };
    let program = program.filter(|_| !settings.only_recorded);
    let found = search_debug_file(place, id, program, &settings.directories, open);
    let limit = limit.filter(|_| found.is_none());
    (found, limit)
}

fn search_debug_file(
    place: Option<&FilePath<'_>>,
    id: &BinaryId,
    program: Option<&Elf>,
    directories: &Directories,
    mut open: impl FnMut(&FilePath<'_>) -> Option<Elf>,
) -> Option<Elf> {
    let own_id = || program?.build_id.as_deref();
    if let Some(build_id) = id.build_id.as_deref().or_else(own_id)
        && let Some(place) = directories.build_id(build_id)
        && let Some(elf) = open(&place)
        && elf.build_id.as_deref().is_none_or(|actual| actual == build_id)
    {
        return Some(elf);
    }
    // The debug link of another build names another build's debug file.
    let recorded = id.debug_link.as_ref().map(|(name, crc)| DebugLink { name: name.to_string(), crc: *crc });
    let link = recorded.or_else(|| program?.debug_link.clone())?;
    let places = directories.debug_link(place?, &link.name);
    places.iter().find_map(|place| open(place).filter(|elf| elf.crc() == link.crc))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use ichnos_testing::{ELF_BUILD_ID, ElfForm, Random, cases, elf_library, in_cpu_time};

    use super::*;

    fn open(directory: &Path, id: BinaryId) -> Binary {
        open_within(directory, id, DebugInfoLimits::default())
    }

    fn open_within(directory: &Path, id: BinaryId, limits: DebugInfoLimits) -> Binary {
        let directories = Directories {
            target_prefix: Some(directory.to_owned()),
            debug_info: Some(directory.join("debug")),
        };
        Binary::open(&id, &OpenSettings { directories, limits, ..OpenSettings::default() })
    }

    /// Returns the functions and lines at an address as text.
    fn shown(binary: &mut Binary, address: u64) -> String {
        let location = binary.find(address);
        let frames = location.frames.iter().map(|frame| {
            let source = frame.source.as_ref().map(|source| format!(" {}:{}", source.path, source.line));
            format!("{}{}", frame.name.as_deref().unwrap_or("?"), source.unwrap_or_default())
        });
        let frames: Vec<String> = frames.collect();
        format!("{} +{:?}", frames.join(", "), location.offset)
    }

    const WITH_DWARF: [(u64, &str); 6] = [
        (0xfff, " +None"),
        (0x1000, "main /src/a.c:10 +Some(0)"),
        (0x1010, "inner /src/a.h:3, main /src/a.c:11 +Some(16)"),
        (0x101f, "inner /src/a.h:3, main /src/a.c:11 +Some(31)"),
        (0x1020, "main /src/a.c:12 +Some(32)"),
        (0x1041, "other +Some(1)"),
    ];

    #[test]
    fn addresses_are_found_in_all_forms() {
        let directory = tempfile::tempdir().unwrap();
        for form in ElfForm::ALL {
            std::fs::write(directory.path().join("lib.so"), elf_library(form, true)).unwrap();
            let mut binary = open(directory.path(), BinaryId::new("/lib.so").with_build_id(ELF_BUILD_ID));
            assert_eq!(binary.problem(), None);
            assert_eq!(binary.origin(0x5000, MappingBase::Binary), Some(0x5000));
            let names: Vec<_> = binary.functions().iter().map(|(begin, _, name)| (*begin, &**name)).collect();
            assert_eq!(names, [(0x1000, "main"), (0x1040, "other")]);
            for (address, expected) in WITH_DWARF {
                assert_eq!(shown(&mut binary, address), expected, "{form:?} {address:#x}");
            }
        }
    }

    #[test]
    fn separate_debug_files_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let form = ElfForm::ALL[7];
        let (stripped, debug) = (elf_library(form, false), elf_library(form, true));
        std::fs::write(directory.path().join("lib.so"), &stripped).unwrap();
        let crc = crc32fast::hash(&debug);
        let link = |crc| BinaryId { debug_link: Some(("lib.debug".into(), crc)), ..BinaryId::new("/lib.so") };
        let inlined = |id| shown(&mut open(directory.path(), id), 0x1010);
        assert_eq!(inlined(link(crc)), "main +Some(16)");
        for place in ["lib.debug", ".debug/lib.debug", "debug/lib.debug", "debug/.build-id/ab/010203.debug"] {
            let path = directory.path().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &debug).unwrap();
            let is_by_id = place.contains("build-id");
            assert_eq!(inlined(link(crc)), WITH_DWARF[2].1, "{place}");
            let expected = if is_by_id { WITH_DWARF[2].1 } else { "main +Some(16)" };
            assert_eq!(inlined(link(crc ^ 1)), expected, "{place}");
            assert_eq!(inlined(BinaryId::new("/lib.so")), expected, "{place}");
            // The build id also finds the debug file of a missing binary.
            let missing = BinaryId::new("/missing.so").with_build_id(ELF_BUILD_ID);
            assert_eq!(inlined(missing), if is_by_id { expected } else { " +None" }, "{place}");
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn other_builds_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("lib.so"), elf_library(ElfForm::ALL[7], true)).unwrap();
        let mut binary = open(directory.path(), BinaryId::new("/lib.so").with_build_id([1, 2]));
        assert_eq!(shown(&mut binary, 0x1010), " +None");
        assert!(matches!(binary.problem(), Some(DebugInfoError::BuildId { .. })));
        let mut missing = open(directory.path(), BinaryId::new("/missing.so"));
        assert_eq!(shown(&mut missing, 0x1010), " +None");
        assert!(matches!(missing.problem(), Some(DebugInfoError::Io { .. })));
        std::fs::write(directory.path().join("text"), "text").unwrap();
        let mut text = open(directory.path(), BinaryId::new("/text"));
        assert_eq!(shown(&mut text, 0x1010), " +None");
        assert!(matches!(text.problem(), Some(DebugInfoError::Elf { .. })));
    }

    #[test]
    fn debug_files_above_a_limit_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let (stripped, debug) = (elf_library(ElfForm::ALL[7], false), elf_library(ElfForm::ALL[7], true));
        std::fs::create_dir_all(directory.path().join("debug/.build-id/ab")).unwrap();
        std::fs::write(directory.path().join("lib.so"), &stripped).unwrap();
        std::fs::write(directory.path().join("debug/.build-id/ab/010203.debug"), &debug).unwrap();
        for (limit, is_reported) in [(debug.len(), false), (debug.len() - 1, true)] {
            let limits = DebugInfoLimits { file_bytes: limit as u64, ..DebugInfoLimits::default() };
            let binary = open_within(directory.path(), BinaryId::new("/lib.so"), limits);
            let problem = binary.problem();
            assert_eq!(problem.as_ref().is_some_and(DebugInfoError::is_limit), is_reported, "{problem:?}");
        }
    }

    #[test]
    fn damaged_files_are_read_in_limited_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lib.so");
        in_cpu_time(Duration::from_secs(60), "damaged files", || {
            cases(2000, |random: &mut Random| {
                let mut data = elf_library(ElfForm::ALL[random.below(8) as usize], true);
                for _ in 0..=random.below(4) {
                    let place = random.below(data.len() as u64) as usize;
                    data[place] = match random.below(3) {
                        0 => 0xff,
                        1 => 0,
                        _ => random.below(256) as u8,
                    };
                }
                if random.below(8) == 0 {
                    data.truncate(random.below(data.len() as u64) as usize);
                }
                std::fs::write(&path, data).unwrap();
                let mut binary = open(directory.path(), BinaryId::new("/lib.so"));
                for (address, _) in WITH_DWARF {
                    binary.find(address);
                }
                let _ = binary.problem();
            });
        });
    }
}
