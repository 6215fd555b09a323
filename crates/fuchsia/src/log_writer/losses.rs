//! Counts of lost values.

use std::collections::HashMap;

use ichnos_model::Scope;
use ichnos_model::lower::{LossKind, LossTable};

/// Kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Change {
    NoRoom,
    Cut,
    InvalidText,
    Empty,
    Null,
    Rounded,
    Negative,
    NoTime,
    TimeOutOfRange,
    DroppedCount,
    Component,
    Tag,
    Undecodable,
    Trailing,
    AddedComponent,
    NoExtension,
}

impl Change {
    fn loss(self) -> (LossKind, &'static str) {
        use LossKind::{Dropped, Lowered, Moved, Rounded};
        match self {
            Self::NoRoom => (Dropped, "no room in the record"),
            Self::Cut => (Rounded, "text cut: no room in the record"),
            Self::InvalidText => (Rounded, "invalid text -> U+FFFD"),
            Self::Empty => (Dropped, "array or structure without elements"),
            Self::Null => (Dropped, "null"),
            Self::Rounded => (Rounded, "number of more than 64 bits"),
            Self::Negative => (Lowered, "negative number -> pair"),
            Self::NoTime => (Lowered, "no time: that of the record before, or 0"),
            Self::TimeOutOfRange => (Rounded, "time of more than 64 bits"),
            Self::DroppedCount => (Dropped, "number of discarded events"),
            Self::Component => (Dropped, "component: too many components"),
            Self::Tag => (Dropped, "number of the component: too many components"),
            Self::Undecodable => (Dropped, "fields that cannot be decoded"),
            Self::Trailing => (Dropped, "bytes after the record"),
            Self::NoExtension => (Lowered, NO_EXTENSION),
            Self::AddedComponent => (Moved, "component -> control record before the event"),
        }
    }
}

/// Description of parts of an extension that are made up.
pub(super) const NO_EXTENSION: &str = "no moniker, URL or count -> extension with empty texts or 0";

/// Class of an event, for losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClassNumber {
    /// Index of the list of classes.
    pub(super) group: u32,
    /// Index of the class in it.
    pub(super) class: u32,
}

/// A field, or with [`LossPlace::WHOLE`] the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LossPlace {
    pub(super) class: ClassNumber,
    pub(super) scope: Scope,
    /// Index of its node.
    pub(super) node: u32,
}

impl LossPlace {
    /// Node index of a whole event.
    pub(super) const WHOLE: u32 = u32::MAX;

    /// Returns the place of a whole event.
    pub(super) fn event(class: ClassNumber) -> Self {
        Self { class, scope: Scope::Payload, node: Self::WHOLE }
    }
}

/// Maximum number of places counted separately; then they are moved to a [`LossTable`], which is bounded.
const MOST: usize = 10_000;

/// Counts losses without names.
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

    /// Moves all counts to a table; `name` returns the names of a class and a field.
    pub(super) fn move_to(&mut self, table: &mut LossTable, name: impl Fn(LossPlace) -> (String, String)) {
        for ((place, change), count) in self.counts.drain() {
            let (class, field) = name(place);
            let (kind, what) = change.loss();
            table.note_times(kind, class, field, what, count);
        }
    }
}
