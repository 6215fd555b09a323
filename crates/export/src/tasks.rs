//! Tasks as graphs of operations: which operation caused which.
//!
//! A [`TaskCollector`] takes events, of whatever format, whose classes have members that mean an
//! [operation](ichnos_model::Meaning::OperationId) and its [causes](ichnos_model::Meaning::Cause), and events whose texts
//! name an operation. What it makes of them are [`Tasks`], each of which is a [`TaskGraph`].

mod clocks;
mod collect;
mod diff;
mod dot;
mod fields;
mod graph;
mod identifiers;
mod join;
mod json;
mod lanes;
mod names;
mod namesakes;
mod operations;
mod picture;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use ichnos_model::Identifier;

pub use collect::{TaskCollector, TaskOptions};
pub use diff::{StepDifference, TaskDiff};
pub use dot::GraphFormat;
pub use graph::{DanglingEdge, TaskEdge, TaskGraph};
pub use identifiers::find_identifiers;
pub use lanes::LaneRow;
use operations::{Collected, Edge, Group, NO_TIME, NONE, OpenEdge, TaskEvent};

/// Tasks that were collected.
#[derive(Debug)]
pub struct Tasks {
    all: Collected,
    ids: Vec<Identifier>,
    /// Numbers of operations, task by task, and where those of each task end.
    members: Vec<u32>,
    member_ends: Vec<usize>,
    /// By operation: its index among those of its task.
    local: Vec<u32>,
    /// Task by task, sorted.
    edges: Vec<(u32, Edge)>,
    open_edges: Vec<(u32, OpenEdge)>,
    /// Task by task, by time.
    events: Vec<(u32, TaskEvent)>,
    /// How many copies of events there were, and how many edges from nothing, by task.
    copies: Vec<u64>,
    marked_roots: Vec<u64>,
    /// Numbers of the names of titles, by task.
    titles: HashMap<u32, u32>,
    /// Whether only texts name the task that may be something else, by task.
    are_uncertain: Vec<bool>,
    /// Graphs have the clocks of machines corrected.
    corrects_clocks: bool,
}

/// What is known of an operation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TaskMember<'t> {
    /// Its identifier.
    pub id: Identifier,
    /// The chain within which the identifier is unique, if the operation is in one.
    pub chain: Option<u32>,
    /// What it is called: the message of its first event, or the name of the class of that. Empty if no event is about it
    /// and others only name it.
    pub label: &'t [u8],
    /// Where its first event comes from: machine, component, process and thread, as far as that is known.
    pub place: &'t [u8],
    /// How many events are about it, copies not counted. 0: others only name it.
    pub events: u32,
}

/// An event that belongs to a task, and is none of the first ones of its operations.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JoinedEvent<'t> {
    /// When it happened, in nanoseconds.
    pub time: Option<i128>,
    /// Its message, or the name of its class.
    pub label: &'t [u8],
    /// Where it comes from.
    pub place: &'t [u8],
}

/// What there is to say of a task in a line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskSummary {
    /// Its identifier; of a task without one, that of its first operation.
    pub id: Identifier,
    /// What its first operation is called.
    pub title: String,
    /// When its first event was, in nanoseconds.
    pub begin: Option<i128>,
    /// When its last event was.
    pub end: Option<i128>,
    /// How many operations it has.
    pub nodes: u64,
    /// How many edges its operations name: those between them, those that dangle, and those from nothing, by which some
    /// formats mark the first operation.
    pub edges: u64,
    /// How many edges the longest path has.
    pub depth: u64,
    /// Operations without a cause that is known.
    pub roots: u64,
    /// Edges from operations that nothing is known of.
    pub dangling: u64,
    /// Those of them that another task has.
    pub of_other_tasks: u64,
    /// Edges that close a cycle.
    pub cycles: u64,
    /// Operations with two causes or more.
    pub joins: u64,
    /// Operations that no event is about: others only name them.
    pub unreported: u64,
    /// Events that are about operations.
    pub events: u64,
    /// Further events that name the task or one of its operations.
    pub mentions: u64,
    /// Events that were there again, of those that come first in their operations.
    pub copies: u64,
    /// Edges whose effect is earlier than its cause.
    pub backward: u64,
    /// By how many nanoseconds at most.
    pub most_backward: u64,
    /// Number of them between operations that do not name a machine, so that no clock can be corrected.
    pub backward_without_machine: u64,
    /// Set if no clock was corrected, as there are too many machines with edges between them.
    pub correction_incomplete: bool,
    /// Number of machines whose clocks were corrected.
    pub corrected_clocks: u64,
    /// By how many nanoseconds at most.
    pub most_corrected: u64,
}

impl Tasks {
    fn new(mut all: Collected, corrects_clocks: bool) -> Self {
        // Groups without anything are no tasks.
        let mut task_of_group = vec![NONE; all.groups.len()];
        let (mut ids, mut are_uncertain) = (Vec::new(), Vec::new());
        let used = all.operations.iter().map(|operation| operation.group);
        for group in used.chain(all.events.iter().map(|event| event.group)) {
            if let (Some(task), Some(Group::Task(id))) =
                (task_of_group.get_mut(group as usize), all.groups.get(group as usize))
                && *task == NONE
            {
                *task = ids.len() as u32;
                ids.push(*id);
                are_uncertain.push(all.uncertain.contains(&group));
            }
        }
        if are_uncertain.iter().all(|is_uncertain| *is_uncertain) {
            // If there are no others, these are what is looked for.
            are_uncertain.fill(false);
        }
        all.groups = Vec::new();
        let task_of = |group: u32| task_of_group.get(group as usize).copied().unwrap_or(NONE);
        for operation in &mut all.operations {
            operation.group = task_of(operation.group);
        }
        let mut member_ends = vec![0usize; ids.len() + 1];
        for operation in &all.operations {
            if let Some(count) = member_ends.get_mut(operation.group as usize + 1) {
                *count += 1;
            }
        }
        for index in 1..member_ends.len() {
            member_ends[index] += member_ends[index - 1];
        }
        let mut local = vec![NONE; all.operations.len()];
        let mut members = vec![NONE; all.operations.len()];
        let begins = member_ends.clone();
        for (number, operation) in all.operations.iter().enumerate() {
            let task = operation.group as usize;
            let (Some(next), Some(begin)) = (member_ends.get_mut(task), begins.get(task)) else { continue };
            local[number] = (*next - begin) as u32;
            members[*next] = number as u32;
            *next += 1;
        }
        member_ends.truncate(ids.len());
        let task =
            |number: u32| all.operations.get(number as usize).map_or(NONE, |operation| operation.group);
        // Nothing leads from one task to another.
        let edges = std::mem::take(&mut all.edges).into_iter();
        let mut edges: Vec<(u32, Edge)> =
            edges.filter(|edge| task(edge.from) == task(edge.to)).map(|edge| (task(edge.to), edge)).collect();
        edges.sort_by_key(|(task, edge)| (*task, edge.to, edge.from));
        let mut open_edges = std::mem::take(&mut all.open_edges);
        // What an edge from an operation of its own task would be is known.
        let wanted: HashSet<Identifier> = open_edges.iter().map(|edge| edge.from).collect();
        let ids_of_all = all.operations.iter().filter(|operation| operation.group != NONE);
        let known: HashSet<Identifier> =
            ids_of_all.map(|operation| operation.id).filter(|id| wanted.contains(id)).collect();
        open_edges.iter_mut().for_each(|edge| edge.is_of_other_task |= known.contains(&edge.from));
        let open_edges = open_edges.into_iter();
        let mut open_edges: Vec<_> = open_edges.map(|edge| (task(edge.to), edge)).collect();
        open_edges.sort_by_key(|(task, edge)| (*task, edge.to, edge.from));
        let events = std::mem::take(&mut all.events).into_iter();
        let mut events: Vec<_> = events
            .map(|event| {
                let of_operation = all.operations.get(event.operation as usize);
                (of_operation.map_or_else(|| task_of(event.group), |operation| operation.group), event)
            })
            .collect();
        events.sort_by_key(|(task, event)| (*task, event.time));
        let by_task = |operations: &[u32]| {
            let mut counts = vec![0u64; ids.len()];
            for number in operations {
                if let Some(count) = counts.get_mut(task(*number) as usize) {
                    *count += 1;
                }
            }
            counts
        };
        let (copies, marked_roots) = (by_task(&all.copies), by_task(&all.marked_roots));
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

    /// How many tasks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The identifier of a task; of a task without one, that of its first operation.
    #[must_use]
    pub fn id(&self, task: usize) -> Option<Identifier> {
        self.ids.get(task).copied()
    }

    /// The tasks whose identifier begins with these hexadecimal digits, in any case and with any hyphens. Bytes of zeros
    /// in front, which some formats fill shorter identifiers up with, need not be the same.
    #[must_use]
    pub fn find(&self, digits: &str) -> Vec<usize> {
        find_identifiers(self.ids.iter().copied(), digits)
    }

    /// Whether times are since the Unix epoch: those of some data stream are, and all are on one timeline.
    #[must_use]
    pub fn has_dates(&self) -> bool {
        self.all.has_dates
    }

    /// How many events were left out because there were too many.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.all.left_out
    }

    fn members(&self, task: usize) -> &[u32] {
        let begin = task.checked_sub(1).and_then(|before| self.member_ends.get(before)).copied();
        let end = self.member_ends.get(task).copied().unwrap_or_default();
        self.members.get(begin.unwrap_or_default()..end).unwrap_or_default()
    }

    /// The graph of a task, with clocks corrected if [`TaskOptions::correct_clocks`] says so.
    #[must_use]
    pub fn graph(&self, task: usize) -> TaskGraph<'_> {
        let mut graph = TaskGraph::new(self, task);
        let open = of_task(&self.open_edges, task);
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

    /// Whether only texts name a task, in a notation that other numbers can have, while there are tasks that are certain.
    #[must_use]
    pub fn is_uncertain(&self, task: usize) -> bool {
        self.are_uncertain.get(task).copied().unwrap_or_default()
    }

    /// How many identifiers were left out because they are longer than 20 bytes.
    #[must_use]
    pub fn too_long(&self) -> u64 {
        self.all.too_long
    }

    /// The tasks in the order in which they began. `all`: also those that are [uncertain](Tasks::is_uncertain). Not all of
    /// them once `is_stopped` returns `true`.
    #[must_use]
    pub fn in_order(&self, all: bool, is_stopped: impl Fn() -> bool) -> Vec<usize> {
        let tasks = (0..self.len()).take_while(|_| !is_stopped());
        let tasks = tasks.filter(|task| all || !self.is_uncertain(*task));
        let mut tasks: Vec<(i64, u32)> = tasks.map(|task| (self.begin(task), task as u32)).collect();
        tasks.sort_unstable_by_key(|(begin, task)| (*begin, self.id(*task as usize)));
        tasks.into_iter().map(|(_, task)| task as usize).collect()
    }

    /// When the first event of a task was, as [`TaskSummary::begin`] says; [`NO_TIME`].
    fn begin(&self, task: usize) -> i64 {
        if self.corrects_clocks && !of_task(&self.edges, task).is_empty() {
            let begin = self.summary(task).and_then(|summary| summary.begin);
            return begin.map_or(NO_TIME, |begin| i64::try_from(begin).unwrap_or(i64::MAX).max(NO_TIME + 1));
        }
        let operations = self.members(task).iter();
        let operations = operations.filter_map(|number| self.all.operations.get(*number as usize));
        let begins = operations.map(|operation| operation.begin);
        let begins = begins.chain(of_task(&self.events, task).iter().map(|(_, event)| event.time));
        begins.filter(|begin| *begin != NO_TIME).min().unwrap_or(NO_TIME)
    }

    /// What there is to say of a task.
    #[must_use]
    pub fn summary(&self, task: usize) -> Option<TaskSummary> {
        self.summary_of(task, &self.graph(task))
    }

    /// The same with its graph, whose clocks may be corrected.
    fn summary_of(&self, task: usize, graph: &TaskGraph<'_>) -> Option<TaskSummary> {
        let id = self.id(task)?;
        let nodes = || 0..graph.len();
        let events = of_task(&self.events, task).iter().map(|(_, event)| event);
        let named = events.clone().filter(|event| event.operation == NONE || event.is_mention);
        let times = events.clone().filter_map(|event| graph.corrected(event.place, event.time));
        let begins = nodes().filter_map(|node| graph.begin(node));
        let ends = nodes().filter_map(|node| graph.end(node));
        let marked_roots = self.marked_roots.get(task).copied().unwrap_or_default();
        let (backward, most_backward) = graph.backward_edges();
        let corrections = graph.clock_corrections();
        let most_corrected = corrections.first().map_or(0, |(_, offset)| offset.unsigned_abs());
        let title = u32::try_from(task).ok().and_then(|task| self.titles.get(&task));
        let first = || nodes().filter_map(|node| graph.member(node)).find(|member| member.events > 0);
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
            dangling: graph.dangling.len() as u64,
            of_other_tasks: graph.dangling.iter().filter(|edge| edge.is_of_other_task).count() as u64,
            cycles: graph.cycles.len() as u64,
            joins: nodes().filter(|node| graph.is_join(*node)).count() as u64,
            unreported: nodes()
                .filter_map(|node| graph.member(node))
                .filter(|member| member.events == 0)
                .count() as u64,
            events: nodes()
                .filter_map(|node| graph.member(node))
                .map(|member| u64::from(member.events))
                .sum(),
            mentions: named.count() as u64,
            copies: self.copies.get(task).copied().unwrap_or_default(),
            backward,
            most_backward,
            backward_without_machine: graph.backward_edges_without_machine(),
            correction_incomplete: graph.is_correction_incomplete(),
            corrected_clocks: corrections.len() as u64,
            most_corrected: u64::try_from(most_corrected).unwrap_or(u64::MAX),
        })
    }

    /// The nanoseconds to add to times at a place.
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

    fn member(&self, number: u32) -> Option<TaskMember<'_>> {
        let operation = self.all.operations.get(number as usize)?;
        Some(TaskMember {
            id: operation.id,
            chain: operation.chain.number(),
            label: self.all.names.text(operation.label),
            place: self.place(operation.place),
            events: operation.events,
        })
    }
}

/// Those of a task, out of all that are sorted by task.
fn of_task<T>(all: &[(u32, T)], task: usize) -> &[(u32, T)] {
    let begin = all.partition_point(|(of, _)| (*of as usize) < task);
    let end = all.partition_point(|(of, _)| (*of as usize) <= task);
    all.get(begin..end).unwrap_or_default()
}
