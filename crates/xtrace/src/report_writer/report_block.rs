//! Encoded reports as text or JSON, before they are taken.

use ichnos_model::Event;
use ichnos_model::digest::{ClassDigest, ValueHash};

use super::own::ReportClass;
use crate::report::{JsonReportsWriter, LineBuffer, MAX_REPORT_LENGTH, ReportWriter, parse_timestamp};

/// Maximum number of JSON bytes for a line byte, reached by control characters.
const LONGEST_ESCAPE: usize = 6;

/// Encoded reports.
#[derive(Debug)]
pub(super) struct ReportBlock {
    /// JSON state. `None` for text.
    json: Option<JsonReportsWriter>,
    /// JSON lines of a report whose task is unknown so far.
    json_lines: Vec<u8>,
    pub(super) bytes: Vec<u8>,
    /// Number of events in the reports.
    pub(super) events: u64,
    /// Digest of all reports, if they are compared.
    digest: Option<ClassDigest>,
}

/// Changes in a report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReportChanges {
    pub(super) is_dropped: bool,
    pub(super) has_invalid_text: bool,
    pub(super) lacks_version: bool,
    pub(super) is_reordered: bool,
}

impl ReportBlock {
    pub(super) fn new(is_json: bool, is_compared: bool) -> Self {
        Self {
            json: is_json.then(JsonReportsWriter::new),
            json_lines: Vec::new(),
            bytes: Vec::new(),
            events: 0,
            digest: is_compared.then(ClassDigest::default),
        }
    }

    /// Takes the digest since the last call.
    pub(super) fn take_digest(&mut self) -> ClassDigest {
        self.digest.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Encodes a report that contains this number of events.
    pub(super) fn push(&mut self, lines: &mut LineBuffer, events: u64) -> ReportChanges {
        let mut changes = ReportChanges { is_dropped: lines.is_cut(), ..ReportChanges::default() };
        if self.json.is_some() {
            changes.has_invalid_text = make_utf8(lines);
            if JsonReportsWriter::has_head(lines) {
                changes.lacks_version = true;
                lines.retain(|key, _| key != b"version");
            }
            changes.is_dropped |= is_too_long_json(lines);
        }
        let begin = self.bytes.len();
        match &mut self.json {
            _ if changes.is_dropped => {}
            Some(json) => changes.is_reordered = json.report(lines, &mut self.bytes),
            None => {
                let mut report = ReportWriter::from_lines(&mut self.bytes);
                lines.lines().for_each(|line| report.line(line.key, line.value));
                changes.is_dropped = self.bytes.len() - begin > MAX_REPORT_LENGTH;
                self.bytes.push(b'\n');
            }
        }
        if changes.is_dropped {
            self.bytes.truncate(begin);
            return changes;
        }
        self.events += events;
        if let Some(digest) = &mut self.digest {
            digest.add(time_of(lines), hash_of(lines));
        }
        changes
    }

    /// Encodes a report directly from its event. Returns `false` and encodes nothing if its lines must be
    /// [pushed](Self::push) instead, because they need changes, do not fit, or are compared.
    pub(super) fn push_event(&mut self, class: &ReportClass, event: &Event<'_>) -> bool {
        if self.digest.is_some() || !class.is_direct {
            return false;
        }
        match &mut self.json {
            None => {
                let begin = self.bytes.len();
                if !class.write_text(event, &mut self.bytes) {
                    self.bytes.truncate(begin);
                    return false;
                }
                self.bytes.push(b'\n');
            }
            Some(json) => {
                let Some(task) = class.write_json(event, &mut self.json_lines) else { return false };
                json.begin(task, &mut self.bytes);
                self.bytes.extend_from_slice(&self.json_lines);
                self.bytes.push(b'}');
            }
        }
        self.events += 1;
        true
    }

    /// Ends the reports.
    pub(super) fn end(&mut self) {
        if let Some(json) = &mut self.json {
            json.end(&mut self.bytes);
        }
    }
}

/// Replaces invalid UTF-8 with U+FFFD. Returns `true` if there was any.
pub(super) fn make_utf8(lines: &mut LineBuffer) -> bool {
    if lines.as_bytes().is_ascii() {
        return false;
    }
    let is_valid = |text: &[u8]| std::str::from_utf8(text).is_ok();
    if lines.lines().all(|line| is_valid(line.key) && is_valid(line.value)) {
        return false;
    }
    let mut valid = LineBuffer::default();
    for line in lines.lines() {
        let (key, value) = (String::from_utf8_lossy(line.key), String::from_utf8_lossy(line.value));
        valid.push(key.as_bytes(), value.as_bytes());
    }
    *lines = valid;
    true
}

/// Returns `true` if readers refuse a report as JSON.
fn is_too_long_json(lines: &LineBuffer) -> bool {
    // Quotation marks and commas, and brackets for the first line of a key.
    let most = (LONGEST_ESCAPE * lines.byte_count()).saturating_add(16 * lines.len());
    if most <= MAX_REPORT_LENGTH {
        return false;
    }
    let mut json = Vec::new();
    JsonReportsWriter::new().report(lines, &mut json);
    json.len() > MAX_REPORT_LENGTH
}

/// Returns the report time in the same way as readers.
fn time_of(lines: &LineBuffer) -> Option<u64> {
    let times = lines.lines().filter(|line| line.key == b"Timestamp");
    times.into_iter().find_map(|line| parse_timestamp(line.value))
}

/// Returns a number that is the same for equal lines in any order, because readers group lines with the same key.
fn hash_of(lines: &LineBuffer) -> u64 {
    let hash = |line: crate::report::BufferedLine<'_>| {
        let mut hash = ValueHash::new(0);
        hash.bytes(line.key);
        hash.bytes(line.value);
        hash.finish()
    };
    lines.lines().map(hash).fold(0, u64::wrapping_add)
}

/// Returns the time and the hash of a report that was read.
pub(super) fn event_hash(event: &Event<'_>) -> (Option<u64>, u64) {
    let mut lines = LineBuffer::default();
    let is_read = ReportClass::from_event(event).is_some_and(|class| class.read(event, &mut lines));
    (event.clock.map(|clock| clock.cycles), if is_read { hash_of(&lines) } else { 0 })
}
