//! Timeline tiles: items of tracks in a range, summarized to pixels.

use std::sync::Arc;

use ichnos::json::write::{ArrayWriter, ValueWriter};
use ichnos::viewers::{Timeline, TimelineTrack, TimelineTrackKind};

use super::overview::{write_float, write_time};
use super::program_spans::program_spans;
use super::range;
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Maximum number of pixels per track, and of tracks in an answer.
pub(super) const MOST_PIXELS: u64 = 8_192;
const MOST_TRACKS: usize = 256;

/// Parameters of a tile request.
struct TileQuery {
    tracks: Vec<u32>,
    begin: u64,
    end: u64,
    pixels: u32,
}

impl TileQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let (begin, end) = query.range()?;
        let pixels = query.bounded("pixels", MOST_PIXELS, 1_000)?.max(1) as u32;
        Ok(Self { tracks: track_numbers(query)?, begin, end, pixels })
    }
}

/// Returns the track numbers in a request.
pub(super) fn track_numbers(query: &Query) -> Result<Vec<u32>, ApiError> {
    let numbers = query.text("tracks").into_iter().flat_map(|text| text.split(','));
    let number =
        |text: &str| text.parse().map_err(|_| ApiError::bad(format!("invalid track number `{text}`")));
    let tracks: Vec<u32> = numbers.map(number).collect::<Result<_, _>>()?;
    match tracks.len() <= MOST_TRACKS {
        true => Ok(tracks),
        false => Err(ApiError::bad(format!("tracks: at most {MOST_TRACKS}, found {}", tracks.len()))),
    }
}

/// Answers with the items of tracks.
pub(super) fn tiles(shared: &Arc<AppState>, query: &Query) -> Result<Vec<u8>, ApiError> {
    let request = TileQuery::from_query(query)?;
    let build = &shared.build_of(query)?;
    let status = build.status();
    let width = (request.end - request.begin) / u64::from(request.pixels);
    let is_main = Arc::ptr_eq(build, &shared.build);
    let is_exact = {
        let resolution = build.timeline().resolution();
        resolution == 0 || width >= resolution
    };
    let part = match is_exact || !is_main {
        true => None,
        false => {
            let read = || range::read(shared, request.begin, request.end);
            shared.parts.find((request.begin, request.end), read)?
        }
    };
    let is_exact = (is_exact || part.is_some()) && (is_main || status.is_complete);
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    // The generation of the timeline of all events, which pages compare with the latest change.
    object.member("generation").unsigned(shared.build.status().generation);
    write_time(object.member("begin"), Some(request.begin));
    write_time(object.member("end"), Some(request.end));
    object.member("exact").boolean(is_exact);
    let mut list = object.member("tracks").array();
    match &part {
        Some(part) => {
            let mut part = part.timeline();
            let mut whole = build.timeline();
            for track in &request.tracks {
                // Losses are reported at their ends, which can be after the part.
                let is_loss = kind(&whole, *track) == Some(TimelineTrackKind::Losses);
                write_track(&mut list, if is_loss { &mut whole } else { &mut part }, &request, *track);
            }
        }
        None => {
            let mut whole = build.timeline();
            request.tracks.iter().for_each(|track| write_track(&mut list, &mut whole, &request, *track));
        }
    }
    list.end();
    object.end();
    Ok(out)
}

/// Writes the items of all tracks in a range from the timeline, without reading again.
pub(super) fn all(shared: &AppState, (begin, end): (u64, u64), pixels: u32) -> Vec<u8> {
    let mut timeline = shared.build.timeline();
    let request = TileQuery { tracks: Vec::new(), begin, end, pixels };
    let resolution = timeline.resolution();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    write_time(object.member("begin"), Some(begin));
    write_time(object.member("end"), Some(end));
    object.member("pixels").unsigned(pixels.into());
    let is_exact = resolution == 0 || (end - begin) / u64::from(pixels) >= resolution;
    object.member("exact").boolean(is_exact);
    let mut list = object.member("tracks").array();
    let tracks = 0..timeline.tracks().len() as u32;
    tracks.for_each(|track| write_track(&mut list, &mut timeline, &request, track));
    list.end();
    object.end();
    out
}

fn kind(timeline: &Timeline, track: u32) -> Option<TimelineTrackKind> {
    timeline.tracks().get(track as usize).map(|track| track.kind)
}

fn write_track(list: &mut ArrayWriter<'_>, timeline: &mut Timeline, request: &TileQuery, track: u32) {
    let TileQuery { begin, end, pixels, .. } = *request;
    let relative = |time: u64| time.wrapping_sub(begin).cast_signed();
    let mut object = list.element().object();
    object.member("id").unsigned(track.into());
    if kind(timeline, track) == Some(TimelineTrackKind::Counter) {
        let mut values = object.member("counter").array();
        for item in timeline.values(track, begin, end, pixels) {
            values.element().signed(relative(item.begin));
            values.element().signed(relative(item.end));
            write_float(values.element(), item.minimum);
            write_float(values.element(), item.maximum);
            write_float(values.element(), item.last);
            values.element().unsigned(item.count);
        }
        values.end();
    } else {
        let mut items = object.member("items").array();
        let is_processor =
            timeline.tracks().get(track as usize).is_some_and(TimelineTrack::is_of_running_threads);
        let spans = match is_processor {
            true => program_spans(timeline, track, (begin, end), pixels),
            false => timeline.spans(track, begin, end, pixels.into()),
        };
        for (lane, item) in spans {
            items.element().unsigned(lane.into());
            items.element().signed(relative(item.begin));
            items.element().signed(relative(item.end));
            items.element().unsigned(item.count.into());
            items.element().unsigned(item.name.into());
            items.element().unsigned(item.longest);
        }
        items.end();
    }
    object.end();
}
