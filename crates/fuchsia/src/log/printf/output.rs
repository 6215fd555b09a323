//! Text output with a limit.

use core::fmt::{self, Write};

/// Forwards text up to a byte limit and drops the rest.
pub(super) struct BoundedOutput<'o> {
    out: &'o mut dyn Write,
    left: usize,
    /// `true` if nothing has been written yet.
    is_empty: bool,
    /// `true` if text was dropped.
    is_cut: bool,
}

impl<'o> BoundedOutput<'o> {
    pub(super) fn new(out: &'o mut dyn Write, limit: usize) -> Self {
        Self { out, left: limit, is_empty: true, is_cut: false }
    }

    /// Creates an output that drops all text.
    pub(super) fn nowhere(out: &'o mut dyn Write) -> Self {
        Self { out, left: 0, is_empty: true, is_cut: true }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns `true` if text was dropped. All further text is then dropped as well.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Writes a character `count` times, in time bounded by the limit.
    pub(super) fn repeat(&mut self, character: u8, count: usize) -> fmt::Result {
        const SPACES: &str = "                                ";
        const ZEROS: &str = "00000000000000000000000000000000";
        let text = if character == b'0' { ZEROS } else { SPACES };
        let mut left = count;
        while left > 0 && !self.is_cut {
            // Both texts are ASCII.
            let part = text.get(..left.min(text.len())).unwrap_or_default();
            self.write_str(part)?;
            left -= part.len();
        }
        Ok(())
    }

    /// Appends a mark if text was dropped.
    pub(super) fn finish(self) -> fmt::Result {
        if self.is_cut { self.out.write_str("%!(TRUNCATED)") } else { Ok(()) }
    }
}

impl Write for BoundedOutput<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.is_empty() {
            return Ok(());
        }
        self.is_empty = false;
        if self.is_cut {
            return Ok(());
        }
        let fitting = text.floor_char_boundary(self.left);
        self.is_cut = fitting < text.len();
        self.left -= fitting;
        // A character starts there.
        self.out.write_str(text.get(..fitting).unwrap_or_default())
    }
}

/// Text with limited length, stored inline.
pub(super) struct Buffer<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Buffer<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    pub(super) fn as_str(&self) -> &str {
        // The bytes are whole texts.
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    pub(super) fn make_uppercase(&mut self) {
        self.bytes.make_ascii_uppercase();
    }
}

impl<const N: usize> Write for Buffer<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_cuts_between_characters() {
        let mut text = String::new();
        let mut out = BoundedOutput::new(&mut text, 4);
        out.write_str("abcä").unwrap();
        out.write_str("d").unwrap();
        out.repeat(b' ', usize::MAX).unwrap();
        out.finish().unwrap();
        assert_eq!(text, "abc%!(TRUNCATED)");
        let mut text = String::new();
        let mut out = BoundedOutput::new(&mut text, 70);
        out.repeat(b'0', 70).unwrap();
        out.finish().unwrap();
        assert_eq!(text, "0".repeat(70));
    }
}
