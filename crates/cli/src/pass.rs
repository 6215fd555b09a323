//! A pass over messages: from a cursor to the printer, with checks on each.

use std::io::{self, Write as _};
use std::ops::ControlFlow;

use ichnos::Merged;
use ichnos::export::Undecoded;
use ichnos::model::{Damage, Discarded, Message, Sink as _};
use ichnos::render::{ChunkTarget, NotesOf, RenderJob, RenderObserver, WriterOf};

use crate::damage;
use crate::interrupt;
use crate::job::{Format, Job};
use crate::outcome::{Ended, Note, Outcome, Tally};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::selection::Selection;

impl RenderJob for Job {
    type Sink = Printer;
    type Note = Note;
    type Outcome = Outcome;
    type Observer = Follower;

    fn sink(&self, writer: WriterOf<Self>, notes: NotesOf<Self>) -> Printer {
        Printer::new(&self.format, writer, (!self.quiet).then_some(notes))
    }

    fn run(&self, cursor: &mut Merged, target: &mut ChunkTarget<'_, Self>) -> io::Result<Outcome> {
        let limit = self.selection.limit.unwrap_or(u64::MAX);
        let is_plain = limit == u64::MAX && !self.is_live && self.tail.is_none();
        let mut pass = Pass {
            job: self,
            selection: self.selection.clone(),
            limit,
            skip: self.tail.as_ref().map_or(0, |tail| tail.skip),
            tally: Tally::default(),
            target,
            stride: if is_plain { STRIDE } else { 0 },
            left: 0,
            counted: 0,
            selects: !self.selection.wants_all_events(),
            rejected: 0,
            ended: Ok(Ended::Over),
        };
        // Data streams that begin before the last events do not begin again.
        let streams = self.tail.iter().flat_map(|tail| &tail.streams);
        let mut wants_more = true;
        for stream in streams {
            wants_more &= pass.target.message(&Message::StreamBegin(stream))?.is_continue();
        }
        if limit > 0 && wants_more {
            cursor.drain_all(&mut |message| pass.take(message));
        }
        pass.count();
        let Pass { tally, ended, .. } = pass;
        Ok(Outcome { ended: ended?, tally, checked: None, undecoded: 0 })
    }

    fn finish(&self, sink: &Printer, finished: io::Result<()>, outcome: &mut Outcome) -> io::Result<()> {
        outcome.checked = sink.checked();
        if let Err(error) = finished {
            outcome.undecoded = Undecoded::of(&error).map(|undecoded| undecoded.count).ok_or(error)?;
        }
        Ok(())
    }
}

/// Number of events between two checks for interruption.
const STRIDE: u32 = 256;

/// A pass in progress.
struct Pass<'p, 't> {
    job: &'p Job,
    selection: Selection,
    /// Maximum number of events to print.
    limit: u64,
    /// Number of events to skip before the last ones.
    skip: u64,
    tally: Tally,
    target: &'p mut ChunkTarget<'t, Job>,
    /// Number of events between two checks; 0 if each one needs a check.
    stride: u32,
    /// Number of them left.
    left: u32,
    /// Value of `left` when events were counted last.
    counted: u32,
    /// `true` if each event has to be checked against the selection.
    selects: bool,
    /// Number of rejected events since the last check.
    rejected: u32,
    ended: io::Result<Ended>,
}

impl Pass<'_, '_> {
    /// Handles a message quickly; everything not needed for each event is in `look`.
    #[inline(always)]
    fn take(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        if self.left == 0 || !matches!(message, Message::Event(_)) {
            return self.look(message);
        }
        self.left -= 1;
        if self.selects
            && let Message::Event(event) = message
            && !self.selection.wants_event(event)
        {
            self.rejected += 1;
            return ControlFlow::Continue(());
        }
        match self.target.message(message) {
            Ok(flow) => flow,
            Err(error) => self.end(Err(error)),
        }
    }

    /// Counts the events since the last check; returns their number.
    fn count(&mut self) -> u32 {
        let events = self.counted - self.left;
        self.tally.events += u64::from(events - std::mem::take(&mut self.rejected));
        self.counted = self.left;
        events
    }

    /// Handles a message with all checks.
    #[inline(never)]
    fn look(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        let events = self.count() + u32::from(matches!(message, Message::Event(_)));
        self.target.step(message, events);
        (self.left, self.counted) = (self.stride, self.stride);
        if self.job.tail.is_some() && !self.is_in_tail(message)? {
            return ControlFlow::Continue(());
        }
        if !self.wants(message)? {
            return ControlFlow::Continue(());
        }
        match self.target.message(message) {
            Ok(ControlFlow::Continue(())) if !self.job.is_live => {}
            Ok(ControlFlow::Continue(())) => self.flush()?,
            Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
            Err(error) => return self.end(Err(error)),
        }
        // Looking for one more event could take to the end of the traces.
        if self.tally.events >= self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns `true` if a message belongs to the last events.
    fn is_in_tail(&mut self, message: &Message<'_>) -> ControlFlow<(), bool> {
        if matches!(message, Message::StreamBegin(_)) {
            return ControlFlow::Continue(false);
        }
        if self.skip == 0 {
            return ControlFlow::Continue(true);
        }
        if interrupt::is_requested() {
            return self.end(Ok(Ended::Interrupted));
        }
        if let Message::Event(event) = message
            && self.selection.wants(message)
        {
            self.skip -= 1;
            if self.skip == 0 {
                self.target.sink().precede(event);
            }
        }
        ControlFlow::Continue(false)
    }

    /// Counts a message; returns `true` if it is to be printed.
    fn wants(&mut self, message: &Message<'_>) -> ControlFlow<(), bool> {
        // Live input has no other end.
        if interrupt::is_requested() && !self.job.is_live {
            return self.end(Ok(Ended::Interrupted));
        }
        if !self.selection.wants(message) {
            return ControlFlow::Continue(false);
        }
        match message {
            Message::Event(_) => self.tally.events += 1,
            Message::DiscardedEvents(discarded) => {
                let all = &mut self.tally.discarded_events;
                *all = all.saturating_add(discarded.count.unwrap_or(0));
                self.note_loss(discarded, "events");
            }
            Message::DiscardedPackets(discarded) => {
                let all = &mut self.tally.discarded_packets;
                *all = all.saturating_add(discarded.count.unwrap_or(0));
                self.note_loss(discarded, "packets");
            }
            Message::Damage(found) => {
                let found: &Damage = found;
                if self.job.strict {
                    return self.end(Ok(Ended::Refused(damage::line(found))));
                }
                self.tally.damages += 1;
                self.target.note(Note::Damage(damage::line(found)));
                let is_printed = matches!(self.job.format, Format::JsonLines(_) | Format::Log(_));
                return ControlFlow::Continue(is_printed);
            }
            _ => {}
        }
        ControlFlow::Continue(true)
    }

    /// Reports a loss unless the format prints it: `pretty`, like `babeltrace2`, and logs.
    fn note_loss(&mut self, discarded: &Discarded<'_>, what: &str) {
        if matches!(self.job.format, Format::Pretty(_) | Format::Log(_)) {
            return;
        }
        let number = discarded.count.map_or("an unknown number of".to_owned(), |number| number.to_string());
        let stream = &discarded.stream.name;
        self.target
            .note(Note::Loss(format!("the tracer discarded {number} {what} in the data stream {stream}")));
    }

    /// Flushes the output, for which the user is waiting.
    #[inline(never)]
    fn flush(&mut self) -> ControlFlow<()> {
        match self.target.flush() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => self.end(Err(error)),
        }
    }

    #[inline(never)]
    fn end<T>(&mut self, ended: io::Result<Ended>) -> ControlFlow<(), T> {
        self.ended = ended;
        ControlFlow::Break(())
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
        let done = Outcome { ended: Ended::Over, tally: Tally::default(), checked: None, undecoded: 0 };
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
            self.progress.add(until, outcome.tally.events);
        }
        self.done.tally += outcome.tally;
        self.done.undecoded += outcome.undecoded;
        if let Some(checked) = outcome.checked {
            *self.done.checked.get_or_insert_default() += checked;
        }
        self.done.ended = outcome.ended;
        matches!(self.done.ended, Ended::Over)
    }

    fn without_threads(&mut self, error: io::Error) {
        self.report.note(&format!(
            "the system refuses further threads ({error}): reading continues with \
        one"
        ));
    }
}
