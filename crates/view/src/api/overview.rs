//! Overview of the traces, their tracks and names.

use std::sync::Arc;

use ichnos::export::text::count;
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::viewers::{TimelineTrackKind, since_origin};

use super::command::command;
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;
use crate::timeline_builder::Status;

/// Maximum number of names in an answer.
const MOST_NAMES: u32 = 10_000;

/// Maximum number of warnings in an answer.
const MOST_WARNINGS: usize = 100;

/// Writes a number. JSON lacks infinity and NaN, which become `null`.
pub(super) fn write_float(place: ValueWriter<'_>, number: f64) {
    match number.is_finite() {
        true => place.number(&number.to_string()),
        false => place.null(),
    }
}

fn write_members(object: &mut ObjectWriter<'_>, status: &Status) {
    object.member("generation").unsigned(status.generation);
    object.member("state").string(status.state.name());
    write_float(object.member("progress"), status.progress);
    object.member("events").unsigned(status.events);
    let [begin, end] = match status.range {
        Some((begin, end)) => [Some(begin), Some(end)],
        None => [None, None],
    };
    write_time(object.member("begin"), begin);
    write_time(object.member("end"), end);
}

/// Writes a timeline time as nanoseconds since the clock origin: a string, because it can have more than 53 bits.
pub(super) fn write_time(place: ValueWriter<'_>, time: Option<u64>) {
    place.or_null(time.map(since_origin), ValueWriter::display);
}

/// Writes the progress as an object.
pub(crate) fn write_status(out: &mut Vec<u8>, status: &Status) {
    let mut object = ValueWriter::new(out).object();
    write_members(&mut object, status);
    object.end();
}

/// Describes the traces.
pub(super) fn trace(shared: &AppState) -> Result<Vec<u8>, ApiError> {
    let status = shared.build.status();
    let (tracks, names, has_dates) = {
        let timeline = shared.build.timeline();
        (timeline.tracks().len(), timeline.names(), timeline.has_dates())
    };
    let options = &shared.options;
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("title").string(&options.title);
    object.member("version").string(env!("CARGO_PKG_VERSION"));
    let traces = shared.session.traces();
    object.member("paths").strings(traces.iter().map(|trace| trace.path()));
    write_members(&mut object, &status);
    object.member("hasDates").boolean(has_dates);
    object.member("zone").string(&options.zone);
    object.member("discardedEvents").unsigned(status.discarded_events);
    object.member("discardedPackets").unsigned(status.discarded_packets);
    object.member("damages").unsigned(status.damages);
    let mut list = object.member("traces").array();
    for input in traces {
        let trace = input.trace();
        let mut object = list.element().object();
        object.member("name").string(if trace.name.is_empty() { &trace.path } else { &trace.name });
        object.member("format").string(input.format());
        object.member("dialect").string(&trace.class.dialect);
        object.member("tracer").string(trace.class.tracer());
        object.end();
    }
    list.end();
    let not_shown = (status.not_shown > 0).then(|| {
        let events = count(status.not_shown, "event");
        format!("{events} not shown: more than 292 years from the clock origin")
    });
    let warnings = options.warnings.iter().chain(&status.failure).chain(&not_shown);
    object.member("warnings").strings(warnings.take(MOST_WARNINGS));
    object.member("tracks").unsigned(tracks as u64);
    object.member("names").unsigned(names.into());
    object.member("command").string(&command(shared, "info", &Query::new("")?, None));
    object.end();
    Ok(out)
}

/// Lists the tracks.
pub(super) fn tracks(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let after = query.number("after")?;
    let generation = shared.build.status().generation;
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("generation").unsigned(generation);
    if after == Some(generation) {
        object.member("tracks").null();
        object.end();
        return Ok(out);
    }
    let timeline = shared.build.timeline();
    let mut list = object.member("tracks").array();
    for (id, track) in (0_u32..).zip(timeline.tracks()) {
        let mut object = list.element().object();
        object.member("id").unsigned(id.into());
        object.member("parent").or_null(track.parent.map(u64::from), ValueWriter::unsigned);
        object.member("kind").string(track.kind.name());
        object.member("name").string(&track.name);
        if track.is_of_running_threads() {
            object.member("runsThreads").boolean(true);
        }
        object.unsigned("running", timeline.running(id));
        object.member("lanes").unsigned(timeline.lanes(id) as u64);
        object.member("items").unsigned(timeline.items(id));
        write_time(object.member("begin"), timeline.begin(id));
        object.member("unit").or_null(track.unit.as_deref(), ValueWriter::string);
        let (minimum, maximum) = timeline.extremes(id).unwrap_or((f64::NAN, f64::NAN));
        write_float(object.member("minimum"), minimum);
        write_float(object.member("maximum"), maximum);
        object.end();
    }
    list.end();
    object.end();
    Ok(out)
}

/// Lists the tracks with items that pass the filter. Thread states do not count.
pub(super) fn filled(shared: &Arc<AppState>, query: &Query) -> Result<Vec<u8>, ApiError> {
    let build = shared.build_of(query)?;
    let is_complete = build.status().is_complete;
    let timeline = build.timeline();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("complete").boolean(is_complete);
    let mut list = object.member("tracks").array();
    for (id, track) in (0_u32..).zip(timeline.tracks()) {
        let is_state = matches!(track.kind, TimelineTrackKind::States | TimelineTrackKind::Runs);
        if !is_state && timeline.items(id) > 0 {
            list.element().unsigned(id.into());
        }
    }
    list.end();
    object.end();
    Ok(out)
}

/// Lists names from a number on, with their colors from event maps.
pub(super) fn names(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let from = query.bounded("from", u32::MAX.into(), 0)? as u32;
    Ok(names_in(shared, from, from.saturating_add(MOST_NAMES)))
}

/// Lists the names in a range of numbers.
pub(super) fn names_in(shared: &AppState, from: u32, to: u32) -> Vec<u8> {
    let timeline = shared.build.timeline();
    let total = timeline.names();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let to = total.min(to);
    object.member("names").strings((from..to).map(|number| timeline.name(number)));
    let mut colors = object.member("colors").object();
    for (number, [red, green, blue]) in timeline.colors().range(from..to.max(from)) {
        colors.named(&number.to_string()).string(&format!("#{red:02x}{green:02x}{blue:02x}"));
    }
    colors.end();
    object.member("from").unsigned(from.into());
    object.member("total").unsigned(total.into());
    object.end();
    out
}

/// Checks an expression, and lists unknown names as warnings.
pub(super) fn check(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let filter = query.text("filter").map(|text| shared.filter(text)).transpose()?;
    let warnings = filter.iter().flat_map(|filter| filter.warnings());
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("ok").boolean(true);
    let mut list = object.member("warnings").array();
    for warning in warnings {
        let mut entry = list.element().object();
        entry.member("text").string(&warning.message);
        entry.string("help", (shared.options.warning_help)(warning).as_deref());
        entry.end();
    }
    list.end();
    object.end();
    Ok(out)
}
