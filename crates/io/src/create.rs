//! Writes traces: the counterpart of [`Format::open`](crate::Format::open).

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos_model::digest::TraceDigest;
use ichnos_model::event::Packet;
use ichnos_model::lower::LossTable;
use ichnos_model::plan::PlanError;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Message, Trace, TraceClass};

use crate::{
    ExistingOutput, FormatOption, FormatOptions, Lane, MessageOrder, OptionValue, Output, WriteShard,
};

/// Creates the outputs for traces in a format, and describes them.
///
/// # For implementations
/// A format that can be written must have a factory in [`FormatInfo::writer`](crate::FormatInfo::writer). It should
/// lower the source classes with [`LoweredTrace`](ichnos_model::lower::LoweredTrace): then it only declares its
/// capabilities, without any other decisions about classes.
pub trait WriterFactory: Send + Sync {
    /// Returns the dialects that can be written. The first one is the default. Empty for a format without dialects.
    fn dialects(&self) -> &'static [OptionValue] {
        &[]
    }

    /// Returns the format-specific options. [`WriteOptions::formats`] contains their values, by format name. Their
    /// names must differ from the names of reading options.
    fn options(&self) -> &'static [FormatOption] {
        &[]
    }

    /// Returns the dialect that can represent traces in these (distinct) dialects unchanged, if any.
    fn common_dialect(&self, dialects: &[&'static str]) -> Option<&'static str> {
        match dialects {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the format's file name extensions, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Returns the dialect that other programs expect in files with an extension, in lower case and without the dot.
    /// `None` if the extension does not determine the dialect.
    fn dialect_of_extension(&self, extension: &str) -> Option<&'static str> {
        let _ = extension;
        None
    }

    /// Returns `true` if a trace is a directory with files, `false` if it is a single file or pipe.
    fn is_directory(&self) -> bool {
        false
    }

    /// Returns the message order that it needs.
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    /// Returns `true` if the format may be unable to store some events. Otherwise, all selected events are written, and
    /// outputs need not count them.
    fn drops_events(&self) -> bool {
        true
    }

    /// Returns `true` if the format requires a time for all events: see [`WriteOptions::first_time`].
    fn needs_times(&self, options: &FormatOptions) -> bool {
        let _ = options;
        false
    }

    /// Returns `true` if messages are sent to another program at once, so that they cannot be taken back. The path of
    /// the output is an address.
    fn sends(&self) -> bool {
        false
    }

    /// Returns `true` if several outputs can be written to one path, each with a [shard](WriteOptions::shard) of the
    /// messages.
    fn writes_shards(&self) -> bool {
        false
    }

    /// Returns `true` if it can write a trace that is read while it is written: see [`WriteTarget::Live`] and
    /// [`Output::add_stream`].
    fn writes_live(&self) -> bool {
        false
    }

    /// Returns the rules that other readers of the format apply.
    fn reader_rules(&self) -> ReaderRules {
        ReaderRules::default()
    }

    /// Lists the files in a directory, by relative path, if a writer of the format can have written all of them. With
    /// [`ExistingOutput::Replace`], they are deleted when the output replaces them.
    ///
    /// # Errors
    /// Fails if there is any other file, which the error names (see [`foreign_file`](crate::foreign_file)), or the
    /// directory cannot be read.
    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;

    /// Creates traces at a path, with the classes and data streams of the source traces.
    ///
    /// # Errors
    /// Fails if they cannot be written at all.
    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError>;

    /// Creates an output for several parts of source traces. Each part has the classes of all sources. Parts are added
    /// while the traces are read.
    ///
    /// # Errors
    /// Fails if they cannot be written at all.
    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError>;
}

/// Rules that other readers of a format apply, beyond its specification. [`WriteOptions::verify`] checks them, because
/// our own reader shares the habits of the writer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReaderRules {
    /// Returns the rules that the classes of a written trace break, one sentence each.
    pub classes: fn(&TraceClass) -> Vec<String>,
    /// Returns a rule that a written event breaks.
    pub event: fn(&Event<'_>) -> Option<String>,
}

impl Default for ReaderRules {
    fn default() -> Self {
        Self { classes: |_| Vec::new(), event: |_| None }
    }
}

impl ReaderRules {
    /// Creates rules for classes.
    #[must_use]
    pub fn for_classes(classes: fn(&TraceClass) -> Vec<String>) -> Self {
        Self { classes, ..Self::default() }
    }

    /// Creates rules for events.
    #[must_use]
    pub fn for_events(event: fn(&Event<'_>) -> Option<String>) -> Self {
        Self { event, ..Self::default() }
    }
}

/// Destination for written traces.
#[derive(Clone, Debug)]
pub enum WriteTarget {
    /// A path where the traces appear when they are complete.
    Complete(PathBuf),
    /// A path where the data written so far can be read at any time, even if the program is killed.
    Live(PathBuf),
    /// Discards the output: only the losses are determined.
    Nowhere,
}

/// A trace to write, and its selected data streams.
#[derive(Clone, Debug)]
pub struct WriteSource {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Name of the source format; empty if the trace was not read from a file.
    pub format: &'static str,
    /// `true` if more event record classes can be discovered during writing: see [`Trace::dynamic_classes`].
    pub has_dynamic_classes: bool,
    /// Selected data streams, in the order of their numbers in [`Lane`].
    pub streams: Vec<Arc<DataStream>>,
}

impl WriteSource {
    /// Returns the first data stream for each class.
    pub fn first_streams(&self) -> impl Iterator<Item = &DataStream> {
        let mut classes = HashSet::new();
        self.streams.iter().filter(move |stream| classes.insert(stream.class_index)).map(|stream| &**stream)
    }
}

/// First event time in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstTime {
    /// Nanoseconds from the clock's origin.
    pub nanoseconds: i128,
    /// `true` if the clock counts from the Unix epoch.
    pub has_date: bool,
}

/// Options for writing traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Dialect name; `None` for the default.
    pub dialect: Option<String>,
    /// Approximate maximum packet size in bytes; `None` for the size of the source packet, or the default.
    pub packet_size: Option<u64>,
    /// `true` if events are dropped, so that an event's data must not depend on the previous event.
    pub leaves_out: bool,
    /// `true` if whole packets are dropped, so that a packet's data must not depend on the previous packet.
    pub leaves_out_packets: bool,
    /// Selection of events, if events between them are dropped. The output then gets a new UUID, derived from the
    /// selection and the source's UUID. Otherwise, files with the same UUID would count as parts of one trace, and
    /// packets with the same number as copies.
    pub selected_by: Vec<String>,
    /// Time window: packets must not start before it or end after it.
    pub window: ichnos_model::Window,
    /// Time of the first event that has one. If the format [needs times](WriterFactory::needs_times), earlier events
    /// get this time. `None` if unknown.
    pub first_time: Option<FirstTime>,
    /// Declares that events are selected only by time, though some are dropped: all events in this window, and the
    /// events outside of it that are a [rundown](ichnos_model::class::EventRecordClass::is_rundown).
    pub cut: Option<ichnos_model::Window>,
    /// Declares that events can come in any order. A format whose files must be sorted by time then sorts them.
    /// Otherwise, it rejects them with [`CreateError::Unsorted`].
    pub sorts: bool,
    /// Declares that the input is live, so that it cannot be read again, and some events can come late. A format whose
    /// files must be sorted by time gives them a later time.
    pub live: bool,
    /// Directory for temporary files; `None` for the system default.
    pub temp_dir: Option<PathBuf>,
    /// Make the output valid for any source: impossible times in events and packets are replaced by possible times,
    /// counters only grow, and texts are valid.
    pub repair: bool,
    /// Roles of packet fields that count anew, without the losses of the source: counters of discarded events, and
    /// packet numbers. Without effect in formats without packet fields.
    pub recounted: ichnos_model::class::Roles,
    /// Roles of packet fields that count anew, with the losses that the writer receives. A loss of an unknown number
    /// counts as one.
    pub recounted_with_losses: ichnos_model::class::Roles,
    /// Number packets that have no number in the source.
    pub numbers_packets: bool,
    /// Also write packet indexes.
    pub index: bool,
    /// Write all sources as one trace.
    pub merge: bool,
    /// Return an error if an event cannot be written. Otherwise, it is dropped and counted as a loss.
    pub must_fit: bool,
    /// Use one timeline for the clocks of all sources, even if nothing relates them.
    pub correlated: bool,
    /// Treatment of existing files at the path. For a shard, this means files from an earlier output of the same shard.
    pub existing: ExistingOutput,
    /// Shard for this output, if several outputs are written to one path: see [`WriterFactory::writes_shards`]. The
    /// sources are for all shards together.
    pub shard: Option<WriteShard>,
    /// Comparison of the output with the written data, before it appears; `None` to skip it.
    pub verify: Option<Verify>,
    /// Flag that stops writing with an error and without output.
    pub stop: Option<&'static AtomicBool>,
    /// Number of encoding threads; 0 counts as 1. The output does not depend on it.
    pub threads: usize,
    /// Limits for classes.
    pub limits: Limits,
    /// Format-specific options: see [`WriterFactory::options`].
    pub formats: FormatOptions,
}

impl WriteOptions {
    /// Returns the roles of packet fields that count anew.
    #[must_use]
    pub fn all_recounted(&self) -> ichnos_model::class::Roles {
        self.recounted.iter().chain(self.recounted_with_losses.iter()).collect()
    }

    /// Returns the dialect's index in a list. The default is 0.
    ///
    /// # Errors
    /// Fails if the list lacks the dialect.
    pub fn dialect_index(&self, dialects: &[OptionValue]) -> Result<usize, CreateError> {
        let Some(name) = &self.dialect else { return Ok(0) };
        let index = dialects.iter().position(|dialect| dialect.name == name);
        index.ok_or_else(|| CreateError::Dialect(name.clone()))
    }

    /// Ends long-running work when writing is [stopped](Self::stop).
    ///
    /// # Errors
    /// Fails with the kind [`io::ErrorKind::Interrupted`] if the flag is set.
    pub fn check_stop(&self) -> io::Result<()> {
        match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(io::Error::new(io::ErrorKind::Interrupted, "stopped")),
            false => Ok(()),
        }
    }
}

/// Compares an output with the written data.
#[derive(Clone)]
pub struct Verify(Arc<VerifyFn>);

/// Compares the output at a path, which has not appeared yet, with the digest of the written data. The error is the
/// first difference, as a [`CreateError::Mismatch`].
pub type VerifyFn = dyn Fn(&Path, &TraceDigest) -> Result<(), CreateError> + Send + Sync;

impl Verify {
    /// Creates a comparison with a function.
    pub fn new(
        verify: impl Fn(&Path, &TraceDigest) -> Result<(), CreateError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(verify))
    }

    /// Compares the output at a path.
    ///
    /// # Errors
    /// Fails if it differs from the written data.
    pub fn check(&self, path: &Path, written: &TraceDigest) -> Result<(), CreateError> {
        (self.0)(path, written)
    }
}

impl std::fmt::Debug for Verify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verify")
    }
}

/// Returns the name of a trace for messages.
fn named(trace: &str) -> &str {
    // The only trace of an input has no name of its own.
    if trace.is_empty() { "the trace" } else { trace }
}

/// Reason why traces cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The dialect does not exist.
    #[error("unknown dialect `{0}`")]
    Dialect(String),
    /// Lowered classes exceed a limit.
    #[error("the classes of {trace} cannot be written: {error}")]
    Classes {
        /// Trace name.
        trace: String,
        /// Reason.
        error: PlanError,
    },
    /// Trace metadata cannot be written.
    #[error("{} cannot be written as {dialect}: {}", named(trace), problems.join("; "))]
    Unsupported {
        /// Trace name.
        trace: String,
        /// Dialect name.
        dialect: &'static str,
        /// Unsupported items.
        problems: Vec<String>,
    },
    /// Traces cannot be merged.
    #[error("{} cannot be merged with the others: {problem}", named(trace))]
    Unmergeable {
        /// Trace name.
        trace: String,
        /// Reason.
        problem: String,
    },
    /// The output cannot be written.
    #[error("{path}: {error}")]
    Io {
        /// Path.
        path: String,
        /// Reason.
        error: io::Error,
    },
    /// The output differs from the written data, and was discarded.
    #[error("the output differs from the written data: {0}")]
    Mismatch(String),
    /// Writing was [stopped](WriteOptions::stop), and the output was discarded.
    #[error("stopped")]
    Stopped,
    /// The output is a pipe or a device, which cannot be read again.
    #[error("{0}: cannot verify the output: a pipe or a device cannot be read again")]
    Unverifiable(String),
    /// An event is earlier than the format allows after the previous events: see [`WriteOptions::sorts`].
    #[error(
        "the events are not sorted by time, but the format requires it: an event is {back} ticks too \
        early"
    )]
    Unsorted {
        /// Number of ticks between the event time and the earliest allowed time.
        back: u64,
    },
    /// The output is text that a terminal could run as commands.
    #[error("the output is a terminal, but text is written unescaped")]
    Terminal,
    /// The output cannot be verified, because ichnos does not read this kind of file.
    #[error("cannot verify the output: {0} cannot be read back")]
    WriteOnly(&'static str),
    /// The format does not support several outputs at one path.
    #[error("this format cannot be written in shards")]
    Shards,
    /// The format does not support data streams that start later.
    #[error("data streams cannot be added to a trace in this format while it is written")]
    FixedStreams,
}

/// A part of traces, written as separate traces.
#[derive(Clone, Debug, Default)]
pub struct PartTarget {
    /// Directory or file, which must not exist; `None` to write nothing.
    pub path: Option<PathBuf>,
    /// Selection of its events, in addition to [`WriteOptions::selected_by`]. The part then gets a new UUID, and its
    /// packets get new sequence numbers and loss counters.
    pub selected_by: Option<String>,
    /// Time window: its packets must not start before it or end after it.
    pub window: ichnos_model::Window,
}

/// Output for several parts of traces, written one [`Lane`] after the other.
///
/// A loss is a message for one part. Only the packets of that part contain it, independent of the source's counters.
///
/// # For implementations
/// There can be very many parts. A waiting part may take some hundred bytes, and files must not stay open.
pub trait PartsOutput {
    /// Adds a part and returns its number, from 0.
    ///
    /// # Errors
    /// Fails if it cannot be created.
    fn add_part(&mut self, part: PartTarget) -> Result<usize, CreateError>;

    /// Begins the messages of a lane.
    fn begin_lane(&mut self, lane: Lane);

    /// Copies a whole packet into a part, at its start, if its bytes can be copied. Returns `true` if copied. Then its
    /// events and its end must not be passed.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn copy_packet(&mut self, part: usize, packet: &Packet<'_>) -> io::Result<bool> {
        let _ = (part, packet);
        Ok(false)
    }

    /// Counts a message from a packet that was [copied](Self::copy_packet) into a part as written, for
    /// [`WriteOptions::verify`].
    fn copied_message(&mut self, part: usize, message: &Message<'_>) {
        let _ = (part, message);
    }

    /// Begins a source packet. Each part receives it with its first event in the packet.
    ///
    /// # Errors
    /// Fails if earlier data cannot be written.
    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let _ = packet;
        Ok(())
    }

    /// Adds the current packet to a part, even if the part receives no event from it.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn open_packet(&mut self, part: usize) -> io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// Ends the current packet in a part.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn close_packet(&mut self, part: usize) -> io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// Ends the packet in all parts that contain it.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn end_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let _ = packet;
        Ok(())
    }

    /// Writes a message to a part: an event, a loss or damage.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()>;

    /// Ends the lane.
    ///
    /// # Errors
    /// Fails if data cannot be written.
    fn end_lane(&mut self) -> io::Result<()>;

    /// Completes a part after the last lane: writes its metadata, and reads the part again if requested (see
    /// [`WriteOptions::verify`]). The report contains the numbers of events and copied packets.
    ///
    /// # Errors
    /// Fails if it cannot be written, or differs from the written data.
    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError>;

    /// Returns the number of bytes written so far.
    fn written(&self) -> u64;

    /// Returns the losses so far.
    fn losses(&self) -> LossTable;

    /// Ends the output. All parts must be complete.
    ///
    /// # Errors
    /// Fails if data cannot be written.
    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError>;
}

/// Numbers of requests and elements that were sent to another program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Number of requests with an answer.
    pub answered: u64,
    /// Number of times a request was sent again.
    pub retries: u64,
    /// Number of acknowledged elements.
    pub acknowledged: u64,
    /// Number of rejected elements.
    pub rejected: u64,
    /// Number of requests without an answer, which the other program may have.
    pub unanswered: u64,
    /// Number of elements in these requests.
    pub unknown: u64,
}

/// Returns the ending of a noun after a number.
fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl std::fmt::Display for SentCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { answered, retries, acknowledged, rejected, unanswered, unknown } = self;
        let elements = |count: u64| format!("{count} element{}", plural(count));
        let requests = |count: u64| format!("{count} request{}", plural(count));
        write!(f, "{} acknowledged in {}", elements(*acknowledged), requests(*answered))?;
        if *retries > 0 {
            write!(f, ", {retries} sent again")?;
        }
        if *rejected > 0 {
            write!(f, ", {} rejected", elements(*rejected))?;
        }
        if *unanswered > 0 {
            let (requests, elements) = (requests(*unanswered), elements(*unknown));
            write!(f, ", {requests} with {elements} without an answer: the receiver may have them")?;
        }
        Ok(())
    }
}

/// Summary of the written data.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteReport {
    /// Trace paths.
    pub paths: Vec<PathBuf>,
    /// Total data stream size in bytes.
    pub bytes: u64,
    /// Number of packets.
    pub packets: u64,
    /// Number of events, without those in copied packets.
    pub events: u64,
    /// Number of packets copied as a whole.
    pub copied_packets: u64,
    /// Number of events to write, without those in copied packets. Set by the code that reads them.
    pub selected_events: u64,
    /// Number of values that could not be decoded, because of a reader bug.
    pub undecoded: u64,
    /// Sum of all event and packet hashes, if the output decodes everything and writes nothing.
    pub checksum: Option<u64>,
    /// Losses.
    pub losses: LossTable,
    /// Numbers of elements that were sent, if the output [sends](WriterFactory::sends).
    pub sent: Option<SentCounts>,
    /// Why the output is a directory, for a format that also writes single files.
    pub directory_reason: Option<String>,
}

impl WriteReport {
    /// Returns `true` if there were events, but all are missing from the output.
    #[must_use]
    pub fn lacks_all_events(&self) -> bool {
        let has_sent = self.sent.as_ref().is_some_and(|sent| sent.acknowledged > 0);
        self.selected_events > 0 && self.events == 0 && self.copied_packets == 0 && !has_sent
    }
}
