//! Named report rules, and errors at a position.

use core::fmt;

use alloc::string::String;

use crate::rules::rules;

rules! {
    /// A report rule.
    ReportRule,
    /// Returns `true` if a part of the report is missing because of the error. Otherwise everything is read as if the
    /// rule were kept.
    is_fatal: bool;

    ReportBegin, "report-begin", true,
        "a report begins with the line `X-Trace Report ver 1.0`";
    ReportVersion, "report-version", false,
        "the report version is 1.0";
    ReportSize, "report-size", true,
        "a report has at most 16 MiB, and 65,536 lines";
    LineColon, "line-colon", false,
        "a line is a key, a colon and a value";
    LineEnd, "line-end", false,
        "the last line ends with a line break";
    Escape, "escape", false,
        "in an escaped report, a backslash is followed by `\\`, `n`, `r`, or `x` and two digits";
    MetadataMissing, "metadata-missing", true,
        "a report has metadata: a line `X-Trace`";
    MetadataOnce, "metadata-once", false,
        "a report has one line `X-Trace`";
    Metadata, "metadata", true,
        "metadata follows the document, or the original library accepts it";
    MetadataStrict, "metadata-strict", false,
        "metadata follows all rules of the document";
    MetadataValid, "metadata-valid", true,
        "report metadata is valid: the task is not all zeros";
    OperationOnce, "operation-once", false,
        "an operation has one report, possibly with copies";
    Edge, "edge", true,
        "an edge is an identifier with an optional kind (`next`, `down`, `up`) and chain (`0x` and four digits)";
    EdgeLength, "edge-length", false,
        "an edge identifier is as long as the operation's";
    Timestamp, "timestamp", true,
        "a time is a number of seconds, milliseconds, microseconds or nanoseconds since 1970";
    Number, "number", false,
        "the values of `Severity` and `ChainId` are numbers";
    JsonSyntax, "json-syntax", true,
        "JSON is a list of objects, each of them a report or a list of reports called `reports`";
    JsonValue, "json-value", false,
        "a value in JSON is a string or a list of strings";
}

impl fmt::Display for ReportRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A broken rule and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportFault {
    /// Broken rule.
    pub rule: ReportRule,
    /// Byte offset in the text.
    pub offset: usize,
    /// Number of bytes skipped from this offset on.
    pub skipped: usize,
    /// Expected and found values.
    pub statement: String,
}

impl ReportFault {
    pub(crate) fn new(rule: ReportRule, offset: usize, statement: impl Into<String>) -> Self {
        Self { rule, offset, skipped: 0, statement: statement.into() }
    }

    pub(crate) fn skipping(self, skipped: usize) -> Self {
        Self { skipped, ..self }
    }
}

impl fmt::Display for ReportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.statement, self.offset)
    }
}

impl core::error::Error for ReportFault {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn rules_have_different_names() {
        let names: BTreeSet<_> = ReportRule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), ReportRule::ALL.len());
    }
}
