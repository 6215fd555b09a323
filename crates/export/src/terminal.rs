//! Filter for terminal output.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::printable::{is_printable, push_bytes, push_escape};

/// Kind of terminal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalText {
    /// Lines for people.
    Lines {
        /// `true` if color codes (`ESC [ ... m`) can pass.
        colors: bool,
    },
    /// JSON. Tabs are between values, because strings contain only escaped tabs. All other unprintable characters are
    /// within strings and become `\u` and four digits, the same value for JSON readers.
    Json,
    /// Lines of cells separated by tabs. Sinks have escaped all other tabs.
    Tabs,
}

/// Writer to a terminal that only passes [printable](crate::is_printable) characters, line feeds, and colors if
/// enabled. Everything else is escaped, whatever its source.
///
/// Sinks with the option `printable_only` escape trace texts themselves, because only they can distinguish their line
/// feeds and colors from those in the trace. This writer is for all other text, and for JSON.
#[derive(Debug)]
pub struct TerminalWriter<W: Write> {
    writer: W,
    text: TerminalText,
    /// First bytes of an incomplete character or color code.
    pending: Vec<u8>,
    escaped: Vec<u8>,
}

impl<W: Write> TerminalWriter<W> {
    /// Creates a writer to a terminal.
    pub fn new(writer: W, text: TerminalText) -> Self {
        Self { writer, text, pending: Vec::new(), escaped: Vec::new() }
    }

    /// Writes incomplete bytes and returns the writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_pending()?;
        Ok(self.writer)
    }

    fn write_pending(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.escaped.clear();
        filter(&mut self.escaped, &self.pending, self.text, true);
        self.pending.clear();
        self.writer.write_all(&self.escaped)
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.escaped.clear();
        let joined;
        let all = if self.pending.is_empty() {
            bytes
        } else {
            self.pending.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.pending);
            &joined
        };
        let taken = filter(&mut self.escaped, all, self.text, false);
        self.pending = all.get(taken..).unwrap_or_default().to_vec();
        self.writer.write_all(&self.escaped)?;
        Ok(bytes.len())
    }

    /// Flushes complete characters. The rest of an incomplete one can follow.
    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Filters a complete text for a terminal.
#[must_use]
pub fn for_terminal(text: &str, kind: TerminalText) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || is_printable(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    filter(&mut out, text.as_bytes(), kind, true);
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Appends a filtered text. Returns the number of filtered bytes. Before the end, up to three incomplete bytes can
/// remain, or up to [`LONGEST_COLOR`] for a color code.
fn filter(out: &mut Vec<u8>, text: &[u8], kind: TerminalText, is_end: bool) -> usize {
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.iter().position(|byte| !matches!(byte, b' '..=b'~' | b'\n'));
        let (shown, from) = rest.split_at(plain.unwrap_or(rest.len()));
        out.extend_from_slice(shown);
        rest = from;
        let Some(first) = rest.first() else { break };
        if *first == b'\t' && matches!(kind, TerminalText::Tabs | TerminalText::Json) {
            out.push(b'\t');
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        if *first == 0x1b && kind == (TerminalText::Lines { colors: true }) {
            match color(rest) {
                Color::Whole(length) => {
                    let (code, from) = rest.split_at(length);
                    out.extend_from_slice(code);
                    rest = from;
                    continue;
                }
                Color::Begun if !is_end => break,
                Color::Begun | Color::Other => {}
            }
        }
        // The first byte determines the length of a character.
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        let bytes = rest.get(..length).unwrap_or(rest);
        let taken = match std::str::from_utf8(bytes) {
            Ok(text) => {
                text.chars().for_each(|c| push_char(out, c, kind));
                bytes.len()
            }
            Err(error) => match error.error_len() {
                None if !is_end => break,
                length => {
                    let length = length.unwrap_or(bytes.len());
                    push_invalid(out, bytes.get(..length).unwrap_or(bytes), kind);
                    length
                }
            },
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    text.len() - rest.len()
}

fn push_char(out: &mut Vec<u8>, c: char, kind: TerminalText) {
    match kind {
        _ if is_printable(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        TerminalText::Json => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        TerminalText::Lines { .. } | TerminalText::Tabs => push_escape(out, c),
    }
}

/// Appends escapes of invalid UTF-8 bytes. JSON should not contain any.
fn push_invalid(out: &mut Vec<u8>, bytes: &[u8], kind: TerminalText) {
    match kind {
        TerminalText::Json => out.extend_from_slice("\u{fffd}".as_bytes()),
        TerminalText::Lines { .. } | TerminalText::Tabs => push_bytes(out, bytes),
    }
}

/// Maximum length of a color code in bytes: `ESC [ 38 ; 2 ; 255 ; 255 ; 255 m`, doubled.
const LONGEST_COLOR: usize = 40;

enum Color {
    Whole(usize),
    /// Color code that can be incomplete.
    Begun,
    Other,
}

/// Recognizes a color code at the start of a text that starts with an escape character.
fn color(text: &[u8]) -> Color {
    for (at, byte) in text.iter().enumerate().take(LONGEST_COLOR) {
        match (at, byte) {
            (0, _) | (1, b'[') | (2.., b'0'..=b'9' | b';') => {}
            (2.., b'm') => return Color::Whole(at + 1),
            _ => return Color::Other,
        }
    }
    if text.len() < LONGEST_COLOR { Color::Begun } else { Color::Other }
}

#[cfg(test)]
mod tests;
