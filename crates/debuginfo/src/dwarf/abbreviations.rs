//! Abbreviation tables, which several units can share.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{Abbreviation, Abbreviations, AttributeSpecification, Reader as _, Section as _, UnitHeader};

use super::sections::{Sections, Slice};
use crate::budget::{Budget, Exhausted};
use crate::error::DwarfProblem;

/// Maximum number of attributes in an abbreviation. Compilers write fewer than 50.
const MOST_ATTRIBUTES: usize = 1 << 12;

/// Maximum memory size of all tables, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// Abbreviation tables by offset in the section.
#[derive(Debug, Default)]
pub(super) struct AbbreviationTables {
    tables: HashMap<usize, Arc<Abbreviations>>,
    bytes: usize,
}

impl AbbreviationTables {
    /// Returns a unit's table.
    pub(super) fn get(
        &mut self,
        sections: &Sections<'_>,
        header: &UnitHeader<Slice<'_>>,
        budget: &mut Budget,
    ) -> Result<Arc<Abbreviations>, DwarfProblem> {
        let offset = header.debug_abbrev_offset().0;
        if let Some(known) = self.tables.get(&offset) {
            return Ok(Arc::clone(known));
        }
        let bytes = charge(sections, offset, budget)?;
        if self.bytes + bytes > MOST_BYTES {
            return Err(Exhausted.into());
        }
        let table = Arc::new(header.abbreviations(&sections.debug_abbrev)?);
        self.bytes += bytes;
        self.tables.insert(offset, Arc::clone(&table));
        Ok(table)
    }

    /// Returns the memory size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Charges for a table before it is read. Returns its memory size in bytes.
///
/// Tables can overlap: a unit can refer to any abbreviation in a long table as the start of its own table.
fn charge(sections: &Sections<'_>, offset: usize, budget: &mut Budget) -> Result<usize, DwarfProblem> {
    let mut input = *sections.debug_abbrev.reader();
    input.skip(offset)?;
    let mut bytes = 0;
    // The end of the section also ends a table.
    while !input.is_empty() && input.read_uleb128()? != 0 {
        input.read_uleb128()?;
        input.read_u8()?;
        let mut attributes = 0;
        loop {
            budget.charge(1)?;
            let (name, form) = (input.read_uleb128()?, input.read_uleb128()?);
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                input.read_sleb128()?;
            }
            if (name, form) == (0, 0) {
                break;
            }
            attributes += 1;
            if attributes > MOST_ATTRIBUTES {
                return Err(Exhausted.into());
            }
        }
        let added = size_of::<Abbreviation>() + attributes * size_of::<AttributeSpecification>();
        budget.charge_memory(added)?;
        bytes += added;
    }
    Ok(bytes)
}
