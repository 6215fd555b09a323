//! Fields as JSON.

use ichnos_json::write::{ValueWriter, is_plain, push_plain, push_string, push_utf8};
use ichnos_model::Visitor;
use ichnos_model::class::{FieldKind, Uuid, VariableLengthValue};
use ichnos_model::field::{Field, FieldContainer, FieldValue, Real, StringEncoding, Text, Wide};

mod keys;

use crate::integer_elements::{IntegerElement, each_integer};
use crate::number::{self, push_signed, push_unsigned};
use crate::time::push_date;
use keys::KeyKind;
pub use keys::Keys;

/// Buffers that are reused for all scopes, to avoid allocations.
#[derive(Debug, Default)]
pub struct Scratch {
    outer: Vec<FieldContainer>,
    /// Text converted from another encoding.
    text: Vec<u8>,
    /// Number of values written as `NaN` whose sign or further bits are lost.
    pub inexact_nans: u64,
}

/// Visitor that writes the fields of one scope as a JSON object.
#[derive(Debug)]
pub struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
    scratch: &'a mut Scratch,
    keys: &'a Keys,
    container: FieldContainer,
}

impl<'a> FieldWriter<'a> {
    /// Creates a visitor for the scope of `keys`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, scratch: &'a mut Scratch, keys: &'a Keys) -> Self {
        scratch.outer.clear();
        if !keys.has_opening {
            out.extend_from_slice(&keys.opening);
        }
        let container = if keys.is_open { FieldContainer::Structure(0) } else { FieldContainer::Root };
        Self { out, scratch, keys, container }
    }

    /// Creates a visitor for members of an open object. `any` is `true` if the object has members.
    pub(crate) fn within(out: &'a mut Vec<u8>, scratch: &'a mut Scratch, keys: &'a Keys, any: bool) -> Self {
        Self { container: FieldContainer::Structure(any.into()), ..Self::new(out, scratch, keys) }
    }

    /// Returns the output buffer.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Writes a scope with `visit`, and closes its containers.
    ///
    /// # Errors
    /// Errors of `visit`. The written object is still valid.
    #[inline(always)]
    pub fn write<E>(mut self, visit: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let begin = self.out.len();
        let result = visit(&mut self);
        if result.is_err() {
            if self.keys.has_opening && self.out.len() == begin {
                self.out.extend_from_slice(&self.keys.opening);
            }
            self.finish();
        }
        if self.keys.is_open {
            self.out.push(b'}');
        }
        result
    }

    /// Closes containers that a failed decoding left open, so that the line stays valid.
    #[cold]
    pub(crate) fn finish(&mut self) {
        if self.container == FieldContainer::Root {
            self.out.extend_from_slice(b"null");
        }
        while let Some(container) = self.container.leave(&mut self.scratch.outer) {
            match container {
                FieldContainer::Structure(_) => self.out.push(b'}'),
                FieldContainer::Array(_) => self.out.push(b']'),
                FieldContainer::Root | FieldContainer::Wrapper => {
                    // An optional or variant without its value.
                    if self.out.ends_with(b":") || self.out.ends_with(b",") {
                        self.out.extend_from_slice(b"null");
                    }
                }
            }
        }
    }

    /// Appends the text before a value.
    #[inline(always)]
    fn push_prefix(&mut self, field: Field<'_>) {
        match self.keys.get(field) {
            Some(key) if key.place.is_fixed() && self.container != FieldContainer::Root => {
                key.prefix.push(self.out);
            }
            _ => self.push_other_prefix(field),
        }
    }

    /// Appends text before a value that depends on other values.
    #[inline(never)]
    fn push_other_prefix(&mut self, field: Field<'_>) {
        match &mut self.container {
            FieldContainer::Root | FieldContainer::Wrapper => {}
            FieldContainer::Structure(count) => {
                if *count > 0 {
                    self.out.push(b',');
                }
                *count += 1;
                if let Some(key) = self.keys.get(field) {
                    key.prefix.push(self.out);
                }
            }
            FieldContainer::Array(count) => {
                if *count > 0 {
                    self.out.push(b',');
                }
                *count += 1;
            }
        }
    }

    /// Appends the key of an integer without value names and dates, the most common kind. Returns `false` for others.
    #[inline(always)]
    fn push_plain_prefix(&mut self, field: Field<'_>) -> bool {
        match self.keys.get(field) {
            Some(key)
                if key.kind != KeyKind::Other
                    && key.place.is_fixed()
                    && self.container != FieldContainer::Root =>
            {
                key.prefix.push(self.out);
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    #[inline]
    fn enter(&mut self, container: FieldContainer) {
        self.container.enter(container, &mut self.scratch.outer);
    }

    #[inline]
    fn leave(&mut self) {
        self.container.leave(&mut self.scratch.outer);
    }

    /// Returns `true` for the structure whose brace is in the opening.
    #[inline]
    fn is_open(&self, field: Field<'_>) -> bool {
        self.keys.is_open && field.index() == 0
    }

    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        ValueWriter::new(self.out).strings(names);
    }

    /// Appends an integer with its labels, or its date.
    #[inline(never)]
    fn integer(&mut self, field: Field<'_>, value: i128) {
        self.push_prefix(field);
        if self.keys.get(field).is_some_and(|key| key.kind != KeyKind::Other) {
            return number::push_integer(self.out, value);
        }
        match field.class().mappings() {
            None if self.date(field, value) => {}
            None => number::push_integer(self.out, value),
            Some(mappings) => {
                self.labeled(|writer| number::push_integer(writer.out, value), mappings.names_of(value));
            }
        }
    }

    /// Appends a number and its labels as an object.
    fn labeled<'n>(&mut self, number: impl FnOnce(&mut Self), labels: impl Iterator<Item = &'n str>) {
        self.push("{\"value\":");
        number(self);
        self.push(",\"labels\":");
        self.names(labels);
        self.out.push(b'}');
    }

    /// Appends a value as a date string. Returns `false` if it is not a date.
    #[inline(never)]
    fn date(&mut self, field: Field<'_>, value: i128) -> bool {
        let begin = self.out.len();
        self.out.push(b'"');
        if !push_date(self.out, field.class().integer(), value) {
            self.out.truncate(begin);
            return false;
        }
        self.out.push(b'"');
        true
    }

    fn wide_value(&mut self, value: Wide<'_>) {
        self.push("{\"$int\":\"");
        value.write_decimal(self.out);
        self.push("\"}");
    }

    /// Appends a text in another encoding as a string. Returns `false` if it is invalid.
    #[inline(never)]
    fn recoded(&mut self, value: Text<'_>) -> bool {
        let begin = self.out.len();
        self.out.push(b'"');
        if !value.write_utf8(self.out) {
            self.out.truncate(begin);
            return false;
        }
        let text = self.out.get(begin + 1..).unwrap_or_default();
        if is_plain(text) {
            self.out.push(b'"');
            return true;
        }
        let spare = &mut self.scratch.text;
        spare.clear();
        spare.extend_from_slice(text);
        self.out.truncate(begin);
        push_utf8(self.out, spare);
        true
    }

    /// Appends raw bytes as an object member. `name` is their kind.
    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        self.push("{\"");
        self.push(name);
        self.push("\":\"");
        number::push_hex_bytes(self.out, bytes);
        self.push("\"");
    }
}

impl Visitor for FieldWriter<'_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        match self.push_plain_prefix(field) {
            true => push_unsigned(self.out, value),
            false => self.integer(field, value.into()),
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        match self.push_plain_prefix(field) {
            true => push_signed(self.out, value),
            false => self.integer(field, value.into()),
        }
    }

    fn integers(&mut self, field: Field<'_>, size: usize, bytes: &[u8]) -> bool {
        let kind = self.keys.get(field).map_or(KeyKind::Other, |key| key.kind);
        if kind == KeyKind::Other {
            return false;
        }
        let mut is_first = true;
        each_integer(kind == KeyKind::Signed, size, bytes, |element| {
            if !std::mem::replace(&mut is_first, false) {
                self.out.push(b',');
            }
            match element {
                IntegerElement::Unsigned(value) => push_unsigned(self.out, value),
                IntegerElement::Signed(value) => push_signed(self.out, value),
            }
        })
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        self.push_prefix(field);
        match (&field.class().kind, field.class().mappings()) {
            (FieldKind::BitMap { flags, .. }, _) => {
                self.push("{\"bits\":");
                self.wide_value(value);
                self.push(",\"flags\":");
                self.names(flags.flags_of_wide(value));
                self.out.push(b'}');
            }
            (FieldKind::BitArray(_) | FieldKind::VariableLength { .. }, None)
                if !value.signed && !is_integer(field) =>
            {
                self.push("{\"bits\":");
                self.wide_value(value);
                self.out.push(b'}');
            }
            (_, Some(_)) => {
                let labels = field.class().labels(FieldValue::Wide(value));
                self.labeled(|writer| writer.wide_value(value), labels);
            }
            (_, None) => self.wide_value(value),
        }
    }

    #[inline]
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.push_prefix(field);
        self.push(if value { "true" } else { "false" });
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.bit_map(field, bits);
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.push_prefix(field);
        self.push("{\"bits\":");
        push_unsigned(self.out, bits);
        if let FieldKind::BitMap { flags, .. } = &field.class().kind {
            self.push(",\"flags\":");
            self.names(flags.flags_of(bits));
        }
        self.out.push(b'}');
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.push_prefix(field);
        let double = match value {
            Real::Half(_) | Real::Double(_) => value.to_f64(),
            Real::Single(single) => {
                if single.is_finite() {
                    return number::push_shortest_single(self.out, single);
                }
                f64::from(single)
            }
            Real::Wide(wide) => {
                self.push("{\"$float");
                push_unsigned(self.out, wide.length);
                self.push("\":\"");
                let bytes = wide.length / 8;
                for i in (0..bytes).rev() {
                    let word = wide.words.get((i / 8) as usize).copied().unwrap_or(0);
                    number::push_hex_bytes(self.out, &[(word >> (i % 8 * 8)) as u8]);
                }
                self.push("\"}");
                return;
            }
        };
        if double.is_finite() {
            number::push_shortest(self.out, double);
        } else if double.is_nan() {
            let is_exact = match value {
                Real::Half(bits) => bits == 0x7e00,
                Real::Single(single) => single.to_bits() == f32::NAN.to_bits(),
                _ => double.to_bits() == f64::NAN.to_bits(),
            };
            self.scratch.inexact_nans += u64::from(!is_exact);
            self.push("{\"$float\":\"NaN\"}");
        } else {
            self.push(if double > 0.0 { "{\"$float\":\"Infinity\"}" } else { "{\"$float\":\"-Infinity\"}" });
        }
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.push_prefix(field);
        if value.encoding == StringEncoding::Utf8 && push_plain(self.out, value.bytes) {
            return;
        }
        if let Some(text) = value.as_str() {
            return push_string(self.out, text);
        }
        if value.encoding != StringEncoding::Utf8 && self.recoded(value) {
            return;
        }
        self.bytes("$bytes", value.bytes);
        if value.encoding != StringEncoding::Utf8 {
            self.push(",\"encoding\":\"");
            self.push(value.encoding.name());
            self.push("\"");
        }
        self.out.push(b'}');
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.push_prefix(field);
        self.bytes("$blob", bytes);
        if let FieldKind::Blob { media_type, .. } = &field.class().kind {
            self.push(",\"media_type\":");
            push_string(self.out, media_type);
        }
        self.out.push(b'}');
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.push_prefix(field);
        self.out.push(b'"');
        number::push_uuid(self.out, value);
        self.out.push(b'"');
    }

    fn null(&mut self, field: Field<'_>) {
        self.push_prefix(field);
        self.push("null");
    }

    #[inline]
    fn begin_structure(&mut self, field: Field<'_>) {
        if self.is_open(field) {
            return;
        }
        self.push_prefix(field);
        self.out.push(b'{');
        self.enter(FieldContainer::Structure(0));
    }

    #[inline]
    fn end_structure(&mut self, field: Field<'_>) {
        if self.is_open(field) {
            return;
        }
        self.out.push(b'}');
        self.leave();
    }

    #[inline]
    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.push_prefix(field);
        self.out.push(b'[');
        self.enter(FieldContainer::Array(0));
    }

    #[inline]
    fn end_array(&mut self, _: Field<'_>) {
        self.out.push(b']');
        self.leave();
    }

    #[inline]
    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        // An absent member is skipped. Array elements keep their positions.
        let is_member = matches!(self.container, FieldContainer::Structure(_));
        let is_shown = present || !is_member || !field.class().is_shown_if_present();
        if is_shown {
            self.push_prefix(field);
        }
        if !present && is_shown {
            self.push("null");
        }
        self.enter(FieldContainer::Wrapper);
    }

    #[inline]
    fn end_optional(&mut self, _: Field<'_>) {
        self.leave();
    }

    #[inline]
    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.push_prefix(field);
        self.enter(FieldContainer::Wrapper);
    }

    #[inline]
    fn end_variant(&mut self, _: Field<'_>) {
        self.leave();
    }
}

fn is_integer(field: Field<'_>) -> bool {
    matches!(
        &field.class().kind,
        FieldKind::Integer { .. } | FieldKind::VariableLength { value: VariableLengthValue::Integer(_), .. }
    )
}
