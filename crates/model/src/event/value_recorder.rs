//! Fields of bits as values.

use crate::{EventValues, Field, FieldValue, Real, Text, Uuid, Visitor, Wide};

/// Records the fields of a scope of bits as values.
pub(crate) struct Recorder<'v>(pub(crate) &'v mut EventValues);

impl Visitor for Recorder<'_> {
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0.push(value);
    }

    fn signed(&mut self, _: Field<'_>, value: i64) {
        self.0.push(value);
    }

    fn wide(&mut self, _: Field<'_>, value: Wide<'_>) {
        self.0.push(FieldValue::Wide(value));
    }

    fn boolean(&mut self, _: Field<'_>, value: bool, _: u64) {
        self.0.push(value);
    }

    fn bit_array(&mut self, _: Field<'_>, bits: u64) {
        self.0.push(FieldValue::Bits(bits));
    }

    fn bit_map(&mut self, _: Field<'_>, bits: u64) {
        self.0.push(FieldValue::Bits(bits));
    }

    fn real(&mut self, _: Field<'_>, value: Real<'_>) {
        self.0.push(FieldValue::Real(value));
    }

    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        self.0.push(FieldValue::Text(value.bytes));
    }

    fn blob(&mut self, _: Field<'_>, bytes: &[u8]) {
        self.0.push(FieldValue::Blob(bytes));
    }

    fn guid(&mut self, _: Field<'_>, value: Uuid) {
        self.0.push(value);
    }

    fn null(&mut self, _: Field<'_>) {
        self.0.push(FieldValue::Null);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        // The values of the root structure are those of the scope.
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
