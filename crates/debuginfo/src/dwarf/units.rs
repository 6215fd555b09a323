//! Units in DWARF data, with their address ranges.

use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAddrBase, DebugAddrIndex, DebugInfoOffset, DebugLineOffset,
    DebugRngListsBase, DebugStrOffsetsBase, DebuggingInformationEntry, Encoding, Section as _, UnitHeader,
    UnitType,
};

use super::abbreviations::AbbreviationTables;
use super::sections::{Sections, Slice};
use crate::budget::{Budget, Exhausted, check_room};
use crate::error::DwarfProblem;

pub(super) type DebugEntry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// Unit: a compiled source file.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) offset: usize,
    pub(super) abbreviations: Arc<Abbreviations>,
    pub(super) encoding: Encoding,
    low_pc: u64,
    addr_base: DebugAddrBase,
    rnglists_base: DebugRngListsBase,
    pub(super) str_offsets_base: DebugStrOffsetsBase,
    pub(super) line_program: Option<DebugLineOffset>,
    pub(super) directory: String,
}

/// Units sorted by offset.
#[derive(Debug, Default)]
pub(super) struct Units {
    units: Vec<Unit>,
    ranges: Vec<UnitRange>,
    /// Units with code, but without ranges.
    rangeless: Vec<usize>,
    /// Memory size of the units without ranges and abbreviations, in bytes.
    own_bytes: usize,
    /// Memory size in bytes.
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct UnitRange {
    begin: u64,
    end: u64,
    /// Largest end so far.
    most_end: u64,
    unit: usize,
}

/// Maximum number of units that are tried for an address.
const MOST_CANDIDATES: usize = 16;

/// Maximum memory size of all units, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// Maximum number of ranges that are compared with an address.
const MOST_COMPARED: usize = 64;

/// Maximum number of entries in a range list.
const MOST_RANGES: usize = 1 << 20;

/// Maximum number of units without ranges, which are all searched for an address.
const MOST_RANGELESS: usize = 1 << 10;

/// Steps that a unit costs in addition to its parts.
const UNIT_STEPS: usize = 8;

impl Units {
    /// Reads the first entry in each unit. After a problem, the list has the units before it.
    pub(super) fn new(sections: &Sections<'_>, budget: &mut Budget) -> (Self, Option<DwarfProblem>) {
        let mut units = Self::default();
        let problem = units.read(sections, budget).err();
        units.ranges.sort_by_key(|range| range.begin);
        let mut most_end = 0;
        for range in &mut units.ranges {
            most_end = range.end.max(most_end);
            range.most_end = most_end;
        }
        (units, problem)
    }

    fn read(&mut self, sections: &Sections<'_>, budget: &mut Budget) -> Result<(), DwarfProblem> {
        let mut headers = sections.units();
        let mut tables = AbbreviationTables::default();
        let mut entry = DebugEntry::null();
        while let Some(header) = headers.next()? {
            budget.charge(UNIT_STEPS)?;
            check_room(&self.units)?;
            check_room(&self.ranges)?;
            let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else { continue };
            if matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
                continue;
            }
            let abbreviations = tables.get(sections, &header, budget)?;
            let mut entries = header.entries_raw(&abbreviations, None)?;
            if !entries.read_entry(&mut entry)? {
                continue;
            }
            budget.charge(entry.attrs.len())?;
            let unit = Unit::new(sections, &header, offset, &entry, Arc::clone(&abbreviations))?;
            // Units can share the text with the directory.
            budget.charge_memory(size_of::<Unit>() + unit.directory.len())?;
            let index = self.units.len();
            let before = self.ranges.len();
            // A unit with invalid ranges is searched like a unit without.
            let ranges = &mut self.ranges;
            let result = unit.for_each_range(sections, &entry, budget, |begin, end| {
                ranges.push(UnitRange { begin, end, most_end: end, unit: index });
            });
            if result == Err(DwarfProblem::Exhausted) {
                return Err(DwarfProblem::Exhausted);
            }
            let is_compiled = entry.tag() != gimli::DW_TAG_partial_unit;
            let is_rangeless = self.ranges.len() == before && is_compiled && unit.line_program.is_some();
            if is_rangeless && self.rangeless.len() < MOST_RANGELESS {
                self.rangeless.push(index);
            }
            self.add(unit, tables.bytes())?;
        }
        Ok(())
    }

    /// Adds a unit, unless all units with their abbreviations need too much memory.
    fn add(&mut self, unit: Unit, abbreviation_bytes: usize) -> Result<(), Exhausted> {
        self.own_bytes += size_of::<Unit>() + unit.directory.len();
        self.units.push(unit);
        let ranges = self.ranges.len() * size_of::<UnitRange>();
        self.bytes = self.own_bytes + ranges + abbreviation_bytes;
        if self.bytes <= MOST_BYTES { Ok(()) } else { Err(Exhausted) }
    }

    /// Returns the units that can contain an address.
    pub(super) fn candidates(&self, address: u64) -> Vec<usize> {
        let behind = self.ranges.partition_point(|range| range.begin <= address);
        let earlier = self.ranges.get(..behind).unwrap_or_default().iter().rev();
        let around = earlier.take(MOST_COMPARED).take_while(|range| address < range.most_end);
        let containing = around.filter(|range| address < range.end).map(|range| range.unit);
        let mut units: Vec<usize> = containing.take(MOST_CANDIDATES).collect();
        if units.is_empty() {
            units.clone_from(&self.rangeless);
        }
        units
    }

    pub(super) fn get(&self, index: usize) -> Option<&Unit> {
        self.units.get(index)
    }

    /// Finds the unit that contains an offset in the section.
    pub(super) fn at_offset(&self, offset: usize) -> Option<usize> {
        self.units.partition_point(|unit| unit.offset <= offset).checked_sub(1)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Unit {
    fn new(
        sections: &Sections<'_>,
        header: &UnitHeader<Slice<'_>>,
        offset: usize,
        entry: &DebugEntry<'_>,
        abbreviations: Arc<Abbreviations>,
    ) -> Result<Self, DwarfProblem> {
        let encoding = header.encoding();
        let file_type = gimli::DwarfFileType::Main;
        let mut unit = Self {
            offset,
            abbreviations,
            encoding,
            low_pc: 0,
            addr_base: DebugAddrBase(0),
            rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
            str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type),
            line_program: None,
            directory: String::new(),
        };
        for attribute in entry.attrs() {
            match attribute.value() {
                AttributeValue::DebugAddrBase(base) => unit.addr_base = base,
                AttributeValue::DebugRngListsBase(base) => unit.rnglists_base = base,
                AttributeValue::DebugStrOffsetsBase(base) => unit.str_offsets_base = base,
                AttributeValue::DebugLineRef(offset) => unit.line_program = Some(offset),
                _ => {}
            }
        }
        // These need the bases.
        if let Some(low_pc) = entry.attr_value(gimli::DW_AT_low_pc) {
            unit.low_pc = unit.address(sections, &low_pc)?.unwrap_or_default();
        }
        if let Some(directory) = entry.attr_value(gimli::DW_AT_comp_dir) {
            unit.directory = unit.text(sections, &directory).unwrap_or_default();
        }
        Ok(unit)
    }

    /// Returns the header again.
    pub(super) fn header<'a>(&self, sections: &Sections<'a>) -> gimli::Result<UnitHeader<Slice<'a>>> {
        sections.unit_header(DebugInfoOffset(self.offset))
    }

    /// Returns the text in an attribute. Long texts are cut.
    pub(super) fn text(&self, sections: &Sections<'_>, value: &AttributeValue<Slice<'_>>) -> Option<String> {
        /// Maximum length in bytes.
        const MOST: usize = 4096;
        let (section, offset) = match *value {
            AttributeValue::String(text) => (text, 0),
            AttributeValue::DebugStrRef(offset) => (*sections.debug_str.reader(), offset.0),
            AttributeValue::DebugLineStrRef(offset) => (*sections.debug_line_str.reader(), offset.0),
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let (format, base) = (self.encoding.format, self.str_offsets_base);
                let offset = sections.debug_str_offsets.get_str_offset(format, base, index).ok()?;
                (*sections.debug_str.reader(), offset.0)
            }
            _ => return None,
        };
        let text = section.slice().get(offset..)?;
        let text = text.get(..MOST).unwrap_or(text).split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn indexed_address(&self, sections: &Sections<'_>, index: DebugAddrIndex) -> gimli::Result<u64> {
        sections.debug_addr.get_address(self.encoding.address_size, self.addr_base, index)
    }

    fn address(
        &self,
        sections: &Sections<'_>,
        value: &AttributeValue<Slice<'_>>,
    ) -> gimli::Result<Option<u64>> {
        match *value {
            AttributeValue::Addr(address) => Ok(Some(address)),
            AttributeValue::DebugAddrIndex(index) => self.indexed_address(sections, index).map(Some),
            _ => Ok(None),
        }
    }

    /// Passes an entry's address ranges to `take`. Returns the first address if the entry has it.
    pub(super) fn for_each_range(
        &self,
        sections: &Sections<'_>,
        entry: &DebugEntry<'_>,
        budget: &mut Budget,
        mut take: impl FnMut(u64, u64),
    ) -> Result<Option<u64>, DwarfProblem> {
        // Code that was not linked has the address 0.
        let mut take = |begin: u64, end: u64| {
            if begin != 0 && begin < end {
                take(begin, end);
            }
        };
        let low_pc = entry.attr_value(gimli::DW_AT_low_pc);
        let low_pc = low_pc.map(|value| self.address(sections, &value)).transpose()?.flatten();
        let offset = match entry.attr_value(gimli::DW_AT_ranges) {
            Some(AttributeValue::RangeListsRef(offset)) => Some(gimli::RangeListsOffset(offset.0)),
            Some(AttributeValue::DebugRngListsIndex(index)) => {
                Some(sections.ranges.get_offset(self.encoding, self.rnglists_base, index)?)
            }
            _ => None,
        };
        if let Some(offset) = offset {
            let addr = &sections.debug_addr;
            let mut ranges =
                sections.ranges.ranges(offset, self.encoding, self.low_pc, addr, self.addr_base)?;
            let mut count = 0;
            // Empty ranges and base addresses also take time.
            while let Some(raw) = ranges.next_raw()? {
                budget.charge(1)?;
                count += 1;
                if count > MOST_RANGES {
                    return Err(DwarfProblem::Exhausted);
                }
                if let Some(range) = ranges.convert_raw(raw)? {
                    take(range.begin, range.end);
                }
            }
            return Ok(None);
        }
        let (Some(low_pc), Some(high_pc)) = (low_pc, entry.attr(gimli::DW_AT_high_pc)) else {
            return Ok(None);
        };
        let high_pc = match self.address(sections, &high_pc.value())? {
            Some(address) => Some(address),
            None => high_pc.udata_value().and_then(|size| low_pc.checked_add(size)),
        };
        take(low_pc, high_pc.unwrap_or_default());
        Ok(Some(low_pc))
    }
}
