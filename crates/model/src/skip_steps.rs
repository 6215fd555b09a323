//! Skipping fields that are not wanted: only what says how long they are is read.

use std::cell::Cell;

use crate::bits::{Word, first_zero};
use crate::part::{Load, Part, PrefixWord, Run, RunField};
use crate::plan::{Op, Plan, Slot, align};
use crate::walk::Slots;

/// A step on the way past a structure.
#[derive(Clone, Copy, Debug)]
enum SkipStep {
    /// Fields of fixed layout.
    Run(Fixed),
    /// The same, and one of them is a length, which is saved: of that many elements, or bytes of a
    /// text, that follow.
    Counted { run: Fixed, length: SavedWord, size: usize },
    /// The same, but elsewhere is what needs it.
    Saving { run: Fixed, value: SavedWord },
    /// A text that ends with a zero.
    Text,
    /// A text that begins with its length.
    PrefixedText(PrefixWord),
}

/// Where fields of fixed layout end.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    /// Alignment in bytes, minus one.
    mask: usize,
    bytes: usize,
}

/// A value in a run that is saved.
#[derive(Clone, Copy, Debug)]
struct SavedWord {
    byte: usize,
    word: Word,
    slot: Slot,
}

/// The steps on the way past an instance of a plan.
#[derive(Debug)]
pub(crate) struct SkipSteps {
    /// Alignment in bits.
    alignment: u64,
    steps: Box<[SkipStep]>,
}

impl SkipSteps {
    /// Past an instance of a plan; None if that takes more than these steps.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let alignment = plan.root().alignment();
        let Op::Structure { parts, .. } = &plan.root().op else { return None };
        let mut steps: Vec<SkipStep> = Vec::with_capacity(parts.len());
        for part in parts {
            let step = match part {
                Part::Run(run) => run.skip_step()?,
                Part::Text(_) => SkipStep::Text,
                Part::PrefixedText(_, prefix) => SkipStep::PrefixedText(*prefix),
                Part::DynamicText(_, slot) => steps.pop()?.followed_by(*slot, 1)?,
                Part::Array(_, slot, elements) => steps.pop()?.followed_by(*slot, elements.size.into())?,
                Part::OpenRun(..) | Part::Field(_) => return None,
            };
            steps.push(step);
        }
        Some(Self { alignment, steps: steps.into() })
    }

    /// The bit behind an instance that begins at bit `begin` or behind it, in this many bytes; its values
    /// that others need are then in `slots`. None if it does not fit, or not at a glance: then only some
    /// of them may be there.
    // A number rather than a position, which would be handed back through memory.
    #[inline(never)]
    pub(crate) fn end(&self, bytes: &[u8], begin: u64, slots: &Slots) -> Option<u64> {
        let first = align(begin, self.alignment)?;
        if first % 8 != 0 {
            return None;
        }
        let mut at = (first / 8) as usize;
        for step in &self.steps {
            at = match step {
                SkipStep::Run(run) => run.end(bytes, at)?,
                SkipStep::Counted { run, length, size } => {
                    let end = run.end(bytes, at)?;
                    let length = length.save(bytes, end - run.bytes, slots)?;
                    let end = usize::try_from(length).ok()?.checked_mul(*size)?.checked_add(end)?;
                    if end > bytes.len() {
                        return None;
                    }
                    end
                }
                SkipStep::Saving { run, value } => {
                    let end = run.end(bytes, at)?;
                    value.save(bytes, end - run.bytes, slots)?;
                    end
                }
                SkipStep::Text => at + first_zero(bytes.get(at..)?)? + 1,
                SkipStep::PrefixedText(prefix) => prefix.content(bytes, at)?.end,
            };
        }
        // Without any step, nothing has asked yet.
        (at <= bytes.len()).then_some(at as u64 * 8)
    }
}

impl SkipStep {
    /// This step, followed by as many elements of that many bytes as the slot says.
    fn followed_by(self, slot: Slot, size: usize) -> Option<Self> {
        match self {
            Self::Saving { run, value: length } if length.slot == slot => {
                Some(Self::Counted { run, length, size })
            }
            _ => None,
        }
    }
}

impl Run {
    fn skip_step(&self) -> Option<SkipStep> {
        let run = Fixed { mask: self.mask, bytes: self.bytes };
        match *self.saving {
            [] => Some(SkipStep::Run(run)),
            [RunField { load: Load::Saved, byte, more, word, .. }] => {
                let value = SavedWord { byte: byte as usize, word, slot: Slot::try_from(more).ok()? };
                Some(SkipStep::Saving { run, value })
            }
            _ => None,
        }
    }
}

impl Fixed {
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
