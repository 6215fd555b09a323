//! Unescaped report lines.

use core::ops::Range;

use alloc::vec::Vec;

use super::escape::unescape_into;
use super::parse::Report;
use super::{MAX_REPORT_LENGTH, MAX_REPORT_LINES};

/// A line in a [`LineBuffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedLine<'b> {
    /// Key.
    pub key: &'b [u8],
    /// Value.
    pub value: &'b [u8],
    /// Byte offset of the value in the original text or JSON.
    pub offset: usize,
}

/// Unescaped lines of one report, in memory that is reused for the next report. The limits are [`MAX_REPORT_LENGTH`]
/// bytes and [`MAX_REPORT_LINES`] lines.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    lines: Vec<LinePlace>,
    /// Start of the current key.
    begin: usize,
    /// `true` if lines that do not fit were dropped.
    is_cut: bool,
}

#[derive(Clone, Debug)]
struct LinePlace {
    key: Range<usize>,
    value: Range<usize>,
    offset: usize,
}

impl LineBuffer {
    /// Copies the lines of a report, replacing the contents. Returns the offset of an invalid escape in the text of all
    /// reports, if any.
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
            self.lines.push(LinePlace {
                key: key..value,
                value: value..self.bytes.len(),
                offset: line.offset,
            });
        }
        wrong
    }

    /// Returns the lines in order.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = BufferedLine<'_>> + DoubleEndedIterator + Clone {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        self.lines.iter().map(move |line| BufferedLine {
            key: bytes(&line.key),
            value: bytes(&line.value),
            offset: line.offset,
        })
    }

    /// Returns a line by its index.
    pub(super) fn get(&self, index: usize) -> Option<BufferedLine<'_>> {
        let line = self.lines.get(index)?;
        Some(BufferedLine { key: self.text(&line.key), value: self.text(&line.value), offset: line.offset })
    }

    /// Returns the bytes for [`LineBuffer::places`].
    #[cfg(feature = "reader")]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns key, value range and offset of each line.
    #[cfg(feature = "reader")]
    pub(crate) fn places(&self) -> impl Iterator<Item = (&[u8], Range<usize>, usize)> {
        self.lines.iter().map(|line| (self.text(&line.key), line.value.clone(), line.offset))
    }

    /// Appends a line. A line that does not fit is dropped, and [`LineBuffer::is_cut`] becomes `true`.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.push_with(key, |bytes| bytes.extend_from_slice(value));
    }

    /// Appends a line. `write` appends its value.
    pub(crate) fn push_with(&mut self, key: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.bytes.len();
        self.begin_key();
        self.bytes.extend_from_slice(key);
        let key = self.end_key();
        let value = self.bytes.len();
        write(&mut self.bytes);
        if self.has_room(0) {
            self.end_value(&key, value, 0);
        } else {
            self.bytes.truncate(begin);
        }
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
        self.is_cut = false;
    }

    /// Returns `true` if the report did not fit, so that lines are missing.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns `true` if another line with this number of bytes fits.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.lines.len() < MAX_REPORT_LINES
            && self.bytes.len().saturating_add(bytes) <= MAX_REPORT_LENGTH;
        self.is_cut |= !has_room;
        has_room
    }

    /// Returns the total size of keys and values in bytes.
    #[cfg(feature = "reader")]
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the reserved memory in bytes.
    #[cfg(feature = "reader")]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.lines.capacity() * size_of::<LinePlace>()
    }

    /// Keeps the lines for which `keeps` returns `true`.
    #[cfg(feature = "reader")]
    pub(crate) fn retain(&mut self, keeps: impl Fn(&[u8], &[u8]) -> bool) {
        let Self { bytes, lines, .. } = self;
        // Lines are ranges of the bytes.
        let text = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
        lines.retain(|line| keeps(text(&line.key), text(&line.value)));
    }

    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Keeps only the first lines.
    pub(super) fn truncate(&mut self, lines: usize) {
        self.lines.truncate(lines);
    }

    /// Starts the key of the next line.
    pub(super) fn begin_key(&mut self) {
        self.begin = self.bytes.len();
    }

    /// Returns the buffer to append to.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the range of the key written since [`LineBuffer::begin_key`].
    pub(super) fn end_key(&self) -> Range<usize> {
        self.begin..self.bytes.len()
    }

    /// Returns the bytes of a range.
    pub(super) fn text(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Ends a line. `value` is the start index of its value.
    pub(super) fn end_value(&mut self, key: &Range<usize>, value: usize, offset: usize) {
        self.lines.push(LinePlace { key: key.clone(), value: value..self.bytes.len(), offset });
    }
}
