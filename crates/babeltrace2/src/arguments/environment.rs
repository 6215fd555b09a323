//! Environment variables and the terminal.

use crate::command::LogLevel;
use crate::paint::Paint;

/// Everything outside the command line.
pub(crate) struct Environment<'a> {
    /// Returns an environment variable.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Output colors.
    pub(crate) paint: Paint,
    /// Prints a warning.
    pub(crate) print_warning: &'a dyn Fn(&str),
}

impl Environment<'_> {
    /// Prints a warning, unless the log level excludes it.
    pub(crate) fn warn(&self, log_level: Option<LogLevel>, text: &str) {
        if log_level.is_none_or(|level| level <= LogLevel::Warning) {
            (self.print_warning)(text);
        }
    }
}
