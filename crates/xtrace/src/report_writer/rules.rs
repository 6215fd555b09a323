//! What all encoders of reports share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use ichnos_io::{WriteOptions, WriteSource};
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{ClassDigest, ClockOrigin, EventRecordClass, IgnorePoison as _, Trace, TraceDigest};

use super::foreign_class::{KEPT_METADATA, trace_constants};
use super::report_block::event_hash;
use crate::reader::class::{CLASS_NAME, DIALECT};

/// Default block size in bytes.
const BLOCK: usize = 256 << 10;

/// Rules, losses and the digest of reports that are being written.
#[derive(Debug)]
pub(super) struct ReportRules {
    pub(super) is_json: bool,
    /// `true` if events without an operation become a chain of operations per thread.
    pub(super) chains_orphans: bool,
    /// `true` if events that are no reports can be among the sources, so that they join reports.
    pub(super) is_mixed: bool,
    /// `true` if the output is compared with the input.
    pub(super) is_compared: bool,
    /// `true` if the output must be valid.
    pub(super) repairs: bool,
    /// Number of bytes returned at once, if available.
    pub(super) block_bytes: usize,
    losses: Mutex<LossTable>,
    /// Classes whose losses were added: address of the trace, and indexes of the data stream class and the class.
    classes: Mutex<HashSet<(usize, usize, usize)>>,
    /// Digest of written reports, and number of damaged places.
    written: Mutex<(ClassDigest, u64)>,
    sources: Vec<WriteSource>,
}

impl ReportRules {
    pub(super) fn new(sources: Vec<WriteSource>, is_json: bool, options: &WriteOptions) -> Arc<Self> {
        let mut losses = LossTable::default();
        for source in &sources {
            note_source(source, &mut losses);
        }
        Arc::new(Self {
            is_json,
            chains_orphans: options.formats.choice("xtrace", "orphans") == Some("chain"),
            is_mixed: sources.iter().any(has_other_events),
            is_compared: options.verify.is_some(),
            repairs: options.repair,
            block_bytes: options
                .packet_size
                .and_then(|size| usize::try_from(size).ok())
                .unwrap_or(BLOCK)
                .max(1),
            losses: Mutex::new(losses),
            classes: Mutex::default(),
            written: Mutex::default(),
            sources,
        })
    }

    /// Returns the number of a trace among the sources.
    pub(super) fn source_of(&self, trace: &Arc<Trace>) -> Option<usize> {
        self.sources.iter().position(|source| Arc::ptr_eq(&source.trace, trace))
    }

    pub(super) fn with_losses<T>(&self, change: impl FnOnce(&mut LossTable) -> T) -> T {
        change(&mut self.losses.lock().ignore_poison())
    }

    /// Changes the losses of a class the first time; any further ones are ignored, as each part has its encoder.
    pub(super) fn with_losses_of_class<T>(
        &self,
        class: (usize, usize, usize),
        change: impl FnOnce(&mut LossTable) -> T,
    ) -> T {
        let is_new = self.classes.lock().ignore_poison().insert(class);
        if is_new { self.with_losses(change) } else { change(&mut LossTable::default()) }
    }

    /// Adds written reports to the digest, and damaged places.
    pub(super) fn add_written(&self, reports: ClassDigest, damages: u64) {
        let mut written = self.written.lock().ignore_poison();
        written.0 += reports;
        written.1 += damages;
    }

    /// Returns the digest of all written reports.
    pub(super) fn digest(&self) -> TraceDigest {
        let (reports, damages) = *self.written.lock().ignore_poison();
        digest(reports, damages)
    }
}

/// Returns `true` if a source has events that are no reports, or can have them.
fn has_other_events(source: &WriteSource) -> bool {
    let class = &source.trace.class;
    let mut events = class.data_streams.iter().flat_map(|stream| &stream.event_records);
    class.dialect != DIALECT
        && (source.has_dynamic_classes || events.any(|event| event.name.as_deref() != Some(CLASS_NAME)))
}

/// Returns the digest of reports, to compare it with what is read.
pub(super) fn digest(reports: ClassDigest, damages: u64) -> TraceDigest {
    let mut digest = TraceDigest::default();
    digest.event_hash = Some(event_hash);
    digest.discarded_events = None;
    // Lines that break rules of reports are written as they are.
    digest.damages = damages;
    digest.add_class("", reports);
    digest
}

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
    // Reports have such lines themselves.
    let lacks = |meaning| {
        let mut events = class.data_streams.iter().flat_map(|stream| &stream.event_records);
        let is_other = |event: &EventRecordClass| event.name.as_deref() != Some(CLASS_NAME);
        source.has_dynamic_classes
            || events.any(|event| is_other(event) && event.meanings.members(meaning).next().is_none())
    };
    let constants = trace_constants(class);
    for (name, _) in &class.environment {
        let field = format!("environment.{name}");
        if constants.iter().any(|constant| constant.entry == name && lacks(constant.meaning)) {
            lose(LossKind::Moved, &field, "environment -> line of each event");
        } else {
            lose(LossKind::Dropped, &field, "entry of the environment");
        }
    }
    for clock in class.clocks.iter().filter(|_| source.format != "xtrace") {
        let field = format!("clock.{}", clock.id);
        if 1_000_000_000 % clock.frequency.max(1) != 0 {
            lose(LossKind::Rounded, &field, "cycles -> nanoseconds");
        }
        if clock.origin != ClockOrigin::UnixEpoch {
            lose(LossKind::Dropped, &field, "origin: times of reports count from 1970");
        }
    }
    losses.add_trace_metadata(class, KEPT_METADATA);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class has the same losses in each part, whose encoders share the rules.
    #[test]
    fn losses_of_classes_are_added_once() {
        let rules = ReportRules::new(Vec::new(), false, &WriteOptions::default());
        for class in [(1, 0, 0), (1, 0, 1), (1, 0, 0)] {
            rules.with_losses_of_class(class, |table| {
                table.note(LossKind::Renamed, format!("{class:?}"), "", "w");
            });
        }
        let counts = rules.with_losses(|table| table.iter().map(|(_, count)| count).collect::<Vec<_>>());
        assert_eq!(counts, [1, 1]);
    }
}
