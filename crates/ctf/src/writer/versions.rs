//! Trace classes for a trace that gets data streams while it is written.

use std::borrow::Cow;
use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::lower::{LossTable, LoweredTrace};
use ichnos_model::{Trace, TraceClass};

use crate::stack_file::classes_with_stacks;

/// Traces that are written as a single trace: the source's trace, and the traces with added data streams. Each has its
/// own data stream classes, or further event record classes in earlier data stream classes.
#[derive(Debug, Default)]
pub(super) struct TraceVersions(Vec<Arc<LoweredTrace>>);

/// A source's call stacks in a single table.
#[derive(Debug)]
pub(super) struct SourceStacks {
    pub(super) source: Arc<Trace>,
    /// Data stream classes with these stacks, by their index there and their index among the classes of all versions.
    pub(super) classes: Vec<(usize, usize)>,
}

impl TraceVersions {
    pub(super) fn push(&mut self, lowered: &Arc<LoweredTrace>) {
        self.0.push(Arc::clone(lowered));
    }

    /// Returns a source's lowered trace, if it is one of these traces.
    pub(super) fn for_source(&self, source: &Arc<Trace>) -> Option<&Arc<LoweredTrace>> {
        self.0.iter().find(|lowered| Arc::ptr_eq(lowered.source(), source))
    }

    /// Returns the source's trace.
    pub(super) fn first(&self) -> Option<&Arc<LoweredTrace>> {
        self.0.first()
    }

    /// Returns `true` if another trace can be added: its data stream classes are new, or have only grown. `is_declared`:
    /// all classes are declared. Classes that are found while reading have the same ids in several traces.
    pub(super) fn fits(&self, lowered: &LoweredTrace, is_declared: bool) -> bool {
        let new = &lowered.trace().class;
        self.0.iter().all(|earlier| {
            let old = &earlier.trace().class;
            let has_same_frame = new.uuid == old.uuid && new.packet_header == old.packet_header;
            new.data_streams.iter().all(|class| {
                let before = old.data_streams.iter().find(|before| before.id == class.id);
                before.is_none_or(|before| is_declared && has_same_frame && has_grown(class, before))
            })
        })
    }

    /// Returns the class of all versions, with all dynamic classes found so far.
    pub(super) fn class(&self) -> Cow<'_, TraceClass> {
        let Some((first, rest)) = self.0.split_first() else { return Cow::Owned(TraceClass::default()) };
        let mut class = first.trace().class_with_dynamic();
        for lowered in rest {
            let more = lowered.trace().class_with_dynamic();
            let class = class.to_mut();
            class.clocks.clone_from(&more.clocks);
            for more in &more.data_streams {
                match class.data_streams.iter_mut().find(|class| class.id == more.id) {
                    // The later version has all event record classes.
                    Some(class) if class.event_records.len() <= more.event_records.len() => {
                        class.clone_from(more)
                    }
                    Some(_) => {}
                    None => class.data_streams.push(more.clone()),
                }
            }
        }
        class
    }

    /// Returns the number of classes, which grows when a class is added.
    pub(super) fn count(&self) -> usize {
        let count = |lowered: &Arc<LoweredTrace>| {
            let trace = lowered.trace();
            let streams = 0..trace.class.data_streams.len();
            streams.map(|stream| 1 + trace.event_records(stream).count()).sum::<usize>()
        };
        self.0.iter().map(|lowered| 1 + count(lowered)).sum()
    }

    pub(super) fn losses(&self) -> LossTable {
        let mut losses = LossTable::default();
        self.0.iter().for_each(|lowered| losses.merge(lowered.losses()));
        losses
    }

    /// Returns the sources' call stacks.
    pub(super) fn stacks(&self) -> Vec<SourceStacks> {
        let mut all = Vec::new();
        let mut first = 0;
        for lowered in &self.0 {
            let source = lowered.source();
            let with_numbers = |classes: Vec<usize>| -> Vec<(usize, usize)> {
                classes.into_iter().map(|index| (index, first + index)).collect()
            };
            let tables = classes_with_stacks(source).into_iter();
            all.extend(
                tables.map(|classes| SourceStacks {
                    source: Arc::clone(source),
                    classes: with_numbers(classes),
                }),
            );
            first += source.class.data_streams.len();
        }
        all
    }

    /// Returns `true` if there are call stacks now.
    pub(super) fn has_stacks(&self) -> bool {
        self.0.iter().any(|lowered| !classes_with_stacks(lowered.source()).is_empty())
    }
}

/// Returns `true` if a data stream class is an earlier one with further event record classes, or with fewer.
fn has_grown(new: &DataStreamClass, old: &DataStreamClass) -> bool {
    let same = new.packet_context == old.packet_context
        && new.event_record_header == old.event_record_header
        && new.common_context == old.common_context
        && new.default_clock == old.default_clock;
    let (fewer, more) =
        if new.event_records.len() < old.event_records.len() { (new, old) } else { (old, new) };
    let is_kept = |(index, class): (usize, &Arc<EventRecordClass>)| {
        more.event_records.get(index) == Some(class) || more.event_records.contains(class)
    };
    same && fewer.event_records.iter().enumerate().all(is_kept)
}
