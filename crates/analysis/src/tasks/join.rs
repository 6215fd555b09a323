//! Assigns operations without a task, and events that name an operation, to tasks.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use ichnos_model::key_hash::KeyState;
use ichnos_model::meaning::{CauseKind, Identifier, Mention};

use super::namesakes::Namesakes;
use super::operations::{
    CollectedTasks, IdScope, NO_TIME, NONE, Naming, OpenEdge, Operation, OperationEdge, TaskEvent, TaskLink,
};

/// Assigns each operation to the group of its task, and resolves edges and names in texts. Trace groups are empty
/// afterwards.
pub(super) fn join(all: &mut CollectedTasks) {
    let mut tasks = KnownTasks::new(all);
    let mentions: Vec<Mention> = (all.links.iter().map(|link| &link.mention))
        .chain(all.mentioned.iter().map(|(mention, _)| mention))
        .copied()
        .collect();
    // Certain mentions first: they define which other tasks exist.
    for is_certain in [true, false] {
        for mention in mentions.iter().filter(|mention| mention.is_certain == is_certain) {
            tasks.add(all, mention);
        }
    }
    // Edges within traces connect their operations.
    all.resolve_open_edges();
    join_operations_of_traces(all, &tasks);
    for operation in &mut all.operations {
        operation.group = tasks.representative(operation.group);
    }
    all.merge_operations();
    let mut namesakes = Namesakes::new(all, mentions.iter().flat_map(|mention| wanted(all, &tasks, mention)));
    drop(mentions);
    for TaskLink { operation, mention } in std::mem::take(&mut all.links) {
        let Some(group) = tasks.find_task(all, mention.task) else { continue };
        let Some(known) = all.operations.get(operation as usize).copied() else { continue };
        let Some(from) =
            named(all, &mut namesakes, group, &mention, known.begin).filter(|from| *from != operation)
        else {
            continue;
        };
        let kind = CauseKind::Related;
        if known.group == group {
            all.edges.push(OperationEdge { from, to: operation, kind });
        } else if let Some(from) = mention.operation {
            // The operation belongs to another task, which it names.
            all.open_edges.push(OpenEdge {
                from,
                chain: mention.chain,
                to: operation,
                kind,
                is_of_other_task: true,
            });
        }
    }
    for (mention, event) in std::mem::take(&mut all.mentioned) {
        let Some(group) = tasks.find_task(all, mention.task) else { continue };
        let operation = named(all, &mut namesakes, group, &mention, event.time).unwrap_or(NONE);
        all.events.push(TaskEvent { operation, group, ..event });
    }
    all.resolve_open_edges();
    all.resolve_chains();
    all.uncertain = tasks.uncertain;
    all.forget_indexes();
}

/// Assigns trace operations to the tasks that they or connected operations name. Other connected operations become
/// separate tasks.
fn join_operations_of_traces(all: &mut CollectedTasks, tasks: &KnownTasks) {
    let mut parts = UnionFind::new(all.operations.len());
    for OperationEdge { from, to, .. } in &all.edges {
        parts.unite(*from, *to);
    }
    let mut group_of_part: HashMap<u32, u32> = HashMap::new();
    for TaskLink { operation, mention } in &all.links {
        if let Some(group) = tasks.find_task(all, mention.task) {
            group_of_part.entry(parts.root(*operation)).or_insert(group);
        }
    }
    let of_traces: Vec<u32> = (0..)
        .zip(&all.operations)
        .filter(|(_, operation)| matches!(all.groups.get(operation.group as usize), Some(IdScope::Trace(_))))
        .map(|(number, _)| number)
        .collect();
    for number in &of_traces {
        let Some(operation) = all.operations.get(*number as usize) else { continue };
        // The operation identifier may be the task identifier.
        if operation.id.as_bytes().len() >= 8
            && let Some(group) = tasks.find(all, &operation.id)
        {
            group_of_part.entry(parts.root(*number)).or_insert(group);
        }
    }
    let mut named = HashMap::new();
    for number in of_traces {
        let Some(operation) = all.operations.get_mut(number as usize) else { continue };
        operation.group = *group_of_part.entry(parts.root(number)).or_insert_with(|| {
            // The identifier of the first operation becomes the task identifier.
            let count: &mut u16 = named.entry(operation.id).or_default();
            *count = count.saturating_add(1);
            all.groups.push(IdScope::Task(numbered(operation.id, *count)));
            all.groups.len() as u32 - 1
        });
    }
}

/// Returns the task identifier for a first operation with this identifier. If other tasks start with the same
/// identifier, a number is appended if there is room.
fn numbered(id: Identifier, number: u16) -> Identifier {
    let bytes = [id.as_bytes(), &number.to_be_bytes()].concat();
    Identifier::new(&bytes).filter(|_| number > 1).unwrap_or(id)
}

/// Returns the four-byte form of an identifier that was padded to eight bytes.
fn short(id: Identifier) -> Option<Identifier> {
    match id.as_bytes() {
        [0, 0, 0, 0, short @ ..] if short.len() == 4 => Identifier::new(short),
        _ => None,
    }
}

/// Returns identifiers of the mentioned operation, each with the group of its task.
fn wanted(
    all: &CollectedTasks,
    tasks: &KnownTasks,
    mention: &Mention,
) -> impl Iterator<Item = (u32, Identifier)> {
    let named = mention.operation.zip(tasks.find_task(all, mention.task));
    let ids = named.map(|(id, group)| [Some((group, id)), short(id).map(|short| (group, short))]);
    ids.into_iter().flatten().flatten()
}

/// Returns the mentioned operation. Adds it if no event is about it. `None` if the mention names only the task.
fn named(
    all: &mut CollectedTasks,
    namesakes: &mut Namesakes,
    group: u32,
    mention: &Mention,
    time: i64,
) -> Option<u32> {
    let (id, chain) = (mention.operation?, mention.chain);
    let known = |id| all.find(group, chain, id).or_else(|| namesakes.only(group, id));
    let known = known(id).or_else(|| known(short(id)?));
    let number = known.unwrap_or_else(|| {
        let label = all.names.number(b"");
        let operation = Operation {
            id,
            chain,
            events: 0,
            group,
            begin: NO_TIME,
            end: NO_TIME,
            naming: Naming::Within,
            named_at: NO_TIME,
            label,
            place: NONE,
            event_id: NONE,
            fingerprint: 0,
        };
        let number = all.add(operation);
        namesakes.insert(number, &operation);
        number
    });
    // Without its own events, the operation lasts from the first mention to the last.
    if let Some(operation) = all.operations.get_mut(number as usize)
        && operation.events == 0
        && time != NO_TIME
    {
        let is_first = operation.begin == NO_TIME;
        operation.begin = if is_first { time } else { operation.begin.min(time) };
        operation.end = operation.end.max(time);
    }
    Some(number)
}

/// Tasks by the common part of identifiers that have different lengths in different formats.
struct KnownTasks {
    /// Groups by common identifier part.
    by_common_part: HashTable<u32>,
    hasher: KeyState,
    /// By group: representative group of the same task, if it differs.
    same: HashMap<u32, u32>,
    /// Groups that only texts name and that may mean something else.
    uncertain: HashSet<u32>,
}

impl KnownTasks {
    fn new(all: &CollectedTasks) -> Self {
        let mut tasks = Self {
            by_common_part: HashTable::new(),
            hasher: KeyState::default(),
            same: HashMap::new(),
            uncertain: HashSet::new(),
        };
        let ids = || (0..).zip(&all.groups).filter_map(|(number, group)| group.task().map(|id| (number, id)));
        let mut numbers: Vec<(u8, u32)> =
            ids().map(|(number, id)| (u8::MAX - id.as_bytes().len() as u8, number)).collect();
        // Longer identifiers first: they are more specific.
        numbers.sort_unstable();
        for (_, number) in numbers {
            let Some(id) = all.groups.get(number as usize).and_then(IdScope::task) else { continue };
            let known = tasks.find(all, &id).unwrap_or_else(|| {
                tasks.insert(all, number, &id);
                number
            });
            let is_longest = id.as_bytes().len() == Identifier::MOST;
            // Two identifiers with the maximum length are two tasks.
            if known != number && !is_longest {
                tasks.same.insert(number, known);
            }
        }
        tasks
    }

    fn find(&self, all: &CollectedTasks, id: &Identifier) -> Option<u32> {
        let part = id.common_part();
        let is_it = |group: &u32| common_part(all, *group) == Some(part);
        self.by_common_part.find(self.hasher.hash_one(part), is_it).copied()
    }

    /// Adds the group of a task with a new common part.
    fn insert(&mut self, all: &CollectedTasks, group: u32, id: &Identifier) {
        let hasher = &self.hasher;
        let hash = |group: &u32| hasher.hash_one(common_part(all, *group).unwrap_or_default());
        self.by_common_part.insert_unique(hasher.hash_one(id.common_part()), group, hash);
    }

    /// Returns a task's group.
    fn find_task(&self, all: &CollectedTasks, id: Identifier) -> Option<u32> {
        let exact = all.known_group(IdScope::Task(id)).map(|group| self.representative(group));
        exact.or_else(|| self.find(all, &id))
    }

    /// Adds a task that only texts name.
    fn add(&mut self, all: &mut CollectedTasks, mention: &Mention) {
        if self.find_task(all, mention.task).is_none() {
            let group = all.group(IdScope::Task(mention.task));
            self.insert(all, group, &mention.task);
            if !mention.is_certain {
                self.uncertain.insert(group);
            }
        }
    }

    fn representative(&self, group: u32) -> u32 {
        self.same.get(&group).copied().unwrap_or(group)
    }
}

/// Returns the common part of a task identifier.
fn common_part(all: &CollectedTasks, group: u32) -> Option<[u8; 16]> {
    Some(all.groups.get(group as usize)?.task()?.common_part())
}

/// Union-find structure over operations, joined by edges in any direction.
struct UnionFind(Vec<u32>);

impl UnionFind {
    fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    fn parent(&self, number: u32) -> u32 {
        self.0.get(number as usize).copied().unwrap_or(number)
    }

    fn root(&mut self, mut number: u32) -> u32 {
        while self.parent(number) != number {
            let grandparent = self.parent(self.parent(number));
            if let Some(parent) = self.0.get_mut(number as usize) {
                *parent = grandparent;
            }
            number = grandparent;
        }
        number
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // The earlier one represents both.
        if let Some(parent) = self.0.get_mut(a.max(b) as usize) {
            *parent = a.min(b);
        }
    }
}
