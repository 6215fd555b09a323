//! Ctrl-C.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ichnos::query::QueryError;
use pyo3::prelude::*;

use crate::failure::CallFailure;

/// Number of calls between two looks at the clock.
const CALLS: u32 = 4_096;

/// Time between two looks at signals.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// Number of the thread that runs signal handlers.
static MAIN: OnceLock<usize> = OnceLock::new();

/// Notes the thread that runs signal handlers.
pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    let main = py.import("threading")?.call_method0("main_thread")?.getattr("ident")?.extract()?;
    let _ = MAIN.set(main);
    Ok(())
}

/// Looks for signals from time to time, without the interpreter's lock in between.
#[derive(Debug)]
pub(crate) struct Interrupts {
    calls: u32,
    last: Instant,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self { calls: 0, last: Instant::now() }
    }
}

impl Interrupts {
    /// Looks for signals, if it is time.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<(), CallFailure> {
        self.calls += 1;
        if self.calls < CALLS { Ok(()) } else { self.look() }
    }

    /// Does work that asks from time to time whether it goes on. A signal ends it.
    pub(crate) fn during<T>(
        &mut self,
        work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, QueryError>,
    ) -> Result<T, CallFailure> {
        let mut signal = None;
        let found = work(&mut || {
            if signal.is_none() {
                signal = self.look().err();
            }
            signal.is_none()
        });
        match signal {
            Some(signal) => Err(signal),
            None => Ok(found?),
        }
    }

    /// Looks for signals, if the last look was long ago.
    pub(crate) fn look(&mut self) -> Result<(), CallFailure> {
        self.calls = 0;
        if self.last.elapsed() < INTERVAL {
            return Ok(());
        }
        self.last = Instant::now();
        // Other threads run no handlers. Waiting for the lock there could block a thread that waits for this one.
        if !is_main_thread() {
            return Ok(());
        }
        Python::attach(|py| py.check_signals()).map_err(CallFailure::from_signal)
    }
}

/// Returns `true` for the thread that runs signal handlers.
pub(crate) fn is_main_thread() -> bool {
    MAIN.get().is_some_and(|main| *main == this_thread())
}

/// Returns the number of this thread in Python.
#[allow(unsafe_code)]
pub(crate) fn this_thread() -> usize {
    // SAFETY: it only asks the operating system, and can be called without the lock.
    unsafe { pyo3::ffi::PyThread_get_thread_ident() as usize }
}
