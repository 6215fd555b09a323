//! Data stream that grows while it is read.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use ichnos_io::Bytes;
use ichnos_model::cursor::{Head, MessageKind};
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::{DataStream, Message};

use super::arrived_packets::{ArrivedPackets, PacketState};
use super::growing_trace::{GrowingTrace, TraceVersion};
use super::lost_packet::LostPacket;
use crate::ctf_options::CtfOptions;
use crate::index::{self, ScannedPacket, TooManyPackets};
use crate::quirks::AppliedQuirks;
use crate::stream_input::{StreamFile, StreamInput};

/// Largest number of packets in bytes that should be a single packet.
const MOST_PACKETS: u64 = 1 << 16;

/// What arrived of a data stream.
#[derive(Debug)]
pub(super) enum StreamItem {
    /// A packet at an offset of its file.
    Packet {
        offset: u64,
        bytes: Vec<u8>,
    },
    /// A packet that could not be received, and its end.
    Lost {
        damage: Box<Damage>,
        class_id: u128,
        end: u64,
    },
    /// No packet will begin before a value of the clock.
    Inactive {
        class_id: u128,
        cycles: u64,
    },
    End,
}

/// Result of [`ArrivingStream::next`].
#[derive(Clone, Copy, Debug)]
pub(super) enum NextMessage {
    Message(Head),
    /// The next message has not arrived, or cannot be read without further metadata.
    Waiting,
    /// The data stream has ended.
    Ended,
}

/// A data stream whose packets arrive one by one.
#[derive(Debug)]
pub(super) struct ArrivingStream {
    /// Key of its trace.
    pub(super) trace: u64,
    file: Arc<str>,
    /// Name of the data stream.
    name: Arc<str>,
    queue: VecDeque<StreamItem>,
    current: StreamMessage,
    /// Messages before the next packet.
    outside: VecDeque<OutsideMessage>,
    /// Packets being read, and their number of bytes.
    run: Option<(ArrivedPackets, usize)>,
    known: Option<KnownStream>,
    /// Time that it has reached.
    pub(super) reached: Option<i128>,
    /// Sizes of the packets and losses that were read since the last call of [`ArrivingStream::take_consumed`].
    consumed: Vec<usize>,
    /// `true` if it waits for metadata.
    pub(super) needs_metadata: bool,
    has_ended: bool,
}

/// The data stream after its first packet.
#[derive(Debug)]
struct KnownStream {
    stream: Arc<DataStream>,
    version: Arc<TraceVersion>,
    /// Newest version with which it was compared.
    compared: Arc<TraceVersion>,
    state: Option<PacketState>,
}

#[derive(Debug)]
enum StreamMessage {
    Nothing,
    /// The message of the packets being read.
    OfRun,
    Outside(OutsideMessage),
}

/// Message outside the packets.
#[derive(Debug)]
enum OutsideMessage {
    End(Arc<DataStream>),
    Damage(Box<Damage>),
}

impl OutsideMessage {
    fn head(&self, reached: Option<i128>) -> Head {
        match self {
            Self::End(_) => Head::new(MessageKind::StreamEnd, None),
            Self::Damage(_) => Head::new(MessageKind::Damage, reached),
        }
    }
}

impl ArrivingStream {
    pub(super) fn new(trace: u64, file: &str) -> Self {
        let file: Arc<str> = file.into();
        Self {
            trace,
            name: Arc::clone(&file),
            file,
            queue: VecDeque::new(),
            current: StreamMessage::Nothing,
            outside: VecDeque::new(),
            run: None,
            known: None,
            reached: None,
            consumed: Vec::new(),
            needs_metadata: false,
            has_ended: false,
        }
    }

    pub(super) fn set_name(&mut self, name: &str) {
        self.name = name.into();
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Adds what arrived.
    pub(super) fn push(&mut self, item: StreamItem) {
        match (self.queue.back_mut(), item) {
            // Only the last of several times counts.
            (Some(last @ StreamItem::Inactive { .. }), item @ StreamItem::Inactive { .. }) => *last = item,
            (Some(StreamItem::End), _) => {}
            (_, item) => self.queue.push_back(item),
        }
    }

    /// Drops everything that was not read. The data stream then ends.
    pub(super) fn give_up(&mut self) {
        self.queue.clear();
        self.queue.push_back(StreamItem::End);
    }

    /// Returns the sizes of the packets and losses that were read since the last call.
    pub(super) fn take_consumed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.consumed)
    }

    /// Returns the current message.
    pub(super) fn current(&self) -> Option<Message<'_>> {
        match &self.current {
            StreamMessage::Nothing => None,
            StreamMessage::OfRun => self.run.as_ref()?.0.current(),
            StreamMessage::Outside(OutsideMessage::End(stream)) => Some(Message::StreamEnd(stream)),
            StreamMessage::Outside(OutsideMessage::Damage(damage)) => Some(Message::Damage(damage)),
        }
    }

    /// Moves to the next message.
    pub(super) fn next(&mut self, trace: &mut GrowingTrace, options: &CtfOptions) -> NextMessage {
        self.needs_metadata = false;
        loop {
            self.current = StreamMessage::Nothing;
            if let Some(message) = self.outside.pop_front() {
                let head = message.head(self.reached);
                self.current = StreamMessage::Outside(message);
                return NextMessage::Message(head);
            }
            if let Some((run, _)) = &mut self.run {
                if let Some(head) = run.next() {
                    self.current = StreamMessage::OfRun;
                    return NextMessage::Message(head);
                }
                self.finish_run();
            }
            if self.has_ended {
                return NextMessage::Ended;
            }
            let Some(item) = self.queue.pop_front() else { return NextMessage::Waiting };
            if matches!(item, StreamItem::End) {
                self.has_ended = true;
                self.end();
            } else if let Some(newest) = trace.newest(options) {
                self.take(item, &newest);
            } else {
                self.queue.push_front(item);
                self.needs_metadata = true;
                return NextMessage::Waiting;
            }
        }
    }

    /// Ends the data stream so far, if it has begun.
    fn end(&mut self) -> Option<KnownStream> {
        let known = self.known.take()?;
        self.outside.push_back(OutsideMessage::End(Arc::clone(&known.stream)));
        Some(known)
    }

    fn take(&mut self, item: StreamItem, newest: &Arc<TraceVersion>) {
        match item {
            StreamItem::Packet { offset, bytes } => self.open(offset, bytes.into(), newest),
            StreamItem::Inactive { class_id, cycles } => {
                self.reached = self.reached.max(newest.nanoseconds(class_id, cycles));
            }
            StreamItem::Lost { damage, class_id, end } => {
                self.reached = self.reached.max(newest.nanoseconds(class_id, end));
                self.outside.push_back(OutsideMessage::Damage(damage));
                self.consumed.push(LostPacket::MEMORY);
            }
            StreamItem::End => {}
        }
    }

    fn finish_run(&mut self) {
        let Some((run, bytes)) = self.run.take() else { return };
        self.consumed.push(bytes);
        let (reached, state) = run.finish();
        self.reached = self.reached.max(reached);
        if let Some(known) = &mut self.known {
            known.state = Some(state);
        }
    }

    /// Starts to read a packet.
    fn open(&mut self, offset: u64, bytes: Bytes, newest: &Arc<TraceVersion>) {
        let version = self.version(newest);
        let (mut found, damage) = self.scan(&version, &bytes);
        self.refuse_others(&version, &mut found, offset, bytes.len());
        let is_known = self.known.as_ref().is_some_and(|known| Arc::ptr_eq(&known.version, &version));
        let mut begins = false;
        if let Some(first) = found.first().filter(|_| !is_known) {
            // The data stream of the version before has ended.
            let before = self.end();
            self.known = self.begin(&version, first, before);
            begins = true;
        }
        let has_packets = !found.is_empty();
        let rules = self.known.as_ref().filter(|_| is_known || begins);
        let rules = rules.and_then(|known| version.rules(known.stream.class_index));
        let (Some(rules), Some(known)) = (rules, &mut self.known) else {
            return self.refuse(offset, bytes.len(), damage, has_packets);
        };
        let length = bytes.len();
        let state = known.state.take();
        // The packet before is not read, so its file can be empty.
        let before = state.as_ref().and_then(|state| state.before.clone()).map(|mut before| {
            before.file = 1;
            before
        });
        let file = |bytes| StreamFile { name: Arc::clone(&self.file), bytes };
        let input = StreamInput {
            stream: Arc::clone(&known.stream),
            files: [file(bytes), file(Bytes::default())].into(),
            rules,
            packets: before.into_iter().chain(found.into_iter().map(|found| found.entry)).collect(),
            repeated: 0,
            rest: damage.into_iter().collect(),
            applied_quirks: AppliedQuirks::default(),
            range: OnceLock::new(),
            packets_stand_alone: false,
        };
        self.run = Some((ArrivedPackets::new(Arc::new(input), state, offset, begins), length));
    }

    /// Returns the version to read with: the one so far, as long as it suffices.
    fn version(&mut self, newest: &Arc<TraceVersion>) -> Arc<TraceVersion> {
        if let Some(known) = &mut self.known {
            if !Arc::ptr_eq(&known.compared, newest) && newest.describes(&known.stream) {
                known.compared = Arc::clone(newest);
            }
            if Arc::ptr_eq(&known.compared, newest) {
                return Arc::clone(&known.version);
            }
        }
        Arc::clone(newest)
    }

    /// Finds the packets in bytes, and the damage after them.
    fn scan(&self, version: &TraceVersion, bytes: &Bytes) -> (Vec<ScannedPacket>, Option<Damage>) {
        if let Some(kind) = version.refused() {
            let damage = Damage::new(&*self.file, 0, kind.clone());
            return (Vec::new(), Some(damage.skipping(bytes.len() as u64 * 8)));
        }
        let mut found = Vec::new();
        let damage = index::scan(&version.decoder(), &self.file, bytes, &|_| (), |packet| {
            if found.len() as u64 >= MOST_PACKETS {
                return Err(TooManyPackets(MOST_PACKETS));
            }
            found.push(packet);
            Ok(())
        });
        (found, damage)
    }

    /// Creates the data stream of a packet.
    fn begin(
        &self,
        version: &Arc<TraceVersion>,
        packet: &ScannedPacket,
        before: Option<KnownStream>,
    ) -> Option<KnownStream> {
        let state = before.and_then(|before| {
            let mut state = before.state?;
            state.clocks = state.clocks.filter(|_| version.has_clocks_of(&before.stream));
            Some(state)
        });
        let trace = Arc::clone(&version.trace);
        let stream = DataStream::new(trace, packet.class, packet.stream_id, Arc::clone(&self.name))?;
        let (version, compared) = (Arc::clone(version), Arc::clone(version));
        Some(KnownStream { stream: Arc::new(stream), version, compared, state })
    }

    /// Reports and removes packets that belong to another data stream: the sender has mixed them up.
    fn refuse_others(
        &mut self,
        version: &TraceVersion,
        found: &mut Vec<ScannedPacket>,
        offset: u64,
        length: usize,
    ) {
        let classes = &version.trace.class.data_streams;
        let identity = |packet: &ScannedPacket| {
            let class = classes.get(packet.class).map_or(0, |class| class.id);
            (class, packet.stream_id)
        };
        let known = self.known.as_ref().map(|known| (known.stream.class().id, known.stream.id));
        let Some(expected) = known.or_else(|| found.first().map(identity)) else { return };
        for packet in found.extract_if(.., |packet| identity(packet) != expected) {
            let [expected, other] = [expected, identity(&packet)].map(|(class, id)| match id {
                Some(id) => format!("data stream {id} of class {class}"),
                None => format!("a data stream of class {class}"),
            });
            let kind =
                DamageKind::Unreadable(format!("expected a packet of {expected}, found one of {other}"));
            let bit = packet.entry.offset.saturating_add(offset).saturating_mul(8);
            let damage = Damage::new(&*self.file, bit, kind);
            let damage = Box::new(damage.skipping(8 * packet.entry.available(length as u64)));
            self.outside.push_back(OutsideMessage::Damage(damage));
        }
    }

    /// Reports bytes that cannot be read. `has_packets`: there are packets in them.
    fn refuse(&mut self, offset: u64, length: usize, damage: Option<Damage>, has_packets: bool) {
        self.consumed.push(length);
        let unreadable = || {
            let kind = DamageKind::Unreadable("the class of the data stream cannot be read".to_owned());
            Damage::new(&*self.file, 0, kind).skipping(8 * length as u64)
        };
        let Some(damage) = damage.or_else(|| has_packets.then(unreadable)) else { return };
        let bit = damage.bit.saturating_add(offset.saturating_mul(8));
        self.outside.push_back(OutsideMessage::Damage(Box::new(Damage { bit, ..damage })));
    }
}
