//! What is wrong with directories and archives of which the rest can be read.

use std::fmt;

/// What is wrong with a [`Tree`](crate::Tree) itself; its entries are what could be found nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeProblem {
    /// A sentence without the full stop.
    pub message: String,
    /// The name of the limit that was reached, a member of [`IoLimits`](crate::IoLimits), if that is what is
    /// wrong.
    pub limit: Option<&'static str>,
}

impl TreeProblem {
    /// A problem that is no limit.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), limit: None }
    }

    /// The same as a limit that was reached, by the name of the member of [`IoLimits`](crate::IoLimits).
    #[must_use]
    pub fn at_limit(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The same with the name of the tree before it.
    #[must_use]
    pub fn of_tree(self, name: &str) -> Self {
        Self { message: format!("{name}: {}", self.message), ..self }
    }
}

impl From<String> for TreeProblem {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for TreeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
