//! Lists of events and log lines in a range, and text search.

use std::ops::ControlFlow;

use ichnos::export::{Log, LogOptions, Pretty, PrettyFields, PrettyNames, PrettyOptions};
use ichnos::json::write::{ArrayWriter, ObjectWriter, ValueWriter};
use ichnos::model::log::{LogLevel, LogSeverity};
use ichnos::model::meaning::Meaning;
use ichnos::model::{Event, Message, Sink as _};
use ichnos::viewers::{CLOCK_ORIGIN, since_origin, timeline_time};

use super::command::command;
use super::overview::write_time;
use super::scan::{self, Match, RangeScan, is_within};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Maximum and default number of rows in an answer.
const MOST_ROWS: u64 = 10_000;
const ROWS: u64 = 200;

/// Maximum number of events read for an answer, and for a search.
pub(super) const MOST_EVENTS: u64 = 5_000_000;
const MOST_SEARCHED: u64 = 50_000_000;

/// Maximum text length of a row in bytes.
const MOST_TEXT: usize = 300;

/// Size of the line buffer in bytes above which its memory is released.
const MOST_KEPT: usize = 1 << 20;

/// Number of histogram bins of a search.
const BINS: usize = 100;

/// Sink for single lines.
pub(super) enum LineSink {
    Pretty(Box<Pretty<Vec<u8>>>),
    Log(Box<Log<Vec<u8>>>),
}

impl LineSink {
    /// Creates a sink for `cat` lines with these event properties.
    pub(super) fn pretty(fields: PrettyFields) -> Self {
        let mut options = PrettyOptions::default();
        options.no_delta = true;
        options.fields = fields;
        options.names = PrettyNames::NONE;
        (options.names.payload, options.names.context) = (true, true);
        Self::Pretty(Box::new(Pretty::new(Vec::new(), options)))
    }

    fn log() -> Self {
        Self::Log(Box::new(Log::new(Vec::new(), LogOptions::default())))
    }
}

/// Event lines.
pub(super) struct EventTexts {
    make: fn() -> LineSink,
    sink: LineSink,
    /// Length of the text before the current line.
    length: usize,
    line: String,
}

impl EventTexts {
    pub(super) fn new(make: fn() -> LineSink) -> Self {
        Self { make, sink: make(), length: 0, line: String::new() }
    }

    /// Creates `cat` lines with fields only.
    pub(super) fn of_fields() -> Self {
        Self::new(|| LineSink::pretty(PrettyFields::NONE))
    }

    /// Returns the line of an event without its line break.
    pub(super) fn line(&mut self, event: &Event<'_>) -> &str {
        if self.length > MOST_KEPT {
            (self.sink, self.length) = ((self.make)(), 0);
        }
        let message = Message::Event(*event);
        // Writing to memory does not fail.
        let text = match &mut self.sink {
            LineSink::Pretty(sink) => {
                let _ = sink.message(&message);
                let _ = sink.flush();
                sink.writer()
            }
            LineSink::Log(sink) => {
                let _ = sink.message(&message);
                let _ = sink.flush();
                sink.writer()
            }
        };
        let line = text.get(self.length..).unwrap_or_default();
        self.line = String::from_utf8_lossy(line).trim_end().to_owned();
        self.length = text.len();
        &self.line
    }

    /// Returns the text of the event fields.
    pub(super) fn fields(&mut self, event: &Event<'_>) -> &str {
        let line = self.line(event);
        let after_time = line.split_once("] ").map_or(line, |(_, rest)| rest);
        let fields = after_time
            .strip_prefix(event.name())
            .map_or(after_time, |rest| rest.trim_start_matches([':', ' ']));
        fields.get(..fields.floor_char_boundary(MOST_TEXT)).unwrap_or_default()
    }
}

/// Writes the members that all rows have. `name` is the name of the event or of its class.
pub(super) fn write_row(object: &mut ObjectWriter<'_>, found: &Match<'_, '_>, name: &str, text: &str) {
    object.member("id").display(found.id);
    write_time(object.member("time"), Some(found.id.time));
    object.member("stream").string(&found.event.stream.name);
    object.member("name").string(name);
    object.member("track").unsigned(found.place.track.into());
    object.member("text").string(text);
}

/// Returns the position at which rows continue: a time, and the number of earlier rows at this time.
fn cursor(query: &Query) -> Result<Option<(u64, u64)>, ApiError> {
    let Some(text) = query.text("after") else { return Ok(None) };
    let parsed = text
        .split_once(':')
        .and_then(|(time, number)| Some((timeline_time(time.parse().ok()?)?, number.parse().ok()?)));
    parsed.map(Some).ok_or_else(|| ApiError::bad(format!("after: invalid position `{text}`")))
}

/// Lists events of a range with their fields.
pub(super) fn events(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let mut texts = EventTexts::of_fields();
    rows(shared, query, "cat", |found, row| {
        write_row(row, found, found.listed_name(), texts.fields(found.event));
    })
}

/// Lists events of a range as log lines.
pub(super) fn log(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let mut texts = EventTexts::new(LineSink::log);
    rows(shared, query, "cat -f log", |found, row| {
        write_row(row, found, found.listed_name(), texts.line(found.event));
        row.string("severity", severity(found.event).map(LogLevel::name));
    })
}

/// Returns the log level of an event.
fn severity(event: &Event<'_>) -> Option<LogLevel> {
    let role = event.class.log.as_deref()?;
    let number = match role.severity {
        LogSeverity::Constant(number) => number,
        _ => event.meaning(Meaning::Severity)?.as_i64()?,
    };
    Some(role.scale.level(number))
}

/// Lists events of a range. `write` writes a row, and `verb` is the equivalent command.
fn rows(
    shared: &AppState,
    query: &Query,
    verb: &str,
    mut write: impl FnMut(&Match<'_, '_>, &mut ObjectWriter<'_>),
) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let command = command(shared, verb, query, Some((begin, end)));
    let limit = query.bounded("limit", MOST_ROWS, ROWS)?;
    let after = cursor(query)?;
    let track = query.number("track")?.map(|track| track as u32);
    let tracks = shared.build.timeline().tracks().to_vec();
    let begin = after.map_or(begin, |(time, _)| time.max(begin));
    let scan = RangeScan { begin, end, filter: query.text("filter"), most: MOST_EVENTS, time: scan::SHORT };
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let mut rows = object.member("rows").array();
    // `at_time` counts events at the time of the last event, and `number` counts all rows so far.
    let (mut time, mut at_time, mut number, mut next) = (0, 0, 0, None);
    let scanned = scan.run(shared, |found| {
        if found.id.time != time {
            (time, at_time) = (found.id.time, 0);
        }
        if number >= limit {
            next = Some((time, at_time));
            return ControlFlow::Break(());
        }
        at_time += 1;
        let is_before = after.is_some_and(|(after, number)| after == time && at_time <= number);
        if !is_before && track.is_none_or(|track| is_within(&tracks, found.place.track, track)) {
            number += 1;
            let mut row = rows.element().object();
            write(found, &mut row);
            row.end();
        }
        ControlFlow::Continue(())
    })?;
    rows.end();
    if !scanned.is_complete {
        next = Some((time, at_time));
    }
    let next = next.map(|(time, number)| format!("{}:{number}", since_origin(time)));
    object.member("next").or_null(next.as_deref(), ValueWriter::string);
    object.member("scanned").unsigned(scanned.events);
    object.member("command").string(&command);
    object.end();
    Ok(out)
}

/// Finds a text in track names, event names and fields.
pub(super) fn search(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let Some(text) = query.text("q").map(str::to_lowercase) else { return Err(ApiError::bad("missing `q`")) };
    let limit = query.bounded("limit", MOST_ROWS, 1_000)?;
    let (tracks, range) = {
        let timeline = shared.build.timeline();
        (timeline.tracks().to_vec(), timeline.range().unwrap_or((CLOCK_ORIGIN, CLOCK_ORIGIN)))
    };
    let begin = query.time("begin")?.unwrap_or(range.0);
    let end = query.time("end")?.unwrap_or(range.1).max(begin);
    let from = query.time("from")?.unwrap_or(begin);
    let wanted_tracks: Vec<bool> =
        tracks.iter().map(|track| track.name.to_lowercase().contains(&text)).collect();
    let mut texts = EventTexts::of_fields();
    let (mut bins, mut total, mut written) = ([0_u64; BINS], 0_u64, 0);
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let mut hits: ArrayWriter<'_> = object.member("hits").array();
    let scan = RangeScan { begin, end, filter: query.text("filter"), most: MOST_SEARCHED, time: scan::LONG };
    let scanned = scan.run(shared, |found| {
        let is_track = wanted_tracks.get(found.place.track as usize).is_some_and(|wanted| *wanted);
        let is_hit = is_track
            || found.event.name().to_lowercase().contains(&text)
            || found.has_own_name && found.name.to_lowercase().contains(&text)
            || texts.fields(found.event).to_lowercase().contains(&text);
        if is_hit {
            total += 1;
            let width = u128::from(end - begin) + 1;
            let bin = u128::from(found.id.time.saturating_sub(begin)) * BINS as u128 / width;
            if let Some(bin) = bins.get_mut(bin as usize) {
                *bin += 1;
            }
            if written < limit && found.id.time >= from {
                written += 1;
                let mut hit = hits.element().object();
                hit.member("id").display(found.id);
                write_time(hit.member("time"), Some(found.id.time));
                hit.member("name").string(found.listed_name());
                hit.member("track").unsigned(found.place.track.into());
                hit.end();
            }
        }
        ControlFlow::Continue(())
    })?;
    hits.end();
    object.member("total").unsigned(total);
    object.member("complete").boolean(scanned.is_complete);
    let mut list = object.member("bins").array();
    bins.iter().for_each(|bin| list.element().unsigned(*bin));
    list.end();
    object.end();
    Ok(out)
}
