//! Character set of the user's terminal: Unicode, or ASCII in other locales.

use std::borrow::Cow;

use ichnos::export::text::{locale_is_ascii, to_ascii};
use indicatif::ProgressStyle;

/// Converts a text for people to the terminal's character set.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if locale_is_ascii() { to_ascii(text) } else { Cow::Borrowed(text) }
}

/// Converts the style of a progress display like [`shown`].
pub(crate) fn progress_style(style: ProgressStyle) -> ProgressStyle {
    if locale_is_ascii() { style.progress_chars("#-").tick_chars("|/-\\ ") } else { style }
}
