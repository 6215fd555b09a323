//! Sink text as the output of a pass.

mod blocks;
mod fixup_resolver;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use ichnos_export::{Fixup, NullStatistics, ResumableSink, SinkState, StreamOrder, Undecoded};
use ichnos_io::{
    ChunkStart, CreateError, JoinResult, Lane, MessageOrder, Output, OutputBlock, Worker, WorkerFlow,
    WriteReport,
};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::{DataStream, Event, Message};

use crate::pass::{ROOM, block_size};
pub use blocks::{BlockWarnings, BlockWriter};
use blocks::{BufferPool, WrittenText};
use fixup_resolver::FixupResolver;

/// Size of an immediately written block, in bytes.
const LOCAL_BLOCK: usize = 80 << 10;

type StateOf<S> = <S as ResumableSink>::State;

type CauseOf<S> = <StateOf<S> as SinkState>::Cause;

/// Output that writes the text of sinks. Each worker has its own sink, and the text is joined in order. It is the
/// same for any number of threads.
///
/// If the text of a chunk depends on earlier text in a way that a [`Fixup`] cannot correct, the chunk is written
/// again.
///
/// ```no_run
/// use ichnos::TextOutput;
/// use ichnos::export::{Details, DetailsOptions};
/// use ichnos::prelude::*;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = ichnos::open(["my-trace"], &OpenOptions::default())?;
/// let mut text = Vec::new();
/// let output = TextOutput::new(&mut text, |writer| Details::new(writer, DetailsOptions::default()));
/// session.reader()?.pass().write(&output)?;
/// # Ok(())
/// # }
/// ```
pub struct TextOutput<'o, S: ResumableSink> {
    make: Box<dyn Fn(BlockWriter) -> S + Send + Sync + 'o>,
    /// `true` if sinks receive damage.
    takes_damage: bool,
    /// Data stream order and block size, set for work in chunks.
    chunks: OnceLock<(StreamOrder, usize)>,
    joined: Mutex<JoinedText<'o, StateOf<S>>>,
}

impl<S: ResumableSink> std::fmt::Debug for TextOutput<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextOutput").finish_non_exhaustive()
    }
}

/// Text so far.
struct JoinedText<'o, S: SinkState> {
    writer: Box<dyn Write + Send + 'o>,
    warnings: Box<dyn Write + Send + 'o>,
    /// State after the joined part of the current chunk.
    state: S,
    /// State before the current chunk.
    before: S,
    /// `true` if a chunk is complete.
    has_chunk: bool,
    resolver: FixupResolver<S::Cause>,
    /// Position in the current chunk, in bytes and warnings. A chunk that is written again starts at 0.
    position: (u64, usize),
    /// Largest written position in the current chunk.
    written: (u64, usize),
    undecoded: u64,
    statistics: Option<NullStatistics>,
}

/// Data of a block besides its text.
struct TextBlockData<S: ResumableSink> {
    fixups: Vec<Fixup<CauseOf<S>>>,
    warnings: Vec<Vec<u8>>,
    pool: Arc<BufferPool>,
    /// Present in the last block of a worker.
    end: Option<TextEnd<StateOf<S>>>,
}

/// End of a worker's text.
struct TextEnd<S> {
    /// `None` if nothing follows.
    state: Option<S>,
    undecoded: u64,
    statistics: Option<NullStatistics>,
}

impl<'o, S: ResumableSink> TextOutput<'o, S> {
    /// Creates an output that writes to `writer`. `make` creates the sink of each worker and is called by several
    /// threads.
    pub fn new(writer: impl Write + Send + 'o, make: impl Fn(BlockWriter) -> S + Send + Sync + 'o) -> Self {
        let joined = JoinedText {
            writer: Box::new(writer),
            warnings: Box::new(io::stderr()),
            state: StateOf::<S>::default(),
            before: StateOf::<S>::default(),
            has_chunk: false,
            resolver: FixupResolver::default(),
            position: (0, 0),
            written: (0, 0),
            undecoded: 0,
            statistics: None,
        };
        Self { make: Box::new(make), takes_damage: true, chunks: OnceLock::new(), joined: Mutex::new(joined) }
    }

    /// Writes [warnings of sinks](BlockWriter::warnings) to `warnings` instead of the standard error output.
    #[must_use]
    pub fn warnings_to(self, warnings: impl Write + Send + 'o) -> Self {
        self.lock().warnings = Box::new(warnings);
        self
    }

    /// Hides damage from the sinks.
    #[must_use]
    pub fn without_damage(self) -> Self {
        Self { takes_damage: false, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, JoinedText<'o, StateOf<S>>> {
        self.joined.lock().ignore_poison()
    }
}

impl<S: SinkState> JoinedText<'_, S> {
    /// Restarts the current chunk.
    fn restart(&mut self) {
        self.state = self.before.clone();
        self.resolver = FixupResolver::default();
        self.position = (0, 0);
    }

    fn warn(&mut self, warnings: Vec<Vec<u8>>) {
        for warning in warnings {
            self.position.1 += 1;
            if self.position.1 > self.written.1 {
                self.written.1 = self.position.1;
                // A failed warning must not lose text, as if the sink had printed it.
                let _ = self.warnings.write_all(&warning);
            }
        }
    }

    /// Writes a block without its already written part. Returns `false` if the chunk must be written again.
    fn write(&mut self, block: &[u8]) -> io::Result<bool> {
        let Self { resolver, state, writer, position: (position, _), written: (written, _), .. } = self;
        resolver.write(block, state, &mut |text| {
            let skipped = usize::try_from(written.saturating_sub(*position)).unwrap_or(usize::MAX);
            *position += text.len() as u64;
            *written = (*written).max(*position);
            writer.write_all(text.get(skipped..).unwrap_or_default())
        })
    }

    /// Ends a chunk. Returns `false` if the chunk must be written again.
    fn end(&mut self, end: TextEnd<S>) -> bool {
        if !self.resolver.resolve_rest(&mut self.state) {
            return false;
        }
        self.undecoded = self.undecoded.saturating_add(end.undecoded);
        if let Some(statistics) = end.statistics {
            *self.statistics.get_or_insert_default() += statistics;
        }
        if let Some(state) = end.state {
            self.before = std::mem::take(&mut self.state).then(state);
            self.has_chunk = true;
            self.written = (0, 0);
            self.restart();
        }
        true
    }
}

impl<S> Output for TextOutput<'_, S>
where
    S: ResumableSink + Send + 'static,
{
    fn order(&self) -> MessageOrder {
        MessageOrder::Chunks
    }

    fn takes_damage(&self) -> bool {
        self.takes_damage
    }

    fn prepare(&self, streams: &[Arc<DataStream>], threads: usize) {
        let order = match S::NEEDS_ORDER {
            true => StreamOrder::new(streams.iter().map(|stream| &**stream)),
            false => StreamOrder::default(),
        };
        // A second call has no effect.
        let _ = self.chunks.set((order, block_size(threads)));
    }

    fn worker(&self, lane: Lane) -> Box<dyn Worker + Send> {
        let on_thread = matches!(lane, Lane::Chunk(ChunkStart::First | ChunkStart::Unjoined));
        let pool = match self.chunks.get().filter(|_| on_thread) {
            Some((_, size)) => BufferPool::of_thread(*size, ROOM),
            None => BufferPool::new(LOCAL_BLOCK, 2),
        };
        let written = Arc::new(WrittenText::default());
        let writer =
            BlockWriter { written: Arc::clone(&written), pool: Arc::clone(&pool), is_chunk: on_thread };
        let mut sink = (self.make)(writer);
        let order = || self.chunks.get().map(|(order, _)| order.clone()).unwrap_or_default();
        match lane {
            Lane::Chunk(ChunkStart::Unjoined) => sink.resume(&order(), None),
            Lane::Chunk(ChunkStart::Joined) => {
                let mut joined = self.lock();
                joined.restart();
                if joined.has_chunk {
                    sink.resume(&order(), Some(joined.before.clone()));
                }
            }
            _ => {}
        }
        Box::new(TextWorker {
            sink,
            written,
            pool,
            is_unjoined: lane == Lane::Chunk(ChunkStart::Unjoined),
            has_state: matches!(lane, Lane::Chunk(_)),
            fixups: Vec::new(),
            end: None,
        })
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let Some(data) = block.data.and_then(|data| data.downcast::<TextBlockData<S>>().ok()) else {
            return Ok(JoinResult::Done);
        };
        let mut joined = self.lock();
        joined.warn(data.warnings);
        joined.resolver.add(data.fixups);
        let is_right = joined.write(&block.bytes)? && data.end.is_none_or(|end| joined.end(end));
        data.pool.put(block.bytes);
        Ok(if is_right { JoinResult::Done } else { JoinResult::Again })
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().writer.flush()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let joined = self.joined.into_inner().ignore_poison();
        let mut report = WriteReport::default();
        report.undecoded = joined.undecoded;
        if let Some(statistics) = joined.statistics {
            (report.bytes, report.packets) = (statistics.bytes, statistics.packets);
            (report.events, report.checksum) = (statistics.events, Some(statistics.checksum));
        }
        Ok(report)
    }
}

/// Worker with its own sink.
struct TextWorker<S: ResumableSink> {
    sink: S,
    written: Arc<WrittenText>,
    pool: Arc<BufferPool>,
    /// `true` if the sink does not know the earlier text.
    is_unjoined: bool,
    /// `true` if more text can follow this worker's text.
    has_state: bool,
    /// Fixups in text that was not taken yet.
    fixups: Vec<Fixup<CauseOf<S>>>,
    end: Option<TextEnd<StateOf<S>>>,
}

impl<S: ResumableSink> TextWorker<S> {
    fn take_fixups(&mut self) {
        while let Some(fixup) = self.sink.next_fixup() {
            self.fixups.push(fixup);
        }
    }

    /// Ends the text with the result of the sink.
    fn end(&mut self, finished: io::Result<()>) -> io::Result<()> {
        let undecoded = match finished {
            Ok(()) => 0,
            Err(error) => Undecoded::from_error(&error).map(|undecoded| undecoded.count).ok_or(error)?,
        };
        self.take_fixups();
        let state = self.has_state.then(|| self.sink.state());
        self.end = Some(TextEnd { state, undecoded, statistics: self.sink.statistics() });
        Ok(())
    }
}

impl<S> Worker for TextWorker<S>
where
    S: ResumableSink + Send + 'static,
{
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        let flow = self.sink.message(message)?;
        if self.is_unjoined {
            self.take_fixups();
            if self.sink.must_rewrite() {
                return Ok(WorkerFlow::Again);
            }
        }
        Ok(match flow {
            ControlFlow::Break(()) => WorkerFlow::Stop,
            ControlFlow::Continue(()) if self.written.is_ready() => WorkerFlow::Block,
            ControlFlow::Continue(()) => WorkerFlow::Continue,
        })
    }

    fn precede(&mut self, event: &Event<'_>) {
        self.sink.precede(event);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let (bytes, warnings, end) = match self.written.take() {
            Some((bytes, warnings)) => (bytes, warnings, None),
            None => (Vec::new(), Vec::new(), Some(self.end.take()?)),
        };
        let (fixups, pool) = (std::mem::take(&mut self.fixups), Arc::clone(&self.pool));
        let data = TextBlockData::<S> { fixups, warnings, pool, end };
        Some(OutputBlock { bytes, data: Some(Box::new(data)), ..OutputBlock::default() })
    }

    fn pause(&mut self) -> io::Result<()> {
        let finished = self.sink.pause();
        self.end(finished)
    }

    fn finish(&mut self) -> io::Result<()> {
        let finished = self.sink.finish();
        self.end(finished)
    }
}
