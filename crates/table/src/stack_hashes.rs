//! Call stack hashes, which are keys in tables.

use ichnos_model::stack::{Frame, StackTable};

use crate::fingerprint::Fingerprint;

/// Hashes of the stacks in a stack table, by stack number. A hash depends on the frames and on the table number,
/// because equal addresses in two traces are different functions.
#[derive(Debug)]
pub(crate) struct StackHashes {
    /// Number of the stack table in the dataset.
    table: usize,
    hashes: Vec<i64>,
}

impl StackHashes {
    /// Creates the hashes for the stack table with this number. See [`first_with`](crate::table_worker::first_with).
    pub(crate) fn new(table: usize) -> Self {
        Self { table, hashes: Vec::new() }
    }

    /// Takes the hashes, and leaves an empty list.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.table))
    }

    /// Returns the frame hash.
    pub(crate) fn hash_frame(&self, frame: &Frame) -> i64 {
        frame_hash(self.table, frame)
    }

    /// Replaces stack numbers by hashes. A stack outside of the table becomes `None`.
    pub(crate) fn hash_stacks(&mut self, table: &StackTable, numbers: &[u64]) -> Vec<Option<i64>> {
        let most = numbers.iter().max().copied().unwrap_or(0);
        if most >= self.hashes.len() as u64 {
            self.extend(table);
        }
        let hash = |number: &u64| self.hashes.get(usize::try_from(*number).ok()?).copied();
        numbers.iter().map(hash).collect()
    }

    fn extend(&mut self, table: &StackTable) {
        let view = table.view();
        for stack in self.hashes.len()..view.stack_count() {
            let top = u32::try_from(stack).ok().and_then(|stack| view.top(stack));
            let Some((frame, caller)) = top else { break };
            // Callers have lower numbers.
            let caller = caller.and_then(|caller| self.hashes.get(caller as usize)).copied();
            let frame = view.frame(frame).map_or(0, |frame| self.hash_frame(frame));
            let hash = Fingerprint::new().with(&caller.unwrap_or(0).to_le_bytes()).with(&frame.to_le_bytes());
            self.hashes.push(hash.hash() as i64);
        }
    }
}

fn frame_hash(table: usize, frame: &Frame) -> i64 {
    let text = |text: &Option<std::sync::Arc<str>>| {
        text.as_ref().map_or(Vec::new(), |text| text.as_bytes().to_vec())
    };
    let hash = Fingerprint::new()
        .with(&(table as u64).to_le_bytes())
        .with(&frame.address.map_or(Vec::new(), |address| address.to_le_bytes().to_vec()))
        .with(&text(&frame.symbol))
        .with(&text(&frame.module))
        .with(&frame.address_space.to_le_bytes());
    hash.hash() as i64
}
