//! Answers embedded in a saved page.

use std::sync::Arc;

use ichnos::json::write::ValueWriter;
use ichnos::viewers::{CLOCK_ORIGIN, since_origin};

use super::{events, flows, longest, overview, statistics, tiles};
use crate::app_state::AppState;
use crate::directories::TraceDirectories;
use crate::query::Query;
use crate::response::ApiError;

/// Number of events, and of log lines.
const ROWS: u32 = 1_000;

/// Maximum number of flows, and number of pixels that separate them.
const FLOWS: u32 = 10_000;
const FLOW_PIXELS: u32 = 8_192;

/// Maximum and minimum number of pixels per track, and maximum size of all tiles in bytes. The number of pixels is
/// halved until the tiles fit.
const MOST_PIXELS: u32 = 4_096;
const FEWEST_PIXELS: u32 = 64;
const MOST_TILES: usize = 8 << 20;

/// Returns the answers for the whole trace as an object, by request name. The trace directories are removed. `<` is
/// escaped, so that the object can be embedded in a script element.
pub(crate) fn saved(shared: &Arc<AppState>, directories: &TraceDirectories) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = shared.build.status().range.unwrap_or((CLOCK_ORIGIN, CLOCK_ORIGIN));
    let times = format!("begin={}&end={}", since_origin(begin), since_origin(end));
    let all = Query::new("")?;
    let range = Query::new(&format!("{times}&limit={ROWS}"))?;
    let arrows = Query::new(&format!("{times}&pixels={FLOW_PIXELS}&limit={FLOWS}"))?;
    let answers = [
        ("trace", overview::trace(shared)?),
        ("tracks", overview::tracks(shared, &all)?),
        ("names", overview::names_in(shared, 0, u32::MAX)),
        ("tiles", picture(shared, (begin, end))),
        ("flows", flows::flows(shared, &arrows)?),
        ("stats", statistics::stats(shared, &range)?),
        ("longest", longest::longest(shared, &range)?),
        ("stacks", statistics::stacks(shared, &range)?),
        ("events", events::events(shared, &range)?),
        ("log", events::log(shared, &range)?),
    ];
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    for (name, answer) in answers {
        let place = object.member(name).raw();
        let answer = directories.without_in_json(&answer);
        for (index, part) in answer.split(|byte| *byte == b'<').enumerate() {
            if index > 0 {
                place.extend_from_slice(b"\\u003c");
            }
            place.extend_from_slice(part);
        }
    }
    object.end();
    Ok(out)
}

/// Writes all tracks at the finest resolution that fits.
fn picture(shared: &AppState, range: (u64, u64)) -> Vec<u8> {
    let mut pixels = MOST_PIXELS;
    loop {
        let out = tiles::all(shared, range, pixels);
        if out.len() <= MOST_TILES || pixels <= FEWEST_PIXELS {
            return out;
        }
        pixels /= 2;
    }
}
