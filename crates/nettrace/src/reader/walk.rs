//! Passes over the events of a file in file order, to collect information about the whole file.

use ichnos_io::Bytes;

use super::index::{EventBlockHeader, NettraceIndex, content, release};
use super::kinds::EventKinds;
use super::tables::ThreadTable;
use crate::{
    Block, BlockKind, Container, EventRow, EventRows, FileItem, PointHead, RowEncoding, SequencePoint,
    ThreadRow, Version,
};

/// Receives the blocks and events of a file.
pub(super) trait Walker {
    /// Receives a block before its events.
    fn block(&mut self, block: &Block);

    /// Receives an event, its class (an index, or [`UNKNOWN_CLASS`](super::pending::UNKNOWN_CLASS)), and the threads,
    /// which know its process. Ranges in `row` are file ranges.
    fn event(&mut self, row: &EventRow, class: u32, threads: &ThreadTable);
}

/// Combines two walkers.
impl<A: Walker, B: Walker> Walker for (&mut A, &mut B) {
    fn block(&mut self, block: &Block) {
        self.0.block(block);
        self.1.block(block);
    }

    #[inline(always)]
    fn event(&mut self, row: &EventRow, class: u32, threads: &ThreadTable) {
        self.0.event(row, class, threads);
        self.1.event(row, class, threads);
    }
}

/// Passes all blocks and events of a file to a walker. `container` is at the first block.
pub(super) fn walk(bytes: &Bytes, container: &Container, index: &NettraceIndex, walker: &mut impl Walker) {
    Walk::default().extend(bytes, &mut container.clone(), true, index, walker);
}

/// Tables that events refer to, during a pass over the blocks.
#[derive(Debug, Default)]
pub(super) struct Walk {
    kinds: EventKinds,
    threads: ThreadTable,
}

impl Walk {
    /// Passes over the metadata rows of the index that were already used. Those before them were removed.
    pub(super) fn skip_rows(&mut self, count: usize) {
        self.kinds.skip(count);
    }

    /// Passes the blocks that have arrived and their events to a walker. `is_all` means that no further bytes arrive.
    pub(super) fn extend(
        &mut self,
        bytes: &Bytes,
        container: &mut Container,
        is_all: bool,
        index: &NettraceIndex,
        walker: &mut impl Walker,
    ) {
        loop {
            match container.next(bytes, 0, is_all) {
                FileItem::Block(block) => {
                    release(bytes, &block);
                    walker.block(&block);
                    self.pass_block(bytes, &block, index, walker);
                }
                FileItem::Fault(_) => {}
                // The index drops the rows before later blocks.
                FileItem::More | FileItem::End => return self.kinds.advance(index, container.position()),
            }
        }
    }

    fn pass_block(&mut self, bytes: &Bytes, block: &Block, index: &NettraceIndex, walker: &mut impl Walker) {
        let Self { kinds, threads } = self;
        let version = index.version;
        let content = content(bytes, block);
        match block.kind {
            BlockKind::Event => {
                let range = block.content.start as usize..block.content.end as usize;
                let (encoding, rows) = match version {
                    Version::V3 => (RowEncoding::V3, range),
                    _ => match EventBlockHeader::read(content) {
                        Some(header) => {
                            (RowEncoding::new(version, header.flags), range.start + header.rows..range.end)
                        }
                        None => return,
                    },
                };
                kinds.advance(index, block.content.start);
                let mut rows = EventRows::new(encoding, rows, index.missing);
                while let Some(row) = rows.next(bytes) {
                    if version == Version::V3 && row.metadata_id == 0 {
                        kinds.advance(index, row.payload.end as u64);
                    } else {
                        walker.event(row, kinds.get(row.metadata_id), threads);
                    }
                }
            }
            BlockKind::Thread => drop(ThreadRow::read_block(content, |row| threads.add(row))),
            BlockKind::RemoveThread => {
                SequencePoint::read_removed(content).for_each(|(index, _)| threads.remove(index));
            }
            BlockKind::SequencePoint => {
                if let Some(point) = PointHead::read(content, version) {
                    kinds.advance(index, block.begin);
                    if point.flushes_threads {
                        threads.clear();
                    }
                    threads.forget_gone();
                    if point.flushes_metadata {
                        kinds.clear();
                    }
                }
            }
            _ => {}
        }
    }
}
