//! Findings of `ichnos check`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::ops::ControlFlow;

use ichnos::export::documents::{write_damage, write_diagnostic};
use ichnos::export::text::{Paint, count, grouped};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::message::{Damage, DamageKind};
use ichnos::model::trace::{FileDiagnostic, FileRole, Severity};
use ichnos::model::{Message, Sink};
use ichnos::{OpenError, Pass, Session, StreamMessages};

use super::text_check::TextCheck;
use crate::args::{CheckArgs, FailOn, limits};
use crate::exit::Failure;
use crate::input;
use crate::output::safe;
use crate::progress::{ReadProgress, damage};
use crate::select::TraceSelection;
use crate::verbs::info::losses;

/// Finding severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FindingLevel {
    Error,
    Warning,
    Note,
}

/// A problem to report.
struct Finding {
    level: FindingLevel,
    trace: String,
    /// `file:line:column` or `file: byte N`.
    place: String,
    message: String,
    remedy: Option<Cow<'static, str>>,
    /// `true` to show the finding only with --verbose.
    is_minor: bool,
    /// JSON members. The level, the trace and the remedy are added later.
    json: Vec<u8>,
}

impl Finding {
    fn new(
        level: FindingLevel,
        trace: &str,
        place: impl Into<String>,
        message: String,
        json: Vec<u8>,
    ) -> Self {
        let (trace, place) = (trace.to_owned(), place.into());
        Self { level, trace, place, message, remedy: None, is_minor: false, json }
    }

    fn remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Findings from a check, and counts of the checked input.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    errors: u64,
    warnings: u64,
    /// Number of damaged places in the list.
    damages: u64,
    /// Maximum number of damaged places in the list.
    most_damages: u64,
    /// Number of damaged places omitted from the list.
    left_out: u64,
    traces: u64,
    streams: u64,
    packets: u64,
    pub(super) events: u64,
    /// Events and packets discarded by the tracers.
    lost: DiscardedCounts,
    /// `true` if a path could not be read completely.
    pub(super) is_incomplete: bool,
}

/// Events and packets discarded by tracers.
#[derive(Clone, Copy, Default)]
struct DiscardedCounts {
    events: u64,
    packets: u64,
    /// `true` if an unknown number of events was lost.
    is_unknown: bool,
}

/// Sink that checks the messages of a data stream.
struct StreamCheck<'c, 'p> {
    findings: &'c mut Findings,
    trace: &'c str,
    lost: DiscardedCounts,
    /// `None` to skip texts.
    texts: Option<TextCheck>,
    progress: &'p mut ReadProgress,
}

impl Sink for StreamCheck<'_, '_> {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => {
                if let Some(texts) = &mut self.texts {
                    texts.event(event);
                }
            }
            Message::PacketBegin(packet) => {
                if let Some(texts) = &mut self.texts {
                    texts.packet(packet);
                }
            }
            Message::DiscardedEvents(discarded) => match discarded.count {
                Some(count) => self.lost.events = self.lost.events.saturating_add(count),
                None => self.lost.is_unknown = true,
            },
            Message::DiscardedPackets(discarded) => {
                self.lost.packets = self.lost.packets.saturating_add(discarded.count.unwrap_or(1));
            }
            Message::Damage(damage) => self.findings.damage(self.trace, damage),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, message: &Message<'_>, events: u32) -> io::Result<()> {
        self.progress.step(events, || message.nanoseconds());
        Ok(())
    }
}

impl DiscardedCounts {
    fn is_some(self) -> bool {
        self.events > 0 || self.packets > 0 || self.is_unknown
    }

    fn add(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.packets = self.packets.saturating_add(other.packets);
        self.is_unknown |= other.is_unknown;
    }

    /// Describes the losses, with the number of `events` that were read. Returns `None` if nothing was lost.
    fn text(self, events: u64) -> Option<String> {
        let mut parts = Vec::new();
        if self.events > 0 {
            let least = if self.is_unknown { "at least " } else { "" };
            let all = count(events.saturating_add(self.events), "event");
            parts.push(format!("{least}{} of {all}", grouped(self.events)));
        } else if self.is_unknown {
            parts.push("an unknown number of events".to_owned());
        }
        if self.packets > 0 {
            parts.push(count(self.packets, "packet"));
        }
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

impl Findings {
    /// Creates empty findings that can list a number of damaged places.
    pub(super) fn new(most_damages: u64) -> Self {
        Self { most_damages, ..Self::default() }
    }

    fn add(&mut self, mut finding: Finding) {
        let level = match finding.level {
            FindingLevel::Error => {
                self.errors += 1;
                "error"
            }
            FindingLevel::Warning => {
                self.warnings += 1;
                "warning"
            }
            FindingLevel::Note => "note",
        };
        let mut json = Vec::new();
        let mut object = ValueWriter::new(&mut json).object();
        object.member("level").string(level);
        object.member("trace").string(&finding.trace);
        object.buffer().append(&mut finding.json);
        object.string("remedy", finding.remedy.as_deref());
        object.end();
        finding.json = json;
        self.list.push(finding);
    }

    /// Returns `true` if the check must fail because of the findings.
    pub(super) fn is_bad(&self, args: &CheckArgs) -> bool {
        let fails = |what: FailOn| args.fails_on(what);
        !fails(FailOn::Never)
            && (self.errors > 0
                || (self.warnings > 0 && (args.reading.strict || fails(FailOn::Warning)))
                || (self.damages + self.left_out > 0 && fails(FailOn::Damage))
                || (self.lost.is_some() && fails(FailOn::Loss)))
    }

    /// Adds an error from opening. A check should find unreadable traces, not fail because of them.
    pub(super) fn failed(&mut self, error: &OpenError) -> Result<(), Failure> {
        match error {
            OpenError::Refused(refused) => {
                refused.iter().for_each(|trace| self.refused(&trace.path, &trace.diagnostics));
            }
            OpenError::Several(errors)
                if errors.iter().any(|error| matches!(error, OpenError::Refused(_))) =>
            {
                for error in errors {
                    match error {
                        OpenError::Refused(_) => self.failed(error)?,
                        error => self.left_out_path(error),
                    }
                }
            }
            error => return Err(input::failure(error)),
        }
        Ok(())
    }

    fn left_out_path(&mut self, error: &OpenError) {
        self.is_incomplete = true;
        let Failure { message, help, .. } = input::failure(error);
        self.input(message, help.map(Cow::Owned));
    }

    /// Adds a problem with the whole input.
    fn input(&mut self, message: String, remedy: Option<Cow<'static, str>>) {
        let json = members(|json| {
            json.member("kind").string("input");
            json.member("message").string(&message);
        });
        self.add(Finding { remedy, ..Finding::new(FindingLevel::Error, "", "", message, json) });
    }

    /// Checks the traces of a session.
    pub(super) fn session(
        &mut self,
        session: &Session,
        args: &CheckArgs,
        selected: &mut TraceSelection,
        progress: &mut ReadProgress,
    ) {
        const REMEDY: &str = "copy the file or directory again from its source, or change its mode";
        let (metadata_only, assume_correlated) = (args.metadata_only, args.reading.assume_correlated);
        session.left_out().iter().for_each(|error| self.left_out_path(error));
        for problem in session.problems() {
            let remedy = limits::io_remedy(problem.limit).unwrap_or(REMEDY);
            self.input(problem.to_string(), Some(remedy.into()));
        }
        for refused in session.refused() {
            self.refused(&refused.path, &refused.diagnostics);
        }
        for (number, trace) in session.traces().iter().enumerate() {
            self.traces += 1;
            for diagnostic in trace.diagnostics() {
                self.diagnostic(trace.path(), diagnostic);
            }
            if metadata_only {
                let streams = trace.data_streams();
                let selected = streams.iter().filter(|stream| selected.selection.wants_file(&stream.name));
                self.streams += selected.count() as u64;
                continue;
            }
            for damage in trace.damage().iter().filter(|damage| selected.selection.wants_file(&damage.file)) {
                self.damage(trace.path(), damage);
            }
            // Other formats report invalid texts themselves.
            let check_texts = !trace.reports_invalid_texts();
            // Data streams are opened one by one, because there can be very many.
            let mut streams = selected.streams(number, trace.as_ref());
            trace.for_each_stream(&mut |summary| {
                let (name, messages) = (&summary.stream.name, streams.next());
                if !selected.selection.wants_file(name) {
                    return;
                }
                self.streams += 1;
                self.packets += summary.packets;
                if let Some(messages) = messages {
                    self.stream(trace.path(), name, messages, check_texts, selected, progress);
                }
            });
        }
        self.quirks(session);
        if !assume_correlated && let Some(clocks) = session.uncorrelated() {
            let message = clocks.to_string();
            let json = members(|json| {
                json.member("kind").string("clocks");
                json.member("message").string(&message);
            });
            let trace = &clocks.first_trace;
            self.add(Finding::new(FindingLevel::Error, trace, trace, message, json).remedy(
                "read the traces one by one, set clock offsets with --offset PATH=TIME or --manifest \
                    FILE, or force one timeline with --assume-correlated",
            ));
        }
    }

    /// Adds the known tracer bugs after reading. Bugs without an effect are minor.
    fn quirks(&mut self, session: &Session) {
        let applied = session.applied_quirks();
        for (i, trace) in session.traces().iter().enumerate() {
            for quirk in trace.quirks() {
                let is_applied = applied.contains(&(i, quirk));
                let json = members(|json| {
                    json.member("kind").string("quirk");
                    json.member("name").string(quirk.name);
                    json.member("applied").boolean(is_applied);
                    json.member("message").string(quirk.message);
                });
                let path = trace.path();
                let finding = Finding::new(FindingLevel::Note, path, path, quirk.to_string(), json);
                self.add(Finding { is_minor: !is_applied, ..finding });
            }
        }
    }

    fn refused(&mut self, path: &str, diagnostics: &[FileDiagnostic]) {
        self.traces += 1;
        for diagnostic in diagnostics {
            self.diagnostic(path, diagnostic);
        }
    }

    fn stream(
        &mut self,
        trace: &str,
        name: &str,
        messages: StreamMessages,
        check_texts: bool,
        selected: &mut TraceSelection,
        progress: &mut ReadProgress,
    ) {
        let mut check = StreamCheck {
            findings: self,
            trace,
            lost: DiscardedCounts::default(),
            texts: check_texts.then(TextCheck::default),
            progress,
        };
        let pass = Pass::new(selected.selection.selected.clone());
        // Neither reading nor checks fail.
        let summary = pass.run_stream(messages, &mut check).unwrap_or_default();
        let StreamCheck { lost, texts, .. } = check;
        let texts = texts.unwrap_or_default();
        self.events += summary.counts.events;
        self.texts(trace, name, &texts);
        self.lost.add(lost);
        if let Some(losses) = losses(lost.events, lost.is_unknown, lost.packets) {
            let message = format!("the data stream lacks {losses}");
            let json = members(|json| {
                json.member("kind").string("loss");
                json.member("data_stream").string(name);
                json.member("discarded_events").unsigned(lost.events);
                json.member("discarded_packets").unsigned(lost.packets);
                json.member("message").string(&message);
            });
            let place = format!("{trace}: {name}");
            self.add(
                Finding::new(FindingLevel::Note, trace, place, message, json)
                    .remedy("when recording, give the tracer more or larger buffers, or enable fewer events"),
            );
        }
    }

    /// Adds the invalid texts in a data stream.
    fn texts(&mut self, trace: &str, name: &str, texts: &TextCheck) {
        let Some(first) = &texts.first else { return };
        let field = if first.field.is_empty() {
            "a field".to_owned()
        } else {
            format!("the field `{}`", first.field)
        };
        let mut message =
            format!("{field} of `{}` is not valid {}", first.within, first.encoding.to_uppercase());
        if texts.count > 1 {
            let _ = write!(message, "; the data stream has {}", count(texts.count - 1, "more such text"));
        }
        let json = members(|json| {
            json.member("kind").string("text");
            json.member("data_stream").string(name);
            json.member("texts").unsigned(texts.count);
            json.member("message").string(&message);
        });
        let place = format!("{trace}: {name}");
        self.add(
            Finding::new(FindingLevel::Warning, trace, place, message, json)
                .remedy("invalid text is shown as U+FFFD or as bytes; fix the program that wrote it"),
        );
    }

    fn diagnostic(&mut self, trace: &str, problem: &FileDiagnostic) {
        let diagnostic = &problem.diagnostic;
        let is_index = problem.role == FileRole::Index;
        let (level, remedy) = match diagnostic.severity {
            Severity::Warning if is_index => (
                FindingLevel::Warning,
                Some("remove the packet index, or copy the trace again when the recording has ended"),
            ),
            Severity::Error => (
                FindingLevel::Error,
                Some(if diagnostic.position.is_unknown() {
                    "record the trace again, or copy its metadata from the recording machine"
                } else {
                    "correct the metadata at this place, or fix the program that wrote it; until then, the \
                    trace cannot be read"
                }),
            ),
            Severity::Warning => {
                (FindingLevel::Warning, Some("ichnos reads it as intended; fix the program that wrote it"))
            }
            _ => (FindingLevel::Note, None),
        };
        let remedy = limits::model_remedy(diagnostic.limit).or(remedy);
        let json = members(|json| {
            json.member("kind").string(if is_index { "index" } else { "metadata" });
            json.member("file").string(&problem.file);
            write_diagnostic(json, diagnostic);
        });
        let finding = Finding::new(level, trace, problem.location(), diagnostic.statement(), json);
        self.add(Finding { remedy: remedy.map(Cow::Borrowed), ..finding });
    }

    fn damage(&mut self, trace: &str, damage: &Damage) {
        if self.damages >= self.most_damages {
            self.left_out += 1;
            self.errors += 1;
            return;
        }
        self.damages += 1;
        let json = members(|json| {
            json.member("kind").string("damage");
            write_damage(json, damage);
        });
        let message = damage::message(damage);
        let level = match &damage.kind {
            DamageKind::Rule(rule) if !rule.fatal => FindingLevel::Warning,
            DamageKind::UnknownMember { .. } => FindingLevel::Warning,
            _ => FindingLevel::Error,
        };
        let finding = Finding::new(level, trace, damage.location(), message, json);
        let remedy = limits::model_remedy(damage.kind.limit()).unwrap_or_else(|| damage.kind.remedy());
        self.add(finding.remedy(remedy));
    }

    /// Writes the members of the JSON document.
    pub(super) fn write_json(&self, object: &mut ObjectWriter<'_>, metadata_only: bool) {
        let notes = (self.list.len() as u64 + self.left_out) - self.errors - self.warnings;
        object.member("errors").unsigned(self.errors);
        object.member("warnings").unsigned(self.warnings);
        object.member("notes").unsigned(notes);
        object.member("traces").unsigned(self.traces);
        object.member("data_streams").unsigned(self.streams);
        if !metadata_only {
            object.member("packets").unsigned(self.packets);
            object.member("events").unsigned(self.events);
            object.member("discarded_events").unsigned(self.lost.events);
            object.member("discarded_events_of_unknown_number").boolean(self.lost.is_unknown);
            object.member("discarded_packets").unsigned(self.lost.packets);
        }
        object.member("left_out").unsigned(self.left_out);
        let mut findings = object.member("findings").array();
        self.list.iter().for_each(|finding| findings.element().raw().extend_from_slice(&finding.json));
        findings.end();
    }

    /// Returns the findings and a summary as text.
    pub(super) fn text(&self, metadata_only: bool, paint: Paint, verbose: bool) -> String {
        let mut text = String::new();
        for finding in self.list.iter().filter(|finding| verbose || !finding.is_minor) {
            let level = match finding.level {
                FindingLevel::Error => paint.error("error"),
                FindingLevel::Warning => paint.warning("warning"),
                FindingLevel::Note => paint.title("note"),
            };
            let place = if finding.place.is_empty() {
                String::new()
            } else {
                format!("{}: ", paint.title(&safe(&finding.place)))
            };
            let _ = writeln!(text, "{place}{level}: {}", safe(&finding.message));
            if let Some(remedy) = &finding.remedy
                && (verbose || finding.level != FindingLevel::Warning)
            {
                let _ = writeln!(text, "  {}", paint.faint(&format!("help: {}", safe(remedy))));
            }
        }
        if self.left_out > 0 {
            let more = count(self.left_out, "more damaged place");
            let _ = writeln!(text, "{more}; `--resource-limit damage=N` lists more");
        }
        let mut read = format!("{}, {}", count(self.traces, "trace"), count(self.streams, "data stream"));
        if !metadata_only {
            let _ = write!(read, ", {}, {}", count(self.packets, "packet"), count(self.events, "event"));
        }
        let lost = self.lost.text(self.events);
        let problems = match (self.errors, self.warnings) {
            (0, 0) if lost.is_some() => paint.warning("no problems in the recorded data"),
            (0, 0) => paint.good("no problems"),
            (0, warnings) => paint.warning(&count(warnings, "warning")),
            (errors, warnings) => {
                paint.error(&format!("{}, {}", count(errors, "error"), count(warnings, "warning")))
            }
        };
        let _ = match lost {
            Some(lost) => {
                let lost = paint.warning(&format!("{lost} were discarded by the tracer"));
                let but = if self.errors + self.warnings > 0 { "" } else { "but " };
                writeln!(text, "{problems}, {but}{lost}: {read}")
            }
            None => writeln!(text, "{problems}: {read}"),
        };
        text
    }
}

/// Returns JSON object members, each with a comma before it.
fn members(write: impl FnOnce(&mut ObjectWriter<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut ObjectWriter::resume(&mut out, true));
    out
}
