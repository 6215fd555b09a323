//! Line parts about tasks.

use super::{TaskClocks, TaskGraph, TaskMember, TaskSummary};
use ichnos_export::text::{LineWidth, Paint, count, date_time, grouped, seconds};
use ichnos_export::{duration, printable};

/// Options for text about tasks.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TaskTextOptions {
    /// Colors.
    pub paint: Paint,
    /// Line width. Longer titles are cut.
    pub width: LineWidth,
    /// Show times in seconds since the clock origin: see [`Tasks::has_dates`](super::Tasks::has_dates).
    pub clock_seconds: bool,
    /// Show times in UTC rather than in local time.
    pub clock_gmt: bool,
}

impl TaskTextOptions {
    /// Returns a time for display.
    pub(super) fn time(&self, nanoseconds: i128) -> String {
        if self.clock_seconds { seconds(nanoseconds) } else { date_time(nanoseconds, self.clock_gmt) }
    }
}

/// Returns trace text for a line, shortened if it is very long.
pub(super) fn text(bytes: &[u8]) -> String {
    const MOST: usize = 400;
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", printable(text.get(..end).unwrap_or_default())),
        None => printable(&text).into_owned(),
    }
}

/// Returns the operation name.
pub(super) fn label(member: &TaskMember<'_>) -> String {
    if member.events == 0 { "(not reported)".to_owned() } else { text(member.label) }
}

/// Appends the operation's origin and name.
pub(super) fn push_place(out: &mut String, member: &TaskMember<'_>, name: &str, paint: Paint) {
    for part in [&*text(member.place), name] {
        if !part.is_empty() {
            out.push_str(&format!("  {}", paint.faint(part)));
        }
    }
}

/// Returns the machines with corrected clocks and their offsets. `None` if no clock was corrected.
pub(super) fn clock_corrections(graph: &TaskGraph<'_>) -> Option<String> {
    const MOST: usize = 8;
    let corrections = graph.clock_corrections();
    let shown = corrections.iter().take(MOST).map(|(machine, offset)| {
        let machine = if machine.is_empty() { "(no name)".to_owned() } else { text(machine) };
        let sign = if *offset > 0 { "+" } else { "" };
        format!("{machine} {sign}{}", duration(*offset))
    });
    let mut shown: Vec<String> = shown.collect();
    if let Some(more) = corrections.len().checked_sub(MOST).filter(|more| *more > 0) {
        shown.push(format!("{more} more"));
    }
    (!shown.is_empty()).then(|| format!("clocks corrected: {}", shown.join(", ")))
}

/// Appends the lines about a whole task.
pub(super) fn push_heading(out: &mut String, graph: &TaskGraph<'_>, options: &TaskTextOptions) {
    let (Some(task), paint) = (graph.summary(), options.paint) else { return };
    out.push_str(&paint.title(&format!("task {}", task.id)));
    // All events except the first one of each operation.
    let joined = (task.events + task.mentions).saturating_sub(task.nodes - task.missing.unreported);
    let numbers = [(task.nodes, "operation"), (task.edges, "edge"), (joined, "joined event")];
    for (number, noun) in numbers.into_iter().filter(|(number, noun)| *number > 0 || *noun != "joined event")
    {
        out.push_str(&format!(", {}", count(number, noun)));
    }
    out.push_str(&format!(", depth {}", task.depth));
    if let Some((begin, end)) = task.begin.zip(task.end) {
        out.push_str(&format!(", {} from {} on", duration(end - begin), options.time(begin)));
    }
    out.push('\n');
    let problems = problems(&task);
    if !problems.is_empty() {
        out.push_str(&format!("{}\n", paint.warning(&problems.join(", "))));
    }
    if let Some(corrections) = clock_corrections(graph) {
        out.push_str(&format!("{}\n", paint.warning(&corrections)));
    }
}

/// Describes the problems in a task in a few words each.
pub(super) fn problems(task: &TaskSummary) -> Vec<String> {
    let of_this_task = task.missing.dangling - task.missing.of_other_tasks.min(task.missing.dangling);
    let problems = [
        (of_this_task, "dangling"),
        (task.missing.of_other_tasks, "from other tasks"),
        (if task.roots > 1 { task.roots } else { 0 }, "roots"),
        (task.cycles, "in cycles"),
        (task.copies, if task.copies == 1 { "copy" } else { "copies" }),
        (task.clocks.backward, "back in time"),
    ];
    let problems = problems.into_iter().filter(|(number, _)| *number > 0);
    problems.map(|(number, what)| format!("{} {what}", grouped(number))).collect()
}

/// Describes the clock corrections in a few words each.
pub(super) fn corrections(clocks: &TaskClocks) -> Vec<String> {
    let mut all = Vec::new();
    if clocks.correction_incomplete {
        all.push("clocks not corrected".to_owned());
    }
    if clocks.corrected > 0 {
        let number = count(clocks.corrected, "clock");
        all.push(format!("{number} corrected by up to {}", duration(clocks.most_corrected.into())));
    }
    all
}
