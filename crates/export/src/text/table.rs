//! Tables.

use super::{LineWidth, Paint};
use crate::printable;

/// Table with number columns, followed by the row keys.
pub struct TextTable {
    titles: Vec<String>,
    /// Cells of each row.
    pub rows: Vec<Vec<String>>,
    /// Number of text columns, which come last.
    texts: usize,
}

impl TextTable {
    /// Creates a table with these titles. The columns in `texts` are left-aligned.
    #[must_use]
    pub fn new(titles: &[&str], texts: &[&str]) -> Self {
        let titles = titles.iter().chain(texts).map(|title| printable(title).into_owned()).collect();
        Self { titles, rows: Vec::new(), texts: texts.len() }
    }

    /// Appends the table with a line width.
    pub fn push(&self, text: &mut String, line_width: LineWidth, paint: Paint) {
        let columns = self.titles.len();
        let numbers = columns - self.texts;
        let length = |cell: &String| cell.chars().count();
        // Empty columns are hidden.
        let is_shown: Vec<bool> = (0..columns)
            .map(|column| column >= numbers || self.rows.iter().any(|row| !row[column].is_empty()))
            .collect();
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| {
                let rows = self.rows.iter().map(|row| length(&row[column]));
                rows.chain([length(&self.titles[column])]).max().unwrap_or_default()
            })
            .collect();
        let shown = is_shown.iter().filter(|is_shown| **is_shown).count();
        let all: usize = widths.iter().zip(&is_shown).filter(|(_, is)| **is).map(|(width, _)| width).sum();
        let between = 2 * shown.saturating_sub(1);
        line_width.shorten(&mut widths[numbers..], all + between);
        for (i, row) in std::iter::once(&self.titles).chain(&self.rows).enumerate() {
            let cell = |column: usize| {
                let (cell, width) = (&row[column], widths[column]);
                match column < numbers {
                    true => format!("{cell:>width$}"),
                    false => format!("{:<width$}", line_width.cut(cell, width)),
                }
            };
            let part = |columns: std::ops::Range<usize>| -> String {
                columns.filter(|column| is_shown[*column]).map(cell).collect::<Vec<_>>().join("  ")
            };
            let (left, right) = (part(0..numbers), part(numbers..columns));
            let right = right.trim_end();
            let gap = if left.is_empty() || right.is_empty() { "" } else { "  " };
            let line = match i {
                0 => paint.faint(format!("{left}{gap}{right}").trim_end()),
                _ if right.is_empty() => left.trim_end().to_owned(),
                _ => format!("{left}{gap}{}", paint.name(right)),
            };
            text.push_str(&line);
            text.push('\n');
        }
    }
}
