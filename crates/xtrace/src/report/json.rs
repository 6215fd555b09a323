//! Reports as the JSON that servers have made of them.

use core::ops::Range;

use alloc::format;
use alloc::vec::Vec;

use ichnos_json::read::{Error, Reader, RelaxedString, Result as Parsed};

use super::line_buffer::LineBuffer;
use super::rule::{ReportFault, ReportRule};

/// The byte order mark, which JSON must not begin with, and which is ignored if it does.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The member of an object that has the reports of a task.
const REPORTS: &[u8] = b"reports";
/// The member of a report that is its first line.
const VERSION: &[u8] = b"version";
const ANY_HEAD: &[u8] = b"X-Trace Report ver ";

/// How deep lists and objects can be nested around reports.
const MOST_NESTED: usize = 64;
/// How deep they can be nested in values.
const MOST_DEEP: u32 = 64;

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
        let mut reader = Reader::new(json);
        reader.seek(begin);
        let found = self.find(&mut reader, lines);
        self.at = reader.offset();
        match found {
            Ok(Some(_)) if lines.is_cut() => {
                let rule = ReportRule::ReportSize;
                let fault = ReportFault::new(rule, self.report, rule.statement());
                Some(Err(fault.skipping(self.at - self.report)))
            }
            Ok(found) => found.map(Ok),
            Err(error) => Some(Err(self.resume(json, begin, error))),
        }
    }

    /// Goes on behind what is wrong; `begin` is where this call of [`JsonReports::next`] began.
    fn resume(&mut self, json: &[u8], begin: usize, error: Error) -> ReportFault {
        let (at, expected) = (error.offset.min(json.len()), error.kind.expected());
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

    fn find(&mut self, json: &mut Reader<'_, [u8]>, lines: &mut LineBuffer) -> Parsed<Option<bool>> {
        if json.offset() == 0 && json.text().starts_with(BYTE_ORDER_MARK) {
            json.seek(BYTE_ORDER_MARK.len());
        }
        loop {
            let around = self.open.last().copied();
            match (json.peek(), around) {
                (None, None) => return Ok(None),
                (None, Some(_)) => {
                    // The end is reported once.
                    self.open.clear();
                    return json.error("`]`");
                }
                (Some(b','), Some(_)) if self.is_behind_value => {
                    json.take(b',');
                    self.is_behind_value = false;
                }
                (Some(b']'), Some(Around::List)) => {
                    json.take(b']');
                    self.open.pop();
                    self.is_behind_value = true;
                    if self.open.last() == Some(&Around::Task) {
                        // Members behind the reports say nothing that is kept.
                        skip_members(json)?;
                        self.open.pop();
                    }
                }
                (Some(_), Some(_)) if self.is_behind_value => return json.error("`,` or `]`"),
                (Some(b'['), _) if self.open.len() < MOST_NESTED => {
                    json.take(b'[');
                    self.open.push(Around::List);
                    self.is_behind_value = false;
                }
                (Some(b'{'), _) => match find_reports(json.clone()) {
                    Some(reports) if self.open.len() + 1 < MOST_NESTED => {
                        json.seek(reports + 1);
                        self.open.extend([Around::Task, Around::List]);
                        self.is_behind_value = false;
                    }
                    _ => {
                        let is_report = self.read_report(json, lines)?;
                        self.is_behind_value = true;
                        return Ok(Some(is_report));
                    }
                },
                _ => return json.error("an object"),
            }
        }
    }

    /// Reads the object here as the lines of a report; whether it says that it is one.
    fn read_report(&mut self, json: &mut Reader<'_, [u8]>, lines: &mut LineBuffer) -> Parsed<bool> {
        (self.report, self.is_in_report) = (json.offset(), true);
        json.take(b'{');
        let (mut is_first, mut is_report) = (true, false);
        while json.member(&mut is_first)? {
            lines.begin_key();
            push_string(json.relaxed_string("a key")?, lines)?;
            let key = lines.end_key();
            json.expect(b':', "`:`")?;
            let before = lines.len();
            self.read_value(json, &key, lines)?;
            if lines.text(&key) == VERSION
                && lines.len() == before + 1
                && lines.lines().next_back().is_some_and(|line| line.value.starts_with(ANY_HEAD))
            {
                lines.truncate(before);
                is_report = true;
            }
        }
        self.credit = self.credit.saturating_add(json.offset() - self.report);
        Ok(is_report)
    }

    /// Reads a value as a line, or a list of values as one line each.
    fn read_value(
        &mut self,
        json: &mut Reader<'_, [u8]>,
        key: &Range<usize>,
        lines: &mut LineBuffer,
    ) -> Parsed<()> {
        if !json.take(b'[') {
            return self.read_scalar(json, key, lines);
        }
        let mut is_first = true;
        while json.element(&mut is_first)? {
            self.read_scalar(json, key, lines)?;
        }
        Ok(())
    }

    fn read_scalar(
        &mut self,
        json: &mut Reader<'_, [u8]>,
        key: &Range<usize>,
        lines: &mut LineBuffer,
    ) -> Parsed<()> {
        let begin = lines.bytes().len();
        let first = json.peek();
        let at = json.offset();
        if first == Some(b'"') {
            push_string(json.relaxed_string("a string")?, lines)?;
        } else {
            let text = json.skip_relaxed(MOST_DEEP)?;
            if text == b"null" {
                return Ok(());
            }
            if matches!(first, Some(b'{' | b'[' | b't' | b'f')) {
                self.odd_value = self.odd_value.or(Some(at));
            }
            if lines.has_room(text.len()) {
                lines.bytes().extend_from_slice(text);
            }
        }
        if lines.has_room(0) {
            lines.end_value(key, begin, at);
        }
        Ok(())
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

/// Offset of the list that is the member `reports` of the object here, if it has one.
fn find_reports(mut json: Reader<'_, [u8]>) -> Option<usize> {
    json.take(b'{');
    let mut is_first = true;
    // Errors in a report are reported when it is read as one.
    while json.member(&mut is_first).ok()? {
        let name = json.relaxed_string("a key").ok()?.raw;
        json.expect(b':', "`:`").ok()?;
        if name == REPORTS && json.peek() == Some(b'[') {
            return Some(json.offset());
        }
        // The key of a report: an object with reports has none of these before them.
        if is_telling(name) || name == VERSION {
            return None;
        }
        json.skip_relaxed(MOST_DEEP).ok()?;
    }
    None
}

/// Skips the members that are left of an object, and its end.
fn skip_members(json: &mut Reader<'_, [u8]>) -> Parsed<()> {
    while json.member(&mut false)? {
        json.relaxed_string("a key")?;
        json.expect(b':', "`:`")?;
        json.skip_relaxed(MOST_DEEP)?;
    }
    Ok(())
}

/// Appends what a string stands for.
fn push_string(string: RelaxedString<'_>, lines: &mut LineBuffer) -> Parsed<()> {
    // Its text is never longer than it is with escapes and quotes.
    if lines.has_room(string.raw.len() + 2) { string.push_to(lines.bytes()) } else { Ok(()) }
}
