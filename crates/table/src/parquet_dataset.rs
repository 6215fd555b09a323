//! Parquet datasets: a directory for each event record class.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use ichnos_io::{OutputDirectory, WriteShard, WriteSource};
use ichnos_model::DataStream;
use ichnos_model::class::Value;
use ichnos_model::clock::ClockOrigin;

use crate::append_root::AppendRoot;
use crate::common_columns::{COLUMNS_FILE, common_columns};
use crate::dataset_names::{DatasetNames, file_name, side_file};
use crate::encoders::Encoders;
use crate::note::TableNote;
use crate::otel_table::check_files;
use crate::parquet_file::ParquetFile;
use crate::partition::{OpenPartitions, Partition};
use crate::side_tables::{self, ListedStreams, WrittenTable};
use crate::table_plan::TablePlan;
use crate::table_rows::TableBatch;

/// Approximate maximum memory for all open row groups, in bytes.
const MOST_WAITING: usize = 192 << 20;

/// Approximate maximum memory for the rows of files without an encoder when no more events follow, in bytes.
const MOST_KEPT: usize = 32 << 20;

/// Approximate maximum memory for all encoders without their rows, in bytes.
const MOST_OPEN: usize = 64 << 20;

/// Metadata key in a file with events: the exact event record class name.
pub const EVENT_KEY: &str = "ichnos.event";

/// Metadata key in each file: the ichnos version.
pub(crate) const VERSION_KEY: &str = "ichnos.version";

/// Maximum number of data streams in a single file's metadata.
const MOST_NAMED: usize = 1024;

/// Returns the metadata of a single file. It has the name, trace, host and clock of each data stream, by the number in
/// the column `stream`, and the frequency and origin of the clock.
fn names_of_streams(streams: &[Arc<DataStream>]) -> Vec<(String, String)> {
    let named = streams.iter().enumerate().flat_map(|(number, stream)| {
        let trace = &stream.trace;
        let host = trace.class.environment("hostname").and_then(Value::as_text);
        let clock = stream.clock().and_then(|clock| clock.name.as_deref());
        let parts = [Some(&*trace.name), Some(&*trace.path), host, clock];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let described = stream.clock().map(|clock| {
            let origin = match &clock.origin {
                ClockOrigin::UnixEpoch => "1970-01-01",
                ClockOrigin::Unknown => "unknown",
                ClockOrigin::Named { name, .. } => name,
            };
            (format!("ichnos.clock.{number}"), format!("{} Hz, origin {origin}", clock.frequency))
        });
        let named = (format!("ichnos.stream.{number}"), format!("{} ({})", stream.name, parts.join(", ")));
        [Some(named), described].into_iter().flatten()
    });
    named.collect()
}

/// Table with its files.
#[derive(Debug)]
struct DatasetTable {
    plan: Arc<TablePlan>,
    /// Fingerprint in file names.
    fingerprint: u64,
    /// Directory in the dataset.
    directory: String,
    /// Open file for more rows.
    open: Option<(ParquetFile, WrittenTable)>,
    /// `true` if all rows are sorted by time so far.
    is_sorted: bool,
    /// Number of files.
    parts: usize,
    /// Value of `ParquetDataset::batches` when this table was last used.
    last_used: u64,
    /// `true` for the rows of one partition.
    is_partition: bool,
}

/// Dataset in progress.
#[derive(Debug)]
pub(crate) struct ParquetDataset {
    // Must be dropped before the directory: nothing may be written after its removal.
    encoders: Encoders,
    directory: OutputDirectory,
    /// Directory with several runs, if this dataset is one of the runs. Must be dropped after the content, which is
    /// removed first.
    root: Option<AppendRoot>,
    shard: Option<WriteShard>,
    names: DatasetNames,
    tables: Vec<DatasetTable>,
    /// Index in `tables`, by fingerprint, name and partition.
    indexes: HashMap<(u64, String, Option<Partition>), usize>,
    /// Indexes of tables with an open file, by fingerprint, if there are partitions.
    recent: OpenPartitions<usize>,
    /// Number of files of partitions.
    partition_files: usize,
    completed: Vec<WrittenTable>,
    side: HashMap<&'static str, ParquetFile>,
    /// Approximate size of all open row groups in memory, with their encoders.
    waiting: usize,
    encoders_cost: usize,
    /// Approximate size of the rows of files without an encoder.
    kept: usize,
    /// Number of batches so far.
    batches: u64,
    /// `true` if losses or damage were written.
    has_notes: bool,
    /// Data stream metadata for a single file at the path. `None` for a directory.
    of_file: Option<Vec<(String, String)>>,
}

impl ParquetDataset {
    /// Creates a dataset for events from these sources. It can be a shard, or, with a root, one of several runs.
    /// `threads` is the number of encoder threads.
    pub(crate) fn new(
        directory: OutputDirectory,
        sources: &[WriteSource],
        root: Option<AppendRoot>,
        shard: Option<WriteShard>,
        threads: usize,
    ) -> Self {
        let mut names = DatasetNames::default();
        // Declaration order makes the names independent of the events in a shard.
        for trace in sources.iter().map(|source| &source.trace) {
            for class in trace.class.data_streams.iter().flat_map(|class| &class.event_records) {
                names.directory(class.name.as_deref().unwrap_or_default());
            }
        }
        Self {
            encoders: Encoders::new(threads),
            directory,
            root,
            shard,
            names,
            tables: Vec::new(),
            indexes: HashMap::new(),
            recent: OpenPartitions::default(),
            partition_files: 0,
            completed: Vec::new(),
            side: HashMap::new(),
            waiting: 0,
            encoders_cost: 0,
            kept: 0,
            batches: 0,
            has_notes: false,
            of_file: None,
        }
    }

    /// Allows a single file at the path instead of a directory. This works if one file has all events, and the side
    /// tables for losses, damage and call stacks are empty. The metadata of the file names the data streams.
    pub(crate) fn or_file(self, streams: &[Arc<DataStream>]) -> Self {
        let of_file = (streams.len() <= MOST_NAMED).then(|| names_of_streams(streams));
        Self { of_file, ..self }
    }

    /// Returns `true` if a single file has everything so far.
    fn is_file(&self) -> bool {
        let is_whole = |only: &DatasetTable| only.parts == 1 && only.plan.stack.is_none();
        self.of_file.is_some() && !self.has_notes && matches!(&*self.tables, [only] if is_whole(only))
    }

    /// Returns why a single file cannot have everything, if the path could be a file.
    fn directory_reason(&self) -> Option<String> {
        self.of_file.as_ref()?;
        let reason = match &*self.tables {
            [] => "no event was written".to_owned(),
            [_, _, ..] => format!("it has a table for each of {} event classes", self.tables.len()),
            [_] if self.has_notes => "lost or damaged events are a table of their own".to_owned(),
            [only] if only.plan.stack.is_some() => "call stacks are tables of their own".to_owned(),
            [only] if only.plan.has_times() && !only.is_sorted => "events are not sorted by time".to_owned(),
            [only] if only.parts > 1 => "the events need several files".to_owned(),
            [_] => return None,
        };
        Some(reason)
    }

    /// Writes the file with the columns of all tables. Shards and separate runs would need the columns of others.
    fn write_columns(&mut self) -> io::Result<()> {
        if self.shard.is_some() || self.root.is_some() {
            return Ok(());
        }
        // Partitions share their columns.
        let mut known = HashSet::new();
        let tables = self.tables.iter().filter(|table| known.insert((table.fingerprint, table.plan.name())));
        let common = common_columns(tables.map(|table| table.plan.schema()));
        let Some(common) = common.filter(|common| !common.schema.fields().is_empty()) else { return Ok(()) };
        let mut metadata = vec![(VERSION_KEY.to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        metadata.extend(common.metadata());
        let (directory, encoders) = (&self.directory, &mut self.encoders);
        let file = ParquetFile::create(directory, encoders, COLUMNS_FILE, &common.schema, false, metadata)?;
        file.finish(&self.encoders)
    }

    /// Appends rows to a table. `is_last` means that most tables have no more rows.
    ///
    /// # Errors
    /// If the rows cannot be written.
    pub(crate) fn write(&mut self, batch: TableBatch, is_last: bool) -> io::Result<()> {
        if batch.plan.schema().fields().is_empty() {
            // No column of the class is wanted.
            return Ok(());
        }
        let index = self.table(&batch)?;
        self.batches += 1;
        let order = batch.order;
        let Some(table) = self.tables.get_mut(index) else { return Ok(()) };
        table.last_used = self.batches;
        let last = table.open.as_ref().and_then(|(_, written)| written.last);
        let is_after = last.is_none_or(|last| order.range.is_none_or(|(begin, _)| last <= begin));
        // After a step back in time, the earlier rows stay in a sorted file.
        let is_step_back = table.is_sorted && !(order.is_sorted && is_after);
        table.is_sorted &= !is_step_back;
        if table.open.as_ref().is_some_and(|(file, _)| is_step_back || file.is_full()) {
            self.complete(index)?;
        }
        if let Some(unused) = batch.partition.and_then(|_| self.use_partition(index)) {
            self.complete(unused)?;
        }
        self.open(index)?;
        let Some((file, written)) = self.tables.get_mut(index).and_then(|table| table.open.as_mut()) else {
            return Ok(());
        };
        let before = (file.waiting(), file.encoder_cost(), file.kept());
        file.write(&self.encoders, batch.batch)?;
        if let Some((first, last)) = order.range {
            written.first = Some(written.first.map_or(first, |known| known.min(first)));
            written.last = Some(written.last.map_or(last, |known| known.max(last)));
        }
        self.waiting = (self.waiting + file.waiting()).saturating_sub(before.0);
        self.encoders_cost = (self.encoders_cost + file.encoder_cost()).saturating_sub(before.1);
        self.kept = (self.kept + file.kept()).saturating_sub(before.2);
        if is_last && self.kept > MOST_KEPT {
            self.complete(index)?;
        }
        if self.waiting > MOST_WAITING {
            self.end_groups()?;
        }
        if self.encoders_cost > MOST_OPEN { self.complete_unused() } else { Ok(()) }
    }

    /// Records the use of a partition. Returns a table whose file should be completed.
    fn use_partition(&mut self, index: usize) -> Option<usize> {
        let table = self.tables.get(index)?;
        self.recent.used(table.fingerprint, index)
    }

    /// Opens a file for more rows in a table, if none is open.
    fn open(&mut self, index: usize) -> io::Result<()> {
        let Some(table) = self.tables.get(index).filter(|table| table.open.is_none()) else { return Ok(()) };
        if table.is_partition {
            check_files(self.partition_files)?;
            self.partition_files += 1;
        }
        let path = format!("{}/{}", table.directory, self.file_name(table.fingerprint, table.parts));
        let plan = Arc::clone(&table.plan);
        let mut metadata = vec![
            (EVENT_KEY.to_owned(), plan.name().to_owned()),
            (VERSION_KEY.to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        metadata.extend(self.of_file.iter().flatten().cloned());
        let (directory, encoders, schema) = (&self.directory, &mut self.encoders, plan.schema());
        let is_sorted = table.is_sorted;
        let file = ParquetFile::create(directory, encoders, &path, schema, is_sorted, metadata)?;
        let columns = schema.fields().len();
        let written = WrittenTable { plan, path, rows: 0, columns, first: None, last: None, is_sorted };
        if let Some(table) = self.tables.get_mut(index) {
            table.open = Some((file, written));
            table.parts += 1;
        }
        Ok(())
    }

    /// Completes a table's file. More rows will go to another file.
    fn complete(&mut self, index: usize) -> io::Result<()> {
        let Some((file, mut written)) = self.tables.get_mut(index).and_then(|table| table.open.take()) else {
            return Ok(());
        };
        self.waiting = self.waiting.saturating_sub(file.waiting());
        self.encoders_cost = self.encoders_cost.saturating_sub(file.encoder_cost());
        self.kept = self.kept.saturating_sub(file.kept());
        written.rows = file.rows();
        self.completed.push(written);
        file.finish(&self.encoders)
    }

    /// Completes the least recently used files, until half of the encoder memory is free.
    fn complete_unused(&mut self) -> io::Result<()> {
        let tables = self.tables.iter().enumerate();
        let encoded =
            tables.filter(|(_, table)| table.open.as_ref().is_some_and(|(file, _)| file.encoder_cost() > 0));
        let mut encoded: Vec<(u64, usize)> = encoded.map(|(index, table)| (table.last_used, index)).collect();
        encoded.sort_unstable();
        for (_, index) in encoded {
            if self.encoders_cost <= MOST_OPEN / 2 {
                break;
            }
            self.complete(index)?;
        }
        Ok(())
    }

    /// Returns the index of the table for a batch. Adds a new table.
    fn table(&mut self, batch: &TableBatch) -> io::Result<usize> {
        let plan = &batch.plan;
        let mut fingerprint = plan.fingerprint();
        let partition = batch.partition;
        while let Some(index) = self.indexes.get(&(fingerprint, plan.name().to_owned(), partition)) {
            if self.tables.get(*index).is_some_and(|table| table.plan.is_same_table(plan)) {
                return Ok(*index);
            }
            // Another table has the same hash by accident.
            fingerprint = fingerprint.wrapping_add(1);
        }
        let mut directory = self.names.directory(plan.name());
        if let Some(partition) = partition {
            directory = format!("{directory}/{}", partition.directories());
        }
        let is_sorted = plan.schema().fields().first().is_some_and(|f| f.name() == "ts");
        let plan = Arc::clone(plan);
        self.indexes.insert((fingerprint, plan.name().to_owned(), partition), self.tables.len());
        let (open, parts, last_used, is_partition) = (None, 0, 0, partition.is_some());
        let table =
            DatasetTable { plan, fingerprint, directory, open, is_sorted, parts, last_used, is_partition };
        self.tables.push(table);
        Ok(self.tables.len() - 1)
    }

    fn file_name(&self, fingerprint: u64, part: usize) -> String {
        file_name(fingerprint, part, self.shard.as_ref().map(|shard| shard.shard))
    }

    /// Ends the largest row groups, until half of the memory is free.
    fn end_groups(&mut self) -> io::Result<()> {
        let size = |table: &DatasetTable| table.open.as_ref().map_or(0, |(file, _)| file.waiting());
        let mut sizes: Vec<(usize, usize)> =
            self.tables.iter().enumerate().map(|(index, table)| (size(table), index)).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (_, index) in sizes {
            if self.waiting <= MOST_WAITING / 2 {
                break;
            }
            let Some((file, _)) = self.tables.get_mut(index).and_then(|table| table.open.as_mut()) else {
                continue;
            };
            let before = (file.waiting(), file.encoder_cost());
            self.kept = self.kept.saturating_sub(file.kept());
            file.end_group(&self.encoders)?;
            self.waiting = self.waiting.saturating_sub(before.0);
            self.encoders_cost += file.encoder_cost() - before.1;
            if self.encoders_cost > MOST_OPEN {
                self.complete_unused()?;
            }
        }
        Ok(())
    }

    /// Appends losses and damage.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write_notes(&mut self, notes: &[TableNote]) -> io::Result<()> {
        self.has_notes |= !notes.is_empty();
        let [losses, damages] = side_tables::notes(notes).map_err(io::Error::other)?;
        self.write_side("_losses", Ok(losses))?;
        self.write_side("_damage", Ok(damages))
    }

    /// Appends rows to a side table.
    fn write_side(&mut self, name: &str, batch: Result<RecordBatch, ArrowError>) -> io::Result<()> {
        let batch = batch.map_err(io::Error::other)?;
        let Some(name) = side_tables::SIDE_TABLES.into_iter().find(|known| *known == name) else {
            return Ok(());
        };
        if !self.side.contains_key(name) {
            let path = format!("{name}/{}", side_file(self.shard.as_ref().map(|shard| shard.shard)));
            let metadata = vec![(VERSION_KEY.to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
            let (directory, encoders, schema) = (&self.directory, &mut self.encoders, batch.schema());
            let file = ParquetFile::create(directory, encoders, &path, &schema, false, metadata)?;
            self.side.insert(name, file);
        }
        let Some(file) = self.side.get_mut(name) else { return Ok(()) };
        file.write(&self.encoders, batch)?;
        if file.waiting() > MOST_WAITING / 16 { file.end_group(&self.encoders) } else { Ok(()) }
    }

    /// Completes the dataset. Returns its path, its size in bytes, and why it is a directory.
    ///
    /// # Errors
    /// If the dataset cannot be written.
    pub(crate) fn finish(
        mut self,
        streams: &[Arc<DataStream>],
    ) -> io::Result<(PathBuf, u64, Option<String>)> {
        for index in 0..self.tables.len() {
            self.complete(index)?;
        }
        let mut completed = std::mem::take(&mut self.completed);
        completed.sort_by(|a, b| a.path.cmp(&b.path));
        self.write_side("_classes", side_tables::classes(&completed))?;
        let shard = self.shard.clone();
        let listed = ListedStreams::new(streams, shard.as_ref());
        self.write_side("_streams", side_tables::streams(&listed))?;
        self.write_side("_clocks", side_tables::clocks(&listed))?;
        // Writes empty tables, too, so that queries find them in every dataset.
        self.write_notes(&[])?;
        side_tables::stacks(&listed, &mut |name, batch| self.write_side(name, batch))?;
        for (_, file) in std::mem::take(&mut self.side) {
            file.finish(&self.encoders)?;
        }
        self.write_columns()?;
        let bytes = self.encoders.finish()?;
        let reason = self.directory_reason();
        match &*completed {
            [only] if self.is_file() => {
                let path = self.directory.finish_as_file(Path::new(&only.path))?;
                let bytes = std::fs::metadata(&path).map_or(bytes, |metadata| metadata.len());
                Ok((path, bytes, None))
            }
            _ => Ok((self.directory.finish()?, bytes, reason)),
        }
    }
}
