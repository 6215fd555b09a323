//! Identifiers in report lines.

use super::class::LineRole;
use super::reported_operations::OperationKey;
use crate::dialect::Version2;
use crate::metadata::{MAX_TEXT_LENGTH, Mode};
use crate::option::ChainId;
use crate::{Metadata, MetadataError, OpId, TaskId};

/// Metadata identifiers.
#[derive(Debug)]
pub(crate) struct MetadataIds {
    pub(crate) task: TaskId,
    pub(crate) op: OpId,
    pub(crate) chain: Option<u16>,
    /// The metadata, if it has a version other than 1, or options.
    pub(super) unusual: Option<Box<Metadata>>,
    /// First broken rule, if only lenient parsing accepts the metadata.
    pub(crate) broken: Option<MetadataError>,
}

/// Reads metadata as the document requires, else as the original library reads it, else as version 2. Returns the first
/// error if all fail.
pub(crate) fn metadata_of_line(value: &[u8]) -> Result<MetadataIds, MetadataError> {
    let (metadata, broken) = match Metadata::parse_with(value, Mode::Strict) {
        Ok(metadata) => (metadata, None),
        // Metadata cannot be this long, whatever the text starts with.
        Err(error) if value.len() > MAX_TEXT_LENGTH => return Err(error),
        Err(error) => match Metadata::parse_with(value, Mode::Lenient) {
            Ok(metadata) => (metadata, Some(error)),
            Err(_) => {
                let Ok(metadata) = Version2::parse(value) else { return Err(error) };
                let (task, op) = (metadata.task_id(), metadata.op_id());
                return Ok(MetadataIds { task, op, chain: None, unusual: None, broken: None });
            }
        },
    };
    let chain = ChainId::from_metadata(metadata.as_ref()).ok().flatten().map(|chain| chain.0);
    let (task, op) = (metadata.task_id(), metadata.op_id());
    let is_unusual = metadata.version() != 1 || !metadata.as_ref().options_bytes().is_empty();
    Ok(MetadataIds { task, op, chain, unusual: is_unusual.then(|| Box::new(metadata)), broken })
}

/// Reads the value of a line `ChainId`.
pub(crate) fn chain_of_line(value: &[u8]) -> Option<u16> {
    let digits = value.strip_prefix(b"0x").or_else(|| value.strip_prefix(b"0X"))?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns the operation for a signed 64-bit identifier in text form.
pub(crate) fn decimal_id(text: &[u8]) -> Option<OpId> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(OpId::from(number.to_be_bytes()))
}

/// Returns the operation of a report with these keys and values, as in events.
pub(crate) fn operation_of<'l>(lines: impl Iterator<Item = (&'l [u8], &'l [u8])>) -> Option<OperationKey> {
    let (mut task, mut op, mut chain) = (None, None, None);
    let mut has_metadata = false;
    for (key, value) in lines {
        match LineRole::from_key(key) {
            LineRole::Metadata if !std::mem::replace(&mut has_metadata, true) => {
                let Ok(ids) = metadata_of_line(value) else { continue };
                chain = chain.or(ids.chain);
                if ids.task.is_valid() {
                    (task, op) = (Some(ids.task), Some(ids.op));
                }
            }
            LineRole::Chain => chain = chain_of_line(value).or(chain),
            LineRole::TaskId => task = task.or_else(|| TaskId::from_hex(value).ok()),
            LineRole::EventId => op = op.or_else(|| decimal_id(value)),
            _ => {}
        }
    }
    let (task, op) = (task?, op?);
    // All zeros do not name an operation.
    (task.is_valid() && op.is_valid()).then_some(OperationKey { task, op, chain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[(&str, &str)]) -> Option<OperationKey> {
        operation_of(lines.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())))
    }

    #[test]
    fn operations_of_reports() {
        let metadata = ("X-Trace", "14CAFEBABE0102030404C1020007");
        let key = |chain| {
            Some(OperationKey {
                task: TaskId::from([0xCA, 0xFE, 0xBA, 0xBE]),
                op: OpId::from([1, 2, 3, 4]),
                chain,
            })
        };
        assert_eq!(of(&[metadata]), key(Some(7)));
        // The line takes precedence, wherever it is.
        assert_eq!(of(&[metadata, ("ChainId", "0x0009")]), key(Some(9)));
        assert_eq!(of(&[("ChainId", "0x0009"), metadata]), key(Some(9)));
        assert_eq!(of(&[metadata, ("ChainId", "nine"), ("ChainId", "0x+9")]), key(Some(7)));
        assert_eq!(of(&[metadata, ("X-Trace", "10CAFEBABE01020305")]), key(Some(7)));
        assert_eq!(of(&[("TaskID", "CAFEBABE")]), None);
        let op = Some(OpId::from(16u64.to_be_bytes()));
        assert_eq!(of(&[("TaskID", "CAFEBABE"), ("EventID", "16")]).map(|key| key.op), op);
        assert_eq!(of(&[("X-Trace", "10CAFEBABE00000000")]), None);
        assert_eq!(of(&[("X-Trace", "1000000000CAFEBABE")]), None);
    }
}
