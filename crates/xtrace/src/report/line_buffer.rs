//! Lines of a report that do not lie in a text as they are meant.

use core::ops::Range;

use alloc::vec::Vec;

use super::escape::unescape_into;
use super::parse::Report;

/// A line in a [`LineBuffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedLine<'b> {
    /// The key.
    pub key: &'b [u8],
    /// The value.
    pub value: &'b [u8],
    /// Where the value begins in the text or in the JSON that it was read from, in bytes.
    pub offset: usize,
}

/// The lines of one report as they are meant, without escapes, in memory that is reused from one report to the
/// next.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    lines: Vec<Place>,
    /// Where the key of the line that is being written begins, and where its value does.
    begin: usize,
}

#[derive(Clone, Debug)]
struct Place {
    key: Range<usize>,
    value: Range<usize>,
    offset: usize,
}

impl LineBuffer {
    /// Takes the lines of a report over, in place of those that were here. Returns where a backslash that begins
    /// no escape is in the text of all reports, if there is one.
    pub fn read(&mut self, report: &Report<'_>) -> Option<usize> {
        self.clear();
        let mut wrong = None;
        for line in report.lines() {
            let key = self.bytes.len();
            let push = |text: &[u8], bytes: &mut Vec<u8>| match line.is_escaped {
                true => unescape_into(text, bytes),
                false => {
                    bytes.extend_from_slice(text);
                    None
                }
            };
            let in_key = push(line.key, &mut self.bytes).map(|_| line.offset);
            let value = self.bytes.len();
            let in_value = push(line.value, &mut self.bytes).map(|at| line.offset + at);
            wrong = wrong.or(in_key).or(in_value);
            self.lines.push(Place { key: key..value, value: value..self.bytes.len(), offset: line.offset });
        }
        wrong
    }

    /// The lines in their order.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = BufferedLine<'_>> + DoubleEndedIterator + Clone {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        self.lines.iter().map(move |line| BufferedLine {
            key: bytes(&line.key),
            value: bytes(&line.value),
            offset: line.offset,
        })
    }

    /// The bytes of all lines, and of each line its key, where in them its value is, and its offset.
    #[cfg(feature = "reader")]
    pub(crate) fn places(&self) -> (&[u8], impl Iterator<Item = (&[u8], Range<usize>, usize)>) {
        let key = |line: &Place| self.bytes.get(line.key.clone()).unwrap_or_default();
        (&self.bytes, self.lines.iter().map(move |line| (key(line), line.value.clone(), line.offset)))
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Takes away all lines but the first ones.
    pub(super) fn truncate(&mut self, lines: usize) {
        self.lines.truncate(lines);
    }

    /// What is written for the next line: first its key.
    pub(super) fn begin_key(&mut self) -> &mut Vec<u8> {
        self.begin = self.bytes.len();
        &mut self.bytes
    }

    /// The bytes that are written to.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The key that was written since [`LineBuffer::begin_key`].
    pub(super) fn end_key(&self) -> Range<usize> {
        self.begin..self.bytes.len()
    }

    /// The key in this range.
    pub(super) fn text(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Ends a line whose value is what was written from an index on.
    pub(super) fn end_value(&mut self, key: &Range<usize>, value: usize, offset: usize) {
        self.lines.push(Place { key: key.clone(), value: value..self.bytes.len(), offset });
    }
}
