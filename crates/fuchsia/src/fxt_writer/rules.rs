//! What all encoders of a trace share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use ichnos_io::{WriteOptions, WriteSource};
use ichnos_model::lower::{KeptMetadata, LossKind, LossTable};
use ichnos_model::{ClassDigest, ClockOrigin, Event, IgnorePoison as _, TraceDigest, ValueHash};

use super::clock_base::base_of;
use super::leaves::Leaves;
use super::own::{self, OwnClass};
use super::record_parts::RecordParts;
use crate::fxt_reader::class::{CLOCK, NAMESPACE, extended_records};

/// Default block size in bytes.
const BLOCK: usize = 256 << 10;

/// Rules, losses and the digest of a trace that is being written.
#[derive(Debug)]
pub(super) struct TraceRules {
    /// `true` if there is a single data stream.
    is_alone: bool,
    block_bytes: usize,
    is_compared: bool,
    repairs: bool,
    losses: Mutex<LossTable>,
    records: Mutex<ClassDigest>,
    /// Keeps the traces at their addresses.
    _sources: Vec<WriteSource>,
}

impl TraceRules {
    pub(super) fn new(sources: Vec<WriteSource>, options: &WriteOptions) -> Arc<Self> {
        let mut losses = LossTable::default();
        for source in &sources {
            note_source(source, &mut losses);
        }
        let streams: usize = sources.iter().map(|source| source.streams.len()).sum();
        Arc::new(Self {
            is_alone: streams == 1,
            block_bytes: options
                .packet_size
                .and_then(|size| usize::try_from(size).ok())
                .unwrap_or(BLOCK)
                .max(1),
            is_compared: options.verify.is_some(),
            repairs: options.repair,
            losses: Mutex::new(losses),
            records: Mutex::default(),
            _sources: sources,
        })
    }

    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Number of bytes returned at once, if available.
    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Returns `true` if the output is compared with the input.
    pub(super) fn is_compared(&self) -> bool {
        self.is_compared
    }

    /// Returns `true` if the output must be valid.
    pub(super) fn repairs(&self) -> bool {
        self.repairs
    }

    pub(super) fn with_losses<T>(&self, change: impl FnOnce(&mut LossTable) -> T) -> T {
        change(&mut self.losses.lock().ignore_poison())
    }

    /// Adds written records to the digest.
    pub(super) fn add_records(&self, records: ClassDigest) {
        *self.records.lock().ignore_poison() += records;
    }

    /// Returns the digest of all written records.
    pub(super) fn digest(&self) -> TraceDigest {
        digest(*self.records.lock().ignore_poison())
    }
}

/// Returns the digest of records, to compare it with what is read.
pub(super) fn digest(records: ClassDigest) -> TraceDigest {
    let mut digest = TraceDigest::default();
    digest.event_hash = Some(record_hash);
    digest.discarded_events = None;
    digest.add_class("", records);
    digest
}

/// Returns the time in ticks and the hash of a record that was read.
fn record_hash(event: &Event<'_>) -> (Option<u64>, u64) {
    let mut parts = RecordParts::new();
    let class = OwnClass::of(event.class);
    let ticks = event.clock.map(|clock| clock.cycles);
    let read = class.and_then(|class| own::read(event, &class, ticks, &mut Leaves::default(), &mut parts));
    (ticks, read.map_or(0, |()| timed_hash(parts.hash(), event.nanoseconds())))
}

/// Adds the time of a record to its hash, in nanoseconds: equal ticks are other times by another clock.
pub(super) fn timed_hash(hash: u64, nanoseconds: Option<i128>) -> u64 {
    let mut timed = ValueHash::new(hash);
    timed.add(nanoseconds.unwrap_or_default() as u64);
    timed.finish()
}

/// Metadata that records keep.
pub(super) const KEPT_METADATA: KeptMetadata =
    KeptMetadata { namespace: Some(NAMESPACE), clocks: &[CLOCK], stream_names: true, severities: false };

/// Notes losses of a whole trace.
fn note_source(source: &WriteSource, losses: &mut LossTable) {
    let class = &source.trace.class;
    let mut known = HashSet::new();
    for stream in source.streams.iter().filter(|stream| known.insert(stream.class_index)) {
        losses.add_packets(stream);
    }
    let mut lose = |kind, field: &str, what: &str| {
        losses.note(kind, "", field, what);
    };
    for (name, _) in class.environment.iter().filter(|(name, _)| name != "vpid") {
        lose(LossKind::Dropped, &format!("environment.{name}"), "entry of the environment");
    }
    losses.add_trace_metadata(class, KEPT_METADATA);
    let extended = extended_records(class);
    if extended > 0 {
        let what = "records with reserved bits, or bytes after their known content: without these";
        losses.note_times(LossKind::Dropped, "", "", what, extended);
    }
    let mut lose = |kind, field: &str, what: &str| {
        losses.note(kind, "", field, what);
    };
    for clock in &class.clocks {
        let field = format!("clock.{}", clock.id);
        let has_base = base_of(class, clock).is_some();
        if !has_base && (clock.offset_seconds, clock.offset_cycles) != (0, 0) {
            lose(LossKind::Lowered, &field, "offset from the origin -> part of all times");
        }
        match &clock.origin {
            ClockOrigin::UnixEpoch if !has_base => {
                lose(
                    LossKind::Dropped,
                    &field,
                    "origin: 1970, which has no time of whole nanoseconds in 63 bits",
                );
            }
            // All clocks of a file of this format count from the start of the same system.
            ClockOrigin::Named { name, .. } if source.format != "fxt" => {
                lose(LossKind::Dropped, &field, &format!("origin: {name}"));
            }
            _ => {}
        }
    }
}
