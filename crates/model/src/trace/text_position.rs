//! Text positions, for declarations and problems.

use std::fmt;

/// A position in a text file: lines and columns from 1, columns in bytes (a tab is one column). Line 0 means
/// unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column in bytes, from 1; 0 if unknown.
    pub column: u32,
    /// Offset in bytes from the start of the text.
    pub offset: u64,
}

impl TextPosition {
    /// Returns the position of the byte `offset` of `text`.
    ///
    /// ```
    /// use ichnos_model::trace::TextPosition;
    /// let position = TextPosition::at_offset(b"one\ntwo", 5);
    /// assert_eq!((position.line, position.column), (2, 2));
    /// ```
    #[must_use]
    pub fn at_offset(text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() as u32 + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        Self { line, column: (before.len() - start) as u32 + 1, offset: before.len() as u64 }
    }

    /// Returns `true` if the position is unknown.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self.line == 0
    }
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Position of a class declaration. Comparisons ignore it: equal classes at different positions are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeclaredAt(pub TextPosition);

impl PartialEq for DeclaredAt {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for DeclaredAt {}

impl std::hash::Hash for DeclaredAt {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl From<TextPosition> for DeclaredAt {
    fn from(position: TextPosition) -> Self {
        Self(position)
    }
}
