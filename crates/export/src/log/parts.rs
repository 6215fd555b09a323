//! Log line parts.

use std::fmt;
use std::ops::Range;

use ichnos_model::field::{StringEncoding, Text};

/// Number with its original sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignedNumber {
    Unsigned(u64),
    Signed(i64),
}

impl SignedNumber {
    /// Returns the number as a count, or 0 if it is negative.
    pub(super) fn count(self) -> u64 {
        match self {
            Self::Unsigned(number) => number,
            Self::Signed(number) => u64::try_from(number).unwrap_or(0),
        }
    }

    /// Returns the number as a signed number, at most `i64::MAX`.
    pub(super) fn signed(self) -> i64 {
        match self {
            Self::Unsigned(number) => i64::try_from(number).unwrap_or(i64::MAX),
            Self::Signed(number) => number,
        }
    }
}

/// Numeric parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumericPart {
    Severity,
    Process,
    Thread,
    Line,
    Dropped,
    RolledOut,
}

/// Textual parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextualPart {
    Message,
    Tag,
    ThreadName,
    File,
    Component,
    ComponentUrl,
}

/// Text range in [`LineParts::texts`].
type Span = Range<usize>;

/// Line parts that are not pairs of names and values, reused for all lines to avoid allocations.
#[derive(Debug, Default)]
pub(super) struct LineParts {
    pub(super) severity: Option<i64>,
    pub(super) process: Option<SignedNumber>,
    pub(super) thread: Option<SignedNumber>,
    pub(super) line: Option<SignedNumber>,
    pub(super) dropped: u64,
    pub(super) rolled_out: u64,
    message: Option<Span>,
    thread_name: Option<Span>,
    file: Option<Span>,
    component: Option<Span>,
    component_url: Option<Span>,
    tags: Vec<Span>,
    /// Part texts in UTF-8, unless bytes are kept.
    texts: Vec<u8>,
    /// `true` if invalid UTF-8 bytes are kept, to be escaped later.
    keeps_bytes: bool,
}

impl LineParts {
    /// Creates an empty line. With `keeps_bytes`, invalid UTF-8 bytes are kept for callers that escape them later.
    pub(super) fn new(keeps_bytes: bool) -> Self {
        Self { keeps_bytes, ..Self::default() }
    }

    /// Removes all parts.
    #[inline]
    pub(super) fn clear(&mut self) {
        let (mut tags, mut texts) = (std::mem::take(&mut self.tags), std::mem::take(&mut self.texts));
        tags.clear();
        texts.clear();
        *self = Self { tags, texts, keeps_bytes: self.keeps_bytes, ..Self::default() };
    }

    #[inline]
    pub(super) fn number(&mut self, part: NumericPart, number: SignedNumber) {
        match part {
            NumericPart::Severity => self.severity = Some(number.signed()),
            NumericPart::Process => self.process = Some(number),
            NumericPart::Thread => self.thread = Some(number),
            NumericPart::Line => self.line = Some(number),
            NumericPart::Dropped => self.dropped = self.dropped.saturating_add(number.count()),
            NumericPart::RolledOut => self.rolled_out = self.rolled_out.saturating_add(number.count()),
        }
    }

    #[inline]
    pub(super) fn text(&mut self, part: TextualPart, text: Text<'_>) {
        let begin = self.texts.len();
        push_utf8(&mut self.texts, text, self.keeps_bytes);
        self.record_text(part, begin);
    }

    /// Makes the text from `begin` on this part.
    #[inline]
    fn record_text(&mut self, part: TextualPart, begin: usize) {
        let span = begin..self.texts.len();
        match part {
            TextualPart::Message => self.message = Some(span),
            TextualPart::Tag => self.tags.push(span),
            TextualPart::ThreadName => self.thread_name = Some(span),
            TextualPart::File => self.file = Some(span),
            TextualPart::Component => self.component = Some(span),
            TextualPart::ComponentUrl => self.component_url = Some(span),
        }
    }

    /// Sets a part to a text.
    pub(super) fn say(&mut self, part: TextualPart, text: &str) {
        let begin = self.texts.len();
        self.texts.extend_from_slice(text.as_bytes());
        self.record_text(part, begin);
    }

    /// Formats a part. It stops at a formatting error.
    pub(super) fn render(
        &mut self,
        part: TextualPart,
        make: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result,
    ) {
        let begin = self.texts.len();
        let _ = make(&mut Renderer(&mut self.texts));
        self.record_text(part, begin);
    }

    #[inline]
    fn at(&self, span: &Option<Span>) -> Option<&[u8]> {
        self.texts.get(span.clone()?)
    }

    #[inline]
    pub(super) fn message(&self) -> Option<&[u8]> {
        self.at(&self.message)
    }

    pub(super) fn thread_name(&self) -> Option<&[u8]> {
        self.at(&self.thread_name)
    }

    #[inline]
    pub(super) fn file(&self) -> Option<&[u8]> {
        self.at(&self.file)
    }

    #[inline]
    pub(super) fn component(&self) -> Option<&[u8]> {
        self.at(&self.component)
    }

    pub(super) fn component_url(&self) -> Option<&[u8]> {
        self.at(&self.component_url)
    }

    #[inline]
    pub(super) fn tags(&self) -> impl Iterator<Item = &[u8]> {
        self.tags.iter().filter_map(|span| self.texts.get(span.clone()))
    }
}

/// Writer of formatted text.
struct Renderer<'t>(&'t mut Vec<u8>);

impl fmt::Write for Renderer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends a text as UTF-8, with U+FFFD for invalid bytes. With `keeps_bytes`, appends the bytes themselves.
#[inline]
pub(super) fn push_utf8(out: &mut Vec<u8>, text: Text<'_>, keeps_bytes: bool) {
    match text.as_str() {
        Some(text) => out.extend_from_slice(text.as_bytes()),
        None if keeps_bytes && text.encoding == StringEncoding::Utf8 => out.extend_from_slice(text.bytes),
        None => {
            text.write_utf8(out);
        }
    }
}
