//! Arguments as JSON object members.

use std::io::Write as _;

use ichnos_json::write::{push_string, push_utf8};

use crate::arguments::{ArgumentSink, UNNAMED};
use ichnos_analysis::events::names::NumberedNames;
use ichnos_export::number;

/// Largest integer that a JavaScript number holds exactly.
pub(super) const EXACT: u64 = 1 << 53;

/// Argument writer for JSON object members.
pub(super) struct JsonArguments<'w> {
    pub(super) out: &'w mut Vec<u8>,
    names: &'w NumberedNames,
    /// `true` if the innermost object or array has members.
    has_members: bool,
    /// Closing brackets of the open objects and arrays.
    open: &'w mut Vec<u8>,
    /// Number of arguments without a name.
    unnamed: u32,
}

impl<'w> JsonArguments<'w> {
    /// Continues an object without members. `open` is a buffer.
    pub(super) fn new(out: &'w mut Vec<u8>, names: &'w NumberedNames, open: &'w mut Vec<u8>) -> Self {
        Self { out, names, has_members: false, open, unnamed: 0 }
    }

    /// Continues JSON that [`Self::begin_root`] started.
    #[cfg(feature = "firefox")]
    pub(super) fn resume(out: &'w mut Vec<u8>, names: &'w NumberedNames, open: &'w mut Vec<u8>) -> Self {
        let has_members = !matches!(out.last(), None | Some(b'{' | b'['));
        Self { out, names, has_members, open, unnamed: 0 }
    }

    /// Starts an array or object without a name.
    pub(super) fn begin_root(&mut self, is_array: bool) {
        let [open, close] = if is_array { *b"[]" } else { *b"{}" };
        self.out.push(open);
        self.open.push(close);
        self.has_members = false;
    }

    #[inline]
    fn push_prefix(&mut self, name: u32) {
        if std::mem::replace(&mut self.has_members, true) {
            self.out.push(b',');
        }
        match name {
            // Array elements have no names, even if the option of a variant has a name.
            _ if self.open.last() == Some(&b']') => return,
            0 => {
                // Writing into memory cannot fail.
                let _ = write!(self.out, "\"{UNNAMED}{}\"", self.unnamed);
                self.unnamed += 1;
            }
            name => push_string(self.out, self.names.name(name)),
        }
        self.out.push(b':');
    }

    /// Closes containers that a failed decoding left open.
    pub(super) fn close(&mut self) {
        while !self.open.is_empty() {
            self.leave();
        }
    }
}

impl ArgumentSink for JsonArguments<'_> {
    #[inline]
    fn unsigned(&mut self, name: u32, value: u64) {
        self.push_prefix(name);
        if value <= EXACT {
            return number::push_unsigned(self.out, value);
        }
        self.out.push(b'"');
        number::push_unsigned(self.out, value);
        self.out.push(b'"');
    }

    #[inline]
    fn signed(&mut self, name: u32, value: i64) {
        self.push_prefix(name);
        if value.unsigned_abs() <= EXACT {
            return number::push_signed(self.out, value);
        }
        self.out.push(b'"');
        number::push_signed(self.out, value);
        self.out.push(b'"');
    }

    fn boolean(&mut self, name: u32, value: bool) {
        self.push_prefix(name);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn double(&mut self, name: u32, value: f64) {
        self.push_prefix(name);
        if value.is_finite() {
            return number::push_shortest(self.out, value);
        }
        push_string(self.out, &value.to_string());
    }

    #[inline]
    fn text(&mut self, name: u32, text: &[u8]) {
        self.push_prefix(name);
        push_utf8(self.out, text);
    }

    fn enter(&mut self, name: u32, is_array: bool) {
        self.push_prefix(name);
        self.begin_root(is_array);
    }

    fn leave(&mut self) {
        self.out.extend(self.open.pop());
        self.has_members = true;
    }
}
