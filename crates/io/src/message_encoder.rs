//! Shared code for formats with one file per trace. Each format only adds an encoder.

use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use ichnos_model::digest::TraceDigest;
use ichnos_model::event::Packet;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::{LossSet, LossTable};
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{DataStream, Event, Message};

use crate::{MessageOrder, OutputBlock, Worker, WorkerFlow, WriteOptions, WriteSource};

/// Default block size in bytes.
const BLOCK: usize = 256 << 10;

ichnos_model::loss_set! {
    /// A loss common to all formats.
    enum CommonLoss {
        Events => Dropped("record of discarded events"),
        Packets => Dropped("record of discarded packets"),
        UnknownClass => Dropped("event of an unknown class"),
    }
}

/// Rules, losses and digest shared by an output's encoders.
#[derive(Debug)]
pub struct EncoderRules {
    /// Approximate size of blocks in bytes, at least 1.
    pub block_bytes: usize,
    /// `true` if the output is compared with the written data.
    pub is_compared: bool,
    /// `true` if the output must be valid.
    pub repairs: bool,
    /// Sources. Encoders identify their traces by address, so the traces must stay alive.
    pub sources: Vec<WriteSource>,
    losses: Mutex<LossTable>,
    digest: Mutex<TraceDigest>,
}

impl EncoderRules {
    /// Creates an output's rules. `record_source` records the losses that affect a whole source.
    pub fn new(
        sources: Vec<WriteSource>,
        options: &WriteOptions,
        record_source: impl Fn(&WriteSource, &mut LossTable),
    ) -> Self {
        let mut losses = LossTable::default();
        sources.iter().for_each(|source| record_source(source, &mut losses));
        let block_bytes = options.packet_size.and_then(|size| usize::try_from(size).ok());
        Self {
            block_bytes: block_bytes.unwrap_or(BLOCK).max(1),
            is_compared: options.verify.is_some(),
            repairs: options.repair,
            sources,
            losses: Mutex::new(losses),
            digest: Mutex::default(),
        }
    }

    /// Calls a function with the loss table.
    pub fn with_losses<T>(&self, change: impl FnOnce(&mut LossTable) -> T) -> T {
        change(&mut self.losses.lock().ignore_poison())
    }

    /// Records a loss outside classes.
    #[cold]
    pub fn record_loss<L: LossSet>(&self, loss: L) {
        if let Some(row) = loss.row() {
            self.with_losses(|table| table.note(row.kind, "", row.field, row.what));
        }
    }

    /// Counts invalid values that were copied to the output, which verification then accepts.
    pub fn add_damages(&self, count: u64) {
        self.digest().damages += count;
    }

    /// Returns the losses so far.
    pub(crate) fn losses(&self) -> LossTable {
        self.with_losses(|table| table.clone())
    }

    /// Returns the digest from all finished encoders, without the events of parts. Its damages can be from any encoder.
    pub(crate) fn digest(&self) -> MutexGuard<'_, TraceDigest> {
        self.digest.lock().ignore_poison()
    }
}

/// Encodes a trace, or a part, as a file.
///
/// [`file_output`](crate::file_output()) and [`file_parts`](crate::file_parts()) turn an encoder into an output. They
/// split the file into blocks, count and compare events, and record unknown classes, lost packets and damage.
///
/// # For implementations
/// Most formats implement [`event`](Self::event). A format that also stores packets or streams should override
/// [`message`](Self::message) instead. There can be thousands of parts, so an encoder should keep little memory between
/// messages.
pub trait MessageEncoder: Sized + Send + 'static {
    /// The format's rules.
    type Rules: Debug + Send + Sync + 'static;

    /// `true` for unescaped text. It must not go to a terminal, which could run it as commands.
    const IS_UNESCAPED: bool = false;

    /// Returns the rules shared by all formats.
    fn shared(rules: &Self::Rules) -> &EncoderRules;

    /// Creates the encoder of a file.
    fn new(rules: Arc<Self::Rules>) -> Self;

    /// Returns the message order that encoders need.
    fn order(rules: &Self::Rules) -> MessageOrder {
        let _ = rules;
        MessageOrder::Merged
    }

    /// Records the losses for a data stream that is added during writing, after the streams in `added`.
    fn record_stream(rules: &Self::Rules, stream: &DataStream, added: &[Arc<DataStream>]) {
        let _ = (rules, stream, added);
    }

    /// Encodes a message.
    ///
    /// # Errors
    /// See [`Worker::message`].
    #[inline]
    fn message(&mut self, message: &Message<'_>, shared: &EncoderRules) -> io::Result<()> {
        encode_message(self, message, shared)
    }

    /// Starts a data stream.
    fn begin_stream(&mut self, stream: &DataStream) {
        let _ = stream;
    }

    /// Encodes an event, given its class index.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn event(&mut self, event: &Event<'_>, index: usize) -> io::Result<()> {
        let _ = (event, index);
        Ok(())
    }

    /// Encodes lost events.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn discarded(&mut self, discarded: &Discarded<'_>, shared: &EncoderRules) -> io::Result<()> {
        let _ = discarded;
        shared.record_loss(CommonLoss::Events);
        Ok(())
    }

    /// Handles damage. Returns `true` if the damaged data is dropped.
    fn drops_damaged(&mut self, damage: &Damage, shared: &EncoderRules) -> bool {
        let _ = (damage, shared);
        true
    }

    /// Copies a whole packet if possible. See [`Worker::copy_packet`].
    fn copy_packet(&mut self, packet: &Packet<'_>) -> bool {
        let _ = packet;
        false
    }

    /// Counts a message from a copied packet. See [`Worker::copied_message`].
    fn copied_message(&mut self, message: &Message<'_>) {
        let _ = message;
    }

    /// Completes open data, so that all bytes can be taken.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends a part's data streams, which lack end messages.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn end_part(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends the file, and records the losses that were counted by class.
    ///
    /// # Errors
    /// See [`Worker::message`].
    fn finish(&mut self) -> io::Result<()>;

    /// Encodes sorted messages until a block is full. Returns `true` when the file is complete.
    fn fill_block(&mut self) -> bool {
        false
    }

    /// Returns how many bytes can be taken.
    fn ready(&self) -> usize;

    /// Returns how many encoded bytes are in memory, including open data.
    fn waiting(&self) -> usize {
        self.ready()
    }

    /// Returns `true` if a block with this size is ready.
    #[inline]
    fn is_full(&self, block_bytes: usize) -> bool {
        self.ready() >= block_bytes
    }

    /// Returns `true` if anything can be taken.
    fn has_rest(&self) -> bool {
        self.ready() > 0
    }

    /// Takes the next bytes and their event count.
    fn take_bytes(&mut self) -> (Vec<u8>, u64);

    /// Takes the digest for all events since the last call.
    fn take_digest(&mut self) -> TraceDigest;

    /// Swaps in a buffer shared by all parts, and swaps it out after the message.
    fn swap_buffer(&mut self, buffer: &mut Box<[u8]>) {
        let _ = buffer;
    }
}

/// Encodes a message with the method for its kind, and records common losses.
///
/// # Errors
/// See [`Worker::message`].
#[inline]
pub fn encode_message<E: MessageEncoder>(
    encoder: &mut E,
    message: &Message<'_>,
    shared: &EncoderRules,
) -> io::Result<()> {
    match message {
        Message::StreamBegin(stream) => encoder.begin_stream(stream),
        Message::Event(event) => match event.class_index() {
            Some(index) => encoder.event(event, index)?,
            None => shared.record_loss(CommonLoss::UnknownClass),
        },
        Message::DiscardedEvents(discarded) => encoder.discarded(discarded, shared)?,
        Message::DiscardedPackets(_) => shared.record_loss(CommonLoss::Packets),
        Message::Damage(damage) if encoder.drops_damaged(damage, shared) => {
            shared.with_losses(|table| table.add_damage(damage));
        }
        _ => {}
    }
    Ok(())
}

/// Worker of a [`MessageEncoder`].
#[derive(Debug)]
pub(crate) struct EncoderWorker<E: MessageEncoder> {
    rules: Arc<E::Rules>,
    pub(crate) encoder: E,
    /// `true` to return all bytes, even if they do not fill a block.
    is_flushed: bool,
    /// `true` after the last message.
    is_finished: bool,
    /// `true` to count events in [`Self::digest`] instead of the shared digest.
    is_part: bool,
    digest: TraceDigest,
}

impl<E: MessageEncoder> EncoderWorker<E> {
    pub(crate) fn new(rules: &Arc<E::Rules>) -> Self {
        Self {
            rules: Arc::clone(rules),
            encoder: E::new(Arc::clone(rules)),
            is_flushed: false,
            is_finished: false,
            is_part: false,
            digest: TraceDigest::default(),
        }
    }

    /// Ends a part, which has its own [digest](Self::part_digest).
    pub(crate) fn finish_part(&mut self) -> io::Result<()> {
        self.is_part = true;
        self.encoder.end_part()?;
        self.finish()
    }

    /// Returns the part's digest.
    pub(crate) fn part_digest(&self) -> TraceDigest {
        let mut digest = self.digest.clone();
        digest.damages += E::shared(&self.rules).digest().damages;
        digest
    }

    /// Counts the events since the last call, if all messages were taken.
    fn count_events(&mut self) {
        if !self.is_finished {
            return;
        }
        let digest = self.encoder.take_digest();
        if self.is_part {
            self.digest.merge(digest);
        } else {
            E::shared(&self.rules).digest().merge(digest);
        }
    }
}

impl<E: MessageEncoder> Worker for EncoderWorker<E> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        let shared = E::shared(&self.rules);
        self.encoder.message(message, shared)?;
        let is_full = self.encoder.is_full(shared.block_bytes);
        Ok(if is_full { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn copy_packet(&mut self, packet: &Packet<'_>) -> io::Result<bool> {
        Ok(self.encoder.copy_packet(packet))
    }

    fn copied_message(&mut self, message: &Message<'_>) {
        self.encoder.copied_message(message);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.flush()?;
        self.is_flushed = true;
        Ok(())
    }

    fn take(&mut self) -> Option<OutputBlock> {
        self.is_flushed |= self.encoder.fill_block();
        self.count_events();
        let is_flushed = std::mem::take(&mut self.is_flushed);
        let is_full = self.encoder.is_full(E::shared(&self.rules).block_bytes);
        if !(is_full || is_flushed && self.encoder.has_rest()) {
            return None;
        }
        let (bytes, events) = self.encoder.take_bytes();
        Some(OutputBlock { bytes, events, ..OutputBlock::default() })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.encoder.finish()?;
        (self.is_flushed, self.is_finished) = (true, true);
        self.count_events();
        Ok(())
    }
}
