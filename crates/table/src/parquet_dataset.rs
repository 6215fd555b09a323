//! A dataset of Parquet: a directory for each event record class.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use ichnos_io::{OutputDirectory, WriteShard, WriteSource};
use ichnos_model::DataStream;

use crate::append_root::AppendRoot;
use crate::dataset_names::{DatasetNames, file_name, side_file};
use crate::encoders::Encoders;
use crate::note::TableNote;
use crate::parquet_file::ParquetFile;
use crate::side_tables::{self, ListedStreams, WrittenTable};
use crate::table_plan::TablePlan;
use crate::table_rows::TableBatch;

/// Approximate maximum size in memory of all row groups that are being written, in bytes.
const MOST_WAITING: usize = 192 << 20;

/// Key in the metadata of a file: the exact name of the event record class.
pub const EVENT_KEY: &str = "ichnos.event";

/// Files of a table.
#[derive(Debug)]
struct DatasetTable {
    plan: Arc<TablePlan>,
    /// Number in the names of its files.
    fingerprint: u64,
    /// Directory in the dataset.
    directory: String,
    file: ParquetFile,
    written: WrittenTable,
    /// Number of completed files.
    parts: usize,
}

/// A dataset that is being written.
#[derive(Debug)]
pub(crate) struct ParquetDataset {
    // Before the directory: nothing is written after that is removed.
    encoders: Encoders,
    directory: OutputDirectory,
    /// Directory of several runs, if this is one of them. It comes after its content, which is removed first.
    _root: Option<AppendRoot>,
    shard: Option<WriteShard>,
    names: DatasetNames,
    tables: Vec<DatasetTable>,
    /// Indexes of `tables` by fingerprint and name.
    indexes: HashMap<(u64, String), usize>,
    completed: Vec<WrittenTable>,
    side: HashMap<&'static str, ParquetFile>,
    /// Approximate size in memory of all row groups that are being written.
    waiting: usize,
}

impl ParquetDataset {
    /// Begins a dataset with events of these sources, or a shard of one, or, with a root, a run of several. Files are
    /// encoded by this number of threads.
    pub(crate) fn new(
        directory: OutputDirectory,
        sources: &[WriteSource],
        root: Option<AppendRoot>,
        shard: Option<WriteShard>,
        threads: usize,
    ) -> Self {
        let mut names = DatasetNames::default();
        // In the order in which they are declared, so that names do not depend on the events of a shard.
        for trace in sources.iter().map(|source| &source.trace) {
            for class in trace.class.data_streams.iter().flat_map(|class| &class.event_records) {
                names.directory(class.name.as_deref().unwrap_or_default());
            }
        }
        Self {
            encoders: Encoders::new(threads),
            directory,
            _root: root,
            shard,
            names,
            tables: Vec::new(),
            indexes: HashMap::new(),
            completed: Vec::new(),
            side: HashMap::new(),
            waiting: 0,
        }
    }

    /// Adds rows of a table.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&mut self, batch: TableBatch) -> io::Result<()> {
        if batch.plan.schema().fields().is_empty() {
            // No column of the class is wanted.
            return Ok(());
        }
        let index = self.table(&batch)?;
        let Some(table) = self.tables.get_mut(index) else { return Ok(()) };
        let order = batch.order;
        let written = &mut table.written;
        let begin = order.range.map(|(first, _)| first);
        let is_in_order =
            order.is_sorted && written.last.is_none_or(|last| begin.is_none_or(|begin| last <= begin));
        if written.is_sorted && !is_in_order {
            // The rows so far stay in a file in order of time.
            self.begin_file(index, false)?;
        } else if table.file.is_full() {
            let is_sorted = written.is_sorted;
            self.begin_file(index, is_sorted)?;
        }
        let Some(table) = self.tables.get_mut(index) else { return Ok(()) };
        let before = table.file.waiting();
        table.file.write(&self.encoders, batch.batch)?;
        let written = &mut table.written;
        if let Some((first, last)) = order.range {
            written.first = Some(written.first.map_or(first, |known| known.min(first)));
            written.last = Some(written.last.map_or(last, |known| known.max(last)));
        }
        self.waiting = (self.waiting + table.file.waiting()).saturating_sub(before);
        if self.waiting > MOST_WAITING { self.end_groups() } else { Ok(()) }
    }

    /// Returns the table for a batch, which is added if it is new.
    fn table(&mut self, batch: &TableBatch) -> io::Result<usize> {
        let plan = &batch.plan;
        let mut fingerprint = plan.fingerprint();
        while let Some(index) = self.indexes.get(&(fingerprint, plan.name().to_owned())) {
            if self.tables.get(*index).is_some_and(|table| table.plan.is_same_table(plan)) {
                return Ok(*index);
            }
            // The hash is that of another table by accident.
            fingerprint = fingerprint.wrapping_add(1);
        }
        let directory = self.names.directory(plan.name());
        let is_sorted =
            batch.order.is_sorted && plan.schema().fields().first().is_some_and(|f| f.name() == "ts");
        let path = format!("{directory}/{}", self.file_name(fingerprint, 0));
        let (file, written) = self.new_file(plan, path, is_sorted)?;
        let plan = Arc::clone(plan);
        self.indexes.insert((fingerprint, plan.name().to_owned()), self.tables.len());
        self.tables.push(DatasetTable { plan, fingerprint, directory, file, written, parts: 0 });
        Ok(self.tables.len() - 1)
    }

    fn file_name(&self, fingerprint: u64, part: usize) -> String {
        file_name(fingerprint, part, self.shard.as_ref().map(|shard| shard.shard))
    }

    fn new_file(
        &mut self,
        plan: &Arc<TablePlan>,
        path: String,
        is_sorted: bool,
    ) -> io::Result<(ParquetFile, WrittenTable)> {
        let metadata = [(EVENT_KEY, plan.name()), ("ichnos.version", env!("CARGO_PKG_VERSION"))];
        let file = ParquetFile::create(
            &self.directory,
            &mut self.encoders,
            &path,
            plan.schema(),
            is_sorted,
            &metadata,
        )?;
        let columns = plan.schema().fields().len();
        let plan = Arc::clone(plan);
        let written = WrittenTable { plan, path, rows: 0, columns, first: None, last: None, is_sorted };
        Ok((file, written))
    }

    /// Completes the current file of a table, and begins another one.
    fn begin_file(&mut self, index: usize, is_sorted: bool) -> io::Result<()> {
        let Some(table) = self.tables.get(index) else { return Ok(()) };
        let (part, plan) = (table.parts + 1, Arc::clone(&table.plan));
        let path = format!("{}/{}", table.directory, self.file_name(table.fingerprint, part));
        let (file, written) = self.new_file(&plan, path, is_sorted)?;
        let Some(table) = self.tables.get_mut(index) else { return Ok(()) };
        table.parts = part;
        let file = std::mem::replace(&mut table.file, file);
        let mut written = std::mem::replace(&mut table.written, written);
        self.waiting = self.waiting.saturating_sub(file.waiting());
        written.rows = file.rows();
        self.completed.push(written);
        file.finish(&self.encoders)
    }

    /// Ends the largest row groups, until half of the memory is free.
    fn end_groups(&mut self) -> io::Result<()> {
        let mut sizes: Vec<(usize, usize)> =
            self.tables.iter().enumerate().map(|(index, table)| (table.file.waiting(), index)).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (size, index) in sizes {
            if self.waiting <= MOST_WAITING / 2 {
                break;
            }
            if let Some(table) = self.tables.get_mut(index) {
                table.file.end_group(&self.encoders)?;
            }
            self.waiting = self.waiting.saturating_sub(size);
        }
        Ok(())
    }

    /// Adds losses and damage.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write_notes(&mut self, notes: &[TableNote]) -> io::Result<()> {
        let [losses, damages] = side_tables::notes(notes).map_err(io::Error::other)?;
        self.write_side("_losses", Ok(losses))?;
        self.write_side("_damage", Ok(damages))
    }

    /// Adds rows of a table without events.
    fn write_side(&mut self, name: &str, batch: Result<RecordBatch, ArrowError>) -> io::Result<()> {
        let batch = batch.map_err(io::Error::other)?;
        let Some(name) = side_tables::SIDE_TABLES.into_iter().find(|known| *known == name) else {
            return Ok(());
        };
        if !self.side.contains_key(name) {
            let path = format!("{name}/{}", side_file(self.shard.as_ref().map(|shard| shard.shard)));
            let metadata = [("ichnos.version", env!("CARGO_PKG_VERSION"))];
            let file = ParquetFile::create(
                &self.directory,
                &mut self.encoders,
                &path,
                &batch.schema(),
                false,
                &metadata,
            )?;
            self.side.insert(name, file);
        }
        let Some(file) = self.side.get_mut(name) else { return Ok(()) };
        file.write(&self.encoders, batch)?;
        if file.waiting() > MOST_WAITING / 16 { file.end_group(&self.encoders) } else { Ok(()) }
    }

    /// Completes the dataset and returns its path and size in bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(mut self, streams: &[Arc<DataStream>]) -> io::Result<(PathBuf, u64)> {
        let tables = std::mem::take(&mut self.tables);
        for DatasetTable { file, mut written, .. } in tables {
            written.rows = file.rows();
            self.completed.push(written);
            file.finish(&self.encoders)?;
        }
        let mut completed = std::mem::take(&mut self.completed);
        completed.sort_by(|a, b| a.path.cmp(&b.path));
        self.write_side("_classes", side_tables::classes(&completed))?;
        let shard = self.shard.clone();
        let listed = ListedStreams::new(streams, shard.as_ref());
        self.write_side("_streams", side_tables::streams(&listed))?;
        self.write_side("_clocks", side_tables::clocks(&listed))?;
        // Tables without rows, too, so that every dataset has them, and queries find them.
        self.write_notes(&[])?;
        side_tables::stacks(&listed, &mut |name, batch| self.write_side(name, batch))?;
        for (_, file) in std::mem::take(&mut self.side) {
            file.finish(&self.encoders)?;
        }
        let bytes = self.encoders.finish()?;
        Ok((self.directory.finish()?, bytes))
    }
}
