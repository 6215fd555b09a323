//! Wakeup causes.

use crate::events::ThreadNames;

/// Wakeup cause.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waker {
    /// Thread with this number.
    Thread(u64, ThreadNames),
    /// Interrupt, with its name if known.
    Interrupt(Option<String>),
}
