//! Code address names of a trace.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::stack::Symbols;
use crate::trace::lazy::Lazy;

/// Code address names: loaded once, or all that are known so far.
#[derive(Default)]
pub(super) struct TraceSymbols {
    loaded: Lazy<Arc<Symbols>>,
    arriving: OnceLock<Box<dyn Fn() -> Arc<Symbols> + Send + Sync>>,
}

impl TraceSymbols {
    /// Sets the function that loads the names, if it is not set.
    pub(super) fn set(&self, load: impl Fn() -> Symbols + Send + Sync + 'static) {
        self.loaded.set(move || Arc::new(load()));
    }

    /// Sets the function that returns the names so far, if it is not set.
    pub(super) fn set_arriving(&self, lookup: impl Fn() -> Arc<Symbols> + Send + Sync + 'static) {
        // Later functions are dropped.
        let _ = self.arriving.set(Box::new(lookup));
    }

    pub(super) fn get(&self) -> Arc<Symbols> {
        match self.arriving.get() {
            Some(lookup) => lookup(),
            None => Arc::clone(self.loaded.get()),
        }
    }
}

impl fmt::Debug for TraceSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSymbols").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}
