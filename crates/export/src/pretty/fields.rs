//! Fields on one line: `{ a = 1, b = [ [0] = "x" ] }`.

use ichnos_model::Visitor;
use ichnos_model::class::{
    DisplayBase, FieldKind, IntegerProperties, IntegerRange, Mappings, Uuid, VariableLengthValue,
};
use ichnos_model::field::{Field, FieldContainer, FieldValue, Real, StringEncoding, Text, Wide};

use super::labels::{FieldLabel, FieldLabels, LabelKind};
use crate::color::Palette;
use crate::field_place::FieldPlace;
use crate::integer_elements::{IntegerElement, each_integer};
use crate::number::{self, push_signed, push_unsigned};
use crate::scan::has_c_escapes;
use crate::time::push_date;

/// Buffers that are reused for all scopes, to avoid allocations.
#[derive(Debug, Default)]
pub(crate) struct PrettyScratch {
    outer: Vec<FieldContainer>,
    /// Text converted from another encoding.
    text: Vec<u8>,
}

/// Visitor that writes the fields of one scope. With `STYLED`, they have colors or escaping.
pub(crate) struct FieldPrinter<'a, const STYLED: bool> {
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) palette: &'a Palette,
    pub(crate) labels: &'a FieldLabels,
    /// `true` if members and elements are named.
    pub(crate) names: bool,
    /// `true` if unnamed enumeration values are split into bits.
    pub(crate) enum_flags: bool,
    scratch: &'a mut PrettyScratch,
    container: FieldContainer,
}

impl<'a, const STYLED: bool> FieldPrinter<'a, STYLED> {
    pub(crate) fn new(
        out: &'a mut Vec<u8>,
        palette: &'a Palette,
        labels: &'a FieldLabels,
        names: bool,
        enum_flags: bool,
        scratch: &'a mut PrettyScratch,
    ) -> Self {
        scratch.outer.clear();
        labels.open(out);
        Self { out, palette, labels, names, enum_flags, scratch, container: labels.container() }
    }

    /// Writes a scope with `visit`.
    ///
    /// # Errors
    /// Errors of `visit`. The scope then stays open.
    #[inline(always)]
    pub(crate) fn write<E>(mut self, visit: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let begin = self.out.len();
        let result = visit(&mut self);
        match &result {
            Ok(()) => self.labels.close(self.out),
            Err(_) if self.out.len() == begin => self.labels.open_on_error(self.out),
            Err(_) => {}
        }
        result
    }

    /// Appends the text before a field. Returns `false` if the field is hidden.
    #[inline(always)]
    fn push_prefix(&mut self, field: Field<'_>) -> bool {
        match self.labels.get(field) {
            Some(label) if label.place.is_fixed() => {
                label.prefix.push(self.out);
                true
            }
            label => label.is_none_or(|label| self.push_other_prefix(label)),
        }
    }

    /// Appends the text before a field that depends on other fields.
    #[inline(never)]
    fn push_other_prefix(&mut self, label: &FieldLabel) -> bool {
        match (label.place, &mut self.container) {
            (FieldPlace::Hidden, _) => return false,
            (FieldPlace::AfterOptional, FieldContainer::Structure(count)) => {
                if *count > 0 {
                    self.out.push(b',');
                }
                *count += 1;
                label.prefix.push(self.out);
            }
            (FieldPlace::Element, FieldContainer::Array(count)) => {
                *count += 1;
                let index = *count - 1;
                self.push_element_prefix(index);
            }
            _ => label.prefix.push(self.out),
        }
        true
    }

    /// Appends the text before an array element.
    #[inline]
    fn push_element_prefix(&mut self, index: u64) {
        if !self.names {
            self.out.extend_from_slice(if index > 0 { b", " } else { b" " });
        } else if index == 0 {
            self.out.extend_from_slice(b" [0] = ");
        } else if index < 10 {
            let mut prefix = *b", [0] = ";
            prefix[3] += index as u8;
            self.out.extend_from_slice(&prefix);
        } else {
            self.out.extend_from_slice(b", [");
            push_unsigned(self.out, index);
            self.out.extend_from_slice(b"] = ");
        }
    }

    #[inline]
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    #[inline]
    fn bold(&mut self) {
        if STYLED {
            self.push(self.palette.bold);
        }
    }

    #[inline]
    fn reset(&mut self) {
        if STYLED {
            self.push(self.palette.reset);
        }
    }

    fn enter(&mut self, container: FieldContainer) {
        self.container.enter(container, &mut self.scratch.outer);
    }

    fn leave(&mut self) {
        self.container.leave(&mut self.scratch.outer);
    }

    fn unknown(&mut self) {
        if STYLED {
            self.push(self.palette.bold);
            self.push(self.palette.bright_red);
        }
        self.push("<unknown>");
        self.reset();
    }

    #[inline(never)]
    fn integer(&mut self, field: Field<'_>, value: u64, signed: bool) {
        if !self.push_prefix(field) {
            return;
        }
        static PLAIN: IntegerProperties = IntegerProperties {
            signed: false,
            preferred_base: DisplayBase::Decimal,
            mappings: None,
            wide_ranges: None,
            wall_clock: None,
        };
        let (length, integer) = match &field.class().kind {
            FieldKind::Integer { bits, integer } => (bits.length, integer),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => (64, integer),
            _ => (64, &PLAIN),
        };
        let wide = if signed { i128::from(value as i64) } else { i128::from(value) };
        match &integer.mappings {
            None => {
                if integer.wall_clock.is_none() || !self.date(integer, wide) {
                    self.number(value, signed, length, integer.preferred_base);
                }
            }
            Some(mappings) => {
                self.push("( ");
                self.labels_of(mappings, wide);
                self.push(" : container = ");
                self.number(value, signed, length, integer.preferred_base);
                self.push(" )");
            }
        }
    }

    /// Writes a value as a date. Returns `false` if it is not a date.
    #[cold]
    fn date(&mut self, integer: &IntegerProperties, value: i128) -> bool {
        let begin = self.out.len();
        self.bold();
        if !push_date(self.out, Some(integer), value) {
            self.out.truncate(begin);
            return false;
        }
        self.reset();
        true
    }

    fn number(&mut self, value: u64, signed: bool, length: u64, base: DisplayBase) {
        self.bold();
        let low = |bits: u64| if bits < 64 { value & ((1 << bits) - 1) } else { value };
        match base {
            DisplayBase::Decimal if signed => push_signed(self.out, value as i64),
            DisplayBase::Decimal => push_unsigned(self.out, value),
            DisplayBase::Hexadecimal => {
                self.push("0x");
                number::push_hex_upper(self.out, low(length.next_multiple_of(4)));
            }
            DisplayBase::Octal => {
                self.push("0");
                number::push_octal(self.out, if signed { low(length.next_multiple_of(3)) } else { value });
            }
            DisplayBase::Binary => {
                self.push("0b");
                number::push_binary(self.out, value, length);
            }
        }
        self.reset();
    }

    fn labels_of(&mut self, mappings: &Mappings, value: i128) {
        let mut labels = mappings.names_of(value);
        match (labels.next(), labels.next()) {
            (Some(label), None) => self.label(label),
            (Some(first), Some(second)) => {
                let all = [first, second].into_iter().chain(labels).collect();
                self.push("{ ");
                self.label_list(all);
                self.push(" }");
            }
            (None, _) if self.enum_flags => self.flag_labels(mappings, value),
            (None, _) => self.unknown(),
        }
    }

    /// Splits a value into bits with labels.
    #[cold]
    fn flag_labels(&mut self, mappings: &Mappings, value: i128) {
        let Some(value) = u64::try_from(value).ok().filter(|value| *value > 0) else {
            return self.unknown();
        };
        let mut found: Vec<Vec<&str>> = Vec::new();
        for bit in (0..64).filter(|bit| value >> bit & 1 == 1) {
            let bit = 1i128 << bit;
            let is_bit = |range: IntegerRange| range.lower == bit && range.upper == bit;
            let labels: Vec<&str> = mappings
                .iter()
                .filter(|mapping| mapping.ranges.iter().any(is_bit))
                .map(|mapping| mapping.name)
                .collect();
            if labels.is_empty() {
                return self.unknown();
            }
            found.push(labels);
        }
        for (i, labels) in found.into_iter().enumerate() {
            if i > 0 {
                self.push(" | ");
            }
            match labels.as_slice() {
                [label] => self.label(label),
                _ => {
                    self.push("{ ");
                    self.label_list(labels);
                    self.push(" }");
                }
            }
        }
    }

    /// Appends labels sorted by name.
    fn label_list(&mut self, mut labels: Vec<&str>) {
        labels.sort_unstable();
        labels.dedup();
        for (i, label) in labels.into_iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.label(label);
        }
    }

    fn label(&mut self, label: &str) {
        self.bold();
        let begin = self.out.len();
        push_escaped(self.out, label.as_bytes());
        if STYLED {
            self.palette.escape_from(self.out, begin);
        }
        self.reset();
    }

    /// Writes a text in another encoding, in quotes.
    #[inline(never)]
    fn recoded(&mut self, value: Text<'_>) {
        let begin = self.out.len();
        self.out.push(b'"');
        value.write_utf8(self.out);
        let text = self.out.get(begin + 1..).unwrap_or_default();
        if has_c_escapes(text) {
            let spare = &mut self.scratch.text;
            spare.clear();
            spare.extend_from_slice(text);
            self.out.truncate(begin);
            push_escaped(self.out, spare);
        } else {
            self.out.push(b'"');
        }
    }

    fn hex(&mut self, bits: u64) {
        self.bold();
        self.push("0x");
        number::push_hex_upper(self.out, bits);
        self.reset();
    }

    fn flags(&mut self, names: Vec<&str>) {
        if !names.is_empty() {
            self.push(" { ");
            self.label_list(names);
            self.push(" }");
        }
    }
}

impl<const STYLED: bool> Visitor for FieldPrinter<'_, STYLED> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        match self.labels.get(field) {
            Some(label) if !STYLED && label.kind == LabelKind::Unsigned && label.place.is_fixed() => {
                label.prefix.push(self.out);
                push_unsigned(self.out, value);
            }
            Some(FieldLabel { prefix, place, kind: LabelKind::Hexadecimal { unused } })
                if !STYLED && place.is_fixed() =>
            {
                prefix.push(self.out);
                self.out.extend_from_slice(b"0x");
                // A value that is not in the record can have more bits than its class.
                number::push_hex_upper(self.out, value << unused >> unused);
            }
            _ => self.integer(field, value, false),
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        match self.labels.get(field) {
            Some(label) if !STYLED && label.kind == LabelKind::Signed && label.place.is_fixed() => {
                label.prefix.push(self.out);
                push_signed(self.out, value);
            }
            _ => self.integer(field, value as u64, true),
        }
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        if !self.push_prefix(field) {
            return;
        }
        self.bold();
        match &field.class().kind {
            FieldKind::Integer { integer, .. } if integer.preferred_base == DisplayBase::Decimal => {
                value.write_decimal(self.out);
            }
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. }
                if integer.preferred_base == DisplayBase::Decimal =>
            {
                value.write_decimal(self.out);
            }
            _ => {
                self.push("0x");
                let begin = self.out.len();
                value.write_radix(4, self.out);
                self.out[begin..].make_ascii_uppercase();
            }
        }
        self.reset();
        if let FieldKind::BitMap { flags, .. } = &field.class().kind {
            let names = flags.flags_of_wide(value).collect();
            self.flags(names);
        }
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        if self.push_prefix(field) {
            self.bold();
            self.push(if value { "true" } else { "false" });
            self.reset();
        }
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        if self.push_prefix(field) {
            self.hex(bits);
        }
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        if !self.push_prefix(field) {
            return;
        }
        self.hex(bits);
        self.flags(field.class().labels(FieldValue::Bits(bits)).collect());
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        if self.push_prefix(field) {
            self.bold();
            number::push_general(self.out, value.to_f64());
            self.reset();
        }
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if !self.push_prefix(field) {
            return;
        }
        self.bold();
        let begin = self.out.len();
        match value.encoding {
            StringEncoding::Utf8 => push_escaped(self.out, value.bytes),
            _ => self.recoded(value),
        }
        if STYLED {
            // C escapes exist only for ASCII bytes.
            self.palette.escape_from(self.out, begin);
        }
        self.reset();
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        if !self.push_prefix(field) {
            return;
        }
        self.bold();
        self.out.push(b'{');
        for byte in bytes {
            self.out.push(b' ');
            number::push_hex_bytes(self.out, &[*byte]);
        }
        self.push(" }");
        self.reset();
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        if self.push_prefix(field) {
            self.bold();
            number::push_guid(self.out, &field, value);
            self.reset();
        }
    }

    fn null(&mut self, field: Field<'_>) {
        if self.push_prefix(field) {
            self.push("<none>");
        }
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        if !self.labels.is_open(field) && self.push_prefix(field) {
            self.out.push(b'{');
            self.enter(FieldContainer::Structure(0));
        }
    }

    fn end_structure(&mut self, field: Field<'_>) {
        if !self.labels.is_open(field) && !self.labels.hide(field) {
            self.push(" }");
            self.leave();
        }
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        if self.push_prefix(field) {
            self.out.push(b'[');
            self.enter(FieldContainer::Array(0));
        }
    }

    fn integers(&mut self, field: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        let Some(label) = self.labels.get(field).filter(|label| label.place == FieldPlace::Element) else {
            return false;
        };
        let is_decimal = matches!(label.kind, LabelKind::Unsigned | LabelKind::Signed);
        if STYLED || !is_decimal {
            return false;
        }
        let mut index = 0;
        each_integer(label.kind == LabelKind::Signed, size, bytes, |element| {
            self.push_element_prefix(index);
            index += 1;
            match element {
                IntegerElement::Unsigned(value) => push_unsigned(self.out, value),
                IntegerElement::Signed(value) => push_signed(self.out, value),
            }
        })
    }

    fn end_array(&mut self, field: Field<'_>) {
        if !self.labels.hide(field) {
            self.push(" ]");
            self.leave();
        }
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        if field.class().is_shown_if_present() {
            // An absent field is not in the record and is skipped. Array elements keep their positions.
            if !present {
                if matches!(self.container, FieldContainer::Array(_)) && self.push_prefix(field) {
                    self.push("<none>");
                }
                self.enter(FieldContainer::Array(0));
            } else if self.push_prefix(field) {
                self.enter(FieldContainer::Wrapper);
            }
        } else if self.push_prefix(field) {
            self.push(if present { "{ " } else { "<none>" });
            self.enter(if present { FieldContainer::Wrapper } else { FieldContainer::Array(0) });
        }
    }

    fn end_optional(&mut self, field: Field<'_>) {
        let is_bare = field.class().is_shown_if_present();
        if !self.labels.hide(field) || is_bare && matches!(self.container, FieldContainer::Array(_)) {
            if self.container == FieldContainer::Wrapper && !is_bare {
                self.push(" }");
            }
            self.leave();
        }
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        if self.push_prefix(field) {
            self.push("{ ");
            self.enter(FieldContainer::Wrapper);
        }
    }

    fn end_variant(&mut self, field: Field<'_>) {
        if !self.labels.hide(field) {
            self.push(" }");
            self.leave();
        }
    }
}

/// Appends a quoted string with C escapes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if has_c_escapes(text) {
        push_bytes_escaped(out, text);
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'"');
}

/// Appends a text that has an escaped byte.
#[inline(never)]
fn push_bytes_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        if has_c_escapes(word) {
            word.iter().for_each(|byte| push_byte_escaped(out, *byte));
        } else {
            out.extend_from_slice(word);
        }
    }
    rest.iter().for_each(|byte| push_byte_escaped(out, *byte));
}

#[inline(always)]
fn push_byte_escaped(out: &mut Vec<u8>, byte: u8) {
    if byte < 32 || matches!(byte, 0x7f | b'"' | b'\'' | b'\\' | b'?') {
        push_escape(out, byte);
    } else {
        out.push(byte);
    }
}

#[cold]
fn push_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'\\' | b'\'' | b'"' | b'?' => byte,
        0x07 => b'a',
        0x08 => b'b',
        0x1b => b'e',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        0 => b'0',
        _ => b'x',
    };
    out.extend_from_slice(&[b'\\', short]);
    if short == b'x' {
        number::push_hex_bytes(out, &[byte]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_escaped_or_not_wherever_it_stands() {
        for byte in 0..=255 {
            let mut alone = Vec::new();
            push_bytes_escaped(&mut alone, &[byte]);
            for length in 1..40 {
                for place in 0..length {
                    let mut text = vec![b'x'; length];
                    text[place] = byte;
                    let mut expected = vec![b'x'; length];
                    expected.splice(place..=place, alone.iter().copied());
                    let mut out = Vec::new();
                    push_escaped(&mut out, &text);
                    assert_eq!(out, [b"\"", &expected[..], b"\""].concat());
                }
            }
        }
    }
}
