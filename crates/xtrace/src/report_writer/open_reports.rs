//! Reports that wait for further events of their operation.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;

use crate::Edge;
use crate::reader::reported_operations::OperationKey;
use crate::report::LineBuffer;

/// Maximum number of reports that wait.
const MOST: usize = 4096;
/// Maximum number of bytes that their lines take.
const MOST_BYTES: usize = 8 << 20;
/// Maximum number of lines of a report that takes another event.
const MOST_LINES: usize = 4096;
/// Maximum number of bytes of its lines.
const MOST_BYTES_OF_REPORT: usize = 1 << 20;
/// Maximum number of edges that are compared with another one.
const MOST_EDGES: usize = 64;
/// Number of bytes that a line takes beside its key and its value.
const LINE: usize = 48;
/// Maximum number of reports whose memory is kept for others, and maximum number of its bytes.
const MOST_SPARE: usize = 1024;
const MOST_BYTES_OF_SPARE: usize = 8 << 10;

/// The report of an operation.
#[derive(Debug)]
pub(super) struct OpenReport {
    key: OperationKey,
    pub(super) lines: LineBuffer,
    /// Number of its events.
    pub(super) events: u64,
    edges: Vec<Edge>,
    /// `true` if all of its events only mention the operation.
    pub(super) is_mention: bool,
    /// Number of bytes of lines when it was counted last.
    counted: usize,
}

impl OpenReport {
    /// Returns `true` if it takes another event.
    fn has_room(&self) -> bool {
        self.lines.len() < MOST_LINES && self.lines.byte_count() < MOST_BYTES_OF_REPORT
    }

    /// Adds the line of an edge, unless it has that.
    pub(super) fn push_edge(&mut self, edge: &Edge) {
        if self.edges.contains(edge) {
            return;
        }
        if self.edges.len() < MOST_EDGES {
            self.edges.push(*edge);
        }
        push_edge(&mut self.lines, edge);
    }
}

/// Adds the line of an edge.
pub(super) fn push_edge(lines: &mut LineBuffer, edge: &Edge) {
    // Writing into a vector cannot fail.
    lines.push_with(b"Edge", |value| drop(write!(value, "{edge}")));
}

/// Reports that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenReports {
    waiting: VecDeque<OpenReport>,
    /// Number of each report among all reports so far.
    numbers: HashMap<OperationKey, u64>,
    /// Number of the first waiting report.
    first: u64,
    bytes: usize,
    spare: Vec<OpenReport>,
}

/// State of an operation.
#[derive(Debug)]
pub(super) enum OperationReport<'r> {
    Open(&'r mut OpenReport),
    /// Its report has too many events.
    Full,
    /// It has no waiting report.
    Unknown,
}

impl OpenReports {
    /// Returns the waiting report of an operation.
    pub(super) fn get(&mut self, key: &OperationKey) -> OperationReport<'_> {
        let index = self.numbers.get(key).and_then(|number| usize::try_from(number - self.first).ok());
        match index.and_then(|index| self.waiting.get_mut(index)) {
            None => OperationReport::Unknown,
            Some(report) if report.has_room() => OperationReport::Open(report),
            Some(_) => OperationReport::Full,
        }
    }

    /// Begins the report of an operation that has none.
    pub(super) fn begin(&mut self, key: OperationKey) -> &mut OpenReport {
        self.numbers.insert(key, self.first + self.waiting.len() as u64);
        let report = self.spare.pop().unwrap_or_else(|| OpenReport {
            key,
            lines: LineBuffer::default(),
            events: 0,
            edges: Vec::new(),
            is_mention: false,
            counted: 0,
        });
        self.waiting.push_back(OpenReport { key, events: 0, counted: 0, is_mention: false, ..report });
        let last = self.waiting.len() - 1;
        &mut self.waiting[last]
    }

    /// Counts the bytes that the report of an operation got.
    pub(super) fn count(&mut self, key: &OperationKey) {
        let Some(number) = self.numbers.get(key) else { return };
        let Ok(index) = usize::try_from(number - self.first) else { return };
        if let Some(report) = self.waiting.get_mut(index) {
            let bytes = report.lines.byte_count() + LINE * report.lines.len();
            self.bytes = (self.bytes + bytes).saturating_sub(report.counted);
            report.counted = bytes;
        }
    }

    /// Returns the number of bytes of lines.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `true` if the oldest report has to be written.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() > MOST || self.bytes > MOST_BYTES
    }

    /// Removes the oldest report.
    pub(super) fn pop(&mut self) -> Option<OpenReport> {
        let report = self.waiting.pop_front()?;
        self.first += 1;
        self.numbers.remove(&report.key);
        self.bytes -= report.counted;
        Some(report)
    }

    /// Keeps the memory of a report for another one.
    pub(super) fn recycle(&mut self, mut report: OpenReport) {
        if report.lines.capacity() <= MOST_BYTES_OF_SPARE && self.spare.len() < MOST_SPARE {
            report.lines.clear();
            report.edges.clear();
            self.spare.push(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpId, TaskId};

    fn key(number: u64) -> OperationKey {
        OperationKey { task: TaskId::from([1; 8]), op: OpId::from(number.to_be_bytes()), chain: None }
    }

    #[test]
    fn the_oldest_is_written_first() {
        let mut open = OpenReports::default();
        for number in 1..=3 {
            open.begin(key(number)).lines.push(b"a", b"bcd");
            open.count(&key(number));
        }
        assert_eq!(open.bytes(), 3 * (4 + LINE));
        assert!(matches!(open.get(&key(1)), OperationReport::Open(_)));
        let first = open.pop().unwrap();
        assert_eq!(first.key, key(1));
        open.recycle(first);
        assert_eq!(open.bytes(), 2 * (4 + LINE));
        assert!(matches!(open.get(&key(1)), OperationReport::Unknown));
        let OperationReport::Open(third) = open.get(&key(3)) else { panic!() };
        assert_eq!(third.key, key(3));
        assert_eq!(open.begin(key(4)).lines.len(), 0);
    }

    #[test]
    fn reports_are_bounded() {
        let mut open = OpenReports::default();
        let report = open.begin(key(1));
        (0..MOST_LINES).for_each(|_| report.lines.push(b"a", b"b"));
        let edge = Edge::next(OpId::from([1; 8]));
        report.push_edge(&edge);
        report.push_edge(&edge);
        assert_eq!(report.lines.len(), MOST_LINES + 1);
        assert!(matches!(open.get(&key(1)), OperationReport::Full));
        open.count(&key(1));
        for number in 2..MOST as u64 + 1 {
            open.begin(key(number));
        }
        assert!(!open.is_full());
        open.begin(key(0));
        assert!(open.is_full());
    }
}
