//! Reports as the JSON that servers have made of them.

use core::ops::Range;

use alloc::format;
use alloc::vec::Vec;

use super::line_buffer::LineBuffer;
use super::rule::{ReportFault, ReportRule};

/// The byte order mark, which JSON must not begin with, and which is ignored if it does.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The member of an object that has the reports of a task.
const REPORTS: &[u8] = b"reports";
/// The member of a report that is its first line.
const VERSION: &[u8] = b"version";
const ANY_HEAD: &[u8] = b"X-Trace Report ver ";

/// How deep lists and objects can be nested around reports, and in values.
const MOST_NESTED: usize = 64;

/// How many bytes can be looked at again before any report was read.
const FIRST_CREDIT: usize = 64 << 10;

/// Reads the reports in JSON: lists, within each other or one after the other, of reports, or of objects that have a
/// list of reports as their member `reports`.
///
/// A report is an object of keys with a string, a list of strings or a number each. Anything else as a value is
/// taken as the text that it is in JSON, but for null, which is none. No more than one report is in memory, and what
/// lies between reports is not kept. Behind what is no JSON, reading goes on with the next object.
///
/// ```
/// use ichnos_xtrace::report::{JsonReports, LineBuffer};
///
/// let json = br#"[{"id": "01020304", "reports": [{"X-Trace": ["10CAFEBABE01020304"], "Tag": ["a", "b"]}]}]"#;
/// let (mut reports, mut lines) = (JsonReports::new(), LineBuffer::default());
/// assert!(reports.next(json, &mut lines).is_some_and(|report| report.is_ok()));
/// let lines: Vec<_> = lines.lines().map(|line| (line.key, line.value)).collect();
/// assert_eq!(lines, [(&b"X-Trace"[..], &b"10CAFEBABE01020304"[..]), (b"Tag", b"a"), (b"Tag", b"b")]);
/// ```
#[derive(Clone, Debug)]
pub struct JsonReports {
    at: usize,
    /// What is open: lists and objects that have reports.
    open: Vec<Around>,
    /// Whether a comma, or the end of what is open, comes next.
    is_behind_value: bool,
    /// Where a value is that is no string, of the last report.
    odd_value: Option<usize>,
    /// Where the last report begins.
    report: usize,
    /// Whether it is being read.
    is_in_report: bool,
    /// How many bytes can be looked at again, so that hostile JSON does not take more than linear time.
    credit: usize,
}

impl Default for JsonReports {
    fn default() -> Self {
        Self::new()
    }
}

/// What reports are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    List,
    /// An object with reports.
    Task,
}

/// What is wrong: where, what was expected.
#[derive(Clone, Copy, Debug)]
struct Wrong {
    at: usize,
    expected: &'static str,
}

type Parsed<T> = Result<T, Wrong>;

impl JsonReports {
    /// At the beginning of JSON.
    #[must_use]
    pub fn new() -> Self {
        Self {
            at: 0,
            open: Vec::new(),
            is_behind_value: false,
            odd_value: None,
            report: 0,
            is_in_report: false,
            credit: FIRST_CREDIT,
        }
    }

    /// How many bytes were read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Whether JSON begins with a report, of which more may follow behind the end of `beginning`: the first object
    /// has a key `X-Trace`, or is of another version that has `EventID`, or it says that it is a report.
    #[must_use]
    pub fn recognise(beginning: &[u8]) -> bool {
        let (mut reports, mut lines) = (Self::new(), LineBuffer::default());
        let Some(found) = reports.next_object(beginning, &mut lines) else { return false };
        // What is cut off by the end of the beginning has keys, too.
        let Ok(is_report) = found else { return lines.lines().any(|line| is_telling(line.key)) };
        is_report || lines.lines().any(|line| is_telling(line.key))
    }

    /// Reads the lines of the next report, in place of those that were in `lines`. `json` is all of it, the same
    /// each time. None: there is no more.
    ///
    /// # Errors
    /// If something is no JSON, or is neither a report nor has reports. The next call goes on with the next object
    /// behind it. What was read of the report is in `lines`.
    pub fn next(&mut self, json: &[u8], lines: &mut LineBuffer) -> Option<Result<(), ReportFault>> {
        Some(self.next_object(json, lines)?.map(|_| ()))
    }

    /// Where the last report begins, in bytes.
    #[must_use]
    pub fn report_offset(&self) -> usize {
        self.report
    }

    /// Where the last report has a value that is neither a string nor a list of strings.
    #[must_use]
    pub fn odd_value(&self) -> Option<usize> {
        self.odd_value
    }

    /// [`JsonReports::next`], and whether the object says that it is a report.
    fn next_object(&mut self, json: &[u8], lines: &mut LineBuffer) -> Option<Result<bool, ReportFault>> {
        lines.clear();
        self.odd_value = None;
        self.is_in_report = false;
        let begin = self.at;
        match self.find(json, lines) {
            Ok(Some(_)) if lines.is_cut() => {
                let rule = ReportRule::ReportSize;
                let fault = ReportFault::new(rule, self.report, rule.statement());
                Some(Err(fault.skipping(self.at - self.report)))
            }
            Ok(found) => found.map(Ok),
            Err(wrong) => Some(Err(self.resume(json, begin, wrong))),
        }
    }

    /// Goes on behind what is wrong; `begin` is where this call of [`JsonReports::next`] began.
    fn resume(&mut self, json: &[u8], begin: usize, Wrong { at, expected }: Wrong) -> ReportFault {
        let at = at.min(json.len());
        let found = match json.get(at) {
            None => "the end".into(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("byte {byte:#04x}"),
        };
        self.is_behind_value = false;
        let rule = ReportRule::JsonSyntax;
        let statement = rule.statement();
        // A quotation mark too many, for instance, is noticed long behind it.
        if self.is_in_report
            && let Some(next) = next_in_list(json, self.report + 1, at)
            && let Some(left) = self.credit.checked_sub(at - next)
        {
            self.credit = left;
            self.at = next;
            let statement = format!("{statement}, but at byte {at} there is {found} instead of {expected}");
            return ReportFault::new(rule, self.report, statement).skipping(next - self.report);
        }
        // Behind what is wrong, or the same would be found again.
        let from = at.max(begin) + usize::from(json.get(at) != Some(&b'{') || at == begin);
        let rest = json.get(from..).unwrap_or_default();
        self.at = memchr::memchr(b'{', rest).map_or(json.len(), |next| from + next);
        if self.at == json.len() {
            // That the end of what is open is missing says nothing new.
            self.open.clear();
        }
        let statement = format!("{statement}, but there is {found} instead of {expected}");
        ReportFault::new(rule, at, statement).skipping(self.at - at)
    }

    fn find(&mut self, json: &[u8], lines: &mut LineBuffer) -> Parsed<Option<bool>> {
        if self.at == 0 && json.starts_with(BYTE_ORDER_MARK) {
            self.at = BYTE_ORDER_MARK.len();
        }
        loop {
            self.at = skip_blanks(json, self.at);
            let wrong = |at, expected| Err(Wrong { at, expected });
            let around = self.open.last().copied();
            match (json.get(self.at), around) {
                (None, None) => return Ok(None),
                (None, Some(_)) if self.open.is_empty() => return Ok(None),
                (None, Some(_)) => {
                    // The end is reported once.
                    self.open.clear();
                    return wrong(self.at, "the end of a list");
                }
                (Some(b','), Some(_)) if self.is_behind_value => {
                    self.at += 1;
                    self.is_behind_value = false;
                }
                (Some(b']'), Some(Around::List)) => {
                    self.at += 1;
                    self.open.pop();
                    self.is_behind_value = true;
                    if self.open.last() == Some(&Around::Task) {
                        // Members behind the reports say nothing that is kept.
                        self.at = skip_members(json, self.at)?;
                        self.open.pop();
                    }
                }
                (Some(_), Some(_)) if self.is_behind_value => {
                    return wrong(self.at, "a comma or the end of a list");
                }
                (Some(b'['), _) if self.open.len() < MOST_NESTED => {
                    self.at += 1;
                    self.open.push(Around::List);
                    self.is_behind_value = false;
                }
                (Some(b'{'), _) => match find_reports(json, self.at)? {
                    Some(reports) if self.open.len() + 1 < MOST_NESTED => {
                        self.at = reports + 1;
                        self.open.extend([Around::Task, Around::List]);
                        self.is_behind_value = false;
                    }
                    _ => {
                        let is_report = self.read_report(json, lines)?;
                        self.is_behind_value = true;
                        return Ok(Some(is_report));
                    }
                },
                _ => return wrong(self.at, "an object"),
            }
        }
    }

    /// Reads the object here as the lines of a report; whether it says that it is one.
    fn read_report(&mut self, json: &[u8], lines: &mut LineBuffer) -> Parsed<bool> {
        (self.report, self.is_in_report) = (self.at, true);
        let mut is_report = false;
        let mut at = skip_blanks(json, self.at + 1);
        if json.get(at) == Some(&b'}') {
            self.at = at + 1;
            return Ok(false);
        }
        loop {
            lines.begin_key();
            at = read_string(json, at, "a key", lines)?;
            let key = lines.end_key();
            at = expect(json, at, b':', "a colon")?;
            at = skip_blanks(json, at);
            let before = lines.len();
            at = self.read_value(json, at, &key, lines)?;
            if lines.text(&key) == VERSION
                && lines.len() == before + 1
                && lines.lines().next_back().is_some_and(|line| line.value.starts_with(ANY_HEAD))
            {
                lines.truncate(before);
                is_report = true;
            }
            at = skip_blanks(json, at);
            match json.get(at) {
                Some(b',') => at = skip_blanks(json, at + 1),
                Some(b'}') => break,
                _ => return Err(Wrong { at, expected: "a comma or the end of an object" }),
            }
        }
        self.at = at + 1;
        self.credit = self.credit.saturating_add(self.at - self.report);
        Ok(is_report)
    }

    /// Reads a value as a line, or a list of values as one line each; where it ends.
    fn read_value(
        &mut self,
        json: &[u8],
        at: usize,
        key: &Range<usize>,
        lines: &mut LineBuffer,
    ) -> Parsed<usize> {
        if json.get(at) != Some(&b'[') {
            return self.read_scalar(json, at, key, lines);
        }
        let mut at = skip_blanks(json, at + 1);
        if json.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
        loop {
            at = skip_blanks(json, self.read_scalar(json, at, key, lines)?);
            match json.get(at) {
                Some(b',') => at = skip_blanks(json, at + 1),
                Some(b']') => return Ok(at + 1),
                _ => return Err(Wrong { at, expected: "a comma or the end of a list" }),
            }
        }
    }

    fn read_scalar(
        &mut self,
        json: &[u8],
        at: usize,
        key: &Range<usize>,
        lines: &mut LineBuffer,
    ) -> Parsed<usize> {
        let begin = lines.bytes().len();
        let end = match json.get(at) {
            Some(b'"') => read_string(json, at, "a string", lines)?,
            Some(first) => {
                let end = skip_value(json, at)?;
                let text = json.get(at..end).unwrap_or_default();
                if text == b"null" {
                    return Ok(end);
                }
                if matches!(first, b'{' | b'[' | b't' | b'f') {
                    self.odd_value = self.odd_value.or(Some(at));
                }
                if lines.has_room(text.len()) {
                    lines.bytes().extend_from_slice(text);
                }
                end
            }
            None => return Err(Wrong { at, expected: "a value" }),
        };
        if lines.has_room(0) {
            lines.end_value(key, begin, at);
        }
        Ok(end)
    }
}

/// Whether only reports have such a key.
fn is_telling(key: &[u8]) -> bool {
    matches!(key, b"X-Trace" | b"EventID")
}

/// Where the first object in a range is that follows a comma, as the next report in a list does.
fn next_in_list(json: &[u8], begin: usize, end: usize) -> Option<usize> {
    let range = json.get(begin..end)?;
    memchr::memchr_iter(b'{', range).find_map(|at| {
        let before = range.get(..at)?.trim_ascii_end();
        before.ends_with(b",").then_some(begin + at)
    })
}

/// Where the list is that the member `reports` of the object here is, if it has one.
fn find_reports(json: &[u8], begin: usize) -> Parsed<Option<usize>> {
    let mut at = skip_blanks(json, begin + 1);
    if json.get(at) == Some(&b'}') {
        return Ok(None);
    }
    loop {
        let key = at;
        // What is wrong with a report is said when it is read as one.
        let Ok(end) = skip_string(json, key, "a key") else { return Ok(None) };
        let name = json.get(key + 1..end - 1).unwrap_or_default();
        let Ok(value) = expect(json, end, b':', "a colon") else { return Ok(None) };
        let value = skip_blanks(json, value);
        if name == REPORTS && json.get(value) == Some(&b'[') {
            return Ok(Some(value));
        }
        // The key of a report: an object with reports has none of these before them.
        if is_telling(name) || name == VERSION {
            return Ok(None);
        }
        let Ok(end) = skip_value(json, value) else { return Ok(None) };
        at = skip_blanks(json, end);
        if json.get(at) != Some(&b',') {
            return Ok(None);
        }
        at = skip_blanks(json, at + 1);
    }
}

/// Goes on behind the members that are left of an object, and its end.
fn skip_members(json: &[u8], mut at: usize) -> Parsed<usize> {
    loop {
        at = skip_blanks(json, at);
        match json.get(at) {
            Some(b'}') => return Ok(at + 1),
            Some(b',') => {
                at = skip_string(json, skip_blanks(json, at + 1), "a key")?;
                at = expect(json, at, b':', "a colon")?;
                at = skip_value(json, skip_blanks(json, at))?;
            }
            _ => return Err(Wrong { at, expected: "a comma or the end of an object" }),
        }
    }
}

fn skip_blanks(json: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = json.get(at) {
        at += 1;
    }
    at
}

fn expect(json: &[u8], at: usize, byte: u8, expected: &'static str) -> Parsed<usize> {
    let at = skip_blanks(json, at);
    if json.get(at) == Some(&byte) { Ok(at + 1) } else { Err(Wrong { at, expected }) }
}

/// Behind a string.
fn skip_string(json: &[u8], at: usize, expected: &'static str) -> Parsed<usize> {
    if json.get(at) != Some(&b'"') {
        return Err(Wrong { at, expected });
    }
    let mut at = at + 1;
    loop {
        let rest = json.get(at..).unwrap_or_default();
        match memchr::memchr3(b'"', b'\\', b'\n', rest) {
            Some(found) if rest[found] == b'"' => return Ok(at + found + 1),
            Some(found) if rest[found] == b'\\' => at += found + 2,
            // A string that is not ended would take in all that follows.
            Some(found) => return Err(Wrong { at: at + found, expected: "the end of a string" }),
            None => return Err(Wrong { at: json.len(), expected: "the end of a string" }),
        }
    }
}

/// Appends what a string stands for; where it ends.
fn read_string(json: &[u8], at: usize, expected: &'static str, lines: &mut LineBuffer) -> Parsed<usize> {
    let end = skip_string(json, at, expected)?;
    // What is escaped is never shorter than what it stands for.
    if !lines.has_room(end - at) {
        return Ok(end);
    }
    let out = lines.bytes();
    let mut rest = json.get(at + 1..end - 1).unwrap_or_default();
    let wrong = |rest: &[u8]| Wrong { at: end - 1 - rest.len(), expected: "an escape" };
    while let Some(found) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(found);
        out.extend_from_slice(plain);
        let (byte, length) = match escape.get(1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => (*byte, 2),
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(b'n') => (b'\n', 2),
            Some(b'r') => (b'\r', 2),
            Some(b't') => (b'\t', 2),
            Some(b'u') => {
                let (character, length) = code_point(escape).ok_or_else(|| wrong(escape))?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = escape.get(length..).unwrap_or_default();
                continue;
            }
            _ => return Err(wrong(escape)),
        };
        out.push(byte);
        rest = escape.get(length..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Ok(end)
}

/// The character that `\u` and four digits stand for, or two of those together, and how many bytes they are. Half of
/// a pair stands for U+FFFD.
fn code_point(escape: &[u8]) -> Option<(char, usize)> {
    let unit = |escape: &[u8]| -> Option<u32> {
        let [b'\\', b'u', digits @ ..] = escape else { return None };
        let digits = digits.get(..4)?;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    };
    let first = unit(escape)?;
    if let 0xD800..=0xDBFF = first
        && let Some(second @ 0xDC00..=0xDFFF) = escape.get(6..).and_then(unit)
    {
        let code = 0x1_0000 + (first - 0xD800) * 0x400 + (second - 0xDC00);
        return Some((char::from_u32(code)?, 12));
    }
    Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
}

/// Behind a value of any kind. What is between brackets is not looked at closely.
fn skip_value(json: &[u8], at: usize) -> Parsed<usize> {
    const EXPECTED: &str = "a value";
    match json.get(at) {
        Some(b'"') => skip_string(json, at, EXPECTED),
        Some(b'[' | b'{') => {
            let mut open = [false; MOST_NESTED];
            let mut depth = 0;
            let mut at = at;
            loop {
                match json.get(at) {
                    Some(b'"') => {
                        at = skip_string(json, at, EXPECTED)?;
                        continue;
                    }
                    Some(byte @ (b'[' | b'{')) => {
                        *open.get_mut(depth).ok_or(Wrong { at, expected: "less nesting" })? = *byte == b'{';
                        depth += 1;
                    }
                    Some(byte @ (b']' | b'}')) => {
                        depth -= 1;
                        if open[depth] != (*byte == b'}') {
                            return Err(Wrong { at, expected: "the end of what is open" });
                        }
                        if depth == 0 {
                            return Ok(at + 1);
                        }
                    }
                    Some(_) => {}
                    None => return Err(Wrong { at, expected: "the end of what is open" }),
                }
                at += 1;
            }
        }
        _ => {
            let rest = json.get(at..).unwrap_or_default();
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
            let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
            let text = rest.get(..length).unwrap_or_default();
            let is_number = text.iter().any(u8::is_ascii_digit)
                && text
                    .iter()
                    .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
            if is_number || matches!(text, b"null" | b"true" | b"false") {
                Ok(at + length)
            } else {
                Err(Wrong { at, expected: EXPECTED })
            }
        }
    }
}
