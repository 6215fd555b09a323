//! Validity of column values.

use arrow_buffer::{NullBuffer, NullBufferBuilder};

/// Validity of values. Only missing values are recorded, because most values are present.
#[derive(Debug)]
pub(crate) struct ValidityBuilder(NullBufferBuilder);

impl ValidityBuilder {
    pub(crate) fn new() -> Self {
        Self(NullBufferBuilder::new(0))
    }

    /// Records a missing value at this index. Earlier values must be recorded first.
    #[inline]
    pub(crate) fn push_null(&mut self, index: usize) {
        self.0.append_n_non_nulls(index.saturating_sub(self.0.len()));
        self.0.append_null();
    }

    /// Records a number of missing values from this index on.
    pub(crate) fn push_nulls(&mut self, index: usize, count: usize) {
        self.0.append_n_non_nulls(index.saturating_sub(self.0.len()));
        self.0.append_n_nulls(count);
    }

    /// Forgets the values from this index on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the validity of this number of values, and resets it. Returns `None` if no value is missing.
    pub(crate) fn finish(&mut self, len: usize) -> Option<NullBuffer> {
        self.0.append_n_non_nulls(len.saturating_sub(self.0.len()));
        self.0.finish()
    }
}
