//! Task paths as text and JSON.

use ichnos_json::write::ObjectWriter;

use super::TaskGraph;
use super::json::{write_corrections, write_time};
use super::lines::{TaskTextOptions, label, push_heading, push_place};
use ichnos_export::duration;
use ichnos_export::text::count;

impl TaskGraph<'_> {
    /// Returns a path as text: a line for each operation, with the time until the next operation starts.
    #[must_use]
    pub fn path_text(&self, path: &[u32], options: &TaskTextOptions) -> String {
        let paint = options.paint;
        let mut out = String::new();
        push_heading(&mut out, self, options);
        let whole = self.path_time(path);
        for (index, node) in path.iter().enumerate() {
            let Some(member) = self.member(*node) else { continue };
            let time = self.step_time(path, index);
            let part = time.zip(whole.filter(|whole| *whole > 0));
            let part = part.map(|(time, whole)| 100.0 * time as f64 / whole as f64);
            out.push_str(&format!(
                "{:>12}  {:>7}  {}",
                time.map_or(String::new(), duration),
                part.map_or(String::new(), |part| format!("{part:.1} %")),
                paint.name(&label(&member)),
            ));
            push_place(&mut out, &member, &self.operation_name(*node), paint);
            out.push('\n');
        }
        let whole = whole.map_or(String::new(), |whole| format!(", {}", duration(whole)));
        out.push_str(&paint.faint(&format!("{}{whole}\n", count(path.len() as u64, "operation"))));
        out
    }

    /// Writes a path as object members.
    pub fn write_path_json(&self, path: &[u32], object: &mut ObjectWriter<'_>) {
        object.integer("time_ns", self.path_time(path));
        write_corrections(object.member("clock_corrections"), self);
        object.member("correction_incomplete").boolean(self.is_correction_incomplete());
        let mut steps = object.member("steps").array();
        for (index, node) in path.iter().enumerate() {
            let Some(member) = self.member(*node) else { continue };
            let mut step = steps.element().object();
            step.member("id").display(member.id);
            step.unsigned("chain", member.chain.map(u64::from));
            step.member("label").string(&String::from_utf8_lossy(member.label));
            step.member("place").string(&String::from_utf8_lossy(member.place));
            write_time(step.member("begin_ns"), self.begin(*node));
            write_time(step.member("time_ns"), self.step_time(path, index));
            step.end();
        }
        steps.end();
    }

    /// Returns the time from the start of a step to the start of the next step. The last step lasts until its end.
    fn step_time(&self, path: &[u32], index: usize) -> Option<i128> {
        let node = *path.get(index)?;
        let until = match path.get(index + 1) {
            Some(next) => self.begin(*next),
            None => self.end(node),
        };
        Some(until? - self.begin(node)?)
    }

    /// Returns the time from the start of a path to its end.
    fn path_time(&self, path: &[u32]) -> Option<i128> {
        Some(self.end(*path.last()?)? - self.begin(*path.first()?)?)
    }
}
