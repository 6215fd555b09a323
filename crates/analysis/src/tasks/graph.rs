//! Task graphs: operations, causes first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use ichnos_model::meaning::{CauseKind, Identifier};

use super::clocks::{self, MachineEdge};
use super::identifiers::find_identifiers;
use super::operations::{EventOrigin, NO_TIME, NONE, Operation, OperationEdge, TaskEvent};
use super::{JoinedEvent, TaskMember, TaskSummary, Tasks, task_slice};

/// Edge of a [`TaskGraph`], seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskEdge {
    /// Node index at the other end.
    pub node: u32,
    /// Causation kind.
    pub kind: CauseKind,
}

/// Edge from an unknown operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DanglingEdge {
    /// Unknown operation.
    pub from: Identifier,
    /// Operation chain, if the edge or its effect has one.
    pub chain: Option<u32>,
    /// Effect's node index.
    pub to: u32,
    /// Causation kind.
    pub kind: CauseKind,
    /// `true` if another task has an operation with this identifier.
    pub is_of_other_task: bool,
}

/// Operations of a task and the edges between them, without cycles.
#[derive(Debug)]
pub struct TaskGraph<'t> {
    tasks: &'t Tasks,
    task: usize,
    /// Operation numbers, causes before effects, otherwise sorted by time.
    pub(super) nodes: Vec<u32>,
    causes: Edges,
    effects: Edges,
    /// Number of edges on the longest path to each node.
    depths: Vec<u32>,
    /// Edges that were removed because they close a cycle: from, to.
    pub(super) cycles: Vec<(u32, u32)>,
    pub(super) dangling: Vec<DanglingEdge>,
    /// `true` if operations in different chains share identifiers.
    shares_ids: bool,
    /// Nanoseconds to add to machine times.
    corrections: HashMap<u32, i128>,
    /// `true` if the search for corrections was stopped.
    is_correction_incomplete: bool,
}

/// Edges by node.
#[derive(Debug, Default)]
struct Edges {
    /// End of each node's edges.
    ends: Vec<u32>,
    all: Vec<TaskEdge>,
}

impl Edges {
    /// Returns the edges of a task by their causes, as operation indexes within the task, sorted by both ends and kind.
    /// Repeated causes become one edge.
    fn of_task(tasks: &Tasks, task: usize) -> Self {
        let local = |operation: u32| tasks.local.get(operation as usize).copied().unwrap_or(NONE);
        // They are sorted by their effects.
        let edges = task_slice(&tasks.edges, task).iter().map(|(_, edge)| edge);
        let edge =
            |edge: &OperationEdge| (local(edge.from), TaskEdge { node: local(edge.to), kind: edge.kind });
        let mut edges: Vec<(u32, TaskEdge)> = edges.map(edge).collect();
        edges.dedup();
        Self::new(tasks.members(task).len(), edges.iter().copied())
    }

    /// Groups edges between `count` nodes. Each edge comes with its node.
    fn new(count: usize, edges: impl Iterator<Item = (u32, TaskEdge)> + Clone) -> Self {
        let mut begins = vec![0u32; count + 1];
        for (node, _) in edges.clone() {
            if let Some(place) = begins.get_mut(node as usize + 1) {
                *place += 1;
            }
        }
        for index in 1..begins.len() {
            begins[index] += begins[index - 1];
        }
        let nothing = TaskEdge { node: NONE, kind: CauseKind::Related };
        let mut all = vec![nothing; begins.last().map_or(0, |end| *end as usize)];
        let mut next = begins;
        for (node, edge) in edges {
            if let Some(place) = next.get_mut(node as usize) {
                if let Some(slot) = all.get_mut(*place as usize) {
                    *slot = edge;
                }
                *place += 1;
            }
        }
        // Each start has moved to the end of the node's edges.
        next.truncate(count);
        Self { ends: next, all }
    }

    fn at(&self, node: u32) -> &[TaskEdge] {
        let node = node as usize;
        let begin = node.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let end = self.ends.get(node).copied().unwrap_or(begin);
        self.all.get(begin as usize..end as usize).unwrap_or_default()
    }
}

impl<'t> TaskGraph<'t> {
    /// Creates the graph of a task, without dangling edges.
    pub(super) fn new(tasks: &'t Tasks, task: usize) -> Self {
        let members = tasks.members(task);
        let count = members.len();
        let effects = Edges::of_task(tasks, task);
        let corrections = clock_offsets(tasks, members, &effects);
        let is_correction_incomplete = corrections.is_none();
        let corrections = corrections.unwrap_or_default();
        let time = |node: u32| {
            let operation =
                members.get(node as usize).and_then(|number| tasks.all.operations.get(*number as usize));
            let time = operation.filter(|operation| operation.begin != NO_TIME).map(|operation| {
                i128::from(operation.begin) + tasks.correction(&corrections, operation.place)
            });
            time.unwrap_or(i128::MIN)
        };
        let (order, cycles) = sort(count, &effects, time);
        let mut place = vec![NONE; count];
        for (node, new) in order.iter().zip(0..) {
            if let Some(place) = place.get_mut(*node as usize) {
                *place = new;
            }
        }
        let at = |node: u32| place.get(node as usize).copied().unwrap_or(NONE);
        let mut broken: Vec<(u32, u32)> = cycles.iter().map(|(from, to)| (at(*from), at(*to))).collect();
        broken.sort_by_key(|(from, to)| (*to, *from));
        let mut edges = Vec::with_capacity(effects.all.len());
        for (node, from) in order.iter().zip(0..) {
            let begin = edges.len();
            let new = effects.at(*node).iter().map(|edge| (from, at(edge.node), edge.kind));
            // Edges that close a cycle lead from a node to itself or backward.
            edges.extend(new.filter(|(from, to, _)| from < to));
            edges.get_mut(begin..).unwrap_or_default().sort_unstable();
        }
        let to_effects = edges.iter().map(|(from, to, kind)| (*from, TaskEdge { node: *to, kind: *kind }));
        let to_causes = edges.iter().map(|(from, to, kind)| (*to, TaskEdge { node: *from, kind: *kind }));
        let (effects, causes) = (Edges::new(count, to_effects), Edges::new(count, to_causes));
        let depths = depths(count, &causes);
        let nodes = order.iter().filter_map(|node| members.get(*node as usize)).copied().collect();
        let dangling = Vec::new();
        Self {
            tasks,
            task,
            nodes,
            causes,
            effects,
            depths,
            cycles: broken,
            dangling,
            shares_ids: shares_ids(tasks, members),
            corrections,
            is_correction_incomplete,
        }
    }

    /// Returns the operation count.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns `true` if the task lacks operations: events name only the task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the edges to a node.
    #[must_use]
    pub fn causes(&self, node: u32) -> &[TaskEdge] {
        self.causes.at(node)
    }

    /// Returns the edges from a node.
    #[must_use]
    pub fn effects(&self, node: u32) -> &[TaskEdge] {
        self.effects.at(node)
    }

    /// Returns the number of edges between known operations, without those that close a cycle.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.causes.all.len()
    }

    /// Returns the edges from unknown operations.
    #[must_use]
    pub fn dangling(&self) -> &[DanglingEdge] {
        &self.dangling
    }

    /// Returns the removed edges that closed a cycle: from, to.
    #[must_use]
    pub fn cycles(&self) -> &[(u32, u32)] {
        &self.cycles
    }

    /// Returns the number of edges on the longest path.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depths.iter().copied().max().unwrap_or_default()
    }

    /// Returns the nodes without a known cause.
    pub fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter(|node| self.causes(*node).is_empty())
    }

    /// Returns the start of an operation, in nanoseconds.
    #[must_use]
    pub fn begin(&self, node: u32) -> Option<i128> {
        self.operation(node).and_then(|operation| self.corrected(operation.place, operation.begin))
    }

    /// Returns the time of the last event of an operation, in nanoseconds.
    #[must_use]
    pub fn end(&self, node: u32) -> Option<i128> {
        self.operation(node).and_then(|operation| self.corrected(operation.place, operation.end))
    }

    /// Returns a time with the clock correction for its place.
    pub(super) fn corrected(&self, place: u32, time: i64) -> Option<i128> {
        (time != NO_TIME).then(|| i128::from(time) + self.tasks.correction(&self.corrections, place))
    }

    /// Returns the nodes whose identifier starts with these digits, as [`find_identifiers`] does. If none match, a
    /// chain number after a `/`, in hexadecimal digits, selects the nodes in the chain.
    #[must_use]
    pub fn find(&self, name: &str) -> Vec<u32> {
        let find = |digits: &str| -> Vec<u32> {
            let ids = (0..self.len()).filter_map(|node| self.member(node)).map(|member| member.id);
            find_identifiers(ids, digits).into_iter().filter_map(|node| u32::try_from(node).ok()).collect()
        };
        let mut found = find(name);
        if found.is_empty()
            && let Some((digits, chain)) = name.split_once('/')
            && let chain = chain.trim_start_matches("0x")
            && chain.bytes().all(|digit| digit.is_ascii_hexdigit())
            && let Ok(chain) = u32::from_str_radix(chain, 16)
        {
            found = find(digits);
            found.retain(|node| self.member(*node).is_some_and(|member| member.chain == Some(chain)));
        }
        found
    }

    /// Returns a node's operation.
    #[must_use]
    pub fn member(&self, node: u32) -> Option<TaskMember<'t>> {
        let number = *self.nodes.get(node as usize)?;
        self.tasks.member(number)
    }

    /// Returns a node's identifier. If operations in several chains share identifiers, the chain is added, as in
    /// `0A0A0A0A/0001`.
    #[must_use]
    pub fn operation_name(&self, node: u32) -> String {
        match self.member(node) {
            Some(TaskMember { id, chain: Some(chain), .. }) if self.shares_ids => format!("{id}/{chain:04X}"),
            Some(TaskMember { id, .. }) => id.to_string(),
            None => String::new(),
        }
    }

    /// Returns an event origin by number. [`TaskGraph::text`] returns its names.
    pub(super) fn origin(&self, place: u32) -> EventOrigin {
        let nothing = EventOrigin { machine: NONE, text: NONE, tracer: NONE };
        self.tasks.all.places.get(place as usize).copied().unwrap_or(nothing)
    }

    /// Returns the name number of a node's machine.
    fn machine(&self, node: u32) -> u32 {
        self.operation(node).map_or(NONE, |operation| self.tasks.machine(operation.place))
    }

    /// Returns the text with a number.
    pub(super) fn text(&self, number: u32) -> &'t [u8] {
        self.tasks.all.names.text(number)
    }

    pub(super) fn operation(&self, node: u32) -> Option<&'t Operation> {
        self.tasks.all.operations.get(*self.nodes.get(node as usize)? as usize)
    }

    /// Returns the events of the task that do not name an operation. Each has the node that it follows: its operation,
    /// or the last node before it in time if it names only the task. The events are sorted by these nodes.
    #[must_use]
    pub fn joined_events(&self) -> Vec<(u32, JoinedEvent<'t>)> {
        let event = |(node, event): (u32, TaskEvent)| {
            let (label, place) = (self.text(event.label), self.tasks.place(event.place));
            let time = self.corrected(event.place, event.time);
            let (event, track) = self.tasks.event_id(event.event_id);
            (node, JoinedEvent { time, label, place, event, track })
        };
        self.joined().into_iter().map(event).collect()
    }

    /// Returns the joined event count.
    pub(super) fn joined_count(&self) -> usize {
        task_slice(&self.tasks.events, self.task).len()
    }

    /// Returns the joined events with the nodes that they follow.
    pub(super) fn joined(&self) -> Vec<(u32, TaskEvent)> {
        let nodes: HashMap<u32, u32> = self.nodes.iter().copied().zip(0..).collect();
        // Minimum time from each node on. It ascends, as node times nearly do.
        let mut least: Vec<i128> =
            (0..self.len()).map(|node| self.begin(node).unwrap_or(i128::MAX)).collect();
        for node in (1..least.len()).rev() {
            least[node - 1] = least[node - 1].min(least[node]);
        }
        let before = |time: Option<i128>| {
            let count = time.map_or(0, |time| least.partition_point(|begin| *begin <= time));
            count.saturating_sub(1) as u32
        };
        let time = |event: &TaskEvent| self.corrected(event.place, event.time);
        let node =
            |event: &TaskEvent| nodes.get(&event.operation).copied().unwrap_or_else(|| before(time(event)));
        let events = task_slice(&self.tasks.events, self.task).iter();
        let mut events: Vec<_> = events.map(|(_, event)| (node(event), *event)).collect();
        events.sort_by_key(|(node, event)| (*node, time(event)));
        events
    }

    /// Returns the number of edges whose effect is earlier than its cause, because clocks differ, and the
    /// maximum difference in nanoseconds.
    #[must_use]
    pub fn backward_edges(&self) -> (u64, u64) {
        self.backward().fold((0, 0), |(count, most), (_, _, late)| (count + 1, most.max(late)))
    }

    /// Returns a node's latest cause: without it, the node could have started earlier.
    #[must_use]
    pub fn latest_cause(&self, node: u32) -> Option<TaskEdge> {
        let causes = self.causes(node).iter().copied();
        causes.max_by_key(|edge| (self.begin(edge.node), edge.node))
    }

    /// Returns the critical path: from a root along the latest causes to the operation that ended last.
    #[must_use]
    pub fn critical_path(&self) -> Vec<u32> {
        let last = (0..self.len()).max_by_key(|node| (self.end(*node), *node));
        last.map_or(Vec::new(), |last| self.path_to(last))
    }

    /// Returns the path from a root along the latest causes to a node.
    #[must_use]
    pub fn path_to(&self, node: u32) -> Vec<u32> {
        let last = (node < self.len()).then_some(node);
        let mut path: Vec<u32> =
            std::iter::successors(last, |node| self.latest_cause(*node).map(|edge| edge.node)).collect();
        path.reverse();
        path
    }

    /// Returns the machines with corrected clocks and the corrections in nanoseconds, greatest first.
    #[must_use]
    pub fn clock_corrections(&self) -> Vec<(&'t [u8], i128)> {
        let moved = self.corrections.iter().map(|(machine, offset)| (self.text(*machine), *offset));
        let mut moved: Vec<_> = moved.collect();
        moved.sort_by_key(|(machine, offset)| (Reverse(offset.abs()), *machine));
        moved
    }

    /// Returns `true` if no clock was corrected because the search takes too many steps: too many machines have edges
    /// between them.
    #[must_use]
    pub fn is_correction_incomplete(&self) -> bool {
        self.is_correction_incomplete
    }

    /// Returns the number of edges that go back in time between operations without a machine name. No clock can be
    /// corrected for them.
    #[must_use]
    pub fn backward_edges_without_machine(&self) -> u64 {
        let has_machine = |node: u32| !self.text(self.machine(node)).is_empty();
        let without = |(from, to): &(u32, u32)| !has_machine(*from) || !has_machine(*to);
        self.backward().map(|(from, to, _)| (from, to)).filter(without).count() as u64
    }

    /// Returns the edges whose effect is earlier than its cause: both nodes, and the difference in nanoseconds.
    fn backward(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        (0..self.len()).flat_map(move |node| {
            self.causes(node).iter().filter_map(move |edge| {
                let late = self.begin(edge.node)? - self.begin(node)?;
                (late > 0).then(|| (edge.node, node, u64::try_from(late).unwrap_or(u64::MAX)))
            })
        })
    }

    /// Returns the task's summary, with corrected clocks.
    #[must_use]
    pub fn summary(&self) -> Option<TaskSummary> {
        self.tasks.summary_of(self.task, self)
    }

    /// Returns `true` if a node has several causes.
    #[must_use]
    pub fn is_join(&self, node: u32) -> bool {
        let causes = self.causes(node);
        // Edges from the same node are adjacent.
        causes.first().zip(causes.last()).is_some_and(|(first, last)| first.node != last.node)
    }

    /// Returns the kind of the edge between two nodes, if there is one.
    #[must_use]
    pub fn edge(&self, from: u32, to: u32) -> Option<CauseKind> {
        let causes = self.causes(to);
        let found = causes.binary_search_by_key(&from, |edge| edge.node).ok()?;
        causes.get(found).map(|edge| edge.kind)
    }

    /// Returns the edges to a node from unknown operations.
    #[must_use]
    pub fn dangling_to(&self, node: u32) -> &[DanglingEdge] {
        let begin = self.dangling.partition_point(|edge| edge.to < node);
        let end = self.dangling.partition_point(|edge| edge.to <= node);
        self.dangling.get(begin..end).unwrap_or_default()
    }

    /// Returns the removed edges to a node that closed a cycle: from, to.
    #[must_use]
    pub fn cycles_to(&self, node: u32) -> &[(u32, u32)] {
        let begin = self.cycles.partition_point(|(_, to)| *to < node);
        let end = self.cycles.partition_point(|(_, to)| *to <= node);
        self.cycles.get(begin..end).unwrap_or_default()
    }
}

/// Returns the number of edges on the longest path to each node. Causes come before their effects.
fn depths(count: usize, causes: &Edges) -> Vec<u32> {
    let mut depths = vec![0u32; count];
    for node in 0..count as u32 {
        let above = causes.at(node).iter().filter_map(|edge| depths.get(edge.node as usize)).max();
        depths[node as usize] = above.map_or(0, |above| above + 1);
    }
    depths
}

/// Returns `true` if operations in different chains share identifiers.
fn shares_ids(tasks: &Tasks, members: &[u32]) -> bool {
    let operations = || members.iter().filter_map(|number| tasks.all.operations.get(*number as usize));
    if operations().all(|operation| operation.chain.number().is_none()) {
        return false;
    }
    let mut ids: Vec<Identifier> = operations().map(|operation| operation.id).collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair.first() == pair.last())
}

/// Returns nanoseconds to add to machine clocks, derived from the edges between members. `None` after too many steps.
fn clock_offsets(tasks: &Tasks, members: &[u32], effects: &Edges) -> Option<HashMap<u32, i128>> {
    if !tasks.corrects_clocks {
        return Some(HashMap::new());
    }
    let edges =
        (0..members.len() as u32).flat_map(|from| effects.at(from).iter().map(move |edge| (from, edge.node)));
    let operation = |node: u32| tasks.all.operations.get(*members.get(node as usize)? as usize);
    let messages = edges.clone().filter_map(|(from, to)| {
        let (cause, effect) = (operation(from)?, operation(to)?);
        let (from, to) = (tasks.machine(cause.place), tasks.machine(effect.place));
        let has_times = cause.begin != NO_TIME && effect.begin != NO_TIME;
        let late = i128::from(cause.begin) - i128::from(effect.begin);
        // Operations without a machine name may be on different machines.
        let are_named = [from, to].iter().all(|machine| !tasks.all.names.text(*machine).is_empty());
        (from != to && has_times && are_named).then_some(MachineEdge { from, to, late })
    });
    if !messages.clone().any(|message| message.late > 0) {
        return Some(HashMap::new());
    }
    // The clock of the first operation's machine is not moved.
    let effects: HashSet<u32> = edges.map(|(_, to)| to).collect();
    let roots = (0..members.len() as u32).filter(|node| !effects.contains(node)).filter_map(operation);
    let root = roots.filter(|root| root.begin != NO_TIME).min_by_key(|root| root.begin);
    clocks::offsets(root.map(|root| tasks.machine(root.place)), messages)
}

/// Returns the time of a task's first event with corrected clocks, in nanoseconds.
pub(super) fn corrected_begin(tasks: &Tasks, task: usize) -> Option<i128> {
    let members = tasks.members(task);
    let corrections = clock_offsets(tasks, members, &Edges::of_task(tasks, task)).unwrap_or_default();
    let operations = members.iter().filter_map(|number| tasks.all.operations.get(*number as usize));
    let begins = operations.map(|operation| (operation.place, operation.begin));
    let events = task_slice(&tasks.events, task).iter().map(|(_, event)| (event.place, event.time));
    let known = begins.chain(events).filter(|(_, time)| *time != NO_TIME);
    known.map(|(place, time)| i128::from(time) + tasks.correction(&corrections, place)).min()
}

/// Sorts nodes with causes first, otherwise by time. Returns the order, and the edges that close cycles.
fn sort(count: usize, effects: &Edges, time: impl Fn(u32) -> i128) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut waiting = vec![0u32; count];
    for edge in &effects.all {
        if let Some(waiting) = waiting.get_mut(edge.node as usize) {
            *waiting += 1;
        }
    }
    let cycles = find_cycles(count, effects, &waiting, &time);
    for (_, to) in &cycles {
        if let Some(waiting) = waiting.get_mut(*to as usize) {
            *waiting -= 1;
        }
    }
    let broken: HashSet<(u32, u32)> = cycles.iter().copied().collect();
    let mut ready: BinaryHeap<Reverse<(i128, u32)>> = (0..count as u32)
        .filter(|node| waiting.get(*node as usize) == Some(&0))
        .map(|node| Reverse((time(node), node)))
        .collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse((now, node))) = ready.pop() {
        order.push(node);
        for edge in effects.at(node) {
            if !broken.is_empty() && broken.contains(&(node, edge.node)) {
                continue;
            }
            let Some(waiting) = waiting.get_mut(edge.node as usize) else { continue };
            *waiting = waiting.saturating_sub(1);
            if *waiting == 0 {
                // A node without a time comes right after its last cause.
                let own = time(edge.node);
                ready.push(Reverse((if own == i128::MIN { now } else { own }, edge.node)));
            }
        }
    }
    (order, cycles)
}

/// Returns the edges that lead back to a node on the path to them, with duplicates.
fn find_cycles(
    count: usize,
    effects: &Edges,
    causes: &[u32],
    time: &impl Fn(u32) -> i128,
) -> Vec<(u32, u32)> {
    // Sorted nodes are not part of a cycle.
    let mut waiting = causes.to_vec();
    let mut ready: Vec<u32> =
        (0..count as u32).filter(|node| waiting.get(*node as usize) == Some(&0)).collect();
    let mut left = count;
    while let Some(node) = ready.pop() {
        left -= 1;
        for edge in effects.at(node) {
            let Some(waiting) = waiting.get_mut(edge.node as usize) else { continue };
            *waiting -= 1;
            if *waiting == 0 {
                ready.push(edge.node);
            }
        }
    }
    if left == 0 {
        return Vec::new();
    }
    let mut rest: Vec<u32> = (0..count as u32)
        .filter(|node| waiting.get(*node as usize).is_some_and(|waiting| *waiting > 0))
        .collect();
    rest.sort_by_key(|node| (time(*node), *node));
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let mut states = vec![State::New; count];
    let mut cycles = Vec::new();
    // Nodes on the path, each with the index of its next edge.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in rest {
        if states.get(root as usize) != Some(&State::New) {
            continue;
        }
        path.push((root, 0));
        states[root as usize] = State::OnPath;
        while let Some((node, next)) = path.last_mut() {
            let (from, edge) = (*node, effects.at(*node).get(*next).copied());
            *next += 1;
            let Some(edge) = edge else {
                states[from as usize] = State::Done;
                path.pop();
                continue;
            };
            match states.get(edge.node as usize) {
                Some(State::OnPath) => cycles.push((from, edge.node)),
                Some(State::New) => {
                    states[edge.node as usize] = State::OnPath;
                    path.push((edge.node, 0));
                }
                _ => {}
            }
        }
    }
    cycles
}
