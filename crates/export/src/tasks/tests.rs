use std::collections::HashSet;

use ichnos_model::{CauseKind, Identifier, Mention};
use ichnos_testing::{Random, cases};

use super::graph::TaskGraph;
use super::operations::{Collected, Edge, Group, Link, NONE, OpenEdge, Operation, Place, TaskEvent};
use super::{GraphFormat, TaskDiff, Tasks, join};

fn id(number: u32) -> Identifier {
    Identifier::new(&(number + 1).to_be_bytes()).unwrap()
}

/// Adds an operation whose number is part of its identifier.
fn add(all: &mut Collected, group: u32, number: u32, begin: i64, label: &str) -> u32 {
    let label = all.names.number(label.as_bytes());
    if all.places.is_empty() {
        all.places.push(Place { machine: label, text: label });
    }
    all.add(Operation {
        id: id(number),
        events: 1,
        group,
        begin,
        end: begin,
        label,
        place: 0,
        fingerprint: 0,
    })
}

fn open(from: u32, to: u32) -> OpenEdge {
    OpenEdge { from: id(from), to, kind: CauseKind::Parent, is_of_other_task: false }
}

fn mention(task: Identifier, operation: Option<u32>) -> Mention {
    Mention { task, operation: operation.map(id), is_certain: true }
}

fn next(from: u32, to: u32) -> Edge {
    Edge { from, to, kind: CauseKind::Predecessor }
}

/// A name of letters: names that differ in numbers only are alike.
fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// The tasks of one with these edges, whose nodes begin one after the other.
fn task(count: u32, edges: &[(u32, u32)]) -> Tasks {
    let mut all = Collected::default();
    let group = all.group(Group::Task(id(1_000)));
    for number in 0..count {
        add(&mut all, group, number, i64::from(number) * 10, &letters(number));
    }
    all.edges = edges.iter().map(|(from, to)| next(*from, *to)).collect();
    join::join(&mut all);
    Tasks::new(all)
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
fn edges_from_what_is_not_known_dangle() {
    let mut all = Collected::default();
    let (one, other) = (all.group(Group::Task(id(1_000))), all.group(Group::Task(id(2_000))));
    let a = add(&mut all, one, 1, 0, "a");
    add(&mut all, other, 2, 0, "b");
    all.open_edges = vec![open(2, a), open(3, a)];
    join::join(&mut all);
    let tasks = Tasks::new(all);
    assert_eq!(tasks.len(), 2);
    let summary = tasks.summary(0).unwrap();
    assert_eq!((summary.dangling, summary.of_other_tasks, summary.roots), (2, 1, 1));
    // The beginning of an identifier is enough if no other one has it.
    assert_eq!(tasks.find("000003e9"), [0]);
    assert_eq!(tasks.find("0000").len(), 2);
}

/// Operations of a trace join the task that one of them names, and so do all that these caused.
#[test]
fn operations_of_traces_join_tasks() {
    let mut all = Collected::default();
    let long = Identifier::new(&[7; 20]).unwrap();
    let short = Identifier::new(&[7; 16]).unwrap();
    let task = all.group(Group::Task(long));
    let trace = all.group(Group::Trace(0));
    let client = add(&mut all, task, 1, 0, "client");
    let server = add(&mut all, trace, 2, 10, "server");
    let query = add(&mut all, trace, 3, 20, "query");
    let alone = add(&mut all, trace, 4, 30, "alone");
    all.edges.push(next(server, query));
    // Its identifier has 16 bytes in the other format.
    all.links.push(Link { operation: server, mention: mention(short, Some(1)) });
    let event = TaskEvent { operation: NONE, group: NONE, time: 15, label: 0, place: 0, is_mention: true };
    all.mentioned.push((mention(short, Some(9)), event));
    all.mentioned.push((mention(short, None), TaskEvent { time: 16, ..event }));
    join::join(&mut all);
    let operations = all.operations.clone();
    assert_eq!(operations[server as usize].group, operations[client as usize].group);
    assert_eq!(operations[query as usize].group, operations[client as usize].group);
    assert_ne!(operations[alone as usize].group, operations[client as usize].group);
    let tasks = Tasks::new(all);
    let graph = tasks.graph(tasks.find(&long.to_string())[0]);
    // The operation that only the text of an event names is one, too.
    assert_eq!((graph.len(), graph.edges(), graph.depth()), (4, 2, 2));
    assert_eq!(graph.joined_events().len(), 2);
    let named = graph.operation(2).unwrap();
    assert_eq!((named.begin, named.events), (15, 0));
}

/// A task whose identifier has another size in another trace has the operations of both, each once.
#[test]
fn operations_of_one_task_in_identifiers_of_two_sizes() {
    let mut all = Collected::default();
    let short = Identifier::new(&[7; 8]).unwrap();
    let long = Identifier::of_text(b"00000000000000000707070707070707").unwrap();
    // Identifiers of zeros in front keep their size.
    assert_eq!(long.as_bytes().len(), 16);
    let [here, there] = [short, long].map(|task| all.group(Group::Task(task)));
    let first = add(&mut all, here, 0, 100, "client");
    let second = add(&mut all, there, 1, 200, "server");
    add(&mut all, here, 1, 190, "accepted");
    let third = add(&mut all, here, 2, 300, "answer");
    // Each names an operation that the other size has, and one names what is not known.
    all.open_edges = vec![open(0, second), open(1, third), open(9, first)];
    all.mentioned.push((mention(short, Some(0)), TaskEvent { time: 150, ..EVENT }));
    join::join(&mut all);
    let tasks = Tasks::new(all);
    assert_eq!(tasks.len(), 1);
    let graph = tasks.graph(0);
    assert_eq!((graph.len(), graph.edges(), graph.depth(), graph.dangling().len()), (3, 2, 2, 1));
    let labels: Vec<_> =
        (0..3).map(|node| graph.member(node).unwrap()).map(|node| (node.label, node.events)).collect();
    assert_eq!(labels, [(&b"client"[..], 1), (b"accepted", 2), (b"answer", 1)]);
    assert_eq!((graph.begin(1), graph.end(1)), (Some(190), Some(200)));
    let joined: Vec<_> = graph.joined_events().iter().map(|(node, event)| (*node, event.time)).collect();
    assert_eq!(joined, [(0, Some(150)), (1, Some(200))]);
}

/// Whatever the edges are, causes come first, nothing is lost, and the drawing has all edges.
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
        // No two edges in one lane at a time: where a node is, its lane leads to it or is free.
        for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
            let used = |row: &Vec<bool>| row.iter().filter(|is_used| **is_used).count();
            assert_eq!(used(&row.below), used(&next.above));
        }
        assert!(rows.last().unwrap().below.is_empty());
        for format in [GraphFormat::Dot, GraphFormat::Svg, GraphFormat::Json] {
            let mut text = Vec::new();
            graph.write(format, &mut text).unwrap();
            if format == GraphFormat::Json {
                let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
                assert_eq!(json["edges"].as_array().unwrap().len(), graph.edges());
            }
        }
        // A task is the same as itself.
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
fn clocks_are_moved_as_far_as_it_takes() {
    let mut all = Collected::default();
    let group = all.group(Group::Task(id(1_000)));
    let places: Vec<u32> = (0..2).map(|machine| all.names.number(&[b'A' + machine])).collect();
    all.places = places.iter().map(|name| Place { machine: *name, text: *name }).collect();
    // The clock of the second machine is 100 behind.
    for (number, begin, place) in [(0, 1_000, 0), (1, 910, 1), (2, 930, 1), (3, 1_040, 0)] {
        let operation = add(&mut all, group, number, begin, "x");
        all.operations[operation as usize].place = place;
    }
    all.edges = vec![next(0, 1), next(1, 2), next(2, 3)];
    join::join(&mut all);
    let tasks = Tasks::new(all);
    let mut graph = tasks.graph(0);
    assert_eq!(graph.backward_edges(), (1, 90));
    assert!(graph.correct_clocks());
    assert_eq!(graph.backward_edges(), (0, 0));
    let begins: Vec<_> = (0..4).map(|node| graph.begin(node).unwrap()).collect();
    assert_eq!(begins, [1_000, 1_000, 1_020, 1_040]);
}

const EVENT: TaskEvent =
    TaskEvent { operation: NONE, group: NONE, time: 15, label: 0, place: 0, is_mention: true };

/// An operation of a trace is found by its identifier after it has joined a task.
#[test]
fn joined_operations_are_found_again() {
    let mut all = Collected::default();
    let trace = all.group(Group::Trace(0));
    let one = add(&mut all, trace, 1, 0, "one");
    all.links.push(Link { operation: one, mention: mention(id(1_000), None) });
    all.mentioned.push((mention(id(1_000), Some(1)), EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all);
    assert_eq!((tasks.len(), tasks.graph(0).len()), (1, 1));
}

/// What an edge and a text name is one operation.
#[test]
fn named_operations_are_causes() {
    let mut all = Collected::default();
    let group = all.group(Group::Task(id(1_000)));
    let one = add(&mut all, group, 1, 20, "one");
    all.open_edges.push(open(2, one));
    all.mentioned.push((mention(id(1_000), Some(2)), EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all);
    let summary = tasks.summary(0).unwrap();
    assert_eq!((summary.nodes, summary.edges, summary.dangling, summary.unreported), (2, 1, 0, 1));
}

/// The same task with identifiers of 16 and of 20 bytes has each operation once.
#[test]
fn operations_of_one_task_are_merged() {
    let mut all = Collected::default();
    let long = all.group(Group::Task(Identifier::new(&[7; 20]).unwrap()));
    let short = all.group(Group::Task(Identifier::new(&[7; 16]).unwrap()));
    add(&mut all, long, 1, 10, "one");
    add(&mut all, short, 1, 5, "the same");
    let two = add(&mut all, short, 2, 20, "two");
    let three = add(&mut all, long, 3, 30, "three");
    all.open_edges.push(open(2, three));
    all.edges.push(next(1, two));
    join::join(&mut all);
    let tasks = Tasks::new(all);
    let graph = tasks.graph(0);
    assert_eq!((tasks.len(), graph.len(), graph.edges(), graph.dangling().len()), (1, 3, 2, 0));
    assert_eq!(graph.member(0).unwrap().label, b"the same");
}

/// An operation whose identifier is that of a task which only texts name belongs to it.
#[test]
fn operations_that_are_tasks() {
    let mut all = Collected::default();
    let trace = all.group(Group::Trace(0));
    let task = Identifier::new(&[9; 16]).unwrap();
    let label = all.names.number(b"x");
    all.places.push(Place { machine: label, text: label });
    let operation =
        Operation { id: task, events: 1, group: trace, begin: 0, end: 0, label, place: 0, fingerprint: 0 };
    all.add(operation);
    all.mentioned.push((mention(task, None), EVENT));
    // This may be a number that has nothing to do with it.
    all.mentioned.push((Mention { task: id(5), operation: None, is_certain: false }, EVENT));
    join::join(&mut all);
    let tasks = Tasks::new(all);
    assert_eq!((tasks.len(), tasks.summaries(false).len(), tasks.summaries(true).len()), (2, 1, 2));
    assert_eq!(tasks.summaries(false)[0].mentions, 1);
}

/// Drawings of many roots that lead to one operation are not wide.
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
