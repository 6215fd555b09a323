//! Compiles the steps to skip a structure. They read only lengths.

use super::steps::{
    BlockExtent, BlockField, FixedBlock, Load, Op, Plan, SavedWord, SkipStep, SkipSteps, Slot, Step,
};

impl SkipSteps {
    /// Creates the steps to skip an instance of a plan. Returns `None` if skip steps are not enough.
    pub(super) fn for_plan(plan: &Plan) -> Option<Self> {
        let alignment = plan.root().alignment();
        let Op::Structure { steps: members, .. } = &plan.root().op else { return None };
        let mut steps: Vec<SkipStep> = Vec::with_capacity(members.len());
        for member in members {
            let step = match member {
                Step::Block(block) => block.skip_step()?,
                Step::Text(_) => SkipStep::Text,
                Step::Utf16Text(..) => SkipStep::Utf16Text,
                Step::PrefixedText(_, prefix) => SkipStep::PrefixedText(*prefix),
                Step::DynamicText(_, slot) => steps.pop()?.followed_by(*slot, 1)?,
                Step::Array(_, slot, elements) => steps.pop()?.followed_by(*slot, elements.size.into())?,
                Step::MixedBlock(..) | Step::Field(_) => return None,
            };
            steps.push(step);
        }
        Some(Self { alignment, steps: steps.into() })
    }
}

impl SkipStep {
    /// Extends the step by the elements that follow. The slot contains their number, and each has `size` bytes.
    fn followed_by(self, slot: Slot, size: usize) -> Option<Self> {
        match self {
            Self::Saving { block, value: length } if length.slot == slot => {
                Some(Self::Counted { block, length, size })
            }
            Self::BigSaving { block, value: length } if length.slot == slot => {
                Some(Self::BigCounted { block, length, size })
            }
            _ => None,
        }
    }
}

impl FixedBlock {
    fn skip_step(&self) -> Option<SkipStep> {
        let block = BlockExtent { mask: self.mask, bytes: self.bytes };
        match *self.saving {
            [] => Some(SkipStep::Block(block)),
            [BlockField { load: load @ (Load::Saved | Load::BigSaved), byte, more, word, .. }] => {
                let value = SavedWord { byte: byte as usize, word, slot: Slot::try_from(more).ok()? };
                Some(match load {
                    Load::BigSaved => SkipStep::BigSaving { block, value },
                    _ => SkipStep::Saving { block, value },
                })
            }
            _ => None,
        }
    }
}
