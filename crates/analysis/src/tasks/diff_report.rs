//! Task differences as text and JSON.

use ichnos_json::write::ObjectWriter;

use super::json::{write_corrections, write_time};
use super::lines::{clock_corrections, text};
use super::{StepDifference, TaskDiff, TaskGraph};
use ichnos_export::duration;
use ichnos_export::text::{Paint, count, grouped};

impl TaskDiff {
    /// Returns the differences between two graphs as text, with at most `most` operations and steps of each kind.
    #[must_use]
    pub fn to_text(&self, graphs: [&TaskGraph<'_>; 2], most: usize, paint: Paint) -> String {
        let mut out = String::new();
        if let [Some(first), Some(second)] = graphs.map(whole_time) {
            let change = if first > 0 {
                format!(" ({:+.1} %)", 100.0 * (second - first) as f64 / first as f64)
            } else {
                String::new()
            };
            out.push_str(&format!("time: {} and {}{change}\n", duration(first), duration(second)));
        }
        for (which, graph) in ["first", "second"].into_iter().zip(graphs) {
            if let Some(corrections) = clock_corrections(graph) {
                out.push_str(&format!("{}\n", paint.warning(&format!("{which}: {corrections}"))));
            }
        }
        let [both, removed, added] = self.edges;
        out.push_str(&format!(
            "operations: {} in both ({} with the same history), {} only in the first, {} only in the second\n",
            grouped(self.matched.len() as u64),
            grouped(self.same_history as u64),
            grouped(self.removed.len() as u64),
            grouped(self.added.len() as u64)
        ));
        out.push_str(&format!(
            "edges: {} in both, {} only in the first, {} only in the second\n",
            grouped(both as u64),
            grouped(removed as u64),
            grouped(added as u64)
        ));
        for (title, sign, graph, nodes) in [
            ("only in the first", '-', graphs[0], &self.removed),
            ("only in the second", '+', graphs[1], &self.added),
        ] {
            if !nodes.is_empty() {
                out.push_str(&format!("\n{}\n", paint.title(title)));
                push_operations(&mut out, sign, graph, nodes, most, paint);
            }
        }
        let mut steps = self.steps.iter().filter(|step| step.change() != 0).peekable();
        if steps.peek().is_some() {
            out.push_str(&format!("\n{}\n", paint.title("times since the latest cause, by operation")));
            steps.take(most).for_each(|step| push_step(&mut out, step, paint));
        }
        out
    }

    /// Writes the differences between two graphs as object members, with at most `most` steps.
    pub fn write_json(&self, graphs: [&TaskGraph<'_>; 2], most: usize, object: &mut ObjectWriter<'_>) {
        let [first, second] = graphs;
        let mut corrections = object.member("clock_corrections").array();
        graphs.into_iter().for_each(|graph| write_corrections(corrections.element(), graph));
        corrections.end();
        let mut are_incomplete = object.member("correction_incomplete").array();
        for graph in graphs {
            are_incomplete.element().boolean(graph.is_correction_incomplete());
        }
        are_incomplete.end();
        let mut times = object.member("times_ns").array();
        graphs.into_iter().for_each(|graph| write_time(times.element(), whole_time(graph)));
        times.end();
        let names = |graph: &TaskGraph<'_>, nodes: &[u32]| -> Vec<String> {
            nodes.iter().map(|node| graph.operation_name(*node)).collect()
        };
        let mut nodes = object.member("nodes").object();
        nodes.member("both").unsigned(self.matched.len() as u64);
        nodes.member("same_history").unsigned(self.same_history as u64);
        nodes.member("first").strings(names(first, &self.removed));
        nodes.member("second").strings(names(second, &self.added));
        nodes.end();
        let mut edges = object.member("edges").object();
        for (name, number) in ["both", "first", "second"].into_iter().zip(self.edges) {
            edges.member(name).unsigned(number as u64);
        }
        edges.end();
        let mut steps = object.member("steps").array();
        for step in self.steps.iter().take(most) {
            let mut entry = steps.element().object();
            entry.member("label").string(&String::from_utf8_lossy(&step.label));
            let mut counts = entry.member("counts").array();
            step.counts.into_iter().for_each(|count| counts.element().unsigned(count));
            counts.end();
            let mut times = entry.member("times_ns").array();
            step.times.into_iter().for_each(|time| times.element().integer(time));
            times.end();
            entry.end();
        }
        steps.end();
    }
}

/// Returns a task's duration.
fn whole_time(graph: &TaskGraph<'_>) -> Option<i128> {
    let nodes = || 0..graph.len();
    let begin = nodes().filter_map(|node| graph.begin(node)).min()?;
    Some(nodes().filter_map(|node| graph.end(node)).max()? - begin)
}

/// Appends the first `most` operations that only one of the tasks has.
fn push_operations(
    out: &mut String,
    sign: char,
    graph: &TaskGraph<'_>,
    nodes: &[u32],
    most: usize,
    paint: Paint,
) {
    for node in nodes.iter().take(most) {
        let Some(member) = graph.member(*node) else { continue };
        let name = graph.operation_name(*node);
        let place = paint.faint(&text(member.place));
        out.push_str(&format!("  {sign} {}  {place}  {name}\n", paint.name(&text(member.label))));
    }
    if let Some(more) = nodes.len().checked_sub(most).filter(|more| *more > 0) {
        out.push_str(&paint.faint(&format!("  {} more\n", grouped(more as u64))));
    }
}

/// Appends the times of a step in both tasks.
fn push_step(out: &mut String, step: &StepDifference, paint: Paint) {
    let [first, second] = step.times.map(duration);
    let sign = if step.change() > 0 { "+" } else { "" };
    let change = format!("{sign}{}", duration(step.change()));
    let counts = match step.counts {
        [first, second] if first == second => count(first, "time"),
        [first, second] => format!("{} and {}", grouped(first), count(second, "time")),
    };
    out.push_str(&format!(
        "{change:>14}  {first:>12} {second:>12}  {}  {}\n",
        paint.name(&text(&step.label)),
        paint.faint(&counts)
    ));
}
