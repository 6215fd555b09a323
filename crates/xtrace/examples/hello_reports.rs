//! Writes the reports for the transaction in figure 1 of the X-Trace document to standard output. It generated
//! `examples/hello-xtrace/proxy.reports`.
//!
//! A client sends a request to a proxy, which sends another request. Each layer reports its operations. Edges between
//! layers are "down" and "up", edges within a layer "next".

use std::io::Write;

use ichnos_xtrace::option::Severity;
use ichnos_xtrace::report::ReportWriter;
use ichnos_xtrace::{Edge, EdgeKind, Metadata, OpId, TaskId};

/// An operation in the figure.
struct Operation {
    /// Its letter.
    name: u8,
    /// The preceding operations.
    edges: &'static [(u8, EdgeKind)],
    host: &'static str,
    agent: &'static str,
    label: &'static str,
    /// Milliseconds since the first operation.
    at: u64,
}

const fn operation(
    name: u8,
    edges: &'static [(u8, EdgeKind)],
    host: &'static str,
    agent: &'static str,
    label: &'static str,
    at: u64,
) -> Operation {
    Operation { name, edges, host, agent, label, at }
}

use EdgeKind::{Down, Next, Up};

/// Operations sorted by time.
const OPERATIONS: [Operation; 9] = [
    operation(b'a', &[], "laptop", "HTTP client", "GET http://example.com/", 0),
    operation(b'c', &[(b'a', Down)], "laptop", "TCP", "send", 2),
    operation(b'f', &[(b'c', Down)], "laptop", "IP", "send", 3),
    operation(b'g', &[(b'f', Next)], "router", "IP", "forward", 11),
    operation(b'h', &[(b'g', Next)], "proxy", "IP", "receive", 19),
    operation(b'd', &[(b'c', Next), (b'h', Up)], "proxy", "TCP", "receive", 20),
    operation(
        b'b',
        &[(b'a', Next), (b'd', Up)],
        "proxy",
        "HTTP proxy",
        "forward\nGET http://example.com/",
        24,
    ),
    operation(b'e', &[(b'b', Down)], "proxy", "TCP", "send", 26),
    operation(b'i', &[(b'e', Down)], "proxy", "IP", "send", 27),
];

/// Time of the first operation in milliseconds since 1970.
const BEGIN: u64 = 1_175_000_000_000;

/// Returns all reports, separated by empty lines.
pub fn reports() -> Vec<u8> {
    let task = TaskId::from([0x0A, 0xCA, 0xDE, 0x20, 0x07, 0x05, 0x08, 0x01]);
    // 0A0A0A0A is (a), and so on.
    let op = |name: u8| OpId::from([name - b'a' + 0x0A; 4]);
    let mut text = Vec::new();
    for operation in &OPERATIONS {
        if !text.is_empty() {
            text.push(b'\n');
        }
        // The task is not all zeros.
        let Ok(metadata) = Metadata::new(task, op(operation.name)).validate() else { continue };
        let mut report = ReportWriter::new(&mut text, &metadata);
        for (before, kind) in operation.edges {
            report.edge(&Edge { op: op(*before), kind: *kind, chain: None });
        }
        report.timestamp_millis(BEGIN + operation.at);
        report.line("Host", operation.host);
        report.line("Agent", operation.agent);
        report.line("Label", operation.label);
        report.display("Severity", Severity::INFO);
    }
    text
}

#[allow(dead_code)]
fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(&reports())
}
