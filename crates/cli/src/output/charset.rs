//! Characters that the user's terminal can show: all of Unicode, or ASCII in other locales.

use std::borrow::Cow;

use ichnos::export::text::{locale_is_ascii, to_ascii};
use indicatif::ProgressStyle;

/// A text for people, in the characters that they can see.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if locale_is_ascii() { to_ascii(text) } else { Cow::Borrowed(text) }
}

/// Like [`shown`], for a progress display.
pub(crate) fn progress_style(style: ProgressStyle) -> ProgressStyle {
    if locale_is_ascii() { style.progress_chars("#-").tick_chars("|/-\\ ") } else { style }
}
