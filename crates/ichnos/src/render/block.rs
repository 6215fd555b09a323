//! Blocks of text on their way from the sink of a chunk to the output.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_export::{SinkState, TextWriter};
use ichnos_flow::ChunkSender;

use super::{Fixups, Item, take_fixups};

/// Written buffers for reuse: allocating memory, or using memory in another processor's cache, costs more than
/// filling it.
#[derive(Debug)]
pub(super) struct Pool {
    size: usize,
    most: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    /// Makes a pool of at most `most` buffers of `size` bytes.
    pub(super) fn new(size: usize, most: usize) -> Arc<Self> {
        Arc::new(Self { size, most, free: Mutex::default() })
    }

    /// Returns the pool of this thread, with the size of the first request.
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

/// A block of text, whose buffer returns to its pool.
#[derive(Debug)]
pub(super) struct TextBlock {
    pub(super) bytes: Vec<u8>,
    pool: Arc<Pool>,
}

impl Drop for TextBlock {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.clear();
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Long lines make long blocks, and the first block of a chunk is short.
        if free.len() < self.pool.most && (self.pool.size..=2 * self.pool.size).contains(&buffer.capacity()) {
            free.push(buffer);
        }
    }
}

/// Items for the thread that created them.
#[derive(Debug)]
pub(super) struct LocalItems<I> {
    /// `true` if there are items; checked after each message.
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

/// Destination of a chunk's items.
#[derive(Debug)]
pub(super) enum ItemSender<I> {
    /// The thread that takes the chunks.
    Chunk(ChunkSender<I>),
    /// The current thread, which takes the chunks.
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
    /// Sends an item. Returns `false` if no more are needed.
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

/// Writer of a chunk's text, for the sinks that [`RenderJob::sink`](super::RenderJob::sink) makes. Blocks are the
/// buffers that the sink has filled, without copies.
pub struct ChunkWriter<N, S: SinkState, O> {
    sender: ItemSender<Item<N, S, O>>,
    pool: Arc<Pool>,
    /// Last block of a chunk that is written on another thread: its fixups have to be sent first.
    last: Option<Vec<u8>>,
    /// Fixups in text that was not sent yet.
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
        let block = TextBlock { bytes, pool: Arc::clone(&self.pool) };
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
        // A block written before its buffer is full is the last one of a chunk, which needs no other buffer.
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
        // The block is not needed if the receiver is gone.
        let _ = self.send(Vec::new());
    }
}
