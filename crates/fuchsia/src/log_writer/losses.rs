//! Loss counts.

use std::collections::HashMap;

use ichnos_model::Scope;
use ichnos_model::lower::{LossSet as _, LossTable};

ichnos_model::loss_set! {
    /// Kind of loss.
    pub(super) enum Change {
        NoRoom => Dropped("no room in the record"),
        Cut => Rounded("text cut: no room in the record"),
        InvalidText => Rounded("invalid text -> U+FFFD"),
        Empty => Dropped("array or structure without elements"),
        Null => Dropped("null"),
        Rounded => Rounded("number of more than 64 bits"),
        Negative => Lowered("negative number -> pair"),
        NoTime => Lowered("no timestamp: used the previous record's, or 0"),
        TimeOutOfRange => Rounded("time of more than 64 bits"),
        DroppedCount => Dropped("number of discarded events"),
        Component => Dropped("component: too many components"),
        Tag => Dropped("component number: too many components"),
        Undecodable => Dropped("undecodable fields"),
        Trailing => Dropped("bytes after the record"),
        AddedComponent => Moved("component -> control record before the event"),
        NoExtension => Lowered("no moniker, URL or count -> extension with empty texts or 0"),
        UnknownCount => Dropped("record of an unknown number of discarded events"),
        Thread => Dropped("thread of discarded events"),
        LastDiscarded => Dropped("number of events that were discarded after the last event"),
    }
}

/// Event class index for losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClassNumber {
    /// Index in the list of class groups.
    pub(super) group: u32,
    /// Index of the class in its group.
    pub(super) class: u32,
}

/// A field, or a whole event with [`LossPlace::WHOLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LossPlace {
    pub(super) class: ClassNumber,
    pub(super) scope: Scope,
    /// Node index.
    pub(super) node: u32,
}

impl LossPlace {
    /// Node index for a whole event.
    pub(super) const WHOLE: u32 = u32::MAX;

    /// Place for losses outside of events and classes.
    pub(super) const TRACE: Self = Self {
        class: ClassNumber { group: u32::MAX, class: u32::MAX },
        scope: Scope::Payload,
        node: Self::WHOLE,
    };

    /// Returns the place for a whole event.
    pub(super) fn event(class: ClassNumber) -> Self {
        Self { class, scope: Scope::Payload, node: Self::WHOLE }
    }
}

/// Maximum number of places to count separately. Beyond it, the counts move to a [`LossTable`], which is bounded.
const MOST: usize = 10_000;

/// Counts losses by index.
#[derive(Debug, Default)]
pub(super) struct Losses {
    counts: HashMap<(LossPlace, Change), u64>,
}

impl Losses {
    #[cold]
    pub(super) fn add(&mut self, place: LossPlace, change: Change) {
        self.add_many(place, change, 1);
    }

    #[cold]
    pub(super) fn add_many(&mut self, place: LossPlace, change: Change, count: u64) {
        let sum = self.counts.entry((place, change)).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Returns `true` if the counts should be moved to a table.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.counts.len() >= MOST
    }

    /// Moves all counts to a table. `name` returns a class name and a field name.
    pub(super) fn move_to(&mut self, table: &mut LossTable, name: impl Fn(LossPlace) -> (String, String)) {
        for ((place, change), count) in self.counts.drain() {
            let Some(row) = change.row() else { continue };
            let (class, field) = name(place);
            table.note_times(row.kind, class, field, row.what, count);
        }
    }
}
