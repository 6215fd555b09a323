//! A file of Parquet with the rows of a table.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ichnos_io::OutputDirectory;

use crate::encoders::{Encoders, FileJob, SharedEncoder};
use crate::file_encoder::{FileEncoder, GROUP_ROWS, MOST_DICTIONARIES, naming};

/// Maximum number of row groups of a file, and of their columns together. The format has room for 32,767 groups.
const MOST_GROUPS: usize = 1_024;
const MOST_CHUNKS: usize = 1 << 16;

/// Memory of a column with a dictionary in a row group, in bytes: room for 4,096 values from the beginning.
const DICTIONARY_COST: usize = 80 << 10;

/// A file of Parquet that is being written.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    encoder: SharedEncoder,
    /// Thread of the encoder.
    thread: usize,
    columns: usize,
    /// Approximate size of the rows of the current row group in memory, in bytes.
    waiting: usize,
    /// Approximate size of an empty row group in memory, in bytes.
    group_cost: usize,
    rows: u64,
    /// Number of complete row groups, and of rows in the current one.
    groups: usize,
    group_rows: usize,
}

impl ParquetFile {
    /// Begins a file of a dataset with these columns. `is_sorted` if rows are in order of the first column.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn create(
        directory: &OutputDirectory,
        encoders: &mut Encoders,
        relative: &str,
        schema: &SchemaRef,
        is_sorted: bool,
        metadata: &[(&str, &str)],
    ) -> io::Result<Self> {
        let path = directory.path().join(relative);
        directory.create_file(Path::new(relative)).map_err(|error| naming(&path, error))?;
        let encoder = FileEncoder::new(path, schema, is_sorted, metadata)?;
        let columns = schema.fields().len();
        Ok(Self {
            encoder: Arc::new(Mutex::new(encoder)),
            thread: encoders.assign(),
            columns,
            waiting: 0,
            group_cost: if columns <= MOST_DICTIONARIES { columns * DICTIONARY_COST } else { 0 },
            rows: 0,
            groups: 0,
            group_rows: 0,
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If they cannot be written, or others before could not.
    pub(crate) fn write(&mut self, encoders: &Encoders, batch: RecordBatch) -> io::Result<()> {
        self.rows += batch.num_rows() as u64;
        // The encoder ends full row groups.
        let rows = self.group_rows + batch.num_rows();
        if rows >= GROUP_ROWS {
            self.groups += rows / GROUP_ROWS;
            self.waiting = 0;
        }
        self.group_rows = rows % GROUP_ROWS;
        if self.waiting == 0 {
            self.waiting = self.group_cost;
        }
        self.waiting += batch.get_array_memory_size();
        encoders.run(&self.encoder, self.thread, FileJob::Write(batch))
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
        self.groups >= MOST_GROUPS || self.groups * self.columns >= MOST_CHUNKS
    }

    /// Ends the row group, so that only little stays in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn end_group(&mut self, encoders: &Encoders) -> io::Result<()> {
        self.waiting = 0;
        self.groups += usize::from(self.group_rows > 0);
        self.group_rows = 0;
        encoders.run(&self.encoder, self.thread, FileJob::EndGroup)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(self, encoders: &Encoders) -> io::Result<()> {
        encoders.run(&self.encoder, self.thread, FileJob::Finish)
    }
}
