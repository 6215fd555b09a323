//! Writes live traces. Their data streams begin while they are read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ichnos_flow::Merge;
use ichnos_io::{
    CreateError, FileNames, Lane, Output, Worker, WorkerFlow, WriteOptions, WriteReport, WriteSource,
    WriteTarget, WriterFactory,
};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::{DataStream, Message, Sink};

use super::{ConvertError, ConvertOptions};
use crate::{PassEnd, PassObserver, PassSummary, Reader};

/// Time between two writes of events without packets. If the program is killed, later events are lost.
const FLUSH: Duration = Duration::from_secs(1);

/// Writes each trace to a directory of its own, when its first data stream begins.
pub(super) fn convert(
    reader: &Reader<'_>,
    writer: &dyn WriterFactory,
    path: Option<PathBuf>,
    options: &ConvertOptions<'_>,
) -> Result<WriteReport, ConvertError> {
    if !writer.writes_live() {
        return Err(CreateError::FixedStreams.into());
    }
    let (_, write) = reader.write_options(writer, options, false);
    if let Some(path) = &path {
        create_empty(path).map_err(|error| CreateError::Io { path: path.display().to_string(), error })?;
    }
    let target = LiveTarget {
        writer,
        path,
        write,
        names: Mutex::default(),
        observer: options.observer,
        has_failed: AtomicBool::new(false),
    };
    let live = reader.session.live();
    // Each trace has a thread, because live traces wait.
    let written = std::thread::scope(|scope| {
        let threads: Vec<_> = reader
            .trace_cursors()
            .map(|(trace, cursor)| {
                let (format, target) = (trace.format(), &target);
                // Live inputs end by themselves.
                let stop = live.filter(|_| trace.live().is_none()).and_then(|live| live.stop);
                let write = move || target.write(format, cursor, options, stop);
                std::thread::Builder::new().spawn_scoped(scope, write)
            })
            .collect();
        let join = |thread: io::Result<std::thread::ScopedJoinHandle<'_, _>>| match thread?.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect::<Vec<Result<_, ConvertError>>>()
    });
    let (mut all, summary) = add_all(written)?;
    options.check_end(&summary)?;
    all.selected_events = summary.counts.events;
    if !writer.drops_events() {
        all.events = all.selected_events;
    }
    Ok(all)
}

/// Creates a directory, which must be empty if it exists.
fn create_empty(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            match fs::read_dir(path)?.next() {
                None => Ok(()),
                Some(_) => {
                    let message = "the directory is not empty, but live input needs a new directory";
                    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
                }
            }
        }
        created => created,
    }
}

/// Adds the results of traces.
fn add_all(
    written: Vec<Result<(PassSummary, WriteReport), ConvertError>>,
) -> Result<(WriteReport, PassSummary), ConvertError> {
    let (mut all, mut summary) = (WriteReport::default(), PassSummary::default());
    let mut failure = None;
    for written in written {
        match written {
            Ok((of_trace, report)) => {
                summary += of_trace;
                add(&mut all, report);
            }
            // A trace that ends because another failed says only that it was stopped.
            Err(error) if matches!(failure, None | Some(ConvertError::Stopped)) => failure = Some(error),
            Err(_) => {}
        }
    }
    failure.map_or(Ok((all, summary)), Err)
}

/// Adds the report of a trace.
fn add(all: &mut WriteReport, report: WriteReport) {
    all.paths.extend(report.paths);
    all.bytes += report.bytes;
    all.packets += report.packets;
    all.events += report.events;
    all.undecoded += report.undecoded;
    all.losses.merge(report.losses);
}

/// Directory with the traces being written.
struct LiveTarget<'c> {
    writer: &'c dyn WriterFactory,
    /// `None` to write nothing.
    path: Option<PathBuf>,
    write: WriteOptions,
    names: Mutex<FileNames>,
    observer: &'c dyn PassObserver,
    /// `true` if a trace cannot be written. Then the others end, too.
    has_failed: AtomicBool,
}

impl LiveTarget<'_> {
    /// Writes the messages of an input, which can contain several traces. `stop` is the flag that ends it.
    fn write(
        &self,
        format: &'static str,
        mut cursor: Merge,
        options: &ConvertOptions<'_>,
        stop: Option<&'static AtomicBool>,
    ) -> Result<(PassSummary, WriteReport), ConvertError> {
        let mut pass = options.pass.clone();
        if let Some(stop) = stop {
            pass = pass.stop(stop);
        }
        let mut sink = LiveTraces {
            target: self,
            format,
            traces: Vec::new(),
            streams: HashMap::new(),
            flushed: Instant::now(),
        };
        let written = pass.drain(&mut sink, |take| cursor.drain_all(take));
        let written = written.map_err(ConvertError::from).and_then(|mut summary| {
            // The stop flag of live inputs is their normal end.
            if stop.is_some() && matches!(summary.end, PassEnd::Interrupted) {
                summary.end = PassEnd::Over;
            }
            Ok((summary, sink.finish()?))
        });
        if written.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        written
    }

    /// Creates the output of a trace, without data streams.
    fn create(&self, format: &'static str, stream: &DataStream) -> Result<LiveTraceOutput, CreateError> {
        let trace = &stream.trace;
        let source =
            WriteSource { trace: Arc::clone(trace), format, has_dynamic_classes: true, streams: Vec::new() };
        let target = match &self.path {
            Some(path) => WriteTarget::Live(
                path.join(self.names.lock().ignore_poison().add(directory_name(&trace.path))),
            ),
            None => WriteTarget::Nowhere,
        };
        let output = self.writer.create(target, vec![source], &self.write)?;
        Ok(LiveTraceOutput { path: trace.path.clone(), output })
    }
}

/// Returns the path of a trace without its scheme.
fn directory_name(path: &str) -> &str {
    path.rsplit_once("://").map_or(path, |(_, path)| path).trim_matches('/')
}

/// A trace being written.
struct LiveTraceOutput {
    /// Path of the input.
    path: String,
    output: Box<dyn Output>,
}

/// A data stream being written.
struct LiveStream {
    /// Index of its trace.
    trace: usize,
    /// Keeps the address of its trace.
    _stream: Arc<DataStream>,
    worker: Box<dyn Worker + Send>,
    /// `true` if packets of the input become packets. They end by themselves.
    has_packets: bool,
    has_news: bool,
}

/// Traces of an input, being written.
struct LiveTraces<'c> {
    target: &'c LiveTarget<'c>,
    format: &'static str,
    traces: Vec<LiveTraceOutput>,
    /// Open data streams by address. A data stream keeps its address until it ends.
    streams: HashMap<usize, LiveStream>,
    flushed: Instant,
}

impl LiveTraces<'_> {
    /// Adds a data stream to a trace with room for its classes, or to a new trace.
    fn open(&mut self, stream: &DataStream) -> Result<LiveStream, CreateError> {
        let copy = DataStream::new(
            Arc::clone(&stream.trace),
            stream.class_index,
            stream.id,
            Arc::clone(&stream.name),
        );
        let copy = Arc::new(copy.ok_or(CreateError::FixedStreams)?);
        let mut added = None;
        for (index, trace) in self.traces.iter().enumerate().filter(|(_, it)| it.path == stream.trace.path) {
            match trace.output.add_stream(0, Arc::clone(&copy)) {
                Err(CreateError::FixedStreams) => {}
                number => {
                    added = Some((index, number?));
                    break;
                }
            }
        }
        let (trace, number) = match added {
            Some(added) => added,
            None => {
                let trace = self.target.create(self.format, stream)?;
                let number = trace.output.add_stream(0, Arc::clone(&copy))?;
                self.traces.push(trace);
                (self.traces.len() - 1, number)
            }
        };
        let output = self.traces.get(trace).ok_or(CreateError::FixedStreams)?;
        let worker = output.output.worker(Lane::Stream { source: 0, stream: number });
        Ok(LiveStream { trace, _stream: copy, worker, has_packets: false, has_news: false })
    }

    /// Writes the blocks of a worker.
    fn pass_on(&self, stream: &mut LiveStream) -> io::Result<()> {
        while let Some(block) = stream.worker.take() {
            let bytes = block.bytes.len() as u64;
            if let Some(trace) = self.traces.get(stream.trace) {
                trace.output.join(block)?;
            }
            self.target.observer.written(bytes);
        }
        Ok(())
    }

    /// Ends a data stream.
    fn end(&mut self, address: usize) -> io::Result<()> {
        let Some(mut stream) = self.streams.remove(&address) else { return Ok(()) };
        stream.worker.finish()?;
        self.pass_on(&mut stream)
    }

    /// Passes a message to the worker of its data stream.
    fn write(&mut self, stream: &DataStream, message: &Message<'_>) -> io::Result<()> {
        let address = std::ptr::from_ref(stream).addr();
        if matches!(message, Message::StreamBegin(_)) {
            self.end(address)?;
        }
        // The map needs no borrow while blocks are written.
        let mut open = match self.streams.remove(&address) {
            Some(open) => open,
            None => self.open(stream).map_err(io::Error::other)?,
        };
        open.has_packets |= matches!(message, Message::PacketBegin(_));
        open.has_news |= matches!(message, Message::Event(_));
        let flow = open.worker.message(message)?;
        if flow != WorkerFlow::Continue {
            self.pass_on(&mut open)?;
        }
        self.streams.insert(address, open);
        if matches!(message, Message::StreamEnd(_)) { self.end(address) } else { Ok(()) }
    }

    /// Completes all traces.
    fn finish(mut self) -> Result<WriteReport, ConvertError> {
        let open: Vec<usize> = self.streams.keys().copied().collect();
        for address in open {
            self.end(address)?;
        }
        let mut all = WriteReport::default();
        for trace in self.traces {
            add(&mut all, trace.output.finish()?);
        }
        Ok(all)
    }
}

impl Sink for LiveTraces<'_> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        self.target.observer.note_message(message);
        if let Some(stream) = message.stream() {
            self.write(stream, message)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, message: &Message<'_>, events: u32) -> io::Result<()> {
        self.target.observer.progress(message.nanoseconds(), events.into());
        Ok(())
    }

    /// Writes events without packets, but not too often, because each time ends a packet.
    fn flush(&mut self) -> io::Result<()> {
        if self.target.has_failed.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.flushed.elapsed() < FLUSH {
            return Ok(());
        }
        self.flushed = Instant::now();
        let mut streams = std::mem::take(&mut self.streams);
        let waiting = streams.values_mut().filter(|stream| stream.has_news && !stream.has_packets);
        let flushed = waiting.map(|stream| {
            stream.has_news = false;
            stream.worker.flush()?;
            self.pass_on(stream)
        });
        let flushed = flushed.collect();
        self.streams = streams;
        flushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories() {
        assert_eq!(directory_name("otlp://127.0.0.1:4318"), "127.0.0.1:4318");
        assert_eq!(directory_name("hello/ust/uid/0/64-bit"), "hello/ust/uid/0/64-bit");
        let directory = tempfile::tempdir().unwrap();
        create_empty(directory.path()).unwrap();
        fs::write(directory.path().join("x"), "").unwrap();
        assert!(create_empty(directory.path()).is_err());
    }
}
