//! What ends waits.

use crate::events::ThreadNames;

/// What woke up a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waker {
    /// The thread with this number.
    Thread(u64, ThreadNames),
    /// An interrupt, with its name if it is known.
    Interrupt(Option<String>),
}
