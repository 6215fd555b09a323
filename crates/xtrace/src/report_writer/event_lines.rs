//! Writes report lines directly from events, because most reports need no changes across lines.

use ichnos_json::write;
use ichnos_model::field::{Field, StringEncoding, Text};
use ichnos_model::{Event, Scope, Visitor};

use super::own::{LineNode, ReportClass};
use crate::TaskId;
use crate::report::{MAX_REPORT_LENGTH, MAX_REPORT_LINES, WrittenLines, task_of_metadata};

/// Maximum number of bytes around the lines of a JSON report.
const AROUND_JSON: usize = 256;

impl ReportClass {
    /// Appends a report as text. Returns `false` if the result is incomplete and the lines must be examined first.
    pub(super) fn write_text(&self, event: &Event<'_>, out: &mut Vec<u8>) -> bool {
        let begin = out.len();
        let lines = WrittenLines::begin(out);
        let mut writer =
            TextLines { class: self, out, lines, count: 0, left: MAX_REPORT_LENGTH, is_exact: true };
        let is_read = event.visit(Scope::Payload, &mut writer).is_ok();
        let is_exact = is_read && writer.is_exact;
        is_exact && out.len() - begin <= MAX_REPORT_LENGTH
    }

    /// Replaces `lines` with the lines of a report as JSON, and returns its task. Returns `None` if the result is
    /// incomplete and the lines must be examined first.
    pub(super) fn write_json(&self, event: &Event<'_>, lines: &mut Vec<u8>) -> Option<Option<TaskId>> {
        lines.clear();
        let mut writer = JsonLines {
            class: self,
            out: lines,
            last: None,
            metadata: None,
            task: None,
            count: 0,
            bytes: 0,
            is_exact: true,
        };
        let is_read = event.visit(Scope::Payload, &mut writer).is_ok();
        let JsonLines { last, metadata, task, is_exact, .. } = writer;
        if last.is_some() {
            lines.push(b']');
        }
        let is_exact = is_read && is_exact && lines.len() <= MAX_REPORT_LENGTH - AROUND_JSON;
        is_exact.then_some(metadata.unwrap_or(task))
    }
}

/// Writes lines as text.
struct TextLines<'w> {
    class: &'w ReportClass,
    out: &'w mut Vec<u8>,
    lines: WrittenLines,
    count: usize,
    /// Remaining number of bytes for keys and values.
    left: usize,
    /// `false` if a line is missing.
    is_exact: bool,
}

impl Visitor for TextLines<'_> {
    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let Some(LineNode::Value(key)) = self.class.nodes.get(field.index()) else { return };
        let Some(key) = self.class.keys.get(*key as usize) else { return };
        self.count += 1;
        self.left = self.left.saturating_sub(key.name.len() + value.bytes.len());
        // The rest of a long report would only take memory.
        self.is_exact &=
            value.encoding == StringEncoding::Utf8 && self.count <= MAX_REPORT_LINES && self.left > 0;
        if self.is_exact {
            self.lines.line_of_key(self.out, &key.text, value.bytes);
        }
    }
}

/// Writes lines as JSON.
struct JsonLines<'w> {
    class: &'w ReportClass,
    out: &'w mut Vec<u8>,
    /// Index of the last key.
    last: Option<u32>,
    /// Task in the first metadata line, if any.
    metadata: Option<Option<TaskId>>,
    /// Task in the first `TaskID` line.
    task: Option<TaskId>,
    count: usize,
    /// Total size of keys and values in bytes.
    bytes: usize,
    /// `false` if a line is missing.
    is_exact: bool,
}

impl JsonLines<'_> {
    /// Writes a text that can contain any bytes.
    #[cold]
    fn special(&mut self, text: &[u8]) {
        self.is_exact &= std::str::from_utf8(text).is_ok();
        write::push_utf8(self.out, text);
    }
}

impl Visitor for JsonLines<'_> {
    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let Some(LineNode::Value(index)) = self.class.nodes.get(field.index()) else { return };
        let Some(key) = self.class.keys.get(*index as usize) else { return };
        self.count += 1;
        self.bytes += key.name.len() + value.bytes.len();
        // The rest of a long report would only take memory.
        self.is_exact &= value.encoding == StringEncoding::Utf8
            && self.count <= MAX_REPORT_LINES
            && self.bytes <= MAX_REPORT_LENGTH;
        if !self.is_exact {
            return;
        }
        if self.last == Some(*index) {
            self.out.push(b',');
        } else {
            if self.last.is_some() {
                self.out.push(b']');
            }
            self.out.extend_from_slice(&key.json);
            self.last = Some(*index);
            match &*key.name {
                "X-Trace" => self.metadata = Some(task_of_metadata(value.bytes)),
                "TaskID" => self.task = TaskId::from_hex(value.bytes).ok(),
                _ => {}
            }
        }
        if !write::push_plain(self.out, value.bytes) {
            self.special(value.bytes);
        }
    }
}
