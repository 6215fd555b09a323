//! Records of which there are too many classes, in a form that one class is enough for.

use super::class::{MONIKER, ROLLED_OUT, URL};
use crate::log::{Argument, Message, Record, Value};

/// What is behind an extended record, as arguments.
pub(super) fn behind<'a>(
    message: &Message<'a>,
) -> impl Iterator<Item = (&'a str, Value<'a>)> + Clone + use<'a> {
    let attribution = message.attribution();
    let arguments = attribution.map(|attribution| {
        [
            (ROLLED_OUT, Value::Unsigned(attribution.rolled_out)),
            (MONIKER, Value::Text(attribution.moniker.unwrap_or_else(|| "".into()))),
            (URL, Value::Text(attribution.url.unwrap_or_else(|| "".into()))),
        ]
    });
    arguments.into_iter().flatten()
}

/// Writes a record as [`any_class`](super::class::any_class) has it: header and timestamp, the number of
/// arguments (32 bits), and each argument: its type (8 bits), its name and its value, texts with their
/// length before them (16 bits). What is behind an extended record are arguments, too. Then comes the record
/// itself with all that is behind it, for those who render its text, and the size of what is before it (32
/// bits). Gives that size.
pub(super) fn write(message: &Message<'_>, record: &Record<'_>, out: &mut Vec<u8>) -> usize {
    out.clear();
    let header = record.as_bytes().get(..16).unwrap_or_default();
    out.extend_from_slice(header);
    let own = record.arguments().map_while(Result::ok);
    let own = own.map(|Argument { name, value, .. }| (name.as_bytes(), value));
    let arguments = own.chain(behind(message).map(|(name, value)| (name.as_bytes(), value)));
    let count = arguments.clone().count() as u32;
    out.extend_from_slice(&count.to_le_bytes());
    let push_text = |out: &mut Vec<u8>, text: &[u8]| {
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text);
    };
    for (name, value) in arguments {
        out.push(value.kind());
        push_text(out, name);
        match value {
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
    if let Message::Record { behind, .. } = message {
        out.extend_from_slice(behind);
    }
    out.extend_from_slice(&(size as u32).to_le_bytes());
    size
}

/// The record in what [`write`] has written, with what is behind it.
pub(super) fn record(bytes: &[u8]) -> Option<(Record<'_>, Message<'_>)> {
    let (before, size) = bytes.split_last_chunk::<4>()?;
    let record = before.get(u32::from_le_bytes(*size) as usize..)?;
    let (record, behind) = Record::read(record, 0).ok()?;
    Some((record, Message::Record { record, behind }))
}
