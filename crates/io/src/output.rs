//! Outputs: message destinations, with workers on several threads.

use std::any::Any;
use std::io;
use std::sync::Arc;

use ichnos_model::event::Packet;
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, Event, Message};

use crate::{CreateError, SentCounts, WriteReport};

/// Message order that an output needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOrder {
    /// Messages of each data stream in order. Data streams can be written in sequence or concurrently.
    ByStream,
    /// Messages of the only data stream. The [segments](ichnos_model::OpenedTrace::segment_cursor) of its file are
    /// delivered as packets, which the worker can copy.
    Segments,
    /// All messages merged by time.
    Merged,
    /// All messages merged by time, in chunks of the timeline: see [`Lane::Chunk`].
    Chunks,
}

/// Messages for one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Messages from a data stream, or from a part of it.
    Stream {
        /// Index of the trace in the sources.
        source: usize,
        /// Index of the data stream in the trace.
        stream: usize,
    },
    /// All messages.
    All,
    /// All messages in a chunk of the timeline.
    Chunk(ChunkStart),
}

/// Start of a chunk of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkStart {
    /// The first chunk: nothing was written before it.
    First,
    /// A later chunk that is encoded before the previous chunks are joined.
    Unjoined,
    /// The chunk after everything that was joined. If a part of the chunk was joined already, its worker encodes the
    /// chunk again from its start, and the output skips that part.
    Joined,
}

/// Message destination: traces to write, text, or a query result.
///
/// Several workers can run concurrently on several threads. Any thread can join their blocks: for one data stream in
/// message order, for several data streams in any order, and for chunks of the timeline in chunk order.
///
/// # For implementations
/// Nothing at the path may change before [`finish`](Self::finish). If the output is dropped instead, it must remove
/// everything that it has created.
pub trait Output: Send + Sync {
    /// Returns the message order that it needs.
    fn order(&self) -> MessageOrder;

    /// Returns `true` if workers accept [`Message::Damage`].
    fn takes_damage(&self) -> bool {
        true
    }

    /// Prepares multithreaded work in chunks. `streams` are sorted by their start. Called before the first worker of a
    /// chunk.
    fn prepare(&self, streams: &[Arc<DataStream>], threads: usize) {
        let _ = (streams, threads);
    }

    /// Creates a worker for the messages in a lane.
    fn worker(&self, lane: Lane) -> Box<dyn Worker + Send>;

    /// Adds a data stream to a trace that is being written, by the index of its source. Returns its number for
    /// [`Lane::Stream`]. The data stream can belong to another trace than the source. Then all data stream classes in
    /// that trace are added. Their ids must be new, or they extend earlier classes by event record classes. Its clocks replace the previous clocks, which they must begin
    /// with.
    ///
    /// # Errors
    /// Fails if the format does not support such data streams, or they cannot be written.
    fn add_stream(&self, source: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let _ = (source, stream);
        Err(CreateError::FixedStreams)
    }

    /// Returns `true` if separate workers can encode parts of a data stream, because encoding does not depend on
    /// earlier messages.
    fn is_divisible(&self, lane: Lane) -> bool {
        let _ = lane;
        true
    }

    /// Writes a worker's block, or adds it to the result.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn join(&self, block: OutputBlock) -> io::Result<JoinResult>;

    /// Writes everything that was joined to its destination, because no more may come for some time.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the losses so far.
    fn losses(&self) -> LossTable {
        LossTable::default()
    }

    /// Returns what was sent so far, if the output [sends](crate::WriterFactory::sends).
    fn sent(&self) -> Option<SentCounts> {
        None
    }

    /// Completes the output.
    ///
    /// # Errors
    /// Fails if it cannot be written. Existing files at the path are then kept.
    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError>;
}

/// Result of [`Output::join`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinResult {
    /// The block is written.
    Done,
    /// The chunk must be written again by a worker for [`ChunkStart::Joined`], because it depends on earlier chunks in
    /// a way that cannot be corrected.
    Again,
}

/// Encodes messages.
///
/// # For implementations
/// A worker receives the messages of its [`Lane`], or the messages from some packets of a data stream, while other
/// workers receive the rest. Then its output must not depend on earlier packets. Its memory must be bounded for any
/// number of messages.
pub trait Worker {
    /// Encodes a message.
    ///
    /// # Errors
    /// Fails if it cannot be written, and dropping it would go unnoticed.
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow>;

    /// Receives the event before the first message, if earlier events are skipped.
    fn precede(&mut self, event: &Event<'_>) {
        let _ = event;
    }

    /// Copies a whole packet, at its start, if its bytes can be copied. Returns `true` if copied. Then its events and
    /// its end must not be passed.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        let _ = packet;
        Ok(false)
    }

    /// Returns `true` if it needs to [survey](Self::survey) all messages in the data stream before the first message to
    /// write.
    fn wants_survey(&self) -> bool {
        false
    }

    /// Receives a message before the first message to write. Called with
    /// [`WriteOptions::repair`](crate::WriteOptions::repair) for all messages in the data stream, to find messages that
    /// contradict others, if the survey is [wanted](Self::wants_survey).
    fn survey(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Receives the packet after the packet that starts with the next message, if any, to derive limits for the latter.
    /// Called with [`WriteOptions::repair`](crate::WriteOptions::repair).
    fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        let _ = next;
    }

    /// Counts a message from a [copied](Self::copy_packet) packet as written, for
    /// [`WriteOptions::verify`](crate::WriteOptions::verify).
    fn copied_message(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Completes open data, such as the current packet, so that [`Worker::take`] returns everything so far.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the next block, if any: see [`WorkerFlow::Block`].
    fn take(&mut self) -> Option<OutputBlock>;

    /// Ends the messages in a chunk before the last one. [`Worker::take`] returns the remaining blocks.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn pause(&mut self) -> io::Result<()> {
        self.finish()
    }

    /// Ends the messages. [`Worker::take`] returns the remaining blocks.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn finish(&mut self) -> io::Result<()>;
}

/// Worker state after a message.
// As large as an `io::Error`, so that a result with it is returned in registers. This happens for each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum WorkerFlow {
    /// The worker accepts the next message.
    Continue,
    /// A block is ready. [`Worker::take`] must be called until it returns `None`, before the next message.
    Block,
    /// The worker accepts no more messages.
    Stop,
    /// The chunk must be written again, as with [`JoinResult::Again`]. Blocks taken before are correct.
    Again,
}

/// Encoded messages from a worker.
#[derive(Debug, Default)]
pub struct OutputBlock {
    /// Stream number, assigned by the output.
    pub stream: usize,
    /// File index in the data stream.
    pub part: usize,
    /// Encoded bytes.
    pub bytes: Vec<u8>,
    /// Packets in `bytes`, in order.
    pub packets: Vec<EncodedPacket>,
    /// Number of events in `bytes`.
    pub events: u64,
    /// Number of packets copied as a whole, whose events are not counted.
    pub copied_packets: u64,
    /// Data for [`Output::join`] with a type that only the output knows.
    pub data: Option<Box<dyn Any + Send>>,
}

/// An encoded packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodedPacket {
    /// Packet size in bits.
    pub total: u64,
    /// Content size in bits.
    pub content: u64,
    /// Default clock value at the start of the packet.
    pub begin: u64,
    /// Default clock value at the end of the packet.
    pub end: u64,
    /// Snapshot of the discarded event counter.
    pub discarded: u64,
    /// Sequence number; all ones if missing.
    pub sequence: u64,
}
