//! CTF trace output files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use ichnos_io::{
    CreateError, FileNames, JoinResult, Lane, ListWritten, MessageOrder, Output, OutputBlock,
    OutputDirectory, Worker, WorkerFlow, WriteOptions, WriteReport, WriteSource, WriteTarget,
};
use ichnos_model::class::{ByteOrder, DataStreamClass, Role, Value};
use ichnos_model::decode::DecodeLimits;
use ichnos_model::digest::TraceDigest;
use ichnos_model::lower::{Feature, LossTable, LoweredTrace, take_annotations};
use ichnos_model::{DataStream, Trace, TraceClass, Window};

use super::OutputDialect;
use super::capabilities::capabilities;
use super::encoder_config::{
    EncoderConfig, EventRecordShapes, HeaderConfig, OutputPlace, WriteRule, WriteRules,
};
use super::index_file;
use super::lowered_source::lower;
use super::merged_output::{MergeInput, MergeRules, merged, plan};
use super::names::{directory_name, file_name, part_name};
use super::open_files::OpenFiles;
use super::packet_clock::{ClockContinuity, PacketClock};
use super::scope_shape::ScopeShape;
use super::source_frame::{LostRoles, SourceFrame};
use super::stream_encoder::StreamEncoder;
use super::timestamps::Timestamps;
use super::usage::LimitUsage;
use super::versions::{SourceStacks, TraceVersions};
use super::written_files::written_files;
use crate::metadata::packetized::{PacketLayout, pack};
use crate::metadata::{ANNOTATIONS, Dialect, write_metadata};
use crate::packet_times::is_out_of_range;
use crate::stack_file::{stack_file, write_stacks};

/// CTF traces being written.
#[derive(Debug)]
pub(super) struct CtfOutput {
    pub(super) traces: Vec<OutputTrace>,
    /// Rules for all data streams, by data stream number.
    streams: RwLock<Vec<Arc<EncoderConfig>>>,
    /// Output directory. `None` if nothing is written.
    directory: Option<OutputDirectory>,
    files: Mutex<OutputFiles>,
    target: OutputDialect,
    pub(super) options: WriteOptions,
    /// Digest of the written events, if it is compared with the output.
    digest: Option<Arc<Mutex<TraceDigest>>>,
    is_live: bool,
    /// Rules and changes for merging all traces, if they are merged.
    merge: Option<(MergeRules, LossTable)>,
}

/// A trace being written.
#[derive(Debug)]
pub(super) struct OutputTrace {
    path: String,
    format: &'static str,
    has_dynamic_classes: bool,
    pub(super) versions: RwLock<TraceVersions>,
    /// Directory relative to the output directory.
    directory: PathBuf,
    /// Data stream numbers.
    streams: RwLock<Vec<usize>>,
    /// File names.
    names: Mutex<FileNames>,
    usage: Arc<LimitUsage>,
    /// Clock continuity of the last added trace, cached because there can be many data streams.
    goes_on: Mutex<Option<(Arc<Trace>, ClockContinuity)>>,
}

impl OutputTrace {
    fn goes_on(&self, trace: &Arc<Trace>, dialect: Dialect) -> ClockContinuity {
        let mut known = lock(&self.goes_on);
        match &*known {
            Some((last, goes_on)) if Arc::ptr_eq(last, trace) => *goes_on,
            _ => known.insert((Arc::clone(trace), ClockContinuity::for_trace(&trace.class, dialect))).1,
        }
    }
}

/// Files being written.
#[derive(Debug, Default)]
struct OutputFiles {
    /// Files by data stream number and part.
    streams: HashMap<(usize, usize), Arc<Mutex<OutputStreamFile>>>,
    open: OpenFiles,
    report: WriteReport,
    /// Number of classes in the written metadata, by trace.
    described: Vec<Option<usize>>,
}

/// Data stream file. Several threads can write several files at the same time.
#[derive(Debug)]
struct OutputStreamFile {
    /// Path in the output directory.
    path: PathBuf,
    name: String,
    size: u64,
    index: Vec<u8>,
    /// Open file. `None` if it is closed or does not exist yet.
    file: Option<File>,
}

impl CtfOutput {
    pub(super) fn new(
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
        dialect: OutputDialect,
    ) -> Result<Self, CreateError> {
        let mut names = FileNames::default();
        let merges = options.merge && sources.len() > 1;
        let is_single = sources.len() == 1 || merges;
        let is_live = matches!(target, WriteTarget::Live(_));
        let mut output = Self {
            traces: Vec::new(),
            streams: RwLock::default(),
            directory: None,
            files: Mutex::default(),
            target: dialect,
            options: options.clone(),
            digest: options.verify.is_some().then(|| Arc::new(Mutex::new(digest_for(options)))),
            is_live,
            merge: None,
        };
        for (number, source) in sources.iter().enumerate() {
            check_stop(options)?;
            let path = source.trace.path.clone();
            let directory = match is_single {
                true => PathBuf::new(),
                false => PathBuf::from(directory_name(&path, &mut names)),
            };
            output.traces.push(OutputTrace {
                path,
                format: source.format,
                has_dynamic_classes: source.has_dynamic_classes,
                versions: RwLock::default(),
                directory,
                streams: RwLock::default(),
                names: Mutex::default(),
                usage: Arc::default(),
                goes_on: Mutex::default(),
            });
            output.lower(number, &source.trace)?;
        }
        let mut headers = output.headers(&sources)?;
        if merges {
            let inputs = output.merge_inputs();
            let rules = plan(&inputs, &sources, options.correlated, dialect.dialect, &mut headers)?;
            output.merge = Some(rules);
        }
        output.push_streams(&sources, headers)?;
        // Unsupported classes must be found before anything is read.
        let mut metadata = Vec::new();
        for trace in output.written_traces() {
            check_stop(options)?;
            metadata.append(&mut output.metadata(trace)?);
        }
        output.directory = open_directory(&target, options, &metadata)?;
        output.lock().described = vec![None; output.traces.len()];
        Ok(output)
    }

    /// Adds the data streams of all sources.
    fn push_streams(
        &mut self,
        sources: &[WriteSource],
        headers: Vec<HeaderConfig>,
    ) -> Result<(), CreateError> {
        let mut headers = headers.into_iter();
        for (number, source) in sources.iter().enumerate() {
            let is_ctf = SourceFrame::for_trace(source.format, &source.trace.class, &self.options).is_ctf;
            for (stream, header) in source.streams.iter().zip(&mut headers) {
                check_stop(&self.options)?;
                if let Some(clock) = stream.clock().filter(|clock| !is_ctf && is_out_of_range(clock)) {
                    return Err(CreateError::Unsupported {
                        trace: source.trace.path.clone(),
                        dialect: self.target.dialect.title(),
                        problems: vec![format!(
                            "clock `{}`: its offset from the origin does not fit 64 bits of nanoseconds",
                            clock.id
                        )],
                    });
                }
                self.push_stream(number, stream, Some(header))?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, OutputFiles> {
        lock(&self.files)
    }

    /// Returns the configuration for a lane's data stream.
    pub(super) fn config_of(&self, lane: Lane) -> Option<Arc<EncoderConfig>> {
        let number = match lane {
            Lane::Stream { source, stream } => {
                let streams = &self.traces.get(source)?.streams;
                streams.read().unwrap_or_else(PoisonError::into_inner).get(stream).copied()?
            }
            // Data streams follow each other.
            Lane::All | Lane::Chunk(_) => 0,
        };
        self.config(number)
    }

    fn config(&self, number: usize) -> Option<Arc<EncoderConfig>> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }

    /// Returns the lowered trace for output trace `number`.
    fn lower(&self, number: usize, trace: &Arc<Trace>) -> Result<Arc<LoweredTrace>, CreateError> {
        let mut versions = self.traces[number].versions.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(lowered) = versions.for_source(trace) {
            return Ok(Arc::clone(lowered));
        }
        let OutputTrace { format, has_dynamic_classes, .. } = self.traces[number];
        let trace = Arc::clone(trace);
        let source = WriteSource { trace, format, has_dynamic_classes, streams: Vec::new() };
        let lowered = Arc::new(lower(&source, &self.options, self.target.dialect)?);
        if !versions.fits(&lowered, format == "ctf") {
            return Err(CreateError::FixedStreams);
        }
        versions.push(&lowered);
        Ok(lowered)
    }

    /// Returns the numbers of the traces with their own files.
    pub(super) fn written_traces(&self) -> std::ops::Range<usize> {
        0..if self.merge.is_some() { 1 } else { self.traces.len() }
    }

    /// Returns the number of the trace whose files contain a source.
    fn written_in(&self, source: usize) -> usize {
        if self.merge.is_some() { 0 } else { source }
    }

    /// Returns the traces to merge.
    fn merge_inputs(&self) -> Vec<MergeInput> {
        let input = |trace: &OutputTrace| {
            let versions = trace.versions.read().unwrap_or_else(PoisonError::into_inner);
            let header = |lowered: &Arc<LoweredTrace>| {
                let plan = lowered.trace().plans.packet_header.as_ref();
                plan.is_some_and(|plan| plan.nodes().any(ichnos_model::plan::Node::is_needed))
            };
            MergeInput {
                path: trace.path.clone(),
                class: versions.class().into_owned(),
                mirrors: versions.first().is_some_and(|first| {
                    SourceFrame::for_trace(trace.format, &first.source().class, &self.options).mirrors
                }),
                needs_header: versions.first().is_some_and(header),
                has_stacks: versions.has_stacks(),
            }
        };
        self.traces.iter().map(input).collect()
    }

    /// Returns the packet header values of all data streams if traces are not merged.
    fn headers(&self, sources: &[WriteSource]) -> Result<Vec<HeaderConfig>, CreateError> {
        let mut headers = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            for stream in &source.streams {
                check_stop(&self.options)?;
                let lowered = self.lower(number, &stream.trace)?;
                headers.push(self.header(number, &lowered, stream, headers.len()));
            }
        }
        Ok(headers)
    }

    /// Returns a data stream's packet header values.
    fn header(
        &self,
        source: usize,
        lowered: &LoweredTrace,
        stream: &DataStream,
        number: usize,
    ) -> HeaderConfig {
        let mut header = HeaderConfig::for_stream(&lowered.trace().class, stream, number);
        let format = self.traces.get(source).map_or("", |trace| trace.format);
        let frame = SourceFrame::for_trace(format, &stream.trace.class, &self.options);
        if frame.mirrors && !frame.is_ctf {
            header.is_common = frame.lacks_header;
            // Different values in a program's lines are wrong.
            header.replaced.uuid = header.uuid;
            header.replaced.data_stream_class_id = Some(header.class_id);
        }
        if self.options.repair || !self.options.selected_by.is_empty() {
            header.replaced.uuid = header.uuid;
        }
        header
    }

    /// Adds a data stream from a source. Returns its number in that source. `header` contains its packet header values,
    /// if already known.
    fn push_stream(
        &self,
        source: usize,
        stream: &Arc<DataStream>,
        header: Option<HeaderConfig>,
    ) -> Result<usize, CreateError> {
        let Some(trace) = self.traces.get(source) else { return Err(CreateError::FixedStreams) };
        let lowered = self.lower(source, &stream.trace)?;
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        let number = streams.len();
        let header = header.unwrap_or_else(|| self.header(source, &lowered, stream, number));
        let written_in = &self.traces[self.written_in(source)];
        let file = file_name(&stream.name, &mut lock(&written_in.names));
        let config = config(source, &lowered, stream, (number, file), self, header);
        let mut numbers = trace.streams.write().unwrap_or_else(PoisonError::into_inner);
        numbers.push(number);
        streams.push(Arc::new(config));
        Ok(numbers.len() - 1)
    }

    /// Returns a trace's class, with all dynamic classes found so far.
    fn class(&self, trace: usize) -> Result<TraceClass, CreateError> {
        Ok(match &self.merge {
            Some((rules, _)) => merged(&self.merge_inputs(), *rules, self.target.dialect)?.class,
            None => {
                let versions = self.traces[trace].versions.read().unwrap_or_else(PoisonError::into_inner);
                versions.class().into_owned()
            }
        })
    }

    /// Returns a trace's metadata: file names and contents.
    fn metadata(&self, trace: usize) -> Result<Vec<(PathBuf, Vec<u8>)>, CreateError> {
        let class = self.class(trace)?;
        self.describe(trace, class)
    }

    /// Returns the metadata for a trace with this class: file names and contents.
    pub(super) fn describe(
        &self,
        trace: usize,
        mut class: TraceClass,
    ) -> Result<Vec<(PathBuf, Vec<u8>)>, CreateError> {
        let trace = &self.traces[trace];
        if !capabilities(self.target.dialect).has(Feature::Attributes)
            && let Some(annotations) = take_annotations(&mut class)
        {
            class.environment.push((ANNOTATIONS.to_owned(), Value::Text(annotations.to_string())));
        }
        let written =
            write_metadata(&class, self.target.dialect, &self.options.limits).map_err(|problems| {
                CreateError::Unsupported {
                    trace: trace.path.clone(),
                    dialect: self.target.dialect.title(),
                    problems: problems.iter().map(ToString::to_string).collect(),
                }
            })?;
        let mut text = written.text.into_bytes();
        if self.target.is_packetized {
            text = packetized(&text, &class);
            let most = self.options.limits.metadata_bytes;
            if text.len() as u64 > most {
                let problem = format!("readers refuse its packetized metadata of more than {most} bytes");
                return Err(CreateError::Unsupported {
                    trace: trace.path.clone(),
                    dialect: self.target.dialect.title(),
                    problems: vec![problem],
                });
            }
        }
        let mut files = vec![(trace.directory.join("metadata"), text)];
        for stream in written.aux_streams {
            files.push((trace.directory.join(stream.file), stream.text.into_bytes()));
        }
        Ok(files)
    }

    /// Refuses a trace if readers would refuse its data.
    fn check_limits(&self, trace: usize) -> Result<(), CreateError> {
        self.check_usage(trace, &self.class(trace)?, &self.traces[trace].usage)
    }

    /// Refuses a trace with this class if readers would refuse its data. `usage` is its use of the limits.
    pub(super) fn check_usage(
        &self,
        trace: usize,
        class: &TraceClass,
        usage: &LimitUsage,
    ) -> Result<(), CreateError> {
        let problem = usage.problem(class, &self.options.limits, self.merge.is_some());
        let Some(problem) = problem else { return Ok(()) };
        Err(CreateError::Unsupported {
            trace: self.traces[trace].path.clone(),
            dialect: self.target.dialect.title(),
            problems: vec![format!("readers would refuse it: {problem}")],
        })
    }

    /// Adds packets to a trace, up to the number that readers accept.
    pub(super) fn add_packets(&self, usage: &LimitUsage, bytes: u64, packets: u64) -> io::Result<()> {
        let most = self.options.limits.packets;
        if usage.add_packets(bytes, packets) > most {
            let message = format!("readers refuse a trace with more than {most} packets");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(())
    }

    fn write_metadata(&self, trace: usize) -> Result<(), CreateError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        for (path, bytes) in self.metadata(trace)? {
            directory.write_file(&path, &bytes).map_err(|error| CreateError::Io {
                path: directory.path().join(&path).display().to_string(),
                error,
            })?;
        }
        Ok(())
    }

    /// Writes a trace's call stacks, if its events have any. The tables from several sources stay separate, because
    /// events keep their stack numbers.
    fn write_stacks(&self, trace: usize) -> Result<(), CreateError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        self.write_stacks_by(trace, &mut |path| {
            directory.create_file(path).map(BufWriter::new).map_err(|error| CreateError::Io {
                path: directory.path().join(path).display().to_string(),
                error,
            })
        })
    }

    /// Writes a trace's call stacks into files that `create` opens by name.
    pub(super) fn write_stacks_by(
        &self,
        trace: usize,
        create: &mut dyn FnMut(&Path) -> Result<BufWriter<File>, CreateError>,
    ) -> Result<(), CreateError> {
        let mut tables = Vec::new();
        if let Some((rules, _)) = &self.merge {
            let merged = merged(&self.merge_inputs(), *rules, self.target.dialect)?;
            for (part, indexes) in self.traces.iter().zip(&merged.data_streams) {
                let versions = part.versions.read().unwrap_or_else(PoisonError::into_inner);
                let class = |index: &usize| merged.class.data_streams.get(*index).map(|class| class.id);
                let ids: Vec<Option<u128>> = indexes.iter().map(class).collect();
                tables.extend(versions.stacks().into_iter().map(|table| with_ids(table, &ids)));
            }
        } else {
            let versions = self.traces[trace].versions.read().unwrap_or_else(PoisonError::into_inner);
            let ids: Vec<_> = versions.class().data_streams.iter().map(|class| Some(class.id)).collect();
            tables.extend(versions.stacks().into_iter().map(|table| with_ids(table, &ids)));
        }
        let is_single = tables.len() == 1;
        for (number, (source, class, ids)) in tables.iter().enumerate() {
            let (ids, number) = if is_single { (&[][..], None) } else { (&ids[..], Some(number + 1)) };
            let path = self.traces[trace].directory.join(stack_file(number));
            let (stacks, file) = (source.stacks_of(*class), create(&path)?);
            let result = write_stacks(stacks, ids, file);
            result.map_err(|error| CreateError::Io { path: path.display().to_string(), error })?;
        }
        Ok(())
    }

    /// Returns a trace's directory, relative to the output directory.
    pub(super) fn directory_of(&self, trace: usize) -> &Path {
        self.traces.get(trace).map_or(Path::new(""), |trace| &trace.directory)
    }

    /// Calls `change` with a trace's file names.
    pub(super) fn with_names<T>(&self, trace: usize, change: impl FnOnce(&mut FileNames) -> T) -> T {
        change(&mut lock(&self.traces[trace].names))
    }

    /// Returns a trace's current number of classes.
    fn class_count(&self, trace: usize) -> usize {
        let count =
            |trace: &OutputTrace| trace.versions.read().unwrap_or_else(PoisonError::into_inner).count();
        match self.merge {
            Some(_) => self.traces.iter().map(count).sum(),
            None => count(&self.traces[trace]),
        }
    }
}

impl OutputStreamFile {
    /// Appends bytes to the file.
    fn append(&mut self, directory: &OutputDirectory, bytes: &[u8]) -> io::Result<()> {
        let place = |error: io::Error| {
            let path = directory.path().join(&self.path);
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let mut file = match self.file.take() {
            Some(file) => file,
            None if self.size == 0 => directory.create_file(&self.path)?,
            None => File::options().append(true).open(directory.path().join(&self.path)).map_err(place)?,
        };
        let result = file.write_all(bytes).inspect_err(|_| {
            // The earlier data is complete. If the rest cannot be removed, readers skip it.
            let _ = file.set_len(self.size);
        });
        result.map_err(place)?;
        self.file = Some(file);
        Ok(())
    }
}

/// Returns an error if writing was stopped, to end long work.
fn check_stop(options: &WriteOptions) -> Result<(), CreateError> {
    options.check_stop().map_err(|_| CreateError::Stopped)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output for CtfOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::ByStream
    }

    fn worker(&self, lane: Lane) -> Box<dyn Worker + Send> {
        match self.config_of(lane) {
            Some(config) => Box::new(StreamEncoder::new(config)),
            None => Box::new(IdleWorker),
        }
    }

    fn add_stream(&self, source: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        match self.merge {
            // Free ids are determined only at the start.
            Some(_) => Err(CreateError::FixedStreams),
            None => self.push_stream(source, &stream, None),
        }
    }

    fn is_divisible(&self, lane: Lane) -> bool {
        matches!(lane, Lane::Stream { .. })
            && self.config_of(lane).is_some_and(|config| config.is_divisible())
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let Some(config) = self.config(block.stream) else { return Ok(JoinResult::Done) };
        if block.bytes.is_empty() && !self.is_live {
            // Empty packet: a file of zero bytes would not contain a packet.
            return Ok(JoinResult::Done);
        }
        let mut files = self.lock();
        let trace = self.written_in(config.output.trace);
        if self.is_live {
            // A packet must never be present before its metadata.
            let classes = self.class_count(trace);
            if files.described[trace] != Some(classes) {
                self.write_metadata(trace).map_err(io::Error::other)?;
                files.described[trace] = Some(classes);
            }
        }
        let key = (block.stream, block.part);
        let stream = files.streams.entry(key).or_insert_with(|| {
            let name = match block.part {
                0 => config.output.file.clone(),
                part => part_name(&config.output.file, part, &mut lock(&self.traces[trace].names)),
            };
            let (path, index) = (self.traces[trace].directory.join(&name), index_file::header());
            Arc::new(Mutex::new(OutputStreamFile { path, name, size: 0, index, file: None }))
        });
        let stream = Arc::clone(stream);
        let unused = files.open.touch(key).and_then(|key| files.streams.get(&key).map(Arc::clone));
        drop(files);
        if let Some(unused) = unused {
            lock(&unused).file = None;
        }
        let mut stream = lock(&stream);
        if let Some(directory) = &self.directory {
            stream.append(directory, &block.bytes)?;
        }
        let OutputStreamFile { index, size, .. } = &mut *stream;
        index_file::add_block(index, size, &block, &config);
        drop(stream);
        let (bytes, packets) = (block.bytes.len() as u64, block.packets.len() as u64);
        self.add_packets(&self.traces[trace].usage, bytes, packets)?;
        let mut files = self.lock();
        files.report.bytes += block.bytes.len() as u64;
        files.report.packets += block.packets.len() as u64;
        files.report.events += block.events;
        files.report.copied_packets += block.copied_packets;
        Ok(JoinResult::Done)
    }

    fn losses(&self) -> LossTable {
        let mut losses = self.merge.as_ref().map(|(_, changes)| changes.clone()).unwrap_or_default();
        for trace in &self.traces {
            losses.merge(trace.versions.read().unwrap_or_else(PoisonError::into_inner).losses());
        }
        losses
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let losses = self.losses();
        for trace in self.written_traces() {
            check_stop(&self.options)?;
            self.check_limits(trace)?;
            self.write_metadata(trace)?;
            self.write_stacks(trace)?;
        }
        let OutputFiles { streams, mut report, .. } = std::mem::take(&mut *self.lock());
        report.losses = losses;
        let Some(directory) = &self.directory else { return Ok(report) };
        let with_path = |path: &Path, error| CreateError::Io { path: path.display().to_string(), error };
        if self.options.index {
            for ((number, _), stream) in &streams {
                check_stop(&self.options)?;
                // Packets without a size are alone in their file.
                let Some(config) = self
                    .config(*number)
                    .filter(|config| config.has(WriteRule::DelimitPackets) || !config.frame.mirrors)
                else {
                    continue;
                };
                let (trace, stream) = (&self.traces[config.output.trace], lock(stream));
                let path = trace.directory.join("index").join(format!("{}.idx", stream.name));
                directory.write_file(&path, &stream.index).map_err(|error| with_path(&path, error))?;
            }
        }
        drop(streams);
        check_stop(&self.options)?;
        if let (Some(verify), Some(digest)) = (&self.options.verify, &self.digest) {
            verify.check(directory.path(), &lock(digest))?;
        }
        let at = directory.path().to_owned();
        if let Some(directory) = self.directory {
            report.paths.push(directory.finish().map_err(|error| with_path(&at, error))?);
        }
        Ok(report)
    }
}

/// Returns an empty digest. Discarded events are only compared if all packets and events are written unchanged, because
/// packets otherwise count them differently.
fn digest_for(options: &WriteOptions) -> TraceDigest {
    let mut digest = TraceDigest::default();
    let is_part = options.leaves_out || options.leaves_out_packets || options.window != Window::default();
    if is_part || options.repair || options.merge {
        digest.discarded_events = None;
    }
    digest
}

/// Returns a trace, the index of one of its data stream classes, and the output ids of the classes with its call
/// stacks. `ids` contains the output ids of all source classes, by index.
fn with_ids(stacks: SourceStacks, ids: &[Option<u128>]) -> (Arc<Trace>, usize, Vec<u128>) {
    let SourceStacks { source, classes } = stacks;
    let class = classes.first().map_or(0, |(index, _)| *index);
    let ids = classes.iter().filter_map(|(_, index)| ids.get(*index).copied().flatten());
    (source, class, ids.collect())
}

/// Ignores all messages.
struct IdleWorker;

impl Worker for IdleWorker {
    fn message(&mut self, _: &ichnos_model::Message<'_>) -> io::Result<WorkerFlow> {
        Ok(WorkerFlow::Continue)
    }

    fn take(&mut self) -> Option<OutputBlock> {
        None
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates the output directory.
fn open_directory(
    target: &WriteTarget,
    options: &WriteOptions,
    metadata: &[(PathBuf, Vec<u8>)],
) -> Result<Option<OutputDirectory>, CreateError> {
    let with_path =
        |path: &Path, error: io::Error| CreateError::Io { path: path.display().to_string(), error };
    Ok(match target {
        WriteTarget::Complete(path) => {
            let list: ListWritten = Arc::new(written_files);
            let directory = OutputDirectory::create(path, options.existing, &list);
            Some(directory.map_err(|error| with_path(path, error))?)
        }
        WriteTarget::Live(path) => {
            let directory = OutputDirectory::create_live(path, metadata);
            Some(directory.map_err(|error| with_path(path, error))?)
        }
        WriteTarget::Nowhere => None,
    })
}

fn config(
    source: usize,
    lowered: &Arc<LoweredTrace>,
    stream: &Arc<DataStream>,
    (number, file): (usize, String),
    output: &CtfOutput,
    header: HeaderConfig,
) -> EncoderConfig {
    let (options, dialect) = (&output.options, output.target.dialect);
    let class = stream.class();
    let written = lowered.trace().class.data_streams.get(stream.class_index);
    let frame = SourceFrame::for_trace(output.traces[source].format, &stream.trace.class, options);
    let SourceFrame { is_ctf, mirrors, .. } = frame;
    let (lost, placed) = LostRoles::for_stream(&stream.trace.class, class, &capabilities(dialect));
    let added = frame.added_fields(&placed, &lost, options);
    let clock = match mirrors {
        true => {
            let goes_on = output.traces[source].goes_on(&stream.trace, dialect);
            PacketClock::for_stream(&placed, options, goes_on, is_ctf, &lost)
        }
        false => PacketClock::default(),
    };
    let timestamp =
        if added.has(Role::Timestamp) { Timestamps::WHOLE } else { Timestamps::for_class(&placed) };
    let rules = WriteRules::for_stream(frame, (clock, timestamp), options, dialect, stream, lowered)
        .with(WriteRule::Live, output.is_live);
    let records = EventRecordShapes {
        class_id_bits: written.and_then(DataStreamClass::class_id_length).unwrap_or(64),
        header: stream.plans().event_record_header.as_ref().map(ScopeShape::for_plan),
        common_context: stream.plans().common_context.as_ref().map(ScopeShape::for_plan),
    };
    EncoderConfig {
        lowered: Arc::clone(lowered),
        stream: Arc::clone(stream),
        output: OutputPlace { number, file, trace: source },
        frame,
        added,
        recounted: options.all_recounted(),
        recounted_with_losses: options.recounted_with_losses,
        rules,
        packet_size: options.packet_size,
        window: options.window,
        records,
        clock,
        default_clock: written.and_then(|class| class.default_clock),
        timestamp,
        header,
        limits: DecodeLimits::from(&options.limits),
        usage: Arc::clone(&output.traces[output.written_in(source)].usage),
        digest: output.digest.clone(),
    }
}

/// Returns packetized metadata (CTF 1.8, section 7.1).
fn packetized(text: &[u8], class: &TraceClass) -> Vec<u8> {
    let order = class.default_byte_order.unwrap_or(ByteOrder::LittleEndian);
    // Packets always have a UUID field: without a UUID, it is zero.
    pack(text, &PacketLayout::new(order, class.uuid.unwrap_or_default()))
}
