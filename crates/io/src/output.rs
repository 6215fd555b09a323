//! Outputs: the destinations of messages, and their workers on several threads.

use std::any::Any;
use std::io;
use std::sync::Arc;

use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, Event, Message, Packet};

use crate::{CreateError, WriteReport};

/// Order in which an output takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOrder {
    /// The messages of each data stream in its order. Data streams can be written in sequence or concurrently.
    ByStream,
    /// Those of the only data stream, with the [segments](ichnos_model::OpenedTrace::segment_cursor) of its file as packets,
    /// which the worker can copy.
    Segments,
    /// All messages merged by time.
    Merged,
    /// All messages merged by time, in chunks of the timeline: see [`Lane::Chunk`].
    Chunks,
}

/// Messages that a worker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The messages of a data stream, or of a part of it.
    Stream {
        /// Index of the trace among the sources.
        source: usize,
        /// Index of the data stream in the trace.
        stream: usize,
    },
    /// All messages.
    All,
    /// All messages of a chunk of the timeline.
    Chunk(ChunkStart),
}

/// Start of a chunk of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkStart {
    /// The first chunk: nothing was written before it.
    First,
    /// A later chunk that is worked on before the chunks in front of it are joined.
    Unjoined,
    /// The chunk after everything that is joined. If a part of the chunk is joined already, its worker begins the
    /// chunk again, and the output skips that part.
    Joined,
}

/// Destination of messages: traces to write, text, or an answer.
///
/// Several workers can run concurrently on several threads. Their blocks are joined by any thread: for one data stream
/// in the order of its messages, for several data streams in any order, and for chunks of the timeline in their order.
///
/// # For implementations
/// Nothing at the path may change before [`finish`](Self::finish): if the output is dropped instead, it must
/// leave no trace of itself.
pub trait Output: Send + Sync {
    /// Returns the order in which it takes messages.
    fn order(&self) -> MessageOrder;

    /// Returns `true` if workers take [`Message::Damage`].
    fn takes_damage(&self) -> bool {
        true
    }

    /// Prepares work in chunks by a number of threads, with the data streams in the order in which they begin. Called
    /// before the first worker of a chunk.
    fn prepare(&self, streams: &[Arc<DataStream>], threads: usize) {
        let _ = (streams, threads);
    }

    /// Returns a worker for the messages of a lane.
    fn worker(&self, lane: Lane) -> Box<dyn Worker + Send>;

    /// Adds a data stream to a trace that is being written, by the index of its source, and returns its number for
    /// [`Lane::Stream`]. It can belong to another trace than the source: then all data stream classes of that trace are
    /// added, whose ids must be new, and its clocks are used, which must begin with the previous clocks.
    ///
    /// # Errors
    /// If the format does not support such data streams, or they cannot be written.
    fn add_stream(&self, source: usize, stream: Arc<DataStream>) -> Result<usize, CreateError> {
        let _ = (source, stream);
        Err(CreateError::FixedStreams)
    }

    /// Returns `true` if parts of a data stream can be encoded by separate workers, because encoding does not depend on
    /// earlier messages.
    fn is_divisible(&self, lane: Lane) -> bool {
        let _ = lane;
        true
    }

    /// Writes a block of a worker, or adds it to the answer.
    ///
    /// # Errors
    /// If it cannot be written.
    fn join(&self, block: OutputBlock) -> io::Result<Joined>;

    /// Writes everything that was joined to its destination, because no more may come for some time.
    ///
    /// # Errors
    /// If it cannot be written.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the losses so far.
    fn losses(&self) -> LossTable {
        LossTable::default()
    }

    /// Completes the output.
    ///
    /// # Errors
    /// If it cannot be written. Existing files at the path are then kept.
    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError>;
}

/// Result of [`Output::join`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The block is written.
    Done,
    /// The chunk has to be written again by a worker for [`ChunkStart::Joined`]: it depends on earlier chunks in a way
    /// that cannot be corrected.
    Again,
}

/// Encodes messages.
///
/// # For implementations
/// A worker gets the messages of its [`Lane`], or, together with other workers, those of some packets of a data
/// stream: its output must not depend on earlier packets. Its memory must be bounded for any number of messages.
pub trait Worker {
    /// Takes a message.
    ///
    /// # Errors
    /// If it cannot be written, and dropping it would go unnoticed.
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow>;

    /// Takes the event before the first message, if earlier events are skipped.
    fn precede(&mut self, event: &Event<'_>) {
        let _ = event;
    }

    /// Copies a whole packet, at its beginning, if its bytes can be copied. Returns `true` if copied: its
    /// events and its end must not be passed then.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        let _ = packet;
        Ok(false)
    }

    /// Returns `true` if it needs all messages of the data stream [ahead](Self::survey) of the first one to write.
    fn wants_survey(&self) -> bool {
        false
    }

    /// Takes a message of the data stream ahead of the first one to write. Called with
    /// [`WriteOptions::repair`](crate::WriteOptions::repair) for all messages, to find out which of them contradict
    /// the others, if they are [wanted](Self::wants_survey).
    fn survey(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Takes the packet after the one that begins with the next message, if there is one, to derive limits
    /// for the latter. Called with [`WriteOptions::repair`](crate::WriteOptions::repair).
    fn look_ahead(&mut self, next: Option<&Packet<'_>>) {
        let _ = next;
    }

    /// Takes a message of a packet that was [copied](Self::copy_packet) and counts it as written, for
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

    /// Returns the next block, if there is one: see [`WorkerFlow::Block`].
    fn take(&mut self) -> Option<OutputBlock>;

    /// Ends the messages of a chunk that is not the last one; [`Worker::take`] returns the remaining blocks.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn pause(&mut self) -> io::Result<()> {
        self.finish()
    }

    /// Ends the messages; [`Worker::take`] returns the remaining blocks.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn finish(&mut self) -> io::Result<()>;
}

/// State of a worker after a message.
// As large as an `io::Error`, so that a result with it is returned in registers: once for each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum WorkerFlow {
    /// It takes the next message.
    Continue,
    /// A block is ready: [`Worker::take`] is to be called until it returns `None`, before the next message.
    Block,
    /// It takes no more messages.
    Stop,
    /// The chunk has to be written again, like [`Joined::Again`]. Blocks taken before are correct.
    Again,
}

/// Result of a worker for some messages.
#[derive(Debug, Default)]
pub struct OutputBlock {
    /// Number of the stream, assigned by the output.
    pub stream: usize,
    /// Index of the file in the data stream.
    pub part: usize,
    /// Encoded bytes.
    pub bytes: Vec<u8>,
    /// Packets in the bytes, in order.
    pub packets: Vec<EncodedPacket>,
    /// Number of events in them.
    pub events: u64,
    /// Number of packets that were copied as a whole; their events are not counted.
    pub copied_packets: u64,
    /// Data for [`Output::join`] of a type that only the output knows.
    pub data: Option<Box<dyn Any + Send>>,
}

/// An encoded packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodedPacket {
    /// Size of the packet in bits.
    pub total: u64,
    /// Size of its content in bits.
    pub content: u64,
    /// Value of the default clock at its beginning.
    pub begin: u64,
    /// Value of the default clock at its end.
    pub end: u64,
    /// Snapshot of the counter of discarded event records.
    pub discarded: u64,
    /// Sequence number; all ones without one.
    pub sequence: u64,
}
