//! CSV options.

use std::sync::Arc;

use super::columns::{CsvColumn, CsvColumns};
use crate::time::JsonTime;

/// Cell separator, and its escaping within cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvForm {
    /// Commas. Cells are quoted if necessary (RFC 4180, except that lines end in a line feed only).
    #[default]
    Comma,
    /// Tabs (`text/tab-separated-values`). In cells, tabs, line feeds, carriage returns and backslashes are escaped
    /// as `\t`, `\n`, `\r` and `\\`.
    Tab,
}

/// Options of [`Csv`](crate::Csv).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CsvOptions {
    /// Separator of cells.
    pub form: CsvForm,
    /// Columns from left to right.
    pub columns: Arc<[CsvColumn]>,
    /// Time format of the column `time`: a date unless it is [`JsonTime::Nanoseconds`].
    pub time: JsonTime,
    /// Escape all unprintable characters, as needed for terminals.
    pub printable_only: bool,
}

impl Default for CsvOptions {
    /// Uses the default columns, without fields.
    fn default() -> Self {
        let columns = CsvColumns::new(JsonTime::default()).columns().unwrap_or_default();
        Self {
            form: CsvForm::default(),
            columns: columns.into(),
            time: JsonTime::default(),
            printable_only: false,
        }
    }
}

impl CsvForm {
    pub(super) fn separator(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }
}
