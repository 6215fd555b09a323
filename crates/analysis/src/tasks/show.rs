//! Graphs as text lines.

use super::lines::{TaskTextOptions, label, push_heading, push_place, text};
use super::{JoinedEvent, LaneRow, TaskGraph, TaskMember};
use ichnos_export::duration;
use ichnos_export::text::Paint;

impl TaskGraph<'_> {
    /// Returns the graph as text: a line for each operation, causes first, with lanes for its edges, and a line for
    /// each joined event.
    #[must_use]
    pub fn to_text(&self, options: &TaskTextOptions) -> String {
        let paint = options.paint;
        let mut out = String::new();
        push_heading(&mut out, self, options);
        let first = self.summary().and_then(|summary| summary.begin);
        let since = |time: Option<i128>| match time.zip(first) {
            Some((time, first)) => format!("{:>12}", duration(time - first)),
            None => " ".repeat(12),
        };
        let blank = " ".repeat(12);
        let mut events = self.joined_events().into_iter().peekable();
        for (row, node) in self.lanes().iter().zip(0..) {
            let Some(member) = self.member(node) else { continue };
            if let Some(line) = row.join_line() {
                out.push_str(&format!("{blank}  {}\n", paint.faint(&line)));
            }
            let time = paint.faint(&since(self.begin(node)));
            push_operation(&mut out, self, (node, &member), row, &time, paint);
            if let Some(line) = row.fork_line() {
                out.push_str(&format!("{blank}  {}\n", paint.faint(&line)));
            }
            while let Some((_, event)) = events.next_if(|(of, _)| *of <= node) {
                let JoinedEvent { time, label, place, .. } = event;
                // To the right of the operation, even if no lane continues there.
                let (lanes, width) = (row.passing_line(), 2 * row.lane + 1);
                out.push_str(&format!(
                    "{}  {lanes:<width$} · {}  {}\n",
                    paint.faint(&since(time)),
                    text(label),
                    paint.faint(&text(place))
                ));
            }
        }
        for (_, event) in events {
            out.push_str(&format!("{}  · {}  {}\n", since(event.time), text(event.label), text(event.place)));
        }
        out
    }
}

/// Appends an operation's line.
fn push_operation(
    out: &mut String,
    graph: &TaskGraph<'_>,
    (node, member): (u32, &TaskMember<'_>),
    row: &LaneRow,
    time: &str,
    paint: Paint,
) {
    let mark = match graph.causes(node).len() {
        _ if member.events == 0 => '○',
        0 => '◆',
        _ => '●',
    };
    out.push_str(&format!("{time}  {} {}", row.node_line(mark), paint.name(&label(member))));
    push_place(out, member, &graph.operation_name(node), paint);
    if !row.undrawn_causes.is_empty() {
        let ids = row.undrawn_causes.iter().map(|node| graph.operation_name(*node));
        out.push_str(&format!("  after {}", ids.collect::<Vec<_>>().join(", ")));
    }
    for edge in graph.dangling_to(node) {
        let whose = if edge.is_of_other_task { "of another task" } else { "not reported" };
        out.push_str(&paint.warning(&format!("  after {} ({whose})", edge.from)));
    }
    for (from, _) in graph.cycles_to(node) {
        let from = graph.operation_name(*from);
        out.push_str(&paint.warning(&format!("  an edge from {from} closes a cycle")));
    }
    out.push('\n');
}
