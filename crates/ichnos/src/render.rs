//! Text of a timeline, written by several threads: each writes chunks of it with a sink of its own, and the
//! text is joined in order. It is the same for any number of threads.
//!
//! A chunk begins where the packets say that it can. Only what comes before shows whether that is true: where
//! reading what comes before ends at other places than those that the chunk began at, or where its text
//! depends on the text before in a way that no [`Fixup`] can make right, the chunk is written again, from the
//! end of the chunk before on.

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
use block::{Block, ItemSender, LocalItems, Pool};
use fixed_text::FixedText;

pub use block::ChunkWriter;

/// Bytes that a block of text can hold, on a common number of threads. Smaller ones take longer, larger ones
/// do not take less.
const BLOCK: usize = 1 << 20;
/// Bytes of a block that is written at once.
const LOCAL_BLOCK: usize = 80 << 10;
/// How many blocks of a chunk may wait to be written, at most.
const ROOM: usize = 16;
/// Bytes of text that may wait to be written, of all chunks together, on a common number of threads.
const WAITING: usize = 24 << 20;

/// How large blocks are on this number of threads.
fn block(threads: usize) -> usize {
    // Sinks of text never write less than half of the least size, but at the end.
    (chunk_waiting(threads) / ROOM).clamp(BLOCK / 8, BLOCK)
}

/// How many blocks of a chunk may wait to be written on this number of threads.
fn room(threads: usize) -> usize {
    (chunk_waiting(threads) / block(threads)).clamp(2, ROOM)
}

/// How many bytes of a chunk may wait to be written.
fn chunk_waiting(threads: usize) -> usize {
    // One chunk more than there are threads is begun.
    WAITING / threads.saturating_add(1)
}

/// Bytes of the trace in a chunk: text is some four times as long, chunks can be twice as long as that, and
/// the text should not have to wait for the chunks before.
fn chunk_bytes(threads: usize) -> u64 {
    (room(threads) * block(threads) / 8) as u64
}

/// How [`Reader::render`] uses threads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RenderOptions {
    /// How many threads write chunks; with one, everything is one chunk.
    pub threads: usize,
    /// Bytes of the trace in a chunk, at least about; None: what suits the number of threads.
    pub chunk_bytes: Option<u64>,
    /// Whether there are chunks with one thread, too: then what is done for each chunk of a given size does
    /// not depend on the number of threads.
    pub always_chunks: bool,
}

impl Default for RenderOptions {
    /// As many threads as there are processors.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { threads, chunk_bytes: None, always_chunks: false }
    }
}

/// The state of the sinks of a job.
type StateOf<J> = <<J as RenderJob>::Sink as ResumableSink>::State;

type ItemOf<J> = Item<<J as RenderJob>::Note, StateOf<J>, <J as RenderJob>::Outcome>;

/// Fixups in text that was not sent yet. They go with it: as items of their own they would take the room of text.
type Fixups<S> = Arc<Mutex<Vec<Fixup<<S as SinkState>::Cause>>>>;

type EndOf<J> = Box<ChunkEnd<StateOf<J>, <J as RenderJob>::Outcome>>;

/// Where the sinks of a job write.
pub type WriterOf<J> = ChunkWriter<<J as RenderJob>::Note, StateOf<J>, <J as RenderJob>::Outcome>;

/// Where the sinks of a job report.
pub type NotesOf<J> = Notes<<J as RenderJob>::Note, StateOf<J>, <J as RenderJob>::Outcome>;

/// What is done with the messages of a chunk.
///
/// # For implementations
/// All threads share the job; each chunk has a sink of its own, which [`sink`](Self::sink) makes. In
/// [`run`](Self::run), pass messages to `target` in the order of the cursor, and nothing that depends on other
/// chunks: what does, the sink leaves as a [`Fixup`]. Text and notes appear in the order
/// of chunks.
pub trait RenderJob: Sync + Sized {
    /// Writes the messages.
    type Sink: ResumableSink<State: 'static>;
    /// What is reported beside the text, in its order: for instance a warning.
    type Note: Send + 'static;
    /// What is known at the end of a chunk: for instance how many events there were.
    type Outcome: Send + 'static;
    /// What takes notes and outcomes, on the thread that called [`Reader::render`].
    type Observer: RenderObserver<Self>;

    /// Makes the sink of a chunk.
    fn sink(&self, writer: WriterOf<Self>, notes: NotesOf<Self>) -> Self::Sink;

    /// Writes the messages of a cursor to `target`, up to the last one or to where that returns
    /// [`ControlFlow::Break`]; [`Sink::finish`] is called afterwards.
    ///
    /// # Errors
    /// Those of the sink.
    fn run(&self, cursor: &mut Merged, target: &mut Target<'_, Self>) -> io::Result<Self::Outcome>;

    /// Ends a chunk; `finished` is what [`Sink::finish`] has returned.
    ///
    /// # Errors
    /// Those of the sink which end everything.
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
    /// Work has come to this message, after `events` events since the last time.
    fn step(&mut self, message: &Message<'_>, events: u32) {
        let _ = (message, events);
    }

    /// Something is reported.
    fn note(&mut self, note: J::Note);

    /// A chunk has ended; what comes next is at or after `until`, in nanoseconds from the origin.
    /// `was_stepped`: it was written on this thread.
    ///
    /// Returns whether to go on.
    fn end_chunk(&mut self, outcome: J::Outcome, until: Option<i128>, was_stepped: bool) -> bool;

    /// The system refuses further threads: everything is done on this one.
    fn without_threads(&mut self, error: io::Error) {
        let _ = error;
    }
}

/// An item of a chunk.
enum Item<N, S: SinkState, O> {
    /// The first one: where the cursors begin.
    Begin(Option<Vec<Checkpoint>>),
    /// The next text, and the fixups in it.
    Text(Block, Vec<Fixup<S::Cause>>),
    Note(N),
    /// What follows may be wrong.
    Rewrite,
    Failed(io::Error),
    /// The last one.
    End(Box<ChunkEnd<S, O>>),
}

/// Takes the fixups that wait to be sent.
fn take_fixups<C>(fixups: &Mutex<Vec<Fixup<C>>>) -> Vec<Fixup<C>> {
    std::mem::take(&mut *fixups.lock().unwrap_or_else(PoisonError::into_inner))
}

/// How a chunk ended.
struct ChunkEnd<S: SinkState, O> {
    /// To go on.
    cursor: Merged,
    checkpoints: Option<Vec<Checkpoint>>,
    /// Those behind the text.
    fixups: Vec<Fixup<S::Cause>>,
    state: S,
    outcome: O,
}

/// Where the sink of a chunk reports what is to be known beside its text.
pub struct Notes<N, S: SinkState, O>(ItemSender<Item<N, S, O>>);

impl<N, S: SinkState, O> std::fmt::Debug for Notes<N, S, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notes").finish_non_exhaustive()
    }
}

impl<N, S: SinkState, O> Notes<N, S, O> {
    /// Reports something; false: no more is wanted.
    pub fn send(&self, note: N) -> bool {
        self.0.send(Item::Note(note))
    }
}

/// Where a [`RenderJob`] writes the messages of a chunk.
pub struct Target<'t, J: RenderJob> {
    sink: J::Sink,
    destination: Destination<'t, J>,
    must_rewrite: bool,
}

/// On which thread a chunk is written.
enum Destination<'t, J: RenderJob> {
    /// On one of its own.
    Chunk { items: &'t ChunkSender<ItemOf<J>>, fixups: Fixups<StateOf<J>> },
    /// On the one that joins the chunks.
    Local {
        items: Arc<LocalItems<ItemOf<J>>>,
        output: &'t mut dyn Write,
        written: &'t mut Written,
        observer: &'t mut J::Observer,
    },
}

impl<J: RenderJob> std::fmt::Debug for Target<'_, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").finish_non_exhaustive()
    }
}

impl<J: RenderJob> Target<'_, J> {
    /// Says how far the work is: to be called now and then, with the number of events since the last time.
    pub fn step(&mut self, message: &Message<'_>, events: u32) {
        if let Destination::Local { observer, .. } = &mut self.destination {
            observer.step(message, events);
        }
    }

    /// What writes the messages.
    pub fn sink(&mut self) -> &mut J::Sink {
        &mut self.sink
    }

    /// Reports something.
    pub fn note(&mut self, note: J::Note) {
        match &mut self.destination {
            Destination::Chunk { items, .. } => {
                items.send(Item::Note(note));
            }
            Destination::Local { written, observer, .. } => {
                if !written.was_noted() {
                    observer.note(note);
                }
            }
        }
    }

    /// Passes on what the sink has written. False: no more is wanted.
    #[inline(always)]
    fn settle(&mut self) -> io::Result<bool> {
        match &mut self.destination {
            Destination::Chunk { items, fixups } => {
                while let Some(fixup) = self.sink.next_fixup() {
                    fixups.lock().unwrap_or_else(PoisonError::into_inner).push(fixup);
                }
                if self.sink.must_rewrite() {
                    self.must_rewrite = true;
                    items.send(Item::Rewrite);
                    return Ok(false);
                }
            }
            Destination::Local { items, output, written, observer } => {
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
        // Nothing is unknown of what comes before.
        _ => {}
    }
    Ok(())
}

impl<J: RenderJob> Sink for Target<'_, J> {
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
            Destination::Local { output, .. } => output.flush(),
            Destination::Chunk { .. } => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let finished = self.sink.finish();
        self.settle()?;
        finished
    }
}

/// What was written of a chunk before it has to be written again: that much is skipped.
#[derive(Debug, Default)]
struct Written {
    bytes: u64,
    notes: u64,
}

impl Written {
    /// Writes what is not written.
    fn write_rest(&mut self, text: &[u8], output: &mut dyn Write) -> io::Result<()> {
        let skipped = usize::try_from(self.bytes).unwrap_or(usize::MAX).min(text.len());
        self.bytes -= skipped as u64;
        output.write_all(text.get(skipped..).unwrap_or_default())
    }

    /// Whether a note is one of those that were reported before, each of which is asked for once.
    fn was_noted(&mut self) -> bool {
        let was_noted = self.notes > 0;
        self.notes = self.notes.saturating_sub(1);
        was_noted
    }
}

impl Reader<'_> {
    /// Writes all messages with the sinks of a job, on several threads; the text is the same for any number
    /// of them. Each thread has at most some megabytes of text that wait to be written, 24 MiB in all.
    ///
    /// # Errors
    /// Those of the sinks, and if the output cannot be written.
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

    /// Writes all messages with the sinks that `sink` makes, like [`Reader::render`].
    ///
    /// # Errors
    /// Those of the sinks, and if the output cannot be written.
    ///
    /// ```no_run
    /// use ichnos::export::{JsonLines, JsonLinesOptions};
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

    /// All data streams that are wanted, in the order of their cursors.
    fn stream_order(&self) -> StreamOrder {
        let all = self.data_streams();
        StreamOrder::new(all.iter().map(|stream| &**stream))
    }
}

/// What all chunks have in common.
struct Work<'w, J> {
    reader: &'w Reader<'w>,
    job: &'w J,
    threads: usize,
    order: StreamOrder,
    /// The times at which chunks begin, but for the first one.
    splits: Vec<i128>,
}

impl<J: RenderJob> Work<'_, J> {
    /// When the chunk after this one begins; None after the last one.
    fn end_of(&self, chunk: usize) -> Option<i128> {
        self.splits.get(chunk).copied()
    }

    /// Writes a chunk, without knowing what comes before.
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
        let mut target = Target {
            sink,
            destination: Destination::Chunk { items, fixups: Arc::clone(&fixups) },
            must_rewrite: false,
        };
        let ended = self.run(self.end_of(chunk), &mut cursor, &mut target);
        if target.must_rewrite {
            // What was written before is right.
            return;
        }
        let (state, checkpoints) = (target.sink.state(), cursor.checkpoints());
        // It is needed only if the next chunk has to be written again.
        cursor.suspend();
        // What is left of the text goes first.
        drop(target);
        items.send(match ended {
            Ok(outcome) => {
                let fixups = take_fixups(&fixups);
                Item::End(Box::new(ChunkEnd { cursor, checkpoints, fixups, state, outcome }))
            }
            Err(error) => Item::Failed(error),
        });
    }

    /// Writes the messages of a chunk, of the last one if it has no end.
    fn run(
        &self,
        end: Option<i128>,
        cursor: &mut Merged,
        target: &mut Target<'_, J>,
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
    /// The end of the chunk before.
    before: Option<(Merged, Option<Vec<Checkpoint>>)>,
    state: StateOf<J>,
}

impl<J: RenderJob> Joiner<'_, '_, J> {
    /// Takes a chunk; false if that is the end of it all.
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

    /// Writes the items of a chunk; None if it has to be written again, but for what was `written`.
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

    /// Writes a chunk on this thread, but for what was written of it: from where the chunk before has ended,
    /// if there is one, until this time.
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
        let destination = Destination::Local {
            items,
            output: &mut *self.output,
            written: &mut written,
            observer: &mut *self.observer,
        };
        let mut target = Target { sink, destination, must_rewrite: false };
        let outcome = work.run(until, &mut cursor, &mut target)?;
        // Where there are no chunks, nothing comes after.
        let has_chunks = !work.splits.is_empty();
        let checkpoints = has_chunks.then(|| cursor.checkpoints()).flatten();
        let state = if has_chunks { target.sink.state() } else { StateOf::<J>::default() };
        drop(target);
        cursor.suspend();
        Ok(Box::new(ChunkEnd { cursor, checkpoints, fixups: Vec::new(), state, outcome }))
    }
}

/// Writes everything that there is, with the sinks of a function.
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

    fn run(&self, cursor: &mut Merged, target: &mut Target<'_, Self>) -> io::Result<()> {
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
