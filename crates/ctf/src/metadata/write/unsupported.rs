//! Parts of a trace class that a dialect cannot express, with their paths.

use std::fmt;

use ichnos_model::class::FieldClass;
use ichnos_model::trace::Diagnostic;

/// Part that a dialect cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsupported {
    /// Path to the part from outside in: class, scope, members.
    pub path: Vec<String>,
    /// Description for users.
    pub what: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path.join(", "))?;
        }
        f.write_str(&self.what)
    }
}

/// Collects unsupported parts while a class is walked.
#[derive(Debug)]
pub(super) struct Refusals {
    found: Vec<Unsupported>,
    path: Vec<String>,
    most: usize,
    left_out: usize,
}

impl Refusals {
    /// Creates an empty list. At most `most` refusals are kept, and the others are counted.
    pub(super) fn new(most: usize) -> Self {
        Self { found: Vec::new(), path: Vec::new(), most: most.max(1), left_out: 0 }
    }

    /// Enters a part, which becomes part of the path.
    pub(super) fn enter(&mut self, part: impl Into<String>) {
        self.path.push(part.into());
    }

    /// Leaves the innermost part.
    pub(super) fn leave(&mut self) {
        self.path.pop();
    }

    /// Runs `work` inside a part.
    pub(super) fn within<T>(&mut self, part: impl Into<String>, work: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(part);
        let result = work(self);
        self.leave();
        result
    }

    /// Records an unsupported part.
    pub(super) fn refuse(&mut self, what: impl Into<String>) {
        self.add(Unsupported { path: self.path.clone(), what: what.into() });
    }

    /// Records a field class whose kind the dialect lacks.
    pub(super) fn refuse_kind(&mut self, class: &FieldClass) {
        self.refuse(class.kind_with_article());
    }

    /// Records an unsupported part, if `is` is `true`.
    pub(super) fn refuse_if(&mut self, is: bool, what: &str) {
        if is {
            self.refuse(what);
        }
    }

    /// Records a problem found while reading the written text.
    pub(super) fn refuse_problem(&mut self, problem: &Diagnostic) {
        let mut what = problem.message.clone();
        if let Some((expected, found)) = problem.expected.as_ref().zip(problem.found.as_ref()) {
            what = format!("{what} (expected {expected}, found {found})");
        }
        self.add(Unsupported { path: problem.within.clone(), what });
    }

    fn add(&mut self, unsupported: Unsupported) {
        if self.found.len() >= self.most {
            self.left_out += 1;
        } else if self.found.last() != Some(&unsupported) {
            self.found.push(unsupported);
        }
    }

    /// Returns `true` if everything is supported.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns all refusals. If some were dropped, a final refusal counts them.
    pub(super) fn into_unsupported(mut self) -> Vec<Unsupported> {
        if self.left_out > 0 {
            let what = format!("{} more problems", self.left_out);
            self.found.push(Unsupported { path: Vec::new(), what });
        }
        self.found
    }
}
