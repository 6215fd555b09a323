//! A file of Parquet with the rows of a table.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use ichnos_io::OutputDirectory;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::dataset_names::CREATOR;

/// Maximum number of rows of a row group.
pub(crate) const GROUP_ROWS: usize = 1 << 20;

/// Maximum number of row groups of a file, and of their columns together. The format has room for 32,767 groups.
const MOST_GROUPS: usize = 1_024;
const MOST_CHUNKS: usize = 1 << 16;

/// Columns that grow slowly from row to row: their differences take few bits.
const DELTA_COLUMNS: [&str; 3] = ["ts", "packet", "seq"];

/// Memory of a column with a dictionary in a row group, in bytes: room for 4,096 values from the beginning.
const DICTIONARY_COST: usize = 80 << 10;

/// Maximum number of columns of a table with dictionaries, which would need too much memory otherwise.
const MOST_DICTIONARIES: usize = 1_024;

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

/// A file of Parquet that is being written.
pub(crate) struct ParquetFile {
    writer: ArrowWriter<ClosedFile>,
    /// Approximate size of the rows of the current row group in memory, in bytes.
    waiting: usize,
    /// Approximate size of an empty row group in memory, in bytes.
    group_cost: usize,
    rows: u64,
    path: PathBuf,
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ParquetFile {
    /// Begins a file of a dataset with these columns. `is_sorted` if rows are in order of the first column.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn create(
        directory: &OutputDirectory,
        relative: &str,
        schema: &SchemaRef,
        is_sorted: bool,
        metadata: &[(&str, &str)],
    ) -> io::Result<Self> {
        let path = directory.path().join(relative);
        directory.create_file(Path::new(relative)).map_err(|error| naming(&path, error))?;
        let properties = properties(schema, is_sorted, metadata);
        let file = ClosedFile { path: path.clone(), size: 0 };
        let writer = ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties));
        let writer = writer.map_err(|error| error_of(&path, error))?;
        let columns = schema.fields().len();
        let group_cost = if columns <= MOST_DICTIONARIES { columns * DICTIONARY_COST } else { 0 };
        Ok(Self { writer, waiting: 0, group_cost, rows: 0, path })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let groups = self.writer.flushed_row_groups().len();
        self.writer.write(batch).map_err(|error| error_of(&self.path, error))?;
        self.rows += batch.num_rows() as u64;
        if self.writer.flushed_row_groups().len() > groups {
            self.waiting = 0;
        }
        if self.waiting == 0 {
            self.waiting = self.group_cost;
        }
        self.waiting += batch.get_array_memory_size();
        Ok(())
    }

    /// Returns the approximate size in bytes of what is in memory.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns `true` if the file has so many row groups that their metadata, which stay in memory, are large.
    pub(crate) fn is_full(&self) -> bool {
        let groups = self.writer.flushed_row_groups().len();
        let columns = self.writer.flushed_row_groups().first().map_or(0, |group| group.num_columns());
        groups >= MOST_GROUPS || groups * columns >= MOST_CHUNKS
    }

    /// Ends the row group, so that only little stays in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn end_group(&mut self) -> io::Result<()> {
        self.waiting = 0;
        self.writer.flush().map_err(|error| error_of(&self.path, error))
    }

    /// Completes the file and returns its size in bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
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
        if *field.data_type() == DataType::Int64 && DELTA_COLUMNS.contains(&field.name().as_str()) {
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

fn naming(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
