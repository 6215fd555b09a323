//! DWARF data: function, source line and inlined functions by address.
//!
//! A unit is read when one of its addresses is first looked up. The section sizes limit the number of steps.

mod abbreviations;
mod functions;
mod lines;
mod names;
mod sections;
#[cfg(test)]
mod tests;
mod units;

use std::collections::HashMap;
use std::sync::Arc;

use gimli::UnitOffset;

use self::functions::FunctionTable;
use self::lines::LineTable;
pub use self::lines::SourceLine;
use self::names::FunctionNames;
use self::sections::{Sections, sections};
use self::units::{Unit, Units};
use crate::budget::Budget;
use crate::elf::Elf;
use crate::error::DwarfProblem;

/// Function at an address. All functions but the last are inlined into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFrame {
    /// Function name.
    pub name: Option<Arc<str>>,
    /// Position in the function.
    pub source: Option<SourceLine>,
}

/// Functions and lines at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DwarfLocation {
    /// Functions, innermost first.
    pub(crate) frames: Vec<CodeFrame>,
    /// Start of the last function. `None` if the function has several parts, and the address is not in the first one.
    pub(crate) begin: Option<u64>,
    /// `true` if the source line starts at this address.
    pub(crate) is_line_start: bool,
}

/// DWARF data in a file, as far as they were read.
#[derive(Debug)]
pub(crate) struct Dwarf {
    units: Units,
    /// Tables by unit, for units in which an address was looked up.
    tables: HashMap<usize, UnitTables>,
    /// Number of bytes in the tables.
    table_bytes: usize,
    names: FunctionNames,
    budget: Budget,
    problem: Option<DwarfProblem>,
}

/// Maximum memory size of all tables in a file, in bytes. Beyond it, they are read again when they are needed.
const MOST_TABLE_BYTES: usize = 512 << 20;

/// Tables for a unit.
#[derive(Debug)]
struct UnitTables {
    functions: FunctionTable,
    lines: LineTable,
}

impl UnitTables {
    fn new(sections: &Sections<'_>, unit: &Unit, budget: &mut Budget) -> (Self, Option<DwarfProblem>) {
        let (functions, problem) = FunctionTable::new(sections, unit, budget);
        let (lines, other) = LineTable::new(sections, unit, &functions, budget);
        (Self { functions, lines }, problem.or(other))
    }

    fn bytes(&self) -> usize {
        self.functions.bytes() + self.lines.bytes()
    }
}

impl Dwarf {
    /// Reads the unit list.
    pub(crate) fn new(elf: &Elf) -> Self {
        let mut budget = crate::elf::budget(elf);
        let (units, problem) = Units::new(&sections(elf), &mut budget);
        Self {
            units,
            tables: HashMap::new(),
            table_bytes: 0,
            names: FunctionNames::default(),
            budget,
            problem,
        }
    }

    /// Returns the first problem with the data.
    pub(crate) fn problem(&self) -> Option<DwarfProblem> {
        self.problem
    }

    /// Returns the number of bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.units.bytes() + self.table_bytes + self.names.bytes()
    }

    /// Finds the functions and lines at an address. `elf` is the file that contains the units.
    pub(crate) fn find(&mut self, elf: &Elf, address: u64) -> Option<DwarfLocation> {
        let sections = sections(elf);
        let mut found = None;
        for index in self.units.candidates(address) {
            let location = self.find_in(&sections, index, address);
            // Between the parts of a unit, there can be code from other units.
            if location.as_ref().is_some_and(|location| location.begin.is_some()) {
                return location;
            }
            found = found.or(location);
        }
        found
    }

    fn find_in(&mut self, sections: &Sections<'_>, index: usize, address: u64) -> Option<DwarfLocation> {
        let unit = self.units.get(index)?;
        if !self.tables.contains_key(&index) {
            let (tables, problem) = UnitTables::new(sections, unit, &mut self.budget);
            self.problem = self.problem.or(problem);
            if self.table_bytes + tables.bytes() > MOST_TABLE_BYTES {
                self.tables.clear();
                self.names.clear();
                self.table_bytes = 0;
            }
            self.table_bytes += tables.bytes();
            self.tables.insert(index, tables);
        }
        let tables = self.tables.get(&index)?;
        let is_line_start = tables.lines.is_start(address);
        let mut source = tables.lines.find(address);
        let Some(found) = tables.functions.find(address) else {
            let frame = CodeFrame { name: None, source: Some(source?) };
            return Some(DwarfLocation { frames: vec![frame], begin: None, is_line_start });
        };
        let mut frames = Vec::new();
        for inlined in found.inlined.iter().rev() {
            let call = tables.lines.source(inlined.call_file, inlined.call_line);
            frames.push((inlined.entry, std::mem::replace(&mut source, call)));
        }
        frames.push((found.entry, source));
        let begin = found.begin;
        let frames = frames
            .into_iter()
            .map(|(entry, source)| CodeFrame { name: self.name(sections, (index, entry)), source })
            .collect();
        Some(DwarfLocation { frames, begin, is_line_start })
    }

    /// Finds the name of the function with an entry in a unit.
    fn name(&mut self, sections: &Sections<'_>, place: (usize, UnitOffset)) -> Option<Arc<str>> {
        self.names.find(sections, &self.units, place, &mut self.budget).unwrap_or_else(|exhausted| {
            self.problem.get_or_insert(exhausted.into());
            None
        })
    }
}
