//! Fields as lines.

use ichnos_model::Visitor;
use ichnos_model::class::{DisplayBase, FieldKind, VariableLengthValue};
use ichnos_model::field::{Field, FieldContainer, FieldValue, StringEncoding, Text, Wide};

use super::lines::{FieldLine, FieldLines, LineKind};
use crate::color::Palette;
use crate::field_place::FieldPlace;
use crate::integer_elements::{IntegerElement, each_integer};
use crate::number::{self, push_grouped_unsigned};
use crate::time::push_date;

/// Visitor that writes the fields of one scope.
pub(super) struct IndentedFields<'a> {
    out: &'a mut Vec<u8>,
    palette: &'a Palette,
    lines: &'a FieldLines,
    container: FieldContainer,
    /// Enclosing containers.
    outer: &'a mut Vec<FieldContainer>,
    has_color: bool,
}

impl<'a> IndentedFields<'a> {
    /// Starts a scope with its title. `outer` is a reused buffer.
    pub(super) fn root(
        out: &'a mut Vec<u8>,
        palette: &'a Palette,
        lines: &'a FieldLines,
        outer: &'a mut Vec<FieldContainer>,
    ) -> Self {
        outer.clear();
        lines.begin(out);
        let has_color = !palette.reset.is_empty();
        Self { out, palette, lines, container: FieldContainer::Root, outer, has_color }
    }

    /// Writes a scope with `visit`.
    ///
    /// # Errors
    /// Errors of `visit`.
    #[inline(always)]
    pub(super) fn write<E>(mut self, visit: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let begin = self.out.len();
        let result = visit(&mut self);
        if result.is_err() && self.out.len() == begin {
            self.lines.begin_on_error(self.out);
        }
        result
    }

    /// Appends the text before a field. Returns `false` if the field is hidden.
    #[inline(always)]
    fn push_prefix(&mut self, field: Field<'_>) -> bool {
        match self.lines.get(field) {
            Some(line) if line.place < FieldPlace::Element => {
                line.prefix.push(self.out);
                true
            }
            line => line.is_none_or(|line| self.push_element_prefix(line)),
        }
    }

    /// Appends the text before an array element. Returns `false` for a hidden field.
    #[inline(never)]
    fn push_element_prefix(&mut self, line: &FieldLine) -> bool {
        if line.place == FieldPlace::Hidden {
            return false;
        }
        line.prefix.push(self.out);
        if let FieldContainer::Array(count) = &mut self.container {
            push_grouped_unsigned(self.out, (*count).into());
            *count += 1;
        }
        self.out.push(b']');
        self.push(self.palette.reset);
        self.out.push(b':');
        if line.kind != LineKind::Other {
            self.out.push(b' ');
            self.push(self.palette.bold);
        }
        true
    }

    /// Appends the text before a decimal integer, the most common kind. Returns `false` for others.
    #[inline(always)]
    fn decimal(&mut self, field: Field<'_>) -> bool {
        match self.lines.get(field) {
            Some(line) if line.kind.is_decimal() && line.place < FieldPlace::Element => {
                line.prefix.push(self.out);
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    #[inline(always)]
    fn end_value(&mut self) {
        if self.has_color {
            self.push(self.palette.reset);
        }
    }

    fn none(&mut self, text: &str) {
        for text in [" ", self.palette.bold, self.palette.bright_magenta, text, self.palette.reset] {
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    fn enter(&mut self, container: FieldContainer) {
        self.container.enter(container, self.outer);
    }

    fn leave(&mut self) {
        self.container.leave(self.outer);
    }

    /// Appends an integer, or its date.
    fn integer(&mut self, field: Field<'_>, value: i128) {
        let has_dates = field.class().integer().is_some_and(|integer| integer.wall_clock.is_some());
        if has_dates && push_date(self.out, field.class().integer(), value) {
            return;
        }
        let base = base(field);
        if value < 0 && base != DisplayBase::Decimal {
            self.out.push(b'-');
        }
        // Integers with more than 64 bits are wide.
        let magnitude = value.unsigned_abs() as u64;
        match base {
            DisplayBase::Decimal => number::push_grouped(self.out, value),
            DisplayBase::Octal => number::push_grouped_octal(self.out, magnitude),
            DisplayBase::Binary | DisplayBase::Hexadecimal => number::push_grouped_hex(self.out, magnitude),
        }
    }

    fn wide_number(&mut self, field: Field<'_>, value: Wide<'_>) {
        let base = base(field);
        if base == DisplayBase::Decimal {
            let mut begin = self.out.len();
            value.write_decimal(self.out);
            begin += usize::from(value.is_negative());
            number::separate(self.out, begin, 3, b',');
        } else {
            // The sign comes before the prefix of the base.
            let mut digits = Vec::new();
            value.write_radix(if base == DisplayBase::Octal { 3 } else { 4 }, &mut digits);
            let digits = match digits.strip_prefix(b"-") {
                Some(rest) => {
                    self.out.push(b'-');
                    rest
                }
                None => &digits,
            };
            self.push(if base == DisplayBase::Octal { "0" } else { "0x" });
            let begin = self.out.len();
            self.out.extend_from_slice(digits);
            number::separate(self.out, begin, if base == DisplayBase::Octal { 3 } else { 4 }, b':');
        }
    }

    fn length(&mut self, length: u64) {
        self.push(" Length ");
        self.push(self.palette.bold);
        number::push_grouped(self.out, i128::from(length));
        self.push(self.palette.reset);
        self.out.push(b':');
    }
}

fn base(field: Field<'_>) -> DisplayBase {
    match &field.class().kind {
        FieldKind::Integer { integer, .. }
        | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
            integer.preferred_base
        }
        _ => DisplayBase::Hexadecimal,
    }
}

impl Visitor for IndentedFields<'_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        if self.decimal(field) {
            push_grouped_unsigned(self.out, value.into());
            self.end_value();
        } else {
            self.value(field, FieldValue::Unsigned(value));
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        if self.decimal(field) {
            number::push_grouped(self.out, value.into());
            self.end_value();
        } else {
            self.value(field, FieldValue::Signed(value));
        }
    }

    fn integers(&mut self, field: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        let line = self.lines.get(field).filter(|line| line.place == FieldPlace::Element);
        let Some(line) = line.filter(|line| line.kind.is_decimal() && !self.has_color) else { return false };
        let mut index = 0;
        each_integer(line.kind == LineKind::Signed, size, bytes, |element| {
            line.prefix.push(self.out);
            push_grouped_unsigned(self.out, index);
            index += 1;
            self.out.extend_from_slice(b"]: ");
            match element {
                IntegerElement::Unsigned(value) => push_grouped_unsigned(self.out, value.into()),
                IntegerElement::Signed(value) => number::push_grouped(self.out, value.into()),
            }
        })
    }

    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        if !self.push_prefix(field) {
            return;
        }
        match value {
            FieldValue::Unsigned(value) => self.integer(field, value.into()),
            FieldValue::Signed(value) => self.integer(field, value.into()),
            FieldValue::Bits(bits) => number::push_grouped_hex(self.out, bits),
            FieldValue::Wide(value) => self.wide_number(field, value),
            FieldValue::Real(value) => number::push_fixed(self.out, value.to_f64()),
            FieldValue::Guid(value) => number::push_guid(self.out, &field, value),
            FieldValue::Boolean(value) => {
                let (color, text) = match value {
                    true => (self.palette.bright_green, "Yes"),
                    false => (self.palette.bright_red, "No"),
                };
                self.push(color);
                self.push(text);
            }
            _ => {}
        }
        self.end_value();
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if self.push_prefix(field) {
            let begin = self.out.len();
            match value.encoding {
                StringEncoding::Utf8 => self.out.extend_from_slice(value.bytes),
                _ => {
                    value.write_utf8(self.out);
                }
            }
            self.palette.escape_from(self.out, begin);
            self.end_value();
        }
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        if !self.push_prefix(field) {
            return;
        }
        if bytes.is_empty() {
            return self.none("Empty");
        }
        self.length(bytes.len() as u64);
        self.push(self.palette.bold);
        for byte in bytes {
            self.out.push(b' ');
            number::push_hex_bytes(self.out, &[*byte]);
        }
        self.push(self.palette.reset);
    }

    fn null(&mut self, field: Field<'_>) {
        if self.push_prefix(field) {
            self.none("None");
        }
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        if !self.lines.is_root(field) && self.push_prefix(field) {
            if matches!(&field.class().kind, FieldKind::Structure { members, .. } if members.is_empty()) {
                self.none("Empty");
            }
            self.enter(FieldContainer::Structure(0));
        }
    }

    fn end_structure(&mut self, field: Field<'_>) {
        if !self.lines.is_root(field) && !self.lines.hide(field) {
            self.leave();
        }
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        if self.push_prefix(field) {
            if length == 0 {
                self.none("Empty");
            } else {
                self.length(length);
            }
            self.enter(FieldContainer::Array(0));
        }
    }

    fn end_array(&mut self, field: Field<'_>) {
        self.end_structure(field);
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        if self.push_prefix(field) {
            if !present {
                self.none("None");
            }
            self.enter(FieldContainer::Wrapper);
        }
    }

    fn end_optional(&mut self, field: Field<'_>) {
        if !self.lines.hide(field) {
            self.leave();
        }
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        if self.push_prefix(field) {
            self.enter(FieldContainer::Wrapper);
        }
    }

    fn end_variant(&mut self, field: Field<'_>) {
        self.end_optional(field);
    }

    fn begin_union(&mut self, field: Field<'_>) {
        if self.push_prefix(field) {
            self.enter(FieldContainer::Structure(0));
        }
    }
}
