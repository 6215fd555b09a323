//! Writes Parquet datasets.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ichnos_io::{
    CreateError, FormatOption, JoinResult, Lane, ListWritten, MessageOrder, Output, OutputBlock,
    OutputDirectory, PartsOutput, Worker, WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory,
};
use ichnos_model::DataStream;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;

use crate::append_root::AppendRoot;
use crate::dataset_names::{files_of, files_of_shards, written_files};
use crate::output_parts::{check_columns, check_dates, check_options, record, unsupported};
use crate::parquet_dataset::ParquetDataset;
use crate::table_options::{APPEND, OPTIONS, TableOptions};
use crate::table_worker::{SharedRecord, TableBlock, TableRecord, TableWorker};

/// Writes Parquet datasets. The crate documentation describes them.
#[derive(Clone, Copy, Debug)]
pub struct ParquetWriter;

impl WriterFactory for ParquetWriter {
    fn extensions(&self) -> &'static [&'static str] {
        &["parquet"]
    }

    fn is_directory(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [FormatOption] {
        &OPTIONS
    }

    fn drops_events(&self) -> bool {
        false
    }

    fn writes_shards(&self) -> bool {
        true
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        written_files(directory)
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        check_options(options)?;
        let columns = TableOptions::set_for("parquet", &options.formats);
        let streams = sources.iter().flat_map(|source| &source.streams);
        streams.into_iter().try_for_each(|stream| check_dates(stream, &columns))?;
        let (path, dataset) = match target {
            WriteTarget::Complete(path) => {
                let run = options.formats.text("parquet", APPEND);
                if run.is_some() && options.shard.is_some() {
                    let problem = "a shard cannot be one of several runs: use --shard or --append";
                    return Err(unsupported(&sources, "Parquet", problem));
                }
                let dataset =
                    create(&path, run, &sources, options).map_err(|error| with_path(&path, error))?;
                (path, Some(dataset))
            }
            WriteTarget::Live(_) => {
                return Err(unsupported(
                    &sources,
                    "Parquet",
                    "rows can be read only when their file is complete",
                ));
            }
            WriteTarget::Nowhere => (PathBuf::new(), None),
        };
        Ok(Box::new(ParquetOutput {
            path,
            dataset: Mutex::new(dataset),
            record: record(&sources),
            columns,
            is_shard: options.shard.is_some(),
        }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        _: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        let problem = "a dataset is already split by class, with a directory for each event record class";
        Err(unsupported(&sources, "Parquet", problem))
    }
}

/// Creates a dataset, or a run with this name in a dataset.
fn create(
    path: &Path,
    run: Option<&str>,
    sources: &[WriteSource],
    options: &WriteOptions,
) -> io::Result<ParquetDataset> {
    let begin = |directory, root| {
        ParquetDataset::new(directory, sources, root, options.shard.clone(), options.threads)
    };
    let Some(run) = run else {
        let dataset = begin(create_directory(path, options)?, None);
        let streams: Vec<_> = sources.iter().flat_map(|source| source.streams.iter().cloned()).collect();
        let is_partitioned = TableOptions::set_for("parquet", &options.formats).partition.is_some();
        let is_file = !is_partitioned && options.shard.is_none() && is_file_name(path) && !path.is_dir();
        return Ok(if is_file { dataset.or_file(&streams) } else { dataset });
    };
    let root = AppendRoot::open(path)?;
    let path = root.run(run)?;
    let named = |error: io::Error| {
        let name = path.file_name().unwrap_or_default().display();
        io::Error::new(error.kind(), format!("{name}: {error}"))
    };
    let directory = create_directory(&path, options).map_err(named)?;
    Ok(begin(directory, Some(root)))
}

/// Returns `true` for a single file's name.
fn is_file_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

/// Creates a dataset directory. A shard's files are put next to files from other shards.
fn create_directory(path: &Path, options: &WriteOptions) -> io::Result<OutputDirectory> {
    let Some(shard) = options.shard.as_ref().map(|shard| shard.shard) else {
        let list: ListWritten = Arc::new(written_files);
        let create = match is_file_name(path) {
            true => OutputDirectory::create_or_file,
            false => OutputDirectory::create,
        };
        return create(path, options.existing, &list);
    };
    let list: ListWritten = Arc::new(move |directory| files_of_shards(directory, shard));
    OutputDirectory::create_part(path, options.existing, &list, files_of(shard))
}

fn with_path(path: &Path, error: io::Error) -> CreateError {
    CreateError::Io { path: path.display().to_string(), error }
}

/// Parquet dataset in progress.
#[derive(Debug)]
struct ParquetOutput {
    path: PathBuf,
    /// `None` if nothing is written.
    dataset: Mutex<Option<ParquetDataset>>,
    record: SharedRecord,
    columns: TableOptions,
    is_shard: bool,
}

impl Output for ParquetOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(TableWorker::new(self.columns.clone(), Arc::clone(&self.record)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        check_dates(&stream, &self.columns)?;
        Ok(self.record.lock().ignore_poison().add_stream(&stream) as usize)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let mut dataset = self.dataset.lock().ignore_poison();
        let block = TableBlock::from_output(block)?;
        if let Some(dataset) = &mut *dataset {
            block.batches.into_iter().try_for_each(|batch| dataset.write(batch, block.is_last))?;
            if !block.notes.is_empty() {
                dataset.write_notes(&block.notes)?;
            }
        }
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        self.record.lock().ignore_poison().losses.clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let dataset = self.dataset.into_inner().ignore_poison();
        // Another shard may have the columns.
        if !self.is_shard {
            check_columns(&self.record.lock().ignore_poison(), &self.columns, "Parquet")?;
        }
        let TableRecord { streams, losses, undecoded, .. } =
            std::mem::take(&mut *self.record.lock().ignore_poison());
        let mut report = WriteReport::default();
        report.losses = losses;
        report.undecoded = undecoded;
        if let Some(dataset) = dataset {
            let (path, bytes, reason) =
                dataset.finish(&streams).map_err(|error| with_path(&self.path, error))?;
            report.paths.push(path);
            report.bytes = bytes;
            report.directory_reason = reason;
        }
        Ok(report)
    }
}
