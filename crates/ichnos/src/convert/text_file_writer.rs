//! Text files as conversion targets.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ichnos_io::{
    ChunkStart, CreateError, JoinResult, Lane, MessageOrder, Output, OutputBlock, PartFile, PartTarget,
    PartsOutput, TraceFile, Worker, WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory,
    foreign_file, plain_files,
};
use ichnos_model::digest::TraceDigest;
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, Message};

/// Maximum number of parts with a worker.
const MOST_WORKERS: usize = 64;

type MakeOutput = dyn Fn(Box<dyn Write + Send>) -> Box<dyn Output> + Send + Sync;

/// Writer of text instead of traces. [`Reader::convert`](crate::Reader::convert) writes one file, and
/// [`Reader::split`](crate::Reader::split) writes a file for each part. A file appears when it is complete. Text is
/// lossless and cannot be verified.
///
/// ```no_run
/// use ichnos::TextOutput;
/// use ichnos::convert::{ConvertOptions, TextFileWriter};
/// use ichnos::export::{Log, LogOptions};
/// use ichnos::model::Window;
///
/// let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
/// let writer = TextFileWriter::new(&["txt"], |writer| {
///     Box::new(TextOutput::new(writer, |writer| Log::new(writer, LogOptions::default())))
/// });
/// let reader = session.reader()?;
/// reader.convert(&writer, Some("my-log.txt".into()), &ConvertOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TextFileWriter {
    extensions: &'static [&'static str],
    make: Arc<MakeOutput>,
}

impl TextFileWriter {
    /// Creates a writer for files with one of these extensions. `make` creates the output for a file, usually a
    /// [`TextOutput`](crate::TextOutput) for merged messages.
    pub fn new(
        extensions: &'static [&'static str],
        make: impl Fn(Box<dyn Write + Send>) -> Box<dyn Output> + Send + Sync + 'static,
    ) -> Self {
        Self { extensions, make: Arc::new(make) }
    }
}

impl WriterFactory for TextFileWriter {
    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn order(&self) -> MessageOrder {
        MessageOrder::Chunks
    }

    fn drops_events(&self) -> bool {
        false
    }

    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        // Text files of the user look the same.
        match plain_files(directory)?.first() {
            Some(path) => Err(foreign_file(path, "text may be from another program")),
            None => Ok(Vec::new()),
        }
    }

    fn create(
        &self,
        target: WriteTarget,
        _: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError> {
        check(options)?;
        let file = Arc::new(TraceFile::create(&target, options)?);
        if file.is_terminal() {
            return Err(CreateError::Terminal);
        }
        let text = (self.make)(Box::new(SharedFile(Arc::clone(&file))));
        Ok(Box::new(TextFile { text, file }))
    }

    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError> {
        check(options)?;
        let streams = sources.into_iter().flat_map(|source| source.streams).collect();
        let (parts, working, written) = (Vec::new(), VecDeque::new(), Arc::default());
        Ok(Box::new(TextParts {
            make: Arc::clone(&self.make),
            options: options.clone(),
            streams,
            parts,
            working,
            written,
        }))
    }
}

fn check(options: &WriteOptions) -> Result<(), CreateError> {
    match &options.dialect {
        Some(dialect) => Err(CreateError::Dialect(dialect.clone())),
        None if options.verify.is_some() => Err(CreateError::WriteOnly("text files")),
        None => Ok(()),
    }
}

/// Text file.
struct SharedFile(Arc<TraceFile>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_bytes(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Open text file.
struct TextFile {
    text: Box<dyn Output>,
    file: Arc<TraceFile>,
}

impl Output for TextFile {
    fn order(&self) -> MessageOrder {
        self.text.order()
    }

    fn takes_damage(&self) -> bool {
        self.text.takes_damage()
    }

    fn prepare(&self, streams: &[Arc<DataStream>], threads: usize) {
        self.text.prepare(streams, threads);
    }

    fn worker(&self, lane: Lane) -> Box<dyn Worker + Send> {
        self.text.worker(lane)
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        self.text.join(block)
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let text = self.text.finish()?;
        // The text had the only other reference.
        let Some(file) = Arc::into_inner(self.file) else { return Ok(text) };
        let mut report = file.finish(LossTable::default(), &TraceDigest::default())?;
        report.undecoded = text.undecoded;
        Ok(report)
    }
}

/// Text file of a part.
struct PartText {
    file: Arc<PartFile>,
    /// Number of bytes in all parts.
    written: Arc<AtomicU64>,
}

impl Write for PartText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_bytes(bytes)?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Open texts of all parts.
struct TextParts {
    make: Arc<MakeOutput>,
    options: WriteOptions,
    streams: Vec<Arc<DataStream>>,
    parts: Vec<OpenPart>,
    /// Parts with a worker, most recently used last. The other parts resume like a later chunk of the timeline.
    working: VecDeque<usize>,
    written: Arc<AtomicU64>,
}

struct OpenPart {
    file: Arc<PartFile>,
    text: Box<dyn Output>,
    worker: Option<Box<dyn Worker + Send>>,
    events: u64,
}

impl OpenPart {
    fn worker(&mut self) -> &mut (dyn Worker + Send) {
        let Self { text, worker, .. } = self;
        &mut **worker.get_or_insert_with(|| text.worker(Lane::Chunk(ChunkStart::Joined)))
    }

    /// Writes the blocks of the worker.
    fn join(&mut self) -> io::Result<()> {
        let Self { text, worker, .. } = self;
        while let Some(block) = worker.as_mut().and_then(|worker| worker.take()) {
            text.join(block)?;
        }
        Ok(())
    }

    /// Writes everything so far, and releases the memory.
    fn pause(&mut self) -> io::Result<()> {
        if let Some(worker) = &mut self.worker {
            worker.pause()?;
        }
        self.join()?;
        self.worker = None;
        Ok(())
    }
}

impl TextParts {
    /// Marks a part as used, and pauses another part if too many have a worker.
    fn use_part(&mut self, part: usize) -> io::Result<()> {
        if self.working.back() == Some(&part) {
            return Ok(());
        }
        self.working.retain(|working| *working != part);
        self.working.push_back(part);
        if self.working.len() > MOST_WORKERS
            && let Some(oldest) = self.working.pop_front()
            && let Some(oldest) = self.parts.get_mut(oldest)
        {
            oldest.pause()?;
        }
        Ok(())
    }
}

impl PartsOutput for TextParts {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        let file = Arc::new(PartFile::create(&target)?);
        let writer = PartText { file: Arc::clone(&file), written: Arc::clone(&self.written) };
        let text = (self.make)(Box::new(writer));
        text.prepare(&self.streams, 1);
        self.parts.push(OpenPart { file, text, worker: None, events: 0 });
        Ok(self.parts.len() - 1)
    }

    fn begin_lane(&mut self, _: Lane) {}

    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()> {
        self.use_part(part)?;
        let Some(part) = self.parts.get_mut(part) else { return Ok(()) };
        part.events += u64::from(matches!(message, Message::Event(_)));
        if matches!(message, Message::Damage(_)) && !part.text.takes_damage() {
            return Ok(());
        }
        part.worker().message(message)?;
        part.join()
    }

    fn end_lane(&mut self) -> io::Result<()> {
        for part in &mut self.parts {
            self.options.check_stop()?;
            part.worker().finish()?;
            part.join()?;
            part.worker = None;
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        let mut report = WriteReport::default();
        report.events = self.parts.get(part).map_or(0, |part| part.events);
        Ok(report)
    }

    fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn losses(&self) -> LossTable {
        LossTable::default()
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut report = WriteReport::default();
        report.bytes = self.written();
        for part in self.parts {
            report.events += part.events;
            report.paths.extend(part.file.path().map(Path::to_owned));
            report.undecoded += part.text.finish()?.undecoded;
        }
        Ok(report)
    }
}
