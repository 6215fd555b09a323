//! Environment of the command.

use crate::paint::Paint;

/// Environment variables and the terminal.
pub(crate) struct Environment<'a> {
    /// Returns the value of an environment variable.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Colors of the output.
    pub(crate) paint: Paint,
}
