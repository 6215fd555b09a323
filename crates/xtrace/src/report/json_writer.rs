//! Writes reports as JSON.

use alloc::string::String;
use alloc::vec::Vec;

use ichnos_json::write;

use super::json::{ANY_HEAD, VERSION};
use super::line_buffer::{BufferedLine, LineBuffer};
use super::writer::{HEAD, push_hex};
use crate::TaskId;
use crate::dialect::Version2;
use crate::metadata::{Metadata, Mode};

/// Writes reports as JSON in the layout of Brown's servers: a list of objects, each with the reports of a task in the
/// member `reports`. A report is an object with a list of strings for each key, and the member `version`.
///
/// Consecutive reports of a task share one object, whose member `id` is the task. Invalid UTF-8 becomes U+FFFD. Servers
/// write `version` last. Here it comes first, so that readers recognize a report at its start.
///
/// ```
/// use ichnos_xtrace::report::{JsonReportsWriter, LineBuffer};
///
/// let mut lines = LineBuffer::default();
/// lines.push(b"X-Trace", b"10CAFEBABE01020304");
/// lines.push(b"Tag", b"a");
/// lines.push(b"Tag", b"b");
/// let (mut reports, mut json) = (JsonReportsWriter::new(), Vec::new());
/// reports.report(&lines, &mut json);
/// reports.end(&mut json);
/// assert_eq!(
///     String::from_utf8(json)?,
///     r#"[{"id":"CAFEBABE","reports":[
/// {"version":"X-Trace Report ver 1.0","X-Trace":["10CAFEBABE01020304"],"Tag":["a","b"]}
/// ]}]
/// "#
/// );
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct JsonReportsWriter {
    /// Task of the last report. The outer `None` means that the first report is missing.
    task: Option<Option<TaskId>>,
    /// For each line, the index of the first line with its key, and its own index.
    order: Vec<(u32, u32)>,
}

impl JsonReportsWriter {
    /// Creates a writer before the first report.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a report with these lines. Returns `true` if the line order changes, because other lines come between
    /// lines with the same key.
    ///
    /// A single line `version` whose value looks like the first line of a report is dropped, because readers would take
    /// it for the first line. See [`JsonReportsWriter::has_head`].
    pub fn report(&mut self, lines: &LineBuffer, json: &mut Vec<u8>) -> bool {
        self.begin(task_of(lines), json);
        let drops_head = Self::has_head(lines);
        let is_reordered = self.sort(lines);
        let mut last = None;
        for (first, index) in &self.order {
            let Some(line) = lines.get(*index as usize) else { continue };
            if drops_head && line.key == VERSION {
                continue;
            }
            if last == Some(*first) {
                json.push(b',');
            } else {
                json.extend_from_slice(if last.is_some() { b"],".as_slice() } else { b"," });
                push_text(json, line.key);
                json.extend_from_slice(b":[");
            }
            last = Some(*first);
            push_text(json, line.value);
        }
        json.extend_from_slice(if last.is_some() { b"]}".as_slice() } else { b"}" });
        is_reordered
    }

    /// Starts the report of a task, up to its version.
    pub(crate) fn begin(&mut self, task: Option<TaskId>, json: &mut Vec<u8>) {
        match self.task {
            None => json.push(b'['),
            Some(last) if last == task => {}
            Some(_) => json.extend_from_slice(b"\n]},\n"),
        }
        if self.task == Some(task) {
            json.extend_from_slice(b",\n");
        } else {
            json.extend_from_slice(b"{\"id\":\"");
            if let Some(task) = task {
                push_hex(task.as_bytes(), json);
            }
            json.extend_from_slice(b"\",\"reports\":[\n");
        }
        self.task = Some(task);
        json.extend_from_slice(b"{\"version\":\"");
        json.extend_from_slice(HEAD.as_bytes());
        json.push(b'"');
    }

    /// Ends the JSON text.
    pub fn end(&mut self, json: &mut Vec<u8>) {
        let is_empty = self.task.take().is_none();
        json.extend_from_slice(if is_empty { b"[]\n".as_slice() } else { b"\n]}]\n" });
    }

    /// Returns `true` if there is a single line `version` whose value looks like the first line of a report.
    #[must_use]
    pub fn has_head(lines: &LineBuffer) -> bool {
        let mut versions = lines.lines().filter(|line| line.key == VERSION);
        let is_head = versions.next().is_some_and(|line| line.value.starts_with(ANY_HEAD));
        is_head && versions.next().is_none()
    }

    /// Groups lines with the same key at the position of the first. Returns `true` if this changes the order.
    fn sort(&mut self, lines: &LineBuffer) -> bool {
        let key = |index: u32| lines.get(index as usize).map_or(&b""[..], |line| line.key);
        let order = &mut self.order;
        order.clear();
        order.extend((0..lines.len() as u32).map(|index| (index, index)));
        let is_grouped = is_grouped(order.len() as u32, &key);
        if !is_grouped {
            order.sort_unstable_by(|a, b| key(a.1).cmp(key(b.1)).then(a.1.cmp(&b.1)));
        }
        let mut first = order.first().map_or(0, |(_, index)| *index);
        for (begin, index) in order.iter_mut() {
            if key(*index) != key(first) {
                first = *index;
            }
            *begin = first;
        }
        if !is_grouped {
            order.sort_unstable();
        }
        !order.is_sorted_by_key(|(_, index)| *index)
    }
}

/// Returns `true` if lines with the same key are adjacent, as in most reports. May return `false` for many keys.
fn is_grouped<'l>(lines: u32, key: &impl Fn(u32) -> &'l [u8]) -> bool {
    let mut keys = 0;
    (1..lines).all(|index| {
        if key(index) == key(index - 1) {
            return true;
        }
        keys += 1;
        keys <= FEW_KEYS && !(0..index).any(|before| key(before) == key(index))
    })
}

/// Maximum number of keys to compare with each other.
const FEW_KEYS: usize = 24;

/// Appends a string. Invalid UTF-8 becomes U+FFFD.
fn push_text(json: &mut Vec<u8>, text: &[u8]) {
    if write::push_plain(json, text) {
        return;
    }
    match core::str::from_utf8(text) {
        Ok(text) => write::push_string(json, text),
        Err(_) => write::push_string(json, &String::from_utf8_lossy(text)),
    }
}

/// Returns the task of a report.
fn task_of(lines: &LineBuffer) -> Option<TaskId> {
    let of = |wanted: &[u8]| {
        let line: Option<BufferedLine<'_>> = lines.lines().find(|line| line.key == wanted);
        line.map(|line| line.value)
    };
    match of(b"X-Trace") {
        Some(value) => task_of_metadata(value),
        None => TaskId::from_hex(of(b"TaskID")?).ok(),
    }
}

/// Returns the task from metadata in any version.
pub(crate) fn task_of_metadata(value: &[u8]) -> Option<TaskId> {
    match Metadata::parse_with(value, Mode::Lenient) {
        Ok(metadata) => Some(metadata.as_ref().task_id()),
        Err(_) => Some(Version2::parse(value).ok()?.task_id()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::report::JsonReports;

    fn buffer(lines: &[(&str, &str)]) -> LineBuffer {
        let mut buffer = LineBuffer::default();
        lines.iter().for_each(|(key, value)| buffer.push(key.as_bytes(), value.as_bytes()));
        buffer
    }

    fn written(reports: &[&[(&str, &str)]]) -> String {
        let (mut writer, mut json) = (JsonReportsWriter::new(), Vec::new());
        for lines in reports {
            writer.report(&buffer(lines), &mut json);
        }
        writer.end(&mut json);
        String::from_utf8(json).unwrap()
    }

    /// Returns the lines of all reports.
    fn read(json: &str) -> Vec<Vec<(String, String)>> {
        let (mut reports, mut lines) = (JsonReports::new(), LineBuffer::default());
        let mut all = Vec::new();
        while let Some(report) = reports.next(json.as_bytes(), &mut lines) {
            report.unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            all.push(lines.lines().map(|line| (text(line.key), text(line.value))).collect());
        }
        all
    }

    #[test]
    fn lines_of_a_key_are_a_list() {
        let json = written(&[&[("A", "1"), ("B", "\"\n\u{1}"), ("A", "2"), ("", ""), ("A", "3")]]);
        assert!(json.contains(r#""A":["1","2","3"],"B":["\"\n\u0001"],"":[""]}"#), "{json}");
        let lines = [("A", "1"), ("A", "2"), ("A", "3"), ("B", "\"\n\u{1}"), ("", "")];
        assert_eq!(read(&json), vec![lines.map(|(key, value)| (key.into(), value.into())).to_vec()]);
    }

    #[test]
    fn tasks_are_objects() {
        let (a, b) = (("X-Trace", "10CAFEBABE01020304"), ("X-Trace", "100000000101020304"));
        let json = written(&[&[a], &[a, ("reports", "1")], &[b], &[], &[("TaskID", "cafebabe")]]);
        assert_eq!(json.matches("\"id\"").count(), 4, "{json}");
        assert_eq!(read(&json).iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1, 0, 1]);
        assert!(JsonReports::recognize(json.as_bytes()));
        assert_eq!(written(&[]), "[]\n");
        assert!(JsonReports::recognize(b"[]\n") && JsonReports::recognize(br#"[{"id":"00","reports":[]}]"#));
        assert!(
            !JsonReports::recognize(b"") && !JsonReports::recognize(b"[") && !JsonReports::recognize(b"[1]")
        );
    }

    #[test]
    fn lines_that_look_like_other_parts() {
        let head = ("version", "X-Trace Report ver 1.0");
        let json = written(&[&[head, ("A", "1")], &[head, head], &[("version", "2"), ("reports", "x")]]);
        assert_eq!(read(&json).iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 2]);
        assert!(JsonReportsWriter::has_head(&buffer(&[head])));
        assert!(!JsonReportsWriter::has_head(&buffer(&[head, head])));
    }

    #[test]
    fn many_keys_are_sorted() {
        let keys: Vec<String> = (0..2 * FEW_KEYS).map(|number| alloc::format!("k{}", number % 40)).collect();
        let lines: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "v")).collect();
        let read = read(&written(&[&lines]));
        assert_eq!(read[0].len(), lines.len());
        assert_eq!(read[0][..3].iter().map(|line| &*line.0).collect::<Vec<_>>(), ["k0", "k0", "k1"]);
    }
}
