//! Collects the problems of a metadata text, each with what encloses it.

use ichnos_model::{Diagnostic, Limits, Severity, TextPlace};

/// The problems found so far, and where the reader is.
#[derive(Debug, Default)]
pub struct Problems {
    diagnostics: Vec<Diagnostic>,
    within: Vec<String>,
    most: usize,
    left_out: usize,
    errors: usize,
}

impl Problems {
    /// No problem yet; at most [`Limits::diagnostics`] are kept.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { most: limits.diagnostics.max(1), ..Self::default() }
    }

    /// Does `work` within something, so that problems met there say so.
    pub fn within<T>(&mut self, what: impl Into<String>, work: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(what);
        let result = work(self);
        self.leave();
        result
    }

    /// Enters something; see [`Problems::within`] for the same as a closure.
    pub fn enter(&mut self, what: impl Into<String>) {
        self.within.push(what.into());
    }

    /// Leaves what was entered last.
    pub fn leave(&mut self) {
        self.within.pop();
    }

    /// Adds a problem; where the reader is becomes its `within`, unless it has one.
    pub fn add(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.diagnostics.len() >= self.most {
            self.left_out += 1;
            return;
        }
        if diagnostic.within.is_empty() {
            diagnostic.within.clone_from(&self.within);
        }
        self.diagnostics.push(diagnostic);
    }

    /// Adds an error.
    pub fn error(&mut self, place: TextPlace, message: impl Into<String>) {
        self.add(Diagnostic::error(place, message));
    }

    /// Adds a slip.
    pub fn slip(&mut self, place: TextPlace, message: impl Into<String>) {
        self.add(Diagnostic::slip(place, message));
    }

    /// Whether an error was met.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many errors were met.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// All problems in the order they were met. If some were left out, a last note counts them.
    #[must_use]
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.left_out > 0 {
            let note = format!("{} more problems were left out", self.left_out);
            self.diagnostics.push(Diagnostic::note(TextPlace::default(), note));
        }
        self.diagnostics
    }
}
