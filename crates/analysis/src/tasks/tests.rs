use std::collections::HashSet;

use ichnos_model::meaning::{CauseKind, Chain, Identifier, Mention};
use ichnos_testing::{Random, cases};

use super::graph::TaskGraph;
use super::operations::{
    CollectedTasks, EventOrigin, IdScope, NONE, Naming, OpenEdge, Operation, OperationEdge, TaskEvent,
    TaskLink,
};
use super::{GraphFormat, TaskDiff, Tasks, join};
use crate::events::EventId;

fn id(number: u32) -> Identifier {
    Identifier::new(&(number + 1).to_be_bytes()).unwrap()
}

/// Adds an operation with `number` in its identifier. The event position counts the events before it.
fn add(all: &mut CollectedTasks, group: u32, number: u32, begin: i64, label: &str) -> u32 {
    let label = all.names.number(label.as_bytes());
    if all.places.is_empty() {
        all.places.push(EventOrigin { machine: label, text: label, tracer: label });
    }
    let event_id = all.event_ids.len() as u32;
    let event = EventId { stream: 0, time: begin.cast_unsigned(), position: event_id.into() };
    all.event_ids.push((event, 7));
    all.add(Operation {
        id: id(number),
        chain: Chain::UNKNOWN,
        events: 1,
        group,
        begin,
        end: begin,
        naming: Naming::Within,
        named_at: begin,
        label,
        place: 0,
        event_id,
        fingerprint: 0,
    })
}

fn open(from: u32, to: u32) -> OpenEdge {
    OpenEdge { from: id(from), chain: Chain::UNKNOWN, to, kind: CauseKind::Parent, is_of_other_task: false }
}

fn mention(task: Identifier, operation: Option<u32>) -> Mention {
    Mention { task, operation: operation.map(id), chain: Chain::UNKNOWN, is_certain: true }
}

fn next(from: u32, to: u32) -> OperationEdge {
    OperationEdge { from, to, kind: CauseKind::Predecessor }
}

/// Returns a name made of letters. Names that differ only in numbers are treated as equal.
fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// Creates one task with these edges. Its nodes start in order.
fn task(count: u32, edges: &[(u32, u32)]) -> Tasks {
    let mut all = CollectedTasks::default();
    let group = all.group(IdScope::Task(id(1_000)));
    for number in 0..count {
        add(&mut all, group, number, i64::from(number) * 10, &letters(number));
    }
    all.edges = edges.iter().map(|(from, to)| next(*from, *to)).collect();
    join::join(&mut all);
    Tasks::new(all, false)
}

/// Creates one task with these edges. `of` returns time and place of an operation.
pub(super) fn task_of(count: u32, edges: &[(u32, u32)], mut of: impl FnMut(u32) -> (i64, u32)) -> Tasks {
    let mut all = CollectedTasks::default();
    let group = all.group(IdScope::Task(id(1_000)));
    for number in 0..count {
        let (time, place) = of(number);
        while all.places.len() <= place as usize {
            let name = all.names.number(format!("place {}", all.places.len()).as_bytes());
            all.places.push(EventOrigin { machine: name, text: name, tracer: name });
        }
        let operation = add(&mut all, group, number, time, &letters(number));
        all.operations[operation as usize].place = place;
    }
    all.edges = edges.iter().map(|(from, to)| next(*from, *to)).collect();
    join::join(&mut all);
    Tasks::new(all, false)
}

fn drawing(graph: &TaskGraph<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for row in graph.lanes() {
        lines.extend(row.join_line());
        lines.push(row.node_line('o'));
        lines.extend(row.fork_line());
    }
    lines
}

#[test]
fn forks_and_joins_are_drawn() {
    let tasks = task(6, &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 5)]);
    let graph = tasks.graph(0);
    let expected = ["o", "├─┬─╮", "o │ │", "│ o │", "│ │ o", "├─╯ │", "o   │", "├───╯", "o"];
    assert_eq!(drawing(&graph), expected);
    assert_eq!((graph.len(), graph.edges(), graph.depth()), (6, 7, 3));
    assert_eq!(graph.critical_path(), [0, 2, 4, 5]);
}

#[test]
fn cycles_are_broken_and_reported() {
    let tasks = task(4, &[(0, 1), (1, 2), (2, 1), (2, 3), (3, 3)]);
    let graph = tasks.graph(0);
    assert_eq!((graph.len(), graph.edges(), graph.depth()), (4, 3, 3));
    assert_eq!(graph.cycles(), [(2, 1), (3, 3)]);
    assert_eq!(tasks.summary(0).unwrap().cycles, 2);
}

#[test]
fn edges_from_unknown_operations_dangle() {
    let mut all = CollectedTasks::default();
    let (one, other) = (all.group(IdScope::Task(id(1_000))), all.group(IdScope::Task(id(2_000))));
    let a = add(&mut all, one, 1, 0, "a");
    add(&mut all, other, 2, 0, "b");
    all.open_edges = vec![open(2, a), open(3, a)];
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    assert_eq!(tasks.len(), 2);
    let summary = tasks.summary(0).unwrap();
    assert_eq!((summary.missing.dangling, summary.missing.of_other_tasks, summary.roots), (2, 1, 1));
    // A unique prefix of an identifier is enough.
    assert_eq!(tasks.find("000003e9"), [0]);
    assert_eq!(tasks.find("0000").len(), 2);
}

/// Trace operations, with all their effects, join the task that one of them names.
#[test]
fn operations_of_traces_join_tasks() {
    let mut all = CollectedTasks::default();
    let long = Identifier::new(&[7; 20]).unwrap();
    let short = Identifier::new(&[7; 16]).unwrap();
    let task = all.group(IdScope::Task(long));
    let trace = all.group(IdScope::Trace(0));
    let client = add(&mut all, task, 1, 0, "client");
    let server = add(&mut all, trace, 2, 10, "server");
    let query = add(&mut all, trace, 3, 20, "query");
    let alone = add(&mut all, trace, 4, 30, "alone");
    all.edges.push(next(server, query));
    // In the other format, the task identifier has 16 bytes.
    all.links.push(TaskLink { operation: server, mention: mention(short, Some(1)) });
    all.mentioned.push((mention(short, Some(9)), EVENT));
    all.mentioned.push((mention(short, None), TaskEvent { time: 16, ..EVENT }));
    join::join(&mut all);
    let operations = all.operations.clone();
    assert_eq!(operations[server as usize].group, operations[client as usize].group);
    assert_eq!(operations[query as usize].group, operations[client as usize].group);
    assert_ne!(operations[alone as usize].group, operations[client as usize].group);
    let tasks = Tasks::new(all, false);
    let graph = tasks.graph(tasks.find(&long.to_string())[0]);
    // The operation that only an event's text names is included.
    assert_eq!((graph.len(), graph.edges(), graph.depth()), (4, 2, 2));
    assert_eq!(graph.joined_events().len(), 2);
    let named = graph.operation(2).unwrap();
    assert_eq!((named.begin, named.events), (15, 0));
}

/// A task with two identifier sizes in two traces has all operations, each once.
#[test]
fn operations_of_one_task_in_identifiers_of_two_sizes() {
    let mut all = CollectedTasks::default();
    let short = Identifier::new(&[7; 8]).unwrap();
    let long = Identifier::from_text(b"00000000000000000707070707070707").unwrap();
    // Identifiers with leading zeros keep their size.
    assert_eq!(long.as_bytes().len(), 16);
    let [here, there] = [short, long].map(|task| all.group(IdScope::Task(task)));
    let first = add(&mut all, here, 0, 100, "client");
    let second = add(&mut all, there, 1, 200, "server");
    add(&mut all, here, 1, 190, "accepted");
    let third = add(&mut all, here, 2, 300, "answer");
    // Two edges name operations with the other identifier size, and one names an unknown operation.
    all.open_edges = vec![open(0, second), open(1, third), open(9, first)];
    all.mentioned.push((mention(short, Some(0)), TaskEvent { time: 150, ..EVENT }));
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    assert_eq!(tasks.len(), 1);
    let graph = tasks.graph(0);
    assert_eq!((graph.len(), graph.edges(), graph.depth(), graph.dangling().len()), (3, 2, 2, 1));
    let labels: Vec<_> =
        (0..3).map(|node| graph.member(node).unwrap()).map(|node| (node.label, node.events)).collect();
    assert_eq!(labels, [(&b"client"[..], 1), (b"accepted", 2), (b"answer", 1)]);
    assert_eq!((graph.begin(1), graph.end(1)), (Some(190), Some(200)));
    let joined: Vec<_> = graph.joined_events().iter().map(|(node, event)| (*node, event.time)).collect();
    assert_eq!(joined, [(0, Some(150)), (1, Some(200))]);
    // The merged operation has its start event.
    let position = |event: Option<EventId>| event.map(|event| event.position);
    let firsts: Vec<_> = (0..3).map(|node| position(graph.member(node).unwrap().event)).collect();
    let joined: Vec<_> = graph.joined_events().iter().map(|(_, event)| position(event.event)).collect();
    assert_eq!((firsts, joined), (vec![Some(0), Some(2), Some(3)], vec![None, Some(1)]));
}

/// Events that differ only in time stay distinct when their operations are merged.
#[test]
fn events_of_merged_operations_can_have_the_same_text() {
    let mut all = CollectedTasks::default();
    let short = Identifier::new(&[7; 8]).unwrap();
    let long = Identifier::from_text(b"00000000000000000707070707070707").unwrap();
    for (task, time) in [(short, 200), (long, 190), (short, 210)] {
        let group = all.group(IdScope::Task(task));
        add(&mut all, group, 0, time, "call");
    }
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    let graph = tasks.graph(0);
    let time = |event: Option<EventId>| event.unwrap().time;
    assert_eq!((graph.len(), graph.begin(0), time(graph.member(0).unwrap().event)), (1, Some(190), 190));
    let joined: Vec<_> =
        graph.joined_events().iter().map(|(_, event)| (event.time.unwrap(), time(event.event))).collect();
    assert_eq!(joined, [(200, 200), (210, 210)]);
}

/// The start event names an operation, even if other events of the operation came earlier.
#[test]
fn operations_are_named_after_their_start_event() {
    use Naming::{Begin, CausedBegin, Within};
    let named = |events: &[(i64, Naming)]| {
        let mut all = CollectedTasks::default();
        let group = all.group(IdScope::Task(id(1_000)));
        for (time, naming) in events {
            let number = add(&mut all, group, 0, *time, &format!("{naming:?}")) as usize;
            all.operations[number].naming = *naming;
        }
        join::join(&mut all);
        let tasks = Tasks::new(all, false);
        let graph = tasks.graph(0);
        let member = graph.member(0).unwrap();
        assert_eq!((graph.len(), member.events as usize, member.track), (1, events.len(), Some(7)));
        let label = String::from_utf8_lossy(member.label).into_owned();
        assert_eq!(tasks.summary(0).unwrap().title, label);
        let joined: Vec<_> = graph.joined_events().iter().filter_map(|(_, event)| event.time).collect();
        (label, member.event.unwrap().time, graph.begin(0).unwrap(), joined)
    };
    let name =
        |label: &str, at: u64, begin: i128, joined: &[i128]| (label.to_owned(), at, begin, joined.to_vec());
    assert_eq!(named(&[(5, Within), (9, Begin)]), name("Begin", 9, 5, &[5]));
    assert_eq!(named(&[(9, Begin), (5, Within)]), name("Begin", 9, 5, &[5]));
    assert_eq!(named(&[(8, Begin), (6, Begin), (7, Begin)]), name("Begin", 6, 6, &[7, 8]));
    let events = [(5, Within), (6, Begin), (9, CausedBegin), (7, Begin), (12, CausedBegin)];
    assert_eq!(named(&events), name("CausedBegin", 9, 5, &[5, 6, 7, 12]));
    assert_eq!(named(&[(8, Within), (6, Within)]), name("Within", 6, 6, &[8]));
}

/// Causes come first, nothing is lost, and the drawing has all edges.
#[test]
fn random_graphs() {
    cases(200, |random: &mut Random| {
        let count = 1 + random.below(60) as u32;
        let edges: Vec<(u32, u32)> = (0..random.below(150))
            .map(|_| (random.below(count.into()) as u32, random.below(count.into()) as u32))
            .collect();
        let tasks = task(count, &edges);
        let graph = tasks.graph(0);
        assert_eq!(graph.len(), count);
        let distinct: HashSet<_> = edges.iter().collect();
        assert_eq!(graph.edges() + graph.cycles().len(), distinct.len());
        let nodes: HashSet<_> = (0..count).map(|node| graph.member(node).unwrap().id).collect();
        assert_eq!(nodes.len(), count as usize);
        for node in 0..count {
            assert!(graph.causes(node).iter().all(|edge| edge.node < node));
            assert!(graph.effects(node).iter().all(|edge| edge.node > node));
        }
        let rows = graph.lanes();
        let drawn: usize = rows.iter().map(|row| row.edges.len() + row.undrawn_causes.len()).sum();
        assert_eq!(drawn, graph.edges());
        // A lane has one edge at a time: at a node, its lane leads to it or is free.
        for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
            let used = |row: &Vec<bool>| row.iter().filter(|is_used| **is_used).count();
            assert_eq!(used(&row.below), used(&next.above));
        }
        assert!(rows.last().unwrap().below.is_empty());
        for format in [GraphFormat::Dot, GraphFormat::Svg(None), GraphFormat::Json] {
            let mut text = Vec::new();
            graph.write(format, &mut text).unwrap();
            if format == GraphFormat::Json {
                let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
                assert_eq!(json["edges"].as_array().unwrap().len(), graph.edges());
            }
        }
        // A task equals itself.
        let diff = TaskDiff::new(&graph, &tasks.graph(0));
        assert!(diff.is_same_structure());
        assert_eq!(diff.same_history, count as usize);
    });
}

#[test]
fn differences_are_found() {
    let tasks = [task(4, &[(0, 1), (1, 2), (2, 3)]), task(5, &[(0, 1), (1, 2), (2, 3), (2, 4)])];
    let [first, second] = [tasks[0].graph(0), tasks[1].graph(0)];
    let diff = TaskDiff::new(&first, &second);
    assert_eq!((diff.matched.len(), diff.same_history), (4, 4));
    assert_eq!((diff.removed.len(), &diff.added[..], diff.edges), (0, &[4][..], [3, 0, 1]));
    assert_eq!((diff.steps[0].label.as_slice(), diff.steps[0].change()), (&b"e"[..], 20));
}

#[test]
fn clocks_are_moved_to_the_middle() {
    let mut all = CollectedTasks::default();
    let group = all.group(IdScope::Task(id(1_000)));
    let places: Vec<u32> = (0..2).map(|machine| all.names.number(&[b'A' + machine])).collect();
    all.places =
        places.iter().map(|name| EventOrigin { machine: *name, text: *name, tracer: *name }).collect();
    // The clock of the second machine is 100 slow.
    for (number, begin, place) in [(0, 1_000, 0), (1, 910, 1), (2, 930, 1), (3, 1_040, 0)] {
        let operation = add(&mut all, group, number, begin, "x");
        all.operations[operation as usize].place = place;
    }
    all.edges = vec![next(0, 1), next(1, 2), next(2, 3)];
    join::join(&mut all);
    let mut tasks = Tasks::new(all, false);
    assert_eq!(tasks.graph(0).backward_edges(), (1, 90));
    tasks.corrects_clocks = true;
    let graph = tasks.graph(0);
    assert_eq!(graph.backward_edges(), (0, 0));
    // It is between 90 and 110 slow.
    let begins: Vec<_> = (0..4).map(|node| graph.begin(node).unwrap()).collect();
    assert_eq!(begins, [1_000, 1_010, 1_030, 1_040]);
    // Event identifiers keep the trace's times.
    let events: Vec<_> = (0..4).map(|node| graph.member(node).unwrap().event.unwrap().time).collect();
    assert_eq!(events, [1_000, 910, 930, 1_040]);
    assert_eq!(graph.clock_corrections(), [(&b"B"[..], 100)]);
    let summary = tasks.summary(0).unwrap();
    assert_eq!(
        (summary.clocks.corrected, summary.clocks.most_corrected, summary.clocks.backward),
        (1, 100, 0)
    );
}

const EVENT: TaskEvent = TaskEvent {
    operation: NONE,
    group: NONE,
    time: 15,
    label: 0,
    place: 0,
    event_id: NONE,
    is_mention: true,
};

/// A trace operation is found by its identifier after it has joined a task.
#[test]
fn joined_operations_are_found_again() {
    let mut all = CollectedTasks::default();
    let trace = all.group(IdScope::Trace(0));
    let one = add(&mut all, trace, 1, 0, "one");
    all.links.push(TaskLink { operation: one, mention: mention(id(1_000), None) });
    all.mentioned.push((mention(id(1_000), Some(1)), EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    assert_eq!((tasks.len(), tasks.graph(0).len()), (1, 1));
}

/// An edge and a text that name the same operation share it.
#[test]
fn named_operations_are_causes() {
    let mut all = CollectedTasks::default();
    let group = all.group(IdScope::Task(id(1_000)));
    let one = add(&mut all, group, 1, 20, "one");
    all.open_edges.push(open(2, one));
    all.mentioned.push((mention(id(1_000), Some(2)), EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    let summary = tasks.summary(0).unwrap();
    assert_eq!(
        (summary.nodes, summary.edges, summary.missing.dangling, summary.missing.unreported),
        (2, 1, 0, 1)
    );
}

/// The same task with 16-byte and 20-byte identifiers has each operation once.
#[test]
fn operations_of_one_task_are_merged() {
    let mut all = CollectedTasks::default();
    let long = all.group(IdScope::Task(Identifier::new(&[7; 20]).unwrap()));
    let short = all.group(IdScope::Task(Identifier::new(&[7; 16]).unwrap()));
    add(&mut all, long, 1, 10, "one");
    add(&mut all, short, 1, 5, "the same");
    let two = add(&mut all, short, 2, 20, "two");
    let three = add(&mut all, long, 3, 30, "three");
    all.open_edges.push(open(2, three));
    all.edges.push(next(1, two));
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    let graph = tasks.graph(0);
    assert_eq!((tasks.len(), graph.len(), graph.edges(), graph.dangling().len()), (1, 3, 2, 0));
    assert_eq!(graph.member(0).unwrap().label, b"the same");
}

/// An operation belongs to a task that only texts name by the same identifier.
#[test]
fn operations_that_are_tasks() {
    let mut all = CollectedTasks::default();
    let trace = all.group(IdScope::Trace(0));
    let task = Identifier::new(&[9; 16]).unwrap();
    let label = all.names.number(b"x");
    all.places.push(EventOrigin { machine: label, text: label, tracer: label });
    let operation = Operation {
        id: task,
        chain: Chain::UNKNOWN,
        events: 1,
        group: trace,
        begin: 0,
        end: 0,
        naming: Naming::Within,
        named_at: 0,
        label,
        place: 0,
        event_id: NONE,
        fingerprint: 0,
    };
    all.add(operation);
    all.mentioned.push((mention(task, None), EVENT));
    // This may be an unrelated number.
    all.mentioned
        .push((Mention { task: id(5), operation: None, chain: Chain::UNKNOWN, is_certain: false }, EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    assert_eq!(
        (tasks.len(), tasks.in_order(false, || false).len(), tasks.in_order(true, || false).len()),
        (2, 1, 2)
    );
    assert_eq!(tasks.summary(tasks.in_order(false, || false)[0]).unwrap().mentions, 1);
}

/// Drawings with many roots that lead to one operation are not wide.
#[test]
fn lanes_are_bounded() {
    let count = 3_000;
    let edges: Vec<(u32, u32)> = (0..count - 1).map(|root| (root, count - 1)).collect();
    let tasks = task(count, &edges);
    let rows = tasks.graph(0).lanes();
    assert!(rows.iter().all(|row| row.above.len() <= 32));
    let drawn: usize = rows.iter().map(|row| row.edges.len()).sum();
    assert_eq!(drawn + rows.last().unwrap().undrawn_causes.len(), edges.len());
}

/// Adds an operation in a chain.
fn add_in_chain(all: &mut CollectedTasks, group: u32, number: u32, chain: Chain) -> u32 {
    let added = add(all, group, number + 10_000, i64::from(number), "x");
    let operation = Operation { id: id(number), chain, ..all.operations[added as usize] };
    all.operations.truncate(added as usize);
    all.add(operation)
}

/// Operations in different chains can have the same identifier.
#[test]
fn identifiers_are_unique_within_chains() {
    let chain = Chain::new;
    let mut all = CollectedTasks::default();
    let group = all.group(IdScope::Task(id(1_000)));
    let root = add_in_chain(&mut all, group, 1, Chain::NONE);
    let one = add_in_chain(&mut all, group, 2, chain(1));
    let two = add_in_chain(&mut all, group, 2, chain(2));
    let join = add_in_chain(&mut all, group, 3, chain(3));
    let of = |from: u32, chain: Chain, to: u32| OpenEdge { chain, ..open(from, to) };
    all.open_edges = vec![
        // The cause lacks a chain, so the effect's chain is assumed. Only one operation has the identifier.
        of(1, chain(1), one),
        of(1, chain(2), two),
        of(2, chain(1), join),
        of(2, chain(2), join),
        // Two operations have this identifier, in other chains.
        of(2, chain(3), join),
        // An operation must not be its own cause.
        of(1, chain(7), root),
    ];
    // The first mention lacks a chain, but only one operation has its identifier. The second names a chain.
    let anything = Mention { chain: Chain::UNKNOWN, ..mention(id(1_000), Some(1)) };
    all.mentioned.push((anything, EVENT));
    all.mentioned.push((Mention { operation: Some(id(2)), chain: chain(2), ..anything }, EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    let graph = tasks.graph(0);
    assert_eq!((graph.len(), graph.edges(), graph.dangling().len()), (4, 4, 2));
    let names: Vec<_> = (0..4).map(|node| graph.operation_name(node)).collect();
    assert_eq!(names, ["00000002", "00000003/0001", "00000003/0002", "00000004/0003"]);
    let joined: Vec<_> = graph.joined_events().iter().map(|(node, _)| *node).collect();
    assert_eq!(joined, [0, 2]);
}

/// An operation without a chain is merged if only one other operation has its identifier.
#[test]
fn operations_of_unknown_chains() {
    let mut all = CollectedTasks::default();
    let group = all.group(IdScope::Task(id(1_000)));
    add_in_chain(&mut all, group, 1, Chain::UNKNOWN);
    add_in_chain(&mut all, group, 1, Chain::new(5));
    add_in_chain(&mut all, group, 2, Chain::new(5));
    add_in_chain(&mut all, group, 2, Chain::new(6));
    let two = add_in_chain(&mut all, group, 2, Chain::UNKNOWN);
    all.open_edges.push(OpenEdge { chain: Chain::UNKNOWN, ..open(1, two) });
    join::join(&mut all);
    let tasks = Tasks::new(all, false);
    let graph = tasks.graph(0);
    assert_eq!((graph.len(), graph.edges(), graph.dangling().len()), (4, 1, 0));
    let events: Vec<_> = (0..4).map(|node| graph.member(node).unwrap().events).collect();
    assert_eq!(events, [2, 1, 1, 1]);
}

/// Operations of a task on several machines, with their true times: machine, time in nanoseconds.
#[derive(Default)]
struct Calls {
    operations: Vec<(usize, i64)>,
    edges: Vec<(u32, u32)>,
}

impl Calls {
    fn push(&mut self, machine: usize, time: i64, causes: &[u32]) -> u32 {
        self.operations.push((machine, time));
        let number = self.operations.len() as u32 - 1;
        self.edges.extend(causes.iter().map(|cause| (*cause, number)));
        number
    }

    /// Adds a machine's work for a caller, with simultaneous calls to other machines. Returns its last operation.
    fn serve(
        &mut self,
        random: &mut Random,
        machines: usize,
        machine: usize,
        cause: Option<u32>,
        depth: u32,
    ) -> u32 {
        let delay = |random: &mut Random| 1_000_000 + random.below(200_000) as i64;
        let work = |random: &mut Random| 5_000_000 + random.below(50_000_000) as i64;
        let begin = cause.map_or(0, |cause| self.operations[cause as usize].1 + delay(random));
        let mut last = self.push(machine, begin, cause.as_slice());
        for _ in 0..random.below(3) + u64::from(depth == 0) {
            let time = self.operations[last as usize].1 + work(random);
            last = self.push(machine, time, &[last]);
            if depth == 3 {
                continue;
            }
            let servers = 1 + random.below(3);
            let answers: Vec<u32> = (0..servers)
                .map(|_| {
                    let other = (machine + 1 + random.below(machines as u64 - 1) as usize) % machines;
                    self.serve(random, machines, other, Some(last), depth + 1)
                })
                .collect();
            let arrived = answers.iter().map(|answer| self.operations[*answer as usize].1).max().unwrap();
            last = self.push(machine, arrived + delay(random), &answers);
        }
        last
    }

    /// Returns `true` if causes are so close that a delay difference matters.
    fn is_close(&self) -> bool {
        (0..self.operations.len() as u32).any(|node| {
            let causes = self.edges.iter().filter(|(_, to)| *to == node);
            let mut times: Vec<i64> = causes.map(|(from, _)| self.operations[*from as usize].1).collect();
            times.sort_unstable();
            times.last_chunk().is_some_and(|[before, last]| last - before < 1_000_000)
        })
    }

    /// Creates the task, with clocks off by `skews`.
    fn tasks(&self, skews: &[i64], corrects_clocks: bool) -> Tasks {
        let mut all = CollectedTasks::default();
        let group = all.group(IdScope::Task(id(1_000_000)));
        let names: Vec<u32> =
            (0..skews.len() as u32).map(|name| all.names.number(letters(name).as_bytes())).collect();
        all.places =
            names.iter().map(|name| EventOrigin { machine: *name, text: *name, tracer: *name }).collect();
        for ((machine, time), number) in self.operations.iter().zip(0..) {
            let operation = add(&mut all, group, number, time + skews[*machine], "x");
            all.operations[operation as usize].place = *machine as u32;
        }
        all.edges = self.edges.iter().map(|(from, to)| next(*from, *to)).collect();
        join::join(&mut all);
        Tasks::new(all, corrects_clocks)
    }
}

/// The critical path through random calls is right even if machine clocks are wrong by up to a second.
#[test]
fn paths_do_not_depend_on_clocks() {
    let path = |tasks: &Tasks| -> Vec<Identifier> {
        let graph = tasks.graph(0);
        graph.critical_path().into_iter().map(|node| graph.member(node).unwrap().id).collect()
    };
    let (mut wrong, mut compared) = (0, 0);
    cases(200, |random: &mut Random| {
        let machines = 2 + random.below(5) as usize;
        let mut calls = Calls::default();
        calls.serve(random, machines, 0, None, 0);
        if calls.is_close() {
            return;
        }
        let right = vec![0; machines];
        let truth = calls.tasks(&right, false);
        // Correct clocks are not moved.
        let corrected = calls.tasks(&right, true);
        assert!(corrected.graph(0).clock_corrections().is_empty());
        assert_eq!(path(&corrected), path(&truth));
        let skews: Vec<i64> =
            (0..machines).map(|_| random.below(2_000_000_000) as i64 - 1_000_000_000).collect();
        let skewed = calls.tasks(&skews, true);
        assert_eq!(path(&skewed), path(&truth));
        assert_eq!(skewed.graph(0).backward_edges(), (0, 0));
        compared += 1;
        wrong += u32::from(path(&calls.tasks(&skews, false)) != path(&truth));
    });
    // Without correction, most paths are wrong.
    assert!(compared > 50 && wrong > compared / 2, "{wrong} of {compared}");
}
