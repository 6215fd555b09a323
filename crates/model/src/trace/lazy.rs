//! Lazy values.

use std::fmt;
use std::sync::OnceLock;

/// A value that a function loads on first use; the default value without a function.
pub(crate) struct Lazy<T> {
    load: OnceLock<Box<dyn Fn() -> T + Send + Sync>>,
    loaded: OnceLock<T>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self { load: OnceLock::new(), loaded: OnceLock::new() }
    }
}

impl<T: Default> Lazy<T> {
    /// Sets the function, if it is not set.
    pub(crate) fn set(&self, load: impl Fn() -> T + Send + Sync + 'static) {
        // Later functions are dropped.
        let _ = self.load.set(Box::new(load));
    }

    pub(crate) fn get(&self) -> &T {
        self.loaded.get_or_init(|| self.load.get().map_or_else(T::default, |load| load()))
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("loaded", &self.loaded.get()).finish_non_exhaustive()
    }
}
