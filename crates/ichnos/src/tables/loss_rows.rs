//! Discarded events, and unreadable data.

use ichnos_model::event::EventCounts;
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{Message, Window};
use ichnos_table::arrow_schema::DataType;
use ichnos_table::{RecordRows, RowCell};

use super::row_source::{RowColumns, RowSource, count_events, row_error};
use crate::Session;
use crate::query::{QueryError, StreamPart, TraceQuery};

/// Columns.
pub(super) const COLUMNS: RowColumns = &[
    ("trace", DataType::Utf8),
    ("stream", DataType::Int32),
    ("stream_name", DataType::Utf8),
    ("kind", DataType::Utf8),
    ("count", DataType::UInt64),
    ("begin_ts", DataType::Int64),
    ("end_ts", DataType::Int64),
    ("thread", DataType::UInt64),
    ("file", DataType::Utf8),
    ("byte", DataType::UInt64),
    ("skipped_bytes", DataType::UInt64),
    ("problem", DataType::Utf8),
];

/// Makes the rows of one data stream after the other.
#[derive(Default)]
pub(super) struct LossRows {
    /// Next data stream. The first rows are of the traces.
    next: Option<usize>,
}

impl RowSource for LossRows {
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let Some(number) = self.next else {
            of_traces(query.session(), rows)?;
            self.next = Some(0);
            return Ok(true);
        };
        let streams = query.streams();
        let Some(part) = streams.get(number) else { return Ok(false) };
        of_stream(part, number, rows, goes_on)?;
        self.next = Some(number + 1);
        Ok(true)
    }
}

fn of_traces(session: &Session, rows: &mut RecordRows) -> Result<(), QueryError> {
    for found in session.problems() {
        add_problem(None, None, &found.message, rows)?;
    }
    for refused in session.refused() {
        for found in &refused.diagnostics {
            add_problem(Some(&refused.path), Some(&found.file), &found.to_string(), rows)?;
        }
    }
    for trace in session.traces() {
        for damage in trace.damage() {
            add_damage(trace.path(), None, damage, rows)?;
        }
    }
    Ok(())
}

fn add_problem(
    trace: Option<&str>,
    file: Option<&str>,
    text: &str,
    rows: &mut RecordRows,
) -> Result<(), QueryError> {
    let mut row = [const { RowCell::Null }; COLUMNS.len()];
    row[0] = trace.into();
    row[3] = "unreadable".into();
    row[8] = file.into();
    row[11] = text.into();
    rows.add(&row).map_err(row_error)
}

fn of_stream(
    part: &StreamPart<'_>,
    number: usize,
    rows: &mut RecordRows,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<(), QueryError> {
    let Some(cursor) = part.trace.cursor(part.index, Window::default()) else { return Ok(()) };
    count_events(cursor, &mut EventCounts::default(), goes_on, |message| match message {
        Message::DiscardedEvents(loss) => add_loss(part, number, loss, "events", rows),
        Message::DiscardedPackets(loss) => add_loss(part, number, loss, "packets", rows),
        Message::Damage(damage) => {
            add_damage(part.trace.path(), Some((number, &part.stream.name)), damage, rows)
        }
        _ => Ok(()),
    })
}

fn add_loss(
    part: &StreamPart<'_>,
    number: usize,
    loss: &Discarded<'_>,
    kind: &str,
    rows: &mut RecordRows,
) -> Result<(), QueryError> {
    let row = [
        part.trace.path().into(),
        number.into(),
        (&*part.stream.name).into(),
        kind.into(),
        loss.count.into(),
        loss.begin.map(|begin| begin.nanoseconds).into(),
        loss.end.map(|end| end.nanoseconds).into(),
        loss.thread.into(),
    ];
    rows.add(&row).map_err(row_error)
}

fn add_damage(
    path: &str,
    stream: Option<(usize, &str)>,
    damage: &Damage,
    rows: &mut RecordRows,
) -> Result<(), QueryError> {
    let row = [
        path.into(),
        stream.map(|(number, _)| number).into(),
        stream.map(|(_, name)| name).or(damage.stream.as_deref()).into(),
        "damage".into(),
        RowCell::Null,
        RowCell::Null,
        RowCell::Null,
        RowCell::Null,
        damage.file.as_str().into(),
        (damage.bit / 8).into(),
        damage.skipped.div_ceil(8).into(),
        damage.kind.to_string().into(),
    ];
    rows.add(&row).map_err(row_error)
}
