//! `trace_stacks` and `trace_frames`: call stacks.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ichnos::Session;
use ichnos::model::event::EventCounts;
use ichnos::model::{DataStream, Window};
use ichnos::table::write_stacks;

use crate::array;
use crate::duckdb::{Bound, CallArguments, Chunk, ColumnType, Parameter, Rows, TableFunction};
use crate::query;

/// Table of the call stacks.
pub(crate) trait StackKind: 'static {
    /// Name in SQL.
    const NAME: &'static CStr;
    /// Name in a dataset.
    const TABLE: &'static str;
    /// Columns.
    const COLUMNS: &'static [(&'static str, ColumnType)];
}

/// `trace_stacks`.
pub(crate) struct Callers;

impl StackKind for Callers {
    const NAME: &'static CStr = c"trace_stacks";
    const TABLE: &'static str = "_stacks";
    const COLUMNS: &'static [(&'static str, ColumnType)] =
        &[("stack", ColumnType::Int64), ("caller", ColumnType::Int64), ("frame", ColumnType::Int64)];
}

/// `trace_frames`.
pub(crate) struct Frames;

impl StackKind for Frames {
    const NAME: &'static CStr = c"trace_frames";
    const TABLE: &'static str = "_frames";
    const COLUMNS: &'static [(&'static str, ColumnType)] = &[
        ("frame", ColumnType::Int64),
        ("address", ColumnType::UInt64),
        ("symbol", ColumnType::Text),
        ("module", ColumnType::Text),
        ("address_space", ColumnType::Int64),
    ];
}

/// Table function of call stacks.
pub(crate) struct StackFunction<K>(PhantomData<K>);

/// Batches that wait, and the number of copied rows of the first one.
pub(crate) struct StackBatches {
    batches: VecDeque<RecordBatch>,
    copied: usize,
}

impl<K: StackKind> TableFunction for StackFunction<K> {
    const NAME: &'static CStr = K::NAME;
    const PARAMETERS: &'static [Parameter] = &[];
    type Call = Session;
    type Scan = Vec<Option<usize>>;
    type Thread = StackBatches;

    fn bind(arguments: &CallArguments) -> Result<Bound<Session>, String> {
        let columns = K::COLUMNS.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect();
        Ok(Bound { columns, call: query::open(arguments)? })
    }

    fn scan(_: &Session, columns: &[Option<usize>]) -> Result<Self::Scan, String> {
        Ok(columns.to_vec())
    }

    fn thread(session: &Session, _: &Self::Scan) -> Result<StackBatches, String> {
        // Stacks are known once the events were read.
        for place in query::streams(session) {
            if let Some(mut cursor) = place.trace.cursor(place.index, Window::default()) {
                let mut counts = EventCounts::default();
                while cursor.count_events(u32::MAX, &mut counts).is_some() {}
            }
        }
        let streams: Vec<Arc<DataStream>> =
            query::streams(session).into_iter().map(|place| place.stream).collect();
        let mut batches = VecDeque::new();
        let written = write_stacks(&streams, &mut |table, batch| {
            if table == K::TABLE {
                batches.push_back(batch);
            }
            Ok(())
        });
        written.map_err(|error| error.to_string())?;
        Ok(StackBatches { batches, copied: 0 })
    }

    fn fill(
        _: &Session,
        columns: &Self::Scan,
        thread: &mut StackBatches,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String> {
        let Some(batch) = thread.batches.front() else { return Ok(0) };
        let rows = chunk.capacity().min(batch.num_rows() - thread.copied);
        for (index, column) in columns.iter().enumerate() {
            let values = column.and_then(|column| batch.columns().get(column));
            if let (Some(values), Some(mut vector)) = (values, chunk.column(index)) {
                array::write(&mut vector, Rows::Range(0, rows), &values.slice(thread.copied, rows))?;
            }
        }
        thread.copied += rows;
        if thread.copied >= batch.num_rows() {
            thread.batches.pop_front();
            thread.copied = 0;
        }
        Ok(rows)
    }
}
