//! Repairs reports that break rules.

use super::losses::{Loss, LossCounts};
use super::open_reports::push_metadata;
use super::report_block::make_utf8;
use crate::Edge;
use crate::reader::class::LineRole;
use crate::reader::event_maker::number;
use crate::reader::line_ids::{MetadataIds, chain_of_line, decimal_id, metadata_of_line, operation_of};
use crate::reader::reported_operations::{OperationKey, ReportedOperations};
use crate::report::{LineBuffer, parse_timestamp};

/// Repairs the reports in an output.
#[derive(Debug, Default)]
pub(super) struct ReportRepair {
    operations: ReportedOperations,
    repaired: LineBuffer,
}

impl ReportRepair {
    /// Makes the report texts valid UTF-8, and removes lines that break rules. Returns `false` if the report must be
    /// dropped, because it lacks valid metadata or its operation has another report.
    pub(super) fn repair(&mut self, lines: &mut LineBuffer, losses: &mut LossCounts) -> bool {
        if lines.is_cut() {
            // The report is dropped anyway.
            return true;
        }
        if make_utf8(lines) {
            losses.add(Loss::NotUtf8, 1);
        }
        let Self { operations, repaired } = self;
        repaired.clear();
        let mut lines_of = ReportLineRules::default();
        // It takes precedence over the chain in metadata, wherever it is.
        let has_chain = lines.lines().any(|line| {
            LineRole::from_key(line.key) == LineRole::Chain && chain_of_line(line.value).is_some()
        });
        for line in lines.lines() {
            match lines_of.line(line.key, line.value) {
                LineRepair::Keep => repaired.push(line.key, line.value),
                LineRepair::Leave => losses.add(Loss::InvalidLine, 1),
                LineRepair::Rewrite(ids) => {
                    losses.add(Loss::LenientMetadata, 1);
                    let chain = ids.chain.filter(|_| !has_chain);
                    push_metadata(repaired, &OperationKey { task: ids.task, op: ids.op, chain });
                }
            }
        }
        let key = operation_of(repaired.lines().map(|line| (line.key, line.value)));
        let is_valid = lines_of.has_operation
            && key.is_none_or(|key| {
                let digest = operations.digest(repaired.lines().map(|line| (line.key, line.value)));
                operations.is_report(&key, digest)
            });
        if is_valid {
            std::mem::swap(lines, repaired);
        } else {
            losses.add(Loss::InvalidReport, 1);
        }
        is_valid
    }
}

/// Line repair.
enum LineRepair {
    Keep,
    Leave,
    /// Rewrites metadata that only lenient readers accept.
    Rewrite(MetadataIds),
}

/// Rule state for the lines of a report so far.
#[derive(Default)]
struct ReportLineRules {
    has_metadata: bool,
    has_time: bool,
    /// `true` if the report has an operation, in metadata or in the keys of JSON without metadata.
    has_operation: bool,
    /// Size of the operation in bytes.
    size: Option<usize>,
}

impl ReportLineRules {
    fn line(&mut self, key: &[u8], value: &[u8]) -> LineRepair {
        let is_valid = match LineRole::from_key(key) {
            LineRole::Metadata => return self.metadata(value),
            LineRole::Edge => {
                let edge = std::str::from_utf8(value).ok().and_then(|text| text.parse::<Edge>().ok());
                edge.is_some_and(|edge| self.size.is_none_or(|size| size == edge.op.as_bytes().len()))
            }
            LineRole::Timestamp => {
                let is_valid = self.has_time || parse_timestamp(value).is_some();
                self.has_time |= is_valid;
                is_valid
            }
            LineRole::Chain => chain_of_line(value).is_some(),
            LineRole::Severity => number(value).is_some_and(|level| level <= u64::from(u8::MAX)),
            LineRole::EventId if self.size.is_none() => {
                let id = decimal_id(value);
                self.size = id.map(|id| id.as_bytes().len());
                self.has_operation |= id.is_some();
                true
            }
            _ => true,
        };
        if is_valid { LineRepair::Keep } else { LineRepair::Leave }
    }

    fn metadata(&mut self, value: &[u8]) -> LineRepair {
        if std::mem::replace(&mut self.has_metadata, true) {
            return LineRepair::Leave;
        }
        match metadata_of_line(value) {
            Ok(ids) if ids.task.is_valid() => {
                self.has_operation = true;
                self.size = Some(ids.op.as_bytes().len());
                if ids.broken.is_some() { LineRepair::Rewrite(ids) } else { LineRepair::Keep }
            }
            // Without this line, the report lacks an operation.
            _ => {
                self.has_operation = false;
                LineRepair::Leave
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the repaired lines of a report, or `None` if it is dropped.
    fn repaired(repair: &mut ReportRepair, lines: &[(&str, &str)]) -> Option<Vec<String>> {
        let mut buffer = LineBuffer::default();
        lines.iter().for_each(|(key, value)| buffer.push(key.as_bytes(), value.as_bytes()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let kept = repair.repair(&mut buffer, &mut LossCounts::default());
        kept.then(|| buffer.lines().map(|line| text(line.key) + "=" + &text(line.value)).collect())
    }

    #[test]
    fn lines_that_break_rules() {
        let repair = &mut ReportRepair::default();
        let metadata = ("X-Trace", "10CAFEBABE01020304");
        let lines = [
            metadata,
            ("Edge", "1.724"),
            ("Edge", "01020303"),
            ("Edge", "0102030405060708"),
            ("X-Trace", "10CAFEBABE01020305"),
            ("Timestamp", "13x4"),
            ("Timestamp", "12"),
            ("Timestamp", "a second one is not read"),
            ("Severity", "256"),
            ("ChainId", "7"),
            ("Label", "a"),
        ];
        let kept = [
            "X-Trace=10CAFEBABE01020304",
            "Edge=01020303",
            "Timestamp=12",
            "Timestamp=a second one is not read",
            "Label=a",
        ];
        assert_eq!(repaired(repair, &lines).unwrap(), kept);
        // A copy is not a different report of the operation.
        assert_eq!(repaired(repair, &lines).unwrap(), kept);
        assert_eq!(repaired(repair, &[metadata, ("Label", "b")]), None);
        assert_eq!(repaired(repair, &[("Label", "c")]), None);
        assert_eq!(repaired(repair, &[("X-Trace", "10CAFE")]), None);
        assert_eq!(repaired(repair, &[("X-Trace", "1000000000CAFEBABE")]), None);
        assert!(repaired(repair, &[("TaskID", "CAFEBABE"), ("EventID", "16")]).is_some());
    }

    #[test]
    fn rewritten_metadata_keep_the_chain() {
        // Bytes follow the option.
        let metadata = ("X-Trace", "14CAFEBABE0102030404C1020007FF");
        let line = ("ChainId", "0x0009");
        let repaired = |lines: &[_]| repaired(&mut ReportRepair::default(), lines).unwrap();
        assert_eq!(repaired(&[metadata]), ["X-Trace=10CAFEBABE01020304", "ChainId=0x0007"]);
        assert_eq!(repaired(&[line, metadata]), ["ChainId=0x0009", "X-Trace=10CAFEBABE01020304"]);
        assert_eq!(repaired(&[metadata, line]), ["X-Trace=10CAFEBABE01020304", "ChainId=0x0009"]);
        // A line that breaks the rule is dropped.
        assert_eq!(repaired(&[("ChainId", "9"), metadata]), ["X-Trace=10CAFEBABE01020304", "ChainId=0x0007"]);
    }
}
