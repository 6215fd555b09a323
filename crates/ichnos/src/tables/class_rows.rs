//! Event record classes and the numbers of their events.

use ichnos_model::event::EventCounts;
use ichnos_model::{OpenedTrace, Window};
use ichnos_table::RecordRows;
use ichnos_table::arrow_schema::DataType;

use super::row_source::{RowColumns, RowSource, count_events, row_error};
use crate::query::{QueryError, TraceQuery};

/// Columns.
pub(super) const COLUMNS: RowColumns = &[
    ("trace", DataType::Utf8),
    ("stream_class", DataType::Utf8),
    ("event", DataType::Utf8),
    ("namespace", DataType::Utf8),
    ("id", DataType::UInt64),
    ("events", DataType::UInt64),
    ("log_level", DataType::Int64),
    ("uid", DataType::Utf8),
];

/// Index of the column with the number of events.
pub(super) const EVENTS: usize = 5;

/// Makes the rows of one trace after the other.
pub(super) struct ClassRows {
    /// Next trace.
    next: usize,
    /// `true` if events are counted.
    counts: bool,
}

impl ClassRows {
    pub(super) fn new(counts: bool) -> Self {
        Self { next: 0, counts }
    }
}

/// Finds the classes of a trace that declares none: reads all its events. Asks from time to time whether reading goes on.
///
/// # Errors
/// If `goes_on` returned `false`.
pub fn find_classes(trace: &dyn OpenedTrace, goes_on: &mut dyn FnMut() -> bool) -> Result<(), QueryError> {
    if !trace.has_dynamic_classes() {
        return Ok(());
    }
    let cursors = (0..trace.data_streams().len()).filter_map(|index| trace.cursor(index, Window::default()));
    for cursor in cursors {
        count_events(cursor, &mut EventCounts::default(), goes_on, |_| Ok(()))?;
    }
    Ok(())
}

impl RowSource for ClassRows {
    fn read(
        &mut self,
        query: &TraceQuery,
        rows: &mut RecordRows,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, QueryError> {
        let Some(trace) = query.session().traces().get(self.next) else { return Ok(false) };
        self.next += 1;
        let classes = &trace.trace().class.data_streams;
        let mut counts: Vec<EventCounts> = classes.iter().map(|_| EventCounts::default()).collect();
        // Dynamic classes are known once all events were read.
        if self.counts || trace.has_dynamic_classes() {
            for (index, stream) in trace.data_streams().into_iter().enumerate() {
                let cursor = trace.cursor(index, Window::default());
                if let (Some(cursor), Some(counts)) = (cursor, counts.get_mut(stream.class_index)) {
                    count_events(cursor, counts, goes_on, |_| Ok(()))?;
                }
            }
        }
        for (index, (class, counts)) in classes.iter().zip(&counts).enumerate() {
            for (number, record) in trace.trace().event_records(index).enumerate() {
                let events = counts.by_class.get(number).copied().unwrap_or(0);
                let row = [
                    trace.path().into(),
                    class.name.as_deref().into(),
                    record.name.as_deref().into(),
                    record.namespace.as_deref().into(),
                    u64::try_from(record.id).ok().into(),
                    self.counts.then_some(events).into(),
                    record.log_level.into(),
                    record.uid.as_deref().into(),
                ];
                rows.add(&row).map_err(row_error)?;
            }
        }
        Ok(true)
    }
}
