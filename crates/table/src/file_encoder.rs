//! Encoder of a file of Parquet.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::dataset_names::CREATOR;

/// Maximum number of rows of a row group.
pub(crate) const GROUP_ROWS: usize = 1 << 20;

/// Maximum number of columns of a table with dictionaries, which would need too much memory otherwise.
pub(crate) const MOST_DICTIONARIES: usize = 1_024;

/// Columns that grow slowly from row to row: their differences take few bits.
const DELTA_COLUMNS: [&str; 3] = ["ts", "packet", "seq"];

/// A file that is open only while bytes are written, since a dataset can have very many.
#[derive(Debug)]
struct ClosedFile {
    path: PathBuf,
    size: u64,
}

impl Write for ClosedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = File::options().append(true).open(&self.path)?.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Encodes the rows of a file.
pub(crate) struct FileEncoder {
    writer: ArrowWriter<ClosedFile>,
    path: PathBuf,
}

impl std::fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEncoder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl FileEncoder {
    /// Begins an empty file with these columns. `is_sorted` if rows are in order of the first column.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(
        path: PathBuf,
        schema: &SchemaRef,
        is_sorted: bool,
        metadata: &[(&str, &str)],
    ) -> io::Result<Self> {
        let properties = properties(schema, is_sorted, metadata);
        let file = ClosedFile { path: path.clone(), size: 0 };
        let writer = ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties));
        let writer = writer.map_err(|error| error_of(&path, error))?;
        Ok(Self { writer, path })
    }

    /// Adds rows. A row group with [`GROUP_ROWS`] ends.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.writer.write(batch).map_err(|error| error_of(&self.path, error))
    }

    /// Ends the row group, so that only little stays in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn end_group(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(|error| error_of(&self.path, error))
    }

    /// Completes the file and returns its size in bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(&mut self) -> io::Result<u64> {
        self.writer.finish().map_err(|error| error_of(&self.path, error))?;
        Ok(self.writer.inner().size)
    }
}

fn properties(schema: &SchemaRef, is_sorted: bool, metadata: &[(&str, &str)]) -> WriterProperties {
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
    let sorting = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("{CREATOR}{}", env!("CARGO_PKG_VERSION")))
        .set_compression(ZstdLevel::try_new(3).map_or(Compression::UNCOMPRESSED, Compression::ZSTD))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        // With the index of pages.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_dictionary_enabled(schema.fields().len() <= MOST_DICTIONARIES)
        .set_sorting_columns(is_sorted.then(|| vec![sorting]))
        .set_key_value_metadata(Some(pairs.collect()));
    for field in schema.fields() {
        let is_delta = match field.data_type() {
            DataType::Int64 => DELTA_COLUMNS.contains(&field.name().as_str()),
            DataType::Timestamp(..) => true,
            _ => false,
        };
        if is_delta {
            let column = ColumnPath::from(field.name().as_str());
            builder = builder
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}

/// Returns the error of an operation of the system, or else of Parquet, with the path of the file.
fn error_of(path: &Path, error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => naming(path, *error),
            Err(error) => naming(path, io::Error::other(error)),
        },
        error => naming(path, io::Error::other(error)),
    }
}

pub(crate) fn naming(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
