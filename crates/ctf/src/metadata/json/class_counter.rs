//! Class count and nesting depth, checked against their limits.

use std::sync::Arc;

use ichnos_model::class::FieldClass;
use ichnos_model::trace::{Limits, TextPosition};

use crate::metadata::{Problems, memory};

/// Hard limit for field class depth, regardless of the configured limits, because walking them is recursive.
const DEEPEST: u32 = 256;

/// Class that others refer to by name.
pub(super) struct ClassAlias {
    pub(super) class: Arc<FieldClass>,
    /// Number of its classes, including nested classes.
    pub(super) classes: u64,
    /// Nesting depth.
    depth: u32,
}

/// Counts classes while they are read.
pub(super) struct ClassCounter {
    /// The document's word for a class, such as "field class", and its plural.
    noun: &'static str,
    nouns: &'static str,
    most: u64,
    most_depth: u32,
    classes: u64,
    depth: u32,
    /// Maximum depth in the current alias.
    deepest: u32,
    is_over: bool,
}

impl ClassCounter {
    pub(super) fn new([noun, nouns]: [&'static str; 2], limits: &Limits) -> Self {
        Self {
            noun,
            nouns,
            most: limits.field_classes,
            most_depth: limits.depth.min(DEEPEST),
            classes: 0,
            depth: 0,
            deepest: 0,
            is_over: false,
        }
    }

    /// Starts an alias, whose classes count at each use. Returns the class count before it.
    pub(super) fn start_alias(&mut self) -> u64 {
        self.deepest = 0;
        std::mem::take(&mut self.classes)
    }

    /// Ends an alias. `before` is the class count before it.
    pub(super) fn finish_alias(&mut self, class: Option<Arc<FieldClass>>, before: u64) -> Option<ClassAlias> {
        let classes = std::mem::replace(&mut self.classes, before);
        class.map(|class| ClassAlias { class, classes, depth: self.deepest })
    }

    /// Counts an alias use. Returns `false` if it exceeds a limit.
    pub(super) fn count_alias(
        &mut self,
        alias: &ClassAlias,
        position: TextPosition,
        problems: &mut Problems,
    ) -> bool {
        let depth = self.depth.saturating_add(alias.depth);
        if depth > self.most_depth {
            problems.limit(position, "depth", format!("{} nest too deep through this alias", self.nouns));
            return false;
        }
        self.deepest = self.deepest.max(depth);
        self.count(alias.classes, position, problems)
    }

    /// Reports an undeclared alias.
    pub(super) fn report_unknown(&self, name: &str, position: TextPosition, problems: &mut Problems) {
        let message = format!("unknown {} alias `{name}`: no earlier fragment declares it", self.noun);
        problems.error(position, message);
    }

    /// Returns `true` if a class can be nested here, and otherwise reports the limit.
    pub(super) fn can_nest(&self, position: TextPosition, problems: &mut Problems) -> bool {
        let can_nest = self.depth < self.most_depth;
        if !can_nest {
            let message = format!("{} nest deeper than {} levels, the limit", self.nouns, self.depth);
            problems.limit(position, "depth", message);
        }
        can_nest
    }

    /// Counts a class, and opens its nested level. Returns `false` if it exceeds a limit.
    pub(super) fn enter(&mut self, position: TextPosition, problems: &mut Problems) -> bool {
        if !self.count(1, position, problems) || !problems.charge(memory::of_field_class(), position) {
            return false;
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        true
    }

    /// Leaves the last entered class.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Counts classes against [`Limits::field_classes`].
    fn count(&mut self, more: u64, position: TextPosition, problems: &mut Problems) -> bool {
        self.classes = self.classes.saturating_add(more);
        let fits = self.classes <= self.most;
        if !fits && !std::mem::replace(&mut self.is_over, true) {
            let message = format!("there are more than {} {}, the limit", self.most, self.nouns);
            problems.limit(position, "field_classes", message);
        }
        fits
    }
}
