//! Pass over the events of a version 6 stream when they arrive, before they are delivered.
//!
//! Readers of files make such passes over the whole file: labels can override metadata and so make classes, and stacks of
//! several address spaces are numbered in file order.

use ichnos_io::Bytes;
use ichnos_model::Trace;

use super::index_builder::MetadataRows;
use super::override_reader::{FoundOverrides, OverrideReader};
use super::processes::ProcessNameReader;
use super::stack_numbers::StackNumbers;
use super::tables::StackBlocks;
use super::trace_file::FileState;
use super::walk::Walk;
use crate::Container;

/// State of the pass.
#[derive(Debug, Default)]
pub(super) struct ArrivingPass {
    walk: Walk,
    stacks: StackBlocks,
    overrides: FoundOverrides,
}

impl ArrivingPass {
    /// Reads the blocks that have arrived, from `begin` on, after their metadata was added to the index. `known` is the
    /// number of metadata rows before them.
    pub(super) fn extend(
        &mut self,
        file: &mut FileState,
        mut begin: Container,
        known: usize,
        trace: &Trace,
        rows: &mut MetadataRows,
    ) {
        let FileState { bytes, index, is_all, process_names, .. } = file;
        let bytes: &Bytes = bytes;
        let pointer_size = index.trace.pointer_size;
        let stacks = std::mem::take(&mut self.stacks);
        let mut numbers = StackNumbers { bytes, pointer_size, trace, stacks };
        let mut overrides = OverrideReader { bytes, found: std::mem::take(&mut self.overrides) };
        let mut names = ProcessNameReader::new(bytes, index);
        let mut both = (&mut numbers, &mut overrides);
        self.walk.skip_rows(known);
        match &mut names {
            Some(names) => self.walk.extend(bytes, &mut begin, *is_all, index, &mut (&mut both, names)),
            None => self.walk.extend(bytes, &mut begin, *is_all, index, &mut both),
        }
        (self.stacks, self.overrides) = (numbers.stacks, overrides.found);
        self.stacks.keep(bytes);
        if let (Some(arrived), Some(known)) = (names, process_names.get_mut()) {
            known.extend(arrived);
        }
        index.add_pairs(self.overrides.take(), rows);
    }
}
