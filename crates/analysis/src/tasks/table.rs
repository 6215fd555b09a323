//! Task table.

use ichnos_json::write::ObjectWriter;

use super::TaskSummary;
use super::lines::{TaskTextOptions, corrections, problems};
use ichnos_export::text::grouped;
use ichnos_export::{duration, printable};

const TITLES: [&str; 8] = ["task", "begin", "duration", "nodes", "edges", "depth", "events", "problems"];

/// Table with a row for each task. There can be millions, so the table keeps only column widths: each task is first
/// [measured](Self::measure), then written.
#[derive(Clone, Debug)]
pub struct TaskTable {
    options: TaskTextOptions,
    widths: [usize; 8],
}

impl TaskTable {
    /// Creates a table.
    #[must_use]
    pub fn new(options: TaskTextOptions) -> Self {
        Self { options, widths: TITLES.map(str::len) }
    }

    /// Widens the columns for a task.
    pub fn measure(&mut self, task: &TaskSummary) {
        let cells = self.cells(task);
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = cell.chars().count().max(*width);
        }
    }

    /// Returns the title line.
    #[must_use]
    pub fn head(&self) -> String {
        let line = format!("{}  {}", self.line(&TITLES.map(str::to_owned)), self.title("title"));
        format!("{}\n", self.options.paint.faint(&line).trim_end())
    }

    /// Returns the line for a task.
    #[must_use]
    pub fn row(&self, task: &TaskSummary) -> String {
        let title = self.options.paint.name(&self.title(&task.title));
        format!("{}\n", format!("{}  {title}", self.line(&self.cells(task))).trim_end())
    }

    /// Returns the cells before the title.
    fn cells(&self, task: &TaskSummary) -> [String; 8] {
        [
            task.id.to_string(),
            task.begin.map_or(String::new(), |begin| self.options.time(begin)),
            task.begin.zip(task.end).map_or(String::new(), |(begin, end)| duration(end - begin)),
            grouped(task.nodes),
            grouped(task.edges),
            grouped(task.depth),
            grouped(task.events + task.mentions),
            [problems(task), corrections(&task.clocks)].concat().join(", "),
        ]
    }

    fn line(&self, row: &[String; 8]) -> String {
        let cells = row.iter().zip(self.widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 | 7 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    }

    fn title(&self, title: &str) -> String {
        let before_title = 2 * self.widths.len() + self.widths.iter().sum::<usize>();
        self.options.width.cut_after(&printable(title), before_title).into_owned()
    }
}

impl TaskSummary {
    /// Writes the summary as object members.
    pub fn write_json(&self, object: &mut ObjectWriter<'_>) {
        object.member("id").display(self.id);
        object.member("title").string(&self.title);
        object.integer("begin_ns", self.begin);
        object.integer("end_ns", self.end);
        for (name, number) in [
            ("nodes", self.nodes),
            ("edges", self.edges),
            ("depth", self.depth),
            ("roots", self.roots),
            ("joins", self.joins),
            ("unreported", self.missing.unreported),
            ("dangling", self.missing.dangling),
            ("of_other_tasks", self.missing.of_other_tasks),
            ("cycles", self.cycles),
            ("events", self.events),
            ("mentions", self.mentions),
            ("copies", self.copies),
            ("backward", self.clocks.backward),
            ("most_backward_ns", self.clocks.most_backward),
            ("backward_without_machine", self.clocks.backward_without_machine),
            ("corrected_clocks", self.clocks.corrected),
            ("most_corrected_ns", self.clocks.most_corrected),
        ] {
            object.member(name).unsigned(number);
        }
        object.member("correction_incomplete").boolean(self.clocks.correction_incomplete);
    }
}
