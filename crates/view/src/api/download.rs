//! Events of a range as a file of text.

use std::io::BufWriter;
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos::Pass;
use ichnos::export::{Csv, CsvOptions};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::{Message, Sink, Window};

use super::trace_file;
use crate::query::Query;
use crate::response::{ApiError, write_head};
use crate::shared::Shared;

/// Size of what is written at once, in bytes.
const BUFFER: usize = 64 << 10;

/// Sends the events of a range as a file of text. Errors of the connection affect no other one.
pub(crate) fn export(shared: &Arc<Shared>, query: &Query, stream: &mut TcpStream) -> Result<(), ApiError> {
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
        selection = selection
            .condition(move |event| selector.lock().unwrap_or_else(PoisonError::into_inner).selects(event));
    }
    let window = Window { begin: Some(i128::from(begin)), end: Some(i128::from(end)) };
    let reader = shared.reader(window)?;
    let disposition = format!("Content-Disposition: attachment; filename=\"events.{ending}\"\r\n");
    if write_head(stream, 200, kind, None, &disposition).is_err() {
        return Ok(());
    }
    let writer = BufWriter::with_capacity(BUFFER, stream);
    let mut sink: Box<dyn Sink + '_> = match ending {
        "csv" => Box::new(Csv::new(writer, CsvOptions::default())),
        _ => Box::new(JsonLines::new(writer, JsonLinesOptions::default())),
    };
    let mut take = |message: &Message<'_>| -> std::io::Result<ControlFlow<()>> { sink.message(message) };
    // The reader of the file is gone, or gets less than there is.
    if Pass::new(selection).stop(shared.options.stop).run(&reader, &mut take).is_ok() {
        let _ = sink.finish();
    }
    Ok(())
}
