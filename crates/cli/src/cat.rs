//! `ichnos cat`: the events of traces in the order of time.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use globset::{Glob, GlobSet, GlobSetBuilder};
use ichnos::Session;
use ichnos::io::Output;
use ichnos::model::{Cursor, DataStream, Event, Message, MessageKind, Sink, Window};

use crate::args::{Cat, CatFormat, Global};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::progress::Progress;
use crate::report::Report;
use crate::style::{Paint, count};
use crate::time::{self, TimePoint};

pub(crate) fn run(args: &Cat, global: &Global, report: Report) -> Result<Exit, Failure> {
    // Before anything is read: mistakes in patterns should not take an hour to be told.
    let mut selection = Selection::new(args)?;
    let session = input::open(&args.reading)?;
    let mut damaged = input::tell_problems(&session, report);
    let window = window(args, &session)?;
    let mut cursor = session.cursor(window).map_err(input::failure)?;
    let output = ichnos::io::create(args.output.as_deref())
        .map_err(|error| Failure::new(format!("the output cannot be opened: {error}")))?;
    let to_terminal = args.output.is_none() && io::IsTerminal::is_terminal(&io::stdout());
    let paint = if args.output.is_none() { Paint::stdout(global.color) } else { Paint::PLAIN };
    let mut sink = sink(args, output, paint)?;
    let mut progress =
        Progress::new(global.progress, &session, to_terminal && args.format != CatFormat::Null, report);
    let mut tally = Tally::default();
    while let Some(head) = cursor.advance() {
        progress.step(head.nanoseconds, head.kind == MessageKind::Event);
        let Some(message) = cursor.current() else { continue };
        if !selection.wants(&message) {
            continue;
        }
        match &message {
            Message::Event(_) => {
                if args.limit.is_some_and(|limit| tally.events >= limit) {
                    break;
                }
                tally.events += 1;
            }
            Message::DiscardedEvents(discarded) => {
                tally.discarded_events += discarded.count.unwrap_or(0);
                tally.loss(discarded.stream, "events", discarded.count, report);
            }
            Message::DiscardedPackets(discarded) => {
                tally.discarded_packets += discarded.count.unwrap_or(0);
                tally.loss(discarded.stream, "packets", discarded.count, report);
            }
            Message::Damage(damage) => {
                if args.reading.strict {
                    sink.finish()?;
                    return Err(Failure::new(damage.to_string())
                        .help("without --strict, reading goes on at the next good place"));
                }
                damaged = true;
                tally.damages += 1;
                report.warning(&damage.to_string());
            }
            _ => {}
        }
        if sink.message(&message)?.is_break() {
            break;
        }
    }
    sink.finish()?;
    if args.stats {
        tally.answer(&progress, report);
    }
    Ok(if damaged {
        Exit::Damaged
    } else if tally.events == 0 && selection.is_some() {
        Exit::Nothing
    } else {
        Exit::Success
    })
}

fn window(args: &Cat, session: &Session) -> Result<Window, Failure> {
    let (begin, end) = match args.timerange {
        Some((begin, end)) => (Some(begin), Some(end)),
        None => (args.begin, args.end),
    };
    if begin.is_none() && end.is_none() {
        return Ok(Window::default());
    }
    let needs_start =
        |point: &Option<TimePoint>| matches!(point, Some(TimePoint::FromStart(_) | TimePoint::OfDay(_)));
    let start = if needs_start(&begin) || needs_start(&end) { input::start(session) } else { None };
    let resolve = |point: Option<TimePoint>, name: &str| {
        point
            .map(|point| point.resolve(args.clock_gmt, start))
            .transpose()
            .map_err(|error| Failure::new(format!("the time of {name} cannot be used: {error}")))
    };
    let (begin, end) = (resolve(begin, "--begin")?, resolve(end, "--end")?);
    if let (Some(begin), Some(end)) = (begin, end)
        && begin > end
    {
        return Err(Failure::new(format!(
            "the begin time ({}) is after the end time ({})",
            time::show_seconds(begin),
            time::show_seconds(end)
        )));
    }
    Ok(Window { begin, end })
}

/// Which streams and events are printed.
struct Selection {
    streams: Option<GlobSet>,
    events: Option<GlobSet>,
    limited: bool,
    known_streams: HashMap<u32, bool>,
    known_classes: HashMap<usize, bool>,
}

impl Selection {
    fn new(args: &Cat) -> Result<Self, Failure> {
        let set = |patterns: &[String], option: &str| {
            if patterns.is_empty() {
                return Ok(None);
            }
            let mut builder = GlobSetBuilder::new();
            for pattern in patterns {
                let glob = Glob::new(pattern).map_err(|error| {
                    Failure::new(format!("the pattern of {option} cannot be used: {error}"))
                        .help("`*` is any text, `?` any character, `[a-z]` one of them, `{a,b}` a or b")
                })?;
                builder.add(glob);
            }
            let set = builder.build();
            set.map(Some)
                .map_err(|error| Failure::new(format!("the patterns of {option} cannot be used: {error}")))
        };
        Ok(Self {
            streams: set(&args.stream, "--stream")?,
            events: set(&args.event, "--event")?,
            limited: args.begin.is_some() || args.end.is_some() || args.timerange.is_some(),
            known_streams: HashMap::new(),
            known_classes: HashMap::new(),
        })
    }

    /// Whether something may be left out.
    fn is_some(&self) -> bool {
        self.limited || self.streams.is_some() || self.events.is_some()
    }

    fn wants(&mut self, message: &Message<'_>) -> bool {
        if self.streams.is_none() && self.events.is_none() {
            return true;
        }
        if let Some(stream) = message.stream()
            && !self.wants_stream(stream)
        {
            return false;
        }
        match message {
            Message::Event(event) => self.wants_event(event),
            _ => true,
        }
    }

    fn wants_stream(&mut self, stream: &DataStream) -> bool {
        let Some(set) = &self.streams else { return true };
        *self.known_streams.entry(stream.key).or_insert_with(|| {
            let name = stream.name.rsplit('/').next().unwrap_or_default();
            set.is_match(&stream.name) || set.is_match(name)
        })
    }

    fn wants_event(&mut self, event: &Event<'_>) -> bool {
        let Some(set) = &self.events else { return true };
        // Classes stay where they are as long as their trace is open.
        let address = std::ptr::from_ref(event.class) as usize;
        *self
            .known_classes
            .entry(address)
            .or_insert_with(|| event.class.name.as_deref().is_some_and(|name| set.is_match(name)))
    }
}

/// What was printed.
#[derive(Default)]
struct Tally {
    events: u64,
    discarded_events: u64,
    discarded_packets: u64,
    damages: u64,
}

impl Tally {
    fn loss(&self, stream: &DataStream, what: &str, number: Option<u64>, report: Report) {
        let number = number.map_or("an unknown number of".to_owned(), |number| number.to_string());
        report.note(&format!("the tracer discarded {number} {what} in the data stream {}", stream.name));
    }

    fn answer(&self, progress: &Progress, report: Report) {
        let seconds = progress.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { self.events as f64 / seconds } else { 0.0 };
        report.answer(&format!("{} in {seconds:.3} s ({rate:.0} per second)", count(self.events, "event")));
        report.answer(&format!(
            "{} and {} discarded by the tracer, {}",
            count(self.discarded_events, "event"),
            count(self.discarded_packets, "packet"),
            count(self.damages, "damaged place")
        ));
    }
}

/// Takes messages and prints nothing.
struct Nothing;

impl Sink for Nothing {
    fn message(&mut self, _: &Message<'_>) -> io::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// A sink that puts a finished file at its place.
fn sink(args: &Cat, output: Output, _paint: Paint) -> Result<Box<dyn Sink>, Failure> {
    match args.format {
        CatFormat::Null => {
            drop(output);
            Ok(Box::new(Nothing))
        }
        format => Err(Failure::new(format!("the format {format:?} is not there yet"))),
    }
}
