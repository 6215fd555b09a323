//! Fields as lines.

use ichnos_model::Visitor;
use ichnos_model::class::{DisplayBase, FieldKind, VariableLengthValue};
use ichnos_model::field::{Field, FieldContainer, FieldValue, StringEncoding, Text, Wide};

use super::text::push_indent;
use crate::color::Palette;
use crate::number;
use crate::property::Hidden;
use crate::time::push_date;

/// Visitor that writes the fields of one scope.
pub(crate) struct IndentedFields<'a> {
    out: &'a mut Vec<u8>,
    palette: &'a Palette,
    hidden: &'a Hidden,
    container: FieldContainer,
    /// Enclosing containers.
    outer: &'a mut Vec<FieldContainer>,
    indent: usize,
}

impl<'a> IndentedFields<'a> {
    /// Starts a scope with a title. `outer` is a reused buffer.
    pub(crate) fn root(
        out: &'a mut Vec<u8>,
        palette: &'a Palette,
        hidden: &'a Hidden,
        outer: &'a mut Vec<FieldContainer>,
        title: &str,
    ) -> Self {
        outer.clear();
        for text in ["  ", palette.magenta, title, palette.reset, ":"] {
            out.extend_from_slice(text.as_bytes());
        }
        Self { out, palette, hidden, container: FieldContainer::Root, outer, indent: 2 }
    }

    /// Appends the text before a field. Returns `false` if the field is hidden.
    #[inline]
    fn push_prefix(&mut self, field: Field<'_>) -> bool {
        if self.hidden.has(field) {
            return false;
        }
        match &mut self.container {
            FieldContainer::Root | FieldContainer::Wrapper => return true,
            FieldContainer::Structure(_) => {
                self.line();
                self.palette.push(self.out, field.name().unwrap_or_default());
            }
            FieldContainer::Array(count) => {
                let index = *count;
                *count += 1;
                self.line();
                self.out.push(b'[');
                number::push_grouped(self.out, i128::from(index));
                self.out.push(b']');
            }
        }
        self.push(self.palette.reset);
        self.out.push(b':');
        true
    }

    fn line(&mut self) {
        self.out.push(b'\n');
        push_indent(self.out, self.indent);
        self.push(self.palette.cyan);
    }

    #[inline]
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends the text before the value of a field. Returns `false` if the field is hidden.
    #[inline]
    fn begin_value(&mut self, field: Field<'_>) -> bool {
        let shown = self.push_prefix(field);
        if shown {
            self.out.push(b' ');
            self.push(self.palette.bold);
        }
        shown
    }

    #[inline]
    fn end_value(&mut self) {
        self.push(self.palette.reset);
    }

    fn none(&mut self, text: &str) {
        for text in [" ", self.palette.bold, self.palette.bright_magenta, text, self.palette.reset] {
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    fn enter(&mut self, container: FieldContainer, indent: usize) {
        self.container.enter(container, self.outer);
        self.indent += indent;
    }

    fn leave(&mut self, indent: usize) {
        self.container.leave(self.outer);
        self.indent -= indent;
    }

    /// Appends an integer, or its date.
    fn integer(&mut self, field: Field<'_>, value: i128) {
        if push_date(self.out, field.class().integer(), value) {
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
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        if !self.begin_value(field) {
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
        if self.begin_value(field) {
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
        if self.push_prefix(field) {
            if matches!(&field.class().kind, FieldKind::Structure { members, .. } if members.is_empty()) {
                self.none("Empty");
            }
            self.enter(FieldContainer::Structure(0), 2);
        }
    }

    fn end_structure(&mut self, field: Field<'_>) {
        if !self.hidden.has(field) {
            self.leave(2);
        }
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        if self.push_prefix(field) {
            if length == 0 {
                self.none("Empty");
            } else {
                self.length(length);
            }
            self.enter(FieldContainer::Array(0), 2);
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
            self.enter(FieldContainer::Wrapper, 0);
        }
    }

    fn end_optional(&mut self, field: Field<'_>) {
        if !self.hidden.has(field) {
            self.leave(0);
        }
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        if self.push_prefix(field) {
            self.enter(FieldContainer::Wrapper, 0);
        }
    }

    fn end_variant(&mut self, field: Field<'_>) {
        self.end_optional(field);
    }

    fn begin_union(&mut self, field: Field<'_>) {
        if self.push_prefix(field) {
            self.enter(FieldContainer::Structure(0), 2);
        }
    }
}
