//! Id and buffer for each thread.

use std::cell::Cell;

use crate::log::MAX_RECORD_WORDS;

thread_local! {
    /// Thread id. 0 until first use.
    static ID: Cell<u64> = const { Cell::new(0) };
    /// Record buffer. `None` while in use.
    static BUFFER: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Returns the id of the current thread.
#[inline]
pub(super) fn id() -> u64 {
    ID.with(|id| {
        if id.get() == 0 {
            id.set(ask_id());
        }
        id.get()
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn ask_id() -> u64 {
    u64::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[cold]
fn ask_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static THREADS: AtomicU64 = AtomicU64::new(0);
    1 + THREADS.fetch_add(1, Ordering::Relaxed)
}

/// Calls `take` with a record buffer.
///
/// If formatting a value causes another log event, that record gets a separate buffer. The same is true for records
/// logged at thread exit.
#[inline]
pub(super) fn with_buffer<R>(take: impl FnOnce(&mut [u8]) -> R) -> R {
    let kept = BUFFER.try_with(Cell::take).ok().flatten();
    let mut buffer = kept.unwrap_or_else(|| vec![0; MAX_RECORD_WORDS * 8].into_boxed_slice());
    let result = take(&mut buffer);
    let _ = BUFFER.try_with(|place| place.set(Some(buffer)));
    result
}
