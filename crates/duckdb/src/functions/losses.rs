//! `trace_losses`: discarded events, and unreadable data.

use std::collections::VecDeque;
use std::ffi::CStr;

use ichnos::Session;
use ichnos::model::cursor::MessageKind;
use ichnos::model::event::EventCounts;
use ichnos::model::message::{Damage, Discarded};
use ichnos::model::{Message, Window};

use crate::duckdb::{CallArguments, ColumnType, Parameter};
use crate::query::{self, StreamPlace};
use crate::rows::{Cell, RowSource, SqlRow};

/// The table.
pub(crate) struct Losses;

impl RowSource for Losses {
    const NAME: &'static CStr = c"trace_losses";
    const PARAMETERS: &'static [Parameter] = &[];
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("trace", ColumnType::Text),
        ("stream", ColumnType::Int32),
        ("stream_name", ColumnType::Text),
        ("kind", ColumnType::Text),
        ("count", ColumnType::UInt64),
        ("begin_ts", ColumnType::Int64),
        ("end_ts", ColumnType::Int64),
        ("thread", ColumnType::UInt64),
        ("file", ColumnType::Text),
        ("byte", ColumnType::UInt64),
        ("skipped_bytes", ColumnType::UInt64),
        ("problem", ColumnType::Text),
    ];
    type Call = Session;
    /// Next data stream. The first rows are of the traces.
    type State = Option<usize>;

    fn bind(arguments: &CallArguments) -> Result<Session, String> {
        query::open(arguments)
    }

    fn start(_: &Session, _: &[usize]) -> Result<Option<usize>, String> {
        Ok(None)
    }

    fn read(
        session: &Session,
        next: &mut Option<usize>,
        rows: &mut VecDeque<SqlRow>,
    ) -> Result<bool, String> {
        let Some(number) = *next else {
            of_traces(session, rows);
            *next = Some(0);
            return Ok(true);
        };
        let streams = query::streams(session);
        let Some(place) = streams.get(number) else { return Ok(false) };
        of_stream(place, number, rows);
        *next = Some(number + 1);
        Ok(number + 1 < streams.len())
    }
}

fn of_traces(session: &Session, rows: &mut VecDeque<SqlRow>) {
    let problem = |trace: Option<&str>, file: Option<&str>, text: String| {
        let mut row = vec![Cell::Null; Losses::COLUMNS.len()];
        row[0] = trace.into();
        row[3] = "unreadable".into();
        row[8] = file.into();
        row[11] = text.into();
        row
    };
    rows.extend(session.problems().iter().map(|found| problem(None, None, found.message.clone())));
    for refused in session.refused() {
        let diagnostics = refused.diagnostics.iter();
        rows.extend(
            diagnostics.map(|found| problem(Some(&refused.path), Some(&found.file), found.to_string())),
        );
    }
    for trace in session.traces() {
        rows.extend(trace.damage().iter().map(|damage| of_damage(trace.path(), None, damage)));
    }
}

fn of_stream(place: &StreamPlace<'_>, number: usize, rows: &mut VecDeque<SqlRow>) {
    let Some(mut cursor) = place.trace.cursor(place.index, Window::default()) else { return };
    let mut counts = EventCounts::default();
    while let Some(head) = cursor.count_events(u32::MAX, &mut counts) {
        if head.kind == MessageKind::Event {
            continue;
        }
        match cursor.current() {
            Some(Message::DiscardedEvents(loss)) => rows.push_back(of_loss(place, number, &loss, "events")),
            Some(Message::DiscardedPackets(loss)) => rows.push_back(of_loss(place, number, &loss, "packets")),
            Some(Message::Damage(damage)) => {
                rows.push_back(of_damage(place.trace.path(), Some((number, &place.stream.name)), damage));
            }
            _ => {}
        }
    }
}

fn of_loss(place: &StreamPlace<'_>, number: usize, loss: &Discarded<'_>, kind: &str) -> SqlRow {
    vec![
        place.trace.path().into(),
        number.into(),
        (&*place.stream.name).into(),
        kind.into(),
        loss.count.into(),
        loss.begin.map(|begin| begin.nanoseconds).into(),
        loss.end.map(|end| end.nanoseconds).into(),
        loss.thread.into(),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]
}

fn of_damage(path: &str, stream: Option<(usize, &str)>, damage: &Damage) -> SqlRow {
    vec![
        path.into(),
        stream.map(|(number, _)| number).into(),
        stream.map(|(_, name)| name).or(damage.stream.as_deref()).into(),
        "damage".into(),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
        damage.file.as_str().into(),
        (damage.bit / 8).into(),
        damage.skipped.div_ceil(8).into(),
        damage.kind.to_string().into(),
    ]
}
