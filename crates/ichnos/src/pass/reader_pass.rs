//! Passes of a reader into an output or a sink.

use std::io;
use std::ops::ControlFlow;

use ichnos_io::Output;
use ichnos_model::{Event, Message, Sink};

use super::{Pass, PassObserver, PassOptions, PassSummary};
use crate::Reader;

/// Number of steps or events between two progress reports.
const STEPS: u32 = 256;

/// Pass over the messages of a reader into an output or a sink: see [`Reader::pass`].
pub struct ReaderPass<'r> {
    reader: &'r Reader<'r>,
    pass: Pass,
    options: PassOptions,
    observer: &'r dyn PassObserver,
}

impl Reader<'_> {
    /// Prepares a pass of all messages to an output or a sink.
    ///
    /// ```no_run
    /// use ichnos::TextOutput;
    /// use ichnos::export::{Details, DetailsOptions};
    /// use ichnos::prelude::*;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = ichnos::open(["my-trace"], &OpenOptions::default())?;
    /// let mut text = Vec::new();
    /// let output = TextOutput::new(&mut text, |writer| Details::new(writer, DetailsOptions::default()));
    /// let summary = session.reader()?.pass().write(&output)?;
    /// println!("{} events", summary.counts.events);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pass(&self) -> ReaderPass<'_> {
        ReaderPass { reader: self, pass: Pass::default(), options: PassOptions::default(), observer: &() }
    }
}

impl<'r> ReaderPass<'r> {
    /// Selects, limits or changes the messages.
    #[must_use]
    pub fn with(self, pass: Pass) -> Self {
        Self { pass, ..self }
    }

    /// Sets the number of threads and the size of their work.
    #[must_use]
    pub fn options(self, options: PassOptions) -> Self {
        Self { options, ..self }
    }

    /// Reports losses, damage and progress.
    #[must_use]
    pub fn observer(self, observer: &'r dyn PassObserver) -> Self {
        Self { observer, ..self }
    }

    /// Passes the messages to an output in its message order, on several threads if possible. The output is the same
    /// for any number of threads. At most 48 MiB of text wait.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(&self, output: &dyn Output) -> io::Result<PassSummary> {
        self.pass.write(self.reader, output, &self.options, self.observer)
    }

    /// Passes the messages, merged by time, to a sink or a closure on this thread, and finishes the sink. It
    /// finishes the sink also if the pass was stopped or refuses damage, but not after an error.
    ///
    /// ```
    /// use ichnos::analysis::{TaskCollector, TaskOptions};
    /// use ichnos::prelude::*;
    ///
    /// # if !cfg!(feature = "xtrace") { return Ok(()) }
    /// # let path = "../../examples/hello-xtrace";
    /// let session = ichnos::open([path], &OpenOptions::default())?;
    /// let mut tasks = TaskCollector::new(TaskOptions::default());
    /// session.reader()?.pass().run(&mut tasks)?;
    /// let tasks = tasks.finish();
    /// println!("{}", tasks.graph(0).to_text(&Default::default()));
    /// # assert!(!tasks.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn run<S: Sink + ?Sized>(&self, sink: &mut S) -> io::Result<PassSummary> {
        let mut cursor = self.reader.cursor();
        let mut observed = ObservedSink { sink, observer: self.observer, progress: ProgressSteps::default() };
        let summary = self.pass.drain(&mut observed, |take| cursor.drain_all(take))?;
        observed.sink.finish()?;
        Ok(summary)
    }
}

/// Sink that reports its messages to an observer.
struct ObservedSink<'o, S: ?Sized> {
    sink: &'o mut S,
    observer: &'o dyn PassObserver,
    progress: ProgressSteps,
}

impl<S: Sink + ?Sized> Sink for ObservedSink<'_, S> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if !matches!(message, Message::Event(_)) {
            self.observer.note_message(message);
        }
        self.sink.message(message)
    }

    fn precede(&mut self, event: &Event<'_>) {
        self.sink.precede(event);
    }

    fn step(&mut self, message: &Message<'_>, events: u32) -> io::Result<()> {
        self.progress.add(message, events, self.observer);
        self.sink.step(message, events)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Steps and events since the last progress report.
#[derive(Default)]
pub(super) struct ProgressSteps {
    steps: u32,
    events: u64,
}

impl ProgressSteps {
    /// Adds a step, and reports progress if due.
    pub(super) fn add(&mut self, message: &Message<'_>, events: u32, observer: &dyn PassObserver) {
        self.steps += 1;
        self.events += u64::from(events);
        // Live input can be quiet for a long time.
        let is_quiet = matches!(message, Message::Inactivity(_));
        if self.steps >= STEPS || self.events >= u64::from(STEPS) || is_quiet {
            self.steps = 0;
            observer.progress(message.nanoseconds(), std::mem::take(&mut self.events));
        }
    }
}
