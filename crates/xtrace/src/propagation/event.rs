//! Events under construction.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::time::SystemTime;

use super::context::{Context, NextOperation};
use super::tracer::Tracer;
use crate::option::{ChainId, Severity};
use crate::report::WrittenLines;

/// Maximum size of the report buffer to keep in bytes.
const MAX_KEPT: usize = 64 << 10;

thread_local! {
    /// Report buffer, reused for the next event.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// `true` while a report is being sent.
    static REPORTING: Cell<bool> = const { Cell::new(false) };
}

/// Guard that marks this thread as reporting, so that logs from the reporter are not reported.
pub(crate) struct Reporting {
    /// `true` if the thread was already reporting.
    before: bool,
}

impl Reporting {
    pub(crate) fn begin() -> Self {
        // At thread exit, the flag can be missing. The thread then counts as not reporting.
        Self { before: REPORTING.try_with(|reporting| reporting.replace(true)).unwrap_or_default() }
    }

    /// Like `begin`, but returns `None` if this thread is already reporting.
    #[cfg(feature = "tracing")]
    pub(crate) fn begin_first() -> Option<Self> {
        let reporting = Self::begin();
        (!reporting.before).then_some(reporting)
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        let _ = REPORTING.try_with(|reporting| reporting.set(self.before));
    }
}

/// An event. It becomes the last operation of its context only when it is sent, because a report must then contain its
/// edge to the previous operation (section 4).
#[must_use = "an event that is not sent did not happen"]
#[derive(Debug)]
pub struct Event<'e> {
    context: &'e mut Context,
    tracer: &'e Tracer,
    /// `None` if the event is below the threshold.
    report: Option<EventReport>,
}

#[derive(Debug)]
struct EventReport {
    text: Vec<u8>,
    lines: WrittenLines,
    next: NextOperation,
}

impl Context {
    /// Creates an event. The context changes only when the event is [sent](Event::send).
    pub fn event<'e>(&'e mut self, tracer: &'e Tracer, label: &str) -> Event<'e> {
        Event::new(self, tracer, Severity::UNSET, label)
    }

    /// Creates an event with a severity. If the threshold excludes this severity, the event is not reported and changes
    /// nothing.
    pub fn event_of<'e>(&'e mut self, tracer: &'e Tracer, severity: Severity, label: &str) -> Event<'e> {
        Event::new(self, tracer, severity, label)
    }
}

impl<'e> Event<'e> {
    pub(super) fn new(context: &'e mut Context, tracer: &'e Tracer, severity: Severity, label: &str) -> Self {
        let report =
            context.reports(tracer, severity).then(|| EventReport::new(context, tracer, severity, label));
        Self { context, tracer, report }
    }

    /// Adds a line to the report.
    pub fn field(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.add(key, value);
        self
    }

    /// Adds a line to the report.
    pub fn add(&mut self, key: &str, value: impl fmt::Display) {
        if let Some(report) = &mut self.report {
            report.lines.display(&mut report.text, key.as_bytes(), value);
        }
    }

    /// Adds a line to the report, faster than [`field`](Self::field).
    pub fn text(mut self, key: &str, value: impl AsRef<[u8]>) -> Self {
        if let Some(report) = &mut self.report {
            report.lines.line(&mut report.text, key.as_bytes(), value.as_ref());
        }
        self
    }

    /// Adds the line `Title`, the task title, which belongs in the first report of the task.
    pub fn title(self, title: impl AsRef<[u8]>) -> Self {
        self.text("Title", title)
    }

    /// Adds a line `Tag`, which helps to find related tasks. A task can have several tags.
    pub fn tag(self, tag: impl AsRef<[u8]>) -> Self {
        self.text("Tag", tag)
    }

    /// Returns `true` if the event will be reported.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.report.is_some()
    }

    /// Sends the report. The event then becomes the last operation of its context.
    ///
    /// Returns `true` if the event was reported. Below the threshold, it returns `false` and changes nothing.
    ///
    /// # Errors
    /// If the reporter fails. Nothing changes then.
    pub fn send(mut self) -> io::Result<bool> {
        let Some(report) = self.report.take() else { return Ok(false) };
        let result = {
            let _reporting = Reporting::begin();
            self.tracer.reporter().report(&report.text)
        };
        if result.is_ok() {
            self.context.advance_to(report.next);
        }
        let mut text = report.text;
        if text.capacity() <= MAX_KEPT {
            text.clear();
            // At thread exit, the buffer can be missing. A panic would abort the process then.
            let _ = ROOM.try_with(|room| room.set(text));
        }
        result.map(|()| true)
    }
}

impl EventReport {
    fn new(context: &Context, tracer: &Tracer, severity: Severity, label: &str) -> Self {
        let next = context.next(tracer);
        let metadata = next.changed.as_deref().unwrap_or(context.metadata());
        // A thread that ends has no room left.
        let mut text = ROOM.try_with(Cell::take).unwrap_or_default();
        let out = &mut text;
        let mut lines = WrittenLines::begin(out);
        lines.operation(out, metadata, next.op);
        for edge in next.edge.iter().chain(context.edges()) {
            lines.edge(out, edge);
        }
        // A time before 1970 becomes 0, because losing the event would be worse.
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if tracer.has_nanoseconds() {
            // The maximum is in the year 2554.
            lines.timestamp_nanos(out, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        } else {
            lines.timestamp_millis(out, time.as_secs() * 1000 + u64::from(time.subsec_millis()));
        }
        match tracer.plain() {
            Some(plain) => out.extend_from_slice(plain),
            None => {
                for (key, value) in tracer.common() {
                    lines.line(out, key.as_bytes(), value.as_bytes());
                }
            }
        }
        lines.line(out, b"Label", label.as_bytes());
        if severity != Severity::UNSET {
            lines.display(out, b"Severity", severity);
        }
        if let Ok(Some(chain)) = ChainId::from_metadata(metadata.as_ref()) {
            lines.display(out, b"ChainId", chain);
        }
        for error in context.errors() {
            lines.line(out, b"X-Trace-Error", error.as_bytes());
        }
        Self { text, lines, next }
    }
}
