//! Passes over merged messages into an output: as a whole, or in chunks of the timeline on several threads. The
//! output is the same for any number of threads.
//!
//! A chunk starts where its packets allow it, and only the earlier data can verify this. The chunk is written again
//! from the end of the previous chunk, if the earlier data ends at other places than the chunk start, or if the
//! output asks for it.

use std::io;
use std::ops::ControlFlow;

use ichnos_flow::{ChunkItems, ChunkSender, Merge, in_order};
use ichnos_io::{ChunkStart, JoinResult, Lane, MessageOrder, Output, OutputBlock, Worker, WorkerFlow};
use ichnos_model::cursor::Checkpoint;
use ichnos_model::{Event, Message, Sink};

use super::reader_pass::ProgressSteps;
use super::{Pass, PassEnd, PassNote, PassObserver, PassOptions, PassSummary};
use crate::Reader;

/// Text block size in bytes, for a usual number of threads. Smaller blocks are slower, and larger blocks are not
/// faster.
const BLOCK: usize = 1 << 20;
/// Maximum number of unjoined blocks in a chunk.
pub(crate) const ROOM: usize = 16;
/// Maximum size of all waiting text in bytes, for a usual number of threads. The text of a chunk should fit, and a chunk
/// has at least one packet: half of it costs a third of the gain from two threads if packets have 4 MB.
const WAITING: usize = 48 << 20;

/// Returns the block size for a number of threads.
pub(crate) fn block_size(threads: usize) -> usize {
    // Text sinks write at least half of the minimum size, except at the end.
    (chunk_waiting(threads) / ROOM).clamp(BLOCK / 8, BLOCK)
}

/// Returns the maximum number of waiting blocks in a chunk for a number of threads.
fn room(threads: usize) -> usize {
    (chunk_waiting(threads) / block_size(threads)).clamp(2, ROOM)
}

/// Returns the maximum size of a chunk's waiting text, in bytes.
fn chunk_waiting(threads: usize) -> usize {
    // There is one more open chunk than threads.
    WAITING / threads.saturating_add(1)
}

/// Returns the chunk size in bytes of the trace. The text is about four times as long, chunks can be twice this size,
/// and the text should not wait for earlier chunks.
fn chunk_bytes(threads: usize) -> u64 {
    (room(threads) * block_size(threads) / 8) as u64
}

/// Item of a chunk that has its own thread.
enum ChunkItem {
    /// First item: start of the cursors.
    Begin(Option<Vec<Checkpoint>>),
    Block(OutputBlock),
    Note(PassNote),
    /// Following blocks may be wrong.
    Again,
    Failed(io::Error),
    /// Last item.
    End(Box<ChunkEnd>),
}

/// End of a chunk.
struct ChunkEnd {
    /// Cursor to continue with.
    cursor: Merge,
    checkpoints: Option<Vec<Checkpoint>>,
    summary: PassSummary,
}

/// A pass over merged messages, shared by all threads.
struct MergedPass<'p> {
    pass: &'p Pass,
    reader: &'p Reader<'p>,
    output: &'p dyn Output,
    observer: &'p dyn PassObserver,
    /// Start times of all chunks except the first.
    splits: Vec<i128>,
}

/// Runs a pass over merged messages into an output.
pub(super) fn run(
    pass: &Pass,
    reader: &Reader<'_>,
    output: &dyn Output,
    options: &PassOptions,
    observer: &dyn PassObserver,
) -> io::Result<PassSummary> {
    let threads = options.threads;
    // A chunk must not hold back events if the pass can end early.
    let is_cut = pass.can_end_early() || pass.skip.is_some();
    let in_chunks = output.order() == MessageOrder::Chunks && !is_cut;
    let splits = match in_chunks && (threads > 1 || options.always_chunks) {
        true => reader.chunks(options.chunk_bytes.unwrap_or_else(|| chunk_bytes(threads))),
        false => Vec::new(),
    };
    if !splits.is_empty() {
        output.prepare(&reader.data_streams(), threads);
    }
    let merged = MergedPass { pass, reader, output, observer, splits };
    let mut joiner = Joiner { merged: &merged, before: None, summary: PassSummary::default() };
    if merged.splits.is_empty() || threads < 2 {
        joiner.work_alone()?;
        return Ok(joiner.summary);
    }
    let mut result = Ok(());
    let make = |chunk: usize, items: &ChunkSender<ChunkItem>| merged.work(chunk, items);
    let on_threads = in_order(merged.splits.len() + 1, threads, room(threads), make, |chunk, items| {
        joiner.take(chunk, items).unwrap_or_else(|error| {
            result = Err(error);
            false
        })
    });
    result?;
    if let Err(error) = on_threads {
        observer.note(PassNote::OneThread(error));
        joiner.work_alone()?;
    }
    Ok(joiner.summary)
}

/// Handler that passes messages to a worker and its blocks to the output.
struct WorkerSink<'w> {
    worker: Box<dyn Worker + Send>,
    place: WorkerPlace<'w>,
    takes_damage: bool,
    /// `true` if the observer uses notes.
    takes_notes: bool,
    /// `true` if the chunk must be written again.
    is_wrong: bool,
    progress: ProgressSteps,
}

/// Thread of a worker.
enum WorkerPlace<'w> {
    /// Separate thread.
    Chunk(&'w ChunkSender<ChunkItem>),
    /// Thread that joins the chunks.
    Joiner {
        merged: &'w MergedPass<'w>,
        /// Number of notes that were already reported.
        reported: usize,
    },
}

impl<'w> WorkerSink<'w> {
    fn new(merged: &MergedPass<'_>, lane: Lane, place: WorkerPlace<'w>) -> Self {
        Self {
            worker: merged.output.worker(lane),
            place,
            takes_damage: merged.output.takes_damage(),
            takes_notes: merged.observer.takes_notes(),
            is_wrong: false,
            progress: ProgressSteps::default(),
        }
    }

    fn note(&mut self, note: PassNote) {
        match &mut self.place {
            WorkerPlace::Chunk(items) => {
                items.send(ChunkItem::Note(note));
            }
            WorkerPlace::Joiner { reported: 0, merged } => merged.observer.note(note),
            WorkerPlace::Joiner { reported, .. } => *reported -= 1,
        }
    }

    /// Passes the blocks of the worker on.
    fn pass_on(&mut self) -> io::Result<()> {
        while let Some(block) = self.worker.take() {
            match &self.place {
                WorkerPlace::Chunk(items) => {
                    if !items.send(ChunkItem::Block(block)) {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                }
                // Everything before the block is known here.
                WorkerPlace::Joiner { merged, .. } => {
                    merged.join(block)?;
                }
            }
        }
        Ok(())
    }

    /// Handles all flows except [`WorkerFlow::Continue`].
    #[cold]
    #[inline(never)]
    fn settle(&mut self, flow: WorkerFlow) -> io::Result<ControlFlow<()>> {
        if flow == WorkerFlow::Again {
            self.is_wrong = true;
            return Ok(ControlFlow::Break(()));
        }
        self.pass_on()?;
        Ok(if flow == WorkerFlow::Stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

impl Sink for WorkerSink<'_> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if !matches!(message, Message::Event(_)) {
            if self.takes_notes
                && let Some(note) = PassNote::from_message(message)
            {
                self.note(note);
            }
            if !self.takes_damage && matches!(message, Message::Damage(_)) {
                return Ok(ControlFlow::Continue(()));
            }
        }
        let flow = self.worker.message(message)?;
        if flow == WorkerFlow::Continue {
            return Ok(ControlFlow::Continue(()));
        }
        self.settle(flow)
    }

    fn precede(&mut self, event: &Event<'_>) {
        self.worker.precede(event);
    }

    fn step(&mut self, message: &Message<'_>, events: u32) -> io::Result<()> {
        if let WorkerPlace::Joiner { merged, .. } = &self.place {
            self.progress.add(message, events, merged.observer);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let WorkerPlace::Joiner { merged, .. } = self.place {
            self.worker.flush()?;
            self.pass_on()?;
            merged.output.flush()?;
        }
        Ok(())
    }
}

impl MergedPass<'_> {
    /// Returns the start of the next chunk, or `None` after the last chunk.
    fn end_of(&self, chunk: usize) -> Option<i128> {
        self.splits.get(chunk).copied()
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let bytes = block.bytes.len() as u64;
        let joined = self.output.join(block)?;
        self.observer.written(bytes);
        Ok(joined)
    }

    /// Works on a chunk without knowledge of earlier chunks.
    fn work(&self, chunk: usize, items: &ChunkSender<ChunkItem>) {
        let begin = chunk.checked_sub(1).and_then(|before| self.end_of(before));
        let mut cursor = match begin {
            Some(begin) => self.reader.cursor_from(begin),
            None => self.reader.cursor(),
        };
        if !items.send(ChunkItem::Begin(cursor.checkpoints())) {
            return;
        }
        cursor.pause_at(self.end_of(chunk));
        let start = if begin.is_some() { ChunkStart::Unjoined } else { ChunkStart::First };
        let mut handler = WorkerSink::new(self, Lane::Chunk(start), WorkerPlace::Chunk(items));
        let ended = self.run(self.end_of(chunk), &mut cursor, &mut handler);
        if handler.is_wrong {
            items.send(ChunkItem::Again);
            return;
        }
        drop(handler);
        let checkpoints = cursor.checkpoints();
        // The cursor is needed only if the next chunk must be written again.
        cursor.suspend();
        items.send(match ended {
            Ok(summary) => ChunkItem::End(Box::new(ChunkEnd { cursor, checkpoints, summary })),
            Err(error) => ChunkItem::Failed(error),
        });
    }

    /// Passes the messages of a chunk to a worker. A chunk without an end is the last.
    fn run(
        &self,
        end: Option<i128>,
        cursor: &mut Merge,
        handler: &mut WorkerSink<'_>,
    ) -> io::Result<PassSummary> {
        let mut summary = PassSummary::default();
        if self.begin_streams(handler)?.is_continue() {
            summary = self.pass.drain(handler, |take| cursor.drain_all(take))?;
        }
        if !handler.is_wrong {
            let finished = if end.is_none() { handler.worker.finish() } else { handler.worker.pause() };
            handler.pass_on()?;
            finished?;
        }
        Ok(summary)
    }

    /// Starts the data streams that start before the first event after the skipped events.
    fn begin_streams(&self, handler: &mut WorkerSink<'_>) -> io::Result<ControlFlow<()>> {
        if self.pass.skip.is_some() {
            for stream in self.reader.data_streams() {
                if handler.message(&Message::StreamBegin(&stream))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Joins the chunks.
struct Joiner<'j> {
    merged: &'j MergedPass<'j>,
    /// End of the previous chunk.
    before: Option<(Merge, Option<Vec<Checkpoint>>)>,
    summary: PassSummary,
}

impl Joiner<'_> {
    /// Takes a chunk. Returns `false` at the end of the pass.
    fn take(&mut self, chunk: usize, mut items: ChunkItems<ChunkItem>) -> io::Result<bool> {
        let begin = match items.next() {
            Some(ChunkItem::Begin(begin)) => begin,
            _ => None,
        };
        let is_right =
            chunk == 0 || self.before.as_ref().is_some_and(|(_, end)| end.is_some() && *end == begin);
        let mut reported = 0;
        let end = match is_right {
            true => self.join(items, &mut reported)?,
            // The thread of the chunk need not go on.
            false => {
                drop(items);
                None
            }
        };
        let until = self.merged.end_of(chunk);
        let end = match end {
            Some(end) => {
                self.merged.observer.progress(until, end.summary.counts.events);
                end
            }
            None => self.work_here(until, reported)?,
        };
        Ok(self.end_chunk(*end))
    }

    /// Joins the items of a chunk. Returns `None` if the chunk must be written again, without the notes that were
    /// reported already.
    fn join(
        &self,
        items: impl Iterator<Item = ChunkItem>,
        reported: &mut usize,
    ) -> io::Result<Option<Box<ChunkEnd>>> {
        for item in items {
            match item {
                ChunkItem::Begin(_) => {}
                ChunkItem::Block(block) => {
                    if self.merged.join(block)? == JoinResult::Again {
                        return Ok(None);
                    }
                }
                ChunkItem::Note(note) => {
                    *reported += 1;
                    self.merged.observer.note(note);
                }
                ChunkItem::Again => return Ok(None),
                ChunkItem::Failed(error) => return Err(error),
                ChunkItem::End(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    /// Works on all chunks on this thread.
    fn work_alone(&mut self) -> io::Result<()> {
        for chunk in 0..=self.merged.splits.len() {
            let end = self.work_here(self.merged.end_of(chunk), 0)?;
            if !self.end_chunk(*end) {
                break;
            }
        }
        Ok(())
    }

    /// Ends a chunk. Returns `false` at the end of the pass.
    fn end_chunk(&mut self, end: ChunkEnd) -> bool {
        self.summary.counts += end.summary.counts;
        self.summary.end = end.summary.end;
        self.before = Some((end.cursor, end.checkpoints));
        matches!(self.summary.end, PassEnd::Over)
    }

    /// Works on a chunk on this thread, from the end of the previous chunk, if any, to `until`.
    fn work_here(&mut self, until: Option<i128>, reported: usize) -> io::Result<Box<ChunkEnd>> {
        let merged = self.merged;
        // Without chunks, nothing follows.
        let has_chunks = !merged.splits.is_empty();
        let lane = if has_chunks { Lane::Chunk(ChunkStart::Joined) } else { Lane::All };
        let mut handler = WorkerSink::new(merged, lane, WorkerPlace::Joiner { merged, reported });
        let mut cursor = match self.before.take() {
            Some((cursor, _)) => cursor,
            None => merged.reader.cursor(),
        };
        cursor.pause_at(until);
        let summary = merged.run(until, &mut cursor, &mut handler)?;
        drop(handler);
        let checkpoints = has_chunks.then(|| cursor.checkpoints()).flatten();
        cursor.suspend();
        Ok(Box::new(ChunkEnd { cursor, checkpoints, summary }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        assert_eq!((block_size(2), room(2), chunk_bytes(2)), (BLOCK, ROOM, 2 << 20));
        for threads in 1..=95 {
            assert!(room(threads) * block_size(threads) * (threads + 1) <= WAITING, "{threads}");
        }
        assert_eq!(room(usize::MAX) * block_size(usize::MAX), 256 << 10);
    }
}
