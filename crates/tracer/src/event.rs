//! Rust types as events.

use crate::description::EventDescription;
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicU32, Ordering};

/// A Rust type as an event, with a layout that is known at compile time.
///
/// # For implementations
///
/// Derive it: `#[derive(TraceEvent)]`.
pub trait TraceEvent {
    /// Event record class.
    const DESCRIPTION: EventDescription<'static>;
    /// Number of bytes in the fixed part of the payload.
    const FIXED: usize;
    /// Alignment of the payload in bytes.
    const ALIGNMENT: usize;

    /// Returns the place where recordings remember the class.
    fn site() -> &'static EventSite;

    /// Returns the number of bytes in the variable part of the payload.
    fn variable_size(&self) -> usize;

    /// Writes the payload: the fixed part and the variable part.
    fn write(&self, out: &mut [u8]);
}

/// Place where recordings remember the id of an event record class. Without the feature `std`, there is nothing to
/// remember.
#[derive(Debug, Default)]
pub struct EventSite {
    /// Number of the recording in the upper half, and id in the lower half.
    #[cfg(feature = "std")]
    id: AtomicU32,
}

impl EventSite {
    /// Creates an empty place.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            #[cfg(feature = "std")]
            id: AtomicU32::new(0),
        }
    }

    /// Returns the id in a recording, if it is known.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn id(&self, recording: u16) -> Option<u16> {
        let id = self.id.load(Ordering::Acquire);
        ((id >> 16) as u16 == recording).then_some(id as u16)
    }

    #[cfg(feature = "std")]
    pub(crate) fn set_id(&self, recording: u16, id: u16) {
        self.id.store(u32::from(recording) << 16 | u32::from(id), Ordering::Release);
    }
}
