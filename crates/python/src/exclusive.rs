//! State of iterators that one call at a time uses.

use std::process;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::interrupts::this_thread;

/// Time between two looks at whether another thread has finished.
const PAUSE: Duration = Duration::from_millis(1);

/// Value that one call at a time uses. A call that would wait for ever is an exception.
pub(crate) struct Exclusive<T> {
    value: Mutex<T>,
    /// Thread and process of the call. Changed only with the interpreter's lock, during which no process forks.
    thread: AtomicUsize,
    process: AtomicU32,
}

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), thread: AtomicUsize::new(0), process: AtomicU32::new(0) }
    }

    /// Waits for calls of other threads.
    ///
    /// A signal handler or a finalizer can run during a call in the same thread, and a forked process lacks the thread of
    /// the call. Both are a `ValueError`, as for a generator.
    pub(crate) fn enter(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, T>> {
        let (thread, process) = (this_thread(), process::id());
        loop {
            let value = match self.value.try_lock() {
                Ok(value) => value,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    let is_own = self.thread.load(Ordering::Relaxed) == thread;
                    if is_own || self.process.load(Ordering::Relaxed) != process {
                        return Err(PyValueError::new_err("iterator already executing"));
                    }
                    py.detach(|| thread::sleep(PAUSE));
                    py.check_signals()?;
                    continue;
                }
            };
            self.thread.store(thread, Ordering::Relaxed);
            self.process.store(process, Ordering::Relaxed);
            return Ok(value);
        }
    }
}
