//! Event record class ids. An id used twice in a data stream class is ambiguous.

use std::collections::HashMap;

use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::trace::TextPosition;

use super::Problems;

/// Event record class ids in a trace class.
#[derive(Default)]
pub(super) struct EventIds {
    /// First use of each id, keyed by data stream class id and event record class id.
    first: HashMap<(u128, u128), FirstUse>,
    has_refused: bool,
}

/// First event record class with an id.
struct FirstUse {
    position: TextPosition,
    /// Index in the data stream class, if it was added.
    index: usize,
    is_refused: bool,
}

impl EventIds {
    /// Number of distinct ids.
    pub(super) fn len(&self) -> u64 {
        self.first.len() as u64
    }

    /// Records the id of the event record class at this position, which is added to the data stream class next, or not
    /// at all. Returns `true` if the id is new there.
    pub(super) fn add(&mut self, stream: &DataStreamClass, id: u128, position: TextPosition) -> bool {
        let new = FirstUse { position, index: stream.event_records.len(), is_refused: false };
        self.first.entry((stream.id, id)).or_insert(new).position == position
    }

    /// Refuses an event record class whose id is used a second time in its data stream class, at this position. It is
    /// unknown which of both classes describes the event records. If they are equal, the first class counts.
    pub(super) fn refuse(
        &mut self,
        class: &EventRecordClass,
        stream: &DataStreamClass,
        second: TextPosition,
        problems: &mut Problems,
    ) {
        let Some(first) = self.first.get_mut(&(stream.id, class.id)) else { return };
        let message = format!(
            "duplicate event record class id {} in data stream class {}: the first is at {}",
            class.id, stream.id, first.position
        );
        let other = stream.event_records.get(first.index).filter(|other| other.id == class.id);
        if !first.is_refused && other.is_some_and(|other| **other == *class) {
            return problems.warning(second, format!("{message}; they are equal"));
        }
        problems.begin_part();
        problems.error(second, format!("{message}; event records with this id are not read"));
        problems.end_part();
        (first.is_refused, self.has_refused) = (true, true);
    }

    /// Removes the classes whose ids were refused for a later class.
    pub(super) fn remove_refused(&self, streams: &mut [DataStreamClass]) {
        for stream in streams.iter_mut().filter(|_| self.has_refused) {
            let id = stream.id;
            let is_refused = |class: u128| self.first.get(&(id, class)).is_some_and(|first| first.is_refused);
            stream.event_records.retain(|class| !is_refused(class.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ichnos_model::trace::Limits;

    use super::*;

    #[test]
    fn only_ambiguous_classes_are_removed() {
        let limits = Limits::default();
        let mut problems = Problems::new(&limits);
        let (mut ids, mut stream) = (EventIds::default(), DataStreamClass::default());
        for (offset, (id, name)) in
            [(1, "a"), (2, "b"), (1, "c"), (3, "d"), (2, "b"), (1, "a")].into_iter().enumerate()
        {
            let position = TextPosition { line: 1, column: 1, offset: offset as u64 };
            let class = EventRecordClass { id, name: Some(name.to_owned()), ..EventRecordClass::default() };
            if ids.add(&stream, id, position) {
                stream.event_records.push(Arc::new(class));
            } else {
                ids.refuse(&class, &stream, position, &mut problems);
            }
        }
        let mut streams = [stream];
        ids.remove_refused(&mut streams);
        assert_eq!(streams[0].event_records.iter().map(|class| class.id).collect::<Vec<_>>(), [2, 3]);
        assert_eq!((ids.len(), problems.errors()), (3, 0));
        let found: Vec<String> = problems.into_diagnostics().iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3);
        assert!(found[0].contains("not read") && found[1].contains("equal"), "{found:?}");
    }
}
