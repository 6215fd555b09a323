//! Functions whose rows the library computes: spans, stacks, tasks, losses, classes and data streams.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;

use ichnos::query::TraceQuery;
use ichnos::table::arrow_array::RecordBatch;
use ichnos::tables::{TraceRows, TraceTable};

use crate::array;
use crate::arrow_type::column_type;
use crate::duckdb::{Bound, CallArguments, Chunk, Parameter, Rows, TableFunction};
use crate::query_texts::{self, OPENING, SELECTING};

/// Table of the library.
pub(crate) trait AnswerTable: 'static {
    /// Name in SQL.
    const NAME: &'static CStr;
    const TABLE: TraceTable;
}

macro_rules! answers {
    ($($function:ident $name:literal $table:ident;)*) => { $(
        #[doc = concat!("`", $name, "`.")]
        pub(crate) struct $function;

        impl AnswerTable for $function {
            const NAME: &'static CStr = match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            const TABLE: TraceTable = TraceTable::$table;
        }
    )* };
}

answers! {
    Classes "trace_classes" Classes;
    Edges "trace_edges" Edges;
    Frames "trace_frames" Frames;
    Info "trace_info" Info;
    Losses "trace_losses" Losses;
    Spans "trace_spans" Spans;
    Stacks "trace_stacks" Stacks;
    Tasks "trace_tasks" Tasks;
}

/// Table function of a table.
pub(crate) struct AnswerFunction<T>(PhantomData<T>);

/// Run, which one thread reads.
pub(crate) struct AnswerThread {
    rows: TraceRows,
    /// Batch that is being copied, and the number of copied rows.
    batch: Option<RecordBatch>,
    copied: usize,
    /// Column in the batches for each column of a chunk.
    places: Vec<Option<usize>>,
}

impl<T: AnswerTable> TableFunction for AnswerFunction<T> {
    const NAME: &'static CStr = T::NAME;
    const PARAMETERS: &'static [Parameter] = if T::TABLE.has_selection() { SELECTING } else { OPENING };
    type Call = Arc<TraceQuery>;
    type Scan = Vec<Option<usize>>;
    type Thread = AnswerThread;

    fn bind(arguments: &CallArguments) -> Result<Bound<Self::Call>, String> {
        let texts = if T::TABLE.has_selection() {
            query_texts::all(arguments)
        } else {
            query_texts::opening(arguments)
        };
        let query = T::TABLE.open(texts?).map_err(|error| error.to_string())?;
        let columns = T::TABLE.columns().iter();
        let columns = columns.filter_map(|(name, of)| Some(((*name).to_owned(), column_type(of)?))).collect();
        let rows = T::TABLE.has_selection().then(|| query.estimated_events() / 2);
        Ok(Bound { columns, call: Arc::new(query), rows })
    }

    fn scan(_: &Self::Call, columns: &[Option<usize>]) -> Result<Self::Scan, String> {
        Ok(columns.to_vec())
    }

    fn thread(query: &Self::Call, columns: &Self::Scan) -> Result<AnswerThread, String> {
        let rows =
            TraceRows::with_columns(Arc::clone(query), T::TABLE, |column| columns.contains(&Some(column)));
        let rows = rows.map_err(|error| error.to_string())?;
        let name = |column: usize| T::TABLE.columns().get(column).map(|(name, _)| *name);
        let place = |column: usize| rows.schema().index_of(name(column)?).ok();
        let places = columns.iter().map(|column| column.and_then(place)).collect();
        Ok(AnswerThread { rows, batch: None, copied: 0, places })
    }

    fn fill(
        _: &Self::Call,
        _: &Self::Scan,
        thread: &mut AnswerThread,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String> {
        let AnswerThread { rows, batch: current, copied, places } = thread;
        let batch = match current {
            Some(batch) => batch,
            None => match rows.next() {
                None => return Ok(0),
                Some(next) => {
                    *copied = 0;
                    current.insert(next.map_err(|error| error.to_string())?)
                }
            },
        };
        let count = chunk.capacity().min(batch.num_rows() - *copied);
        for (index, place) in places.iter().enumerate() {
            let values = place.and_then(|place| batch.columns().get(place));
            if let (Some(values), Some(mut vector)) = (values, chunk.column(index)) {
                array::write(&mut vector, Rows::Range(0, count), &values.slice(*copied, count))?;
            }
        }
        *copied += count;
        if *copied >= batch.num_rows() {
            *current = None;
        }
        Ok(count)
    }
}
