//! Table functions with few rows.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::marker::PhantomData;

use crate::duckdb::{Bound, CallArguments, Chunk, ColumnType, Parameter, Rows, TableFunction, Vector};

/// Value of a row.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Null,
    Integer(i128),
    Text(String),
    Boolean(bool),
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<i128> for Cell {
    fn from(value: i128) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Integer(value as i128)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

/// Row with a value for each column.
pub(crate) type SqlRow = Vec<Cell>;

/// Table with rows that are made one by one.
pub(crate) trait RowSource: 'static {
    /// Name in SQL.
    const NAME: &'static CStr;
    /// Named parameters.
    const PARAMETERS: &'static [Parameter];
    /// Columns.
    const COLUMNS: &'static [(&'static str, ColumnType)];
    /// Arguments.
    type Call: Send + Sync + 'static;
    /// Progress.
    type State: Send + 'static;

    fn bind(arguments: &CallArguments) -> Result<Self::Call, String>;

    /// Starts a run that needs some columns.
    fn start(call: &Self::Call, wanted: &[usize]) -> Result<Self::State, String>;

    /// Appends the next rows. Returns `false` after the last ones.
    fn read(call: &Self::Call, state: &mut Self::State, rows: &mut VecDeque<SqlRow>) -> Result<bool, String>;
}

/// Table function of a row source.
pub(crate) struct RowTable<S>(PhantomData<S>);

/// Run of a row table. One thread takes the rows.
pub(crate) struct RowThread<S: RowSource> {
    state: S::State,
    rows: VecDeque<SqlRow>,
    is_over: bool,
}

impl<S: RowSource> TableFunction for RowTable<S> {
    const NAME: &'static CStr = S::NAME;
    const PARAMETERS: &'static [Parameter] = S::PARAMETERS;
    type Call = S::Call;
    type Scan = Vec<Option<usize>>;
    type Thread = RowThread<S>;

    fn bind(arguments: &CallArguments) -> Result<Bound<S::Call>, String> {
        let columns = S::COLUMNS.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect();
        Ok(Bound { columns, call: S::bind(arguments)? })
    }

    fn scan(_: &S::Call, columns: &[Option<usize>]) -> Result<Self::Scan, String> {
        Ok(columns.to_vec())
    }

    fn thread(call: &S::Call, columns: &Self::Scan) -> Result<Self::Thread, String> {
        let wanted: Vec<usize> = columns.iter().flatten().copied().collect();
        Ok(RowThread { state: S::start(call, &wanted)?, rows: VecDeque::new(), is_over: false })
    }

    fn fill(
        call: &S::Call,
        columns: &Self::Scan,
        thread: &mut Self::Thread,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String> {
        let capacity = chunk.capacity();
        while thread.rows.len() < capacity && !thread.is_over {
            thread.is_over = !S::read(call, &mut thread.state, &mut thread.rows)?;
        }
        let count = thread.rows.len().min(capacity);
        let rows: Vec<SqlRow> = thread.rows.drain(..count).collect();
        for (index, column) in columns.iter().enumerate() {
            if let (Some(column), Some(mut vector)) = (column, chunk.column(index)) {
                write(&mut vector, &rows, *column);
            }
        }
        Ok(count)
    }
}

/// Writes a column. Values of another type are missing.
fn write(vector: &mut Vector<'_>, rows: &[SqlRow], column: usize) {
    let cell = |row: &SqlRow| row.get(column).cloned().unwrap_or(Cell::Null);
    let all = Rows::Range(0, rows.len());
    macro_rules! integers {
        ($of:ty) => {{
            let integer = |row: &SqlRow| match cell(row) {
                Cell::Integer(value) => <$of>::try_from(value).ok(),
                _ => None,
            };
            let values: Vec<Option<$of>> = rows.iter().map(integer).collect();
            values.iter().enumerate().for_each(|(row, value)| vector.set_valid(row, value.is_some()));
            vector.write(all, values.iter().map(|value| value.unwrap_or_default()))
        }};
    }
    let _ = match vector.of() {
        ColumnType::Int32 => integers!(i32),
        ColumnType::Int64 => integers!(i64),
        ColumnType::UInt64 => integers!(u64),
        ColumnType::Boolean => {
            let is = |row: &SqlRow| matches!(cell(row), Cell::Boolean(true));
            let values: Vec<bool> = rows.iter().map(is).collect();
            vector.write(all, values.into_iter())
        }
        _ => {
            for (row, values) in rows.iter().enumerate() {
                match values.get(column) {
                    Some(Cell::Text(text)) => {
                        vector.set_valid(row, true);
                        vector.write_bytes(row, text.as_bytes());
                    }
                    _ => vector.set_valid(row, false),
                }
            }
            true
        }
    };
}
