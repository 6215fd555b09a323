//! Which recording takes events.

use std::sync::atomic::{AtomicU16, Ordering};

/// Number of the recording that takes events, or 0.
static RECORDING: AtomicU16 = AtomicU16::new(0);

/// Returns the number of the recording that takes events, or 0.
#[inline]
pub(super) fn recording() -> u16 {
    RECORDING.load(Ordering::Relaxed)
}

/// Makes a recording take events.
pub(super) fn switch_on(number: u16) {
    RECORDING.store(number, Ordering::Relaxed);
}

/// Stops taking events.
pub(super) fn switch_off() {
    RECORDING.store(0, Ordering::Relaxed);
}
