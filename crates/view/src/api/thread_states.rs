//! Thread states at a time, and the critical path over wakeups.

use std::ops::ControlFlow;
use std::time::Instant;

use ichnos::analysis::events::ThreadNames;
use ichnos::analysis::{PathOptions, PathStep, ThreadCollector, ThreadOptions, Waker};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::meaning::{EventRole, Meaning};
use ichnos::model::{Message, Sink as _};
use ichnos::viewers::{
    EventId, ThreadState, ThreadWaker, Timeline, TimelineState, TimelineTrackKind, since_origin,
};

use super::command::command;
use super::events::MOST_EVENTS;
use super::overview::write_time;
use super::range;
use super::scan::{self, RangeScan, STRIDE, window};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Number of states in an answer: the state at the time, and earlier states.
const MOST_STATES: usize = 4;

/// Maximum number of waits in an answer.
const MOST_WAITS: usize = 100;

/// Maximum number of steps of a path in an answer.
const MOST_STEPS: usize = 20_000;

/// Maximum number of woken threads in an answer.
const MOST_WOKEN: usize = 50;

/// Describes the state of a thread at a time, and earlier states. The parameter `track` is the track of the thread or
/// its states. It can also be a processor track, and `name` is then the number of the thread name.
pub(super) fn thread(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let time = query.required_time("time")?;
    let (track, resolution) = {
        let timeline = shared.build.timeline();
        (states_track(&timeline, query)?, timeline.resolution())
    };
    let Some(track) = track else { return Ok(b"null".to_vec()) };
    let mut states = shared.build.timeline().states_at(track, time, MOST_STATES);
    if states.len() < MOST_STATES && resolution > 0 {
        let part = shared.parts.find((time, time.saturating_add(1)), || range::read(shared, time, time))?;
        let finer = part.map(|part| part.timeline().states_at(track, time, MOST_STATES)).unwrap_or_default();
        if finer.len() > states.len() {
            states = finer;
            let whole = shared.build.timeline();
            states.iter_mut().for_each(|state| whole.name_wait(track, state));
        }
    }
    let switch = match states.first() {
        Some(state) => switch_at(shared, track, state.begin)?,
        None => None,
    };
    let mut timeline = shared.build.timeline();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.unsigned("thread", timeline.thread_of_states(track));
    write_track(&mut object, &timeline, timeline.tracks().get(track as usize).and_then(|track| track.parent));
    if let Some((id, priority)) = switch {
        object.member("event").display(id);
        object.integer("priority", priority);
    }
    if let Some(state) = states.first() {
        write_ran(&mut object, &mut timeline, track, state);
    }
    let mut list = object.member("states").array();
    for state in &states {
        let mut entry = list.element().object();
        write_state(&mut entry, &timeline, state);
        entry.end();
    }
    list.end();
    object.end();
    Ok(out)
}

/// Writes the processor that ran a thread in a state, and the threads that the thread woke up meanwhile.
fn write_ran(object: &mut ObjectWriter<'_>, timeline: &mut Timeline, track: u32, state: &TimelineState) {
    if timeline.name(state.name) != ThreadState::Running.name() {
        return;
    }
    object.unsigned("processor", timeline.processor_at(track, state.begin).map(u64::from));
    let mut list = object.member("woke").array();
    for (states, time) in timeline.woken(track, (state.begin, state.end), MOST_WOKEN) {
        let parent = timeline.tracks().get(states as usize).and_then(|track| track.parent);
        let mut entry = list.element().object();
        entry.member("states").unsigned(states.into());
        write_track(&mut entry, timeline, parent);
        write_time(entry.member("time"), Some(time));
        entry.end();
    }
    list.end();
}

/// Returns the state track of the thread in a request.
fn states_track(timeline: &Timeline, query: &Query) -> Result<Option<u32>, ApiError> {
    let track = query.required("track")? as u32;
    let Some(known) = timeline.tracks().get(track as usize) else { return Ok(None) };
    Ok(match known.kind {
        TimelineTrackKind::States => Some(track),
        TimelineTrackKind::Processor => {
            let name = query.required("name")? as u32;
            timeline.states_of_name(track, name)
        }
        _ => timeline.states_of(track),
    })
}

fn write_track(object: &mut ObjectWriter<'_>, timeline: &Timeline, track: Option<u32>) {
    let Some(track) = track else { return };
    object.member("track").unsigned(track.into());
    object.string("name", timeline.tracks().get(track as usize).map(|track| &*track.name));
}

/// Writes a track with the name that its thread had, or else the name of the track.
fn write_named_track(
    object: &mut ObjectWriter<'_>,
    timeline: &Timeline,
    track: Option<u32>,
    name: Option<&str>,
) {
    let Some(name) = name else { return write_track(object, timeline, track) };
    object.unsigned("track", track.map(u64::from));
    object.member("name").string(name);
}

fn write_state(object: &mut ObjectWriter<'_>, timeline: &Timeline, state: &TimelineState) {
    object.member("state").string(timeline.name(state.name));
    write_times(object, timeline, state);
}

/// Writes the start and end times of a state, and their causes.
fn write_times(object: &mut ObjectWriter<'_>, timeline: &Timeline, state: &TimelineState) {
    write_time(object.member("begin"), Some(state.begin));
    write_time(object.member("end"), Some(state.end));
    object.string("waitsIn", state.waits_in.map(|name| timeline.name(name)));
    match state.waker {
        Some(ThreadWaker::Interrupt(name)) => {
            let mut waker = object.member("endedBy").object();
            waker.member("interrupt").string(name.map_or("", |name| timeline.name(name)));
            waker.end();
        }
        Some(ThreadWaker::Thread(thread)) => {
            let mut waker = object.member("endedBy").object();
            waker.member("thread").unsigned(thread);
            let name = state.waker_name.map(|name| timeline.name(name));
            write_named_track(&mut waker, timeline, state.woken_by, name);
            waker.end();
        }
        _ => {}
    }
}

/// Lists the longest waits that touch a range.
pub(super) fn waits(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let timeline = shared.build.timeline();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let mut list = object.member("waits").array();
    for (track, state) in timeline.longest_waits(begin, end, MOST_WAITS) {
        let mut entry = list.element().object();
        entry.member("states").unsigned(track.into());
        let of_thread = timeline.tracks().get(track as usize).and_then(|track| track.parent);
        let name = state.thread_name.map(|name| timeline.name(name));
        write_named_track(&mut entry, &timeline, of_thread, name);
        write_times(&mut entry, &timeline, &state);
        entry.end();
    }
    list.end();
    object.end();
    Ok(out)
}

/// Returns the event that switched to or from a thread at a time, and its priority.
fn switch_at(shared: &AppState, track: u32, time: u64) -> Result<Option<(EventId, Option<i128>)>, ApiError> {
    let thread = shared.build.timeline().thread_of_states(track);
    let mut switch = None;
    let scan = RangeScan { begin: time, end: time, filter: None, most: MOST_EVENTS, time: scan::SHORT };
    scan.run(shared, |found| {
        let event = found.event;
        let is = |meaning| event.meaning(meaning).and_then(|value| value.as_u64()) == thread;
        let (is_next, is_previous) = (is(Meaning::TargetThread), is(Meaning::PreviousThread));
        let is_about =
            matches!(event.class.role, EventRole::Switch | EventRole::Wakeup | EventRole::ThreadStart);
        if !is_about || !is_next && !is_previous {
            return ControlFlow::Continue(());
        }
        // Priorities have no meaning in the model, so these are the Linux field names.
        let names: &[&str] = if is_next { &["next_prio", "prio"] } else { &["prev_prio"] };
        let priority = names.iter().find_map(|name| event.field(name)?.as_i128());
        switch = Some((found.id, priority));
        ControlFlow::Break(())
    })?;
    Ok(switch)
}

/// Finds the critical path over wakeups for the thread of a track in a range.
pub(super) fn path(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let (track, range) = {
        let timeline = shared.build.timeline();
        (states_track(&timeline, query)?, timeline.range())
    };
    let found = track.and_then(|track| shared.build.timeline().thread_and_trace(track));
    let (Some((trace, thread)), Some((first, _))) = (found, range) else { return Ok(b"null".to_vec()) };
    if shared.session.is_live() {
        return Err(ApiError::bad("live traces do not end: record them into a file"));
    }
    let mut path = PathOptions::new(thread);
    (path.trace, path.range) = (Some(trace), Some((begin, end)));
    let mut options = ThreadOptions::default();
    (options.path, options.waits) = (Some(path), 0);
    let mut collector = ThreadCollector::new(options);
    let streams: Vec<_> = shared.session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
    collector.number_streams(streams.iter().map(|stream| &**stream));
    let reader = shared.reader(window(first, end))?;
    let deadline = Instant::now() + scan::LONG;
    let (mut messages, mut is_late) = (0_u64, false);
    let mut take = |message: &Message<'_>| -> std::io::Result<ControlFlow<()>> {
        messages += 1;
        is_late = messages % STRIDE == 0 && Instant::now() >= deadline;
        if is_late { Ok(ControlFlow::Break(())) } else { collector.message(message) }
    };
    shared.run(&reader, &mut take)?;
    let report = collector.finish();
    let Some(path) = report.path() else { return Ok(b"null".to_vec()) };
    let timeline = shared.build.timeline();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("total").unsigned(path.steps.len() as u64);
    object.member("complete").boolean(path.is_complete && !is_late);
    let during = format!("@{},@{}", since_origin(begin), since_origin(end));
    let verb = format!("threads --path {thread} --during {during}");
    object.member("command").string(&command(shared, &verb, &Query::new("")?, None));
    let mut list = object.member("steps").array();
    for step in path.steps.iter().take(MOST_STEPS) {
        let mut entry = list.element().object();
        write_step(&mut entry, &timeline, step);
        entry.end();
    }
    list.end();
    object.end();
    Ok(out)
}

fn write_step(object: &mut ObjectWriter<'_>, timeline: &Timeline, step: &PathStep) {
    let track = |thread| timeline.track_of_thread(step.trace, thread);
    let name = |thread, names: &ThreadNames| names.name.as_ref().map(|_| names.label(thread));
    object.member("thread").unsigned(step.thread);
    write_named_track(object, timeline, track(step.thread), name(step.thread, &step.names).as_deref());
    object.member("state").string(step.state.name());
    write_time(object.member("begin"), Some(step.begin));
    write_time(object.member("end"), Some(step.end));
    object.unsigned("processor", step.processor);
    object.string("waitsIn", step.reason.as_deref());
    let Some(waker) = &step.waker else { return };
    let mut ended = object.member("endedBy").object();
    match waker {
        Waker::Thread(thread, names) => {
            ended.member("thread").unsigned(*thread);
            write_named_track(&mut ended, timeline, track(*thread), name(*thread, names).as_deref());
        }
        Waker::Interrupt(name) => ended.member("interrupt").string(name.as_deref().unwrap_or_default()),
        _ => {}
    }
    ended.end();
}
