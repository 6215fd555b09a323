//! OTLP encodings behind common functions.

use ichnos_json::write::{push_base64, push_string, push_utf8};

use crate::protobuf;
use ichnos_export::number;

/// OTLP encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtlpEncoding {
    /// JSON Lines: each line is an object with spans, log records or metrics.
    #[default]
    Json,
    /// Protocol Buffers: the whole file is one message.
    Protobuf,
}

/// Form of the numbers in a repeated field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackedForm {
    /// `double`
    Double,
    /// `fixed64`
    Count,
    /// `uint64`
    Varint,
}

/// Message field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OtlpField {
    /// Beginning of a JSON member, with the comma after another member.
    pub(super) member: &'static str,
    /// Protobuf field number.
    pub(super) number: u32,
}

impl OtlpEncoding {
    /// Returns `true` if the next member or element is the first: after an opening bracket.
    #[inline]
    fn is_first(out: &[u8]) -> bool {
        matches!(out.last(), None | Some(b'{' | b'[' | b'\n'))
    }

    #[inline(always)]
    fn name(out: &mut Vec<u8>, field: OtlpField) {
        let member = field.member.as_bytes();
        if Self::is_first(out) {
            out.extend_from_slice(member.get(1..).unwrap_or_default());
        } else {
            out.extend_from_slice(member);
        }
    }

    /// Starts a message. Returns the position for [`Self::end`].
    #[inline]
    pub(super) fn begin(self, out: &mut Vec<u8>, field: OtlpField) -> usize {
        if self == Self::Protobuf {
            return protobuf::begin(out, field.number);
        }
        Self::name(out, field);
        out.push(b'{');
        out.len()
    }

    /// Ends a message. Returns `false` if it is too large.
    #[inline]
    pub(super) fn end(self, out: &mut Vec<u8>, begin: usize) -> bool {
        if self == Self::Protobuf {
            return protobuf::end(out, begin);
        }
        out.push(b'}');
        true
    }

    /// Starts a repeated field.
    #[inline]
    pub(super) fn begin_list(self, out: &mut Vec<u8>, field: OtlpField) {
        if self == Self::Json {
            Self::name(out, field);
            out.push(b'[');
        }
    }

    /// Ends a repeated field.
    #[inline]
    pub(super) fn end_list(self, out: &mut Vec<u8>) {
        if self == Self::Json {
            out.push(b']');
        }
    }

    /// Starts an element message of a repeated field. Returns the position for [`Self::end`].
    #[inline]
    pub(super) fn begin_element(self, out: &mut Vec<u8>, field: OtlpField) -> usize {
        if self == Self::Protobuf {
            return protobuf::begin(out, field.number);
        }
        let begin: &[u8] = if Self::is_first(out) { b"{" } else { b",{" };
        out.extend_from_slice(begin);
        out.len()
    }

    /// Appends encoded elements of a repeated field, or nothing without elements.
    pub(super) fn elements(self, out: &mut Vec<u8>, field: OtlpField, elements: &[u8]) {
        if !elements.is_empty() {
            self.begin_list(out, field);
            out.extend_from_slice(elements);
            self.end_list(out);
        }
    }

    /// Appends encoded elements of a repeated field that was begun.
    #[inline]
    pub(super) fn push_elements(self, out: &mut Vec<u8>, elements: &[u8]) {
        if self == Self::Json && !elements.is_empty() && !Self::is_first(out) {
            out.push(b',');
        }
        out.extend_from_slice(elements);
    }

    /// Appends a UTF-8 text.
    #[inline]
    pub(super) fn text(self, out: &mut Vec<u8>, field: OtlpField, text: &[u8]) {
        if self == Self::Protobuf {
            return protobuf::push_bytes(out, field.number, text);
        }
        Self::name(out, field);
        push_utf8(out, text);
    }

    /// Appends an identifier: bytes, or hexadecimal digits in JSON.
    #[inline]
    pub(super) fn id(self, out: &mut Vec<u8>, field: OtlpField, id: &[u8]) {
        if self == Self::Protobuf {
            return protobuf::push_bytes(out, field.number, id);
        }
        Self::name(out, field);
        out.push(b'"');
        number::push_hex_bytes(out, id);
        out.push(b'"');
    }

    /// Appends a time (`fixed64`), as a text in JSON.
    #[inline]
    pub(super) fn time(self, out: &mut Vec<u8>, field: OtlpField, time: u64) {
        if self == Self::Protobuf {
            return protobuf::push_fixed(out, field.number, time);
        }
        Self::name(out, field);
        out.push(b'"');
        number::push_unsigned(out, time);
        out.push(b'"');
    }

    /// Appends a time, or nothing for the unknown time 0.
    #[inline]
    pub(super) fn known_time(self, out: &mut Vec<u8>, field: OtlpField, time: u64) {
        if time > 0 {
            self.time(out, field, time);
        }
    }

    /// Appends an enumeration value.
    #[inline]
    pub(super) fn enumeration(self, out: &mut Vec<u8>, field: OtlpField, value: u64) {
        if self == Self::Protobuf {
            return protobuf::push_unsigned(out, field.number, value);
        }
        Self::name(out, field);
        number::push_unsigned(out, value);
    }

    /// Appends a 32-bit integer (`fixed32`), unless it is 0, the default.
    pub(super) fn short_fixed(self, out: &mut Vec<u8>, field: OtlpField, value: u64) {
        // The reader accepts more bits, which the format does not have.
        let value = u32::try_from(value).unwrap_or(u32::MAX);
        if self == Self::Protobuf && value != 0 {
            return protobuf::push_short_fixed(out, field.number, value);
        }
        self.count(out, field, value.into());
    }

    /// Appends a count (`uint32`), unless it is 0, the default.
    pub(super) fn count(self, out: &mut Vec<u8>, field: OtlpField, value: u64) {
        if value != 0 {
            self.enumeration(out, field, value.min(u32::MAX.into()));
        }
    }

    /// Appends an unsigned integer (`fixed64`), as a text in JSON.
    pub(super) fn fixed(self, out: &mut Vec<u8>, field: OtlpField, value: u64) {
        self.time(out, field, value);
    }

    /// Appends a text, unless it is empty, the default.
    pub(super) fn set_text(self, out: &mut Vec<u8>, field: OtlpField, text: &[u8]) {
        if !text.is_empty() {
            self.text(out, field, text);
        }
    }

    /// Appends bytes, as base64 in JSON.
    pub(super) fn bytes(self, out: &mut Vec<u8>, field: OtlpField, bytes: &[u8]) {
        if self == Self::Protobuf {
            return protobuf::push_bytes(out, field.number, bytes);
        }
        Self::name(out, field);
        out.push(b'"');
        push_base64(out, bytes);
        out.push(b'"');
    }

    /// Appends a signed integer of 32 bits (`sint32`), unless it is 0, the default.
    pub(super) fn short_signed(self, out: &mut Vec<u8>, field: OtlpField, value: i64) {
        let value = value.clamp(i32::MIN.into(), i32::MAX.into());
        if value == 0 {
            return;
        }
        if self == Self::Protobuf {
            let bits = (value << 1) ^ (value >> 63);
            return protobuf::push_unsigned(out, field.number, bits.cast_unsigned());
        }
        Self::name(out, field);
        number::push_signed(out, value);
    }

    /// Appends a repeated field of numbers, as bits.
    pub(super) fn packed(self, out: &mut Vec<u8>, field: OtlpField, bits: &[u64], form: PackedForm) {
        if bits.is_empty() {
            return;
        }
        if self == Self::Protobuf {
            let mut bytes = Vec::with_capacity(bits.len() * 8);
            for bits in bits {
                match form {
                    PackedForm::Varint => protobuf::push_varint(&mut bytes, *bits),
                    PackedForm::Count | PackedForm::Double => bytes.extend_from_slice(&bits.to_le_bytes()),
                }
            }
            return protobuf::push_bytes(out, field.number, &bytes);
        }
        self.begin_list(out, field);
        for bits in bits {
            if out.last() != Some(&b'[') {
                out.push(b',');
            }
            if form == PackedForm::Double {
                Self::push_double(out, f64::from_bits(*bits));
            } else {
                out.push(b'"');
                number::push_unsigned(out, *bits);
                out.push(b'"');
            }
        }
        self.end_list(out);
    }

    /// Appends a boolean.
    pub(super) fn boolean(self, out: &mut Vec<u8>, field: OtlpField, value: bool) {
        if self == Self::Protobuf {
            return protobuf::push_unsigned(out, field.number, value.into());
        }
        Self::name(out, field);
        out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Appends an integer (`int64`), as a text in JSON.
    #[inline]
    pub(super) fn integer(self, out: &mut Vec<u8>, field: OtlpField, value: i64) {
        if self == Self::Protobuf {
            return protobuf::push_signed(out, field.number, value);
        }
        Self::integer_text(out, field, value);
    }

    /// Appends a fixed-size integer (`sfixed64`), as a text in JSON.
    pub(super) fn fixed_integer(self, out: &mut Vec<u8>, field: OtlpField, value: i64) {
        if self == Self::Protobuf {
            return protobuf::push_fixed(out, field.number, value.cast_unsigned());
        }
        Self::integer_text(out, field, value);
    }

    #[inline]
    fn integer_text(out: &mut Vec<u8>, field: OtlpField, value: i64) {
        Self::name(out, field);
        out.push(b'"');
        number::push_signed(out, value);
        out.push(b'"');
    }

    /// Appends a floating-point number. NaN and infinities are texts in JSON.
    pub(super) fn double(self, out: &mut Vec<u8>, field: OtlpField, value: f64) {
        if self == Self::Protobuf {
            return protobuf::push_double(out, field.number, value);
        }
        Self::name(out, field);
        Self::push_double(out, value);
    }

    fn push_double(out: &mut Vec<u8>, value: f64) {
        match value {
            _ if value.is_finite() => number::push_shortest(out, value),
            _ if value.is_nan() => push_string(out, "NaN"),
            _ => push_string(out, if value > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }
}
