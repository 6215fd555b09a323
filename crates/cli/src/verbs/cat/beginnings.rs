//! Reads the first events in packed files without unpacking whole files, which would take long.
//!
//! The beginning of each packed file is opened as if it were the whole file, and read until all needed events were
//! found. If no damage occurs and no such file ends before, these are the first events in the whole trace. Otherwise,
//! all files must be unpacked.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ichnos::model::Message;
use ichnos::model::trace::StreamSummary;
use ichnos::{OpenError, Pass, Session};

use crate::args::Reading;
use crate::exit::Failure;
use crate::input::{self, OpenRequest};
use crate::progress::{Console, interrupt};
use crate::select::Selection;

/// Maximum number of events to look for in the beginnings.
const MOST_EVENTS: u64 = 10_000;
/// Number of bytes to read from each packed file.
const BEGINNING: u64 = 4 << 20;

/// Opens the beginnings of packed files. Returns `None` if the selected events need whole files.
pub(crate) fn open(
    reading: &Reading,
    request: OpenRequest<'_>,
    selection: &Selection,
    console: Console,
) -> Result<Option<Session>, Failure> {
    let is_few = selection.limit.is_some_and(|limit| limit <= MOST_EVENTS);
    // A pipe can only be read once, and directories are not packed.
    let is_packed = |path: &std::path::PathBuf| path.as_os_str() != "-" && path.is_file();
    // The time when all data streams are active depends on their ends.
    let needs_ends = selection.stream_intersection;
    if !is_few
        || needs_ends
        || reading.paths.is_empty()
        || reading.manifest.is_some()
        || !reading.paths.iter().all(is_packed)
    {
        return Ok(None);
    }
    let Some(session) = request.open_beginnings(BEGINNING, console)? else { return Ok(None) };
    if !is_enough(&session, selection).unwrap_or(false) {
        return Ok(None);
    }
    input::check(reading, &session, console)?;
    Ok(Some(session))
}

/// Returns `true` if the beginnings certainly contain all selected events.
fn is_enough(session: &Session, selection: &Selection) -> Result<bool, OpenError> {
    if !session.refused().is_empty() {
        return Ok(false);
    }
    let begun: HashSet<&str> = session.beginnings().iter().map(String::as_str).collect();
    if begun.is_empty() {
        // Every file was opened completely.
        return Ok(true);
    }
    let summaries: Vec<StreamSummary> = session.traces().iter().flat_map(|trace| trace.streams()).collect();
    let files = |summary: &StreamSummary| summary.files.iter().any(|file| begun.contains(file.as_str()));
    let known: HashSet<&str> =
        summaries.iter().flat_map(|summary| &summary.files).map(String::as_str).collect();
    // Metadata and other files must be complete.
    if !begun.is_subset(&known) {
        return Ok(false);
    }
    let begun: HashSet<&str> =
        summaries.iter().filter(|summary| files(summary)).map(|summary| &*summary.stream.name).collect();
    let Ok(window) = selection.times.window(session) else { return Ok(false) };
    let reader = selection.selected.reader(session, window)?;
    let limit = selection.limit.unwrap_or_default();
    let pass = Pass::new(selection.selected.clone()).limit(limit).strict(true);
    let until_end = &mut |message: &Message<'_>| {
        let is_beyond = match message {
            Message::StreamEnd(stream) => begun.contains(&*stream.name),
            _ => interrupt::is_requested(),
        };
        Ok(if is_beyond { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    Ok(reader.pass().with(pass).run(until_end).is_ok_and(|summary| summary.counts.events >= limit))
}
