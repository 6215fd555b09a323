//! Spans: what happened from one event to another.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::event_place::EventPlace;
use ichnos_analysis::events::keyed_spans::KeyedSpans;
use ichnos_analysis::events::last_context::LastContext;
use ichnos_analysis::events::nested_spans::NestedSpans;
use ichnos_analysis::events::scheduling::{EventLocation, Scheduling};
use ichnos_analysis::events::span_edge::SpanEdge;
use ichnos_analysis::events::tracks::{TraceNumbers, TrackKind, track_id};
use ichnos_model::cursor::BoxedCursor;
use ichnos_model::event::StreamTable;
use ichnos_model::{Event, Message};
use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use super::row_source::{RowColumns, RowSource, row_error};
use crate::Selection;
use crate::query::{QueryError, TraceQuery};

/// Number of events that are read at once.
const AT_ONCE: usize = 4_096;

/// Columns.
pub(super) const COLUMNS: RowColumns = &[
    ("begin_ts", DataType::Int64),
    ("end_ts", DataType::Int64),
    ("duration", DataType::Int64),
    ("name", DataType::Utf8),
    ("category", DataType::Utf8),
    ("nesting", DataType::Int64),
    ("key", DataType::UInt64),
    ("process", DataType::UInt64),
    ("process_name", DataType::Utf8),
    ("thread", DataType::UInt64),
    ("thread_name", DataType::Utf8),
    ("cpu", DataType::UInt64),
    ("trace", DataType::Utf8),
    ("is_complete", DataType::Boolean),
];

/// Makes the rows of spans as they end.
pub(super) struct SpanRows {
    merge: Option<BoxedCursor>,
    is_started: bool,
    selection: Selection,
    pairs: Pairs,
}

/// Start of a span.
#[derive(Debug)]
struct SpanBegin {
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

/// Open spans, and all that is needed to place events.
#[derive(Default)]
struct Pairs {
    streams: StreamTable<SpanStream, (), ViewerClass>,
    traces: TraceNumbers,
    /// Path of each trace.
    paths: Vec<String>,
    scheduling: Scheduling,
    name: String,
    nested: NestedSpans<SpanBegin>,
    keyed: KeyedSpans<SpanBegin>,
    /// Number of open spans of each track.
    depths: HashMap<u64, u32>,
}

impl SpanRows {
    pub(super) fn new(query: &TraceQuery) -> Result<Self, QueryError> {
        Ok(Self {
            merge: Some(query.merged()?),
            is_started: false,
            selection: query.selection().clone(),
            pairs: Pairs::default(),
        })
    }
}

impl RowSource for SpanRows {
    fn read(
        &mut self,
        _: &TraceQuery,
        rows: &mut RecordRows,
        _: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let Self { merge: place, is_started, selection, pairs } = self;
        let Some(merge) = place else { return Ok(false) };
        let (mut left, mut added) = (AT_ONCE, Ok(()));
        let goes_on = !*is_started || merge.next_head().is_some();
        *is_started = true;
        let mut take = |message: &Message<'_>| {
            if let Message::Event(event) = message
                && selection.wants_event(event)
            {
                added = pairs.event(event, rows);
            }
            left -= 1;
            if left == 0 || added.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let is_more = goes_on && merge.drain_all(&mut take);
        added.map_err(row_error)?;
        if !is_more {
            *place = None;
            pairs.finish(rows).map_err(row_error)?;
        }
        Ok(is_more)
    }
}

impl Pairs {
    fn event(&mut self, event: &Event<'_>, rows: &mut RecordRows) -> io::Result<()> {
        let Self { streams, traces, paths, scheduling, name, .. } = self;
        if !streams.has(event.stream) {
            let trace = traces.number(event.stream);
            if paths.len() <= trace as usize {
                paths.push(event.stream.trace.path.clone());
                scheduling.add_trace(trace, &event.stream.trace);
            }
            streams.insert(event.stream, SpanStream { trace, context: LastContext::default() }, || ());
        }
        let Some((stream, (), classes)) = streams.get_mut(event.stream) else { return Ok(()) };
        let class = classes.for_event(event, || ViewerClass::from_event(event));
        let trace = stream.trace;
        let location = scheduling.locate(trace, class, event, (&mut stream.context, name));
        let found = SpanPoint { event, class, location: &location, trace };
        let mut spans = SpanEnds {
            nested: &mut self.nested,
            keyed: &mut self.keyed,
            depths: &mut self.depths,
            paths,
            rows,
        };
        spans.event(&found)?;
        if let Some(ended) = scheduling.ended_thread(trace, event, class) {
            let track = track(event.stream.key, &ended, trace);
            spans.end_all(track, event.nanoseconds())?;
        }
        scheduling.observe(trace, event, class);
        Ok(())
    }

    /// Adds the spans that never ended.
    fn finish(&mut self, rows: &mut RecordRows) -> io::Result<()> {
        let paths = &self.paths;
        for span in self.nested.take_all() {
            add(&span, None, false, paths, rows)?;
        }
        std::mem::take(&mut self.keyed).values().try_for_each(|span| add(span, None, false, paths, rows))
    }
}

/// Event with its class and place.
struct SpanPoint<'s, 'e> {
    event: &'s Event<'e>,
    class: &'s ViewerClass,
    location: &'s EventLocation<'s>,
    trace: u32,
}

impl SpanPoint<'_, '_> {
    fn span(&self, nesting: u32, key: Option<u64>) -> SpanBegin {
        let EventPlace { process, process_name, thread, thread_name, processor } = self.location.place;
        SpanBegin {
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
struct SpanEnds<'o> {
    nested: &'o mut NestedSpans<SpanBegin>,
    keyed: &'o mut KeyedSpans<SpanBegin>,
    depths: &'o mut HashMap<u64, u32>,
    paths: &'o [String],
    rows: &'o mut RecordRows,
}

impl SpanEnds<'_> {
    fn event(&mut self, found: &SpanPoint<'_, '_>) -> io::Result<()> {
        let SpanPoint { event, class, location, trace } = found;
        let edge = class.edge(location.own_name);
        let track = track(event.stream.key, &location.place, *trace);
        let now = event.nanoseconds();
        match class.form_of(event) {
            EventForm::Begin => self.begin(track, edge, found),
            EventForm::End => self.end(track, edge, now)?,
            EventForm::Frame => {
                self.end(track, edge, now)?;
                self.begin(track, edge, found);
            }
            EventForm::KeyedBegin => {
                let key = class.span_key(event, *trace);
                if let Some(lost) = self.keyed.begin(key, edge, found.span(0, Some(class.key(event)))) {
                    add(&lost, None, false, self.paths, self.rows)?;
                }
            }
            EventForm::KeyedEnd => {
                let key = class.span_key(event, *trace);
                if let Some(span) = self.keyed.end(key, edge, |_| None) {
                    add(&span, now, true, self.paths, self.rows)?;
                }
            }
            EventForm::Complete => {
                let nesting = self.depths.get(&track).copied().unwrap_or(0);
                let span = found.span(nesting, None);
                let end = now.zip(class.duration(event)).map(|(begin, length)| begin + i128::from(length));
                add(&span, end, true, self.paths, self.rows)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, track: u64, edge: SpanEdge, found: &SpanPoint<'_, '_>) {
        let depth = self.depths.get(&track).copied().unwrap_or(0);
        if self.nested.begin(track, edge, found.span(depth, None)) > 1 {
            // All spans were forgotten.
            self.depths.clear();
        }
        self.depths.insert(track, depth + 1);
    }

    fn end(&mut self, track: u64, edge: SpanEdge, now: Option<i128>) -> io::Result<()> {
        let Self { nested, depths, paths, rows, .. } = self;
        // Spans within lost their ends.
        let mut added = Ok(());
        let ended = nested.end(track, edge, |lost| {
            if added.is_ok() {
                added = add(&lost, now, false, paths, rows);
            }
        });
        added?;
        let Some(span) = ended else { return Ok(()) };
        if span.nesting == 0 {
            depths.remove(&track);
        } else {
            depths.insert(track, span.nesting);
        }
        add(&span, now, true, paths, rows)
    }

    /// Ends the open spans of an ended thread.
    fn end_all(&mut self, track: u64, now: Option<i128>) -> io::Result<()> {
        let Self { nested, depths, paths, rows, .. } = self;
        let mut added = Ok(());
        nested.end_all(track, |lost| {
            if added.is_ok() {
                added = add(&lost, now, false, paths, rows);
            }
        });
        depths.remove(&track);
        added
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

fn add(
    span: &SpanBegin,
    end: Option<i128>,
    is_complete: bool,
    paths: &[String],
    rows: &mut RecordRows,
) -> io::Result<()> {
    let duration = span.begin.zip(end).map(|(begin, end)| end - begin);
    let row = [
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
        paths.get(span.trace as usize).map(String::as_str).into(),
        is_complete.into(),
    ];
    rows.add(&row)
}
