//! Parser for bytes that arrive in chunks: from a pipe, a socket, or a running session.

use std::ops::Range;

use crate::container::LOOK_AHEAD;
use crate::reader::EventBlockHeader;
use crate::wire::Wire;
use crate::{
    Block, BlockKind, Container, EventLabel, EventMetadata, EventRow, EventRows, Fault, FileItem, Refusal,
    RowEncoding, Rule, SequencePoint, StackRows, ThreadRow, TraceBlock, Version,
};

/// Parses a file from chunks, whose sizes do not influence the items.
///
/// The parser reads no input itself and never waits. Items come in file order. The caller must sort events by time,
/// count missing events and decode payloads.
///
/// Only the current incomplete block is kept, at most 64 MiB. After damage, the parser scans up to 80 MiB for the next
/// block, and may wait for twice the number of scanned bytes. In version 6, it also keeps the first 8 bytes of the next
/// block, to check the size of the current block.
///
/// A file without its start is [refused](FeedItem::Refusal). [`NettraceFile`](crate::NettraceFile) can read it.
///
/// ```
/// use ichnos_nettrace::{Feed, FeedItem};
///
/// // Start of a version 6 file: its header, and an empty event block.
/// let file = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0\
///     \x14\0\0\x02\x14\0\x01\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0";
/// let mut feed = Feed::new();
/// let mut items = Vec::new();
/// for piece in file.chunks(7).map(Some).chain([None]) {
///     match piece {
///         Some(piece) => feed.feed(piece),
///         None => feed.finish(),
///     }
///     while let Some(item) = feed.next_item() {
///         items.push(match item {
///             FeedItem::Event(event) => format!("event at {} with {} bytes", event.row.timestamp, event.payload.len()),
///             FeedItem::EventBlock { times, .. } => format!("events from {} to {}", times.0, times.1),
///             other => format!("{other:?}"),
///         });
///     }
/// }
/// assert_eq!(items, ["Version(V6(0))", "events from 1 to 2", "End { is_complete: true }"]);
/// ```
#[derive(Debug, Default)]
pub struct Feed {
    buffer: Vec<u8>,
    /// File offset of the buffer.
    base: u64,
    is_all: bool,
    container: Option<Container>,
    /// File offset up to which bytes are awaited.
    awaited: u64,
    open: Option<RowBlock>,
    /// Fault that is returned before everything else.
    fault: Option<Fault>,
    is_done: bool,
}

/// Next item in a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeedItem<'a> {
    /// File version: always the first item.
    Version(Version),
    /// Properties of the whole trace.
    Trace(TraceBlock),
    /// Start of an event block, with its time range in ticks.
    EventBlock {
        /// The block content's byte offset in the file.
        offset: u64,
        /// First and last time. `(0, u64::MAX)` in version 3.
        times: (u64, u64),
    },
    /// An event.
    Event(FeedEvent<'a>),
    /// Event description.
    Metadata(EventMetadata),
    /// Stacks.
    Stacks(StackRows<'a>),
    /// Sequence point.
    SequencePoint(SequencePoint),
    /// A thread (version 6).
    Thread(ThreadRow),
    /// Removed thread: its index, and the sequence number of its last event (version 6).
    RemovedThread(u64, u32),
    /// Label list: its index and labels (version 6).
    Labels(u32, Vec<EventLabel>),
    /// Rule violation. Reading continues after it.
    Fault(Fault),
    /// The file cannot be read. This is the last item.
    Refusal(Refusal),
    /// End of the file. This is the last item.
    End {
        /// `true` if there is an end mark. Otherwise, the previous item is a fault.
        is_complete: bool,
    },
}

/// Event with its bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FeedEvent<'a> {
    /// Event header. Its positions are invalid: the other members have the contents.
    pub row: &'a EventRow,
    /// The payload's byte offset in the file.
    pub offset: u64,
    /// Payload.
    pub payload: &'a [u8],
    /// Stack addresses (version 3).
    pub stack: &'a [u8],
    /// Activity id (up to version 5).
    pub activity: Option<[u8; 16]>,
    /// Related activity id (up to version 5).
    pub related_activity: Option<[u8; 16]>,
}

/// Block whose rows are being read.
#[derive(Debug)]
struct RowBlock {
    block: Block,
    rows: OpenRows,
}

/// Block rows. Positions are in the buffer.
#[derive(Debug)]
enum OpenRows {
    Events(EventRows),
    /// Up to version 5.
    Metadata(EventRows),
    /// Version 6: position of the next row.
    MetadataV6(usize),
    Threads(usize),
    RemovedThreads(usize),
    Labels {
        at: usize,
        index: u32,
        left: u32,
    },
}

/// Next item, without borrowed data.
enum NextItem {
    Item(FeedItem<'static>),
    Event,
    Stacks(Range<usize>),
}

impl Feed {
    /// Creates a parser.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes. Call it after taking all [items](Self::next_item), so that at most one block is kept.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.is_done {
            return;
        }
        if self.open.is_none()
            && let Some(container) = &self.container
        {
            let read = container.position().saturating_sub(self.base) as usize;
            // Moving the rest should cost less than reading has cost.
            if read >= self.buffer.len() / 2 {
                let read = read.min(self.buffer.len());
                self.buffer.drain(..read);
                self.base += read as u64;
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Ends the input. Incomplete data is then read as far as possible.
    pub fn finish(&mut self) {
        self.is_all = true;
    }

    /// Returns the number of received bytes.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.base + self.buffer.len() as u64
    }

    /// Returns the number of buffered bytes.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the next item. Returns `None` if more bytes are needed, or after the last item.
    pub fn next_item(&mut self) -> Option<FeedItem<'_>> {
        match self.step()? {
            NextItem::Item(item) => Some(item),
            NextItem::Event => {
                let Some(RowBlock { rows: OpenRows::Events(rows), .. }) = &self.open else { return None };
                let row = rows.row();
                // Row ranges are within the buffer.
                let bytes = |range: &Range<usize>| self.buffer.get(range.clone()).unwrap_or_default();
                let guid =
                    |at: usize| self.buffer.get(at..)?.first_chunk::<16>().filter(|_| at != 0).copied();
                Some(FeedItem::Event(FeedEvent {
                    row,
                    offset: self.base + row.payload.start as u64,
                    payload: bytes(&row.payload),
                    stack: bytes(&row.stack),
                    activity: guid(row.activity),
                    related_activity: guid(row.related_activity),
                }))
            }
            NextItem::Stacks(range) => {
                // The range of an item is in the buffer.
                StackRows::read(self.buffer.get(range).unwrap_or_default()).map(FeedItem::Stacks)
            }
        }
    }

    fn step(&mut self) -> Option<NextItem> {
        loop {
            if let Some(fault) = self.fault.take() {
                return Some(NextItem::Item(FeedItem::Fault(fault)));
            }
            if self.is_done {
                return None;
            }
            if self.open.is_some() {
                match self.next_row() {
                    Some(next) => return Some(next),
                    None => {
                        self.open = None;
                        continue;
                    }
                }
            }
            let Some(container) = &mut self.container else { return self.open_container() };
            if !self.is_all && self.base + (self.buffer.len() as u64) < self.awaited {
                return None;
            }
            match container.next(&self.buffer, self.base, self.is_all) {
                FileItem::Block(block) => {
                    if let Some(next) = self.begin(block) {
                        return Some(next);
                    }
                }
                FileItem::Fault(fault) => return Some(NextItem::Item(FeedItem::Fault(fault))),
                FileItem::More => {
                    self.awaited = container.needed().min(container.position() + LOOK_AHEAD as u64);
                    return None;
                }
                FileItem::End => {
                    self.is_done = true;
                    let is_complete = container.is_complete();
                    return Some(NextItem::Item(FeedItem::End { is_complete }));
                }
            }
        }
    }

    fn open_container(&mut self) -> Option<NextItem> {
        match Container::open(&self.buffer, self.is_all) {
            Ok(Some(container)) => {
                let version = container.version();
                self.container = Some(container);
                Some(NextItem::Item(FeedItem::Version(version)))
            }
            Ok(None) => None,
            Err(refusal) => {
                self.is_done = true;
                Some(NextItem::Item(FeedItem::Refusal(refusal)))
            }
        }
    }

    /// Starts reading a block's rows, or returns a block that is a single item.
    fn begin(&mut self, block: Block) -> Option<NextItem> {
        let version = self.container.as_ref()?.version();
        let range = (block.content.start - self.base) as usize..(block.content.end - self.base) as usize;
        let content = self.buffer.get(range.clone())?;
        let (offset, is_whole) = (block.content.start, block.is_whole);
        let begun = match block.kind {
            BlockKind::Trace | BlockKind::Stack | BlockKind::SequencePoint | BlockKind::Unknown => {
                single_item(&block, content, range, version)
            }
            _ => OpenRows::from_block(block.kind, content, range, self.base, version).map(|(rows, times)| {
                self.open = Some(RowBlock { block, rows });
                times.map(|times| NextItem::Item(FeedItem::EventBlock { offset, times }))
            }),
        };
        begun.unwrap_or_else(|(rule, what)| {
            let fault = Fault::new(rule, offset, format!("expected {what}, found fewer bytes"));
            is_whole.then_some(NextItem::Item(FeedItem::Fault(fault)))
        })
    }

    /// Returns the next row of the open block, or `None` at its end.
    fn next_row(&mut self) -> Option<NextItem> {
        let RowBlock { block, rows } = self.open.as_mut()?;
        let end = (block.content.end - self.base) as usize;
        let bytes = self.buffer.get(..end)?;
        let is_v3 = self.container.as_ref()?.version() == Version::V3;
        match rows.next(bytes, self.base, is_v3)? {
            NextRow::Event => Some(NextItem::Event),
            NextRow::Item(item) => Some(NextItem::Item(item)),
            NextRow::End => None,
            NextRow::Rest { at, rule, expected } => {
                let rest = (end - at.min(end)) as u64;
                if block.is_whole && rest > 0 {
                    let statement =
                        format!("expected {expected}, found {rest} other bytes: they are skipped");
                    self.fault = Some(Fault::new(rule, self.base + at as u64, statement).skipping(rest));
                }
                None
            }
        }
    }
}

/// Rule for a block whose content is too short, and the missing part.
type MissingContent = (Rule, &'static str);

/// Reads a block that is a single item from a byte range. Returns `None` for an unknown block.
fn single_item(
    block: &Block,
    content: &[u8],
    range: Range<usize>,
    version: Version,
) -> Result<Option<NextItem>, MissingContent> {
    let item = match block.kind {
        BlockKind::Trace => {
            let is_complete = block.is_whole || matches!(version, Version::V6(_));
            let trace = TraceBlock::read(content, version).filter(|_| is_complete);
            NextItem::Item(FeedItem::Trace(trace.ok_or((Rule::TraceBlock, "properties of the trace"))?))
        }
        BlockKind::Stack => {
            StackRows::read(content).ok_or((Rule::BlockHeader, "the first id and the number of stacks"))?;
            NextItem::Stacks(range)
        }
        BlockKind::SequencePoint => {
            let point = SequencePoint::read(content, version);
            NextItem::Item(FeedItem::SequencePoint(point.ok_or((Rule::SequencePoint, "a time and threads"))?))
        }
        _ => return Ok(None),
    };
    Ok(Some(item))
}

/// Next row in a block.
enum NextRow {
    Event,
    Item(FeedItem<'static>),
    /// The bytes from `at` on are not the expected row.
    Rest {
        at: usize,
        rule: Rule,
        expected: &'static str,
    },
    End,
}

impl OpenRows {
    /// Returns a block's rows in this range of the bytes, and the time range of an event block.
    fn from_block(
        kind: BlockKind,
        content: &[u8],
        range: Range<usize>,
        base: u64,
        version: Version,
    ) -> Result<(Self, Option<(u64, u64)>), MissingContent> {
        let mut wire = Wire::new(content);
        let rows = match kind {
            BlockKind::Event if version == Version::V3 => {
                return Ok((Self::Events(EventRows::new(RowEncoding::V3, range, base)), Some((0, u64::MAX))));
            }
            BlockKind::Metadata if matches!(version, Version::V6(_)) => {
                let header = wire.u16().and_then(|size| wire.take(size.into()));
                header.ok_or((Rule::BlockHeader, "the header of a metadata block"))?;
                Self::MetadataV6(range.start + wire.position())
            }
            BlockKind::Thread => Self::Threads(range.start),
            BlockKind::RemoveThread => Self::RemovedThreads(range.start),
            BlockKind::LabelList => {
                let (Some(index), Some(left)) = (wire.u32(), wire.u32()) else {
                    return Err((Rule::BlockHeader, "the first index and the number of lists"));
                };
                Self::Labels { at: range.start + wire.position(), index, left }
            }
            _ => {
                let header =
                    EventBlockHeader::read(content).ok_or((Rule::BlockHeader, "the header of a block"))?;
                let encoding = RowEncoding::new(version, header.flags);
                let rows = EventRows::new(encoding, range.start + header.rows..range.end, base);
                match kind {
                    BlockKind::Event => return Ok((Self::Events(rows), Some(header.times))),
                    _ => Self::Metadata(rows),
                }
            }
        };
        Ok((rows, None))
    }

    /// Reads the next row. `base` is the file offset of the bytes.
    fn next(&mut self, bytes: &[u8], base: u64, is_v3: bool) -> Option<NextRow> {
        Some(match self {
            Self::Events(rows) => match rows.next(bytes) {
                Some(row) if row.metadata_id == 0 && is_v3 => {
                    let payload = row.payload.clone();
                    metadata_row(EventMetadata::read(bytes.get(payload.clone())?), base, payload.start)
                }
                Some(_) => NextRow::Event,
                None => NextRow::Rest { at: rows.position(), rule: Rule::RowSize, expected: "an event" },
            },
            Self::Metadata(rows) => match rows.next(bytes) {
                Some(row) => {
                    let payload = row.payload.clone();
                    metadata_row(EventMetadata::read(bytes.get(payload.clone())?), base, payload.start)
                }
                None => no_metadata(rows.position()),
            },
            Self::MetadataV6(at) => match sized(bytes, at) {
                Some(row) => metadata_row(EventMetadata::read_v6(bytes.get(row.clone())?), base, row.start),
                None => no_metadata(*at),
            },
            Self::Threads(at) => {
                let begin = *at;
                match sized(bytes, at).and_then(|row| ThreadRow::read(bytes.get(row)?)) {
                    Some(thread) => NextRow::Item(FeedItem::Thread(thread)),
                    None => NextRow::Rest { at: begin, rule: Rule::RowSize, expected: "a thread row" },
                }
            }
            Self::RemovedThreads(at) => {
                let mut wire = Wire::at(bytes, *at);
                let (Some(index), Some(sequence)) = (wire.varuint64(), wire.varuint32()) else {
                    return Some(NextRow::End);
                };
                *at = wire.position();
                NextRow::Item(FeedItem::RemovedThread(index, sequence))
            }
            Self::Labels { left: 0, .. } => NextRow::End,
            Self::Labels { at, index, left } => {
                let mut wire = Wire::at(bytes, *at);
                let Some(list) = EventLabel::read_list(&mut wire) else {
                    let (rule, expected) = (Rule::LabelKind, "labels with known kinds");
                    return Some(NextRow::Rest { at: *at, rule, expected });
                };
                *at = wire.position();
                *left -= 1;
                let number = *index;
                *index = index.wrapping_add(1);
                NextRow::Item(FeedItem::Labels(number, list))
            }
        })
    }
}

fn metadata_row(metadata: Option<EventMetadata>, base: u64, at: usize) -> NextRow {
    NextRow::Item(match metadata {
        Some(metadata) => FeedItem::Metadata(metadata),
        None => {
            FeedItem::Fault(Fault::new(Rule::MetadataRow, base + at as u64, "the metadata row is incomplete"))
        }
    })
}

const fn no_metadata(at: usize) -> NextRow {
    NextRow::Rest { at, rule: Rule::MetadataRow, expected: "a metadata row" }
}

/// Reads a row after its 16-bit size. Moves `at` to the end of the row.
fn sized(bytes: &[u8], at: &mut usize) -> Option<Range<usize>> {
    let mut wire = Wire::at(bytes, *at);
    let size = usize::from(wire.u16()?);
    let begin = wire.position();
    wire.take(size)?;
    *at = wire.position();
    Some(begin..*at)
}
