//! Work that Ctrl-C stops.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use pyo3::prelude::*;

use crate::failure::{CallFailure, caught, detached};
use crate::interrupts::{INTERVAL, is_main_thread};

/// Stops the work of the main thread. There is one at a time, because signals reach only that thread.
static STOP: AtomicBool = AtomicBool::new(false);

/// Never stops work.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Returns the number of processors.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does work that cannot be stopped, without the interpreter's lock. After Ctrl-C, a thread ends the work alone.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, CallFailure> + Send + 'static,
) -> Result<T, CallFailure> {
    if !is_main_thread() {
        return detached(py, work);
    }
    py.detach(|| {
        let (done, result) = mpsc::channel();
        let run = move || drop(done.send(caught(work)));
        let started = thread::Builder::new().spawn(run);
        started.map_err(|error| CallFailure::new(format!("a thread cannot be started: {error}")))?;
        loop {
            match result.recv_timeout(INTERVAL) {
                Ok(found) => return found,
                Err(RecvTimeoutError::Timeout) => {
                    Python::attach(|py| py.check_signals()).map_err(CallFailure::from_signal)?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CallFailure::new("internal error: a thread ended"));
                }
            }
        }
    })
}

/// Does work that looks at a flag, without the interpreter's lock.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&'static AtomicBool) -> Result<T, CallFailure> + Send,
) -> Result<T, CallFailure> {
    if !is_main_thread() {
        return detached(py, || work(&NEVER));
    }
    STOP.store(false, Ordering::Relaxed);
    py.detach(|| {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel();
            let worker = scope.spawn(move || {
                let found = caught(|| work(&STOP));
                let _ = done.send(());
                found
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(INTERVAL) {
                if signal.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals())
                {
                    STOP.store(true, Ordering::Relaxed);
                    signal = Some(error);
                }
            }
            let found =
                worker.join().unwrap_or_else(|_| Err(CallFailure::new("internal error: a thread ended")));
            signal.map_or(found, |signal| Err(CallFailure::from_signal(signal)))
        })
    })
}
