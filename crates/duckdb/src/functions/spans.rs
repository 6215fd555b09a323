//! `trace_spans`: what happened from one event to another.

use std::collections::{HashMap, VecDeque};
use std::ffi::CStr;
use std::ops::ControlFlow;

use ichnos::Selection;
use ichnos::analysis::events::class::{EventForm, ViewerClass};
use ichnos::analysis::events::event_place::EventPlace;
use ichnos::analysis::events::keyed_spans::KeyedSpans;
use ichnos::analysis::events::last_context::LastContext;
use ichnos::analysis::events::nested_spans::NestedSpans;
use ichnos::analysis::events::scheduling::{EventLocation, Scheduling};
use ichnos::analysis::events::span_edge::SpanEdge;
use ichnos::analysis::events::tracks::{TraceNumbers, TrackKind, track_id};
use ichnos::model::cursor::BoxedCursor;
use ichnos::model::event::StreamTable;
use ichnos::model::{Event, Message};

use crate::duckdb::{CallArguments, ColumnType, Parameter};
use crate::query::{PARAMETERS, Query};
use crate::rows::{Cell, RowSource, SqlRow};

/// Number of rows that are made at once.
const AT_ONCE: usize = 4_096;

/// The table.
pub(crate) struct Spans;

/// Start of a span.
#[derive(Debug)]
struct OpenSpan {
    begin: Option<i128>,
    name: String,
    category: String,
    nesting: u32,
    key: Option<u64>,
    process: Option<u64>,
    process_name: Option<String>,
    thread: Option<u64>,
    thread_name: Option<String>,
    processor: Option<u64>,
    trace: u32,
}

/// State of a data stream.
struct SpanStream {
    trace: u32,
    context: LastContext,
}

/// Progress.
pub(crate) struct State {
    merge: Option<BoxedCursor>,
    is_started: bool,
    selection: Selection,
    pairs: Pairs,
}

/// Open spans, and all that is needed to place events.
#[derive(Default)]
struct Pairs {
    streams: StreamTable<SpanStream, (), ViewerClass>,
    traces: TraceNumbers,
    /// Path of each trace.
    paths: Vec<String>,
    scheduling: Scheduling,
    name: String,
    nested: NestedSpans<OpenSpan>,
    keyed: KeyedSpans<OpenSpan>,
    /// Number of open spans of each track.
    depths: HashMap<u64, u32>,
}

impl RowSource for Spans {
    const NAME: &'static CStr = c"trace_spans";
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("begin_ts", ColumnType::Int64),
        ("end_ts", ColumnType::Int64),
        ("duration", ColumnType::Int64),
        ("name", ColumnType::Text),
        ("category", ColumnType::Text),
        ("nesting", ColumnType::Int64),
        ("key", ColumnType::UInt64),
        ("process", ColumnType::UInt64),
        ("process_name", ColumnType::Text),
        ("thread", ColumnType::UInt64),
        ("thread_name", ColumnType::Text),
        ("cpu", ColumnType::UInt64),
        ("trace", ColumnType::Text),
        ("is_complete", ColumnType::Boolean),
    ];
    type Call = Query;
    type State = State;

    fn bind(arguments: &CallArguments) -> Result<Query, String> {
        Query::new(arguments)
    }

    fn start(query: &Query, _: &[usize]) -> Result<State, String> {
        Ok(State {
            merge: Some(query.merged()?),
            is_started: false,
            selection: query.selection.clone(),
            pairs: Pairs::default(),
        })
    }

    fn read(_: &Query, state: &mut State, rows: &mut VecDeque<SqlRow>) -> Result<bool, String> {
        let State { merge: place, is_started, selection, pairs } = state;
        let Some(merge) = place else { return Ok(false) };
        let most = rows.len() + AT_ONCE;
        let goes_on = !*is_started || merge.next_head().is_some();
        *is_started = true;
        let mut take = |message: &Message<'_>| {
            if let Message::Event(event) = message
                && selection.wants_event(event)
            {
                pairs.event(event, rows);
            }
            if rows.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if goes_on && merge.drain_all(&mut take) {
            return Ok(true);
        }
        *place = None;
        pairs.finish(rows);
        Ok(false)
    }
}

impl Pairs {
    fn event(&mut self, event: &Event<'_>, rows: &mut VecDeque<SqlRow>) {
        let Self { streams, traces, paths, scheduling, name, .. } = self;
        if !streams.has(event.stream) {
            let trace = traces.number(event.stream);
            if paths.len() <= trace as usize {
                paths.push(event.stream.trace.path.clone());
                scheduling.add_trace(trace, &event.stream.trace);
            }
            streams.insert(event.stream, SpanStream { trace, context: LastContext::default() }, || ());
        }
        let Some((stream, (), classes)) = streams.get_mut(event.stream) else { return };
        let class = classes.for_event(event, || ViewerClass::from_event(event));
        let trace = stream.trace;
        let location = scheduling.locate(trace, class, event, (&mut stream.context, name));
        let found = SpanEvent { event, class, location: &location, trace };
        let mut spans =
            Open { nested: &mut self.nested, keyed: &mut self.keyed, depths: &mut self.depths, paths, rows };
        spans.event(&found);
        if let Some(ended) = scheduling.ended_thread(trace, event, class) {
            let track = track(event.stream.key, &ended, trace);
            spans.end_all(track);
        }
        scheduling.observe(trace, event, class);
    }

    /// Adds the spans that never ended.
    fn finish(&mut self, rows: &mut VecDeque<SqlRow>) {
        let paths = &self.paths;
        rows.extend(self.nested.take_all().map(|span| row(&span, None, false, paths)));
        rows.extend(std::mem::take(&mut self.keyed).values().map(|span| row(span, None, false, paths)));
    }
}

/// Event with its class and place.
struct SpanEvent<'s, 'e> {
    event: &'s Event<'e>,
    class: &'s ViewerClass,
    location: &'s EventLocation<'s>,
    trace: u32,
}

impl SpanEvent<'_, '_> {
    fn span(&self, nesting: u32, key: Option<u64>) -> OpenSpan {
        let EventPlace { process, process_name, thread, thread_name, processor } = self.location.place;
        OpenSpan {
            begin: self.event.nanoseconds(),
            name: self.location.own_name.unwrap_or(&self.class.name).to_owned(),
            category: self.class.category.clone(),
            nesting,
            key,
            process,
            process_name: process_name.map(str::to_owned),
            thread,
            thread_name: thread_name.map(str::to_owned),
            processor,
            trace: self.trace,
        }
    }
}

/// Open spans, and the rows of ended spans.
struct Open<'o> {
    nested: &'o mut NestedSpans<OpenSpan>,
    keyed: &'o mut KeyedSpans<OpenSpan>,
    depths: &'o mut HashMap<u64, u32>,
    paths: &'o [String],
    rows: &'o mut VecDeque<SqlRow>,
}

impl Open<'_> {
    fn event(&mut self, found: &SpanEvent<'_, '_>) {
        let SpanEvent { event, class, location, trace } = found;
        let edge = class.edge(location.own_name);
        let track = track(event.stream.key, &location.place, *trace);
        let now = event.nanoseconds();
        match class.form_of(event) {
            EventForm::Begin => self.begin(track, edge, found),
            EventForm::End => self.end(track, edge, now),
            EventForm::Frame => {
                self.end(track, edge, now);
                self.begin(track, edge, found);
            }
            EventForm::KeyedBegin => {
                let key = class.span_key(event, *trace);
                if let Some(lost) = self.keyed.begin(key, edge, found.span(0, Some(class.key(event)))) {
                    self.rows.push_back(row(&lost, None, false, self.paths));
                }
            }
            EventForm::KeyedEnd => {
                let key = class.span_key(event, *trace);
                if let Some(span) = self.keyed.end(key, edge, |_| None) {
                    self.rows.push_back(row(&span, now, true, self.paths));
                }
            }
            EventForm::Complete => {
                let nesting = self.depths.get(&track).copied().unwrap_or(0);
                let span = found.span(nesting, None);
                let end = now.zip(class.duration(event)).map(|(begin, length)| begin + i128::from(length));
                self.rows.push_back(row(&span, end, true, self.paths));
            }
            _ => {}
        }
    }

    fn begin(&mut self, track: u64, edge: SpanEdge, found: &SpanEvent<'_, '_>) {
        let depth = self.depths.get(&track).copied().unwrap_or(0);
        if self.nested.begin(track, edge, found.span(depth, None)) > 1 {
            // All spans were forgotten.
            self.depths.clear();
        }
        self.depths.insert(track, depth + 1);
    }

    fn end(&mut self, track: u64, edge: SpanEdge, now: Option<i128>) {
        let Self { nested, depths, paths, rows, .. } = self;
        // Spans within lost their ends.
        let ended = nested.end(track, edge, |lost| rows.push_back(row(&lost, now, false, paths)));
        let Some(span) = ended else { return };
        if span.nesting == 0 {
            depths.remove(&track);
        } else {
            depths.insert(track, span.nesting);
        }
        rows.push_back(row(&span, now, true, paths));
    }

    fn end_all(&mut self, track: u64) {
        let Self { nested, depths, paths, rows, .. } = self;
        nested.end_all(track, |lost| rows.push_back(row(&lost, None, false, paths)));
        depths.remove(&track);
    }
}

/// Returns the track on which spans nest: of the thread, or else of the process, the processor or the data stream.
fn track(stream: u32, place: &EventPlace<'_>, trace: u32) -> u64 {
    let (kind, numbers) = match (place.thread, place.process, place.processor) {
        (Some(thread), Some(process), _) => (TrackKind::Thread, [process, thread]),
        (Some(thread), None, _) => (TrackKind::LoneThread, [0, thread]),
        (None, Some(process), _) => (TrackKind::Process, [process, 0]),
        (None, None, Some(processor)) => (TrackKind::Processor, [trace.into(), processor]),
        (None, None, None) => (TrackKind::Stream, [stream.into(), 0]),
    };
    track_id(kind, numbers)
}

fn row(span: &OpenSpan, end: Option<i128>, is_complete: bool, paths: &[String]) -> SqlRow {
    let duration = span.begin.zip(end).map(|(begin, end)| end - begin);
    vec![
        span.begin.into(),
        end.into(),
        duration.into(),
        span.name.as_str().into(),
        Some(span.category.as_str()).filter(|category| !category.is_empty()).into(),
        i64::from(span.nesting).into(),
        span.key.into(),
        span.process.into(),
        span.process_name.as_deref().into(),
        span.thread.into(),
        span.thread_name.as_deref().into(),
        span.processor.into(),
        paths.get(span.trace as usize).map_or(Cell::Null, |path| path.as_str().into()),
        is_complete.into(),
    ]
}
