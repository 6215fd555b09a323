//! Collects the problems of a metadata text, each with what encloses it; one of them can be that the
//! description takes too much memory.

use ichnos_model::memory::Budget;
use ichnos_model::{Diagnostic, Limits, Severity, TextPosition};

/// The problems found so far, where the reader is, and how much memory it may still take.
#[derive(Debug)]
pub struct Problems {
    diagnostics: Vec<Diagnostic>,
    within: Vec<String>,
    most: usize,
    left_out: usize,
    errors: usize,
    budget: Budget,
    /// With this much of the budget left or less, it is tried out whether there is memory to go on.
    try_at: u64,
    is_exhausted: bool,
}

/// How much of the budget is taken between two tries whether there is memory to go on, in bytes.
const TRY_EVERY: u64 = 4 << 20;

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
            try_at: limits.description_bytes.saturating_sub(TRY_EVERY),
            is_exhausted: false,
        }
    }

    /// Counts memory, in bytes, that something is about to take against [`Limits::description_bytes`].
    /// False: it is too much, or the process cannot have it, which is reported once as an error at
    /// `position`; nothing more is to be read.
    #[inline]
    pub fn charge(&mut self, bytes: u64, position: TextPosition) -> bool {
        let is_in_budget = self.budget.take(bytes);
        is_in_budget && self.budget.left() > self.try_at || self.ask(is_in_budget, position)
    }

    #[cold]
    fn ask(&mut self, is_in_budget: bool, position: TextPosition) -> bool {
        if is_in_budget { self.try_memory(position) } else { self.exhausted(position) }
    }

    /// Whether the process can have as much memory as what grows may need next. The lists and tables of
    /// a description end the process if they cannot grow, and there are too many of them to ask each: so
    /// a block that is larger than what any of them needs (twice what all of them have) is asked for, and
    /// given back untouched.
    fn try_memory(&mut self, position: TextPosition) -> bool {
        self.try_at = self.budget.left().saturating_sub(TRY_EVERY);
        let taken = self.budget.most() - self.budget.left();
        let wanted = taken.saturating_mul(2).saturating_add(2 * TRY_EVERY);
        let mut block: Vec<u8> = Vec::new();
        if block.try_reserve_exact(usize::try_from(wanted).unwrap_or(usize::MAX)).is_ok() {
            return true;
        }
        if !std::mem::replace(&mut self.is_exhausted, true) {
            let message =
                format!("there is not enough memory for the description: it takes {taken} bytes up to here");
            self.error(position, message);
        }
        false
    }

    fn exhausted(&mut self, position: TextPosition) -> bool {
        if !std::mem::replace(&mut self.is_exhausted, true) {
            let most = self.budget.most();
            let message = format!("the description takes more than {most} bytes of memory, the limit");
            self.limit(position, "description_bytes", message);
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
    pub fn limit(&mut self, position: TextPosition, limit: &'static str, message: impl Into<String>) {
        self.add(Diagnostic::error(position, message).limit(limit));
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
    pub fn error(&mut self, position: TextPosition, message: impl Into<String>) {
        self.add(Diagnostic::error(position, message));
    }

    /// Adds a warning.
    pub fn warning(&mut self, position: TextPosition, message: impl Into<String>) {
        self.add(Diagnostic::warning(position, message));
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
            self.diagnostics.push(Diagnostic::note(TextPosition::default(), note));
        }
        self.diagnostics
    }
}
