//! `trace_classes`: event record classes and the numbers of their events.

use std::collections::VecDeque;
use std::ffi::CStr;

use ichnos::Session;
use ichnos::model::Window;
use ichnos::model::event::EventCounts;

use crate::duckdb::{CallArguments, ColumnType, Parameter};
use crate::query;
use crate::rows::{RowSource, SqlRow};

/// The table.
pub(crate) struct Classes;

/// Progress.
pub(crate) struct State {
    /// Next trace.
    next: usize,
    /// `true` if events are counted.
    counts: bool,
}

/// Place of the column with the number of events.
const EVENTS: usize = 5;

impl RowSource for Classes {
    const NAME: &'static CStr = c"trace_classes";
    const PARAMETERS: &'static [Parameter] = &[];
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("trace", ColumnType::Text),
        ("stream_class", ColumnType::Text),
        ("event", ColumnType::Text),
        ("namespace", ColumnType::Text),
        ("id", ColumnType::UInt64),
        ("events", ColumnType::UInt64),
        ("log_level", ColumnType::Int64),
        ("uid", ColumnType::Text),
    ];
    type Call = Session;
    type State = State;

    fn bind(arguments: &CallArguments) -> Result<Session, String> {
        query::open(arguments)
    }

    fn start(_: &Session, wanted: &[usize]) -> Result<State, String> {
        Ok(State { next: 0, counts: wanted.contains(&EVENTS) })
    }

    fn read(session: &Session, state: &mut State, rows: &mut VecDeque<SqlRow>) -> Result<bool, String> {
        let Some(trace) = session.traces().get(state.next) else { return Ok(false) };
        state.next += 1;
        let classes = &trace.trace().class.data_streams;
        let mut counts: Vec<EventCounts> = classes.iter().map(|_| EventCounts::default()).collect();
        // Dynamic classes are known once all events were read.
        if state.counts || trace.has_dynamic_classes() {
            for (index, stream) in trace.data_streams().into_iter().enumerate() {
                let cursor = trace.cursor(index, Window::default());
                let (Some(mut cursor), Some(counts)) = (cursor, counts.get_mut(stream.class_index)) else {
                    continue;
                };
                while cursor.count_events(u32::MAX, counts).is_some() {}
            }
        }
        for (index, (class, counts)) in classes.iter().zip(&counts).enumerate() {
            for (number, record) in trace.trace().event_records(index).enumerate() {
                let events = counts.by_class.get(number).copied().unwrap_or(0);
                rows.push_back(vec![
                    trace.path().into(),
                    class.name.as_deref().into(),
                    record.name.as_deref().into(),
                    record.namespace.as_deref().into(),
                    u64::try_from(record.id).ok().into(),
                    state.counts.then_some(events).into(),
                    record.log_level.into(),
                    record.uid.as_deref().into(),
                ]);
            }
        }
        Ok(state.next < session.traces().len())
    }
}
