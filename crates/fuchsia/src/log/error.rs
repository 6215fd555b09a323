//! Named rules of the format, and errors at a position.

use core::fmt;

use crate::rule::{RuleUnit, rules, write_statement};

rules! {
    RecordHeaderTruncated, "record-header-truncated", true, RuleUnit::AtLeast("bytes"),
        "a record begins with a header of 8 bytes";
    RecordType, "record-type", true, RuleUnit::Plain(""),
        "the type of a log record is 9";
    TimestampTruncated, "timestamp-truncated", true, RuleUnit::AtLeast("bytes"),
        "a timestamp of 8 bytes follows the header of a record";
    RecordSizeMinimum, "record-size-minimum", true, RuleUnit::AtLeast("words"),
        "the size of a record includes its header and its timestamp";
    RecordTruncated, "record-truncated", true, RuleUnit::AtLeast("bytes"),
        "a record has the size in its header";
    RecordSizeMaximum, "record-size-maximum", true, RuleUnit::AtMost("bytes"),
        "a record has at most 32 KiB";
    RecordReserved, "record-reserved", false, RuleUnit::Bits,
        "the reserved bits of a record header are 0";
    RecordTag, "record-tag", false, RuleUnit::Bits,
        "bits 16 to 47 of a record header are 0, unless the newer form with a tag is allowed";
    TrailingBytes, "trailing-bytes", false, RuleUnit::Plain("bytes"),
        "nothing follows the record in its datagram";

    ArgumentTypeNull, "argument-type-null", false, RuleUnit::Found("type"),
        "arguments of type 0, without a value, are reserved";
    ArgumentTypeReserved, "argument-type-reserved", true, RuleUnit::Found("type"),
        "arguments of the types 1, 2, 7 and 8 are reserved";
    ArgumentTypeUnknown, "argument-type-unknown", true, RuleUnit::Found("type"),
        "argument types 10 to 15 are invalid";
    ArgumentSizeMinimum, "argument-size-minimum", true, RuleUnit::AtLeast("words"),
        "the size of an argument includes its header";
    ArgumentBeyondRecord, "argument-beyond-record", true, RuleUnit::AtMost("words"),
        "an argument ends within its record";
    NameRefReserved, "name-ref-reserved", true, RuleUnit::Found("the reference"),
        "the reference to a name is 0 or has its highest bit set";
    ValueRefReserved, "value-ref-reserved", true, RuleUnit::Found("the reference"),
        "the reference to a string is 0 or has its highest bit set";
    ArgumentSize, "argument-size", true, RuleUnit::Plain("words"),
        "the size of an argument equals its header, its name and its value";
    ArgumentReserved, "argument-reserved", false, RuleUnit::Bits,
        "the reserved bits of an argument header are 0";
    NameUtf8, "name-utf8", true, RuleUnit::Found("the byte"),
        "names are UTF-8";
    NamePadding, "name-padding", false, RuleUnit::Bits,
        "names are padded with zeros";
    NameEmpty, "name-empty", false, RuleUnit::AtLeast("bytes"),
        "names are not empty, except in printf arguments";
    ValueUtf8, "value-utf8", true, RuleUnit::Found("the byte"),
        "strings are UTF-8";
    MessageUtf8, "message-utf8", false, RuleUnit::Found("the byte"),
        "messages are UTF-8";
    ValuePadding, "value-padding", false, RuleUnit::Bits,
        "strings are padded with zeros";

    PrintfConversion, "printf-conversion", false, RuleUnit::Found("the byte"),
        "a format string has only C printf conversions";
    PrintfArgumentType, "printf-argument-type", false, RuleUnit::Found("type"),
        "the type of a printf argument matches its conversion";
    PrintfArgumentMissing, "printf-argument-missing", false, RuleUnit::AtLeast("arguments"),
        "each conversion of a format string has its argument";
    PrintfArgumentExtra, "printf-argument-extra", false, RuleUnit::Plain("arguments"),
        "each printf argument has its conversion";
    PrintfArgumentOrder, "printf-argument-order", false, RuleUnit::AtLeast("bytes"),
        "printf arguments come before other name-value pairs";

    ExtendedTruncated, "extended-truncated", true, RuleUnit::AtLeast("bytes"),
        "an extended record is followed by its lengths, its moniker and its URL";
    ExtendedTextTooLong, "extended-text-too-long", true, RuleUnit::AtMost("bytes"),
        "the moniker and the URL of an extended record have at most 32,767 bytes each";
    ExtendedUtf8, "extended-utf8", true, RuleUnit::Found("the byte"),
        "the moniker and the URL of an extended record are UTF-8";
    ExtendedControl, "extended-control", false, RuleUnit::Found("the byte"),
        "the moniker and the URL of an extended record do not contain control characters";
    ExtendedPadding, "extended-padding", false, RuleUnit::Bits,
        "the moniker and the URL of an extended record are padded with zeros";

    LegacyTooShort, "legacy-too-short", true, RuleUnit::AtLeast("bytes"),
        "a packet has 32 bytes of metadata and at least one more byte";
    LegacyNotTerminated, "legacy-not-terminated", true, RuleUnit::Plain(""),
        "a packet ends with a zero";
    LegacyTooManyTags, "legacy-too-many-tags", true, RuleUnit::AtMost("tags"),
        "a packet has at most 5 tags";
    LegacyTagTooLong, "legacy-tag-too-long", true, RuleUnit::AtMost("bytes"),
        "a packet tag has at most 63 bytes";
    LegacyOutOfBounds, "legacy-out-of-bounds", true, RuleUnit::AtLeast("bytes"),
        "tags and message of a packet end within it";

    ArgumentAlone, "argument-alone", true, RuleUnit::Found("the header"),
        "an argument is within a record";
    RecordOverlap, "record-overlap", true, RuleUnit::AtMost("bytes"),
        "a message ends before the next message begins";
    FrameTruncated, "frame-truncated", true, RuleUnit::AtLeast("bytes"),
        "a datagram has the length before it";
    FrameLength, "frame-length", true, RuleUnit::AtMost("bytes"),
        "the length before a datagram is a valid datagram length";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A broken rule and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogError {
    /// Broken rule.
    pub rule: Rule,
    /// Byte offset of the record, packet or frame in the input.
    pub record: u64,
    /// Byte offset of the violation in the input.
    pub at: u64,
    /// Expected number in the unit of the rule, or expected bits. 0 if the rule already says what is expected.
    pub expected: u64,
    /// Number found.
    pub found: u64,
}

impl LogError {
    #[cold]
    pub(crate) fn new(rule: Rule, record: u64, at: u64, expected: u64, found: u64) -> Self {
        Self { rule, record, at, expected, found }
    }
}

impl LogError {
    /// Returns the rule with the expected and found values, without the position.
    pub fn statement(&self) -> impl fmt::Display + use<> {
        Statement(*self)
    }
}

struct Statement(LogError);

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogError { rule, expected, found, .. } = self.0;
        write_statement(f, rule.statement(), rule.unit(), expected, found)
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, record, at, .. } = *self;
        write!(f, "byte {at}: the record at {record} breaks the rule {rule}: {}", self.statement())
    }
}

impl core::error::Error for LogError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unique() {
        let names: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        for name in names {
            let is_kebab = |word: &str| {
                !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            };
            assert!(name.split('-').all(is_kebab), "{name}");
        }
    }

    #[test]
    fn an_error_says_where_and_what() {
        let error = LogError::new(Rule::RecordType, 96, 96, 9, 4);
        assert_eq!(
            error.to_string(),
            "byte 96: the record at 96 breaks the rule record-type: the type of a log record is 9: expected 9, found 4"
        );
        let error = LogError::new(Rule::ArgumentReserved, 0, 16, 0, 0x100);
        assert!(error.to_string().contains("expected 0x0, found 0x100"), "{error}");
    }
}
