//! File information that does not need events.

use std::collections::HashMap;
use std::hash::RandomState;

use ichnos_io::Bytes;

use super::overrides::Overrides;
use crate::wire::Wire;
use crate::{Block, EventMetadata, Fault, TraceBlock, Version};

/// File information from one pass over the blocks.
#[derive(Debug)]
pub(crate) struct NettraceIndex {
    pub(crate) version: Version,
    pub(crate) trace: TraceBlock,
    /// Number of missing bytes before the file, modulo 4. Version 3 rows are aligned to the start of the original file.
    pub(crate) missing: u64,
    /// Distinct event kinds.
    pub(crate) classes: Vec<EventMetadata>,
    /// Event kind of each metadata id, from a file offset on.
    pub(crate) metadata: Vec<MetadataAt>,
    /// Event classes with labels that override metadata, by metadata class and labels.
    pub(crate) overridden: HashMap<(u32, Overrides), u32, RandomState>,
    /// Sequence points at which reading can start.
    pub(crate) barriers: Vec<Barrier>,
    /// First and last time in ticks, from block headers.
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) blocks: u64,
    pub(crate) is_complete: bool,
    /// `true` if the trace block is missing. Its properties then come from the options or are assumed.
    pub(crate) is_trace_assumed: bool,
    /// Faults in blocks that are not read again with the events.
    pub(crate) metadata_faults: Vec<Fault>,
    /// Container faults, which are found again when events are read.
    pub(crate) faults: Vec<Fault>,
    pub(crate) fault_count: u64,
}

/// Metadata row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetadataAt {
    /// File offset.
    pub(crate) offset: u64,
    pub(crate) id: u32,
    /// Event kind index.
    pub(crate) class: u32,
}

/// Sequence point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    /// File offset of the block.
    pub(crate) offset: u64,
    /// Time in ticks.
    pub(crate) timestamp: u64,
}

/// Header of an event block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventBlockHeader {
    pub(crate) flags: u16,
    /// First and last time in ticks.
    pub(crate) times: (u64, u64),
    /// Position of the first row.
    pub(crate) rows: usize,
}

impl EventBlockHeader {
    const SIZE: usize = 20;

    /// Reads the header of an event block, or of a metadata block up to version 5.
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        let mut wire = Wire::new(content);
        let size = usize::from(wire.u16()?);
        let header = Self { flags: wire.u16()?, times: (wire.u64()?, wire.u64()?), rows: size };
        (Self::SIZE..=content.len()).contains(&size).then_some(header)
    }
}

/// Releases the memory pages before this block.
pub(crate) fn release(bytes: &Bytes, block: &Block) {
    let length = block.content.end.saturating_sub(block.begin);
    bytes.release_part(usize::try_from(length).unwrap_or(usize::MAX));
}

/// Returns a block's bytes.
pub(crate) fn content<'a>(bytes: &'a [u8], block: &Block) -> &'a [u8] {
    let range = block.content.start as usize..block.content.end as usize;
    // The container returns blocks within the file, so the range is valid.
    bytes.get(range).unwrap_or_default()
}
