//! Field properties of a scope, computed once.

use ichnos_json::write::push_string;
use ichnos_model::class::IntegerProperties;
use ichnos_model::field::Field;
use ichnos_model::plan::{Node, Plan};

use crate::block::ShortText;

/// Text before a field, and the field kind.
#[derive(Debug)]
pub(crate) struct FieldKey {
    /// Comma, member name and colon.
    pub(crate) prefix: ShortText,
    /// `true` for an integer without value names and dates.
    pub(crate) is_plain: bool,
}

/// Keys for all fields in a scope.
#[derive(Debug, Default)]
pub struct Keys {
    /// Keys by node index.
    keys: Vec<FieldKey>,
}

impl Keys {
    /// Returns the field keys of a plan. Empty without a plan.
    #[must_use]
    pub fn for_plan(plan: Option<&Plan>) -> Self {
        let key = |node: &Node| {
            let mut prefix = b",".to_vec();
            push_string(&mut prefix, node.name.as_deref().unwrap_or_default());
            prefix.push(b':');
            let is_plain =
                |integer: &IntegerProperties| integer.mappings.is_none() && integer.wall_clock.is_none();
            FieldKey { prefix: ShortText::new(&prefix), is_plain: node.class.integer().is_some_and(is_plain) }
        };
        Self { keys: plan.into_iter().flat_map(Plan::nodes).map(key).collect() }
    }

    /// Returns the key for a field in the same plan.
    #[inline]
    pub(crate) fn get(&self, field: Field<'_>) -> Option<&FieldKey> {
        self.keys.get(field.index())
    }
}
