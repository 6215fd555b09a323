//! Finds operations whose chain was not recorded, or recorded differently.

use std::collections::HashMap;

use ichnos_model::meaning::{Chain, Identifier};

use super::operations::{CollectedTasks, NONE, OpenEdge, Operation, OperationEdge, TaskEvent};

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
        Self::find(all, wanted, |_| true)
    }

    /// Finds these operations if their chain is known.
    pub(super) fn with_known_chains(
        all: &CollectedTasks,
        wanted: impl Iterator<Item = (u32, Identifier)>,
    ) -> Self {
        Self::find(all, wanted, |operation| operation.chain != Chain::UNKNOWN)
    }

    fn find(
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

impl CollectedTasks {
    /// Merges operations with the same identifier after groups changed. An operation in an unknown chain is merged if
    /// only one other operation has its identifier.
    pub(super) fn merge_operations(&mut self) {
        self.clear_index();
        let known = self.namesakes_of_unknown_chains();
        let namesake = |operation: &Operation| match operation.chain {
            Chain::UNKNOWN => known.only(operation.group, operation.id),
            _ => None,
        };
        let mut merged: HashMap<u32, u32> = HashMap::new();
        for number in 0..self.operations.len() {
            let Some(operation) = self.operations.get(number).copied() else { continue };
            let same = self.find(operation.group, operation.chain, operation.id);
            let Some(known) = same.or_else(|| namesake(&operation)) else {
                self.index(number as u32, &operation);
                continue;
            };
            merged.insert(number as u32, known);
            self.merge_into(known, operation);
            if let Some(gone) = self.operations.get_mut(number) {
                gone.group = NONE;
            }
        }
        if !merged.is_empty() {
            self.renumber(&merged);
        }
    }

    /// Finds the operations that share identifiers with operations in an unknown chain. Only groups with operations
    /// that are in a chain, or certainly in none, are searched.
    fn namesakes_of_unknown_chains(&self) -> Namesakes {
        let mut has_known = vec![false; self.groups.len()];
        for operation in self.operations.iter().filter(|operation| operation.chain != Chain::UNKNOWN) {
            if let Some(has_known) = has_known.get_mut(operation.group as usize) {
                *has_known = true;
            }
        }
        let wanted = self.operations.iter().filter(|operation| {
            operation.chain == Chain::UNKNOWN && has_known.get(operation.group as usize) == Some(&true)
        });
        Namesakes::with_known_chains(self, wanted.map(|operation| (operation.group, operation.id)))
    }

    /// Merges two operations. The event that no longer names an operation becomes a further event.
    fn merge_into(&mut self, known: u32, operation: Operation) {
        let Some(merged) = self.operations.get_mut(known as usize) else { return };
        let before = *merged;
        let further = if merged.merge(&operation) { before } else { operation };
        if before.events > 0 && operation.events > 0 {
            let Operation { named_at: time, label, place, event_id, group, .. } = further;
            let (operation, is_mention) = (known, false);
            self.events.push(TaskEvent { operation, group, time, label, place, event_id, is_mention });
        }
    }

    /// Replaces operation numbers after a merge.
    fn renumber(&mut self, merged: &HashMap<u32, u32>) {
        let settle = |number: &mut u32| *number = merged.get(number).copied().unwrap_or(*number);
        self.edges.iter_mut().for_each(|edge| {
            settle(&mut edge.from);
            settle(&mut edge.to);
        });
        self.edges.retain(|edge| edge.from != edge.to);
        self.open_edges.iter_mut().for_each(|edge| settle(&mut edge.to));
        self.events.iter_mut().for_each(|event| settle(&mut event.operation));
        self.links.iter_mut().for_each(|link| settle(&mut link.operation));
        let titled = self.titles.iter_mut().map(|(operation, _)| operation);
        self.copies.iter_mut().chain(&mut self.marked_roots).chain(titled).for_each(settle);
    }

    /// Resolves edges without the right chain, if only one operation has the identifier.
    pub(super) fn resolve_chains(&mut self) {
        if !self.has_chains() {
            // With a single chain, the operation would have been found.
            return;
        }
        let wanted = self.open_edges.iter().map(|edge| (self.group_of(edge.to), edge.from));
        let namesakes = Namesakes::new(self, wanted);
        let mut open = std::mem::take(&mut self.open_edges);
        open.retain(|OpenEdge { from, to, kind, .. }| {
            let from = namesakes.only(self.group_of(*to), *from).filter(|from| from != to);
            self.edges.extend(from.map(|from| OperationEdge { from, to: *to, kind: *kind }));
            from.is_none()
        });
        self.open_edges = open;
    }
}
