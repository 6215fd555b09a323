//! Records of which there are too many classes, in a form that one class is enough for.

use crate::log::{Record, Value};

/// Writes a record as [`any_class`](super::class::any_class) has it: header and timestamp, the number of
/// arguments (32 bits), and each argument: its type (8 bits), its name and its value, texts with their
/// length before them (16 bits). Then comes the record itself, for those who render its text, and the
/// size of what is before it (32 bits). Gives that size.
pub(super) fn write(record: &Record<'_>, out: &mut Vec<u8>) -> usize {
    out.clear();
    let header = record.as_bytes().get(..16).unwrap_or_default();
    out.extend_from_slice(header);
    let count = record.arguments().map_while(Result::ok).count() as u32;
    out.extend_from_slice(&count.to_le_bytes());
    let push_text = |out: &mut Vec<u8>, text: &[u8]| {
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text);
    };
    for argument in record.arguments().map_while(Result::ok) {
        out.push(argument.value.kind());
        push_text(out, argument.name.as_bytes());
        match argument.value {
            Value::Null => {}
            Value::Signed(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Unsigned(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
            Value::Bool(value) => out.push(value.into()),
            Value::Text(value) => push_text(out, value.as_bytes()),
        }
    }
    let size = out.len();
    out.extend_from_slice(record.as_bytes());
    out.extend_from_slice(&(size as u32).to_le_bytes());
    size
}

/// The record in what [`write`] has written.
pub(super) fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let (before, size) = bytes.split_last_chunk::<4>()?;
    let record = before.get(u32::from_le_bytes(*size) as usize..)?;
    Record::read(record, 0).ok().map(|(record, _)| record)
}
