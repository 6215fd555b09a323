//! Arguments as debug annotations.

use super::schema::{annotation, event};
use crate::arguments::{ArgumentSink, UNNAMED};
use crate::protobuf::{begin, end, push_bytes, push_double, push_named_bytes, push_pair, push_unsigned};

/// Argument writer for the track event at the end of `out`.
pub(super) struct Annotations<'w> {
    out: &'w mut Vec<u8>,
    /// Position and field number of each open annotation.
    open: &'w mut Vec<(usize, u32)>,
    /// Field number of the next annotation.
    field: u32,
    /// Number of arguments without a name.
    unnamed: u32,
    /// `true` if an annotation is too large.
    pub(super) is_too_large: bool,
}

impl<'w> Annotations<'w> {
    pub(super) fn new(out: &'w mut Vec<u8>, open: &'w mut Vec<(usize, u32)>) -> Self {
        open.clear();
        Self { out, open, field: event::ANNOTATIONS, unnamed: 0, is_too_large: false }
    }

    #[inline]
    fn begin(&mut self, name: u32) -> usize {
        let at = begin(self.out, self.field);
        // Array elements have no names, even if the option of a variant has a name.
        if self.field == annotation::ARRAY {
            return at;
        }
        if name != 0 {
            push_unsigned(self.out, annotation::NAME_IID, name.into());
        } else {
            push_bytes(self.out, annotation::NAME, format!("{UNNAMED}{}", self.unnamed).as_bytes());
            self.unnamed += 1;
        }
        at
    }

    /// Writes an integer. A negative integer takes ten bytes.
    #[inline]
    fn integer(&mut self, name: u32, field: u32, value: u64) {
        if name == 0 || self.field == annotation::ARRAY {
            return self.write(name, |out| push_unsigned(out, field, value));
        }
        push_pair(self.out, self.field, [(annotation::NAME_IID, name.into()), (field, value)]);
    }

    #[inline]
    fn write(&mut self, name: u32, push: impl FnOnce(&mut Vec<u8>)) {
        let at = self.begin(name);
        push(self.out);
        self.is_too_large |= !end(self.out, at);
    }
}

impl ArgumentSink for Annotations<'_> {
    #[inline]
    fn unsigned(&mut self, name: u32, value: u64) {
        self.integer(name, annotation::UNSIGNED, value);
    }

    #[inline]
    fn signed(&mut self, name: u32, value: i64) {
        self.integer(name, annotation::SIGNED, value as u64);
    }

    fn boolean(&mut self, name: u32, value: bool) {
        self.integer(name, annotation::BOOLEAN, value.into());
    }

    fn double(&mut self, name: u32, value: f64) {
        self.write(name, |out| push_double(out, annotation::DOUBLE, value));
    }

    #[inline]
    fn text(&mut self, name: u32, text: &[u8]) {
        if name == 0 || self.field == annotation::ARRAY {
            return self.write(name, |out| push_bytes(out, annotation::STRING, text));
        }
        let (name, text) = ((annotation::NAME_IID, name.into()), (annotation::STRING, text));
        self.is_too_large |= !push_named_bytes(self.out, self.field, name, text);
    }

    fn enter(&mut self, name: u32, is_array: bool) {
        let at = self.begin(name);
        let parts = if is_array { annotation::ARRAY } else { annotation::DICTIONARY };
        self.open.push((at, std::mem::replace(&mut self.field, parts)));
    }

    fn leave(&mut self) {
        if let Some((at, field)) = self.open.pop() {
            self.field = field;
            self.is_too_large |= !end(self.out, at);
        }
    }
}
