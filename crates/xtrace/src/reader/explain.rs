//! Explains metadata.

use std::fmt::Write as _;

use super::line_ids::metadata_of_line;
use crate::dialect::Version2;
use crate::metadata::{Metadata, Mode, RawOption};
use crate::option::{ChainId, Registry, Severity};

/// Returns the parts of hexadecimal metadata in any version.
///
/// # Errors
/// The broken rule.
pub(super) fn explain(text: &str) -> Result<Vec<(String, String)>, String> {
    let text = text.trim().as_bytes();
    let ids = metadata_of_line(text).map_err(|error| error.to_string())?;
    let mut parts = Vec::new();
    let mut add = |name: &str, value: String| parts.push((name.to_owned(), value));
    let metadata = Metadata::parse_with(text, Mode::Lenient).ok();
    match &metadata {
        Some(metadata) => add("version", metadata.version().to_string()),
        None => add("version", "2".to_owned()),
    }
    let size = |bytes: &[u8]| format!("{} bytes", bytes.len());
    add("task", format!("{}, {}", ids.task, size(ids.task.as_bytes())));
    add("operation", format!("{}, {}", ids.op, size(ids.op.as_bytes())));
    if !ids.task.is_valid() {
        add("invalid", "the task is all zeros".to_owned());
    }
    if let Some(metadata) = &metadata {
        metadata.as_ref().options().for_each(|option| add("option", describe(&option)));
        let padding = metadata.as_ref().padding();
        if !padding.is_empty() {
            add("padding", size(padding));
        }
    } else if let Ok(metadata) = Version2::parse(text) {
        add("sampled", metadata.sampled.to_string());
    }
    if let Some(broken) = ids.broken {
        add("broken rule", broken.to_string());
    }
    Ok(parts)
}

/// Returns an option as text, with name and value if known, otherwise with number and bytes.
pub(super) fn describe(option: &RawOption<'_>) -> String {
    let RawOption { number, payload } = *option;
    let mut text = match Registry::standard().definition(number) {
        Some(known) => known.name.to_owned(),
        None => format!("{number:#04X}"),
    };
    // Writing to memory cannot fail.
    let _ = match (number, payload) {
        (_, []) => Ok(()),
        (ChainId::NUMBER, [high, low]) => write!(text, " {:#06X}", u16::from_be_bytes([*high, *low])),
        (Severity::NUMBER, [level]) => write!(text, " {level}"),
        (_, bytes) => {
            text.push(' ');
            bytes.iter().try_for_each(|byte| write!(text, "{byte:02X}"))
        }
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> String {
        match explain(text) {
            Ok(parts) => parts.iter().map(|(name, value)| format!("{name}: {value}; ")).collect(),
            Err(error) => error,
        }
    }

    #[test]
    fn parts_of_metadata() {
        assert_eq!(
            explained("14CAFEBABE010203040DC1020007CE0106D00201020000"),
            "version: 1; task: CAFEBABE, 4 bytes; operation: 01020304, 4 bytes; option: ChainId 0x0007; \
             option: Severity 6; option: 0xD0 0102; padding: 2 bytes; "
        );
        assert_eq!(
            explained("2B9F41282812F1D348EE79A1B65F87656AAB20C705D5AD851C0152084301"),
            "version: 2; task: 9F41282812F1D348EE79A1B65F87656AAB20C705, 20 bytes; operation: D5AD851C01520843, \
             8 bytes; sampled: true; "
        );
        assert!(explained("10CAFEBABE0102030405").contains("broken rule: nothing follows"));
        assert!(explained("100000000001020304").contains("invalid: "));
        assert!(explained("10CAFE").contains("2 bytes of 4"));
        // Longer than any metadata.
        assert!(explained(&"10CAFEBABE01020304".repeat(40)).starts_with("nothing follows the metadata"));
    }
}
