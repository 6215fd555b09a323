//! Generated tasks, written in both dialects and read back. Graphs, keys and order stay the same.

use std::fmt::Write as _;

use ichnos_model::cursor::StreamCursor as _;
use ichnos_model::{Event, Message, Scope, Window};
use ichnos_testing::{Random, cases};
use ichnos_xtrace::report::ReportWriter;
use ichnos_xtrace::{Metadata, OpId, TaskId};

use crate::reader::{Values, grouped, lines_of};
use crate::reports::{Lines, random_json};
use crate::support::{bytes, hex, task};
use crate::written::{events, losses, open, write};

/// A graph node: members of the operation's contexts with values.
type Node = Vec<(String, String)>;

/// A task with its expected graph and its reports.
#[derive(Default)]
struct Generated {
    nodes: Vec<Node>,
    reports: Vec<Lines>,
}

/// A relation to an earlier operation.
struct Relation {
    op: Vec<u8>,
    /// Index by context order: parent, predecessor, return.
    kind: usize,
    chain: Option<u16>,
}

const KINDS: [&str; 3] = ["parents", "predecessors", "returns"];

/// Task identifiers.
struct Ids {
    task: TaskId,
    ops: Vec<Vec<u8>>,
    /// `true` if reports have the keys of later servers instead of metadata.
    are_decimal: bool,
}

impl Ids {
    fn random(random: &mut Random) -> Self {
        let are_decimal = random.percent(20);
        let length = if are_decimal { 8 } else { random.pick(OpId::LENGTHS) };
        let mut ops: Vec<Vec<u8>> = Vec::new();
        for number in 0..1 + random.index(14) as u32 {
            let mut op = bytes(random, length - 2);
            op.extend((number as u16 + 1).to_be_bytes());
            ops.push(op);
        }
        let mut task = task(random);
        while !task.is_valid() {
            task = self::task(random);
        }
        Self { task, ops, are_decimal }
    }

    /// Returns metadata for an operation, in any version and with any options, and its chain.
    fn metadata(&self, random: &mut Random, op: &[u8]) -> (String, Option<u16>) {
        let mut metadata = Metadata::new(self.task, OpId::from_bytes(op).unwrap());
        if random.percent(30)
            && let Some(version_0) = metadata.clone().with_version_0()
        {
            metadata = version_0;
        }
        let chain = random.percent(30).then(|| random.number() as u16);
        if let Some(chain) = chain {
            metadata.push_option(0xC1, &chain.to_be_bytes()).unwrap();
        }
        if random.percent(20) {
            let length = random.index(60);
            metadata.push_option(200, &bytes(random, length)).unwrap();
        }
        let text = metadata.to_string();
        (if random.percent(30) { text.to_lowercase() } else { text }, chain)
    }
}

/// Returns a time in any notation that reports use.
fn timestamp(random: &mut Random) -> String {
    let seconds = 1_000_000_000 + random.below(1 << 31);
    let nanoseconds = random.below(1_000_000_000);
    match random.index(8) {
        0 => format!("{seconds}"),
        1 => format!("{seconds}.{:03}", nanoseconds / 1_000_000),
        2 => format!("{seconds}.{nanoseconds:09}"),
        3 => format!("{seconds}.{nanoseconds:09}123"),
        4 => format!("{seconds}{:03}", nanoseconds / 1_000_000),
        5 => format!("{seconds}{:06}", nanoseconds / 1_000),
        6 => format!("{seconds}{nanoseconds:09}"),
        _ => format!("{seconds}.{:03}[sent]", nanoseconds / 1_000_000),
    }
}

/// Returns a key or a value that is difficult to write, or empty.
fn text(random: &mut Random) -> Vec<u8> {
    let pieces = random.index(5);
    text_of(random, pieces)
}

/// Returns a long value.
fn long_text(random: &mut Random) -> Vec<u8> {
    let pieces = random.index(4_000);
    text_of(random, pieces)
}

fn text_of(random: &mut Random, pieces: usize) -> Vec<u8> {
    const PIECES: [&str; 18] = [
        "a",
        "Label",
        " ",
        "\n",
        "\r\n",
        "\n\n",
        ":",
        ": ",
        "\\",
        "\\n",
        "\\x3A",
        "\"",
        "\t",
        "\0",
        "\u{e4}",
        "\u{20AC}",
        "\u{1F600}",
        "X-Trace Report ver 1.0",
    ];
    (0..pieces).flat_map(|_| random.pick(&PIECES).bytes()).collect()
}

/// Returns lines that do not affect the graph, some with the same key.
fn other_lines(random: &mut Random) -> Lines {
    const KEYS: [&str; 9] =
        ["Label", "Tag", "Host", "Title", "Agent", "Escaped", "reports", "Severity", "ThreadID"];
    let count = if random.is_one_in(30) { 300 } else { random.index(8) };
    let line = |random: &mut Random| match random.index(3) {
        0 if random.is_one_in(30) => (text(random), long_text(random)),
        0 => (text(random), text(random)),
        1 => (random.pick(&KEYS).as_bytes().to_vec(), random.below(8).to_string().into_bytes()),
        _ => (random.pick(&KEYS).as_bytes().to_vec(), text(random)),
    };
    // Keys that affect the graph.
    const OF_GRAPH: [&[u8]; 7] =
        [b"X-Trace", b"Edge", b"ChainId", b"TaskID", b"EventID", b"ParentEventID", b"Timestamp"];
    (0..count).map(|_| line(random)).filter(|(key, _)| !OF_GRAPH.contains(&&key[..])).collect()
}

impl Generated {
    /// Creates a task whose operations have any number of causes among the earlier operations.
    fn random(random: &mut Random) -> Self {
        let (ids, mut made) = (Ids::random(random), Self::default());
        for (index, op) in ids.ops.iter().enumerate() {
            let causes = if index == 0 { 0 } else { random.index(index.min(4) + 1) };
            let relations: Vec<Relation> = (0..causes)
                .map(|_| Relation {
                    op: ids.ops[random.index(index)].clone(),
                    kind: if ids.are_decimal { 1 } else { random.index(3) },
                    chain: (!ids.are_decimal && random.percent(20)).then(|| random.number() as u16),
                })
                .collect();
            made.add(random, &ids, op, &relations);
        }
        made
    }

    fn add(&mut self, random: &mut Random, ids: &Ids, op: &[u8], relations: &[Relation]) {
        let mut lines = Lines::new();
        let mut push = |key: &str, value: String| lines.push((key.into(), value.into_bytes()));
        let mut chain = None;
        let decimal = |op: &[u8]| i64::from_be_bytes(op.try_into().unwrap()).to_string();
        if ids.are_decimal {
            push("TaskID", hex(ids.task.as_bytes()));
            push("EventID", decimal(op));
            relations.iter().for_each(|relation| push("ParentEventID", decimal(&relation.op)));
        } else {
            let (text, of_metadata) = ids.metadata(random, op);
            push("X-Trace", text);
            chain = of_metadata;
            for Relation { op, kind, chain } in relations {
                let mut edge = hex(op);
                if *kind != 1 || chain.is_some() {
                    write!(edge, ", {}", ["down", "next", "up"][*kind]).unwrap();
                }
                if let Some(chain) = chain {
                    write!(edge, ", 0x{chain:04X}").unwrap();
                }
                push("Edge", edge);
            }
        }
        if random.percent(90) {
            push("Timestamp", timestamp(random));
        }
        for line in other_lines(random) {
            lines.insert(random.index(lines.len() + 1), line);
        }
        self.reports.push(lines);
        self.nodes.push(node(&ids.task, op, chain, relations));
    }

    /// Returns the reports as text.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for lines in &self.reports {
            let mut report = ReportWriter::from_lines(&mut text);
            lines.iter().for_each(|(key, value)| report.line(key, value));
            text.push(b'\n');
        }
        text
    }
}

/// Returns the graph node for an operation.
fn node(task: &TaskId, op: &[u8], chain: Option<u16>, relations: &[Relation]) -> Node {
    let mut node = vec![("task_id".to_owned(), hex(task.as_bytes())), ("operation_id".to_owned(), hex(op))];
    let of_kind = |kind: usize| relations.iter().filter(move |relation| relation.kind == kind);
    let all = || (0..KINDS.len()).flat_map(of_kind);
    node.extend(all().map(|relation| (KINDS[relation.kind].to_owned(), hex(&relation.op))));
    node.extend(chain.map(|chain| ("chain_id".to_owned(), chain.to_string())));
    if relations.iter().any(|relation| relation.chain.is_some()) {
        let number = |relation: &Relation| relation.chain.map_or(-1, i64::from).to_string();
        node.extend(all().map(|relation| ("cause_chains".to_owned(), number(relation))));
    }
    node
}

/// Returns nodes and lines for all reports in a file.
fn read(bytes: &[u8]) -> (Vec<Node>, Vec<Lines>) {
    let (mut nodes, mut lines) = (Vec::new(), Vec::new());
    let mut event = |event: &Event<'_>| {
        // Other metadata than identifiers is not part of the graph.
        let contexts = Values::of(event, Scope::CommonContext).into_iter();
        let contexts = contexts.filter(|(name, _)| !name.starts_with("metadata_"));
        nodes.push(contexts.map(|(name, value)| (name, String::from_utf8(value).unwrap())).collect());
        lines.push(lines_of(event));
    };
    for mut cursor in open(bytes, true).cursors(Window::default()) {
        while cursor.next_head().is_some() {
            if let Some(Message::Event(read)) = cursor.current() {
                event(&read);
            }
        }
    }
    (nodes, lines)
}

#[test]
fn graphs_keys_and_order_stay() {
    let mut edges = 0;
    cases(25, |random| {
        let made = Generated::random(random);
        let is_edge = |(name, _): &&(String, String)| KINDS.contains(&&**name);
        edges += made.nodes.iter().flatten().filter(is_edge).count();
        let grouped: Vec<Lines> = made.reports.iter().map(grouped).collect();
        let mut sources = vec![made.text()];
        // In JSON of any form, a list with this name can be a list of reports.
        if !made.reports.iter().flatten().any(|(key, _)| key == b"reports") {
            sources.push(random_json(random, &made.reports).into_bytes());
        }
        for source in sources {
            let expected = events(&source);
            let (nodes, lines) = read(&source);
            assert_eq!(nodes, made.nodes);
            for (dialect, other) in [("text", "json"), ("json", "text")] {
                let (once, report) = write(&*open(&source, true), dialect);
                // Very long reports have their lines in a list. JSON cannot keep its order.
                let is_long = made.reports.iter().any(|lines| lines.len() > 256);
                assert!(is_long || report.losses.is_empty(), "{:?}", losses(&report.losses));
                let (found, found_lines) = read(&once);
                assert_eq!(found, made.nodes, "as {dialect}");
                if !is_long {
                    assert!(found_lines == lines && found_lines == grouped, "as {dialect}");
                    assert!(events(&once) == expected, "as {dialect}");
                }
                let there = write(&*open(&once, true), other).0;
                assert!(is_long || events(&there) == expected, "as {dialect} by {other}");
                let (back, _) = write(&*open(&there, true), dialect);
                assert!(is_long || back == once, "as {dialect} by {other}");
                assert!(write(&*open(&once, true), dialect).0 == once, "as {dialect} again");
            }
        }
    });
    assert!(edges > 100);
}
