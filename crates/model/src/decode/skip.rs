//! Skips instances of plans: only what says how long something is is read.

use std::cell::Cell;

use super::slots::Slots;
use crate::bits::{first_zero, first_zero_pair};
use crate::plan::steps::{Extent, Plan, SavedWord, SkipStep, SkipSteps, align};

impl Plan {
    /// The bit behind an instance that begins at bit `begin` or behind it, in the content of which `bytes`
    /// are the whole bytes, from the beginning of the packet on; a byte begins there. Its values that
    /// other fields need are then in `slots`. None if that is not easily known: then some of them may be
    /// there, and [`Plan::decode`] says.
    #[inline]
    #[must_use]
    pub fn end(&self, bytes: &[u8], begin: u64, slots: &Slots) -> Option<u64> {
        self.skip_steps.as_ref()?.end(bytes, begin, slots)
    }
}

impl SkipSteps {
    /// The bit behind an instance that begins at bit `begin` or behind it, in this many bytes; its values
    /// that others need are then in `slots`. None if it does not fit, or not at a glance: then only some
    /// of them may be there.
    // A number rather than a position, which would be handed back through memory.
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
                    let end = block.end(bytes, at)?;
                    let length = length.save(bytes, end - block.bytes, slots)?;
                    let end = usize::try_from(length).ok()?.checked_mul(*size)?.checked_add(end)?;
                    if end > bytes.len() {
                        return None;
                    }
                    end
                }
                SkipStep::Saving { block, value } => {
                    let end = block.end(bytes, at)?;
                    value.save(bytes, end - block.bytes, slots)?;
                    end
                }
                SkipStep::Text => at + first_zero(bytes.get(at..)?)? + 1,
                SkipStep::Utf16Text => at + first_zero_pair(bytes.get(at..)?)? + 2,
                SkipStep::PrefixedText(prefix) => prefix.content(bytes, at)?.end,
            };
        }
        // Without any step, nothing has asked yet.
        (at <= bytes.len()).then_some(at as u64 * 8)
    }
}

impl Extent {
    #[inline(always)]
    fn end(self, bytes: &[u8], at: usize) -> Option<usize> {
        let begin = (at + self.mask) & !self.mask;
        let end = begin.checked_add(self.bytes)?;
        (end <= bytes.len()).then_some(end)
    }
}

impl SavedWord {
    #[inline(always)]
    fn save(self, bytes: &[u8], begin: usize, slots: &Slots) -> Option<u64> {
        let value = self.word.unsigned(bytes, begin + self.byte);
        slots.get(usize::from(self.slot)).map(|cell: &Cell<i128>| cell.set(value.into()))?;
        Some(value)
    }
}
