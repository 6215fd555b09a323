//! Locks with contents that remain valid if a thread panics.

use std::sync::PoisonError;

/// Returns the contents of a lock, even if a thread panicked while it held the lock. The contents must be valid after
/// each statement.
///
/// ```
/// use std::sync::Mutex;
/// use ichnos_model::locks::IgnorePoison as _;
///
/// let count = Mutex::new(1);
/// *count.lock().ignore_poison() += 1;
/// assert_eq!(count.into_inner().ignore_poison(), 2);
/// ```
///
/// # For implementations
/// Implemented for the results of all locks. Other types do not need it.
pub trait IgnorePoison {
    /// Contents of the lock, or their guard.
    type Contents;

    /// Returns the contents.
    fn ignore_poison(self) -> Self::Contents;
}

impl<T> IgnorePoison for Result<T, PoisonError<T>> {
    type Contents = T;

    #[inline]
    fn ignore_poison(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
