//! Problems of directories and archives that can be read otherwise.

use std::fmt;

/// A problem of a [`Tree`](crate::Tree) itself, whose entries are those that could be read nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeProblem {
    /// Description, a sentence without the full stop.
    pub message: String,
    /// Name of the limit that was reached, a member of [`IoLimits`](crate::IoLimits), if that is the problem.
    pub limit: Option<&'static str>,
    /// `true` if links were [not followed](crate::TreeOptions::follow_links): nothing is wrong.
    pub leads_out: bool,
}

impl TreeProblem {
    /// Makes a problem without a limit.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), limit: None, leads_out: false }
    }

    /// Marks links to directories elsewhere, which were not followed.
    #[must_use]
    pub fn leading_out(self) -> Self {
        Self { leads_out: true, ..self }
    }

    /// Sets the limit that was reached, by the name of the member of [`IoLimits`](crate::IoLimits).
    #[must_use]
    pub fn at_limit(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Prefixes the name of the tree.
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
