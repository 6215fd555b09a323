//! Graphs as JSON.

use std::io::{self, Write};

use ichnos_model::{CauseKind, Identifier, Meaning};

use super::graph::TaskGraph;
use crate::jsonl::fields::push_string;
use crate::number;

/// Writes an object with the lists `nodes` and `edges`, causes first.
pub(super) fn write(graph: &TaskGraph<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    let end = |node: u32| -> End {
        let member = graph.member(node);
        (member.as_ref().map(|member| member.id), member.and_then(|member| member.chain))
    };
    out.write_all(b"{\"nodes\":[")?;
    for node in 0..graph.len() {
        let Some(member) = graph.member(node) else { continue };
        text.clear();
        text.extend_from_slice(if node == 0 { b"\n{\"id\":" } else { b",\n{\"id\":" });
        push_string(&mut text, &member.id.to_string());
        push_chain(&mut text, "chain", member.chain);
        text.extend_from_slice(b",\"label\":");
        push_string(&mut text, &String::from_utf8_lossy(member.label));
        text.extend_from_slice(b",\"place\":");
        push_string(&mut text, &String::from_utf8_lossy(member.place));
        for (key, time) in [("begin_ns", graph.begin(node)), ("end_ns", graph.end(node))] {
            if let Some(time) = time {
                text.extend_from_slice(format!(",\"{key}\":").as_bytes());
                number::push_i128(&mut text, time);
            }
        }
        text.extend_from_slice(b",\"events\":");
        number::push_unsigned(&mut text, member.events.into());
        text.push(b'}');
        out.write_all(&text)?;
    }
    out.write_all(b"],\n\"edges\":[")?;
    let mut separator = "\n";
    for node in 0..graph.len() {
        for edge in graph.causes(node) {
            write_edge(out, &mut text, &mut separator, end(edge.node), end(node), Some(edge.kind))?;
        }
    }
    out.write_all(b"],\n\"dangling\":[")?;
    let mut separator = "\n";
    for edge in graph.dangling() {
        let from = (Some(edge.from), edge.chain);
        write_edge(out, &mut text, &mut separator, from, end(edge.to), Some(edge.kind))?;
    }
    out.write_all(b"],\n\"cycles\":[")?;
    let mut separator = "\n";
    for (from, to) in graph.cycles() {
        write_edge(out, &mut text, &mut separator, end(*from), end(*to), None)?;
    }
    out.write_all(b"],\n\"clock_corrections\":[")?;
    for (index, (machine, offset)) in graph.clock_corrections().into_iter().enumerate() {
        text.clear();
        text.extend_from_slice(if index == 0 { b"\n{\"machine\":" } else { b",\n{\"machine\":" });
        push_string(&mut text, &String::from_utf8_lossy(machine));
        text.extend_from_slice(b",\"offset_ns\":");
        number::push_i128(&mut text, offset);
        text.push(b'}');
        out.write_all(&text)?;
    }
    let end = format!("],\n\"correction_incomplete\":{}}}\n", graph.is_correction_incomplete());
    out.write_all(end.as_bytes())
}

/// End of an edge: identifier of the operation and its chain.
type End = (Option<Identifier>, Option<u32>);

/// Appends an edge to a list.
fn write_edge(
    out: &mut dyn Write,
    text: &mut Vec<u8>,
    separator: &mut &str,
    from: End,
    to: End,
    kind: Option<CauseKind>,
) -> io::Result<()> {
    text.clear();
    text.extend_from_slice(separator.as_bytes());
    *separator = ",\n";
    for (open, key, (id, chain)) in [("{", "from", from), (",", "to", to)] {
        text.extend_from_slice(format!("{open}\"{key}\":").as_bytes());
        push_string(text, &id.map_or_else(String::new, |id| id.to_string()));
        push_chain(text, if key == "from" { "from_chain" } else { "to_chain" }, chain);
    }
    if let Some(kind) = kind {
        text.extend_from_slice(format!(",\"kind\":\"{}\"", Meaning::Cause(kind).name()).as_bytes());
    }
    text.push(b'}');
    out.write_all(text)
}

fn push_chain(text: &mut Vec<u8>, key: &str, chain: Option<u32>) {
    if let Some(chain) = chain {
        text.extend_from_slice(format!(",\"{key}\":{chain}").as_bytes());
    }
}
