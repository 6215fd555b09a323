//! Arguments as JSON object members.

use std::io::Write as _;

use ichnos_json::write::{push_string, push_utf8};

use crate::arguments::{ArgumentNames, ArgumentSink, UNNAMED};
use ichnos_export::number;

/// Largest integer that a JavaScript number holds exactly.
pub(super) const EXACT: u64 = 1 << 53;

impl Default for ArgumentNames {
    /// Creates an empty list for JSON objects.
    fn default() -> Self {
        Self::new(push_member_name)
    }
}

/// Appends a name as the beginning of an object member, after a comma.
fn push_member_name(name: &str, out: &mut Vec<u8>) {
    out.push(b',');
    push_string(out, name);
    out.push(b':');
}

/// Argument writer for JSON object members.
pub(super) struct JsonArguments<'w> {
    pub(super) out: &'w mut Vec<u8>,
    names: &'w ArgumentNames,
    /// `true` if the innermost object or array has members.
    has_members: bool,
    /// Closing brackets of the open objects and arrays.
    open: &'w mut Vec<u8>,
    /// Number of arguments without a name.
    unnamed: u32,
}

impl<'w> JsonArguments<'w> {
    /// Continues an object without members. `open` is a buffer.
    pub(super) fn new(out: &'w mut Vec<u8>, names: &'w ArgumentNames, open: &'w mut Vec<u8>) -> Self {
        Self { out, names, has_members: false, open, unnamed: 0 }
    }

    /// Continues JSON that [`Self::begin_root`] started.
    #[cfg(feature = "firefox")]
    pub(super) fn resume(out: &'w mut Vec<u8>, names: &'w ArgumentNames, open: &'w mut Vec<u8>) -> Self {
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
        let has_members = std::mem::replace(&mut self.has_members, true);
        // Array elements have no names, even if the option of a variant has a name.
        let is_element = self.open.last() == Some(&b']');
        if name == 0 || is_element {
            return self.push_unnamed(has_members, is_element);
        }
        let key = self.names.key(name);
        self.out.extend_from_slice(if has_members { key } else { key.get(1..).unwrap_or_default() });
    }

    /// Starts an array element, or a member without a name.
    fn push_unnamed(&mut self, has_members: bool, is_element: bool) {
        if has_members {
            self.out.push(b',');
        }
        if !is_element {
            // Writing into memory cannot fail.
            let _ = write!(self.out, "\"{UNNAMED}{}\":", self.unnamed);
            self.unnamed += 1;
        }
    }

    /// Appends members that [`Self::members`] returned.
    #[inline]
    pub(super) fn push_members(&mut self, members: &[u8]) {
        if !members.is_empty() {
            if std::mem::replace(&mut self.has_members, true) {
                self.out.push(b',');
            }
            self.out.extend_from_slice(members);
        }
    }

    /// Returns a position for [`Self::members`].
    pub(super) fn position(&self) -> MemberPosition {
        MemberPosition { begin: self.out.len(), has_members: self.has_members, unnamed: self.unnamed }
    }

    /// Returns the members of the innermost object from a position on. `None` if they would differ elsewhere, because
    /// their names are numbers.
    pub(super) fn members(&self, from: MemberPosition) -> Option<&[u8]> {
        let members = self.out.get(from.begin..).filter(|_| self.unnamed == from.unnamed)?;
        Some(if from.has_members { members.strip_prefix(b",").unwrap_or(members) } else { members })
    }

    /// Closes containers that a failed decoding left open.
    pub(super) fn close(&mut self) {
        while !self.open.is_empty() {
            self.leave();
        }
    }
}

/// Position in an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberPosition {
    begin: usize,
    has_members: bool,
    unnamed: u32,
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
