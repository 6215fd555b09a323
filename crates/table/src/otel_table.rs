//! Table of OpenTelemetry's layout, with its files.

use std::collections::HashMap;
use std::io;

use ichnos_io::OutputDirectory;

use crate::dataset_names::otel_file;
use crate::encoders::Encoders;
use crate::otel_columns::OtelColumns;
use crate::parquet_file::ParquetFile;
use crate::partition::{OpenPartitions, Partition, PartitionUnit};
use crate::table_rows::BATCH_ROWS;

/// Approximate maximum size of the rows that wait in a partition, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Approximate maximum memory for the open row groups and the waiting rows of a table, in bytes.
const MOST_WAITING: usize = 96 << 20;

/// Approximate maximum size of the rows that wait in all partitions, in bytes.
const MOST_ROW_BYTES: usize = MOST_WAITING / 3;

/// Maximum number of files in a table.
pub(crate) const MOST_FILES: usize = 1 << 16;

/// Rows of a partition and its open file.
#[derive(Debug, Default)]
struct OpenRows<C> {
    columns: C,
    file: Option<ParquetFile>,
}

/// Table with its open files.
#[derive(Debug)]
pub(crate) struct OtelTable<C> {
    name: &'static str,
    unit: Option<PartitionUnit>,
    open: HashMap<Option<Partition>, OpenRows<C>>,
    recent: OpenPartitions<Option<Partition>>,
    /// Approximate size of the rows that wait in all partitions.
    row_bytes: usize,
    /// Number of files by partition.
    parts: HashMap<Option<Partition>, usize>,
    /// Number of all files.
    files: usize,
    metadata: Vec<(String, String)>,
}

impl<C: OtelColumns> OtelTable<C> {
    pub(crate) fn new(
        name: &'static str,
        unit: Option<PartitionUnit>,
        metadata: Vec<(String, String)>,
    ) -> Self {
        let (open, recent, parts) = (HashMap::new(), OpenPartitions::default(), HashMap::new());
        Self { name, unit, open, recent, row_bytes: 0, parts, files: 0, metadata }
    }

    /// Appends a row with a time. Time 0 is unknown.
    ///
    /// # Errors
    /// If earlier rows cannot be written.
    pub(crate) fn push(
        &mut self,
        time: i64,
        (directory, encoders): (&OutputDirectory, &mut Encoders),
        push: impl FnOnce(&mut C),
    ) -> io::Result<()> {
        let partition = self.unit.map(|unit| unit.partition(Some(time).filter(|time| *time != 0)));
        if let Some(unused) = self.recent.used(0, partition) {
            self.complete(unused, directory, encoders)?;
        }
        let rows = self.open.entry(partition).or_default();
        let (_, before) = rows.columns.size();
        push(&mut rows.columns);
        let (count, bytes) = rows.columns.size();
        self.row_bytes += bytes.saturating_sub(before);
        if count >= BATCH_ROWS || bytes >= MOST_BYTES {
            self.write(partition, directory, encoders)?;
        } else if self.row_bytes > MOST_ROW_BYTES
            && let Some(largest) = self.largest(|rows| rows.columns.size().1)
        {
            self.write(largest, directory, encoders)?;
        }
        Ok(())
    }

    /// Returns the largest partition. Its place decides among equal partitions, not the hash.
    fn largest(&self, size: impl Fn(&OpenRows<C>) -> usize) -> Option<Option<Partition>> {
        let largest = self
            .open
            .iter()
            .max_by_key(|(partition, rows)| (size(rows), partition.and_then(|partition| partition.number)));
        largest.map(|(partition, _)| *partition)
    }

    /// Writes the waiting rows of a partition.
    fn write(
        &mut self,
        partition: Option<Partition>,
        directory: &OutputDirectory,
        encoders: &mut Encoders,
    ) -> io::Result<()> {
        self.open_file(partition, directory, encoders)?;
        let Some(OpenRows { columns, file: Some(file) }) = self.open.get_mut(&partition) else {
            return Ok(());
        };
        self.row_bytes = self.row_bytes.saturating_sub(columns.size().1);
        file.write(encoders, columns.finish().map_err(io::Error::other)?)?;
        if file.is_full() {
            return self.complete(partition, directory, encoders);
        }
        let waiting = |rows: &OpenRows<C>| rows.file.as_ref().map_or(0, ParquetFile::waiting);
        if self.open.values().map(waiting).sum::<usize>() + self.row_bytes <= MOST_WAITING {
            return Ok(());
        }
        // The largest row group frees the most memory.
        let largest = self.largest(waiting);
        let file = largest.and_then(|partition| self.open.get_mut(&partition)?.file.as_mut());
        file.map_or(Ok(()), |file| file.end_group(encoders))
    }

    /// Opens a file for the rows of a partition, if none is open.
    fn open_file(
        &mut self,
        partition: Option<Partition>,
        directory: &OutputDirectory,
        encoders: &mut Encoders,
    ) -> io::Result<()> {
        let rows = self.open.entry(partition).or_default();
        if rows.file.is_some() {
            return Ok(());
        }
        check_files(self.files)?;
        let part = self.parts.entry(partition).or_default();
        let path = otel_file(self.name, partition, *part);
        let metadata = self.metadata.clone();
        rows.file = Some(ParquetFile::create(directory, encoders, &path, &C::schema(), false, metadata)?);
        *part += 1;
        self.files += 1;
        Ok(())
    }

    /// Completes the file of a partition. More rows will go to another file.
    fn complete(
        &mut self,
        partition: Option<Partition>,
        directory: &OutputDirectory,
        encoders: &mut Encoders,
    ) -> io::Result<()> {
        if self.open.get(&partition).is_some_and(|rows| rows.columns.size().0 > 0) {
            self.open_file(partition, directory, encoders)?;
        }
        let Some(mut rows) = self.open.remove(&partition) else { return Ok(()) };
        self.row_bytes = self.row_bytes.saturating_sub(rows.columns.size().1);
        let Some(mut file) = rows.file.take() else { return Ok(()) };
        if rows.columns.size().0 > 0 {
            file.write(encoders, rows.columns.finish().map_err(io::Error::other)?)?;
        }
        file.finish(encoders)
    }

    /// Completes all files. A table without rows gets an empty file, so that queries find its columns.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn finish(&mut self, directory: &OutputDirectory, encoders: &mut Encoders) -> io::Result<()> {
        let mut open: Vec<_> = self.open.keys().copied().collect();
        open.sort_unstable_by_key(|partition| partition.and_then(|partition| partition.number));
        if open.is_empty() && self.files == 0 {
            self.open_file(None, directory, encoders)?;
            open.push(None);
        }
        open.into_iter().try_for_each(|partition| self.complete(partition, directory, encoders))
    }
}

/// Checks that a table can get another file.
pub(crate) fn check_files(files: usize) -> io::Result<()> {
    if files < MOST_FILES {
        return Ok(());
    }
    let message = format!(
        "the partitions would need more than {MOST_FILES} files, because there are too many of them, or events are \
        very late"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

    use super::*;

    const ROW: usize = 1 << 20;

    /// Rows that claim to be large.
    #[derive(Debug, Default)]
    struct LargeRows(Vec<i64>);

    impl OtelColumns for LargeRows {
        fn schema() -> SchemaRef {
            Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]))
        }

        fn size(&self) -> (usize, usize) {
            (self.0.len(), self.0.len() * ROW)
        }

        fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
            let column = Int64Array::from(std::mem::take(&mut self.0));
            RecordBatch::try_new(Self::schema(), vec![Arc::new(column)])
        }
    }

    #[test]
    fn waiting_rows_of_all_partitions_are_limited() {
        let parent = tempfile::tempdir().unwrap();
        let list: ichnos_io::ListWritten = Arc::new(crate::dataset_names::written_files);
        let existing = ichnos_io::ExistingOutput::Refuse;
        let directory = OutputDirectory::create(&parent.path().join("out"), existing, &list).unwrap();
        let mut encoders = Encoders::new(1);
        let mut table = OtelTable::<LargeRows>::new("a", Some(PartitionUnit::Hour), Vec::new());
        for round in 0..2 {
            for hour in 1..100 {
                let time = hour * 3_600_000_000_000;
                table.push(time, (&directory, &mut encoders), |rows| rows.0.push(round)).unwrap();
                let waiting: usize = table.open.values().map(|rows| rows.columns.size().1).sum();
                assert_eq!(waiting, table.row_bytes);
                assert!(waiting <= MOST_ROW_BYTES);
            }
        }
        table.finish(&directory, &mut encoders).unwrap();
        encoders.finish().unwrap();
        assert_eq!(table.row_bytes, 0);
        assert_eq!(table.files, 99);
    }
}
