//! Locks whose contents remain valid if a thread panics.

use std::sync::PoisonError;

/// Access to the contents of a lock that a panicking thread held: all contents are valid between two statements.
///
/// # For implementations
/// All results of locks have it. Other types do not need it.
pub trait IgnorePoison {
    /// Contents, or their guard.
    type Contents;

    /// Returns the contents, even if a thread panicked while it held the lock.
    fn ignore_poison(self) -> Self::Contents;
}

impl<T> IgnorePoison for Result<T, PoisonError<T>> {
    type Contents = T;

    #[inline]
    fn ignore_poison(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
