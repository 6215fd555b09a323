//! Functions in a unit, and functions inlined into them.

use gimli::{AttributeValue, UnitOffset};

use super::sections::Sections;
use super::units::{DebugEntry, Unit};
use crate::budget::{Budget, check_room};
use crate::error::DwarfProblem;

/// Maximum number of inlined functions around an address.
const MOST_INLINED: u32 = 256;

/// Functions in a unit.
#[derive(Debug, Default)]
pub(super) struct FunctionTable {
    functions: Vec<UnitFunction>,
    /// Function ranges, sorted by address.
    ranges: Vec<FunctionRange>,
    /// Inlined functions, sorted by function, depth and address.
    inlined: Vec<InlinedRange>,
}

#[derive(Clone, Copy, Debug)]
struct UnitFunction {
    entry: UnitOffset,
    begin: u64,
}

#[derive(Clone, Copy, Debug)]
struct FunctionRange {
    begin: u64,
    end: u64,
    function: u32,
    /// `true` if the offset in the function can be computed from its start.
    is_first: bool,
}

#[derive(Clone, Copy, Debug)]
struct InlinedRange {
    function: u32,
    /// 1 for a function inlined into the function itself, 2 for a function inlined into that, and so on.
    depth: u32,
    begin: u64,
    end: u64,
    call: Inlined,
}

/// An inlined function, and the line that calls it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inlined {
    pub(super) entry: UnitOffset,
    pub(super) call_file: u64,
    pub(super) call_line: u64,
}

/// Functions at an address.
#[derive(Debug)]
pub(super) struct FoundFunction {
    pub(super) entry: UnitOffset,
    /// Start of the function, unless the address is in another part of it.
    pub(super) begin: Option<u64>,
    /// Inlined functions, outermost first.
    pub(super) inlined: Vec<Inlined>,
}

/// A function or inlined function around the current entry.
#[derive(Clone, Copy, Debug)]
struct Enclosing {
    entry_depth: isize,
    function: u32,
    /// Number of inlined functions, including this one.
    inline_depth: u32,
}

impl FunctionTable {
    /// Reads all entries in a unit. After a problem, the table has the functions before it.
    pub(super) fn new(
        sections: &Sections<'_>,
        unit: &Unit,
        budget: &mut Budget,
    ) -> (Self, Option<DwarfProblem>) {
        let mut table = Self::default();
        let problem = table.read(sections, unit, budget).err();
        table.ranges.sort_by_key(|range| range.begin);
        table.inlined.sort_by_key(|inlined| (inlined.function, inlined.depth, inlined.begin));
        table.functions.shrink_to_fit();
        table.ranges.shrink_to_fit();
        table.inlined.shrink_to_fit();
        (table, problem)
    }

    fn read(
        &mut self,
        sections: &Sections<'_>,
        unit: &Unit,
        budget: &mut Budget,
    ) -> Result<(), DwarfProblem> {
        let header = unit.header(sections)?;
        let mut entries = header.entries_raw(&unit.abbreviations, None)?;
        let mut entry = DebugEntry::null();
        let mut enclosing: Vec<Enclosing> = Vec::new();
        while !entries.is_empty() {
            let has_entry = entries.read_entry(&mut entry)?;
            budget.charge(1 + entry.attrs.len())?;
            check_room(&self.ranges)?;
            check_room(&self.inlined)?;
            if !has_entry {
                continue;
            }
            while enclosing.pop_if(|outer| outer.entry_depth >= entry.depth).is_some() {}
            let inner = match entry.tag() {
                gimli::DW_TAG_subprogram => self.add_function(sections, unit, &entry, budget)?,
                gimli::DW_TAG_inlined_subroutine => match enclosing.last() {
                    Some(outer) => Some(self.add_inlined(sections, unit, &entry, *outer, budget)?),
                    None => None,
                },
                _ => None,
            };
            enclosing.extend(inner);
        }
        Ok(())
    }

    fn add_function(
        &mut self,
        sections: &Sections<'_>,
        unit: &Unit,
        entry: &DebugEntry<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Enclosing>, DwarfProblem> {
        let Ok(function) = u32::try_from(self.functions.len()) else { return Ok(None) };
        let before = self.ranges.len();
        let ranges = &mut self.ranges;
        unit.for_each_range(sections, entry, budget, |begin, end| {
            let is_first = ranges.len() == before;
            ranges.push(FunctionRange { begin, end, function, is_first });
        })?;
        let Some(first) = self.ranges.get(before) else { return Ok(None) };
        self.functions.push(UnitFunction { entry: entry.offset(), begin: first.begin });
        Ok(Some(Enclosing { entry_depth: entry.depth(), function, inline_depth: 0 }))
    }

    fn add_inlined(
        &mut self,
        sections: &Sections<'_>,
        unit: &Unit,
        entry: &DebugEntry<'_>,
        outer: Enclosing,
        budget: &mut Budget,
    ) -> Result<Enclosing, DwarfProblem> {
        let number = |name| match entry.attr_value(name) {
            Some(AttributeValue::FileIndex(index)) => index,
            Some(value) => value.udata_value().unwrap_or_default(),
            None => 0,
        };
        let call = Inlined {
            entry: entry.offset(),
            call_file: number(gimli::DW_AT_call_file),
            call_line: number(gimli::DW_AT_call_line),
        };
        let (function, depth) = (outer.function, outer.inline_depth.saturating_add(1));
        let inlined = &mut self.inlined;
        unit.for_each_range(sections, entry, budget, |begin, end| {
            inlined.push(InlinedRange { function, depth, begin, end, call });
        })?;
        Ok(Enclosing { entry_depth: entry.depth(), function, inline_depth: depth })
    }

    /// Finds the functions at an address.
    pub(super) fn find(&self, address: u64) -> Option<FoundFunction> {
        let behind = self.ranges.partition_point(|range| range.begin <= address);
        let begin = self.ranges.get(behind.checked_sub(1)?)?.begin;
        // Of several functions at the same address, the first counts.
        let first = self.ranges.partition_point(|range| range.begin < begin);
        let range = self.ranges.get(first..behind)?.iter().find(|range| address < range.end)?;
        let function = self.functions.get(range.function as usize)?;
        let mut inlined = Vec::new();
        for depth in 1..=MOST_INLINED {
            let Some(inner) = self.inlined_at(range.function, depth, address) else { break };
            inlined.push(inner.call);
        }
        Some(FoundFunction {
            entry: function.entry,
            begin: range.is_first.then_some(function.begin),
            inlined,
        })
    }

    fn inlined_at(&self, function: u32, depth: u32, address: u64) -> Option<&InlinedRange> {
        let key = (function, depth, address);
        let behind =
            self.inlined.partition_point(|inlined| (inlined.function, inlined.depth, inlined.begin) <= key);
        let inlined = self.inlined.get(behind.checked_sub(1)?)?;
        let is_same = (inlined.function, inlined.depth) == (function, depth);
        (is_same && address < inlined.end).then_some(inlined)
    }

    /// Returns the file numbers in all calls.
    pub(super) fn call_files(&self) -> impl Iterator<Item = u64> {
        self.inlined.iter().map(|inlined| inlined.call.call_file)
    }

    pub(super) fn bytes(&self) -> usize {
        self.functions.len() * size_of::<UnitFunction>()
            + self.ranges.len() * size_of::<FunctionRange>()
            + self.inlined.len() * size_of::<InlinedRange>()
    }
}
