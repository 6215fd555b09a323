//! Writing traces: the counterpart of [`Format::open`](crate::Format::open).

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos_model::lower::LossTable;
use ichnos_model::plan::PlanError;
use ichnos_model::{DataStream, Event, Limits, Message, Packet, Trace, TraceClass, TraceDigest};

use crate::{Existing, FormatOption, FormatOptions, Lane, MessageOrder, OptionValue, Output, WriteShard};

/// Creates the outputs for traces of a format, and describes them.
///
/// # For implementations
/// A format that can be written has a factory in [`FormatInfo::writer`](crate::FormatInfo::writer). Lower the
/// classes of the sources with [`LoweredTrace`](ichnos_model::lower::LoweredTrace): a writer only declares
/// its capabilities and decides nothing else about classes.
pub trait WriterFactory: Send + Sync {
    /// Returns the dialects that can be written; the first one is the default. Empty for a format without dialects.
    fn dialects(&self) -> &'static [OptionValue] {
        &[]
    }

    /// Returns the options that only this format has. Their values are in [`WriteOptions::formats`], under the name of the
    /// format; the names must differ from those of the options for reading.
    fn options(&self) -> &'static [FormatOption] {
        &[]
    }

    /// Returns the dialect that can represent traces of these (distinct) dialects unchanged, if there is one.
    fn common_dialect(&self, dialects: &[&'static str]) -> Option<&'static str> {
        match dialects {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the file name extensions of the format, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Returns the dialect that other programs expect in files with an extension, in lower case and without the dot. `None`
    /// if it says nothing about the dialect.
    fn dialect_of_extension(&self, extension: &str) -> Option<&'static str> {
        let _ = extension;
        None
    }

    /// Returns `true` if a trace is a directory of files, `false` if it is one file or pipe.
    fn is_directory(&self) -> bool {
        false
    }

    /// Returns the order in which it takes messages.
    fn order(&self) -> MessageOrder {
        MessageOrder::Merged
    }

    /// Returns `true` if some events may have no place in the format. Otherwise, all selected events are written, and
    /// outputs need not count them.
    fn drops_events(&self) -> bool {
        true
    }

    /// Returns `true` if all events need a time in the format: see [`WriteOptions::first_time`].
    fn needs_times(&self) -> bool {
        false
    }

    /// Returns `true` if several outputs can be written to one path, each with a [shard](WriteOptions::shard) of the
    /// messages.
    fn writes_shards(&self) -> bool {
        false
    }

    /// Returns the rules of other readers for traces of the format.
    fn reader_rules(&self) -> ReaderRules {
        ReaderRules::default()
    }

    /// Lists the files in a directory, by their paths in it, if a writer of the format can have written all
    /// of them: with [`Existing::Replace`], they are deleted when the output replaces them.
    ///
    /// # Errors
    /// If there is any other file, which the error names (see [`foreign_file`](crate::foreign_file)), or the
    /// directory cannot be read.
    fn written_files(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;

    /// Creates traces with the classes and data streams of other traces, at a path.
    ///
    /// # Errors
    /// If they cannot be written at all.
    fn create(
        &self,
        target: WriteTarget,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn Output>, CreateError>;

    /// Creates an output for several parts of other traces, each with the classes of all. Parts are added
    /// while the traces are read.
    ///
    /// # Errors
    /// If they cannot be written at all.
    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError>;
}

/// Rules that other readers of a format apply, beyond those of its documents. [`WriteOptions::verify`] checks them, because
/// a reader of one's own shares the habits of the writer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReaderRules {
    /// Returns the rules that the classes of a written trace break, a sentence each.
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
    pub fn of_classes(classes: fn(&TraceClass) -> Vec<String>) -> Self {
        Self { classes, ..Self::default() }
    }

    /// Creates rules for events.
    #[must_use]
    pub fn of_events(event: fn(&Event<'_>) -> Option<String>) -> Self {
        Self { event, ..Self::default() }
    }
}

/// Destination of written traces.
#[derive(Clone, Debug)]
pub enum WriteTarget {
    /// A path at which the traces appear when they are complete.
    Complete(PathBuf),
    /// A path at which the data written so far can be read at any time, even if the program is killed.
    Live(PathBuf),
    /// No output: only the losses are determined.
    Nowhere,
}

/// A trace to write, and its selected data streams.
#[derive(Clone, Debug)]
pub struct WriteSource {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Name of the format that it was read from; empty if it was not read.
    pub format: &'static str,
    /// `true` if further event record classes can be discovered while it is written: see [`Trace::dynamic_classes`].
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

/// First time of the events of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstTime {
    /// Nanoseconds from the origin of the clock.
    pub nanoseconds: i128,
    /// `true` if the clock counts from the Unix epoch.
    pub has_date: bool,
}

/// Options for writing traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Name of a dialect; `None` for the default one.
    pub dialect: Option<String>,
    /// Approximate maximum size of a packet in bytes; `None` for the size of the source packet, or the default.
    pub packet_size: Option<u64>,
    /// `true` if events are dropped, so that the data of an event cannot depend on the previous one.
    pub leaves_out: bool,
    /// `true` if whole packets are dropped, so that the data of a packet cannot depend on the previous one.
    pub leaves_out_packets: bool,
    /// Selection of events, if others between them are dropped. The output then gets its own UUID, made of the
    /// selection and the source's UUID: all files with one UUID count as parts of one trace, and packets with
    /// the same number as copies.
    pub selected_by: Vec<String>,
    /// Time window: packets do not begin before it or end after it.
    pub window: ichnos_model::Window,
    /// Time of the first event that has one: for formats in which all events [need times](WriterFactory::needs_times), that
    /// of the events before it. `None` if it is unknown.
    pub first_time: Option<FirstTime>,
    /// Declares that events are selected by nothing but their time, though some are dropped: all of this window, and those
    /// outside of it of classes that are a [rundown](ichnos_model::EventRecordClass::is_rundown).
    pub cut: Option<ichnos_model::Window>,
    /// Declares that events can come in any order: a format whose files must be sorted by time sorts them. Otherwise, it
    /// refuses them with [`CreateError::Unsorted`].
    pub sorts: bool,
    /// Directory of temporary files; `None` for the default one of the system.
    pub temp_dir: Option<PathBuf>,
    /// Make the output valid for any source: impossible times of events and packets are replaced by possible
    /// ones, counters only grow, and texts are valid.
    pub repair: bool,
    /// Also write indexes of packets.
    pub index: bool,
    /// Write all sources as one trace.
    pub merge: bool,
    /// Makes an event that cannot be written an error. Otherwise, it is dropped and counted as a loss.
    pub must_fit: bool,
    /// Take the clocks of all sources as one timeline, even if nothing relates them.
    pub correlated: bool,
    /// Treatment of existing files at the path; of a shard, those that an earlier output of it has written.
    pub existing: Existing,
    /// Shard that the output gets, of several outputs that are written to one path: see
    /// [`WriterFactory::writes_shards`]. The sources are those of all shards.
    pub shard: Option<WriteShard>,
    /// Compares the output with the written data before it appears; `None` to skip this.
    pub verify: Option<Verify>,
    /// Flag that stops writing with an error and without output.
    pub stop: Option<&'static AtomicBool>,
    /// Number of threads that encode; 0 counts as 1. The output does not depend on it.
    pub threads: usize,
    /// Limits of classes.
    pub limits: Limits,
    /// Options of single formats: see [`WriterFactory::options`].
    pub formats: FormatOptions,
}

impl WriteOptions {
    /// Returns the dialect's index in a list. The default is 0.
    ///
    /// # Errors
    /// If the list lacks the dialect.
    pub fn dialect_index(&self, dialects: &[OptionValue]) -> Result<usize, CreateError> {
        let Some(name) = &self.dialect else { return Ok(0) };
        let index = dialects.iter().position(|dialect| dialect.name == name);
        index.ok_or_else(|| CreateError::Dialect(name.clone()))
    }

    /// Ends work that takes long when writing is [stopped](Self::stop).
    ///
    /// # Errors
    /// If the flag is set. The kind of the error is [`io::ErrorKind::Interrupted`].
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

/// Compares the output at a path, which has not appeared yet, with the digest of the written data. The error
/// is the first difference, as a [`CreateError::Mismatch`].
pub type VerifyFn = dyn Fn(&Path, &TraceDigest) -> Result<(), CreateError> + Send + Sync;

impl Verify {
    /// Compares with a function.
    pub fn new(
        verify: impl Fn(&Path, &TraceDigest) -> Result<(), CreateError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(verify))
    }

    /// Compares the output at a path.
    ///
    /// # Errors
    /// If it differs from the written data.
    pub fn check(&self, path: &Path, written: &TraceDigest) -> Result<(), CreateError> {
        (self.0)(path, written)
    }
}

impl std::fmt::Debug for Verify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verify")
    }
}

/// Reason why traces cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is no such dialect.
    #[error("unknown dialect `{0}`")]
    Dialect(String),
    /// Lowered classes exceed a limit.
    #[error("the classes of {trace} cannot be written: {error}")]
    Classes {
        /// Name of the trace.
        trace: String,
        /// Reason.
        error: PlanError,
    },
    /// The description of a trace cannot be written.
    #[error("{trace} cannot be written as {dialect}: {}", problems.join("; "))]
    Unsupported {
        /// Name of the trace.
        trace: String,
        /// Name of the dialect.
        dialect: &'static str,
        /// Descriptions of its unsupported items.
        problems: Vec<String>,
    },
    /// Traces cannot be merged.
    #[error("{trace} cannot be merged with the others: {problem}")]
    Unmergeable {
        /// Name of the trace.
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
    /// The output differs from the written data, and does not appear.
    #[error("the output differs from the written data: {0}")]
    Mismatch(String),
    /// Writing was [stopped](WriteOptions::stop): the output does not appear.
    #[error("stopped")]
    Stopped,
    /// The output is a pipe or a device, which cannot be read again.
    #[error("{0}: cannot verify the output: a pipe or a device cannot be read again")]
    Unverifiable(String),
    /// An event is earlier than the format allows after the events before it: see [`WriteOptions::sorts`].
    #[error(
        "the events are not sorted by time, but the format requires it: an event is {back} ticks too \
        early"
    )]
    Unsorted {
        /// Number of ticks from the time of the event to the earliest allowed one.
        back: u64,
    },
    /// The output is text, which a terminal would take as commands.
    #[error("the output is a terminal, but text is written unescaped")]
    Terminal,
    /// The output is text, which cannot be read again.
    #[error("cannot verify the output: text cannot be read again")]
    UnverifiableText,
    /// The format does not support several outputs at one path.
    #[error("this format cannot be written in shards")]
    Shards,
    /// The format does not support data streams that begin later.
    #[error("data streams cannot be added to a trace in this format while it is written")]
    FixedStreams,
}

/// A part of traces, written as separate traces.
#[derive(Clone, Debug, Default)]
pub struct PartTarget {
    /// Directory or file, which must not exist; `None` to write nothing.
    pub path: Option<PathBuf>,
    /// Selection of its events, in addition to [`WriteOptions::selected_by`]: the part then gets its own
    /// UUID, and its packets have new sequence numbers and loss counters.
    pub selected_by: Option<String>,
    /// Time window: its packets do not begin before it or end after it.
    pub window: ichnos_model::Window,
}

/// Parts of traces that are being written, one [`Lane`] after the other.
///
/// A loss is a message of one part: only the packets of that part contain it, independent of the counters of
/// the source.
///
/// # For implementations
/// There can be very many parts: a waiting one may take some hundred bytes, and files must not stay open.
pub trait PartsOutput {
    /// Adds a part and returns its number, from 0 on.
    ///
    /// # Errors
    /// If it cannot be created.
    fn add_part(&mut self, part: PartTarget) -> Result<usize, CreateError>;

    /// Begins the messages of a lane.
    fn begin_lane(&mut self, lane: Lane);

    /// Copies a whole packet into a part, at its beginning, if its bytes can be copied. Returns `true` if
    /// copied: its events and its end must not be passed then.
    ///
    /// # Errors
    /// If it cannot be written.
    fn copy_packet(&mut self, part: usize, packet: &Packet<'_>) -> io::Result<bool> {
        let _ = (part, packet);
        Ok(false)
    }

    /// Takes a message of a packet that was [copied](Self::copy_packet) into a part and counts it as written,
    /// for [`WriteOptions::verify`].
    fn copied_message(&mut self, part: usize, message: &Message<'_>) {
        let _ = (part, message);
    }

    /// Begins a packet of the source. Each part gets it with its first event of the packet.
    ///
    /// # Errors
    /// If the data before it cannot be written.
    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let _ = packet;
        Ok(())
    }

    /// Adds the current packet to a part, even if the part gets no event of it.
    ///
    /// # Errors
    /// If it cannot be written.
    fn open_packet(&mut self, part: usize) -> io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// Ends the current packet in a part.
    ///
    /// # Errors
    /// If it cannot be written.
    fn close_packet(&mut self, part: usize) -> io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// Ends the packet in all parts that have it.
    ///
    /// # Errors
    /// If it cannot be written.
    fn end_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let _ = packet;
        Ok(())
    }

    /// Takes a message of a part: an event, a loss or damage.
    ///
    /// # Errors
    /// If it cannot be written.
    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()>;

    /// Ends the lane.
    ///
    /// # Errors
    /// If something cannot be written.
    fn end_lane(&mut self) -> io::Result<()>;

    /// Completes a part after the last lane: writes its description, and reads it again if requested (see
    /// [`WriteOptions::verify`]). The report contains the numbers of events and copied packets.
    ///
    /// # Errors
    /// If it cannot be written, or differs from the written data.
    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError>;

    /// Returns the number of bytes written so far.
    fn written(&self) -> u64;

    /// Returns the losses so far.
    fn losses(&self) -> LossTable;

    /// Ends the output; all parts are complete.
    ///
    /// # Errors
    /// If something cannot be written.
    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError>;
}

/// Summary of the written data.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteReport {
    /// Paths of the traces.
    pub paths: Vec<PathBuf>,
    /// Size of data streams in bytes.
    pub bytes: u64,
    /// Number of packets.
    pub packets: u64,
    /// Number of events, except those in copied packets.
    pub events: u64,
    /// Number of packets copied as a whole.
    pub copied_packets: u64,
    /// Number of events to write, except those in copied packets. Set by the code that reads them.
    pub selected_events: u64,
    /// Number of values that could not be decoded, which is a bug of a reader.
    pub undecoded: u64,
    /// Sum of the hashes of all events and packets, if the output decodes everything and writes nothing.
    pub checksum: Option<u64>,
    /// Losses.
    pub losses: LossTable,
}

impl WriteReport {
    /// Returns `true` if there were events, but none was written.
    #[must_use]
    pub fn lacks_all_events(&self) -> bool {
        self.selected_events > 0 && self.events == 0 && self.copied_packets == 0
    }
}
