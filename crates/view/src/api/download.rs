//! Text file downloads: events of a range.

use std::net::TcpStream;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use ichnos::export::{Csv, CsvColumns, CsvOptions};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::Sink;
use ichnos::model::locks::IgnorePoison as _;
use ichnos::{Pass, PassEnd};

use super::scan::window;
use super::trace_file;
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::{ApiError, ChunkedBody};

/// Returns the CSV options with the columns of all selected events, as in `cat`.
fn csv_options(shared: &AppState) -> Result<CsvOptions, ApiError> {
    let session = &shared.session;
    let is_dynamic = session.traces().iter().any(|trace| trace.has_dynamic_classes());
    if is_dynamic && !session.is_live() && !shared.build.status().is_complete {
        // Classes are only known after their events were read.
        let stop = shared.options.stop;
        session.stream_reader().for_each_head(|_, _| {
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    let mut options = CsvOptions::default();
    let columns = shared.options.selection.csv_columns(session, options.time);
    let too_many = || {
        let most = CsvColumns::MOST;
        ApiError::bad(format!("the events have more than {most} fields, one column each: choose JSON Lines"))
    };
    options.columns = columns.ok_or_else(too_many)?.into();
    Ok(options)
}

/// Sends the events of a range as a text file. Connection errors are ignored.
pub(crate) fn export(shared: &Arc<AppState>, query: &Query, stream: &mut TcpStream) -> Result<(), ApiError> {
    let shared = &*shared.with_offsets(query)?;
    let (begin, end) = query.range()?;
    let (kind, ending) = match query.text("kind") {
        Some("trace") => return trace_file::export(shared, query, stream),
        Some("jsonl") => ("application/x-ndjson", "jsonl"),
        Some("csv") => ("text/csv; charset=utf-8", "csv"),
        _ => return Err(ApiError::bad("kind: csv, jsonl or trace")),
    };
    let mut selection = shared.options.selection.clone();
    if let Some(text) = query.text("filter") {
        let selector = Mutex::new(shared.filter(text)?.selector());
        selection = selection.condition(move |event| selector.lock().ignore_poison().selects(event));
    }
    let csv = if ending == "csv" { csv_options(shared)? } else { CsvOptions::default() };
    let reader = shared.reader(window(begin, end))?;
    let disposition = format!("Content-Disposition: attachment; filename=\"events.{ending}\"\r\n");
    let Ok(mut body) = ChunkedBody::begin(stream, kind, &disposition) else { return Ok(()) };
    let mut sink: Box<dyn Sink + '_> = match ending {
        "csv" => Box::new(Csv::new(&mut body, csv)),
        _ => Box::new(JsonLines::new(&mut body, JsonLinesOptions::default())),
    };
    let pass = Pass::new(selection).stop(shared.options.stop);
    let end = reader.pass().with(pass).run(&mut *sink);
    let is_complete = end.is_ok_and(|summary| matches!(summary.end, PassEnd::Over));
    drop(sink);
    if is_complete {
        // The client may have disconnected.
        let _ = body.finish();
    }
    Ok(())
}
