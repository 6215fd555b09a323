//! Numbers the stacks in files with several address spaces.

use ichnos_model::Trace;

use super::tables::{StackBlocks, ThreadTable, address_space};
use super::walk::Walker;
use crate::{Block, BlockKind, EventRow};

/// Walker that numbers all stacks in a file with several address spaces.
#[derive(Debug)]
pub(super) struct StackNumbers<'f> {
    pub(super) bytes: &'f [u8],
    pub(super) pointer_size: u32,
    pub(super) trace: &'f Trace,
    pub(super) stacks: StackBlocks,
}

impl Walker for StackNumbers<'_> {
    fn block(&mut self, block: &Block) {
        match block.kind {
            BlockKind::Stack => {
                self.stacks.add(self.bytes, block.content.start as usize..block.content.end as usize);
            }
            BlockKind::SequencePoint => self.stacks.clear(),
            _ => {}
        }
    }

    #[inline(always)]
    fn event(&mut self, row: &EventRow, _: u32, threads: &ThreadTable) {
        if row.stack_id != 0 {
            let space = address_space(threads.process(row.thread));
            // The trace stores the number.
            let _ = self.stacks.get_in_space(row.stack_id, space, self.bytes, self.pointer_size, self.trace);
        }
    }
}
