//! Parquet file with rows from one table.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ichnos_io::OutputDirectory;
use ichnos_model::locks::IgnorePoison as _;

use crate::encoders::{Encoders, FileJob, SharedEncoder};
use crate::file_encoder::{FileDescription, FileEncoder, GROUP_ROWS, MOST_DICTIONARIES, naming};

/// Maximum number of row groups in a file, and of column chunks in all its row groups. Page statistics and positions
/// stay in memory until the file is complete. Without a limit, memory would grow with the trace.
const MOST_GROUPS: usize = 8;
const MOST_CHUNKS: usize = 1 << 14;

/// Maximum size of rows that wait for an encoder, in bytes. Many files are never larger.
const MOST_KEPT: usize = 256 << 10;

/// Minimum number of rows in a file with dictionaries, if the file has no more rows.
const FEWEST_WITH_DICTIONARIES: u64 = 1_024;

/// Memory for a column with a dictionary in a row group, in bytes. Has space for 4,096 values from the start.
const DICTIONARY_COST: usize = 80 << 10;

/// Memory in bytes: for an encoder between row groups, for each column in it, and for a column in a complete row group.
const ENCODER_COST: usize = 12 << 10;
const COLUMN_COST: usize = 2 << 10;
const CHUNK_COST: usize = 1 << 10;

/// Parquet file in progress.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    encoder: SharedEncoder,
    /// All rows, until the encoder gets them.
    kept: Option<Vec<RecordBatch>>,
    /// Encoder thread.
    thread: usize,
    columns: usize,
    /// Approximate memory for the current row group's rows, in bytes.
    waiting: usize,
    /// Approximate memory for an empty row group, in bytes.
    group_cost: usize,
    rows: u64,
    /// Number of complete row groups. `group_rows` counts the rows in the current row group.
    groups: usize,
    group_rows: usize,
}

impl ParquetFile {
    /// Creates a dataset file with these columns. `is_sorted` means that rows are sorted by the first column.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(crate) fn create(
        directory: &OutputDirectory,
        encoders: &mut Encoders,
        relative: &str,
        schema: &SchemaRef,
        is_sorted: bool,
        metadata: Vec<(String, String)>,
    ) -> io::Result<Self> {
        let path = directory.path().join(relative);
        directory.create_file(Path::new(relative)).map_err(|error| naming(&path, error))?;
        let columns = schema.fields().len();
        let description = FileDescription { path, schema: Arc::clone(schema), is_sorted, metadata };
        let encoder = FileEncoder::new(description, columns <= MOST_DICTIONARIES);
        Ok(Self {
            encoder: Arc::new(Mutex::new(encoder)),
            kept: Some(Vec::new()),
            thread: encoders.assign(),
            columns,
            waiting: 0,
            group_cost: if columns <= MOST_DICTIONARIES { columns * DICTIONARY_COST } else { 0 },
            rows: 0,
            groups: 0,
            group_rows: 0,
        })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// If the rows, or earlier rows, cannot be written.
    pub(crate) fn write(&mut self, encoders: &Encoders, batch: RecordBatch) -> io::Result<()> {
        let size = batch.get_array_memory_size();
        self.rows += batch.num_rows() as u64;
        if let Some(kept) = self.kept.as_mut().filter(|_| self.waiting + size <= MOST_KEPT) {
            self.waiting += size;
            kept.push(batch);
            return Ok(());
        }
        self.begin(encoders)?;
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
        self.waiting += size;
        encoders.run(&self.encoder, self.thread, FileJob::Write(batch))
    }

    /// Passes the rows so far to the encoder, if it lacks them.
    fn begin(&mut self, encoders: &Encoders) -> io::Result<()> {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        self.waiting += self.group_cost;
        for batch in kept {
            self.group_rows += batch.num_rows();
            encoders.run(&self.encoder, self.thread, FileJob::Write(batch))?;
        }
        Ok(())
    }

    /// Returns the approximate size in memory, in bytes.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the approximate size in memory, in bytes, before there is an encoder. Returns 0 afterwards.
    pub(crate) fn kept(&self) -> usize {
        if self.kept.is_some() { self.waiting } else { 0 }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns `true` if the file has many row groups, whose metadata stays in memory.
    pub(crate) fn is_full(&self) -> bool {
        self.groups >= MOST_GROUPS || self.groups * self.columns >= MOST_CHUNKS
    }

    /// Returns the approximate size of the encoder in memory without rows, in bytes. Returns 0 before there is an
    /// encoder.
    pub(crate) fn encoder_cost(&self) -> usize {
        match self.kept {
            Some(_) => 0,
            None => ENCODER_COST + self.columns * (COLUMN_COST + self.groups * CHUNK_COST),
        }
    }

    /// Ends the row group, and frees most memory.
    ///
    /// # Errors
    /// If the row group cannot be written.
    pub(crate) fn end_group(&mut self, encoders: &Encoders) -> io::Result<()> {
        self.begin(encoders)?;
        self.waiting = 0;
        self.groups += usize::from(self.group_rows > 0);
        self.group_rows = 0;
        encoders.run(&self.encoder, self.thread, FileJob::EndGroup)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn finish(mut self, encoders: &Encoders) -> io::Result<()> {
        if self.kept.is_some() && self.rows < FEWEST_WITH_DICTIONARIES {
            self.encoder.lock().ignore_poison().omit_dictionaries();
        }
        self.begin(encoders)?;
        encoders.run(&self.encoder, self.thread, FileJob::Finish)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};
    use ichnos_io::{ExistingOutput, ListWritten};

    use super::*;

    #[test]
    fn a_file_is_full_after_eight_row_groups() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("d");
        let known: ListWritten = Arc::new(|_| Ok(Vec::new()));
        let directory = OutputDirectory::create(&path, ExistingOutput::Refuse, &known).unwrap();
        let mut encoders = Encoders::new(1);
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("ts", column)]).unwrap();
        let schema = batch.schema();
        let mut file =
            ParquetFile::create(&directory, &mut encoders, "f", &schema, true, Vec::new()).unwrap();
        for group in 0..8 {
            assert!(!file.is_full(), "after {group} row groups");
            file.write(&encoders, batch.clone()).unwrap();
            file.end_group(&encoders).unwrap();
        }
        assert!(file.is_full());
        file.finish(&encoders).unwrap();
    }
}
