//! Dictionaries. pandas needs different texts in them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;

/// Key for each different text.
#[derive(Default)]
pub(crate) struct LabelKeys<'l> {
    keys: HashMap<&'l str, i32>,
    labels: StringBuilder,
}

impl<'l> LabelKeys<'l> {
    /// Returns the key of a text.
    pub(crate) fn key(&mut self, label: &'l str) -> i32 {
        let next = i32::try_from(self.keys.len()).unwrap_or(i32::MAX);
        *self.keys.entry(label).or_insert_with(|| {
            self.labels.append_value(label);
            next
        })
    }

    /// Returns the column of these keys.
    pub(crate) fn finish(
        mut self,
        keys: Vec<i32>,
        validity: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        let keys = PrimitiveArray::<Int32Type>::new(keys.into(), validity);
        Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(self.labels.finish()))?))
    }
}
