//! Writes datasets and reads them again.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use ichnos::convert::ConvertOptions;
use ichnos::io::{WriteReport, WriterFactory};
use ichnos::prelude::*;
use ichnos_table::ParquetWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use serde_json::{Value, json};

/// Fields or columns of an event with their values. Missing values are omitted.
pub(crate) type Row = BTreeMap<String, Value>;

/// File in a dataset.
pub(crate) struct ReadFile {
    /// Path in the dataset.
    pub(crate) path: String,
    pub(crate) metadata: ParquetMetaData,
    pub(crate) batches: Vec<RecordBatch>,
}

impl ReadFile {
    pub(crate) fn open(root: &Path, path: &Path) -> Self {
        let file = File::open(root.join(path)).unwrap();
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
        let metadata = (**builder.metadata()).clone();
        let batches = builder.build().unwrap().map(Result::unwrap).collect();
        Self { path: path.to_str().unwrap().to_owned(), metadata, batches }
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        self.batches.iter().flat_map(rows).collect()
    }

    pub(crate) fn is_event(&self) -> bool {
        self.path.starts_with("event=")
    }

    /// Returns the value of a metadata key.
    pub(crate) fn key(&self, key: &str) -> String {
        let pairs = self.metadata.file_metadata().key_value_metadata().unwrap();
        pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone()).unwrap()
    }
}

/// Reads all files of a dataset, sorted by path.
pub(crate) fn read(root: &Path) -> Vec<ReadFile> {
    let mut paths: Vec<PathBuf> = ParquetWriter.written_files(root).unwrap();
    paths.sort();
    paths.iter().map(|path| ReadFile::open(root, path)).collect()
}

/// Returns the rows of a side table.
pub(crate) fn side(files: &[ReadFile], table: &str) -> Vec<Row> {
    files.iter().filter(|file| file.path.starts_with(table)).flat_map(ReadFile::rows).collect()
}

pub(crate) fn rows(batch: &RecordBatch) -> Vec<Row> {
    let schema = batch.schema();
    let row = |row: usize| {
        let columns = schema.fields().iter().zip(batch.columns());
        let cells = columns.map(|(field, column)| (field.name().clone(), cell(column, row)));
        cells.filter(|(_, value)| !value.is_null()).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Returns a value as JSON.
fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int8 => json!(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => json!(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => json!(array.as_primitive::<UInt8Type>().value(row)),
        DataType::UInt16 => json!(array.as_primitive::<UInt16Type>().value(row)),
        DataType::UInt32 => json!(array.as_primitive::<UInt32Type>().value(row)),
        DataType::UInt64 => json!(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            json!(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            json!(array.as_primitive::<TimestampNanosecondType>().value(row))
        }
        DataType::Decimal128(..) => json!(array.as_primitive::<Decimal128Type>().value(row).to_string()),
        DataType::Float32 => real(&array.as_primitive::<Float32Type>().value(row).to_string()),
        DataType::Float64 => real(&array.as_primitive::<Float64Type>().value(row).to_string()),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Binary => json!(hex(array.as_binary::<i32>().value(row))),
        DataType::FixedSizeBinary(_) => json!(hex(array.as_fixed_size_binary().value(row))),
        DataType::Dictionary(..) => {
            let array = array.as_dictionary::<Int32Type>();
            let key = usize::try_from(array.keys().value(row)).unwrap();
            cell(array.values(), key)
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|item| cell(&items, item)).collect()
        }
        other => panic!("{other}"),
    }
}

/// Returns a floating-point number in a form that columns and lines share.
pub(crate) fn real(digits: &str) -> Value {
    json!(format!("{:?}", digits.parse::<f64>().unwrap()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts traces with a writer.
pub(crate) fn convert(input: &Path, writer: &dyn WriterFactory, output: &Path) -> WriteReport {
    let session = ichnos::open([input], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    reader.convert(writer, Some(output.to_owned()), &ConvertOptions::default()).unwrap()
}
