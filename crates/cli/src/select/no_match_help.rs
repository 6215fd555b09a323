//! Explains empty selections: options without matches, and alternatives.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::Session;
use ichnos::export::text::{count, seconds};
use ichnos::model::clock::ClockOrigin;
use ichnos::model::trace::StreamSummary;
use ichnos::model::{DataStream, Window};

use crate::args::time::show;
use crate::progress::{Console, interrupt};
use crate::select::{Patterns, Selection};
use crate::suggestions::{alternatives, did_you_mean, list};

/// Maximum number of names to list in help.
const LISTED: usize = 8;

/// Reports patterns without matches. If no event was selected, also reports the likely reason.
pub(crate) fn explain(
    session: &Session,
    selection: &Selection,
    window: Window,
    events: u64,
    console: Console,
) {
    let has_patterns =
        selection.streams.is_some() || selection.events.is_some() || selection.filter.is_some();
    if selection.limit == Some(0) || (!has_patterns && events > 0) {
        return;
    }
    let streams: Vec<StreamSummary> = session.traces().iter().flat_map(|trace| trace.streams()).collect();
    let is_explained = warn_of_streams(session, selection, &streams, console);
    let is_explained =
        warn_of_events(session, selection, &streams, events, "--event", console) || is_explained;
    let is_explained = selection.review(console) || is_explained;
    if events == 0 && !is_explained && !session.is_live() {
        warn_of_times(session, selection, window, console);
    }
}

/// Reports event name patterns without matches, for an option other than `--event`.
pub(crate) fn explain_events(session: &Session, selection: &Selection, option: &str, console: Console) {
    let streams: Vec<StreamSummary> = session.traces().iter().flat_map(|trace| trace.streams()).collect();
    warn_of_events(session, selection, &streams, 1, option, console);
}

/// Reports patterns that match no data stream. Returns `true` if something was reported.
fn warn_of_streams(
    session: &Session,
    selection: &Selection,
    streams: &[StreamSummary],
    console: Console,
) -> bool {
    let of_streams = streams.iter().map(|summary| &*summary.stream.name);
    // Unreadable files can also be selected.
    let damage = session.traces().iter().flat_map(|trace| trace.damage());
    let names: Vec<&str> = of_streams.chain(damage.map(|damage| damage.file.as_str())).collect();
    // The data streams of a live input are known only while it is read.
    if session.traces().iter().any(|trace| trace.has_dynamic_streams()) {
        return false;
    }
    let mut is_explained = false;
    for (pattern, alone) in selection.streams.iter().flat_map(Patterns::each) {
        if names.iter().any(|name| alone.matches(name) || alone.matches(last(name))) {
            continue;
        }
        let files = names.iter().map(|name| last(name));
        let help = advice(pattern, files.clone().chain(names.iter().copied()), "data stream", files);
        console.warning_with_help(&format!("no data stream matches `--stream {pattern}`"), &help);
        is_explained = true;
    }
    is_explained
}

/// Reports patterns that match no event record class. Returns `true` if something was reported.
fn warn_of_events(
    session: &Session,
    selection: &Selection,
    streams: &[StreamSummary],
    events: u64,
    option: &str,
    console: Console,
) -> bool {
    // Classes found while reading are complete only at the end.
    let is_partial = !selection.reads_all && session.traces().iter().any(|trace| trace.has_dynamic_classes());
    let selected: Vec<&StreamSummary> =
        streams.iter().filter(|summary| selection.wants_file(&summary.stream.name)).collect();
    if selection.events.is_none() || selected.is_empty() || (events > 0 && is_partial) {
        return false;
    }
    let all = names_of(streams.iter());
    let names = names_of(selected.iter().copied());
    if session.traces().iter().any(|trace| trace.has_dynamic_streams()) {
        return false;
    }
    let mut is_explained = false;
    for (pattern, alone) in selection.events.iter().flat_map(Patterns::each) {
        if names.iter().any(|name| alone.matches(name)) {
            continue;
        }
        let elsewhere = all.iter().any(|name| alone.matches(name));
        let (text, help) = if elsewhere {
            let text = format!("no event in the selected data streams matches `{option} {pattern}`");
            (text, "events with that name are in data streams excluded by --stream".to_owned())
        } else {
            let names = names.iter().map(String::as_str);
            let help = advice(pattern, names.clone(), "event record class", names);
            (format!("no event record class matches `{option} {pattern}`"), help)
        };
        console.warning_with_help(&text, &help);
        is_explained = true;
    }
    is_explained
}

/// Returns all event record class names in some data streams, sorted and without duplicates.
fn names_of<'a>(streams: impl Iterator<Item = &'a StreamSummary>) -> Vec<String> {
    let mut names = Vec::new();
    let mut known: HashSet<(usize, usize)> = HashSet::new();
    for summary in streams {
        let stream = &summary.stream;
        // Classes keep their addresses while their trace is open.
        if !known.insert((Arc::as_ptr(&stream.trace) as usize, stream.class_index)) {
            continue;
        }
        let class = stream.trace.class_with_dynamic();
        let records = class.data_streams.get(stream.class_index).map(|class| class.event_records.clone());
        names.extend(records.unwrap_or_default().iter().filter_map(|class| class.name.clone()));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Suggests similar names, or lists the existing names.
fn advice<'a>(
    pattern: &str,
    names: impl IntoIterator<Item = &'a str>,
    what: &str,
    listed: impl IntoIterator<Item = &'a str>,
) -> String {
    let plain: String = pattern.chars().filter(|c| !matches!(c, '*' | '?')).collect();
    if let Some(similar) = did_you_mean(&plain, names) {
        return similar;
    }
    let mut listed: Vec<&str> = listed.into_iter().collect();
    listed.sort_unstable();
    listed.dedup();
    match listed.as_slice() {
        [] => format!("the traces have no {what}"),
        [only] => format!("the only {what} is `{only}`"),
        few if few.len() <= LISTED => {
            format!("there are {}", list(few.iter().copied()))
        }
        many => format!("`ichnos info` lists the {}", count(many.len() as u64, what)),
    }
}

/// Reports the time range of the events if a time was selected.
fn warn_of_times(session: &Session, selection: &Selection, window: Window, console: Console) {
    if window == Window::default() {
        if selection.stream_intersection {
            console
                .warning("no event is in the time range in which all data streams of its trace are active");
        } else if selection.filter.is_some() {
            console.warning("no event matches --filter");
        } else if let Some(patterns) = &selection.events {
            console.warning_with_help(
                &format!("no event matches {}", options("--event", patterns)),
                "the traces have such event record classes, but do not contain their events",
            );
        }
        return;
    }
    let mut clocks = session.traces().iter().flat_map(|trace| &trace.trace().class.clocks);
    let is_epoch = clocks.all(|clock| clock.origin == ClockOrigin::UnixEpoch);
    let show = |time: i128| if is_epoch { show(time, selection.times.gmt) } else { seconds(time) };
    let range = match (window.begin, window.end) {
        (Some(begin), Some(end)) => format!("from {} to {}", show(begin), show(end)),
        (Some(begin), None) => format!("from {} on", show(begin)),
        (None, Some(end)) => format!("up to {}", show(end)),
        (None, None) => String::new(),
    };
    let which = match &selection.events {
        _ if selection.filter.is_some() => "no event matching --filter is".to_owned(),
        None => "no event is".to_owned(),
        Some(patterns) => format!("no event matching {} is", options("--event", patterns)),
    };
    let help = match times(session, selection) {
        Some((begin, end)) => format!("the events are between {} and {}", show(begin), show(end)),
        None => "all events in the traces lack times".to_owned(),
    };
    console.warning_with_help(&format!("{which} in the time range {range}"), &help);
}

fn options(name: &str, patterns: &Patterns) -> String {
    let options: Vec<String> = patterns.texts().iter().map(|pattern| format!("{name} {pattern}")).collect();
    alternatives(options.iter().map(String::as_str))
}

/// Returns the first and last time of the selected data streams, from their packets or else their events.
fn times(session: &Session, selection: &Selection) -> Option<(i128, i128)> {
    let mut range: Option<(i128, i128)> = None;
    let mut add = |begin: i128, end: i128| {
        range = Some(range.map_or((begin, end), |range| (range.0.min(begin), range.1.max(end))));
    };
    let mut untimed: HashSet<u32> = HashSet::new();
    let streams = session.traces().iter().flat_map(|trace| trace.streams());
    for summary in streams.filter(|summary| selection.wants_file(&summary.stream.name)) {
        match summary.time_range {
            Some((begin, end)) => add(begin, end),
            None => drop(untimed.insert(summary.stream.key)),
        }
    }
    let mut is_interrupted = false;
    let is_untimed = |stream: &DataStream| untimed.contains(&stream.key);
    session.stream_reader_of(Window::default(), is_untimed).for_each_head(|_, head| {
        if let Some(time) = head.nanoseconds() {
            add(time, time);
        }
        is_interrupted |= interrupt::is_requested();
        if is_interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if is_interrupted {
        return None;
    }
    range
}

/// Returns the last component of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
