//! What a dialect cannot express, and where it is.

use std::fmt;

use ichnos_model::Diagnostic;

/// Something that a dialect has no way to say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsupported {
    /// What it lies in, from the outside in: the class, the scope, members.
    pub path: Vec<String>,
    /// What it is, for people.
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

/// Collects what cannot be expressed while a class is walked.
#[derive(Debug)]
pub(super) struct Refusals {
    found: Vec<Unsupported>,
    path: Vec<String>,
    most: usize,
    left_out: usize,
}

impl Refusals {
    /// None yet; at most `most` are kept, the others counted.
    pub(super) fn new(most: usize) -> Self {
        Self { found: Vec::new(), path: Vec::new(), most: most.max(1), left_out: 0 }
    }

    /// Enters a part, so that what is refused there says so.
    pub(super) fn enter(&mut self, part: impl Into<String>) {
        self.path.push(part.into());
    }

    /// Leaves the part that was entered last.
    pub(super) fn leave(&mut self) {
        self.path.pop();
    }

    /// Does `work` within a part.
    pub(super) fn within<T>(&mut self, part: impl Into<String>, work: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(part);
        let result = work(self);
        self.leave();
        result
    }

    /// Notes what cannot be expressed.
    pub(super) fn refuse(&mut self, what: impl Into<String>) {
        self.add(Unsupported { path: self.path.clone(), what: what.into() });
    }

    /// Notes that something cannot be expressed, if it is so.
    pub(super) fn refuse_if(&mut self, is: bool, what: &str) {
        if is {
            self.refuse(what);
        }
    }

    /// Notes a problem that reading what was written has.
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

    /// Whether nothing was refused.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All that was refused; the last one counts those that were left out.
    pub(super) fn into_unsupported(mut self) -> Vec<Unsupported> {
        if self.left_out > 0 {
            let what = format!("{} more things that cannot be expressed were left out", self.left_out);
            self.found.push(Unsupported { path: Vec::new(), what });
        }
        self.found
    }
}
