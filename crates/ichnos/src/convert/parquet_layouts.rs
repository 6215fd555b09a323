//! Parquet datasets in both layouts: a table for each event class, or OpenTelemetry's tables.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ichnos_io::{
    CreateError, FormatOption, FormatOptions, JoinResult, Lane, MessageOrder, Output, OutputBlock,
    PartsOutput, Worker, WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory,
};
use ichnos_model::DataStream;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::LossTable;
use ichnos_table::{OtelDataset, ParquetWriter, is_otel_layout};
use ichnos_viewers::{OtlpSignal, ViewerStart};

use super::telemetry_worker::{SharedLosses, TelemetryWorker, record_lost, request_signal, requests_of};
use super::viewer_file::viewer_start;

/// Size of the requests that become rows, in bytes.
const REQUEST: usize = 128 << 10;

/// Loss reasons.
const VALUES: &str = "counter value: the layout has no table for them";
const ROWS: &str = "span or log record with a time after the year 2262, or with more than 65,536 values";

/// Writes Parquet datasets in the layout that an option names.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParquetLayouts;

impl WriterFactory for ParquetLayouts {
    fn extensions(&self) -> &'static [&'static str] {
        ParquetWriter.extensions()
    }

    fn is_directory(&self) -> bool {
        ParquetWriter.is_directory()
    }

    fn options(&self) -> &'static [FormatOption] {
        ParquetWriter.options()
    }

    fn drops_events(&self) -> bool {
        ParquetWriter.drops_events()
    }

    fn needs_times(&self, options: &FormatOptions) -> bool {
        is_otel_layout(options)
    }

    fn writes_shards(&self) -> bool {
        ParquetWriter.writes_shards()
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        ParquetWriter.written_files(directory)
    }

    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        if !is_otel_layout(&options.formats) {
            return ParquetWriter.create(target, sources, options);
        }
        let dataset = match target {
            WriteTarget::Complete(path) | WriteTarget::Live(path) => {
                Some(OtelDataset::create(&path, &sources, options)?)
            }
            WriteTarget::Nowhere => {
                OtelDataset::check(&sources, options)?;
                None
            }
        };
        let streams = sources.iter().map(|source| source.streams.len()).sum();
        let (options, streams) = (options.clone(), Mutex::new(streams));
        Ok(Box::new(OtelOutput { dataset: Mutex::new(dataset), losses: Arc::default(), options, streams }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        ParquetWriter.create_parts(sources, options)
    }
}

const COUNTS: &str = "flags of spans, numbers of dropped attributes, events and links, and times of observation beside \
                      another time: the layout has no columns for them";

/// Dataset of OpenTelemetry's tables in progress.
#[derive(Debug)]
struct OtelOutput {
    /// `None` if nothing is written.
    dataset: Mutex<Option<OtelDataset>>,
    losses: SharedLosses,
    options: WriteOptions,
    /// Number of data streams.
    streams: Mutex<usize>,
}

impl Output for OtelOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        let start: ViewerStart = viewer_start(&self.options);
        Box::new(TelemetryWorker::new(start, REQUEST, Arc::clone(&self.losses)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        OtelDataset::check_stream(&stream, &self.options)?;
        let mut streams = self.streams.lock().ignore_poison();
        *streams += 1;
        Ok(*streams - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let mut dataset = self.dataset.lock().ignore_poison();
        for request in requests_of(block) {
            if request.signal == OtlpSignal::Metrics {
                record_lost(&self.losses, VALUES, request.elements);
            } else if let Some(dataset) = &mut *dataset {
                let lost = dataset.write(request_signal(request.signal), &request.bytes)?;
                record_lost(&self.losses, ROWS, lost.elements);
                record_lost(&self.losses, COUNTS, lost.values);
            }
        }
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        self.losses.lock().ignore_poison().clone()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut report = WriteReport::default();
        report.losses = self.losses();
        if let Some(dataset) = self.dataset.into_inner().ignore_poison() {
            let (path, bytes) = dataset.finish()?;
            report.paths.push(path);
            report.bytes = bytes;
        }
        Ok(report)
    }
}
