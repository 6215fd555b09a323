//! Graphs in the Graphviz language.

use std::io::{self, Write};

use ichnos_model::meaning::CauseKind;

use super::graph::TaskGraph;
use ichnos_export::duration;
use ichnos_export::printable;

/// Output format for a [`TaskGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphFormat {
    /// Graphviz language.
    Dot,
    /// Image for browsers, with an optional width in pixels. It contains joined events of small tasks if they [were
    /// collected](super::TaskOptions::with_events).
    Svg(Option<usize>),
    /// JSON: an object with the lists `nodes` and `edges`.
    Json,
}

impl TaskGraph<'_> {
    /// Writes the graph.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, format: GraphFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            GraphFormat::Dot => self.write_dot(out),
            GraphFormat::Svg(width) => super::svg::write(self, width, out),
            GraphFormat::Json => super::json::write(self, out),
        }
    }

    fn write_dot(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "digraph task {{")?;
        writeln!(out, "  node [shape=box, fontname=\"sans-serif\", fontsize=10];")?;
        writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=8];")?;
        let corrections = self.clock_corrections();
        if let Some((_, most)) = corrections.first() {
            let (clocks, most) = (corrections.len(), duration(most.abs()));
            writeln!(out, "  label=\"clocks of {clocks} machines corrected by up to {most}\";")?;
        }
        for node in 0..self.len() {
            let Some(member) = self.member(node) else { continue };
            let label = [member.label, member.place].map(quoted).join("\\n");
            let style = if member.events == 0 { ", style=dashed" } else { "" };
            writeln!(
                out,
                "  n{node} [label=\"{label}\", tooltip=\"{}\"{style}];",
                self.operation_name(node)
            )?;
        }
        for node in 0..self.len() {
            for edge in self.causes(node) {
                let time = self.begin(node).zip(self.begin(edge.node)).map(|(end, begin)| end - begin);
                let label = time.map_or(String::new(), |time| format!("label=\"{}\", ", duration(time)));
                writeln!(out, "  n{} -> n{node} [{label}style={}];", edge.node, style_of(edge.kind))?;
            }
        }
        for (index, edge) in self.dangling().iter().enumerate() {
            writeln!(out, "  d{index} [label=\"{} ?\", style=dotted];", edge.from)?;
            writeln!(out, "  d{index} -> n{} [style=dotted];", edge.to)?;
        }
        for (from, to) in self.cycles() {
            writeln!(out, "  n{from} -> n{to} [color=red, constraint=false, label=\"cycle\"];")?;
        }
        writeln!(out, "}}")
    }
}

/// Returns the Graphviz style for an edge.
fn style_of(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Parent => "bold",
        CauseKind::Return => "dashed",
        CauseKind::Related => "dotted",
        _ => "solid",
    }
}

/// Maximum number of shown characters per text.
const MOST_TEXT: usize = 200;

/// Returns a text escaped for Graphviz strings.
fn quoted(text: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(text).chars().take(MOST_TEXT).collect();
    let text = printable(&text);
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
