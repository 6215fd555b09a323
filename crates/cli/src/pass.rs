//! Prints the messages of a pass.

use std::io::{self, Write as _};
use std::ops::ControlFlow;

use ichnos::export::Undecoded;
use ichnos::model::{Damage, Event, Message, Sink as _};
use ichnos::render::{ChunkTarget, NotesOf, RenderJob, RenderObserver, WriterOf};
use ichnos::{Merged, Pass, PassEnd, PassHandler, PassSummary};

use crate::damage;
use crate::interrupt;
use crate::job::{Format, Job};
use crate::outcome::{Note, Outcome};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;

impl RenderJob for Job {
    type Sink = Printer;
    type Note = Note;
    type Outcome = Outcome;
    type Observer = Follower;

    fn sink(&self, writer: WriterOf<Self>, notes: NotesOf<Self>) -> Printer {
        Printer::new(&self.format, writer, (!self.quiet).then_some(notes))
    }

    fn run(&self, cursor: &mut Merged, target: &mut ChunkTarget<'_, Self>) -> io::Result<Outcome> {
        let mut pass = Pass::new(self.selection.selected.clone()).strict(self.strict);
        if let Some(limit) = self.selection.limit {
            pass = pass.limit(limit);
        }
        if self.is_live {
            pass = pass.check_each();
        }
        let mut printing = Printing { job: self, target };
        let mut wants_more = true;
        if let Some(tail) = &self.tail {
            pass = pass.skip(tail.skip);
            // Data streams that begin before the last events do not begin again.
            for stream in &tail.streams {
                wants_more &= printing.target.message(&Message::StreamBegin(stream))?.is_continue();
            }
        }
        let summary = if wants_more { pass.run(cursor, &mut printing)? } else { PassSummary::default() };
        Ok(Outcome { summary, checked: None, undecoded: 0 })
    }

    fn finish(&self, sink: &Printer, finished: io::Result<()>, outcome: &mut Outcome) -> io::Result<()> {
        outcome.checked = sink.checked();
        if let Err(error) = finished {
            outcome.undecoded = Undecoded::of(&error).map(|undecoded| undecoded.count).ok_or(error)?;
        }
        Ok(())
    }
}

/// Prints the messages of a pass.
struct Printing<'p, 't> {
    job: &'p Job,
    target: &'p mut ChunkTarget<'t, Job>,
}

impl PassHandler for Printing<'_, '_> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if !matches!(message, Message::Event(_)) {
            self.note_loss(message);
        }
        let flow = self.target.message(message)?;
        if self.job.is_live {
            // The user is waiting for it.
            self.target.flush()?;
        }
        Ok(flow)
    }

    fn damage(&mut self, damage: &Damage) -> bool {
        self.target.note(Note::Damage(damage::line(damage)));
        matches!(self.job.format, Format::JsonLines(_) | Format::Log(_))
    }

    fn precede(&mut self, event: &Event<'_>) {
        self.target.sink().precede(event);
    }

    fn step(&mut self, message: &Message<'_>, events: u32) {
        self.target.step(message, events);
    }

    fn is_interrupted(&self) -> bool {
        // Live input has no other end.
        interrupt::is_requested() && !self.job.is_live
    }
}

impl Printing<'_, '_> {
    /// Reports a loss unless the format prints it: `pretty`, like `babeltrace2`, and logs.
    fn note_loss(&mut self, message: &Message<'_>) {
        if matches!(self.job.format, Format::Pretty(_) | Format::Log(_)) {
            return;
        }
        let (discarded, what) = match message {
            Message::DiscardedEvents(discarded) => (discarded, "events"),
            Message::DiscardedPackets(discarded) => (discarded, "packets"),
            _ => return,
        };
        let number = discarded.count.map_or("an unknown number of".to_owned(), |number| number.to_string());
        let stream = &discarded.stream.name;
        self.target
            .note(Note::Loss(format!("the tracer discarded {number} {what} in the data stream {stream}")));
    }
}

/// Reports events of a pass, and sums up its results.
pub(crate) struct Follower {
    pub(crate) progress: Progress,
    report: Report,
    pub(crate) done: Outcome,
}

impl Follower {
    pub(crate) fn new(progress: Progress, report: Report) -> Self {
        let done = Outcome { summary: PassSummary::default(), checked: None, undecoded: 0 };
        Self { progress, report, done }
    }
}

impl RenderObserver<Job> for Follower {
    fn step(&mut self, message: &Message<'_>, events: u32) {
        self.progress.step(events, || message.nanoseconds());
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Warning(line) => {
                let _ = io::stderr().lock().write_all(&line);
            }
            Note::Damage(line) => self.progress.damage(&line, self.report),
            Note::Loss(line) => self.report.note(&line),
        }
    }

    fn end_chunk(&mut self, outcome: Outcome, until: Option<i128>, was_stepped: bool) -> bool {
        if !was_stepped {
            self.progress.add(until, outcome.summary.counts.events);
        }
        self.done.summary.counts += outcome.summary.counts;
        self.done.undecoded += outcome.undecoded;
        if let Some(checked) = outcome.checked {
            *self.done.checked.get_or_insert_default() += checked;
        }
        self.done.summary.end = outcome.summary.end;
        matches!(self.done.summary.end, PassEnd::Over)
    }

    fn without_threads(&mut self, error: io::Error) {
        self.report.note(&format!(
            "the system refuses further threads ({error}): reading continues with \
        one"
        ));
    }
}
