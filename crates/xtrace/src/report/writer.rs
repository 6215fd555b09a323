//! Writes reports.

use core::fmt::{self, Write as _};

use alloc::vec::Vec;

use ichnos_json::write;

use crate::edge::{Edge, EdgeKind};
#[cfg(feature = "propagation")]
use crate::id::OpId;
use crate::metadata::ValidMetadata;

/// First line of a report.
pub const HEAD: &str = "X-Trace Report ver 1.0";

/// Key of the line that marks escaped keys and values.
const ESCAPED: &[u8] = b"Escaped";

/// Writes a report: [`HEAD`], then lines with a key, `: ` and a value. Lines end with `\n`.
///
/// A plain report cannot contain a key with a colon or a line break, or a value with a line break. Readers remove
/// blanks at both ends of keys and values. If a report needs one of these, or has a key `Escaped`, its second line is
/// `Escaped: 1`. *All* its keys and values are then escaped:
///
/// - A backslash becomes `\\`, a line feed `\n`, a carriage return `\r`.
/// - A colon in a key, and a byte up to 0x20 at either end of a key or a value, becomes `\x` and two digits.
///
/// Without this line, backslashes are literal.
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
    lines: WrittenLines,
}

impl<'b> ReportWriter<'b> {
    /// Starts the report of the last operation in metadata, at the end of a buffer.
    ///
    /// Only valid metadata can be reported (section 2.2). The caller must add the [`edge`](Self::edge) lines. With the
    /// feature `propagation`, `Context` does this.
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, metadata: &ValidMetadata) -> Self {
        let lines = WrittenLines::begin(out);
        lines.metadata(out, metadata);
        Self { out, lines }
    }

    /// Starts a report from existing lines, even an invalid report.
    #[must_use]
    pub fn from_lines(out: &'b mut Vec<u8>) -> Self {
        let lines = WrittenLines::begin(out);
        Self { out, lines }
    }

    /// Writes an edge.
    pub fn edge(&mut self, edge: &Edge) {
        self.lines.edge(self.out, edge);
    }

    /// Writes the time in milliseconds since 1970, as seconds with three decimals.
    pub fn timestamp_millis(&mut self, millis: u64) {
        self.lines.timestamp_millis(self.out, millis);
    }

    /// Writes the time in nanoseconds since 1970, as seconds with nine decimals.
    pub fn timestamp_nanos(&mut self, nanos: u64) {
        self.lines.timestamp_nanos(self.out, nanos);
    }

    /// Writes a line.
    pub fn line(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.lines.line(self.out, key.as_ref(), value.as_ref());
    }

    /// Writes a line with a formatted value.
    pub fn display(&mut self, key: impl AsRef<[u8]>, value: impl fmt::Display) {
        self.lines.display(self.out, key.as_ref(), value);
    }
}

/// Line state of a report under construction in a buffer.
#[derive(Debug)]
pub(crate) struct WrittenLines {
    /// Start of the lines after the first line.
    begin: usize,
    is_escaped: bool,
}

impl WrittenLines {
    pub(crate) fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(HEAD.as_bytes());
        out.push(b'\n');
        Self { begin: out.len(), is_escaped: false }
    }

    pub(crate) fn metadata(&self, out: &mut Vec<u8>, metadata: &ValidMetadata) {
        out.extend_from_slice(b"X-Trace: ");
        push_hex(metadata.as_bytes(), out);
        out.push(b'\n');
    }

    /// Writes the line of a new operation: metadata with a new last operation of the same length.
    #[cfg(feature = "propagation")]
    pub(crate) fn operation(&self, out: &mut Vec<u8>, metadata: &ValidMetadata, op: OpId) {
        self.metadata(out, metadata);
        let digits = 2 * op.as_bytes().len();
        // After the flags and the task, before the options and the end of the line.
        let behind = 2 * (metadata.as_bytes().len() - 1 - metadata.task_id().as_bytes().len()) + 1;
        let begin = out.len() - behind;
        crate::hex::encode(op.as_bytes(), &mut out[begin..begin + digits]);
    }

    /// Avoids the formatting machinery, because each event has an edge.
    pub(crate) fn edge(&self, out: &mut Vec<u8>, edge: &Edge) {
        out.extend_from_slice(b"Edge: ");
        push_hex(edge.op.as_bytes(), out);
        if edge.kind != EdgeKind::Next {
            out.extend_from_slice(b", ");
            out.extend_from_slice(edge.kind.name().as_bytes());
        }
        if let Some(chain) = edge.chain {
            out.extend_from_slice(b", 0x");
            push_hex(&chain.0.to_be_bytes(), out);
        }
        out.push(b'\n');
    }

    pub(crate) fn timestamp_millis(&self, out: &mut Vec<u8>, millis: u64) {
        out.extend_from_slice(b"Timestamp: ");
        push_seconds::<3>(out, millis / 1000, (millis % 1000) as u32);
        out.push(b'\n');
    }

    pub(crate) fn timestamp_nanos(&self, out: &mut Vec<u8>, nanos: u64) {
        out.extend_from_slice(b"Timestamp: ");
        push_nanos(out, nanos);
        out.push(b'\n');
    }

    pub(crate) fn line(&mut self, out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
        if !self.is_escaped && (needs_escape(key, true) || needs_escape(value, false)) {
            self.escape_all(out);
        }
        if self.is_escaped {
            escape(key, true, out);
            out.extend_from_slice(b": ");
            escape(value, false, out);
        } else {
            out.extend_from_slice(key);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
        }
        out.push(b'\n');
    }

    /// Like [`WrittenLines::line`], for a key that many reports use.
    #[cfg(feature = "reader")]
    #[inline]
    pub(crate) fn line_of_key(&mut self, out: &mut Vec<u8>, key: &WrittenKey, value: &[u8]) {
        if !self.is_escaped && (key.needs_escape || needs_escape(value, false)) {
            self.escape_all(out);
        }
        if self.is_escaped {
            out.extend_from_slice(&key.escaped);
            escape(value, false, out);
        } else {
            out.extend_from_slice(&key.plain);
            out.extend_from_slice(value);
        }
        out.push(b'\n');
    }

    pub(crate) fn display(&mut self, out: &mut Vec<u8>, key: &[u8], value: impl fmt::Display) {
        let from = out.len();
        // If formatting fails, the value ends there.
        let _ = write!(Append(out), "{value}");
        let length = out.len() - from;
        if !self.is_escaped && !needs_escape(key, true) && !needs_escape(&out[from..], false) {
            out.extend_from_slice(key);
            out.extend_from_slice(b": ");
            // Moves the value behind the key.
            out[from..].rotate_left(length);
            out.push(b'\n');
        } else {
            let value = out.split_off(from);
            self.line(out, key, &value);
        }
    }

    /// Escapes the lines written so far, where only backslashes need it.
    #[cold]
    fn escape_all(&mut self, out: &mut Vec<u8>) {
        let plain = out.split_off(self.begin);
        out.extend_from_slice(ESCAPED);
        out.extend_from_slice(b": 1\n");
        for byte in plain {
            if byte == b'\\' {
                out.push(byte);
            }
            out.push(byte);
        }
        self.is_escaped = true;
    }
}

/// A key that many reports use, followed by `: `.
#[cfg(feature = "reader")]
#[derive(Debug)]
pub(crate) struct WrittenKey {
    plain: Vec<u8>,
    escaped: Vec<u8>,
    needs_escape: bool,
}

#[cfg(feature = "reader")]
impl WrittenKey {
    pub(crate) fn new(key: &[u8]) -> Self {
        let (mut plain, mut escaped) = (key.to_vec(), Vec::new());
        plain.extend_from_slice(b": ");
        escape(key, true, &mut escaped);
        escaped.extend_from_slice(b": ");
        Self { plain, escaped, needs_escape: needs_escape(key, true) }
    }
}

/// Appends nanoseconds since 1970 as seconds with nine decimals.
pub(crate) fn push_nanos(out: &mut Vec<u8>, nanos: u64) {
    push_seconds::<9>(out, nanos / 1_000_000_000, (nanos % 1_000_000_000) as u32);
}

/// Appends seconds and a fraction with a fixed number of digits.
fn push_seconds<const DIGITS: usize>(out: &mut Vec<u8>, seconds: u64, fraction: u32) {
    // Digits of 64-bit seconds, the point and at most nine digits.
    let mut text = [b'0'; 20 + 1 + 9];
    let mut at = text.len();
    let mut push = |digit: u8| {
        at -= 1;
        text[at] = digit;
        at
    };
    let mut rest = fraction;
    for _ in 0..DIGITS {
        push(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    push(b'.');
    let mut rest = seconds;
    let begin = loop {
        let begin = push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break begin;
        }
    };
    out.extend_from_slice(&text[begin..]);
}

/// Returns lines as text, if none needs escaping.
#[cfg(feature = "propagation")]
pub(crate) fn plain_lines(lines: &[(alloc::string::String, alloc::string::String)]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut plain = WrittenLines { begin: 0, is_escaped: false };
    for (key, value) in lines {
        plain.line(&mut out, key.as_bytes(), value.as_bytes());
    }
    (!plain.is_escaped).then_some(out)
}

/// Appends bytes as uppercase hexadecimal digits.
pub(crate) fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + 2 * bytes.len(), 0);
    crate::hex::encode(bytes, &mut out[from..]);
}

/// Returns `true` for bytes trimmed from keys and values.
const fn is_blank(byte: u8) -> bool {
    byte <= b' '
}

fn needs_escape(text: &[u8], is_key: bool) -> bool {
    let at_end = |byte: Option<&u8>| byte.is_some_and(|byte| is_blank(*byte));
    // Most texts are plain, which is fast to check.
    let has_line_break =
        |text: &[u8]| !write::is_plain(text) && memchr::memchr2(b'\n', b'\r', text).is_some();
    at_end(text.first())
        || at_end(text.last())
        || has_line_break(text)
        // A further line with this key must not look like the escape mark, which comes first.
        || is_key && (text.contains(&b':') || text == ESCAPED)
}

fn escape(text: &[u8], is_key: bool, out: &mut Vec<u8>) {
    for (index, byte) in text.iter().copied().enumerate() {
        let is_at_end = index == 0 || index + 1 == text.len();
        match byte {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            _ if is_at_end && is_blank(byte) || byte == b':' && is_key => {
                out.extend_from_slice(br"\x");
                push_hex(&[byte], out);
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
        let mut report = ReportWriter::from_lines(&mut text);
        for (key, value) in lines {
            report.line(key, value);
        }
        let mut other = Vec::new();
        let mut report = ReportWriter::from_lines(&mut other);
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
    fn times() {
        for (millis, text) in
            [(0, "0.000"), (1_500_000_000_123, "1500000000.123"), (u64::MAX, "18446744073709551.615")]
        {
            let mut out = Vec::new();
            ReportWriter::from_lines(&mut out).timestamp_millis(millis);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{HEAD}\nTimestamp: {text}\n"));
        }
        for (nanos, text) in [
            (0, "0.000000000"),
            (1_500_000_000_000_000_007, "1500000000.000000007"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            let mut out = Vec::new();
            ReportWriter::from_lines(&mut out).timestamp_nanos(nanos);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{HEAD}\nTimestamp: {text}\n"));
        }
    }

    #[test]
    fn edges() {
        for text in ["01020304", "0102030405060708, up", "01020304, 0x00FF", "01020304, down, 0xF8E6"] {
            let mut out = Vec::new();
            ReportWriter::from_lines(&mut out).edge(&text.parse().unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), format!("{HEAD}\nEdge: {text}\n"));
        }
    }

    #[test]
    fn follows_what_is_there() {
        let mut text = b"before".to_vec();
        ReportWriter::from_lines(&mut text).line("a", "\n");
        assert_eq!(text, b"beforeX-Trace Report ver 1.0\nEscaped: 1\na: \\n\n");
    }
}
