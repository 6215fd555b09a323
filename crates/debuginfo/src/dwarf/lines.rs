//! Source lines in a unit.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    AttributeValue, DebugLineOffset, LineInstruction, LineProgramHeader, LineRow, Reader as _, Section as _,
};

use super::functions::FunctionTable;
use super::sections::{Sections, Slice};
use super::units::Unit;
use crate::budget::{Budget, Exhausted, check_room};
use crate::error::DwarfProblem;

/// Source file and line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// File path, as the compiler recorded it.
    pub path: Arc<str>,
    /// Line number.
    pub line: u64,
}

/// Lines in a unit, sorted by address, and file paths.
#[derive(Debug, Default)]
pub(super) struct LineTable {
    rows: Vec<Row>,
    files: HashMap<u64, Option<Arc<str>>>,
    /// Total path length in bytes.
    path_bytes: usize,
}

/// Maximum header size of a line program, in bytes. While it is read, it takes up to 100 times as much memory.
const MOST_HEADER: usize = 4 << 20;

/// Maximum number of files that instructions define, and the minimum size of such an instruction in bytes.
const MOST_DEFINED_FILES: usize = 1 << 20;
const LEAST_DEFINITION: usize = 7;

/// Maximum total path length in a unit, in bytes.
const MOST_PATH_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    /// Line number, or `None` after the last instruction of a sequence.
    line: Option<u64>,
    file: u64,
}

impl LineTable {
    /// Runs a unit's line program. After a problem, the table has the lines before it.
    pub(super) fn new(
        sections: &Sections<'_>,
        unit: &Unit,
        functions: &FunctionTable,
        budget: &mut Budget,
    ) -> (Self, Option<DwarfProblem>) {
        let mut table = Self::default();
        let problem = table.read(sections, unit, functions, budget).err();
        // At equal addresses, the end of a sequence comes first.
        table.rows.sort_by_key(|row| (row.address, row.line.is_some()));
        table.rows.shrink_to_fit();
        (table, problem)
    }

    fn read(
        &mut self,
        sections: &Sections<'_>,
        unit: &Unit,
        functions: &FunctionTable,
        budget: &mut Budget,
    ) -> Result<(), DwarfProblem> {
        let Some(offset) = unit.line_program else { return Ok(()) };
        charge_program(sections, offset, budget)?;
        let program = sections.debug_line.program(offset, unit.encoding.address_size, None, None)?;
        check_defined_files(program.header())?;
        self.add_files(sections, unit, program.header(), functions.call_files(), budget)?;
        let mut rows = program.rows();
        let mut sequence = Vec::new();
        while let Some((header, row)) = rows.next_row()? {
            check_room(&self.rows)?;
            check_room(&sequence)?;
            sequence.push(Row::new(row));
            self.add_files(sections, unit, header, [row.file_index()].into_iter(), budget)?;
            if row.end_sequence() {
                self.add_sequence(&mut sequence);
            }
        }
        Ok(())
    }

    /// Adds the rows in a sequence, unless its code was not linked.
    fn add_sequence(&mut self, sequence: &mut Vec<Row>) {
        // Unlinked code has the address 0, or an address at the end of the address space.
        const TOMBSTONES: u64 = 0xffff_ffff_ffff_fff0;
        let begin = sequence.first().map_or(0, |row| row.address);
        let end = sequence.last().map_or(0, |row| row.address);
        if begin != 0 && begin < TOMBSTONES {
            self.rows.extend(sequence.iter().filter(|row| row.line.is_none() || row.address < end));
        }
        sequence.clear();
    }

    /// Adds file paths.
    fn add_files(
        &mut self,
        sections: &Sections<'_>,
        unit: &Unit,
        header: &LineProgramHeader<Slice<'_>>,
        files: impl Iterator<Item = u64>,
        budget: &mut Budget,
    ) -> Result<(), DwarfProblem> {
        for file in files {
            if self.files.contains_key(&file) {
                continue;
            }
            let path = path(sections, unit, header, file);
            let bytes = path.as_ref().map_or(0, String::len);
            budget.charge(1 + bytes)?;
            self.path_bytes += bytes;
            if self.path_bytes > MOST_PATH_BYTES {
                return Err(Exhausted.into());
            }
            self.files.insert(file, path.map(Arc::from));
        }
        Ok(())
    }

    /// Finds the source line at an address.
    pub(super) fn find(&self, address: u64) -> Option<SourceLine> {
        let behind = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(behind.checked_sub(1)?)?;
        self.source(row.file, row.line?)
    }

    /// Returns `true` if a line starts at an address.
    pub(super) fn is_start(&self, address: u64) -> bool {
        let behind = self.rows.partition_point(|row| row.address <= address);
        let row = behind.checked_sub(1).and_then(|index| self.rows.get(index));
        row.is_some_and(|row| row.address == address && row.line.is_some())
    }

    /// Returns a line in a file. `None` for line 0, which means an unknown line.
    pub(super) fn source(&self, file: u64, line: u64) -> Option<SourceLine> {
        let path = Arc::clone(self.files.get(&file)?.as_ref()?);
        (line != 0).then_some(SourceLine { path, line })
    }

    pub(super) fn bytes(&self) -> usize {
        let files = self.files.len() * size_of::<(u64, Option<Arc<str>>)>();
        self.rows.len() * size_of::<Row>() + files + self.path_bytes
    }
}

impl Row {
    fn new(row: &LineRow) -> Self {
        let line = (!row.end_sequence()).then(|| row.line().map_or(0, u64::from));
        Self { address: row.address(), line, file: row.file_index() }
    }
}

/// Charges for a line program before it is read. Several units can have the same program.
///
/// Each byte costs a step: not only instructions that add lines take time.
fn charge_program(
    sections: &Sections<'_>,
    offset: DebugLineOffset,
    budget: &mut Budget,
) -> Result<(), DwarfProblem> {
    let mut input = *sections.debug_line.reader();
    input.skip(offset.0)?;
    let (length, format) = input.read_initial_length()?;
    let mut program = input.split(length)?;
    budget.charge(length)?;
    let version = program.read_u16()?;
    if version >= 5 {
        // Address size and segment selector size.
        program.skip(2)?;
    }
    let header_length = program.read_length(format)?;
    if header_length <= MOST_HEADER { Ok(()) } else { Err(Exhausted.into()) }
}

/// Checks that instructions do not define too many files, which stay in memory.
fn check_defined_files(header: &LineProgramHeader<Slice<'_>>) -> Result<(), Exhausted> {
    if header.raw_program_buf().len() / LEAST_DEFINITION <= MOST_DEFINED_FILES {
        return Ok(());
    }
    let mut instructions = header.instructions();
    let mut files = 0;
    // An invalid instruction is reported when the program runs.
    while let Ok(Some(instruction)) = instructions.next_instruction(header) {
        files += usize::from(matches!(instruction, LineInstruction::DefineFile(_)));
    }
    if files <= MOST_DEFINED_FILES { Ok(()) } else { Err(Exhausted) }
}

/// Returns a file path with its directories.
fn path(
    sections: &Sections<'_>,
    unit: &Unit,
    header: &LineProgramHeader<Slice<'_>>,
    file: u64,
) -> Option<String> {
    let text = |value: &AttributeValue<Slice<'_>>| unit.text(sections, value);
    // Before version 5, files have numbers from 1 on.
    let file = header.file(file)?;
    let name = text(&file.path_name())?;
    let directory = file.directory(header).and_then(|value| text(&value));
    // Relative directories start in the unit's directory. Since version 5, it is also directory 0.
    let is_outer = header.version() >= 5 && file.directory_index() == 0;
    let outer = (!is_outer).then(|| unit.directory.clone());
    let mut path = String::new();
    for part in [outer, directory, Some(name)].into_iter().flatten().filter(|part| !part.is_empty()) {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(&part);
    }
    Some(path)
}
