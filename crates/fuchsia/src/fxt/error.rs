//! Named rules of the format, and errors at a position.

use core::fmt;

use crate::rule::{RuleUnit, rules, write_statement};

rules! {
    ByteOrder, "byte-order", true, RuleUnit::Bits,
        "words are little-endian";
    RecordHeaderTruncated, "record-header-truncated", true, RuleUnit::AtLeast("bytes"),
        "a record begins with a header of 8 bytes";
    RecordSizeMinimum, "record-size-minimum", true, RuleUnit::AtLeast("words"),
        "the size of a record includes its header and its fixed words";
    RecordTruncated, "record-truncated", true, RuleUnit::AtLeast("bytes"),
        "a record has the size in its header";
    RecordContent, "record-content", true, RuleUnit::AtMost("bytes"),
        "the content of a record ends within it";
    RecordReserved, "record-reserved", false, RuleUnit::Bits,
        "the reserved bits of a record header are 0";
    RecordExtra, "record-extra", false, RuleUnit::Plain("bytes"),
        "nothing follows the known content of a record";
    Padding, "padding", false, RuleUnit::Found("the bits"),
        "texts and binary data are padded with zeros";
    ArgumentSize, "argument-size", true, RuleUnit::AtLeast("words"),
        "the size of an argument includes its header, its name and its value";
    ArgumentBeyondRecord, "argument-beyond-record", true, RuleUnit::AtMost("words"),
        "an argument ends within its record";
    ArgumentType, "argument-type", false, RuleUnit::AtMost("as type"),
        "the type of an argument is known";
    StringIndex, "string-index", true, RuleUnit::Found("the index"),
        "a string is registered before its index is used";
    StringZero, "string-zero", false, RuleUnit::Found("the index"),
        "index 0 is not registered, as it is the empty string";
    ThreadIndex, "thread-index", true, RuleUnit::Found("the index"),
        "a thread is registered before its index is used";
    ThreadZero, "thread-zero", false, RuleUnit::Found("the index"),
        "index 0 is not registered, as it stands for a thread in the record";
    TextUtf8, "text-utf8", false, RuleUnit::Found("the byte"),
        "texts are UTF-8";
    TicksPerSecond, "ticks-per-second", true, RuleUnit::AtLeast("tick"),
        "a clock has at least one tick per second";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A broken rule and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FxtError {
    /// Broken rule.
    pub rule: Rule,
    /// Byte offset of the violation in the input.
    pub at: u64,
    /// Expected number in the unit of the rule, or expected bits.
    pub expected: u64,
    /// Number found.
    pub found: u64,
}

impl FxtError {
    #[cold]
    pub(crate) fn new(rule: Rule, at: u64, expected: u64, found: u64) -> Self {
        Self { rule, at, expected, found }
    }

    /// Returns the rule with the expected and found values, without the position.
    pub fn statement(&self) -> impl fmt::Display + use<> {
        Statement(*self)
    }
}

struct Statement(FxtError);

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FxtError { rule, expected, found, .. } = self.0;
        write_statement(f, rule.statement(), rule.unit(), expected, found)
    }
}

impl fmt::Display for FxtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, at, .. } = *self;
        write!(f, "byte {at}: a record breaks the rule {rule}: {}", self.statement())
    }
}

impl core::error::Error for FxtError {}
