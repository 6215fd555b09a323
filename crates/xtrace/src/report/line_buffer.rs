//! Lines of a report that do not lie in a text as they are meant.

use core::ops::Range;

use alloc::vec::Vec;

use super::escape::unescape_into;
use super::parse::Report;
use super::{MAX_REPORT_LENGTH, MAX_REPORT_LINES};

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
/// next. There is room for [`MAX_REPORT_LENGTH`] bytes and [`MAX_REPORT_LINES`] lines.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    lines: Vec<Place>,
    /// Where the key of the line that is being written begins.
    begin: usize,
    /// Whether something was left out, as there was no room for it.
    is_cut: bool,
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
            if !self.has_room(line.key.len() + line.value.len()) {
                break;
            }
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

    /// The bytes that [`LineBuffer::places`] are in.
    #[cfg(feature = "reader")]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Of each line its key, where its value is, and its offset.
    #[cfg(feature = "reader")]
    pub(crate) fn places(&self) -> impl Iterator<Item = (&[u8], Range<usize>, usize)> {
        self.lines.iter().map(|line| (self.text(&line.key), line.value.clone(), line.offset))
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
        self.is_cut = false;
    }

    /// Whether the report had no room here, so that lines are missing.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether there is room for this number of bytes of another line.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.lines.len() < MAX_REPORT_LINES
            && self.bytes.len().saturating_add(bytes) <= MAX_REPORT_LENGTH;
        self.is_cut |= !has_room;
        has_room
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Takes away all lines but the first ones.
    pub(super) fn truncate(&mut self, lines: usize) {
        self.lines.truncate(lines);
    }

    /// The key of the next line is written next.
    pub(super) fn begin_key(&mut self) {
        self.begin = self.bytes.len();
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
