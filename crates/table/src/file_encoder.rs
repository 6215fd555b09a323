//! Encoder for one Parquet file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as ArrowField, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::dataset_names::CREATOR;

/// Maximum number of rows in a row group.
pub(crate) const GROUP_ROWS: usize = 1 << 20;

/// Maximum number of columns in a table with dictionaries. More dictionaries would need too much memory.
pub(crate) const MOST_DICTIONARIES: usize = 1_024;

/// Maximum dictionary size in bytes. The rest of the column has no dictionary. Otherwise, distinct values would
/// be looked up in a large hash table for up to an eighth of a row group.
const MOST_DICTIONARY_BYTES: usize = 256 << 10;

/// 64-bit columns that grow slowly from row to row.
const GROWING_COLUMNS: [&str; 3] = ["ts", "packet", "seq"];

/// File that is open only during writes, because a dataset can have very many files.
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

/// File description for the writer.
#[derive(Debug)]
pub(crate) struct FileDescription {
    pub(crate) path: PathBuf,
    pub(crate) schema: SchemaRef,
    /// Rows are sorted by the first column.
    pub(crate) is_sorted: bool,
    /// Metadata keys and values.
    pub(crate) metadata: Vec<(String, String)>,
}

/// Encodes a file's rows.
pub(crate) struct FileEncoder {
    description: FileDescription,
    /// Columns have dictionaries.
    has_dictionaries: bool,
    /// Created for the first rows and dropped after the last rows, because it takes much memory.
    writer: Option<ArrowWriter<ClosedFile>>,
}

impl std::fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEncoder").field("description", &self.description).finish_non_exhaustive()
    }
}

impl FileEncoder {
    /// Creates an encoder for an empty file.
    pub(crate) fn new(description: FileDescription, has_dictionaries: bool) -> Self {
        Self { description, has_dictionaries, writer: None }
    }

    /// Omits dictionaries, which cost more memory than they save for few rows. Must be called before the first rows.
    pub(crate) fn omit_dictionaries(&mut self) {
        self.has_dictionaries = false;
    }

    /// Returns the writer. Creates it if necessary.
    fn writer(&mut self) -> io::Result<&mut ArrowWriter<ClosedFile>> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let FileDescription { path, schema, .. } = &self.description;
                let properties = properties(&self.description, self.has_dictionaries);
                let file = ClosedFile { path: path.clone(), size: 0 };
                ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties))
                    .map_err(|error| self.error_of(error))?
            }
        };
        Ok(self.writer.insert(writer))
    }

    /// Appends rows. Ends a row group with [`GROUP_ROWS`] rows.
    ///
    /// # Errors
    /// If the rows cannot be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let written = self.writer()?.write(batch);
        written.map_err(|error| self.error_of(error))
    }

    /// Ends the row group, and frees most memory.
    ///
    /// # Errors
    /// If the row group cannot be written.
    pub(crate) fn end_group(&mut self) -> io::Result<()> {
        let flushed = self.writer()?.flush();
        flushed.map_err(|error| self.error_of(error))
    }

    /// Completes the file, and returns its size in bytes. Must be the last call.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn finish(&mut self) -> io::Result<u64> {
        let writer = self.writer()?;
        let finished = writer.finish().map(|_| writer.inner().size);
        self.writer = None;
        finished.map_err(|error| self.error_of(error))
    }

    /// Adds the path to a system error or a Parquet error.
    fn error_of(&self, error: ParquetError) -> io::Error {
        let path = &self.description.path;
        match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => naming(path, *error),
                Err(error) => naming(path, io::Error::other(error)),
            },
            error => naming(path, io::Error::other(error)),
        }
    }
}

fn properties(description: &FileDescription, has_dictionaries: bool) -> WriterProperties {
    let FileDescription { schema, is_sorted, metadata, .. } = description;
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let sorting = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("{CREATOR}{}", env!("CARGO_PKG_VERSION")))
        .set_compression(ZstdLevel::try_new(3).map_or(Compression::UNCOMPRESSED, Compression::ZSTD))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        // Includes the page index.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_dictionary_enabled(has_dictionaries)
        .set_dictionary_page_size_limit(MOST_DICTIONARY_BYTES)
        .set_sorting_columns(is_sorted.then(|| vec![sorting]))
        .set_key_value_metadata(Some(pairs.collect()));
    for column in schema.fields().iter().filter_map(|field| delta_column(field)) {
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// Returns the Parquet column for a field that is encoded as differences between rows: times, integers with up to 32
/// bits, and lists of such integers. They take about as much space as with a dictionary, without a lookup for each value.
/// Wider integers are often hashes or addresses, which a dictionary shortens.
fn delta_column(field: &ArrowField) -> Option<ColumnPath> {
    use DataType::{Int8, Int16, Int32, Int64, List, Timestamp, UInt8, UInt16, UInt32};
    let is_short = |data_type: &DataType| matches!(data_type, Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32);
    match field.data_type() {
        Timestamp(..) => {}
        Int64 if GROWING_COLUMNS.contains(&field.name().as_str()) => {}
        List(element) if is_short(element.data_type()) => {
            let path = [field.name(), "list", element.name()];
            return Some(ColumnPath::new(path.into_iter().map(|name| name.to_owned()).collect()));
        }
        data_type if is_short(data_type) => {}
        _ => return None,
    }
    Some(ColumnPath::from(field.name().as_str()))
}

pub(crate) fn naming(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
