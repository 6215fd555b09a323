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
    ask_filters_again();
}

/// Stops taking events, and makes filters disable them.
pub(super) fn switch_off() {
    switch_off_silently();
    ask_filters_again();
}

/// Filters of `tracing` are asked once for each place, so that their answer costs nothing.
fn ask_filters_again() {
    #[cfg(feature = "tracing")]
    tracing_core::callsite::rebuild_interest_cache();
}

/// Stops taking events, without a lock.
pub(super) fn switch_off_silently() {
    RECORDING.store(0, Ordering::Relaxed);
}
