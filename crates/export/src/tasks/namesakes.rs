//! Finds operations whose chain was not recorded, or was recorded differently by others.

use std::collections::HashMap;

use ichnos_model::{Chain, Identifier};

use super::operations::{CollectedTasks, Operation};

/// Operations with requested identifiers, in any chain.
#[derive(Debug, Default)]
pub(super) struct Namesakes {
    by_id: HashMap<(u32, Identifier), Namesake>,
}

#[derive(Clone, Copy, Debug)]
enum Namesake {
    Wanted,
    One { number: u32, chain: Chain },
    Several,
}

impl Namesakes {
    /// Finds the operations with one of the requested identifiers, each within a group.
    pub(super) fn new(all: &CollectedTasks, wanted: impl Iterator<Item = (u32, Identifier)>) -> Self {
        Self::of(all, wanted, |_| true)
    }

    /// Finds these operations if their chain is known.
    pub(super) fn of_known_chains(
        all: &CollectedTasks,
        wanted: impl Iterator<Item = (u32, Identifier)>,
    ) -> Self {
        Self::of(all, wanted, |operation| operation.chain != Chain::UNKNOWN)
    }

    fn of(
        all: &CollectedTasks,
        wanted: impl Iterator<Item = (u32, Identifier)>,
        counts: impl Fn(&Operation) -> bool,
    ) -> Self {
        let by_id = wanted.map(|key| (key, Namesake::Wanted)).collect();
        let mut namesakes = Self { by_id };
        if namesakes.by_id.is_empty() {
            return namesakes;
        }
        for (number, operation) in (0..).zip(&all.operations).filter(|(_, operation)| counts(operation)) {
            namesakes.insert(number, operation);
        }
        namesakes
    }

    /// Adds an operation if its identifier is requested.
    pub(super) fn insert(&mut self, number: u32, operation: &Operation) {
        let Some(namesake) = self.by_id.get_mut(&(operation.group, operation.id)) else { return };
        *namesake = match *namesake {
            Namesake::Wanted => Namesake::One { number, chain: operation.chain },
            Namesake::One { chain, .. } if chain == operation.chain => *namesake,
            _ => Namesake::Several,
        };
    }

    /// Returns the only operation with an identifier.
    pub(super) fn only(&self, group: u32, id: Identifier) -> Option<u32> {
        match self.by_id.get(&(group, id)) {
            Some(Namesake::One { number, .. }) => Some(*number),
            _ => None,
        }
    }
}
