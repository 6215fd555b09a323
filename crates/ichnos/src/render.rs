//! Renders the text of a timeline by several threads. Each writes chunks with a sink of its own, and the text is
//! joined in order. It is the same for any number of threads.
//!
//! A chunk begins where its packets allow it, which is only verified by the data before it. The chunk is written
//! again, from the end of the previous chunk on, if reading the earlier data ends at other places than those at which
//! the chunk began, or if its text depends on earlier text in a way that no [`Fixup`] can correct.

mod block;
mod fixed_text;

use std::io::{self, Write};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_export::{Fixup, ResumableSink, SinkState, StreamOrder};
use ichnos_flow::{ChunkSender, in_order};
use ichnos_model::{Checkpoint, Message, Sink};

use crate::{Merged, Reader};
use block::{ItemSender, LocalItems, Pool, TextBlock};
use fixed_text::FixedText;

pub use block::ChunkWriter;

/// Size of a block of text in bytes, for a usual number of threads. Smaller ones are slower, larger ones are not
/// faster.
const BLOCK: usize = 1 << 20;
/// Size of a block that is written immediately, in bytes.
const LOCAL_BLOCK: usize = 80 << 10;
/// Maximum number of blocks of a chunk that wait to be written.
const ROOM: usize = 16;
/// Maximum size of waiting text of all chunks together in bytes, for a usual number of threads.
const WAITING: usize = 24 << 20;

/// Returns the size of blocks for a number of threads.
fn block(threads: usize) -> usize {
    // Text sinks never write less than half of the minimum size, except at the end.
    (chunk_waiting(threads) / ROOM).clamp(BLOCK / 8, BLOCK)
}

/// Returns the maximum number of waiting blocks of a chunk for a number of threads.
fn room(threads: usize) -> usize {
    (chunk_waiting(threads) / block(threads)).clamp(2, ROOM)
}

/// Returns the maximum size of a chunk's waiting text, in bytes.
fn chunk_waiting(threads: usize) -> usize {
    // There is one more open chunk than threads.
    WAITING / threads.saturating_add(1)
}

/// Returns the size of a chunk in bytes of the trace. Its text is about four times as long, chunks can be twice this
/// size, and the text should not have to wait for earlier chunks.
fn chunk_bytes(threads: usize) -> u64 {
    (room(threads) * block(threads) / 8) as u64
}

/// Options of [`Reader::render`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Number of threads that write chunks; with one thread, everything is one chunk.
    pub threads: usize,
    /// Approximate minimum size of a chunk in bytes of the trace; `None` to choose it by the number of threads.
    pub chunk_bytes: Option<u64>,
    /// Use chunks even with one thread, so that work per chunk of a given size does not depend on the number of
    /// threads.
    pub always_chunks: bool,
}

impl Default for RenderOptions {
    /// Uses as many threads as there are processors.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { threads, chunk_bytes: None, always_chunks: false }
    }
}

/// State of the sinks of a job.
type StateOf<J> = <<J as RenderJob>::Sink as ResumableSink>::State;

type ItemOf<J> = Item<<J as RenderJob>::Note, StateOf<J>, <J as RenderJob>::Outcome>;

/// Fixups in text that was not sent yet. They are sent with it: separate items would take the place of text.
type Fixups<S> = Arc<Mutex<Vec<Fixup<<S as SinkState>::Cause>>>>;

type EndOf<J> = Box<ChunkEnd<StateOf<J>, <J as RenderJob>::Outcome>>;

/// Writer of the sinks of a job.
pub type WriterOf<J> = ChunkWriter<<J as RenderJob>::Note, StateOf<J>, <J as RenderJob>::Outcome>;

/// Notes of the sinks of a job.
pub type NotesOf<J> = Notes<<J as RenderJob>::Note, StateOf<J>, <J as RenderJob>::Outcome>;

/// Processing of the messages of a chunk.
///
/// # For implementations
/// All threads share the job; each chunk has a sink of its own, made by [`sink`](Self::sink). In [`run`](Self::run),
/// pass messages to `target` in the order of the cursor, and nothing that depends on other chunks: for that, the sink
/// leaves a [`Fixup`]. Text and notes appear in the order of chunks.
pub trait RenderJob: Sync + Sized {
    /// Sink that writes the messages.
    type Sink: ResumableSink<State: 'static>;
    /// Report in addition to the text, in its order: for instance a warning.
    type Note: Send + 'static;
    /// Result of a chunk: for instance its number of events.
    type Outcome: Send + 'static;
    /// Receives notes and outcomes, on the thread that called [`Reader::render`].
    type Observer: RenderObserver<Self>;

    /// Makes the sink of a chunk.
    fn sink(&self, writer: WriterOf<Self>, notes: NotesOf<Self>) -> Self::Sink;

    /// Writes the messages of a cursor to `target`, up to the last one or until `target` returns
    /// [`ControlFlow::Break`]; [`Sink::finish`] is called afterwards.
    ///
    /// # Errors
    /// Errors of the sink.
    fn run(&self, cursor: &mut Merged, target: &mut ChunkTarget<'_, Self>) -> io::Result<Self::Outcome>;

    /// Ends a chunk; `finished` is the result of [`Sink::finish`].
    ///
    /// # Errors
    /// Errors of the sink that end the rendering.
    fn finish(
        &self,
        sink: &Self::Sink,
        finished: io::Result<()>,
        outcome: &mut Self::Outcome,
    ) -> io::Result<()> {
        let _ = (sink, outcome);
        finished
    }
}

/// Follows the work of a [`RenderJob`], on the thread that called [`Reader::render`].
///
/// # For implementations
/// Calls come in the order of the output and delay it: return quickly.
pub trait RenderObserver<J: RenderJob> {
    /// Called at a message, after `events` events since the last call.
    fn step(&mut self, message: &Message<'_>, events: u32) {
        let _ = (message, events);
    }

    /// Called with a note.
    fn note(&mut self, note: J::Note);

    /// Called at the end of a chunk; later messages are at or after `until`, in nanoseconds from the origin.
    /// `was_stepped` is `true` if the chunk was written on this thread.
    ///
    /// Returns `true` to continue.
    fn end_chunk(&mut self, outcome: J::Outcome, until: Option<i128>, was_stepped: bool) -> bool;

    /// Called if the system refuses further threads, so that this thread does all of the work.
    fn without_threads(&mut self, error: io::Error) {
        let _ = error;
    }
}

/// An item of a chunk.
enum Item<N, S: SinkState, O> {
    /// First item: the begin of the cursors.
    Begin(Option<Vec<Checkpoint>>),
    /// Next text, and its fixups.
    Text(TextBlock, Vec<Fixup<S::Cause>>),
    Note(N),
    /// The following text may be wrong.
    Rewrite,
    Failed(io::Error),
    /// Last item.
    End(Box<ChunkEnd<S, O>>),
}

/// Takes the fixups that wait to be sent.
fn take_fixups<C>(fixups: &Mutex<Vec<Fixup<C>>>) -> Vec<Fixup<C>> {
    std::mem::take(&mut *fixups.lock().unwrap_or_else(PoisonError::into_inner))
}

/// End of a chunk.
struct ChunkEnd<S: SinkState, O> {
    /// Cursor to continue with.
    cursor: Merged,
    checkpoints: Option<Vec<Checkpoint>>,
    /// Fixups after the text.
    fixups: Vec<Fixup<S::Cause>>,
    state: S,
    outcome: O,
}

/// Receives reports of a chunk's sink in addition to its text.
pub struct Notes<N, S: SinkState, O>(ItemSender<Item<N, S, O>>);

impl<N, S: SinkState, O> std::fmt::Debug for Notes<N, S, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notes").finish_non_exhaustive()
    }
}

impl<N, S: SinkState, O> Notes<N, S, O> {
    /// Sends a note. Returns `false` if no more are needed.
    pub fn send(&self, note: N) -> bool {
        self.0.send(Item::Note(note))
    }
}

/// Writes the messages of a chunk for a [`RenderJob`].
pub struct ChunkTarget<'t, J: RenderJob> {
    sink: J::Sink,
    destination: ChunkThread<'t, J>,
    must_rewrite: bool,
}

/// Thread that writes a chunk.
enum ChunkThread<'t, J: RenderJob> {
    /// A thread of its own.
    Chunk { items: &'t ChunkSender<ItemOf<J>>, fixups: Fixups<StateOf<J>> },
    /// The thread that joins the chunks.
    Local {
        items: Arc<LocalItems<ItemOf<J>>>,
        output: &'t mut dyn Write,
        written: &'t mut Written,
        observer: &'t mut J::Observer,
    },
}

impl<J: RenderJob> std::fmt::Debug for ChunkTarget<'_, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkTarget").finish_non_exhaustive()
    }
}

impl<J: RenderJob> ChunkTarget<'_, J> {
    /// Reports progress; to be called from time to time with the number of events since the last call.
    pub fn step(&mut self, message: &Message<'_>, events: u32) {
        if let ChunkThread::Local { observer, .. } = &mut self.destination {
            observer.step(message, events);
        }
    }

    /// Returns the sink that writes the messages.
    pub fn sink(&mut self) -> &mut J::Sink {
        &mut self.sink
    }

    /// Reports a note.
    pub fn note(&mut self, note: J::Note) {
        match &mut self.destination {
            ChunkThread::Chunk { items, .. } => {
                items.send(Item::Note(note));
            }
            ChunkThread::Local { written, observer, .. } => {
                if !written.was_noted() {
                    observer.note(note);
                }
            }
        }
    }

    /// Passes on the output of the sink. Returns `false` if no more is needed.
    #[inline(always)]
    fn settle(&mut self) -> io::Result<bool> {
        match &mut self.destination {
            ChunkThread::Chunk { items, fixups } => {
                while let Some(fixup) = self.sink.next_fixup() {
                    fixups.lock().unwrap_or_else(PoisonError::into_inner).push(fixup);
                }
                if self.sink.must_rewrite() {
                    self.must_rewrite = true;
                    items.send(Item::Rewrite);
                    return Ok(false);
                }
            }
            ChunkThread::Local { items, output, written, observer } => {
                while let Some(item) = items.next() {
                    take_local::<J>(item, *output, written, *observer)?;
                }
            }
        }
        Ok(true)
    }
}

/// Takes an item of a chunk that is written on this thread.
#[cold]
fn take_local<J: RenderJob>(
    item: ItemOf<J>,
    output: &mut dyn Write,
    written: &mut Written,
    observer: &mut J::Observer,
) -> io::Result<()> {
    match item {
        Item::Text(block, _) => written.write_rest(&block.bytes, output)?,
        Item::Note(note) if !written.was_noted() => observer.note(note),
        // All earlier text is known here.
        _ => {}
    }
    Ok(())
}

impl<J: RenderJob> Sink for ChunkTarget<'_, J> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        let flow = self.sink.message(message)?;
        if !self.settle()? {
            return Ok(ControlFlow::Break(()));
        }
        Ok(flow)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()?;
        self.settle()?;
        match &mut self.destination {
            ChunkThread::Local { output, .. } => output.flush(),
            ChunkThread::Chunk { .. } => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let finished = self.sink.finish();
        self.settle()?;
        finished
    }
}

/// Output of a chunk from before it had to be written again; that much is skipped.
#[derive(Debug, Default)]
struct Written {
    bytes: u64,
    notes: u64,
}

impl Written {
    /// Writes the part of a text that was not written yet.
    fn write_rest(&mut self, text: &[u8], output: &mut dyn Write) -> io::Result<()> {
        let skipped = usize::try_from(self.bytes).unwrap_or(usize::MAX).min(text.len());
        self.bytes -= skipped as u64;
        output.write_all(text.get(skipped..).unwrap_or_default())
    }

    /// Returns `true` for each note that was already reported. To be called once per note.
    fn was_noted(&mut self) -> bool {
        let was_noted = self.notes > 0;
        self.notes = self.notes.saturating_sub(1);
        was_noted
    }
}

impl Reader<'_> {
    /// Writes all messages with the sinks of a job, on several threads; the text is the same for any number of
    /// threads. At most some megabytes of text per thread wait to be written, 24 MiB in total.
    ///
    /// # Errors
    /// Errors of the sinks, and if the output cannot be written.
    pub fn render<J: RenderJob>(
        &self,
        job: &J,
        options: &RenderOptions,
        output: &mut dyn Write,
        observer: &mut J::Observer,
    ) -> io::Result<()> {
        let threads = options.threads;
        let size = options.chunk_bytes.unwrap_or_else(|| chunk_bytes(threads));
        let has_chunks = threads > 1 || options.always_chunks;
        let splits = if has_chunks { self.chunks(size) } else { Vec::new() };
        let needs_order = J::Sink::NEEDS_ORDER && !splits.is_empty();
        let order = if needs_order { self.stream_order() } else { StreamOrder::default() };
        let work = Work { reader: self, job, threads, order, splits };
        let state = StateOf::<J>::default();
        let mut joiner = Joiner { work: &work, output, observer, before: None, state };
        if work.splits.is_empty() || threads < 2 {
            return joiner.write_alone();
        }
        let mut result = Ok(());
        let make = |chunk: usize, items: &ChunkSender<ItemOf<J>>| work.make(chunk, items);
        let on_threads = in_order(work.splits.len() + 1, threads, room(threads), make, |chunk, items| {
            match joiner.take(chunk, items) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    result = Err(error);
                    false
                }
            }
        });
        result?;
        if let Err(error) = on_threads {
            joiner.observer.without_threads(error);
            return joiner.write_alone();
        }
        Ok(())
    }

    /// Writes all messages with the sinks made by `sink`, like [`Reader::render`].
    ///
    /// # Errors
    /// Errors of the sinks, and if the output cannot be written.
    ///
    /// ```no_run
    /// use ichnos::jsonl::{JsonLines, JsonLinesOptions};
    /// use ichnos::prelude::*;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = ichnos::open(["my-trace"], &OpenOptions::default())?;
    /// let reader = session.reader(Window::default(), |_| true)?;
    /// let mut text = Vec::new();
    /// reader.write_all(&ichnos::render::RenderOptions::default(), &mut text, |writer| {
    ///     JsonLines::new(writer, JsonLinesOptions::default())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_all<S, T>(
        &self,
        options: &RenderOptions,
        output: &mut dyn Write,
        sink: impl Fn(ChunkWriter<(), T, ()>) -> S + Sync,
    ) -> io::Result<()>
    where
        S: ResumableSink<State = T>,
        T: SinkState + 'static,
    {
        self.render(&Everything { make: sink, types: PhantomData }, options, output, &mut ())
    }

    /// Returns the order of the selected data streams, which is that of their cursors.
    fn stream_order(&self) -> StreamOrder {
        let all = self.data_streams();
        StreamOrder::new(all.iter().map(|stream| &**stream))
    }
}

/// Data shared by all chunks.
struct Work<'w, J> {
    reader: &'w Reader<'w>,
    job: &'w J,
    threads: usize,
    order: StreamOrder,
    /// Begin times of chunks, except the first one.
    splits: Vec<i128>,
}

impl<J: RenderJob> Work<'_, J> {
    /// Returns the begin of the chunk after this one, or `None` after the last one.
    fn end_of(&self, chunk: usize) -> Option<i128> {
        self.splits.get(chunk).copied()
    }

    /// Writes a chunk without knowledge of earlier ones.
    fn make(&self, chunk: usize, items: &ChunkSender<ItemOf<J>>) {
        let begin = chunk.checked_sub(1).and_then(|before| self.end_of(before));
        let mut cursor = match begin {
            Some(begin) => self.reader.cursor_from(begin),
            None => self.reader.cursor(),
        };
        if !items.send(Item::Begin(cursor.checkpoints())) {
            return;
        }
        cursor.pause_at(self.end_of(chunk));
        let sender = ItemSender::Chunk(items.clone());
        let fixups = Fixups::<StateOf<J>>::default();
        let pool = Pool::of_thread(block(self.threads), ROOM);
        let writer = ChunkWriter::new(sender.clone(), pool, Arc::clone(&fixups));
        let mut sink = self.job.sink(writer, Notes(sender));
        if begin.is_some() {
            sink.resume(&self.order, None);
        }
        let mut target = ChunkTarget {
            sink,
            destination: ChunkThread::Chunk { items, fixups: Arc::clone(&fixups) },
            must_rewrite: false,
        };
        let ended = self.run(self.end_of(chunk), &mut cursor, &mut target);
        if target.must_rewrite {
            // The text up to here is correct.
            return;
        }
        let (state, checkpoints) = (target.sink.state(), cursor.checkpoints());
        // The cursor is needed only if the next chunk has to be written again.
        cursor.suspend();
        // Sends the rest of the text first.
        drop(target);
        items.send(match ended {
            Ok(outcome) => {
                let fixups = take_fixups(&fixups);
                Item::End(Box::new(ChunkEnd { cursor, checkpoints, fixups, state, outcome }))
            }
            Err(error) => Item::Failed(error),
        });
    }

    /// Writes the messages of a chunk; without an end, it is the last one.
    fn run(
        &self,
        end: Option<i128>,
        cursor: &mut Merged,
        target: &mut ChunkTarget<'_, J>,
    ) -> io::Result<J::Outcome> {
        let mut outcome = self.job.run(cursor, target)?;
        let finished = if end.is_none() { target.sink.finish() } else { target.sink.pause() };
        target.settle()?;
        self.job.finish(&target.sink, finished, &mut outcome)?;
        Ok(outcome)
    }
}

/// Joins the text of chunks.
struct Joiner<'j, 'w, J: RenderJob> {
    work: &'j Work<'w, J>,
    output: &'j mut dyn Write,
    observer: &'j mut J::Observer,
    /// End of the previous chunk.
    before: Option<(Merged, Option<Vec<Checkpoint>>)>,
    state: StateOf<J>,
}

impl<J: RenderJob> Joiner<'_, '_, J> {
    /// Takes a chunk. Returns `false` at the end of the output.
    fn take(&mut self, chunk: usize, items: Receiver<ItemOf<J>>) -> io::Result<bool> {
        let mut items = items.into_iter();
        let begin = match items.next() {
            Some(Item::Begin(begin)) => begin,
            _ => None,
        };
        let is_right =
            chunk == 0 || self.before.as_ref().is_some_and(|(_, end)| end.is_some() && *end == begin);
        let mut written = Written::default();
        let state = self.state.clone();
        let end = if is_right { self.write(items, &mut written)? } else { None };
        let was_stepped = end.is_none();
        let end = match end {
            Some(end) => end,
            None => {
                self.state = state;
                let cursor = self.before.take().map(|(cursor, _)| cursor);
                self.write_here(cursor, self.work.end_of(chunk), written)?
            }
        };
        let ChunkEnd { cursor, checkpoints, state, outcome, .. } = *end;
        self.state = std::mem::take(&mut self.state).then(state);
        self.before = Some((cursor, checkpoints));
        Ok(self.observer.end_chunk(outcome, self.work.end_of(chunk), was_stepped))
    }

    /// Writes the items of a chunk. Returns `None` if the chunk has to be written again, except the part in
    /// `written`.
    fn write(
        &mut self,
        items: impl Iterator<Item = ItemOf<J>>,
        written: &mut Written,
    ) -> io::Result<Option<EndOf<J>>> {
        let mut text = FixedText::default();
        for item in items {
            match item {
                Item::Begin(_) => {}
                Item::Text(block, fixups) => {
                    text.add(fixups);
                    let write = &mut |text: &[u8]| {
                        written.bytes += text.len() as u64;
                        self.output.write_all(text)
                    };
                    if !text.write(&block.bytes, &mut self.state, write)? {
                        return Ok(None);
                    }
                }
                Item::Note(note) => {
                    written.notes += 1;
                    self.observer.note(note);
                }
                Item::Rewrite => return Ok(None),
                Item::Failed(error) => return Err(error),
                Item::End(mut end) => {
                    text.add(std::mem::take(&mut end.fixups));
                    return Ok(text.resolve_rest(&mut self.state).then_some(end));
                }
            }
        }
        Ok(None)
    }

    /// Writes everything on this thread.
    fn write_alone(&mut self) -> io::Result<()> {
        for chunk in 0..=self.work.splits.len() {
            let (before, until) = (self.before.take().map(|(cursor, _)| cursor), self.work.end_of(chunk));
            let end = self.write_here(before, until, Written::default())?;
            let ChunkEnd { cursor, checkpoints, state, outcome, .. } = *end;
            self.state = std::mem::take(&mut self.state).then(state);
            self.before = Some((cursor, checkpoints));
            if !self.observer.end_chunk(outcome, until, true) {
                break;
            }
        }
        Ok(())
    }

    /// Writes a chunk on this thread, except the part already written: from the end of the previous chunk, if there
    /// is one, up to `until`.
    fn write_here(
        &mut self,
        before: Option<Merged>,
        until: Option<i128>,
        mut written: Written,
    ) -> io::Result<EndOf<J>> {
        let work = self.work;
        let items = Arc::new(LocalItems::default());
        let sender = ItemSender::Local(Arc::clone(&items));
        let writer =
            ChunkWriter::new(sender.clone(), Pool::new(LOCAL_BLOCK, 2), Fixups::<StateOf<J>>::default());
        let mut sink = work.job.sink(writer, Notes(sender));
        if before.is_some() {
            sink.resume(&work.order, Some(self.state.clone()));
        }
        let mut cursor = before.unwrap_or_else(|| work.reader.cursor());
        cursor.pause_at(until);
        let destination = ChunkThread::Local {
            items,
            output: &mut *self.output,
            written: &mut written,
            observer: &mut *self.observer,
        };
        let mut target = ChunkTarget { sink, destination, must_rewrite: false };
        let outcome = work.run(until, &mut cursor, &mut target)?;
        // Without chunks, nothing follows.
        let has_chunks = !work.splits.is_empty();
        let checkpoints = has_chunks.then(|| cursor.checkpoints()).flatten();
        let state = if has_chunks { target.sink.state() } else { StateOf::<J>::default() };
        drop(target);
        cursor.suspend();
        Ok(Box::new(ChunkEnd { cursor, checkpoints, fixups: Vec::new(), state, outcome }))
    }
}

/// Job that writes all messages with the sinks of a function.
struct Everything<F, S, T> {
    make: F,
    types: PhantomData<fn() -> (S, T)>,
}

impl<S, T, F> RenderJob for Everything<F, S, T>
where
    S: ResumableSink<State = T>,
    T: SinkState + 'static,
    F: Fn(ChunkWriter<(), T, ()>) -> S + Sync,
{
    type Sink = S;
    type Note = ();
    type Outcome = ();
    type Observer = ();

    fn sink(&self, writer: ChunkWriter<(), T, ()>, _: Notes<(), T, ()>) -> S {
        (self.make)(writer)
    }

    fn run(&self, cursor: &mut Merged, target: &mut ChunkTarget<'_, Self>) -> io::Result<()> {
        let mut result = Ok(());
        cursor.drain_all(&mut |message| match target.message(message) {
            Ok(flow) => flow,
            Err(error) => {
                result = Err(error);
                ControlFlow::Break(())
            }
        });
        result
    }
}

impl<J: RenderJob<Note = (), Outcome = (), Observer = ()>> RenderObserver<J> for () {
    fn note(&mut self, (): ()) {}

    fn end_chunk(&mut self, (): (), _: Option<i128>, _: bool) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        assert_eq!((block(2), room(2), chunk_bytes(2)), (BLOCK / 2, ROOM, 1 << 20));
        for threads in 1..=95 {
            assert!(room(threads) * block(threads) * (threads + 1) <= WAITING, "{threads}");
        }
        assert_eq!(room(usize::MAX) * block(usize::MAX), 256 << 10);
    }
}
