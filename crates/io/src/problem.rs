//! Problems in directories and archives that can be read otherwise.

use std::fmt;

/// A problem with a [`Tree`](crate::Tree) itself. The tree contains all entries that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeProblem {
    /// Description: one sentence without the full stop.
    pub message: String,
    /// Name of the exceeded limit, a member of [`IoLimits`](crate::IoLimits), if that is the problem.
    pub limit: Option<&'static str>,
    /// `true` if links were [not followed](crate::TreeOptions::follow_links), which is not an error.
    pub leads_out: bool,
}

impl TreeProblem {
    /// Creates a problem without a limit.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), limit: None, leads_out: false }
    }

    /// Marks a problem about links to directories elsewhere, which were not followed.
    #[must_use]
    pub fn leading_out(self) -> Self {
        Self { leads_out: true, ..self }
    }

    /// Sets the exceeded limit, by the name of the [`IoLimits`](crate::IoLimits) member.
    #[must_use]
    pub fn at_limit(self, limit: &'static str) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Prefixes the tree name.
    #[must_use]
    pub fn in_tree(self, name: &str) -> Self {
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
