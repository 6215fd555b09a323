//! Writes event descriptions.

use crate::wire_writer::{
    push_sized, push_string, push_u16, push_u32, push_u64, push_utf16_string, push_varuint,
};
use crate::{EventMetadata, FieldType, PayloadField};

/// Returns the code for a type without parts. Returns `None` if metadata cannot describe it.
fn scalar_code(kind: &FieldType, is_v6: bool) -> Option<u8> {
    Some(match kind {
        FieldType::Boolean32 => 3,
        FieldType::Char => 4,
        FieldType::I8 => 5,
        FieldType::U8 => 6,
        FieldType::I16 => 7,
        FieldType::U16 => 8,
        FieldType::I32 => 9,
        FieldType::U32 => 10,
        FieldType::I64 => 11,
        FieldType::U64 => 12,
        FieldType::F32 => 13,
        FieldType::F64 => 14,
        FieldType::Decimal => 15,
        FieldType::FileTime => 16,
        FieldType::Guid => 17,
        FieldType::Utf16String => 18,
        FieldType::VarInt if is_v6 => 20,
        FieldType::VarUInt if is_v6 => 21,
        FieldType::Utf8CodeUnit if is_v6 => 23,
        FieldType::Boolean8 if is_v6 => 26,
        _ => return None,
    })
}

/// Returns `true` if a version's metadata can describe these fields.
pub(crate) fn can_describe(fields: &[PayloadField], is_v6: bool) -> bool {
    fields.iter().all(|field| can_describe_type(&field.kind, is_v6))
}

fn can_describe_type(kind: &FieldType, is_v6: bool) -> bool {
    match kind {
        FieldType::Object(fields) => can_describe(fields, is_v6),
        FieldType::Array(element) => can_describe_type(element, is_v6),
        FieldType::FixedLengthArray(element, _)
        | FieldType::RelLoc(element)
        | FieldType::DataLoc(element) => is_v6 && can_describe_type(element, is_v6),
        kind => scalar_code(kind, is_v6).is_some(),
    }
}

/// Returns `true` if the field list before the tags can describe these fields. It cannot contain arrays.
fn is_first_form(fields: &[PayloadField]) -> bool {
    fields.iter().all(|field| match &field.kind {
        FieldType::Object(fields) => is_first_form(fields),
        FieldType::Array(_) => false,
        _ => true,
    })
}

impl EventMetadata {
    /// Appends a version 4 or 5 row's payload with an id. If it [cannot describe](can_describe) a field, it omits
    /// all fields.
    pub(crate) fn write(&self, id: u32, out: &mut Vec<u8>) {
        push_u32(out, id);
        push_utf16_string(out, &self.provider);
        push_u32(out, self.event_id);
        push_utf16_string(out, &self.name);
        push_u64(out, self.keywords);
        push_u32(out, self.version);
        push_u32(out, self.level.unwrap_or(0).into());
        let fields = if can_describe(&self.fields, false) { &self.fields[..] } else { &[] };
        let is_first_form = is_first_form(fields);
        push_fields(if is_first_form { fields } else { &[] }, false, out);
        if let Some(opcode) = self.opcode {
            push_tag(out, 1, |out| out.push(opcode));
        }
        if !is_first_form {
            push_tag(out, 2, |out| push_fields(fields, true, out));
        }
    }

    /// Appends a version 6 row with an id, after its size. If it is too long, returns `false` and appends nothing.
    pub(crate) fn write_v6(&self, id: u32, out: &mut Vec<u8>) -> bool {
        let begin = out.len();
        let mut is_whole = true;
        let fits = push_sized(out, |out| {
            push_varuint(out, id.into());
            push_string(out, &self.provider);
            push_varuint(out, self.event_id.into());
            push_string(out, &self.name);
            let fields = if can_describe(&self.fields, true) { &self.fields[..] } else { &[] };
            is_whole &= push_fields_v6(fields, out);
            is_whole &= push_sized(out, |out| self.write_optional(out));
        });
        if !(fits && is_whole) {
            out.truncate(begin);
        }
        fits && is_whole
    }

    fn write_optional(&self, out: &mut Vec<u8>) {
        if let Some(opcode) = self.opcode {
            out.extend([1, opcode]);
        }
        out.push(3);
        push_u64(out, self.keywords);
        for (kind, text) in [(4, &self.message_template), (5, &self.description)] {
            if let Some(text) = text {
                out.push(kind);
                push_string(out, text);
            }
        }
        for (key, value) in &self.properties {
            out.push(6);
            push_string(out, key);
            push_string(out, value);
        }
        if let Some(guid) = self.provider_guid {
            out.push(7);
            out.extend_from_slice(&guid);
        }
        if let Some(level) = self.level {
            out.extend([8, level]);
        }
        out.extend([9, u8::try_from(self.version).unwrap_or(u8::MAX)]);
    }
}

/// Appends a tag after its size.
fn push_tag(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    push_u32(out, 0);
    out.push(kind);
    write(out);
    let size = out.len() - begin - 5;
    set_u32(out, begin, size);
}

fn set_u32(out: &mut [u8], at: usize, value: usize) {
    let value = u32::try_from(value).unwrap_or(u32::MAX);
    if let Some(bytes) = out.get_mut(at..at + 4) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

/// Appends the fields in an event or an object, versions 4 and 5. `names_first` selects the tag format.
fn push_fields(fields: &[PayloadField], names_first: bool, out: &mut Vec<u8>) {
    push_u32(out, u32::try_from(fields.len()).unwrap_or(u32::MAX));
    for field in fields {
        let begin = out.len();
        if names_first {
            push_u32(out, 0);
            push_utf16_string(out, &field.name);
        }
        push_type(&field.kind, names_first, out);
        if names_first {
            let size = out.len() - begin;
            set_u32(out, begin, size);
        } else {
            push_utf16_string(out, &field.name);
        }
    }
}

fn push_type(kind: &FieldType, names_first: bool, out: &mut Vec<u8>) {
    match kind {
        FieldType::Object(fields) => {
            push_u32(out, 1);
            push_fields(fields, names_first, out);
        }
        FieldType::Array(element) => {
            push_u32(out, 19);
            push_type(element, names_first, out);
        }
        kind => push_u32(out, scalar_code(kind, false).unwrap_or(0).into()),
    }
}

/// Appends the fields in an event or an object, version 6. Returns `false` if they are too long.
fn push_fields_v6(fields: &[PayloadField], out: &mut Vec<u8>) -> bool {
    let Ok(count) = u16::try_from(fields.len()) else { return false };
    push_u16(out, count);
    fields.iter().all(|field| {
        let mut is_whole = true;
        let fits = push_sized(out, |out| {
            push_string(out, &field.name);
            is_whole = push_type_v6(&field.kind, out);
        });
        fits && is_whole
    })
}

fn push_type_v6(kind: &FieldType, out: &mut Vec<u8>) -> bool {
    let (code, element) = match kind {
        FieldType::Object(fields) => {
            out.push(1);
            return push_fields_v6(fields, out);
        }
        FieldType::Array(element) => (19, element),
        FieldType::FixedLengthArray(element, _) => (22, element),
        FieldType::RelLoc(element) => (24, element),
        FieldType::DataLoc(element) => (25, element),
        kind => {
            out.push(scalar_code(kind, true).unwrap_or(0));
            return true;
        }
    };
    out.push(code);
    let is_whole = push_type_v6(element, out);
    if let FieldType::FixedLengthArray(_, count) = kind {
        push_u16(out, *count);
    }
    is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, kind: FieldType) -> PayloadField {
        PayloadField::new(name, kind)
    }

    fn metadata(fields: Vec<PayloadField>) -> EventMetadata {
        EventMetadata {
            id: 7,
            provider: "My-Provider".to_owned(),
            event_id: 300,
            name: "Some\u{1f600}Name".to_owned(),
            keywords: 0xf000_0000_0001,
            version: 2,
            level: Some(5),
            opcode: Some(10),
            fields,
            ..EventMetadata::default()
        }
    }

    fn inner() -> FieldType {
        FieldType::Object(vec![field("a", FieldType::Guid), field("b", FieldType::Utf16String)])
    }

    #[test]
    fn rows_are_read_as_they_were() {
        let scalars = [
            FieldType::Boolean32,
            FieldType::Char,
            FieldType::I8,
            FieldType::U64,
            FieldType::F32,
            FieldType::FileTime,
        ];
        let scalars: Vec<PayloadField> = scalars.into_iter().map(|kind| field("x", kind)).collect();
        let array = FieldType::Array(Box::new(FieldType::Array(Box::new(inner()))));
        for fields in [vec![], scalars, vec![field("", inner())], vec![field("list", array)]] {
            let metadata = metadata(fields);
            let mut row = Vec::new();
            metadata.write(7, &mut row);
            assert_eq!(EventMetadata::read(&row), Some(metadata.clone()));
            let mut row = Vec::new();
            assert!(metadata.write_v6(7, &mut row));
            assert_eq!(EventMetadata::read_v6(&row[2..]), Some(metadata));
        }
    }

    #[test]
    fn rows_of_version_6_have_more() {
        let text = FieldType::RelLoc(Box::new(FieldType::Utf8CodeUnit));
        let fixed = FieldType::FixedLengthArray(Box::new(FieldType::VarInt), 3);
        let metadata = EventMetadata {
            message_template: Some("{x}".to_owned()),
            description: Some("about x".to_owned()),
            provider_guid: Some([9; 16]),
            properties: vec![("key".to_owned(), "value".to_owned())],
            level: None,
            opcode: None,
            ..metadata(vec![field("t", text), field("f", fixed), field("v", FieldType::VarUInt)])
        };
        let mut row = Vec::new();
        assert!(metadata.write_v6(7, &mut row));
        assert_eq!(EventMetadata::read_v6(&row[2..]), Some(metadata.clone()));
        assert!(!can_describe(&metadata.fields, false));
        let long = EventMetadata { name: "n".repeat(70_000), ..metadata };
        assert!(!long.write_v6(7, &mut row));
    }
}
