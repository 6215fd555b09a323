//! Collects the problems of a metadata text, each with what encloses it; one of them can be that the
//! description takes too much memory.

use ichnos_model::memory::Budget;
use ichnos_model::{Diagnostic, Limits, Severity, TextPlace};

/// The problems found so far, where the reader is, and how much memory it may still take.
#[derive(Debug)]
pub struct Problems {
    diagnostics: Vec<Diagnostic>,
    within: Vec<String>,
    most: usize,
    left_out: usize,
    errors: usize,
    budget: Budget,
    is_exhausted: bool,
}

impl Problems {
    /// No problem yet; at most [`Limits::diagnostics`] are kept.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            diagnostics: Vec::new(),
            within: Vec::new(),
            most: limits.diagnostics.max(1),
            left_out: 0,
            errors: 0,
            budget: Budget::new(limits.description_bytes),
            is_exhausted: false,
        }
    }

    /// Counts memory, in bytes, that something is about to take against [`Limits::description_bytes`].
    /// False: it is too much, which is reported once as an error at `place`; nothing more is to be read.
    #[inline]
    pub fn charge(&mut self, bytes: u64, place: TextPlace) -> bool {
        self.budget.take(bytes) || self.exhausted(place)
    }

    #[cold]
    fn exhausted(&mut self, place: TextPlace) -> bool {
        if !std::mem::replace(&mut self.is_exhausted, true) {
            let most = self.budget.most();
            let message = format!("the description takes more than {most} bytes of memory, the limit");
            self.limit(place, "description_bytes", message);
        }
        false
    }

    /// Counts memory as free again.
    pub fn release(&mut self, bytes: u64) {
        self.budget.give_back(bytes);
    }

    /// Whether [`Problems::charge`] has refused something.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// How many bytes of memory may still be taken.
    #[must_use]
    pub fn bytes_left(&self) -> u64 {
        self.budget.left()
    }

    /// Adds an error: a limit, by its name in [`Limits`], was reached.
    pub fn limit(&mut self, place: TextPlace, limit: &'static str, message: impl Into<String>) {
        self.add(Diagnostic::error(place, message).limit(limit));
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
