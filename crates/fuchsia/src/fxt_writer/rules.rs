//! Rules shared by all encoders of a trace.

use ichnos_io::{EncoderRules, WriteOptions, WriteSource};
use ichnos_model::Event;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::digest::ValueHash;
use ichnos_model::lower::{KeptMetadata, LossKind, LossTable};

use super::clock_base::base_of;
use super::leaves::Leaves;
use super::own::{self, OwnClass};
use super::record_parts::RecordParts;
use crate::fxt_reader::class::{CLOCK, NAMESPACE, extended_records};

/// Rules for writing a trace.
#[derive(Debug)]
pub(super) struct FxtRules {
    /// `true` if there is only one data stream.
    pub(super) is_alone: bool,
    pub(super) shared: EncoderRules,
}

impl FxtRules {
    pub(super) fn new(sources: Vec<WriteSource>, options: &WriteOptions) -> Self {
        let streams: usize = sources.iter().map(|source| source.streams.len()).sum();
        Self { is_alone: streams == 1, shared: EncoderRules::new(sources, options, record_source) }
    }
}

/// Returns the time in ticks and the hash of a record that was read back.
pub(super) fn record_hash(event: &Event<'_>) -> (Option<u64>, u64) {
    let mut parts = RecordParts::new();
    let class = OwnClass::from_class(event.class);
    let ticks = event.clock.map(|clock| clock.cycles);
    let read = class.and_then(|class| own::read(event, &class, ticks, &mut Leaves::default(), &mut parts));
    (ticks, read.map_or(0, |()| timed_hash(parts.hash(), event.nanoseconds())))
}

/// Adds the record time in nanoseconds to its hash, because equal ticks can be different times on another clock.
pub(super) fn timed_hash(hash: u64, nanoseconds: Option<i128>) -> u64 {
    let mut timed = ValueHash::new(hash);
    // A record without a time counts as time 0 on both sides of the comparison.
    timed.add(nanoseconds.unwrap_or_default() as u64);
    timed.finish()
}

/// Metadata that the records preserve.
pub(super) const KEPT_METADATA: KeptMetadata =
    KeptMetadata { namespace: Some(NAMESPACE), clocks: &[CLOCK], stream_names: true, severities: false };

/// Records the losses for the whole trace.
fn record_source(source: &WriteSource, table: &mut LossTable) {
    let class = &source.trace.class;
    source.first_streams().for_each(|stream| table.add_packets(stream));
    table.add_environment(class, |name| name == "vpid");
    table.add_trace_metadata(class, KEPT_METADATA);
    let extended = extended_records(class);
    if extended > 0 {
        let what = "records with reserved bits, or bytes after their known content: without these";
        table.note_times(LossKind::Dropped, "", "", what, extended);
    }
    let mut losses = table.for_class("");
    for clock in &class.clocks {
        let field = format!("clock.{}", clock.id);
        let has_base = base_of(class, clock).is_some();
        if !has_base && (clock.offset_seconds, clock.offset_cycles) != (0, 0) {
            losses.record_loss(LossKind::Lowered, &field, "offset -> added to all times");
        }
        match &clock.origin {
            ClockOrigin::UnixEpoch if !has_base => {
                let what = "origin: 1970, because no whole-nanosecond time fits in 63 bits";
                losses.record_loss(LossKind::Dropped, &field, what);
            }
            // All clocks of an FXT file count from the start of the same system.
            ClockOrigin::Named { name, .. } if source.format != "fxt" => {
                losses.record_loss(LossKind::Dropped, &field, format!("origin: {name}"));
            }
            _ => {}
        }
    }
}
