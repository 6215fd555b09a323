//! Text blocks on their way from a sink to the output.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ichnos_export::TextWriter;
use ichnos_model::locks::IgnorePoison as _;

/// Written buffers for reuse. Allocating memory, or using memory in the cache of another processor, costs more than
/// filling it.
#[derive(Debug)]
pub(super) struct BufferPool {
    size: usize,
    most: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl BufferPool {
    /// Creates a pool of at most `most` buffers of `size` bytes.
    pub(super) fn new(size: usize, most: usize) -> Arc<Self> {
        Arc::new(Self { size, most, free: Mutex::default() })
    }

    /// Returns this thread's pool, with the size from the first request.
    pub(super) fn of_thread(size: usize, most: usize) -> Arc<Self> {
        thread_local! {
            static POOL: OnceCell<Arc<BufferPool>> = const { OnceCell::new() };
        }
        POOL.with(|pool| Arc::clone(pool.get_or_init(|| Self::new(size, most))))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.free.lock().ignore_poison()
    }

    fn take(&self) -> io::Result<Vec<u8>> {
        if let Some(free) = self.lock().pop() {
            return Ok(free);
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(self.size)?;
        Ok(buffer)
    }

    /// Returns a buffer to the pool.
    pub(super) fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut free = self.lock();
        // Long lines make long blocks, and the first block of a chunk is short.
        if free.len() < self.most && (self.size..=2 * self.size).contains(&buffer.capacity()) {
            free.push(buffer);
        }
    }
}

/// Text and warnings that a sink has written and its worker has not taken.
#[derive(Debug, Default)]
pub(super) struct WrittenText {
    /// `true` if something can be taken. It is checked after each message.
    is_ready: AtomicBool,
    content: Mutex<WrittenContent>,
}

/// Content of a [`WrittenText`].
#[derive(Debug, Default)]
pub(super) struct WrittenContent {
    pub(super) blocks: VecDeque<Vec<u8>>,
    pub(super) warnings: Vec<Vec<u8>>,
}

impl WrittenText {
    /// Returns `true` if something can be taken.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Takes the next block, which can be empty, and all warnings. Returns `None` without text and warnings.
    pub(super) fn take(&self) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
        if !self.is_ready() {
            return None;
        }
        let mut content = self.content.lock().ignore_poison();
        let block = content.blocks.pop_front().unwrap_or_default();
        self.is_ready.store(!content.blocks.is_empty(), Ordering::Relaxed);
        Some((block, std::mem::take(&mut content.warnings)))
    }

    fn add(&self, add: impl FnOnce(&mut WrittenContent)) {
        add(&mut self.content.lock().ignore_poison());
        self.is_ready.store(true, Ordering::Relaxed);
    }
}

/// Writer for a sink of a [`TextOutput`](crate::TextOutput). Its blocks are the buffers that the sink has filled,
/// without copies.
#[derive(Debug)]
pub struct BlockWriter {
    pub(super) written: Arc<WrittenText>,
    pub(super) pool: Arc<BufferPool>,
    /// `true` if a partly filled block is the last block.
    pub(super) is_chunk: bool,
}

impl BlockWriter {
    /// Returns a writer for sink warnings. Each write is one warning.
    #[must_use]
    pub fn warnings(&self) -> BlockWarnings {
        BlockWarnings(Arc::clone(&self.written))
    }
}

impl TextWriter for BlockWriter {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        // A partly filled block is the last block of a chunk, which needs no further buffer.
        let is_last = self.is_chunk && text.len() < self.pool.size.min(text.capacity()) / 4 * 3;
        let next = if is_last { Vec::new() } else { self.pool.take()? };
        let block = std::mem::replace(text, next);
        self.written.add(|content| content.blocks.push_back(block));
        Ok(())
    }

    fn flush_text(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writer for warnings: see [`BlockWriter::warnings`].
#[derive(Debug)]
pub struct BlockWarnings(Arc<WrittenText>);

impl Write for BlockWarnings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(|content| content.warnings.push(bytes.to_vec()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
