//! Task graphs: operations and their causes.
//!
//! A [`TaskCollector`] takes events of any format. The event classes must have members for an
//! [operation](ichnos_model::meaning::Meaning::OperationId) and its [causes](ichnos_model::meaning::Meaning::Cause), or
//! the event text must name an operation. The result is [`Tasks`], with a [`TaskGraph`] per task.

mod clocks;
mod collect;
mod diff;
mod diff_report;
mod dot;
mod fields;
mod graph;
mod identifiers;
mod join;
mod json;
mod lanes;
mod lines;
mod names;
mod namesakes;
mod operations;
mod path;
mod picture;
mod show;
mod svg;
mod table;
mod task_events;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use ichnos_model::meaning::Identifier;

pub use collect::{TaskCollector, TaskOptions};
pub use diff::{StepDifference, TaskDiff};
pub use dot::GraphFormat;
pub use fields::{EventContent, TaskFields};
pub use graph::{DanglingEdge, TaskEdge, TaskGraph};
pub use identifiers::find_identifiers;
pub use lanes::LaneRow;
pub use lines::TaskTextOptions;
use operations::{CollectedTasks, IdScope, NO_TIME, NONE, OpenEdge, Operation, OperationEdge, TaskEvent};
pub use table::TaskTable;
pub use task_events::TaskEvents;

use crate::events::EventId;

/// Collected tasks.
#[derive(Debug)]
pub struct Tasks {
    all: CollectedTasks,
    ids: Vec<Identifier>,
    /// Operation numbers grouped by task, and the end of each task's group.
    members: Vec<u32>,
    member_ends: Vec<usize>,
    /// By operation: its index within its task.
    local: Vec<u32>,
    /// Edges, sorted by task.
    edges: ByTask<OperationEdge>,
    open_edges: ByTask<OpenEdge>,
    /// Events, sorted by task and time.
    events: ByTask<TaskEvent>,
    /// Copied events by task, and edges from nothing by task.
    copies: Vec<u64>,
    marked_roots: Vec<u64>,
    /// Title name numbers by task.
    titles: HashMap<u32, u32>,
    /// By task: `true` if only texts name the task and may mean something else.
    are_uncertain: Vec<bool>,
    /// `true` if graphs correct the machine clocks.
    corrects_clocks: bool,
}

/// Task operation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TaskMember<'t> {
    /// Identifier.
    pub id: Identifier,
    /// Chain within which the identifier is unique, if the operation is in a chain.
    pub chain: Option<u32>,
    /// Label: message or class name of the event that names the operation. A span start with a cause is preferred, then
    /// any span start, then the first event. Empty if other events name the operation, but none is about it.
    pub label: &'t [u8],
    /// Naming event's origin: machine, component, process and thread, as far as known.
    pub place: &'t [u8],
    /// Events about the operation, without copies. 0 if others only name it.
    pub events: u32,
    /// Naming event, if the collector [was told](TaskCollector::event_at). Clock corrections do not change it.
    pub event: Option<EventId>,
    /// Naming event's timeline track number, if the collector was told.
    pub track: Option<u32>,
}

/// Event of a task that does not name an operation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JoinedEvent<'t> {
    /// Time in nanoseconds.
    pub time: Option<i128>,
    /// Message or class name.
    pub label: &'t [u8],
    /// Origin of the event.
    pub place: &'t [u8],
    /// Event identifier, if the collector [was told](TaskCollector::event_at). Clock corrections do not change it.
    pub event: Option<EventId>,
    /// Timeline track number, if the collector was told.
    pub track: Option<u32>,
}

/// Task summary.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskSummary {
    /// Task identifier. Without one, the identifier of the first operation.
    pub id: Identifier,
    /// First operation's label.
    pub title: String,
    /// First event's time in nanoseconds.
    pub begin: Option<i128>,
    /// Last event's time in nanoseconds.
    pub end: Option<i128>,
    /// Operation count.
    pub nodes: u64,
    /// Number of edges named in operations: between operations, dangling, and from nothing. Some formats mark the first
    /// operation of a task with an edge from nothing.
    pub edges: u64,
    /// Edges on the longest path.
    pub depth: u64,
    /// Operations without a known cause.
    pub roots: u64,
    /// Edges that close a cycle.
    pub cycles: u64,
    /// Operations with two or more causes.
    pub joins: u64,
    /// Events about operations.
    pub events: u64,
    /// Further events that name the task or an operation in it.
    pub mentions: u64,
    /// Copied first events.
    pub copies: u64,
    /// Operations that are missing in the traces.
    pub missing: MissingOperations,
    /// Clocks that contradict the edges.
    pub clocks: TaskClocks,
}

/// Operations that are missing in the traces of a task.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MissingOperations {
    /// Operations without an event: others only name them.
    pub unreported: u64,
    /// Edges from unknown operations.
    pub dangling: u64,
    /// Dangling edges whose operation is in another task.
    pub of_other_tasks: u64,
}

/// Clocks that contradict the edges of a task.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TaskClocks {
    /// Backward edges: the effect is earlier than its cause.
    pub backward: u64,
    /// Maximum of these differences, in nanoseconds.
    pub most_backward: u64,
    /// Backward edges between operations without a machine name. No clock can be corrected for them.
    pub backward_without_machine: u64,
    /// `true` if no clock was corrected, because too many machines have edges between them.
    pub correction_incomplete: bool,
    /// Machines with corrected clocks.
    pub corrected: u64,
    /// Largest correction, in nanoseconds.
    pub most_corrected: u64,
}

/// Operations sorted by task.
struct TaskMembers {
    /// Operation numbers, sorted by task.
    members: Vec<u32>,
    /// End of each task in `members`.
    member_ends: Vec<usize>,
    /// Number of each operation within its task.
    local: Vec<u32>,
}

impl TaskMembers {
    /// Sorts operations whose groups are tasks.
    fn new(operations: &[Operation], tasks: usize) -> Self {
        let mut member_ends = vec![0usize; tasks + 1];
        for operation in operations {
            if let Some(count) = member_ends.get_mut(operation.group as usize + 1) {
                *count += 1;
            }
        }
        for index in 1..member_ends.len() {
            member_ends[index] += member_ends[index - 1];
        }
        let mut local = vec![NONE; operations.len()];
        let mut members = vec![NONE; operations.len()];
        let begins = member_ends.clone();
        for (number, operation) in operations.iter().enumerate() {
            let task = operation.group as usize;
            let (Some(next), Some(begin)) = (member_ends.get_mut(task), begins.get(task)) else { continue };
            local[number] = (*next - begin) as u32;
            members[*next] = number as u32;
            *next += 1;
        }
        member_ends.truncate(tasks);
        Self { members, member_ends, local }
    }
}

/// Counts operations by their tasks.
fn count_by_task(operations: &[u32], tasks: usize, task: impl Fn(u32) -> u32) -> Vec<u64> {
    let mut counts = vec![0u64; tasks];
    for number in operations {
        if let Some(count) = counts.get_mut(task(*number) as usize) {
            *count += 1;
        }
    }
    counts
}

/// Values sorted by task number.
type ByTask<T> = Vec<(u32, T)>;

/// Takes the edges within tasks, and the edges from unknown operations, each sorted by task.
fn edges_by_task(all: &mut CollectedTasks) -> (ByTask<OperationEdge>, ByTask<OpenEdge>) {
    let edges = std::mem::take(&mut all.edges).into_iter();
    let mut open_edges = std::mem::take(&mut all.open_edges);
    let task = |number: u32| all.operations.get(number as usize).map_or(NONE, |operation| operation.group);
    // No edge leads from one task to another.
    let mut edges: ByTask<OperationEdge> =
        edges.filter(|edge| task(edge.from) == task(edge.to)).map(|edge| (task(edge.to), edge)).collect();
    edges.sort_by_key(|(task, edge)| (*task, edge.to, edge.from, edge.kind));
    // An edge from an operation in the same task would not be open.
    let wanted: HashSet<Identifier> = open_edges.iter().map(|edge| edge.from).collect();
    let ids_of_all = all.operations.iter().filter(|operation| operation.group != NONE);
    let known: HashSet<Identifier> =
        ids_of_all.map(|operation| operation.id).filter(|id| wanted.contains(id)).collect();
    open_edges.iter_mut().for_each(|edge| edge.is_of_other_task |= known.contains(&edge.from));
    let open_edges = open_edges.into_iter();
    let mut open_edges: Vec<_> = open_edges.map(|edge| (task(edge.to), edge)).collect();
    open_edges.sort_by_key(|(task, edge)| (*task, edge.to, edge.from));
    (edges, open_edges)
}

impl Tasks {
    fn new(mut all: CollectedTasks, corrects_clocks: bool) -> Self {
        // Empty groups are not tasks.
        let mut task_of_group = vec![NONE; all.groups.len()];
        let (mut ids, mut are_uncertain) = (Vec::new(), Vec::new());
        let used = all.operations.iter().map(|operation| operation.group);
        for group in used.chain(all.events.iter().map(|event| event.group)) {
            if let (Some(task), Some(IdScope::Task(id))) =
                (task_of_group.get_mut(group as usize), all.groups.get(group as usize))
                && *task == NONE
            {
                *task = ids.len() as u32;
                ids.push(*id);
                are_uncertain.push(all.uncertain.contains(&group));
            }
        }
        if are_uncertain.iter().all(|is_uncertain| *is_uncertain) {
            // Without certain tasks, uncertain tasks must be shown.
            are_uncertain.fill(false);
        }
        all.groups = Vec::new();
        let task_of = |group: u32| task_of_group.get(group as usize).copied().unwrap_or(NONE);
        for operation in &mut all.operations {
            operation.group = task_of(operation.group);
        }
        let TaskMembers { members, member_ends, local } = TaskMembers::new(&all.operations, ids.len());
        let (edges, open_edges) = edges_by_task(&mut all);
        let task =
            |number: u32| all.operations.get(number as usize).map_or(NONE, |operation| operation.group);
        let events = std::mem::take(&mut all.events).into_iter();
        let mut events: Vec<_> = events
            .map(|event| {
                let of_operation = all.operations.get(event.operation as usize);
                (of_operation.map_or_else(|| task_of(event.group), |operation| operation.group), event)
            })
            .collect();
        events.sort_by_key(|(task, event)| (*task, event.time));
        let copies = count_by_task(&all.copies, ids.len(), task);
        let marked_roots = count_by_task(&all.marked_roots, ids.len(), task);
        let mut titles = HashMap::new();
        for (operation, name) in std::mem::take(&mut all.titles) {
            titles.entry(task(operation)).or_insert(name);
        }
        Self {
            all,
            ids,
            members,
            member_ends,
            local,
            edges,
            open_edges,
            events,
            copies,
            marked_roots,
            titles,
            are_uncertain,
            corrects_clocks,
        }
    }

    /// Returns the task count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns `true` if no task was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the task identifier. Without one, the identifier of the first operation.
    #[must_use]
    pub fn id(&self, task: usize) -> Option<Identifier> {
        self.ids.get(task).copied()
    }

    /// Returns the tasks whose identifier starts with these hexadecimal digits. Case, hyphens and leading zero bytes
    /// are ignored. Some formats pad shorter identifiers with zeros.
    #[must_use]
    pub fn find(&self, digits: &str) -> Vec<usize> {
        find_identifiers(self.ids.iter().copied(), digits)
    }

    /// Returns `true` if times are since the Unix epoch: in at least one data stream, and all are on one timeline.
    #[must_use]
    pub fn has_dates(&self) -> bool {
        self.all.has_dates
    }

    /// Returns the number of events that were dropped because there were too many.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.all.left_out
    }

    fn members(&self, task: usize) -> &[u32] {
        let begin = task.checked_sub(1).and_then(|before| self.member_ends.get(before)).copied();
        let end = self.member_ends.get(task).copied().unwrap_or_default();
        self.members.get(begin.unwrap_or_default()..end).unwrap_or_default()
    }

    /// Returns a task's graph, with corrected clocks if [`TaskOptions::correct_clocks`] is set.
    #[must_use]
    pub fn graph(&self, task: usize) -> TaskGraph<'_> {
        let mut graph = TaskGraph::new(self, task);
        let open = task_slice(&self.open_edges, task);
        if !open.is_empty() {
            let place: HashMap<u32, u32> = graph.nodes.iter().copied().zip(0..).collect();
            graph.dangling = open
                .iter()
                .map(|(_, OpenEdge { from, chain, to, kind, is_of_other_task })| DanglingEdge {
                    from: *from,
                    chain: chain.number(),
                    to: place.get(to).copied().unwrap_or(NONE),
                    kind: *kind,
                    is_of_other_task: *is_of_other_task,
                })
                .collect();
            graph.dangling.sort_by_key(|edge| (edge.to, edge.from));
        }
        graph
    }

    /// Returns `true` if only texts name a task, in a notation shared with other numbers, and other tasks are certain.
    #[must_use]
    pub fn is_uncertain(&self, task: usize) -> bool {
        self.are_uncertain.get(task).copied().unwrap_or_default()
    }

    /// Returns the number of identifiers that were dropped because they are longer than 20 bytes.
    #[must_use]
    pub fn too_long(&self) -> u64 {
        self.all.too_long
    }

    /// Returns the tasks sorted by start. `all` includes [uncertain](Tasks::is_uncertain) tasks. The list is incomplete
    /// once `is_stopped` returns `true`.
    #[must_use]
    pub fn in_order(&self, all: bool, is_stopped: impl Fn() -> bool) -> Vec<usize> {
        let tasks = (0..self.len()).take_while(|_| !is_stopped());
        let tasks = tasks.filter(|task| all || !self.is_uncertain(*task));
        let mut tasks: Vec<(i64, u32)> = tasks.map(|task| (self.begin(task), task as u32)).collect();
        tasks.sort_unstable_by_key(|(begin, task)| (*begin, self.id(*task as usize)));
        tasks.into_iter().map(|(_, task)| task as usize).collect()
    }

    /// Returns the time of a task's first event, as in [`TaskSummary::begin`], or [`NO_TIME`].
    fn begin(&self, task: usize) -> i64 {
        if self.corrects_clocks && !task_slice(&self.edges, task).is_empty() {
            let begin = graph::corrected_begin(self, task);
            return begin.map_or(NO_TIME, |begin| i64::try_from(begin).unwrap_or(i64::MAX).max(NO_TIME + 1));
        }
        let operations = self.members(task).iter();
        let operations = operations.filter_map(|number| self.all.operations.get(*number as usize));
        let begins = operations.map(|operation| operation.begin);
        let begins = begins.chain(task_slice(&self.events, task).iter().map(|(_, event)| event.time));
        begins.filter(|begin| *begin != NO_TIME).min().unwrap_or(NO_TIME)
    }

    /// Returns a task's summary.
    #[must_use]
    pub fn summary(&self, task: usize) -> Option<TaskSummary> {
        self.summary_of(task, &self.graph(task))
    }

    /// Returns a task's summary. The clocks in its graph may be corrected.
    fn summary_of(&self, task: usize, graph: &TaskGraph<'_>) -> Option<TaskSummary> {
        let id = self.id(task)?;
        let nodes = || 0..graph.len();
        let events = task_slice(&self.events, task).iter().map(|(_, event)| event);
        let named = events.clone().filter(|event| event.operation == NONE || event.is_mention);
        let times = events.clone().filter_map(|event| graph.corrected(event.place, event.time));
        let begins = nodes().filter_map(|node| graph.begin(node));
        let ends = nodes().filter_map(|node| graph.end(node));
        let marked_roots = self.marked_roots.get(task).copied().unwrap_or_default();
        let (backward, most_backward) = graph.backward_edges();
        let corrections = graph.clock_corrections();
        let most_corrected = corrections.first().map_or(0, |(_, offset)| offset.unsigned_abs());
        let title = u32::try_from(task).ok().and_then(|task| self.titles.get(&task));
        let members = || nodes().filter_map(|node| graph.member(node));
        let first = || members().find(|member| member.events > 0);
        let title = title
            .map(|name| self.all.names.text(*name))
            .or_else(|| first().map(|member| member.label))
            .or_else(|| events.clone().next().map(|event| self.all.names.text(event.label)));
        Some(TaskSummary {
            id,
            title: String::from_utf8_lossy(title.unwrap_or_default()).into_owned(),
            begin: begins.chain(times.clone()).min(),
            end: ends.chain(times).max(),
            nodes: graph.len().into(),
            edges: (graph.edges() + graph.cycles.len() + graph.dangling.len()) as u64 + marked_roots,
            depth: graph.depth().into(),
            roots: graph.roots().count() as u64,
            cycles: graph.cycles.len() as u64,
            joins: nodes().filter(|node| graph.is_join(*node)).count() as u64,
            events: members().map(|member| u64::from(member.events)).sum(),
            mentions: named.count() as u64,
            copies: self.copies.get(task).copied().unwrap_or_default(),
            missing: MissingOperations {
                unreported: members().filter(|member| member.events == 0).count() as u64,
                dangling: graph.dangling.len() as u64,
                of_other_tasks: graph.dangling.iter().filter(|edge| edge.is_of_other_task).count() as u64,
            },
            clocks: TaskClocks {
                backward,
                most_backward,
                backward_without_machine: graph.backward_edges_without_machine(),
                correction_incomplete: graph.is_correction_incomplete(),
                corrected: corrections.len() as u64,
                most_corrected: u64::try_from(most_corrected).unwrap_or(u64::MAX),
            },
        })
    }

    /// Returns the nanoseconds to add to times at a place.
    fn correction(&self, corrections: &HashMap<u32, i128>, place: u32) -> i128 {
        match corrections.is_empty() {
            true => 0,
            false => corrections.get(&self.machine(place)).copied().unwrap_or_default(),
        }
    }

    fn machine(&self, place: u32) -> u32 {
        self.all.places.get(place as usize).map_or(NONE, |place| place.machine)
    }

    fn place(&self, place: u32) -> &[u8] {
        self.all.places.get(place as usize).map_or(&[], |place| self.all.names.text(place.text))
    }

    /// Returns the identifier and the track of an event.
    fn event_id(&self, number: u32) -> (Option<EventId>, Option<u32>) {
        self.all.event_ids.get(number as usize).copied().unzip()
    }

    fn member(&self, number: u32) -> Option<TaskMember<'_>> {
        let operation = self.all.operations.get(number as usize)?;
        let (event, track) = self.event_id(operation.event_id);
        Some(TaskMember {
            id: operation.id,
            chain: operation.chain.number(),
            label: self.all.names.text(operation.label),
            place: self.place(operation.place),
            events: operation.events,
            event,
            track,
        })
    }
}

/// Returns the elements of a task from a list sorted by task.
fn task_slice<T>(all: &[(u32, T)], task: usize) -> &[(u32, T)] {
    let begin = all.partition_point(|(of, _)| (*of as usize) < task);
    let end = all.partition_point(|(of, _)| (*of as usize) <= task);
    all.get(begin..end).unwrap_or_default()
}
