//! Information about a file that does not need its events.

use std::collections::HashMap;
use std::hash::RandomState;

use ichnos_io::Bytes;

use super::overrides::Overrides;
use crate::wire::Wire;
use crate::{Block, EventMetadata, Fault, TraceBlock, Version};

/// Information about a file from one pass over its blocks.
#[derive(Debug)]
pub(crate) struct FileIndex {
    pub(crate) version: Version,
    pub(crate) trace: TraceBlock,
    /// Number of bytes before the file that are missing, modulo 4: rows of version 3 are aligned to the beginning.
    pub(crate) missing: u64,
    /// Distinct kinds of events.
    pub(crate) classes: Vec<EventMetadata>,
    /// Meaning of each metadata id, from a file offset on.
    pub(crate) metadata: Vec<MetadataAt>,
    /// Classes of events whose labels override their metadata, by the class of the metadata and these labels.
    pub(crate) overridden: HashMap<(u32, Overrides), u32, RandomState>,
    /// Sequence points at which reading can begin.
    pub(crate) barriers: Vec<Barrier>,
    /// First and last time in ticks, from the headers of blocks.
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) blocks: u64,
    pub(crate) is_complete: bool,
    /// `true` if there is no trace block, so that its properties are those of the options, or assumed.
    pub(crate) is_trace_assumed: bool,
    /// Faults in blocks that are not read again with the events.
    pub(crate) metadata_faults: Vec<Fault>,
    /// Faults in the container, which are found again when the events are read.
    pub(crate) faults: Vec<Fault>,
    pub(crate) fault_count: u64,
}

/// A row of metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetadataAt {
    /// File offset.
    pub(crate) offset: u64,
    pub(crate) id: u32,
    /// Index of the kind of event.
    pub(crate) class: u32,
}

/// A sequence point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    /// File offset of its block.
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

/// Releases memory pages that were read before this block.
pub(crate) fn release(bytes: &Bytes, block: &Block) {
    let length = block.content.end.saturating_sub(block.begin);
    bytes.release_part(usize::try_from(length).unwrap_or(usize::MAX));
}

/// Returns the bytes of a block.
pub(crate) fn content<'a>(bytes: &'a [u8], block: &Block) -> &'a [u8] {
    let range = block.content.start as usize..block.content.end as usize;
    bytes.get(range).unwrap_or_default()
}
