//! Which lines of a file belong to which data stream, found in one pass over the file.

use std::collections::HashMap;

use ichnos_json::read::Reader;
use ichnos_model::{Limits, Value};

use crate::fault::{MOST_VALUES, value, value_within};
use crate::line::{self, Kind, Line};
use crate::marks::{Mark, Marks};

/// The lines of a file by data stream.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) streams: Vec<StreamLines>,
    /// Call stacks: their data streams, and their lines.
    pub(crate) stacks: Vec<(usize, Described)>,
    /// What is wrong with lines that describe something: where, how long the line is, why.
    pub(crate) faults: Vec<(usize, usize, String)>,
    /// Lines that are in no data stream: damage before any.
    pub(crate) before: Vec<(usize, usize)>,
}

/// How many bytes of memory a value of a description takes, and a data stream with its cursor, about.
const VALUE_BYTES: u64 = 64;
const STREAM_BYTES: u64 = 4096;

/// The lines of a data stream.
#[derive(Debug, Default)]
pub(crate) struct StreamLines {
    /// The line that begins it.
    pub(crate) begin: Option<Described>,
    /// The lines of its event record classes.
    pub(crate) classes: Vec<Described>,
    pub(crate) runs: Runs,
    /// When lines that are no events come.
    pub(crate) marks: Marks,
    /// Whether a line has a time.
    pub(crate) has_times: bool,
    /// The least time of lines without cycles.
    pub(crate) least: Option<i128>,
}

impl StreamLines {
    /// What the line that begins it says, where that line begins, and how long it is.
    pub(crate) fn begin(&self) -> (&Value, (usize, usize)) {
        self.begin.as_ref().map_or((&Value::Null, (0, 0)), |line| (&line.value, (line.at, line.length)))
    }
}

/// A line that describes something.
#[derive(Debug)]
pub(crate) struct Described {
    /// Where it begins, and how long it is, in bytes.
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) value: Value,
}

/// Ranges of a file in ascending order, in little memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// The gap before each range and its length, as LEB128; without the last range.
    packed: Vec<u8>,
    packed_end: usize,
    last: Option<(usize, usize)>,
    /// Bytes of all ranges.
    pub(crate) bytes: usize,
}

impl Runs {
    /// Adds a range behind all others.
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

    /// All ranges.
    pub(crate) fn cursor(&self) -> RunCursor {
        RunCursor::default()
    }

    /// The next range.
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

/// Where in some [`Runs`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RunCursor {
    at: usize,
    end: usize,
    is_done: bool,
}

/// Appends a number as LEB128.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The range of the line that begins at an offset, without its line break, and where the next one begins.
pub(crate) fn line_at(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    match memchr::memchr(b'\n', rest) {
        Some(length) => {
            let line = rest.get(..length).unwrap_or_default();
            (line.strip_suffix(b"\r").unwrap_or(line), at + length + 1)
        }
        None => (rest, bytes.len()),
    }
}

/// What of a file is the byte order mark.
pub(crate) fn byte_order_mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 }
}

impl Index {
    /// Goes through a file.
    pub(crate) fn of(bytes: &[u8], limits: &Limits) -> Self {
        let mut scan = Scan {
            index: Self::default(),
            numbers: HashMap::new(),
            last: None,
            time: None,
            before: None,
            last_begin: 0,
            left: limits.metadata_bytes,
            left_memory: limits.description_bytes,
            most_faults: limits.diagnostics,
        };
        let mut at = byte_order_mark(bytes);
        while at < bytes.len() {
            let (line, next) = line_at(bytes, at);
            scan.line(line, at, next);
            at = next;
        }
        for lines in &mut scan.index.streams {
            lines.marks.last_begin = scan.last_begin;
        }
        scan.index
    }
}

struct Scan {
    index: Index,
    /// Data streams by number.
    numbers: HashMap<u64, usize>,
    /// Number and index of the data stream of the line before.
    last: Option<(u64, usize)>,
    /// The greatest time up to now, and the data stream of the last line.
    time: Option<i128>,
    before: Option<usize>,
    /// Where the last data stream begins.
    last_begin: usize,
    /// How many bytes of descriptions are still allowed.
    left: u64,
    /// How many bytes of memory what they say may still take, about.
    left_memory: u64,
    most_faults: usize,
}

impl Scan {
    fn line(&mut self, line: &[u8], at: usize, next: usize) {
        if line.iter().all(u8::is_ascii_whitespace) {
            if let Some((_, stream)) = self.last {
                self.index.streams[stream].runs.add(at, next);
            }
            return;
        }
        let found = match Line::of(line) {
            Ok(found) => found,
            // It is reported where it is read: in the data stream of the line before.
            Err(_) => {
                let last = self.last.map(|(_, stream)| stream);
                let Some(stream) = last.or_else(|| self.stream_of(None, at, next)) else { return };
                return self.mark(stream, at, next, None);
            }
        };
        match found.kind {
            Kind::Event => {
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.before = Some(stream);
                let lines = &mut self.index.streams[stream];
                lines.runs.add(at, next);
                if found.time.is_some() {
                    lines.has_times = true;
                    self.time = self.time.max(found.time);
                    if !found.has_cycles {
                        lines.least =
                            Some(lines.least.unwrap_or(i128::MAX).min(found.time.unwrap_or(i128::MAX)));
                    }
                }
            }
            Kind::StreamBegin => {
                let Some(described) = self.describe(line, at) else { return };
                let number = found.stream.unwrap_or_default();
                self.numbers.remove(&number);
                self.last = None;
                self.last_begin = at;
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.index.streams[stream].begin = Some(described);
                self.index.streams[stream].runs.add(at, next);
            }
            Kind::EventClass | Kind::Stack => {
                let Some(stream) = self.stream_of(found.stream, at, next) else { return };
                self.index.streams[stream].runs.add(at, next);
                let Some(described) = self.describe(line, at) else { return };
                if found.kind == Kind::Stack {
                    self.index.stacks.push((stream, described));
                } else {
                    self.index.streams[stream].classes.push(described);
                }
            }
            // It is in the data stream that it names or else that of the line before.
            Kind::Damage => match self.damaged(line) {
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

    /// The index of a data stream. None: there are too many.
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

    /// The index of the data stream of a line, which is damage if there are too many.
    fn stream_of(&mut self, number: Option<u64>, at: usize, next: usize) -> Option<usize> {
        let stream = self.stream(number.unwrap_or_default());
        if stream.is_none() {
            self.fault(at, next - at, "there are more data streams than the limit allows".to_owned());
        }
        stream
    }

    /// Adds a line that is no event, which can have a time of its own.
    fn mark(&mut self, stream: usize, at: usize, next: usize, own: Option<i128>) {
        // At equal times, data streams come in their order.
        let is_behind = self.before.replace(stream).is_some_and(|before| before > stream);
        self.time = self.time.map(|time| time + i128::from(is_behind)).or(own);
        let lines = &mut self.index.streams[stream];
        lines.marks.push(Mark { at, time: self.time });
        lines.runs.add(at, next);
    }

    /// The data stream of damage.
    fn damaged(&self, line: &[u8]) -> Option<usize> {
        let streams = &self.index.streams;
        let of = || -> Option<usize> {
            let value = value(&mut Reader::new(line::text(line).ok()?)).ok()?;
            let name = value.get("stream_name")?;
            let is_named = |lines: &StreamLines| {
                lines.begin.as_ref().and_then(|begin| begin.value.get("name")) == Some(name)
            };
            // That of the line before, if there are several.
            let last =
                self.last.map(|(_, last)| last).filter(|last| streams.get(*last).is_some_and(is_named));
            last.or_else(|| streams.iter().take(1 << 12).position(is_named))
        };
        of().or(self.last.map(|(_, last)| last))
    }

    /// Reads a line that describes something.
    fn describe(&mut self, line: &[u8], at: usize) -> Option<Described> {
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
            Ok(value) => return Some(Described { at, length: line.len(), value }),
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
        let index = Index::of(text.as_bytes(), &Limits::default());
        let [a, b] = &index.streams[..] else { panic!() };
        assert_eq!((a.begin.is_some(), a.has_times, a.least), (true, true, None));
        assert_eq!((b.begin.is_some(), b.has_times, b.least), (false, true, Some(6)));
        // Behind the line of a later data stream.
        let damage = text.find("{\"type\":\"damage\"").unwrap();
        assert_eq!(a.marks.cursor().take(&a.marks, damage), Some(Mark { at: damage, time: Some(7) }));
        assert_eq!(a.runs.bytes + b.runs.bytes, text.len());
    }
}
