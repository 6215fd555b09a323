//! Writing traces: the mirror of [`Format::open`](crate::Format::open).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ichnos_model::lower::LossTable;
use ichnos_model::plan::PlanError;
use ichnos_model::{DataStream, Limits, Message, Packet, Trace};

use crate::OptionValue;

/// How traces of a format are written.
///
/// # For implementations
/// A format that can be written returns one from [`Format::writer`](crate::Format::writer). Lower the classes of the
/// sources with [`LoweredTrace`](ichnos_model::lower::LoweredTrace): a writer declares what it can hold and decides
/// nothing else about classes.
pub trait TraceWriter: Send + Sync {
    /// The dialects that can be written; the first one is the default.
    fn dialects(&self) -> &'static [OptionValue];

    /// Extensions of file names that mean the format, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether a trace is a directory of files; otherwise it is one file or pipe.
    fn is_directory(&self) -> bool;

    /// In which order it takes messages.
    fn order(&self) -> MessageOrder;

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
    /// Limits of classes.
    pub limits: Limits,
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

    /// What was lost up to now.
    fn losses(&self) -> LossTable;

    /// Completes the traces.
    ///
    /// # Errors
    /// If something cannot be written. What was at the path is then still there.
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

/// What was written.
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
    /// What was lost.
    pub losses: LossTable,
}
