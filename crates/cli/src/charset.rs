//! Characters that the user's terminal can show: all of Unicode, or ASCII in other locales.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::OnceLock;

use ichnos::export::TerminalText;
use indicatif::ProgressStyle;

/// Returns `true` if the encoding of the locale is not UTF-8: texts are then ASCII. Without a locale, it is
/// UTF-8.
pub(crate) fn is_ascii() -> bool {
    static IS_ASCII: OnceLock<bool> = OnceLock::new();
    *IS_ASCII.get_or_init(|| {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(value)
            .is_some_and(|locale| is_ascii_locale(&locale))
    })
}

fn is_ascii_locale(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    !locale.contains("utf-8") && !locale.contains("utf8")
}

/// Returns a text in characters that the user can see.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if is_ascii() { ascii(text) } else { Cow::Borrowed(text) }
}

/// Like [`shown`], for a progress display.
pub(crate) fn of_progress(style: ProgressStyle) -> ProgressStyle {
    if is_ascii() { style.progress_chars("#-").tick_chars("|/-\\ ") } else { style }
}

/// Returns the mark for a text that was cut.
pub(crate) fn ellipsis() -> &'static str {
    if is_ascii() { "..." } else { "…" }
}

/// Converts a text to ASCII: lines, bars and units become similar characters, all others are escaped.
fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => shown.push(c),
            '─' | '▏' | '▎' | '▍' => shown.push('-'),
            '│' | '├' => shown.push('|'),
            '└' => shown.push('`'),
            '▌' | '▋' | '▊' | '▉' | '█' | '▇' => shown.push('#'),
            '▁' | '▂' => shown.push('.'),
            '▃' | '▄' => shown.push(':'),
            '▅' | '▆' => shown.push('+'),
            'µ' | 'μ' => shown.push('u'),
            '…' => shown.push_str("..."),
            '→' => shown.push_str("->"),
            '×' => shown.push('x'),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Writer for a terminal, in ASCII if it cannot show anything else.
pub(crate) struct Encoder<W> {
    writer: W,
    is_json: bool,
    /// First bytes of an incomplete character.
    pending: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    pub(crate) fn new(writer: W, text: TerminalText) -> Self {
        Self { writer, is_json: matches!(text, TerminalText::Json), pending: Vec::new() }
    }

    /// Writes the rest, and returns the writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let rest = String::from_utf8_lossy(&self.pending).into_owned();
        self.put(&rest)?;
        Ok(self.writer)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        if !self.is_json {
            return self.writer.write_all(ascii(text).as_bytes());
        }
        let mut units = [0u16; 2];
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii() {
                escaped.push(c);
            } else {
                c.encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
            }
        }
        self.writer.write_all(escaped.as_bytes())
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !is_ascii() {
            return self.writer.write(bytes);
        }
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&all) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => all.len(),
        };
        self.pending = all.split_off(end);
        self.put(&String::from_utf8_lossy(&all))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales() {
        for locale in ["C", "POSIX", "en_US", "de_DE.ISO-8859-1", "en_US.ISO8859-15"] {
            assert!(is_ascii_locale(locale), "{locale}");
        }
        for locale in ["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro"] {
            assert!(!is_ascii_locale(locale), "{locale}");
        }
    }

    #[test]
    fn what_looks_alike() {
        assert_eq!(ascii("├─ a │ └─ 5 µs"), "|- a | `- 5 us");
        assert_eq!(ascii("█▌ ▁▄█"), "## .:#");
        assert_eq!(ascii("héllo…"), "h\\u{e9}llo...");
        assert!(matches!(ascii("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn characters_that_come_in_pieces() {
        let encoded = |text: &str, kind: TerminalText| {
            let mut encoder = Encoder::new(Vec::new(), kind);
            for byte in text.as_bytes() {
                // Like `write` in an ASCII locale.
                encoder.pending.push(*byte);
                if let Ok(text) = String::from_utf8(encoder.pending.clone()) {
                    encoder.pending.clear();
                    encoder.put(&text).unwrap();
                }
            }
            String::from_utf8(encoder.finish().unwrap()).unwrap()
        };
        assert_eq!(encoded("a é", TerminalText::Lines { colors: false }), "a \\u{e9}");
        assert_eq!(encoded("\"é😀\"", TerminalText::Json), "\"\\u00e9\\ud83d\\ude00\"");
    }
}
