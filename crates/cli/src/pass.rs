//! One pass over messages: from a cursor to what prints them, with a look at each.

use std::io::{self, Write as _};
use std::ops::ControlFlow;

use ichnos::Merged;
use ichnos::export::Undecoded;
use ichnos::model::{Damage, Discarded, Message, Sink as _};
use ichnos::render::{NotesOf, RenderJob, RenderObserver, Target, WriterOf};

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

    fn run(&self, cursor: &mut Merged, target: &mut Target<'_, Self>) -> io::Result<Outcome> {
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
        // Those that begin before the last events do not begin again.
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

/// Events between two looks at whether to end.
const STRIDE: u32 = 256;

/// A pass that is going on.
struct Pass<'p, 't> {
    job: &'p Job,
    selection: Selection,
    /// Most events to print.
    limit: u64,
    /// Events that are left out, and what comes before the last of them.
    skip: u64,
    tally: Tally,
    target: &'p mut Target<'t, Job>,
    /// How many events are taken without a look; 0 where each of them needs one.
    stride: u32,
    /// How many of them are left.
    left: u32,
    /// How many there were.
    counted: u32,
    /// Whether it has to be asked which events are wanted.
    selects: bool,
    /// How many were not wanted since the last look.
    rejected: u32,
    ended: io::Result<Ended>,
}

impl Pass<'_, '_> {
    /// Takes one message. What is not done for each event is elsewhere.
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

    /// Counts the events that were taken since the last look; returns how many.
    fn count(&mut self) -> u32 {
        let events = self.counted - self.left;
        self.tally.events += u64::from(events - std::mem::take(&mut self.rejected));
        self.counted = self.left;
        events
    }

    /// Takes one message, and looks at everything.
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
        // Looking for one event more than is wanted could take to the end of the traces.
        if self.tally.events >= self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether a message is one of the last that are wanted.
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

    /// Counts a message; returns whether it is to be printed.
    fn wants(&mut self, message: &Message<'_>) -> ControlFlow<(), bool> {
        // What arrives has no other end.
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

    /// Reports a loss, unless the format does: `pretty` like `babeltrace2`, and logs.
    fn note_loss(&mut self, discarded: &Discarded<'_>, what: &str) {
        if matches!(self.job.format, Format::Pretty(_) | Format::Log(_)) {
            return;
        }
        let number = discarded.count.map_or("an unknown number of".to_owned(), |number| number.to_string());
        let stream = &discarded.stream.name;
        self.target
            .note(Note::Loss(format!("the tracer discarded {number} {what} in the data stream {stream}")));
    }

    /// Writes what was printed: the user waits for it.
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

/// Reports what happens, and adds up what was done.
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
        self.report.note(&format!("the system refuses further threads ({error}): reading goes on with one"));
    }
}
