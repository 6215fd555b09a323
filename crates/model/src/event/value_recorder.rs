//! Records bit fields as values.

use crate::event::EventValues;
use crate::field::{Field, FieldValue, Visitor};

/// Records the fields in a bit scope as values.
pub(crate) struct Recorder<'v>(pub(crate) &'v mut EventValues);

impl Visitor for Recorder<'_> {
    fn value(&mut self, _: Field<'_>, value: FieldValue<'_>) {
        self.0.push(value);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        // The scope stands for its root structure.
        if field.index() != 0 {
            self.0.begin_structure();
        }
    }

    fn end_structure(&mut self, field: Field<'_>) {
        if field.index() != 0 {
            self.0.end();
        }
    }

    fn begin_array(&mut self, _: Field<'_>, _: u64) {
        self.0.begin_array();
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.0.end();
    }

    fn begin_optional(&mut self, _: Field<'_>, present: bool, _: i128) {
        self.0.push_optional(present);
    }

    fn begin_variant(&mut self, _: Field<'_>, option: usize, _: i128) {
        self.0.push_variant(option);
    }

    fn begin_union(&mut self, _: Field<'_>) {
        self.0.begin_structure();
    }

    fn end_union(&mut self, _: Field<'_>) {
        self.0.end();
    }
}
