//! Integer value names, with bounds of any size.

use std::sync::Arc;

use ichnos_model::class::{IntegerRange, Mappings, MappingsBuilder, WideInteger, WideRange};
use ichnos_model::trace::TextPosition;

use super::object::{properties, refuse_duplicates};
use super::text::JsonNode;
use crate::metadata::{Problems, memory};

/// Collects labels in order.
pub(super) struct Labels {
    /// `true` if the integers are signed. Unsigned integers cannot be below 0.
    signed: bool,
    mappings: MappingsBuilder,
    wide: Vec<WideRange>,
}

impl Labels {
    /// Creates an empty list.
    fn new(signed: bool) -> Self {
        Self { signed, mappings: MappingsBuilder::default(), wide: Vec::new() }
    }

    /// Reads an object whose property names are labels. `add_ranges` adds the ranges from a property's value. `what` is
    /// the document's word for a label.
    pub(super) fn read(
        node: &JsonNode,
        what: &str,
        signed: bool,
        problems: &mut Problems,
        mut add_ranges: impl FnMut(&mut Self, &JsonNode, &mut Problems) -> bool,
    ) -> Option<Self> {
        let properties = properties(node, problems)?;
        refuse_duplicates(properties, problems);
        let mut labels = Self::new(signed);
        let mut are_right = true;
        for property in properties {
            problems.enter(format!("{what} `{}`", property.name));
            are_right &= labels.begin(&property.name, property.name_position, problems)
                && add_ranges(&mut labels, &property.value, problems);
            problems.leave();
        }
        are_right.then_some(labels)
    }

    /// Starts a label, to which the next ranges belong. Returns `false` if memory is exhausted.
    fn begin(&mut self, name: &str, position: TextPosition, problems: &mut Problems) -> bool {
        problems.charge(memory::of_label(name, 0), position) && self.mappings.add_name(name)
    }

    /// Adds the range at a node. Returns `false` if its bounds are out of order.
    pub(super) fn add(&mut self, lower: i128, upper: i128, node: &JsonNode, problems: &mut Problems) -> bool {
        if !are_in_order(&lower, &upper, node, problems) {
            return false;
        }
        if lower < 0 && !self.signed {
            negative(format_args!("{}", IntegerRange { lower, upper }), node, problems);
        }
        self.push(IntegerRange { lower, upper }, node, problems)
    }

    /// Adds a range with bounds of any size.
    pub(super) fn add_wide(
        &mut self,
        lower: WideInteger,
        upper: WideInteger,
        node: &JsonNode,
        problems: &mut Problems,
    ) -> bool {
        if let (Some(lower), Some(upper)) = (lower.as_i128(), upper.as_i128()) {
            return self.add(lower, upper, node, problems);
        }
        if !are_in_order(&lower, &upper, node, problems) {
            return false;
        }
        let range = WideRange { mapping: self.mappings.len().saturating_sub(1), lower, upper };
        if range.lower.clamped() < 0 && !self.signed {
            negative(format_args!("{range}"), node, problems);
        }
        // The part that fits an `i128` is found without the wide ranges.
        let narrow = IntegerRange { lower: range.lower.clamped(), upper: range.upper.clamped() };
        // If a bound is an `i128`, the range contains it, even if it is the last possible value.
        let has_narrow = range.lower.as_i128().is_some() || range.upper.as_i128().is_some();
        if (has_narrow || narrow.lower != narrow.upper) && !self.push(narrow, node, problems) {
            return false;
        }
        if !problems.charge(memory::of_wide_range(&range), node.position) {
            return false;
        }
        self.wide.push(range);
        true
    }

    fn push(&mut self, range: IntegerRange, node: &JsonNode, problems: &mut Problems) -> bool {
        if !problems.charge(memory::of_label("", 1), node.position) {
            return false;
        }
        self.mappings.add_range(range);
        true
    }

    /// Returns all labels, and the ranges beyond an `i128`.
    pub(super) fn finish(self) -> (Mappings, Option<Arc<Vec<WideRange>>>) {
        (self.mappings.finish(), (!self.wide.is_empty()).then(|| Arc::new(self.wide)))
    }
}

/// Returns `true` if bounds are in order, and otherwise reports them.
pub(super) fn are_in_order<T: PartialOrd + std::fmt::Display>(
    lower: &T,
    upper: &T,
    node: &JsonNode,
    problems: &mut Problems,
) -> bool {
    if lower > upper {
        let message = format!("the lower bound {lower} of a range is greater than its upper bound {upper}");
        problems.error(node.position, message);
    }
    lower <= upper
}

/// Reports a range below 0 as a warning. It is harmless for the possible values.
fn negative(range: std::fmt::Arguments<'_>, node: &JsonNode, problems: &mut Problems) {
    problems.warning(node.position, format!("the range {range} of an unsigned integer begins below 0"));
}
