//! Graphs as JSON.

use std::io::{self, Write};

use super::graph::TaskGraph;
use crate::jsonl::fields::push_string;
use crate::number;

/// Writes an object with the lists `nodes` and `edges`, causes first.
pub(super) fn write(graph: &TaskGraph<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    out.write_all(b"{\"nodes\":[")?;
    for node in 0..graph.len() {
        let Some(member) = graph.member(node) else { continue };
        text.clear();
        text.extend_from_slice(if node == 0 { b"\n{\"id\":" } else { b",\n{\"id\":" });
        push_string(&mut text, &member.id.to_string());
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
    let id = |node: u32| graph.member(node).map_or_else(String::new, |member| member.id.to_string());
    for node in 0..graph.len() {
        for edge in graph.causes(node) {
            let kind = ichnos_model::Meaning::Cause(edge.kind).name();
            write!(
                out,
                "{separator}{{\"from\":\"{}\",\"to\":\"{}\",\"kind\":\"{kind}\"}}",
                id(edge.node),
                id(node)
            )?;
            separator = ",\n";
        }
    }
    out.write_all(b"],\n\"dangling\":[")?;
    let mut separator = "\n";
    for edge in graph.dangling() {
        let kind = ichnos_model::Meaning::Cause(edge.kind).name();
        write!(
            out,
            "{separator}{{\"from\":\"{}\",\"to\":\"{}\",\"kind\":\"{kind}\"}}",
            edge.from,
            id(edge.to)
        )?;
        separator = ",\n";
    }
    out.write_all(b"],\n\"cycles\":[")?;
    let mut separator = "\n";
    for (from, to) in graph.cycles() {
        write!(out, "{separator}{{\"from\":\"{}\",\"to\":\"{}\"}}", id(*from), id(*to))?;
        separator = ",\n";
    }
    out.write_all(b"]}\n")
}
