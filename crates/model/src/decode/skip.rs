//! Skips plan instances by reading only their lengths.

use std::cell::Cell;

use super::slots::Slots;
use crate::bits::{first_zero, first_zero_pair};
use crate::plan::steps::{BlockExtent, Plan, SavedWord, SkipStep, SkipSteps, align};

impl Plan {
    /// Returns the end bit of an instance. It starts at `begin` (a byte boundary) or after it. `bytes` are the whole
    /// bytes of the content, from the start of the packet on. `slots` then contains its values that other fields depend
    /// on. `None` if the end is not easily found. `slots` may then contain only some of the values, and
    /// [`Plan::decode`] must be used.
    #[inline]
    #[must_use]
    pub fn end(&self, bytes: &[u8], begin: u64, slots: &Slots) -> Option<u64> {
        self.skip_steps.as_ref()?.end(bytes, begin, slots)
    }
}

impl SkipSteps {
    /// Returns the end bit of an instance that starts at bit `begin` or after it. `slots` then contains its values that
    /// other fields depend on. `None` if it does not fit or needs more work. `slots` may then contain only some of the
    /// values.
    // A number rather than a position, which would be returned through memory.
    #[inline(never)]
    pub(super) fn end(&self, bytes: &[u8], begin: u64, slots: &Slots) -> Option<u64> {
        let first = align(begin, self.alignment)?;
        if first % 8 != 0 {
            return None;
        }
        let mut at = (first / 8) as usize;
        for step in &self.steps {
            at = match step {
                SkipStep::Block(block) => block.end(bytes, at)?,
                SkipStep::Counted { block, length, size } => {
                    end_of_elements::<false>(*block, *length, *size, bytes, at, slots)?
                }
                SkipStep::Saving { block, value } => {
                    let end = block.end(bytes, at)?;
                    value.save::<false>(bytes, end - block.bytes, slots)?;
                    end
                }
                SkipStep::BigCounted { block, length, size } => {
                    end_of_elements::<true>(*block, *length, *size, bytes, at, slots)?
                }
                SkipStep::BigSaving { block, value } => {
                    let end = block.end(bytes, at)?;
                    value.save::<true>(bytes, end - block.bytes, slots)?;
                    end
                }
                SkipStep::Text => at + first_zero(bytes.get(at..)?)? + 1,
                SkipStep::Utf16Text => at + first_zero_pair(bytes.get(at..)?)? + 2,
                SkipStep::PrefixedText(prefix) => prefix.content(bytes, at)?.end,
            };
        }
        // Without steps, the end has not been checked yet.
        (at <= bytes.len()).then_some(at as u64 * 8)
    }
}

/// Returns the end of the elements after a block at byte `at`, which contains their number.
#[inline(always)]
fn end_of_elements<const BIG: bool>(
    block: BlockExtent,
    length: SavedWord,
    size: usize,
    bytes: &[u8],
    at: usize,
    slots: &Slots,
) -> Option<usize> {
    let end = block.end(bytes, at)?;
    let length = length.save::<BIG>(bytes, end - block.bytes, slots)?;
    let end = usize::try_from(length).ok()?.checked_mul(size)?.checked_add(end)?;
    (end <= bytes.len()).then_some(end)
}

impl BlockExtent {
    #[inline(always)]
    fn end(self, bytes: &[u8], at: usize) -> Option<usize> {
        let begin = (at + self.mask) & !self.mask;
        let end = begin.checked_add(self.bytes)?;
        (end <= bytes.len()).then_some(end)
    }
}

impl SavedWord {
    #[inline(always)]
    fn save<const BIG: bool>(self, bytes: &[u8], begin: usize, slots: &Slots) -> Option<u64> {
        let at = begin + self.byte;
        let value = if BIG { self.word.big_unsigned(bytes, at) } else { self.word.unsigned(bytes, at) };
        slots.get(usize::from(self.slot)).map(|cell: &Cell<i128>| cell.set(value.into()))?;
        Some(value)
    }
}
