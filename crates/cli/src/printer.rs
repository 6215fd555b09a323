//! Sinks of all formats as one type.

use std::io::{self, Write};
use std::ops::ControlFlow;

use ichnos::export::{
    Csv, DeltaCause, Details, FirstMessage, Fixup, Log, LogState, Null, NullStatistics, Pretty, PrettyState,
    Resolution, ResumableSink, SinkState, StreamOrder,
};
use ichnos::jsonl::{Introduction, JsonLines, JsonLinesState};
use ichnos::model::{Event, Message, Sink};
use ichnos::render::{ChunkWriter, Notes};

use crate::job::Format;
use crate::outcome::{Note, Outcome};

type PrinterWriter = ChunkWriter<Note, PrinterState, Outcome>;

/// Sink that receives the messages.
pub(crate) enum Printer {
    Pretty(Box<Pretty<PrinterWriter>>),
    Details(Box<Details<PrinterWriter>>),
    JsonLines(Box<JsonLines<PrinterWriter>>),
    Log(Box<Log<PrinterWriter>>),
    Csv(Box<Csv<PrinterWriter>>),
    Null(Null),
}

/// State on which later text depends.
#[derive(Clone, Debug, Default)]
pub(crate) enum PrinterState {
    /// Nothing was printed.
    #[default]
    Start,
    Pretty(PrettyState),
    JsonLines(JsonLinesState),
    Log(LogState),
}

/// State on which a fixup depends.
pub(crate) enum Cause {
    Pretty(DeltaCause),
    JsonLines(Introduction),
    Log(FirstMessage),
}

impl SinkState for PrinterState {
    type Cause = Cause;

    fn resolve(&mut self, cause: &Cause, text: &mut Vec<u8>) -> Resolution {
        match (self, cause) {
            (Self::Pretty(state), Cause::Pretty(cause)) => state.resolve(cause, text),
            (Self::JsonLines(state), Cause::JsonLines(cause)) => state.resolve(cause, text),
            (Self::Log(state), Cause::Log(cause)) => state.resolve(cause, text),
            _ => Resolution::Rewrite,
        }
    }

    fn then(self, later: Self) -> Self {
        match (self, later) {
            (Self::Pretty(state), Self::Pretty(later)) => Self::Pretty(state.then(later)),
            (Self::JsonLines(state), Self::JsonLines(later)) => Self::JsonLines(state.then(later)),
            (Self::Log(state), Self::Log(later)) => Self::Log(state.then(later)),
            (_, later) => later,
        }
    }
}

/// Reports the warnings of a sink, each of which is written at once.
struct Warnings(Notes<Note, PrinterState, Outcome>);

impl Write for Warnings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(Note::Warning(bytes.to_vec()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Printer {
    /// Creates the sink of a format; without notes, warnings are dropped.
    pub(crate) fn new(
        format: &Format,
        writer: PrinterWriter,
        notes: Option<Notes<Note, PrinterState, Outcome>>,
    ) -> Self {
        let warnings: Box<dyn Write + Send> = match notes {
            Some(notes) => Box::new(Warnings(notes)),
            None => Box::new(io::sink()),
        };
        match format {
            Format::Pretty(options) => {
                Self::Pretty(Box::new(Pretty::new(writer, options.clone()).warnings_to(warnings)))
            }
            Format::Details(options) => {
                Self::Details(Box::new(Details::new(writer, options.clone()).warnings_to(warnings)))
            }
            Format::JsonLines(options) => Self::JsonLines(Box::new(JsonLines::new(writer, options.clone()))),
            Format::Log(options) => Self::Log(Box::new(Log::new(writer, options.clone()))),
            Format::Csv(options) => Self::Csv(Box::new(Csv::new(writer, options.clone()))),
            Format::Null => Self::Null(Null::new()),
        }
    }

    /// Sets the event before the first printed one.
    pub(crate) fn precede(&mut self, event: &Event<'_>) {
        if let Self::Pretty(sink) = self {
            sink.precede(event);
        }
    }

    /// Returns the counts if nothing is printed.
    pub(crate) fn checked(&self) -> Option<NullStatistics> {
        match self {
            Self::Null(null) => Some(null.statistics()),
            _ => None,
        }
    }
}

/// Performs the same action on each type of sink.
macro_rules! each {
    ($printer:expr, $sink:ident => $action:expr) => {
        match $printer {
            Printer::Pretty($sink) => $action,
            Printer::Details($sink) => $action,
            Printer::JsonLines($sink) => $action,
            Printer::Log($sink) => $action,
            Printer::Csv($sink) => $action,
            Printer::Null($sink) => $action,
        }
    };
}

impl Sink for Printer {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        each!(self, sink => sink.message(message))
    }

    fn flush(&mut self) -> io::Result<()> {
        // Sinks of text also have a function of this name.
        match self {
            Self::Pretty(sink) => sink.flush(),
            Self::Details(sink) => sink.flush(),
            Self::JsonLines(sink) => sink.flush(),
            Self::Log(sink) => sink.flush(),
            Self::Csv(sink) => sink.flush(),
            Self::Null(_) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        each!(self, sink => sink.finish())
    }
}

impl ResumableSink for Printer {
    type State = PrinterState;

    const NEEDS_ORDER: bool = true;

    fn resume(&mut self, order: &StreamOrder, state: Option<PrinterState>) {
        match (self, state) {
            (Self::Pretty(sink), None) => sink.resume(order, None),
            (Self::Pretty(sink), Some(PrinterState::Pretty(state))) => sink.resume(order, Some(state)),
            (Self::JsonLines(sink), None) => sink.resume(order, None),
            (Self::JsonLines(sink), Some(PrinterState::JsonLines(state))) => sink.resume(order, Some(state)),
            (Self::Log(sink), None) => sink.resume(order, None),
            (Self::Log(sink), Some(PrinterState::Log(state))) => sink.resume(order, Some(state)),
            (Self::Details(sink), _) => sink.resume(order, Some(())),
            (Self::Csv(sink), _) => sink.resume(order, Some(())),
            // States of other formats are not passed here.
            _ => {}
        }
    }

    #[inline(always)]
    fn next_fixup(&mut self) -> Option<Fixup<Cause>> {
        let with = |offset, length, cause| Fixup { offset, length, cause };
        match self {
            Self::Pretty(sink) => {
                let fixup = sink.next_fixup()?;
                Some(with(fixup.offset, fixup.length, Cause::Pretty(fixup.cause)))
            }
            Self::JsonLines(sink) => {
                let fixup = sink.next_fixup()?;
                Some(with(fixup.offset, fixup.length, Cause::JsonLines(fixup.cause)))
            }
            Self::Log(sink) => {
                let fixup = sink.next_fixup()?;
                Some(with(fixup.offset, fixup.length, Cause::Log(fixup.cause)))
            }
            Self::Details(_) | Self::Csv(_) | Self::Null(_) => None,
        }
    }

    #[inline(always)]
    fn must_rewrite(&self) -> bool {
        each!(self, sink => sink.must_rewrite())
    }

    fn state(&self) -> PrinterState {
        match self {
            Self::Pretty(sink) => PrinterState::Pretty(sink.state()),
            Self::JsonLines(sink) => PrinterState::JsonLines(sink.state()),
            Self::Log(sink) => PrinterState::Log(sink.state()),
            Self::Details(_) | Self::Csv(_) | Self::Null(_) => PrinterState::Start,
        }
    }

    fn pause(&mut self) -> io::Result<()> {
        each!(self, sink => sink.pause())
    }
}
