//! Validity of the values of a column.

use arrow_buffer::{NullBuffer, NullBufferBuilder};

/// Validity of values, most of which are present: only missing ones are noted, so that a value takes nothing.
#[derive(Debug)]
pub(crate) struct Validity(NullBufferBuilder);

impl Validity {
    pub(crate) fn new() -> Self {
        Self(NullBufferBuilder::new(0))
    }

    /// Records that the value with this index is missing. Earlier values must be recorded first.
    #[inline]
    pub(crate) fn push_null(&mut self, index: usize) {
        self.0.append_n_non_nulls(index.saturating_sub(self.0.len()));
        self.0.append_null();
    }

    /// Records that a number of values from this index on are missing.
    pub(crate) fn push_nulls(&mut self, index: usize, count: usize) {
        self.0.append_n_non_nulls(index.saturating_sub(self.0.len()));
        self.0.append_n_nulls(count);
    }

    /// Forgets values from this index on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the validity of this number of values, `None` if none is missing, and begins a new one.
    pub(crate) fn finish(&mut self, len: usize) -> Option<NullBuffer> {
        self.0.append_n_non_nulls(len.saturating_sub(self.0.len()));
        self.0.finish()
    }
}
