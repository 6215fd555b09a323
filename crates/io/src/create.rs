//! Writing traces: the mirror of [`Format::open`](crate::Format::open).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos_model::lower::LossTable;
use ichnos_model::plan::PlanError;
use ichnos_model::{DataStream, Limits, Message, Packet, Trace, TraceDigest};

use crate::{Existing, OptionValue};

/// How traces of a format are written.
///
/// # For implementations
/// A format that can be written returns one from [`Format::writer`](crate::Format::writer). Lower the classes of the
/// sources with [`LoweredTrace`](ichnos_model::lower::LoweredTrace): a writer declares what it can hold and decides
/// nothing else about classes.
pub trait TraceWriter: Send + Sync {
    /// The dialects that can be written; the first one is the default.
    fn dialects(&self) -> &'static [OptionValue];

    /// The dialect in which traces of these dialects, each of which is there once, can all be written as they are;
    /// `None` if there is no such dialect.
    fn common_dialect(&self, dialects: &[&'static str]) -> Option<&'static str> {
        match dialects {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Extensions of file names that mean the format, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether a trace is a directory of files; otherwise it is one file or pipe.
    fn is_directory(&self) -> bool;

    /// In which order it takes messages.
    fn order(&self) -> MessageOrder;

    /// Lists the files in a directory, by their paths in it, if a writer of the format can have put all of them there: with
    /// [`Existing::Replace`], they are deleted when the output replaces them.
    ///
    /// # Errors
    /// If there is any other file, which the error names (see [`foreign_file`](crate::foreign_file)), or if the directory
    /// cannot be read.
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
    ) -> Result<Box<dyn TraceOutput>, CreateError>;

    /// Creates what writes several parts of other traces at once, each with the classes of all: parts are added while the
    /// traces are read.
    ///
    /// # Errors
    /// If they cannot be written at all.
    fn create_parts(
        &self,
        sources: Vec<WriteSource>,
        options: &WriteOptions,
    ) -> Result<Box<dyn PartsOutput>, CreateError>;
}

/// In which order a writer takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOrder {
    /// Those of each data stream in its order: data streams can be written one after the other, and several at
    /// the same time.
    ByStream,
    /// All merged by time.
    Merged,
}

/// Where traces are written.
#[derive(Clone, Debug)]
pub enum WriteTarget {
    /// At a path, where they appear when they are complete.
    Complete(PathBuf),
    /// At a path, where what was written can be read at any time, even if the program is killed.
    Live(PathBuf),
    /// Nowhere: only what is lost is found out.
    Nowhere,
}

/// A trace that is written: what it is, and which of its data streams.
#[derive(Clone, Debug)]
pub struct WriteSource {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Name of the format that it was read from; empty if it was not read.
    pub format: &'static str,
    /// True if further event record classes can come while it is written: see [`Trace::dynamic_classes`].
    pub has_dynamic_classes: bool,
    /// Its data streams, in the order of their numbers in [`Lane`].
    pub streams: Vec<Arc<DataStream>>,
}

/// How to write traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Name of a dialect; None: the default one.
    pub dialect: Option<String>,
    /// About how many bytes a packet has at most; None: as many as the packet that it is made of, or the default.
    pub packet_size: Option<u64>,
    /// Whether events are left out, so that what an event says can not depend on the one before.
    pub leaves_out: bool,
    /// Whether whole packets are left out, so that what a packet says can not depend on the one before.
    pub leaves_out_packets: bool,
    /// What events are selected by, if others between them are left out. The output then gets a UUID of its own, made of
    /// this and of that of the source: all files with one UUID count as parts of one trace, and packets with the same
    /// number as copies.
    pub selected_by: Vec<String>,
    /// Only what is in this time: packets do not begin before it or end after it.
    pub window: ichnos_model::Window,
    /// Make what is written valid, whatever the source is: events and packets whose times cannot be get times that
    /// can, counters only grow, and texts are valid.
    pub repair: bool,
    /// Write indexes of packets, too.
    pub index: bool,
    /// Write all sources as one trace.
    pub merge: bool,
    /// An event that cannot be written is an error; otherwise it is left out, and counted as a loss.
    pub must_fit: bool,
    /// The clocks of all sources are on one timeline, also those that nothing in them relates.
    pub correlated: bool,
    /// Treatment of what is at the path already.
    pub existing: Existing,
    /// Compares the output with what was written, before it appears; None: it is not read again.
    pub verify: Option<Verify>,
    /// Flag that ends writing: with an error, and nothing appears.
    pub stop: Option<&'static AtomicBool>,
    /// Limits of classes.
    pub limits: Limits,
}

impl WriteOptions {
    /// Ends work that takes long when writing is [stopped](Self::stop).
    ///
    /// # Errors
    /// If it is to end. The kind of the error is [`io::ErrorKind::Interrupted`].
    pub fn check_stop(&self) -> io::Result<()> {
        match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(io::Error::new(io::ErrorKind::Interrupted, "stopped")),
            false => Ok(()),
        }
    }
}

/// Compares an output with what was written.
#[derive(Clone)]
pub struct Verify(Arc<VerifyFn>);

/// Takes the path of the output, which has not appeared yet, and what was written. The error is the first difference, as a
/// [`CreateError::Mismatch`].
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
    /// If it is not what was written.
    pub fn check(&self, path: &Path, written: &TraceDigest) -> Result<(), CreateError> {
        (self.0)(path, written)
    }
}

impl std::fmt::Debug for Verify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verify")
    }
}

/// Why traces cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is no such dialect.
    #[error("there is no dialect `{0}`")]
    Dialect(String),
    /// Lowered classes exceed a limit.
    #[error("the classes of {trace} cannot be written: {error}")]
    Classes {
        /// The trace.
        trace: String,
        /// Why.
        error: PlanError,
    },
    /// The description of a trace cannot be written.
    #[error("{trace} cannot be written as {dialect}: {}", problems.join("; "))]
    Unsupported {
        /// The trace.
        trace: String,
        /// The dialect.
        dialect: &'static str,
        /// What it cannot have.
        problems: Vec<String>,
    },
    /// Traces cannot be one.
    #[error("{trace} cannot be merged with the others: {problem}")]
    Unmergeable {
        /// The trace.
        trace: String,
        /// Why.
        problem: String,
    },
    /// Something cannot be written there.
    #[error("{path}: {error}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The output is not what was written: it does not appear.
    #[error("the output is not what was written: {0}")]
    Mismatch(String),
    /// Writing was [stopped](WriteOptions::stop): the output does not appear.
    #[error("stopped")]
    Stopped,
    /// The output cannot be read again, as it is a pipe or a device.
    #[error("{0}: the output cannot be read again to verify it")]
    Unverifiable(String),
    /// The format has no data streams that begin later.
    #[error("data streams cannot be added to a trace of this format while it is written")]
    FixedStreams,
}

/// Which messages an encoder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Those of a data stream, or of a part of it.
    Stream {
        /// Index of the trace among the sources.
        source: usize,
        /// Index of the data stream in the trace.
        stream: usize,
    },
    /// All.
    All,
}

/// Traces that are being written.
///
/// Several encoders can work at the same time, on several threads, and what they have encoded can be written by these:
/// that of a data stream in the order of its messages, that of several data streams in any order.
///
/// # For implementations
/// Nothing that is at the path may change before [`finish`](Self::finish): if the output is dropped instead, it has to be
/// as if nothing had been written.
pub trait TraceOutput: Send + Sync {
    /// An encoder of messages.
    fn encoder(&self, lane: Lane) -> Box<dyn Encoder + Send>;

    /// Adds a data stream to a trace that is being written, by the index of its source; gives its number for
    /// [`Lane::Stream`]. Its trace can be another one than that of the source: then all data stream classes of that
    /// are added, whose ids must be new, and the clocks of the trace are those of that, which are the same as before
    /// and perhaps more behind them.
    ///
    /// # Errors
    /// If the format has no such data streams, or if they cannot be written.
    fn add_stream(&self, source: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let _ = (source, stream);
        Err(CreateError::FixedStreams)
    }

    /// Whether parts of a data stream can be encoded by encoders of their own: what an encoder does does not depend on
    /// what came before.
    fn is_divisible(&self, lane: Lane) -> bool {
        let _ = lane;
        true
    }

    /// Writes what an encoder has encoded.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write(&self, block: EncodedBlock) -> io::Result<()>;

    /// Returns the losses up to now.
    fn losses(&self) -> LossTable;

    /// Completes the traces.
    ///
    /// # Errors
    /// If something cannot be written. What was at the path is then still there.
    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError>;
}

/// A part of traces, which is traces of its own.
#[derive(Clone, Debug, Default)]
pub struct PartTarget {
    /// Its directory or file, which must not exist; None: nothing is written.
    pub path: Option<PathBuf>,
    /// Selection of its events, beyond [`WriteOptions::selected_by`]: then the part gets a UUID of its own, and its
    /// packets are numbered and count losses anew.
    pub selected_by: Option<String>,
    /// Only what is in this time: its packets do not begin before it or end after it.
    pub window: ichnos_model::Window,
}

/// Parts of traces that are being written, one [`Lane`] after the other.
///
/// A loss is a message of one part: only its packets say so, whatever those of the source count.
///
/// # For implementations
/// Parts can be very many: one that waits may take some hundred bytes, and files must not stay open.
pub trait PartsOutput {
    /// Adds a part; gives its number, from 0 on.
    ///
    /// # Errors
    /// If it cannot be created.
    fn add_part(&mut self, part: PartTarget) -> Result<usize, CreateError>;

    /// The following messages are those of a lane.
    fn begin_lane(&mut self, lane: Lane);

    /// Takes a packet as a whole, at its beginning, if its bytes can be copied into a part. True: its events and its end
    /// must not be given.
    ///
    /// # Errors
    /// If it cannot be written.
    fn copy_packet(&mut self, part: usize, packet: &Packet<'_>) -> io::Result<bool> {
        let _ = (part, packet);
        Ok(false)
    }

    /// Takes a message of a packet that was [copied](Self::copy_packet) into a part, for [`WriteOptions::verify`]: it counts
    /// as written.
    fn copied_message(&mut self, part: usize, message: &Message<'_>) {
        let _ = (part, message);
    }

    /// A packet of the source begins. Parts have it as soon as they get an event of it.
    ///
    /// # Errors
    /// If what is before it cannot be written.
    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let _ = packet;
        Ok(())
    }

    /// A part has the packet that was begun last, even if it gets no event of it.
    ///
    /// # Errors
    /// If it cannot be written.
    fn open_packet(&mut self, part: usize) -> io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// A part gets no more of the packet.
    ///
    /// # Errors
    /// If it cannot be written.
    fn close_packet(&mut self, part: usize) -> io::Result<()> {
        let _ = part;
        Ok(())
    }

    /// The packet ends, in all parts that have it.
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

    /// There are no more messages of the lane.
    ///
    /// # Errors
    /// If something cannot be written.
    fn end_lane(&mut self) -> io::Result<()>;

    /// Completes a part, once there are no more lanes: writes what describes it, and reads it again if that is wanted (see
    /// [`WriteOptions::verify`]). Says how many events and copied packets it has.
    ///
    /// # Errors
    /// If it cannot be written, or is not what was written.
    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError>;

    /// Returns the number of bytes that were written up to now.
    fn written(&self) -> u64;

    /// Returns the losses up to now.
    fn losses(&self) -> LossTable;

    /// Ends the output; all parts are complete.
    ///
    /// # Errors
    /// If something cannot be written.
    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError>;
}

/// Makes bytes of messages.
///
/// # For implementations
/// An encoder gets the messages of its [`Lane`], or, with others after it, those of some packets of a data stream: what it
/// makes must not depend on packets before. What it keeps in memory must be bounded, however many messages there are.
pub trait Encoder {
    /// Takes a message.
    ///
    /// # Errors
    /// If it cannot be written, and leaving it out would not be noticed.
    fn message(&mut self, message: &Message<'_>) -> io::Result<()>;

    /// Takes a packet as a whole, at its beginning, if its bytes can be copied. True: its events and its end must not
    /// be given.
    ///
    /// # Errors
    /// See [`Encoder::message`].
    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        let _ = packet;
        Ok(false)
    }

    /// Takes the packet that follows the one whose beginning is the next message, if there is one: to know what
    /// can be true of that. Called where [`WriteOptions::repair`] is set.
    fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        let _ = next;
    }

    /// Takes a message of a packet that was [copied](Self::copy_packet), for [`WriteOptions::verify`]: it counts as written.
    fn copied_message(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Completes what is begun, such as the open packet, so that [`Encoder::take`] gives all that was encoded.
    ///
    /// # Errors
    /// See [`Encoder::message`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// What was encoded, as soon as it is much, or as soon as a packet is complete for [`WriteTarget::Live`].
    fn take(&mut self) -> Option<EncodedBlock>;

    /// There are no more messages: gives the rest.
    ///
    /// # Errors
    /// See [`Encoder::message`].
    fn finish(&mut self) -> io::Result<Vec<EncodedBlock>>;
}

/// What an encoder has encoded.
#[derive(Debug, Default)]
pub struct EncodedBlock {
    /// Whose: a number that the writer has given out.
    pub stream: usize,
    /// Which of the files of the data stream.
    pub part: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The packets in them, one after the other.
    pub packets: Vec<EncodedPacket>,
    /// How many events there are in them.
    pub events: u64,
    /// How many of the packets were copied as a whole; their events are not counted.
    pub copied_packets: u64,
}

/// A packet that was encoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodedPacket {
    /// Its size in bits.
    pub total: u64,
    /// Size of its content in bits.
    pub content: u64,
    /// Value of the default clock at its beginning.
    pub begin: u64,
    /// Value of the default clock at its end.
    pub end: u64,
    /// Snapshot of the counter of discarded event records.
    pub discarded: u64,
    /// Its sequence number; all ones if it has none.
    pub sequence: u64,
}

/// Digest of the written records.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteReport {
    /// Where the traces are.
    pub paths: Vec<PathBuf>,
    /// How many bytes of data streams.
    pub bytes: u64,
    /// How many packets.
    pub packets: u64,
    /// How many events, those in copied packets not counted.
    pub events: u64,
    /// How many packets were copied as a whole.
    pub copied_packets: u64,
    /// Number of events that were to be written, those in copied packets not counted. Set by who reads them.
    pub selected_events: u64,
    /// What was lost.
    pub losses: LossTable,
}

impl WriteReport {
    /// Returns true if there were events, and none of them was written.
    #[must_use]
    pub fn lacks_all_events(&self) -> bool {
        self.selected_events > 0 && self.events == 0 && self.copied_packets == 0
    }
}
