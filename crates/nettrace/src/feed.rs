//! The parser for bytes that come in pieces: from a pipe, a socket, a session that is still running.

use std::ops::Range;

use crate::container::LOOK_AHEAD;
use crate::reader::EventBlockHeader;
use crate::wire::Wire;
use crate::{
    Block, BlockKind, Container, EventRow, EventRows, Fault, Label, Metadata, Refusal, RowEncoding, Rule,
    SequencePoint, StackRows, Step, ThreadRow, TraceBlock, Version,
};

/// Parses a file whose bytes are fed in pieces of any size: the items are the same as if all came at once.
///
/// It reads from nothing and waits for nothing. Items come in the order of the file: putting events in the order of
/// time, counting what is missing and describing payloads is the work of who takes them. Only the block that is not
/// complete yet is kept. A block has 64 MiB at most; where bytes were damaged, up to 80 MiB are looked through for the
/// next block, or twice as many bytes are awaited as were looked through before. So are, in version 6, the first 8 bytes
/// of the block behind one, as they show whether its size is right.
///
/// ```
/// use ichnos_nettrace::{Feed, FeedItem};
///
/// // The begin of a file of version 6: its header, and a block of events without any.
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
    /// Where in the file the buffer begins.
    base: u64,
    is_all: bool,
    container: Option<Container>,
    /// Where the bytes have to reach before it is looked again.
    awaited: u64,
    open: Option<OpenBlock>,
    /// What comes before all else.
    fault: Option<Fault>,
    is_done: bool,
}

/// What is next in a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeedItem<'a> {
    /// The version of the file: always the first item.
    Version(Version),
    /// What is known of the whole trace.
    Trace(TraceBlock),
    /// Events follow, which the block says are from one time to another, in ticks.
    EventBlock {
        /// Where the content of the block begins in the file, in bytes.
        offset: u64,
        /// The first and the last time; `(0, u64::MAX)` in version 3.
        times: (u64, u64),
    },
    /// An event.
    Event(FeedEvent<'a>),
    /// The description of an event.
    Metadata(Metadata),
    /// Stacks.
    Stacks(StackRows<'a>),
    /// A barrier.
    SequencePoint(SequencePoint),
    /// A thread (version 6).
    Thread(ThreadRow),
    /// A thread is gone: its index, and the number of its last event (version 6).
    RemovedThread(u64, u32),
    /// A list of labels and its index (version 6).
    Labels(u32, Vec<Label>),
    /// Something is wrong. What can be read goes on behind it.
    Fault(Fault),
    /// The file cannot be read. Nothing follows.
    Refusal(Refusal),
    /// The end. Nothing follows.
    End {
        /// Whether the end was marked; otherwise a fault came before.
        is_complete: bool,
    },
}

/// An event with its bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FeedEvent<'a> {
    /// Its header. The positions in it say nothing here: what they are of is in the other members.
    pub row: &'a EventRow,
    /// Where its payload begins in the file, in bytes.
    pub offset: u64,
    /// Its payload.
    pub payload: &'a [u8],
    /// The addresses of its stack (version 3).
    pub stack: &'a [u8],
    /// The id of its activity (up to version 5).
    pub activity: Option<[u8; 16]>,
    /// The id of a related activity (up to version 5).
    pub related_activity: Option<[u8; 16]>,
}

/// A block whose rows are being read.
#[derive(Debug)]
struct OpenBlock {
    block: Block,
    rows: Rows,
}

/// The rows of a block. Positions are in the buffer.
#[derive(Debug)]
enum Rows {
    Events(EventRows),
    /// Up to version 5.
    Metadata(EventRows),
    /// Version 6: where the next row begins.
    MetadataV6(usize),
    Threads(usize),
    RemovedThreads(usize),
    Labels {
        at: usize,
        index: u32,
        left: u32,
    },
}

/// What comes next, as far as it does not borrow.
enum Next {
    Item(FeedItem<'static>),
    Event,
    Stacks(Range<usize>),
}

impl Feed {
    /// A parser that has got nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more bytes. Take all [items](Self::next_item) before, so that it keeps no more than a block.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.is_done {
            return;
        }
        if self.open.is_none()
            && let Some(container) = &self.container
        {
            let read = container.position().saturating_sub(self.base) as usize;
            // Moving the rest should cost less than what was read.
            if read >= self.buffer.len() / 2 {
                let read = read.min(self.buffer.len());
                self.buffer.drain(..read);
                self.base += read as u64;
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// There are no more bytes: what is incomplete can be read as far as it goes.
    pub fn finish(&mut self) {
        self.is_all = true;
    }

    /// How many bytes were fed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.base + self.buffer.len() as u64
    }

    /// How many bytes are kept.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// The next item; None if more bytes are needed, or behind the last one.
    pub fn next_item(&mut self) -> Option<FeedItem<'_>> {
        match self.step()? {
            Next::Item(item) => Some(item),
            Next::Event => {
                let Some(OpenBlock { rows: Rows::Events(rows), .. }) = &self.open else { return None };
                let row = rows.row();
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
            Next::Stacks(range) => {
                StackRows::read(self.buffer.get(range).unwrap_or_default()).map(FeedItem::Stacks)
            }
        }
    }

    fn step(&mut self) -> Option<Next> {
        loop {
            if let Some(fault) = self.fault.take() {
                return Some(Next::Item(FeedItem::Fault(fault)));
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
                Step::Block(block) => {
                    if let Some(next) = self.begin(block) {
                        return Some(next);
                    }
                }
                Step::Fault(fault) => return Some(Next::Item(FeedItem::Fault(fault))),
                Step::More => {
                    self.awaited = container.needed().min(container.position() + LOOK_AHEAD as u64);
                    return None;
                }
                Step::End => {
                    self.is_done = true;
                    let is_complete = container.is_complete();
                    return Some(Next::Item(FeedItem::End { is_complete }));
                }
            }
        }
    }

    fn open_container(&mut self) -> Option<Next> {
        match Container::open(&self.buffer, self.is_all) {
            Ok(Some(container)) => {
                let version = container.version();
                self.container = Some(container);
                Some(Next::Item(FeedItem::Version(version)))
            }
            Ok(None) => None,
            Err(refusal) => {
                self.is_done = true;
                Some(Next::Item(FeedItem::Refusal(refusal)))
            }
        }
    }

    /// Begins with the rows of a block, or gives what it is as a whole.
    fn begin(&mut self, block: Block) -> Option<Next> {
        let version = self.container.as_ref()?.version();
        let range = (block.content.start - self.base) as usize..(block.content.end - self.base) as usize;
        let content = self.buffer.get(range.clone())?;
        let offset = block.content.start;
        let missing = |rule, what: &str| {
            let fault = Fault::new(rule, offset, format!("expected {what}, found fewer bytes"));
            block.is_whole.then_some(Next::Item(FeedItem::Fault(fault)))
        };
        let is_v6 = matches!(version, Version::V6(_));
        let rows = match block.kind {
            BlockKind::Trace => {
                let trace = TraceBlock::read(content, version).filter(|_| block.is_whole || is_v6);
                return match trace {
                    Some(trace) => Some(Next::Item(FeedItem::Trace(trace))),
                    None => missing(Rule::TraceBlock, "what is known of the trace"),
                };
            }
            BlockKind::Stack => {
                return match StackRows::read(content) {
                    Some(_) => Some(Next::Stacks(range)),
                    None => missing(Rule::BlockHeader, "the first id and the number of stacks"),
                };
            }
            BlockKind::SequencePoint => {
                return match SequencePoint::read(content, version) {
                    Some(point) => Some(Next::Item(FeedItem::SequencePoint(point))),
                    None => missing(Rule::SequencePoint, "a time and threads"),
                };
            }
            BlockKind::Unknown => return None,
            BlockKind::Event if version == Version::V3 => {
                Rows::Events(EventRows::new(RowEncoding::V3, range, self.base))
            }
            BlockKind::Metadata if is_v6 => {
                let mut wire = Wire::new(content);
                if wire.u16().and_then(|size| wire.take(size.into())).is_none() {
                    return missing(Rule::BlockHeader, "the header of a metadata block");
                }
                Rows::MetadataV6(range.start + wire.position())
            }
            BlockKind::Event | BlockKind::Metadata => {
                let Some(header) = EventBlockHeader::read(content) else {
                    return missing(Rule::BlockHeader, "the header of a block");
                };
                let encoding = RowEncoding::new(version, header.flags);
                let rows = EventRows::new(encoding, range.start + header.rows..range.end, self.base);
                if block.kind == BlockKind::Event {
                    self.open = Some(OpenBlock { block, rows: Rows::Events(rows) });
                    return Some(Next::Item(FeedItem::EventBlock { offset, times: header.times }));
                }
                Rows::Metadata(rows)
            }
            BlockKind::Thread => Rows::Threads(range.start),
            BlockKind::RemoveThread => Rows::RemovedThreads(range.start),
            BlockKind::LabelList => {
                let mut wire = Wire::new(content);
                let (Some(index), Some(left)) = (wire.u32(), wire.u32()) else {
                    return missing(Rule::BlockHeader, "the first index and the number of lists");
                };
                Rows::Labels { at: range.start + wire.position(), index, left }
            }
        };
        let is_v3 = block.kind == BlockKind::Event;
        self.open = Some(OpenBlock { block, rows });
        let times = (0, u64::MAX);
        is_v3.then_some(Next::Item(FeedItem::EventBlock { offset, times }))
    }

    /// The next row of the open block; None at its end.
    fn next_row(&mut self) -> Option<Next> {
        let OpenBlock { block, rows } = self.open.as_mut()?;
        let (base, is_whole) = (self.base, block.is_whole);
        let end = (block.content.end - base) as usize;
        let bytes = self.buffer.get(..end)?;
        let is_v3 = self.container.as_ref()?.version() == Version::V3;
        // What is left of a block that is whole, but no row.
        let rest = |rule, at: usize, what: &str| {
            let rest = (end - at.min(end)) as u64;
            let statement = format!("expected {what}, found {rest} bytes that are none: they are skipped");
            (is_whole && rest > 0).then(|| Fault::new(rule, base + at as u64, statement).skipping(rest))
        };
        let metadata = |metadata: Option<Metadata>, at: usize| match metadata {
            Some(metadata) => FeedItem::Metadata(metadata),
            None => FeedItem::Fault(Fault::new(
                Rule::MetadataRow,
                base + at as u64,
                "the row of metadata is not complete",
            )),
        };
        let (item, fault) = match rows {
            Rows::Events(rows) => match rows.next(bytes) {
                Some(row) if row.metadata_id == 0 && is_v3 => {
                    let payload = row.payload.clone();
                    (Some(metadata(Metadata::read(bytes.get(payload.clone())?), payload.start)), None)
                }
                Some(_) => return Some(Next::Event),
                None => (None, rest(Rule::RowSize, rows.position(), "an event")),
            },
            Rows::Metadata(rows) => match rows.next(bytes) {
                Some(row) => {
                    let payload = row.payload.clone();
                    (Some(metadata(Metadata::read(bytes.get(payload.clone())?), payload.start)), None)
                }
                None => (None, rest(Rule::MetadataRow, rows.position(), "a row of metadata")),
            },
            Rows::MetadataV6(at) => match sized(bytes, at) {
                Some(row) => (Some(metadata(Metadata::read_v6(bytes.get(row.clone())?), row.start)), None),
                None => (None, rest(Rule::MetadataRow, *at, "a row of metadata")),
            },
            Rows::Threads(at) => {
                let begin = *at;
                match sized(bytes, at).and_then(|row| ThreadRow::read(bytes.get(row)?)) {
                    Some(thread) => (Some(FeedItem::Thread(thread)), None),
                    None => (None, rest(Rule::RowSize, begin, "a row of a thread")),
                }
            }
            Rows::RemovedThreads(at) => {
                let mut wire = Wire::at(bytes, *at);
                match (wire.varuint64(), wire.varuint32()) {
                    (Some(index), Some(sequence)) => {
                        *at = wire.position();
                        (Some(FeedItem::RemovedThread(index, sequence)), None)
                    }
                    _ => (None, None),
                }
            }
            Rows::Labels { left: 0, .. } => (None, None),
            Rows::Labels { at, index, left } => {
                let mut wire = Wire::at(bytes, *at);
                match Label::read_list(&mut wire) {
                    Some(list) => {
                        *at = wire.position();
                        *left -= 1;
                        let number = *index;
                        *index = index.wrapping_add(1);
                        (Some(FeedItem::Labels(number, list)), None)
                    }
                    None => (None, rest(Rule::LabelKind, *at, "labels of known kinds")),
                }
            }
        };
        self.fault = fault;
        item.map(Next::Item)
    }
}

/// A row with its size in 16 bits before it, which begins `at`; moves there behind it.
fn sized(bytes: &[u8], at: &mut usize) -> Option<Range<usize>> {
    let mut wire = Wire::at(bytes, *at);
    let size = usize::from(wire.u16()?);
    let begin = wire.position();
    wire.take(size)?;
    *at = wire.position();
    Some(begin..*at)
}
