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

/// Maximum size of a dictionary, in bytes. Beyond it, the rest of a column has none: values that are all different would
/// otherwise be looked for in a large hash table, for up to an eighth of a row group.
const MOST_DICTIONARY_BYTES: usize = 256 << 10;

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

/// Description of a file: all that its writer needs.
#[derive(Debug)]
pub(crate) struct FileDescription {
    pub(crate) path: PathBuf,
    pub(crate) schema: SchemaRef,
    /// Rows are in order of the first column.
    pub(crate) is_sorted: bool,
    /// Keys and values of its metadata.
    pub(crate) metadata: Vec<(String, String)>,
}

/// Encodes the rows of a file.
pub(crate) struct FileEncoder {
    description: FileDescription,
    /// Columns have dictionaries.
    has_dictionaries: bool,
    /// Takes much memory, so that it is made for the first rows and dropped after the last ones.
    writer: Option<ArrowWriter<ClosedFile>>,
}

impl std::fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEncoder").field("description", &self.description).finish_non_exhaustive()
    }
}

impl FileEncoder {
    /// Begins an empty file.
    pub(crate) fn new(description: FileDescription, has_dictionaries: bool) -> Self {
        Self { description, has_dictionaries, writer: None }
    }

    /// Omits dictionaries, which are not worth their memory for few rows. Has an effect only before the first rows.
    pub(crate) fn omit_dictionaries(&mut self) {
        self.has_dictionaries = false;
    }

    /// Returns the writer, which is made if there is none.
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

    /// Adds rows. A row group with [`GROUP_ROWS`] ends.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let written = self.writer()?.write(batch);
        written.map_err(|error| self.error_of(error))
    }

    /// Ends the row group, so that only little stays in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn end_group(&mut self) -> io::Result<()> {
        let flushed = self.writer()?.flush();
        flushed.map_err(|error| self.error_of(error))
    }

    /// Completes the file and returns its size in bytes. Nothing can be written after that.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(&mut self) -> io::Result<u64> {
        let writer = self.writer()?;
        let finished = writer.finish().map(|_| writer.inner().size);
        self.writer = None;
        finished.map_err(|error| self.error_of(error))
    }

    /// Returns the error of an operation of the system, or else of Parquet, with the path of the file.
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
        // With the index of pages.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_dictionary_enabled(has_dictionaries)
        .set_dictionary_page_size_limit(MOST_DICTIONARY_BYTES)
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

pub(crate) fn naming(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
