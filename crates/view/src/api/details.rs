//! Event details.

use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::export::PrettyFields;
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::message::DataPosition;
use ichnos::model::{Cursor as _, Event, Message, Sink as _, Window};
use ichnos::viewers::{EventId, EventLinks, FlowKind, RunningTimes, TimelinePlace};

use super::command::command;
use super::events::{EventTexts, LineSink, MOST_EVENTS, write_row};
use super::overview::write_time;
use super::scan::{self, RangeScan, window};
use super::span_search::{SpanEnds, SpanSearch};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;
use crate::task_list::JoinEnd;

/// Number of pixels that separate the states of a thread.
const PIXELS: u64 = 1 << 20;

/// Maximum number of causes and of effects in an answer.
const MOST_LINKS: usize = 1_000;

/// Time before an event that is also read, in nanoseconds. Earlier events can name a short-lived object.
const BEFORE: u64 = 1_000_000;

/// Describes an event.
pub(super) fn event(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let id = query.event("id")?.ok_or_else(|| ApiError::bad("missing `id`"))?;
    let line = json_line(shared, id)?.ok_or_else(|| ApiError::missing("no such event"))?;
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let mut known: Option<(TimelinePlace, EventLinks)> = None;
    let mut label = String::new();
    let (begin, end) = (id.time.saturating_sub(BEFORE), id.time);
    let scan = RangeScan { begin, end, filter: None, most: MOST_EVENTS, time: scan::SHORT };
    scan.run(shared, |found| {
        if found.id != id {
            return ControlFlow::Continue(());
        }
        let event = found.event;
        let mut texts = EventTexts::new(|| LineSink::pretty(PrettyFields::ALL));
        write_row(&mut object, found, event.name(), texts.line(event));
        let trace = &event.stream.trace;
        let input = shared.session.traces().iter().find(|input| Arc::ptr_eq(input.trace(), trace));
        object.member("format").string(input.map_or("", |input| input.format()));
        label = found.name.to_owned();
        known = Some((found.place, shared.build.timeline().links(event, found.place)));
        ControlFlow::Break(())
    })?;
    let (place, links) = known.ok_or_else(|| ApiError::missing("the time of the event cannot be shown"))?;
    write_position(&mut object, position(shared, id)?);
    let command = command(shared, "cat -f jsonl --stacks", &Query::new("")?, Some((id.time, id.time)));
    object.member("command").string(&command);
    object.member("line").raw().extend_from_slice(&line);
    let span = SpanSearch::new(shared).find(place)?;
    object.member("label").string(&label_of_span(shared, id, span.as_ref()).unwrap_or(label));
    let ran = span.as_ref().and_then(|span| time_that_ran(shared, place.track, span));
    write_span(&mut object, span, ran);
    // The page asks for the tasks first, as it draws the joins.
    let tasks = shared.tasks.latest();
    let joins = tasks.as_ref().map_or(&[][..], |tasks| tasks.joins());
    let causes = joins.iter().filter(|join| join.to.event == id).map(|join| &join.from);
    write_links(shared, &mut object, "causes", &links.causes, causes);
    let effects = joins.iter().filter(|join| join.from.event == id).map(|join| &join.to);
    write_links(shared, &mut object, "effects", &links.effects, effects);
    object.end();
    Ok(out)
}

fn write_position(object: &mut ObjectWriter<'_>, position: Option<DataPosition>) {
    let Some(DataPosition { file, bit }) = position else { return object.member("position").null() };
    let mut member = object.member("position").object();
    member.member("file").string(&file);
    member.member("offset").unsigned(bit / 8);
    member.member("bit").unsigned(bit % 8);
    member.end();
}

/// Returns the span name if the event is the end of the span.
fn label_of_span(shared: &AppState, end: EventId, span: Option<&SpanEnds>) -> Option<String> {
    let begin = span?.begin.filter(|begin| begin.event() != end)?;
    let timeline = shared.build.timeline();
    Some(timeline.name(begin.name).to_owned()).filter(|name| !name.is_empty())
}

/// Returns the running time of a span's thread in nanoseconds, if its states are known.
fn time_that_ran(shared: &AppState, track: u32, span: &SpanEnds) -> Option<u64> {
    let begin = span.begin.as_ref()?.time;
    let end = begin.checked_add(span.length?)?;
    let mut timeline = shared.build.timeline();
    let running = RunningTimes::of_thread(&mut timeline, track, (begin, end), PIXELS)?;
    running.is_exact().then(|| running.within(begin, end))
}

/// Writes the ends of a span. `ran` is the running time of its thread.
fn write_span(object: &mut ObjectWriter<'_>, span: Option<SpanEnds>, ran: Option<u64>) {
    let Some(SpanEnds { begin, end, length }) = span else { return object.member("spans").null() };
    let mut member = object.member("spans").object();
    for (name, place) in [("begin", begin), ("end", end)] {
        member.member(name).or_null(place.map(|place| place.event()), ValueWriter::display);
    }
    member.member("length").or_null(length, ValueWriter::unsigned);
    member.unsigned("ran", ran);
    member.end();
}

/// Writes the causes or the effects of an event, with the ends of joins that are not among them.
fn write_links<'j>(
    shared: &AppState,
    object: &mut ObjectWriter<'_>,
    name: &'static str,
    links: &[(FlowKind, TimelinePlace)],
    joins: impl Iterator<Item = &'j JoinEnd>,
) {
    let timeline = shared.build.timeline();
    let known = |join: &&JoinEnd| links.iter().any(|(_, place)| place.event() == join.event);
    let flows = links
        .iter()
        .map(|(kind, place)| (kind.name(), timeline.name(place.name), place.event(), place.track));
    let joins =
        joins.filter(|join| !known(join)).map(|join| ("joined", &*join.label, join.event, join.track));
    let mut list = object.member(name).array();
    for (kind, name, event, track) in flows.chain(joins).take(MOST_LINKS) {
        let mut link = list.element().object();
        link.member("id").display(event);
        link.member("kind").string(kind);
        link.member("name").string(name);
        write_time(link.member("time"), Some(event.time));
        link.member("track").unsigned(track.into());
        link.end();
    }
    list.end();
}

/// Counts the events of a data stream at the time of an event id, up to that event.
struct EventCounter {
    id: EventId,
    /// Key of the data stream.
    stream: u32,
    /// `true` to skip events without a time. They belong to the first time, but are read for any window.
    is_later: bool,
    left: u64,
}

impl EventCounter {
    fn new(shared: &AppState, id: EventId) -> Self {
        let is_later = shared.build.timeline().range().is_some_and(|(first, _)| id.time > first);
        Self { stream: shared.stream_key(id.stream), id, is_later, left: id.position }
    }

    /// Returns the window that must be read.
    fn window(&self) -> Window {
        window(self.id.time, self.id.time)
    }

    /// Returns `true` for the event with the id.
    fn is_found(&mut self, event: &Event<'_>) -> bool {
        let is_earlier = event.nanoseconds().is_none() && self.is_later;
        if event.stream.key != self.stream || is_earlier {
            return false;
        }
        let is_found = self.left == 0;
        self.left = self.left.saturating_sub(1);
        is_found
    }
}

/// Returns the options of `cat --format jsonl --stacks`.
fn line_options() -> JsonLinesOptions {
    let mut options = JsonLinesOptions::default();
    options.stacks = true;
    options
}

/// Returns the event line of `cat --format jsonl --stacks`.
fn json_line(shared: &AppState, id: EventId) -> Result<Option<Vec<u8>>, ApiError> {
    let mut counter = EventCounter::new(shared, id);
    let reader = shared.reader(counter.window())?;
    let mut lines = JsonLines::new(Vec::new(), line_options());
    let mut line = None;
    let mut take = |message: &Message<'_>| -> std::io::Result<ControlFlow<()>> {
        let Message::Event(event) = message else {
            return lines.message(message);
        };
        if !counter.is_found(event) {
            return Ok(ControlFlow::Continue(()));
        }
        let _ = lines.message(message)?;
        lines.flush()?;
        // Earlier lines can describe its class and stacks.
        line = lines.writer().trim_ascii_end().rsplit(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
        Ok(ControlFlow::Break(()))
    };
    shared.run(&reader, &mut take)?;
    Ok(line)
}

/// Returns the position of an event in its file.
fn position(shared: &AppState, id: EventId) -> Result<Option<DataPosition>, ApiError> {
    let mut counter = EventCounter::new(shared, id);
    let mut selection = shared.options.selection.clone();
    let reader = shared.reader(counter.window())?;
    for (input, window) in shared.session.traces().iter().zip(reader.windows()) {
        let streams = input.data_streams();
        let Some(index) = streams.iter().position(|stream| stream.key == counter.stream) else { continue };
        let Some(mut cursor) = input.cursor(index, *window) else { continue };
        let mut left = MOST_EVENTS;
        while left > 0 && cursor.advance() {
            left -= 1;
            if let Some(Message::Event(event)) = cursor.current()
                && selection.wants_event(&event)
                && counter.is_found(&event)
            {
                return Ok(cursor.position());
            }
        }
    }
    Ok(None)
}
