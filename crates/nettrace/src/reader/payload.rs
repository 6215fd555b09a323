//! Reads payloads into values if they cannot be read in place.

use ichnos_model::Scope;
use ichnos_model::class::Uuid;
use ichnos_model::decode::{DecodeLimits, PacketBits, Position, Slots};
use ichnos_model::event::EventValues;
use ichnos_model::field::{FieldValue, Real, Skip};
use ichnos_model::plan::Plan;

use super::class::PayloadForm;
use super::index::NettraceIndex;
use crate::wire::{Wire, zigzag};
use crate::{FieldType, PayloadField, SystemTime, Version};

/// Value sizes in the payloads of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PayloadWidths {
    pub(super) has_short_pointers: bool,
    /// `true` if dates may have 16 bytes instead of 8.
    pub(super) has_system_times: bool,
}

impl PayloadWidths {
    pub(super) fn from_index(index: &NettraceIndex) -> Self {
        Self {
            has_short_pointers: index.trace.has_short_pointers(),
            has_system_times: matches!(index.version, Version::V6(_)),
        }
    }
}

/// Reads a payload into values. Returns the number of bytes after its fields, or `None` if it does not match the
/// fields.
pub(super) fn read(
    payload: &[u8],
    fields: &[PayloadField],
    widths: PayloadWidths,
    values: &mut EventValues,
) -> Option<usize> {
    let mut read = |has_system_times: bool| {
        values.begin(Scope::Payload);
        let mut reader = PayloadReader::new(payload, PayloadWidths { has_system_times, ..widths });
        let rest = reader.fields(fields, values).map(|()| payload.len() - reader.end());
        (rest, reader.has_dates)
    };
    let (rest, has_dates) = read(false);
    // Writers use 8 bytes, but the document says 16.
    if rest != Some(0) && has_dates && widths.has_system_times {
        if read(true).0 == Some(0) {
            return Some(0);
        }
        return read(false).0;
    }
    rest
}

/// Returns the number of bytes after the fields of a payload, or 0 if it does not match the fields. `layout` describes
/// payloads that consist of bits.
pub(super) fn bytes_behind(
    payload: &[u8],
    form: &PayloadForm,
    layout: Option<(&Plan, &Slots, DecodeLimits)>,
    widths: PayloadWidths,
) -> usize {
    match (form, layout) {
        (PayloadForm::Bits, Some((plan, slots, limits))) => {
            let (bits, mut end) = (PacketBits::whole(payload), Position::default());
            let is_read = plan.decode(bits, &mut end, slots, limits, &mut Skip).is_ok();
            if is_read { payload.len().saturating_sub(end.bit.div_ceil(8) as usize) } else { 0 }
        }
        (PayloadForm::Bits, None) => payload.len(),
        (PayloadForm::Values(fields), _) => {
            read(payload, fields, widths, &mut EventValues::default()).unwrap_or(0)
        }
        (PayloadForm::Raw, _) => 0,
    }
}

/// Reads fields and appends their values. Methods return `None` if the payload does not match.
struct PayloadReader<'a> {
    payload: &'a [u8],
    wire: Wire<'a>,
    /// End of the last array that is stored elsewhere in the payload.
    located_end: usize,
    widths: PayloadWidths,
    /// `true` after a date was read, or was missing at the end of the payload.
    has_dates: bool,
    /// Remaining number of values, and of bytes in shared texts. Limits payloads with many empty elements or repeated
    /// references to one text.
    budget: usize,
}

impl<'a> PayloadReader<'a> {
    fn new(payload: &'a [u8], widths: PayloadWidths) -> Self {
        Self {
            payload,
            wire: Wire::new(payload),
            located_end: 0,
            widths,
            has_dates: false,
            budget: 4 * payload.len() + 1024,
        }
    }

    /// Returns the end of the part that was read.
    fn end(&self) -> usize {
        self.wire.position().max(self.located_end)
    }

    /// Appends the values of all fields of a structure.
    fn fields(&mut self, fields: &[PayloadField], values: &mut EventValues) -> Option<()> {
        // Values needed by counted arrays.
        let mut counts = [0u64; 64];
        for (index, field) in fields.iter().enumerate() {
            if let FieldType::Counted { element, count } = &field.kind {
                let count = usize::try_from(*counts.get(*count)?).ok()?;
                if **element == FieldType::U8 {
                    values.push(FieldValue::Blob(self.wire.take(count)?));
                } else {
                    self.array(element, count, values)?;
                }
                continue;
            }
            if let FieldType::Named { count, kinds } = &field.kind {
                let count = usize::try_from(*counts.get(*count)?).ok()?;
                self.named(kinds, count, values)?;
                continue;
            }
            if let FieldType::Parts(parts) = &field.kind {
                let mut rest = self.wire.u32()?;
                for (part, length) in parts {
                    let upper = rest.checked_shr(*length).unwrap_or(0);
                    let number = u64::from(rest ^ upper.checked_shl(*length).unwrap_or(0));
                    rest = upper;
                    let are_flags = part.names.as_ref().is_some_and(|names| names.are_flags);
                    values.push(if are_flags {
                        FieldValue::Bits(number)
                    } else {
                        FieldValue::Unsigned(number)
                    });
                }
                continue;
            }
            let number =
                self.value(&field.kind, field.names.as_ref().is_some_and(|names| names.are_flags), values)?;
            if let Some(count) = counts.get_mut(index) {
                *count = number;
            }
        }
        Some(())
    }

    /// Reads bytes whose kind is named by the first field.
    fn named(&mut self, kinds: &[PayloadField], count: usize, values: &mut EventValues) -> Option<()> {
        let data = self.wire.take(count)?;
        let units = || self.payload.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        let mut is_known = false;
        for kind in kinds {
            let is_this = units().take_while(|unit| *unit != 0).eq(kind.name.encode_utf16());
            values.push_optional(is_this);
            if is_this {
                let mut inner = PayloadReader::new(data, self.widths);
                inner.value(&kind.kind, false, values)?;
                // If bytes follow, the whole payload is also shown as bytes.
                is_known = inner.wire.is_at_end();
            }
        }
        values.push_optional(!is_known);
        if !is_known {
            values.push(FieldValue::Blob(data));
        }
        Some(())
    }

    fn array(&mut self, element: &FieldType, count: usize, values: &mut EventValues) -> Option<()> {
        values.begin_array();
        for _ in 0..count {
            self.value(element, false, values)?;
        }
        values.end();
        Some(())
    }

    /// Appends a value. Returns it if it is a number.
    fn value(&mut self, kind: &FieldType, are_flags: bool, values: &mut EventValues) -> Option<u64> {
        self.budget = self.budget.checked_sub(1)?;
        if let Some(number) = self.unsigned(kind)? {
            values.push(if are_flags { FieldValue::Bits(number) } else { FieldValue::Unsigned(number) });
            return Some(number);
        }
        if let Some(number) = self.signed(kind)? {
            values.push(if are_flags { FieldValue::Bits(number as u64) } else { FieldValue::Signed(number) });
            return Some(number as u64);
        }
        match kind {
            FieldType::Object(fields) => {
                values.begin_structure();
                self.fields(fields, values)?;
                values.end();
            }
            FieldType::Array(element) => {
                let count = usize::from(self.wire.u16()?);
                if **element == FieldType::Utf8CodeUnit {
                    values.push(FieldValue::Text(self.wire.take(count)?));
                } else {
                    self.array(element, count, values)?;
                }
            }
            FieldType::FixedLengthArray(element, count) => {
                self.fixed_length_array(element, (*count).into(), values)?;
            }
            FieldType::Rest => {
                let rest = self.wire.take(self.wire.rest().len())?;
                values.push_optional(!rest.is_empty());
                if !rest.is_empty() {
                    values.push(FieldValue::Blob(rest));
                }
            }
            FieldType::Appended(kind) => {
                let is_present = !self.wire.is_at_end();
                values.push_optional(is_present);
                if is_present {
                    return self.value(kind, are_flags, values);
                }
            }
            FieldType::RelLoc(element) | FieldType::DataLoc(element) => {
                let location = self.wire.u32()?;
                let base = if matches!(kind, FieldType::RelLoc(_)) { self.wire.position() } else { 0 };
                let begin = base.checked_add((location & 0xffff) as usize)?;
                let end = begin.checked_add((location >> 16) as usize)?;
                let bytes = self.payload.get(begin..end)?;
                self.located_end = self.located_end.max(end);
                self.located(element, bytes, values)?;
            }
            _ => values.push(self.single(kind)?),
        }
        Some(0)
    }

    /// Reads an unsigned integer. Returns `Some(None)` for other types.
    fn unsigned(&mut self, kind: &FieldType) -> Option<Option<u64>> {
        let wire = &mut self.wire;
        Some(Some(match kind {
            FieldType::U8 => wire.u8()?.into(),
            FieldType::U16 => wire.u16()?.into(),
            FieldType::U32 => wire.u32()?.into(),
            FieldType::U64 => wire.u64()?,
            FieldType::Pointer if self.widths.has_short_pointers => wire.u32()?.into(),
            FieldType::Pointer => wire.u64()?,
            FieldType::VarUInt => wire.varuint64()?,
            _ => return Some(None),
        }))
    }

    /// Reads a signed integer or a date. Returns `Some(None)` for other types.
    fn signed(&mut self, kind: &FieldType) -> Option<Option<i64>> {
        let wire = &mut self.wire;
        Some(Some(match kind {
            FieldType::I8 => (wire.u8()? as i8).into(),
            FieldType::I16 => (wire.u16()? as i16).into(),
            FieldType::I32 => (wire.u32()? as i32).into(),
            FieldType::I64 => wire.u64()? as i64,
            FieldType::FileTime => {
                self.has_dates = true;
                match self.widths.has_system_times {
                    true => SystemTime::read(wire)?.file_time()?,
                    false => wire.u64()? as i64,
                }
            }
            FieldType::VarInt => zigzag(wire.varuint64()?),
            _ => return Some(None),
        }))
    }

    /// Reads a value without inner values that is not an integer.
    fn single(&mut self, kind: &FieldType) -> Option<FieldValue<'a>> {
        let wire = &mut self.wire;
        Some(match kind {
            FieldType::Boolean32 => FieldValue::Boolean(wire.u32()? != 0),
            FieldType::Boolean8 => FieldValue::Boolean(wire.u8()? != 0),
            FieldType::Char => FieldValue::Text(wire.take(2)?),
            FieldType::Utf8CodeUnit => FieldValue::Text(wire.take(1)?),
            FieldType::F32 => FieldValue::Real(Real::Single(f32::from_bits(wire.u32()?))),
            FieldType::F64 => FieldValue::Real(Real::Double(f64::from_bits(wire.u64()?))),
            FieldType::Decimal => FieldValue::Blob(wire.take(16)?),
            FieldType::Guid => FieldValue::Guid(Uuid::from_bytes_le(wire.guid()?)),
            FieldType::Utf16String => {
                let units = wire.rest().as_chunks::<2>().0;
                let length = units.iter().position(|unit| *unit == [0, 0])?;
                let text = wire.take(2 * length)?;
                wire.take(2)?;
                FieldValue::Text(text)
            }
            FieldType::Utf8String => {
                let length = memchr::memchr(0, wire.rest())?;
                let text = wire.take(length)?;
                wire.take(1)?;
                FieldValue::Text(text)
            }
            _ => return None,
        })
    }

    /// Appends an array whose class contains its length, or the text stored in the array.
    fn fixed_length_array(
        &mut self,
        element: &FieldType,
        count: usize,
        values: &mut EventValues,
    ) -> Option<()> {
        match element {
            FieldType::Utf8CodeUnit => {
                let text = self.wire.take(count)?;
                let end = memchr::memchr(0, text).unwrap_or(text.len());
                values.push(FieldValue::Text(text.get(..end)?));
            }
            FieldType::Char => {
                let text = self.wire.take(2 * count)?;
                let units = text.as_chunks::<2>().0;
                let end = units.iter().position(|unit| *unit == [0, 0]).unwrap_or(units.len());
                values.push(FieldValue::Text(text.get(..2 * end)?));
            }
            _ => self.array(element, count, values)?,
        }
        Some(())
    }

    /// Reads an array that is stored elsewhere in the payload.
    fn located(&mut self, element: &FieldType, bytes: &[u8], values: &mut EventValues) -> Option<()> {
        self.budget = self.budget.checked_sub(bytes.len())?;
        match element {
            FieldType::Utf8CodeUnit => values.push(FieldValue::Text(bytes)),
            FieldType::Char => {
                let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
                let text: String =
                    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
                values.push(FieldValue::Text(text.as_bytes()));
            }
            _ => {
                let mut inner = PayloadReader {
                    payload: bytes,
                    wire: Wire::new(bytes),
                    located_end: 0,
                    widths: self.widths,
                    has_dates: false,
                    budget: self.budget,
                };
                values.begin_array();
                while !inner.wire.is_at_end() {
                    inner.value(element, false, values)?;
                }
                values.end();
                self.budget = inner.budget;
                self.has_dates |= inner.has_dates;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: PayloadWidths = PayloadWidths { has_short_pointers: false, has_system_times: false };

    #[test]
    fn what_is_appended_can_be_absent() {
        let text = || Box::new(FieldType::Array(Box::new(FieldType::Utf8CodeUnit)));
        let fields = [
            PayloadField::new("number", FieldType::VarUInt),
            PayloadField::new("first", FieldType::Appended(text())),
            PayloadField::new("second", FieldType::Appended(text())),
        ];
        let rest = |payload: &[u8]| {
            let mut values = EventValues::default();
            values.begin(Scope::Payload);
            let mut reader = PayloadReader::new(payload, WIDTHS);
            reader.fields(&fields, &mut values).map(|()| reader.wire.rest().len())
        };
        assert_eq!(rest(&[7]), Some(0));
        assert_eq!(rest(b"\x07\x01\0a"), Some(0));
        assert_eq!(rest(b"\x07\x01\0a\x02\0bc"), Some(0));
        assert_eq!(rest(b"\x07\x01\0a\x02\0bcd"), Some(1));
        // A length without its text.
        assert_eq!(rest(b"\x07\x01\0"), None);
    }

    #[test]
    fn data_is_of_the_kind_that_the_first_field_names() {
        let kinds =
            vec![PayloadField::new("a", FieldType::Object(vec![PayloadField::new("x", FieldType::U16)]))];
        let fields = [
            PayloadField::new("name", FieldType::Utf16String),
            PayloadField::new("size", FieldType::U8),
            PayloadField::new("data", FieldType::Named { count: 1, kinds }),
        ];
        let is_read = |payload: &[u8]| {
            let mut values = EventValues::default();
            values.begin(Scope::Payload);
            let mut reader = PayloadReader::new(payload, WIDTHS);
            reader.fields(&fields, &mut values).is_some() && reader.wire.is_at_end()
        };
        assert!(is_read(b"a\0\0\0\x02\x01\x01"));
        // First with more bytes, then with another name, then empty.
        assert!(is_read(b"a\0\0\0\x03\x01\x01\x01") && is_read(b"b\0\0\0\x01\x01") && is_read(b"\0\0\0"));
        // Too short for its kind or its size.
        assert!(!is_read(b"a\0\0\0\x01\x01") && !is_read(b"b\0\0\0\x02\x01"));
    }
}
