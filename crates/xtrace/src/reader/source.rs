//! Reads the reports of a file.

use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::cursor::ResumePoint;
use ichnos_model::message::{BrokenRule, Damage, DamageKind, DataPosition};
use ichnos_model::source::{NextRecord, Record};
use ichnos_model::{Source, Trace};

use super::event_maker::{EventMaker, shorten};
use crate::report::{JsonReports, LineBuffer, Part, ReportFault, ReportRule, Reports};

/// Report form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportForm {
    Text,
    Json,
}

/// Number of file bytes to read for recognizing JSON reports.
const PROBED: usize = 64 << 10;

/// Number of file bytes that show whether it can contain reports.
pub(super) const FIRST: usize = 512;

/// Number of bytes to read before their memory is released.
const RELEASED: usize = 1 << 20;

impl ReportForm {
    /// Recognizes the form of a file by its start. Returns `None` if it lacks reports.
    pub(super) fn recognize(beginning: &[u8]) -> Option<Self> {
        if Reports::recognize(beginning) {
            Some(Self::Text)
        } else if JsonReports::recognize(beginning.get(..PROBED).unwrap_or(beginning)) {
            Some(Self::Json)
        } else {
            None
        }
    }

    /// Returns the number of bytes needed to recognize a file, given its first [`FIRST`] bytes.
    pub(super) fn probed(first: &[u8]) -> usize {
        let first = first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first).trim_ascii_start();
        if matches!(first, [] | [b'[' | b'{', ..]) { PROBED } else { FIRST }
    }
}

/// Source for the reports of a file.
#[derive(Debug)]
pub(super) struct ReportSource {
    file: Arc<str>,
    bytes: Bytes,
    position: ReportPosition,
    maker: EventMaker,
    buffer: LineBuffer,
    /// `true` if an event waits until its errors are reported.
    is_waiting: bool,
    /// Offset of the last report.
    begin: usize,
    /// Number of reports read.
    reports: u64,
    /// Offset up to which memory is released.
    released: usize,
    is_loss_told: bool,
    /// Offset of a report that the limits exclude from any class.
    refused: Option<(usize, DamageKind)>,
}

/// Place between two reports.
#[derive(Debug)]
struct ReportPlace {
    trace: Arc<Trace>,
    position: ReportPosition,
    reports: u64,
}

#[derive(Clone, Debug)]
enum ReportPosition {
    Text(usize),
    Json(JsonReports),
}

impl ReportSource {
    pub(super) fn new(file: &Arc<str>, bytes: &Bytes, form: ReportForm, maker: EventMaker) -> Self {
        Self {
            file: Arc::clone(file),
            bytes: bytes.clone(),
            position: match form {
                ReportForm::Text => ReportPosition::Text(0),
                ReportForm::Json => ReportPosition::Json(JsonReports::new()),
            },
            maker,
            buffer: LineBuffer::default(),
            is_waiting: false,
            begin: 0,
            reports: 0,
            released: 0,
            is_loss_told: false,
            refused: None,
        }
    }

    /// Continues at a place of another source for the same trace. `None` if the place is of another trace.
    pub(super) fn resumed(mut self, place: &ResumePoint) -> Option<Self> {
        let place: &ReportPlace = place.get()?;
        if !Arc::ptr_eq(&place.trace, self.maker.trace()) {
            return None;
        }
        self.position = place.position.clone();
        self.reports = place.reports;
        if let ReportPosition::Text(at) = self.position {
            self.released = at;
        }
        Some(self)
    }

    /// Reads the next report or damage. Returns `false` at the end.
    fn read(&mut self) -> bool {
        let read = match self.position {
            ReportPosition::Text(at) => self.read_text(at),
            ReportPosition::Json(_) => self.read_json(),
        };
        let (begin, end) = match read {
            ControlFlow::Continue(range) => range,
            ControlFlow::Break(is_damage) => return is_damage,
        };
        self.begin = match &self.position {
            ReportPosition::Text(_) => begin,
            ReportPosition::Json(reports) => reports.report_offset(),
        };
        if end - self.released > RELEASED {
            self.bytes.release_part(end - self.released);
            self.released = end;
        }
        if !self.is_waiting {
            let damage =
                DamageKind::Unreadable("the limits are too low for the class of this report".to_owned());
            self.refused = Some((begin, damage));
        }
        true
    }

    /// Reads a text report at an offset, and returns its range. Breaks with `true` at damage, and with `false` at the
    /// end.
    fn read_text(&mut self, at: usize) -> ControlFlow<bool, (usize, usize)> {
        let Self { bytes, maker, buffer, .. } = self;
        let mut parts = Reports::starting_at(bytes, at);
        let part = parts.next();
        self.position = ReportPosition::Text(parts.offset());
        let report = match part {
            None => return ControlFlow::Break(false),
            Some(Part::Stray(offset, lines)) => {
                let rule = ReportRule::ReportBegin;
                let statement = format!("{}: lines before it are skipped", rule.statement());
                maker.faults.push_back(ReportFault::new(rule, offset, statement).skipping(lines.len()));
                return ControlFlow::Break(true);
            }
            Some(Part::Report(report)) => report,
        };
        self.reports += 1;
        maker.begin();
        if report.is_too_large() {
            let rule = ReportRule::ReportSize;
            let fault = ReportFault::new(rule, report.offset(), rule.statement());
            maker.faults.push_back(fault.skipping(report.as_bytes().len()));
            return ControlFlow::Break(true);
        }
        if !report.has_known_version() {
            let rule = ReportRule::ReportVersion;
            maker.fault(rule, report.offset(), || {
                format!("{}, but it is `{}`", rule.statement(), shorten(report.version()))
            });
        }
        let mut lines = report.lines();
        self.is_waiting = if lines.is_escaped() {
            if let Some(offset) = buffer.read(&report) {
                maker.fault(ReportRule::Escape, offset, || ReportRule::Escape.statement().to_owned());
            }
            lines.by_ref().for_each(drop);
            buffer.places().for_each(|(key, value, offset)| maker.line(key, value, offset));
            maker.finish(buffer.as_bytes(), report.offset())
        } else {
            for line in lines.by_ref() {
                maker.line(line.key, line.offset..line.offset + line.value.len(), line.offset);
            }
            maker.finish(bytes, report.offset())
        };
        if let Some((count, first)) = lines.ignored() {
            let rule = ReportRule::LineColon;
            maker.fault(rule, first, || match count {
                1 => format!("{}, but this line lacks a colon", rule.statement()),
                count => {
                    format!("{}, but this line and {} more lack a colon", rule.statement(), count - 1)
                }
            });
        }
        maker.faults.make_contiguous().sort_by_key(|fault| fault.offset);
        if !report.is_ended() {
            let rule = ReportRule::LineEnd;
            maker.fault(rule, parts.offset(), || format!("{}, but the file ends", rule.statement()));
        }
        ControlFlow::Continue((report.offset(), parts.offset()))
    }

    /// Reads a report from a JSON file, like [`ReportSource::read_text`].
    fn read_json(&mut self) -> ControlFlow<bool, (usize, usize)> {
        let Self { bytes, maker, buffer, position, .. } = self;
        let ReportPosition::Json(reports) = position else { return ControlFlow::Break(false) };
        let begin = reports.offset();
        match reports.next(bytes, buffer) {
            None => return ControlFlow::Break(false),
            Some(Err(fault)) => {
                maker.faults.push_back(fault);
                return ControlFlow::Break(true);
            }
            Some(Ok(())) => {}
        }
        self.reports += 1;
        maker.begin();
        buffer.places().for_each(|(key, value, offset)| maker.line(key, value, offset));
        self.is_waiting = maker.finish(buffer.as_bytes(), reports.report_offset());
        if let Some(offset) = reports.odd_value() {
            let rule = ReportRule::JsonValue;
            maker.fault(rule, offset, || format!("{}: it is read as text", rule.statement()));
        }
        ControlFlow::Continue((begin, reports.offset()))
    }

    fn damage(&self, fault: ReportFault) -> Damage {
        let rule = BrokenRule {
            name: fault.rule.name(),
            statement: fault.statement,
            remedy: remedy(fault.rule),
            // Bytes between reports lack a record number.
            record: Some(self.reports).filter(|_| fault.skipped == 0 && fault.rule != ReportRule::JsonSyntax),
            fatal: fault.rule.is_fatal(),
        };
        let damage = Damage::new(&*self.file, fault.offset as u64 * 8, rule.into());
        damage.in_stream(&*self.file).skipping(fault.skipped as u64 * 8)
    }
}

impl Source for ReportSource {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        loop {
            if let Some(fault) = self.maker.faults.pop_front() {
                return NextRecord::Damage(self.damage(fault));
            }
            if let Some((offset, kind)) = self.refused.take() {
                let damage = Damage::new(&*self.file, offset as u64 * 8, kind);
                return NextRecord::Damage(damage.in_stream(&*self.file));
            }
            if std::mem::take(&mut self.is_waiting)
                && let Some(class) = &self.maker.class
            {
                record.set_dynamic_class(class);
                if let Some(cycles) = self.maker.cycles {
                    record.set_cycles(cycles);
                }
                std::mem::swap(&mut record.values, &mut self.maker.values);
                return NextRecord::Event;
            }
            if !self.read() {
                break;
            }
        }
        let lost = self.bytes.look_for_loss();
        if !lost.is_empty() && !std::mem::replace(&mut self.is_loss_told, true) {
            let damage = Damage::new(&*self.file, lost.start as u64 * 8, DamageKind::Lost { reported: true });
            return NextRecord::Damage(damage.in_stream(&*self.file).skipping(lost.len() as u64 * 8));
        }
        NextRecord::End
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        if self.is_waiting || self.refused.is_some() || !self.maker.faults.is_empty() {
            return None;
        }
        let trace = Arc::clone(self.maker.trace());
        Some(ResumePoint::new(ReportPlace { trace, position: self.position.clone(), reports: self.reports }))
    }

    fn has_fitting_events(&self) -> bool {
        // Values are appended by the shape that the class was made from.
        true
    }

    fn position(&self) -> Option<DataPosition> {
        Some(DataPosition::at_byte(&*self.file, self.begin as u64))
    }
}

/// Returns the help text for a broken rule.
fn remedy(rule: ReportRule) -> &'static str {
    match rule {
        ReportRule::ReportBegin => {
            "a value contains an empty line, or something else was written into the file; the program that \
            writes reports should escape values"
        }
        ReportRule::ReportSize => {
            "the report is skipped; bytes of the file were changed, or the program that reported it is faulty"
        }
        ReportRule::JsonSyntax => {
            "bytes of the file were changed or are missing: copy it again from its source"
        }
        ReportRule::MetadataMissing | ReportRule::Metadata | ReportRule::MetadataValid => {
            "the event is read without its task; fix the program that reported it"
        }
        ReportRule::Edge => "the event is read without this edge; fix the program that reported it",
        ReportRule::Timestamp => "the event is read without a time; fix the program that reported it",
        ReportRule::OperationOnce => {
            "task graphs show both as one operation; the program that reported it should draw identifiers at random, of 8 \
             bytes where there are many"
        }
        _ => "it is read as if it followed the rule; fix the program that wrote it",
    }
}
