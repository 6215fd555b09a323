//! Expression errors with positions.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Error in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Error kind.
    pub kind: FilterErrorKind,
    /// Sentence without the final full stop.
    pub message: Box<str>,
    /// Replacement, if known.
    pub help: Option<Box<str>>,
    /// Byte range of the error in the text.
    pub span: Range<usize>,
    pub(super) source: Arc<str>,
}

/// Kind of expression error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// Invalid grammar.
    Syntax,
    /// Too long, or too deeply nested.
    Limit,
    /// Unknown name: no event that the expression could select has such a field.
    UnknownName {
        /// Name as written.
        name: String,
        /// Known names, without duplicates.
        candidates: Vec<KnownName>,
    },
    /// Unknown label: no compared enumeration or bit map has it.
    UnknownLabel {
        /// Name as written.
        name: String,
        /// Known labels, without duplicates.
        candidates: Vec<String>,
    },
    /// Operator that cannot be applied to values of these types.
    Type,
    /// Invalid time.
    Time,
    /// Range with the lower bound above the upper bound.
    Range,
}

/// Field or property name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownName {
    /// Name, written as in an expression.
    pub name: String,
    /// Place of the fields, for display: "payload of `sched_switch`". Empty for a property of all events.
    pub place: String,
}

impl FilterError {
    pub(super) fn new(
        kind: FilterErrorKind,
        source: &str,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, message: message.into().into(), help: None, span, source: source.into() }
    }

    pub(super) fn syntax(source: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        Self::new(FilterErrorKind::Syntax, source, span, message)
    }

    /// Creates the error for a range with bounds in the wrong order, at `begin` and `end`.
    pub(super) fn reversed(
        source: &str,
        span: Range<usize>,
        begin: &Range<usize>,
        end: &Range<usize>,
    ) -> Self {
        let text = |span: &Range<usize>| source.get(span.clone()).unwrap_or_default();
        let message = format!("the range `{}` ends before it begins", text(&span));
        let help = format!("write `{}..{}`", text(end), text(begin));
        let is_short = message.len() < 200;
        let message = if is_short { message } else { "the range ends before it begins".to_owned() };
        let help = if is_short { help } else { "the smaller value comes first".to_owned() };
        Self::new(FilterErrorKind::Range, source, span, message).help(help)
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into().into()), ..self }
    }

    /// Returns the line with the error, and a line with carets below it. Tabs become spaces.
    #[must_use]
    pub fn excerpt(&self) -> [String; 2] {
        excerpt(&self.source, &self.span)
    }
}

/// See [`FilterError::excerpt`].
pub(super) fn excerpt(source: &str, span: &Range<usize>) -> [String; 2] {
    let floor =
        |at: usize| (0..=at.min(source.len())).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0);
    let (begin, end) = (floor(span.start), floor(span.end));
    let line_begin = source[..begin].rfind('\n').map_or(0, |at| at + 1);
    let line_end = source[begin..].find('\n').map_or(source.len(), |at| begin + at);
    let line = source[line_begin..line_end].replace('\t', " ");
    let before = source[line_begin..begin].chars().count();
    let width = source[begin..end.clamp(begin, line_end)].chars().count().max(1);
    [line, format!("{}{}", " ".repeat(before), "^".repeat(width))]
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FilterError {}

/// Hint on a valid expression that is probably not intended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterWarning {
    /// Sentence without the final full stop.
    pub message: String,
    /// Unknown name and the known names.
    pub unknown: Option<(String, Vec<String>)>,
}
