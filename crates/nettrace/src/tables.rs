//! Blocks with tables that events refer to: stacks, sequence points, threads, label lists.

use std::ops::Range;

use crate::Version;
use crate::wire::{Wire, push_property, zigzag};

/// Iterator over the stacks in a block.
#[derive(Clone, Debug)]
pub struct StackRows<'a> {
    wire: Wire<'a>,
    /// First stack id.
    pub first_id: u32,
    /// Number of stacks according to the block.
    pub count: u32,
}

impl<'a> StackRows<'a> {
    /// Reads a block's content. Returns `None` if its header is incomplete.
    #[must_use]
    pub fn read(content: &'a [u8]) -> Option<Self> {
        let mut wire = Wire::new(content);
        let (first_id, count) = (wire.u32()?, wire.u32()?);
        Some(Self { wire, first_id, count })
    }

    /// Returns the number of content bytes read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.wire.position()
    }
}

impl<'a> Iterator for StackRows<'a> {
    /// Stack addresses as bytes, innermost first.
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut wire = self.wire;
        let stack = wire.length().and_then(|size| wire.take(size))?;
        self.wire = wire;
        Some(stack)
    }
}

/// Returns the addresses in a stack.
pub fn addresses(stack: &[u8], pointer_size: u32) -> impl Iterator<Item = u64> + '_ {
    let size = if pointer_size == 4 { 4 } else { 8 };
    stack.chunks_exact(size).map(move |bytes| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    })
}

/// Barrier: everything before it in the file is earlier than everything after it. Events after it do not refer to
/// stacks before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequencePoint {
    /// Time in ticks.
    pub timestamp: u64,
    /// `true` if thread indexes become invalid (version 6).
    pub flushes_threads: bool,
    /// `true` if metadata ids become invalid (version 6).
    pub flushes_metadata: bool,
    /// Threads, with the minimum sequence number of each thread's last event.
    pub threads: Vec<(u64, u32)>,
}

/// Sequence point without its threads, because there can be very many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointHead {
    pub(crate) timestamp: u64,
    pub(crate) flushes_threads: bool,
    pub(crate) flushes_metadata: bool,
}

impl PointHead {
    /// Reads the block's content. Returns `None` if it is incomplete, including the threads.
    pub(crate) fn read(content: &[u8], version: Version) -> Option<Self> {
        let (head, mut threads) = Self::parts(content, version)?;
        for _ in 0..threads.left {
            threads.next()?;
        }
        Some(head)
    }

    /// Returns a block's threads.
    pub(crate) fn threads(content: &[u8], version: Version) -> impl Iterator<Item = (u64, u32)> {
        Self::parts(content, version).into_iter().flat_map(|(_, threads)| threads)
    }

    fn parts(content: &[u8], version: Version) -> Option<(Self, PointThreads<'_>)> {
        let mut wire = Wire::new(content);
        let timestamp = wire.u64()?;
        let is_v6 = matches!(version, Version::V6(_));
        let flags = if is_v6 { wire.u32()? } else { 0 };
        let left = wire.u32()?;
        let (flushes_threads, flushes_metadata) = (flags & 1 != 0, flags & 2 != 0);
        Some((Self { timestamp, flushes_threads, flushes_metadata }, PointThreads { wire, is_v6, left }))
    }
}

/// Iterator over the threads in a sequence point.
struct PointThreads<'a> {
    wire: Wire<'a>,
    is_v6: bool,
    /// Number of remaining threads according to the block.
    left: u32,
}

impl Iterator for PointThreads<'_> {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        self.left = self.left.checked_sub(1)?;
        Some(match self.is_v6 {
            true => (self.wire.varuint64()?, self.wire.varuint32()?),
            false => (self.wire.u64()?, self.wire.u32()?),
        })
    }
}

impl SequencePoint {
    /// Reads the block's content. Returns `None` if it is incomplete.
    #[must_use]
    pub fn read(content: &[u8], version: Version) -> Option<Self> {
        let PointHead { timestamp, flushes_threads, flushes_metadata } = PointHead::read(content, version)?;
        let threads = PointHead::threads(content, version).collect();
        Some(Self { timestamp, flushes_threads, flushes_metadata, threads })
    }

    /// Reads a `RemoveThread` block's content (version 6): thread indexes, and the sequence numbers of their last
    /// events. Stops at an incomplete row.
    pub fn read_removed(content: &[u8]) -> impl Iterator<Item = (u64, u32)> + '_ {
        let mut wire = Wire::new(content);
        std::iter::from_fn(move || Some((wire.varuint64()?, wire.varuint32()?)))
    }
}

/// Thread in the thread table (version 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadRow {
    /// Index used by other rows.
    pub index: u64,
    /// Thread name.
    pub name: Option<String>,
    /// System process id.
    pub process_id: Option<u64>,
    /// System thread id.
    pub thread_id: Option<u64>,
    /// Other properties.
    pub properties: Vec<(String, String)>,
}

impl ThreadRow {
    /// Reads a thread block's content. Returns the position of unreadable bytes, if any.
    pub fn read_block(content: &[u8], mut row: impl FnMut(Self)) -> Option<usize> {
        let mut wire = Wire::new(content);
        while !wire.is_at_end() {
            let begin = wire.position();
            let thread = wire.u16().and_then(|size| wire.take(size.into())).and_then(Self::read);
            match thread {
                Some(thread) => row(thread),
                None => return Some(begin),
            }
        }
        None
    }

    /// Reads a row without its size.
    pub(crate) fn read(row: &[u8]) -> Option<Self> {
        let mut wire = Wire::new(row);
        let mut thread = Self { index: wire.varuint64()?, ..Self::default() };
        // Unknown kinds have an unknown size, so nothing after them can be read.
        while thread.read_optional(&mut wire).is_some() {}
        Some(thread)
    }

    fn read_optional(&mut self, wire: &mut Wire<'_>) -> Option<()> {
        match wire.u8()? {
            1 => self.name = Some(wire.string()?),
            2 => self.process_id = Some(wire.varuint64()?),
            3 => self.thread_id = Some(wire.varuint64()?),
            4 => push_property(&mut self.properties, (wire.string()?, wire.string()?)),
            _ => return None,
        }
        Some(())
    }
}

/// Label in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventLabel {
    /// Activity of the event.
    Activity([u8; 16]),
    /// Related activity.
    RelatedActivity([u8; 16]),
    /// OpenTelemetry trace id: 16 bytes in order, not a GUID.
    TraceId([u8; 16]),
    /// OpenTelemetry span id.
    SpanId(u64),
    /// Named text.
    Text(String, String),
    /// Named number.
    Number(String, i64),
    /// Opcode that overrides the metadata.
    Opcode(u8),
    /// Keywords that override the metadata.
    Keywords(u64),
    /// Level that overrides the metadata.
    Level(u8),
    /// Version that overrides the metadata.
    Version(u8),
}

impl EventLabel {
    /// Reads a label list block's content. `list` receives the index and the labels of each list. Returns the
    /// range of unreadable bytes, if any.
    pub fn read_block(content: &[u8], mut list: impl FnMut(u32, Vec<Self>)) -> Option<Range<usize>> {
        let mut wire = Wire::new(content);
        let (Some(first), Some(count)) = (wire.u32(), wire.u32()) else { return Some(0..content.len()) };
        for index in 0..count {
            let begin = wire.position();
            let Some(labels) = Self::read_list(&mut wire) else { return Some(begin..content.len()) };
            list(first.wrapping_add(index), labels);
        }
        None
    }

    /// Reads a label list.
    pub(crate) fn read_list(wire: &mut Wire<'_>) -> Option<Vec<Self>> {
        let mut labels = Vec::new();
        loop {
            let (label, is_last) = Self::read(wire)?;
            labels.push(label);
            if is_last {
                return Some(labels);
            }
        }
    }

    fn read(wire: &mut Wire<'_>) -> Option<(Self, bool)> {
        let kind = wire.u8()?;
        let label = match kind & 0x7f {
            1 => Self::Activity(wire.guid()?),
            2 => Self::RelatedActivity(wire.guid()?),
            3 => Self::TraceId(wire.guid()?),
            4 => Self::SpanId(wire.u64()?),
            5 => Self::Text(wire.string()?, wire.string()?),
            6 => Self::Number(wire.string()?, zigzag(wire.varuint64()?)),
            7 => Self::Opcode(wire.u8()?),
            8 => Self::Keywords(wire.u64()?),
            9 => Self::Level(wire.u8()?),
            10 => Self::Version(wire.u8()?),
            _ => return None,
        };
        Some((label, kind & 0x80 != 0))
    }
}
