//! Flows: arrows from an operation to its effects.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use ichnos_model::meaning::Identifier;

use crate::tasks::EventContent;

/// Maximum number of known operations. Beyond it, all are forgotten, and the next event of each is its first again.
const MOST: usize = 1 << 16;

/// Flow end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// First event of an operation, which can cause others.
    Begin,
    /// Event that an operation caused.
    End,
}

/// Flow finder for a sequence of events.
#[derive(Debug, Default)]
pub struct Flows {
    /// Operations whose first event has passed.
    operations: HashSet<u64>,
    /// Hasher with constant keys: identifiers are the same in every run.
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Flows {
    /// Returns the flow identifier for a message key.
    pub fn message(&self, key: u64) -> u64 {
        self.hasher.hash_one(("message", key))
    }

    /// Passes the identifiers of the flows that end or start at an event. `trace` is its trace number.
    pub fn find(&mut self, content: &EventContent, trace: u32, mut found: impl FnMut(u64, FlowEnd)) {
        let id = |chain, operation: Identifier| match content.task {
            Some(task) => self.hasher.hash_one((task, chain, operation)),
            // Operations without a task belong to their trace.
            None => self.hasher.hash_one((trace, chain, operation)),
        };
        for (cause, chain, _) in content.causes() {
            let flow = id(chain, cause);
            // Otherwise, effects of a cause that is not in the file would seem to cause each other.
            if self.operations.contains(&flow) {
                found(flow, FlowEnd::End);
            }
        }
        let Some(operation) = content.operation else { return };
        let own = id(content.chain, operation);
        if self.operations.len() >= MOST {
            self.operations.clear();
        }
        if self.operations.insert(own) {
            found(own, FlowEnd::Begin);
        }
    }
}
