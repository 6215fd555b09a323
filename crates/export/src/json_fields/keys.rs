//! Field properties of a scope, computed once.

use ichnos_json::write::push_string;
use ichnos_model::class::{FieldKind, IntegerProperties};
use ichnos_model::field::Field;
use ichnos_model::plan::{Node, Plan};

use crate::block::ShortText;
use crate::field_place::FieldPlace;
use crate::property::Hidden;

/// Text before a field, and the field kind.
#[derive(Debug)]
pub(crate) struct FieldKey {
    /// Comma, member name and colon.
    pub(crate) prefix: ShortText,
    pub(crate) place: FieldPlace,
    pub(crate) kind: KeyKind,
}

/// Field kind, as far as it matters for speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Unsigned integer without value names and dates.
    Unsigned,
    /// Signed integer without value names and dates.
    Signed,
    Other,
}

/// Keys for all fields in a scope.
#[derive(Debug, Default)]
pub struct Keys {
    /// Keys by node index.
    keys: Vec<FieldKey>,
    /// Text before the fields, with the brace of an open object.
    pub(super) opening: Box<[u8]>,
    /// `true` if the opening is part of a key.
    pub(super) has_opening: bool,
    /// `true` if the root is a structure whose brace is in the opening.
    pub(super) is_open: bool,
}

impl Keys {
    /// Returns the field keys of a plan. Empty without a plan.
    #[must_use]
    pub fn for_plan(plan: Option<&Plan>) -> Self {
        let keys = plan
            .map(|plan| Self::with_opening(plan, &FieldPlace::in_plan(plan, &Hidden::padding(plan)), None));
        keys.unwrap_or_default()
    }

    /// Returns the field keys of a scope that follows `before`. Empty without a plan.
    #[must_use]
    pub fn for_scope(plan: Option<&Plan>, before: &str) -> Self {
        let Some(plan) = plan else { return Self::default() };
        let places = FieldPlace::in_plan(plan, &Hidden::padding(plan));
        let mut opening = before.as_bytes().to_vec();
        let is_open = matches!(plan.root().class.kind, FieldKind::Structure { .. });
        let first = plan.children(0).find(|member| places.get(*member) == Some(&FieldPlace::First));
        if is_open {
            opening.push(b'{');
        }
        let first = first.filter(|_| is_open);
        let keys = Self::with_opening(plan, &places, first.map(|first| (first, &*opening)));
        Self { is_open, has_opening: first.is_some(), opening: opening.into(), ..keys }
    }

    /// Returns the keys of a plan for members of an object that others begin. Members of the root can be left out.
    #[must_use]
    pub(crate) fn for_members(plan: Option<&Plan>) -> Self {
        let Some(plan) = plan else { return Self::default() };
        let mut places = FieldPlace::in_plan(plan, &Hidden::padding(plan));
        match &plan.root().class.kind {
            FieldKind::Structure { .. } | FieldKind::Union { .. } => {
                plan.children(0).for_each(|member| places[member] = FieldPlace::AfterOptional);
            }
            _ => places[0] = FieldPlace::AfterOptional,
        }
        Self::with_opening(plan, &places, None)
    }

    /// Returns the keys of a plan with these places. The key of a field can have text before it.
    fn with_opening(plan: &Plan, places: &[FieldPlace], opening: Option<(usize, &[u8])>) -> Self {
        let key = |(index, (node, place)): (usize, (&Node, &FieldPlace))| {
            let opening = opening.filter(|(first, _)| *first == index);
            let mut prefix = opening.map(|(_, text)| text.to_vec()).unwrap_or_default();
            if *place == FieldPlace::Next {
                prefix.push(b',');
            }
            if !matches!(place, FieldPlace::Only | FieldPlace::Element) {
                push_string(&mut prefix, node.name.as_deref().unwrap_or_default());
                prefix.push(b':');
            }
            FieldKey { prefix: ShortText::new(&prefix), place: *place, kind: KeyKind::of_node(node) }
        };
        let keys = plan.nodes().zip(places).enumerate().map(key).collect();
        Self { keys, ..Self::default() }
    }

    /// Returns the key for a field in the same plan.
    #[inline(always)]
    pub(crate) fn get(&self, field: Field<'_>) -> Option<&FieldKey> {
        self.keys.get(field.index())
    }
}

impl KeyKind {
    fn of_node(node: &Node) -> Self {
        let is_plain =
            |integer: &&IntegerProperties| integer.mappings.is_none() && integer.wall_clock.is_none();
        match node.class.integer().filter(is_plain) {
            Some(integer) if integer.signed => Self::Signed,
            Some(_) => Self::Unsigned,
            None => Self::Other,
        }
    }
}
