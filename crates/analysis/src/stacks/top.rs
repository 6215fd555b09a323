//! Functions with the highest weights.

use super::profile::{StackProfile, Total};
use super::tree::CallTree;
use super::{StackRoots, StackWeight};
use ichnos_export::printable;
use ichnos_export::text::{LineWidth, Paint, count, grouped};

/// Function weight.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopFunction {
    /// Label: `module!symbol`, as far as known.
    pub label: String,
    /// Number of samples with this function as innermost frame.
    pub exclusive_samples: u64,
    /// Total weight.
    pub exclusive: u64,
    /// Number of samples with this function anywhere in their stacks.
    pub inclusive_samples: u64,
    /// Total weight.
    pub inclusive: u64,
}

impl StackProfile {
    /// Returns all functions, highest exclusive weight first, then by inclusive weight, then by name.
    #[must_use]
    pub fn functions(&self) -> Vec<TopFunction> {
        let tree = CallTree::new(self, StackRoots::None);
        let functions = tree.calls.functions.len();
        let mut own = vec![Total::default(); functions];
        let mut all = vec![Total::default(); functions];
        // Occurrences of each function among the callers of the visited call.
        let mut open = vec![0_u32; functions];
        let mut path: Vec<usize> = Vec::new();
        let visited: Result<(), ()> = tree.visit(|call, depth| {
            path.drain(depth..).for_each(|function| open[function] -= 1);
            let function = tree.calls.get(call).map_or(0, |(_, function)| function as usize);
            own[function].add(tree.own[call as usize]);
            // A recursive function counts once.
            if open[function] == 0 {
                all[function].add(tree.all[call as usize]);
            }
            open[function] += 1;
            path.push(function);
            Ok(())
        });
        debug_assert!(visited.is_ok());
        let mut top: Vec<TopFunction> = (tree.calls.functions.iter().zip(own).zip(all))
            .filter(|(_, all)| all.samples > 0)
            .map(|((function, own), all)| TopFunction {
                label: function.label.to_string(),
                exclusive_samples: own.samples,
                exclusive: own.weight,
                inclusive_samples: all.samples,
                inclusive: all.weight,
            })
            .collect();
        top.sort_by(|a, b| {
            (b.exclusive, b.inclusive).cmp(&(a.exclusive, a.inclusive)).then_with(|| a.label.cmp(&b.label))
        });
        top
    }
    /// Returns a table with the first `most` [functions](Self::functions) for people. `weight` must be the weight of
    /// the profile.
    #[must_use]
    pub fn top_text(&self, most: usize, weight: &StackWeight, paint: Paint, width: LineWidth) -> String {
        let all = self.weight();
        let functions = self.functions();
        let (number, unit): (fn(u64) -> String, &str) = match weight {
            StackWeight::Samples => (grouped, ""),
            StackWeight::Time | StackWeight::TimeBefore => (milliseconds, "ms"),
            StackWeight::Field(field) => (grouped, field),
        };
        let mut rows = vec![["exclusive", "", "inclusive", ""].map(str::to_owned)];
        for function in functions.iter().take(most) {
            let part = |weight: u64| format!("{:.1} %", 100.0 * weight as f64 / all as f64);
            let (exclusive, inclusive) = (function.exclusive, function.inclusive);
            rows.push([number(exclusive), part(exclusive), number(inclusive), part(inclusive)]);
        }
        let widths: [usize; 4] = std::array::from_fn(|column| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        });
        let names =
            std::iter::once("function").chain(functions.iter().map(|function| function.label.as_str()));
        let mut text = String::new();
        for (i, (row, name)) in rows.iter().zip(names).enumerate() {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
            let line = format!("{}  ", cells.collect::<Vec<_>>().join("  "));
            let name = printable(name);
            let name = width.cut_after(&name, line.chars().count());
            text.push_str(&if i == 0 {
                paint.faint(&format!("{line}{name}"))
            } else {
                format!("{line}{}", paint.name(&name))
            });
            text.push('\n');
        }
        let samples = count(self.samples(), "sample");
        let is_sum = !matches!(weight, StackWeight::Samples);
        let sum = if is_sum { format!(", {} {}", number(all), printable(unit)) } else { String::new() };
        let functions = count(functions.len() as u64, "function");
        text.push_str(&paint.faint(&format!("{samples}{sum}, {functions}")));
        text.push('\n');
        text
    }
}

/// Formats nanoseconds as milliseconds.
fn milliseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", grouped(nanoseconds / 1_000_000), nanoseconds / 1_000 % 1_000)
}
