//! Blocks that events refer to: stacks, sequence points, threads, lists of labels.

use std::ops::Range;

use crate::Version;
use crate::wire::{Wire, push_property, zigzag};

/// The stacks of a block.
#[derive(Clone, Debug)]
pub struct StackRows<'a> {
    wire: Wire<'a>,
    /// Id of the first stack.
    pub first_id: u32,
    /// How many there are, as the block says.
    pub count: u32,
}

impl<'a> StackRows<'a> {
    /// The stacks in the content of a block; None if it has no header.
    #[must_use]
    pub fn read(content: &'a [u8]) -> Option<Self> {
        let mut wire = Wire::new(content);
        let (first_id, count) = (wire.u32()?, wire.u32()?);
        Some(Self { wire, first_id, count })
    }

    /// How many bytes of the content were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.wire.position()
    }
}

impl<'a> Iterator for StackRows<'a> {
    /// The addresses of a stack as bytes, the innermost one first.
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut wire = self.wire;
        let stack = wire.length().and_then(|size| wire.take(size))?;
        self.wire = wire;
        Some(stack)
    }
}

/// The addresses of a stack.
pub fn addresses(stack: &[u8], pointer_size: u32) -> impl Iterator<Item = u64> + '_ {
    let size = if pointer_size == 4 { 4 } else { 8 };
    stack.chunks_exact(size).map(move |bytes| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    })
}

/// A barrier: what is before it in the file is earlier than what is behind it, and stacks are not referred to across it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequencePoint {
    /// When, in ticks.
    pub timestamp: u64,
    /// Whether indexes of threads are not referred to across it (version 6).
    pub flushes_threads: bool,
    /// Whether ids of metadata are not referred to across it (version 6).
    pub flushes_metadata: bool,
    /// Threads, and the least number that the last event of each had.
    pub threads: Vec<(u64, u32)>,
}

/// A sequence point without its threads, which can be very many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointHead {
    pub(crate) timestamp: u64,
    pub(crate) flushes_threads: bool,
    pub(crate) flushes_metadata: bool,
}

impl PointHead {
    /// Reads the content of the block; None if it is not complete, the threads included.
    pub(crate) fn read(content: &[u8], version: Version) -> Option<Self> {
        let (head, mut threads) = Self::parts(content, version)?;
        for _ in 0..threads.left {
            threads.next()?;
        }
        Some(head)
    }

    /// The threads of a block.
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

/// The threads of a sequence point.
struct PointThreads<'a> {
    wire: Wire<'a>,
    is_v6: bool,
    /// How many follow, as the block says.
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
    /// Reads the content of the block; None if it is not complete.
    #[must_use]
    pub fn read(content: &[u8], version: Version) -> Option<Self> {
        let PointHead { timestamp, flushes_threads, flushes_metadata } = PointHead::read(content, version)?;
        let threads = PointHead::threads(content, version).collect();
        Some(Self { timestamp, flushes_threads, flushes_metadata, threads })
    }

    /// Reads the content of a block of removed threads (version 6): indexes, and the numbers of their last events.
    /// Gives nothing of what is not complete.
    pub fn read_removed(content: &[u8]) -> impl Iterator<Item = (u64, u32)> + '_ {
        let mut wire = Wire::new(content);
        std::iter::from_fn(move || Some((wire.varuint64()?, wire.varuint32()?)))
    }
}

/// A thread of the thread table (version 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadRow {
    /// What other rows refer to.
    pub index: u64,
    /// Its name.
    pub name: Option<String>,
    /// Id of its process in the system.
    pub process_id: Option<u64>,
    /// Its id in the system.
    pub thread_id: Option<u64>,
    /// What else is known.
    pub properties: Vec<(String, String)>,
}

impl ThreadRow {
    /// Reads the content of a block of threads. Gives where what cannot be read begins, if there is such.
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
        // Of an unknown kind, the size is not known, so nothing behind it can be read.
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

/// A label of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// The activity that the event belongs to.
    Activity([u8; 16]),
    /// A related activity.
    RelatedActivity([u8; 16]),
    /// A trace of OpenTelemetry: 16 bytes in their order, no GUID.
    TraceId([u8; 16]),
    /// A span of OpenTelemetry.
    SpanId(u64),
    /// A text of a name.
    Text(String, String),
    /// A number of a name.
    Number(String, i64),
    /// Replaces the opcode of the metadata.
    Opcode(u8),
    /// Replaces the keywords of the metadata.
    Keywords(u64),
    /// Replaces the level of the metadata.
    Level(u8),
    /// Replaces the version of the metadata.
    Version(u8),
}

impl Label {
    /// Reads the content of a block of label lists: `list` takes the index of each list and its labels. Gives what
    /// cannot be read, if there is such.
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

    /// Reads a list.
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
