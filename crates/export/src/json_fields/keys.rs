//! What is known of the fields of a scope once and for all.

use ichnos_json::write::push_string;
use ichnos_model::plan::{Node, Plan};
use ichnos_model::{Field, FieldKind, IntegerProperties, Mappings, VariableLengthValue};

use crate::block::Block;

/// What stands before a field, and how to write it.
#[derive(Debug)]
pub(crate) struct Key {
    /// A comma, the name of the member and a colon.
    pub(crate) lead: Block,
    /// Whether it is an integer without names or dates for values.
    pub(crate) is_plain: bool,
}

/// The keys of all fields of a scope.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// By index of the node.
    keys: Vec<Key>,
}

impl Keys {
    pub(crate) fn of(plan: Option<&Plan>) -> Self {
        let key = |node: &Node| {
            let mut lead = b",".to_vec();
            push_string(&mut lead, node.name.as_deref().unwrap_or_default());
            lead.push(b':');
            let is_plain =
                |integer: &IntegerProperties| integer.mappings.is_none() && integer.wall_clock.is_none();
            Key { lead: Block::new(&lead), is_plain: node.class.integer().is_some_and(is_plain) }
        };
        Self { keys: plan.into_iter().flat_map(Plan::nodes).map(key).collect() }
    }

    /// That of a field, which is one of the plan that the keys were made of.
    #[inline]
    pub(crate) fn get(&self, field: Field<'_>) -> Option<&Key> {
        self.keys.get(field.index())
    }
}

/// The names of an integer's values.
pub(crate) fn mappings(kind: &FieldKind) -> Option<&Mappings> {
    match kind {
        FieldKind::Integer { integer, .. }
        | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
            integer.mappings.as_ref()
        }
        _ => None,
    }
}
