//! Graphs as JSON.

use std::io::{self, Write};

use ichnos_json::write::{ArrayWriter, ObjectWriter, ValueWriter};
use ichnos_model::meaning::{CauseKind, Identifier, Meaning};

use super::graph::TaskGraph;

/// Writes an object with the lists `nodes` and `edges`, causes first.
pub(super) fn write(graph: &TaskGraph<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    let end = |node: u32| -> EdgeEnd {
        let member = graph.member(node);
        (member.as_ref().map(|member| member.id), member.and_then(|member| member.chain))
    };
    let mut lists = ValueWriter::new(&mut text).object_of_lines();
    let mut nodes = lists.member("nodes").array_of_lines();
    for node in 0..graph.len() {
        let Some(member) = graph.member(node) else { continue };
        let mut entry = nodes.element().object();
        entry.member("id").display(member.id);
        write_chain(&mut entry, "chain", member.chain);
        entry.member("label").string(&String::from_utf8_lossy(member.label));
        entry.member("place").string(&String::from_utf8_lossy(member.place));
        entry.integer("begin_ns", graph.begin(node));
        entry.integer("end_ns", graph.end(node));
        entry.member("events").unsigned(member.events.into());
        entry.end();
        write_out(nodes.buffer(), out)?;
    }
    nodes.end();
    let mut edges = lists.member("edges").array_of_lines();
    for node in 0..graph.len() {
        for edge in graph.causes(node) {
            write_edge(edges.element(), end(edge.node), end(node), Some(edge.kind));
            write_out(edges.buffer(), out)?;
        }
    }
    edges.end();
    let mut dangling = lists.member("dangling").array_of_lines();
    for edge in graph.dangling() {
        write_edge(dangling.element(), (Some(edge.from), edge.chain), end(edge.to), Some(edge.kind));
        write_out(dangling.buffer(), out)?;
    }
    dangling.end();
    let mut cycles = lists.member("cycles").array_of_lines();
    for (from, to) in graph.cycles() {
        write_edge(cycles.element(), end(*from), end(*to), None);
        write_out(cycles.buffer(), out)?;
    }
    cycles.end();
    push_corrections(lists.member("clock_corrections").array_of_lines(), graph);
    lists.member("correction_incomplete").boolean(graph.is_correction_incomplete());
    lists.end();
    text.push(b'\n');
    out.write_all(&text)
}

/// Writes a time, or null.
pub(super) fn write_time(place: ValueWriter<'_>, time: Option<i128>) {
    place.or_null(time, ValueWriter::integer);
}

/// Writes the corrected clocks as a list.
pub(super) fn write_corrections(place: ValueWriter<'_>, graph: &TaskGraph<'_>) {
    push_corrections(place.array(), graph);
}

fn push_corrections(mut corrections: ArrayWriter<'_>, graph: &TaskGraph<'_>) {
    for (machine, offset) in graph.clock_corrections() {
        let mut entry = corrections.element().object();
        entry.member("machine").string(&String::from_utf8_lossy(machine));
        entry.member("offset_ns").integer(offset);
        entry.end();
    }
    corrections.end();
}

/// Writes and clears the buffer.
fn write_out(text: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text)?;
    text.clear();
    Ok(())
}

/// Edge end: operation identifier and chain.
type EdgeEnd = (Option<Identifier>, Option<u32>);

fn write_edge(place: ValueWriter<'_>, from: EdgeEnd, to: EdgeEnd, kind: Option<CauseKind>) {
    let mut entry = place.object();
    for (key, chain_key, (id, chain)) in [("from", "from_chain", from), ("to", "to_chain", to)] {
        match id {
            Some(id) => entry.member(key).display(id),
            None => entry.member(key).string(""),
        }
        write_chain(&mut entry, chain_key, chain);
    }
    entry.string("kind", kind.map(|kind| Meaning::Cause(kind).name()));
    entry.end();
}

fn write_chain(entry: &mut ObjectWriter<'_>, key: &'static str, chain: Option<u32>) {
    entry.unsigned(key, chain.map(u64::from));
}
