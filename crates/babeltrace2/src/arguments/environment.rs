//! Environment variables and the terminal.

use crate::paint::Paint;

/// Everything outside the command line.
pub(crate) struct Environment<'a> {
    /// Returns an environment variable.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Output colors.
    pub(crate) paint: Paint,
}
