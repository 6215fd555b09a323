//! Event fields as values, for data that differs from the class layout or is not in the record.

mod visit;

use std::ops::Range;

use crate::class::{Scope, Uuid};
use crate::digest::ValueHash;
use crate::field::{FieldValue, Real, Wide};

/// Values in an event's scopes. The memory is reused from event to event.
///
/// A reader fills it with data that the record itself lacks: repeated from earlier records, looked up in tables, or
/// parsed from text. Each scope is written as a whole, between [`EventValues::begin`] and the next scope. It has one
/// value for each member of its structure, in order. Scopes without values are bits, or absent.
///
/// Once the buffers are large enough, events do not allocate memory.
///
/// ```
/// use ichnos_model::Scope;
/// use ichnos_model::event::EventValues;
/// use ichnos_model::field::FieldValue;
///
/// let mut values = EventValues::default();
/// values.clear();
/// values.begin(Scope::Payload);
/// values.push("netstack");
/// values.push(1400u64);
/// // An array of two elements.
/// values.begin_array();
/// values.push(1u64);
/// values.push(2u64);
/// values.end();
/// # assert!(values.has(Scope::Payload) && !values.has(Scope::CommonContext));
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventValues {
    /// Values in all scopes, in class order. Inner values follow their container.
    cells: Vec<Cell>,
    /// String and BLOB bytes.
    bytes: Vec<u8>,
    /// Words for numbers with more than 64 bits.
    words: Vec<u64>,
    /// Cell range of each scope with values, indexed by scope. The range of the current scope has no end yet.
    begins: [usize; 7],
    ends: [usize; 7],
    /// Bit set of the scopes with values.
    begun: u8,
    /// Scope being written.
    current: Option<Scope>,
    /// Cells where open structures and arrays start.
    open: Vec<usize>,
    /// `true` if the next value belongs to the preceding optional field or variant.
    is_awaited: bool,
}

/// Position after an event's values: see [`EventValues::mark`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValuesMark {
    cells: usize,
    bytes: usize,
    words: usize,
    /// Scopes with values, as in [`EventValues::begun`].
    begun: u8,
}

/// A value, or the start of a compound value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Null,
    Unsigned(u64),
    Signed(i64),
    Boolean(bool),
    Bits(u64),
    Half(u16),
    Single(f32),
    Double(f64),
    Guid(Uuid),
    /// A number in the words from index `begin`, with its size in bits and its kind.
    Wide {
        begin: usize,
        length: u32,
        signed: bool,
        is_real: bool,
    },
    /// A text in the bytes from index `begin`.
    Text {
        begin: usize,
        length: usize,
    },
    Blob {
        begin: usize,
        length: usize,
    },
    /// A structure or a union, with the number of members that follow.
    Structure {
        members: usize,
    },
    /// An array, with the number of elements that follow.
    Array {
        elements: usize,
    },
    /// An optional field. Its value follows if present.
    Optional {
        is_present: bool,
    },
    /// A variant. The option's value follows.
    Variant {
        option: usize,
    },
}

impl EventValues {
    /// Removes all values but keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.cells.clear();
        self.bytes.clear();
        self.words.clear();
        self.begun = 0;
        self.current = None;
        self.open.clear();
        self.is_awaited = false;
    }

    /// Returns the position after all values written so far, for [`EventValues::keep`].
    #[inline]
    #[must_use]
    pub fn mark(&self) -> ValuesMark {
        let Self { cells, bytes, words, begun, .. } = self;
        ValuesMark { cells: cells.len(), bytes: bytes.len(), words: words.len(), begun: *begun }
    }

    /// Removes the values of all scopes that began after a mark. Keeps earlier scopes and the memory. For successive
    /// events with equal values in their first scopes, which must not begin again.
    ///
    /// ```
    /// use ichnos_model::Scope;
    /// use ichnos_model::event::EventValues;
    ///
    /// let mut values = EventValues::default();
    /// values.begin(Scope::CommonContext);
    /// values.push("thread");
    /// let mark = values.mark();
    /// for number in 0..3u64 {
    ///     values.keep(mark);
    ///     assert!(values.has(Scope::CommonContext) && !values.has(Scope::Payload));
    ///     values.begin(Scope::Payload);
    ///     values.push(number);
    /// }
    /// ```
    #[inline(always)]
    pub fn keep(&mut self, mark: ValuesMark) {
        self.cells.truncate(mark.cells);
        self.bytes.truncate(mark.bytes);
        self.words.truncate(mark.words);
        self.begun &= mark.begun;
        self.end_scope();
        self.open.clear();
        self.is_awaited = false;
    }

    /// Begins a scope's values, which completes the previous scope. Earlier values in the scope are removed.
    #[inline]
    pub fn begin(&mut self, scope: Scope) {
        self.open.clear();
        self.is_awaited = false;
        self.end_scope();
        self.begins[scope as usize] = self.cells.len();
        self.begun |= 1 << scope as u8;
        self.current = Some(scope);
    }

    #[inline(always)]
    fn end_scope(&mut self) {
        if let Some(scope) = self.current.take() {
            self.ends[scope as usize] = self.cells.len();
        }
    }

    /// Returns the cell range of a scope, if it has values.
    #[inline(always)]
    fn range(&self, scope: Scope) -> Option<Range<usize>> {
        let end = if self.current == Some(scope) { self.cells.len() } else { self.ends[scope as usize] };
        self.has(scope).then_some(self.begins[scope as usize]..end)
    }

    /// Returns `true` if a scope's fields are values.
    #[inline(always)]
    #[must_use]
    pub fn has(&self, scope: Scope) -> bool {
        self.begun & 1 << scope as u8 != 0
    }

    /// Returns `true` if a scope has the same values in both, or is missing in both. Only for integers, booleans and
    /// GUIDs: see [`EventValues::copy_numbers`].
    #[inline]
    #[must_use]
    pub fn is_same(&self, scope: Scope, other: &Self) -> bool {
        match (self.range(scope), other.range(scope)) {
            (Some(own), Some(others)) => self.cells.get(own) == other.cells.get(others),
            (own, others) => own.is_none() && others.is_none(),
        }
    }

    /// Returns a number that is equal for equal values of a scope and rarely otherwise. Only for integers, booleans and
    /// GUIDs.
    #[inline]
    #[must_use]
    pub fn digest(&self, scope: Scope) -> u64 {
        // A missing scope has the digest of an empty scope.
        let range = self.range(scope).unwrap_or_default();
        let mut hash = ValueHash::new(0);
        // Scope ranges are always within the cells.
        for cell in self.cells.get(range).unwrap_or_default() {
            hash.add(match *cell {
                Cell::Unsigned(value) | Cell::Bits(value) => value,
                Cell::Signed(value) => value as u64,
                Cell::Boolean(value) => u64::from(value) | 1 << 32,
                Cell::Guid(value) => {
                    let (high, low) = value.as_u64_pair();
                    high ^ low.rotate_left(32)
                }
                Cell::Optional { is_present } => u64::from(is_present) | 1 << 33,
                Cell::Variant { option } => option as u64 | 1 << 34,
                _ => 1 << 35,
            });
        }
        hash.finish()
    }

    /// Copies a scope's values from another event, if it has them. Returns `false` and copies nothing unless all values
    /// are integers with up to 64 bits, booleans and GUIDs.
    #[must_use]
    pub fn copy_numbers(&mut self, scope: Scope, other: &Self) -> bool {
        let Some(range) = other.range(scope) else { return true };
        // Scope ranges are always within the cells.
        let cells = other.cells.get(range).unwrap_or_default();
        // Equal floating-point numbers can have different bits.
        let is_other = |cell: &Cell| {
            let has_bytes = matches!(cell, Cell::Text { .. } | Cell::Blob { .. } | Cell::Wide { .. });
            has_bytes || matches!(cell, Cell::Single(_) | Cell::Double(_))
        };
        if cells.iter().any(is_other) {
            return false;
        }
        self.begin(scope);
        self.cells.extend_from_slice(cells);
        true
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push<'a>(&mut self, value: impl Into<FieldValue<'a>>) {
        let cell = match value.into() {
            FieldValue::Null => Cell::Null,
            FieldValue::Unsigned(value) => Cell::Unsigned(value),
            FieldValue::Signed(value) => Cell::Signed(value),
            FieldValue::Boolean(value) => Cell::Boolean(value),
            FieldValue::Bits(bits) => Cell::Bits(bits),
            FieldValue::Real(Real::Half(bits)) => Cell::Half(bits),
            FieldValue::Real(Real::Single(value)) => Cell::Single(value),
            FieldValue::Real(Real::Double(value)) => Cell::Double(value),
            FieldValue::Guid(value) => Cell::Guid(value),
            FieldValue::Real(Real::Wide(wide)) => self.add_wide(wide, true),
            FieldValue::Wide(wide) => self.add_wide(wide, false),
            FieldValue::Integer(value) => {
                let words = [value as u64, (value >> 64) as u64];
                self.add_wide(Wide { words: &words, length: 128, signed: value < 0 }, false)
            }
            FieldValue::Text(bytes) => {
                let (begin, length) = self.add_bytes(bytes);
                Cell::Text { begin, length }
            }
            FieldValue::Blob(bytes) => {
                let (begin, length) = self.add_bytes(bytes);
                Cell::Blob { begin, length }
            }
        };
        self.add(cell);
    }

    /// Replaces an unsigned integer in a written scope. `index` counts all appended cells of the scope from 0,
    /// including presence flags. Does nothing if the cell is not an unsigned integer.
    ///
    /// For successive events that differ only in these values.
    #[inline(always)]
    pub fn replace_unsigned(&mut self, scope: Scope, index: usize, value: u64) {
        if self.has(scope)
            && let Some(Cell::Unsigned(cell)) = self.cells.get_mut(self.begins[scope as usize] + index)
        {
            *cell = value;
        }
    }

    /// Like [`replace_unsigned`](Self::replace_unsigned), for a GUID.
    #[inline(always)]
    pub fn replace_guid(&mut self, scope: Scope, index: usize, value: Uuid) {
        if self.has(scope)
            && let Some(Cell::Guid(cell)) = self.cells.get_mut(self.begins[scope as usize] + index)
        {
            *cell = value;
        }
    }

    /// Returns the member of a scope after `before` others, if it is an unsigned integer, or an optional unsigned
    /// integer, and all members before it are plain values, too.
    pub(crate) fn plain_member(&self, scope: Scope, before: usize) -> Option<FieldValue<'static>> {
        let mut cells = self.cells.get(self.range(scope)?)?;
        let mut left = before;
        loop {
            let is_found = left == 0;
            let value = match cells {
                [Cell::Optional { is_present: false }, rest @ ..] => {
                    cells = rest;
                    FieldValue::Null
                }
                [Cell::Unsigned(value), rest @ ..]
                | [Cell::Optional { is_present: true }, Cell::Unsigned(value), rest @ ..] => {
                    cells = rest;
                    FieldValue::Unsigned(*value)
                }
                [Cell::Signed(_) | Cell::Boolean(_) | Cell::Guid(_) | Cell::Text { .. }, rest @ ..]
                | [
                    Cell::Optional { is_present: true },
                    Cell::Signed(_) | Cell::Boolean(_) | Cell::Guid(_) | Cell::Text { .. },
                    rest @ ..,
                ] if !is_found => {
                    cells = rest;
                    FieldValue::Null
                }
                _ => return None,
            };
            if is_found {
                return Some(value);
            }
            left -= 1;
        }
    }

    /// Begins a structure or a union. Append its members, then call [`EventValues::end`].
    pub fn begin_structure(&mut self) {
        self.open(Cell::Structure { members: 0 });
    }

    /// Begins an array. Append its elements, then call [`EventValues::end`].
    pub fn begin_array(&mut self) {
        self.open(Cell::Array { elements: 0 });
    }

    /// Appends an optional field. If it is present, append its value next.
    #[inline]
    pub fn push_optional(&mut self, is_present: bool) {
        self.add(Cell::Optional { is_present });
        self.is_awaited = is_present;
    }

    /// Appends a variant. Append the value of option number `option` next.
    pub fn push_variant(&mut self, option: usize) {
        self.add(Cell::Variant { option });
        self.is_awaited = true;
    }

    /// Ends the innermost structure, union or array.
    pub fn end(&mut self) {
        self.open.pop();
        self.is_awaited = false;
    }

    fn open(&mut self, cell: Cell) {
        self.add(cell);
        self.is_awaited = false;
        self.open.push(self.cells.len() - 1);
    }

    /// Appends a cell and counts it as a member or an element of its parent.
    #[inline(always)]
    fn add(&mut self, cell: Cell) {
        if self.current.is_none() {
            return;
        }
        if let Some(around) = self.open.last() {
            self.count_inside(*around);
        }
        self.cells.push(cell);
    }

    /// Counts a value inside the container at a cell, unless it belongs to the preceding optional field or variant.
    #[inline(never)]
    fn count_inside(&mut self, around: usize) {
        if !std::mem::take(&mut self.is_awaited)
            && let Some(Cell::Structure { members: count } | Cell::Array { elements: count }) =
                self.cells.get_mut(around)
        {
            *count += 1;
        }
    }

    #[inline]
    fn add_bytes(&mut self, bytes: &[u8]) -> (usize, usize) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        (begin, bytes.len())
    }

    fn add_wide(&mut self, wide: Wide<'_>, is_real: bool) -> Cell {
        let begin = self.words.len();
        self.words.extend_from_slice(wide.words);
        let length = u32::try_from(wide.length).unwrap_or(u32::MAX);
        Cell::Wide { begin, length, signed: wide.signed, is_real }
    }

    fn bytes_at(&self, begin: usize, length: usize) -> &[u8] {
        // Cells refer only to bytes of their own values, so the default is never used.
        self.bytes.get(begin..begin + length).unwrap_or_default()
    }

    /// Returns all string and BLOB bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends all values from `other`, which has a single scope.
    pub(crate) fn append(&mut self, other: &Self) {
        self.append_cells(other, &other.cells);
    }

    /// Appends the values in `cells`, which belong to `other`.
    fn append_cells(&mut self, other: &Self, cells: &[Cell]) {
        if self.current.is_none() {
            return;
        }
        for cell in cells {
            let copy = match *cell {
                Cell::Text { begin, length } => {
                    let (begin, length) = self.add_bytes(other.bytes_at(begin, length));
                    Cell::Text { begin, length }
                }
                Cell::Blob { begin, length } => {
                    let (begin, length) = self.add_bytes(other.bytes_at(begin, length));
                    Cell::Blob { begin, length }
                }
                Cell::Wide { begin, length, signed, is_real } => {
                    let words = begin..begin + (length as usize).div_ceil(64);
                    let begin = self.words.len();
                    // Cells refer only to words of their own values, so the default is never used.
                    self.words.extend_from_slice(other.words.get(words).unwrap_or_default());
                    Cell::Wide { begin, length, signed, is_real }
                }
                cell => cell,
            };
            self.cells.push(copy);
        }
    }

    /// Splits a scope's values: each item in `members` receives one member.
    pub(crate) fn split<'m>(&self, scope: Scope, members: impl Iterator<Item = &'m mut Self>) {
        // A missing scope splits into empty members.
        let range = self.range(scope).unwrap_or_default();
        let mut cells = self.cells.get(range).unwrap_or_default();
        for member in members {
            let (value, rest) = cells.split_at(first_value(cells));
            cells = rest;
            member.clear();
            member.begin(scope);
            member.append_cells(self, value);
        }
    }
}

/// Number of cells in the first value, including inner values.
fn first_value(cells: &[Cell]) -> usize {
    let mut wanted = 1usize;
    cells
        .iter()
        .take_while(|cell| {
            let is_wanted = wanted > 0;
            let inside = match cell {
                Cell::Structure { members: inside } | Cell::Array { elements: inside } => *inside,
                Cell::Optional { is_present } => usize::from(*is_present),
                Cell::Variant { .. } => 1,
                _ => 0,
            };
            wanted = wanted.saturating_sub(1).saturating_add(inside);
            is_wanted
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_scope() {
        let values = |thread: u64, text: Option<&str>| {
            let mut values = EventValues::default();
            values.begin(Scope::Payload);
            values.push("before");
            values.begin(Scope::CommonContext);
            values.push(thread);
            values.push_optional(true);
            values.push(Uuid::from_u128(7));
            text.into_iter().for_each(|text| values.push(text));
            values
        };
        let mut kept = EventValues::default();
        assert!(kept.copy_numbers(Scope::CommonContext, &values(1, None)));
        assert!(kept.copy_numbers(Scope::Resource, &values(1, None)));
        assert!(kept.is_same(Scope::CommonContext, &values(1, None)));
        assert!(kept.is_same(Scope::Resource, &values(1, None)));
        assert_eq!(kept.digest(Scope::CommonContext), values(1, None).digest(Scope::CommonContext));
        assert_ne!(kept.digest(Scope::CommonContext), values(2, None).digest(Scope::CommonContext));
        assert!(!kept.is_same(Scope::CommonContext, &values(2, None)));
        assert!(!kept.is_same(Scope::Payload, &values(1, None)));
        assert!(!kept.is_same(Scope::CommonContext, &EventValues::default()));
        // Text positions do not count as values.
        assert!(!EventValues::default().copy_numbers(Scope::CommonContext, &values(1, Some("a"))));
    }
}
