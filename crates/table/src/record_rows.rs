//! Record batches of rows that are made one by one.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder,
    StringBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};

/// Maximum number of rows in a batch.
const MOST_ROWS: usize = 4_096;

/// Size of texts from which a batch is complete, and the maximum length of a text.
const MOST_BYTES: usize = 16 << 20;
const LONGEST_TEXT: usize = 1 << 30;

/// Type of decimal columns, which are integers, and the first integer that it lacks.
const MOST_DIGITS: DataType = DataType::Decimal128(38, 0);
const END_OF_DECIMALS: u128 = 10u128.pow(38);

/// Value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowCell<'r> {
    /// No value.
    Null,
    /// Integer. One that does not fit the column is missing.
    Integer(i128),
    /// Text.
    Text(Cow<'r, str>),
    /// Boolean.
    Boolean(bool),
    /// Floating-point number.
    Real(f64),
}

impl<'r, T: Into<RowCell<'r>>> From<Option<T>> for RowCell<'r> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'r> From<&'r str> for RowCell<'r> {
    fn from(value: &'r str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for RowCell<'_> {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

impl<'r> From<Cow<'r, str>> for RowCell<'r> {
    fn from(value: Cow<'r, str>) -> Self {
        Self::Text(value)
    }
}

impl From<bool> for RowCell<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<f64> for RowCell<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<usize> for RowCell<'_> {
    fn from(value: usize) -> Self {
        Self::Integer(value as i128)
    }
}

macro_rules! integers {
    ($($of:ty),*) => { $(
        impl From<$of> for RowCell<'_> {
            fn from(value: $of) -> Self {
                Self::Integer(value.into())
            }
        }
    )* };
}

integers!(i64, i128, u32, u64);

/// Column in progress.
#[derive(Debug)]
enum RowColumn {
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Decimal(Decimal128Builder),
    Boolean(BooleanBuilder),
    Float64(Float64Builder),
    Text(StringBuilder),
}

impl RowColumn {
    fn new(of: &DataType) -> Self {
        match of {
            DataType::Int32 => Self::Int32(Int32Builder::new()),
            DataType::Int64 => Self::Int64(Int64Builder::new()),
            DataType::UInt64 => Self::UInt64(UInt64Builder::new()),
            DataType::Decimal128(..) => Self::Decimal(Decimal128Builder::new().with_data_type(MOST_DIGITS)),
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::Float64 => Self::Float64(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn add(&mut self, cell: &RowCell<'_>) {
        let integer = match cell {
            RowCell::Integer(value) => Some(*value),
            _ => None,
        };
        match self {
            Self::Int32(column) => column.append_option(integer.and_then(|value| value.try_into().ok())),
            Self::Int64(column) => column.append_option(integer.and_then(|value| value.try_into().ok())),
            Self::UInt64(column) => column.append_option(integer.and_then(|value| value.try_into().ok())),
            Self::Decimal(column) => {
                column.append_option(integer.filter(|value| value.unsigned_abs() < END_OF_DECIMALS));
            }
            Self::Boolean(column) => column.append_option(match cell {
                RowCell::Boolean(value) => Some(*value),
                _ => None,
            }),
            Self::Float64(column) => column.append_option(match cell {
                RowCell::Real(value) => Some(*value),
                _ => None,
            }),
            Self::Text(column) => column.append_option(match cell {
                RowCell::Text(text) => Some(&**text).filter(|text| text.len() <= LONGEST_TEXT),
                _ => None,
            }),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Int32(column) => ArrayBuilder::finish(column),
            Self::Int64(column) => ArrayBuilder::finish(column),
            Self::UInt64(column) => ArrayBuilder::finish(column),
            Self::Decimal(column) => ArrayBuilder::finish(column),
            Self::Boolean(column) => ArrayBuilder::finish(column),
            Self::Float64(column) => ArrayBuilder::finish(column),
            Self::Text(column) => ArrayBuilder::finish(column),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(column) => column.values_slice().len(),
            _ => 0,
        }
    }
}

/// Collects rows as record batches: `Int32`, `Int64`, `UInt64`, `Decimal128(38, 0)`, `Boolean`, `Float64` and
/// `Utf8`.
#[derive(Debug)]
pub struct RecordRows {
    schema: SchemaRef,
    /// All columns, `None` for unwanted ones.
    columns: Vec<Option<RowColumn>>,
    rows: usize,
    ready: VecDeque<RecordBatch>,
}

impl RecordRows {
    /// Starts without rows. Batches have the wanted columns only, in their order in `columns`.
    pub fn new(columns: &[(&str, DataType)], mut wants: impl FnMut(usize) -> bool) -> Self {
        let wanted: Vec<bool> = (0..columns.len()).map(&mut wants).collect();
        let fields = columns.iter().zip(&wanted).filter(|(_, wants)| **wants);
        let fields = fields.map(|((name, of), _)| ArrowField::new(*name, of.clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let builders = columns.iter().zip(wanted).map(|((_, of), wants)| wants.then(|| RowColumn::new(of)));
        Self { schema, columns: builders.collect(), rows: 0, ready: VecDeque::new() }
    }

    /// Returns the wanted columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a row with a cell for each column.
    ///
    /// # Errors
    /// If the rows do not form a batch, which would be a bug.
    pub fn add(&mut self, row: &[RowCell<'_>]) -> io::Result<()> {
        let missing = RowCell::Null;
        for (index, column) in self.columns.iter_mut().enumerate() {
            if let Some(column) = column {
                column.add(row.get(index).unwrap_or(&missing));
            }
        }
        self.rows += 1;
        let is_full = self.rows >= MOST_ROWS
            || self.columns.iter().flatten().map(RowColumn::bytes).any(|bytes| bytes >= MOST_BYTES);
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Makes a batch of all waiting rows.
    ///
    /// # Errors
    /// If the rows do not form a batch, which would be a bug.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = self.columns.iter_mut().flatten().map(RowColumn::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        self.ready.push_back(batch.map_err(io::Error::other)?);
        Ok(())
    }

    /// Adds a batch with all columns.
    ///
    /// # Errors
    /// If it lacks a column, which would be a bug.
    pub fn add_batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.flush()?;
        let wanted: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(index, column)| column.as_ref().map(|_| index))
            .collect();
        self.ready.push_back(batch.project(&wanted).map_err(io::Error::other)?);
        Ok(())
    }

    /// Returns the next batch, which has rows.
    pub fn take(&mut self) -> Option<RecordBatch> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::Decimal128Type;

    use super::*;

    const COLUMNS: [(&str, DataType); 3] =
        [("a", DataType::Int32), ("b", DataType::Utf8), ("c", DataType::Boolean)];

    #[test]
    fn batches_have_the_wanted_columns() {
        let mut rows = RecordRows::new(&COLUMNS, |column| column != 1);
        rows.add(&[1u64.into(), "x".into(), true.into()]).unwrap();
        rows.add(&[(1i128 << 40).into(), RowCell::Null, RowCell::Null]).unwrap();
        assert!(rows.take().is_none());
        rows.flush().unwrap();
        let batch = rows.take().unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, 2));
        assert_eq!((batch.column(0).null_count(), batch.column(1).null_count()), (1, 1));
        rows.flush().unwrap();
        assert!(rows.take().is_none());
    }

    #[test]
    fn decimals_are_exact_and_missing_if_they_are_too_large() {
        let mut rows = RecordRows::new(&[("d", MOST_DIGITS)], |_| true);
        let most = END_OF_DECIMALS as i128 - 1;
        for value in [most, -most, most + 1, i128::MIN] {
            rows.add(&[value.into()]).unwrap();
        }
        rows.flush().unwrap();
        let batch = rows.take().unwrap();
        let column = batch.column(0).as_primitive::<Decimal128Type>();
        assert_eq!(column.iter().collect::<Vec<_>>(), [Some(most), Some(-most), None, None]);
    }

    #[test]
    fn rows_are_counted_without_columns_and_batches_are_small() {
        let mut rows = RecordRows::new(&COLUMNS, |_| false);
        (0..=MOST_ROWS).for_each(|_| rows.add(&[]).unwrap());
        rows.flush().unwrap();
        assert_eq!(rows.take().unwrap().num_rows(), MOST_ROWS);
        assert_eq!(rows.take().unwrap().num_rows(), 1);
        let mut rows = RecordRows::new(&COLUMNS, |_| true);
        let long = "x".repeat(MOST_BYTES);
        (0..2).for_each(|_| rows.add(&[RowCell::Null, long.as_str().into(), RowCell::Null]).unwrap());
        assert_eq!(rows.take().unwrap().num_rows(), 1);
    }
}
