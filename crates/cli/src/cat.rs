//! `ichnos cat`: the events of traces in the order of time.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use ichnos::Session;
use ichnos::export::{
    Details, DetailsOptions, JsonLines, JsonLinesOptions, Null, Pretty, PrettyFields, PrettyNames,
    PrettyOptions,
};
use ichnos::io::Output;
use ichnos::model::{Cursor, DataStream, Event, Message, MessageKind, Sink, Window};

use crate::args::{Arithmetic, Cat, CatFormat, Detail, FieldName, Global, NameName};
use crate::damage;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::progress::Progress;
use crate::report::Report;
use crate::style::{Paint, count};
use crate::time::{self, TimePoint};

pub(crate) fn run(args: &Cat, global: &Global, report: Report) -> Result<Exit, Failure> {
    // Before anything is read: mistakes in patterns should not take an hour to be told.
    let mut selection = Selection::new(args)?;
    let arithmetic = match args.format {
        CatFormat::Pretty | CatFormat::Details => Arithmetic::Babeltrace,
        _ => Arithmetic::Exact,
    };
    let session = input::open(&args.reading, arithmetic)?;
    let mut damaged = input::tell_problems(&session, report);
    let window = window(args, &session)?;
    let mut cursor =
        session.cursor_of(window, |stream| selection.wants_file(&stream.name)).map_err(input::failure)?;
    input::tell_emptiness(&session, report);
    tell_clockless(&session, &selection, report);
    let mut output = ichnos::io::create(args.output.as_deref())
        .map_err(|error| Failure::new(format!("the output cannot be opened: {error}")))?;
    let to_terminal = args.output.is_none() && io::IsTerminal::is_terminal(&io::stdout());
    let paint = if args.output.is_none() { Paint::stdout(global.color) } else { Paint::PLAIN };
    let mut sink = sink(args, &mut output, paint, global);
    let mut progress =
        Progress::new(global.progress, &session, to_terminal && args.format != CatFormat::Null, report);
    let mut tally = Tally::default();
    // Looking for one event more than is wanted could take to the end of the traces.
    while args.limit.is_none_or(|limit| tally.events < limit)
        && let Some(head) = cursor.advance()
    {
        progress.step(head.nanoseconds, head.kind == MessageKind::Event);
        let current = cursor.current();
        // By reference: a message is too large to be moved about for each event.
        let Some(message) = &current else { continue };
        if !selection.wants(message) {
            continue;
        }
        match message {
            Message::Event(_) => tally.events += 1,
            Message::DiscardedEvents(discarded) => {
                let count = discarded.count.unwrap_or(0);
                tally.discarded_events = tally.discarded_events.saturating_add(count);
                tell_loss(args, discarded.stream, "events", discarded.count, report);
            }
            Message::DiscardedPackets(discarded) => {
                let count = discarded.count.unwrap_or(0);
                tally.discarded_packets = tally.discarded_packets.saturating_add(count);
                tell_loss(args, discarded.stream, "packets", discarded.count, report);
            }
            Message::Damage(damage) => {
                if args.reading.strict {
                    sink.finish()?;
                    drop(sink);
                    output.finish()?;
                    return Err(Failure::new(damage::line(damage))
                        .help("without --strict, reading goes on at the next good place"));
                }
                damaged = true;
                tally.damages += 1;
                progress.suspend(|| report.warning(&damage::line(damage)));
                if args.format != CatFormat::Jsonl {
                    continue;
                }
            }
            _ => {}
        }
        if sink.message(message)?.is_break() {
            break;
        }
    }
    sink.finish()?;
    drop(sink);
    output.finish()?;
    let elapsed = progress.finish();
    if args.stats {
        tally.answer(elapsed, report);
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
            known_classes: HashMap::new(),
        })
    }

    /// Whether something may be left out.
    fn is_some(&self) -> bool {
        self.limited || self.streams.is_some() || self.events.is_some()
    }

    /// Whether a message is printed. Those of data streams that are not wanted never come here.
    fn wants(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => self.wants_event(event),
            // A file that is part of no data stream, since it cannot be read.
            Message::Damage(damage) if damage.stream.is_none() => self.wants_file(&damage.file),
            _ => true,
        }
    }

    /// Whether a data stream of this name is read.
    fn wants_file(&self, path: &str) -> bool {
        let Some(set) = &self.streams else { return true };
        let name = path.rsplit('/').next().unwrap_or_default();
        set.is_match(path) || set.is_match(name)
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
    fn answer(&self, elapsed: Duration, report: Report) {
        let seconds = elapsed.as_secs_f64();
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

/// Tells which data streams stand on no time line, if others do.
fn tell_clockless(session: &Session, selection: &Selection, report: Report) {
    let streams = session.traces().iter().flat_map(|trace| trace.streams());
    let (clocked, clockless): (Vec<_>, Vec<_>) = streams
        .map(|summary| summary.stream)
        .filter(|stream| selection.wants_file(&stream.name))
        .partition(|stream| stream.clock().is_some());
    let Some(first) = clockless.first().filter(|_| !clocked.is_empty()) else { return };
    let which = match clockless.len() - 1 {
        0 => format!("the data stream {} has no clock: its events", first.name),
        more => format!(
            "{} and {} have no clock: their events",
            first.name,
            count(more as u64, "more data stream")
        ),
    };
    report.notice(&format!("{which} come before those that have a time"));
}

/// The format `pretty` tells losses itself, as `babeltrace2` does.
fn tell_loss(args: &Cat, stream: &DataStream, what: &str, number: Option<u64>, report: Report) {
    if args.format != CatFormat::Pretty {
        let number = number.map_or("an unknown number of".to_owned(), |number| number.to_string());
        report.note(&format!("the tracer discarded {number} {what} in the data stream {}", stream.name));
    }
}

/// What prints in the format that was asked for.
fn sink<'a>(args: &Cat, output: &'a mut Output, paint: Paint, global: &Global) -> Box<dyn Sink + 'a> {
    match args.format {
        CatFormat::Pretty => {
            let sink = Pretty::new(output, pretty_options(args, paint, global));
            Box::new(if global.quiet { sink.warnings_to(io::sink()) } else { sink })
        }
        CatFormat::Details => {
            let sink = Details::new(output, details_options(args, paint));
            Box::new(if global.quiet { sink.warnings_to(io::sink()) } else { sink })
        }
        CatFormat::Jsonl => {
            let mut options = JsonLinesOptions::default();
            options.packets = args.packets;
            Box::new(JsonLines::new(output, options))
        }
        CatFormat::Null => Box::new(Null::new()),
    }
}

fn pretty_options(args: &Cat, paint: Paint, global: &Global) -> PrettyOptions {
    let mut options = PrettyOptions::default();
    options.clock_cycles = args.clock_cycles;
    options.clock_date = args.clock_date;
    options.clock_gmt = args.clock_gmt;
    options.clock_seconds = args.clock_seconds;
    options.no_delta = args.no_delta;
    options.color = paint.is_on();
    options.color_warnings = Paint::stderr(global.color).is_on();
    options.verbose = global.verbose > 0;
    // As `babeltrace2` has it: what is named is all that is printed.
    if !args.fields.is_empty() {
        options.fields = PrettyFields::NONE;
    }
    for field in &args.fields {
        let fields = &mut options.fields;
        match field {
            FieldName::Trace => fields.trace = true,
            FieldName::TraceHostname => fields.hostname = true,
            FieldName::TraceDomain => fields.domain = true,
            FieldName::TraceProcname => fields.procname = true,
            FieldName::TraceVpid => fields.vpid = true,
            FieldName::Loglevel => fields.log_level = true,
            FieldName::Emf => fields.emf = true,
            FieldName::Callsite => fields.call_site = true,
            FieldName::All => *fields = PrettyFields::ALL,
            FieldName::None => {}
        }
    }
    if !args.names.is_empty() {
        options.names = PrettyNames::NONE;
    }
    for name in &args.names {
        let names = &mut options.names;
        match name {
            NameName::Payload => names.payload = true,
            NameName::Context => names.context = true,
            NameName::Scope => names.scope = true,
            NameName::Header => names.header = true,
            NameName::All => *names = PrettyNames::ALL,
            NameName::None => {}
        }
    }
    options
}

fn details_options(args: &Cat, paint: Paint) -> DetailsOptions {
    let mut options = DetailsOptions::default();
    options.color = paint.is_on();
    for (detail, value) in &args.details {
        let option = match detail {
            Detail::Compact => &mut options.compact,
            Detail::Data => &mut options.data,
            Detail::Metadata => &mut options.metadata,
            Detail::StreamClassName => &mut options.stream_class_name,
            Detail::StreamName => &mut options.stream_name,
            Detail::Time => &mut options.time,
            Detail::TraceName => &mut options.trace_name,
            Detail::Uid => &mut options.uid,
            Detail::Uuid => &mut options.uuid,
        };
        *option = *value;
    }
    options
}
