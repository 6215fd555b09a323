//! Flattens event fields.

use std::fmt::Write as _;
use std::ops::Range;

use ichnos_model::Visitor;
use ichnos_model::class::Uuid;
use ichnos_model::field::{Field, FieldValue, Real, StringEncoding, Text};

use crate::fxt::argument_kind as kind;

/// Name of a root field that is not a structure.
const ROOT: &str = "value";

/// A value without its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LeafValue {
    /// An absent field.
    Absent,
    Null,
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    Boolean(bool),
    /// A text in the bytes from `begin` on.
    Text {
        begin: usize,
        length: usize,
    },
    Blob {
        begin: usize,
        length: usize,
    },
}

/// A named field value.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) value: LeafValue,
    /// Byte range in the names buffer.
    pub(super) name: Range<usize>,
    /// Plan index of the scope member that contains the field.
    pub(super) member: usize,
    /// Option of the enclosing variant.
    pub(super) option: Option<usize>,
    /// Argument type for values of this class.
    pub(super) kind: u8,
}

/// An enclosing compound field.
#[derive(Clone, Copy, Debug)]
struct CompoundField {
    /// Path length before the field.
    path: usize,
    /// Index of the next array element.
    element: Option<usize>,
}

/// Fields of a scope in order, named by their paths.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    pub(super) list: Vec<Leaf>,
    /// Texts and BLOBs.
    pub(super) bytes: Vec<u8>,
    pub(super) names: String,
    path: String,
    around: Vec<CompoundField>,
    /// Plan index of the current root member.
    member: usize,
    option: Option<usize>,
    /// `true` to keep field names.
    pub(super) has_names: bool,
    /// Number of rounded floats. Floats over 64 bits are rounded.
    pub(super) rounded: u64,
    /// Counts for empty arrays and structures, by member index in the plan.
    pub(super) empty: Vec<(usize, u64)>,
}

impl Leaves {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.bytes.clear();
        self.names.clear();
        self.rounded = 0;
        self.empty.clear();
    }

    /// Starts another scope.
    pub(super) fn begin_scope(&mut self) {
        self.path.clear();
        self.around.clear();
        self.member = 0;
        self.option = None;
    }

    /// Returns the text or BLOB of a value.
    pub(super) fn bytes_of(&self, value: LeafValue) -> &[u8] {
        match value {
            LeafValue::Text { begin, length } | LeafValue::Blob { begin, length } => {
                self.bytes.get(begin..begin + length).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// Enters a field. Returns the previous path length.
    fn enter(&mut self, field: Field<'_>) -> usize {
        let before = self.path.len();
        if self.around.len() == 1 {
            self.member = field.index();
        }
        let element = self.around.last_mut().and_then(|around| {
            let element = around.element?;
            around.element = Some(element + 1);
            Some(element)
        });
        if !self.has_names {
            return before;
        }
        let dot = if self.path.is_empty() { "" } else { "." };
        match (field.name(), element) {
            (Some(name), _) => self.path.extend([dot, name]),
            // Writing to memory cannot fail.
            (None, Some(element)) => drop(write!(self.path, "{dot}{element}")),
            // A root that is not a structure.
            (None, None) if self.around.is_empty() && field.class().members().is_none() => {
                self.path.push_str(ROOT);
            }
            (None, None) => {}
        }
        before
    }

    fn begin(&mut self, field: Field<'_>, element: Option<usize>) {
        let path = self.enter(field);
        self.around.push(CompoundField { path, element });
    }

    /// Counts the current compound field if it is empty, except for the root.
    fn count_empty(&mut self, is_empty: bool) {
        if !is_empty || self.around.len() == 1 {
            return;
        }
        match self.empty.last_mut() {
            Some((member, count)) if *member == self.member => *count += 1,
            _ => self.empty.push((self.member, 1)),
        }
    }

    fn end(&mut self) {
        if let Some(around) = self.around.pop() {
            self.path.truncate(around.path);
        }
    }

    fn push(&mut self, field: Field<'_>, value: LeafValue, kind: u8) {
        let before = self.enter(field);
        let begin = self.names.len();
        self.names.push_str(&self.path);
        self.path.truncate(before);
        self.list.push(Leaf {
            value,
            name: begin..self.names.len(),
            member: self.member,
            option: self.option.take(),
            kind,
        });
    }

    fn text_value(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> LeafValue {
        let begin = self.bytes.len();
        write(&mut self.bytes);
        LeafValue::Text { begin, length: self.bytes.len() - begin }
    }

    fn integer_kind(field: Field<'_>, signed: bool) -> u8 {
        let is_short = field.class().bits().is_some_and(|bits| bits.length <= 32);
        match (is_short, signed) {
            (true, true) => kind::INT32,
            (true, false) => kind::UINT32,
            (false, true) => kind::INT64,
            (false, false) => kind::UINT64,
        }
    }
}

impl Visitor for Leaves {
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        let (value, kind) = match value {
            FieldValue::Unsigned(value) | FieldValue::Bits(value) => {
                (LeafValue::Unsigned(value), Self::integer_kind(field, false))
            }
            FieldValue::Signed(value) => (LeafValue::Signed(value), Self::integer_kind(field, true)),
            FieldValue::Wide(value) => (self.text_value(|bytes| value.write_decimal(bytes)), kind::STRING),
            FieldValue::Boolean(value) => (LeafValue::Boolean(value), kind::BOOLEAN),
            FieldValue::Real(value) => {
                self.rounded += u64::from(matches!(value, Real::Wide(_)));
                (LeafValue::Double(value.to_f64()), kind::DOUBLE)
            }
            FieldValue::Blob(bytes) => {
                let begin = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                (LeafValue::Blob { begin, length: bytes.len() }, kind::BLOB)
            }
            FieldValue::Guid(value) => {
                let mut digits = Uuid::encode_buffer();
                let digits = value.hyphenated().encode_lower(&mut digits).as_bytes();
                (self.text_value(|bytes| bytes.extend_from_slice(digits)), kind::STRING)
            }
            _ => (LeafValue::Null, kind::NULL),
        };
        self.push(field, value, kind);
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let text = self.text_value(|bytes| {
            // Kernel object names may be invalid UTF-8.
            if value.encoding == StringEncoding::Utf8 {
                bytes.extend_from_slice(value.bytes);
            } else {
                value.write_utf8(bytes);
            }
        });
        self.push(field, text, kind::STRING);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, None);
        self.count_empty(field.class().members().is_some_and(<[_]>::is_empty));
    }

    fn end_structure(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.begin(field, Some(0));
        self.count_empty(length == 0);
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        if !present {
            self.push(field, LeafValue::Absent, kind::NULL);
        }
        self.begin_transparent(field, present);
    }

    fn end_optional(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_variant(&mut self, field: Field<'_>, option: usize, _: i128) {
        self.begin_transparent(field, true);
        self.option = Some(option);
    }

    fn end_variant(&mut self, _: Field<'_>) {
        self.end();
    }
}

impl Leaves {
    /// Enters an optional field or a variant. Its content uses the same field name. `is_new` means that the field is
    /// not counted yet.
    fn begin_transparent(&mut self, field: Field<'_>, is_new: bool) {
        let path = if is_new { self.enter(field) } else { self.path.len() };
        self.around.push(CompoundField { path, element: None });
    }
}
