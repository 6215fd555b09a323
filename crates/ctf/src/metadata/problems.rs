//! Problems in a metadata text, each with its context. Exhausted memory is also a problem.

use ichnos_model::memory::Budget;
use ichnos_model::trace::{Diagnostic, Limits, Severity, TextPosition};

/// Problems found so far, the reader's context, and its remaining memory.
#[derive(Debug)]
pub struct Problems {
    diagnostics: Vec<Diagnostic>,
    within: Vec<String>,
    most: usize,
    left_out: usize,
    errors: usize,
    /// Error count in the current part, if its errors only refuse this part.
    part_errors: Option<usize>,
    budget: Budget,
    /// Remaining budget at which to check again that memory is available.
    try_at: u64,
    is_exhausted: bool,
}

/// Budget in bytes between two checks that memory is available.
const TRY_EVERY: u64 = 4 << 20;

impl Problems {
    /// Creates an empty list that keeps at most [`Limits::diagnostics`].
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            diagnostics: Vec::new(),
            within: Vec::new(),
            most: limits.diagnostics.max(1),
            left_out: 0,
            errors: 0,
            part_errors: None,
            budget: Budget::new(limits.description_bytes),
            try_at: limits.description_bytes.saturating_sub(TRY_EVERY),
            is_exhausted: false,
        }
    }

    /// Counts memory in bytes against [`Limits::description_bytes`], before it is allocated. Returns `false` if it is
    /// too much or unavailable. This is reported once as an error at `position`, and reading must stop then.
    #[inline]
    pub fn charge(&mut self, bytes: u64, position: TextPosition) -> bool {
        let is_in_budget = self.budget.take(bytes);
        is_in_budget && self.budget.left() > self.try_at || self.ask(is_in_budget, position)
    }

    #[cold]
    fn ask(&mut self, is_in_budget: bool, position: TextPosition) -> bool {
        if is_in_budget { self.try_memory(position) } else { self.exhausted(position) }
    }

    /// Checks that the process can allocate as much memory as the next growth may need. The process aborts if lists or
    /// tables cannot grow, and they are too many to check each. So this allocates a block that is larger than any of
    /// them (twice the total size), and frees it untouched.
    fn try_memory(&mut self, position: TextPosition) -> bool {
        self.try_at = self.budget.left().saturating_sub(TRY_EVERY);
        let taken = self.budget.most() - self.budget.left();
        let wanted = taken.saturating_mul(2).saturating_add(2 * TRY_EVERY);
        let mut block: Vec<u8> = Vec::new();
        if block.try_reserve_exact(usize::try_from(wanted).unwrap_or(usize::MAX)).is_ok() {
            return true;
        }
        if !std::mem::replace(&mut self.is_exhausted, true) {
            let message = format!("not enough memory for the description ({taken} bytes up to here)");
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

    /// Returns `true` if [`Problems::charge`] has refused memory.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Returns the number of bytes that may still be allocated.
    #[must_use]
    pub fn bytes_left(&self) -> u64 {
        self.budget.left()
    }

    /// Adds an error because a limit was reached. `limit` is its name in [`Limits`].
    pub fn limit(&mut self, position: TextPosition, limit: &'static str, message: impl Into<String>) {
        self.add(Diagnostic::error(position, message).limit(limit));
    }

    /// Runs `work` in a context that its problems will contain.
    pub fn within<T>(&mut self, what: impl Into<String>, work: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(what);
        let result = work(self);
        self.leave();
        result
    }

    /// Enters a context. See [`Problems::within`] for a closure.
    pub fn enter(&mut self, what: impl Into<String>) {
        self.within.push(what.into());
    }

    /// Leaves the innermost context.
    pub fn leave(&mut self) {
        self.within.pop();
    }

    /// Adds a problem. The current context becomes its `within`, unless already set.
    pub fn add(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            // Limits apply to the whole text.
            let part = self.part_errors.as_mut().filter(|_| diagnostic.limit.is_none());
            *part.unwrap_or(&mut self.errors) += 1;
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

    /// Returns the number of errors outside refused parts.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors + self.part_errors.unwrap_or(0)
    }

    /// Begins an optional part: everything else can be read without it.
    pub fn begin_part(&mut self) {
        self.part_errors = Some(0);
    }

    /// Ends the part. Its errors do not count for the whole text.
    pub fn end_part(&mut self) {
        let errors = self.part_errors.take().unwrap_or(0);
        if self.is_exhausted {
            // Exhausted memory is not the part's fault.
            self.errors += errors;
        }
    }

    /// Returns all problems in the order they were found. If some were dropped, a final note counts them.
    #[must_use]
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.left_out > 0 {
            let note = format!("{} more problems are not shown", self.left_out);
            self.diagnostics.push(Diagnostic::note(TextPosition::default(), note));
        }
        self.diagnostics
    }
}
