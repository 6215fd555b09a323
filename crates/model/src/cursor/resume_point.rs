//! Places from which the rest of a data stream is read.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Place in a data stream of a growing file, from which the rest can be read after the file was opened again: see
/// [`OpenedTrace::cursor_at`](crate::OpenedTrace::cursor_at). Only the format knows its content.
#[derive(Clone)]
pub struct ResumePoint(Arc<dyn Any + Send + Sync>);

impl ResumePoint {
    /// Creates a place from the state of a reader.
    pub fn new<T: Any + Send + Sync>(state: T) -> Self {
        Self(Arc::new(state))
    }

    /// Returns the state, if it has this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for ResumePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResumePoint")
    }
}
