//! Rules shared by all encoders of a log.

use std::sync::Arc;

use ichnos_io::{EncoderRules, WriteOptions, WriteSource};
use ichnos_model::Trace;
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::lower::{KeptMetadata, LossKind, LossRecorder, LossTable};

use crate::log::Framing;
use crate::log_reader::class::{BOOT_CLOCK, MONOTONIC_CLOCK, framing_of};

/// Rules for writing a log.
#[derive(Debug)]
pub(super) struct LogRules {
    pub(super) framing: Framing,
    /// `true` if all records come from one Fuchsia log with copied messages.
    pub(super) keeps_tags: bool,
    pub(super) shared: EncoderRules,
}

impl LogRules {
    /// Returns the rules for a log from these sources.
    pub(super) fn new(sources: Vec<WriteSource>, framing: Framing, options: &WriteOptions) -> Self {
        let streams: usize = sources.iter().map(|source| source.streams.len()).sum();
        let keeps_tags = streams == 1
            && !options.repair
            && sources.iter().all(|source| is_log(source) && is_copied(source, framing));
        let shared = EncoderRules::new(sources, options, record_source);
        if streams > 1 {
            let what = format!("{streams} data streams -> 1");
            shared.with_losses(|table| table.note(LossKind::Lowered, "", "", what));
        }
        Self { framing, keeps_tags, shared }
    }

    /// Returns `true` if a trace was read from a Fuchsia log.
    pub(super) fn is_log(&self, trace: &Arc<Trace>) -> bool {
        self.shared.sources.iter().any(|source| is_log(source) && Arc::ptr_eq(&source.trace, trace))
    }
}

/// Returns `true` if a source was read from a Fuchsia log.
pub(super) fn is_log(source: &WriteSource) -> bool {
    source.format == "fuchsia-log"
}

/// Returns `true` if all messages of a log can be copied.
fn is_copied(source: &WriteSource, framing: Framing) -> bool {
    framing == Framing::Datagrams || framing_of(&source.trace.class.dialect) == Some(framing)
}

/// Metadata that the records preserve.
pub(super) const KEPT_METADATA: KeptMetadata = KeptMetadata {
    namespace: None,
    clocks: &[MONOTONIC_CLOCK, BOOT_CLOCK],
    stream_names: false,
    severities: true,
};

/// Records the losses for the whole trace.
fn record_source(source: &WriteSource, table: &mut LossTable) {
    if is_log(source) {
        return;
    }
    let class = &source.trace.class;
    // Lines show these.
    table.add_environment(class, |name| matches!(name, "vpid" | "procname"));
    let mut losses = table.for_class("");
    if class.clocks.len() > 1 {
        losses.record_loss(LossKind::Dropped, "", "clocks other than the data stream's clock");
    }
    for clock in &class.clocks {
        record_clock(clock, &mut losses);
    }
    table.add_trace_metadata(class, KEPT_METADATA);
}

/// Records the loss of a clock, because records do not store it.
pub(super) fn record_clock(clock: &ClockClass, losses: &mut LossRecorder<'_>) {
    let field = format!("clock.{}", clock.id);
    match &clock.origin {
        ClockOrigin::UnixEpoch => losses.record_loss(LossKind::Dropped, &field, "origin: the Unix epoch"),
        ClockOrigin::Named { name, .. } => {
            losses.record_loss(LossKind::Dropped, &field, format!("origin: {name}"));
        }
        ClockOrigin::Unknown => {}
    }
    if clock.offset_seconds != 0 || clock.offset_cycles != 0 {
        losses.record_loss(LossKind::Lowered, &field, "offset -> added to all times");
    }
    let frequency = clock.frequency;
    if frequency != 1_000_000_000 {
        let is_exact = frequency > 0 && 1_000_000_000 % frequency == 0;
        let kind = if is_exact { LossKind::Lowered } else { LossKind::Rounded };
        losses.record_loss(kind, &field, format!("cycles of {frequency} Hz -> nanoseconds"));
    }
}
