//! Finds event classes with labels that override metadata.

use std::collections::HashSet;

use ichnos_io::Bytes;

use super::index::{NettraceIndex, content};
use super::overrides::Overrides;
use super::pending::UNKNOWN_CLASS;
use super::tables::{LabelTable, ThreadTable};
use super::walk::{Walker, walk};
use crate::{Block, BlockKind, Container, EventRow};

/// Maximum number of pairs of a class and overriding labels. A pair takes 64 bytes. Recorded files lack such labels.
const MOST: usize = 1 << 16;

/// Returns the sorted pairs of a class and labels that override its metadata. Returns `true` if there are more pairs.
pub(super) fn find(
    bytes: &Bytes,
    container: &Container,
    index: &NettraceIndex,
) -> (Vec<(u32, Overrides)>, bool) {
    let mut reader = OverrideReader { bytes, found: FoundOverrides::default() };
    walk(bytes, container, index, &mut reader);
    reader.found.take()
}

/// Overriding labels found so far.
#[derive(Debug, Default)]
pub(super) struct FoundOverrides {
    labels: LabelTable,
    pairs: HashSet<(u32, Overrides)>,
    /// `true` if there are more pairs than the limit.
    is_full: bool,
}

impl FoundOverrides {
    /// Returns the sorted pairs since the last call. Returns `true` if there were more.
    pub(super) fn take(&mut self) -> (Vec<(u32, Overrides)>, bool) {
        let mut pairs: Vec<_> = std::mem::take(&mut self.pairs).into_iter().collect();
        // Class ids must not depend on the order of a set.
        pairs.sort_by_key(|(class, labels)| {
            (*class, labels.opcode, labels.keywords, labels.level, labels.version)
        });
        (pairs, std::mem::take(&mut self.is_full))
    }
}

/// Walker that finds overriding labels.
pub(super) struct OverrideReader<'f> {
    pub(super) bytes: &'f [u8],
    pub(super) found: FoundOverrides,
}

impl Walker for OverrideReader<'_> {
    fn block(&mut self, block: &Block) {
        match block.kind {
            BlockKind::LabelList => drop(self.found.labels.add(content(self.bytes, block))),
            BlockKind::SequencePoint => self.found.labels.clear(),
            _ => {}
        }
    }

    #[inline(always)]
    fn event(&mut self, row: &EventRow, class: u32, _: &ThreadTable) {
        if row.label_list != 0
            && class != UNKNOWN_CLASS
            && let Some(labels) = self.found.labels.get(row.label_list)
            && labels.overrides != Overrides::NONE
        {
            self.add((class, labels.overrides));
        }
    }
}

impl OverrideReader<'_> {
    #[cold]
    fn add(&mut self, pair: (u32, Overrides)) {
        if self.found.pairs.len() < MOST {
            self.found.pairs.insert(pair);
        } else {
            self.found.is_full |= !self.found.pairs.contains(&pair);
        }
    }
}
