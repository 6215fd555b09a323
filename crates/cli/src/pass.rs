//! One pass over messages: from a cursor to what prints them, with a look at each.

use std::io;
use std::ops::{AddAssign, ControlFlow};
use std::time::Duration;

use ichnos::Merged;
use ichnos::export::{Details, JsonLines, Log, Null, NullStatistics, Pretty, PrettyState, TextWriter};
use ichnos::model::{Damage, Discarded, Message, Sink};

use crate::args::{Cat, CatFormat};
use crate::cat::{Style, details_options, json_lines_options, log_options};
use crate::damage;
use crate::interrupt;
use crate::report::Report;
use crate::selection::Selection;
use crate::style::{count, grouped};

/// What was printed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) discarded_events: u64,
    pub(crate) discarded_packets: u64,
    pub(crate) damages: u64,
}

impl Tally {
    pub(crate) fn answer(&self, elapsed: Duration, report: Report) {
        let seconds = elapsed.as_secs_f64();
        // What takes no time says nothing about how fast it is.
        let rate = if seconds >= 0.1 {
            format!(" ({} per second)", grouped((self.events as f64 / seconds) as u64))
        } else {
            String::new()
        };
        report.answer(&format!("{} in {seconds:.3} s{rate}", count(self.events, "event")));
        report.answer(&format!(
            "{} and {} discarded by the tracer, {}",
            count(self.discarded_events, "event"),
            count(self.discarded_packets, "packet"),
            count(self.damages, "damaged place")
        ));
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.discarded_events = self.discarded_events.saturating_add(other.discarded_events);
        self.discarded_packets = self.discarded_packets.saturating_add(other.discarded_packets);
        self.damages += other.damages;
    }
}

/// Why a pass has ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// There are no more messages, or as many as were wanted.
    Over,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Something is damaged, which is not to be tolerated: what it is.
    Refused(String),
}

/// Follows what happens in a pass.
pub(crate) trait Watcher {
    /// The cursor was moved on to this message.
    fn step(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Something is damaged.
    fn damage(&mut self, line: String);

    /// Something was lost that is not printed otherwise.
    fn note(&mut self, line: String);

    /// A message was printed; false if that is enough.
    #[inline]
    fn printed(&mut self, printer: &Printer<'_>) -> bool {
        let _ = printer;
        true
    }
}

/// One pass over messages.
pub(crate) struct Pass<'a> {
    pub(crate) args: &'a Cat,
    pub(crate) selection: Selection,
    pub(crate) tally: Tally,
}

impl Pass<'_> {
    /// Hands the wanted messages of a cursor to a printer.
    pub(crate) fn run(
        &mut self,
        cursor: &mut Merged,
        printer: &mut Printer<'_>,
        watcher: &mut impl Watcher,
    ) -> io::Result<Ended> {
        let mut run = Run {
            is_live: self.args.reading.listen.is_some(),
            limit: self.args.limit.unwrap_or(u64::MAX),
            pass: self,
            printer,
            watcher,
            ended: Ok(Ended::Over),
        };
        if run.pass.tally.events < run.limit {
            cursor.drain_all(&mut |message| run.take(message));
        }
        run.ended
    }
}

/// A pass that is going on.
struct Run<'r, 'p, 'a, W> {
    pass: &'r mut Pass<'a>,
    printer: &'r mut Printer<'p>,
    watcher: &'r mut W,
    is_live: bool,
    /// How many events are wanted.
    limit: u64,
    ended: io::Result<Ended>,
}

impl<W: Watcher> Run<'_, '_, '_, W> {
    /// Takes one message. What is not done for each event is elsewhere.
    #[inline(always)]
    fn take(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        self.watcher.step(message);
        if matches!(message, Message::Event(_))
            && self.pass.selection.wants_all_events()
            && !interrupt::is_requested()
        {
            self.pass.tally.events += 1;
        } else if !self.wants(message)? {
            return ControlFlow::Continue(());
        }
        match self.printer.message(message) {
            Ok(ControlFlow::Continue(())) if !self.is_live => {}
            Ok(ControlFlow::Continue(())) => self.flush()?,
            Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
            Err(error) => return self.end(Err(error)),
        }
        // Looking for one event more than is wanted could take to the end of the traces.
        if self.pass.tally.events >= self.limit || !self.watcher.printed(self.printer) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Counts a message; gives whether it is to be printed.
    #[inline(never)]
    fn wants(&mut self, message: &Message<'_>) -> ControlFlow<(), bool> {
        // Who listens has no other end.
        if interrupt::is_requested() && !self.is_live {
            return self.end(Ok(Ended::Interrupted));
        }
        let Pass { args, selection, tally } = &mut *self.pass;
        if !selection.wants(message) {
            return ControlFlow::Continue(false);
        }
        if matches!(message, Message::Event(_)) {
            tally.events += 1;
            return ControlFlow::Continue(true);
        }
        match tally.note(args, message, self.watcher) {
            ControlFlow::Continue(is_printed) => ControlFlow::Continue(is_printed),
            ControlFlow::Break(refused) => self.end(Ok(Ended::Refused(refused))),
        }
    }

    /// Writes what was printed: somebody waits for it.
    #[inline(never)]
    fn flush(&mut self) -> ControlFlow<()> {
        match self.printer.flush() {
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

impl Tally {
    /// Notes a message that is no event; gives whether it is to be printed, or why not to go on.
    fn note(
        &mut self,
        args: &Cat,
        message: &Message<'_>,
        watcher: &mut impl Watcher,
    ) -> ControlFlow<String, bool> {
        match message {
            Message::DiscardedEvents(discarded) => {
                self.discarded_events = self.discarded_events.saturating_add(discarded.count.unwrap_or(0));
                tell_loss(args, discarded, "events", watcher);
            }
            Message::DiscardedPackets(discarded) => {
                self.discarded_packets = self.discarded_packets.saturating_add(discarded.count.unwrap_or(0));
                tell_loss(args, discarded, "packets", watcher);
            }
            Message::Damage(found) => {
                let found: &Damage = found;
                if args.reading.strict {
                    return ControlFlow::Break(damage::line(found));
                }
                self.damages += 1;
                watcher.damage(damage::line(found));
                let is_printed =
                    matches!(args.format(), CatFormat::Jsonl | CatFormat::Log | CatFormat::LogJson);
                return ControlFlow::Continue(is_printed);
            }
            _ => {}
        }
        ControlFlow::Continue(true)
    }
}

/// The format `pretty` tells losses itself, as `babeltrace2` does, and so do logs.
fn tell_loss(args: &Cat, discarded: &Discarded<'_>, what: &str, watcher: &mut impl Watcher) {
    if !matches!(args.format(), CatFormat::Pretty | CatFormat::Log | CatFormat::LogJson) {
        let number = discarded.count.map_or("an unknown number of".to_owned(), |number| number.to_string());
        watcher.note(format!(
            "the tracer discarded {number} {what} in the data stream {}",
            discarded.stream.name
        ));
    }
}

/// Where text is written, whatever that is.
pub(crate) struct AnyWriter<'a>(Box<dyn TextWriter + 'a>);

impl TextWriter for AnyWriter<'_> {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        self.0.write_text(text)
    }

    fn flush_text(&mut self) -> io::Result<()> {
        self.0.flush_text()
    }
}

/// What takes the messages.
pub(crate) enum Printer<'a> {
    Pretty(Box<Pretty<AnyWriter<'a>>>),
    Text(Box<dyn Sink + 'a>),
    Null(Null),
}

impl<'a> Printer<'a> {
    /// What prints in the format that was asked for.
    pub(crate) fn new(args: &Cat, style: &Style, output: impl TextWriter + 'a) -> Self {
        match args.format() {
            CatFormat::Pretty => {
                let sink = Pretty::new(AnyWriter(Box::new(output)), style.pretty.clone());
                let sink = if style.quiet { sink.warnings_to(io::sink()) } else { sink };
                Self::Pretty(Box::new(sink))
            }
            CatFormat::Details => {
                let sink = Details::new(output, details_options(args, style));
                let sink = if style.quiet { sink.warnings_to(io::sink()) } else { sink };
                Self::Text(Box::new(sink))
            }
            CatFormat::Jsonl => Self::Text(Box::new(JsonLines::new(output, json_lines_options(args)))),
            CatFormat::Log | CatFormat::LogJson => {
                Self::Text(Box::new(Log::new(output, log_options(args, style))))
            }
            CatFormat::Null => Self::Null(Null::new()),
        }
    }

    /// The same printer, where it is one of text.
    pub(crate) fn map_pretty(
        self,
        change: impl FnOnce(Pretty<AnyWriter<'a>>) -> Pretty<AnyWriter<'a>>,
    ) -> Self {
        match self {
            Self::Pretty(sink) => Self::Pretty(Box::new(change(*sink))),
            other => other,
        }
    }

    /// What was counted, where nothing is printed.
    pub(crate) fn checked(&self) -> Option<NullStatistics> {
        match self {
            Self::Pretty(_) | Self::Text(_) => None,
            Self::Null(null) => Some(null.statistics()),
        }
    }

    /// What later lines need to know of those that were printed.
    pub(crate) fn state(&self) -> PrettyState {
        match self {
            Self::Pretty(sink) => sink.state(),
            _ => PrettyState::default(),
        }
    }
}

impl Sink for Printer<'_> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match self {
            Self::Pretty(sink) => sink.message(message),
            Self::Text(sink) => sink.message(message),
            Self::Null(null) => null.message(message),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Pretty(sink) => sink.flush(),
            Self::Text(sink) => sink.flush(),
            Self::Null(_) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Pretty(sink) => sink.finish(),
            Self::Text(sink) => sink.finish(),
            Self::Null(null) => null.finish(),
        }
    }
}
