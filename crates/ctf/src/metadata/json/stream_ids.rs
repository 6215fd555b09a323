//! Data stream classes by id, and their event record classes, for all three documents.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::TraceClass;
use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::memory::size;
use ichnos_model::trace::{Limits, TextPosition};

use super::text::JsonNode;
use crate::metadata::event_ids::EventIds;
use crate::metadata::{Problems, memory};

/// Ids of the data stream classes and event record classes read so far.
#[derive(Default)]
pub(super) struct StreamIds {
    by_id: HashMap<u128, usize>,
    events: EventIds,
    /// `true` if a data stream class id is invalid. In this case, missing data stream classes are not reported.
    is_unsure: bool,
}

impl StreamIds {
    /// Adds a data stream class to the trace class. `id` is `None` if it is invalid. `position` is the class's
    /// position.
    pub(super) fn add(
        &mut self,
        id: Option<u128>,
        stream: DataStreamClass,
        position: TextPosition,
        trace: &mut TraceClass,
        problems: &mut Problems,
    ) {
        let Some(id) = id else {
            self.is_unsure = true;
            return;
        };
        if self.by_id.contains_key(&id) {
            problems.error(position, format!("duplicate data stream class id {id}"));
            return;
        }
        // Includes its plans and lists.
        if problems.charge((size::<DataStreamClass>() + 700) as u64, stream.declared_at.0) {
            self.by_id.insert(id, trace.data_streams.len());
            trace.data_streams.push(DataStreamClass { id, ..stream });
        }
    }

    /// Returns the index and the id of the data stream class with this id. If the id is not written (`is_implied`), an
    /// event record class belongs to class 0, or to the only class.
    pub(super) fn find(
        &self,
        id: u128,
        is_implied: bool,
        position: TextPosition,
        trace: &TraceClass,
        problems: &mut Problems,
    ) -> Option<(usize, u128)> {
        if let Some(index) = self.by_id.get(&id) {
            return Some((*index, id));
        }
        if !is_implied || self.is_unsure {
            return None;
        }
        only_stream(&trace.data_streams, position, problems)
    }

    /// Reports that the event record class at `position` names an unknown data stream class. `node` contains the id.
    pub(super) fn report_missing(
        &self,
        id: u128,
        node: Option<&JsonNode>,
        position: TextPosition,
        trace: &TraceClass,
        problems: &mut Problems,
    ) {
        if !self.is_unsure && (node.is_some() || trace.data_streams.is_empty()) {
            let position = node.map_or(position, |node| node.position);
            let message = format!("unknown data stream class id {id}: no earlier fragment declares it");
            problems.error(position, message);
        }
    }

    /// Adds an event record class to its data stream class, unless it exceeds a limit, has a duplicate id, or is
    /// unreadable. `position` is the id's position.
    pub(super) fn add_event(
        &mut self,
        class: EventRecordClass,
        is_readable: bool,
        stream: &mut DataStreamClass,
        position: TextPosition,
        limits: &Limits,
        problems: &mut Problems,
    ) {
        let is_new = self.events.add(stream, class.id, position);
        let declared_at = class.declared_at.0;
        let most = limits.event_record_classes;
        if self.events.len() > most {
            if self.events.len() == most.saturating_add(1) {
                let message = format!("there are more than {most} event record classes, the limit");
                problems.limit(declared_at, "event_record_classes", message);
            }
            return;
        }
        let names = [&class.namespace, &class.name, &class.uid].map(|name| name.as_deref());
        // A set contains its id, too.
        if !problems.charge(memory::of_event_record_class(&names) + 96, declared_at) {
            return;
        }
        if !is_new {
            self.events.refuse(&class, stream, position, problems);
        } else if is_readable {
            stream.event_records.push(Arc::new(class));
        }
    }

    /// Removes event record classes with ambiguous ids.
    pub(super) fn remove_refused(&self, trace: &mut TraceClass) {
        self.events.remove_refused(&mut trace.data_streams);
    }
}

/// Returns the only data stream class and its id, if the implied id 0 does not exist. For event record classes that do
/// not name a data stream class.
fn only_stream(
    streams: &[DataStreamClass],
    position: TextPosition,
    problems: &mut Problems,
) -> Option<(usize, u128)> {
    let message = "the event record class does not name a data stream class, and the id 0 does not exist";
    match streams {
        [] => None,
        [only] => {
            problems.warning(
                position,
                format!("{message}: it is assumed to belong to the only data stream class, {}", only.id),
            );
            Some((0, only.id))
        }
        _ => {
            problems.warning(position, format!("{message}: its event records are not read"));
            None
        }
    }
}
