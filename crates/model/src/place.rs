//! Places in a text: where a class was declared, where a problem is.

use std::fmt;

/// A place in a text file, as people count: lines and columns from 1, columns in characters of
/// one byte (a tab is one column). Line 0 means "nowhere in particular".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPlace {
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column in bytes, from 1; 0 when unknown.
    pub column: u32,
    /// Offset in bytes from the beginning of the text.
    pub offset: u64,
}

impl TextPlace {
    /// The place of the byte `offset` of `text`.
    ///
    /// ```
    /// use ichnos_model::TextPlace;
    /// let place = TextPlace::of(b"one\ntwo", 5);
    /// assert_eq!((place.line, place.column), (2, 2));
    /// ```
    #[must_use]
    pub fn of(text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() as u32 + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        Self { line, column: (before.len() - start) as u32 + 1, offset: before.len() as u64 }
    }

    /// Whether this place says nothing.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self.line == 0
    }
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where a class was declared. It takes no part in comparisons: two classes that say the same at
/// different places are the same class.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeclaredAt(pub TextPlace);

impl PartialEq for DeclaredAt {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for DeclaredAt {}

impl std::hash::Hash for DeclaredAt {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl From<TextPlace> for DeclaredAt {
    fn from(place: TextPlace) -> Self {
        Self(place)
    }
}
