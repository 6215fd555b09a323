//! Rules shared by all encoders of a log.

use std::sync::{Arc, Mutex};

use ichnos_io::{WriteOptions, WriteSource};
use ichnos_model::lower::{KeptMetadata, LossEntry, LossKind, LossTable};
use ichnos_model::{ClassDigest, ClockClass, ClockOrigin, IgnorePoison as _, Trace, TraceDigest};

use super::is_log;
use crate::log::Framing;
use crate::log_reader::class::{BOOT_CLOCK, MONOTONIC_CLOCK, framing_of};

/// Rules shared by all encoders of a log.
#[derive(Debug)]
pub(super) struct LogRules {
    framing: Framing,
    /// Trace of each source, kept at its address, and whether it is a Fuchsia log.
    sources: Vec<(Arc<Trace>, bool)>,
    keeps_tags: bool,
    repairs: bool,
    block_bytes: usize,
    losses: Mutex<LossTable>,
    digest: Mutex<TraceDigest>,
    is_compared: bool,
}

impl LogRules {
    /// Returns the rules of a log of some sources.
    pub(super) fn new(sources: &[WriteSource], framing: Framing, options: &WriteOptions) -> Self {
        let mut losses = LossTable::default();
        for source in sources.iter().filter(|source| !is_log(source)) {
            note_trace(source, &mut losses);
        }
        let streams: usize = sources.iter().map(|source| source.streams.len()).sum();
        if streams > 1 {
            let what = format!("{streams} data streams -> 1");
            losses.add(loss(LossKind::Lowered, "", &what), 1);
        }
        Self {
            framing,
            sources: sources.iter().map(|source| (Arc::clone(&source.trace), is_log(source))).collect(),
            keeps_tags: streams == 1
                && !options.repair
                && sources.iter().all(|source| is_log(source) && is_copied(source, framing)),
            repairs: options.repair,
            block_bytes: options.packet_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(BLOCK),
            losses: Mutex::new(losses),
            digest: Mutex::default(),
            is_compared: options.verify.is_some(),
        }
    }

    pub(super) fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns `true` if messages that break a rule are encoded again.
    pub(super) fn repairs(&self) -> bool {
        self.repairs
    }

    /// Returns `true` if the output is compared with the input.
    pub(super) fn is_compared(&self) -> bool {
        self.is_compared
    }

    /// Number of bytes returned at once, if available.
    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Returns `true` if all records come from one Fuchsia log whose messages are copied.
    pub(super) fn keeps_tags(&self) -> bool {
        self.keeps_tags
    }

    /// Returns `true` if the trace at an address is a Fuchsia log.
    pub(super) fn is_log(&self, address: usize) -> bool {
        self.sources.iter().any(|(trace, is_log)| *is_log && Arc::as_ptr(trace).addr() == address)
    }

    /// Counts an invalid value of a source that can also be in the output.
    pub(super) fn add_damage(&self) {
        self.digest.lock().ignore_poison().damages += 1;
    }

    /// Returns the number of invalid values that can be in the output.
    pub(super) fn damages(&self) -> u64 {
        self.digest.lock().ignore_poison().damages
    }

    /// Returns the digest of all written data so far.
    pub(super) fn digest(&self) -> TraceDigest {
        self.digest.lock().ignore_poison().clone()
    }

    /// Adds written records to the digest.
    pub(super) fn add_records(&self, records: ClassDigest) {
        self.digest.lock().ignore_poison().add_class("", records);
    }

    pub(super) fn with_losses<T>(&self, change: impl FnOnce(&mut LossTable) -> T) -> T {
        change(&mut self.losses.lock().ignore_poison())
    }
}

/// Returns `true` if all messages of a log can be copied.
fn is_copied(source: &WriteSource, framing: Framing) -> bool {
    framing == Framing::Datagrams || framing_of(&source.trace.class.dialect) == Some(framing)
}

pub(super) fn loss(kind: LossKind, field: &str, what: &str) -> LossEntry {
    LossEntry { kind, class: String::new(), field: field.to_owned(), what: what.to_owned() }
}

/// Metadata that records keep.
pub(super) const KEPT_METADATA: KeptMetadata = KeptMetadata {
    namespace: None,
    clocks: &[MONOTONIC_CLOCK, BOOT_CLOCK],
    stream_names: false,
    severities: true,
};

/// Notes losses of a whole trace.
fn note_trace(source: &WriteSource, losses: &mut LossTable) {
    let class = &source.trace.class;
    let mut lose = |kind, field: &str, what: &str| losses.add(loss(kind, field, what), 1);
    for (name, _) in &class.environment {
        // Shown in lines.
        if !matches!(name.as_str(), "vpid" | "procname") {
            lose(LossKind::Dropped, &format!("environment.{name}"), "entry of the environment");
        }
    }
    if class.clocks.len() > 1 {
        lose(LossKind::Dropped, "", "clocks other than that of the data stream");
    }
    for clock in &class.clocks {
        note_clock(clock, &mut lose);
    }
    losses.add_trace_metadata(class, KEPT_METADATA);
}

/// Notes losses of a clock, which is not stored in records.
pub(super) fn note_clock(clock: &ClockClass, lose: &mut impl FnMut(LossKind, &str, &str)) {
    let field = format!("clock.{}", clock.id);
    match &clock.origin {
        ClockOrigin::UnixEpoch => lose(LossKind::Dropped, &field, "origin: the Unix epoch"),
        ClockOrigin::Named { name, .. } => lose(LossKind::Dropped, &field, &format!("origin: {name}")),
        ClockOrigin::Unknown => {}
    }
    if clock.offset_seconds != 0 || clock.offset_cycles != 0 {
        lose(LossKind::Lowered, &field, "offset from the origin -> part of all times");
    }
    let frequency = clock.frequency;
    if frequency != 1_000_000_000 {
        let is_exact = frequency > 0 && 1_000_000_000 % frequency == 0;
        let kind = if is_exact { LossKind::Lowered } else { LossKind::Rounded };
        lose(kind, &field, &format!("cycles of {frequency} Hz -> nanoseconds"));
    }
}

/// Default block size in bytes.
const BLOCK: usize = 256 << 10;
