//! Index of each data stream's lines, built in one pass over the file.

use std::collections::HashMap;

use ichnos_json::read::Reader;
use ichnos_model::class::Value;
use ichnos_model::trace::Limits;

use crate::fault::{MOST_VALUES, value, value_within};
use crate::line::{self, LineOutline, LineType};
use crate::marks::{LineTime, LineTimes, push_number};

/// Index of a file's lines by data stream.
#[derive(Debug, Default)]
pub(crate) struct LineIndex {
    pub(crate) streams: Vec<StreamLines>,
    /// Call stack lines, with the index of their data stream.
    pub(crate) stacks: Vec<(usize, DescribedLine)>,
    /// Unusable descriptions: offset, length of the line, and reason.
    pub(crate) faults: Vec<(usize, usize, String)>,
    /// Lines before the first data stream: damage.
    pub(crate) before: Vec<(usize, usize)>,
}

/// Approximate memory of a description value, and of a data stream with its cursor, in bytes.
const VALUE_BYTES: u64 = 64;
const STREAM_BYTES: u64 = 4096;

/// Lines of a data stream.
#[derive(Debug, Default)]
pub(crate) struct StreamLines {
    /// Line `stream-begin`.
    pub(crate) begin: Option<DescribedLine>,
    /// Lines `event-class`.
    pub(crate) classes: Vec<DescribedLine>,
    pub(crate) runs: Runs,
    /// Times in lines other than events.
    pub(crate) marks: LineTimes,
    /// `true` if a line has a time.
    pub(crate) has_times: bool,
    /// Earliest time among lines without cycles.
    pub(crate) least: Option<i128>,
}

impl StreamLines {
    /// Adds an event's time.
    fn add_time(&mut self, line: &LineOutline) {
        let Some(time) = line.time else { return };
        self.has_times = true;
        if !line.has_cycles {
            self.least = Some(self.least.unwrap_or(time).min(time));
        }
    }

    /// Returns the line `stream-begin`: its value, offset and length.
    pub(crate) fn begin(&self) -> (&Value, (usize, usize)) {
        self.begin.as_ref().map_or((&Value::Null, (0, 0)), |line| (&line.value, (line.at, line.length)))
    }
}

/// Line with a description.
#[derive(Debug)]
pub(crate) struct DescribedLine {
    /// Offset and length in bytes.
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) value: Value,
}

/// Compressed list of ranges in a file, sorted by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// For each range except the last, the gap before it and its length, as LEB128.
    packed: Vec<u8>,
    packed_end: usize,
    last: Option<(usize, usize)>,
    /// Total length of all ranges in bytes.
    pub(crate) bytes: usize,
}

impl Runs {
    /// Appends a range.
    fn add(&mut self, begin: usize, end: usize) {
        self.bytes += end - begin;
        match &mut self.last {
            Some((_, last)) if *last == begin => *last = end,
            _ => {
                self.pack();
                self.last = Some((begin, end));
            }
        }
    }

    fn pack(&mut self) {
        let Some((begin, end)) = self.last.take() else { return };
        for number in [begin - self.packed_end, end - begin] {
            push_number(&mut self.packed, number as u128);
        }
        self.packed_end = end;
    }

    /// Returns a cursor over the ranges after a cursor of a shorter list. The last range of the shorter list can have grown,
    /// so it comes again.
    pub(crate) fn resumed(&self, cursor: &RunCursor) -> RunCursor {
        RunCursor { is_done: false, ..cursor.clone() }
    }

    /// Returns a cursor over all ranges.
    pub(crate) fn cursor(&self) -> RunCursor {
        RunCursor::default()
    }

    /// Returns the next range.
    pub(crate) fn next(&self, cursor: &mut RunCursor) -> Option<(usize, usize)> {
        if cursor.at >= self.packed.len() {
            return if std::mem::replace(&mut cursor.is_done, true) { None } else { self.last };
        }
        let mut number = || {
            let (mut value, mut shift) = (0usize, 0);
            while let Some(byte) = self.packed.get(cursor.at) {
                cursor.at += 1;
                value |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if *byte < 0x80 {
                    break;
                }
            }
            value
        };
        let begin = cursor.end + number();
        cursor.end = begin + number();
        Some((begin, cursor.end))
    }
}

/// Cursor over [`Runs`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RunCursor {
    at: usize,
    end: usize,
    is_done: bool,
}

impl RunCursor {
    /// Returns `true` after the last range.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }
}

/// Returns the line at an offset without its line break, and the offset of the next line.
pub(crate) fn line_at(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    match memchr::memchr(b'\n', rest) {
        Some(length) => {
            // The length was found in the rest.
            let line = rest.get(..length).unwrap_or_default();
            (line.strip_suffix(b"\r").unwrap_or(line), at + length + 1)
        }
        None => (rest, bytes.len()),
    }
}

/// Returns the length of the byte order mark at the start of a file.
pub(crate) fn byte_order_mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 }
}

impl LineIndex {
    /// Indexes a file.
    #[cfg(test)]
    pub(crate) fn from_bytes(bytes: &[u8], limits: &Limits) -> Self {
        let mut scan = IndexScan::new(limits);
        scan.read(bytes);
        scan.index
    }
}

/// Scan of a file, which can continue when the file has grown.
#[derive(Debug)]
pub(crate) struct IndexScan {
    pub(crate) index: LineIndex,
    /// Offset of the next line.
    at: usize,
    /// Data stream index by number.
    numbers: HashMap<u64, usize>,
    /// Number and index of the previous line's data stream.
    last: Option<(u64, usize)>,
    /// Latest time so far, and the data stream of the previous line.
    time: Option<i128>,
    before: Option<usize>,
    /// Offset of the latest line `stream-begin`.
    last_begin: usize,
    /// Remaining size limit for descriptions, in bytes.
    left: u64,
    /// Remaining approximate memory limit for descriptions, in bytes.
    left_memory: u64,
    most_faults: usize,
}

impl IndexScan {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            index: LineIndex::default(),
            at: 0,
            numbers: HashMap::new(),
            last: None,
            time: None,
            before: None,
            last_begin: 0,
            left: limits.metadata_bytes,
            left_memory: limits.description_bytes,
            most_faults: limits.diagnostics,
        }
    }

    /// Scans the rest of a file that begins with the scanned bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        let mut at = self.at.max(byte_order_mark(bytes));
        while at < bytes.len() {
            let (line, next) = line_at(bytes, at);
            self.line(line, at, next);
            at = next;
        }
        self.at = at;
        for lines in &mut self.index.streams {
            lines.marks.last_begin = self.last_begin;
        }
    }

    fn line(&mut self, line: &[u8], at: usize, next: usize) {
        if line.iter().all(u8::is_ascii_whitespace) {
            if let Some((_, stream)) = self.last {
                self.index.streams[stream].runs.add(at, next);
            }
            return;
        }
        let found = match LineOutline::parse(line) {
            Ok(found) => found,
            // The reader reports this line later, in the data stream of the previous line.
            Err(_) => {
                let last = self.last.map(|(_, stream)| stream);
                let Some(stream) = last.or_else(|| self.stream_of(None, at, next)) else { return };
                return self.mark(stream, at, next, None);
            }
        };
        match found.kind {
            LineType::Event => {
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.before = Some(stream);
                let lines = &mut self.index.streams[stream];
                lines.runs.add(at, next);
                lines.add_time(&found);
                self.time = self.time.max(found.time);
            }
            LineType::StreamBegin => {
                let Some(described) = self.describe(line, at) else { return };
                // A line without a number belongs to data stream 0.
                let number = found.stream.unwrap_or_default();
                self.numbers.remove(&number);
                self.last = None;
                self.last_begin = at;
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.index.streams[stream].begin = Some(described);
                self.index.streams[stream].runs.add(at, next);
            }
            LineType::EventClass | LineType::Stack => {
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.index.streams[stream].runs.add(at, next);
                let Some(described) = self.describe(line, at) else { return };
                if found.kind == LineType::Stack {
                    self.index.stacks.push((stream, described));
                } else {
                    self.index.streams[stream].classes.push(described);
                }
            }
            // Damage is in the named data stream, or else in that of the previous line.
            LineType::Damage => match self.damaged(line) {
                Some(stream) => self.mark(stream, at, next, None),
                None => self.index.before.push((at, next)),
            },
            _ => {
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.index.streams[stream].has_times |= found.time.is_some();
                self.mark(stream, at, next, found.time);
            }
        }
    }

    /// Returns a data stream's index, or `None` above the limit.
    #[inline]
    fn stream(&mut self, number: u64) -> Option<usize> {
        if let Some((last, stream)) = self.last
            && last == number
        {
            return Some(stream);
        }
        let stream = match self.numbers.get(&number) {
            Some(stream) => *stream,
            None => {
                self.left_memory = self.left_memory.checked_sub(STREAM_BYTES)?;
                self.index.streams.push(StreamLines::default());
                let stream = self.index.streams.len() - 1;
                self.numbers.insert(number, stream);
                stream
            }
        };
        self.last = Some((number, stream));
        Some(stream)
    }

    /// Returns the index of a line's data stream. Above the limit of data streams, the line is damage.
    fn stream_of(&mut self, number: Option<u64>, at: usize, next: usize) -> Option<usize> {
        // A line without a number belongs to data stream 0.
        let stream = self.stream(number.unwrap_or_default());
        if stream.is_none() {
            self.fault(at, next - at, "there are more data streams than the limit allows".to_owned());
        }
        stream
    }

    /// Adds a line other than an event. `own` is its time, if it has one.
    fn mark(&mut self, stream: usize, at: usize, next: usize, own: Option<i128>) {
        // At equal times, data streams are sorted by index.
        let is_behind = self.before.replace(stream).is_some_and(|before| before > stream);
        self.time = self.time.map(|time| time + i128::from(is_behind)).or(own);
        let lines = &mut self.index.streams[stream];
        lines.marks.push(LineTime { at, time: self.time });
        lines.runs.add(at, next);
    }

    /// Returns the data stream of a damage line.
    fn damaged(&self, line: &[u8]) -> Option<usize> {
        let streams = &self.index.streams;
        let of = || -> Option<usize> {
            let value = value(&mut Reader::new(line::text(line).ok()?)).ok()?;
            let name = value.get("stream_name")?;
            let is_named = |lines: &StreamLines| {
                lines.begin.as_ref().and_then(|begin| begin.value.get("name")) == Some(name)
            };
            // If there are several, prefer the data stream of the previous line.
            let last =
                self.last.map(|(_, last)| last).filter(|last| streams.get(*last).is_some_and(is_named));
            last.or_else(|| streams.iter().take(1 << 12).position(is_named))
        };
        of().or(self.last.map(|(_, last)| last))
    }

    /// Reads a line with a description.
    fn describe(&mut self, line: &[u8], at: usize) -> Option<DescribedLine> {
        const EXCEEDED: &str =
            "the lines that describe data streams, classes and stacks take more bytes than the limit";
        let Some(left) = self.left.checked_sub(line.len() as u64) else {
            self.fault(at, line.len(), EXCEEDED.to_owned());
            return None;
        };
        self.left = left;
        let allowed = self.left_memory / VALUE_BYTES;
        let mut values = allowed.min(MOST_VALUES);
        let is_last = values == allowed;
        let read = line::text(line).and_then(|text| {
            let begin = values;
            let value = value_within(&mut Reader::new(text), &mut values);
            self.left_memory -= (begin - values) * VALUE_BYTES;
            value
        });
        match read {
            Ok(value) => return Some(DescribedLine { at, length: line.len(), value }),
            Err(_) if is_last && values == 0 => self.fault(at, line.len(), EXCEEDED.to_owned()),
            Err(fault) => self.fault(at, line.len(), format!("expected {}", fault.expected)),
        }
        None
    }

    fn fault(&mut self, at: usize, length: usize, what: String) {
        if self.index.faults.len() < self.most_faults {
            self.index.faults.push((at, length, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_they_were() {
        let mut runs = Runs::default();
        let ranges = [(0, 10), (10, 300), (301, 302), (70_000, 200_000), (200_001, 200_005)];
        ranges.into_iter().for_each(|(begin, end)| runs.add(begin, end));
        let mut cursor = runs.cursor();
        let found: Vec<_> = std::iter::from_fn(|| runs.next(&mut cursor)).collect();
        assert_eq!(found, [(0, 300), (301, 302), (70_000, 200_000), (200_001, 200_005)]);
        assert_eq!(runs.bytes, 300 + 1 + 130_000 + 4);
    }

    #[test]
    fn lines_by_data_stream() {
        let text = "{\"type\":\"stream-begin\",\"stream\":4,\"name\":\"a\"}\n\
            {\"type\":\"event\",\"stream\":4,\"ts\":5,\"cycles\":1}\n\
            {\"type\":\"event\",\"stream\":7,\"ts\":6}\r\n\nnonsense\n\
            {\"type\":\"damage\",\"stream_name\":\"a\"}\n{\"type\":\"stream-end\",\"stream\":7}";
        let index = LineIndex::from_bytes(text.as_bytes(), &Limits::default());
        let [a, b] = &index.streams[..] else { panic!() };
        assert_eq!((a.begin.is_some(), a.has_times, a.least), (true, true, None));
        assert_eq!((b.begin.is_some(), b.has_times, b.least), (false, true, Some(6)));
        // After the first line of a later data stream.
        let damage = text.find("{\"type\":\"damage\"").unwrap();
        assert_eq!(a.marks.cursor().take(&a.marks, damage), Some(LineTime { at: damage, time: Some(7) }));
        assert_eq!(a.runs.bytes + b.runs.bytes, text.len());
    }
}
