//! `ichnos check`: everything that is wrong, and what to do about it.

use std::fmt::Write as _;

use ichnos::model::walk::DecodeErrorKind;
use ichnos::model::{Cursor, Damage, DamageKind, FileDiagnostic, Message, MessageKind, Severity, Window};
use ichnos::{OpenError, Session};

use crate::args::{Arithmetic, Check, Global};
use crate::exit::{Exit, Failure};
use crate::info::losses;
use crate::json::{self as js, Object};
use crate::progress::Progress;
use crate::report::Report;
use crate::style::{Paint, count, safe};
use crate::{input, limits, output};

pub(crate) fn run(args: &Check, global: &Global, report: Report) -> Result<Exit, Failure> {
    let mut found = Findings { most_damages: args.reading.limit_damage, ..Findings::default() };
    match input::try_open(&args.reading, Arithmetic::Exact, true)? {
        Ok(session) => {
            let mut progress = Progress::new(global.progress, &session, false, report);
            found.session(&session, args, &mut progress);
            input::tell_emptiness(&session, report);
        }
        // A trace that cannot be read is what a check is there to find.
        Err(OpenError::Refused(refused)) => {
            refused.iter().for_each(|trace| found.refused(&trace.path, &trace.diagnostics));
        }
        Err(error) => return Err(input::failure(error)),
    }
    let bad = found.errors > 0 || (args.reading.strict && found.warnings > 0);
    let text = if args.json {
        js::text(&found.document(args.metadata_only).json())
    } else {
        found.text(args.metadata_only, Paint::stdout(global.color), report.verbose > 0)
    };
    output::print(&text)?;
    Ok(if bad { Exit::Nothing } else { Exit::Success })
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
    Note,
}

/// A problem, as it is told.
struct Finding {
    level: Level,
    trace: String,
    /// `file:line:column` or `file: byte N`.
    place: String,
    message: String,
    remedy: Option<&'static str>,
    json: Object,
}

#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    errors: u64,
    warnings: u64,
    /// How many damaged places are in the list, may be in it, and are not.
    damages: u64,
    most_damages: u64,
    left_out: u64,
    traces: u64,
    streams: u64,
    packets: u64,
    events: u64,
}

impl Findings {
    fn add(&mut self, mut finding: Finding) {
        let level = match finding.level {
            Level::Error => {
                self.errors += 1;
                "error"
            }
            Level::Warning => {
                self.warnings += 1;
                "warning"
            }
            Level::Note => "note",
        };
        let mut json = Object::default();
        json.put("level", level);
        json.put("trace", finding.trace.as_str());
        finding.json.put_some("remedy", finding.remedy);
        json.append(&mut finding.json);
        finding.json = json;
        self.list.push(finding);
    }

    fn session(&mut self, session: &Session, args: &Check, progress: &mut Progress) {
        let (metadata_only, assume_correlated) = (args.metadata_only, args.reading.assume_correlated);
        for problem in session.problems() {
            let mut json = Object::default();
            json.put("kind", "input");
            json.put("message", problem.as_str());
            self.add(Finding {
                level: Level::Error,
                trace: String::new(),
                place: String::new(),
                message: problem.clone(),
                remedy: Some(limits::of_problem(problem).unwrap_or(
                    "get the file or folder again from where it was recorded, or change its mode",
                )),
                json,
            });
        }
        for refused in session.refused() {
            self.refused(&refused.path, &refused.diagnostics);
        }
        for trace in session.traces() {
            self.traces += 1;
            for diagnostic in trace.diagnostics() {
                self.diagnostic(trace.path(), diagnostic);
            }
            for quirk in trace.quirks() {
                let mut json = Object::default();
                json.put("kind", "quirk");
                json.put("name", quirk.name);
                json.put("message", quirk.message);
                self.add(Finding {
                    level: Level::Note,
                    trace: trace.path().to_owned(),
                    place: trace.path().to_owned(),
                    message: quirk.to_string(),
                    remedy: None,
                    json,
                });
            }
            let streams = trace.streams();
            self.streams += streams.len() as u64;
            if metadata_only {
                continue;
            }
            for damage in trace.damage() {
                self.damage(trace.path(), damage);
            }
            self.packets += streams.iter().map(|stream| stream.packets).sum::<u64>();
            for (stream, mut cursor) in streams.iter().zip(trace.cursors(Window::default())) {
                self.stream(trace.path(), &stream.stream.name, &mut cursor, progress);
            }
        }
        if !assume_correlated && let Some(clocks) = session.uncorrelated() {
            let message = clocks.to_string();
            let mut json = Object::default();
            json.put("kind", "clocks");
            json.put("message", message.as_str());
            self.add(Finding {
                level: Level::Error,
                trace: clocks.first_trace.clone(),
                place: clocks.first_trace.clone(),
                message,
                remedy: Some(
                    "read the traces one by one, or put them on one time line all the same with \
                     --assume-correlated",
                ),
                json,
            });
        }
    }

    fn refused(&mut self, path: &str, diagnostics: &[FileDiagnostic]) {
        self.traces += 1;
        for diagnostic in diagnostics {
            self.diagnostic(path, diagnostic);
        }
    }

    fn stream(&mut self, trace: &str, name: &str, cursor: &mut dyn Cursor, progress: &mut Progress) {
        let (mut events, mut unknown, mut packets) = (0u64, false, 0u64);
        while let Some(head) = cursor.advance() {
            progress.step(head.kind == MessageKind::Event, || head.nanoseconds());
            if head.kind == MessageKind::Event {
                self.events += 1;
                continue;
            }
            match cursor.current() {
                Some(Message::DiscardedEvents(discarded)) => match discarded.count {
                    Some(count) => events = events.saturating_add(count),
                    None => unknown = true,
                },
                Some(Message::DiscardedPackets(discarded)) => {
                    packets = packets.saturating_add(discarded.count.unwrap_or(1));
                }
                Some(Message::Damage(damage)) => self.damage(trace, damage),
                _ => {}
            }
        }
        if let Some(losses) = losses(events, unknown, packets) {
            let mut json = Object::default();
            json.put("kind", "loss");
            json.put("data_stream", name);
            json.put("discarded_events", events);
            json.put("discarded_packets", packets);
            let message = format!("the data stream lacks {losses}");
            json.put("message", message.as_str());
            self.add(Finding {
                level: Level::Note,
                trace: trace.to_owned(),
                place: format!("{trace}: {name}"),
                message,
                remedy: Some(
                    "when recording, give the tracer more or larger buffers, or enable fewer events",
                ),
                json,
            });
        }
    }

    fn diagnostic(&mut self, trace: &str, problem: &FileDiagnostic) {
        let diagnostic = &problem.diagnostic;
        // The names that LTTng gives to the packet indexes beside its data streams.
        let is_index = problem.file.ends_with(".idx");
        let (level, remedy) = match diagnostic.severity {
            Severity::Slip if is_index => (
                Level::Warning,
                Some("remove the packet index, or copy the trace again when the recording has ended"),
            ),
            Severity::Error => (
                Level::Error,
                Some(if diagnostic.place.is_unknown() {
                    "record the trace again, or get its metadata from where it was recorded"
                } else {
                    "correct the metadata there, or the program that wrote them; until then the trace cannot be read"
                }),
            ),
            Severity::Slip => (
                Level::Warning,
                Some("it is read as it was meant; the program that wrote it should be corrected"),
            ),
            _ => (Level::Note, None),
        };
        let remedy = limits::of_diagnostic(diagnostic).or(remedy);
        let mut json = Object::default();
        json.put("kind", if is_index { "index" } else { "metadata" });
        json.put("file", problem.file.as_str());
        json.append(&mut js::diagnostic(diagnostic));
        let place = if diagnostic.place.is_unknown() {
            problem.file.clone()
        } else {
            format!("{}:{}", problem.file, diagnostic.place)
        };
        let mut message = String::new();
        if !diagnostic.within.is_empty() {
            let _ = write!(message, "in {}: ", diagnostic.within.join(", "));
        }
        message.push_str(&diagnostic.message);
        let _ = match (&diagnostic.expected, &diagnostic.found) {
            (Some(expected), Some(found)) => write!(message, " (expected {expected}, found {found})"),
            (Some(expected), None) => write!(message, " (expected {expected})"),
            (None, Some(found)) => write!(message, " (found {found})"),
            (None, None) => Ok(()),
        };
        self.add(Finding { level, trace: trace.to_owned(), place, message, remedy, json });
    }

    fn damage(&mut self, trace: &str, damage: &Damage) {
        if self.damages >= self.most_damages {
            self.left_out += 1;
            self.errors += 1;
            return;
        }
        self.damages += 1;
        let mut json = Object::default();
        json.put("kind", "damage");
        json.append(&mut crate::info::damage_json(damage));
        let (place, message) = (crate::damage::place(damage), crate::damage::message(damage));
        let remedy = Some(remedy(&damage.kind));
        let level = match &damage.kind {
            DamageKind::Rule(rule) if !rule.fatal => Level::Warning,
            _ => Level::Error,
        };
        self.add(Finding { level, trace: trace.to_owned(), place, message, remedy, json });
    }

    fn document(mut self, metadata_only: bool) -> Object {
        let mut object = js::document("check");
        object.put("errors", self.errors);
        object.put("warnings", self.warnings);
        object.put("notes", (self.list.len() as u64 + self.left_out) - self.errors - self.warnings);
        object.put("traces", self.traces);
        object.put("data_streams", self.streams);
        if !metadata_only {
            object.put("packets", self.packets);
            object.put("events", self.events);
        }
        object.put("left_out", self.left_out);
        let findings = std::mem::take(&mut self.list);
        object.put("findings", findings.into_iter().map(|finding| finding.json.json()).collect::<Vec<_>>());
        object
    }

    fn text(&self, metadata_only: bool, paint: Paint, verbose: bool) -> String {
        let mut text = String::new();
        for finding in &self.list {
            let level = match finding.level {
                Level::Error => paint.error("error"),
                Level::Warning => paint.warning("warning"),
                Level::Note => paint.title("note"),
            };
            let place = if finding.place.is_empty() {
                String::new()
            } else {
                format!("{}: ", paint.title(&safe(&finding.place)))
            };
            let _ = writeln!(text, "{place}{level}: {}", safe(&finding.message));
            if let Some(remedy) = finding.remedy
                && (verbose || finding.level != Level::Warning)
            {
                let _ = writeln!(text, "  {}", paint.faint(&format!("remedy: {remedy}")));
            }
        }
        if self.left_out > 0 {
            let more = count(self.left_out, "more damaged place");
            let _ = writeln!(text, "{more}; --limit-damage lists more of them");
        }
        let mut read = format!("{}, {}", count(self.traces, "trace"), count(self.streams, "data stream"));
        if !metadata_only {
            let _ = write!(read, ", {}, {}", count(self.packets, "packet"), count(self.events, "event"));
        }
        let _ = match (self.errors, self.warnings) {
            (0, 0) => writeln!(text, "{}: {read}", paint.good("no problems")),
            (0, warnings) => writeln!(text, "{}: {read}", paint.warning(&count(warnings, "warning"))),
            (errors, warnings) => {
                let problems = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
                writeln!(text, "{}: {read}", paint.error(&problems))
            }
        };
        text
    }
}

/// What to do about damage.
fn remedy(kind: &DamageKind) -> &'static str {
    if let Some(remedy) = limits::of_damage(kind) {
        return remedy;
    }
    match kind {
        DamageKind::Field(DecodeErrorKind::BeyondContent { .. } | DecodeErrorKind::BeyondData { .. })
        | DamageKind::CutOff { .. } => {
            "the file ends early: copy it again from where it was recorded, or let the tracer stop before copying"
        }
        DamageKind::Field(_)
        | DamageKind::EventRecordClass { .. }
        | DamageKind::DataStreamClass(_)
        | DamageKind::EmptyEventRecord => {
            "the metadata do not describe these bytes: check that they belong to this recording and are complete"
        }
        DamageKind::Magic(_) => {
            "this is no data stream of the trace, or bytes are missing: move foreign files out of the folder, \
             or copy the file again"
        }
        DamageKind::Uuid { .. } => {
            "the file belongs to another recording: put it beside the metadata of that one"
        }
        DamageKind::ContentBeyondTotal { .. }
        | DamageKind::PacketTooShort { .. }
        | DamageKind::PacketWithin { .. }
        | DamageKind::PartialByte(_) => {
            "the sizes that the packet says are wrong: the tracer was interrupted while it wrote, or is faulty"
        }
        DamageKind::ClockBackwards { .. }
        | DamageKind::EndBeforeBegin { .. }
        | DamageKind::EndAfterNext { .. }
        | DamageKind::EventAfterPacket { .. }
        | DamageKind::TimeOverflow(_) => {
            "the tracer's clock is faulty there, or bytes were changed: times around it are not to be trusted"
        }
        DamageKind::CounterBackwards { .. } => {
            "the tracer was set back, or bytes were changed: numbers of lost events and packets around it are not \
             to be trusted"
        }
        DamageKind::Misplaced { .. } | DamageKind::Copy(_) => {
            "packets were moved or copied after they were recorded: all that is there is read, in the order of time"
        }
        DamageKind::FalseIndex | DamageKind::OtherDataStream { .. } => {
            "remove the packet index (the file of the folder `index`): packets are found without it"
        }
        DamageKind::Lost { .. } => {
            "another program writes to the file: read the trace again when that is done, or a copy of it"
        }
        DamageKind::Rule(rule) if !rule.fatal => {
            "it is read as if the rule were kept; the program that wrote it should be corrected"
        }
        DamageKind::Rule(_) => {
            "the program that wrote the record is faulty, or bytes were changed or are missing: get the file again \
             from where it was recorded"
        }
        DamageKind::Unreadable(_) => "change the owner or the mode of the file, or copy it again",
        _ => "record the trace again, or get it again from where it was recorded",
    }
}
