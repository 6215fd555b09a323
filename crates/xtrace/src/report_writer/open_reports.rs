//! Reports that wait for further events of their operation.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;

use crate::reader::reported_operations::OperationKey;
use crate::report::{LineBuffer, push_hex};
use crate::{Edge, Metadata};

/// Maximum number of waiting reports.
const MOST: usize = 4096;
/// Maximum total size of their lines in bytes.
const MOST_BYTES: usize = 8 << 20;
/// Maximum number of lines in a report that accepts another event.
const MOST_LINES: usize = 4096;
/// Maximum size of its lines in bytes.
const MOST_BYTES_OF_REPORT: usize = 1 << 20;
/// Maximum number of edges to compare with a new edge.
const MOST_EDGES: usize = 64;
/// Memory overhead of a line in bytes, without key and value.
const LINE: usize = 48;
/// Maximum number of reports to keep for reuse, and maximum size of each in bytes.
const MOST_SPARE: usize = 1024;
const MOST_BYTES_OF_SPARE: usize = 8 << 10;

/// Data stream class index, and class index in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassPlace {
    pub(super) group: usize,
    pub(super) class: usize,
}

/// The report of an operation.
#[derive(Debug)]
pub(super) struct OpenReport {
    key: OperationKey,
    pub(super) lines: LineBuffer,
    /// Number of events in the report.
    pub(super) events: u64,
    edges: Vec<Edge>,
    /// `true` if all events only mention the operation.
    pub(super) is_mention: bool,
    /// `false` for a single report, exactly as it was read.
    pub(super) is_changed: bool,
    /// `true` if it must not change anymore.
    pub(super) is_closed: bool,
    /// Class of the first event.
    pub(super) class: ClassPlace,
    /// Line size in bytes at the last count.
    counted: usize,
}

impl OpenReport {
    /// Returns `true` if the report accepts another event with lines of this size.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        // The limit is so low that no report is evicted to make room for its own events, also in JSON.
        !self.is_closed
            && !self.lines.is_cut()
            && self.lines.len() < MOST_LINES
            && self.lines.byte_count().saturating_add(bytes) < MOST_BYTES_OF_REPORT
    }

    /// Returns `true` if the lines of both fit.
    pub(super) fn fits(&self, lines: &LineBuffer) -> bool {
        self.has_room(lines.byte_count()) && self.lines.len() + lines.len() <= MOST_LINES
    }

    /// Returns the operation of the report.
    pub(super) fn key(&self) -> &OperationKey {
        &self.key
    }

    /// Records an edge. Returns `true` if the report lacks it, so that its line must be added.
    pub(super) fn adds_edge(&mut self, edge: &Edge) -> bool {
        let is_new = !self.edges.contains(edge);
        if is_new && self.edges.len() < MOST_EDGES {
            self.edges.push(*edge);
        }
        is_new
    }

    /// Adds an edge line if the report lacks it.
    pub(super) fn push_edge(&mut self, edge: &Edge) {
        if self.adds_edge(edge) {
            push_edge(&mut self.lines, edge);
        }
    }
}

/// Adds the lines with operation identifiers.
pub(super) fn push_metadata(lines: &mut LineBuffer, key: &OperationKey) {
    let metadata = Metadata::new(key.task, key.op);
    lines.push_with(b"X-Trace", |value| push_hex(metadata.as_bytes(), value));
    if let Some(chain) = key.chain {
        lines.push_with(b"ChainId", |value| {
            value.extend_from_slice(b"0x");
            push_hex(&chain.to_be_bytes(), value);
        });
    }
}

/// Adds an edge line.
pub(super) fn push_edge(lines: &mut LineBuffer, edge: &Edge) {
    // Writing to a vector cannot fail.
    lines.push_with(b"Edge", |value| drop(write!(value, "{edge}")));
}

/// Waiting reports, oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenReports {
    waiting: VecDeque<OpenReport>,
    /// Number of each report since the start.
    numbers: HashMap<OperationKey, u64>,
    /// Number of the first waiting report.
    first: u64,
    bytes: usize,
    spare: Vec<OpenReport>,
}

impl OpenReports {
    /// Returns the waiting report of an operation.
    pub(super) fn get(&mut self, key: &OperationKey) -> Option<&mut OpenReport> {
        let index = self.numbers.get(key).and_then(|number| usize::try_from(number - self.first).ok());
        index.and_then(|index| self.waiting.get_mut(index))
    }

    /// Starts the report of a new operation.
    pub(super) fn begin(&mut self, key: OperationKey, class: ClassPlace) -> &mut OpenReport {
        self.numbers.insert(key, self.first + self.waiting.len() as u64);
        let report = self.spare.pop().unwrap_or_else(|| OpenReport {
            key,
            lines: LineBuffer::default(),
            events: 0,
            edges: Vec::new(),
            is_mention: false,
            is_changed: true,
            is_closed: false,
            class,
            counted: 0,
        });
        let (is_mention, is_changed, is_closed) = (false, true, false);
        self.waiting.push_back(OpenReport {
            key,
            events: 0,
            counted: 0,
            is_mention,
            is_changed,
            is_closed,
            class,
            ..report
        });
        let last = self.waiting.len() - 1;
        &mut self.waiting[last]
    }

    /// Updates the size after adding lines to the report of an operation.
    pub(super) fn count(&mut self, key: &OperationKey) {
        let Some(number) = self.numbers.get(key) else { return };
        let Ok(index) = usize::try_from(number - self.first) else { return };
        if let Some(report) = self.waiting.get_mut(index) {
            let bytes = report.lines.byte_count() + LINE * report.lines.len();
            self.bytes = (self.bytes + bytes).saturating_sub(report.counted);
            report.counted = bytes;
        }
    }

    /// Returns the total line size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `true` if the oldest report must be written.
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

    /// Keeps the memory of a report for reuse.
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
            open.begin(key(number), ClassPlace::default()).lines.push(b"a", b"bcd");
            open.count(&key(number));
        }
        assert_eq!(open.bytes(), 3 * (4 + LINE));
        assert!(open.get(&key(1)).is_some());
        let first = open.pop().unwrap();
        assert_eq!(first.key, key(1));
        open.recycle(first);
        assert_eq!(open.bytes(), 2 * (4 + LINE));
        assert!(open.get(&key(1)).is_none());
        assert_eq!(open.get(&key(3)).unwrap().key, key(3));
        assert_eq!(open.begin(key(4), ClassPlace::default()).lines.len(), 0);
    }

    #[test]
    fn reports_are_bounded() {
        let mut open = OpenReports::default();
        let report = open.begin(key(1), ClassPlace::default());
        assert!(report.has_room(MOST_BYTES_OF_REPORT - 1) && !report.has_room(MOST_BYTES_OF_REPORT));
        (0..MOST_LINES).for_each(|_| report.lines.push(b"a", b"b"));
        let edge = Edge::next(OpId::from([1; 8]));
        report.push_edge(&edge);
        report.push_edge(&edge);
        assert_eq!(report.lines.len(), MOST_LINES + 1);
        assert!(!open.get(&key(1)).unwrap().has_room(0));
        open.count(&key(1));
        for number in 2..MOST as u64 + 1 {
            open.begin(key(number), ClassPlace::default());
        }
        assert!(!open.is_full());
        open.begin(key(0), ClassPlace::default());
        assert!(open.is_full());
    }
}
