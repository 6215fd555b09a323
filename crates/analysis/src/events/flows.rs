//! Flows: from an operation to those that it caused.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use ichnos_model::Identifier;

use crate::tasks::EventContent;

/// Maximum number of operations whose first event is known; beyond it, all are first again.
const MOST: usize = 1 << 16;

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The event is the first one of an operation, which may cause others.
    Begin,
    /// An operation caused the event.
    End,
}

/// Finds the flows through events.
#[derive(Debug, Default)]
pub struct Flows {
    /// Operations whose first event was found.
    operations: HashSet<u64>,
    /// With constant keys, so that all runs give the same identifiers.
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Flows {
    /// Returns the identifier of a message with this key.
    pub fn message(&self, key: u64) -> u64 {
        self.hasher.hash_one(("message", key))
    }

    /// Passes the identifiers of the flows that end or begin at an event with this content, of the trace with this
    /// number.
    pub fn find(&mut self, content: &EventContent, trace: u32, mut found: impl FnMut(u64, FlowEnd)) {
        let id = |chain, operation: Identifier| match content.task {
            Some(task) => self.hasher.hash_one((task, chain, operation)),
            // Operations without a task are those of their trace.
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
