//! Splits segments into reports.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memmem;

/// Separator after each report.
pub(crate) const END: &[u8] = b"\n\n";

const CHUNK: usize = 1 << 20;

/// Maximum report length. A longer piece is invalid, even with a separator.
const LONGEST: usize = 16 << 20;

/// Splits a range of a segment after each report separator.
#[derive(Debug)]
pub(crate) struct Pieces {
    file: File,
    /// Read data. The unreturned part starts at `from`.
    buffer: Vec<u8>,
    from: usize,
    /// Offset of `from` in the file.
    offset: u64,
    /// Number of unread bytes.
    left: u64,
}

/// Text between two report separators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Offset in the segment.
    pub(crate) offset: u64,
    /// Text with its separator, if it has one.
    pub(crate) text: &'a [u8],
}

impl Pieces {
    /// Reads from `begin` to `end`.
    pub(crate) fn new(mut file: File, begin: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(begin))?;
        Ok(Self { file, buffer: Vec::new(), from: 0, offset: begin, left: end.saturating_sub(begin) })
    }

    /// Returns the next piece. Only the last piece, and pieces that are too long, lack the separator.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Piece<'_>>> {
        let mut searched = 0;
        let length = loop {
            let rest = self.buffer.get(self.from..).unwrap_or_default();
            // The search may have stopped between both bytes of a separator.
            let begin = searched.min(rest.len());
            if let Some(at) = memmem::find(rest.get(begin..).unwrap_or_default(), END) {
                break begin + at + END.len();
            }
            if rest.len() >= LONGEST {
                break rest.len();
            }
            searched = rest.len().saturating_sub(1);
            if self.fill()? == 0 {
                break self.buffer.len() - self.from;
            }
        };
        if length == 0 {
            return Ok(None);
        }
        let (from, offset) = (self.from, self.offset);
        self.from += length;
        self.offset += length as u64;
        let text = self.buffer.get(from..from + length).unwrap_or_default();
        Ok(Some(Piece { offset, text }))
    }

    /// Reads more data. Returns the number of bytes.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.drain(..self.from);
        self.from = 0;
        let most = self.left.min(CHUNK as u64);
        let read = (&mut self.file).take(most).read_to_end(&mut self.buffer)?;
        // The file was truncated.
        self.left = if read == 0 { 0 } else { self.left.saturating_sub(read as u64) };
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn pieces(text: &[u8], begin: u64, end: u64) -> Vec<(u64, Vec<u8>)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let mut pieces = Pieces::new(file, begin, end).unwrap();
        let mut all = Vec::new();
        while let Some(piece) = pieces.next_piece().unwrap() {
            all.push((piece.offset, piece.text.to_vec()));
        }
        all
    }

    #[test]
    fn splits_behind_empty_lines() {
        let text = b"a\nb\n\nc\n\n\nd";
        let all = pieces(text, 0, 100);
        assert_eq!(all, [(0, b"a\nb\n\n".to_vec()), (5, b"c\n\n".to_vec()), (8, b"\nd".to_vec())]);
        assert_eq!(pieces(text, 5, 8), [(5, b"c\n\n".to_vec())]);
        assert_eq!(pieces(text, 5, 7), [(5, b"c\n".to_vec())]);
        assert!(pieces(b"", 0, 100).is_empty() && pieces(text, 50, 100).is_empty());
    }

    /// Separators that two reads split, and text without a separator.
    #[test]
    fn splits_what_is_read_in_parts() {
        for length in [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1] {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"\n\nrest");
            let all = pieces(&text, 0, u64::MAX);
            assert_eq!(all.len(), 2, "{length}");
            assert_eq!((all[0].1.len(), all[1].0), (length + 2, length as u64 + 2));
        }
        let all = pieces(&vec![b'x'; LONGEST + CHUNK + 5], 0, u64::MAX);
        assert_eq!(all.iter().map(|(_, text)| text.len()).sum::<usize>(), LONGEST + CHUNK + 5);
        assert!(all[0].1.len() >= LONGEST);
    }
}
