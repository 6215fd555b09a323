//! Named metadata rules, and errors at a position.

use core::fmt;

use crate::rules::rules;

rules! {
    /// A rule of the document. Rules are checked in this order.
    Rule,
    /// Returns the section of the document that contains the rule, as number and title, because two sections have the
    /// number 2.4.
    section: &'static str;

    TextDigits, "text-digits", "3 Text Representation",
        "text is hexadecimal digits";
    TextPairs, "text-pairs", "3 Text Representation",
        "each byte is two digits";
    FlagsMissing, "flags-missing", "2 Binary Representation",
        "metadata starts with a flags byte";
    VersionReserved, "version-reserved", "2.1 Flags",
        "version 15 is reserved";
    VersionUnknown, "version-unknown", "2.1 Flags",
        "the version is 0 or 1";
    VersionOpId, "version-op-id", "2.3 OpId",
        "in version 0, the operation identifier has 4 bytes";
    TaskIdTruncated, "task-id-truncated", "2.2 TaskId",
        "the task identifier has the length given by the flags";
    OpIdTruncated, "op-id-truncated", "2.3 OpId",
        "the operation identifier has the length given by the flags";
    OptionsLengthMissing, "options-length-missing", "2.4.1 Options Length",
        "a length precedes the options if the flags announce them";
    OptionsLengthZero, "options-length-zero", "2.4.1 Options Length",
        "the options length is not 0";
    OptionsTruncated, "options-truncated", "2.4.1 Options Length",
        "the options have the given length";
    OptionLengthMissing, "option-length-missing", "2.3.1 Option Format",
        "an option type is followed by a length";
    OptionTruncated, "option-truncated", "2.3.1 Option Format",
        "an option ends within the options";
    TrailingBytes, "trailing-bytes", "2.4.1 Options Length",
        "nothing follows the metadata";
}

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataError {
    /// Broken rule.
    pub rule: Rule,
    /// Offset of the byte in the binary form, or of the character for the two text rules.
    pub offset: u16,
    /// Expected length in bytes, or expected value.
    pub expected: u16,
    /// Length in bytes, or value, found there.
    pub found: u16,
}

impl MetadataError {
    pub(crate) fn new(rule: Rule, offset: usize, expected: usize, found: usize) -> Self {
        let number = |number| u16::try_from(number).unwrap_or(u16::MAX);
        Self { rule, offset: number(offset), expected: number(expected), found: number(found) }
    }
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, offset, expected, found } = *self;
        let statement = rule.statement();
        let section = rule.section();
        match rule {
            Rule::TextDigits => write!(f, "{statement}, but character {offset} is byte {found:#04x}")?,
            Rule::TextPairs => write!(f, "{statement}, but there are {found} digits")?,
            Rule::FlagsMissing => write!(f, "{statement}, but there are none")?,
            Rule::VersionReserved | Rule::VersionUnknown => {
                write!(f, "{statement}, but at byte {offset} it is {found}")?;
            }
            Rule::VersionOpId => write!(f, "{statement}, but the flags at byte {offset} are {found:#04x}")?,
            Rule::OptionsLengthZero => write!(f, "{statement}, but at byte {offset} it is")?,
            Rule::TrailingBytes => write!(f, "{statement}, but at byte {offset} there are {found} more")?,
            Rule::OptionsLengthMissing | Rule::OptionLengthMissing => {
                write!(f, "{statement}, but at byte {offset} there is nothing")?;
            }
            _ => write!(f, "{statement}, but at byte {offset} there are {found} bytes of {expected}")?,
        }
        write!(f, " (section {section})")
    }
}

impl core::error::Error for MetadataError {}
