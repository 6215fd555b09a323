//! Writes reports.

use core::fmt::{self, Write as _};

use alloc::vec::Vec;

use crate::edge::Edge;
use crate::metadata::{MAX_TEXT_LENGTH, ValidMetadata};

/// The first line of a report.
pub const HEAD: &str = "X-Trace Report ver 1.0";

/// The key of the line that says that keys and values are escaped.
const ESCAPED: &[u8] = b"Escaped";

/// Writes a report: [`HEAD`], then lines of a key, `: ` and a value. Lines end with `\n`.
///
/// A plain report cannot contain a key with a colon or a line break, or a value with a line break, and readers
/// remove blanks from both ends of keys and values. If a report needs one of these, it has the line `Escaped: 1`
/// as its second line (and so does one with a key `Escaped`), and then in *all* its keys and values
///
/// - a backslash is written as `\\`, a line feed as `\n`, a carriage return as `\r`;
/// - a colon in a key, and a byte up to 0x20 at either end of a key or a value, as `\x` and two digits.
///
/// Without that line, backslashes are what they are.
///
/// ```
/// use ichnos_xtrace::report::ReportWriter;
/// use ichnos_xtrace::{Edge, Metadata};
///
/// let metadata = Metadata::parse("10CAFEBABE01020304")?.validate()?;
/// let mut text = Vec::new();
/// let mut report = ReportWriter::new(&mut text, &metadata);
/// report.edge(&Edge::next("01020303".parse()?));
/// report.timestamp_millis(1_500_000_000_123);
/// report.line("Label", "two\nlines");
/// assert_eq!(
///     String::from_utf8(text)?,
///     "X-Trace Report ver 1.0\nEscaped: 1\nX-Trace: 10CAFEBABE01020304\nEdge: 01020303\n\
///      Timestamp: 1500000000.123\nLabel: two\\nlines\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReportWriter<'b> {
    out: &'b mut Vec<u8>,
    /// Where the lines behind the first one begin.
    begin: usize,
    is_escaped: bool,
}

impl<'b> ReportWriter<'b> {
    /// Begins the report of the operation that metadata name, at the end of a buffer.
    ///
    /// Only what is valid can be reported (section 2.2). [`Edge`](Self::edge)s are up to the caller here; with the
    /// feature `std`, `Context` cares for them.
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, metadata: &ValidMetadata) -> Self {
        let mut report = Self::of_lines(out);
        let mut text = [0; MAX_TEXT_LENGTH];
        report.plain_line("X-Trace", metadata.write_text(&mut text));
        report
    }

    /// Begins a report that exists already, all of whose lines are given: even what is no valid report.
    #[must_use]
    pub fn of_lines(out: &'b mut Vec<u8>) -> Self {
        out.extend_from_slice(HEAD.as_bytes());
        out.push(b'\n');
        let begin = out.len();
        Self { out, begin, is_escaped: false }
    }

    /// Writes an edge.
    pub fn edge(&mut self, edge: &Edge) {
        self.display("Edge", edge);
    }

    /// Writes the time: milliseconds since 1970, as seconds with three digits behind a point.
    pub fn timestamp_millis(&mut self, millis: u64) {
        self.display("Timestamp", format_args!("{}.{:03}", millis / 1000, millis % 1000));
    }

    /// Writes a line.
    pub fn line(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, value) = (key.as_ref(), value.as_ref());
        if !self.is_escaped && (needs_escape(key, true) || needs_escape(value, false)) {
            self.escape_all();
        }
        if self.is_escaped {
            escape(key, true, self.out);
            self.out.extend_from_slice(b": ");
            escape(value, false, self.out);
        } else {
            self.out.extend_from_slice(key);
            self.out.extend_from_slice(b": ");
            self.out.extend_from_slice(value);
        }
        self.out.push(b'\n');
    }

    /// Writes a line of whatever can be shown.
    pub fn display(&mut self, key: impl AsRef<[u8]>, value: impl fmt::Display) {
        let from = self.out.len();
        // What is shown says that it failed: what it wrote so far is the value.
        let _ = write!(Append(self.out), "{value}");
        let key = key.as_ref();
        let length = self.out.len() - from;
        if !self.is_escaped && !needs_escape(key, true) && !needs_escape(&self.out[from..], false) {
            self.out.extend_from_slice(key);
            self.out.extend_from_slice(b": ");
            // The value came first, as nobody knew what it would be.
            self.out[from..].rotate_left(length);
            self.out.push(b'\n');
        } else {
            let value = self.out.split_off(from);
            self.line(key, value);
        }
    }

    /// Writes a line that needs no escapes.
    fn plain_line(&mut self, key: &str, value: &str) {
        for part in [key, ": ", value, "\n"] {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    /// Escapes what was written so far. None of it needs it but the backslashes.
    #[cold]
    fn escape_all(&mut self) {
        let plain = self.out.split_off(self.begin);
        self.out.extend_from_slice(ESCAPED);
        self.out.extend_from_slice(b": 1\n");
        for byte in plain {
            if byte == b'\\' {
                self.out.push(byte);
            }
            self.out.push(byte);
        }
        self.is_escaped = true;
    }
}

/// Whether it is removed from the ends of keys and values.
const fn is_blank(byte: u8) -> bool {
    byte <= b' '
}

fn needs_escape(text: &[u8], is_key: bool) -> bool {
    let at_end = |byte: Option<&u8>| byte.is_some_and(|byte| is_blank(*byte));
    at_end(text.first())
        || at_end(text.last())
        || text.iter().any(|byte| matches!(byte, b'\n' | b'\r') || *byte == b':' && is_key)
        // A line of somebody else that has this key must not be taken for ours, which comes before it.
        || is_key && text == ESCAPED
}

fn escape(text: &[u8], is_key: bool, out: &mut Vec<u8>) {
    for (index, byte) in text.iter().copied().enumerate() {
        let is_at_end = index == 0 || index + 1 == text.len();
        match byte {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            _ if is_at_end && is_blank(byte) || byte == b':' && is_key => {
                let mut digits = [0; 2];
                crate::hex::encode(&[byte], &mut digits);
                out.extend_from_slice(br"\x");
                out.extend_from_slice(&digits);
            }
            _ => out.push(byte),
        }
    }
}

struct Append<'b>(&'b mut Vec<u8>);

impl fmt::Write for Append<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &[(&str, &str)]) -> String {
        let mut text = Vec::new();
        let mut report = ReportWriter::of_lines(&mut text);
        for (key, value) in lines {
            report.line(key, value);
        }
        let mut other = Vec::new();
        let mut report = ReportWriter::of_lines(&mut other);
        for (key, value) in lines {
            report.display(key, value);
        }
        assert_eq!(text, other);
        String::from_utf8(text).unwrap().strip_prefix("X-Trace Report ver 1.0\n").unwrap().to_owned()
    }

    #[test]
    fn escapes_only_if_it_must() {
        assert_eq!(written(&[("Path", r"C:\new"), ("Empty", "")]), "Path: C:\\new\nEmpty: \n");
        let text = written(&[("Path", r"C:\new"), ("Text", "a\r\nb"), ("Path", r"\")]);
        assert_eq!(text, "Escaped: 1\nPath: C:\\\\new\nText: a\\r\\nb\nPath: \\\\\n");
        assert_eq!(written(&[("a:b", " c ")]), "Escaped: 1\na\\x3Ab: \\x20c\\x20\n");
        assert_eq!(written(&[("tab", "\t")]), "Escaped: 1\ntab: \\x09\n");
        assert_eq!(written(&[("Escaped", "0")]), "Escaped: 1\nEscaped: 0\n");
    }

    #[test]
    fn follows_what_is_there() {
        let mut text = b"before".to_vec();
        ReportWriter::of_lines(&mut text).line("a", "\n");
        assert_eq!(text, b"beforeX-Trace Report ver 1.0\nEscaped: 1\na: \\n\n");
    }
}
