//! Rules shared by all report encoders.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use ichnos_io::{EncoderRules, WriteOptions, WriteSource};
use ichnos_model::Trace;
use ichnos_model::class::EventRecordClass;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::{LossKind, LossTable};

use super::foreign_class::{KEPT_METADATA, trace_constants};
use crate::reader::class::{CLASS_NAME, DIALECT};

/// Rules for writing reports.
#[derive(Debug)]
pub(super) struct ReportRules {
    pub(super) is_json: bool,
    /// `true` if events without an operation become an operation chain for each thread.
    pub(super) chains_orphans: bool,
    /// `true` if the sources can contain other events than reports, which then join reports.
    pub(super) is_mixed: bool,
    pub(super) shared: EncoderRules,
    /// Classes whose losses were added, by trace address, data stream class index and class index.
    classes: Mutex<HashSet<(usize, usize, usize)>>,
}

impl ReportRules {
    pub(super) fn new(sources: Vec<WriteSource>, is_json: bool, options: &WriteOptions) -> Self {
        Self {
            is_json,
            chains_orphans: options.formats.choice("xtrace", "orphans") == Some("chain"),
            is_mixed: sources.iter().any(has_other_events),
            shared: EncoderRules::new(sources, options, record_source),
            classes: Mutex::default(),
        }
    }

    /// Returns the source number of a trace.
    pub(super) fn source_of(&self, trace: &Arc<Trace>) -> Option<usize> {
        self.shared.sources.iter().position(|source| Arc::ptr_eq(&source.trace, trace))
    }

    /// Changes the losses of a class the first time. Later changes are ignored, because each part has its own encoder.
    pub(super) fn with_losses_of_class<T>(
        &self,
        class: (usize, usize, usize),
        change: impl FnOnce(&mut LossTable) -> T,
    ) -> T {
        let is_new = self.classes.lock().ignore_poison().insert(class);
        if is_new { self.shared.with_losses(change) } else { change(&mut LossTable::default()) }
    }
}

/// Returns `true` if a source can contain other events than reports.
fn has_other_events(source: &WriteSource) -> bool {
    let class = &source.trace.class;
    let mut events = class.data_streams.iter().flat_map(|stream| &stream.event_records);
    class.dialect != DIALECT
        && (source.has_dynamic_classes || events.any(|event| event.name.as_deref() != Some(CLASS_NAME)))
}

/// Records the losses for the whole trace.
fn record_source(source: &WriteSource, table: &mut LossTable) {
    let class = &source.trace.class;
    source.first_streams().for_each(|stream| table.add_packets(stream));
    // Reports have their own lines for these.
    let lacks = |meaning| {
        let mut events = class.data_streams.iter().flat_map(|stream| &stream.event_records);
        let is_other = |event: &EventRecordClass| event.name.as_deref() != Some(CLASS_NAME);
        source.has_dynamic_classes
            || events.any(|event| is_other(event) && event.meanings.members(meaning).next().is_none())
    };
    let constants = trace_constants(class);
    let is_moved =
        |name: &str| constants.iter().any(|constant| constant.entry == name && lacks(constant.meaning));
    table.add_environment(class, is_moved);
    let mut losses = table.for_class("");
    for (name, _) in class.environment.iter().filter(|(name, _)| is_moved(name)) {
        let field = format!("environment.{name}");
        losses.record_loss(LossKind::Moved, field, "environment -> line of each event");
    }
    for clock in class.clocks.iter().filter(|_| source.format != "xtrace") {
        let field = format!("clock.{}", clock.id);
        if 1_000_000_000 % clock.frequency.max(1) != 0 {
            losses.record_loss(LossKind::Rounded, &field, "cycles -> nanoseconds");
        }
        if clock.origin != ClockOrigin::UnixEpoch {
            losses.record_loss(LossKind::Dropped, &field, "origin: report times count from 1970");
        }
    }
    table.add_trace_metadata(class, KEPT_METADATA);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class has the same losses in each part, and the encoders share the rules.
    #[test]
    fn losses_of_classes_are_added_once() {
        let rules = ReportRules::new(Vec::new(), false, &WriteOptions::default());
        for class in [(1, 0, 0), (1, 0, 1), (1, 0, 0)] {
            rules.with_losses_of_class(class, |table| {
                table.note(LossKind::Renamed, format!("{class:?}"), "", "w");
            });
        }
        let counts =
            rules.shared.with_losses(|table| table.iter().map(|(_, count)| count).collect::<Vec<_>>());
        assert_eq!(counts, [1, 1]);
    }
}
