//! Counts and checksums of the encoded data, for comparison with the data read from the output.

use std::sync::{Arc, Mutex};

use ichnos_model::digest::{ClassDigest, EventHash, ScopeVisitor, TraceDigest, ValueHash};
use ichnos_model::event::Packet;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::{EventLosses, PacketLosses};
use ichnos_model::{Event, Scope};

use super::class_encoding::ClassEncoding;
use super::class_set::ClassSet;
use super::encoder_config::EncoderConfig;
use super::field_encoder::valid;

/// Encoded event.
#[derive(Clone, Copy, Debug)]
pub(super) struct DigestEvent {
    class: usize,
    cycles: Option<u64>,
    values: u64,
}

/// Digest of an encoder's output.
#[derive(Debug)]
pub(super) struct WrittenDigest {
    /// Digest of all encoders.
    all: Arc<Mutex<TraceDigest>>,
    /// Event classes, and their digests in the same order.
    indexes: ClassSet,
    classes: Vec<ClassDigest>,
    digest: TraceDigest,
    /// Packet hash, used as the start of all its event hashes.
    pub(super) packet: u64,
    /// Events whose time is still unknown.
    waiting: Vec<DigestEvent>,
    event_losses: EventLosses,
    packet_losses: PacketLosses,
}

impl WrittenDigest {
    pub(super) fn new(all: &Arc<Mutex<TraceDigest>>) -> Self {
        Self {
            all: Arc::clone(all),
            indexes: ClassSet::default(),
            classes: Vec::new(),
            digest: TraceDigest::default(),
            packet: ValueHash::new(0).finish(),
            waiting: Vec::new(),
            event_losses: EventLosses::default(),
            packet_losses: PacketLosses::default(),
        }
    }

    /// Begins a packet that is created from a source packet.
    pub(super) fn begin_packet(&mut self, config: &EncoderConfig, packet: &Packet<'_>) {
        let mut hash = ValueHash::new(0);
        let mut visitor = ScopeVisitor::for_packet(&mut hash);
        if config.repairs() {
            visitor.change_texts(valid);
        }
        let losses = &mut self.packet_losses;
        // It was encoded before, so it can be visited.
        let _ = config.lowered.visit_packet(packet, Scope::PacketContext, &mut visitor, losses);
        self.packet = hash.finish();
    }

    /// Returns the event as written at a time.
    pub(super) fn event(
        &mut self,
        config: &EncoderConfig,
        (index, class): (usize, &ClassEncoding),
        event: &Event<'_>,
        cycles: Option<u64>,
    ) -> DigestEvent {
        let mut hash = EventHash::new(self.packet);
        let losses = &mut self.event_losses;
        for scope in EventHash::SCOPES {
            let _ = hash.scope(scope, |visitor| {
                if config.repairs() {
                    visitor.change_texts(valid);
                }
                config.lowered.visit(&class.lowered, event, scope, visitor, losses)
            });
        }
        let cycles = cycles.filter(|_| config.default_clock.is_some());
        DigestEvent { class: index, cycles, values: hash.finish() }
    }

    /// Adds an event that stays in the output.
    pub(super) fn add(&mut self, event: DigestEvent) {
        if let Some(place) = self.indexes.insert(event.class) {
            self.classes.insert(place, ClassDigest::default());
        }
        if let Some(class) = self.classes.get_mut(self.indexes.last()) {
            class.add(event.cycles, event.values);
        }
    }

    /// Holds an event until its time is known.
    pub(super) fn hold(&mut self, event: DigestEvent) {
        self.waiting.push(event);
    }

    /// Adds the held events with a time, or with their own times if `cycles` is `None`.
    pub(super) fn release(&mut self, cycles: Option<u64>) {
        for event in std::mem::take(&mut self.waiting) {
            self.add(DigestEvent { cycles: cycles.or(event.cycles), ..event });
        }
    }

    pub(super) fn add_discarded(&mut self, count: u64) {
        self.digest.add_discarded(count);
    }

    /// Counts damage that is also in the output.
    pub(super) fn add_damage(&mut self) {
        self.digest.damages += 1;
    }

    /// Adds the result to the digest of all encoders.
    pub(super) fn finish(&mut self, classes: &[Option<ClassEncoding>]) {
        let mut digest = std::mem::take(&mut self.digest);
        let indexes = std::mem::take(&mut self.indexes);
        for (events, index) in std::mem::take(&mut self.classes).into_iter().zip(indexes.iter()) {
            if let Some(Some(class)) = classes.get(index) {
                let name = class.lowered.class().name.as_deref().unwrap_or_default();
                digest.add_class(name, events);
            }
        }
        self.all.lock().ignore_poison().merge(digest);
    }
}
