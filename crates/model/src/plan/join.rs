//! Joins fixed-layout members into blocks, and the steps of several plans into one list.

use super::layout::FixedLayout;
use super::steps::{BitsKind, BlockField, FixedBlock, Load, NodeId, NodeRef, Op, Plan, StaticArray, Step};

/// A plan and its node layouts.
type JoinedLayout<'a> = (&'a Plan, &'a [Option<FixedLayout>]);

/// Joins the steps of successive plans into one list, with their node layouts. `None` unless all are structures with
/// bytewise steps.
pub(super) fn join(plans: [Option<JoinedLayout<'_>>; 3]) -> Option<Box<[Step]>> {
    let mut builder = StepBuilder::new(8);
    for (i, (plan, layouts)) in (0..).zip(plans).filter_map(|(i, plan)| Some((i, plan?))) {
        let Op::Structure { members, .. } = &plan.root().op else { return None };
        builder.begin_plan(i, plan.root().alignment);
        members.iter().for_each(|id| builder.add(plan, *id, layouts[*id as usize]));
    }
    let steps = builder.finish();
    let is_sound = |step: &Step| !matches!(step, Step::MixedBlock(..) | Step::Field(_));
    steps.iter().all(is_sound).then(|| steps.into())
}

/// Compiles the members of a structure, or of the root structures in several successive plans, into steps.
#[derive(Default)]
pub(super) struct StepBuilder {
    steps: Vec<Step>,
    block: Option<UnfinishedBlock>,
    /// Known alignment of the next member: the structure's alignment at its start, 1 after a field of unknown size.
    known: u64,
    /// Plan number of the members.
    plan: u8,
}

impl StepBuilder {
    /// Starts a structure with this alignment.
    pub(super) fn new(alignment: u64) -> Self {
        Self { known: alignment, ..Self::default() }
    }

    /// Continues with the root structure of another plan, which has this alignment.
    pub(super) fn begin_plan(&mut self, plan: u8, alignment: u64) {
        self.plan = plan;
        if let Some(open) = &mut self.block
            && alignment <= open.alignment
            && open.layout.append(FixedLayout::EMPTY, alignment).is_some()
        {
            return;
        }
        self.close();
        self.known = alignment;
        if alignment > 8 {
            self.block = Some(UnfinishedBlock::new(alignment, FixedLayout::EMPTY));
        }
    }

    /// Adds a member of `plan`, with its layout if it is fixed.
    pub(super) fn add(&mut self, plan: &Plan, member: NodeId, layout: Option<FixedLayout>) {
        let node = NodeRef { id: member, plan: self.plan };
        let alignment = plan.node(member).alignment;
        let Some(layout) = layout else {
            self.close();
            self.steps.push(plan.step(node));
            self.known = 1;
            return;
        };
        if let Some(open) = &mut self.block
            && alignment <= open.alignment
        {
            let mut joined = open.layout;
            if let Some(offset) = joined.append(layout, alignment)
                && let Some(field) = plan.block_field(node, offset)
            {
                open.layout = joined;
                open.push(plan, field, layout.saves);
                self.known = 1;
                return;
            }
        }
        self.close();
        let begin = self.known.max(alignment);
        self.known = 1;
        if let Some(field) = plan.block_field(node, 0).filter(|_| begin % 8 == 0) {
            self.block.insert(UnfinishedBlock::new(begin, layout)).push(plan, field, layout.saves);
        } else {
            self.steps.push(Step::Field(node));
        }
    }

    fn close(&mut self) {
        self.steps.extend(self.block.take().map(UnfinishedBlock::close));
    }

    /// Returns all steps.
    pub(super) fn finish(mut self) -> Vec<Step> {
        self.close();
        self.steps
    }
}

/// A block that more fields may join.
struct UnfinishedBlock {
    alignment: u64,
    fields: Vec<BlockField>,
    saving: Vec<BlockField>,
    arrays: Vec<StaticArray>,
    layout: FixedLayout,
    has_padding: bool,
}

impl UnfinishedBlock {
    fn new(alignment: u64, layout: FixedLayout) -> Self {
        let (fields, saving, arrays) = Default::default();
        Self { alignment, fields, saving, arrays, layout, has_padding: false }
    }

    /// Adds a field.
    fn push(&mut self, plan: &Plan, mut field: BlockField, saves: bool) {
        match plan.node(field.node).op {
            // Padding is only skipped.
            Op::Bits(bits) if bits.kind == BitsKind::Padding && !bits.saved => {
                self.has_padding = true;
                return;
            }
            Op::StaticArray { length, elements: Some(elements), .. } if field.load == Load::Array => {
                let size = usize::try_from(length).ok().and_then(|n| n.checked_mul(elements.size.into()));
                match (size, u32::try_from(self.arrays.len())) {
                    (Some(bytes), Ok(index)) => {
                        self.arrays.push(StaticArray { length, bytes, elements });
                        field.more = index;
                    }
                    _ => field.load = Load::Any,
                }
            }
            _ => {}
        }
        self.fields.push(field);
        self.saving.extend(saves.then_some(field));
    }

    fn close(self) -> Step {
        let size = self.layout.size;
        let (mask, bytes) = (usize::try_from(self.alignment / 8 - 1), usize::try_from(size / 8));
        let is_sound = size % 8 == 0
            // With a larger alignment, an offset in the packet could overflow.
            && self.alignment <= 1 << 32
            && bytes.is_ok()
            && self.fields.iter().all(|field| field.load != Load::Any);
        let block = FixedBlock {
            alignment: self.alignment,
            size,
            mask: mask.unwrap_or(usize::MAX),
            bytes: bytes.unwrap_or(usize::MAX),
            fields: self.fields.into(),
            has_padding: self.has_padding,
            saving: self.saving.into(),
            arrays: self.arrays.into(),
        };
        if is_sound { Step::Block(block) } else { Step::MixedBlock(block, self.layout.open_byte()) }
    }
}
