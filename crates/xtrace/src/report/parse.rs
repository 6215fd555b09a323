//! Finds reports in a text.

use alloc::borrow::Cow;

use super::escape::unescape;
use super::writer::HEAD;
use super::{MAX_REPORT_LENGTH, MAX_REPORT_LINES};

/// Start of the first line of a report in any version.
const ANY_HEAD: &[u8] = b"X-Trace Report ver ";

/// Byte order mark that a text can start with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A section of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A report.
    Report(Report<'a>),
    /// Lines outside of reports, without a first line before them: their offset, and the lines.
    Stray(usize, &'a [u8]),
}

/// Iterator over the reports in a text.
///
/// ```
/// use ichnos_xtrace::report::{Part, Reports};
///
/// let text = b"X-Trace Report ver 1.0\r\nX-Trace: 10CAFEBABE01020304\r\nLabel: at 10:30\r\n";
/// let Some(Part::Report(report)) = Reports::new(text).next() else { panic!() };
/// let lines: Vec<_> = report.lines().map(|line| (line.key, line.value)).collect();
/// assert_eq!(lines, [(&b"X-Trace"[..], &b"10CAFEBABE01020304"[..]), (b"Label", b"at 10:30")]);
/// ```
#[derive(Clone, Debug)]
pub struct Reports<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reports<'a> {
    /// Creates the iterator for a text, which can start with a byte order mark.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 } }
    }

    /// Continues at the [offset](Self::offset) where reading stopped.
    #[must_use]
    pub fn starting_at(text: &'a [u8], offset: usize) -> Self {
        if offset == 0 { Self::new(text) } else { Self { text, at: offset.min(text.len()) } }
    }

    /// Returns the number of bytes read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns `true` if the first non-empty line of a text is the first line of a report in any version.
    #[must_use]
    pub fn recognize(text: &[u8]) -> bool {
        let reports = Reports::new(text);
        let (mut line, mut next) = reports.line_at(reports.at);
        while next < text.len() && is_blank_line(line) {
            (line, next) = reports.line_at(next);
        }
        is_head(line)
    }

    /// Returns the line at an offset, and the offset of the next line.
    #[inline]
    fn line_at(&self, at: usize) -> (&'a [u8], usize) {
        let rest = &self.text[at..];
        match memchr::memchr(b'\n', rest) {
            Some(end) => (&rest[..end], at + end + 1),
            None => (rest, self.text.len()),
        }
    }

    /// Skips lines up to a blank line or the first line of a report. Returns the end of the last skipped line.
    fn skip_lines(&mut self) -> usize {
        while self.at < self.text.len() {
            let (line, next) = self.line_at(self.at);
            if is_blank_line(line) || is_head(line) {
                break;
            }
            self.at = next;
        }
        self.at
    }
}

impl<'a> Iterator for Reports<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        loop {
            if self.at >= self.text.len() {
                return None;
            }
            let begin = self.at;
            let (line, next) = self.line_at(begin);
            self.at = next;
            if is_blank_line(line) {
                continue;
            }
            if !is_head(line) {
                let mut end = self.skip_lines();
                // Everything between two reports is one section.
                while end < self.text.len() && !is_head(self.line_at(end).0) {
                    (_, self.at) = self.line_at(end);
                    end = self.skip_lines();
                }
                return Some(Part::Stray(begin, trim_end(&self.text[begin..end])));
            }
            let end = self.skip_lines();
            let report = Report { text: &self.text[begin..end], offset: begin, begin: next - begin };
            return Some(Part::Report(report));
        }
    }
}

/// A report that borrows its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    text: &'a [u8],
    offset: usize,
    /// Start of the second line.
    begin: usize,
}

impl<'a> Report<'a> {
    /// Returns the text, from the first line to the end of the last line.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the byte offset in the text of all reports.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the version in the first line, for example `1.0`.
    #[must_use]
    pub fn version(&self) -> &'a [u8] {
        trim(&self.text[ANY_HEAD.len()..self.begin])
    }

    /// Returns `true` if the first line is [`HEAD`].
    #[must_use]
    pub fn has_known_version(&self) -> bool {
        *self.version() == HEAD.as_bytes()[ANY_HEAD.len()..]
    }

    /// Returns `true` if the last line ends with a line break.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.text.ends_with(b"\n")
    }

    /// Returns `true` if keys and values are escaped: the second line is `Escaped: 1`, which is then missing from
    /// [`lines`](Self::lines).
    #[must_use]
    #[inline]
    pub fn is_escaped(&self) -> bool {
        self.lines().is_escaped
    }

    /// Returns `true` if readers refuse the report, because it has more than
    /// [`MAX_REPORT_LENGTH`](super::MAX_REPORT_LENGTH) bytes or [`MAX_REPORT_LINES`](super::MAX_REPORT_LINES) lines.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        let bytes = self.text.len();
        // A line has at least a colon and a line break.
        bytes > MAX_REPORT_LENGTH
            || bytes / 2 > MAX_REPORT_LINES && self.lines().nth(MAX_REPORT_LINES).is_some()
    }

    /// Returns the lines with keys and values in order.
    #[must_use]
    #[inline]
    pub fn lines(&self) -> ReportLines<'a> {
        let mut lines = ReportLines {
            text: self.text,
            at: self.begin,
            offset: self.offset,
            is_escaped: false,
            ignored: None,
        };
        // Keys that start with `E` are rare, so examining the whole line is cheap enough.
        if self.text.get(self.begin) == Some(&b'E') {
            let mut after = lines.clone();
            if let Some(line) = after.next()
                && line.key == b"Escaped"
                && line.value == b"1"
            {
                lines = ReportLines { is_escaped: true, ..after };
            }
        }
        lines
    }
}

/// A line of a report. Keys and values are trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Text before the first colon.
    pub key: &'a [u8],
    /// Text after it.
    pub value: &'a [u8],
    /// Byte offset of the value in the text of all reports.
    pub offset: usize,
    /// `true` if key and value are escaped.
    pub is_escaped: bool,
}

impl<'a> Line<'a> {
    /// Returns the unescaped key.
    #[must_use]
    pub fn unescaped_key(&self) -> Cow<'a, [u8]> {
        if self.is_escaped { unescape(self.key).0 } else { Cow::Borrowed(self.key) }
    }

    /// Returns the unescaped value.
    #[must_use]
    pub fn unescaped_value(&self) -> Cow<'a, [u8]> {
        if self.is_escaped { unescape(self.value).0 } else { Cow::Borrowed(self.value) }
    }
}

/// Iterator over the lines of a report. Lines without a colon are skipped and counted.
#[derive(Clone, Debug)]
pub struct ReportLines<'a> {
    text: &'a [u8],
    at: usize,
    /// Offset of the report.
    offset: usize,
    is_escaped: bool,
    /// Number of lines without a colon, and the offset of the first such line in the text of all reports.
    ignored: Option<(usize, usize)>,
}

impl ReportLines<'_> {
    /// Returns `true` if keys and values are escaped.
    #[must_use]
    #[inline]
    pub fn is_escaped(&self) -> bool {
        self.is_escaped
    }

    /// Returns the number of skipped lines without a colon before the next line, and the offset of the first such line
    /// in the text of all reports.
    #[must_use]
    pub fn ignored(&self) -> Option<(usize, usize)> {
        self.ignored
    }
}

impl<'a> Iterator for ReportLines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let begin = self.at;
            // Most keys are short, with a colon before the end of the line.
            let (colon, end) = match memchr::memchr2(b':', b'\n', rest) {
                Some(at) if rest[at] == b':' => {
                    let behind = &rest[at + 1..];
                    (Some(at), at + 1 + memchr::memchr(b'\n', behind).unwrap_or(behind.len()))
                }
                Some(at) => (None, at),
                None => (None, rest.len()),
            };
            self.at = begin + end + 1;
            let Some(colon) = colon else {
                let (count, first) = self.ignored.unwrap_or((0, self.offset + begin));
                self.ignored = Some((count + 1, first));
                continue;
            };
            let behind = &rest[colon + 1..end];
            let value = trim_start(behind);
            return Some(Line {
                key: trim(&rest[..colon]),
                offset: self.offset + begin + colon + 1 + behind.len() - value.len(),
                value: trim_end(value),
                is_escaped: self.is_escaped,
            });
        }
    }
}

/// Returns `true` for bytes trimmed from keys and values.
#[inline]
const fn is_blank(byte: u8) -> bool {
    byte <= b' '
}

/// Returns `true` for the first line of a report in any version. Keys cannot start like this.
#[inline]
fn is_head(line: &[u8]) -> bool {
    line.starts_with(ANY_HEAD) && !line.contains(&b':')
}

fn is_blank_line(line: &[u8]) -> bool {
    match line {
        [] => true,
        [first, rest @ ..] => is_blank(*first) && rest.iter().all(|byte| is_blank(*byte)),
    }
}

#[inline]
fn trim(text: &[u8]) -> &[u8] {
    trim_end(trim_start(text))
}

#[inline]
fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_blank(*first)
    {
        text = rest;
    }
    text
}

#[inline]
fn trim_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., last] = text
        && is_blank(*last)
    {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    use super::*;

    /// Returns the content of a text in words.
    fn read(text: &str) -> Vec<String> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut words = Vec::new();
        for part in Reports::new(text.as_bytes()) {
            match part {
                Part::Stray(at, lines) => words.push(format!("{at}: stray {:?}", shown(lines))),
                Part::Report(report) => {
                    words.push(format!("{}: {}", report.offset(), shown(report.version())));
                    let mut lines = report.lines();
                    for line in lines.by_ref() {
                        assert!(text.as_bytes()[line.offset..].starts_with(line.value));
                        words.push(format!(
                            "{}={}",
                            shown(&line.unescaped_key()),
                            shown(&line.unescaped_value()).escape_debug()
                        ));
                    }
                    words.extend(lines.ignored().map(|(count, first)| format!("{count} ignored at {first}")));
                }
            }
        }
        words
    }

    #[test]
    fn lines_of_reports() {
        let text = "X-Trace Report ver 1.0\nA: b: c\n B\t:  d  \nno colon\nA:\n:e\nanother\n";
        assert_eq!(read(text), ["0: 1.0", "A=b: c", "B=d", "A=", "=e", "2 ignored at 41"]);
        assert_eq!(read(&text.replace('\n', "\r\n"))[..5], read(text)[..5]);
        assert_eq!(read("X-Trace Report ver 1.0"), ["0: 1.0"]);
        assert_eq!(read("X-Trace Report ver 1.0\nA: b"), ["0: 1.0", "A=b"]);
    }

    #[test]
    fn reports_of_texts() {
        let expected = ["0: 1.0", "A=1", "28: 1.0", "A=2"];
        assert_eq!(read("X-Trace Report ver 1.0\nA: 1\nX-Trace Report ver 1.0\nA: 2\n"), expected);
        let text = "\u{FEFF}\n\r\nX-Trace Report ver 1.0\r\nA: 1\n\n \n\r\nX-Trace Report ver 2.0 \nA: 2";
        assert_eq!(read(text), ["6: 1.0", "A=1", "40: 2.0", "A=2"]);
        let text = "a\n\nb: c\n\nX-Trace Report ver 1.0\nA: 1\n\nd\n";
        assert_eq!(read(text), ["0: stray \"a\\n\\nb: c\"", "9: 1.0", "A=1", "38: stray \"d\""]);
        // A key is not a first line.
        let text = "X-Trace Report ver 1.0\nX-Trace Report ver 1.0: 1\n";
        assert_eq!(read(text), ["0: 1.0", "X-Trace Report ver 1.0=1"]);
        assert_eq!(read(""), [""; 0]);
        assert_eq!(read("\n \r\n"), [""; 0]);
        let mut reports = Reports::new(text.as_bytes());
        let all: Vec<_> = reports.clone().collect();
        reports.next();
        let rest: Vec<_> = Reports::starting_at(text.as_bytes(), reports.offset()).collect();
        assert_eq!(rest, all[1..]);
    }

    #[test]
    fn escaped_reports() {
        let text = "X-Trace Report ver 1.0\nEscaped: 1\nA\\x3A: b\\n\\\\c\nEscaped: 1\n";
        assert_eq!(read(text), ["0: 1.0", "A:=b\\n\\\\c", "Escaped=1"]);
        // Elsewhere or with another value, it is an ordinary line.
        let text = "X-Trace Report ver 1.0\nEscaped: 2\nA: \\n\n";
        assert_eq!(read(text), ["0: 1.0", "Escaped=2", "A=\\\\n"]);
        let text = "X-Trace Report ver 1.0\nA: \\n\nEscaped: 1\n";
        assert_eq!(read(text), ["0: 1.0", "A=\\\\n", "Escaped=1"]);
    }

    #[test]
    fn recognizes() {
        for (text, is_one) in [
            ("X-Trace Report ver 1.0\n", true),
            ("\u{FEFF}\r\n \nX-Trace Report ver 1.0", true),
            (" X-Trace Report ver 1.0", false),
            ("", false),
            ("X-Trace Report", false),
            ("a\nX-Trace Report ver 1.0\n", false),
        ] {
            assert_eq!(Reports::recognize(text.as_bytes()), is_one, "{text}");
        }
        assert_eq!("1.0", HEAD[ANY_HEAD.len()..].to_string());
    }
}
