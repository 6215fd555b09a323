//! The output file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ichnos_io::{
    CreateError, Joined, Lane, MessageOrder, Output, OutputBlock, OutputFile, Verify, Worker, WriteOptions,
    WriteReport, WriteSource, WriteTarget,
};
use ichnos_model::lower::{LossEntry, LossKind, LossTable};
use ichnos_model::{ClassDigest, ClockClass, ClockOrigin, DataStream, Trace, TraceDigest};

use super::is_log;
use super::record_encoder::LogEncoder;
use super::record_hash::record_hash;
use crate::log::Framing;
use crate::reader::class::framing_of;

/// Default block size in bytes.
const BLOCK: usize = 256 << 10;

/// Destination of records.
#[derive(Debug)]
enum RecordDestination {
    Nowhere,
    Complete { output: OutputFile, path: PathBuf },
    Live { file: File, path: PathBuf },
}

/// A log being written.
#[derive(Debug)]
pub(super) struct LogOutput {
    rules: Arc<LogRules>,
    target: Mutex<(RecordDestination, WriteReport)>,
    /// Data streams added so far, kept because encoders identify traces by their addresses.
    added: Mutex<Vec<Arc<DataStream>>>,
    verify: Option<Verify>,
}

/// Rules shared by all encoders of a log.
#[derive(Debug)]
pub(super) struct LogRules {
    framing: Framing,
    /// Trace of each source, kept at its address, and whether it is a Fuchsia log.
    sources: Vec<(Arc<Trace>, bool)>,
    keeps_tags: bool,
    repairs: bool,
    block_bytes: usize,
    losses: Mutex<LossTable>,
    digest: Mutex<TraceDigest>,
    is_compared: bool,
}

impl LogOutput {
    pub(super) fn new(
        target: &WriteTarget,
        sources: &[WriteSource],
        framing: Framing,
        options: &WriteOptions,
    ) -> Result<Self, CreateError> {
        let target = match target {
            WriteTarget::Nowhere => RecordDestination::Nowhere,
            WriteTarget::Complete(path) => {
                let output = ichnos_io::create(Some(path), options.existing).map_err(|error| {
                    // The path is already in the text and should not be repeated.
                    let text = error.to_string();
                    let text = text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text);
                    with_path(path, io::Error::new(error.kind(), text))
                })?;
                RecordDestination::Complete { output, path: path.clone() }
            }
            WriteTarget::Live(path) => {
                let file = create_live(path).map_err(|error| with_path(path, error))?;
                RecordDestination::Live { file, path: path.clone() }
            }
        };
        let rules = LogRules::new(sources, framing, options);
        let target = Mutex::new((target, WriteReport::default()));
        Ok(Self { rules: Arc::new(rules), target, added: Mutex::default(), verify: options.verify.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, (RecordDestination, WriteReport)> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogRules {
    /// Returns the rules of a log of some sources.
    pub(super) fn new(sources: &[WriteSource], framing: Framing, options: &WriteOptions) -> Self {
        let mut losses = LossTable::default();
        for source in sources.iter().filter(|source| !is_log(source)) {
            note_trace(source, &mut losses);
        }
        let streams: usize = sources.iter().map(|source| source.streams.len()).sum();
        if streams > 1 {
            let what = format!("{streams} data streams -> 1");
            losses.add(loss(LossKind::Lowered, "", &what), 1);
        }
        Self {
            framing,
            sources: sources.iter().map(|source| (Arc::clone(&source.trace), is_log(source))).collect(),
            keeps_tags: streams == 1
                && !options.repair
                && sources.iter().all(|source| is_log(source) && is_copied(source, framing)),
            repairs: options.repair,
            block_bytes: options.packet_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(BLOCK),
            losses: Mutex::new(losses),
            digest: Mutex::default(),
            is_compared: options.verify.is_some(),
        }
    }

    pub(super) fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns `true` if messages that break a rule are encoded again.
    pub(super) fn repairs(&self) -> bool {
        self.repairs
    }

    /// Returns `true` if the output is compared with the input.
    pub(super) fn is_compared(&self) -> bool {
        self.is_compared
    }

    /// Number of bytes returned at once, if available.
    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Returns `true` if all records come from one Fuchsia log whose messages are copied.
    pub(super) fn keeps_tags(&self) -> bool {
        self.keeps_tags
    }

    /// Returns `true` if the trace at an address is a Fuchsia log.
    pub(super) fn is_log(&self, address: usize) -> bool {
        self.sources.iter().any(|(trace, is_log)| *is_log && Arc::as_ptr(trace).addr() == address)
    }

    /// Counts an invalid value of a source that can also be in the output.
    pub(super) fn add_damage(&self) {
        self.digest.lock().unwrap_or_else(PoisonError::into_inner).damages += 1;
    }

    /// Returns the number of invalid values that can be in the output.
    pub(super) fn damages(&self) -> u64 {
        self.digest.lock().unwrap_or_else(PoisonError::into_inner).damages
    }

    /// Adds written records to the digest.
    pub(super) fn add_records(&self, records: ClassDigest) {
        self.digest.lock().unwrap_or_else(PoisonError::into_inner).add_class("", records);
    }

    pub(super) fn with_losses<T>(&self, change: impl FnOnce(&mut LossTable) -> T) -> T {
        change(&mut self.losses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn with_path(path: &Path, error: io::Error) -> CreateError {
    CreateError::Io { path: path.display().to_string(), error }
}

/// Creates a file, or opens an empty one.
fn create_live(path: &Path) -> io::Result<File> {
    let file = File::options().append(true).create(true).open(path)?;
    match file.metadata()? {
        metadata if metadata.is_file() && metadata.len() > 0 => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists and is not empty"))
        }
        _ => Ok(file),
    }
}

/// Returns `true` if all messages of a log can be copied.
fn is_copied(source: &WriteSource, framing: Framing) -> bool {
    framing == Framing::Datagrams || framing_of(&source.trace.class.dialect) == Some(framing)
}

fn loss(kind: LossKind, field: &str, what: &str) -> LossEntry {
    LossEntry { kind, class: String::new(), field: field.to_owned(), what: what.to_owned() }
}

/// Notes losses of a whole trace.
fn note_trace(source: &WriteSource, losses: &mut LossTable) {
    let class = &source.trace.class;
    let mut lose = |kind, field: &str, what: &str| losses.add(loss(kind, field, what), 1);
    for (name, _) in &class.environment {
        // Shown in lines.
        if !matches!(name.as_str(), "vpid" | "procname") {
            lose(LossKind::Dropped, &format!("environment.{name}"), "entry of the environment");
        }
    }
    if class.name.is_some() || class.uid.is_some() || class.uuid.is_some() {
        lose(LossKind::Dropped, "", "name or unique identifier of the trace");
    }
    if class.clocks.len() > 1 {
        lose(LossKind::Dropped, "", "clocks other than that of the data stream");
    }
    for clock in &class.clocks {
        note_clock(clock, &mut lose);
    }
}

/// Notes losses of a clock, which is not stored in records.
fn note_clock(clock: &ClockClass, lose: &mut impl FnMut(LossKind, &str, &str)) {
    let field = format!("clock.{}", clock.id);
    match &clock.origin {
        ClockOrigin::UnixEpoch => lose(LossKind::Dropped, &field, "origin: the Unix epoch"),
        ClockOrigin::Named { name, .. } => lose(LossKind::Dropped, &field, &format!("origin: {name}")),
        ClockOrigin::Unknown => {}
    }
    if clock.offset_seconds != 0 || clock.offset_cycles != 0 {
        lose(LossKind::Lowered, &field, "offset from the origin -> part of all times");
    }
    let frequency = clock.frequency;
    if frequency != 1_000_000_000 {
        let is_exact = frequency > 0 && 1_000_000_000 % frequency == 0;
        let kind = if is_exact { LossKind::Lowered } else { LossKind::Rounded };
        lose(kind, &field, &format!("cycles of {frequency} Hz -> nanoseconds"));
    }
    let describes = clock.description.is_some() || clock.uuid.is_some() || clock.uid.is_some();
    if describes || clock.precision.is_some() || clock.accuracy.is_some() {
        lose(LossKind::Dropped, &field, "identity, description, precision and accuracy");
    }
}

impl Output for LogOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        Box::new(LogEncoder::new(Arc::clone(&self.rules)))
    }

    fn add_stream(&self, _: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(clock) = stream.clock()
            && !added.iter().any(|known| known.clock() == Some(clock))
        {
            let mut lose = |kind, field: &str, what: &str| {
                self.rules.with_losses(|table| table.add(loss(kind, field, what), 1));
            };
            note_clock(clock, &mut lose);
        }
        added.push(stream);
        Ok(added.len() - 1)
    }

    fn join(&self, block: OutputBlock) -> io::Result<Joined> {
        let mut target = self.lock();
        let (target, report) = &mut *target;
        let written = match target {
            RecordDestination::Nowhere => Ok(()),
            RecordDestination::Complete { output, path } => {
                output.write_all(&block.bytes).map_err(|error| (error, path))
            }
            RecordDestination::Live { file, path } => {
                file.write_all(&block.bytes).map_err(|error| (error, path))
            }
        };
        written
            .map_err(|(error, path)| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        report.bytes += block.bytes.len() as u64;
        report.events += block.events;
        Ok(Joined::Done)
    }

    fn losses(&self) -> LossTable {
        self.rules.with_losses(|table| table.clone())
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let losses = self.losses();
        let (target, mut report) = self.target.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.losses = losses;
        let (result, path) = match target {
            RecordDestination::Nowhere => return Ok(report),
            RecordDestination::Complete { mut output, path } => {
                if let Some(verify) = &self.verify {
                    let mut digest = self.rules.digest.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    digest.event_hash = Some(record_hash);
                    let written = output.written_path().map_err(|error| with_path(&path, error))?;
                    let written =
                        written.ok_or_else(|| CreateError::Unverifiable(path.display().to_string()))?;
                    verify.check(written, &digest)?;
                }
                (output.finish(), path)
            }
            RecordDestination::Live { file, path } => (file.sync_all(), path),
        };
        result.map_err(|error| CreateError::Io { path: path.display().to_string(), error })?;
        if path != Path::new("-") {
            report.paths.push(path);
        }
        Ok(report)
    }
}
