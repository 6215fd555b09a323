//! Blocks of text, on their way from the sink of a chunk to the output.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_export::{SinkState, TextWriter};
use ichnos_flow::ChunkSender;

use super::{Fixups, Item, take_fixups};

/// Buffers that were written and can be filled again: new memory costs more than what is done with it, and
/// so does what another processor has in its cache.
#[derive(Debug)]
pub(super) struct Pool {
    size: usize,
    most: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    /// A pool of at most `most` buffers that hold `size` bytes.
    pub(super) fn new(size: usize, most: usize) -> Arc<Self> {
        Arc::new(Self { size, most, free: Mutex::default() })
    }

    /// That of this thread, of the size that was asked for first.
    pub(super) fn of_thread(size: usize, most: usize) -> Arc<Self> {
        thread_local! {
            static POOL: OnceCell<Arc<Pool>> = const { OnceCell::new() };
        }
        POOL.with(|pool| Arc::clone(pool.get_or_init(|| Self::new(size, most))))
    }

    fn take(&self) -> io::Result<Vec<u8>> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(free) = free {
            return Ok(free);
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(self.size)?;
        Ok(buffer)
    }
}

/// A block of text, in a buffer that goes back to its pool.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pool: Arc<Pool>,
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.clear();
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Long lines make long blocks, and the first one of a chunk is short.
        if free.len() < self.pool.most && (self.pool.size..=2 * self.pool.size).contains(&buffer.capacity()) {
            free.push(buffer);
        }
    }
}

/// Items that wait on the thread that takes them.
#[derive(Debug)]
pub(super) struct LocalItems<I> {
    /// Whether there are items: asked for after each message.
    are_there: AtomicBool,
    items: Mutex<VecDeque<I>>,
}

impl<I> Default for LocalItems<I> {
    fn default() -> Self {
        Self { are_there: AtomicBool::new(false), items: Mutex::new(VecDeque::new()) }
    }
}

impl<I> LocalItems<I> {
    /// Takes the next item.
    #[inline]
    pub(super) fn next(&self) -> Option<I> {
        if self.are_there.load(Ordering::Relaxed) { self.take() } else { None }
    }

    #[cold]
    fn take(&self) -> Option<I> {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let item = items.pop_front();
        self.are_there.store(!items.is_empty(), Ordering::Relaxed);
        item
    }

    fn add(&self, item: I) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        items.push_back(item);
        self.are_there.store(true, Ordering::Relaxed);
    }
}

/// Where the items of a chunk go.
#[derive(Debug)]
pub(super) enum ItemSender<I> {
    /// To the thread that takes the chunks.
    Chunk(ChunkSender<I>),
    /// This is that thread.
    Local(Arc<LocalItems<I>>),
}

impl<I> Clone for ItemSender<I> {
    fn clone(&self) -> Self {
        match self {
            Self::Chunk(sender) => Self::Chunk(sender.clone()),
            Self::Local(items) => Self::Local(Arc::clone(items)),
        }
    }
}

impl<I> ItemSender<I> {
    /// False: no more is wanted.
    pub(super) fn send(&self, item: I) -> bool {
        match self {
            Self::Chunk(sender) => sender.send(item),
            Self::Local(items) => {
                items.add(item);
                true
            }
        }
    }
}

/// Writes the text of a chunk: what the sinks that [`RenderJob::sink`](super::RenderJob::sink) makes write
/// to. Blocks are the buffers that the sink has filled, and are not copied.
pub struct ChunkWriter<N, S: SinkState, O> {
    sender: ItemSender<Item<N, S, O>>,
    pool: Arc<Pool>,
    /// The last block, of a chunk that is written on another thread: fixups in it have to be sent before.
    last: Option<Vec<u8>>,
    /// Those in what was written and not sent.
    fixups: Fixups<S>,
}

impl<N, S: SinkState, O> std::fmt::Debug for ChunkWriter<N, S, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkWriter").finish_non_exhaustive()
    }
}

impl<N, S: SinkState, O> ChunkWriter<N, S, O> {
    pub(super) fn new(sender: ItemSender<Item<N, S, O>>, pool: Arc<Pool>, fixups: Fixups<S>) -> Self {
        let last = matches!(sender, ItemSender::Chunk(_)).then(Vec::new);
        Self { sender, pool, last, fixups }
    }

    fn send(&mut self, next: Vec<u8>) -> io::Result<()> {
        let bytes = match &mut self.last {
            Some(last) => std::mem::replace(last, next),
            None => next,
        };
        if bytes.is_empty() {
            return Ok(());
        }
        let block = Block { bytes, pool: Arc::clone(&self.pool) };
        if self.sender.send(Item::Text(block, take_fixups(&self.fixups))) {
            return Ok(());
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

impl<N, S: SinkState, O> TextWriter for ChunkWriter<N, S, O> {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        // What is written before its buffer is full is the last block of a chunk, which needs no other buffer.
        let is_last = self.last.is_some() && text.len() < self.pool.size.min(text.capacity()) / 4 * 3;
        let next = if is_last { Vec::new() } else { self.pool.take()? };
        self.send(std::mem::replace(text, next))
    }

    fn flush_text(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<N, S: SinkState, O> Drop for ChunkWriter<N, S, O> {
    fn drop(&mut self) {
        // If it is not wanted any more, it is not missed.
        let _ = self.send(Vec::new());
    }
}
