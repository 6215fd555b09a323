//! Operations, indexed by identifier.

use std::collections::HashSet;
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use ichnos_model::key_hash::KeyState;
use ichnos_model::meaning::{CauseKind, Chain, Identifier, Mention};

use super::names::NameTable;
use crate::events::EventId;

/// Missing operation number, and missing time.
pub(super) const NONE: u32 = u32::MAX;
pub(super) const NO_TIME: i64 = i64::MIN;

/// Maximum number of operations, of edges and of events.
pub(super) const MOST: usize = 1 << 28;

/// Scope in which operation identifiers are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum IdScope {
    /// Task with an identifier.
    Task(Identifier),
    /// Trace with operations outside tasks, by index.
    Trace(u32),
}

impl IdScope {
    /// Returns the task's identifier.
    pub(super) fn task(&self) -> Option<Identifier> {
        match self {
            Self::Task(id) => Some(*id),
            Self::Trace(_) => None,
        }
    }
}

/// Start property of an event. The event with the greatest value names its operation. Among equal events, the first
/// does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming {
    /// Event within the operation. It may come before the start.
    #[default]
    Within,
    /// Span start.
    Begin,
    /// Span start with a cause.
    CausedBegin,
}

impl Naming {
    pub(super) fn new(is_begin: bool, has_causes: bool) -> Self {
        match (is_begin, has_causes) {
            (false, _) => Self::Within,
            (true, false) => Self::Begin,
            (true, true) => Self::CausedBegin,
        }
    }
}

/// Operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) id: Identifier,
    /// Chain in which the identifier is unique.
    pub(super) chain: Chain,
    /// Events about the operation, without copies. 0 if others only name it.
    pub(super) events: u32,
    /// Group index.
    pub(super) group: u32,
    /// Start in nanoseconds, or [`NO_TIME`].
    pub(super) begin: i64,
    /// Time of the last event about the operation.
    pub(super) end: i64,
    /// Naming event's start property.
    pub(super) naming: Naming,
    /// Naming event's time, or [`NO_TIME`].
    pub(super) named_at: i64,
    /// Text number for the naming event's label.
    pub(super) label: u32,
    /// Naming event's place number.
    pub(super) place: u32,
    /// Naming event's identifier number, or [`NONE`].
    pub(super) event_id: u32,
    /// Naming event's fingerprint, to recognize copies.
    pub(super) fingerprint: u32,
}

impl Operation {
    /// Adds another event. Returns `true` if it names the operation now.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let is_named = other.events > 0
            && (self.events == 0
                || other.naming > self.naming
                || other.naming == self.naming && is_earlier(other.named_at, self.named_at));
        if is_named {
            (self.naming, self.named_at) = (other.naming, other.named_at);
            (self.label, self.place) = (other.label, other.place);
            (self.event_id, self.fingerprint) = (other.event_id, other.fingerprint);
        }
        if is_earlier(other.begin, self.begin) {
            self.begin = other.begin;
        }
        self.end = self.end.max(other.end);
        self.events = self.events.saturating_add(other.events);
        is_named
    }
}

/// Returns `true` if `time` is earlier, or known while the other is unknown.
fn is_earlier(time: i64, other: i64) -> bool {
    time != NO_TIME && (other == NO_TIME || time < other)
}

/// Edge between known operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationEdge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) kind: CauseKind,
}

/// Edge from an operation that has not been found yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenEdge {
    pub(super) from: Identifier,
    pub(super) chain: Chain,
    pub(super) to: u32,
    pub(super) kind: CauseKind,
    /// `true` if another task has the operation.
    pub(super) is_of_other_task: bool,
}

/// Event shown next to its operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskEvent {
    /// Operation. [`NONE`] if the event belongs only to the task.
    pub(super) operation: u32,
    /// Group index.
    pub(super) group: u32,
    pub(super) time: i64,
    pub(super) label: u32,
    pub(super) place: u32,
    /// Event identifier number, or [`NONE`].
    pub(super) event_id: u32,
    /// `true` if only its text names the operation.
    pub(super) is_mention: bool,
}

/// Trace operation that names a task's operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskLink {
    pub(super) operation: u32,
    pub(super) mention: Mention,
}

/// Event origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EventOrigin {
    /// Machine's name number. Each machine has a clock.
    pub(super) machine: u32,
    /// Text number for display.
    pub(super) text: u32,
    /// Tracer's name number.
    pub(super) tracer: u32,
}

/// Collected operations and events.
#[derive(Debug, Default)]
pub(super) struct CollectedTasks {
    pub(super) groups: Vec<IdScope>,
    pub(super) operations: Vec<Operation>,
    pub(super) edges: Vec<OperationEdge>,
    pub(super) open_edges: Vec<OpenEdge>,
    pub(super) links: Vec<TaskLink>,
    /// Events without an operation whose text names one.
    pub(super) mentioned: Vec<(Mention, TaskEvent)>,
    pub(super) events: Vec<TaskEvent>,
    pub(super) names: NameTable,
    pub(super) places: Vec<EventOrigin>,
    /// Event identifiers and track numbers. They are separate from operations because few callers provide them.
    pub(super) event_ids: Vec<(EventId, u32)>,
    /// Operations with an edge from nothing.
    pub(super) marked_roots: Vec<u32>,
    /// Operations that give their task a title, with its name number.
    pub(super) titles: Vec<(u32, u32)>,
    /// Number of identifiers that were too long.
    pub(super) too_long: u64,
    /// Task groups that only texts name and that may mean something else.
    pub(super) uncertain: HashSet<u32>,
    /// Operations with a duplicate event.
    pub(super) copies: Vec<u32>,
    pub(super) left_out: u64,
    /// `true` if some data stream has times since the Unix epoch.
    pub(super) has_dates: bool,
    by_group: HashTable<u32>,
    index: HashTable<u32>,
    hasher: KeyState,
}

impl CollectedTasks {
    /// Returns a group's number. Adds the group if it is new.
    pub(super) fn group(&mut self, group: IdScope) -> u32 {
        if let Some(known) = self.known_group(group) {
            return known;
        }
        let Self { groups, by_group, hasher, .. } = self;
        let number = groups.len() as u32;
        groups.push(group);
        let hash = |number: &u32| groups.get(*number as usize).map_or(0, |group| hasher.hash_one(group));
        by_group.insert_unique(hasher.hash_one(group), number, hash);
        number
    }

    /// Returns a group's number, if it exists.
    pub(super) fn known_group(&self, group: IdScope) -> Option<u32> {
        let is_it = |number: &u32| self.groups.get(*number as usize) == Some(&group);
        self.by_group.find(self.hasher.hash_one(group), is_it).copied()
    }

    /// Finds an operation number by identifier and chain.
    pub(super) fn find(&self, group: u32, chain: Chain, id: Identifier) -> Option<u32> {
        let is_it = |number: &u32| {
            let known = self.operations.get(*number as usize);
            known.is_some_and(|known| known.id == id && known.group == group && known.chain == chain)
        };
        self.index.find(self.hasher.hash_one((group, chain, id)), is_it).copied()
    }

    /// Adds a new operation.
    pub(super) fn add(&mut self, operation: Operation) -> u32 {
        let number = self.operations.len() as u32;
        self.operations.push(operation);
        self.index(number, &operation);
        number
    }

    /// Drops the indexes for operations, groups and texts.
    pub(super) fn forget_indexes(&mut self) {
        self.by_group = HashTable::new();
        self.index = HashTable::new();
        self.names.forget_index();
    }

    /// Returns `true` if operations or edges are in different chains.
    pub(super) fn has_chains(&self) -> bool {
        let chains = self.operations.iter().map(|operation| operation.chain);
        let edges = self.open_edges.iter().map(|edge| edge.chain);
        let mut chains = chains.chain(edges);
        let first = chains.next();
        chains.any(|chain| Some(chain) != first)
    }

    /// Removes all operations from their index.
    pub(super) fn clear_index(&mut self) {
        self.index.clear();
    }

    /// Adds an operation to the index.
    pub(super) fn index(&mut self, number: u32, operation: &Operation) {
        let Self { index, hasher, operations, .. } = self;
        let rehash = |number: &u32| operations.get(*number as usize).map_or(0, |known| hash(hasher, known));
        index.insert_unique(hash(hasher, operation), number, rehash);
    }

    /// Resolves edges from operations that were found later.
    pub(super) fn resolve_open_edges(&mut self) {
        let mut open = std::mem::take(&mut self.open_edges);
        open.retain(|OpenEdge { from, chain, to, kind, .. }| {
            let from = self.find(self.group_of(*to), *chain, *from);
            self.edges.extend(from.map(|from| OperationEdge { from, to: *to, kind: *kind }));
            from.is_none()
        });
        self.open_edges = open;
    }

    pub(super) fn group_of(&self, operation: u32) -> u32 {
        self.operations.get(operation as usize).map_or(NONE, |operation| operation.group)
    }
}

/// Returns the hash of an operation in the index.
fn hash(hasher: &KeyState, operation: &Operation) -> u64 {
    hasher.hash_one((operation.group, operation.chain, operation.id))
}
