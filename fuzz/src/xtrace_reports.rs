//! X-Trace reports, as text and as JSON, and files of them as traces.

use ichnos::export::{Log, LogOptions};
use ichnos::flow::{Merge, pump};
use ichnos::io::{Entry, Format, ReadOptions, Tree};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::Window;
use ichnos_xtrace::XTrace;
use ichnos_xtrace::report::{JsonReports, LineBuffer, Part, ReportWriter, Reports};

/// Keys and values.
type Lines = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads a file behind the first byte, which chooses options.
pub fn reports(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let found = text(bytes);
    let in_json = json(bytes);
    again(&found);
    again(&in_json);
    let is_json = JsonReports::recognize(bytes) && !Reports::recognize(bytes);
    let expected = if is_json { in_json.len() } else { found.len() };
    trace(bytes, *choice, expected);
}

/// The reports of a text: nothing is left out but blanks.
fn text(bytes: &[u8]) -> Vec<Lines> {
    let mut reports = Vec::new();
    let mut buffer = LineBuffer::default();
    let mut end = 0;
    let mut parts = Reports::new(bytes);
    while let Some(part) = parts.next() {
        let (begin, text) = match part {
            Part::Report(report) => (report.offset(), report.as_bytes()),
            Part::Stray(begin, lines) => (begin, lines),
        };
        assert_eq!(&bytes[begin..begin + text.len()], text);
        let skipped = bytes[end..begin].strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes[end..begin]);
        assert!(!text.is_empty() && skipped.iter().all(|byte| *byte <= b' '));
        end = begin + text.len();
        assert!(end <= parts.offset() && parts.offset() <= bytes.len());
        let Part::Report(report) = part else { continue };
        let _ = (report.version(), report.has_known_version(), report.is_ended());
        let mut lines = report.lines();
        let own: Lines = lines
            .by_ref()
            .map(|line| {
                assert!(bytes[line.offset..].starts_with(line.value));
                (line.unescaped_key().into_owned(), line.unescaped_value().into_owned())
            })
            .collect();
        assert!(lines.ignored().is_none_or(|(count, first)| count > 0 && first < end));
        buffer.read(&report);
        assert_eq!(buffered(&buffer), own);
        reports.push(own);
    }
    assert!(bytes[end..].iter().all(|byte| *byte <= b' ') || bytes.starts_with(b"\xEF\xBB\xBF"));
    reports
}

/// The reports in JSON.
fn json(bytes: &[u8]) -> Vec<Lines> {
    let (mut reports, mut buffer) = (JsonReports::new(), LineBuffer::default());
    let (mut found, mut before) = (Vec::new(), 0);
    while let Some(report) = reports.next(bytes, &mut buffer) {
        match report {
            Ok(()) => found.push(buffered(&buffer)),
            Err(fault) => {
                assert!(fault.offset + fault.skipped <= bytes.len());
                let _ = fault.to_string();
            }
        }
        assert!(reports.offset() > before || reports.offset() == bytes.len());
        before = reports.offset();
    }
    assert!(before <= bytes.len());
    found
}

fn buffered(buffer: &LineBuffer) -> Lines {
    buffer.lines().map(|line| (line.key.to_vec(), line.value.to_vec())).collect()
}

/// Writes reports, and reads them again.
fn again(reports: &[Lines]) {
    let mut text = Vec::new();
    for lines in reports {
        let mut report = ReportWriter::from_lines(&mut text);
        for (key, value) in lines {
            report.line(key, value);
        }
    }
    let found: Vec<Lines> = Reports::new(&text)
        .map(|part| match part {
            Part::Report(report) => report
                .lines()
                .map(|line| (line.unescaped_key().into_owned(), line.unescaped_value().into_owned()))
                .collect(),
            Part::Stray(..) => panic!("{part:?}"),
        })
        .collect();
    assert_eq!(found, reports);
}

/// Writes a file as JSON Lines and as a log, whatever it is, with room for any number of classes or for hardly any.
fn trace(bytes: &[u8], choice: u8, expected: usize) {
    let mut options = ReadOptions::default();
    options.force = true;
    options.check = choice & 1 == 1;
    if choice & 2 == 2 {
        options.limits.dynamic_event_record_classes = 1;
    }
    let entries = vec![Entry::from_bytes("reports", bytes.to_vec())];
    let tree = Tree { name: "reports".to_owned(), entries, problems: Vec::new() };
    let _ = XTrace.probe(&tree, &options);
    let opened = XTrace.open(&[&tree], &options);
    assert_eq!((opened.traces.len(), opened.refused.len()), (1, 0));
    let trace = &opened.traces[0];
    let mut sink = JsonLines::new(Vec::new(), JsonLinesOptions::default());
    pump(&mut Merge::new(trace.cursors(Window::default())), &mut sink).unwrap();
    let events = sink.writer().windows(15).filter(|part| *part == b"\"type\":\"event\",").count();
    assert!(events >= expected, "an event is missing");
    let mut sink = Log::new(Vec::new(), LogOptions::default());
    pump(&mut Merge::new(trace.cursors(Window::default())), &mut sink).unwrap();
}
